/*
 * The decoder's fast lane compared with the scanner alone: both give the same
 * events for messages in the service's usual form, in other forms, damaged, and
 * in pieces.
 *
 * FAST_LANE_CASES: the number of messages; FAST_LANE_SEED: their seed. The same
 * comparison is a fuzz target, test/fuzz/message.c.
 *
 * SPDX-License-Identifier: 0BSD
 */
#include "lanes.h"

#define CASES 50000

/* ---- Messages ---- */

static uint64_t seed;

static size_t below(size_t n) {
    return n > 0 ? (size_t)(random_next(&seed) % n) : 0;
}

/* Returns true once in n times. */
static bool rarely(size_t n) {
    return below(n) == 0;
}

#define ONE_OF(array) ((array)[below(COUNT(array))])

/* True if messages differ much from the usual form. */
static bool odd;

static void add_space(struct text *text) {
    static const char *const spaces[] = {" ", "\n", "\r\n\t", "  "};

    if (odd && rarely(20)) {
        text_add(text, "%s", ONE_OF(spaces));
    }
}

static void add_token(struct text *text, const char *token) {
    add_space(text);
    text_add(text, "%s", token);
    add_space(text);
}

/* Adds digits, usually few; the last ones may be zeros. */
static void add_digits(struct text *text, size_t most) {
    size_t n = 1 + below(rarely(30) ? 300 : most), zeros = below(4);

    for (size_t i = 0; i < n; i++) {
        text_add(text, "%c", i + zeros < n ? (int)('0' + below(10)) : '0');
    }
}

static void add_number(struct text *text) {
    static const char *const forms[] = {
        /* Zeros and signs. */
        "0", "0.00", "-1", "-0",
        /* Not numbers, or almost numbers. */
        "01", "1.", ".5",
        /* Exponents. */
        "1e5", "0E-8", "1e64", "1e-70",
        /* Not numbers. */
        "+1", "", " 1", "1 ", "x", "1.2.3", "1\\u0030",
        /* Not numbers, because of their bytes. */
        "1\xc3\xa9", "\xc3\xa9.25", "1.\xef\xbc\x95",
        /* Many digits. */
        "12345678901234567890", "1234567890123456780", "0.1234567890123456789",
        ("1000000000000000000000000000000000000000"
         "00000000000000000000000000000")};

    if (rarely(odd ? 10 : 200)) {
        text_add(text, "%s", ONE_OF(forms));
        return;
    }
    if (rarely(5)) {
        text_add(text, "0");
    } else {
        text_add(text, "%c", (int)('1' + below(9)));
        if (!rarely(3)) {
            add_digits(text, 6);
        }
    }
    if (odd && rarely(100)) {
        text_add(text, ".%0300d", 0); /* exact, and longer than the buffer */
    } else if (!rarely(6)) {
        text_add(text, ".");
        add_digits(text, 9);
    }
}

static void add_time(struct text *text) {
    static const char *const times[] = {
        /* Leap seconds. */
        "2026-01-02T03:04:05Z", "2026-01-02T03:59:60Z", "2026-01-02T03:04:60Z",
        "2026-01-02T03:04:60.000Z", "2026-01-02T03:59:60.999Z",
        /* Fractions, time zones and lower-case letters. */
        "2026-01-02T03:04:05.Z", "2026-01-02T03:04:05.6+01:30",
        "2026-01-02t03:04:05.678z",
        /* Days and years that do not exist. */
        "2026-02-30T03:04:05.678Z", "1970-01-01T00:00:00+00:01",
        "2262-01-01T00:00:00Z",
        /* Not times. */
        "2026-01-02T03:04:05.678Z0", "2026-01-02T03:04:05.67890123456789Z",
        "2026-01-02T03:04", "", "2026-01-02T03:04:05.678",
        "2026-01-02T03:04:05.678\\u005a"};

    if (rarely(odd ? 10 : 100)) {
        text_add(text, "%s", ONE_OF(times));
        return;
    }
    text_add(text, "2026-01-0%zuT03:0%zu:%02zu.%0*zu", 1 + below(3), below(3),
             below(60), rarely(2) ? 3 : 9, below(1000));
    if (odd && rarely(20)) {
        text_add(text, "%0300d", 0);
    }
    text_add(text, "Z");
}

