/*
 * Tests of the decoder: fields that are duplicate, missing, of a wrong type or
 * have a bad value.
 *
 * SPDX-License-Identifier: 0BSD
 */
#include "support.h"

static void expect_errors(const char *const *messages, size_t count,
                          const char *error) {
    for (size_t i = 0; i < count; i++) {
        expect_error(messages[i], 0, 0, error);
    }
}

/* ---- Duplicate keys ---- */

TEST_CASE(a_key_that_matters_twice_makes_the_message_malformed) {
    static const char *const messages[] = {
        "{'channel':'heartbeat','channel':'heartbeat','payload'"
        ":" HEARTBEAT_PAYLOAD "}",
        "{'channel':'heartbeat','payload':" HEARTBEAT_PAYLOAD
        ",'channel':'heartbeat'}",
        "{'channel':'heartbeat','payload':" HEARTBEAT_PAYLOAD
        ",'payload':" HEARTBEAT_PAYLOAD "}",
        "{'payload':" HEARTBEAT_PAYLOAD ",'payload':" HEARTBEAT_PAYLOAD
        ",'channel':'heartbeat'}",
        "{'channel':'heartbeat','payload':{'timestamp':'" TIME
        "','timestamp':'" TIME "'}}",
        "{'channel':'heartbeat','payload':{'timestamp':'" TIME
        "','t\\u0069mestamp':'" TIME "'}}",
        UPDATE_WITH(",'market':'BTCUSD'"),
        UPDATE_WITH(",'type':'UPDATE'"),
        UPDATE_WITH(",'time':'" TIME "'"),
        UPDATE_WITH(",'bids':[],'bids':[]"),
        UPDATE_WITH(",'asks':[],'bids':[],'asks':[]"),
        UPDATE_WITH(",'bids':null,'bids':[" LEVEL("1", "2") "]"),
        UPDATE_WITH(",'bids':[{'price':'1','price':'1','amount':'2'}]"),
        UPDATE_WITH(",'bids':[{'price':'1','amount':'2','amount':'2'}]"),
        UPDATE_WITH(",'asks':[{'price':'1','amount':'2','\\u0070rice':'1'}]"),
        TOP(LEVEL("1", "2"), "{'price':'1','price':'1','amount':'2'}"),
        "{'channel':'execution_data','payload':{'market':'BTCUSD','price':'1',"
        "'amount':'2','price':'1','executed_at':'" TIME "'}}",
        "{'channel':'execution_data','payload':{'market':'BTCUSD','price':'1',"
        "'amount':'2','amount':'2','executed_at':'" TIME "'}}",
        "{'channel':'execution_data','payload':{'market':'BTCUSD','price':'1',"
        "'amount':'2','executed_at':'" TIME "','executed_at':'" TIME "'}}",
        "{'channel':'execution_data','payload':{'market':'BTCUSD','market':'"
        "ETHUSD','price':'1','amount':'2','executed_at':'" TIME "'}}",
        "{'payload':{'market':'BTCUSD','market':'ETHUSD','type':'UPDATE','time'"
        ":'" TIME "','bids':[" LEVEL("1", "2") "]},'channel':'market_data'}",
        "{'payload':{'bids':[],'bids':[],'market':'BTCUSD','type':'UPDATE',"
        "'time':'" TIME "'},'channel':'market_data'}",
        "{'channel':'heartbeat','type':'x','type':'y','payload'"
        ":" HEARTBEAT_PAYLOAD "}",
        "{'channel':'heartbeat','type':null,'type':7,'payload'"
        ":" HEARTBEAT_PAYLOAD "}",
        "{'channel':[],'channel':'heartbeat','payload':" HEARTBEAT_PAYLOAD "}",
        "{'type':'subscribe','type':'subscribe','channels':[]}",
        "{'type':'subscribe','channels':[],'channels':[]}",
        "{'type':'subscribe','channels':[],'type':'subscribe'}",
        "{'type':'error','error':'X','error':'X'}",
        "{'type':'error','code':'X','code':'X'}",
        ("{'type':'error','message':'X','code':'X','message':'X'}"),
        "{'error':{'code':'X','code':'X'}}",
    };

    expect_errors(messages, COUNT(messages), "MESSAGE_KEY ''");
}

