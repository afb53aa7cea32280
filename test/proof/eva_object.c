/*
 * The reader of small objects: any text, each table of fields. The conversion
 * of a value is promised.
 * SPDX-License-Identifier: 0BSD
 */
#include "eva_tokens.h"
#include "mini_stream.c"

#include "eva_decoder.h"
#include "eva_tables.h"

static struct mst_tokens room_of_tokens;

int main(void) {
    static struct mst_decoder d;
    unsigned which = any_below(COUNT_OF(tables));
    struct object o = {0};

    input_any();
    any_tokens(&room_of_tokens, EXACT);
    //@ split which;
    o.fields = tables[which].fields;
    o.count = tables[which].count;
    if (which < 2) {
        any_decoder(&d, MESSAGE_ENTRIES);
        any_tokens(&d.shared.tokens, EXACT);
        d.at = d.len = d.kept.len = d.kept.buffer_len = 0;
        (void)message_object(&d, &o, input, EXACT);
        //@ assert decoder(&d);
        //@ assert scanner(&d.json);
    } else if (o.fields == address_fields) {
        (void)address_read(input, EXACT, &room_of_tokens, &into.address);
    } else {
        address_problem_read(input, EXACT, &room_of_tokens, &into.problem);
    }
    REACHED();
    return 0;
}
