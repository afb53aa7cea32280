/*
 * The port's token store: what is kept over a restart, and when a stored token
 * is not used.
 *
 * SPDX-License-Identifier: 0BSD
 */
#include "session.h"

#define STORE_SLOTS 4

/* A port's store: kept over restarts, one token per key. */
static struct {
    struct {
        uint8_t key[MST_TOKEN_KEY_LEN];
        char token[MST_TOKEN_MAX];
        size_t len;
        int64_t until_s;
    } slots[STORE_SLOTS];
    size_t used;
    unsigned loads, saves;
    int answer; /* if not 0, in place of the length */
} store;

static size_t store_slot(const uint8_t key[MST_TOKEN_KEY_LEN]) {
    size_t i = 0;

    while (i < store.used &&
           memcmp(store.slots[i].key, key, MST_TOKEN_KEY_LEN) != 0) {
        i++;
    }
    return i;
}

static int store_load(void *context, const uint8_t key[MST_TOKEN_KEY_LEN],
                      char *token, size_t cap, int64_t *until_s) {
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

static void store_save(void *context, const uint8_t key[MST_TOKEN_KEY_LEN],
                       const char *token, size_t len, int64_t until_s) {
    size_t i = store_slot(key);

    assert_ptr_equal(context, &session.mock);
    assert_in_range(len, 0, MST_TOKEN_MAX);
    assert_in_range(i, 0, STORE_SLOTS - 1);
    store.saves++;
    store.used += i == store.used;
    memcpy(store.slots[i].key, key, MST_TOKEN_KEY_LEN);
    if (len > 0) {
        memcpy(store.slots[i].token, token, len);
    }
    store.slots[i].len = len;
    store.slots[i].until_s = until_s;
}

static void store_begin(void) {
    memset(&store, 0, sizeof store);
    session_begin();
    session.port.token_load = store_load;
    session.port.token_save = store_save;
}

static void store_open(enum session_kind kind) {
    store_begin();
    session_open_kind(kind);
}

/* Wipes everything, as a loss of power. */
static void wipe(void) {
    session_wipe();
    session_run(0);
}

/* Loses power, and starts again. */
static void reboot_kind(enum session_kind kind) {
    wipe();
    session_start_kind(kind);
    session_subscribe();
}

static void reboot(void) {
    reboot_kind(SESSION_CLIENT);
    assert_true(session_until_subscribed(10000));
}

static int64_t wall_s(void) {
    return mst_mock_wall(&session.mock) / 1000000000;
}

/* Expects this token in the store, and no other. */
static void expect_stored(const char *token) {
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
    expect_int("tokens stored", token[0] != '\0', held);
}

static void boot_loop(enum session_kind kind) {
    const char *name = session_kind_name(kind);

    store_open(kind);
    expect_stored(SERVICE_TOKEN);
    assert_in_range(store.slots[0].until_s, wall_s() + 3590, wall_s() + 3600);
    for (int i = 0; i < 100; i++) {
        reboot_kind(kind);
        assert_true(session_until_subscribed(10000));
        session_run(2000);
    }
    session_expect_tokens(name, 1); /* for 101 starts */
    expect_int(name, 1, store.saves);
    if (kind == SESSION_CLIENT) {
        expect_int(name, 101, store.loads);
    }
    session_end();
    /* Still stored after mst_close(), for the next start. */
    expect_stored(SERVICE_TOKEN);
}

TEST_CASE(test_boot_loop) {
    for (int kind = 0; kind < SESSION_KINDS; kind++) {
        boot_loop((enum session_kind)kind);
    }
}

/* A loaded token keeps its expiry. The next token is fetched before that, and
 * stored. */
static void loaded_token_ends(enum session_kind kind) {
    store_open(kind);
    session_run(1000 * 1000);
    reboot_kind(kind);
    assert_true(session_until_subscribed(10000));
    session.service.token_value = "the-second";
    session_run(2200 * 1000);
    session_expect_tokens("not yet", 1);
    session_run(200 * 1000);
    session_expect_tokens("ahead of its end", 2);
    expect_stored("the-second");
    session_expect_undisturbed("ahead of its end");

    /* Off for longer than the token's lifetime. */
    wipe();
    mst_mock_advance(&session.mock, 2 * SESSION_HOUR);
    session.service.token_value = "the-third";
    session_open_kind(kind);
    session_expect_tokens("after a long night", 3);
    expect_stored("the-third");
}

TEST_CASE(test_loaded_token_ends) {
    loaded_token_ends(SESSION_PAIR);
    loaded_token_ends(SESSION_BESIDE);
}

/* Invalid contents of the store are not used: a token is fetched. */
TEST_CASE(test_bad_store) {
    static const char long_token[MST_TOKEN_MAX];
    static const struct {
        const char *name, *token;
        size_t len;
        int64_t until_s; /* relative to now */
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

    for (size_t i = 0; i < COUNT(cases); i++) {
        store_open(SESSION_CLIENT);
        assert_int_equal(store.used, 1);
        memcpy(store.slots[0].token, cases[i].token, cases[i].len);
        store.slots[0].len = cases[i].len;
        store.slots[0].until_s = wall_s() + cases[i].until_s;
        store.answer = cases[i].answer;
        reboot_kind(SESSION_CLIENT);
        session_expect_subscribed(10000, "%s", cases[i].name);
        session_expect_tokens(cases[i].name, 2);
        expect_int(cases[i].name, 0, session.seen.events[MST_EVENT_CLOSED]);
        store.answer = 0;
        expect_stored(SERVICE_TOKEN);
    }
}

/* A lifetime of exactly a day is accepted. */
TEST_CASE(test_store_a_day_ahead) {
    store_open(SESSION_CLIENT);
    store.slots[0].until_s = wall_s() + 86400;
    reboot();
    session_expect_tokens("a day ahead", 1);
}

/* Expiry times that no clock has. */
TEST_CASE(test_bad_store_times) {
    static const int64_t times[] = {INT64_MIN, INT64_MIN + 1, -1,
                                    0,         INT64_MAX - 1, INT64_MAX};

    for (size_t i = 0; i < COUNT(times); i++) {
        store_open(SESSION_CLIENT);
        store.slots[0].until_s = times[i];
        reboot();
        session_expect_tokens("time", 2);
    }
}

/* The longest possible token. */
TEST_CASE(test_longest_stored_token) {
    store_begin();
    session.service.token_value = repeated("x", MST_TOKEN_MAX);
    session_open();
    reboot();
    session_expect_tokens("one", 1);
    expect_int("high", MST_TOKEN_MAX, session_stats()->high.token);
}

/* A token stored for another service or client is not used. */
TEST_CASE(test_foreign_key) {
    store_open(SESSION_CLIENT);
    mst_client_wipe(&session.client);
    session.config.auth_url = "https://" SERVICE_AUTH_HOST "/";
    session_open();
    session_expect_tokens("other URL", 2);
    expect_int("keys", 2, store.used);
}

/* A token without an expiry is not stored. */
TEST_CASE(test_not_stored) {
    store_begin();
    session.service.token_body = SERVICE_ENDLESS;
    session_open();
    expect_stored("");
}

/* A store that only loads, or only saves. */
TEST_CASE(test_half_a_store) {
    for (int i = 0; i < 2; i++) {
        store_begin();
        *(i == 0 ? (void **)&session.port.token_load
                 : (void **)&session.port.token_save) = NULL;
        session_open();
        reboot();
        session_expect_tokens("half a store", 2);
    }
}

static const char *const refusals[] = {SERVICE_EMPTY("401 Unauthorized"),
                                       SERVICE_EMPTY("403 Forbidden")};

/* A stored token may have been revoked, or lack a scope: it is discarded and
 * replaced, once. */
static void refused_once(const char *refusal, enum session_kind kind) {
    store_open(kind);
    service_answer(&session.service.upgrade, refusal, 1, 0);
    reboot_kind(kind);
    session_run(1);
    session_expect_tokens("fetched anew at once", 2);
    expect_int("saves", 3, store.saves); /* discarded, and the new one */
    assert_true(session_until_subscribed(10000));
    expect_stored(SERVICE_TOKEN);
    expect_int("closed", 1, session.seen.events[MST_EVENT_CLOSED]);
    expect_int("permanent", false, session.seen.closed.permanent);
}

/* The new token is refused too. */
static void refused_for_long(int which, enum session_kind kind) {
    store_open(kind);
    session.service.upgrade.raw = refusals[which];
    reboot_kind(kind);
    session_run(2 * SESSION_HOUR);
    expect_stored("");
    if (which == 0) {
        expect_int("error", MST_ERR_UNAUTHORIZED, session.seen.closed.error);
    } else {
        session_expect_closed("new", MST_ERR_FORBIDDEN, MST_STATE_UPGRADE);
        expect_int("permanent", true, session.seen.closed.permanent);
        expect_int("reports", 2, session.seen.events[MST_EVENT_CLOSED]);
        assert_in_range(session.service.tokens.count, 20, 40);
    }
}

TEST_CASE(test_refused_stored_token) {
    static const enum session_kind kinds[] = {SESSION_CLIENT, SESSION_PAIR,
                                              SESSION_BESIDE};

    for (size_t i = 0; i < COUNT(refusals) * COUNT(kinds); i++) {
        refused_once(refusals[i % 2], kinds[i / 2]);
        refused_for_long((int)i % 2, kinds[i / 2]);
    }
}

/* A refusal of the token endpoint does not discard the stored token. */
TEST_CASE(test_forbidden_after_load) {
    store_open(SESSION_CLIENT);
    session_run(3500 * 1000);
    reboot();
    session_expect_tokens("loaded", 1);
    session_run(SESSION_HOUR);
    session.service.token.status = 403;
    service_end(&session.service, MST_ERR_EOF);
    session_run(SESSION_HOUR);
    session_expect_closed("403", MST_ERR_FORBIDDEN, MST_STATE_TOKEN);
    expect_int("permanent", true, session.seen.closed.permanent);
    assert_in_range(session.service.tokens.count, 10, 20);
}

/* The same for an address. The text of the refusal is not reported for the next
 * attempt, which uses a new token. */
TEST_CASE(test_forbidden_address_after_load) {
    const struct mst_address_result *result = &session.seen.address;

    for (int fails = 0; fails < 2; fails++) {
        store_begin();
        session.config.ws_url = NULL;
        session.request =
            (struct mst_address_request){.id = "an-id", .nickname = "cold"};
        session_put_and_wait("stored");
        mst_transfer_wipe(&session.transfer);
        session_run(0);
        service_answer(&session.service.address,
                       "HTTP/1.1 403 No\r\nContent-Length: 29\r\n\r\n"
                       "{\"title\":\"No\",\"status\":403}  ",
                       1, 0);
        session.service.token.status = fails > 0 ? 503 : 0;
        session_start_transfer();
        session_put_and_wait("with the stored one");
        expect_int("status", fails > 0 ? 503 : 200, result->http_status);
        expect_int("problem", 0, session.seen.problem.status);
        expect_int("body", fails == 0, result->body_len > 0);
    }
}

/* A transfer that fetches tokens early for a client does not ask the store for
 * its own token. */
TEST_CASE(test_idle_transfer_beside_a_store) {
    store_begin();
    session.service.expires_in = 3600;
    session.request =
        (struct mst_address_request){.id = "an-id", .nickname = "cold"};
    session_put_and_wait("its token is stored");
    mst_transfer_wipe(&session.transfer);
    session_run(0);
    session.service.expires_in = 600;
    session_open();
    session_start_transfer();
    session_run(560000);
    expect_int("fetched ahead", 2, (long long)session.service.tokens.count - 1);
}

/* The old credentials' token is deleted under their key. */
TEST_CASE(test_replaced_and_store) {
    store_open(SESSION_CLIENT);
    expect_stored(SERVICE_TOKEN);
    assert_int_equal(mst_access_set_credentials(&session.client.link.own,
                                                "another", "secret"),
                     0);
    session_run(1000);
    expect_stored("");
    expect_int("the stream goes on", 1, session_stats()->opens);
}

RUN_SESSIONS(NULL, NULL)
