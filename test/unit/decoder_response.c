/*
 * Tests of the decoder: responses to requests and error messages.
 *
 * SPDX-License-Identifier: 0BSD
 */
#include "support.h"

#define SUBSCRIBE(entries) "{'type':'subscribe','channels':[" entries "]}"
#define LIST(entries) "{'type':'subscription_list','channels':[" entries "]}"
#define ENTRY(type, rest) \
    "{'type':'" type "','params':{'market':'BTCUSD'}" rest "}"

TEST_CASE(each_response_gives_its_entries_and_its_end) {
    static const struct message_case cases[] = {
        {SUBSCRIBE(ENTRY("market_data", ",'success':true") "," ENTRY(
             "market_data.top_of_book",
             ",'success':true") "," ENTRY("execution_data", ",'success':true")),
         "entry subscribe market_data 'market_data' 'BTCUSD' ok\n"
         "entry subscribe market_data.top_of_book 'market_data.top_of_book' "
         "'BTCUSD' ok\n"
         "entry subscribe execution_data 'execution_data' 'BTCUSD' ok\n"
         "response subscribe: 3 entries, 0 failed\n"},
        {SUBSCRIBE("{'type':'heartbeat','success':true}"),
         "entry subscribe heartbeat 'heartbeat' '' ok\n"
         "response subscribe: 1 entries, 0 failed\n"},
        {"{'type':'unsubscribe','channels':[" ENTRY("market_data",
                                                    ",'success':true") "]}",
         "entry unsubscribe market_data 'market_data' 'BTCUSD' ok\n"
         "response unsubscribe: 1 entries, 0 failed\n"},
        {LIST(ENTRY("market_data", "") ",{'type':'heartbeat'}"),
         "entry subscription_list market_data 'market_data' 'BTCUSD' ok\n"
         "entry subscription_list heartbeat 'heartbeat' '' ok\n"
         "response subscription_list: 2 entries, 0 failed\n"},
        {LIST(""), "response subscription_list: 0 entries, 0 failed\n"},
        {"{'type':'subscription_list','channels':null}",
         "response subscription_list: 0 entries, 0 failed\n"},
        {SUBSCRIBE(""), "response subscribe: 0 entries, 0 failed\n"},
        {"{'error':null,'type':'subscribe','channels':[]}",
         "response subscribe: 0 entries, 0 failed\n"},
    };

    expect_message_cases(cases, COUNT(cases));
}

TEST_CASE(an_entry_that_failed_says_why) {
    static const struct message_case cases[] = {
        {SUBSCRIBE(ENTRY("market_data",
                         ",'success':false,'error':'NO_EFFECT_ACTION'")),
         "entry subscribe market_data 'market_data' 'BTCUSD' failed "
         "NO_EFFECT_ACTION 'NO_EFFECT_ACTION'\n"
         "response subscribe: 1 entries, 1 failed\n"},
        {SUBSCRIBE(
             ENTRY("market_data",
                   ",'error':{'message':'m','error':'a','market':'no',"
                   "'code':'NO_EFFECT_ACTION'},'message':'n','code':404")),
         "entry subscribe market_data 'market_data' 'BTCUSD' failed "
         "NO_EFFECT_ACTION 'NO_EFFECT_ACTION'\n"
         "response subscribe: 1 entries, 1 failed\n"},
        {SUBSCRIBE("{'error':'UNKNOWN_CHANNEL','success':false,'params':{"
                   "'market':'BTCUSD'},'type':'candles'}"),
         "entry subscribe other 'candles' 'BTCUSD' failed UNKNOWN_CHANNEL "
         "'UNKNOWN_CHANNEL'\n"
         "response subscribe: 1 entries, 1 failed\n"},
        {SUBSCRIBE(ENTRY("market_data",
                         ",'success':false,'error':'MARKET_IS_CLOSED'")),
         "entry subscribe market_data 'market_data' 'BTCUSD' failed OTHER "
         "'MARKET_IS_CLOSED'\n"
         "response subscribe: 1 entries, 1 failed\n"},
        {SUBSCRIBE(ENTRY("market_data", ",'success':false")),
         "entry subscribe market_data 'market_data' 'BTCUSD' failed NONE ''\n"
         "response subscribe: 1 entries, 1 failed\n"},
        {SUBSCRIBE(ENTRY("market_data", ",'success':true") "," ENTRY(
             "execution_data",
             ",'success':false") "," ENTRY("heartbeat",
                                           ",'success':false,'error':'X'")),
         "entry subscribe market_data 'market_data' 'BTCUSD' ok\n"
         "entry subscribe execution_data 'execution_data' 'BTCUSD' failed NONE "
         "''\n"
         "entry subscribe heartbeat 'heartbeat' 'BTCUSD' failed OTHER 'X'\n"
         "response subscribe: 3 entries, 2 failed\n"},
    };

    expect_message_cases(cases, COUNT(cases));
}

