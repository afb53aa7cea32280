/*
 * mst_client_init() reports missing or wrong settings as named errors, before
 * it does anything.
 * SPDX-License-Identifier: 0BSD
 */

#include "mini_stream.h"
#include "mst_mock.h"
#include "support.h"

static struct mst_mock mock;
static struct mst_port port;
static struct mst_client client;
MST_MEMORY(memory, MST_LENGTHS_USUAL);
MST_MEMORY(other_memory, MST_LENGTHS_USUAL);
static const br_x509_trust_anchor anchor; /* only its presence counts */

static struct mst_config good(void) {
    struct mst_config config = {
        .ws_url = "wss://localhost",
        .auth_url = "https://localhost",
        .client_id = "id",
        .client_secret = "secret",
        .anchors = &anchor,
        .anchors_len = 1,
    };

    mst_mock_init(&mock, &port, 1);
    port.flags = 0;
    return config;
}

static int init(const struct mst_config *config) {
    return mst_client_init(&client, config, &port, &memory);
}

TEST_CASE(times_have_defaults) {
    static const uint32_t ms[] = {10000, 10000,    30000, 15000,  15000,
                                  10000, 30000,    3000,  60000,  20000,
                                  60000, 1000,     1000,  60000,  300000,
                                  30000, 86400000, 15000, 600000, 0};
    struct mst_config config = good();

    assert_int_equal(init(&config), 0);
    assert_memory_equal(&client.link.config.resolve_ms, ms, sizeof ms);
    assert_int_equal(client.link.config.min_rate, 1024);
}

TEST_CASE(a_good_configuration_is_taken) {
    struct mst_config config = good();

    assert_int_equal(init(&config), 0);
    assert_int_equal(mst_link_state(&client.link), MST_STATE_WAIT);
}

TEST_CASE(what_was_in_an_object_does_not_matter) {
    static struct mst_transfer transfer;
    static struct mst_client fresh_client;
    static struct mst_transfer fresh_transfer;
    struct mst_config config = good();

    config.base_url = config.auth_url;
    memset(&client, 0, sizeof client);
    assert_int_equal(init(&config), 0);
    fresh_client = client;
    memset(&client, 0xA5, sizeof client);
    assert_int_equal(init(&config), 0);
    assert_memory_equal(&client, &fresh_client, sizeof client);
    assert_int_equal(mst_transfer_init(&transfer, &config, &port, &memory), 0);
    fresh_transfer = transfer;
    memset(&transfer, 0xA5, sizeof transfer);
    assert_int_equal(mst_transfer_init(&transfer, &config, &port, &memory), 0);
    assert_memory_equal(&transfer, &fresh_transfer, sizeof transfer);
}

static void expect_ws_url(int error, const char *url) {
    struct mst_config config = good();

    config.ws_url = url;
    expect_int(url != NULL ? url : "(null)", error, init(&config));
}

TEST_CASE(urls_are_checked) {
    static const struct {
        const char *ws_url;
        int error;
    } cases[] = {
        {"wss://a.example", 0},
        {"wss://a.example:8443/path?q=1", 0},
        {"ws://a.example", MST_ERR_PLAIN},
        {"wss://127.0.0.1", MST_ERR_IP_HOST},
        {"wss://[::1]:443", MST_ERR_IP_HOST},
    };
    static const char *const refused[] = {
        /* Another scheme, or none. */
        NULL, "", "a.example", "https://a.example",
        /* Hosts. */
        "wss://", "wss://:443", "wss://.example", "wss://a..example",
        "wss://a.example.:443", "wss://user@a.example", "wss://[::1",
        "wss://[a.example]",
        /* Ports. */
        "wss://a.example:0", "wss://a.example:65536", "wss://a.example:",
        /* Paths. */
        "wss://a.example/a b", "wss://a.example/a#b",
        "wss://a.example/a\r\nX: y", "wss://a.example/a\tb",
        "wss://a.example/\x7f"};

    for (size_t i = 0; i < COUNT(cases); i++) {
        expect_ws_url(cases[i].error, cases[i].ws_url);
    }
    for (size_t i = 0; i < COUNT(refused); i++) {
        expect_ws_url(MST_ERR_URL, refused[i]);
    }
}