TEST_CASE(an_unknown_key_may_stand_twice) {
    static const struct message_case cases[] = {
        {"{'x':1,'channel':'heartbeat','x':2,'payload':{'y':1,'y':2,'timestamp'"
         ":'" TIME "'}}",
         "heartbeat " NS "\n"},
        {UPDATE_WITH(",'x':{'price':1,'price':1},'x':{},'bids':[{'n':1,'price':"
                     "'1','n':1,'amount':'2'}]"),
         "part BTCUSD " NS " update first last: bid 1 2\n"},
        /* The same name at another depth is another key. */
        {"{'channel':'heartbeat','payload':{'timestamp':'" TIME
         "','channel':'x','payload':{'timestamp':1}}}",
         "heartbeat " NS "\n"},
        {UPDATE_WITH(",'bids':[{'price':'1','amount':'2','x':{'price':'3',"
                     "'amount':'4'}}]"),
         "part BTCUSD " NS " update first last: bid 1 2\n"},
    };

    expect_message_cases(cases, COUNT(cases));
}

/* ---- Entries ---- */

/* Expects an error for an entry, and no effect on those around it. */
static void expect_bad_entry(const char *entry, const char *error) {
    static const char good[] =
        "{'type':'execution_data','params':{'market':'ETHUSD'},'success':true}";
    static const char record[] =
        "entry subscribe execution_data 'execution_data' 'ETHUSD' ok\n";

    expect_decoded(
        printed("{'type':'subscribe','channels':[%s,%s,%s]}", good, entry,
                good),
        256, 0,
        printed("%serror %s\n%sresponse subscribe: 3 entries, 1 failed\n",
                record, error, record));
}

/* A symbol that is a letter too long, and one too long for an error's text. */
#define LONG_MARKET "A1234567890123456789012345678901"
#define LONGER_MARKET LONG_MARKET LONG_MARKET LONG_MARKET

TEST_CASE(a_fault_in_an_entry_costs_that_entry_alone) {
    static const struct message_case entries[] = {
        {"{'type':'heartbeat','type':'heartbeat','success':true}",
         "MESSAGE_KEY ''"},
        {"{'type':'heartbeat','success':true,'success':true}",
         "MESSAGE_KEY ''"},
        {"{'type':'heartbeat','success':false,'error':'X','error':'X'}",
         "MESSAGE_KEY ''"},
        {"{'type':'heartbeat','error':{'code':1,'code':1}}", "MESSAGE_KEY ''"},
        {"{'type':'market_data','params':{'market':'X'},'params':{'market':'X'}"
         ",'success':true}",
         "MESSAGE_KEY '' in X"},
        {"{'type':'market_data','params':{'market':'X','market':'X'},'success':"
         "true}",
         "MESSAGE_KEY '' in X"},
        {"1", "MESSAGE_SHAPE ''"},
        {"null", "MESSAGE_SHAPE ''"},
        {"'heartbeat'", "MESSAGE_SHAPE ''"},
        {"[{'type':'heartbeat'}]", "MESSAGE_SHAPE ''"},
        {"{}", "MESSAGE_SHAPE ''"},
        {"{'success':true}", "MESSAGE_SHAPE ''"},
        {"{'type':1}", "MESSAGE_SHAPE ''"},
        {"{'type':null,'success':true}", "MESSAGE_SHAPE ''"},
        {"{'type':'market_data','params':{'market':1},'success':true}",
         "MESSAGE_SHAPE ''"},
        {"{'params':{'market':'X'},'success':true}", "MESSAGE_SHAPE '' in X"},
        /* The error's text is the symbol, truncated if it is too long. */
        {"{'type':'market_data','params':{'market':'" LONG_MARKET "'}}",
         "MESSAGE_SIZE '" LONG_MARKET "'"},
        {"{'type':'market_data','params':{'market':'" LONGER_MARKET "'}}",
         "MESSAGE_SIZE '" LONG_MARKET LONG_MARKET
         "A123456789012345678901234567890'"},
    };

    assert_int_equal(strlen(LONG_MARKET), MST_MARKET_MAX + 1);
    assert_int_equal(strlen(LONGER_MARKET), MST_TEXT_MAX + 1);
    for (size_t i = 0; i < COUNT(entries); i++) {
        expect_bad_entry(entries[i].message, entries[i].expected);
    }
}

