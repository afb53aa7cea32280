/*
 * The quirk delayed-data: a client that subscribes too fast gets its data late,
 * without an error. Subscribes are counted per IP address; each connection has
 * its own queue of delayed data.
 *
 * SPDX-License-Identifier: 0BSD
 */
#ifndef SANDBOX_DELAY_H
#define SANDBOX_DELAY_H

#include <glib.h>
#include <stdbool.h>

/* The delayed data of one connection, in order. */
struct delay_queue;

/* Sends a text of the subscription with this serial number. */
typedef void (*delay_send)(void *user_data, guint serial, const char *text);

/* The table maps IP addresses to their state; it frees keys and values. It and
 * user_data must outlive the queue. */
struct delay_queue *delay_queue_new(GHashTable *addresses, const char *address,
                                    delay_send send, void *user_data);
void delay_queue_free(struct delay_queue *queue);

/* Counts a subscribe on this connection. */
void delay_subscribed(struct delay_queue *queue);

/* Queues a copy of the text if it must be delayed; else returns false. */
bool delay_take(struct delay_queue *queue, guint serial, const char *text);

#endif
