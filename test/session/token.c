/*
 * When tokens are fetched. A client alone fetches one when it connects without
 * a valid one. A pair's idle follower, or a transfer next to a stream, fetches
 * the next one before the old one expires.
 *
 * SPDX-License-Identifier: 0BSD
 */
#include "session.h"

#define TOKEN_BODY(expires)                            \
    "{\"access_token\":\"" SERVICE_TOKEN "\"," expires \
    "\"token_type\":\"bearer\"}"

/* The stream outlives its token. The next one is fetched when the client must
 * connect. */
TEST_CASE(test_fetched_to_connect) {
    session_begin_open();
    session_run(2 * SESSION_HOUR);
    session_expect_tokens("while it streams", 1);
    session_expect_undisturbed("while it streams");
    session.service.token_value = "the-second";
    service_end(&session.service, MST_ERR_EOF);
    assert_true(session_until(MST_EVENT_OPEN, 100));
    session_expect_tokens("in all", 2);
    assert_true(session_until_subscribed(5000));
}

/* The service ends a stream when its token expires: the client reconnects at
 * once with a new one. */
TEST_CASE(test_closed_at_expiry) {
    for (int kind = 0; kind < SESSION_KINDS; kind++) {
        const char *name = session_kind_name((enum session_kind)kind);

        session_begin();
        session.service.rules.expire = true;
        session_open_kind((enum session_kind)kind);
        for (int i = 0; i < 10; i++) {
            if (!session_until(MST_EVENT_CLOSED, 2 * SESSION_HOUR)) {
                expect_failed("%s: was not closed", name);
            }
            expect_int(name, 0, session.seen.closed.retry_ms);
            if (!session_until(MST_EVENT_OPEN, 100)) {
                expect_failed("%s: not open at once", name);
                session_until(MST_EVENT_OPEN, SESSION_MINUTE);
            }
            session_expect_subscribed(5000, "%s", name);
            session_run(1000); /* both of two connections end */
        }
        assert_in_range(session.service.tokens.count, 11, 12);
    }
}

/* The same without entropy, which is checked once a second. */
TEST_CASE(test_closed_at_expiry_without_entropy) {
    session_begin();
    session.service.rules.expire = true;
    session_open();
    session_run(3590 * 1000);
    session.mock.plan.entropy_none = true;
    assert_true(session_until(MST_EVENT_CLOSED, SESSION_MINUTE));
    expect_int("the service's", 1008, session.seen.closed.ws_code);
    uint64_t looks = session.mock.calls[MST_MOCK_ENTROPY];
    session_run(SESSION_MINUTE);
    looks = session.mock.calls[MST_MOCK_ENTROPY] - looks;
    assert_in_range(looks, 58, 65);
    session.mock.plan.entropy_none = false;
    assert_true(session_until_subscribed(5000));
}

/* A service that ends streams long before that is not flooded. */
TEST_CASE(test_not_stormed) {
    for (int kind = 0; kind < SESSION_KINDS; kind++) {
        session_begin();
        session.service.token_body = TOKEN_BODY("\"expires_in\":1,");
        session_open_kind((enum session_kind)kind);
        for (int i = 0; i < 200; i++) {
            service_restart(&session.service, MST_ERR_EOF);
            session_run(1000);
        }
        assert_in_range(session.service.tokens.count, 5, 25);
    }
}

/* Nor is one that refuses tokens with a lifetime below the safety margin. */
TEST_CASE(test_short_tokens_refused) {
    session_begin();
    session.service.expires_in = 30;
    session.service.upgrade.status = 401;
    session_start_and_run(SESSION_HOUR);
    assert_in_range(session.service.tokens.count, 20, 250);
    session.service.upgrade.status = 0;
    assert_true(session_until_subscribed(2 * SESSION_MINUTE));
}

/* The next token is received slowly while the old one expires: this does not
 * affect the new one. */
TEST_CASE(test_next_comes_at_the_end) {
    for (uint32_t at = 55000; at < 60000; at += 250) {
        session_begin();
        session.service.expires_in = 60;
        session_open();
        session_run(at - (uint32_t)session_now());
        session.service.token_value = "the-second-token-which-is-a-longer-one";
        session.mock.plan.drip = 50;
        service_end(&session.service, MST_ERR_EOF);
        session_run(8000);
        session.mock.plan.drip = 0;
        session_expect_subscribed(10000, "at %u ms", at);
        session_expect_tokens("with the second", 2);
        expect_int("closed", 1, session.seen.events[MST_EVENT_CLOSED]);
    }
}

