/*
 * Scripted service over the mock port: see mst_mock_service.h.
 *
 * SPDX-License-Identifier: 0BSD
 */
#include "mst_mock_service.h"

#include <bearssl.h> /* SHA-1 alone */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CLOSED, HTTP, STREAM };

#define HEAD_LEN 10 /* of a frame at most; its room is before the text */

void mst_mock_service_wrong(struct mst_mock_service *service,
                            const char *what) {
    if (service->wrong[0] == '\0') {
        snprintf(service->wrong, sizeof service->wrong, "%s", what);
    }
}

/* ---- what is sent ---- */

static size_t sink_write(void *context, int link, const void *data,
                         size_t len) {
    struct mst_mock_service *service = context;
    size_t taken = mst_mock_write(service->mock, link, data, len);

    if (taken < len && mst_mock_room(service->mock, link) == 0 && taken > 0) {
        mst_mock_service_wrong(service, "more was written than the mock holds");
    }
    return taken;
}

static void sink_end(void *context, int link, int error) {
    mst_mock_end(((struct mst_mock_service *)context)->mock, link, error);
}

static void service_write(struct mst_mock_service *service, int link,
                          const void *data, size_t len) {
    service->sink.write(service->sink.context, link, data, len);
}

static void service_end(struct mst_mock_service *service, int link, int error) {
    service->sink.end(service->sink.context, link, error);
}

size_t mst_mock_service_head(unsigned char out[10], unsigned first,
                             uint64_t len) {
    size_t bytes = len < 126 ? 0 : len < 65536 ? 2 : 8;

    out[0] = (unsigned char)first;
    out[1] = (unsigned char)(bytes == 0 ? len : bytes == 2 ? 126 : 127);
    for (size_t i = 0; i < bytes; i++) {
        out[2 + i] = (unsigned char)(len >> 8 * (bytes - 1 - i));
    }
    return 2 + bytes;
}

void mst_mock_service_frame(struct mst_mock_service *service, int link,
                            unsigned first, const void *data, size_t len) {
    unsigned char *payload = service->frame + HEAD_LEN, head[HEAD_LEN];
    size_t head_len = mst_mock_service_head(head, first, len);

    if (len > MST_MOCK_SERVICE_LEN) {
        mst_mock_service_wrong(service, "a message is longer than the room");
        return;
    }
    if (len > 0 && data != payload) {
        memcpy(payload, data, len);
    }
    memcpy(payload - head_len, head, head_len);
    service_write(service, link, payload - head_len, head_len + len);
}

/* Adds bytes to the text of the next message. */
static void text_add(struct mst_mock_service *service, const char *data,
                     size_t len) {
    if (len > MST_MOCK_SERVICE_LEN - service->text_len) {
        mst_mock_service_wrong(service, "a message is longer than the room");
        return;
    }
    memcpy(service->frame + HEAD_LEN + service->text_len, data, len);
    service->text_len += len;
}

/* Adds these strings, up to a NULL. */
static void text_say(struct mst_mock_service *service,
                     const char *const strings[]) {
    for (; *strings != NULL; strings++) {
        text_add(service, *strings, strlen(*strings));
    }
}

#define SAY(service, ...) \
    text_say(service, (const char *const[]){__VA_ARGS__, NULL})

static void text_send(struct mst_mock_service *service, int link) {
    mst_mock_service_frame(service, link, 0x81, service->frame + HEAD_LEN,
                           service->text_len);
}

/* Sends the text where its channel is subscribed; to how many. */
static int text_push(struct mst_mock_service *service, const char *channel,
                     const char *market) {
    int sent = 0;

    for (int i = 0; i < MST_MOCK_LINKS; i++) {
        if (mst_mock_service_has(service, i, channel, market)) {
            text_send(service, i);
            sent++;
        }
    }
    return sent;
}

void mst_mock_service_time(int64_t ns, bool fine, char out[MST_MOCK_TIME_LEN]) {
    /* Days since 0000-03-01, years that begin in March. */
    unsigned ms = (unsigned)(ns / 1000000 % 86400000);
    unsigned day = (unsigned)(ns / 86400000000000) + 719468;
    unsigned era = day / 146097, left = day % 146097;
    unsigned year = (left - left / 1460 + left / 36524 - left / 146096) / 365;
    unsigned month;

    left -= 365 * year + year / 4 - year / 100;
    month = (5 * left + 2) / 153;
    snprintf(out, MST_MOCK_TIME_LEN, "%04u-%02u-%02uT%02u:%02u:%02u.%0*uZ",
             (era * 400 + year + (month >= 10)) % 10000,
             month < 10 ? month + 3 : month - 9,
             left - (153 * month + 2) / 5 + 1, ms / 3600000, ms / 60000 % 60,
             ms / 1000 % 60, fine ? 9 : 3,
             fine ? (unsigned)(ns % 1000000000) : ms % 1000);
}