TEST_CASE(parameters_may_be_absent_null_or_more) {
    static const char *const params[] = {
        "",
        ",'params':null",
        ",'params':{}",
        ",'params':{'depth':10,'x':{'market':'no'}}",
        ",'market':'no'",
    };

    for (size_t i = 0; i < COUNT(params); i++) {
        expect_decoded(printed(LIST("{'x':[{}],'type':'heartbeat'%s,'y':null}"),
                               params[i]),
                       0, 0,
                       "entry subscription_list heartbeat 'heartbeat' '' "
                       "ok\nresponse subscription_list: 1 entries, 0 failed\n");
    }
}

TEST_CASE(escapes_in_entries_mean_their_characters) {
    static const struct message_case cases[] = {
        {SUBSCRIBE("{'t\\u0079pe':'market\\u005fdata','p\\u0061rams':{"
                   "'m\\u0061rket':'BTC\\/"
                   "\\u00e9'},'succ\\u0065ss':false,'err\\u006fr':'"
                   "NO\\u005fEFFECT_ACTION'}"),
         "entry subscribe market_data 'market_data' 'BTC/\xc3\xa9' failed "
         "NO_EFFECT_ACTION 'NO_EFFECT_ACTION'\n"
         "response subscribe: 1 entries, 1 failed\n"},
        {"{'t\\u0079pe':'subscrib\\u0065','ch\\u0061nnels':[]}",
         "response subscribe: 0 entries, 0 failed\n"},
    };

    expect_message_cases(cases, COUNT(cases));
}

/* ---- Responses of many entries ---- */

static void add_entries(struct text *message, struct text *record,
                        size_t count) {
    for (size_t i = 0; i < count; i++) {
        bool good = i % 3 != 0;

        text_add(message,
                 "%s{'type':'execution_data','params':{'market':'M%zu'},"
                 "'success':%s}",
                 i == 0 ? "" : ",", i,
                 good ? "true" : "false,'error':'NO_EFFECT_ACTION'");
        text_add(record,
                 "entry subscribe execution_data 'execution_data' 'M%zu' %s\n",
                 i, good ? "ok" : "failed NO_EFFECT_ACTION 'NO_EFFECT_ACTION'");
    }
}

TEST_CASE(a_large_response_passes_through_a_small_buffer) {
    static const size_t counts[] = {1, 2, 32, 1000};

    for (size_t i = 0; i < COUNT(counts); i++) {
        struct text *message = text_new(), *expected = text_new();

        text_add(message, "{'type':'subscribe','channels':[");
        add_entries(message, expected, counts[i]);
        text_add(message, "]}");
        text_add(expected, "response subscribe: %zu entries, %zu failed\n",
                 counts[i], (counts[i] + 2) / 3);
        expect_decoded(text_get(message), 256, 0, text_get(expected));
    }
}

TEST_CASE(entries_before_their_type_are_kept_as_far_as_they_fit) {
    struct text *message = text_new(), *expected = text_new();

    text_add(message, "{'channels':[");
    add_entries(message, expected, 10);
    text_add(message, "],'type':'subscribe'}");
    text_add(expected, "response subscribe: 10 entries, 4 failed\n");
    expect_decoded(text_get(message), 2048, 0, text_get(expected));
    expect_decoded(text_get(message), message->len, 0, text_get(expected));
    expect_decoded(text_get(message), message->len - 1, 0,
                   "error MESSAGE_ORDER ''\n");
    expect_decoded(text_get(message), 256, 0, "error MESSAGE_ORDER ''\n");
}

