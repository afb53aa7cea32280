/*
 * A market's book as recorded messages tell it, in the texts in which they
 * tell it.
 *
 * SPDX-License-Identifier: 0BSD
 */
#ifndef SANDBOX_PLAYED_BOOK_H
#define SANDBOX_PLAYED_BOOK_H

#include <glib.h>
#include <jansson.h>
#include <stdbool.h>

/* What all books of a recording may hold together: it is anyone's file. */
struct played_room {
    gsize levels;
    gsize early; /* bytes of updates that wait for their snapshot */
};

struct played_book;

/* The room must outlive the book. */
struct played_book *played_book_new(struct played_room *room);
void played_book_free(struct played_book *book);

/* The payload of a message of market_data, and how long the message is. False
 * where there is no more room for it. */
bool played_book_take(struct played_book *book, json_t *payload, gsize len);

/* Time, bids and asks, at most so many of each, to be released; NULL: there was
 * no snapshot yet. */
json_t *played_book_json(const struct played_book *book, guint levels);

#endif
