/*
 * Address requests without a stream: the bytes sent, the responses, and how
 * each possible failure is reported.
 *
 * SPDX-License-Identifier: 0BSD
 */
#include "session.h"

#include <jansson.h>

#define PROBLEM                                                      \
    "{\"type\":\"about:blank\",\"title\":\"Not so\",\"status\":400," \
    "\"detail\":\"The address \\\"x\\\" is\\u0000 none\",\"meta\":{}}"
#define RESPONSE(status, headers, body) \
    "HTTP/1.1 " status "\r\n" headers "\r\n" body
#define CLOSING "Connection: close\r\n"
#define CLOSED(status, body) RESPONSE(status, CLOSING, body)
#define DETAIL "The address \"x\" is\xEF\xBF\xBD none"

/* Begins a transfer without a stream; the service answers. */
static void begin_over(bool tls) {
    session_begin_over(tls);
    session.config.ws_url = NULL;
    session.request = (struct mst_address_request){
        .network = "BITCOIN", .address = "bc1qxy2kgdygjrsqtzq2n"};
    memset(&session.record, 0xA5, sizeof session.record);
}

static void begin(void) {
    begin_over(false);
}

static void expect_result(const char *name, int error, int status) {
    const struct mst_address_result *result = &session.seen.address;

    expect_text(name, error_name(error), error_name(result->error));
    expect_int(name, status, result->http_status);
    if ((error == MST_OK) != (result->record == &session.record)) {
        expect_failed("%s: the record's pointer", name);
    }
}

static void put(const char *name, int error, int status) {
    session_put_and_wait(name);
    expect_result(name, error, status);
}

/* Like begin(), with this response to every request. Makes a request. */
static void answer(const char *name, const char *raw) {
    begin();
    service_answer(&session.service.address, raw, 0, MST_ERR_EOF);
    session_put_and_wait(name);
}

/* ---- requests ---- */

/* Expects this JSON as the body of the last request. */
static void expect_body(const char *name, const char *expected) {
    const char *body = strstr(session.service.put, "\r\n\r\n");
    json_t *a = json_loads(expected, 0, NULL);
    json_t *b = body != NULL ? json_loads(body + 4, 0, NULL) : NULL;

    assert_non_null(a);
    if (!json_equal(a, b)) {
        expect_failed("%s: body is %s", name, body != NULL ? body : "none");
    }
    json_decref(a);
    json_decref(b);
}

TEST_CASE(test_request_in_full) {
    const struct mst_travelrule rule = {.first_name = "Ada",
                                        .last_name = "L\xC3\xB6velace",
                                        .vasp_id = "vasp-1",
                                        .custodian_type = "VASP"};

    begin();
    session.request.nickname = "cold store";
    session.request.bookmarked = MST_BOOKMARK_TRUE;
    session.request.travelrule = &rule;
    put("in full", MST_OK, 200);
    expect_body(
        "in full",
        "{\"crypto_network\":\"BITCOIN\",\"address\":\"bc1qxy2kgdygjrsqtzq2n\","
        "\"nickname\":\"cold store\",\"bookmarked_status\":true,"
        "\"travelrule_metadata\":{\"beneficiary\":{\"person_details\":"
        "{\"first_name\":\"Ada\",\"last_name\":\"L\\u00f6velace\"}},"
        "\"vasp\":{\"id\":\"vasp-1\"},\"custodian_type\":\"VASP\"}}");
    expect_text("id", "0c1e6d1e-9d0e-4f44-8f6b-3f1f3a6e2a11",
                session.record.id);
    expect_text("network", "BITCOIN", session.record.network);
    expect_text("address", session.request.address, session.record.address);
    expect_text("nickname", "cold store", session.record.nickname);
    expect_text("status", "APPROVED", session.record.status);
    expect_int("created", MST_MOCK_WALL_NS, session.record.created_ns);
    expect_int("bookmarked", true, session.record.bookmarked);
    expect_text("raw body", session.service.record, session.seen.address_body);
    expect_int("tokens", 1, session.service.address_tokens);
    expect_int("events", 1, session.seen.events[MST_EVENT_ADDRESS]);
    expect_int("closed", 0, session.seen.events[MST_EVENT_CLOSED]);
}

