/*
 * The life of tokens and credentials: fetched ahead of expiry, stored over
 * restarts, refused, replaced.
 *
 * SPDX-License-Identifier: 0BSD
 */
#include "session.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TOKEN_BODY(expires)                            \
    "{\"access_token\":\"" SERVICE_TOKEN "\"," expires \
    "\"token_type\":\"bearer\"}"

static void begin(bool two_links)
{
    session_begin();
    if (two_links) {
        session_two_links();
    }
}

static void start(void)
{
    session_start();
    session_subscribe();
    assert_true(session_until_subscribed(10000));
}

/* The stream is as it was when it began. */
static void expect_undisturbed(const char *name)
{
    expect_int(name, 1, mst_client_stats(&session.client)->opens);
    expect_int(name, MST_STATE_OPEN, mst_client_state(&session.client));
    if (!session_subscribed()) {
        expect_failed("%s: not subscribed", name);
    }
}

static void expect_tokens(const char *name, uint64_t count)
{
    expect_int(name, (long long)count, (long long)session.service.tokens.count);
}

/* ---- ahead of its end ---- */

/* With a second link a token is fetched when a tenth of its life is left, or
 * 5 minutes, while the stream goes on. */
static void test_fetched_ahead(void **state)
{
    static const struct {
        const char *body;
        uint32_t ahead_s; /* when, after the token; 0: never */
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

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        uint64_t took_ms;

        begin(true);
        session.service.token_body = cases[i].body;
        start();
        took_ms = session.service.tokens.last_ms;
        session_run(cases[i].ahead_s > 0 ? cases[i].ahead_s * 1000 - 5000
                                         : 90000 * 1000u);
        expect_tokens(cases[i].body, 1);
        session_run(6000);
        expect_tokens(cases[i].body, cases[i].ahead_s > 0 ? 2 : 1);
        if (cases[i].ahead_s > 0) {
            expect_int(cases[i].body, cases[i].ahead_s,
                       (long long)(session.service.tokens.last_ms - took_ms) /
                           1000);
        }
        expect_undisturbed(cases[i].body);
        session_end();
    }
}

/* What was fetched ahead serves the next connection, which needs no other. */
static void test_used_at_next_connect(void **state)
{
    (void)state;
    begin(true);
    start();
    session_run(3000 * 1000);
    session.service.token_value = "the-second";
    session_run(400 * 1000);
    expect_tokens("ahead", 2);
    expect_undisturbed("ahead");
    service_end(&session.service, MST_ERR_EOF);
    assert_true(session_until(MST_EVENT_OPEN, 5000));
    assert_true(session_until_subscribed(5000));
    expect_tokens("in all", 2);
    session_end();
}

/* One link streams on, and fetches a token when it must connect. */
static void test_one_link(void **state)
{
    (void)state;
    begin(false);
    start();
    session_run(2 * SESSION_HOUR);
    expect_tokens("while it streams", 1);
    expect_undisturbed("while it streams");
    session.service.token_value = "the-second";
    service_end(&session.service, MST_ERR_EOF);
    assert_true(session_until(MST_EVENT_OPEN, 100));
    expect_tokens("in all", 2);
    assert_true(session_until_subscribed(5000));
    session_end();
}

/* A service that ends a stream with its token: it is opened anew at once,
 * with a fresh one. */
static void test_closed_at_expiry(void **state)
{
    (void)state;
    for (int two = 0; two < 2; two++) {
        begin(two);
        session.service.rules.expire = true;
        start();
        for (int i = 0; i < 10; i++) {
            if (!session_until(MST_EVENT_CLOSED, 2 * SESSION_HOUR)) {
                expect_failed("was not closed");
            }
            expect_int("wait", 0, session.seen.closed.retry_ms);
            if (!session_until(MST_EVENT_OPEN, 100)) {
                expect_failed("%d links: not open at once", two + 1);
                session_until(MST_EVENT_OPEN, SESSION_MINUTE);
            }
            if (!session_until_subscribed(5000)) {
                expect_failed("not subscribed");
            }
        }
        expect_int("opens", 11, mst_client_stats(&session.client)->opens);
        assert_in_range(session.service.tokens.count, 11, 12);
        session_end();
    }
}

