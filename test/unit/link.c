/*
 * Parts of transport, access and link by themselves: names of TLS errors,
 * stored sessions, missing scopes, storage of tokens, random bytes, the wall
 * clock.
 *
 * SPDX-License-Identifier: 0BSD
 */
#include "mini_stream.c" /* NOLINT(bugprone-suspicious-include) */

#include "support.h"

static br_ssl_client_context tls;

TEST_CASE(every_error_of_tls_has_a_name_of_ours) {
    static const struct {
        int detail;
        unsigned char record;
        int error;
    } cases[] = {
        {BR_ERR_OK, 0, 0},
        {BR_ERR_X509_OK, TLS_HANDSHAKE, MST_ERR_TLS_PROTOCOL},
        {BR_ERR_X509_NOT_TRUSTED, TLS_HANDSHAKE, MST_ERR_TLS_ISSUER},
        {BR_ERR_X509_BAD_SERVER_NAME, TLS_HANDSHAKE, MST_ERR_TLS_NAME},
        {BR_ERR_X509_EXPIRED, TLS_HANDSHAKE, MST_ERR_TLS_TIME},
        {BR_ERR_X509_BAD_SIGNATURE, TLS_HANDSHAKE, MST_ERR_TLS_CERTIFICATE},
        {BR_ERR_X509_WEAK_PUBLIC_KEY, TLS_HANDSHAKE, MST_ERR_TLS_CERTIFICATE},
        {BR_ERR_UNSUPPORTED_VERSION, TLS_HANDSHAKE, MST_ERR_TLS_VERSION},
        {BR_ERR_UNSUPPORTED_VERSION, 'H', MST_ERR_TLS_PROTOCOL},
        {BR_ERR_BAD_MAC, 0, MST_ERR_TLS_PROTOCOL},
        {BR_ERR_RECV_FATAL_ALERT + BR_ALERT_PROTOCOL_VERSION, 0,
         MST_ERR_TLS_VERSION},
        {BR_ERR_RECV_FATAL_ALERT + BR_ALERT_HANDSHAKE_FAILURE, 0,
         MST_ERR_TLS_HANDSHAKE},
        {BR_ERR_RECV_FATAL_ALERT + BR_ALERT_INSUFFICIENT_SECURITY, 0,
         MST_ERR_TLS_HANDSHAKE},
        {BR_ERR_RECV_FATAL_ALERT + BR_ALERT_INTERNAL_ERROR, 0,
         MST_ERR_TLS_ALERT},
    };
    struct mst_transport t = {.tls = &tls, .secured = true};

    for (size_t i = 0; i < COUNT(cases); i++) {
        tls.eng.err = cases[i].detail;
        tls.eng.record_type_in = cases[i].record;
        expect_int(printed("BearSSL's %d", cases[i].detail), cases[i].error,
                   transport_error(&t));
    }
    tls.eng.err = BR_ERR_OK;
}

/* Prepares a handshake with so much room for a record. */
static void prepare(size_t in_size, bool aes_first) {
    static uint8_t in[MST_RECORD_IN_ANY], out[MST_RECORD_OUT_MIN];
    static const uint8_t entropy[32];
    static const struct mst_access access;
    static struct mst_validator validator;
    struct mst_transport t = {.tls = &tls,
                              .validator = &validator,
                              .aes = &br_aes_ct_ctr_vtable,
                              .aes_first = aes_first,
                              .in = in,
                              .in_size = in_size,
                              .out = out,
                              .out_size = sizeof out};

    transport_prepare(&t, &access, MST_CLOCK_MIN, entropy);
}

/* Short records are requested only if the buffer is too short for long ones. */
TEST_CASE(records_are_as_large_as_the_room_for_them) {
    prepare(MST_RECORD_IN_ANY, false);
    assert_int_equal(tls.eng.log_max_frag_len, TLS_FRAGMENT_ANY);
    prepare(MST_RECORD_IN_ANY - 1, false);
    assert_in_range(tls.eng.log_max_frag_len, 9, 12);
}