/* Absent, empty and false fields differ; an id needs no other field. */
TEST_CASE(test_request_by_id) {
    begin();
    session.request =
        (struct mst_address_request){.id = "some-id", .nickname = ""};
    session.request.bookmarked = MST_BOOKMARK_FALSE;
    session_put_and_wait("by id");
    expect_body("by id", "{\"id\":\"some-id\",\"nickname\":\"\","
                         "\"bookmarked_status\":false}");
    expect_text("id", "some-id", session.record.id);
    expect_text("nickname", "", session.record.nickname);
    session.request = (struct mst_address_request){.id = "other-id"};
    session_put_and_wait("nothing else");
    expect_body("nothing else", "{\"id\":\"other-id\"}");
}

TEST_CASE(test_path_of_the_url) {
    static const struct {
        const char *url, *path;
    } cases[] = {{"https://" SERVICE_API_HOST, ""},
                 {"https://" SERVICE_API_HOST "/", ""},
                 {"https://" SERVICE_API_HOST "/api", "/api"},
                 {"https://" SERVICE_API_HOST "/api/x//", "/api/x"}};

    for (size_t i = 0; i < COUNT(cases); i++) {
        begin();
        session.config.base_url = cases[i].url;
        session.service.api_path = cases[i].path;
        put(cases[i].url, MST_OK, 200);
    }
}

/* Jansson must decode the request to the original text. Its own encoding, fully
 * escaped, must be decoded to the same text by the library. */
TEST_CASE(test_hostile_text) {
    static const char *const texts[] = {
        "\"}, \"bookmarked_status\": true, \"x\": \"",
        "a\r\nContent-Length: 0\r\n\r\nPUT / HTTP/1.1\r\n",
        "\x01\x1F\x7F\t\b\f\\/ \\u0041",
        "\xF0\x9F\x98\x80 \xE2\x80\xA8\xEF\xBF\xBF\xC2\x85\xD7\xA9",
    };

    for (size_t i = 0; i < COUNT(texts); i++) {
        begin();
        session.request.nickname = texts[i];
        put(texts[i], MST_OK, 200);
        expect_text("nickname", texts[i], session.record.nickname);
    }
}

TEST_CASE(test_longest_texts) {
    const char *name = repeated("\x01", MST_ADDRESS_TEXT_MAX);
    const struct mst_travelrule rule = {
        .institution = name, .vasp_id = name, .custodian_type = "VASP"};

    begin();
    session.request.address = repeated("a", MST_ADDRESS_TEXT_MAX);
    session.request.nickname = repeated("\"", MST_ADDRESS_TEXT_MAX);
    session.request.travelrule = &rule;
    put("longest", MST_OK, 200);
    expect_text("address", session.request.address, session.record.address);
    expect_text("nickname", session.request.nickname, session.record.nickname);
}

/* ---- requests that the library refuses ---- */

TEST_CASE(test_rules_before_a_byte) {
    static const struct mst_travelrule two = {.first_name = "A",
                                              .institution = "B"},
                                       none = {.custodian_type = "VASP"};
    const struct {
        const char *name;
        struct mst_address_request request;
    } refused[] = {
        {"nothing", {0}},
        {"a nickname alone", {.nickname = "x"}},
        {"id and address", {.id = "i", .address = "a"}},
        {"no address", {.network = "INK"}},
        {"empty", {.id = ""}},
        {"not UTF-8", {.id = "\xFF"}},
        {"no bookmark", {.id = "i", .bookmarked = 3}},
        {"no network", {.address = "a"}},
        {"two beneficiaries", {.id = "i", .travelrule = &two}},
        {"no VASP", {.id = "i", .travelrule = &none}},
    };

    begin();
    session_start_transfer();
    for (size_t i = 0; i < COUNT(refused); i++) {
        session.request = refused[i].request;
        expect_int(refused[i].name, MST_ERR_ADDRESS, session_put());
    }
    session.request = (struct mst_address_request){.id = "i"};
    expect_int("no request", MST_ERR_ARGUMENT,
               mst_address_put(&session.transfer, NULL, &session.record));
    expect_int("no record", MST_ERR_ARGUMENT,
               mst_address_put(&session.transfer, &session.request, NULL));
    session_run(SESSION_HOUR);
    expect_int("connects", 0, session.service.connects.count);
    expect_int("events", 0, session.seen.events[MST_EVENT_ADDRESS]);
    session_end();
    expect_int("closed", MST_ERR_CLOSED, session_put());
}

static int init_with(const char *base_url) {
    session.config.base_url = base_url;
    return mst_transfer_init(&session.transfer, &session.config, &session.port,
                             &session.lengths);
}