/* Begins a book message: its levels follow. */
static void book_begin(struct mst_mock_service *service, const char *market,
                       const char *type, int64_t time_ns) {
    bool top = strcmp(type, "TOP_OF_BOOK") == 0;
    char time[MST_MOCK_TIME_LEN];

    mst_mock_service_time(time_ns, top, time);
    service->text_len = 0;
    SAY(service, "{\"channel\":\"market_data", top ? ".top_of_book" : "",
        "\",\"payload\":{\"market\":\"", market, "\",\"type\":\"", type,
        top ? "\",\"timestamp\":\"" : "\",\"time\":\"", time, "\",\"bids\":[");
}

int mst_mock_service_levels(struct mst_mock_service *service, int link,
                            const char *market, const char *type,
                            int64_t time_ns, const char *bids,
                            const char *asks) {
    book_begin(service, market, type, time_ns);
    SAY(service, bids, "],\"asks\":[", asks, "]}}");
    if (link < 0) {
        return text_push(service,
                         strcmp(type, "TOP_OF_BOOK") == 0
                             ? "market_data.top_of_book"
                             : "market_data",
                         market);
    }
    text_send(service, link);
    return 1;
}

/* ---- markets and their books ---- */

/* The market of this name, or NULL if no script has named it. */
static struct mst_mock_market *market_find(struct mst_mock_service *service,
                                           const char *name) {
    for (size_t i = 0; i < service->markets_len; i++) {
        if (strcmp(service->markets[i].name, name) == 0) {
            return &service->markets[i];
        }
    }
    return NULL;
}

/* The same, added if it is new; NULL if there are too many. */
static struct mst_mock_market *market_get(struct mst_mock_service *service,
                                          const char *name) {
    struct mst_mock_market *market = market_find(service, name);

    if (market != NULL) {
        return market;
    }
    if (service->markets_len == MST_MOCK_MARKETS) {
        mst_mock_service_wrong(service, "more markets than MST_MOCK_MARKETS");
        return NULL;
    }
    market = &service->markets[service->markets_len++];
    memset(market, 0, sizeof *market);
    snprintf(market->name, sizeof market->name, "%s", name);
    return market;
}

/* Takes "PRICE AMOUNT" from a list; returns what follows, or NULL if the list
 * has ended. */
static const char *level_take(const char *list, struct mst_mock_level *level) {
    char *const out[] = {level->price, level->amount};

    if (list == NULL || (list += strspn(list, " ,"))[0] == '\0') {
        return NULL;
    }
    for (int i = 0; i < 2; i++) {
        size_t len = strcspn(list, " ,");

        snprintf(out[i], MST_MOCK_NUMBER_LEN, "%.*s", (int)len, list);
        list += len;
        list += strspn(list, " ");
    }
    return list;
}

/* What goes before the next item of a list. */
static const char *text_comma(const struct mst_mock_service *service) {
    return service->frame[HEAD_LEN + service->text_len - 1] == '[' ? "" : ",";
}

/* Adds a level to a book message. */
static void level_say(struct mst_mock_service *service, const char *price,
                      const char *amount) {
    SAY(service, text_comma(service), "{\"price\":\"", price,
        "\",\"amount\":\"", amount, "\"}");
}

/* The place of a price on a side; the side's depth if it is not there. */
static size_t level_find(const struct mst_mock_market *market, int side,
                         const char *price) {
    size_t i = 0;

    while (i < market->depth[side] &&
           strcmp(market->levels[side][i].price, price) != 0) {
        i++;
    }
    return i;
}

/* Sets a level; an amount of zero removes it. What is no number is sent, but
 * stays out of the book. */
static void level_set(struct mst_mock_service *service,
                      struct mst_mock_market *market, int side,
                      const struct mst_mock_level *level) {
    struct mst_mock_level *levels = market->levels[side];
    size_t *depth = &market->depth[side];
    const char *digits = "0123456789.";
    bool none = level->amount[strspn(level->amount, "0.")] == '\0';
    size_t i;

    if (level->price[strspn(level->price, digits)] != '\0' ||
        level->amount[strspn(level->amount, digits)] != '\0') {
        return;
    }
    i = level_find(market, side, level->price);
    if (none && i < *depth) {
        memmove(&levels[i], &levels[i + 1], (--*depth - i) * sizeof *levels);
    } else if (!none && i == MST_MOCK_LEVELS) {
        mst_mock_service_wrong(service, "more levels than MST_MOCK_LEVELS");
    } else if (!none) {
        *depth += i == *depth;
        levels[i] = *level;
    }
}

static void snapshot_send(struct mst_mock_service *service, int link,
                          const char *name) {
    const struct mst_mock_market *market = market_find(service, name);

    book_begin(service, name, "SNAPSHOT", mst_mock_wall(service->mock));
    for (int side = 0; side < 2; side++) {
        for (size_t i = 0; market != NULL && i < market->depth[side]; i++) {
            level_say(service, market->levels[side][i].price,
                      market->levels[side][i].amount);
        }
        SAY(service, side == 0 ? "],\"asks\":[" : "]}}");
    }
    text_send(service, link);
}

