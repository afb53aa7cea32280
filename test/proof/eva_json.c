/*
 * The scanner: a piece of any bytes from any state that an earlier piece may
 * leave, which is also asserted after the piece, and any decision about a
 * value. Then the conversion of values that it has passed: in the exact form
 * these are real values, in the generic form any bytes.
 * SPDX-License-Identifier: 0BSD
 */
#include "eva.h"
#include "mini_stream.c"

#include "eva_decoder.h"
#include "eva_string.h"

/* The end of a piece, which begins anywhere before it. */
#ifdef EXACT
#define LEN EXACT
#else
#define LEN 4096
#endif

static void scan(void) {
    const uint8_t *data = (const uint8_t *)input;
    struct mst_json j = {0};
    size_t len = LEN, at = any_below(LEN + 1);
    int stop;

    if (any_bool()) {
        any_scanner(&j);
    }
    input_any();
    stop = json_next(&j, data, len, &at);
    if (stop == JSON_VALUE && any_bool()) {
        stop = json_open(&j, any_bool());
    } else if (stop == JSON_VALUE) {
        (void)json_take(&j, any_bool() ? JSON_TAKE : JSON_SKIP);
    }
    (void)json_whole(&j);
    //@ assert scanner(&j);
}

#ifdef EXACT
/* A scratch buffer that is large enough or not; it ends at its array's end. */
static void scalar(void) {
    char scratch[32];
    size_t cap = any_bool() ? sizeof scratch : 4;

    //@ split cap;
    (void)json_scalar(input, EXACT, scratch + sizeof scratch - cap, cap);
}

/* All orders of characters and escapes take too long for long strings: these
 * have any order, or a pair of surrogates, only at their end, after plain
 * characters. */
static void values(void) {
    const size_t most = EXACT > 14 ? 6 : 12;
    const size_t from = EXACT > most + 2 ? EXACT - 1 - most : 1;

    input_any();
    if (EXACT > 0 && input[0] == '"') {
        input[0] = 'x';
    }
    scalar();
    if (EXACT < 2) {
        return;
    }
    input[0] = input[EXACT - 1] = '"';
    if (EXACT > 14 && any_bool()) {
        for (size_t i = 1; i < EXACT - 13; i++) {
            input[i] = any_plain();
        }
        any_pair(input + EXACT - 13);
        scalar();
        return;
    }
    for (size_t i = 1; i < from; i++) {
        input[i] = any_plain();
    }
    each_string(input + from, input + EXACT - 1, scalar);
}
#else
static void values(void) {
    char scratch[64];

    input_any();
    (void)json_scalar(input, INPUT_LEN, scratch, sizeof scratch);
}
#endif

int main(void) {
    scan();
    values();
    REACHED();
    return 0;
}
