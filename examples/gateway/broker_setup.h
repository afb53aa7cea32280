/*
 * What a gateway finds or makes at the broker: how it connects, its streams and
 * its buckets.
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

/* With the prefix behind it, where answers to gateways go: no consumer listens
 * there. */
#define BROKER_INBOX "_INBOX_"

/* Bytes of a line that says why something failed, with a NUL. */
#define BROKER_WHY_LEN 512

/* Writes what the library says of a call that failed just now in this thread.
 * Returns why. */
const char *broker_why(natsStatus status, char why[BROKER_WHY_LEN]);

/* Options of a connection, or NULL with the reason. It does not reconnect by
 * itself: what it holds back would go out later, when it is repeated without a
 * mark. */
natsOptions *broker_options(const struct broker_config *config,
                            natsErrHandler error, void *context,
                            char why[BROKER_WHY_LEN]);

/* Makes the streams and buckets that are not there. Those that are stay as they
 * are, but where that cannot do, which fails. epoch_base: when the bucket of
 * the lease was made, ms, so that epochs go on where its revisions begin anew.
 * Returns false with the reason. */
bool broker_setup(jsCtx *js, const struct broker_config *config,
                  kvStore **lease, kvStore **gateways, uint64_t *epoch_base,
                  char why[BROKER_WHY_LEN]);

/* Writes the name of the stream that a subject is in. */
void broker_stream_of(const struct broker_config *config, const char *subject,
                      char name[SUBJECT_LEN]);

/* The epoch that a stored message names, or 0. */
uint64_t broker_epoch_of(const char *text, size_t len);

#endif
