/*
 * Support for the tests: see support.h.
 *
 * SPDX-License-Identifier: 0BSD
 */
#include "support.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* ---- Expectations ---- */

#define FAILURES_SHOWN 20

static unsigned failures;

int expect_begin(void **state)
{
    (void)state;
    failures = 0;
    return 0;
}

int expect_end(void **state)
{
    (void)state;
    if (failures > FAILURES_SHOWN) {
        print_error("  and %u more\n", failures - FAILURES_SHOWN);
    }
    return failures == 0 ? 0 : -1;
}

void expect_failed(const char *format, ...)
{
    char line[2048];
    va_list args;

    if (++failures > FAILURES_SHOWN) {
        return;
    }
    va_start(args, format);
    vsnprintf(line, sizeof line, format, args);
    va_end(args);
    print_error("  %s\n", line);
}

void expect_text(const char *name, const char *expected, const char *got)
{
    size_t same = 0, from = 0;

    if (strcmp(expected, got) == 0) {
        return;
    }
    for (; expected[same] != '\0' && expected[same] == got[same]; same++) {
        if (expected[same] == '\n' && expected[same + 1] != '\0') {
            from = same + 1; /* show from the line of the difference on */
        }
    }
    expect_failed("%.300s\n    expected: %s%.300s\n    got:      %s%.300s",
                  name, from > 0 ? "... " : "", expected + from,
                  from > 0 ? "... " : "", got + from);
}

void expect_int(const char *name, long long expected, long long got)
{
    if (expected != got) {
        expect_failed("%.400s\n    expected: %lld\n    got:      %lld", name,
                      expected, got);
    }
}

/* ---- Text that grows ---- */

void text_add_bytes(struct text *text, const void *data, size_t len)
{
    if (text->size - text->len <= len) {
        text->size = 2 * text->size + len + 256;
        text->data = realloc(text->data, text->size);
        assert_non_null(text->data);
    }
    if (len > 0) {
        memcpy(text->data + text->len, data, len);
    }
    text->len += len;
    text->data[text->len] = '\0';
}

void text_add(struct text *text, const char *format, ...)
{
    char piece[512];
    va_list args;
    int len;

    va_start(args, format);
    len = vsnprintf(piece, sizeof piece, format, args);
    va_end(args);
    assert_in_range(len, 0, sizeof piece - 1);
    text_add_bytes(text, piece, (size_t)len);
}

void text_clear(struct text *text)
{
    text->len = 0;
    if (text->data != NULL) {
        text->data[0] = '\0';
    }
}

void text_free(struct text *text)
{
    free(text->data);
    *text = (struct text){0};
}

const char *text_get(const struct text *text)
{
    return text->data == NULL ? "" : text->data;
}

/* ---- Memory that ends at a protected page ---- */

void guard_open(struct guard *guard, size_t max)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    size_t room = (max + page - 1) / page * page;

    guard->mapped = room + page;
    guard->base = mmap(NULL, guard->mapped, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(guard->base, MAP_FAILED);
    guard->end = guard->base + room;
    assert_int_equal(mprotect(guard->end, page, PROT_NONE), 0);
}

void guard_close(struct guard *guard)
{
    munmap(guard->base, guard->mapped);
    *guard = (struct guard){0};
}

uint8_t *guard_room(const struct guard *guard, size_t len)
{
    assert_true(len <= (size_t)(guard->end - guard->base));
    return guard->end - len;
}

uint8_t *guard_put(const struct guard *guard, const void *data, size_t len)
{
    uint8_t *room = guard_room(guard, len);

    if (len > 0) {
        memcpy(room, data, len);
    }
    return room;
}

/* ---- Replay in pieces ---- */

static void replay_piece(const struct reader *reader, const struct guard *guard,
                         const uint8_t *data, size_t len, bool final,
                         struct text *record)
{
    uint8_t *piece = guard_put(guard, data, len);

    reader->piece(reader->context, piece, len, final, record);
    memset(piece, 0xA5, len);
}

static void replay_sized(const struct reader *reader, const struct guard *guard,
                         const uint8_t *data, size_t len, size_t piece,
                         struct text *record)
{
    size_t at = 0;

    reader->begin(reader->context);
    while (len - at > piece) {
        replay_piece(reader, guard, data + at, piece, false, record);
        at += piece;
    }
    replay_piece(reader, guard, data + at, len - at, true, record);
}

void replay(const struct reader *reader, const void *data, size_t len,
            size_t piece, struct text *record)
{
    struct guard guard;

    guard_open(&guard, len + 1);
    replay_sized(reader, &guard, data, len, piece == 0 ? len : piece, record);
    guard_close(&guard);
}

static bool expect_split(const char *name, const char *way, size_t at,
                         const char *expected, const char *got)
{
    char label[512];

    if (strcmp(expected, got) == 0) {
        return true;
    }
    snprintf(label, sizeof label, "%s %zu: %.400s", way, at, name);
    expect_text(label, expected, got);
    return false;
}