TEST_CASE(entries_of_an_unknown_type_are_an_unknown_message) {
    static const char *const messages[] = {
        "{'type':'presubscribe','channels':[7]}",
        "{'channels':[7],'type':'presubscribe'}"};

    for (size_t i = 0; i < COUNT(messages); i++) {
        expect_decoded(
            messages[i], 0, 0,
            printed("unknown %zu: %s\n", strlen(messages[i]), messages[i]));
    }
}

/* ---- Responses that become invalid ---- */

TEST_CASE(entries_go_out_before_bad_json_and_no_end_after_it) {
    static const char good[] = "entry subscribe heartbeat 'heartbeat' '' ok\n";
    static const struct message_case cases[] = {
        {",{'type'}]}", "JSON_SYNTAX"},
        {",7", "JSON_SYNTAX"},
        {",]}", "JSON_SYNTAX"},
        {"", "JSON_SYNTAX"},
        {"]", "JSON_SYNTAX"},
        {"]}}", "JSON_SYNTAX"},
        {"],'channels':[]}", "MESSAGE_KEY"},
        {"],'type':'subscribe'}", "MESSAGE_KEY"},
        {",{'type':'x','y':[[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]]}]}", "JSON_DEPTH"},
    };

    for (size_t i = 0; i < COUNT(cases); i++) {
        expect_decoded(printed("{'type':'subscribe','channels':[{'type':'"
                               "heartbeat','success':true}%s",
                               cases[i].message),
                       0, 0,
                       printed("%serror %s ''\n", good, cases[i].expected));
    }
}

TEST_CASE(a_bad_entry_has_nothing_of_another) {
    static const char good[] =
        "entry subscribe market_data 'market_data' 'BTCUSD' failed OTHER 'X'\n";
    static const char end[] = "response subscribe: 2 entries, 2 failed\n";
    static const struct {
        const char *entry, *error, *end;
    } cases[] = {
        {"7", "MESSAGE_SHAPE", end},
        {"{'error':'Y'}", "MESSAGE_SHAPE", end},
        {"{'x':[[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]]}", "JSON_DEPTH", ""},
        {"{'x' 7}", "JSON_SYNTAX", ""},
    };

    for (size_t i = 0; i < COUNT(cases); i++) {
        expect_decoded(
            printed(SUBSCRIBE(ENTRY("market_data", ",'error':'X'") ",%s"),
                    cases[i].entry),
            0, 0,
            printed("%serror %s ''\n%s", good, cases[i].error, cases[i].end));
    }
}

TEST_CASE(a_response_with_a_book_is_no_book) {
    struct text *message = text_new();

    text_add(message,
             "{'type':'subscribe','channels':[{'type':'heartbeat','success':"
             "true}],'channel':'market_data','payload':{'market':'BTCUSD',"
             "'bids':[" LEVEL("1", "1"));
    for (int i = 2; i <= 40; i++) {
        text_add(message, "," LEVEL("%d", "1"), i);
    }
    text_add(message, "],'asks':[],'type':'UPDATE','time':'" TIME "'}}");
    expect_decoded(text_get(message), 4096, 0,
                   "entry subscribe heartbeat 'heartbeat' '' ok\n"
                   "error MESSAGE_SHAPE '' in BTCUSD\n");
}

TEST_CASE(an_entry_that_does_not_fit_costs_no_other) {
    static const size_t lens[] = {256, 257, 1000};
    static const char good[] =
        "entry subscription_list heartbeat 'heartbeat' '' ok\n";

    for (size_t i = 0; i < COUNT(lens); i++) {
        const bool fits = lens[i] <= 256;
        size_t filled = strlen("{'x':'','type':'heartbeat'}");
        const char *message =
            printed(LIST("{'x':'%s','type':'heartbeat'},{'type':'heartbeat'}"),
                    repeated("x", lens[i] - filled));

        expect_decoded(
            message, 256, 0,
            printed("%s%sresponse subscription_list: 2 entries, %d failed\n",
                    fits ? good : "error MESSAGE_SIZE ''\n", good, !fits));
    }
}