/* ---- early renewal ---- */

/* Kinds with an idle link that can fetch a token for the stream. */
static const enum session_kind with_one_free[] = {SESSION_PAIR, SESSION_BESIDE};

/* When a tenth of the lifetime, or 5 minutes, are left. */
TEST_CASE(test_fetched_ahead) {
    static const struct {
        const char *body;
        uint32_t ahead_s; /* after the token; 0: never */
    } cases[] = {
        {TOKEN_BODY("\"expires_in\":3600,"), 3300},
        {TOKEN_BODY("\"expires_in\":3599,"), 3299},
        {TOKEN_BODY("\"expires_in\":120,"), 108},
        {TOKEN_BODY("\"expires_in\":119,"), 0},
        {TOKEN_BODY("\"expires_in\":1,"), 0},
        {TOKEN_BODY("\"expires_in\":0,"), 0},
        {TOKEN_BODY(""), 0},
        {TOKEN_BODY("\"expires_in\":null,"), 0},
        {TOKEN_BODY("\"expires_in\":86401,"), 86100},
        {TOKEN_BODY("\"expires_in\":4294967295,"), 86100},
        {TOKEN_BODY("\"expires_in\":4294967297,"), 86100},
        {TOKEN_BODY("\"expires_in\":999999999999999999999999,"), 86100},
        {TOKEN_BODY("\"expires_in\":1e30,"), 86100},
    };

    for (size_t i = 0; i < COUNT(cases); i++) {
        session_begin();
        session.service.token_body = cases[i].body;
        session_open_kind(with_one_free[i % 2]);
        uint64_t took_ms = session.service.tokens.last_ms;
        session_run(cases[i].ahead_s > 0 ? cases[i].ahead_s * 1000 - 5000
                                         : 90000 * 1000u);
        session_expect_tokens(cases[i].body, 1);
        session_run(6000);
        session_expect_tokens(cases[i].body, cases[i].ahead_s > 0 ? 2 : 1);
        if (cases[i].ahead_s > 0) {
            expect_int(cases[i].body, cases[i].ahead_s,
                       (long long)(session.service.tokens.last_ms - took_ms) /
                           1000);
        }
        session_expect_undisturbed(cases[i].body);
    }
}

/* A token that was fetched early, and expired unused because later ones could
 * not be fetched, is not used. */
TEST_CASE(test_ended_unused) {
    for (size_t i = 0; i < COUNT(with_one_free); i++) {
        session_begin();
        session_open_kind(with_one_free[i]);
        session_run(3400 * 1000);
        session_expect_tokens("ahead", 2);
        session.service.token.status = 500;
        session_run(2 * SESSION_HOUR);
        session.service.token.status = 0;
        session.service.token_value = "the-third";
        service_end(&session.service, MST_ERR_EOF);
        assert_true(session_until(MST_EVENT_OPEN, SESSION_MINUTE));
        expect_int("upgrades", 2, session.service.upgrades.count);
    }
}

/* A token that expires at once serves for one rotation. */
TEST_CASE(test_rotation_with_short_tokens) {
    session_begin();
    session.service.token_body = TOKEN_BODY("\"expires_in\":0,");
    session_start_pair(SESSION_MINUTE);
    session_subscribe();
    session_run(SESSION_HOUR);
    assert_in_range(session_rotations(), 50, 60);
    assert_in_range(session.service.tokens.count, 50, 62);
}

/* ---- failed early renewal ---- */

/* The stream keeps its token, and reconnects with it. */
static void refresh_fails(enum session_kind kind, const char *name,
                          const struct service_script *script) {
    session_begin();
    session_open_kind(kind);
    session_run(3200 * 1000);
    session.service.token = *script;
    session_run(200 * 1000);
    assert_true(session.service.tokens.count >= 2);
    session_expect_undisturbed(name);
    expect_int(name, 1, session_tokens());
    assert_true(session.seen.events[MST_EVENT_CLOSED] > 0);

    service_end(&session.service, MST_ERR_EOF);
    if (!session_until(MST_EVENT_OPEN, 2000) ||
        !session_until_subscribed(5000)) {
        expect_failed("%s: not with the token it has", name);
    }
    expect_int(name, 1, session_tokens());
    expect_int(name, 0, session.seen.events[MST_EVENT_LEADER]);

    session.service.token = (struct service_script){0};
    session_run(10 * SESSION_MINUTE);
    expect_int(name, 2, session_tokens());
}

