/*
 * jsmn: a text of any bytes, from any place in it, with any number of tokens,
 * which hold anything that jsmn and object_forget() may have left.
 * SPDX-License-Identifier: 0BSD
 */
#include "eva_tokens.h"
#include "mini_stream.c"

int main(void) {
    static struct mst_tokens room;
    jsmn_parser parser;

    input_any();
    any_tokens(&room, EXACT);
    jsmn_init(&parser);
    if (any_bool()) {
        parser.pos = any_below(EXACT + 1);
        parser.toknext = any_below(MST_JSON_TOKENS + 1);
        parser.toksuper = Frama_C_interval(-1, MST_JSON_TOKENS - 1);
    }
    (void)jsmn_parse(&parser, input, EXACT, (jsmntok_t *)(void *)room.of,
                     MST_JSON_TOKENS);
    REACHED();
    return 0;
}