/* One that was fetched ahead, and has ended unused, is not offered: the next
 * ones could not be had. */
static void test_ended_unused(void **state)
{
    (void)state;
    begin(true);
    start();
    session_run(3400 * 1000);
    expect_tokens("ahead", 2);
    session.service.token.status = 500;
    session_run(2 * SESSION_HOUR);
    session.service.token.status = 0;
    session.service.token_value = "the-third";
    service_end(&session.service, MST_ERR_EOF);
    assert_true(session_until(MST_EVENT_OPEN, 5000));
    expect_int("upgrades", 2, (long long)session.service.upgrades.count);
    session_end();
}

/* One that lives for no time at all serves for a handover, once. */
static void test_handover_with_short_tokens(void **state)
{
    (void)state;
    begin(true);
    session.config.rotate_ms = SESSION_MINUTE;
    session.service.token_body = TOKEN_BODY("\"expires_in\":0,");
    start();
    session_run(SESSION_HOUR);
    assert_in_range(mst_client_stats(&session.client)->rotations, 50, 60);
    assert_in_range(session.service.tokens.count, 50, 62);
    session_end();
}

/* A service that ends it long before, over and over, is not stormed. */
static void test_not_stormed(void **state)
{
    (void)state;
    begin(true);
    session.service.token_body = TOKEN_BODY("\"expires_in\":1,");
    start();
    for (int i = 0; i < 200; i++) {
        service_end(&session.service, MST_ERR_EOF);
        session_run(1000);
    }
    assert_in_range(session.service.tokens.count, 5, 25);
    session_end();
}

/* ---- a refresh that fails ---- */

static const char refused[] = "HTTP/1.1 401 Unauthorized\r\n"
                              "Content-Length: 26\r\n\r\n"
                              "{\"error\":\"invalid_client\"}";

/* The stream goes on with the token it has, and reconnects with it. */
static void test_failing_refresh(void **state)
{
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
        {"invalid_client", {.raw = refused}},
        {"no answer", {.never = true}},
        {"not HTTP", {.raw = "hello\r\n"}},
        {"cut off",
         {.raw = "HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n"
                 "{\"access_token\":\"bad-token-bad",
          .raw_end = MST_ERR_RESET}},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        begin(true);
        start();
        session_run(3200 * 1000);
        session.service.token = cases[i].script;
        session_run(200 * 1000);
        assert_true(session.service.tokens.count >= 2);
        expect_undisturbed(cases[i].name);
        expect_int(cases[i].name, 1, mst_client_stats(&session.client)->tokens);
        assert_true(session.seen.events[MST_EVENT_CLOSED] > 0);

        service_end(&session.service, MST_ERR_EOF);
        if (!session_until(MST_EVENT_OPEN, 2000) ||
            !session_until_subscribed(5000)) {
            expect_failed("%s: not with the token it has", cases[i].name);
        }
        expect_int(cases[i].name, 1, mst_client_stats(&session.client)->tokens);

        session.service.token = (struct service_script){0};
        session_run(10 * SESSION_MINUTE);
        expect_int(cases[i].name, 2, mst_client_stats(&session.client)->tokens);
        session_end();
    }
}

/* A permanent error of the refresh is reported once, not at each attempt. */
static void test_permanent_refresh_error(void **state)
{
    (void)state;
    begin(true);
    start();
    session.service.token.raw = refused;
    session_run(3 * SESSION_HOUR);
    expect_int("closed", 1, session.seen.events[MST_EVENT_CLOSED]);
    expect_int("permanent", true, session.seen.closed.permanent);
    assert_in_range(session.service.tokens.count, 20, 45);
    expect_undisturbed("stream");
    session_end();
}

/* ---- two links, two rooms for tokens ---- */

static struct {
    int (*send)(void *context, int link, const void *data, size_t len);
    size_t left;
} stall;

/* Link 0 takes so many bytes, link 1 all. */
static int send_of_one_link(void *context, int link, const void *data,
                            size_t len)
{
    bool *stalled = &session.mock.plan.send_stall;
    int n;

    if (link != 0) {
        bool was = *stalled;
        *stalled = false;
        n = stall.send(context, link, data, len);
        *stalled = was;
        return n;
    }
    *stalled = stall.left == 0;
    n = stall.send(context, link, data,
                   len < stall.left || stall.left == 0 ? len : stall.left);
    stall.left -= n > 0 ? (size_t)n : 0;
    *stalled = stall.left == 0;
    return n;
}