/* Plays MST_MOCK_BOOK, _UPDATE and _TOP. */
static void book_step(struct mst_mock_service *service,
                      struct mst_mock_market *market,
                      const struct mst_mock_step *step) {
    bool top = step->action == MST_MOCK_TOP;
    const struct mst_mock_market old = *market;
    struct mst_mock_level level;

    book_begin(service, step->market, top ? "TOP_OF_BOOK" : "UPDATE",
               mst_mock_wall(service->mock));
    for (int side = 0; side < 2; side++) {
        const char *list = side == 0 ? step->bids : step->asks;

        if (step->action == MST_MOCK_BOOK) {
            market->depth[side] = 0;
        }
        while ((list = level_take(list, &level)) != NULL) {
            level_say(service, level.price, level.amount);
            if (!top) {
                level_set(service, market, side, &level);
            }
        }
        for (size_t i = 0; step->action == MST_MOCK_BOOK && i < old.depth[side];
             i++) {
            const char *price = old.levels[side][i].price;
            if (level_find(market, side, price) == market->depth[side]) {
                level_say(service, price, "0");
            }
        }
        SAY(service, side == 0 ? "],\"asks\":[" : "]}}");
    }
    text_push(service, top ? "market_data.top_of_book" : "market_data",
              step->market);
}

/* ---- subscriptions ---- */

static size_t subscription_find(const struct mst_mock_stream *stream,
                                const char *channel, const char *market) {
    size_t i = 0;

    while (i < stream->subscriptions_len &&
           (strcmp(stream->subscriptions[i].channel, channel) != 0 ||
            strcmp(stream->subscriptions[i].market, market) != 0)) {
        i++;
    }
    return i;
}

bool mst_mock_service_has(const struct mst_mock_service *service, int link,
                          const char *channel, const char *market) {
    bool has = false;

    for (int i = 0; i < MST_MOCK_LINKS; i++) {
        const struct mst_mock_stream *stream = &service->links[i];

        has |= (link < 0 || link == i) && stream->kind == STREAM &&
               subscription_find(stream, channel, market ? market : "") <
                   stream->subscriptions_len;
    }
    return has;
}

void mst_mock_service_set(struct mst_mock_service *service, int link,
                          const char *channel, const char *market,
                          bool subscribed) {
    struct mst_mock_stream *stream = &service->links[link];
    size_t i = subscription_find(stream, channel, market);

    if (!subscribed && i < stream->subscriptions_len) {
        stream->subscriptions[i] =
            stream->subscriptions[--stream->subscriptions_len];
    } else if (subscribed && i == MST_MOCK_SUBSCRIPTIONS) {
        mst_mock_service_wrong(service, "too many subscriptions");
    } else if (subscribed && i == stream->subscriptions_len) {
        stream->subscriptions_len++;
        snprintf(stream->subscriptions[i].channel, MST_MOCK_CHANNEL_LEN, "%s",
                 channel);
        snprintf(stream->subscriptions[i].market, MST_MOCK_MARKET_LEN, "%s",
                 market);
    }
}

/* When the next heartbeat is due. */
static void beat_arm(struct mst_mock_service *service) {
    service->beat_due_ms = MST_MOCK_NO_TIME;
    if (service->heartbeat_ms > 0) {
        service->beat_due_ms =
            mst_mock_elapsed(service->mock) + service->heartbeat_ms;
        mst_mock_wake(service->mock, service->heartbeat_ms);
    }
}

/* Applies an entry of a request; returns NULL, or the code of its failure. */
static const char *entry_apply(struct mst_mock_service *service, int link,
                               bool subscribe, const char *channel,
                               const char *market) {
    const struct mst_mock_service_hooks *hooks = &service->hooks;
    bool beat = strcmp(channel, "heartbeat") == 0;
    const struct mst_mock_market *known;
    const char *code = NULL;

    if (!beat && strcmp(channel, "market_data") != 0 &&
        strcmp(channel, "market_data.top_of_book") != 0 &&
        strcmp(channel, "execution_data") != 0) {
        return "UNKNOWN_CHANNEL";
    }
    if (beat != (market[0] == '\0')) {
        return "UNKNOWN_CHANNEL_PARAMS_CONFIGURATION";
    }
    if (hooks->refuse != NULL) {
        code = hooks->refuse(hooks->context, link, subscribe, channel, market);
    }
    if (code == NULL && subscribe) {
        known = market_find(service, market);
        code = known != NULL ? known->refused : NULL;
    }
    if (code != NULL) {
        return code;
    }
    if (subscribe == mst_mock_service_has(service, link, channel, market)) {
        service->duplicates += subscribe;
        return "NO_EFFECT_ACTION";
    }
    mst_mock_service_set(service, link, channel, market, subscribe);
    if (beat && service->beat_due_ms == MST_MOCK_NO_TIME) {
        beat_arm(service);
    }
    return NULL;
}

/* ---- requests on a stream ---- */

/* The end of a JSON value that begins here: what follows it, or NULL. */
static const char *json_skip(const char *at) {
    unsigned depth = 0;

    for (; *at != '\0'; at++) {
        if (*at == '"') {
            for (at++; *at != '"'; at++) {
                at += *at == '\\';
                if (*at == '\0') {
                    return NULL;
                }
            }
        } else if (*at == '{' || *at == '[') {
            depth++;
        } else if (depth > 0 && (*at == '}' || *at == ']')) {
            depth--;
        } else if (depth == 0) {
            at += strcspn(at, ",}] \t\r\n") - 1; /* a number or word */
        }
        if (depth == 0) {
            return at + 1;
        }
    }
    return NULL;
}

