/*
 * The lease: who publishes books and tops.
 *
 * SPDX-License-Identifier: 0BSD
 */
#include "broker_private.h"
#include "broker_setup.h"

void lease_drop(struct broker *broker) {
    if (broker->holds) {
        broker->holds = false;
        broker_say(broker, "lost the lease", NULL);
        broker_tell_kind(broker, BROKER_HOLDS_NOT, 0);
    }
}

void lease_go_on(struct broker *broker) {
    const char *name = broker->config.gateway;
    const int64_t now = broker_now_ms();
    natsStatus status;

    if (now - broker->tried_ms < broker->config.lease_ms / 3) {
        return;
    }
    broker->tried_ms = now;
    /* An entry of our own that has not expired yet is gone on with. */
    status =
        broker->revision > 0
            ? kvStore_UpdateString(&broker->revision, broker->lease,
                                   BROKER_LEASE_KEY, name, broker->revision)
            : kvStore_CreateString(&broker->revision, broker->lease,
                                   BROKER_LEASE_KEY, name);
    if (status == NATS_OK) {
        broker->renewed_ms = now;
        if (!broker->holds) {
            broker->holds = true;
            broker_say(broker, "holds the lease", NULL);
            broker_tell_kind(broker, BROKER_HOLDS,
                             broker->epoch_base + broker->revision);
        }
    } else if (status == NATS_ERR) { /* refused: another revision */
        broker->revision = 0;
        lease_drop(broker);
    }
}

void lease_check(struct broker *broker) {
    if (broker->holds && broker_now_ms() - broker->renewed_ms >=
                             (int64_t)broker->config.lease_ms) {
        lease_drop(broker);
    }
}

void lease_return(struct broker *broker) {
    if (broker->up && broker->holds) {
        (void)kvStore_Delete(broker->lease, BROKER_LEASE_KEY);
    }
}
