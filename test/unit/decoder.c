/*
 * Tests of the decoder: the messages of the four channels, their fields in
 * every order, and unknown content.
 *
 * SPDX-License-Identifier: 0BSD
 */
#include "support.h"

TEST_CASE(each_channel_gives_its_event) {
    static const struct message_case cases[] = {
        {BOOK_MESSAGE("UPDATE", LEVEL("50000.10", "1.5"),
                      LEVEL("50000.20", "0")),
         "part BTCUSD " NS
         " update first last: bid 500001e-1 15e-1, ask 500002e-1 0\n"},
        {BOOK_MESSAGE("SNAPSHOT", LEVEL("2", "1") "," LEVEL("1", "0.25"),
                      LEVEL("3", "4")),
         "part BTCUSD " NS
         " snapshot first last: bid 2 1, bid 1 25e-2, ask 3 4\n"},
        {TOP(LEVEL("50000", "1"), LEVEL("50001", "2")),
         "top BTCUSD " NS ": bid 5e4 1, ask 50001 2\n"},
        {EXECUTION("50000.5", "0.001"),
         "execution BTCUSD " NS ": 500005e-1 1e-3\n"},
        {HEARTBEAT, "heartbeat " NS "\n"},
    };

    expect_message_cases(cases, COUNT(cases));
}

TEST_CASE(any_type_but_update_is_a_snapshot) {
    static const char *const types[] = {"SNAPSHOT",    "REFRESH", "",
                                        "update",      "UPDATES", "UPDATE",
                                        "U\\u0050DATE"};

    for (size_t i = 0; i < COUNT(types); i++) {
        expect_decoded(printed(BOOK_MESSAGE("%s", "", ""), types[i]), 0, 0,
                       printed("part BTCUSD " NS " %s first last:\n",
                               i < 5 ? "snapshot" : "update"));
    }
}

TEST_CASE(a_side_may_be_empty_absent_or_null) {
    static const char bid[] = "part BTCUSD " NS " update first last: bid 1 2\n";
    static const char none[] = "part BTCUSD " NS " update first last:\n";
    const struct message_case cases[] = {
        {UPDATE_WITH(",'bids':[" LEVEL("1", "2") "]"), bid},
        {UPDATE_WITH(",'bids':[" LEVEL("1", "2") "],'asks':[]"), bid},
        {UPDATE_WITH(",'asks':[],'bids':[" LEVEL("1", "2") "]"), bid},
        {UPDATE_WITH(",'asks':null,'bids':[" LEVEL("1", "2") "]"), bid},
        {UPDATE_WITH(""), none},
        {UPDATE_WITH(",'bids':[]"), none},
        {UPDATE_WITH(",'asks':[]"), none},
        {UPDATE_WITH(",'bids':null,'asks':null"), none},
        {TOP("", ""), "top BTCUSD " NS ":\n"},
        {TOP(LEVEL("1", "2"), ""), "top BTCUSD " NS ": bid 1 2\n"},
        {TOP("", LEVEL("1", "2")), "top BTCUSD " NS ": ask 1 2\n"},
        {"{'channel':'market_data.top_of_book','payload':{'market':'BTCUSD',"
         "'type':'TOP_OF_BOOK','timestamp':'" TIME "'}}",
         "top BTCUSD " NS ":\n"},
    };

    expect_message_cases(cases, COUNT(cases));
}

TEST_CASE(zero_in_every_spelling_removes_a_level) {
    static const char *const zeros[] = {"0", "0.00", "0E-8", "0e5", "0.000"};

    for (size_t i = 0; i < COUNT(zeros); i++) {
        expect_decoded(
            printed(BOOK_MESSAGE("UPDATE", LEVEL("7", "%s"), ""), zeros[i]), 0,
            0, "part BTCUSD " NS " update first last: bid 7 0\n");
    }
}

TEST_CASE(times_of_all_precisions_are_read) {
    static const struct message_case cases[] = {
        {HEARTBEAT_WITH("{'timestamp':'2026-01-02T03:04:05Z'}"),
         "heartbeat 1767323045000000000\n"},
        {HEARTBEAT_WITH("{'timestamp':'2026-01-02T03:04:05.678901234Z'}"),
         "heartbeat 1767323045678901234\n"},
        {HEARTBEAT_WITH("{'timestamp':'2026-01-02T04:04:05.6\\u002b01:00'}"),
         "heartbeat 1767323045600000000\n"},
    };

    expect_message_cases(cases, COUNT(cases));
}

