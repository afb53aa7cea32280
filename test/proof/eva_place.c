/*
 * The search of a level's place among any levels. The harness of a side
 * replaces it by its promise.
 * SPDX-License-Identifier: 0BSD
 */
#include "eva.h"
#include "mini_stream.c"

/* Each number of levels until the search takes all its steps, and larger
 * ones. */
#ifdef EXACT
#define CAPACITY EXACT
#else
#define CAPACITY 20000
#endif

int main(void) {
    static struct mst_level levels[CAPACITY + 1];
#ifdef EXACT
    unsigned count = EXACT;
#else
    static const unsigned many[] = {1023, 1024, 1025, 1151, 1152, 2049, 20000};
    unsigned which = any_below(607), count;

    //@ split which;
    count = which < 600 ? which : many[which - 600];
#endif
    for (int i = 0; i <= CAPACITY; i++) {
        ANY(levels[i].key);
    }
    (void)book_place(levels + (CAPACITY + 1 - count), count,
                     (uint32_t)any_size());
    REACHED();
    return 0;
}
