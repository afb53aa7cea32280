/*
 * Reports about tokens, and about HTTP and proxies (README.md, 21 to 30 and 41
 * to 50).
 *
 * SPDX-License-Identifier: 0BSD
 */
#include "proxy_peer.h"

#define JSON(status, length, body)                                     \
    "HTTP/1.1 " status "\r\nContent-Type: application/json\r\n" length \
    "\r\n" body
#define CLOSES "Connection: close\r\n"
#define TOKEN(life) \
    "{\"access_token\":\"" SERVICE_TOKEN "\",\"token_type\":\"Bearer\"" life "}"

/* ---- tokens ---- */

/* Unusual lifetimes: 21 as text, 22 longer than a timer of 32 bits, 25 shorter
 * than the reserve. The stream opens, tokens are not fetched over and over, and
 * an hour later there is a valid one. */
TEST_CASE(test_lives) {
    static const struct {
        const char *life;
        unsigned most; /* tokens in a day in which the stream ends hourly */
    } cases[] = {
        {",\"expires_in\":\"2700\"", 36},   {",\"expires_in\":2147484", 3},
        {",\"expires_in\":\"2592000\"", 3}, {",\"expires_in\":4294968", 3},
        {",\"expires_in\":31536000000", 3}, {",\"expires_in\":65", 50},
        {",\"expires_in\":1", 50},          {",\"expires_in\":0", 50},
        {",\"expires_in\":null", 50},       {"", 50},
    };

    for (size_t i = 0; i < 2 * COUNT(cases); i++) {
        const char *name = cases[i / 2].life;
        enum session_kind kind = (enum session_kind)(i % SESSION_KINDS);

        session_begin();
        session.service.token_body = printed(TOKEN("%s"), name);
        session_open_kind(kind);
        for (int hour = 0; hour < 24; hour++) {
            session_run(SESSION_HOUR - SESSION_MINUTE);
            text_clear(&session.seen.record);
            service_restart(&session.service, MST_ERR_EOF);
            session_expect_subscribed(SESSION_MINUTE, "%s", name);
        }
        if (session.service.tokens.count > cases[i / 2].most) {
            expect_failed("%s, %s: %u tokens", name, session_kind_name(kind),
                          (unsigned)session.service.tokens.count);
        }
    }
}

/* The endpoint's responses for an hour: the most requests, the client's error,
 * and success afterwards. */
TEST_CASE(test_refusals) {
    static const struct {
        const char *name, *raw;
        int error;
        bool permanent;
        unsigned most;
        uint32_t back_ms;
    } cases[] = {
        {"26: an error with 200",
         JSON("200 OK", CLOSES, "{\"error\":\"invalid_client\"}"),
         MST_ERR_TOKEN_REFUSED, true, 15, 5 * SESSION_MINUTE},
        {"26: neither error nor token", JSON("200 OK", CLOSES, "{}"),
         MST_ERR_TOKEN_SHAPE, false, 125, 2 * SESSION_MINUTE},
        {"28: a token that is not valid, with 400",
         JSON("400 Bad Request", CLOSES, "{\"error\":\"invalid_grant\"}"),
         MST_ERR_TOKEN_REFUSED, false, 125, 2 * SESSION_MINUTE},
        {"29: a 400 that goes away",
         JSON("400 Bad Request", CLOSES, "{\"message\":\"try again\"}"),
         MST_ERR_HTTP_STATUS, false, 125, 2 * SESSION_MINUTE},
        {"29: a 401 that goes away", JSON("401 Unauthorized", CLOSES, "<html>"),
         MST_ERR_TOKEN_REFUSED, false, 125, 2 * SESSION_MINUTE},
        {"29: 503 in a body of 400",
         JSON("400 Bad Request", CLOSES,
              "{\"error\":\"temporarily_unavailable\"}"),
         MST_ERR_TOKEN_REFUSED, false, 125, 2 * SESSION_MINUTE},
        {"30: credentials that are not valid",
         JSON("401 Unauthorized", CLOSES, "{\"error\":\"invalid_client\"}"),
         MST_ERR_TOKEN_REFUSED, true, 15, 5 * SESSION_MINUTE},
        {"46: a body without a length, and the connection stays",
         JSON("200 OK", "Connection: keep-alive\r\n", TOKEN("")),
         MST_ERR_TIMEOUT, false, 240, 2 * SESSION_MINUTE},
    };

    for (size_t i = 0; i < COUNT(cases); i++) {
        const char *name = cases[i].name;

        session_begin();
        service_answer(&session.service.token, cases[i].raw, 0,
                       strstr(cases[i].raw, CLOSES) ? MST_ERR_EOF : 0);
        session_start_all();
        session_until_closed(name, SESSION_MINUTE, cases[i].error,
                             MST_STATE_TOKEN);
        expect_int(name, cases[i].permanent, session.seen.closed.permanent);
        session_run(SESSION_HOUR);
        if (session.service.connects.count > cases[i].most) {
            expect_failed("%s: asked %u times", name,
                          (unsigned)session.service.connects.count);
        }
        expect_int(name, 0, session.seen.events[MST_EVENT_OPEN]);
        session.service.token.raw = NULL;
        session_expect_subscribed(cases[i].back_ms + 5000, "%s", name);
    }
}