/* RFC 5288, 5289 and 7905; with instructions for AES, those first. */
TEST_CASE(six_suites_are_offered) {
    static const uint16_t suites[] = {0xCCA9, 0xCCA8, 0xC02B, 0xC02F,
                                      0xC02C, 0xC030, 0xCCA9, 0xCCA8};

    for (int aes = 0; aes < 2; aes++) {
        prepare(MST_RECORD_IN_MIN, aes);
        assert_int_equal(tls.eng.suites_num, 6);
        assert_memory_equal(tls.eng.suites_buf, suites + (aes ? 2 : 0),
                            6 * sizeof *suites);
    }
}

/* A session without an ID is not resumed. */
TEST_CASE(a_session_without_a_number_is_not_resumed) {
    struct mst_transport t = {.tls = &tls, .secured = true};
    struct mst_resume resume = {0};

    tls.eng.session.session_id_len = 0;
    assert_false(transport_keep(&t, &resume));
    assert_false(transport_keep(&t, &resume));
    tls.eng.session.session_id_len = 4;
    memcpy(tls.eng.session.session_id, "abcd", 4);
    assert_false(transport_keep(&t, &resume));
    assert_true(transport_keep(&t, &resume));
    memcpy(tls.eng.session.session_id, "abcx", 4);
    assert_false(transport_keep(&t, &resume));
}

/* Of one server more than fit, the last one replaces the first. */
TEST_CASE(the_oldest_session_gives_way) {
    const char *urls[MST_RESUMES + 2];
    struct mst_resume *kept[MST_RESUMES + 2];
    struct mst_access access = {0};

    for (unsigned i = 0; i < MST_RESUMES + 2; i++) {
        urls[i] = printed("https://host-%u", i);
        kept[i] = access_resume(&access, urls[i]);
        assert_int_equal(kept[i]->session.session_id_len, 0);
        kept[i]->session.session_id_len = 1;
        assert_ptr_equal(access_resume(&access, urls[i]), kept[i]);
        assert_int_equal(kept[i]->session.session_id_len, 1);
    }
    assert_ptr_not_equal(kept[MST_RESUMES], kept[MST_RESUMES + 1]);
    assert_ptr_equal(access_resume(&access, urls[MST_RESUMES]),
                     kept[MST_RESUMES]);
}

/* A session belongs to one server: whole host and port are compared. The first
 * two once had the same 32-bit hash. */
TEST_CASE(a_session_is_of_one_server) {
    static const struct {
        const char *url, *other;
        bool same;
    } cases[] = {
        {"https://b.x:8443", "wss://c.x:8444", false},
        {"https://host", "wss://host/path", true},
        {"https://host/path", "https://host", true},
        {"https://host/a", "https://host/b", true},
        {"https://host", "https://hosts", false},
        {"https://hosts", "https://host", false},
        {"https://host:8443", "https://host:8444", false},
        {"https://host:844", "https://host:8443", false},
        {"https://host", "https://host:443", false}, /* full handshake again */
    };

    for (size_t i = 0; i < COUNT(cases); i++) {
        struct mst_access access = {0};
        struct mst_resume *kept = access_resume(&access, cases[i].url);

        kept->session.session_id_len = 1;
        if ((access_resume(&access, cases[i].other) == kept) != cases[i].same) {
            expect_failed("%s and %s", cases[i].url, cases[i].other);
        }
    }
}

/* A session is discarded with the last object that has a URL of its server,
 * by which it is known. */
TEST_CASE(a_session_goes_with_its_server) {
    static struct mst_link links[2];
    static char urls[2][32] = {"https://auth/1", "https://auth/2"};
    static char storage[2][MST_TOKEN_ROOM];
    struct mst_access access = {.links = &links[0]};
    struct mst_resume *kept;

    memset(links, 0, sizeof links);
    for (unsigned i = 0; i < 2; i++) {
        links[i].access = &access;
        links[i].token = &access.tokens[0];
        links[i].storage = storage[i];
        links[i].config.scope = "a";
        links[i].config.auth_url = urls[i];
    }
    links[0].config.ws_url = "wss://stream";
    links[1].config.ws_url = "nothing"; /* ignored in a transfer */
    links[1].config.base_url = ":";
    links[0].next = &links[1];
    kept = access_resume(&access, urls[0]);
    kept->session.session_id_len = 1;
    access_resume(&access, links[0].config.ws_url)->session.session_id_len = 1;
    link_leave(&links[0]);
    memset(urls[0], '!', sizeof urls[0]);
    assert_int_equal(access_resume(&access, urls[1])->session.session_id_len,
                     1);
    assert_ptr_equal(access_resume(&access, urls[1]), kept);
    assert_ptr_equal(kept->url, urls[1]);
    for (unsigned i = 0; i < MST_RESUMES; i++) {
        assert_true(&access.resume[i] == kept || access.resume[i].url == NULL);
    }
    link_leave(&links[1]);
    assert_null(kept->url);
}