TEST_CASE(test_urls) {
    begin();
    expect_int("no URL", MST_ERR_URL, init_with(NULL));
    expect_int("a stream's", MST_ERR_URL, init_with("wss://" SERVICE_API_HOST));
    expect_int("plain", MST_ERR_PLAIN, init_with("http://" SERVICE_API_HOST));
    expect_int("closed", MST_ERR_CLOSED, session_put());
}

TEST_CASE(test_busy) {
    begin();
    session.service.address.delay_ms = 500;
    session_start_transfer();
    expect_int("first", 0, session_put());
    expect_int("second", MST_ERR_BUSY, session_put());
    session_run(100);
    expect_int("under way", MST_ERR_BUSY, session_put());
    session_run(1000);
    expect_int("once over", 0, session_put());
    session_run(1000);
    expect_int("events", 2, session.seen.events[MST_EVENT_ADDRESS]);
    expect_int("requests", 2, session.service.puts.count);
}

/* ---- responses ---- */

TEST_CASE(test_statuses) {
    enum { OTHER = MST_ERR_HTTP_STATUS };
    static const struct {
        const char *raw;
        int status, error;
        bool retry;
        char title[8], detail[40], text[60];
    } cases[] = {
        {RESPONSE("400 Bad Request",
                  "Content-Type: application/problem+json\r\n" CLOSING,
                  PROBLEM),
         400, OTHER, false, "Not so", DETAIL, ""},
        {CLOSED("401 No", ""), 401, MST_ERR_UNAUTHORIZED, false, "", "", ""},
        {CLOSED("403 Forbidden", "{\"title\":\"no\"}"), 403, MST_ERR_FORBIDDEN,
         false, "no", "", SERVICE_ADDRESS_SCOPE},
        {CLOSED("404 Not Found", "<html>"), 404, OTHER, false, "", "", ""},
        {CLOSED("408 Too Slow", ""), 408, OTHER, true, "", "", ""},
        {CLOSED("425 Too Early", ""), 425, OTHER, true, "", "", ""},
        {CLOSED("409 Conflict", PROBLEM), 409, OTHER, false, "Not so", DETAIL,
         ""},
        {CLOSED("429 Too Many", ""), 429, MST_ERR_THROTTLED, true, "", "", ""},
        {CLOSED("500 Oops", "{"), 500, OTHER, true, "", "", ""},
        {CLOSED("503 Later", PROBLEM), 503, OTHER, true, "Not so", DETAIL, ""},
        {RESPONSE("307 Elsewhere", "Location: https://x.example/\r\n" CLOSING,
                  ""),
         307, OTHER, false, "", "", ""},
        {CLOSED("300 Several", ""), 300, OTHER, false, "", "", ""},
        {RESPONSE("204 No Content", "", ""), 204, OTHER, false, "", "", ""},
    };

    for (size_t i = 0; i < COUNT(cases); i++) {
        bool twice = cases[i].status == 401;
        const char *name = printed("status %d", cases[i].status);
        answer(name, cases[i].raw);
        expect_result(name, cases[i].error, cases[i].status);
        expect_text(name, cases[i].title, session.seen.problem.title);
        expect_text(name, cases[i].detail, session.seen.problem.detail);
        expect_text(name, cases[i].text, session.seen.address_text);
        expect_int(name, cases[i].retry, session.seen.address.retry_ms > 0);
        /* Only 3xx and 4xx prove that nothing was done. */
        expect_int(name, cases[i].status < 300 || cases[i].status >= 500,
                   session.seen.address.maybe_done);
        expect_text(name, strstr(cases[i].raw, "\r\n\r\n") + 4,
                    session.seen.address_body);
        session_run(SESSION_HOUR);
        expect_int(name, twice ? 2 : 1, session.service.puts.count);
        expect_int(name, 1, session.seen.events[MST_EVENT_ADDRESS]);
        expect_int(name, 0, session.seen.events[MST_EVENT_CLOSED]);
    }
}

/* A response that arrives before the request is completely sent is valid, and
 * ends the sending. */
