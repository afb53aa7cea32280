/*
 * Support for the tests: events as text, and the decoder (see support.h).
 *
 * SPDX-License-Identifier: 0BSD
 */
#include "support.h"

/* ---- Events and errors as text ---- */

#define NAMED(name, words) \
    { MST_ERR_##name, #name, words }

const struct error_case error_cases[] = {
    {MST_OK, "OK", "no error"},
    NAMED(ARGUMENT, "or not UTF-8"),
    NAMED(BUILD, "other limits"),
    NAMED(MEMORY, "too small"),
    NAMED(URL, "usable URL"),
    NAMED(PLAIN, "not allowed"),
    NAMED(CREDENTIALS, "secret is missing"),
    NAMED(ANCHORS, "trust anchors"),
    NAMED(IP_HOST, "under TLS"),
    NAMED(HEADER_VALUE, "header value"),
    NAMED(FULL, "more subscription"),
    NAMED(EXISTS, "subscribed already"),
    NAMED(MISSING, "such subscription"),
    NAMED(CLOSED, "is closed"),
    NAMED(BUSY, "under way"),
    NAMED(INEXACT, "not exact"),
    NAMED(NO_LEVELS, "no level"),
    NAMED(HORIZON, "the book knows"),
    NAMED(ADDRESS, "breaks a rule"),
    NAMED(BOOK, "another subscription"),
    NAMED(CLOCK, "not set"),
    NAMED(ENTROPY, "no entropy"),
    NAMED(RESOLVE, "be resolved"),
    NAMED(REFUSED, "connection refused"),
    NAMED(UNREACHABLE, "is unreachable"),
    NAMED(RESET, "connection reset"),
    NAMED(EOF, "the peer"),
    NAMED(PORT, "the port"),
    NAMED(PROXY_LOGIN, "other credentials"),
    NAMED(PROXY_REFUSED, "proxy refuses"),
    NAMED(PROXY_GATEWAY, "reach the host"),
    NAMED(PROXY_ANSWER, "no tunnel"),
    NAMED(PROXY_TIMEOUT, "does not answer"),
    NAMED(TLS_ISSUER, "not trusted"),
    NAMED(TLS_NAME, "another name"),
    NAMED(TLS_TIME, "this time"),
    NAMED(TLS_CERTIFICATE, "not acceptable"),
    NAMED(TLS_VERSION, "TLS 1.2"),
    NAMED(TLS_HANDSHAKE, "handshake failed"),
    NAMED(TLS_ALERT, "TLS alert"),
    NAMED(TLS_PROTOCOL, "protocol error"),
    NAMED(TLS_TRUNCATED, "without close_notify"),
    NAMED(HTTP_SYNTAX, "malformed HTTP response"),
    NAMED(HTTP_LENGTH, "HTTP lengths"),
    NAMED(HTTP_CODING, "was not asked for"),
    NAMED(HTTP_HEADER, "header is too large"),
    NAMED(HTTP_BODY, "body is too large"),
    NAMED(HTTP_TRUNCATED, "ended early"),
    NAMED(HTTP_STATUS, "HTTP status"),
    NAMED(TOKEN_REFUSED, "was refused"),
    NAMED(TOKEN_SHAPE, "not a token response"),
    NAMED(TOKEN_TYPE, "bearer token"),
    NAMED(TOKEN_SCOPE, "narrower scope"),
    NAMED(TOKEN_TOO_LARGE, "token response is too large"),
    NAMED(UNAUTHORIZED, "not accepted"),
    NAMED(FORBIDDEN, "allow list"),
    NAMED(THROTTLED, "many requests"),
    NAMED(WS_UPGRADE, "to WebSocket"),
    NAMED(WS_ACCEPT, "wrong Sec-WebSocket-Accept"),
    NAMED(WS_EXTENSION, "extension not asked for"),
    NAMED(WS_RESERVED, "or opcode"),
    NAMED(WS_MASKED, "the server"),
    NAMED(WS_LENGTH, "frame length"),
    NAMED(WS_CONTROL, "control frame"),
    NAMED(WS_FRAGMENT, "of order"),
    NAMED(WS_UTF8, "text is not UTF-8"),
    NAMED(WS_CLOSE, "close frame"),
    NAMED(WS_CLOSED, "by the service"),
    NAMED(JSON_SYNTAX, "not JSON"),
    NAMED(JSON_DEPTH, "too deeply"),
    NAMED(MESSAGE_SHAPE, "wrong type"),
    NAMED(MESSAGE_KEY, "stands twice"),
    NAMED(MESSAGE_SIZE, "message buffer"),
    NAMED(MESSAGE_ORDER, "they belong to"),
    NAMED(MESSAGE_BINARY, "binary message"),
    NAMED(DECIMAL, "or negative"),
    NAMED(DECIMAL_WIDE, "many digits"),
    NAMED(TIME, "a timestamp"),
    NAMED(TIMEOUT, "took too long"),
    NAMED(SILENCE, "for too long"),
    NAMED(SLOW, "too slowly"),
    NAMED(ANSWER, "answered in time"),
    NAMED(SERVICE, "of the service"),
    NAMED(HEARTBEAT, "heartbeats come"),
    NAMED(LAG, "fallen behind"),
    NAMED(SNAPSHOT, "came in time"),
    NAMED(NO_RESULT, "no result"),
    NAMED(GARBAGE, "unreadable"),
};

const size_t error_cases_len = COUNT(error_cases);

const char *error_name(int error) {
    static char number[24];

    for (size_t i = 0; i < error_cases_len; i++) {
        if (error_cases[i].error == error) {
            return error_cases[i].name;
        }
    }
    snprintf(number, sizeof number, "error %d", error);
    return number;
}

/* "NO_EFFECT_ACTION" for MST_CODE_NO_EFFECT_ACTION. */
static const char *code_name(enum mst_code code) {
    switch (code) {
    case MST_CODE_NONE: return "NONE";
    case MST_CODE_UNKNOWN_ACTION: return "UNKNOWN_ACTION";
    case MST_CODE_INTERNAL_SERVER_ERROR: return "INTERNAL_SERVER_ERROR";
    case MST_CODE_MALFORMED_REQUEST: return "MALFORMED_REQUEST";
    case MST_CODE_NO_EFFECT_ACTION: return "NO_EFFECT_ACTION";
    case MST_CODE_UNKNOWN_CHANNEL: return "UNKNOWN_CHANNEL";
    case MST_CODE_UNKNOWN_CHANNEL_PARAMS_CONFIGURATION:
        return "UNKNOWN_CHANNEL_PARAMS_CONFIGURATION";
    case MST_CODE_OTHER: return "OTHER";
    }
    return "not a code";
}

void record_decimal(struct text *record, struct mst_decimal value) {
    text_add(record, "%" PRId64, value.coefficient);
    if (value.exponent != 0) {
        text_add(record, "e%d", value.exponent);
    }
    if (value.inexact) {
        text_add(record, "~");
    }
}

static void record_side(struct text *record, const struct mst_book *book,
                        enum mst_side side) {
    size_t depth = mst_book_depth(book, side);

    for (size_t rank = 0; rank < depth; rank++) {
        const struct mst_level *level = mst_book_level(book, side, rank);
        char price[MST_DECIMAL_TEXT_LEN], amount[MST_DECIMAL_TEXT_LEN];

        assert_non_null(level);
        expect_int("side of a level", side, level->side);
        mst_decimal_format(mst_level_price(level), price);
        mst_decimal_format(mst_level_amount(level), amount);
        text_add(record, " %sx%s%s", price, amount,
                 mst_level_amount(level).inexact ? "~" : "");
    }
    expect_int("level beyond the depth", 0,
               mst_book_level(book, side, depth) != NULL);
}

void record_book(struct text *record, const struct mst_book *book) {
    text_add(record, "%s:", mst_book_state_name(mst_book_state(book)));
    record_side(record, book, MST_BID);
    text_add(record, " |");
    record_side(record, book, MST_ASK);
    if ((mst_book_flags(book) & MST_BOOK_CROSSED) != 0) {
        text_add(record, " crossed");
    }
}

void expect_book_text(const char *name, const char *expected,
                      const struct mst_book *book) {
    struct text text = {0};

    record_book(&text, book);
    expect_text(name, expected, text_get(&text));
    text_free(&text);
}

static void record_level(struct text *record, const struct mst_level *level,
                         int64_t message_ns) {
    text_add(record, level->side == MST_BID ? " bid " : " ask ");
    record_decimal(record, mst_level_price(level));
    text_add(record, " ");
    record_decimal(record, mst_level_amount(level));
    if (level->time_ns != message_ns) {
        text_add(record, " at %" PRId64, level->time_ns);
    }
}

static void record_part(struct text *record, const struct mst_part *part) {
    text_add(record, "part %s", part->market);
    if (part->aborted) {
        text_add(record, " aborted%s%s%s", part->first ? " first" : "",
                 part->last ? " last" : "",
                 part->count != 0 ? " with levels" : "");
    } else {
        text_add(record, " %" PRId64 " %s%s%s:", part->time_ns,
                 part->snapshot ? "snapshot" : "update",
                 part->first ? " first" : "", part->last ? " last" : "");
        for (size_t i = 0; i < part->count; i++) {
            if (i > 0) {
                text_add(record, ",");
            }
            record_level(record, &part->levels[i], part->time_ns);
        }
    }
}

static void record_top(struct text *record, const struct mst_top *top) {
    text_add(record, "top %s %" PRId64 ":", top->market, top->time_ns);
    if (top->has_bid) {
        record_level(record, &top->bid, top->time_ns);
    }
    if (top->has_bid && top->has_ask) {
        text_add(record, ",");
    }
    if (top->has_ask) {
        record_level(record, &top->ask, top->time_ns);
    }
}

static const char *action_name(enum mst_action action) {
    static const char *const names[] = {"subscribe", "unsubscribe",
                                        "subscription_list"};

    return (size_t)action < COUNT(names) ? names[action] : "not an action";
}

static const char *channel_label(enum mst_channel channel) {
    return channel == MST_CHANNEL_OTHER ? "other" : mst_channel_name(channel);
}

static void record_entry(struct text *record, const struct mst_entry *entry) {
    text_add(record, "entry %s %s \"%s\" \"%s\" ", action_name(entry->action),
             channel_label(entry->channel), entry->channel_name, entry->market);
    if (entry->success && entry->code == MST_CODE_NONE && !*entry->text) {
        text_add(record, "ok");
    } else {
        text_add(record, "%s %s \"%s\"", entry->success ? "ok" : "failed",
                 code_name(entry->code), entry->text);
    }
}

void record_event(struct text *record, const struct mst_event *event) {
    switch (event->type) {
    case MST_EVENT_PART: record_part(record, &event->as.part); break;
    case MST_EVENT_TOP: record_top(record, &event->as.top); break;
    case MST_EVENT_EXECUTION:
        text_add(record, "execution %s %" PRId64 ": ",
                 event->as.execution.market, event->as.execution.time_ns);
        record_decimal(record, event->as.execution.price);
        text_add(record, " ");
        record_decimal(record, event->as.execution.amount);
        break;
    case MST_EVENT_HEARTBEAT:
        text_add(record, "heartbeat %" PRId64, event->as.heartbeat.time_ns);
        break;
    case MST_EVENT_ENTRY: record_entry(record, &event->as.entry); break;
    case MST_EVENT_RESPONSE:
        text_add(record, "response %s: %zu entries, %zu failed",
                 action_name(event->as.response.action),
                 event->as.response.entries, event->as.response.failed);
        break;
    case MST_EVENT_SERVICE_ERROR:
        text_add(record, "service_error %s \"%s\" \"%s\"",
                 code_name(event->as.service_error.code),
                 event->as.service_error.code_text,
                 event->as.service_error.message);
        break;
    case MST_EVENT_LEADER:
        text_add(record, "link %d leads", event->link);
        break;
    case MST_EVENT_UNKNOWN:
        text_add(record, "unknown %zu: ", event->as.unknown.len);
        if (event->as.unknown.text == NULL) {
            text_add(record, "NULL");
        } else {
            text_add_bytes(record, event->as.unknown.text,
                           event->as.unknown.len);
        }
        break;
    case MST_EVENT_ERROR:
        text_add(record, "error %s \"%s\"", error_name(event->as.failure.error),
                 event->as.failure.text);
        if (event->as.failure.market[0] != '\0') {
            text_add(record, " in %s", event->as.failure.market);
        }
        break;
    case MST_EVENT_NONE:
    case MST_EVENT_OPEN:
    case MST_EVENT_CLOSED:
    case MST_EVENT_ADDRESS:
        text_add(record, "not an event of the decoder: %d", event->type);
        break;
    }
    text_add(record, "\n");
}

/* ---- Decoder ---- */

#define HEARTBEAT_PROBE HEARTBEAT_AT("1970-01-01T00:00:00.000000007Z")
#define HEARTBEAT_PROBED "heartbeat 7\n"

/* More events from one piece count as an endless loop. */
#define EVENTS_MAX 100000

static void decoding_begin(void *context) {
    struct decoding *decoding = context;
    void *buffer = guard_room(&decoding->guard, decoding->buffer_len);

    assert_int_equal(mst_decoder_init(&decoding->decoder, buffer,
                                      decoding->buffer_len, decoding->flags),
                     0);
}

void decoding_feed(struct decoding *decoding, const void *data, size_t len,
                   bool final, struct text *record) {
    struct mst_event event;
    size_t events = 0;
    int rc;

    mst_decoder_feed(&decoding->decoder, data, len, final);
    while ((rc = mst_decoder_next(&decoding->decoder, &event)) == 1) {
        record_event(record, &event);
        assert_true(++events <= EVENTS_MAX);
    }
    assert_int_equal(rc, 0);
}

static void decoding_piece(void *context, const uint8_t *data, size_t len,
                           bool final, struct text *record) {
    decoding_feed(context, data, len, final, record);
    if (final) {
        decoding_feed(context, BYTES(HEARTBEAT_PROBE), true, record);
    }
}

void decoding_open(struct decoding *decoding, size_t buffer_len,
                   unsigned flags) {
    *decoding = (struct decoding){
        .reader = {decoding, decoding_begin, decoding_piece},
        .buffer_len = buffer_len == 0 ? 2048 : buffer_len,
        .flags = flags,
    };
    guard_open(&decoding->guard, decoding->buffer_len);
    decoding_begin(decoding);
}

void decoding_close(struct decoding *decoding) {
    guard_close(&decoding->guard);
}

struct decoding *decoding_new(size_t buffer_len, unsigned flags) {
    static struct decoding decoding;

    if (decoding.guard.base != NULL) {
        decoding_close(&decoding);
    }
    decoding_open(&decoding, buffer_len, flags);
    return &decoding;
}

/* Records the whole message. The record must end with the heartbeat. */
static void decode_whole(const char *name, const struct decoding *decoding,
                         const char *message, size_t len, struct text *record) {
    const size_t probed = strlen(HEARTBEAT_PROBED);

    replay(&decoding->reader, message, len, 0, record);
    if (record->len < probed ||
        strcmp(record->data + record->len - probed, HEARTBEAT_PROBED) != 0) {
        expect_failed("%.400s\n    the next message was lost: %.700s", name,
                      text_get(record));
    }
}

void expect_events(const char *name, struct decoding *decoding,
                   const char *message, size_t len, const char *expected) {
    struct text record = {0};

    if (expected == NULL) {
        decode_whole(name, decoding, message, len, &record);
    } else {
        text_add_bytes(&record, expected, strlen(expected));
        text_add(&record, HEARTBEAT_PROBED);
    }
    replay_everywhere(name, &decoding->reader, message, len, text_get(&record));
    text_free(&record);
}

void expect_decoded(const char *message, size_t buffer_len, unsigned flags,
                    const char *expected) {
    message = quoted(message);
    expect_events(message, decoding_new(buffer_len, flags), message,
                  strlen(message), expected != NULL ? quoted(expected) : NULL);
}

void expect_error(const char *message, size_t buffer_len, unsigned flags,
                  const char *error) {
    static const char channel[] = "\"channel\":\"";
    const char *at = strstr(message = quoted(message), channel);
    const char *market = strstr(message, "\"market\":\"BTCUSD\"");
    /* A duplicate market is not used. */
    bool named = market != NULL && strstr(market + 1, "\"market\":") == NULL &&
                 at != NULL && strchr(at + strlen(channel), '"') != NULL;

    expect_decoded(message, buffer_len, flags,
                   printed("error %s%s\n", error, named ? " in BTCUSD" : ""));
}

void expect_message_cases(const struct message_case *cases, size_t count) {
    for (size_t i = 0; i < count; i++) {
        expect_decoded(cases[i].message, 0, 0, cases[i].expected);
    }
}

void expect_error_cases(const struct message_case *cases, size_t count) {
    for (size_t i = 0; i < count; i++) {
        expect_error(cases[i].message, 0, 0, cases[i].expected);
    }
}
