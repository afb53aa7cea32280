/*
 * The scanner: a piece of any bytes from any state that one before it may
 * leave, any decision about a value. Which states these are is asserted behind
 * the piece, too. What is made of values, and the reader of small objects.
 * SPDX-License-Identifier: 0BSD
 */
#include "eva.h"
#include "mini_stream.c"

/* Where a piece ends: it begins anywhere before that. */
#ifdef EXACT
#define LEN EXACT
#else
#define LEN 4096
#endif

/* The end of each word in json_literals but the last is passed over. */
#define LITERAL_MAX (sizeof json_literals - 2)

static void any_scanner(struct mst_json *j) {
    ANY(*j);
    j->state = (uint8_t)any_below(JSON_NUMBER_EXPONENT + 1);
    j->mode = (uint8_t)any_below(JSON_SKIP + 1);
    j->key_len = (uint8_t)any_below(JSON_KEY_OTHER + 1);
    j->escape = (uint8_t)any_below(7);
    j->literal = (uint8_t)any_below(LITERAL_MAX + 1);
    j->low = any_bool();
}

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
    //@ assert j.state <= 17 && j.mode <= 2 && j.key_len <= 24;
    //@ assert j.escape <= 6 && j.literal <= 14;
    //@ assert j.low == 0 || j.low == 1;
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