TEST_CASE(test_answered_in_the_midst) {
    static const char refusal[] = SERVICE_EMPTY("413 Too Large");
    static char text[MST_ADDRESS_TEXT_MAX + 1];
    static const struct mst_travelrule rule = {.first_name = text,
                                               .last_name = text};
    uint64_t connects;

    memset(text, 1, sizeof text - 1); /* escaped to six bytes each */
    for (size_t taken = 50; taken < 4000; taken += 250) {
        begin();
        session.request = (struct mst_address_request){
            .id = "an-id", .nickname = text, .travelrule = &rule};
        session_put_and_wait("before");
        connects = session.mock.connects;
        session_stall_after(taken);
        assert_int_equal(session_put(), 0);
        session_run(100);
        if (session.service.puts.count > 1) { /* the whole request was sent */
            break;
        }
        mst_mock_write(&session.mock, 0, refusal, sizeof refusal - 1);
        assert_true(session_until(MST_EVENT_ADDRESS, 1000));
        expect_result("refused", MST_ERR_HTTP_STATUS, 413);
        session_run(100);
        session_unstall();
        put("afterwards", MST_OK, 200);
        expect_int("another connection", (long long)connects + 1,
                   session.mock.connects);
    }
}

/* The first 401 costs a new token; a second one fails the request. */
TEST_CASE(test_new_token_once) {
    begin();
    service_answer(&session.service.address, CLOSED("401 No", PROBLEM), 1,
                   MST_ERR_EOF);
    put("once", MST_OK, 200);
    expect_text("nothing of the first", "", session.seen.problem.title);
    expect_int("tokens", 2, session.service.tokens.count);
    expect_int("requests", 2, session.service.puts.count);

    begin();
    session.service.token.status = 401;
    service_answer(&session.service.address, SERVICE_EMPTY("401 No"), 1, 0);
    session_start_transfer();
    expect_int("first the token's", 0, session_put());
    while (session.service.tokens.count == 0) {
        session_run(1);
    }
    session.service.token.status = 0;
    session_run(SESSION_MINUTE);
    expect_result("first the token's", MST_OK, 200);
    expect_int("requests", 2, session.service.puts.count);
    session_end();

    answer("twice", CLOSED("401 No", ""));
    expect_int("tokens", 2, session.service.tokens.count);
    session.service.address.raw = NULL;
    put("afterwards", MST_OK, 200);
    expect_int("tokens afterwards", 3, session.service.tokens.count);
}

/* Nothing is sent before the time that the service asked for has passed. */
TEST_CASE(test_retry_after) {
    static const struct {
        const char *raw;
        uint32_t min_ms, max_ms;
    } cases[] = {
        {CLOSED("429 No", ""), 300000, 300000},
        {RESPONSE("429 No", CLOSING "Retry-After: 7\r\n", ""), 7000, 7000},
        {RESPONSE("429 No",
                  CLOSING "Content-Encoding: br\r\nRetry-After: 7\r\n", ""),
         7000, 7000},
        {RESPONSE("503 No", "Content-Length: 0\r\nRetry-After: 7\r\n", ""),
         7000, 7000},
        {RESPONSE("503 No",
                  CLOSING "Retry-After: Fri, 02 Jan 2026 00:00:20 GMT\r\n", ""),
         300000, 300000},
        {CLOSED("500 No", ""), 1, 1000},
    };

    for (size_t i = 0; i < COUNT(cases); i++) {
        begin();
        session.config.put_ms = SESSION_HOUR;
        service_answer(&session.service.address, cases[i].raw, 1, MST_ERR_EOF);
        session_put_and_wait(cases[i].raw);
        assert_in_range(session.seen.address.retry_ms, cases[i].min_ms,
                        cases[i].max_ms);
        uint64_t asked_ms = session.seen.address_ms;
        expect_int("asked too early", 0, session_put());
        assert_true(session_until(MST_EVENT_ADDRESS, SESSION_HOUR));
        expect_result(cases[i].raw, MST_OK, 200);
        assert_true(session.service.puts.last_ms - asked_ms >= cases[i].min_ms);
    }
}

/* ---- framing of responses ---- */

/* Has a token; later responses use this framing. */
static void begin_framed(enum service_framing framing) {
    begin();
    session_put_and_wait("the token");
    session.service.framing = framing;
    session.service.address.interim = "HTTP/1.1 103 Early Hints\r\n"
                                      "Link: </x>\r\n\r\n";
}

TEST_CASE(test_framing) {
    static const enum service_framing framings[] = {
        SERVICE_LENGTH, SERVICE_CHUNKED, SERVICE_UNTIL_CLOSE};

    for (size_t i = 0; i < COUNT(framings); i++) {
        begin_framed(framings[i]);
        uint64_t begin_at = session.mock.bytes_in, end_at;
        put("framing", MST_OK, 200);
        expect_text("body", session.service.record, session.seen.address_body);
        end_at = session.mock.bytes_in;
        for (uint64_t cut = begin_at + 1; cut <= end_at; cut++) {
            begin_framed(framings[i]);
            session.mock.plan.cut_at = cut;
            session.mock.plan.recv_max = cut == end_at ? 1 : 0;
            put("cut", MST_OK, 200);
            expect_text("cut", session.service.record,
                        session.seen.address_body);
        }
    }
}