TEST_CASE(an_entry_may_have_any_number_of_values) {
    expect_decoded(
        printed(SUBSCRIBE("{%s'type':'heartbeat'}"), repeated("'x':123,", 200)),
        2048, 0,
        "entry subscribe heartbeat 'heartbeat' '' ok\n"
        "response subscribe: 1 entries, 0 failed\n");
}

/* ---- JSON of any type where the specification shows none ---- */

/* Values, and how they are shown. */
static const struct {
    const char *value, *text;
} types[] = {
    {"'X'", "X"},     {"7", "7"},         {"-1.5e3", "-1.5e3"},
    {"true", "true"}, {"false", "false"}, {"null", ""},
    {"''", ""},       {"[]", ""},         {"['X',{'code':'Y'}]", ""},
    {"{}", ""},       {"{'x':1}", ""},    {"{'x':{'code':'Y'}}", ""},
};

TEST_CASE(an_error_may_be_of_any_type) {
    static const struct {
        const char *name, *inside;
        bool message; /* in an error message, not its code */
    } places[] = {{"error", "%s", false},
                  {"code", "%s", false},
                  {"message", "%s", true},
                  {"error", "{'y':[],'code':%s}", false},
                  {"error", "{'message':%s,'y':{}}", true}};

    for (size_t i = 0; i < COUNT(types) * COUNT(places); i++) {
        const char *value = types[i % COUNT(types)].value;
        const char *text = types[i % COUNT(types)].text;
        bool inside = places[i / COUNT(types)].inside[0] == '{';
        bool message = places[i / COUNT(types)].message;
        const char *code = (strcmp(value, "null") == 0 || message) && !inside
                               ? "NONE"
                               : "OTHER";
        const char *member =
            printed("'%s':%s", places[i / COUNT(types)].name,
                    printed(places[i / COUNT(types)].inside, value));

        expect_decoded(
            printed(SUBSCRIBE(ENTRY("market_data", ",'success':false,%s")),
                    member),
            0, 0,
            printed("entry subscribe market_data 'market_data' 'BTCUSD' failed "
                    "%s '%s'\nresponse subscribe: 1 entries, 1 failed\n",
                    code, text));
        expect_decoded(printed("{%s,'type':'error'}", member), 0, 0,
                       printed("service_error %s '%s' '%s'\n", code,
                               message ? "" : text, message ? text : ""));
    }
}

/* An entry is unsuccessful unless success is true and there is no error. */
TEST_CASE(only_true_is_success) {
    static const char *const errors[] = {"", ",'error':[]"};

    for (size_t i = 0; i < COUNT(types) * COUNT(errors); i++) {
        const char *value = types[i % COUNT(types)].value;
        bool error = i >= COUNT(types);
        bool ok = strcmp(value, "true") == 0 ||
                  (strcmp(value, "null") == 0 && !error);
        const char *says = printed("%s%s", ok ? "ok" : "failed",
                                   error ? " OTHER ''"
                                   : ok  ? ""
                                         : " NONE ''");

        expect_decoded(
            printed(SUBSCRIBE(ENTRY("market_data", ",'success':%s%s")), value,
                    errors[i / COUNT(types)]),
            0, 0,
            printed("entry subscribe market_data 'market_data' 'BTCUSD' %s\n"
                    "response subscribe: 1 entries, %d failed\n",
                    says, !ok));
    }
}

/* ---- Error messages ---- */

