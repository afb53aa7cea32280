/*
 * A true book of a few prices: see truth.h.
 *
 * SPDX-License-Identifier: 0BSD
 */
#include "truth.h"

#include <stdio.h>
#include <string.h>

static int price_of(enum mst_side side, int rank) {
    return side == MST_BID ? 100 - rank : 101 + rank;
}

void truth_write_level(char out[TRUTH_LEVEL], enum mst_side side, int rank,
                       unsigned amount) {
    snprintf(out, TRUTH_LEVEL, "{\"price\":\"%d\",\"amount\":\"%u\"}",
             price_of(side, rank), amount);
}

void truth_write(char *out, size_t len, enum mst_side side,
                 const unsigned *amounts, int count) {
    size_t at = 0;

    out[0] = '\0';
    for (int i = 0; i < count; i++) {
        char level[TRUTH_LEVEL];
        truth_write_level(level, side, i, amounts[i]);
        if (amounts[i] > 0 && at + strlen(level) + 2 <= len) {
            at += (size_t)snprintf(out + at, len - at, "%s%s",
                                   at > 0 ? "," : "", level);
        }
    }
}

bool truth_is_side(const struct mst_book *book, enum mst_side side,
                   const unsigned *amounts, int count) {
    size_t rank = 0;

    for (int i = 0; i < count; i++) {
        const struct mst_level *level;
        if (amounts[i] == 0) {
            continue;
        }
        level = mst_book_level(book, side, rank++);
        if (level == NULL || level->amount_coefficient != (int)amounts[i] ||
            level->amount_exponent != 0 ||
            mst_decimal_cmp(
                mst_level_price(level),
                (struct mst_decimal){price_of(side, i), 0, false}) != 0) {
            return false;
        }
    }
    return mst_book_depth(book, side) == rank;
}