/* Invalid responses: the request was processed, so it is not repeated. */
TEST_CASE(test_bad_responses) {
    static char large[6000];
    static const struct {
        const char *raw;
        int error, status;
    } cases[] = {
        {large, MST_ERR_HTTP_BODY, 200},
        {"220 smtp.example ESMTP\r\n", MST_ERR_HTTP_SYNTAX, 0},
        {RESPONSE("200 OK", "Content-Encoding: gzip\r\n" CLOSING, "x"),
         MST_ERR_HTTP_CODING, 200},
        {RESPONSE("200 OK", "Content-Length: 1\r\nContent-Length: 2\r\n", "{}"),
         MST_ERR_HTTP_LENGTH, 200},
        {CLOSED("200 OK", ""), MST_ERR_JSON_SYNTAX, 200},
        {CLOSED("200 OK", "<html>"), MST_ERR_JSON_SYNTAX, 200},
        {CLOSED("200 OK", "{\"address\":{}}"), MST_ERR_MESSAGE_SHAPE, 200},
        {CLOSED("200 OK", "{\"address\":{\"id\":\"a\",\"id\":\"b\"}}"),
         MST_ERR_MESSAGE_KEY, 200},
    };

    snprintf(large, sizeof large,
             "HTTP/1.1 200 OK\r\nContent-Length: 5000\r\n\r\n%4999s}", "{");
    for (size_t i = 0; i < COUNT(cases); i++) {
        answer(cases[i].raw, cases[i].raw);
        session_run(SESSION_MINUTE);
        expect_result(cases[i].raw, cases[i].error, cases[i].status);
        expect_int(cases[i].raw, 1, session.service.puts.count);
        session.service.address.raw = NULL;
        put("afterwards", MST_OK, 200);
    }
}

/* The status takes precedence over errors in the body. */
TEST_CASE(test_status_before_body) {
    static const struct {
        const char *raw;
        int end, error, status, requests;
    } cases[] = {
        {RESPONSE("401 No", "Content-Encoding: gzip\r\n" CLOSING, "x"), 0,
         MST_OK, 200, 2},
        {RESPONSE("401 No", "Content-Length: 9\r\n", "x"), MST_ERR_EOF, MST_OK,
         200, 2},
        {RESPONSE("403 No", "Content-Length: 9\r\n", "x"), MST_ERR_RESET,
         MST_ERR_FORBIDDEN, 403, 1},
        {RESPONSE("429 No", "Transfer-Encoding: br\r\n", "x"), 0,
         MST_ERR_THROTTLED, 429, 1},
        {RESPONSE("503 No", "Content-Length: 99999\r\n", "x"), 0,
         MST_ERR_HTTP_STATUS, 503, 1},
        {RESPONSE("409 No", "Content-Length: 9\r\n", "x"), 0,
         MST_ERR_HTTP_STATUS, 409, 1},
        {RESPONSE("300 No", "Content-Length: 9\r\n", "x"), MST_ERR_EOF,
         MST_ERR_HTTP_STATUS, 300, 1},
    };

    for (size_t i = 0; i < COUNT(cases); i++) {
        begin();
        service_answer(&session.service.address, cases[i].raw, 1, cases[i].end);
        put(cases[i].raw, cases[i].error, cases[i].status);
        expect_int(cases[i].raw, cases[i].requests, session.service.puts.count);
        expect_int(cases[i].raw,
                   cases[i].status == 429 || cases[i].status == 503,
                   session.seen.address.retry_ms > 0);
    }
}

/* ---- lost responses ---- */

/* The request was processed, but its response is lost, in whole or in part. The
 * client repeats it; the result is the same. */
