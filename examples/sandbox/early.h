/*
 * The quirk early-updates: a subscription to market_data first gets updates
 * that are not later than the SNAPSHOT, then later ones, then the SNAPSHOT, and
 * then one update that is older.
 *
 * SPDX-License-Identifier: 0BSD
 */
#ifndef SANDBOX_EARLY_H
#define SANDBOX_EARLY_H

#include "request.h"

/* Returns a table that has each market's last updates, a queue of texts, oldest
 * first. */
GHashTable *early_new(void);

/* Records an update of the market, even if it is sent to nobody. */
void early_record(GHashTable *early, const struct market *market,
                  const char *update);

/* Takes over the snapshot and holds it back in the subscription. Returns the
 * texts (char *) to send first, valid until the next early_record(). */
const GQueue *early_begin(GHashTable *early, struct subscription *subscription,
                          char *snapshot);

/* Counts a change of the market. Returns true if the snapshot is due now.
 * removes: the subscription was sent the removal of a level. */
bool early_ends(struct subscription *subscription, bool removes);

#endif