/* ---- White space and escapes ---- */

/* Adds white space around every token of a message without escapes. */
static void add_spaces(struct text *spaced, const char *message) {
    bool in_string = false;

    text_add(spaced, "\r\n\t ");
    for (; *message != '\0'; message++) {
        bool structural = !in_string && strchr("{}[]:,", *message) != NULL;

        if (*message == '"') {
            in_string = !in_string;
        }
        text_add(spaced, structural ? " \n\t\r%c\t \r\n" : "%c", *message);
    }
    text_add(spaced, " \n");
}

TEST_CASE(white_space_may_stand_around_every_token) {
    static const struct message_case cases[] = {
        {BOOK_MESSAGE("UPDATE", LEVEL("1", "2") "," LEVEL("3", "4"),
                      LEVEL("5", "6")),
         "part BTCUSD " NS " update first last: bid 1 2, bid 3 4, ask 5 6\n"},
        {BOOK_MESSAGE("SNAPSHOT", "", ""),
         "part BTCUSD " NS " snapshot first last:\n"},
        {TOP(LEVEL("1", "2"), LEVEL("3", "4")),
         "top BTCUSD " NS ": bid 1 2, ask 3 4\n"},
        {EXECUTION("1", "2"), "execution BTCUSD " NS ": 1 2\n"},
        {HEARTBEAT, "heartbeat " NS "\n"},
        {"{\"type\":\"subscribe\",\"channels\":[{\"type\":\"heartbeat\","
         "\"success\":true}]}",
         "entry subscribe heartbeat \"heartbeat\" \"\" ok\n"
         "response subscribe: 1 entries, 0 failed\n"},
        {"{\"type\":\"error\",\"error\":\"MALFORMED_REQUEST\"}",
         "service_error MALFORMED_REQUEST \"MALFORMED_REQUEST\" \"\"\n"},
    };

    for (size_t i = 0; i < COUNT(cases); i++) {
        struct text *spaced = text_new();

        add_spaces(spaced, cases[i].message);
        expect_decoded(text_get(spaced), 0, 0, cases[i].expected);
    }
}

TEST_CASE(escapes_in_names_and_values_mean_their_characters) {
    static const struct message_case cases[] = {
        {"{'\\u0063hannel':'heart\\u0062eat','p\\u0061yload':{'times\\u0074amp'"
         ":'2026-01-02T03:04:05\\u002e678Z'}}",
         "heartbeat " NS "\n"},
        {"{'channel':'market_dat\\u0061','payload':{'m\\u0061rket':'"
         "BTC\\u0055SD','ty\\u0070e':'\\u0055PDATE','t\\u0069me':'" TIME
         "','\\u0062ids':[{'\\u0070rice':'1\\u002e5','amoun\\u0074':'\\u0032'}]"
         ",'\\u0061sks':[]}}",
         "part BTCUSD " NS " update first last: bid 15e-1 2\n"},
        {"{'channel':'execution_data','payload':{'market':'A\\/"
         "B\\u00e9\\ud83d\\ude00','price':'1','amount':'2','executed_at':'" TIME
         "'}}",
         "execution A/B\xc3\xa9\xf0\x9f\x98\x80 " NS ": 1 2\n"},
        {"{'channel':'execution_data','payload':{'market':'\\'\\\\','price':'1'"
         ",'amount':'2','executed_at':'" TIME "'}}",
         "execution '\\ " NS ": 1 2\n"},
        {"{'channel':'heartbeat','\\ud800\\udc00':'\\u0000x','payload'"
         ":" HEARTBEAT_PAYLOAD "}",
         "heartbeat " NS "\n"},
    };

    expect_message_cases(cases, COUNT(cases));
}

/* Callers compare a symbol as a C string: a NUL must not shorten it. */
TEST_CASE(a_market_with_nul_is_not_taken_for_another) {
    struct decoding *decoding = decoding_new(0, 0);
    struct text *record = text_new();

    decoding_feed(decoding,
                  BYTES(EXECUTION_AT("BTCUSD\\u0000X", "1", "2", TIME)), true,
                  record);
    assert_null(strstr(text_get(record), "BTCUSD " NS));
}

