/*
 * The broker: NATS JetStream, spoken to by a thread of its own.
 *
 * SPDX-License-Identifier: 0BSD
 */
#include "broker.h"

#include <glib.h>
#include <inttypes.h>
#include <nats/nats.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "broker_setup.h"
#include "subject.h"

/* How long the broker has for an answer. */
#define ANSWER_MS 3000
/* Between attempts to connect, or to make the streams. */
#define RETRY_MS 500
/* The longest sleep. */
#define WAIT_MS 100
/* Messages on their way, more than a gateway ever has. */
#define PENDING_MAX 100000

/* An order in the queue, and until its report. */
struct order {
    enum broker_order_kind kind;
    uint64_t number, after;
    const char *subject;
    char *id, *text;
    size_t len;
};

struct broker {
    struct broker_config config;
    natsConnection *connection;
    jsCtx *js;
    kvStore *lease, *gateways;
    natsSubscription *requests;
    GThread *thread;
    GAsyncQueue *orders, *reports;
    int fd;            /* an eventfd, readable while there are reports */
    GMutex lock;       /* of what follows */
    GHashTable *under; /* natsMsg *: its order, until the broker answers */
    struct broker_stats stats;
    uint64_t answers_s, answered; /* requests answered in this second */
    bool lost;                    /* the connection, says the library */
    bool ending;
    /* The thread's alone. */
    bool up;
    bool holds;
    uint64_t revision; /* of the lease's entry */
    int64_t renewed_ms, tried_ms;
    bool seen_told;
};

static int64_t now_ms(void) {
    return g_get_monotonic_time() / 1000;
}

static void broker_say(const struct broker *broker, const char *what,
                       const char *why) {
    fprintf(stderr, "gateway %s: broker: %s%s%s\n", broker->config.gateway,
            what, why ? ": " : "", why ? why : "");
}

static void order_free(struct order *order) {
    g_free(order->id);
    g_free(order->text);
    g_free(order);
}

static void broker_tell(struct broker *broker,
                        const struct broker_report *report) {
    const uint64_t one = 1;

    g_async_queue_push(broker->reports, g_memdup2(report, sizeof *report));
    (void)!write(broker->fd, &one, sizeof one); /* full is readable as well */
}

static void broker_tell_kind(struct broker *broker,
                             enum broker_report_kind kind, uint64_t epoch) {
    broker_tell(broker, &(struct broker_report){.kind = kind, .epoch = epoch});
}

/* What came of an order. */
static void order_tell(struct broker *broker, const struct order *order,
                       const jsPubAck *ack) {
    struct broker_report report = {.number = order->number};

    if (order->kind == BROKER_STORE) {
        report.kind = ack ? BROKER_STORED : BROKER_FAILED;
        report.sequence = ack ? ack->Sequence : 0;
    } else if (order->kind == BROKER_KEEP) {
        report.kind = ack ? BROKER_KEPT : BROKER_NOT_KEPT;
        report.again = ack && ack->Duplicate;
    } else {
        return;
    }
    broker_tell(broker, &report);
}

static void broker_count(struct broker *broker, uint64_t *count) {
    g_mutex_lock(&broker->lock);
    ++*count;
    g_mutex_unlock(&broker->lock);
}

/* The library's callback: the broker has answered, or has not in time. */
static void on_answer(jsCtx *js, natsMsg *message, jsPubAck *ack,
                      jsPubAckErr *error, void *context) {
    struct broker *broker = context;
    struct order *order;

    (void)js;
    g_mutex_lock(&broker->lock);
    order = g_hash_table_lookup(broker->under, message);
    g_hash_table_remove(broker->under, message);
    if (!ack) {
        ++broker->stats.failures;
        broker->stats.conflicts +=
            error && error->ErrCode == JSStreamWrongLastSequenceErr;
    }
    g_mutex_unlock(&broker->lock);
    if (order) {
        order_tell(broker, order, ack);
        order_free(order);
    }
    natsMsg_Destroy(message);
}

