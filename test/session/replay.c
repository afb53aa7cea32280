/*
 * Recordings of the mock port, with and without the library's TLS, must be
 * replayed with the same events.
 *
 * SPDX-License-Identifier: 0BSD
 */
#include "played.h"
#include "session.h"

static bool tls; /* the library's TLS, or the port's */

static void begin(void) {
    session_begin_over(tls);
    played_begin(&session.mock, 0);
    session.service.rules.feed_ms = 500;
    session.service.rules.beat_ms = 1000;
    recorder_configure(&played.recorder, &session.config);
}

static void subscribe(void) {
    static const char *const markets[] = {"BTCUSD", "ETHUSD"};

    for (int i = 0; i < 2; i++) {
        played_wish(MST_MARKET_DATA, markets[i]);
        played_wish(MST_TOP_OF_BOOK, markets[i]);
        played_wish(MST_EXECUTION_DATA, markets[i]);
    }
    played_wish(MST_HEARTBEAT, NULL);
}

static void start_client(void) {
    played_start();
    subscribe();
}

static void start_pair(uint32_t rotate_ms) {
    played_start_pair(rotate_ms);
    subscribe();
}

static void begin_stream(void) {
    begin();
    start_client();
}

static void open_stream(void) {
    begin_stream();
    played_run(5000);
    expect_int("opened", 1, played.counts[MST_EVENT_OPEN]);
}

static void end(const char *name) {
    played_compare(printed("%s%s", name, tls ? ", with TLS" : ""));
    played_end();
}

static void expect_some(const char *name, enum mst_event_type type,
                        uint64_t least) {
    if (played.counts[type] < least) {
        expect_failed("%s: %llu events of type %d", name,
                      (unsigned long long)played.counts[type], type);
    }
}

/* Runs for ms, and expects at least as many events of this type by then. */
static void run_to_some(uint32_t ms, const char *name, enum mst_event_type type,
                        uint64_t least) {
    played_run(ms);
    expect_some(name, type, least);
}

/* Ends a stream that broke, and was opened again. */
static void end_recovered(const char *name, uint64_t breaks) {
    expect_some(name, MST_EVENT_CLOSED, breaks);
    expect_some(name, MST_EVENT_OPEN, 1);
    end(name);
}

static void clean_stream(void) {
    begin_stream();
    run_to_some(SESSION_MINUTE, "clean", MST_EVENT_PART, 100);
    end("a clean stream");
}

static int (*recv_of_mock)(void *context, int link, void *data, size_t len);

/* The handshake takes time for each input. */
static int computing(void *context, int link, void *data, size_t len) {
    int n = recv_of_mock(context, link, data, len);

    if (n > 0 && session_state() == MST_STATE_TLS) {
        mst_mock_advance(&session.mock, 333);
    }
    return n;
}

static void slow_handshakes(void) {
    begin();
    recv_of_mock = session.port.recv;
    session.port.recv = computing;
    session.mock.plan.recv_max = 400;
    start_client();
    session.service.upgrade.status = 503;
    played_run(SESSION_MINUTE);
    session.service.upgrade.status = 0;
    played_run(SESSION_MINUTE);
    end_recovered("slow handshakes", 2);
}

/* The service fails for a while, in many ways. */
static void outages(void) {
    static const int errors[] = {MST_ERR_RESET, MST_ERR_EOF};

    open_stream();
    session.mock.plan.detail = 104;
    for (size_t i = 0; i < COUNT(errors); i++) {
        session.mock.plan.addresses = (int)i + 1;
        session.mock.plan.connect_error[0] = MST_ERR_REFUSED;
        session.mock.plan.connect_error[1] = MST_ERR_UNREACHABLE;
        service_end(&session.service, errors[i]);
        played_run(SESSION_MINUTE);
        session.mock.plan.resolve_error = MST_ERR_RESOLVE;
        played_run(SESSION_MINUTE);
        session.mock.plan.resolve_error = 0;
        session.mock.plan.connect_error[i] = 0;
        played_run(SESSION_MINUTE);
    }
    service_close(&session.service, 1012, "a restart");
    run_to_some(SESSION_MINUTE, "outages", MST_EVENT_OPEN, 4);
    expect_some("outages", MST_EVENT_CLOSED, 10);
    end("outages");
}

