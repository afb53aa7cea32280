/*
 * The scanner as its callers use it: pieces of any bytes, any decision about a
 * value; what is made of values; the reader of small objects.
 * SPDX-License-Identifier: 0BSD
 */
#include "eva.h"
#include "mini_stream.c"

/* A piece of a text, after any others. */
static void scan_piece(struct mst_json *j) {
    const size_t len = INPUT_LEN;
    const uint8_t *data = (const uint8_t *)input;
    size_t at = 0;
    int stop = JSON_VALUE;

    input_any();
    //@ loop widen_hints "all", 24;
    while (stop > JSON_MORE) {
        stop = json_next(j, data, len, &at);
        //@ split at;
        //@ split stop;
        if (stop == JSON_VALUE && (data[at] == '{' || data[at] == '[') &&
            any_bool()) {
            (void)json_enter(j, data[at], &at);
        } else if (stop == JSON_VALUE) {
            json_take(j, any_bool() ? JSON_TAKE : JSON_SKIP);
        }
    }
}

static void scan(void) {
    struct mst_json j;

    json_init(&j);
    //@ loop widen_hints "all", 24;
    while (any_bool()) {
        scan_piece(&j);
        (void)json_whole(&j);
    }
}

#ifndef EXACT
static void values(void) {
    char scratch[64];

    input_any();
    (void)json_scalar(input, INPUT_LEN, scratch, sizeof scratch);
    (void)any_text();
}

static void objects(void) {
    struct mst_address address;
    struct mst_problem problem;

    input_any();
    (void)mst_address_read(input, INPUT_LEN, &address);
    mst_problem_read(input, INPUT_LEN, &problem);
}
#endif

int main(void) {
    scan();
#ifndef EXACT
    values();
    objects();
#endif
    REACHED();
    return 0;
}
