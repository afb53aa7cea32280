/* NATS JetStream: connection and lease. SPDX-License-Identifier: 0BSD */
#include "broker.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "broker_private.h"
#include "text.h"

/* Time between attempts to connect. */
#define RETRY_MS 500
/* Interval of the keeper's checks. */
#define WAIT_MS 100
/* The broker may refuse every message. The same reason is printed once in
 * SAME_AGAIN_MS, another one after ANOTHER_MS. */
#define SAME_AGAIN_MS 60000
#define ANOTHER_MS 1000
/* Answers that may wait. Orders have fewer, but others may write to the inbox,
 * too. An order whose answer is lost fails. */
#define ANSWERS_MAX 65536
#define ANSWERS_BYTES_MAX (16 * 1024 * 1024)

int64_t broker_now_ms(void) {
    return g_get_monotonic_time() / 1000;
}

void broker_say(const struct broker *broker, const char *what,
                const char *why) {
    fprintf(stderr, "gateway %s: broker: %s%s%s\n", broker->config.gateway,
            what, why ? ": " : "", why ? why : "");
}

void broker_tell(struct broker *broker, const struct broker_report *report) {
    g_async_queue_push(broker->reports, g_memdup2(report, sizeof *report));
    if ((report->kind == BROKER_STORED || report->kind == BROKER_KEPT) &&
        !g_atomic_int_get(&broker->waiting)) {
        return;
    }
    (void)eventfd_write(broker->fd, 1); /* a full counter is readable, too */
}

void broker_tell_kind(struct broker *broker, enum broker_report_kind kind,
                      uint64_t epoch) {
    broker_tell(broker, &(struct broker_report){.kind = kind, .epoch = epoch});
}

void broker_count(struct broker *broker, uint64_t *count) {
    g_mutex_lock(&broker->lock);
    ++*count;
    g_mutex_unlock(&broker->lock);
}

/* Reports until when the last run of this gateway had missed nothing. */
static bool broker_read_seen(struct broker *broker) {
    kvEntry *entry = NULL;
    natsStatus status =
        kvStore_Get(&entry, broker->gateways, broker->config.gateway);
    uint64_t ns = 0;

    if (status == NATS_OK) {
        ns = g_ascii_strtoull(kvEntry_ValueString(entry), NULL, 10);
    }
    kvEntry_Destroy(entry);
    if (status != NATS_OK && status != NATS_NOT_FOUND) {
        return false;
    }
    broker->seen_told = true;
    broker_tell_kind(broker, BROKER_SEEN_WAS, ns);
    return true;
}

/* Prints why the connection failed, unless the last reason was the same. */
static void broker_complain(struct broker *broker, const char *what,
                            const char *why) {
    char *text = g_strdup_printf("%s: %s", what, why);

    if (g_strcmp0(text, broker->complaint) != 0) {
        broker_say(broker, text, NULL);
    }
    g_free(broker->complaint);
    broker->complaint = text;
}

void broker_refused(struct broker *broker, const char *why) {
    int64_t now_ms = broker_now_ms();
    bool same;

    g_mutex_lock(&broker->lock);
    same = g_strcmp0(why, broker->trouble) == 0;
    if (!broker->trouble ||
        now_ms - broker->trouble_ms >= (same ? SAME_AGAIN_MS : ANOTHER_MS)) {
        broker_say(broker, "refused", why);
        g_free(broker->trouble);
        broker->trouble = g_strdup(why);
        broker->trouble_ms = now_ms;
    }
    g_mutex_unlock(&broker->lock);
}

/* Called if the broker refuses something, such as a forbidden subject. */
static void on_error(natsConnection *connection, natsSubscription *subscription,
                     natsStatus status, void *context) {
    struct broker *broker = context;
    const char *last = NULL;
    char text[BROKER_WHY_LEN];

    (void)subscription;
    (void)natsConnection_GetLastError(connection, &last);
    broker_refused(broker,
                   text_clean(last && *last ? last : natsStatus_GetText(status),
                              text, sizeof text));
}

/* Opens streams, buckets and subscriptions. Returns true if all succeed. */
static bool broker_prepare(struct broker *broker) {
    char why[BROKER_WHY_LEN] = "", subject[SUBJECT_LEN], answers[SUBJECT_LEN];
    natsInbox *inbox = NULL;
    jsOptions options;

    jsOptions_Init(&options);
    options.Wait = BROKER_ANSWER_MS;
    if (natsConnection_JetStream(&broker->js, broker->connection, &options) !=
        NATS_OK) {
        return false;
    }
    if (!broker_setup(broker, why)) {
        broker_complain(broker, "the streams cannot be used", why);
        return false;
    }
    broker->made = false;
    if (natsInbox_Create(&inbox) != NATS_OK) {
        return false;
    }
    g_free(broker->inbox);
    broker->inbox = g_strdup_printf(BROKER_INBOX "%s%s", broker->config.prefix,
                                    strchr(inbox, '.'));
    natsInbox_Destroy(inbox);
    snprintf(answers, sizeof answers, "%s.*", broker->inbox);
    snprintf(subject, sizeof subject, "%s.snapshot.*", broker->config.prefix);
    return natsConnection_SubscribeSync(&broker->answers, broker->connection,
                                        answers) == NATS_OK &&
           natsSubscription_SetPendingLimits(broker->answers, ANSWERS_MAX,
                                             ANSWERS_BYTES_MAX) == NATS_OK &&
           natsConnection_SubscribeSync(&broker->requests, broker->connection,
                                        subject) == NATS_OK &&
           (broker->seen_told || broker_read_seen(broker));
}

