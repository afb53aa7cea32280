/*
 * The scanner: a piece of any bytes from any state that one before it may
 * leave, any decision about a value. Which states these are is asserted behind
 * the piece, too. What is made of values.
 * SPDX-License-Identifier: 0BSD
 */
#include "eva.h"
#include "mini_stream.c"

#include "eva_decoder.h"

/* Where a piece ends: it begins anywhere before that. */
#ifdef EXACT
#define LEN EXACT
#else
#define LEN 4096
#endif

static void scan(void) {
    const uint8_t *data = (const uint8_t *)input;
    struct mst_json j;
    size_t len = LEN, at = any_below(LEN + 1);
    int stop;

    json_init(&j);
    if (any_bool()) {
        any_scanner(&j);
    }
    input_any();
    stop = json_next(&j, data, len, &at);
    if (stop == JSON_VALUE && any_bool()) {
        stop = json_enter(&j, (uint8_t)any_below(256), &at);
    } else if (stop == JSON_VALUE) {
        json_take(&j, any_bool() ? JSON_TAKE : JSON_SKIP);
    }
    (void)json_whole(&j);
    //@ assert scanner(&j);
}

#ifndef EXACT
static void values(void) {
    char scratch[64];

    input_any();
    (void)json_scalar(input, INPUT_LEN, scratch, sizeof scratch);
}
#endif

int main(void) {
    scan();
#ifndef EXACT
    values();
#endif
    REACHED();
    return 0;
}
