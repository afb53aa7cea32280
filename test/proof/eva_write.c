/*
 * What writes JSON: any text as a string, requests with any market. The text
 * ends at its array's end or before; where it is written, is base's.
 * SPDX-License-Identifier: 0BSD
 */
#include "eva.h"
#include "mini_stream.c"

int main(void) {
    static uint8_t window[64];
    unsigned action = any_below(MST_SUBSCRIPTION_LIST + 1);
    unsigned channel = any_below(MST_HEARTBEAT + 1);
    struct out o = {window, any_below(sizeof window + 1), any_size(),
                    any_size()};
    const char *text = any_text();
    struct mst_decoder d;

    json_write_string(&o, text);
    //@ split action;
    out_text(&o, text_nth(message_actions, action));
    //@ split channel;
    message_request_entry(&o, any_bool() ? "," : "", channel, text);
    (void)mst_channel_name((enum mst_channel)channel);
    (void)mst_decoder_init(any_bool() ? &d : NULL, any_bool() ? window : NULL,
                           any_size(), any_below(8));
    REACHED();
    return 0;
}