/* Each stage hangs. */
static void hangs(void) {
    for (int state = MST_STATE_RESOLVE; state <= MST_STATE_UPGRADE; state++) {
        const char *name = mst_state_name((enum mst_state)state);
        if (state == MST_STATE_TLS && !tls) {
            continue;
        }
        begin_stream();
        session.mock.plan.addresses = 2;
        session.mock.plan.connect_error[1] =
            state == MST_STATE_CONNECT ? MST_MOCK_NEVER : 0;
        session.mock.plan.resolve_ms = session.mock.plan.connect_ms = 700;
        session_hang((enum mst_state)state);
        run_to_some(2 * SESSION_MINUTE, name, MST_EVENT_CLOSED, 1);
        session_hang(MST_STATE_OFF);
        session.mock.plan.connect_error[1] = 0;
        played_run(3 * SESSION_MINUTE);
        end_recovered(name, 1);
    }
}

#define BODY(status, len, body) \
    "HTTP/1.1 " status "\r\nContent-Length: " len "\r\n\r\n" body

/* Replies of the token endpoint; each leads to another error. */
static const char *const replies[] = {
    BODY("401 No", "26", "{\"error\":\"invalid_client\"}"),
    BODY("400 No", "25", "{\"error\":\"invalid_scope\"}"),
    BODY("400 No", "22", "{\"error\":\"a \\\"b\\u0041\"}"),
    BODY("400 No", "2", "{}"),
    BODY("401 No", "2", "{}"),
    BODY("403 No", "0", ""),
    BODY("429 No\r\nRetry-After: 40", "0", ""),
    BODY("429 No\r\nRetry-After: 0", "0", ""),
    BODY("429 No", "0", ""),
    BODY("503 No\r\nRetry-After: 12", "0", ""),
    BODY("500 No", "5", "oops!"),
    BODY("302 No", "0", ""),
    BODY("204 No", "0", ""),
    "HTTP/1.1 101 No\r\n\r\n",
    BODY("200 OK", "2", "[]"),
    BODY("200 OK", "2", "{}"),
    BODY("200 OK", "44",
         "{\"access_token\":\"x\",\"token_type\":\"basic\"   }"),
    BODY("200 OK", "54",
         "{\"access_token\":\"x\",\"token_type\":\"bearer\",\"scope\":\"\"}"),
    BODY("200 OK", "999999", "{}"),
    "HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n",
    "HTTP/1.1 200 OK\r\nContent-Encoding: br\r\n\r\n",
    "HTTP/1.1 200 OK\r\nContent-Length: 5\001\r\n\r\n",
    "HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\n{\"acc",
    "HTTP/1.1 200 OK\r\nContent-Le",
    "HTTP/1.1 503 No\r\nRetry-After: 7\r\nContent-Le",
    "HTTP/1.",
    "SSH-2.0-OpenSSH\r\n",
};

static void token_errors(void) {
    for (size_t i = 0; i < COUNT(replies); i++) {
        begin_stream();
        service_answer(&session.service.token, replies[i], 2,
                       i % 2 == 0 ? MST_ERR_EOF : MST_ERR_RESET);
        session.service.token.delay_ms = 300;
        session.service.rules.feed_ms = 5000;
        session.service.rules.beat_ms = 5000;
        played_run(12 * SESSION_MINUTE);
        end_recovered(printed("reply %zu", i), 1);
    }
}

