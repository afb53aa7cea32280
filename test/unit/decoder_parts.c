/*
 * Tests of the decoder: the parts in which a market_data message is delivered.
 *
 * SPDX-License-Identifier: 0BSD
 */
#include "support.h"

#define HEAD                                                           \
    "{\"channel\":\"market_data\",\"payload\":{\"market\":\"BTCUSD\"," \
    "\"type\":\"SNAPSHOT\",\"time\":\"" TIME "\""
#define ABORTED "part BTCUSD aborted\n"

#define BIDS HEAD ",\"bids\":["

/* Appends levels with the prices from, from + 1 and so on. */
static void add_levels(struct text *message, size_t from, size_t count) {
    for (size_t i = 0; i < count; i++) {
        text_add(message, "%s{\"price\":\"%zu.5\",\"amount\":\"%zu\"}",
                 i == 0 ? "" : ",", from + i, i % 9 + 1);
    }
}

/* Appends the members bids and asks, with prices from 1 on. */
static void add_sides(struct text *message, size_t bids, size_t asks) {
    text_add(message, ",\"bids\":[");
    add_levels(message, 1, bids);
    text_add(message, "],\"asks\":[");
    add_levels(message, 1 + bids, asks);
    text_add(message, "]");
}

/* Records the first parts of such a message, or all (whole). */
static void add_parts_of(struct text *record, const char *type, size_t bids,
                         size_t asks, size_t parts, bool whole) {
    size_t count = bids + asks, n = 0;

    for (size_t part = 0; part < parts; part++) {
        text_add(record, "part BTCUSD " NS " %s%s%s:", type,
                 part == 0 ? " first" : "",
                 whole && part + 1 == parts ? " last" : "");
        for (size_t i = 0; i < MST_PART_LEVELS && n < count; i++, n++) {
            text_add(record, "%s %s %zu5e-1 %zu", i == 0 ? "" : ",",
                     n < bids ? "bid" : "ask", n + 1,
                     (n < bids ? n : n - bids) % 9 + 1);
        }
        text_add(record, "\n");
    }
}

static void add_parts(struct text *record, size_t bids, size_t asks,
                      size_t parts, bool whole) {
    add_parts_of(record, "snapshot", bids, asks, parts, whole);
}

static size_t parts_of(size_t levels) {
    return levels == 0 ? 1 : (levels + MST_PART_LEVELS - 1) / MST_PART_LEVELS;
}

/* Appends a message with these numbers of levels, and its record. */
static void add_message(struct text *message, struct text *record, size_t bids,
                        size_t asks) {
    text_add(message, HEAD);
    add_sides(message, bids, asks);
    text_add(message, "}}");
    add_parts(record, bids, asks, parts_of(bids + asks), true);
}

static void expect_parts(size_t bids, size_t asks, size_t buffer_len) {
    struct text *message = text_new(), *expected = text_new();

    add_message(message, expected, bids, asks);
    expect_decoded(text_get(message), buffer_len, 0, text_get(expected));
}

TEST_CASE(levels_come_in_parts_that_say_first_and_last) {
    static const size_t counts[][2] = {
        {0, 0},   {1, 0},  {0, 1},  {31, 0},  {32, 0}, {0, 32},  {33, 0},
        {32, 1},  {31, 1}, {1, 32}, {16, 16}, {0, 33}, {20, 20}, {64, 0},
        {32, 32}, {65, 0}, {64, 1}, {1, 64},  {96, 1}};

    assert_int_equal(MST_PART_LEVELS, 32);
    for (size_t i = 0; i < COUNT(counts); i++) {
        expect_parts(counts[i][0], counts[i][1], 256);
    }
}

TEST_CASE(a_large_snapshot_passes_through_a_small_buffer) {
    expect_parts(2000, 1400, 256);
}

/* Feeds a piece. Returns how many bytes it added to the record. */
static size_t feed(struct decoding *decoding, const char *piece,
                   struct text *record) {
    size_t before = record->len;

    decoding_feed(decoding, piece, strlen(piece), false, record);
    return record->len - before;
}