/* The key is half of a SHA-256 of service, client and scope, all in full. The
 * two clients once had the same 32-bit hash. */
TEST_CASE(a_stored_token_is_of_one_client) {
    static const uint8_t expected[MST_TOKEN_KEY_LEN] = {
        0x55, 0x04, 0xA2, 0x6A, 0x59, 0xA7, 0xF0, 0x42,
        0x76, 0x3D, 0xF6, 0xAF, 0xCF, 0x59, 0x38, 0x18};
    static const struct {
        const char *url, *id, *scope;
    } others[] = {
        {"https://auth.example", "client-426620", "a b"},
        {"https://auth.exampl", "eclient-15806", "a b"},
        {"https://auth.example", "client-15806a", " b"},
        {"https://auth.example", "client-15806", "a"},
    };
    struct mst_access access = {.client_id = "client-15806"};
    struct mst_link l = {.access = &access};
    uint8_t key[MST_TOKEN_KEY_LEN];

    l.config.auth_url = "https://auth.example";
    link_token_key(&l, "a b", key);
    assert_memory_equal(key, expected, sizeof key);
    for (size_t i = 0; i < COUNT(others); i++) {
        l.config.auth_url = others[i].url;
        access.client_id = others[i].id;
        link_token_key(&l, others[i].scope, key);
        assert_memory_not_equal(key, expected, sizeof key);
    }
}

/* A scope is a list of words with any number of spaces in between. */
TEST_CASE(a_scope_is_its_words) {
    static const struct {
        const char *list, *scope, *lacks;
    } cases[] = {
        {"a b c", "", ""},   {"a b c", "c a", ""},  {"a b c", " b  a ", ""},
        {"a b c", "  ", ""}, {"a b c", "a d", "d"}, {"a b c", "ab", "ab"},
        {"ab", "a", "a"},    {"", "a b", "a b"},    {"a b", "b  d  a", "d  a"},
    };

    for (size_t i = 0; i < COUNT(cases); i++) {
        expect_text(cases[i].scope, cases[i].lacks,
                    link_lacks(cases[i].list, cases[i].scope));
    }
}

/* Tokens of two scopes, valid for an hour, and three objects. */
static struct {
    struct mst_access access;
    struct mst_link links[3];
    char storage[3][MST_TOKEN_ROOM];
} shared;

static void share(unsigned index, const char *scope) {
    struct mst_token *t = &shared.access.tokens[index];

    t->scope = scope;
    memcpy(shared.storage[index], "token", sizeof "token");
    access_take(&shared.access, t, shared.storage[index], 5, 3600 * 1000);
    t->unused = false;
}

static void shared_begin(void) {
    memset(&shared, 0, sizeof shared);
    for (unsigned i = 3; i-- > 0;) {
        shared.links[i].storage = shared.storage[i];
        shared.links[i].next = shared.access.links;
        shared.access.links = &shared.links[i];
    }
    share(0, "a");
    share(1, "b");
}

/* A token is fetched into storage that is not in use. */
TEST_CASE(a_token_takes_the_place_of_none) {
    shared_begin();
    assert_ptr_equal(access_storage(&shared.access, &shared.links[2]),
                     shared.storage[2]);
    shared.links[1].reply.text = shared.storage[2];
    shared.access.fetching = &shared.links[1];
    assert_null(access_storage(&shared.access, &shared.links[2]));
    access_drop(&shared.access, &shared.access.tokens[1]);
    assert_ptr_equal(access_storage(&shared.access, &shared.links[2]),
                     shared.storage[1]);
    access_drop(&shared.access, &shared.access.tokens[0]);
    assert_ptr_equal(access_storage(&shared.access, &shared.links[2]),
                     shared.storage[0]);
}

/* When an object leaves, its storage goes, and another object's fetch into that
 * storage ends. */