/* A token that is too large, has no expiry, or expires soon. */
static void token_kinds(void) {
    static const uint32_t lives[] = {1, 40, 100, 90000};

    begin_stream();
    session.service.token_value = repeated("x", MST_TOKEN_MAX + 1);
    run_to_some(10 * SESSION_MINUTE, "large", MST_EVENT_CLOSED, 1);
    session.service.token_value = NULL;
    run_to_some(10 * SESSION_MINUTE, "large", MST_EVENT_OPEN, 1);
    end("a large token");

    begin();
    session.config.scope = "first " SERVICE_SCOPE " third fourth";
    service_answer(
        &session.service.token,
        BODY("200 OK", "85",
             "{\"access_token\":\"x\",\"scope\":\"third " SERVICE_SCOPE
             " first\"}"),
        2, 0);
    start_client();
    run_to_some(1000, "less scope", MST_EVENT_CLOSED, 1);
    assert_non_null(strstr(text_get(&played.events), "\"fourth\""));
    session.service.core.wrong[0] = '\0'; /* the scope is unusual */
    end("less scope than asked for");

    for (size_t i = 0; i < COUNT(lives); i++) {
        begin_stream();
        session.service.expires_in = lives[i];
        session.service.rules.expire = true;
        played_run(10 * SESSION_MINUTE);
        end("lives");
    }
    begin_stream();
    session.service.token_body =
        "{\"access_token\":\"" SERVICE_TOKEN "\",\"token_type\":\"Bearer\"}";
    played_run(10 * SESSION_MINUTE);
    end("without end");
}

static void upgrade_errors(void) {
    static const int statuses[] = {401, 403, 404, 429, 500, 302};

    for (size_t i = 0; i < COUNT(statuses); i++) {
        begin_stream();
        session.service.upgrade.status = statuses[i];
        session.service.upgrade.retry_date = i % 2 == 0;
        session.service.upgrade.retry_s = statuses[i] == 429 ? 20 : 0;
        played_run(10 * SESSION_MINUTE);
        session.service.upgrade.status = 0;
        played_run(10 * SESSION_MINUTE);
        end_recovered(printed("status %d", statuses[i]), 1);
    }
}

static void messages(void) {
    struct text *large = text_new();

    open_stream();
    service_text(&session.service, "nonsense");
    service_text(&session.service, "{\"channel\":\"heartbeat\"}");
    service_text(&session.service, "{\"channel\":\"new\",\"payload\":{}}");
    session_bad_update("ETHUSD");
    service_text(&session.service,
                 "{\"type\":\"error\",\"error\":\"UNKNOWN_CHANNEL\"}");
    service_frame(&session.service, 0x80, 2, "binary", 6);
    service_frame(&session.service, 0x80, 9, "ping", 4);
    played_run(10000);
    for (int i = 0; i < 900; i++) {
        text_add(large, "%s" LEVEL("%d.5", "1.25"), i > 0 ? "," : "[",
                 20000 - i);
    }
    text_add(large, "]");
    service_book(&session.service, "BTCUSD", "SNAPSHOT",
                 mst_mock_wall(&session.mock), text_get(large), "[]");
    played_run(10000);
    service_frame(&session.service, 0xF0, 1, "", 0);
    played_run(10000);
    service_frame(&session.service, 0x80, 1, "\xFF\xFE", 2);
    run_to_some(10000, "messages", MST_EVENT_ERROR, 2);
    expect_some("messages", MST_EVENT_SERVICE_ERROR, 1);
    expect_some("messages", MST_EVENT_CLOSED, 2);
    end("messages");
}

static void refused(void) {
    begin_stream();
    session.service.rules.fail_market = "ETHUSD";
    session.service.rules.fail_code = "UNKNOWN_CHANNEL";
    played_run(5 * SESSION_MINUTE);
    session.service.rules.fail_market = NULL;
    session.service.rules.never = true;
    recorder_market(&played.recorder, RECORDING_RESYNC, 0, MST_MARKET_DATA,
                    "BTCUSD", NULL);
    assert_int_equal(session_resync(MST_MARKET_DATA, "BTCUSD"), 0);
    played_run(SESSION_MINUTE);
    session.service.rules.never = false;
    recorder_call(&played.recorder, RECORDING_LIST, 0);
    assert_int_equal(session_list(), 0);
    played_run(SESSION_MINUTE);
    recorder_market(&played.recorder, RECORDING_UNSUBSCRIBE, 0, MST_MARKET_DATA,
                    "BTCUSD", NULL);
    assert_int_equal(session_leave(MST_MARKET_DATA, "BTCUSD"), 0);
    played_run(SESSION_MINUTE);
    played_wish(MST_MARKET_DATA, "BTCUSD");
    played_run(SESSION_MINUTE);
    end("refused, resynced, listed");
}