/* In one piece: cuts at every offset would take hours. */
TEST_CASE(ten_thousand_levels_pass_through_a_small_buffer) {
    struct text *message = text_new(), *record = text_new(),
                *expected = text_new();
    struct decoding *decoding = decoding_new(256, 0);

    add_message(message, expected, 6000, 4000);
    decoding_feed(decoding, message->data, message->len, true, record);
    assert_string_equal(text_get(record), text_get(expected));
}

TEST_CASE(a_full_part_is_held_until_a_further_level_begins) {
    static const char *const between[] = {"",         "]",   " ,",
                                          "\"asks\"", ": [", "\n"};
    struct text *message = text_new(), *record = text_new(),
                *expected = text_new();
    struct decoding *decoding = decoding_new(256, 0);

    text_add(message, BIDS);
    add_levels(message, 1, 32);
    add_parts(expected, 32, 0, 1, false);
    assert_int_equal(feed(decoding, message->data, record), 0);
    for (size_t i = 0; i < COUNT(between); i++) {
        assert_int_equal(feed(decoding, between[i], record), 0);
    }
    feed(decoding, LEVEL("3", "4"), record);
    assert_string_equal(text_get(record), text_get(expected));
    assert_int_equal(feed(decoding, "]}", record), 0);
    decoding_feed(decoding, BYTES("}"), true, record);
    text_add(expected, "part BTCUSD " NS " snapshot last: ask 3 4\n");
    assert_string_equal(text_get(record), text_get(expected));
}

TEST_CASE(the_last_part_waits_for_the_end_of_the_message) {
    struct text *record = text_new();
    struct decoding *decoding = decoding_new(256, 0);

    decoding_feed(decoding, BYTES(BOOK_MESSAGE("UPDATE", LEVEL("1", "2"), "")),
                  false, record);
    assert_int_equal(record->len, 0);
    decoding_feed(decoding, BYTES(" "), false, record);
    assert_int_equal(record->len, 0);
    decoding_feed(decoding, BYTES(""), true, record);
    assert_string_equal(text_get(record),
                        "part BTCUSD " NS " update first last: bid 1 2\n");
}

/* ---- Messages that become invalid ---- */

struct bad_tail {
    const char *tail, *error;
};

/* Ends of a message after some good levels, within their array. */
static const struct bad_tail bad_tails[] = {
    {",{\"price\":\"x\",\"amount\":\"1\"}]}}", "DECIMAL \"x\""},
    {",{\"price\":\"1\",\"amount\":\"-1\"}]}}", "DECIMAL \"-1\""},
    {",{\"price\":\"1e99\",\"amount\":\"1\"}]}}", "DECIMAL_WIDE \"1e99\""},
    {",{\"price\":\"1\"}]}}", "MESSAGE_SHAPE \"\""},
    {",{\"price\":\"1\",\"amount\":\"1\",\"price\":\"1\"}]}}",
     "MESSAGE_KEY \"\""},
    {",{\"price\":\"1\",\"amount\"}]}}", "JSON_SYNTAX \"\""},
    {",{\"price\":\"1\",\"amount\":\"1\"", "JSON_SYNTAX \"\""},
    {",{[", "JSON_SYNTAX \"\""},
    {",{\"x\":[[[[[[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]]]]]]}]}}", "JSON_DEPTH \"\""},
    {"", "JSON_SYNTAX \"\""},
    {"]", "JSON_SYNTAX \"\""},
    {"]}", "JSON_SYNTAX \"\""},
    {"]}}}", "JSON_SYNTAX \"\""},
    {"]}}{}", "JSON_SYNTAX \"\""},
    {"],}}", "JSON_SYNTAX \"\""},
    {"],\"asks\":7}}", "MESSAGE_SHAPE \"\""},
    {"],\"asks\":[7]}}", "MESSAGE_SHAPE \"\""},
    {"],\"bids\":[]}}", "MESSAGE_KEY \"\""},
    {"],\"market\":\"ETHUSD\"}}", "MESSAGE_KEY \"\""},
    {"],\"time\":\"" TIME "\"}}", "MESSAGE_KEY \"\""},
    {"]},\"channel\":\"heartbeat\"}", "MESSAGE_KEY \"\""},
    {"]},\"payload\":{}}", "MESSAGE_KEY \"\""},
    {"],\"x\":tru}}", "JSON_SYNTAX \"\""},
};