/* Hands a message to the library. Returns whether on_answer() will come. */
static bool broker_publish(struct broker *broker, struct order *order) {
    char subject[2 * SUBJECT_LEN];
    jsPubOptions options;
    natsMsg *message = NULL, *sent;
    natsStatus status;

    jsPubOptions_Init(&options);
    options.MaxWait = ANSWER_MS;
    options.MsgId = order->id;
    if (order->kind == BROKER_STORE) {
        options.ExpectLastSubjectSeq = order->after;
        options.ExpectNoMessage = order->after == 0;
    }
    if (order->kind == BROKER_PUT) { /* as a bucket keeps its keys */
        snprintf(subject, sizeof subject, "$KV.%s_last.%s",
                 broker->config.prefix, order->subject);
    } else {
        snprintf(subject, sizeof subject, "%s", order->subject);
    }
    status =
        natsMsg_Create(&message, subject, NULL, order->text, (int)order->len);
    if (status != NATS_OK) {
        return false;
    }
    g_mutex_lock(&broker->lock);
    g_hash_table_insert(broker->under, message, order);
    g_mutex_unlock(&broker->lock);
    sent = message; /* the library clears what it has taken */
    status = js_PublishMsgAsync(broker->js, &sent, &options);
    if (status == NATS_OK) {
        return true;
    }
    g_mutex_lock(&broker->lock);
    g_hash_table_remove(broker->under, message);
    g_mutex_unlock(&broker->lock);
    natsMsg_Destroy(sent);
    return false;
}

/* Asks which message of a lane is the last. */
static void broker_last(struct broker *broker, const struct order *order) {
    struct broker_report report = {.kind = BROKER_FAILED,
                                   .number = order->number};
    natsMsg *message = NULL;
    char stream[SUBJECT_LEN];
    jsErrCode error = 0;
    natsStatus status;

    broker_stream_of(&broker->config, order->subject, stream);
    status = js_GetLastMsg(&message, broker->js, stream, order->subject, NULL,
                           &error);

    if (status == NATS_OK) {
        report.kind = BROKER_LAST_IS;
        report.sequence = natsMsg_GetSequence(message);
        report.epoch = broker_epoch_of(natsMsg_GetData(message),
                                       (size_t)natsMsg_GetDataLength(message));
    } else if (error == JSNoMessageFoundErr || status == NATS_NOT_FOUND) {
        report.kind = BROKER_LAST_IS;
    }
    natsMsg_Destroy(message);
    broker_tell(broker, &report);
}

/* Carries an order out. */
static void broker_do(struct broker *broker, struct order *order) {
    natsStatus status;

    switch (order->kind) {
    case BROKER_STORE:
    case BROKER_KEEP:
    case BROKER_PUT:
        if (broker->up && broker_publish(broker, order)) {
            return; /* it is freed by on_answer() */
        }
        order_tell(broker, order, NULL);
        break;
    case BROKER_LAST:
        if (broker->up) {
            broker_last(broker, order);
        } else {
            broker_tell(broker,
                        &(struct broker_report){.kind = BROKER_FAILED,
                                                .number = order->number});
        }
        break;
    case BROKER_SEEN:
        status = broker->up ? kvStore_Put(NULL, broker->gateways,
                                          broker->config.gateway, order->text,
                                          (int)order->len)
                            : NATS_OK;
        if (status != NATS_OK) {
            broker_count(broker, &broker->stats.failures);
        }
        break;
    case BROKER_ANSWER:
        if (broker->up) {
            (void)natsConnection_Publish(broker->connection, order->id,
                                         order->text, (int)order->len);
        }
        break;
    }
    order_free(order);
}

/* The library's callback: somebody asks for a snapshot. Only the holder
 * answers, only into an inbox, and only so often. */