/* ---- Order of members ---- */

#define ORDERED_MAX 5

/* Appends the n-th order of members, separated by commas. */
static void add_members(struct text *message, const char *const *members,
                        size_t count, size_t n) {
    const char *left[ORDERED_MAX];

    memcpy(left, members, count * sizeof *members);
    for (; count > 0; count--) {
        size_t i = n % count;

        n /= count;
        text_add(message, "%s%s", left[i], count > 1 ? "," : "");
        memmove(left + i, left + i + 1, (count - i - 1) * sizeof *left);
    }
}

/* Expects the same event from every order of a payload's members, with the
 * channel before it, or after it and an unknown array. If asks come first, so
 * do the levels. */
static void expect_any_order(const char *channel, const char *const *members,
                             size_t count, const char *expected,
                             const char *asks_first) {
    size_t orders = 1;

    for (size_t i = 2; i <= count; i++) {
        orders *= i;
    }
    for (size_t n = 0; n < 2 * orders; n++) {
        struct text *message = text_new();
        const char *asks, *bids;

        text_add(message,
                 n < orders ? "{'channel':'%s','payload':{" : "{'payload':{",
                 channel);
        add_members(message, members, count, n % orders);
        text_add(message, n < orders ? "}}" : "},'new':[[1]],'channel':'%s'}",
                 channel);
        asks = strstr(text_get(message), "'asks'");
        bids = strstr(text_get(message), "'bids'");
        expect_decoded(text_get(message), 0, 0,
                       asks < bids ? asks_first : expected);
    }
}

TEST_CASE(members_may_come_in_any_order) {
    static const char *const update[] = {
        "'market':'BTCUSD'", "'type':'UPDATE'", "'time':'" TIME "'",
        "'bids':[" LEVEL("1", "2") "]", "'asks':[{'amount':'4','price':'3'}]"};
    static const char *const top[] = {
        "'market':'BTCUSD'", "'type':'TOP_OF_BOOK'", "'timestamp':'" TIME "'",
        "'bids':[" LEVEL("1", "2") "]", "'asks':[{'amount':'4','price':'3'}]"};
    static const char *const execution[] = {"'market':'BTCUSD'", "'price':'1'",
                                            "'amount':'2'",
                                            "'executed_at':'" TIME "'"};
    static const char top_event[] = "top BTCUSD " NS ": bid 1 2, ask 3 4\n";
    static const char execution_event[] = "execution BTCUSD " NS ": 1 2\n";
    static const char *const heartbeat[] = {"'timestamp':'" TIME "'"};

    expect_any_order("market_data", update, COUNT(update),
                     "part BTCUSD " NS " update first last: bid 1 2, ask 3 4\n",
                     "part BTCUSD " NS
                     " update first last: ask 3 4, bid 1 2\n");
    expect_any_order("market_data.top_of_book", top, COUNT(top), top_event,
                     top_event);
    expect_any_order("execution_data", execution, COUNT(execution),
                     execution_event, execution_event);
    expect_any_order("heartbeat", heartbeat, COUNT(heartbeat),
                     "heartbeat " NS "\n", "heartbeat " NS "\n");
}