TEST_CASE(the_token_url_is_checked_as_well) {
    struct mst_config config = good();

    config.auth_url = NULL;
    assert_int_equal(init(&config), MST_ERR_URL);
    config.auth_url = "wss://localhost";
    assert_int_equal(init(&config), MST_ERR_URL);
    config.auth_url = "http://localhost";
    assert_int_equal(init(&config), MST_ERR_PLAIN);
    config.flags = MST_ALLOW_PLAIN;
    assert_int_equal(init(&config), 0);
}

TEST_CASE(trust_anchors_are_needed_unless_the_port_is_secure) {
    struct mst_config config = good();

    config.anchors_len = 0;
    assert_int_equal(init(&config), MST_ERR_ANCHORS);
    config.anchors = NULL;
    config.anchors_len = 1;
    assert_int_equal(init(&config), MST_ERR_ANCHORS);
    port.flags = MST_PORT_SECURE;
    assert_int_equal(init(&config), 0);
}

TEST_CASE(credentials_are_needed) {
    struct mst_config config = good();

    config.client_id = "";
    assert_int_equal(init(&config), MST_ERR_CREDENTIALS);
    config.client_id = NULL;
    assert_int_equal(init(&config), MST_ERR_CREDENTIALS);
    config = good();
    config.client_secret = NULL;
    assert_int_equal(init(&config), MST_ERR_CREDENTIALS);
}

static int init_lengths(const struct mst_memory *lengths) {
    struct mst_config config = good();

    return mst_client_init(&client, &config, &port, lengths);
}

TEST_CASE(lengths_are_bounded) {
    const size_t in = memory.record_in, out = memory.record_out;
    const size_t wrong[][3] = {{MST_RECORD_IN_MIN - 1, out, 0},
                               {((size_t)1 << 28) + 1, out, 0},
                               {in, MST_RECORD_OUT_MIN - 1, 0},
                               {in, ((size_t)1 << 28) + 1, 0},
                               {in, out, ((size_t)1 << 28) + 1}};
    struct mst_memory lengths = memory;

    lengths.message = 255;
    assert_int_equal(init_lengths(&lengths), MST_ERR_ARGUMENT);
    lengths.message = SIZE_MAX;
    assert_int_equal(init_lengths(&lengths), MST_ERR_ARGUMENT);
    lengths.message = ((size_t)1 << 28) + 1; /* the limit is 256 MiB */
    assert_int_equal(init_lengths(&lengths), MST_ERR_ARGUMENT);
    lengths.message--;
    assert_int_equal(init_lengths(&lengths), MST_ERR_MEMORY);
    for (size_t i = 0; i < COUNT(wrong); i++) {
        lengths = memory;
        lengths.record_in = wrong[i][0];
        lengths.record_out = wrong[i][1];
        lengths.read_ahead = wrong[i][2];
        expect_int("wrong length", MST_ERR_ARGUMENT, init_lengths(&lengths));
    }
    lengths = memory;
    lengths.read_ahead += 16;
    assert_int_equal(init_lengths(&lengths), MST_ERR_MEMORY);
    lengths = memory;
    lengths.data = NULL;
    assert_int_equal(init_lengths(&lengths), MST_ERR_ARGUMENT);
    assert_int_equal(init_lengths(NULL), MST_ERR_ARGUMENT);
}

/* Each named set of lengths needs exactly the memory of its name. */
TEST_CASE(named_lengths_need_their_memory) {
    static unsigned char room[MST_MEMORY_LEN(MST_LENGTHS_FAST)];
    struct mst_memory sets[] = {
        {room, MST_MEMORY_LEN(MST_LENGTHS_SMALL), MST_LENGTHS_SMALL},
        {room, MST_MEMORY_LEN(MST_LENGTHS_USUAL), MST_LENGTHS_USUAL},
        {room, MST_MEMORY_LEN(MST_LENGTHS_FAST), MST_LENGTHS_FAST},
    };

    for (size_t i = 0; i < COUNT(sets); i++) {
        expect_int("memory", 0, init_lengths(&sets[i]));
        sets[i].size--;
        expect_int("a byte less", MST_ERR_MEMORY, init_lengths(&sets[i]));
    }
}