TEST_CASE(test_lost_answer) {
    static const struct {
        const char *raw;
        int end;
    } cases[] = {
        {"", MST_ERR_RESET},
        {"", MST_ERR_EOF},
        {"HTTP/1.1 2", MST_ERR_EOF},
        {"HTTP/1.1 100 Continue\r\n\r\n", MST_ERR_RESET},
        {RESPONSE("200 OK", "Content-Length: 9\r\n", "{"), MST_ERR_EOF},
        {RESPONSE("200 OK", "Transfer-Encoding: chunked\r\n", "9\r\n{"),
         MST_ERR_RESET},
        {RESPONSE("200 OK", "Content-Length: 9\r\n", "{"), 0}, /* silence */
        {"", 0},
    };

    for (size_t i = 0; i < COUNT(cases); i++) {
        begin();
        session.request.nickname = "once";
        service_answer(&session.service.address, cases[i].raw, 1, cases[i].end);
        put(cases[i].raw, MST_OK, 200);
        expect_text(cases[i].raw, "once", session.record.nickname);
        expect_int(cases[i].raw, 2, session.service.puts.count);
        expect_int(cases[i].raw, 1, session.service.tokens.count);
        expect_int(cases[i].raw, 0, session.seen.events[MST_EVENT_CLOSED]);
    }
}

/* put_ms limits all attempts together. The last error is reported. */
TEST_CASE(test_total_deadline) {
    static const struct {
        const char *name;
        int end, connect, error;
        uint32_t put_ms;
    } cases[] = {
        {"always reset", MST_ERR_RESET, 0, MST_ERR_RESET, 20000},
        {"never an answer", 0, 0, MST_ERR_TIMEOUT, 25000},
        {"one attempt is too long", 0, 0, MST_ERR_TIMEOUT, 1000},
        {"refused", 0, MST_ERR_REFUSED, MST_ERR_REFUSED, 0},
        {"no connection", 0, MST_MOCK_NEVER, MST_ERR_TIMEOUT, 0},
    };

    for (size_t i = 0; i < COUNT(cases); i++) {
        uint32_t put_ms = cases[i].put_ms > 0 ? cases[i].put_ms : 60000;
        begin();
        session.config.put_ms = cases[i].put_ms;
        service_answer(&session.service.address, "", 0, cases[i].end);
        session.mock.plan.connect_error[0] = cases[i].connect;
        put(cases[i].name, cases[i].error, 0);
        if (session.seen.address_ms > put_ms) {
            expect_failed("%s: ended after %llu ms", cases[i].name,
                          (unsigned long long)session.seen.address_ms);
        }
        session_run(SESSION_HOUR);
        expect_int(cases[i].name, 1, session.seen.events[MST_EVENT_ADDRESS]);
        expect_int(cases[i].name, 0, session.seen.events[MST_EVENT_CLOSED]);
        session.mock.plan.connect_error[0] = 0;
        session.service.address.raw = NULL;
        put("afterwards", MST_OK, 200);
    }
}

/* A program without a stream need not poll between two requests. That pause
 * does not count towards the second request's time. */
TEST_CASE(test_after_a_long_pause) {
    begin();
    session.mock.plan.connect_ms = 100;
    session_put_and_wait("before");
    mst_mock_advance(&session.mock, SESSION_HOUR);
    put("afterwards", MST_OK, 200);
    expect_int("requests", 2, session.service.puts.count);
}

/* A request held back for all its time says how much longer to wait. */
TEST_CASE(test_held_back) {
    begin();
    service_answer(&session.service.address, CLOSED("429 No", ""), 1,
                   MST_ERR_EOF);
    put("throttled", MST_ERR_THROTTLED, 429);
    put("held back", MST_ERR_TIMEOUT, 0);
    assert_in_range(session.seen.address.retry_ms, 239000, 240000);
    expect_int("requests", 1, session.service.puts.count);
    session_run(session.seen.address.retry_ms);
    put("afterwards", MST_OK, 200);
}

/* Makes each port call fail once in turn: the request succeeds all the same. */
static void put_with_faults(bool tls) {
    begin_over(tls);
    session_put_and_wait("without a fault");
    uint64_t calls = session.mock.calls[MST_MOCK_ANY];
    for (uint64_t at = 1; at <= calls; at++) {
        begin_over(tls);
        const char *name = printed("fault at call %u", (unsigned)at);
        session_fail_at(at, MST_MOCK_ANY, MST_ERR_RESET);
        put(name, MST_OK, 200);
        expect_int(name, 1, session.seen.events[MST_EVENT_ADDRESS]);
    }
}

TEST_CASE(test_a_fault_at_each_call) {
    put_with_faults(false);
    put_with_faults(true);
}

/* ---- tokens ---- */