/* Such a type or channel is ignored: the other one defines the message. */
TEST_CASE(a_type_or_channel_that_is_no_string_is_absent) {
    static const char *const values[] = {"null",
                                         "7",
                                         "true",
                                         "[]",
                                         "{}",
                                         "['subscribe']",
                                         "{'type':'subscribe'}"};
    static const struct {
        const char *name, *members[2], *expected;
    } cases[] = {
        {"type",
         {"'channel':'market_data'",
          "'payload':{'market':'BTCUSD','type':'UPDATE','time':'" TIME
          "','bids':[" LEVEL("1", "2") "]}"},
         "part BTCUSD " NS " update first last: bid 1 2\n"},
        {"type",
         {"'channel':'market_data.top_of_book'",
          "'payload':{'market':'BTCUSD','timestamp':'" TIME
          "','bids':[" LEVEL("1", "2") "]}"},
         "top BTCUSD " NS ": bid 1 2\n"},
        {"type",
         {"'channel':'execution_data'",
          "'payload':{'market':'BTCUSD','price':'1','amount':'2','executed_at':"
          "'" TIME "'}"},
         "execution BTCUSD " NS ": 1 2\n"},
        {"type",
         {"'channel':'heartbeat'", "'payload':" HEARTBEAT_PAYLOAD},
         "heartbeat " NS "\n"},
        {"channel",
         {"'type':'subscribe'",
          "'channels':[{'type':'heartbeat','success':true}]"},
         "entry subscribe heartbeat 'heartbeat' '' ok\n"
         "response subscribe: 1 entries, 0 failed\n"},
        {"channel",
         {"'type':'error'", "'error':'X'"},
         "service_error OTHER 'X' ''\n"},
        {"type",
         {"'error':'X'", "'channel':null"},
         "service_error OTHER 'X' ''\n"},
    };

    for (size_t i = 0; i < COUNT(cases) * COUNT(values); i++) {
        const char *const *members = cases[i / COUNT(values)].members;
        const char *odd = printed("'%s':%s", cases[i / COUNT(values)].name,
                                  values[i % COUNT(values)]);

        for (size_t n = 0; n < 3 * 2; n++) {
            const char *const all[] = {odd, members[0], members[1]};
            struct text *message = text_new();

            text_add(message, "{");
            add_members(message, all, COUNT(all), n);
            text_add(message, "}");
            expect_decoded(text_get(message), 256, 0,
                           cases[i / COUNT(values)].expected);
        }
    }
}

/* Of the members skipped until the message is known, the first one may not be
 * its content. */
TEST_CASE(what_came_early_may_belong_to_another_message) {
    static const struct message_case cases[] = {
        {"{'channels':[7],'channel':'market_data','payload':{'market':'BTCUSD',"
         "'type':'UPDATE','time':'" TIME "','bids':[" LEVEL("1", "2") "]}}",
         "part BTCUSD " NS " update first last: bid 1 2\n"},
        {"{'payload':{'bids':[1]},'channels':[{'type':'heartbeat'}],'type':'"
         "subscription_list'}",
         "entry subscription_list heartbeat 'heartbeat' '' ok\n"
         "response subscription_list: 1 entries, 0 failed\n"},
        {"{'payload':{'\\u0062ids':[" LEVEL(
             "1", "2") "],'market':'BTCUSD','time':'" TIME
                       "','type':'UPDATE'},'channel':'market_data'}",
         "part BTCUSD " NS " update first last: bid 1 2\n"},
    };

    expect_message_cases(cases, COUNT(cases));
}

/* Pads a message at its start with white space to this length. */
static void expect_padded(const char *message, size_t len, size_t buffer_len,
                          const char *expected) {
    expect_decoded(printed("%*s", (int)len, message), buffer_len, 0, expected);
}

/* Only its length decides if a message that must be kept fits, not how it is
 * split. */
TEST_CASE(levels_before_their_market_are_kept_as_far_as_they_fit) {
    static const char late[] =
        "{'channel':'market_data','payload':{'bids':[" LEVEL(
            "1", "2") "],'market':'BTCUSD','type':'UPDATE','time':'" TIME "'}}";
    static const char known[] =
        "{'channel':'market_data','payload':{'market':'BTCUSD','bids':[" LEVEL(
            "1", "2") "],'type':'UPDATE','time':'" TIME "'}}";
    static const char unknown[] = "{'payload':{'bids':[" LEVEL(
        "1", "2") "],'market':'BTCUSD','type':'UPDATE','time':'" TIME
                  "'},'channel':'market_data'}";
    static const char part[] =
        "part BTCUSD " NS " update first last: bid 1 2\n";

    expect_padded(late, 256, 256, part);
    expect_padded(known, 256, 256, part);
    expect_padded(unknown, 256, 256, part);
    expect_padded(late, 2048, 2048, part);
    expect_padded(known, 257, 256, "error MESSAGE_ORDER '' in BTCUSD\n");
    expect_padded(known, 2049, 2048, "error MESSAGE_ORDER '' in BTCUSD\n");
    expect_padded(late, 2049, 2048, "error MESSAGE_ORDER '' in BTCUSD\n");
    expect_padded(unknown, 257, 256, "error MESSAGE_ORDER '' in BTCUSD\n");
}