static void add_string(struct text *text, void (*add)(struct text *text)) {
    bool bare = odd && rarely(20);

    add_space(text);
    text_add(text, "%s", bare ? "" : "\"");
    add(text);
    text_add(text, "%s", bare ? "" : "\"");
    add_space(text);
}

static void add_market(struct text *text) {
    static const char *const markets[] = {
        /* Usual, empty, and others. */
        "BTCUSD", "", "ETH/USD", "\xc3\xa9",
        /* Escaped; with a control character. */
        "\\u0041", "a\x7fz",
        /* About as long as a machine word. */
        "MARKET7", "MARKET-8", "MARKET7\x7f",
        /* The longest, and one byte more. */
        "A-MARKET-OF-EXACTLY-31-BYTES-AB", "A-MARKET-OF-EXACTLY-32-BYTES-ABC"};

    text_add(text, "%s", rarely(odd ? 4 : 20) ? ONE_OF(markets) : "BTCUSD");
}

static void add_type(struct text *text) {
    static const char *const types[] = {"UPDATE",  "SNAPSHOT", "TOP_OF_BOOK",
                                        "REFRESH", "",         "U\\u0050DATE"};

    text_add(text, "%s", odd ? ONE_OF(types) : types[below(3)]);
}

static void add_name(struct text *text, const char *name) {
    add_space(text);
    if (odd && rarely(40)) {
        text_add(text, "\"\\u%04x%s\"", (unsigned char)name[0], name + 1);
    } else {
        text_add(text, "\"%s\"", name);
    }
    add_token(text, ":");
}

static void add_level(struct text *text) {
    static const char *const names[] = {"price", "amount"};
    size_t first = odd && rarely(8) ? 1 : 0;
    size_t second = odd && rarely(40) ? first : 1 - first;

    add_token(text, "{");
    if (odd && rarely(30)) {
        text_add(text, "\"venue\":[1,{\"price\":\"2\"}],");
    }
    add_name(text, names[first]);
    add_string(text, add_number);
    add_token(text, ",");
    add_name(text, names[second]);
    add_string(text, add_number);
    if (odd && rarely(40)) {
        text_add(text, rarely(2) ? "," : ",\"amount\":\"1\"");
    }
    add_token(text, "}");
}

static void add_side(struct text *text) {
    size_t count = rarely(10) ? below(80) : below(5);

    if (odd && rarely(20)) {
        text_add(text, "%s", rarely(2) ? "null" : "{\"price\":\"1\"}");
        return;
    }
    add_token(text, "[");
    for (size_t i = 0; i < count; i++) {
        if (i > 0) {
            add_token(text, ",");
        }
        add_level(text);
    }
    add_token(text, odd && rarely(20) ? ",]" : "]");
}

enum { MEMBERS_MAX = 5 };

struct member {
    const char *name;
    void (*add)(struct text *text);
};

/* The members of a payload, in the usual order, or with some of them moved,
 * removed or repeated. */
static const struct {
    const char *channel;
    struct member members[MEMBERS_MAX];
} payloads[] = {
    {"market_data",
     {{"market", add_market},
      {"type", add_type},
      {"time", add_time},
      {"bids", add_side},
      {"asks", add_side}}},
    {"market_data.top_of_book",
     {{"market", add_market},
      {"type", add_type},
      {"timestamp", add_time},
      {"bids", add_side},
      {"asks", add_side}}},
    {"execution_data",
     {{"market", add_market},
      {"price", add_number},
      {"amount", add_number},
      {"executed_at", add_time}}},
    {"heartbeat", {{"timestamp", add_time}}},
    {"candles", {{"market", add_market}, {"bids", add_side}}},
};