/* The line accepts nothing for a while, or a few bytes at a time. */
static void stalls(void) {
    begin_stream();
    session.mock.plan.recv_max = 7;
    session.mock.plan.send_max = 5;
    played_run(SESSION_MINUTE);
    session.mock.plan.send_stall = true;
    service_frame(&session.service, 0x80, 9, "ping", 4);
    played_run(1000);
    service_frame(&session.service, 0x80, 9, "again", 5); /* must wait */
    played_run(29000);
    session.mock.plan.send_stall = false;
    run_to_some(SESSION_MINUTE, "stalls", MST_EVENT_PART, 50);
    mst_mock_freeze(&session.mock, 0);
    run_to_some(5 * SESSION_MINUTE, "stalls", MST_EVENT_OPEN, 2);
    end("stalls");
}

/* A request in several pieces, each with a delay. */
static void long_requests(void) {
    char market[] = "A-MARKET-WITH-LONG-NAME-A";

    begin();
    session_stall_after(0);
    start_client();
    for (int i = 0; i < 20; i++) {
        market[sizeof market - 2] = (char)('A' + i);
        played_wish(MST_TOP_OF_BOOK, market);
    }
    for (int i = 0; i < 1000; i++) {
        session_stall_after(90);
        played_run(10);
    }
    expect_some("long requests", MST_EVENT_TOP, 20);
    end("long requests");
}

static void local(void) {
    begin();
    session.mock.plan.entropy_none = true;
    start_client();
    played_run(10000);
    session.mock.plan.entropy_none = false;
    session.mock.plan.clock_unset = true;
    played_run(10000);
    session.mock.plan.clock_unset = false;
    played_run(10000);
    session.mock.plan.entropy_none = true;
    played_run(2 * SESSION_MINUTE);
    session.mock.plan.entropy_none = false;
    played_run(SESSION_MINUTE);
    end_recovered("neither clock nor entropy", 1);
}

static void stored_token(void) {
    begin();
    session_stored_s = 1800;
    session.port.token_load = session_token_load;
    service_answer(&session.service.upgrade, SERVICE_EMPTY("403 No"), 1, 0);
    start_client();
    run_to_some(SESSION_MINUTE, "stored", MST_EVENT_OPEN, 1);
    recorder_replaced(&played.recorder, RECORDING_CREDENTIALS, 0, false);
    session_new_credentials(session_access());
    played_run(1000);
    service_end(&session.service, MST_ERR_RESET);
    played_run(SESSION_MINUTE);
    recorder_replaced(&played.recorder, RECORDING_ANCHORS, 0, false);
    session_new_anchors(session_access());
    service_end(&session.service, MST_ERR_RESET);
    run_to_some(SESSION_MINUTE, "stored", MST_EVENT_OPEN, 3);
    end("a stored token, then others");
}

static void closed(void) {
    static const uint32_t after_ms[] = {0, 50, 150, 250, 450, 3000};

    for (size_t i = 0; i < COUNT(after_ms); i++) {
        begin_stream();
        session.mock.plan.resolve_ms = session.mock.plan.connect_ms = 100;
        session.mock.plan.data_ms = 30;
        played_run(after_ms[i]);
        played_close();
        played_run(SESSION_MINUTE);
        end("closed");
    }
    open_stream();
    session.service.rules.no_echo = true;
    played_close();
    played_run(SESSION_MINUTE);
    end("closed without an answer");
}

static void wiped(void) {
    open_stream();
    recorder_call(&played.recorder, RECORDING_WIPE, 0);
    mst_client_wipe(&session.client);
    start_client();
    run_to_some(SESSION_MINUTE, "wiped", MST_EVENT_OPEN, 2);
    end("wiped and made anew");
}

static void rotating(void) {
    begin();
    start_pair(10 * SESSION_MINUTE);
    run_to_some(SESSION_HOUR, "a pair", MST_EVENT_LEADER, 3);
    recorder_call(&played.recorder, RECORDING_ROTATE, 0);
    assert_int_equal(mst_pair_rotate(&session.pair), 0);
    played_run(1000);
    service_restart(&session.service, MST_ERR_RESET);
    played_run(SESSION_MINUTE);
    recorder_call(&played.recorder, RECORDING_CLOSE, 0);
    mst_pair_close(&session.pair);
    played_run(SESSION_MINUTE);
    end("a pair that rotates");
}