/* ---- Wrong types, missing fields ---- */

TEST_CASE(a_field_of_a_wrong_type_is_an_error_of_shape) {
    /* The error's text is the value, if this belongs to a known field. */
    static const struct message_case cases[] = {
        {HEARTBEAT_WITH("{'timestamp':1}"), "1"},
        {HEARTBEAT_WITH("{'timestamp':{}}"), "{}"},
        {"{'channel':'market_data','payload':{'market':1,'type':'UPDATE','time'"
         ":'" TIME "'}}",
         "1"},
        {"{'channel':'market_data','payload':{'market':null,'type':'UPDATE',"
         "'time':'" TIME "'}}",
         "null"},
        {"{'channel':'market_data','payload':{'market':'BTCUSD','type':true,"
         "'time':'" TIME "'}}",
         "true"},
        {"{'channel':'market_data','payload':{'market':'BTCUSD','type':'UPDATE'"
         ",'time':[]}}",
         "[]"},
        {UPDATE_WITH(",'bids':[{'price':[],'amount':'2'}]"), "[]"},
        {UPDATE_WITH(",'bids':[{'price':'1','amount':{}}]"), "{}"},
        {UPDATE_WITH(",'bids':[{'price':null,'amount':'2'}]"), "null"},
        {"{'channel':'execution_data','payload':{'market':'BTCUSD','price':{},"
         "'amount':'2','executed_at':'" TIME "'}}",
         "{}"},
        {"{'channel':'execution_data','payload':{'market':{},'price':'1',"
         "'amount':'2','executed_at':'" TIME "'}}",
         "{}"},
        {"{'payload':{'timestamp':1},'channel':'heartbeat'}", "1"},
    };
    static const char *const others[] = {
        /* Payloads, sides and levels. */
        HEARTBEAT_WITH("[]"), HEARTBEAT_WITH("'x'"), HEARTBEAT_WITH("null"),
        UPDATE_WITH(",'bids':{}"),
        UPDATE_WITH(",'bids':{'price':'1','amount':'2'}"),
        UPDATE_WITH(",'bids':''"), UPDATE_WITH(",'asks':1"),
        UPDATE_WITH(",'asks':false"), UPDATE_WITH(",'bids':['1']"),
        UPDATE_WITH(",'bids':[1]"), UPDATE_WITH(",'bids':[null]"),
        UPDATE_WITH(",'bids':[['1','2']]"),
        UPDATE_WITH(",'bids':[" LEVEL("1", "2") ",0]"), TOP("'1'", ""),
        TOP("[]", ""),
        /* Before the channel or type; entries; no object. */
        "{'payload':[],'channel':'heartbeat'}",
        "{'channels':{},'type':'subscribe'}",
        "{'type':'subscribe','channels':{}}",
        "{'type':'subscribe','channels':''}", "[]", "[{'channel':'heartbeat'}]",
        "1", "'heartbeat'", "null"};

    for (size_t i = 0; i < COUNT(cases); i++) {
        expect_error(cases[i].message, 0, 0,
                     printed("MESSAGE_SHAPE '%s'", cases[i].expected));
    }
    expect_errors(others, COUNT(others), "MESSAGE_SHAPE ''");
}

