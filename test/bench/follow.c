/*
 * See follow.h.
 *
 * SPDX-License-Identifier: 0BSD
 */
#include "follow.h"

#include "event.h"

static void book_apply(void *book, const struct mst_part *part) {
    mst_book_apply(book, part, 0);
}

static void book_check(void *book, const struct mst_top *top) {
    mst_book_check(book, top, 0);
}

struct follow_book follow_book(struct mst_book *book) {
    return (struct follow_book){book, book_apply, book_check};
}

static void feed_book(const struct follow_book *book,
                      const struct mst_event *event) {
    if (event->type == MST_EVENT_PART) {
        book->apply(book->book, &event->as.part);
    } else if (event->type == MST_EVENT_TOP) {
        book->check(book->book, &event->as.top);
    }
}

void follow(const struct corpus *corpus, size_t first, size_t count,
            const struct follow_book *book, uint64_t *sum) {
    static unsigned char buffer[2048];
    static struct mst_decoder decoder;
    struct mst_event event;

    mst_decoder_init(&decoder, buffer, sizeof buffer, 0);
    for (size_t i = first; i < first + count; i++) {
        mst_decoder_feed(&decoder, corpus->text + corpus->messages[i].at,
                         corpus->messages[i].len, true);
        while (mst_decoder_next(&decoder, &event) == 1) {
            if (book != NULL) {
                feed_book(book, &event);
            }
            if (sum != NULL) {
                event_sum(&event, sum);
            }
        }
    }
}

uint64_t follow_book_sum(const struct mst_book *book) {
    const struct mst_level *level;
    uint64_t sum = 0;

    if (mst_book_state(book) != MST_BOOK_LIVE || mst_book_flags(book) != 0) {
        return 0;
    }
    for (int side = MST_BID; side <= MST_ASK; side++) {
        for (size_t rank = 0;
             (level = mst_book_level(book, (enum mst_side)side, rank)) != NULL;
             rank++) {
            sum += event_level(level);
        }
    }
    return sum;
}
