/*
 * A small object's value, as the scanner passes it, for each field of each
 * table. It ends at the array's end. A value of one byte is a digit, followed
 * by another byte.
 * SPDX-License-Identifier: 0BSD
 */
#include <limits.h>

#include "eva.h"
#include "mini_stream.c"

#include "eva_string.h"
#include "eva_tables.h"

static struct object o;
static unsigned field;

/* The byte after a digit shows that it is the last. */
static void take(void) {
    char digit[2];

    if (EXACT == 1) {
        digit[0] = (char)Frama_C_interval('0', '9');
        digit[1] = (char)Frama_C_interval(CHAR_MIN, CHAR_MAX);
    }
    o.text = o.item = EXACT == 1 ? digit : input;
    o.item_len = EXACT;
    if (object_fits((enum object_kind)o.fields[field].kind, o.item[0])) {
        (void)object_take(&o, field, &into);
    }
}

/* A string of plain characters, then characters and escapes in any order; or a
 * pair of surrogates alone if the length fits. */
static void string(void) {
    const size_t most = 6, from = EXACT > most + 2 ? EXACT - 1 - most : 1;

    if (EXACT < 2) {
        return;
    }
    input[0] = input[EXACT - 1] = '"';
    if (EXACT == 14 && any_bool()) {
        any_pair(input + 1);
        take();
        return;
    }
    for (size_t i = 1; i < from; i++) {
        input[i] = any_plain();
    }
    each_string(input + from, input + EXACT - 1, take);
}

/* A number's bytes are in an interval, except at most one 'e'; words have only
 * small letters. */
static void other(void) {
    unsigned what = any_below(2), e = any_below(EXACT + 1);

    //@ split what;
    //@ split e;
    for (unsigned i = 0; i < EXACT; i++) {
        input[i] = (char)(what == 0 ? Frama_C_interval('+', 'E')
                                    : Frama_C_interval('a', 'z'));
    }
    if (what == 0 && e < EXACT) {
        input[e] = 'e';
    }
    take();
}

int main(void) {
    unsigned which = any_below(COUNT_OF(tables));
    bool is_string = any_bool();
    const struct object_field *f;

    //@ split which;
    o.fields = tables[which].fields;
    o.count = tables[which].count;
    o.convert = address_convert;
    field = any_below((int)o.count);
    //@ split field;
    o.filled = (uint32_t)any_size();
    f = &o.fields[field];
    ANY(into);
    if (f->kind <= OBJECT_SCALAR) {
        ((char *)&into)[f->offset + f->room - 1] = '\0';
    } else if (f->kind == OBJECT_BOOL) {
        ((uint8_t *)&into)[f->offset] = any_bool();
    }
    //@ split is_string;
    if (is_string) {
        string();
    } else {
        other();
    }
    REACHED();
    return 0;
}