TEST_CASE(a_missing_field_is_an_error_of_shape) {
    static const char *const messages[] = {
        "{'channel':'heartbeat'}",
        HEARTBEAT_WITH("{}"),
        "{'channel':'market_data'}",
        "{'channel':'market_data','payload':{'type':'UPDATE','time':'" TIME
        "','bids':[],'asks':[]}}",
        "{'channel':'market_data','payload':{'market':'BTCUSD','time':'" TIME
        "','bids':[],'asks':[]}}",
        "{'channel':'market_data','payload':{'market':'BTCUSD','type':'UPDATE',"
        "'bids':[],'asks':[]}}",
        "{'channel':'market_data','payload':{'market':'BTCUSD','type':'UPDATE',"
        "'timestamp':'" TIME "'}}",
        UPDATE_WITH(",'bids':[{}]"),
        UPDATE_WITH(",'bids':[{'price':'1'}]"),
        UPDATE_WITH(",'bids':[{'amount':'1'}]"),
        UPDATE_WITH(",'bids':[{'Price':'1','amount':'2'}]"),
        "{'channel':'market_data.top_of_book','payload':{'type':'TOP_OF_BOOK',"
        "'timestamp':'" TIME "'}}",
        "{'channel':'market_data.top_of_book','payload':{'market':'BTCUSD',"
        "'type':'TOP_OF_BOOK'}}",
        "{'channel':'execution_data','payload':{'price':'1','amount':'2',"
        "'executed_at':'" TIME "'}}",
        "{'channel':'execution_data','payload':{'market':'BTCUSD','amount':'2',"
        "'executed_at':'" TIME "'}}",
        "{'channel':'execution_data','payload':{'market':'BTCUSD','price':'1',"
        "'executed_at':'" TIME "'}}",
        "{'channel':'execution_data','payload':{'market':'BTCUSD','price':'1',"
        "'amount':'2'}}",
        /* A message with a data channel is neither response nor error. */
        "{'type':'subscribe','channel':'heartbeat','payload':" HEARTBEAT_PAYLOAD
        "}",
        "{'channel':'heartbeat','type':'error','payload':" HEARTBEAT_PAYLOAD
        "}",
        "{'type':'subscribe'}",
    };

    expect_errors(messages, COUNT(messages), "MESSAGE_SHAPE ''");
}

/* The error's text is the symbol. */
TEST_CASE(a_market_too_long_to_be_kept_costs_its_message) {
    static const struct message_case cases[] = {
        {"{'channel':'market_data','payload':{'market':'" LONG_MARKET
         "','type':'UPDATE','time':'" TIME "'}}",
         "MESSAGE_SIZE '" LONG_MARKET "'"},
        {"{'channel':'execution_data','payload':{'market':'" LONG_MARKET
         "','price':'1','amount':'2','executed_at':'" TIME "'}}",
         "MESSAGE_SIZE '" LONG_MARKET "'"},
    };

    expect_error_cases(cases, COUNT(cases));
}

/* The value of a message's field is larger than the buffer. */
TEST_CASE(a_value_that_does_not_fit_costs_its_message) {
    static const char *const messages[][2] = {
        {"{'channel':'execution_data','payload':{'market':'BTCUSD','price':'0.",
         "','amount':'2','executed_at':'" TIME "'}}"},
        {"{'channel':'heartbeat','payload':{'timestamp':'", "'}}"},
        {"{'channel':'market_data','payload':{'market':'BTCUSD','type':'UPDATE'"
         ",'time':'",
         "'}}"},
        {"{'channel':'market_data','payload':{'market':'BTCUSD','type':'UPDATE'"
         ",'time':{'x':'",
         "'}}}"},
    };

    for (size_t i = 0; i < COUNT(messages); i++) {
        expect_error(printed("%s%0400d%s", messages[i][0], 0, messages[i][1]),
                     256, 0, "MESSAGE_SIZE ''");
    }
}

/* An error of the service is read as a whole, with its text, if it fits. */
TEST_CASE(an_error_message_larger_than_the_buffer_is_one) {
    const char *message = printed("{'type':'error','error':'busy'%300s}", "");

    expect_error(message, 256, 0, "MESSAGE_SIZE ''");
    expect_decoded(message, 400, 0, "service_error OTHER 'busy' ''\n");
}

/* A fault counts only if its field matters, which may be known before or after
 * it. A message that must be read again for that has to fit. */