static void on_request(natsConnection *connection,
                       natsSubscription *subscription, natsMsg *message,
                       void *context) {
    static const char inbox[] = "_INBOX.";
    struct broker *broker = context;
    const char *reply = natsMsg_GetReply(message);
    const char *token = strrchr(natsMsg_GetSubject(message), '.');
    uint64_t second = (uint64_t)now_ms() / 1000;
    bool takes;

    (void)connection;
    (void)subscription;
    g_mutex_lock(&broker->lock);
    if (broker->answers_s != second) {
        broker->answers_s = second;
        broker->answered = 0;
    }
    takes = broker->answered < broker->config.answers;
    broker->answered += takes;
    broker->stats.turned += !takes;
    g_mutex_unlock(&broker->lock);
    if (takes && token && reply &&
        strncmp(reply, inbox, sizeof inbox - 1) == 0) {
        broker_tell(broker,
                    &(struct broker_report){.kind = BROKER_ASKED,
                                            .market = g_strdup(token + 1),
                                            .reply = g_strdup(reply)});
    }
    natsMsg_Destroy(message);
}

/* The library's callback: the connection is closed. */
static void on_lost(natsConnection *connection, void *context) {
    struct broker *broker = context;

    (void)connection;
    g_mutex_lock(&broker->lock);
    broker->lost = true;
    g_mutex_unlock(&broker->lock);
}

/* Does not hold the lease any more, whoever has it. */
static void broker_drop(struct broker *broker) {
    if (broker->holds) {
        broker->holds = false;
        broker_say(broker, "holds the lease no longer", NULL);
        broker_tell_kind(broker, BROKER_HOLDS_NOT, 0);
    }
}

static void broker_lease(struct broker *broker) {
    const char *name = broker->config.gateway;
    const int64_t now = now_ms();
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
            broker_tell_kind(broker, BROKER_HOLDS, broker->revision);
        }
    } else if (status == NATS_ERR) { /* refused: another revision */
        broker->revision = 0;
        broker_drop(broker);
    }
}

/* Until when this gateway has missed nothing, as it said when it last ran. */
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

/* Opens all that stands on a connection. Returns whether all is there. */
static bool broker_prepare(struct broker *broker) {
    char why[256] = "", subject[SUBJECT_LEN];
    jsOptions options;

    jsOptions_Init(&options);
    options.Wait = ANSWER_MS;
    options.PublishAsync.MaxPending = PENDING_MAX;
    options.PublishAsync.AckHandler = on_answer;
    options.PublishAsync.AckHandlerClosure = broker;
    if (natsConnection_JetStream(&broker->js, broker->connection, &options) !=
        NATS_OK) {
        return false;
    }
    if (!broker_setup(broker->js, &broker->config, &broker->lease,
                      &broker->gateways, why, sizeof why)) {
        broker_say(broker, "the streams cannot be used", why);
        return false;
    }
    snprintf(subject, sizeof subject, "%s.snapshot.*", broker->config.prefix);
    return natsConnection_Subscribe(&broker->requests, broker->connection,
                                    subject, on_request, broker) == NATS_OK &&
           (broker->seen_told || broker_read_seen(broker));
}

static bool broker_connect(struct broker *broker) {
    natsOptions *options = broker_options(&broker->config, on_lost, broker);
    natsStatus status =
        options ? natsConnection_Connect(&broker->connection, options)
                : NATS_NO_MEMORY;

    natsOptions_Destroy(options);
    if (status != NATS_OK) {
        broker_say(broker, "no connection", natsStatus_GetText(status));
        return false;
    }
    return broker_prepare(broker);
}

/* Closes all that stands on the connection. What is under way is stored, or it
 * is not: nobody knows. */
static void broker_disconnect(struct broker *broker) {
    GHashTable *under;
    GHashTableIter at;
    struct order *order;

    natsSubscription_Destroy(broker->requests);
    kvStore_Destroy(broker->lease);
    kvStore_Destroy(broker->gateways);
    jsCtx_Destroy(broker->js);
    natsConnection_Close(broker->connection);
    natsConnection_Destroy(broker->connection);
    broker->requests = NULL;
    broker->lease = broker->gateways = NULL;
    broker->js = NULL;
    broker->connection = NULL;
    g_mutex_lock(&broker->lock);
    under = broker->under;
    broker->under = g_hash_table_new(NULL, NULL);
    broker->lost = false;
    g_mutex_unlock(&broker->lock);
    g_hash_table_iter_init(&at, under);
    while (g_hash_table_iter_next(&at, NULL, (gpointer *)&order)) {
        order_tell(broker, order, NULL);
        order_free(order);
    }
    g_hash_table_destroy(under);
}