/* A message with this many good levels, then a bad tail. Parts are delivered
 * only if another level follows a full part. */
static void expect_bad(size_t levels, const struct bad_tail *bad,
                       size_t parts) {
    struct text *message = text_new(), *expected = text_new();

    text_add(message, BIDS);
    add_levels(message, 1, levels);
    text_add(message, "%s", bad->tail);
    add_parts(expected, levels, 0, parts, false);
    /* A duplicate market is not used. */
    text_add(expected, "%serror %s%s\n", parts == 0 ? "" : ABORTED, bad->error,
             strstr(bad->tail, "market") ? "" : " in BTCUSD");
    expect_decoded(text_get(message), 256, 0, text_get(expected));
}

TEST_CASE(a_message_of_one_part_that_is_bad_gives_only_the_error) {
    for (size_t i = 0; i < COUNT(bad_tails); i++) {
        expect_bad(2, &bad_tails[i], 0);
        expect_bad(31, &bad_tails[i], 0);
    }
}

TEST_CASE(a_message_that_turns_bad_after_parts_is_aborted) {
    for (size_t i = 0; i < COUNT(bad_tails); i++) {
        expect_bad(40, &bad_tails[i], 1);
    }
    expect_bad(65, &bad_tails[0], 2);
    expect_bad(97, &bad_tails[0], 3);
}

/* A fault in the 33rd level may come before or after the part is delivered.
 * This must not depend on how the message is split. */
TEST_CASE(a_fault_just_behind_a_full_part_is_the_same_at_all_splits) {
    for (size_t i = 0; i < COUNT(bad_tails); i++) {
        struct text *message = text_new();

        text_add(message, BIDS);
        add_levels(message, 1, 32);
        text_add(message, "%s", bad_tails[i].tail);
        expect_decoded(text_get(message), 256, 0, NULL);
    }
}

/* A truncated message of 20 bids and 20 asks gives an error, and after the
 * beginning of the 33rd level also an aborted part. */
static void expect_truncated(const char *record) {
    struct text *error = text_new(), *aborted = text_new();

    text_add(error, "error JSON_SYNTAX \"\" in BTCUSD\nheartbeat 7\n");
    add_parts(aborted, 20, 20, 1, false);
    text_add(aborted, ABORTED);
    text_add_bytes(aborted, error->data, error->len);
    expect_text("truncated",
                strlen(record) > error->len ? text_get(aborted)
                                            : text_get(error),
                record);
}

TEST_CASE(a_truncated_message_never_gives_a_last_part) {
    struct text *message = text_new(), *record = text_new();
    struct decoding *decoding = decoding_new(256, 0);

    text_add(message, HEAD);
    add_sides(message, 20, 20);
    text_add(message, "}}");
    for (size_t len = strlen(HEAD); len < message->len; len++) {
        for (size_t piece = 0; piece < 3; piece++) {
            text_clear(record);
            replay(&decoding->reader, message->data, len, piece, record);
            expect_truncated(text_get(record));
        }
    }
}

/* ---- Aborting a message ---- */