static const char *json_space(const char *at) {
    return at + strspn(at, " \t\r\n:,");
}

/* The value of a member of the object that begins here, or NULL. */
static const char *json_member(const char *object, const char *name) {
    size_t len = strlen(name);

    if (object == NULL || *object != '{') {
        return NULL;
    }
    for (object = json_space(object + 1); *object == '"';) {
        bool found =
            strncmp(object + 1, name, len) == 0 && object[1 + len] == '"';
        const char *value = json_skip(object);

        if (value == NULL || found) {
            return value != NULL ? json_space(value) : NULL;
        }
        value = json_skip(json_space(value));
        if (value == NULL) {
            return NULL;
        }
        object = json_space(value);
    }
    return NULL;
}

/* A member's string, as it is written, but \" and \\ decoded; false if it is
 * none or does not fit. */
static bool json_string(const char *object, const char *name, char *out,
                        size_t out_len) {
    const char *at = json_member(object, name);
    size_t len = 0;

    out[0] = '\0';
    if (at == NULL || *at++ != '"') {
        return false;
    }
    for (; *at != '"'; at++) {
        at += *at == '\\' && (at[1] == '"' || at[1] == '\\');
        if (*at == '\0' || len + 1 == out_len) {
            return false;
        }
        out[len++] = *at;
    }
    out[len] = '\0';
    return true;
}

/* Adds what a JSON string may not have as it is. */
static void say_escaped(struct mst_mock_service *service, const char *text) {
    for (; *text != '\0'; text++) {
        SAY(service, *text == '"' || *text == '\\' ? "\\" : "");
        text_add(service, text, 1);
    }
}

/* Ends the answer and sends it. */
static void answer_send(struct mst_mock_service *service, int link) {
    SAY(service, "]}");
    if (!service->unanswered) {
        text_send(service, link);
    }
}

static void answer_list(struct mst_mock_service *service, int link) {
    const struct mst_mock_stream *stream = &service->links[link];

    SAY(service, "{\"type\":\"subscription_list\",\"channels\":[");
    for (size_t i = 0; i < stream->subscriptions_len; i++) {
        const char *market = stream->subscriptions[i].market;

        SAY(service, i == 0 ? "" : ",", "{\"type\":\"",
            stream->subscriptions[i].channel, "\"");
        if (market[0] != '\0') {
            SAY(service, ",\"params\":{\"market\":\"");
            say_escaped(service, market);
            SAY(service, "\"}");
        }
        SAY(service, "}");
    }
    answer_send(service, link);
}

/* Applies the entry of a request that begins here, and adds it to the answer;
 * returns its end, or NULL if it is malformed. */
static const char *entry_answer(struct mst_mock_service *service, int link,
                                bool subscribe, const char *entry) {
    const char *end = json_skip(entry), *code;
    const char *params = json_member(entry, "params");
    char channel[MST_MOCK_CHANNEL_LEN], market[MST_MOCK_MARKET_LEN] = "";

    if (end == NULL || !json_string(entry, "type", channel, sizeof channel) ||
        (params != NULL &&
         !json_string(params, "market", market, sizeof market))) {
        mst_mock_service_wrong(service, "a malformed channel entry");
        return NULL;
    }
    code = entry_apply(service, link, subscribe, channel, market);
    SAY(service, text_comma(service));
    text_add(service, entry, (size_t)(end - entry) - 1);
    if (code == NULL) {
        SAY(service, ",\"success\":true}");
    } else {
        SAY(service, ",\"success\":false,\"error\":\"", code, "\"}");
    }
    return end;
}

/* Answers subscribe or unsubscribe, then sends the snapshots. */
static void answer_channels(struct mst_mock_service *service, int link,
                            const char *type, const char *entries) {
    const struct mst_mock_service_hooks *hooks = &service->hooks;
    struct mst_mock_stream *stream = &service->links[link];
    bool subscribe = strcmp(type, "subscribe") == 0;
    size_t i = stream->subscriptions_len;

    service->subscribes += subscribe;
    SAY(service, "{\"type\":\"", type, "\",\"channels\":[");
    if (entries == NULL || *entries != '[' || entries[1] != '{') {
        mst_mock_service_wrong(service, "a request without channels");
        entries = "[";
    }
    for (entries++; entries != NULL && *entries == '{';) {
        entries = entry_answer(service, link, subscribe, entries);
        entries = entries != NULL ? json_space(entries) : NULL;
    }
    answer_send(service, link);
    for (; i < stream->subscriptions_len; i++) {
        const char *channel = stream->subscriptions[i].channel;
        const char *market = stream->subscriptions[i].market;

        if (strcmp(channel, "market_data") == 0 &&
            (hooks->snapshot == NULL ||
             !hooks->snapshot(hooks->context, link, market))) {
            snapshot_send(service, link, market);
        }
    }
}