static void stall_begin(void)
{
    stall.send = session.port.send;
    stall.left = SIZE_MAX;
    session.port.send = send_of_one_link;
}

static void stall_after(size_t bytes)
{
    stall.left = bytes;
    session.mock.plan.send_stall = bytes == 0;
}

/* A token that comes while the other link writes its upgrade request, which is
 * longer than its buffer: it has one token, whole, wherever it stalls. */
static void test_token_while_upgrading(void **state)
{
    static char token[1501];

    (void)state;
    memset(token, 't', sizeof token - 1);
    for (size_t at = 0; at < 1700; at += 23) {
        begin(true);
        session.service.expires_in = 600;
        session.service.token_value = token;
        stall_begin();
        start();
        session_run((600 - 60 - 3) * 1000);
        expect_tokens("before", 1);
        stall_after(at);
        service_end(&session.service, MST_ERR_EOF);
        session_run(6000);
        expect_tokens("ahead", 2);
        stall_after(SIZE_MAX);
        if (!session_until_subscribed(3000)) {
            expect_failed("at %zu: not subscribed", at);
        }
        if (session.service.wrong[0] != '\0') {
            expect_failed("at %zu: %s", at, session.service.wrong);
            session.service.wrong[0] = '\0';
        }
        session_end();
    }
}

/* ---- the store ---- */

#define STORE_SLOTS 4

/* A port's store: kept over restarts, one token a key. */
static struct {
    struct {
        uint32_t key;
        char token[MST_TOKEN_MAX];
        size_t len;
        int64_t until_s;
    } slots[STORE_SLOTS];
    size_t used;
    unsigned loads, saves;
    int answer; /* instead of the length, if not 0 */
} store;

static size_t store_slot(uint32_t key)
{
    size_t i = 0;

    while (i < store.used && store.slots[i].key != key) {
        i++;
    }
    return i;
}

static int store_load(void *context, uint32_t key, char *token, size_t cap,
                      int64_t *until_s)
{
    size_t i = store_slot(key);

    assert_ptr_equal(context, &session.mock);
    store.loads++;
    if (i == store.used) {
        return 0;
    }
    assert_true(store.slots[i].len <= cap);
    memcpy(token, store.slots[i].token, store.slots[i].len);
    *until_s = store.slots[i].until_s;
    return store.answer != 0 ? store.answer : (int)store.slots[i].len;
}

static void store_save(void *context, uint32_t key, const char *token,
                       size_t len, int64_t until_s)
{
    size_t i = store_slot(key);

    assert_ptr_equal(context, &session.mock);
    assert_in_range(len, 0, MST_TOKEN_MAX);
    assert_in_range(i, 0, STORE_SLOTS - 1);
    store.saves++;
    store.used += i == store.used;
    store.slots[i].key = key;
    if (len > 0) {
        memcpy(store.slots[i].token, token, len);
    }
    store.slots[i].len = len;
    store.slots[i].until_s = until_s;
}

static void store_begin(bool two_links)
{
    memset(&store, 0, sizeof store);
    begin(two_links);
    session.port.token_load = store_load;
    session.port.token_save = store_save;
}

/* The power goes, and comes back. */
static void reboot(void)
{
    mst_client_wipe(&session.client);
    session_run(0);
    session_start();
    session_subscribe();
}

static int64_t wall_s(void)
{
    return mst_mock_wall(&session.mock) / 1000000000;
}

/* The store holds this token, and no other. */
static void expect_stored(const char *token)
{
    size_t held = 0;

    for (size_t i = 0; i < store.used; i++) {
        held += store.slots[i].len > 0;
        if (store.slots[i].len > 0 &&
            (store.slots[i].len != strlen(token) ||
             memcmp(store.slots[i].token, token, strlen(token)) != 0)) {
            expect_failed("stored: %.*s", (int)store.slots[i].len,
                          store.slots[i].token);
        }
    }
    expect_int("tokens stored", token[0] != '\0', (long long)held);
}