TEST_CASE(test_failing_refresh) {
    static const struct {
        const char *name;
        struct service_script script;
    } cases[] = {
        {"500", {.status = 500}},
        {"401", {.status = 401}},
        {"403", {.status = 403}},
        {"404", {.status = 404}},
        {"429", {.status = 429}},
        {"429, 20 s", {.status = 429, .retry_s = 20}},
        {"invalid_client", {.raw = SERVICE_BAD_CLIENT}},
        {"no answer", {.never = true}},
        {"not HTTP", {.raw = "hello\r\n"}},
        {"cut off",
         {.raw = "HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n"
                 "{\"access_token\":\"bad-token-bad",
          .raw_end = MST_ERR_RESET}},
    };

    for (size_t i = 0; i < COUNT(cases) * COUNT(with_one_free); i++) {
        refresh_fails(with_one_free[i % COUNT(with_one_free)],
                      cases[i / COUNT(with_one_free)].name,
                      &cases[i / COUNT(with_one_free)].script);
    }
}

/* A permanent error of early renewal is reported once, not each time. */
TEST_CASE(test_permanent_refresh_error) {
    for (size_t i = 0; i < COUNT(with_one_free); i++) {
        session_begin();
        session_open_kind(with_one_free[i]);
        session.service.token.raw = SERVICE_BAD_CLIENT;
        session_run(3 * SESSION_HOUR);
        expect_int("closed", 1, session.seen.events[MST_EVENT_CLOSED]);
        expect_int("permanent", true, session.seen.closed.permanent);
        assert_in_range(session.service.tokens.count, 20, 45);
        session.service.token.raw = NULL;
        session_run(SESSION_HOUR);
        session.service.token.raw = SERVICE_BAD_CLIENT;
        session_run(3 * SESSION_HOUR);
        expect_int("once more", 2, session.seen.events[MST_EVENT_CLOSED]);
        session_expect_undisturbed("stream");
    }
}

/* ---- two links, storage for two tokens ---- */

static struct {
    int (*send)(void *context, int link, const void *data, size_t len);
    size_t left;
} stall;

/* Limits the bytes that link 0 accepts; others accept all. */
static int send_of_one_link(void *context, int link, const void *data,
                            size_t len) {
    bool *stalled = &session.mock.plan.send_stall;
    size_t most = link == 0 ? stall.left : SIZE_MAX;
    int n;

    *stalled = most == 0;
    n = stall.send(context, link, data, len < most || most == 0 ? len : most);
    stall.left -= link == 0 && n > 0 ? (size_t)n : 0;
    *stalled = stall.left == 0;
    return n;
}

static void stall_after(size_t bytes) {
    stall.left = bytes;
    session.mock.plan.send_stall = bytes == 0;
}

/* A token arrives while the stream's link sends its upgrade request, which is
 * longer than its buffer. The request has one whole token at any stall. */
TEST_CASE(test_token_while_upgrading) {
    for (size_t at = 0; at < 1700; at += 23) {
        session_begin();
        session.service.expires_in = 600;
        session.service.token_value = repeated("t", 1500);
        stall.send = session.port.send;
        stall.left = SIZE_MAX;
        session.port.send = send_of_one_link;
        session_open_kind(with_one_free[at % 2]);
        session_run((600 - 60 - 3) * 1000);
        session_expect_tokens("before", 1);
        stall_after(at);
        service_end(&session.service, MST_ERR_EOF);
        session_run(6000);
        session_expect_tokens("ahead", 2);
        stall_after(SIZE_MAX);
        session_expect_subscribed(3000, "at %zu", at);
        if (session.service.core.wrong[0] != '\0') {
            expect_failed("at %zu: %s", at, session.service.core.wrong);
            session.service.core.wrong[0] = '\0';
        }
    }
}

RUN_SESSIONS(NULL, NULL)