TEST_CASE(a_fetch_ends_with_its_storage) {
    static const struct mst_link_user user = {.purpose = ACCESS_STREAM};
    struct mst_link *fetching = &shared.links[1];

    for (int i = 0; i < 2; i++) {
        shared_begin();
        for (int n = 0; n < 3; n++) {
            shared.links[n].user = &user;
            shared.links[n].access = &shared.access;
            shared.links[n].token = &shared.access.tokens[1];
            shared.links[n].config.scope = "b";
        }
        fetching->reply.token = fetching->token;
        fetching->reply.text = i == 0 ? shared.storage[2] : NULL;
        shared.access.fetching = fetching;
        link_leave(&shared.links[2]);
        assert_ptr_equal(shared.access.fetching, i == 0 ? NULL : fetching);
    }
}

/* A token is fetched early if there is storage besides the valid one's. */
TEST_CASE(a_token_ahead_leaves_the_good_one) {
    struct mst_access *a = &shared.access;

    shared_begin();
    assert_null(access_ageing(a, &shared.links[0]));
    a->tokens[1].renew_due = true;
    assert_ptr_equal(access_ageing(a, &shared.links[0]), &a->tokens[1]);
    a->tokens[0].renew_due = true;
    assert_ptr_equal(access_ageing(a, &shared.links[0]), &a->tokens[0]);
    shared.links[1].next = NULL;
    assert_null(access_ageing(a, &shared.links[0]));
    access_drop(a, &a->tokens[0]);
    assert_ptr_equal(access_ageing(a, &shared.links[0]), &a->tokens[0]);
}

/* A token with a short lifetime is not renewed early, whatever token was in its
 * place before. */
TEST_CASE(a_short_life_has_no_end_ahead) {
    struct mst_token *t = &shared.access.tokens[1];

    shared_begin();
    assert_true(t->renew.armed);
    access_take(&shared.access, t, shared.storage[2], 5, 1000);
    assert_false(t->renew.armed);
    assert_false(t->renew_due);
    assert_string_equal(shared.storage[1], "");
}

/* Without a token there is nothing to discard. */
TEST_CASE(a_token_is_dropped_once) {
    struct mst_token *t = &shared.access.tokens[1];

    shared_begin();
    t->save_due = false;
    access_drop(&shared.access, t);
    assert_string_equal(shared.storage[1], "");
    assert_int_equal(t->len, 0);
    assert_int_equal(t->serial, 2);
    assert_true(t->save_due);
    t->save_due = false;
    access_drop(&shared.access, t);
    assert_int_equal(t->serial, 2);
    assert_false(t->save_due);
}

/* A token without an expiry may always be used. */
TEST_CASE(a_token_without_an_end_lasts) {
    struct mst_token *t = &shared.access.tokens[1];

    shared_begin();
    assert_int_equal(access_use_left(&shared.access, t),
                     3600 * 1000 - ACCESS_MARGIN_MS);
    shared.access.now = 3600 * 1000;
    assert_int_equal(access_use_left(&shared.access, t), 0);
    access_take(&shared.access, t, shared.storage[2], 5, TIMER_NONE);
    assert_true(access_use_left(&shared.access, t) > LINK_SLEEP_MAX_MS);
}

/* Used random bytes may be a secret: they are wiped. */
TEST_CASE(random_bytes_are_used_once) {
    static const uint8_t gone[8];
    struct mst_link l = {.random.len = 20};
    uint8_t taken[8];

    for (uint8_t i = 0; i < 20; i++) {
        l.random.bytes[i] = (uint8_t)(i + 1);
    }
    assert_true(link_draw(&l, taken, sizeof taken));
    assert_int_equal(l.random.len, 12);
    assert_int_equal(taken[0], 13);
    assert_int_equal(taken[7], 20);
    assert_memory_equal(l.random.bytes + 12, gone, sizeof gone);
    assert_int_equal(l.random.bytes[11], 12);
    assert_true(link_draw(&l, taken, sizeof taken));
    assert_false(link_draw(&l, taken, sizeof taken)); /* four are left */
    assert_int_equal(l.random.len, 4);
}

/* The last call of token_save(). */
static struct {
    unsigned calls;
    size_t len;
    int64_t until_s;
} stored;

