/*
 * The tests' service: requests, answers and pushes on the stream.
 * See service.h.
 *
 * SPDX-License-Identifier: 0BSD
 */
#include "service_private.h"
#include "support.h"

#include <inttypes.h>
#include <jansson.h>

bool service_link_has(const struct service *service, int link,
                      const char *channel, const char *market) {
    return mst_mock_service_has(&service->core, link, channel, market);
}

bool service_has(const struct service *service, const char *channel,
                 const char *market) {
    return service->core.stream >= 0 &&
           service_link_has(service, service->core.stream, channel, market);
}

size_t service_len(const struct service *service) {
    return service->core.stream >= 0
               ? service->core.links[service->core.stream].subscriptions_len
               : 0;
}

void service_add(struct service *service, const char *channel,
                 const char *market) {
    if (service->core.stream >= 0) {
        mst_mock_service_set(&service->core, service->core.stream, channel,
                             market, true);
    }
}

void service_forget(struct service *service, const char *channel,
                    const char *market) {
    for (int i = 0; i < MST_MOCK_LINKS; i++) {
        mst_mock_service_set(&service->core, i, channel, market, false);
    }
}

/* Sends a message on every connection that has subscribed its channel or, if
 * none has, on the open stream. */
static void push_text(struct service *service, const char *channel,
                      const char *market, const char *text) {
    bool sent = false;

    for (int i = 0; i < MST_MOCK_LINKS; i++) {
        if (service_link_has(service, i, channel, market)) {
            service_link_frame(service, i, 0x80, 1, text, strlen(text));
            sent = true;
        }
    }
    if (!sent) {
        service_text(service, text);
    }
}

void service_push(struct service *service, const char *channel,
                  const char *market) {
    int64_t now_ns = mst_mock_wall(service->core.mock);
    uint64_t n = ++service->serial;
    char text[1024], time[MST_MOCK_TIME_LEN];

    mst_mock_service_time(now_ns, false, time);
    if (strcmp(channel, "heartbeat") == 0) {
        snprintf(text, sizeof text, HEARTBEAT_AT("%s"), time);
        push_text(service, channel, market, text);
    } else if (strcmp(channel, "execution_data") == 0) {
        snprintf(text, sizeof text,
                 EXECUTION_AT("%s", "%" PRIu64 ".5", "0.%" PRIu64 "1", "%s"),
                 market, 100 + n % 7, n % 10, time);
        push_text(service, channel, market, text);
    } else if (strcmp(channel, "market_data.top_of_book") == 0) {
        service_top(service, market, now_ns, LEVEL("100", "1"),
                    LEVEL("101", "1.5"));
    } else {
        snprintf(text, sizeof text, LEVEL("99.5", "%" PRIu64 ".25"), n);
        service_book(service, market, "UPDATE", now_ns, text, "");
    }
}

void service_book(struct service *service, const char *market, const char *type,
                  int64_t time_ns, const char *bids, const char *asks) {
    struct mst_mock_service *core = &service->core;

    if (mst_mock_service_levels(core, -1, market, type, time_ns, bids, asks) ==
            0 &&
        core->stream >= 0) {
        mst_mock_service_levels(core, core->stream, market, type, time_ns, bids,
                                asks);
    }
}

void service_top(struct service *service, const char *market, int64_t time_ns,
                 const char *bids, const char *asks) {
    service_book(service, market, "TOP_OF_BOOK", time_ns, bids, asks);
}

/* The sides of a snapshot, unless the test sets others. */
#define BIDS LEVEL("100", "1") "," LEVEL("99.5", "2") "," LEVEL("99", "3.125")
#define ASKS LEVEL("101", "1.5") "," LEVEL("101.5", "2.5")

bool service_snapshot(void *context, int link, const char *market) {
    struct service *service = context;
    const struct service_rules *rules = &service->rules;

    if (!rules->no_snapshot && (rules->no_snapshot_of == NULL ||
                                strcmp(rules->no_snapshot_of, market) != 0)) {
        mst_mock_service_levels(&service->core, link, market, "SNAPSHOT",
                                mst_mock_wall(service->core.mock),
                                rules->bids != NULL ? rules->bids : BIDS,
                                rules->asks != NULL ? rules->asks : ASKS);
    }
    return true;
}

const char *service_refuse(void *context, int link, bool subscribe,
                           const char *channel, const char *market) {
    const struct service_rules *rules =
        &((const struct service *)context)->rules;
    const char *type = subscribe ? "subscribe" : "unsubscribe";

    (void)link;
    (void)channel;
    return rules->fail_code != NULL && rules->fail_market != NULL &&
                   strcmp(rules->fail_market, market) == 0 &&
                   (rules->fail_type == NULL ||
                    strcmp(rules->fail_type, type) == 0)
               ? rules->fail_code
               : NULL;
}

static void answer_error(struct service *service, int link) {
    static const char *const shapes[] = {
        "{\"type\":\"error\",\"error\":\"%s\"}",
        "{\"type\":\"error\",\"code\":\"%s\",\"message\":\"as told\"}",
        "{\"error\":{\"code\":\"%s\",\"message\":\"as told\"}}"};
    struct service_rules *rules = &service->rules;
    char text[256];
    int len = snprintf(text, sizeof text, shapes[rules->shape], rules->error);

    if (!rules->unsaid) {
        service_link_frame(service, link, 0x80, 1, text, (size_t)len);
    }
    if (rules->error_times > 0 && --rules->error_times == 0) {
        rules->error = NULL;
    }
}