TEST_CASE(a_message_given_up_is_aborted_if_parts_of_it_went_out) {
    static const struct {
        size_t levels;
        int aborted;
    } cases[] = {{0, 0}, {5, 0}, {40, 1}, {70, 1}};

    for (size_t i = 0; i < COUNT(cases); i++) {
        struct text *message = text_new(), *record = text_new();
        struct decoding *decoding = decoding_new(256, 0);
        struct mst_event event;

        text_add(message, BIDS);
        add_levels(message, 1, cases[i].levels);
        text_add(message, "]");
        feed(decoding, text_get(message), record);
        text_clear(record);
        assert_int_equal(mst_decoder_abort(&decoding->decoder, &event),
                         cases[i].aborted);
        if (cases[i].aborted == 1) {
            record_event(record, &event);
        }
        decoding_feed(decoding,
                      BYTES(BOOK_MESSAGE("UPDATE", LEVEL("1", "2"), "")), true,
                      record);
        expect_text("given up",
                    printed("%spart BTCUSD " NS " update first last: bid 1 2\n",
                            cases[i].aborted == 1 ? ABORTED : ""),
                    text_get(record));
    }
}

TEST_CASE(giving_up_between_messages_does_nothing) {
    struct text *record = text_new();
    struct decoding *decoding = decoding_new(256, 0);
    struct mst_event event;

    assert_int_equal(mst_decoder_abort(&decoding->decoder, &event), 0);
    decoding_feed(decoding, BYTES(BOOK_MESSAGE("UPDATE", "", "")), true,
                  record);
    assert_int_equal(mst_decoder_abort(&decoding->decoder, &event), 0);
    decoding_feed(decoding, BYTES(BOOK_MESSAGE("UPDATE", "", "")), true,
                  record);
    assert_string_equal(text_get(record),
                        "part BTCUSD " NS " update first last:\n"
                        "part BTCUSD " NS " update first last:\n");
}

/* ---- Levels before their market, type or time ---- */

/* Appends a message with this number of levels a side, after the first text. */
static void add_early(struct text *message, const char *const layout[2],
                      size_t levels) {
    text_add(message, "%s", layout[0]);
    add_sides(message, levels, levels);
    text_add(message, "%s", layout[1]);
}

TEST_CASE(levels_that_were_kept_come_in_the_same_parts) {
    static const char *const layouts[][2] = {
        {"{\"payload\":{\"market\":\"BTCUSD\",\"type\":\"SNAPSHOT\",\"time\":"
         "\"" TIME "\"",
         "},\"channel\":\"market_data\"}"},
        {"{\"channel\":\"market_data\",\"payload\":{\"x\":0",
         ",\"market\":\"BTCUSD\",\"type\":\"SNAPSHOT\",\"time\":\"" TIME
         "\"}}"},
        {"{\"channel\":\"market_data\",\"payload\":{\"market\":\"BTCUSD\","
         "\"type\":\"SNAPSHOT\"",
         ",\"time\":\"" TIME "\"}}"},
    };

    for (size_t i = 0; i < COUNT(layouts); i++) {
        struct text *message = text_new(), *expected = text_new();

        add_early(message, layouts[i], 25);
        add_parts(expected, 25, 25, 2, true);
        expect_decoded(text_get(message), 2048, 0, text_get(expected));
        /* All of it is checked before any of it is delivered. */
        text_add(message, "}");
        expect_error(text_get(message), 2048, 0, "JSON_SYNTAX \"\"");
    }
}

/* When such levels are read again, their market is known. */
TEST_CASE(levels_that_were_kept_are_what_the_message_says) {
    static const char *const orders[][2] = {
        {"{\"channel\":\"market_data\",\"payload\":{\"market\":\"BTCUSD\"",
         ",\"type\":\"UPDATE\",\"time\":\"" TIME "\"}}"},
        {"{\"channel\":\"market_data\",\"payload\":{\"market\":\"BTCUSD\","
         "\"time\":\"" TIME "\"",
         ",\"type\":\"UPDATE\"}}"},
    };

    for (size_t i = 0; i < COUNT(orders); i++) {
        struct text *message = text_new(), *expected = text_new();

        add_early(message, orders[i], 25);
        add_parts_of(expected, "update", 25, 25, 2, true);
        expect_decoded(text_get(message), 2048, 0, text_get(expected));
    }
}