/* ---- HTTP ---- */

/* 47: the service ends a kept connection, either just when it is used again or
 * before. */
TEST_CASE(test_kept_connection_ends) {
    for (int when = 0; when < 4; when++) {
        session_begin();
        session.config.ws_url = NULL;
        session.config.base_url = "https://" SERVICE_API_HOST;
        session.request = (struct mst_address_request){
            .network = "BITCOIN", .address = "bc1qxy2kgdygjrsqtzq2n"};
        session_start_transfer();
        session_put_and_wait("first");
        session_run(when == 2 ? 100 : 0);
        mst_mock_end(&session.mock, 0, when == 3 ? MST_ERR_EOF : MST_ERR_RESET);
        session_run(when == 1 ? 100 : 0);
        session_put_and_wait("next");
        expect_int("next", MST_OK, session.seen.address.error);
        expect_int("closed", 0, session.seen.events[MST_EVENT_CLOSED]);
    }
}

/* ---- proxies ---- */

/* 44, 45, 48, 49 and 50: a proxy's responses, and the client's errors. */
TEST_CASE(test_answers_of_a_proxy) {
    static const struct {
        const char *name, *answer;
        int error, detail; /* 0: it streams */
    } cases[] = {
        {"44: a tunnel with Connection: close",
         "HTTP/1.1 200 OK\r\nConnection: close\r\nProxy-Agent: x\r\n\r\n", 0,
         0},
        {"44: one of HTTP/1.0", "HTTP/1.0 200 OK\r\n\r\n", 0, 0},
        {"44: one with lengths",
         "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nTransfer-Encoding: "
         "chunked\r\n\r\n",
         0, 0},
        {"45: a status of four digits", "HTTP/1.1 2000 OK\r\n\r\n",
         MST_ERR_PROXY_ANSWER, 0},
        {"45: bytes with the head", "HTTP/1.1 200 OK\r\n\r\n<html>",
         MST_ERR_PROXY_ANSWER, 200},
        {"48: a host that does not exist",
         "HTTP/1.1 503 No\r\nContent-Length: 3\r\n\r\nDNS",
         MST_ERR_PROXY_GATEWAY, 503},
        {"49: no answer", NULL, MST_ERR_PROXY_TIMEOUT, 0},
        {"50: a refusal with a body",
         "HTTP/1.1 407 No\r\nContent-Length: 30\r\n\r\n"
         "Proxy authentication required.",
         MST_ERR_PROXY_LOGIN, 407},
        {"50: one with half of it",
         "HTTP/1.1 403 No\r\nContent-Length: 30\r\n\r\nProxy",
         MST_ERR_PROXY_REFUSED, 403},
    };

    for (size_t i = 0; i < COUNT(cases); i++) {
        const char *name = cases[i].name;

        session_begin();
        session.config.ws_url = "ws://" SERVICE_WS_HOST;
        session.config.auth_url = "http://" SERVICE_AUTH_HOST;
        session.config.flags |= MST_ALLOW_PLAIN;
        proxy_peer_begin("http://user:word@proxy.example");
        proxy_peer.answer = cases[i].answer;
        session_start();
        if (cases[i].error == 0) {
            session_run(500);
            expect_int(name, 0, session.seen.events[MST_EVENT_CLOSED]);
            continue;
        }
        session_until_closed(name, SESSION_MINUTE, cases[i].error,
                             MST_STATE_CONNECT);
        expect_int(name, cases[i].detail, session.seen.closed.detail);
        session_run(SESSION_HOUR);
        assert_in_range(proxy_peer.asked, 2, 240);
        proxy_peer.answer = PROXY_PEER_TUNNEL;
        if (!session_until(MST_EVENT_OPEN, 5 * SESSION_MINUTE + 5000)) {
            expect_failed("%s: does not come back", name);
        }
    }
}

RUN_SESSIONS(NULL, NULL)
