/*
 * A market's book made from recorded messages. Numbers keep their recorded
 * text.
 *
 * SPDX-License-Identifier: 0BSD
 */
#ifndef SANDBOX_PLAYED_BOOK_H
#define SANDBOX_PLAYED_BOOK_H

#include <glib.h>
#include <jansson.h>
#include <stdbool.h>

/* The memory in use by all books of a recording; limited, because the file may
 * come from anybody. */
struct played_room {
    gsize levels;
    gsize early; /* bytes of updates that wait for their snapshot */
};

struct played_book;

/* The room must outlive the book. */
struct played_book *played_book_new(struct played_room *room);
void played_book_free(struct played_book *book);

/* Applies the payload of a market_data message of this length. Returns false if
 * there is no room for it. */
bool played_book_take(struct played_book *book, json_t *payload, gsize len);

/* Returns time, bids and asks, at most `levels` of each, to be released; NULL
 * before the first snapshot. */
json_t *played_book_json(const struct played_book *book, guint levels);

#endif
