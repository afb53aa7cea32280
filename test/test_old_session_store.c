/*
 * The port's store of the token: what outlasts a restart, and what is not
 * used of it.
 *
 * SPDX-License-Identifier: 0BSD
 */
#include "old_session.h"

#include <string.h>

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
    session_begin_links(two_links);
    session.port.token_load = store_load;
    session.port.token_save = store_save;
}

/* The power goes, and comes back. */
static void reboot(void)
{
    mst_old_client_wipe(&session.client);
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
        session_open();
        expect_stored(SERVICE_TOKEN);
        assert_in_range(store.slots[0].until_s, wall_s() + 3590,
                        wall_s() + 3600);
        for (int i = 0; i < 100; i++) {
            reboot();
            assert_true(session_until_subscribed(10000));
            session_run(2000);
        }
        session_expect_tokens("one token for 101 boots", 1);
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
    session_open();
    session_run(1000 * 1000);
    reboot();
    assert_true(session_until_subscribed(10000));
    session.service.token_value = "the-second";
    session_run(2200 * 1000);
    session_expect_tokens("not yet", 1);
    session_run(200 * 1000);
    session_expect_tokens("ahead of its end", 2);
    expect_stored("the-second");
    expect_int("closed", 0, session.seen.events[MST_EVENT_CLOSED]);

    /* Off for longer than it lives. */
    mst_old_client_wipe(&session.client);
    mst_mock_advance(&session.mock, 2 * SESSION_HOUR);
    session.service.token_value = "the-third";
    session_open();
    session_expect_tokens("after a long night", 3);
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
        session_open();
        assert_int_equal(store.used, 1);
        memcpy(store.slots[0].token, cases[i].token, cases[i].len);
        store.slots[0].len = cases[i].len;
        store.slots[0].until_s = wall_s() + cases[i].until_s;
        store.answer = cases[i].answer;
        reboot();
        if (!session_until_subscribed(10000)) {
            expect_failed("%s: not subscribed", cases[i].name);
        }
        session_expect_tokens(cases[i].name, 2);
        expect_int(cases[i].name, 0, session.seen.events[MST_EVENT_CLOSED]);
        store.answer = 0;
        expect_stored(SERVICE_TOKEN);
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
        session_open();
        session.service.upgrade.raw = refusals[i];
        session.service.upgrade.raw_times = 1;
        reboot();
        session_run(1);
        session_expect_tokens("fetched anew at once", 2);
        expect_int("saves", 3, store.saves); /* dropped, and the new one */
        assert_true(session_until_subscribed(10000));
        expect_stored(SERVICE_TOKEN);
        expect_int("closed", 1, session.seen.events[MST_EVENT_CLOSED]);
        expect_int("permanent", false, session.seen.closed.permanent);
        session_end();

        /* The new one is no better. */
        store_begin(i % 2);
        session_open();
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

int main(void)
{
    static const struct CMUnitTest tests[] = {
        TEST(test_boot_loop),
        TEST(test_loaded_token_ends),
        TEST(test_bad_store),
        TEST(test_refused_stored_token),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