/* Times are limited to 24 days: the clock wraps, and it must be possible to
 * tell which of two instants is earlier. */
TEST_CASE(times_are_bounded) {
#define MS(member) offsetof(struct mst_config, member)
    static const size_t members[] = {
        MS(resolve_ms),  MS(connect_ms),     MS(tls_ms),
        MS(token_ms),    MS(upgrade_ms),     MS(answer_ms),
        MS(snapshot_ms), MS(closing_ms),     MS(put_ms),
        MS(ping_ms),     MS(silence_ms),     MS(request_gap_ms),
        MS(backoff_ms),  MS(backoff_max_ms), MS(backoff_slow_ms),
        MS(stable_ms),   MS(resume_ms),      MS(heartbeat_ms),
        MS(audit_ms),    MS(lag_max_ms)};
#undef MS
    const uint32_t most = 24u * 86400000u;

    for (size_t i = 0; i < COUNT(members); i++) {
        struct mst_config config = good();
        uint32_t *ms = (uint32_t *)(void *)((char *)&config + members[i]);
        *ms = most;
        expect_int("24 days", 0, init(&config));
        *ms = most + 1;
        expect_int("and a millisecond", MST_ERR_ARGUMENT, init(&config));
        *ms = UINT32_MAX;
        expect_int("most", MST_ERR_ARGUMENT, init(&config));
    }
}

struct piece {
    uintptr_t from, to;
};

static void piece_add(struct piece *pieces, size_t *n, const void *from,
                      size_t len) {
    pieces[*n].from = (uintptr_t)from;
    pieces[(*n)++].to = (uintptr_t)from + len;
}

/* Certificates are checked in the message buffer. */
static size_t pieces_of_client(struct piece *pieces) {
    const struct mst_memory *m = client.link.memory;
    const struct mst_transport *t = &client.link.transport;
    size_t n = 0;

    piece_add(pieces, &n, t->tls, MST_TLS_LEN);
    piece_add(pieces, &n, t->in, m->record_in);
    piece_add(pieces, &n, t->out, m->record_out);
    piece_add(pieces, &n, t->ahead, m->read_ahead);
    piece_add(pieces, &n, client.link.tokens, MST_MESSAGE_ROOM(m->message));
    assert_ptr_equal(client.decoder.kept.buffer, client.link.tokens + 1);
    return n;
}

static void expect_apart(const void *from, size_t len) {
    struct piece pieces[5];
    size_t n = pieces_of_client(pieces);

    for (size_t i = 0; i < n; i++) {
        assert_true(pieces[i].from >= (uintptr_t)from);
        assert_true(pieces[i].to <= (uintptr_t)from + len);
        for (size_t j = 0; j < i; j++) {
            assert_true(pieces[i].from >= pieces[j].to ||
                        pieces[i].to <= pieces[j].from);
        }
    }
}

/* For any alignment of the memory, pieces do not overlap or leave gaps. */
TEST_CASE(pieces_of_memory_lie_apart) {
    static unsigned char room[15 + MST_MEMORY_LEN(848, 608, 4096, 64)];
    static const size_t ahead[] = {0, 64}, message[] = {256, 4096};

    for (size_t i = 0; i < 64; i++) {
        struct mst_memory lengths = {
            .data = room + i % 16,
            .record_in = 848,
            .record_out = 608,
            .message = message[i / 32],
            .read_ahead = ahead[i / 16 % 2],
        };

        lengths.size =
            MST_MEMORY_LEN(848, 608, lengths.message, lengths.read_ahead);
        assert_int_equal(init_lengths(&lengths), 0);
        expect_apart(lengths.data, lengths.size);
    }
}

/* A shared access has its own credentials and trust anchors. Those of the
 * configuration are ignored then. */
TEST_CASE(a_shared_access_is_prepared_first) {
    static struct mst_access access;
    struct mst_config config = good();

    assert_int_equal(mst_access_init(NULL, &config), MST_ERR_ARGUMENT);
    assert_int_equal(mst_access_init(&access, NULL), MST_ERR_ARGUMENT);
    assert_int_equal(mst_access_init(&access, &config), 0);
    config.access = &access;
    config.client_id = config.client_secret = NULL;
    config.anchors = NULL;
    assert_int_equal(init(&config), 0);

    config = good();
    config.client_id = NULL;
    assert_int_equal(mst_access_init(&access, &config), MST_ERR_CREDENTIALS);
    config = good();
    config.anchors = NULL;
    assert_int_equal(mst_access_init(&access, &config), 0);
    config = good();
    config.access = &access;
    assert_int_equal(init(&config), MST_ERR_ANCHORS);
}

