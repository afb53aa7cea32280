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

/* The last updates of each market. */
struct early;

struct early *early_new(void);
void early_free(struct early *early);

/* An update was made, whether or not anyone gets it. */
void early_record(struct early *early, const struct market *market,
                  const char *update);

/* The snapshot, which is taken over, waits in the subscription. Returns the
 * texts (char *) to send before it, valid until the next record. */
const GQueue *early_begin(struct early *early,
                          struct subscription *subscription, char *snapshot);

/* The market changed; true: the snapshot need not wait longer. removes: the
 * subscription was sent the removal of a level. */
bool early_ends(struct subscription *subscription, bool removes);

#endif