static void add_payload(struct text *text, size_t kind) {
    struct member members[MEMBERS_MAX];
    size_t count = 0;
    bool first = true;

    while (count < MEMBERS_MAX && payloads[kind].members[count].name != NULL) {
        members[count] = payloads[kind].members[count];
        count++;
    }
    if (odd && rarely(2)) {
        size_t from = below(count), to = below(count);
        struct member moved = members[from];

        members[from] = members[to];
        if (!rarely(8)) {
            members[to] = moved;
        }
    }
    add_token(text, odd && rarely(20) ? "{," : "{");
    for (size_t i = 0; i < count; i++) {
        if (rarely(odd ? 30 : 10) && members[i].add == add_side) {
            continue;
        }
        if (!first) {
            add_token(text, ",");
        }
        first = false;
        if (odd && rarely(30)) {
            text_add(text, "\"new\":{\"bids\":[1,\"}\"]},");
        }
        add_name(text, members[i].name);
        if (members[i].add == add_side) {
            add_side(text);
        } else {
            add_string(text, members[i].add);
        }
    }
    add_token(text, "}");
}

static void add_message(struct text *text) {
    size_t kind = rarely(3) ? below(COUNT(payloads)) : below(2);
    bool swapped;

    odd = rarely(3);
    swapped = odd && rarely(6);
    add_token(text, "{");
    for (int i = 0; i < 2; i++) {
        bool channel = (i == 0) != swapped;

        add_name(text, channel ? "channel" : "payload");
        if (channel) {
            text_add(text, "\"%s\"", payloads[kind].channel);
        } else {
            add_payload(text, kind);
        }
        add_token(text, i == 0 ? "," : "}");
    }
    if (odd && rarely(20)) {
        text_add(text, "%s", rarely(2) ? " " : ",");
    }
}

/* Overwrites, removes or repeats some bytes. */
static void damage(struct text *text) {
    static const char bytes[] = "\"\\{}[]:,0159.-eZ \n\x01x";
    size_t at = below(text->len), len = 1 + below(rarely(4) ? 40 : 2);
    char copy[64];

    len = len < text->len - at ? len : text->len - at;
    switch (below(4)) {
    case 0: text->data[at] = bytes[below(sizeof bytes - 1)]; break;
    case 1:
        memmove(text->data + at, text->data + at + len, text->len - at - len);
        text->len -= len;
        break;
    case 2: text->len = at + 1; break;
    default:
        memcpy(copy, text->data + at, len);
        text_add_bytes(text, copy, len);
        break;
    }
}

/* ---- Tests ---- */

#define SWAPPED(price, amount) \
    "{\"amount\":\"" amount "\",\"price\":\"" price "\"}"

/* Levels before their market, type and time. */
#define EARLY(asks, bids)                                       \
    "{\"channel\":\"market_data\",\"payload\":{\"asks\":[" asks \
    "],\"bids\":[" bids "],\"time\":\"" TIME "\","              \
    "\"type\":\"UPDATE\",\"market\":\"BTCUSD\"}}"

TEST_CASE(both_lanes_agree_wherever_a_message_is_cut) {
    static const char *const messages[] = {
        BOOK_MESSAGE("UPDATE", LEVEL("1.50", "0") "," LEVEL("20", "0.7"), ""),
        BOOK_MESSAGE("SNAPSHOT", "", LEVEL("1.50", "0") "," LEVEL("2", "3")),
        BOOK_MESSAGE(
            "UPDATE",
            LEVEL("43567.50", "12345.67") "," LEVEL("43568.50", "12345.68"),
            ""),
        TOP(LEVEL("1", "2") "," LEVEL("3", "4"), LEVEL("1", "0")),
        EXECUTION("12.5", "0.001"),
        HEARTBEAT,
        "null" EXECUTION("1", "2"),
        EXECUTION("1", "2") EXECUTION("1", "2"),
        UPDATE_WITH(",\"bids\":[" LEVEL("1", "2") "],\"bids\":[]"),
        UPDATE_WITH(",\"bids\":[" LEVEL("1", "2") ",]"),
        UPDATE_WITH(",\"bids\":{},\"asks\":[" LEVEL("x", "2") "]"),
        UPDATE_WITH(
            ",\"bids\":[" SWAPPED("1.50", "0") "," SWAPPED("2", "x") "]"),
        EARLY(LEVEL("1.50", "2") "," SWAPPED("20", "0.7"), LEVEL("7", "0")),
        EARLY(SWAPPED("1", "2"), LEVEL("7", "0") ",{}"),
        EARLY("", "[]"),
    };
    struct lanes lanes;

    lanes_open(&lanes, 0);
    for (size_t i = 0; i < COUNT(messages); i++) {
        size_t len = strlen(messages[i]);

        for (size_t n = 0; n <= 2 * len + 1; n++) {
            size_t cut = n / 2;

            lanes.usual.decoder.variety = n % 2 == 0 ? 0 : UINT8_MAX;
            if (!lanes_agree(&lanes, messages[i], len,
                             (struct cuts){cut, MESSAGE_MAX, 0})) {
                printf("cut at %zu\n", cut);
                expect_text(messages[i], text_get(&lanes.scanned_record),
                            text_get(&lanes.usual_record));
            }
        }
    }
    lanes_close(&lanes);
}