static bool broker_connect(struct broker *broker) {
    char why[BROKER_WHY_LEN];
    natsOptions *options =
        broker_options(&broker->config, on_error, broker, why);
    natsConnection *connection = NULL;
    natsStatus status = NATS_OK;

    if (options) {
        status = loop_options(broker, options);
        if (status == NATS_OK) {
            status = natsConnection_Connect(&connection, options);
        }
        natsOptions_Destroy(options);
    }
    g_rw_lock_writer_lock(&broker->use);
    broker->connection = connection;
    g_rw_lock_writer_unlock(&broker->use);
    if (!options || status != NATS_OK) {
        broker_complain(broker, "no connection",
                        options ? broker_why(status, why) : why);
        return false;
    }
    return broker_prepare(broker);
}

/* Closes the connection and all that uses it. Orders under way fail: it is
 * unknown whether they are stored. */
static void broker_disconnect(struct broker *broker) {
    natsConnection_Close(broker->connection); /* ends the sender's calls */
    g_rw_lock_writer_lock(&broker->use);
    natsSubscription_Destroy(broker->requests);
    natsSubscription_Destroy(broker->answers);
    kvStore_Destroy(broker->lease);
    kvStore_Destroy(broker->gateways);
    jsCtx_Destroy(broker->js);
    natsConnection_Destroy(broker->connection);
    broker->requests = broker->answers = NULL;
    broker->lease = broker->gateways = NULL;
    broker->js = NULL;
    broker->connection = NULL;
    broker->up = false;
    orders_fail(broker, INT64_MAX);
    g_rw_lock_writer_unlock(&broker->use);
}

/* ---- the lease: who publishes books and tops ---- */

/* Stops holding the lease. */
static void lease_drop(struct broker *broker) {
    if (broker->holds) {
        broker->holds = false;
        broker_say(broker, "lost the lease", NULL);
        broker_tell_kind(broker, BROKER_HOLDS_NOT, 0);
    }
}

/* Creates deleted streams and buckets. Then an epoch starts. */
static void lease_restore(struct broker *broker) {
    char why[BROKER_WHY_LEN] = "";

    if (!broker_setup(broker, why)) {
        broker_complain(broker, "the streams cannot be used", why);
        g_atomic_int_set(&broker->gone, true);
        return;
    }
    g_clear_pointer(&broker->complaint, g_free);
    if (broker->made) {
        broker->made = false;
        broker_say(broker, "streams were deleted; created again",
                   why[0] ? why : NULL);
        lease_drop(broker);
    }
}

/* Takes or renews the lease, three times per lease_ms. Drops one that was not
 * renewed in time. */
static void lease_go_on(struct broker *broker) {
    const char *name = broker->config.gateway;
    const int64_t now = broker_now_ms();
    char why[BROKER_WHY_LEN];
    natsStatus status;

    if (broker->holds &&
        now - broker->renewed_ms >= (int64_t)broker->config.lease_ms) {
        lease_drop(broker);
    }
    if (now - broker->tried_ms < broker->config.lease_ms / 3) {
        return;
    }
    broker->tried_ms = now;
    if (g_atomic_int_compare_and_exchange(&broker->gone, true, false)) {
        lease_restore(broker);
    }
    /* An entry of this gateway that has not expired yet is renewed. */
    status =
        broker->revision > 0
            ? kvStore_UpdateString(&broker->revision, broker->lease,
                                   BROKER_LEASE_KEY, name, broker->revision)
            : kvStore_CreateString(&broker->revision, broker->lease,
                                   BROKER_LEASE_KEY, name);
    if (status == NATS_OK && !broker->holds &&
        !broker_setup_epoch(broker, why)) { /* the bucket may be another one */
        broker_complain(broker, "the lease cannot be used", why);
        (void)kvStore_Delete(broker->lease, BROKER_LEASE_KEY);
        broker->revision = 0;
    } else if (status == NATS_OK) {
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
    } else if (status == NATS_NO_RESPONDERS) {
        g_atomic_int_set(&broker->gone, true);
    }
}

/* ---- the keeper ---- */

