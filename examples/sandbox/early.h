/*
 * The quirk early-updates: a subscription to market_data begins with updates
 * that are not later than the SNAPSHOT, goes on with later ones, and only then
 * gets the SNAPSHOT, followed by one more update that is older.
 *
 * SPDX-License-Identifier: 0BSD
 */
#ifndef SANDBOX_EARLY_H
#define SANDBOX_EARLY_H

#include "request.h"

/* The last updates of each market: a queue of texts, the oldest first. */
GHashTable *early_new(void);

/* An update was made, whether or not anyone gets it. */
void early_record(GHashTable *early, const struct market *market,
                  const char *update);

/* The snapshot, which is taken over, waits in the subscription. Returns the
 * texts (char *) to send before it, valid until the next record. */
const GQueue *early_begin(GHashTable *early, struct subscription *subscription,
                          char *snapshot);

/* The market changed; true: the snapshot need not wait longer. removes: the
 * subscription was sent the removal of a level. */
bool early_ends(struct subscription *subscription, bool removes);

#endif
