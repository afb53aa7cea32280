/*
 * The last requests and answers, without their secrets, for the page.
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

/* Keeps what the server is asked and answers from now on, but for its paths
 * below /sandbox/. place: what to call it; it must outlive the server, as the
 * journal must. */
void journal_watch(struct journal *journal, SoupServer *server,
                   const char *place);

/* Keeps a request whose connection the server gives away, so that it never ends
 * for the server. */
void journal_request(struct journal *journal, const char *place,
                     SoupServerMessage *message);

/* Keeps a message of a stream and its answer; NULL: there is none. */
void journal_message(struct journal *journal, guint stream, const char *text,
                     size_t len, const char *answer);

/* Keeps that a stream has ended: why, as far as it is known. */
void journal_ended(struct journal *journal, guint stream, gushort code,
                   const char *reason);

/* Those that are kept and came after the one with this number, oldest first,
 * to be released. */
json_t *journal_since(const struct journal *journal, gint64 number);

#endif