static void standby(void) {
    begin();
    session.config.flags |= MST_HOT_STANDBY;
    start_pair(0);
    played_run(SESSION_MINUTE);
    service_end(&session.service, MST_ERR_RESET);
    played_run(SESSION_MINUTE);
    mst_mock_freeze(&session.mock, 0);
    played_run(SESSION_MINUTE);
    mst_mock_freeze(&session.mock, 1);
    played_run(5 * SESSION_MINUTE);
    service_restart(&session.service, MST_ERR_EOF);
    run_to_some(SESSION_MINUTE, "standby", MST_EVENT_LEADER, 1);
    end("hot standby");
}

#define SHARING 3

/* Several clients that share an access. */
static void sharing(void) {
    static struct mst_client clients[SHARING];
    static unsigned char memory[SHARING][SESSION_MEMORY];
    static struct mst_memory memories[SHARING];
    static struct mst_access access;

    begin();
    recorder_call(&played.recorder, RECORDING_ACCESS, 5);
    assert_int_equal(mst_access_init(&access, &session.config), 0);
    session.config.access = &access;
    for (int i = 0; i < SHARING; i++) {
        memories[i] = session.lengths;
        memories[i].data = memory[i];
        session.config.link = i;
        recorder_object(&played.recorder, i, &session.config, 0, 5,
                        &memories[i], NULL);
        assert_int_equal(mst_client_init(&clients[i], &session.config,
                                         &session.port, &memories[i]),
                         0);
        recorder_market(&played.recorder, RECORDING_SUBSCRIBE, i,
                        MST_TOP_OF_BOOK, "BTCUSD", NULL);
        assert_int_equal(
            mst_subscribe(&clients[i], MST_TOP_OF_BOOK, "BTCUSD", NULL), 0);
        played.objects[i].client = &clients[i];
    }
    played.count = SHARING;
    service_answer(&session.service.token, replies[9], 1, 0);
    run_to_some(2 * SESSION_MINUTE, "sharing", MST_EVENT_OPEN, SHARING);
    recorder_replaced(&played.recorder, RECORDING_CREDENTIALS, 5, true);
    session_new_credentials(&access);
    service_restart(&session.service, MST_ERR_RESET);
    run_to_some(5 * SESSION_MINUTE, "sharing", MST_EVENT_OPEN, 2 * SHARING);
    for (int i = 0; i < SHARING; i++) {
        recorder_call(&played.recorder, RECORDING_CLOSE, i);
        mst_close(&clients[i]);
        played_run(1000);
    }
    end("clients that share an access");
}

static void certificates(void) {
    static const char *const names[] = {"wrong", "expired", "early", "unknown"};

    for (size_t i = 0; i < COUNT(names) && tls; i++) {
        begin_stream();
        session_certificate(names[i]);
        run_to_some(2 * SESSION_MINUTE, names[i], MST_EVENT_CLOSED, 1);
        session_certificate("localhost");
        played_run(10 * SESSION_MINUTE);
        end_recovered(names[i], 1);
    }
    if (tls) {
        open_stream();
        mst_mock_write(&session.mock, 0,
                       "\x17\x03\x03\x00\x20"
                       "0123456789abcdef0123456789abcdef",
                       37);
        played_run(SESSION_MINUTE);
        session.tls.truncate = true;
        service_end(&session.service, MST_ERR_EOF);
        run_to_some(SESSION_MINUTE, "forged", MST_EVENT_CLOSED, 2);
        end("a forged record");
    }
}

#define CASE(name)           \
    TEST_CASE(test_##name) { \
        tls = false;         \
        name();              \
        tls = true;          \
        name();              \
    }
CASE(clean_stream)
CASE(slow_handshakes)
CASE(outages)
CASE(hangs)
CASE(token_errors)
CASE(token_kinds)
CASE(upgrade_errors)
CASE(messages)
CASE(refused)
CASE(stalls)
CASE(long_requests)
CASE(local)
CASE(stored_token)
CASE(closed)
CASE(wiped)
CASE(rotating)
CASE(standby)
CASE(sharing)
CASE(certificates)

RUN_SESSIONS(session_certificates, tls_remove_certificates)
