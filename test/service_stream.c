/*
 * A scripted exchange service: requests, answers and pushes on the stream.
 * See service.h.
 *
 * SPDX-License-Identifier: 0BSD
 */
#include "service.h"

#include "service_private.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static void time_text(int64_t ns, char *out, size_t len)
{
    time_t seconds = (time_t)(ns / 1000000000);
    struct tm tm;
    char text[32];

    gmtime_r(&seconds, &tm);
    strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &tm);
    snprintf(out, len, "%s.%03" PRId64 "Z", text, ns / 1000000 % 1000);
}

void service_push(struct service *service, const char *channel,
                  const char *market)
{
    uint64_t n = ++service->serial;
    char text[1024], time[48];

    time_text(mst_mock_wall(service->mock), time, sizeof time);
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
    service_text(service, text);
}

/* A message with levels, however many. */
static void levels_push(struct service *service, const char *channel,
                        const char *market, const char *type, int64_t time_ns,
                        const char *bids, const char *asks)
{
    bool top = strcmp(type, "TOP_OF_BOOK") == 0;
    size_t len = 512 + strlen(bids) + strlen(asks);
    char *text = malloc(len), time[48];

    if (text == NULL) {
        abort();
    }
    time_text(time_ns, time, sizeof time);
    snprintf(text, len,
             "{\"channel\":\"%s\",\"payload\":{\"market\":\"%s\","
             "\"type\":\"%s\",\"%s\":\"%s\",\"bids\":[%s],"
             "\"asks\":[%s]}}",
             channel, market, type, top ? "timestamp" : "time", time, bids,
             asks);
    service_text(service, text);
    free(text);
}

void service_book(struct service *service, const char *market, const char *type,
                  int64_t time_ns, const char *bids, const char *asks)
{
    levels_push(service, "market_data", market, type, time_ns, bids, asks);
}

void service_top(struct service *service, const char *market, int64_t time_ns,
                 const char *bids, const char *asks)
{
    levels_push(service, "market_data.top_of_book", market, "TOP_OF_BOOK",
                time_ns, bids, asks);
}

static void snapshot_push(struct service *service, const char *market)
{
    const struct service_rules *rules = &service->rules;

    service_book(
        service, market, "SNAPSHOT", mst_mock_wall(service->mock),
        rules->bids != NULL ? rules->bids
                            : "{\"price\":\"100\",\"amount\":\"1\"},"
                              "{\"price\":\"99.5\",\"amount\":\"2\"},"
                              "{\"price\":\"99\",\"amount\":\"3.125\"}",
        rules->asks != NULL ? rules->asks
                            : "{\"price\":\"101\",\"amount\":\"1.5\"},"
                              "{\"price\":\"101.5\",\"amount\":\"2.5\"}");
}

static size_t subscription_find(const struct service *service,
                                const char *channel, const char *market)
{
    size_t i = 0;

    while (i < service->subscriptions_len &&
           (strcmp(service->subscriptions[i].channel, channel) != 0 ||
            strcmp(service->subscriptions[i].market, market) != 0)) {
        i++;
    }
    return i;
}

bool service_has(const struct service *service, const char *channel,
                 const char *market)
{
    return subscription_find(service, channel, market) <
           service->subscriptions_len;
}

/* What an entry of a request comes to: NULL, or the code of its failure. */
static const char *entry_apply(struct service *service, bool subscribe,
                               const char *channel, const char *market)
{
    const struct service_rules *rules = &service->rules;
    size_t at = subscription_find(service, channel, market);
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
    if (subscribe == (at < service->subscriptions_len)) {
        return "NO_EFFECT_ACTION";
    }
    if (subscribe && at == SERVICE_SUBSCRIPTIONS) {
        service_wrong(service, "too many subscriptions");
    } else if (subscribe) {
        snprintf(service->subscriptions[at].channel,
                 sizeof service->subscriptions[at].channel, "%s", channel);
        snprintf(service->subscriptions[at].market,
                 sizeof service->subscriptions[at].market, "%s", market);
        service->subscriptions_len++;
    } else {
        service->subscriptions[at] =
            service->subscriptions[--service->subscriptions_len];
    }
    return NULL;
}

static void json_send(struct service *service, json_t *json)
{
    char *text = json_dumps(json, JSON_COMPACT);

    service_text(service, text);
    free(text);
    json_decref(json);
}

