/* Orders to the broker, and their reports. SPDX-License-Identifier: 0BSD */
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "broker_private.h"
#include "text.h"

/* Interval of the search for orders without an answer. */
#define LOOK_MS 1000

/* Messages destroyed at a time: each time, the library wakes a thread. */
#define DONE_MAX 256

#define ORDER_SUBJECT_LEN (3 * SUBJECT_LEN)

/* An order, from the queue to its report. */
struct order {
    enum broker_order_kind kind;
    uint64_t number, tag, after;
    const char *subject;
    char *id, *text;
    size_t len;
    uint64_t key; /* in broker->under, and at the end of the reply's subject */
    int64_t sent_ms;
};

void order_free(struct order *order) {
    g_free(order->id);
    g_free(order->text);
    g_free(order);
}

/* The broker's answer to an order; all 0 if there was none. */
struct answer {
    bool good, again;
    uint64_t sequence, epoch;
};

static void order_tell(struct broker *broker, const struct order *order,
                       const struct answer *answer) {
    static const enum broker_report_kind kinds[][2] = {
        [BROKER_STORE] = {BROKER_FAILED, BROKER_STORED},
        [BROKER_LAST] = {BROKER_FAILED, BROKER_LAST_IS},
        [BROKER_KEEP] = {BROKER_NOT_KEPT, BROKER_KEPT},
    };

    if (order->kind < G_N_ELEMENTS(kinds)) {
        broker_tell(broker, &(struct broker_report){
                                .kind = kinds[order->kind][answer->good],
                                .number = order->number,
                                .tag = order->tag,
                                .sequence = answer->sequence,
                                .epoch = answer->epoch,
                                .again = answer->again});
    }
}

/* Reports that an order failed or that its result is unknown. Frees it. */
static void order_fail(struct broker *broker, struct order *order) {
    broker_count(broker, &broker->stats.failures);
    order_tell(broker, order, &(struct answer){.good = false});
    order_free(order);
}

/* Handles a stream's refusal of a message: counts it if another gateway's
 * message came in between, else reports the reason. */
static void answer_refuses(struct broker *broker, const json_t *error) {
    const char *why = json_string_value(json_object_get(error, "description"));
    char text[BROKER_WHY_LEN];

    if (json_integer_value(json_object_get(error, "err_code")) ==
        JSStreamWrongLastSequenceErr) {
        broker_count(broker, &broker->stats.conflicts);
    } else if (why) {
        broker_refused(broker, text_clean(why, text, sizeof text));
    }
}

/* Reads a stream's JSON answer. Returns true if the message is stored. */
static bool answer_of_stream(struct broker *broker, natsMsg *message,
                             struct answer *answer) {
    json_t *object = json_loadb(natsMsg_GetData(message),
                                (size_t)natsMsg_GetDataLength(message),
                                JSON_REJECT_DUPLICATES, NULL);
    json_t *error = json_object_get(object, "error");
    json_int_t sequence = json_integer_value(json_object_get(object, "seq"));

    answer->again = json_is_true(json_object_get(object, "duplicate"));
    answer->sequence = (uint64_t)sequence;
    if (error) {
        answer_refuses(broker, error);
    }
    answer->good = !error && sequence > 0;
    json_decref(object);
    return answer->good;
}

/* Returns the epoch in a stored message, or 0. */
static uint64_t epoch_of(const char *text, size_t len) {
    static const char head[] = "{\"epoch\":";

    return text && len > sizeof head && memcmp(text, head, sizeof head - 1) == 0
               ? g_ascii_strtoull(text + sizeof head - 1, NULL, 10)
               : 0;
}

/* Reads the answer to BROKER_LAST: a lane's last message, or that it has none.
 * Returns false for an error. */
static bool answer_of_last(natsMsg *message, struct answer *answer) {
    const char *sequence = NULL, *status = NULL;

    if (natsMsgHeader_Get(message, "Nats-Sequence", &sequence) == NATS_OK) {
        answer->sequence = g_ascii_strtoull(sequence, NULL, 10);
        answer->epoch = epoch_of(natsMsg_GetData(message),
                                 (size_t)natsMsg_GetDataLength(message));
        answer->good = true;
    } else {
        answer->good =
            natsMsgHeader_Get(message, "Status", &status) == NATS_OK &&
            strcmp(status, "404") == 0;
    }
    return answer->good;
}

/* Destroys a message, later and together with others. */
static void message_done(struct broker *broker, natsMsg *message) {
    g_ptr_array_add(broker->done, message);
    if (broker->done->len == DONE_MAX) {
        g_ptr_array_set_size(broker->done, 0);
    }
}

/* Takes the answer to the order whose key ends the answer's subject. */
static void orders_answer(struct broker *broker, natsMsg *message) {
    const char *word = strrchr(natsMsg_GetSubject(message), '.');
    const uint64_t key = word ? g_ascii_strtoull(word + 1, NULL, 10) : 0;
    struct order *order = g_hash_table_lookup(broker->under, &key);
    struct answer answer = {.good = false};

    if (!order) {
        return; /* unknown: others may be able to write to the inbox */
    }
    g_hash_table_remove(broker->under, &key);
    if (order->kind == BROKER_LAST
            ? answer_of_last(message, &answer)
            : answer_of_stream(broker, message, &answer)) {
        order_tell(broker, order, &answer);
        order_free(order);
    } else {
        order_fail(broker, order);
    }
}

void orders_fail(struct broker *broker, int64_t until_ms) {
    GHashTableIter at;
    struct order *order;

    g_hash_table_iter_init(&at, broker->under);
    while (g_hash_table_iter_next(&at, NULL, (gpointer *)&order)) {
        if (order->sent_ms <= until_ms) {
            g_hash_table_iter_remove(&at);
            order_fail(broker, order);
        }
    }
}