static void store(void *context, const uint8_t key[MST_TOKEN_KEY_LEN],
                  const char *token, size_t len, int64_t until_s) {
    (void)context;
    (void)key;
    assert_true(token != NULL || len == 0);
    stored.calls++;
    stored.len = len;
    stored.until_s = until_s;
}

/* A token is stored while it may be used, with its expiry by the wall clock. An
 * expired token removes the stored one, and so does a clock that is not set
 * yet. */
TEST_CASE(a_token_is_stored_while_it_is_good) {
    static const struct mst_port port = {.token_save = store};
    static const uint32_t life_ms = 3600 * 1000;
    static const struct {
        uint32_t left_ms;
        int64_t unix_s;
        size_t len;
    } cases[] = {
        {ACCESS_MARGIN_MS + 1, MST_CLOCK_MIN, 5},
        {ACCESS_MARGIN_MS, MST_CLOCK_MIN, 0},
        {ACCESS_MARGIN_MS + 1, MST_CLOCK_MIN - 1, 0},
    };
    struct mst_link l = {.port = &port, .access = &shared.access};

    for (size_t i = 0; i < COUNT(cases); i++) {
        shared_begin();
        shared.access.tokens[0].save_due = false;
        shared.access.now = life_ms - cases[i].left_ms;
        l.clock.unix_s = cases[i].unix_s;
        stored.calls = 0;
        link_save_tokens(&l);
        assert_int_equal(stored.calls, 1);
        assert_int_equal(stored.len, cases[i].len);
        if (cases[i].len > 0) {
            assert_int_equal(stored.until_s,
                             MST_CLOCK_MIN + cases[i].left_ms / 1000);
        }
        link_save_tokens(&l); /* all is stored */
        assert_int_equal(stored.calls, 1);
    }
}

/* Whole seconds since the wall clock was read. */
TEST_CASE(the_wall_clock_goes_on) {
    static const struct mst_port port = {.token_save = store};
    static const uint32_t passed_ms[] = {0, 86399999, 86400000};
    struct mst_link l = {.port = &port, .access = &shared.access};

    l.clock.unix_s = MST_CLOCK_MIN;
    l.clock.unix_ms = 500;
    for (size_t i = 0; i < COUNT(passed_ms); i++) {
        shared_begin();
        l.clock.elapsed_ms = 500 + passed_ms[i];
        link_save_tokens(&l);
        assert_int_equal(stored.until_s,
                         MST_CLOCK_MIN + passed_ms[i] / 1000 + 3600);
    }
}

/* The limit is three times the interval of heartbeats, however long that is,
 * but not longer than a timer can run. */
TEST_CASE(heartbeats_may_be_days_apart) {
    static const int64_t day_ms = 86400000;
    static const struct {
        int64_t apart_ms, limit_ms;
    } cases[] = {
        {1000, 15000}, {7 * 86400000, 21 * 86400000}, {9 * 86400000, 0}};
    static struct mst_client c;

    c.link.user = &client_user;
    c.link.config.heartbeat_ms = 15000;
    for (size_t i = 0; i < COUNT(cases); i++) {
        c.stream.beat_ns = day_ms * 1000000;
        client_take_beat(&c, (day_ms + cases[i].apart_ms) * 1000000);
        assert_int_equal(
            timer_left(&c.link.timers[MST_TIMER_BEAT], c.link.clock.now),
            cases[i].limit_ms > 0 ? cases[i].limit_ms : LINK_SLEEP_MAX_MS);
    }
}

static unsigned written;

static void count_write(const struct mst_link *l, struct out *o, bool masked) {
    (void)l;
    (void)o;
    assert_false(masked);
    written++;
}

/* Only with a trace is output written twice, to mask secrets. */
TEST_CASE(what_nobody_is_shown_is_written_once) {
    static const struct mst_link_user user = {.write = count_write};
    const struct mst_link l = {.user = &user, .state = MST_STATE_OPEN};
    struct out o = {NULL, 0, 0, 0};

    written = 0;
    link_write(&l, &o);
    assert_int_equal(written, 1);
}

static int asked;
static bool has_a_byte;

static int recv_byte(void *context, int link, void *data, size_t cap) {
    (void)context;
    (void)link;
    assert_true(cap > 1);
    *(char *)data = 'x';
    asked++;
    return has_a_byte;
}