/* Answers subscribe or unsubscribe, then sends the snapshots. */
static void answer_channels(struct service *service, const char *type,
                            json_t *channels)
{
    bool subscribe = strcmp(type, "subscribe") == 0;
    json_t *entries = json_array(), *entry;
    const char *fresh[SERVICE_SUBSCRIPTIONS];
    size_t i, fresh_len = 0;

    json_array_foreach(channels, i, entry)
    {
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
        const char *code = entry_apply(service, subscribe, channel, market);
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
    json_send(service,
              json_pack("{s:s,s:o}", "type", type, "channels", entries));
    for (i = 0; i < fresh_len && !service->rules.no_snapshot; i++) {
        snapshot_push(service, fresh[i]);
    }
}

static void answer_list(struct service *service)
{
    json_t *entries = json_array();

    for (size_t i = 0; i < service->subscriptions_len; i++) {
        json_t *entry =
            json_pack("{s:s}", "type", service->subscriptions[i].channel);
        if (service->subscriptions[i].market[0] != '\0') {
            json_object_set_new(
                entry, "params",
                json_pack("{s:s}", "market", service->subscriptions[i].market));
        }
        json_array_append_new(entries, entry);
    }
    json_send(service, json_pack("{s:s,s:o}", "type", "subscription_list",
                                 "channels", entries));
}

static void answer_error(struct service *service)
{
    struct service_rules *rules = &service->rules;
    const char *text = "as told";

    if (rules->shape == SERVICE_FLAT) {
        json_send(service, json_pack("{s:s,s:s}", "type", "error", "error",
                                     rules->error));
    } else if (rules->shape == SERVICE_CODED) {
        json_send(service, json_pack("{s:s,s:s,s:s}", "type", "error", "code",
                                     rules->error, "message", text));
    } else {
        json_send(service, json_pack("{s:{s:s,s:s}}", "error", "code",
                                     rules->error, "message", text));
    }
    if (rules->error_times > 0 && --rules->error_times == 0) {
        rules->error = NULL;
    }
}

/* Is it answered with an error message as a whole? */
static bool request_is_refused(const struct service *service, const char *type,
                               const char *text)
{
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

static void request_answer(struct service *service, const char *text)
{
    json_error_t error;
    json_t *json = json_loads(text, JSON_REJECT_DUPLICATES, &error);
    const char *type = json_string_value(json_object_get(json, "type"));
    json_t *channels = json_object_get(json, "channels");

    if (type == NULL) {
        service_wrong(service, "not a request: %.100s", text);
    } else if (request_is_refused(service, type, text)) {
        answer_error(service);
    } else if (strcmp(type, "subscription_list") == 0) {
        answer_list(service);
    } else {
        answer_channels(service, type, channels);
    }
    json_decref(json);
}

/* Notes a request: its type, and whether it is well-formed. */
static bool request_note(struct service *service, const char *text)
{
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

void service_request(struct service *service, const char *text)
{
    service_note(service, &service->requests);
    snprintf(service->request, sizeof service->request, "%s", text);
    if (service->opening[0] == '\0') {
        snprintf(service->opening, sizeof service->opening, "%s", text);
    }
    if (!request_note(service, text)) {
        return;
    }
    if (service->rules.delay_ms == 0) {
        request_answer(service, text);
        return;
    }
    if (service->answer_due_ms != UINT64_MAX) {
        if (!service->rules.overlap) {
            service_wrong(service, "a request while another is outstanding");
        }
        request_answer(service, service->held);
    }
    snprintf(service->held, sizeof service->held, "%s", text);
    service->answer_due_ms =
        mst_mock_elapsed(service->mock) + service->rules.delay_ms;
    mst_mock_wake(service->mock, service->rules.delay_ms);
}

void service_feed_begin(struct service *service)
{
    if (service->rules.feed_ms == 0) {
        return;
    }
    service->feed_due_ms =
        mst_mock_elapsed(service->mock) + service->rules.feed_ms;
    mst_mock_wake(service->mock, service->rules.feed_ms);
}

void service_stream_tick(struct service *service, uint64_t now_ms)
{
    if (now_ms >= service->answer_due_ms) {
        service->answer_due_ms = UINT64_MAX;
        request_answer(service, service->held);
    }
    if (now_ms >= service->feed_due_ms) {
        for (size_t i = 0; i < service->subscriptions_len; i++) {
            service_push(service, service->subscriptions[i].channel,
                         service->subscriptions[i].market);
        }
        service_feed_begin(service);
    }
    uint64_t due[] = {service->answer_due_ms, service->feed_due_ms,
                      service->token_due_ms, service->upgrade_due_ms};
    for (size_t i = 0; i < sizeof due / sizeof due[0]; i++) {
        if (due[i] != UINT64_MAX && due[i] > now_ms) {
            mst_mock_wake(service->mock, (uint32_t)(due[i] - now_ms));
        }
    }
}