/* Sets the headers of a message for a stream. */
static natsStatus order_headers(const struct order *order, natsMsg *message) {
    char after[24];
    natsStatus status = NATS_OK;

    if (order->id) {
        status = natsMsgHeader_Set(message, "Nats-Msg-Id", order->id);
    }
    if (status == NATS_OK && order->kind == BROKER_STORE) {
        snprintf(after, sizeof after, "%" PRIu64, order->after);
        status = natsMsgHeader_Set(
            message, "Nats-Expected-Last-Subject-Sequence", after);
    }
    return status;
}

/* Writes the subject that an order is sent to. */
static void order_subject(const struct broker *broker,
                          const struct order *order,
                          char subject[ORDER_SUBJECT_LEN]) {
    const char *prefix = broker->config.prefix;
    const char *word;

    switch (order->kind) {
    case BROKER_PUT: /* a bucket's key */
        snprintf(subject, ORDER_SUBJECT_LEN, "$KV.%s_last.%s", prefix,
                 order->subject);
        break;
    case BROKER_SEEN:
        snprintf(subject, ORDER_SUBJECT_LEN, "$KV.%s_gateways.%s", prefix,
                 broker->config.gateway);
        break;
    case BROKER_LAST:
        word = order->subject + strlen(prefix) + 1;
        snprintf(subject, ORDER_SUBJECT_LEN, "$JS.API.DIRECT.GET.%s_%.*s.%s",
                 prefix, (int)strcspn(word, "."), word, order->subject);
        break;
    default: snprintf(subject, ORDER_SUBJECT_LEN, "%s", order->subject); break;
    }
}

/* Sends an order. Its answer comes to a subject with the order's key. */
static bool order_send(struct broker *broker, struct order *order) {
    char subject[ORDER_SUBJECT_LEN], reply[ORDER_SUBJECT_LEN];
    natsMsg *message = NULL;
    natsStatus status;

    order->key = ++broker->key;
    order_subject(broker, order, subject);
    snprintf(reply, sizeof reply, "%s.%" PRIu64, broker->inbox, order->key);
    status =
        natsMsg_Create(&message, subject, reply, order->text, (int)order->len);
    if (status == NATS_OK) {
        status = order_headers(order, message);
    }
    if (status == NATS_OK) {
        status = natsConnection_PublishMsg(broker->connection, message);
    }
    if (message) {
        message_done(broker, message);
    }
    if (status == NATS_MAX_PAYLOAD) {
        snprintf(subject, sizeof subject,
                 "a message of more than %" PRId64
                 " bytes, the broker's max_payload",
                 natsConnection_GetMaxPayload(broker->connection));
        broker_refused(broker, subject);
    }
    if (status == NATS_OK) {
        order->sent_ms = broker_now_ms();
        g_hash_table_insert(broker->under, &order->key, order);
    }
    return status == NATS_OK;
}

void order_do(struct broker *broker, struct order *order) {
    bool sent = false;

    g_rw_lock_reader_lock(&broker->use);
    if (broker->up && order->kind == BROKER_ANSWER) {
        (void)natsConnection_Publish(broker->connection, order->id, order->text,
                                     (int)order->len);
    } else if (broker->up) {
        sent = order_send(broker, order);
    }
    g_rw_lock_reader_unlock(&broker->use);
    if (order->kind == BROKER_ANSWER) {
        order_free(order);
    } else if (!sent) {
        order_fail(broker, order);
    }
}

/* Takes a request for a snapshot, if it has an inbox and the rate allows it. */
static void orders_asked(struct broker *broker, natsMsg *message) {
    const char *reply = natsMsg_GetReply(message);
    const char *token = strrchr(natsMsg_GetSubject(message), '.');
    uint64_t second = (uint64_t)broker_now_ms() / 1000;

    /* "_R_." is the broker's substitute for an inbox of another account. */
    if (!token || !reply ||
        (!g_str_has_prefix(reply, "_INBOX.") &&
         !g_str_has_prefix(reply, "_R_."))) {
        return;
    }
    if (broker->answers_s != second) {
        broker->answers_s = second;
        broker->answered = 0;
    }
    if (broker->answered == broker->config.answers) {
        broker_count(broker, &broker->stats.turned);
        return;
    }
    broker->answered++;
    broker_tell(broker, &(struct broker_report){.kind = BROKER_ASKED,
                                                .market = g_strdup(token + 1),
                                                .reply = g_strdup(reply)});
}

/* Takes all messages of a subscription. */
static void orders_take(struct broker *broker, natsSubscription *subscription,
                        void (*take)(struct broker *broker, natsMsg *message)) {
    natsMsg *message = NULL;
    natsStatus status;

    /* NATS_NO_RESPONDERS comes without a message: nobody listens. */
    while ((status = natsSubscription_NextMsg(&message, subscription, 0)) ==
               NATS_OK ||
           status == NATS_NO_RESPONDERS) {
        if (status == NATS_OK) {
            take(broker, message);
            message_done(broker, message);
        } else {
            g_atomic_int_set(&broker->gone, true);
        }
    }
}

void orders_go_on(struct broker *broker) {
    const int64_t now_ms = broker_now_ms();

    g_rw_lock_reader_lock(&broker->use);
    if (broker->up) {
        orders_take(broker, broker->answers, orders_answer);
        orders_take(broker, broker->requests, orders_asked);
    }
    if (now_ms >= broker->look_ms) {
        broker->look_ms = now_ms + LOOK_MS;
        orders_fail(broker, now_ms - BROKER_ANSWER_MS);
    }
    g_rw_lock_reader_unlock(&broker->use);
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