TEST_CASE(test_token_failures) {
    static const struct {
        const char *raw;
        int error;
        const char *text;
    } cases[] = {
        {CLOSED("401 No", "{\"error\":\"invalid_client\"}"),
         MST_ERR_TOKEN_REFUSED, "invalid_client"},
        {CLOSED("400 No", "{\"error\":\"invalid_scope\"}"),
         MST_ERR_TOKEN_REFUSED, "invalid_scope"},
        {CLOSED("200 OK", "{\"access_token\":\"a\",\"token_type\":\"bearer\","
                          "\"scope\":\"" SERVICE_SCOPE "\"}"),
         MST_ERR_TOKEN_SCOPE, SERVICE_ADDRESS_SCOPE},
        {CLOSED("200 OK", "{\"access_token\":\"a\",\"token_type\":\"mac\"}"),
         MST_ERR_TOKEN_TYPE, ""},
        {CLOSED("429 No", ""), MST_ERR_THROTTLED, ""},
        {CLOSED("500 No", ""), MST_ERR_HTTP_STATUS, ""},
        {CLOSED("401 No", ""), MST_ERR_TOKEN_REFUSED, ""},
    };

    for (size_t i = 0; i < COUNT(cases) * 2; i++) {
        const char *raw = cases[i / 2].raw;
        begin();
        if (i % 2 == 1) {
            session.config.scope = SERVICE_ADDRESS_SCOPE;
        }
        service_answer(&session.service.token, raw, 0, MST_ERR_EOF);
        session_put_and_wait(raw);
        /* Expects the token endpoint's status. */
        expect_result(raw, cases[i / 2].error,
                      (int)strtol(raw + sizeof "HTTP/1.1", NULL, 10));
        expect_text(raw, cases[i / 2].text, session.seen.address_text);
        expect_int(raw, 0, session.seen.events[MST_EVENT_CLOSED]);
        expect_int(raw, 0, session.service.puts.count);
    }
}

/* If the service responds before it has read the whole request, the connection
 * is closed. The next request is sent in full on a new one. */
TEST_CASE(test_early_response) {
    static const char early[] =
        "HTTP/1.1 400 No\r\nContent-Length: 2\r\n\r\n{}";

    for (size_t at = 1; at < 300; at += 23) {
        begin();
        put("before", MST_OK, 200);
        session_stall_after(at);
        expect_int("put", 0, session_put());
        session_run(10);
        service_write(&session.service, 0, early, sizeof early - 1);
        assert_true(session_until(MST_EVENT_ADDRESS, 1000));
        expect_result("early", MST_ERR_HTTP_STATUS, 400);
        session_unstall();
        put("after", MST_OK, 200);
    }
}

/* Without a response, maybe_done tells if the record may have been changed. */
TEST_CASE(test_maybe_done) {
    static const struct {
        const char *raw; /* NULL: no response */
        bool maybe;
    } cases[] = {
        {CLOSED("400 No", ""), false},
        {CLOSED("409 No", ""), false},
        {CLOSED("500 No", ""), true},
        {CLOSED("504 No", ""), true},
        {CLOSED("201 Yes", ""), true},
        {CLOSED("200 OK", "{}"), true},
        {NULL, true},
    };

    for (size_t i = 0; i < COUNT(cases); i++) {
        begin();
        session.service.address.raw = cases[i].raw;
        session.service.address.never = cases[i].raw == NULL;
        session_put_and_wait("maybe");
        expect_int(cases[i].raw != NULL ? cases[i].raw : "no answer",
                   cases[i].maybe, session.seen.address.maybe_done);
    }
    begin();
    session_put_and_wait("done");
    expect_int("done", false, session.seen.address.maybe_done);
}

/* A token serves several requests; an expired one is replaced. */
TEST_CASE(test_token_lives_on) {
    begin();
    session.service.expires_in = 600;
    for (int i = 0; i < 4; i++) {
        put("in its life", MST_OK, 200);
        session_run(100000);
    }
    expect_int("tokens", 1, session.service.tokens.count);
    session_run(200000);
    put("afterwards", MST_OK, 200);
    expect_int("tokens", 2, session.service.tokens.count);
}

TEST_CASE(test_one_token_for_both) {
    begin();
    session.config.ws_url = "wss://" SERVICE_WS_HOST;
    session.config.scope = SERVICE_SCOPE " " SERVICE_ADDRESS_SCOPE;
    session.service.scope = session.config.scope;
    session.service.api_token = SERVICE_TOKEN;
    session_start_kind(SESSION_BESIDE);
    session_run(1000);
    put("one token", MST_OK, 200);
    expect_int("tokens", 1, session.service.tokens.count);
}