/* Looks at the connection. Returns whether orders can be carried out. */
static bool broker_check(struct broker *broker) {
    bool lost;

    g_mutex_lock(&broker->lock);
    lost = broker->lost;
    g_mutex_unlock(&broker->lock);
    if (broker->up && lost) {
        broker->up = false;
        broker_say(broker, "the connection is lost", NULL);
        broker_drop(broker);
        broker_disconnect(broker);
        broker_tell_kind(broker, BROKER_IS_DOWN, 0);
    }
    if (broker->holds &&
        now_ms() - broker->renewed_ms >= broker->config.lease_ms) {
        broker_drop(broker);
    }
    if (broker->up || now_ms() - broker->tried_ms < RETRY_MS) {
        return broker->up;
    }
    broker->tried_ms = now_ms();
    broker->up = broker_connect(broker);
    if (broker->up) {
        broker_count(broker, &broker->stats.opens);
        broker_say(broker, "connected", NULL);
        broker_tell_kind(broker, BROKER_IS_UP, 0);
    } else {
        broker_disconnect(broker);
    }
    return broker->up;
}

static gpointer broker_run(gpointer context) {
    struct broker *broker = context;
    int64_t end_ms = 0;

    for (;;) {
        struct order *order =
            g_async_queue_timeout_pop(broker->orders, WAIT_MS * 1000);
        bool ending;

        if (broker_check(broker)) {
            broker_lease(broker);
        }
        if (order) {
            broker_do(broker, order);
        }
        g_mutex_lock(&broker->lock);
        ending = broker->ending;
        g_mutex_unlock(&broker->lock);
        if (ending && end_ms == 0) {
            end_ms = now_ms() + 1000;
        }
        if (ending && (!order || now_ms() > end_ms)) {
            break;
        }
    }
    if (broker->up && broker->holds) {
        (void)kvStore_Delete(broker->lease, BROKER_LEASE_KEY);
    }
    return NULL;
}

struct broker *broker_begin(const struct broker_config *config) {
    struct broker *broker = g_new0(struct broker, 1);

    broker->config = *config;
    broker->tried_ms = now_ms() - (int64_t)config->lease_ms - RETRY_MS;
    broker->orders = g_async_queue_new();
    broker->reports = g_async_queue_new();
    broker->under = g_hash_table_new(NULL, NULL);
    g_mutex_init(&broker->lock);
    broker->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    broker->thread = g_thread_new("broker", broker_run, broker);
    return broker;
}

int broker_fd(const struct broker *broker) {
    return broker->fd;
}

void broker_order(struct broker *broker, const struct broker_order *order) {
    struct order *copy = g_new0(struct order, 1);
    const char *head = order->head ? order->head : "";
    size_t head_len = strlen(head);

    copy->kind = order->kind;
    copy->number = order->number;
    copy->after = order->after;
    copy->subject = order->subject;
    copy->id = g_strdup(order->id);
    copy->len = head_len + order->body_len;
    copy->text = g_malloc(copy->len + 1);
    memcpy(copy->text, head, head_len);
    memcpy(copy->text + head_len, order->body, order->body_len);
    copy->text[copy->len] = '\0';
    g_async_queue_push(broker->orders, copy);
}

bool broker_report(struct broker *broker, struct broker_report *report) {
    struct broker_report *next = g_async_queue_try_pop(broker->reports);
    uint64_t count;

    if (!next) { /* and once more: one may have come in between */
        (void)!read(broker->fd, &count, sizeof count);
        next = g_async_queue_try_pop(broker->reports);
    }
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

    g_mutex_lock(&broker->lock);
    broker->ending = true;
    g_mutex_unlock(&broker->lock);
    g_thread_join(broker->thread);
    broker_disconnect(broker);
    nats_CloseAndWait(0); /* no callback comes any more */
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
    close(broker->fd);
    g_free(broker);
}