/* True if the whole request is answered with an error message. */
static bool request_is_refused(const struct service *service, const char *type,
                               const char *text) {
    const struct service_rules *rules = &service->rules;
    char name[80];

    if (rules->error == NULL ||
        (rules->error_type != NULL && strcmp(rules->error_type, type) != 0)) {
        return false;
    }
    snprintf(name, sizeof name, "\"%s\"",
             rules->error_market != NULL ? rules->error_market : "");
    return rules->error_market == NULL || strstr(text, name) != NULL;
}

static void request_answer(struct service *service, int link,
                           const char *text) {
    json_t *json = json_loads(text, 0, NULL);
    const char *type = json_string_value(json_object_get(json, "type"));

    if (type != NULL && request_is_refused(service, type, text)) {
        answer_error(service, link);
    } else if (type != NULL) {
        service->core.unanswered = service->rules.unsaid;
        mst_mock_service_answer(&service->core, link, text);
    }
    json_decref(json);
}

void service_request_answer(struct service *service, int link) {
    request_answer(service, link, service->links[link].held);
}

/* Counts a request by type, and reports a malformed one. Returns true if it
 * must be answered. */
static bool request_note(struct service *service, const char *text) {
    json_t *json = json_loads(text, JSON_REJECT_DUPLICATES, NULL), *entry;
    size_t i;
    const char *type = json_string_value(json_object_get(json, "type"));
    const char *never = service->rules.only_never;
    bool list = type != NULL && strcmp(type, "subscription_list") == 0;
    bool answered = !service->rules.never &&
                    (never == NULL || type == NULL || strcmp(type, never) != 0);

    if (type == NULL) {
        service_wrong(service, "not a request: %.100s", text);
    } else if (strcmp(type, "subscribe") == 0) {
        service->subscribes++;
    } else if (strcmp(type, "unsubscribe") == 0) {
        service->unsubscribes++;
    } else if (list) {
        service->lists++;
    } else {
        service_wrong(service, "a request of type %.40s", type);
    }
    if (json_object_size(json) != (list ? 1u : 2u)) {
        service_wrong(service, "a request with other fields: %.100s", text);
    }
    json_array_foreach(json_object_get(json, "channels"), i, entry) {
        bool params = json_object_get(entry, "params") != NULL;
        if (json_object_size(entry) != (params ? 2u : 1u)) {
            service_wrong(service, "a malformed channel entry");
        }
    }
    json_decref(json);
    return answered;
}

bool service_message(void *context, int number, const char *text) {
    struct service *service = context;
    struct service_link *link = &service->links[number];

    service_note(service, &service->requests);
    snprintf(service->request, sizeof service->request, "%s", text);
    if (service->opening[0] == '\0') {
        snprintf(service->opening, sizeof service->opening, "%s", text);
    }
    if (!request_note(service, text)) {
        return true;
    }
    if (service->on_request != NULL) {
        service->on_request(service->on_request_context, number, text);
        return true;
    }
    if (link->answer_due_ms != UINT64_MAX) {
        if (!service->rules.overlap) {
            service_wrong(service, "a request while another is outstanding");
        }
        link->answer_due_ms = UINT64_MAX;
        request_answer(service, number, link->held);
    }
    if (service->rules.delay_ms == 0) {
        request_answer(service, number, text);
        return true;
    }
    snprintf(link->held, sizeof link->held, "%s", text);
    link->answer_due_ms =
        mst_mock_elapsed(service->core.mock) + service->rules.delay_ms;
    mst_mock_wake(service->core.mock, service->rules.delay_ms);
    return true;
}

/* Returns the time of the next push, and wakes the mock then. */
static uint64_t push_due(struct service *service, uint32_t every_ms) {
    if (every_ms == 0) {
        return UINT64_MAX;
    }
    mst_mock_wake(service->core.mock, every_ms);
    return mst_mock_elapsed(service->core.mock) + every_ms;
}

void service_feed_begin(struct service *service) {
    service->feed_due_ms = push_due(service, service->rules.feed_ms);
}

void service_beat_begin(struct service *service) {
    service->beat_due_ms = push_due(service, service->rules.beat_ms);
}

/* True if a lower link has subscribed this too, or if it is pushed
 * separately. */
static bool push_is_done(const struct service *service, int link,
                         const char *channel, const char *market) {
    if (service->rules.beat_ms > 0 && strcmp(channel, "heartbeat") == 0) {
        return true;
    }
    for (int i = 0; i < link; i++) {
        if (service_link_has(service, i, channel, market)) {
            return true;
        }
    }
    return false;
}

void service_feed(struct service *service, uint64_t now_ms) {
    if (now_ms >= service->feed_due_ms) {
        for (int i = 0; i < MST_MOCK_LINKS; i++) {
            const struct mst_mock_stream *link = &service->core.links[i];
            for (size_t k = 0;
                 service_is_stream(service, i) && k < link->subscriptions_len;
                 k++) {
                const char *channel = link->subscriptions[k].channel;
                const char *market = link->subscriptions[k].market;
                if (!push_is_done(service, i, channel, market)) {
                    service_push(service, channel, market);
                }
            }
        }
        service_feed_begin(service);
    }
    if (now_ms >= service->beat_due_ms) {
        bool wanted = false;
        for (int i = 0; i < MST_MOCK_LINKS; i++) {
            wanted |= service_link_has(service, i, "heartbeat", "");
        }
        if (wanted) {
            service_push(service, "heartbeat", "");
        }
        service_beat_begin(service);
    }
}