TEST_CASE(a_client_of_another_build_is_refused) {
    struct mst_config config = good();

    assert_int_equal(mst_client_init_checked(&client, MST_BUILD(client) + 1,
                                             &config, &port, &memory),
                     MST_ERR_BUILD);
    assert_int_equal(mst_client_init_checked(&client, MST_BUILD(client),
                                             &config, &port, &memory),
                     MST_OK);
}

TEST_CASE(a_port_that_lacks_a_function_is_refused) {
    static const size_t members[] = {
        offsetof(struct mst_port, resolve), offsetof(struct mst_port, connect),
        offsetof(struct mst_port, send),    offsetof(struct mst_port, recv),
        offsetof(struct mst_port, close),   offsetof(struct mst_port, now_ms),
        offsetof(struct mst_port, unix_ns), offsetof(struct mst_port, entropy),
    };

    for (size_t i = 0; i < COUNT(members); i++) {
        struct mst_config config = good();
        memset((char *)&port + members[i], 0, sizeof(void (*)(void)));
        expect_int("a function is missing", MST_ERR_ARGUMENT, init(&config));
    }
}

TEST_CASE(what_is_not_there_is_refused) {
    struct mst_config config = good();
    struct mst_client *none = NULL;

    assert_int_equal(mst_client_init(none, &config, &port, &memory),
                     MST_ERR_ARGUMENT);
    assert_int_equal(mst_client_init(&client, NULL, &port, &memory),
                     MST_ERR_ARGUMENT);
    assert_int_equal(mst_client_init(&client, &config, NULL, &memory),
                     MST_ERR_ARGUMENT);
    assert_int_equal(mst_client_init(&client, &config, &port, NULL),
                     MST_ERR_ARGUMENT);
}

TEST_CASE(a_transfer_of_another_build_or_none_is_refused) {
    static struct mst_transfer transfer, *none;
    struct mst_config config = good();

    config.base_url = "https://localhost";
    assert_int_equal(mst_transfer_init_checked(&transfer,
                                               MST_BUILD(transfer) + 1, &config,
                                               &port, &memory),
                     MST_ERR_BUILD);
    assert_int_equal(mst_transfer_init(none, &config, &port, &memory),
                     MST_ERR_ARGUMENT);
    assert_int_equal(mst_transfer_init(&transfer, &config, &port, &memory), 0);
}

/* A pair's two clients may share an access with others. */
TEST_CASE(a_pair_of_another_build_or_none_is_refused) {
    static struct mst_pair pair, *none;
    static struct mst_access access;
    struct mst_config config = good();

    assert_int_equal(mst_pair_init_checked(&pair, MST_BUILD(pair) + 1, &config,
                                           0, &port, &memory, &other_memory),
                     MST_ERR_BUILD);
    assert_int_equal(
        mst_pair_init(none, &config, 0, &port, &memory, &other_memory),
        MST_ERR_ARGUMENT);
    assert_int_equal(mst_access_init(&access, &config), 0);
    config.access = &access;
    assert_int_equal(
        mst_pair_init(&pair, &config, 0, &port, &memory, &other_memory), 0);
    assert_ptr_equal(pair.clients[0].link.access, &access);
    assert_ptr_equal(pair.clients[1].link.access, &access);
}

TEST_CASE(a_client_that_was_refused_does_nothing) {
    struct mst_config config = good();
    struct mst_event event;

    config.ws_url = NULL;
    assert_int_equal(init(&config), MST_ERR_URL);
    assert_int_equal(mst_poll(&client, &event), MST_ERR_CLOSED);
    assert_int_equal(mst_subscribe(&client, MST_HEARTBEAT, NULL, NULL),
                     MST_ERR_CLOSED);
}

RUN_CASES(NULL, NULL)
