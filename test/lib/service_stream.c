/*
 * A scripted exchange service: requests, answers and pushes on the stream.
 * See service.h.
 *
 * SPDX-License-Identifier: 0BSD
 */
/* The C library's times end in 2038 on a machine of 32 bits, unless told. */
#define _FILE_OFFSET_BITS 64
#define _TIME_BITS 64

#include "service.h"

#include "service_private.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

void service_time(char out[SERVICE_TIME], int64_t ns, bool fine) {
    time_t seconds = (time_t)(ns / 1000000000);
    int fraction = (int)(ns % 1000000000);
    struct tm tm;
    size_t len;

    gmtime_r(&seconds, &tm);
    len = strftime(out, SERVICE_TIME, "%Y-%m-%dT%H:%M:%S", &tm);
    snprintf(out + len, SERVICE_TIME - len, fine ? ".%09dZ" : ".%03dZ",
             fine ? fraction : fraction / 1000000);
}

static size_t subscription_find(const struct service_link *link,
                                const char *channel, const char *market) {
    size_t i = 0;

    while (i < link->subscriptions_len &&
           (strcmp(link->subscriptions[i].channel, channel) != 0 ||
            strcmp(link->subscriptions[i].market, market) != 0)) {
        i++;
    }
    return i;
}

static void subscription_add(struct service_link *link, const char *channel,
                             const char *market) {
    struct service_subscription *s =
        &link->subscriptions[link->subscriptions_len++];

    snprintf(s->channel, sizeof s->channel, "%s", channel);
    snprintf(s->market, sizeof s->market, "%s", market);
}

static void subscription_drop(struct service_link *link, size_t at) {
    link->subscriptions[at] = link->subscriptions[--link->subscriptions_len];
}

bool service_link_has(const struct service *service, int link,
                      const char *channel, const char *market) {
    return service_is_stream(service, link) &&
           subscription_find(&service->links[link], channel, market) <
               service->links[link].subscriptions_len;
}

bool service_has(const struct service *service, const char *channel,
                 const char *market) {
    return service->stream >= 0 &&
           service_link_has(service, service->stream, channel, market);
}

size_t service_len(const struct service *service) {
    return service->stream >= 0
               ? service->links[service->stream].subscriptions_len
               : 0;
}

void service_add(struct service *service, const char *channel,
                 const char *market) {
    if (service->stream >= 0 && !service_has(service, channel, market)) {
        subscription_add(&service->links[service->stream], channel, market);
    }
}

void service_forget(struct service *service, const char *channel,
                    const char *market) {
    for (int i = 0; i < MST_MOCK_LINKS; i++) {
        if (service_link_has(service, i, channel, market)) {
            struct service_link *link = &service->links[i];
            subscription_drop(link, subscription_find(link, channel, market));
        }
    }
}

/* Sends a message where its channel is subscribed or, if it is nowhere, to the
 * connection that streams. */
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
    uint64_t n = ++service->serial;
    char text[1024], time[SERVICE_TIME];

    service_time(time, mst_mock_wall(service->mock), false);
    if (strcmp(channel, "heartbeat") == 0) {
        snprintf(text, sizeof text,
                 "{\"channel\":\"heartbeat\",\"payload\":{\"timestamp\":"
                 "\"%s\"}}",
                 time);
    } else if (strcmp(channel, "execution_data") == 0) {
        snprintf(text, sizeof text,
                 "{\"channel\":\"execution_data\",\"payload\":{\"market\":"
                 "\"%s\",\"price\":\"%" PRIu64 ".5\",\"amount\":\"0.%" PRIu64
                 "1\",\"executed_at\":\"%s\"}}",
                 market, 100 + n % 7, n % 10, time);
    } else if (strcmp(channel, "market_data.top_of_book") == 0) {
        snprintf(text, sizeof text,
                 "{\"channel\":\"market_data.top_of_book\",\"payload\":{"
                 "\"market\":\"%s\",\"type\":\"TOP_OF_BOOK\",\"timestamp\":"
                 "\"%s\",\"bids\":[{\"price\":\"100\",\"amount\":\"1\"}],"
                 "\"asks\":[{\"price\":\"101\",\"amount\":\"1.5\"}]}}",
                 market, time);
    } else {
        snprintf(text, sizeof text,
                 "{\"channel\":\"market_data\",\"payload\":{\"market\":\"%s\","
                 "\"type\":\"UPDATE\",\"time\":\"%s\",\"bids\":[{\"price\":"
                 "\"99.5\",\"amount\":\"%" PRIu64 ".25\"}],\"asks\":[]}}",
                 market, time, n);
    }
    push_text(service, channel, market, text);
}

/* A message with levels, however many: to one link, or where it is
 * subscribed. */