/* Local errors are reported as such, not as a timeout. */
TEST_CASE(test_local_errors) {
    for (int entropy = 0; entropy < 2; entropy++) {
        begin();
        session.port.flags = entropy == 0 ? 0 : session.port.flags;
        session.mock.plan.clock_unset = entropy == 0;
        session.mock.plan.entropy_none = entropy == 1;
        put("local", entropy ? MST_ERR_ENTROPY : MST_ERR_CLOCK, 0);
        expect_int("closed", 0, session.seen.events[MST_EVENT_CLOSED]);
    }
}

/* ---- one connection for several ---- */

static void keep_alive(unsigned flags) {
    struct service *service = &session.service;

    begin();
    session.port.flags |= flags;
    for (int i = 0; i < 5; i++) {
        put("in a row", MST_OK, 200);
        session_run(1000);
    }
    expect_int("one after the token's", 2, service->connects.count);
    expect_int("idle", MST_STATE_IDLE, mst_link_state(&session.transfer.link));
    service_link_end(service, 0, MST_ERR_EOF);
    session_run(100);
    assert_false(mst_mock_in_use(&session.mock, 0));
    put("closed in between", MST_OK, 200);
    expect_int("a new one", 3, service->connects.count);
    uint64_t sends = session.mock.calls[MST_MOCK_SEND];
    service_link_end(service, 0, MST_ERR_EOF);
    put("closed just now", MST_OK, 200);
    expect_int("not sent to nobody", 1,
               session.mock.calls[MST_MOCK_SEND] - sends);
    service_write(service, 0, "HTTP/1.1 408 No\r\n", 17);
    put("speaks unasked", MST_OK, 200);
    session_run(14999);
    assert_true(mst_mock_in_use(&session.mock, 0));
    session_run(1);
    assert_false(mst_mock_in_use(&session.mock, 0));
    expect_int("closed", 0, session.seen.events[MST_EVENT_CLOSED]);
}

TEST_CASE(test_keep_alive) {
    keep_alive(0);
    keep_alive(MST_PORT_DRAINS);
}

/* The end of an idle connection is not reported. */
TEST_CASE(test_idle_ends_in_an_error) {
    for (int forged = 0; forged < 2; forged++) {
        begin_over(true);
        put("first", MST_OK, 200);
        if (forged) {
            (void)mst_mock_write(&session.mock, 0, "noise noise", 11);
        } else {
            mst_mock_end(&session.mock, 0, MST_ERR_RESET);
        }
        session_run(1000);
        assert_false(mst_mock_in_use(&session.mock, 0));
        expect_int("closed", 0, session.seen.events[MST_EVENT_CLOSED]);
        put("next", MST_OK, 200);
        expect_int("closed", 0, session.seen.events[MST_EVENT_CLOSED]);
    }
}

TEST_CASE(test_connection_close) {
    static const char *const headers[] = {CLOSING, "Connection: x, CLOSE\r\n"};

    for (size_t i = 0; i < COUNT(headers); i++) {
        begin();
        session.service.address.headers = headers[i];
        for (int n = 0; n < 3; n++) {
            put("each its own", MST_OK, 200);
            session_run(10);
            assert_false(mst_mock_in_use(&session.mock, 0));
        }
        expect_int("connects", 4, session.service.connects.count);
    }
}

TEST_CASE(test_below_tls) {
    static char nickname[MST_ADDRESS_TEXT_MAX + 1];

    begin_over(true);
    memset(nickname, 1, MST_ADDRESS_TEXT_MAX); /* more than one record */
    session.request =
        (struct mst_address_request){.id = "x", .nickname = nickname};
    for (int i = 0; i < 3; i++) {
        put("below TLS", MST_OK, 200);
        session_run(i == 1 ? SESSION_MINUTE : 100);
    }
    expect_int("connects", 3, session.service.connects.count);
}

/* After a permanent failure the next request is still tried. */
TEST_CASE(test_again_after_a_lasting_failure) {
    begin_over(true);
    session.request = (struct mst_address_request){.id = "x"};
    session_put_and_wait("localhost");
    session_run(SESSION_MINUTE);
    session_certificate("unknown");
    put("another issuer", MST_ERR_TLS_ISSUER, 0);
    session_certificate("localhost");
    put("good again", MST_OK, 200);
}

RUN_SESSIONS(session_certificates, tls_remove_certificates)