static void test_boot_loop(void **state)
{
    (void)state;
    for (int two = 0; two < 2; two++) {
        store_begin(two);
        start();
        expect_stored(SERVICE_TOKEN);
        assert_in_range(store.slots[0].until_s, wall_s() + 3590,
                        wall_s() + 3600);
        for (int i = 0; i < 100; i++) {
            reboot();
            assert_true(session_until_subscribed(10000));
            session_run(2000);
        }
        expect_tokens("one token for 101 boots", 1);
        expect_int("loads", 101, store.loads);
        expect_int("saves", 1, store.saves);
        session_end();
        /* Closed in good order: it is good for the next start all the same. */
        expect_stored(SERVICE_TOKEN);
    }
}

/* A loaded token has its old end: the next one is fetched ahead of it, and
 * stored. */
static void test_loaded_token_ends(void **state)
{
    (void)state;
    store_begin(true);
    start();
    session_run(1000 * 1000);
    reboot();
    assert_true(session_until_subscribed(10000));
    session.service.token_value = "the-second";
    session_run(2200 * 1000);
    expect_tokens("not yet", 1);
    session_run(200 * 1000);
    expect_tokens("ahead of its end", 2);
    expect_stored("the-second");
    expect_int("closed", 0, session.seen.events[MST_EVENT_CLOSED]);

    /* Off for longer than it lives. */
    mst_client_wipe(&session.client);
    mst_mock_advance(&session.mock, 2 * SESSION_HOUR);
    session.service.token_value = "the-third";
    start();
    expect_tokens("after a long night", 3);
    expect_stored("the-third");
    session_end();
}

/* What the store may come up with: none of it is used, a token is fetched. */
static void test_bad_store(void **state)
{
    static const char long_token[MST_TOKEN_MAX];
    static const struct {
        const char *name, *token;
        size_t len;
        int64_t until_s; /* from now */
        int answer;
    } cases[] = {
        {"nothing", "", 0, 100, 0},
        {"expired", BYTES(SERVICE_TOKEN), -1, 0},
        {"expires now", BYTES(SERVICE_TOKEN), 0, 0},
        {"expires within the margin", BYTES(SERVICE_TOKEN), 20, 0},
        {"too far ahead", BYTES(SERVICE_TOKEN), 86402, 0},
        {"NUL", BYTES("abc\0def"), 3000, 0},
        {"NUL only", BYTES("\0"), 3000, 0},
        {"CR", BYTES("abc\r\nX: y"), 3000, 0},
        {"blank", BYTES("abc def"), 3000, 0},
        {"tab", BYTES("abc\tdef"), 3000, 0},
        {"DEL", BYTES("abc\x7F"), 3000, 0},
        {"8 bits", BYTES("abc\xC3\xA4"), 3000, 0},
        {"flash that was erased", BYTES("\xFF\xFF\xFF\xFF"), 3000, 0},
        {"longest, of NULs", long_token, sizeof long_token, 3000, 0},
        {"longer than there is room", BYTES(SERVICE_TOKEN), 3000,
         MST_TOKEN_MAX + 1},
        {"absurdly long", BYTES(SERVICE_TOKEN), 3000, INT32_MAX},
        {"error", BYTES(SERVICE_TOKEN), 3000, MST_ERR_PORT},
        {"least", BYTES(SERVICE_TOKEN), 3000, INT32_MIN},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        store_begin(i % 2);
        start();
        assert_int_equal(store.used, 1);
        memcpy(store.slots[0].token, cases[i].token, cases[i].len);
        store.slots[0].len = cases[i].len;
        store.slots[0].until_s = wall_s() + cases[i].until_s;
        store.answer = cases[i].answer;
        reboot();
        if (!session_until_subscribed(10000)) {
            expect_failed("%s: not subscribed", cases[i].name);
        }
        expect_tokens(cases[i].name, 2);
        expect_int(cases[i].name, 0, session.seen.events[MST_EVENT_CLOSED]);
        store.answer = 0;
        expect_stored(SERVICE_TOKEN);
        session_end();
    }
}