/* For a message in one piece. */
static void expect_lanes_to_agree(struct lanes *lanes, const char *message,
                                  size_t len) {
    if (!lanes_agree(lanes, message, len,
                     (struct cuts){MESSAGE_MAX, MESSAGE_MAX, 0})) {
        expect_text(message, text_get(&lanes->scanned_record),
                    text_get(&lanes->usual_record));
    }
}

/* The fast lane expects a number to look like the first of its kind. If amounts
 * vary, they may look like anything. It reads up to seven digits and eight
 * after the point in words. So each number follows each other one: with all
 * lengths and places of the point and one more, zeros at either end, and
 * numbers that differ only by a mark. */
TEST_CASE(a_number_is_read_alike_whatever_was_before_it) {
    static const char *const marks[] = {
        /* Marks in place of the point. */
        "1e5", "1x5", "1,5", "1-5", "12E3", "0.5", "00.5", "1.5.",
        /* Significant and insignificant zeros. */
        "10", "1000000", "10.0", "10.01", "0.0", "0.00000000", "0.000000000",
        "0.00000001", "0.50000000", "20.00000000", "1000000.00000000",
        "1000000.10000000", "9999999.99999999",
        /* Not numbers. */
        "1.50000000x", "1.", "1234567."};
    enum { WHOLE = 9, FRACTION = 11, FORMS = WHOLE * FRACTION };
    char numbers[FORMS + COUNT(marks)][24], message[512];
    struct lanes lanes;

    for (int i = 0; i < FORMS; i++) {
        (void)snprintf(numbers[i], sizeof numbers[i], "%.*s%s%.*s",
                       1 + i % WHOLE, "123456789", i < WHOLE ? "" : ".",
                       i / WHOLE, "9876543219");
    }
    for (size_t i = 0; i < COUNT(marks); i++) {
        (void)snprintf(numbers[FORMS + i], sizeof numbers[0], "%s", marks[i]);
    }
    lanes_open(&lanes, 2);
    for (size_t n = 0; n < COUNT(numbers) * COUNT(numbers); n++) {
        const char *a = numbers[n / COUNT(numbers)];
        const char *b = numbers[n % COUNT(numbers)];
        int len = snprintf(message, sizeof message,
                           BOOK_MESSAGE("UPDATE",
                                        LEVEL("%s", "7") "," LEVEL("%s", "7"),
                                        LEVEL("7", "%s") "," LEVEL("7", "%s")),
                           a, b, a, b);

        for (int varies = 0; varies < 2; varies++) {
            lanes.usual.decoder.variety = varies == 0 ? 0 : UINT8_MAX;
            expect_lanes_to_agree(&lanes, message, (size_t)len);
        }
        len = snprintf(message, sizeof message,
                       EARLY(SWAPPED("%s", "7") "," SWAPPED("%s", "7"),
                             SWAPPED("7", "%s") "," SWAPPED("7", "%s")),
                       a, b, a, b);
        expect_lanes_to_agree(&lanes, message, (size_t)len);
    }
    lanes_close(&lanes);
}