TEST_CASE(an_error_message_is_understood_in_each_of_its_shapes) {
    static const struct message_case cases[] = {
        {"{'type':'error','error':'NO_EFFECT_ACTION'}",
         "service_error NO_EFFECT_ACTION 'NO_EFFECT_ACTION' ''\n"},
        {"{'error':'NO_EFFECT_ACTION','type':'error'}",
         "service_error NO_EFFECT_ACTION 'NO_EFFECT_ACTION' ''\n"},
        {"{'type':'error','code':'UNKNOWN_CHANNEL','message':'no such "
         "channel'}",
         "service_error UNKNOWN_CHANNEL 'UNKNOWN_CHANNEL' 'no such channel'\n"},
        {"{'message':'no such "
         "channel','code':'UNKNOWN_CHANNEL','type':'error'}",
         "service_error UNKNOWN_CHANNEL 'UNKNOWN_CHANNEL' 'no such channel'\n"},
        {"{'error':{'code':'UNKNOWN_ACTION','message':'what?'}}",
         "service_error UNKNOWN_ACTION 'UNKNOWN_ACTION' 'what?'\n"},
        {"{'x':1,'error':{'message':'what?','y':{'code':1},'code':'UNKNOWN_"
         "ACTION'},'z':[]}",
         "service_error UNKNOWN_ACTION 'UNKNOWN_ACTION' 'what?'\n"},
        {"{'error':{'error':'a','code':{'code':'b'},'x':[{'code':'c'}],"
         "'message':'m'},'code':'UNKNOWN_ACTION'}",
         "service_error UNKNOWN_ACTION 'UNKNOWN_ACTION' 'm'\n"},
        {"{'type':'error','error':{'code':'UNKNOWN_ACTION'}}",
         "service_error UNKNOWN_ACTION 'UNKNOWN_ACTION' ''\n"},
        {"{'t\\u0079pe':'err\\u006fr','err\\u006fr':'UNKNOWN\\u005fACTION'}",
         "service_error UNKNOWN_ACTION 'UNKNOWN_ACTION' ''\n"},
    };

    expect_message_cases(cases, COUNT(cases));
}

TEST_CASE(every_error_code_is_known_and_others_are_kept_as_text) {
    static const char *const codes[] = {
        "UNKNOWN_ACTION",    "INTERNAL_SERVER_ERROR",
        "MALFORMED_REQUEST", "NO_EFFECT_ACTION",
        "UNKNOWN_CHANNEL",   "UNKNOWN_CHANNEL_PARAMS_CONFIGURATION",
    };
    static const struct message_case others[] = {
        {"{'type':'error','error':'RATE_LIMITED'}",
         "service_error OTHER 'RATE_LIMITED' ''\n"},
        {"{'type':'error','error':'unknown_action'}",
         "service_error OTHER 'unknown_action' ''\n"},
        {"{'type':'error','error':'UNKNOWN_ACTIONS'}",
         "service_error OTHER 'UNKNOWN_ACTIONS' ''\n"},
    };

    for (size_t i = 0; i < COUNT(codes); i++) {
        expect_decoded(
            printed("{'type':'error','error':'%s'}", codes[i]), 0, 0,
            printed("service_error %s '%s' ''\n", codes[i], codes[i]));
        expect_decoded(
            printed(
                SUBSCRIBE("{'type':'heartbeat','success':false,'error':'%s'}"),
                codes[i]),
            0, 0,
            printed("entry subscribe heartbeat 'heartbeat' '' failed %s "
                    "'%s'\nresponse subscribe: 1 entries, 1 failed\n",
                    codes[i], codes[i]));
    }
    expect_message_cases(others, COUNT(others));
}

/* Texts are shown in logs and on terminals. */
TEST_CASE(texts_of_the_service_have_no_control_characters) {
    expect_decoded("{'type':'error','error':'a\\u0000b\\nc\\u001b[0m'}", 0, 0,
                   "service_error OTHER 'a\xef\xbf\xbd"
                   "b c [0m' ''\n");
    expect_decoded(printed("{'type':'error','code':'X','message':'%s'}",
                           repeated("\\u20ac", 60)),
                   0, 0,
                   printed("service_error OTHER 'X' '%s'\n",
                           repeated("\xe2\x82\xac", MST_TEXT_MAX / 3)));
}

/* The error of a response after an empty array of entries: it is read from the
 * whole message, at any split. */
TEST_CASE(an_error_behind_no_entries_is_read_at_every_split) {
    expect_decoded(
        "{'type':'subscribe','channels':[],'error':'MALFORMED_REQUEST'}", 2048,
        0, "service_error MALFORMED_REQUEST 'MALFORMED_REQUEST' ''\n");
    expect_decoded(
        printed("{'channels':[],'error':'X','pad':'%s','type':'subscribe'}",
                repeated("x", 1900)),
        2048, 0, "service_error OTHER 'X' ''\n");
}

RUN_CASES(NULL, NULL)
