/*
 * The quirk delayed-data: who asks too fast gets the data late, without an
 * error. Counted by address, held back by connection.
 *
 * SPDX-License-Identifier: 0BSD
 */
#ifndef SANDBOX_DELAY_H
#define SANDBOX_DELAY_H

#include <glib.h>
#include <stdbool.h>

/* Data of one connection that waits, in order. */
struct delay_queue;

/* Sends one text of the subscription with this serial. */
typedef void (*delay_send)(void *user_data, guint serial, const char *text);

/* addresses: what is known of each, by its text; the table frees both. It and
 * user_data must outlive the queue. */
struct delay_queue *delay_queue_new(GHashTable *addresses, const char *address,
                                    delay_send send, void *user_data);
void delay_queue_free(struct delay_queue *queue);

/* The connection subscribed. */
void delay_subscribed(struct delay_queue *queue);

/* Takes a copy of the text, to send it later; false: nothing delays it. */
bool delay_take(struct delay_queue *queue, guint serial, const char *text);

#endif