/* Checks the connection. If it is lost, connects again after RETRY_MS. */
static void broker_check(struct broker *broker) {
    if (broker->up && natsConnection_IsClosed(broker->connection)) {
        broker_say(broker, "connection lost", NULL);
        lease_drop(broker);
        broker_disconnect(broker);
        broker_tell_kind(broker, BROKER_IS_DOWN, 0);
    }
    if (broker->up || broker_now_ms() - broker->tried_ms < RETRY_MS) {
        return;
    }
    broker->tried_ms = broker_now_ms();
    if (broker_connect(broker)) {
        g_rw_lock_writer_lock(&broker->use);
        broker->up = true;
        g_rw_lock_writer_unlock(&broker->use);
        broker_count(broker, &broker->stats.opens);
        broker_say(broker, "connected", NULL);
        g_clear_pointer(&broker->complaint, g_free);
        broker_tell_kind(broker, BROKER_IS_UP, 0);
    } else {
        broker_disconnect(broker);
    }
}

static gpointer broker_keep(gpointer context) {
    struct broker *broker = context;

    while (!g_atomic_int_get(&broker->ending)) {
        broker_check(broker);
        if (broker->up) {
            lease_go_on(broker);
        }
        g_usleep(WAIT_MS * 1000);
    }
    if (broker->up && broker->holds) { /* so that others need not wait */
        (void)kvStore_Delete(broker->lease, BROKER_LEASE_KEY);
    }
    return NULL;
}

struct broker *broker_begin(const struct broker_config *config) {
    struct broker *broker;
    char why[BROKER_WHY_LEN];
    natsOptions *options = broker_options(config, NULL, NULL, why);

    if (!options) {
        fprintf(stderr, "gateway %s: broker: %s\n", config->gateway, why);
        return NULL;
    }
    natsOptions_Destroy(options);
    broker = g_new0(struct broker, 1);
    broker->config = *config;
    broker->tried_ms = broker_now_ms() - (int64_t)config->lease_ms - RETRY_MS;
    broker->orders = g_async_queue_new();
    broker->reports = g_async_queue_new();
    broker->under = g_hash_table_new(g_int64_hash, g_int64_equal);
    broker->done =
        g_ptr_array_new_with_free_func((GDestroyNotify)natsMsg_Destroy);
    g_queue_init(&broker->held);
    g_mutex_init(&broker->lock);
    broker->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    broker->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    broker->socket = -1;
    g_rw_lock_init(&broker->use);
    broker->keeper = g_thread_new("lease", broker_keep, broker);
    broker->sender = g_thread_new("orders", loop_run, broker);
    return broker;
}

int broker_fd(const struct broker *broker) {
    return broker->fd;
}

void broker_flush(struct broker *broker) {
    struct order *order;

    if (g_queue_is_empty(&broker->held)) {
        return;
    }
    g_async_queue_lock(broker->orders);
    while ((order = g_queue_pop_head(&broker->held))) {
        g_async_queue_push_unlocked(broker->orders, order);
    }
    g_async_queue_unlock(broker->orders);
    broker_wake(broker);
}

void broker_set_waiting(struct broker *broker, bool waiting) {
    g_atomic_int_set(&broker->waiting, waiting);
}

void broker_awake(struct broker *broker) {
    eventfd_t count;

    (void)eventfd_read(broker->fd, &count);
}

bool broker_report(struct broker *broker, struct broker_report *report) {
    struct broker_report *next = g_async_queue_try_pop(broker->reports);

    if (next) {
        *report = *next;
        g_free(next);
    }
    return next != NULL;
}

void broker_report_free(struct broker_report *report) {
    g_free(report->market);
    g_free(report->reply);
}

void broker_stats(struct broker *broker, struct broker_stats *stats) {
    g_mutex_lock(&broker->lock);
    *stats = broker->stats;
    g_mutex_unlock(&broker->lock);
}

void broker_end(struct broker *broker) {
    struct broker_report report;
    struct order *order;

    broker_flush(broker);
    g_atomic_int_set(&broker->ending, 1);
    g_thread_join(broker->keeper);
    g_atomic_int_set(&broker->unmoved, 1);
    broker_wake(broker);
    g_thread_join(broker->sender);
    broker_disconnect(broker);
    g_ptr_array_free(broker->done, TRUE);
    nats_CloseAndWait(0); /* after this, there are no callbacks */
    while (broker_report(broker, &report)) {
        broker_report_free(&report);
    }
    while ((order = g_async_queue_try_pop(broker->orders))) {
        order_free(order);
    }
    g_hash_table_destroy(broker->under);
    g_async_queue_unref(broker->orders);
    g_async_queue_unref(broker->reports);
    g_mutex_clear(&broker->lock);
    g_rw_lock_clear(&broker->use);
    g_free(broker->inbox);
    g_free(broker->complaint);
    g_free(broker->trouble);
    close(broker->fd);
    close(broker->wake);
    g_free(broker);
}