TEST_CASE(a_fault_before_its_channel_costs_what_it_does_behind) {
    static const char bad[] =
        "{'payload':{'timestamp':'noon'},%s'channel':'heartbeat'}";
    static const char idle[] =
        "{'payload':{'price':'x','price':{},'bids':7,'time':1,'timestamp':"
        "'" TIME "'},%s'channel':'heartbeat'}";
    const char *spaces = repeated(" ", 300);

    expect_error(printed(bad, ""), 256, 0, "TIME 'noon'");
    expect_error(printed(bad, spaces), 512, 0, "TIME 'noon'");
    expect_error(printed(bad, spaces), 256, 0, "MESSAGE_ORDER ''");
    expect_decoded(printed(idle, ""), 256, 0, "heartbeat " NS "\n");
    expect_decoded(printed(idle, spaces), 256, 0, "heartbeat " NS "\n");
}

/* ---- Bad numbers and times ---- */

#define ZEROS_64 \
    "0000000000000000000000000000000000000000000000000000000000000000"

TEST_CASE(a_bad_number_is_named_with_its_text) {
    static const struct message_case cases[] = {
        {BOOK_MESSAGE("UPDATE", LEVEL("1,5", "2"), ""), "DECIMAL '1,5'"},
        {BOOK_MESSAGE("UPDATE", LEVEL("1", "two"), ""), "DECIMAL 'two'"},
        {BOOK_MESSAGE("UPDATE", LEVEL("", "2"), ""), "DECIMAL ''"},
        {BOOK_MESSAGE("UPDATE", LEVEL(" 1", "2"), ""), "DECIMAL ' 1'"},
        {BOOK_MESSAGE("UPDATE", LEVEL("-1", "2"), ""), "DECIMAL '-1'"},
        {BOOK_MESSAGE("UPDATE", "", LEVEL("1", "-0.5")), "DECIMAL '-0.5'"},
        {BOOK_MESSAGE("UPDATE", LEVEL("NaN", "2"), ""), "DECIMAL 'NaN'"},
        {BOOK_MESSAGE("UPDATE", LEVEL(TIME, "2"), ""), "DECIMAL '" TIME "'"},
        {BOOK_MESSAGE("UPDATE", LEVEL("1", TIME), ""), "DECIMAL '" TIME "'"},
        {BOOK_MESSAGE("UPDATE", LEVEL("1e64", "2"), ""), "DECIMAL_WIDE '1e64'"},
        {BOOK_MESSAGE("UPDATE", LEVEL("1", "1e-65"), ""),
         "DECIMAL_WIDE '1e-65'"},
        /* A price has no spare digit. */
        {BOOK_MESSAGE("UPDATE", LEVEL("1234567890.123456789", "2"), ""),
         "DECIMAL_WIDE '1234567890.123456789'"},
        {TOP(LEVEL("x", "2"), ""), "DECIMAL 'x'"},
        {TOP("", LEVEL("1234567890.123456789", "2")),
         "DECIMAL_WIDE '1234567890.123456789'"},
        {EXECUTION("-1", "2"), "DECIMAL '-1'"},
        {EXECUTION("1", "x"), "DECIMAL 'x'"},
        {EXECUTION("1e99", "2"), "DECIMAL_WIDE '1e99'"},
        {EXECUTION("1" ZEROS_64, "2"), "DECIMAL_WIDE '1" ZEROS_64 "'"},
        {EXECUTION("1", "0." ZEROS_64 "1"), "DECIMAL_WIDE '0." ZEROS_64 "1'"},
        /* An escaped number, longer than the text of an error. */
        {EXECUTION("\\u0031" ZEROS_64 ZEROS_64, "2"),
         "DECIMAL_WIDE '1" ZEROS_64 "000000000000000000000000000000'"},
    };

    expect_error_cases(cases, COUNT(cases));
}

TEST_CASE(a_long_bad_number_is_cut_at_a_characters_boundary) {
    expect_error(
        printed(BOOK_MESSAGE("UPDATE", LEVEL("%s", "1"), ""),
                repeated("\xe2\x82\xac", 40)),
        0, 0,
        printed("DECIMAL '%s'", repeated("\xe2\x82\xac", MST_TEXT_MAX / 3)));
}