/* ---- Unknown content ---- */

TEST_CASE(unknown_members_are_skipped_wherever_they_stand) {
    static const char *const values[] = {
        /* Scalars. */
        "0", "-1.5e+10", "true", "null", "''", "'} ] , \\' \\\\'",
        /* Containers. */
        "[]", "{}", "[[],[[]],{}]",
        "{'channel':'market_data','payload':{'bids':[1]}}",
        "[{'price':'x'},'price',['type']]"};

    for (size_t i = 0; i < COUNT(values); i++) {
        const char *x = values[i];
        const char *message =
            printed("{'x':%s,'channel':'market_data','y':%s,'payload':{'a':%s,"
                    "'market':'BTCUSD','b':%s,'type':'UPDATE','time':'" TIME
                    "','bids':[{'c':%s,'price':'1','d':%s,'amount':'2','e':%s}]"
                    ",'f':%s},'z':%s}",
                    x, x, x, x, x, x, x, x, x);

        expect_decoded(message, 0, 0,
                       "part BTCUSD " NS " update first last: bid 1 2\n");
    }
}

/* Names that begin like a known one, or are the beginning of one. */
TEST_CASE(a_similar_name_is_another_name) {
    static const char *const names[] = {
        /* Like "payload". */
        "", "p", "payloa", "payloads", "Payload", "payload ", "payload\\u0000",
        "payload\\u0000x", "payload\\ud800\\udc00", "\\u0050ayload",
        "p\\\\u0061yload",
        /* Like "channel". */
        "channe", "channelz", "channel\\u0000",
        /* As long as names that are kept, and longer. */
        "a name of 23 characters", "a name of 24 characters!",
        "a name that is so long that it is not kept as a whole at all",
        "a name of 24 characters!\\u0061nd an escape",
        ("\\u0061\\u0061\\u0061\\u0061\\u0061\\u0061\\u0061\\u0061\\u0061\\u006"
         "1\\u0061\\u0061\\u0061\\u0061\\u0061\\u0061\\u0061\\u0061\\u0061\\u00"
         "61\\ud83d\\ude00\\u20ac\\u20ac\\u00e9"),
        ("\xe2\x82\xac\xe2\x82\xac\xe2\x82\xac\xe2\x82\xac\xe2\x82\xac\xe2\x82"
         "\xac\xe2\x82\xac\xe2\x82\xac\xe2\x82\xac\xe2\x82\xac")};

    for (size_t i = 0; i < COUNT(names); i++) {
        const char *message =
            printed("{'%s':{'timestamp':1},'channel':'heartbeat','payload':{'%"
                    "s':2,'timestamp':'" TIME "'}}",
                    names[i], names[i]);

        expect_decoded(message, 256, 0, "heartbeat " NS "\n");
    }
}

TEST_CASE(unknown_members_may_be_larger_than_the_buffer) {
    static const char *const opens[] = {"'", "['", "{'k':[0,'", "0."};
    static const char *const closes[] = {"'", "']", "']}", "1"};

    for (size_t i = 0; i < COUNT(opens); i++) {
        const char *huge =
            printed("%s%s%s", opens[i], repeated("0123456789", 70), closes[i]);
        const char *message =
            printed("{'x':%s,'channel':'market_data','payload':{'y':%s,'market'"
                    ":'BTCUSD','type':'UPDATE','time':'" TIME
                    "','bids':[" LEVEL("1", "2") "],'z':%s}}",
                    huge, huge, huge);

        expect_decoded(message, 256, 0,
                       "part BTCUSD " NS " update first last: bid 1 2\n");
    }
}

/* Only a part that must be whole must fit, wherever in the message it is. */
TEST_CASE(a_message_may_be_larger_than_the_buffer) {
    for (size_t len = 100; len < 420; len += 3) {
        expect_decoded(printed("%s" EXECUTION("1", "2"), repeated("\n", len)),
                       256, 0, "execution BTCUSD " NS ": 1 2\n");
    }
}