void mst_mock_service_answer(struct mst_mock_service *service, int link,
                             const char *text) {
    const char *end = json_skip(text), *code = "UNKNOWN_ACTION";
    char type[MST_MOCK_CHANNEL_LEN];

    service->text_len = 0;
    if (end == NULL || *end != '\0' ||
        !json_string(text, "type", type, sizeof type)) {
        code = "MALFORMED_REQUEST";
        mst_mock_service_wrong(service, "a request that is malformed");
    } else if (strcmp(type, "subscription_list") == 0) {
        answer_list(service, link);
        return;
    } else if (strcmp(type, "subscribe") == 0 ||
               strcmp(type, "unsubscribe") == 0) {
        answer_channels(service, link, type, json_member(text, "channels"));
        return;
    }
    SAY(service, "{\"type\":\"error\",\"error\":\"", code, "\"}");
    text_send(service, link);
}

/* ---- frames of the client ---- */

/* A control frame. */
static void control_take(struct mst_mock_service *service, int link,
                         unsigned opcode, const char *data, size_t len) {
    const struct mst_mock_service_hooks *hooks = &service->hooks;
    struct mst_mock_stream *stream = &service->links[link];

    service->pongs += opcode == 10;
    stream->close_seen |= opcode == 8;
    if (opcode > 10) {
        mst_mock_service_wrong(service, "a frame of an unknown kind");
    }
    if (hooks->control != NULL &&
        hooks->control(hooks->context, link, opcode, data, len)) {
        return;
    }
    if (opcode == 9) {
        mst_mock_service_frame(service, link, 0x8A, data, len);
    } else if (opcode == 8) {
        if (!stream->close_sent) {
            mst_mock_service_frame(service, link, 0x88, data, len);
        }
        stream->close_sent = true;
        service_end(service, link, MST_ERR_EOF);
    }
}

/* A data frame: a message, or a part of one. */
static void data_take(struct mst_mock_service *service, int link, bool fin,
                      const char *data, size_t len) {
    const struct mst_mock_service_hooks *hooks = &service->hooks;
    struct mst_mock_stream *stream = &service->links[link];

    if (stream->message_len + len >= sizeof stream->message) {
        mst_mock_service_wrong(service, "a request is longer than the room");
        return;
    }
    memcpy(stream->message + stream->message_len, data, len);
    stream->message_len += len;
    stream->message_open = !fin;
    if (fin) {
        stream->message[stream->message_len] = '\0';
        stream->message_len = 0;
        if (hooks->message == NULL ||
            !hooks->message(hooks->context, link, stream->message)) {
            mst_mock_service_answer(service, link, stream->message);
        }
    }
}

/* Notes what a client must not send (RFC 6455, section 5). */
static void frame_check(struct mst_mock_service *service,
                        const struct mst_mock_stream *stream, size_t bytes,
                        uint64_t len) {
    unsigned first = (unsigned char)stream->data[0];
    bool control = (first & 8) != 0;
    unsigned data = stream->message_open ? 0 : 1;

    if (((unsigned char)stream->data[1] & 0x80) == 0 || (first & 0x70) != 0) {
        mst_mock_service_wrong(service,
                               "a frame unmasked or with reserved bits");
    } else if ((bytes == 2 && len < 126) || (bytes == 8 && len < 65536)) {
        mst_mock_service_wrong(service, "a frame length in too many bytes");
    } else if (stream->close_seen) {
        mst_mock_service_wrong(service, "a frame after the close frame");
    } else if (control && (len > 125 || (first & 0x80) == 0)) {
        mst_mock_service_wrong(service, "a control frame too long or in parts");
    } else if (!control && (first & 15) != data) {
        mst_mock_service_wrong(service, "a data frame of another kind");
    }
}

/* Takes a whole frame from a link's bytes; returns its length, 0 if it is not
 * whole. */
static size_t frame_take(struct mst_mock_service *service, int link) {
    struct mst_mock_stream *stream = &service->links[link];
    unsigned char *data = (unsigned char *)stream->data;
    unsigned opcode = data[0] & 15;
    uint64_t len = stream->data_len > 1 ? data[1] & 127 : 0;
    size_t bytes = len < 126 ? 0 : len == 126 ? 2 : 8;

    if (stream->data_len < 6 + bytes) {
        return 0;
    }
    len = bytes > 0 ? 0 : len;
    for (size_t i = 0; i < bytes; i++) {
        len = len << 8 | data[2 + i];
    }
    if (stream->data_len < 6 + bytes + len) {
        return 0;
    }
    for (size_t i = 0; i < len; i++) {
        data[6 + bytes + i] ^= data[2 + bytes + i % 4];
    }
    frame_check(service, stream, bytes, len);
    if (opcode < 8) {
        data_take(service, link, (data[0] & 0x80) != 0,
                  stream->data + 6 + bytes, (size_t)len);
    } else if (len <= 125) {
        control_take(service, link, opcode, stream->data + 6 + bytes,
                     (size_t)len);
    }
    return (size_t)(6 + bytes + len);
}

/* ---- HTTP ---- */