/* Times that no clock has. */
static void test_bad_store_times(void **state)
{
    static const int64_t times[] = {INT64_MIN, INT64_MIN + 1, -1,
                                    0,         INT64_MAX - 1, INT64_MAX};

    (void)state;
    for (size_t i = 0; i < COUNT(times); i++) {
        store_begin(false);
        start();
        store.slots[0].until_s = times[i];
        reboot();
        assert_true(session_until_subscribed(10000));
        expect_tokens("time", 2);
        session_end();
    }
}

/* The longest token, to the byte. */
static void test_longest_stored_token(void **state)
{
    static char token[MST_TOKEN_MAX + 1];

    (void)state;
    memset(token, 'x', MST_TOKEN_MAX);
    store_begin(false);
    session.service.token_value = token;
    start();
    reboot();
    assert_true(session_until_subscribed(10000));
    expect_tokens("one", 1);
    expect_int("high", MST_TOKEN_MAX,
               mst_client_stats(&session.client)->high.token);
    session_end();
}

/* Stored for another service, or another client: not offered to this one. */
static void test_foreign_key(void **state)
{
    (void)state;
    store_begin(false);
    start();
    mst_client_wipe(&session.client);
    session.config.auth_url = "https://" SERVICE_AUTH_HOST "/";
    start();
    expect_tokens("other URL", 2);
    expect_int("keys", 2, (long long)store.used);
    session_end();
}

/* What cannot be known to end is not stored. */
static void test_not_stored(void **state)
{
    (void)state;
    store_begin(false);
    session.service.token_body = TOKEN_BODY("");
    start();
    expect_stored("");
    session_end();
}

/* A store that only gives, or only takes. */
static void test_half_a_store(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        store_begin(false);
        *(i == 0 ? (void **)&session.port.token_load
                 : (void **)&session.port.token_save) = NULL;
        start();
        reboot();
        assert_true(session_until_subscribed(10000));
        expect_tokens("half a store", 2);
        session_end();
    }
}

/* A stored token may have been revoked, or have too narrow a scope: it is
 * dropped and fetched anew, once. */
static void test_refused_stored_token(void **state)
{
    static const char *const refusals[] = {
        "HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\n\r\n",
        "HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n"};

    (void)state;
    for (size_t i = 0; i < COUNT(refusals); i++) {
        /* The new one is better. */
        store_begin(i % 2);
        start();
        session.service.upgrade.raw = refusals[i];
        session.service.upgrade.raw_times = 1;
        reboot();
        session_run(1);
        expect_tokens("fetched anew at once", 2);
        expect_int("saves", 3, store.saves); /* dropped, and the new one */
        assert_true(session_until_subscribed(10000));
        expect_stored(SERVICE_TOKEN);
        expect_int("closed", 1, session.seen.events[MST_EVENT_CLOSED]);
        expect_int("permanent", false, session.seen.closed.permanent);
        session_end();

        /* The new one is no better. */
        store_begin(i % 2);
        start();
        session.service.upgrade.raw = refusals[i];
        reboot();
        session_run(2 * SESSION_HOUR);
        expect_stored("");
        if (i == 0) {
            expect_int("error", MST_ERR_UNAUTHORIZED,
                       session.seen.closed.error);
        } else {
            session_expect_closed("new", MST_ERR_FORBIDDEN, MST_STATE_UPGRADE);
            expect_int("permanent", true, session.seen.closed.permanent);
            expect_int("reports", 2, session.seen.events[MST_EVENT_CLOSED]);
            assert_in_range(session.service.tokens.count, 20, 40);
        }
        session_end();
    }
}

/* What the token endpoint forbids is not the stored token's fault. */
static void test_forbidden_after_load(void **state)
{
    (void)state;
    store_begin(false);
    start();
    session_run(3500 * 1000);
    reboot();
    assert_true(session_until_subscribed(10000));
    expect_tokens("loaded", 1);
    session_run(SESSION_HOUR);
    session.service.token.status = 403;
    service_end(&session.service, MST_ERR_EOF);
    session_run(SESSION_HOUR);
    session_expect_closed("403", MST_ERR_FORBIDDEN, MST_STATE_TOKEN);
    expect_int("permanent", true, session.seen.closed.permanent);
    assert_in_range(session.service.tokens.count, 10, 20);
    session_end();
}

/* ---- other credentials ---- */