TEST_CASE(unknown_messages_are_given_as_they_came) {
    static const char *const messages[] = {
        "{'channel':'candles','payload':{'market':'BTCUSD'}}",
        "{'payload':{'market':'BTCUSD'},'channel':'candles'}",
        "{'type':'welcome','version':[1,2]}",
        "  {'version':[1,2],'type':'welcome'} ",
        "{'channel':'market_data.depth','payload':[]}",
        "{'channel':'market_dat','payload':{}}",
        "{'channel':'Heartbeat','payload':{}}",
        "{'channel':'a channel of a very very very long name'}",
        "{'channel':1,'payload':{}}",
        "{'type':1,'channels':[]}",
    };

    for (size_t i = 0; i < COUNT(messages); i++) {
        expect_decoded(
            messages[i], 256, 0,
            printed("unknown %zu: %s\n", strlen(messages[i]), messages[i]));
    }
}

/* Decodes an unknown message of this length with a buffer of 256 bytes. */
static void expect_unknown(size_t len) {
    static const char before[] = "{'channel':'candles','payload':'";
    int fill = (int)(len - strlen(before) - strlen("'}"));
    const char *digits = repeated("0123456789", len / 10);
    const char *message = printed("%s%.*s'}", before, fill, digits);

    assert_int_equal(strlen(message), len);
    expect_decoded(
        message, 256, 0,
        printed("unknown %zu: %s\n", len, len <= 256 ? message : "NULL"));
}

/* The last piece of a message may have no bytes and no address. */
TEST_CASE(the_end_of_a_message_may_be_told_without_bytes) {
    static const char message[] = "{\"channel\":\"candles\"}";
    uint8_t buffer[256];
    struct mst_decoder decoder;
    struct mst_event event;

    assert_int_equal(mst_decoder_init(&decoder, buffer, sizeof buffer, 0), 0);
    mst_decoder_feed(&decoder, message, sizeof message - 1, false);
    assert_int_equal(mst_decoder_next(&decoder, &event), 0);
    mst_decoder_feed(&decoder, NULL, 0, true);
    assert_int_equal(mst_decoder_next(&decoder, &event), 1);
    assert_int_equal(event.type, MST_EVENT_UNKNOWN);
    assert_int_equal(event.as.unknown.len, sizeof message - 1);
    assert_memory_equal(event.as.unknown.text, message, sizeof message - 1);
}

/* A caller that gives a new piece before the last one is used up loses bytes.
 * An item with lost bytes causes no event. */
TEST_CASE(an_item_of_which_bytes_are_not_there_is_an_error) {
    static const char *const pieces[] = {"{\"channel\":", "\"mark",
                                         "more than is kept", "et_data\"}"};
    uint8_t buffer[256];
    char space[sizeof buffer + 1];
    struct mst_decoder decoder;
    struct mst_event event;

    assert_int_equal(mst_decoder_init(&decoder, buffer, sizeof buffer, 0), 0);
    memset(space, ' ', sizeof space); /* more than fits */
    mst_decoder_feed(&decoder, space, sizeof space, false);
    assert_int_equal(mst_decoder_next(&decoder, &event), 0);
    for (size_t i = 0; i < COUNT(pieces); i++) {
        mst_decoder_feed(&decoder, pieces[i], strlen(pieces[i]), false);
        if (i < 2) {
            assert_int_equal(mst_decoder_next(&decoder, &event), 0);
        }
    }
    assert_int_equal(mst_decoder_next(&decoder, &event), 1);
    assert_int_equal(event.type, MST_EVENT_ERROR);
    assert_int_equal(event.as.failure.error, MST_ERR_MESSAGE_SIZE);
}

TEST_CASE(a_decoder_without_its_memory_is_refused) {
    uint8_t buffer[256];
    struct mst_decoder decoder;

    assert_int_equal(mst_decoder_init(NULL, buffer, sizeof buffer, 0),
                     MST_ERR_ARGUMENT);
    assert_int_equal(mst_decoder_init(&decoder, NULL, sizeof buffer, 0),
                     MST_ERR_ARGUMENT);
    assert_int_equal(mst_decoder_init(&decoder, buffer, 255, 0),
                     MST_ERR_ARGUMENT);
}

TEST_CASE(the_text_of_an_unknown_message_is_given_if_it_fits) {
    expect_unknown(255);
    expect_unknown(256);
    expect_unknown(257);
    expect_unknown(258);
    expect_unknown(3000);
}

RUN_CASES(NULL, NULL)
