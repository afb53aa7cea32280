/*
 * Setup at the broker: options of the connection, streams and buckets.
 *
 * SPDX-License-Identifier: 0BSD
 */
#ifndef BROKER_SETUP_H
#define BROKER_SETUP_H

#include <nats/nats.h>

#include "broker.h"
#include "subject.h"

/* The key of the lease in its bucket. */
#define BROKER_LEASE_KEY "holder"

/* Followed by the prefix, the inbox of gateways, which consumers do not use. */
#define BROKER_INBOX "_INBOX_"

/* Bytes of a reason for a failure, including the NUL. */
#define BROKER_WHY_LEN 512

/* Writes and returns the library's reason for this thread's last failure. */
const char *broker_why(natsStatus status, char why[BROKER_WHY_LEN]);

/* Returns options of a connection, or NULL with the reason. They forbid the
 * library to reconnect: it would send queued messages late, as repeats without
 * a mark. */
natsOptions *broker_options(const struct broker_config *config,
                            natsErrHandler error, void *context,
                            char why[BROKER_WHY_LEN]);

/* Creates missing streams and buckets. Existing ones stay unchanged; if one
 * does not fit, this fails. Sets epoch_base to the creation time of the lease's
 * bucket in ms, so that epochs still rise after the bucket was deleted. On
 * failure, returns false with the reason. */
bool broker_setup(jsCtx *js, const struct broker_config *config,
                  kvStore **lease, kvStore **gateways, uint64_t *epoch_base,
                  char why[BROKER_WHY_LEN]);

/* Writes the name of the subject's stream. */
void broker_stream_of(const struct broker_config *config, const char *subject,
                      char name[SUBJECT_LEN]);

/* Returns the epoch in a stored message, or 0. */
uint64_t broker_epoch_of(const char *text, size_t len);

#endif