/* If the port returns less than the buffer holds, there is no more. */
TEST_CASE(a_byte_alone_is_the_last) {
    static const struct mst_port port = {.recv = recv_byte,
                                         .flags = MST_PORT_DRAINS};
    static uint8_t in[64];
    struct mst_link l = {.port = &port,
                         .state = MST_STATE_OPEN,
                         .transport = {.in = in, .in_size = sizeof in}};

    has_a_byte = true;
    assert_true(link_receive(&l));
    assert_true(l.connection.drained);
}

/* A request that waits behind another frame counts as being written. */
TEST_CASE(a_request_that_waits_is_being_written) {
    static struct mst_client c;

    assert_false(client_is_writing(&c));
    c.stream.frames = BIT(MST_WS_TEXT);
    assert_true(client_is_writing(&c));
    c.stream.frames = BIT(MST_WS_PONG);
    assert_false(client_is_writing(&c));
}

/* Sent bytes are wiped: they may contain a secret. */
TEST_CASE(what_was_sent_is_wiped) {
    uint8_t out[] = "headtoken";
    struct mst_transport t = {.out = out, .out_len = sizeof out};

    transport_wire_sent(&t, 4);
    assert_memory_equal(out, "token\0\0\0\0", sizeof out);
    transport_wire_sent(&t, 6);
    assert_memory_equal(out, "\0\0\0\0\0\0\0\0\0", sizeof out);
}

/* If the port reported that it had no more data, it is not read again until the
 * connection is used again. */
TEST_CASE(a_kept_connection_is_asked_again) {
    static const struct mst_port port = {.recv = recv_byte};
    uint8_t in[16];
    struct mst_link l = {.port = &port,
                         .user = &transfer_user,
                         .access = &shared.access,
                         .connection = {.drained = true},
                         .transport = {.in = in, .in_size = sizeof in}};

    shared_begin();
    asked = has_a_byte = 0;
    l.state = MST_STATE_PUT;
    assert_false(link_receive(&l));
    assert_int_equal(asked, 0);
    l.state = MST_STATE_IDLE;
    assert_false(link_receive(&l));
    assert_int_equal(asked, 1);
}

static void close_nothing(void *context, int link) {
    (void)context;
    (void)link;
}

/* At the end the memory and HTTP's current line are wiped, and no more. */
TEST_CASE(an_end_wipes_what_may_have_a_token) {
    static const struct mst_port port = {.close = close_nothing};
    static struct mst_link l;
    uint8_t data[8];
    struct mst_memory memory = {.data = data, .size = sizeof data - 1};

    l.port = &port;
    l.memory = &memory;
    l.connection.up = true;
    l.transport.secured = false; /* no close_notify */
    memset(data, 'x', sizeof data);
    memset(&l.http, 'x', sizeof l.http);
    link_drop(&l);
    for (size_t i = 0; i < sizeof data; i++) {
        assert_int_equal(data[i], i < sizeof data - 1 ? 0 : 'x');
    }
    for (size_t i = 0; i < sizeof l.http.line; i++) {
        assert_int_equal(l.http.line[i], 0);
    }
    assert_int_equal(l.http.accept[0], 'x');
}

/* A new response begins without anything of the last one. */
TEST_CASE(a_response_begins_anew) {
    static struct mst_link l;
    static const uint8_t nothing[sizeof l.http];

    shared_begin();
    l.user = &client_user;
    l.access = &shared.access;
    l.purpose = ACCESS_TOKEN;
    memset(&l.http, 'x', sizeof l.http);
    link_exchange(&l);
    assert_memory_equal(&l.http, nothing, sizeof nothing);
}

/* An error applies only to slots in use. */
TEST_CASE(an_error_is_of_slots_in_use) {
    static struct mst_client c;

    shared_begin();
    c.link.user = &client_user;
    c.link.access = &shared.access;
    c.stream.request = MST_SUBSCRIBE;
    c.slots = 1;
    c.subscriptions[0].state = c.subscriptions[1].state = SUB_ASKED;
    client_take_error(&c, "", MST_CODE_UNKNOWN_CHANNEL);
    assert_int_equal(c.subscriptions[0].state, SUB_NONE);
    assert_int_equal(c.subscriptions[1].state, SUB_ASKED);
}

RUN_CASES(NULL, NULL)
