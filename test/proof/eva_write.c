/*
 * Writes JSON: any text as a string, requests with any market. The text ends at
 * its array's end or before. The harness "base" covers writing to a window.
 * SPDX-License-Identifier: 0BSD
 */
#include "eva.h"
#include "mini_stream.c"

int main(void) {
    static uint8_t window[64];
    unsigned action = any_below(MST_SUBSCRIPTION_LIST + 1);
    struct out o = {window, any_below(sizeof window + 1), any_size(),
                    any_size()};
    const char *text = any_text();
    static struct mst_subscription s;
    struct mst_decoder d;

    json_write_string(&o, text);
    //@ split action;
    s.channel = (uint8_t)any_below(MST_HEARTBEAT + 1);
    //@ split s.channel;
    message_request(&o, (enum mst_action)action, &s, any_below(2), 0);
    (void)mst_channel_name((enum mst_channel)s.channel);
    (void)mst_decoder_init(any_bool() ? &d : NULL, any_bool() ? window : NULL,
                           any_size(), any_below(8));
    REACHED();
    return 0;
}