/* Replays in pieces of several sizes; false once a record differs. */
static bool replay_all_sizes(const char *name, const struct reader *reader,
                             const struct guard *guard, const uint8_t *data,
                             size_t len, const char *expected,
                             struct text *record)
{
    static const size_t sizes[] = {1, 2, 3, 5, 7, 16, 61, 509, 4093};
    bool same = true;

    for (size_t i = 0; i < COUNT(sizes) && sizes[i] < len && same; i++) {
        text_clear(record);
        replay_sized(reader, guard, data, len, sizes[i], record);
        same = expect_split(name, "in pieces of", sizes[i], expected,
                            text_get(record));
    }
    return same;
}

/* Streams up to twice this length are split at every offset, longer ones at
 * as many as take about the same time. */
#define SPLIT_ALL 1024

/* Replays in two pieces; the same. */
static bool replay_all_cuts(const char *name, const struct reader *reader,
                            const struct guard *guard, const uint8_t *data,
                            size_t len, const char *expected,
                            struct text *record)
{
    size_t step = len < 2 * SPLIT_ALL ? 1 : len / SPLIT_ALL * (len / SPLIT_ALL);
    bool same = true;

    for (size_t at = 0; at <= len && same; at += step) {
        text_clear(record);
        reader->begin(reader->context);
        replay_piece(reader, guard, data, at, false, record);
        replay_piece(reader, guard, data + at, len - at, true, record);
        same = expect_split(name, "split at", at, expected, text_get(record));
    }
    return same;
}

void replay_everywhere(const char *name, const struct reader *reader,
                       const void *data, size_t len, const char *expected)
{
    struct text whole = {0}, record = {0};
    struct guard guard;

    guard_open(&guard, len + 1);
    replay_sized(reader, &guard, data, len, len, &whole);
    if (expected != NULL) {
        expect_split(name, "whole", len, expected, text_get(&whole));
    }
    if (replay_all_sizes(name, reader, &guard, data, len, text_get(&whole),
                         &record)) {
        replay_all_cuts(name, reader, &guard, data, len, text_get(&whole),
                        &record);
    }
    guard_close(&guard);
    text_free(&record);
    text_free(&whole);
}

/* ---- Events and errors as text ---- */

#define NAMED(name)           \
    {                         \
        MST_ERR_##name, #name \
    }

static const struct {
    int error;
    const char *name;
} error_names[] = {
    {MST_OK, "OK"},       NAMED(ARGUMENT),       NAMED(HEADER_VALUE),
    NAMED(HTTP_SYNTAX),   NAMED(HTTP_LENGTH),    NAMED(HTTP_CODING),
    NAMED(HTTP_HEADER),   NAMED(HTTP_BODY),      NAMED(HTTP_TRUNCATED),
    NAMED(HTTP_STATUS),   NAMED(UNAUTHORIZED),   NAMED(FORBIDDEN),
    NAMED(THROTTLED),     NAMED(WS_UPGRADE),     NAMED(WS_ACCEPT),
    NAMED(WS_EXTENSION),  NAMED(WS_RESERVED),    NAMED(WS_MASKED),
    NAMED(WS_LENGTH),     NAMED(WS_CONTROL),     NAMED(WS_FRAGMENT),
    NAMED(WS_UTF8),       NAMED(WS_CLOSE),       NAMED(WS_CLOSED),
    NAMED(JSON_SYNTAX),   NAMED(JSON_DEPTH),     NAMED(JSON_TOKENS),
    NAMED(MESSAGE_SHAPE), NAMED(MESSAGE_KEY),    NAMED(MESSAGE_SIZE),
    NAMED(MESSAGE_ORDER), NAMED(MESSAGE_BINARY), NAMED(DECIMAL),
    NAMED(DECIMAL_WIDE),  NAMED(TIME),
};

const char *error_name(int error)
{
    static char number[24];

    for (size_t i = 0; i < COUNT(error_names); i++) {
        if (error_names[i].error == error) {
            return error_names[i].name;
        }
    }
    snprintf(number, sizeof number, "error %d", error);
    return number;
}

const char *code_name(enum mst_code code)
{
    switch (code) {
    case MST_CODE_NONE:
        return "NONE";
    case MST_CODE_UNKNOWN_ACTION:
        return "UNKNOWN_ACTION";
    case MST_CODE_INTERNAL_SERVER_ERROR:
        return "INTERNAL_SERVER_ERROR";
    case MST_CODE_MALFORMED_REQUEST:
        return "MALFORMED_REQUEST";
    case MST_CODE_NO_EFFECT_ACTION:
        return "NO_EFFECT_ACTION";
    case MST_CODE_UNKNOWN_CHANNEL:
        return "UNKNOWN_CHANNEL";
    case MST_CODE_UNKNOWN_CHANNEL_PARAMS_CONFIGURATION:
        return "UNKNOWN_CHANNEL_PARAMS_CONFIGURATION";
    case MST_CODE_OTHER:
        return "OTHER";
    }
    return "not a code";
}

void record_decimal(struct text *record, struct mst_decimal value)
{
    text_add(record, "%" PRId64, value.coefficient);
    if (value.exponent != 0) {
        text_add(record, "e%d", value.exponent);
    }
    if (value.inexact) {
        text_add(record, "~");
    }
}