/* Invalid UTF-8 is not cut within a character either: nothing is left. */
TEST_CASE(a_long_bad_number_of_no_characters_is_cut_to_nothing) {
    expect_error(printed(BOOK_MESSAGE("UPDATE", LEVEL("%s\\n", "1"), ""),
                         repeated("\x80", MST_TEXT_MAX + 2)),
                 0, 0, "DECIMAL_WIDE ''");
}

TEST_CASE(a_wide_amount_is_flagged_or_refused_as_wished) {
    static const char level[] =
        BOOK_MESSAGE("UPDATE", LEVEL("1", "1234567890.1234567891"), "");
    static const char top[] = TOP(LEVEL("1", "1234567890.1234567891"), "");
    static const char execution[] = EXECUTION("1", "1234567890.1234567891");
    static const char zeros[] =
        BOOK_MESSAGE("UPDATE", LEVEL("1", "1234567890.1000000000"), "");
    static const char refused[] = "DECIMAL_WIDE '1234567890.1234567891'";

    expect_decoded(level, 0, 0,
                   "part BTCUSD " NS
                   " update first last: bid 1 123456789012345678e-8~\n");
    expect_decoded(top, 0, 0,
                   "top BTCUSD " NS ": bid 1 123456789012345678e-8~\n");
    expect_decoded(execution, 0, 0,
                   "execution BTCUSD " NS ": 1 123456789012345678e-8~\n");
    expect_error(level, 0, MST_STRICT_AMOUNTS, refused);
    expect_error(top, 0, MST_STRICT_AMOUNTS, refused);
    expect_error(execution, 0, MST_STRICT_AMOUNTS, refused);
    expect_decoded(zeros, 0, MST_STRICT_AMOUNTS,
                   "part BTCUSD " NS
                   " update first last: bid 1 12345678901e-1\n");
}

TEST_CASE(a_bad_time_is_named_with_its_text) {
    static const struct message_case cases[] = {
        {HEARTBEAT_WITH("{'timestamp':'noon'}"), "TIME 'noon'"},
        {HEARTBEAT_WITH("{'timestamp':''}"), "TIME ''"},
        {"{'channel':'market_data','payload':{'market':'BTCUSD','type':'UPDATE'"
         ",'time':'2026-02-30T00:00:00Z','bids':[]}}",
         "TIME '2026-02-30T00:00:00Z'"},
        {"{'channel':'execution_data','payload':{'market':'BTCUSD','price':'1',"
         "'amount':'2','executed_at':'2026'}}",
         "TIME '2026'"},
    };

    expect_error_cases(cases, COUNT(cases));
}

/* The decoder remembers the last minute, unless its day does not exist. */
TEST_CASE(a_bad_time_costs_no_other_message) {
    static const struct {
        const char *time;
        int64_t ns; /* -1: an error */
    } cases[] = {{"2026-02-28T03:04:05Z", INT64_C(1772247845000000000)},
                 {"2026-02-30T03:04:05Z", -1},
                 {"2026-02-28T03:04:06Z", INT64_C(1772247846000000000)}};
    struct mst_decoder decoder;
    struct mst_event event;
    uint8_t buffer[256];

    assert_int_equal(mst_decoder_init(&decoder, buffer, sizeof buffer, 0), 0);
    for (size_t i = 0; i < COUNT(cases); i++) {
        const char *text = printed(HEARTBEAT_AT("%s"), cases[i].time);

        mst_decoder_feed(&decoder, text, strlen(text), true);
        assert_int_equal(mst_decoder_next(&decoder, &event), 1);
        if (cases[i].ns < 0) {
            assert_int_equal(event.type, MST_EVENT_ERROR);
        } else {
            assert_int_equal(event.type, MST_EVENT_HEARTBEAT);
            assert_int_equal(event.as.heartbeat.time_ns, cases[i].ns);
        }
        assert_int_equal(mst_decoder_next(&decoder, &event), 0);
    }
}

RUN_CASES(NULL, NULL)