/* ASCII, in lower case. */
static int lower(int c) {
    return c >= 'A' && c <= 'Z' ? c + 'a' - 'A' : c;
}

void mst_mock_service_header(const char *request, const char *name, char *out,
                             size_t out_len) {
    const char *line = strstr(request, "\r\n");

    out[0] = '\0';
    for (; line != NULL && line[2] != '\r'; line = strstr(line + 2, "\r\n")) {
        const char *at = line + 2;
        size_t i = 0;

        while (name[i] != '\0' && lower(at[i]) == lower(name[i])) {
            i++;
        }
        if (name[i] == '\0' && at[i] == ':') {
            at += i + 1;
            at += strspn(at, " \t");
            snprintf(out, out_len, "%.*s", (int)strcspn(at, "\r"), at);
            return;
        }
    }
}

void mst_mock_service_accept(const char *key, char accept[29]) {
    static const char digits[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    unsigned char hash[br_sha1_SIZE + 1] = {0};
    br_sha1_context sha1;

    br_sha1_init(&sha1);
    br_sha1_update(&sha1, key, strlen(key));
    br_sha1_update(&sha1, "258EAFA5-E914-47DA-95CA-C5AB0DC85B11", 36);
    br_sha1_out(&sha1, hash);
    for (size_t i = 0; i < 28; i++) {
        size_t bit = i * 6, byte = bit / 8;
        unsigned two = (unsigned)hash[byte] << 8;

        two |= byte + 1 < sizeof hash ? hash[byte + 1] : 0u;
        accept[i] = digits[two >> (10 - bit % 8) & 63];
    }
    accept[27] = '=';
    accept[28] = '\0';
}

/* Sends a response. */
static void respond(struct mst_mock_service *service, int link, int status,
                    uint32_t retry_ms, const char *body) {
    char text[512], retry[48] = "";

    if (retry_ms > 0) {
        snprintf(retry, sizeof retry, "Retry-After: %lu\r\n",
                 (unsigned long)retry_ms / 1000);
    }
    snprintf(text, sizeof text,
             "HTTP/1.1 %d %s\r\nContent-Type: application/json\r\n%s"
             "Content-Length: %lu\r\n\r\n",
             status, status == 200 ? "OK" : "No", retry,
             (unsigned long)strlen(body));
    service_write(service, link, text, strlen(text));
    service_write(service, link, body, strlen(body));
}

/* Answers as the script says, if it does; true if so. */
static bool reply_says(struct mst_mock_service *service, int link,
                       const struct mst_mock_reply *reply) {
    if (reply->status != 0 && reply->status != MST_MOCK_NEVER) {
        respond(service, link, reply->status, reply->retry_ms,
                reply->body != NULL ? reply->body : "");
    }
    return reply->status != 0;
}

/* A token's text is its number. */
static void token_answer(struct mst_mock_service *service, int link) {
    char body[200];

    service->tokens++;
    snprintf(body, sizeof body,
             "{\"access_token\":\"token-%lu\",\"expires_in\":%lu,"
             "\"token_type\":\"bearer\"}",
             (unsigned long)service->tokens,
             (unsigned long)service->token_life_ms / 1000);
    respond(service, link, 200, 0, body);
}

static bool token_is_good(const struct mst_mock_service *service,
                          const char *request) {
    char value[128], *end;
    unsigned long number;

    mst_mock_service_header(request, "Authorization", value, sizeof value);
    if (strncmp(value, "Bearer token-", 13) != 0) {
        return false;
    }
    number = strtoul(value + 13, &end, 10);
    return number > service->tokens_old && number <= service->tokens &&
           *end == '\0';
}

void mst_mock_service_upgrade(struct mst_mock_service *service, int link,
                              const char *lines, const void *frames,
                              size_t frames_len) {
    service->text_len = 0;
    SAY(service, "HTTP/1.1 101 Switching Protocols\r\nUpgrade: WebSocket\r\n",
        "Connection: Upgrade\r\nSec-WebSocket-Accept: ",
        service->links[link].accept, "\r\n", lines, "\r\n");
    text_add(service, frames, frames_len);
    service->links[link].kind = STREAM;
    service->stream = link;
    service->streams++;
    service_write(service, link, service->frame + HEAD_LEN, service->text_len);
}

/* Takes a whole request from a link's bytes and answers it; returns its length,
 * 0 if it is not whole. */
static size_t http_take(struct mst_mock_service *service, int link) {
    const struct mst_mock_service_hooks *hooks = &service->hooks;
    struct mst_mock_stream *stream = &service->links[link];
    char value[64], *body;
    size_t used;

    stream->data[stream->data_len] = '\0';
    body = strstr(stream->data, "\r\n\r\n");
    if (body == NULL) {
        return 0;
    }
    body += 4;
    mst_mock_service_header(stream->data, "Content-Length", value,
                            sizeof value);
    used = (size_t)(body - stream->data) + strtoul(value, NULL, 10);
    if (stream->data_len < used) {
        return 0;
    }
    if (stream->data_len > used) {
        mst_mock_service_wrong(service,
                               "bytes after a request, before its answer");
    }
    mst_mock_service_header(stream->data, "Sec-WebSocket-Key", value,
                            sizeof value);
    mst_mock_service_accept(value, stream->accept);
    if (hooks->http != NULL &&
        hooks->http(hooks->context, link, stream->data, body)) {
        return used;
    }
    if (value[0] == '\0') {
        if (strncmp(stream->data, "POST ", 5) != 0) {
            respond(service, link, 404, 0, "");
        } else if (!reply_says(service, link, &service->token)) {
            token_answer(service, link);
        }
    } else if (!reply_says(service, link, &service->upgrade)) {
        if (token_is_good(service, stream->data)) {
            mst_mock_service_upgrade(service, link, "", "", 0);
        } else {
            respond(service, link, 401, 0, "");
        }
    }
    return used;
}

/* ---- the script ---- */

/* How the service fails to be reached: 0 for not at all. */
static void outage_set(struct mst_mock_service *service, int error) {
    struct mst_mock_plan *plan = &service->mock->plan;

    plan->resolve_error = error == MST_ERR_RESOLVE ? error : 0;
    for (size_t i = 0; i < MST_MOCK_ADDRESSES; i++) {
        plan->connect_error[i] = error == MST_ERR_RESOLVE ? 0 : error;
    }
}

/* Ends every connection, or leaves it half-open with MST_MOCK_NEVER. */
static void cut(struct mst_mock_service *service, int error) {
    for (int i = 0; i < MST_MOCK_LINKS; i++) {
        if (error == MST_MOCK_NEVER) {
            mst_mock_freeze(service->mock, i);
        } else if (service->links[i].kind != CLOSED) {
            service_end(service, i, error);
        }
    }
}

static void outage_step(struct mst_mock_service *service,
                        const struct mst_mock_step *step) {
    int error = step->number != 0 ? step->number : MST_ERR_REFUSED;

    outage_set(service, error);
    cut(service, error == MST_MOCK_NEVER ? error : MST_ERR_RESET);
    service->outage_end_ms = MST_MOCK_NO_TIME;
    if (step->ms > 0) {
        service->outage_end_ms = mst_mock_elapsed(service->mock) + step->ms;
        mst_mock_wake(service->mock, step->ms);
    }
}

/* Sends a frame on every stream. */
static void frame_push(struct mst_mock_service *service, unsigned first,
                       const char *data, size_t len) {
    if ((first & 8) != 0 && len > 125) {
        mst_mock_service_wrong(service, "a ping of more than 125 bytes");
        return;
    }
    for (int i = 0; i < MST_MOCK_LINKS; i++) {
        if (service->links[i].kind == STREAM) {
            service->links[i].close_sent |= (first & 15) == 8;
            mst_mock_service_frame(service, i, first, data, len);
        }
    }
}

static void close_push(struct mst_mock_service *service, int code,
                       const char *reason) {
    char payload[126] = {(char)(code >> 8), (char)code};

    snprintf(payload + 2, sizeof payload - 2, "%s", reason);
    frame_push(service, 0x88, payload, 2 + strlen(payload + 2));
}

static void beat_send(struct mst_mock_service *service) {
    char time[MST_MOCK_TIME_LEN];

    mst_mock_service_time(mst_mock_wall(service->mock), true, time);
    service->text_len = 0;
    SAY(service, "{\"channel\":\"heartbeat\",\"payload\":{\"timestamp\":\"",
        time, "\"}}");
    text_push(service, "heartbeat", "");
}

static void execution_step(struct mst_mock_service *service,
                           const struct mst_mock_step *step) {
    struct mst_mock_level trade = {"", ""};
    char time[MST_MOCK_TIME_LEN];

    level_take(step->text, &trade);
    mst_mock_service_time(mst_mock_wall(service->mock), false, time);
    service->text_len = 0;
    SAY(service, "{\"channel\":\"execution_data\",\"payload\":{\"market\":\"",
        step->market, "\",\"price\":\"", trade.price, "\",\"amount\":\"",
        trade.amount, "\",\"executed_at\":\"", time, "\"}}");
    text_push(service, "execution_data", step->market);
}

/* Plays a step that is about a market. */
static void market_step(struct mst_mock_service *service,
                        const struct mst_mock_step *step) {
    struct mst_mock_market *market =
        market_get(service, step->market != NULL ? step->market : "");

    if (market == NULL) {
        return;
    }
    if (step->action == MST_MOCK_REFUSE) {
        market->refused = step->text;
    } else if (step->market == NULL) {
        mst_mock_service_wrong(service, "a step without a market");
    } else if (step->action == MST_MOCK_EXECUTION) {
        execution_step(service, step);
    } else {
        book_step(service, market, step);
    }
}

void mst_mock_service_do(struct mst_mock_service *service,
                         const struct mst_mock_step *step) {
    const char *text = step->text != NULL ? step->text : "";
    const struct mst_mock_reply reply = {step->number, step->ms, step->text};

    switch (step->action) {
    case MST_MOCK_BOOK:
    case MST_MOCK_UPDATE:
    case MST_MOCK_TOP:
    case MST_MOCK_EXECUTION:
    case MST_MOCK_REFUSE: market_step(service, step); break;
    case MST_MOCK_HEARTBEAT:
        service->heartbeat_ms = step->ms;
        beat_arm(service);
        break;
    case MST_MOCK_TEXT: frame_push(service, 0x81, text, strlen(text)); break;
    case MST_MOCK_PING: frame_push(service, 0x89, text, strlen(text)); break;
    case MST_MOCK_TOKEN: service->token = reply; break;
    case MST_MOCK_UPGRADE: service->upgrade = reply; break;
    case MST_MOCK_TOKEN_LIFE: service->token_life_ms = step->ms; break;
    case MST_MOCK_EXPIRE:
        service->tokens_old = service->tokens;
        close_push(service, 1008, "token expired");
        break;
    case MST_MOCK_CLOSE:
        close_push(service, step->number != 0 ? step->number : 1000, text);
        break;
    case MST_MOCK_CUT:
        cut(service, step->number != 0 ? step->number : MST_ERR_RESET);
        break;
    case MST_MOCK_SILENCE: cut(service, MST_MOCK_NEVER); break;
    case MST_MOCK_OUTAGE: outage_step(service, step); break;
    default: mst_mock_service_wrong(service, "a step of no action"); break;
    }
}

/* Does the steps that are due. */
static void script_work(struct mst_mock_service *service) {
    uint64_t passed = mst_mock_elapsed(service->mock) - service->begin_ms;

    while (service->steps > 0 && service->step->at_ms <= passed) {
        const struct mst_mock_step *step = service->step++;

        service->steps--;
        mst_mock_service_do(service, step);
    }
    if (service->steps > 0) {
        uint64_t wait = service->step->at_ms - passed;
        mst_mock_wake(service->mock,
                      wait < UINT32_MAX ? (uint32_t)wait : UINT32_MAX);
    }
}

void mst_mock_service_play(struct mst_mock_service *service,
                           const struct mst_mock_step *steps, size_t count) {
    service->begin_ms = mst_mock_elapsed(service->mock);
    service->step = steps;
    service->steps = count;
    script_work(service);
}

/* ---- the peer ---- */

static void peer_opened(void *context, int link,
                        const struct mst_endpoint *endpoint) {
    struct mst_mock_service *service = context;
    struct mst_mock_stream *stream = &service->links[link];

    (void)endpoint;
    stream->kind = HTTP;
    stream->data_len = stream->message_len = stream->subscriptions_len = 0;
    stream->message_open = stream->close_sent = stream->close_seen = false;
}

static void peer_received(void *context, int link, const void *data,
                          size_t len) {
    struct mst_mock_service *service = context;
    struct mst_mock_stream *stream = &service->links[link];

    if (stream->data_len + len >= sizeof stream->data) {
        mst_mock_service_wrong(service, "a request is longer than the room");
        return;
    }
    memcpy(stream->data + stream->data_len, data, len);
    stream->data_len += len;
    while (stream->data_len > 0 && stream->kind != CLOSED) {
        size_t used = stream->kind == HTTP ? http_take(service, link)
                                           : frame_take(service, link);
        if (used == 0 || used > stream->data_len) {
            break;
        }
        memmove(stream->data, stream->data + used, stream->data_len - used);
        stream->data_len -= used;
    }
}

static void peer_closed(void *context, int link) {
    struct mst_mock_service *service = context;

    service->links[link].kind = CLOSED;
    if (service->stream == link) {
        service->stream = -1;
        for (int i = 0; i < MST_MOCK_LINKS; i++) {
            if (service->links[i].kind == STREAM) {
                service->stream = i;
            }
        }
    }
}

static void peer_tick(void *context, uint64_t now_ms) {
    struct mst_mock_service *service = context;

    if (now_ms >= service->beat_due_ms) {
        beat_send(service);
        beat_arm(service);
    } else if (service->beat_due_ms != MST_MOCK_NO_TIME) {
        mst_mock_wake(service->mock, (uint32_t)(service->beat_due_ms - now_ms));
    }
    if (now_ms >= service->outage_end_ms) {
        service->outage_end_ms = MST_MOCK_NO_TIME;
        outage_set(service, 0);
    } else if (service->outage_end_ms != MST_MOCK_NO_TIME) {
        mst_mock_wake(service->mock,
                      (uint32_t)(service->outage_end_ms - now_ms));
    }
    script_work(service);
}

struct mst_mock_peer mst_mock_service_peer(struct mst_mock_service *service) {
    return (struct mst_mock_peer){.context = service,
                                  .opened = peer_opened,
                                  .received = peer_received,
                                  .closed = peer_closed,
                                  .tick = peer_tick};
}

void mst_mock_service_init(struct mst_mock_service *service,
                           struct mst_mock *mock) {
    memset(service, 0, sizeof *service);
    service->mock = mock;
    service->stream = -1;
    service->heartbeat_ms = 1000;
    service->token_life_ms = 3600000;
    service->beat_due_ms = service->outage_end_ms = MST_MOCK_NO_TIME;
    service->sink = (struct mst_mock_sink){service, sink_write, sink_end};
    mock->peer = mst_mock_service_peer(service);
}