static void levels_push(struct service *service, int link, const char *channel,
                        const char *market, const char *type, int64_t time_ns,
                        const char *bids, const char *asks) {
    bool top = strcmp(type, "TOP_OF_BOOK") == 0;
    size_t len = 512 + strlen(bids) + strlen(asks);
    char *text = malloc(len), time[SERVICE_TIME];

    if (text == NULL) {
        abort();
    }
    service_time(time, time_ns, false);
    snprintf(text, len,
             "{\"channel\":\"%s\",\"payload\":{\"market\":\"%s\","
             "\"type\":\"%s\",\"%s\":\"%s\",\"bids\":[%s],"
             "\"asks\":[%s]}}",
             channel, market, type, top ? "timestamp" : "time", time, bids,
             asks);
    if (link >= 0) {
        service_link_frame(service, link, 0x80, 1, text, strlen(text));
    } else {
        push_text(service, channel, market, text);
    }
    free(text);
}

void service_book(struct service *service, const char *market, const char *type,
                  int64_t time_ns, const char *bids, const char *asks) {
    levels_push(service, -1, "market_data", market, type, time_ns, bids, asks);
}

void service_top(struct service *service, const char *market, int64_t time_ns,
                 const char *bids, const char *asks) {
    levels_push(service, -1, "market_data.top_of_book", market, "TOP_OF_BOOK",
                time_ns, bids, asks);
}

static void snapshot_push(struct service *service, int link,
                          const char *market) {
    const struct service_rules *rules = &service->rules;

    levels_push(service, link, "market_data", market, "SNAPSHOT",
                mst_mock_wall(service->mock),
                rules->bids != NULL ? rules->bids
                                    : "{\"price\":\"100\",\"amount\":\"1\"},"
                                      "{\"price\":\"99.5\",\"amount\":\"2\"},"
                                      "{\"price\":\"99\",\"amount\":\"3.125\"}",
                rules->asks != NULL
                    ? rules->asks
                    : "{\"price\":\"101\",\"amount\":\"1.5\"},"
                      "{\"price\":\"101.5\",\"amount\":\"2.5\"}");
}

/* What an entry of a request comes to: NULL, or the code of its failure. */
static const char *entry_apply(struct service *service, int number,
                               bool subscribe, const char *channel,
                               const char *market) {
    const struct service_rules *rules = &service->rules;
    struct service_link *link = &service->links[number];
    size_t at = subscription_find(link, channel, market);
    bool beat = strcmp(channel, "heartbeat") == 0;

    if (!beat && strcmp(channel, "market_data") != 0 &&
        strcmp(channel, "market_data.top_of_book") != 0 &&
        strcmp(channel, "execution_data") != 0) {
        return "UNKNOWN_CHANNEL";
    }
    if (beat != (market[0] == '\0')) {
        return "UNKNOWN_CHANNEL_PARAMS_CONFIGURATION";
    }
    if (rules->fail_code != NULL && rules->fail_market != NULL &&
        strcmp(rules->fail_market, market) == 0 &&
        (rules->fail_type == NULL ||
         strcmp(rules->fail_type, subscribe ? "subscribe" : "unsubscribe") ==
             0)) {
        return rules->fail_code;
    }
    if (subscribe == (at < link->subscriptions_len)) {
        service->duplicates += subscribe;
        return "NO_EFFECT_ACTION";
    }
    if (subscribe && at == SERVICE_SUBSCRIPTIONS) {
        service_wrong(service, "too many subscriptions");
    } else if (subscribe) {
        subscription_add(link, channel, market);
    } else {
        subscription_drop(link, at);
    }
    return NULL;
}

/* Answers with it, unless the rules have it unsaid. */
static void json_send(struct service *service, int number, json_t *json) {
    char *text = json_dumps(json, JSON_COMPACT);

    if (!service->rules.unsaid) {
        service_link_frame(service, number, 0x80, 1, text, strlen(text));
    }
    free(text);
    json_decref(json);
}

/* Answers subscribe or unsubscribe, then sends the snapshots. */
static void answer_channels(struct service *service, int link, const char *type,
                            json_t *channels) {
    bool subscribe = strcmp(type, "subscribe") == 0;
    json_t *entries = json_array(), *entry;
    const char *fresh[SERVICE_SUBSCRIPTIONS];
    size_t i, fresh_len = 0;

    json_array_foreach(channels, i, entry) {
        const char *channel = json_string_value(json_object_get(entry, "type"));
        json_t *params = json_object_get(entry, "params");
        const char *market =
            json_string_value(json_object_get(params, "market"));
        if (channel == NULL || (params != NULL && market == NULL) ||
            json_object_size(entry) != (params != NULL ? 2u : 1u)) {
            service_wrong(service, "a malformed channel entry");
        }
        channel = channel != NULL ? channel : "";
        market = market != NULL ? market : "";
        const char *code =
            entry_apply(service, link, subscribe, channel, market);
        json_t *result = json_copy(entry);
        json_object_set_new(result, "success", json_boolean(code == NULL));
        if (code != NULL) {
            json_object_set_new(result, "error", json_string(code));
        } else if (subscribe && strcmp(channel, "market_data") == 0 &&
                   fresh_len < SERVICE_SUBSCRIPTIONS) {
            fresh[fresh_len++] = market;
        }
        json_array_append_new(entries, result);
    }
    if (i == 0) {
        service_wrong(service, "a request without channels");
    }
    json_send(service, link,
              json_pack("{s:s,s:o}", "type", type, "channels", entries));
    for (i = 0; i < fresh_len && !service->rules.no_snapshot; i++) {
        const char *none = service->rules.no_snapshot_of;
        if (none == NULL || strcmp(none, fresh[i]) != 0) {
            snapshot_push(service, link, fresh[i]);
        }
    }
}

