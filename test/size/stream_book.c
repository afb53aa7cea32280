/*
 * Streams a market into a book and shows its best prices and doubts after each
 * message.
 *
 * SPDX-License-Identifier: 0BSD
 */
#include "stream.h"

#define LEVELS 100

static struct mst_level levels[2 * LEVELS];
static struct mst_book book;

static void show_best(enum mst_side side) {
    if (mst_book_depth(&book, side) > 0) {
        const struct mst_level *best = mst_book_level(&book, side, 0);

        board_show_price(side, mst_level_price(best), mst_level_amount(best));
    }
}

static void show(const struct mst_event *event) {
    if (event->type == MST_EVENT_PART) {
        show_best(MST_BID);
        show_best(MST_ASK);
        board_show_doubt(mst_book_state(&book), mst_book_flags(&book));
    }
}

int main(void) {
    int rc = mst_book_init(&book, levels, LEVELS);

    rc = rc ? rc : stream_run(&book, show);
    return rc < 0;
}