static char *copy_of(const char *text)
{
    size_t len = strlen(text) + 1;
    char *copy = malloc(len);

    assert_non_null(copy);
    memcpy(copy, text, len);
    return copy;
}

static struct {
    char *id, *secret;
} owned;

static void own(const char *id, const char *secret)
{
    owned.id = copy_of(id);
    owned.secret = copy_of(secret);
}

static void disown(void)
{
    free(owned.id);
    free(owned.secret);
    owned.id = owned.secret = NULL;
}

/* Replaces them; the old ones are gone once the call returns. */
static void replace(const char *id, const char *secret)
{
    char *old_id = owned.id, *old_secret = owned.secret;

    own(id, secret);
    assert_int_equal(
        mst_set_credentials(&session.client, owned.id, owned.secret), 0);
    memset(old_id, '!', strlen(old_id));
    memset(old_secret, '!', strlen(old_secret));
    free(old_id);
    free(old_secret);
}

static void owned_begin(bool two_links)
{
    begin(two_links);
    own(SERVICE_ID, SERVICE_SECRET);
    session.config.client_id = owned.id;
    session.config.client_secret = owned.secret;
    session_start();
    session_subscribe();
}

/* What holds a session up in a state. */
static void hold(enum mst_state state, bool held)
{
    struct service *service = &session.service;
    struct mst_mock_plan *plan = &session.mock.plan;

    switch (state) {
    case MST_STATE_RESOLVE:
        plan->resolve_error = held ? MST_MOCK_NEVER : 0;
        break;
    case MST_STATE_CONNECT:
        plan->connect_error[0] = held ? MST_MOCK_NEVER : 0;
        break;
    case MST_STATE_TOKEN: service->token.never = held; break;
    case MST_STATE_UPGRADE: service->upgrade.never = held; break;
    case MST_STATE_CLOSING: plan->send_stall = held; break;
    default: break;
    }
}

static void test_replaced_in_every_state(void **state)
{
    static const enum mst_state states[] = {
        MST_STATE_WAIT,   MST_STATE_RESOLVE, MST_STATE_CONNECT,
        MST_STATE_TOKEN,  MST_STATE_UPGRADE, MST_STATE_OPEN,
        MST_STATE_CLOSING};

    (void)state;
    for (size_t i = 0; i < 2 * COUNT(states); i++) {
        enum mst_state at = states[i / 2];
        const char *name = mst_state_name(at);
        uint64_t tokens;

        owned_begin(i % 2);
        if (at == MST_STATE_OPEN || at == MST_STATE_CLOSING) {
            assert_true(session_until_subscribed(10000));
        }
        hold(at, true);
        if (at == MST_STATE_CLOSING) {
            service_close(&session.service, 1001, "bye");
        }
        if (at != MST_STATE_WAIT) {
            session_run(500);
        }
        expect_int(name, at, mst_client_state(&session.client));
        tokens = session.service.tokens.count;
        replace(SERVICE_ID, SERVICE_SECRET);
        hold(at, false);
        if (at == MST_STATE_OPEN) {
            session_run(SESSION_HOUR);
            expect_undisturbed(name);
            service_end(&session.service, MST_ERR_EOF);
            session_run(5000);
        }
        if (!session_until_subscribed(10000)) {
            expect_failed("%s: not subscribed", name);
        }
        /* None that was got with the old ones is used any more. */
        expect_tokens(name, tokens + 1);
        session_end();
        disown();
    }
}

/* While a request for a token is being written, at every byte of it. */
static void test_replaced_while_writing(void **state)
{
    (void)state;
    for (size_t at = 0; at < 450; at += 9) {
        session_begin();
        session_stall_after(at);
        own(SERVICE_ID, SERVICE_SECRET);
        session.config.client_id = owned.id;
        session.config.client_secret = owned.secret;
        session_start();
        session_subscribe();
        session_run(500);
        replace(SERVICE_ID, SERVICE_SECRET);
        session_unstall();
        if (!session_until_subscribed(10000)) {
            expect_failed("at %zu: not subscribed", at);
        }
        session_end();
        disown();
    }
}

