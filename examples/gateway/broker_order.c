/*
 * Orders to the broker, up to their reports.
 *
 * SPDX-License-Identifier: 0BSD
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "broker_private.h"
#include "broker_setup.h"

/* An order in the queue, and until its report. */
struct order {
    enum broker_order_kind kind;
    uint64_t number, tag, after;
    const char *subject;
    char *id, *text;
    size_t len;
};

void order_free(struct order *order) {
    g_free(order->id);
    g_free(order->text);
    g_free(order);
}

/* What came of an order. */
static void order_tell(struct broker *broker, const struct order *order,
                       const jsPubAck *ack) {
    struct broker_report report = {.number = order->number, .tag = order->tag};

    if (order->kind == BROKER_STORE || order->kind == BROKER_LAST) {
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

void on_answer(jsCtx *js, natsMsg *message, jsPubAck *ack, jsPubAckErr *error,
               void *context) {
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
    options.MsgId = order->id;
    options.MaxWait = BROKER_LATE_MS; /* without it, for ever */
    if (order->kind == BROKER_STORE) {
        options.ExpectLastSubjectSeq = order->after;
        options.ExpectNoMessage = order->after == 0;
    }
    if (order->kind == BROKER_PUT) { /* as a bucket keeps its keys */
        snprintf(subject, sizeof subject, "$KV.%s_last.%s",
                 broker->config.prefix, order->subject);
    } else if (order->kind == BROKER_SEEN) {
        snprintf(subject, sizeof subject, "$KV.%s_gateways.%s",
                 broker->config.prefix, broker->config.gateway);
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

/* Asks which message of a lane is the last: on_last() gets the answer. */
static bool broker_last(struct broker *broker, const struct order *order) {
    char stream[SUBJECT_LEN], subject[3 * SUBJECT_LEN], reply[SUBJECT_LEN];

    broker_stream_of(&broker->config, order->subject, stream);
    snprintf(subject, sizeof subject, "$JS.API.DIRECT.GET.%s.%s", stream,
             order->subject);
    snprintf(reply, sizeof reply, "%s.%" PRIu64 ".%" PRIu64, broker->inbox,
             order->number, order->tag);
    return natsConnection_PublishRequest(broker->connection, subject, reply, "",
                                         0) == NATS_OK;
}

void on_last(natsConnection *connection, natsSubscription *subscription,
             natsMsg *message, void *context) {
    struct broker *broker = context;
    gchar **words = g_strsplit(natsMsg_GetSubject(message), ".", 0);
    guint count = g_strv_length(words);
    const char *sequence = NULL, *status = NULL;
    struct broker_report report = {.kind = BROKER_FAILED};

    (void)connection;
    (void)subscription;
    if (count >= 2) { /* the last two are of broker_last() */
        report.number = g_ascii_strtoull(words[count - 2], NULL, 10);
        report.tag = g_ascii_strtoull(words[count - 1], NULL, 10);
    }
    g_strfreev(words);
    if (natsMsgHeader_Get(message, "Nats-Sequence", &sequence) == NATS_OK) {
        report.kind = BROKER_LAST_IS;
        report.sequence = g_ascii_strtoull(sequence, NULL, 10);
        report.epoch = broker_epoch_of(natsMsg_GetData(message),
                                       (size_t)natsMsg_GetDataLength(message));
    } else if (natsMsgHeader_Get(message, "Status", &status) == NATS_OK &&
               strcmp(status, "404") == 0) {
        report.kind = BROKER_LAST_IS; /* there is none */
    }
    broker_tell(broker, &report);
    natsMsg_Destroy(message);
}

void order_do(struct broker *broker, struct order *order) {
    bool done = false;

    g_rw_lock_reader_lock(&broker->use);
    switch (broker->up ? order->kind : BROKER_NOTHING) {
    case BROKER_NOTHING: break;
    case BROKER_STORE:
    case BROKER_KEEP:
    case BROKER_PUT:
    case BROKER_SEEN:
        done = broker_publish(broker, order);
        if (done) {
            order = NULL; /* on_answer() has it, or had it */
        }
        break;
    case BROKER_LAST: done = broker_last(broker, order); break;
    case BROKER_ANSWER:
        done = natsConnection_Publish(broker->connection, order->id,
                                      order->text, (int)order->len) == NATS_OK;
        break;
    }
    g_rw_lock_reader_unlock(&broker->use);
    if (!done) {
        broker_count(broker, &broker->stats.failures);
        order_tell(broker, order, NULL);
    }
    if (order) {
        order_free(order);
    }
}

/* Whether a subject is where somebody waits for an answer: an inbox, or what
 * the broker has put in the place of one of another account. */
static bool is_inbox(const char *subject) {
    return subject && (g_str_has_prefix(subject, "_INBOX.") ||
                       g_str_has_prefix(subject, "_R_."));
}

/* Only the holder answers, only into an inbox, and only so often. */
void on_request(natsConnection *connection, natsSubscription *subscription,
                natsMsg *message, void *context) {
    struct broker *broker = context;
    const char *reply = natsMsg_GetReply(message);
    const char *token = strrchr(natsMsg_GetSubject(message), '.');
    uint64_t second = (uint64_t)broker_now_ms() / 1000;
    bool asked = token && is_inbox(reply), takes;

    (void)connection;
    (void)subscription;
    g_mutex_lock(&broker->lock);
    if (broker->answers_s != second) {
        broker->answers_s = second;
        broker->answered = 0;
    }
    takes = asked && broker->answered < broker->config.answers;
    broker->answered += takes;
    broker->stats.turned += !takes && asked;
    g_mutex_unlock(&broker->lock);
    if (takes) {
        broker_tell(broker,
                    &(struct broker_report){.kind = BROKER_ASKED,
                                            .market = g_strdup(token + 1),
                                            .reply = g_strdup(reply)});
    }
    natsMsg_Destroy(message);
}

void broker_order(struct broker *broker, const struct broker_order *order) {
    struct order *copy = g_new0(struct order, 1);
    const char *head = order->head ? order->head : "";
    size_t head_len = strlen(head);

    copy->kind = order->kind;
    copy->number = order->number;
    copy->tag = order->tag;
    copy->after = order->after;
    copy->subject = order->subject;
    copy->id = g_strdup(order->id);
    copy->len = head_len + order->body_len;
    copy->text = g_malloc(copy->len + 1);
    memcpy(copy->text, head, head_len);
    memcpy(copy->text + head_len, order->body, order->body_len);
    copy->text[copy->len] = '\0';
    g_queue_push_tail(&broker->held, copy);
}

void orders_give_up(struct broker *broker) {
    GHashTable *under;
    GHashTableIter at;
    struct order *order;

    g_mutex_lock(&broker->lock);
    under = broker->under;
    broker->under = g_hash_table_new(NULL, NULL);
    g_mutex_unlock(&broker->lock);
    g_hash_table_iter_init(&at, under);
    while (g_hash_table_iter_next(&at, NULL, (gpointer *)&order)) {
        order_tell(broker, order, NULL);
        order_free(order);
    }
    g_hash_table_destroy(under);
}