static void record_level(struct text *record, const struct mst_level *level,
                         int64_t message_ns)
{
    text_add(record, level->side == MST_BID ? " bid " : " ask ");
    record_decimal(record, mst_level_price(level));
    text_add(record, " ");
    record_decimal(record, mst_level_amount(level));
    if (level->time_ns != message_ns) {
        text_add(record, " at %" PRId64, level->time_ns);
    }
}

static void record_part(struct text *record, const struct mst_part *part)
{
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

static void record_top(struct text *record, const struct mst_top *top)
{
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

static const char *action_name(enum mst_action action)
{
    static const char *const names[] = {"subscribe", "unsubscribe",
                                        "subscription_list"};

    return (size_t)action < COUNT(names) ? names[action] : "not an action";
}

static const char *channel_label(enum mst_channel channel)
{
    return channel == MST_CHANNEL_OTHER ? "other" : mst_channel_name(channel);
}

static void record_entry(struct text *record, const struct mst_entry *entry)
{
    text_add(record, "entry %s %s \"%s\" \"%s\" ", action_name(entry->action),
             channel_label(entry->channel), entry->channel_name, entry->market);
    if (entry->success && entry->code == MST_CODE_NONE && !*entry->text) {
        text_add(record, "ok");
    } else {
        text_add(record, "%s %s \"%s\"", entry->success ? "ok" : "failed",
                 code_name(entry->code), entry->text);
    }
}

void record_event(struct text *record, const struct mst_event *event)
{
    switch (event->type) {
    case MST_EVENT_PART:
        record_part(record, &event->as.part);
        break;
    case MST_EVENT_TOP:
        record_top(record, &event->as.top);
        break;
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
    case MST_EVENT_ENTRY:
        record_entry(record, &event->as.entry);
        break;
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
        text_add(record, "not an event of the decoder: %d", event->type);
        break;
    }
    text_add(record, "\n");
}

/* ---- Decoder ---- */

#define HEARTBEAT_PROBE                                      \
    "{\"channel\":\"heartbeat\",\"payload\":{\"timestamp\":" \
    "\"1970-01-01T00:00:00.000000007Z\"}}"
#define HEARTBEAT_PROBED "heartbeat 7\n"

/* More events of one piece than this are taken for an endless loop. */
#define EVENTS_MAX 100000

static void decoding_begin(void *context)
{
    struct decoding *decoding = context;
    void *buffer = guard_room(&decoding->guard, decoding->buffer_len);

    assert_int_equal(mst_decoder_init(&decoding->decoder, buffer,
                                      decoding->buffer_len, decoding->flags),
                     0);
}

void decoding_feed(struct decoding *decoding, const void *data, size_t len,
                   bool final, struct text *record)
{
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
                           bool final, struct text *record)
{
    decoding_feed(context, data, len, final, record);
    if (final) {
        decoding_feed(context, BYTES(HEARTBEAT_PROBE), true, record);
    }
}

void decoding_open(struct decoding *decoding, size_t buffer_len, unsigned flags)
{
    *decoding = (struct decoding){
        .reader = {decoding, decoding_begin, decoding_piece},
        .buffer_len = buffer_len == 0 ? 2048 : buffer_len,
        .flags = flags,
    };
    guard_open(&decoding->guard, decoding->buffer_len);
    decoding_begin(decoding);
}

void decoding_close(struct decoding *decoding)
{
    guard_close(&decoding->guard);
}

/* The record of the whole message, which must end with the heartbeat. */
static void decode_whole(const char *name, const struct decoding *decoding,
                         const char *message, size_t len, struct text *record)
{
    const size_t probed = strlen(HEARTBEAT_PROBED);

    replay(&decoding->reader, message, len, 0, record);
    if (record->len < probed ||
        strcmp(record->data + record->len - probed, HEARTBEAT_PROBED) != 0) {
        expect_failed("%.400s\n    the next message was lost: %.700s", name,
                      text_get(record));
    }
}

void expect_events(const char *name, struct decoding *decoding,
                   const char *message, size_t len, const char *expected)
{
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
                    const char *expected)
{
    struct decoding decoding;

    decoding_open(&decoding, buffer_len, flags);
    expect_events(message, &decoding, message, strlen(message), expected);
    decoding_close(&decoding);
}

void expect_error(const char *message, size_t buffer_len, unsigned flags,
                  const char *error)
{
    bool named = strstr(message, "\"market\":\"BTCUSD\"") != NULL;
    struct text expected = {0};

    text_add(&expected, "error %s%s\n", error, named ? " in BTCUSD" : "");
    expect_decoded(message, buffer_len, flags, text_get(&expected));
    text_free(&expected);
}

void expect_message_cases(const struct message_case *cases, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        expect_decoded(cases[i].message, 0, 0, cases[i].expected);
    }
}

void expect_error_cases(const struct message_case *cases, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        expect_error(cases[i].message, 0, 0, cases[i].expected);
    }
}

/* ---- Seeded random numbers ---- */

uint64_t random_next(uint64_t *seed)
{
    uint64_t z = (*seed += 0x9E3779B97F4A7C15u);

    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
}