/* While the second link fetches a token ahead with the old ones. */
static void test_replaced_while_fetching_ahead(void **state)
{
    (void)state;
    owned_begin(true);
    assert_true(session_until_subscribed(10000));
    session.service.token.never = true;
    session_run(3310 * 1000);
    expect_tokens("ahead", 2);
    replace(SERVICE_ID, SERVICE_SECRET);
    session.service.token.never = false;
    session_run(1000);
    expect_undisturbed("stream");
    service_end(&session.service, MST_ERR_EOF);
    session_run(2000);
    assert_true(session_until_subscribed(10000));
    expect_int("obtained", 2, mst_client_stats(&session.client)->tokens);
    session_end();
    disown();
}

/* A permanent error ends at once with other credentials; if they are as bad,
 * that is said as well. */
static void test_replaced_after_permanent_error(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        owned_begin(i == 1);
        session.service.token.raw = refused;
        session_run(5000);
        session_expect_closed("first", MST_ERR_TOKEN_REFUSED, MST_STATE_TOKEN);
        expect_int("permanent", true, session.seen.closed.permanent);
        expect_tokens("one attempt", 1);
        replace(SERVICE_ID, SERVICE_SECRET);
        session_run(1);
        expect_tokens("at once", 2);
        expect_int("reported", 2, session.seen.events[MST_EVENT_CLOSED]);

        /* Replaced while an attempt is under way. */
        session.service.token.delay_ms = 1000;
        session_run(10 * SESSION_MINUTE);
        expect_int("not again", 2, session.seen.events[MST_EVENT_CLOSED]);
        while (mst_client_state(&session.client) != MST_STATE_TOKEN) {
            session_run(500);
        }
        replace(SERVICE_ID, SERVICE_SECRET);
        session_run(5000);
        expect_int("but of these", 3, session.seen.events[MST_EVENT_CLOSED]);

        session.service.token = (struct service_script){0};
        replace(SERVICE_ID, SERVICE_SECRET);
        assert_true(session_until_subscribed(2000));
        session_end();
        disown();
    }
}

/* The token of the old ones is forgotten under their name. */
static void test_replaced_and_store(void **state)
{
    (void)state;
    store_begin(false);
    start();
    expect_stored(SERVICE_TOKEN);
    assert_int_equal(mst_set_credentials(&session.client, "another", "secret"),
                     0);
    session_run(1000);
    expect_stored("");
    expect_undisturbed("stream");
    session_end();
}

static void test_replaced_wrongly(void **state)
{
    static const char *const bad[][2] = {{NULL, SERVICE_SECRET},
                                         {SERVICE_ID, NULL},
                                         {"", SERVICE_SECRET},
                                         {SERVICE_ID, ""}};
    (void)state;
    begin(false);
    start();
    for (size_t i = 0; i < COUNT(bad); i++) {
        expect_int("refused", MST_ERR_CREDENTIALS,
                   mst_set_credentials(&session.client, bad[i][0], bad[i][1]));
    }
    service_end(&session.service, MST_ERR_EOF);
    session_run(5000);
    assert_true(session_until_subscribed(10000));
    expect_tokens("the token is kept", 1);
    session_end();
    expect_int("closed", MST_ERR_CLOSED,
               mst_set_credentials(&session.client, "a", "b"));
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        TEST(test_fetched_ahead),
        TEST(test_used_at_next_connect),
        TEST(test_one_link),
        TEST(test_closed_at_expiry),
        TEST(test_ended_unused),
        TEST(test_handover_with_short_tokens),
        TEST(test_not_stormed),
        TEST(test_failing_refresh),
        TEST(test_permanent_refresh_error),
        TEST(test_token_while_upgrading),
        TEST(test_boot_loop),
        TEST(test_loaded_token_ends),
        TEST(test_bad_store),
        TEST(test_bad_store_times),
        TEST(test_longest_stored_token),
        TEST(test_foreign_key),
        TEST(test_not_stored),
        TEST(test_half_a_store),
        TEST(test_refused_stored_token),
        TEST(test_forbidden_after_load),
        TEST(test_replaced_in_every_state),
        TEST(test_replaced_while_writing),
        TEST(test_replaced_while_fetching_ahead),
        TEST(test_replaced_after_permanent_error),
        TEST(test_replaced_and_store),
        TEST(test_replaced_wrongly),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