static void answer_list(struct service *service, int number) {
    const struct service_link *link = &service->links[number];
    json_t *entries = json_array();

    for (size_t i = 0; i < link->subscriptions_len; i++) {
        const struct service_subscription *s = &link->subscriptions[i];
        json_t *entry = json_pack("{s:s}", "type", s->channel);
        if (s->market[0] != '\0') {
            json_object_set_new(entry, "params",
                                json_pack("{s:s}", "market", s->market));
        }
        json_array_append_new(entries, entry);
    }
    json_send(service, number,
              json_pack("{s:s,s:o}", "type", "subscription_list", "channels",
                        entries));
}

static void answer_error(struct service *service, int link) {
    struct service_rules *rules = &service->rules;
    const char *text = "as told";

    if (rules->shape == SERVICE_FLAT) {
        json_send(
            service, link,
            json_pack("{s:s,s:s}", "type", "error", "error", rules->error));
    } else if (rules->shape == SERVICE_CODED) {
        json_send(service, link,
                  json_pack("{s:s,s:s,s:s}", "type", "error", "code",
                            rules->error, "message", text));
    } else {
        json_send(service, link,
                  json_pack("{s:{s:s,s:s}}", "error", "code", rules->error,
                            "message", text));
    }
    if (rules->error_times > 0 && --rules->error_times == 0) {
        rules->error = NULL;
    }
}

/* Is it answered with an error message as a whole? */
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
    json_error_t error;
    json_t *json = json_loads(text, JSON_REJECT_DUPLICATES, &error);
    const char *type = json_string_value(json_object_get(json, "type"));
    json_t *channels = json_object_get(json, "channels");

    if (type == NULL) {
        service_wrong(service, "not a request: %.100s", text);
    } else if (request_is_refused(service, type, text)) {
        answer_error(service, link);
    } else if (strcmp(type, "subscription_list") == 0) {
        answer_list(service, link);
    } else {
        answer_channels(service, link, type, channels);
    }
    json_decref(json);
}

void service_request_answer(struct service *service, int link) {
    request_answer(service, link, service->links[link].held);
}

/* Notes a request: its type, and whether it is well-formed. */
static bool request_note(struct service *service, const char *text) {
    json_error_t error;
    json_t *json = json_loads(text, JSON_REJECT_DUPLICATES, &error);
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
    json_decref(json);
    return answered;
}

void service_request(struct service *service, int number, const char *text) {
    struct service_link *link = &service->links[number];

    service_note(service, &service->requests);
    snprintf(service->request, sizeof service->request, "%s", text);
    if (service->opening[0] == '\0') {
        snprintf(service->opening, sizeof service->opening, "%s", text);
    }
    if (!request_note(service, text)) {
        return;
    }
    if (service->on_request != NULL) {
        service->on_request(service->on_request_context, number, text);
        return;
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
        return;
    }
    snprintf(link->held, sizeof link->held, "%s", text);
    link->answer_due_ms =
        mst_mock_elapsed(service->mock) + service->rules.delay_ms;
    mst_mock_wake(service->mock, service->rules.delay_ms);
}

/* When to push next, if ever. */
static uint64_t push_due(struct service *service, uint32_t every_ms) {
    if (every_ms == 0) {
        return UINT64_MAX;
    }
    mst_mock_wake(service->mock, every_ms);
    return mst_mock_elapsed(service->mock) + every_ms;
}

void service_feed_begin(struct service *service) {
    service->feed_due_ms = push_due(service, service->rules.feed_ms);
}

void service_beat_begin(struct service *service) {
    service->beat_due_ms = push_due(service, service->rules.beat_ms);
}

/* Has a link before this one subscribed it, or is it pushed by itself? */
static bool push_is_done(const struct service *service, int link,
                         const struct service_subscription *s) {
    if (service->rules.beat_ms > 0 && strcmp(s->channel, "heartbeat") == 0) {
        return true;
    }
    for (int i = 0; i < link; i++) {
        if (service_link_has(service, i, s->channel, s->market)) {
            return true;
        }
    }
    return false;
}

void service_feed(struct service *service, uint64_t now_ms) {
    if (now_ms >= service->feed_due_ms) {
        for (int i = 0; i < MST_MOCK_LINKS; i++) {
            const struct service_link *link = &service->links[i];
            for (size_t k = 0;
                 service_is_stream(service, i) && k < link->subscriptions_len;
                 k++) {
                const struct service_subscription *s = &link->subscriptions[k];
                if (!push_is_done(service, i, s)) {
                    service_push(service, s->channel, s->market);
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