TEST_CASE(a_time_of_any_form_is_read_alike) {
    static const char *const times[] = {
        "2026-01-02T03:04:60.000Z",           "2026-01-02T03:59:60.999Z",
        "2026-01-02T03:04:61.000Z",           "2026-01-02T03:04:59.999Z",
        "2026-01-02T03:04:60.000000000Z",     "2026-01-02T03:59:60.999999999Z",
        "2026-01-02T03:04:59.999999999Z",     "2026-01-02T03:04:05.678901234z",
        "2026-01-02T03:04:05.67890123Z",      "2026-01-02T03:04:05.6789012345Z",
        "2026-01-02T03:04:05,678901234Z",     "2026-01-02T03:04:05.678901x34Z",
        "2026-01-02T03:04:05.678901234+01:00"};
    char message[256];
    struct lanes lanes;

    lanes_open(&lanes, 2);
    for (size_t i = 0; i < COUNT(times); i++) {
        int len =
            snprintf(message, sizeof message, HEARTBEAT_AT("%s"), times[i]);

        expect_lanes_to_agree(&lanes, message, (size_t)len);
    }
    lanes_close(&lanes);
}

/* At each place of each name and text, in messages of the usual form. A good
 * message precedes each, because the lane expects similar ones. */
TEST_CASE(control_characters_are_refused_in_the_lane) {
    static const char *const messages[] = {
        BOOK_MESSAGE("UPDATE", LEVEL("43567.5", "0.25"),
                     LEVEL("43568.5", "10") "," LEVEL("43569.5", "0")),
        BOOK_MESSAGE("SNAPSHOT", LEVEL("1234567.12345678", "2"), ""),
        EARLY(SWAPPED("43568", "10"), SWAPPED("43567", "12")),
        "{\"channel\":\"market_data\",\"payload\":{\"market\":"
        "\"A-MARKET-OF-EXACTLY-31-BYTES-AB\",\"type\":\"UPDATE\","
        "\"time\":\"" TIME "\",\"bids\":[" LEVEL("43567", "1") "]}}",
        TOP(LEVEL("43567.5", "0.25"), LEVEL("43568.5", "10")),
        EXECUTION("43567.5", "0.001"),
        HEARTBEAT,
    };
    char message[512];
    struct lanes lanes;

    lanes_open(&lanes, 2);
    for (size_t i = 0; i < COUNT(messages); i++) {
        size_t len = strlen(messages[i]);
        bool string = false;

        for (size_t at = 0; at < len; at++) {
            string ^= messages[i][at] == '"';
            for (int n = 0; n < 2 * ' ' && string && messages[i][at] != '"';
                 n++) {
                lanes.usual.decoder.variety = n % 2 == 0 ? 0 : UINT8_MAX;
                expect_lanes_to_agree(&lanes, messages[i], len);
                memcpy(message, messages[i], len + 1);
                message[at] = (char)(n / 2);
                expect_lanes_to_agree(&lanes, message, len);
                if (strstr(text_get(&lanes.usual_record),
                           "error JSON_SYNTAX") == NULL) {
                    expect_failed("byte %zu as %d: %s", at, n / 2, messages[i]);
                }
            }
        }
    }
    lanes_close(&lanes);
}

TEST_CASE(both_lanes_give_the_same_events) {
    static struct lanes lanes[COUNT(lanes_kinds)];
    const uint64_t cases = setting("FAST_LANE_CASES", CASES);
    struct text *message = text_new();

    seed = setting("FAST_LANE_SEED", 7);
    printf("FAST_LANE_SEED=%" PRIu64 " FAST_LANE_CASES=%" PRIu64 "\n", seed,
           cases);
    for (size_t kind = 0; kind < COUNT(lanes_kinds); kind++) {
        lanes_open(&lanes[kind], kind);
    }
    for (uint64_t n = 0; n < cases; n++) {
        struct lanes *pair = &lanes[below(COUNT(lanes))];
        struct cuts cuts = {0, rarely(2) ? MESSAGE_MAX : 1 + below(200), seed};

        text_clear(message);
        add_message(message);
        while (message->len > 0 && rarely(3)) {
            damage(message);
        }
        if (!lanes_agree(pair, message->data, message->len, cuts)) {
            printf("case %" PRIu64 ", pieces of up to %zu bytes\n", n,
                   cuts.most);
            text_add(message, "%s", "");
            expect_text(message->data, text_get(&pair->scanned_record),
                        text_get(&pair->usual_record));
            break;
        }
    }
    for (size_t kind = 0; kind < COUNT(lanes_kinds); kind++) {
        lanes_close(&lanes[kind]);
    }
}

RUN_CASES(NULL, NULL)
