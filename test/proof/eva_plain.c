/*
 * Runs of plain characters, as the scanner passes over them.
 * SPDX-License-Identifier: 0BSD
 */
#include "eva.h"
#include "mini_stream.c"

/* The generic form has only the lengths that eva_plain.txt knows. */
int main(void) {
    unsigned key_len = any_below(JSON_KEY_OTHER + 1), large = any_below(2);
    const uint8_t *data = (const uint8_t *)input;
    struct mst_json j;
    size_t len;

    //@ split large;
#ifdef EXACT
    len = EXACT;
#else
    len = large != 0 ? 4096 : 64;
#endif
    input_any();
    (void)json_plain(data, len);
    //@ split key_len;
    ANY(j.key);
    j.key_len = (uint8_t)key_len;
    (void)json_key_plain(&j, data, len);
    REACHED();
    return 0;
}