TEST_CASE(levels_that_cannot_be_kept_are_an_error_of_order) {
    static const char *const layouts[][2] = {
        {"{\"payload\":{\"market\":\"BTCUSD\",\"type\":\"UPDATE\",\"time\":"
         "\"" TIME "\"",
         "},\"channel\":\"market_data\"}"},
        {"{\"channel\":\"market_data\",\"payload\":{\"type\":\"UPDATE\"",
         ",\"market\":\"BTCUSD\",\"time\":\"" TIME "\"}}"},
    };

    for (size_t i = 0; i < COUNT(layouts); i++) {
        struct text *message = text_new();

        add_early(message, layouts[i], 100);
        expect_error(text_get(message), 2048, 0, "MESSAGE_ORDER \"\"");
    }
}

/* ---- Items larger than the buffer ---- */

/* A message whose second level has this before its price, and this many zeros
 * in its price. */
static void expect_level_with(const char *before, size_t repeat, size_t zeros,
                              size_t buffer_len, const char *expected) {
    expect_decoded(
        printed(BIDS LEVEL("3", "4") ",{%s\"price\":\"1.%s\","
                                     "\"amount\":\"2\"}," LEVEL("5", "6") "]}}",
                repeated(before, repeat), repeated("0", zeros)),
        buffer_len, 0, expected);
}

static const char three_levels[] =
    "part BTCUSD " NS " snapshot first last: bid 3 4, bid 1 2, bid 5 6\n";

TEST_CASE(a_level_may_be_larger_than_the_buffer) {
    expect_level_with("\"x\":\"a value that is not looked at\",", 1, 1, 256,
                      three_levels);
    expect_level_with("\"x\":\"a value that is not looked at\",", 7, 1, 256,
                      three_levels);
    expect_level_with("\"x\":{\"price\":[1,2,3]},", 100, 1, 256, three_levels);
}

/* The buffer holds the number and its quotes. */
TEST_CASE(a_number_that_does_not_fit_costs_its_message) {
    static const char error[] = "error MESSAGE_SIZE \"\" in BTCUSD\n";

    expect_level_with("", 0, 251, 256, three_levels);
    expect_level_with("", 0, 252, 256, three_levels);
    expect_level_with("", 0, 253, 256, error);
    expect_level_with("", 0, 1000, 256, error);
    expect_level_with("", 0, 2044, 2048, three_levels);
    expect_level_with("", 0, 2045, 2048, error);
}

/* ---- Many messages ---- */

TEST_CASE(one_message_leaves_nothing_to_the_next) {
    struct text *bad = text_new(), *record = text_new();
    struct decoding *decoding = decoding_new(256, 0);

    text_add(bad, BIDS);
    add_levels(bad, 1, 40);
    text_add(bad, "]");
    for (int i = 0; i < 3; i++) {
        decoding_feed(decoding, bad->data, bad->len, true, record);
        text_clear(record);
        decoding_feed(decoding, BYTES(BOOK_MESSAGE("UPDATE", "", "")), true,
                      record);
        assert_string_equal(text_get(record),
                            "part BTCUSD " NS " update first last:\n");
        text_clear(record);
        decoding_feed(decoding,
                      BYTES("{\"channel\":\"market_data\",\"payload\":"
                            "{\"type\":\"UPDATE\",\"time\":\"" TIME "\"}}"),
                      true, record);
        assert_string_equal(text_get(record), "error MESSAGE_SHAPE \"\"\n");
    }
}

TEST_CASE(a_decoder_without_a_fit_buffer_is_refused) {
    struct mst_decoder decoder;
    uint8_t buffer[256];

    assert_int_equal(mst_decoder_init(&decoder, buffer, 256, 0), 0);
    assert_int_equal(mst_decoder_init(&decoder, buffer, 255, 0),
                     MST_ERR_ARGUMENT);
    assert_int_equal(mst_decoder_init(&decoder, buffer, 0, 0),
                     MST_ERR_ARGUMENT);
    assert_int_equal(mst_decoder_init(&decoder, NULL, 256, 0),
                     MST_ERR_ARGUMENT);
}

RUN_CASES(NULL, NULL)
