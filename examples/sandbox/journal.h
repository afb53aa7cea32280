/*
 * The latest requests and responses, without secrets, for the page.
 *
 * SPDX-License-Identifier: 0BSD
 */
#ifndef SANDBOX_JOURNAL_H
#define SANDBOX_JOURNAL_H

#include "token.h"

struct journal;

/* The tokens must outlive the journal. */
struct journal *journal_new(const struct token_store *tokens);
void journal_free(struct journal *journal);

/* Records the server's requests and responses from now on, except those of
 * paths below /sandbox/. The page shows `place` as the server's name; it and
 * the journal must outlive the server. */
void journal_watch(struct journal *journal, SoupServer *server,
                   const char *place);

/* Records a request whose connection is taken from the server, which therefore
 * never reports its end. */
void journal_request(struct journal *journal, const char *place,
                     SoupServerMessage *message);

/* Records a request on a stream and the response, which may be NULL. */
void journal_message(struct journal *journal, guint stream, const char *text,
                     size_t len, const char *answer);

/* Records the end of a stream. code is 0 if there was none. */
void journal_ended(struct journal *journal, guint stream, gushort code,
                   const char *reason);

/* Returns the entries kept that are newer than this number, oldest first, to be
 * released. */
json_t *journal_since(const struct journal *journal, gint64 number);

#endif
