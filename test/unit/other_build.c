/*
 * The library without TLS and without ws:// and http://, with a market that is
 * longer than the texts that are kept, and with one subscription: such a build
 * refuses what it has not, by name.
 *
 * SPDX-License-Identifier: 0BSD
 */
#define MST_NO_TLS
#define MST_NO_PLAIN
#define MST_MARKET_MAX 127
#define MST_SUBSCRIPTIONS_MAX 1
#include "mini_stream.c" /* NOLINT(bugprone-suspicious-include) */

#include "cases.h"

static struct mst_client client;
MST_MEMORY(memory, MST_LENGTHS_USUAL);

static int resolve(void *context, int link,
                   const struct mst_endpoint *endpoint) {
    (void)context;
    (void)link;
    (void)endpoint;
    return 1;
}

static int connect(void *context, int link, int address) {
    (void)context;
    (void)link;
    (void)address;
    return 1;
}

static int send(void *context, int link, const void *data, size_t len) {
    (void)context;
    (void)link;
    (void)data;
    return (int)len;
}

static int recv(void *context, int link, void *data, size_t len) {
    (void)context;
    (void)link;
    (void)data;
    (void)len;
    return MST_ERR_RESET;
}

static void close(void *context, int link) {
    (void)context;
    (void)link;
}

static uint32_t now_ms(void *context) {
    (void)context;
    return 0;
}

static int unix_ns(void *context, int64_t *ns) {
    (void)context;
    *ns = 0;
    return 0;
}

static int entropy(void *context, void *data, size_t len) {
    (void)context;
    memset(data, 0, len);
    return 0;
}

static struct mst_port port = {.resolve = resolve,
                               .connect = connect,
                               .send = send,
                               .recv = recv,
                               .close = close,
                               .now_ms = now_ms,
                               .unix_ns = unix_ns,
                               .entropy = entropy};

static int init(const char *auth_url, unsigned flags) {
    const struct mst_config config = {
        .ws_url = "wss://localhost",
        .auth_url = auth_url,
        .client_id = "id",
        .client_secret = "secret",
        .flags = flags,
    };
    return mst_client_init(&client, &config, &port, &memory);
}

TEST_CASE(what_the_build_has_not_is_named) {
    assert_int_equal(init("https://localhost", 0), MST_ERR_BUILD);
    assert_int_equal(init("http://localhost", MST_ALLOW_PLAIN), MST_ERR_PLAIN);
}

/* A port may do TLS: the library's part of it is not missed. */
TEST_CASE(a_port_may_do_tls) {
    struct mst_event event = {0};

    port.flags = MST_PORT_SECURE;
    assert_int_equal(init("https://localhost", 0), 0);
    assert_int_equal(mst_poll(&client, &event), 1);
    assert_int_equal(event.type, MST_EVENT_CLOSED);
    assert_int_equal(event.as.failure.error, MST_ERR_RESET);
    assert_int_equal(event.as.failure.stage, MST_STATE_TOKEN);
    mst_client_wipe(&client);
    port.flags = 0;
}

/* Room for one subscription is room for one after another. */
TEST_CASE(one_subscription_after_another) {
    port.flags = MST_PORT_SECURE;
    assert_int_equal(init("https://localhost", 0), 0);
    for (int i = 0; i < 2; i++) {
        const char *market = i == 0 ? "BTCUSD" : "ETHUSD";

        assert_int_equal(mst_subscribe(&client, MST_TOP_OF_BOOK, market, NULL),
                         0);
        assert_int_equal(mst_subscribe(&client, MST_TOP_OF_BOOK, market, NULL),
                         MST_ERR_EXISTS);
        assert_int_equal(mst_subscribe(&client, MST_HEARTBEAT, NULL, NULL),
                         MST_ERR_FULL);
        assert_int_equal(mst_unsubscribe(&client, MST_TOP_OF_BOOK, market), 0);
    }
    mst_client_wipe(&client);
    port.flags = 0;
}

/* A market that is written with escapes may be longer than a text that is kept,
 * and still not too long: it is not cut to fit. */
TEST_CASE(a_market_is_not_cut) {
    static const char before[] = "{\"channel\":\"market_data\",\"payload\":{"
                                 "\"market\":\"\\u0041";
    static const char behind[] = "\",\"type\":\"UPDATE\",\"time\":"
                                 "\"2026-01-02T03:04:05Z\",\"bids\":[]}}";
    uint8_t buffer[512];
    struct mst_decoder decoder;
    struct mst_event event = {0};

    for (int len = MST_TEXT_MAX; len <= MST_TEXT_MAX + 1; len++) {
        char message[512];
        int n = snprintf(message, sizeof message, "%s%0*d%s", before, len, 0,
                         behind);

        assert_int_equal(mst_decoder_init(&decoder, buffer, sizeof buffer, 0),
                         0);
        mst_decoder_feed(&decoder, message, (size_t)n, true);
        assert_int_equal(mst_decoder_next(&decoder, &event), 1);
        if (len == MST_TEXT_MAX) {
            assert_int_equal(event.type, MST_EVENT_PART);
            assert_int_equal(strlen(event.as.part.market), len + 1);
        } else {
            assert_int_equal(event.type, MST_EVENT_ERROR);
            assert_int_equal(event.as.failure.error, MST_ERR_MESSAGE_SIZE);
        }
    }
}

RUN_WITH(NULL, NULL, NULL, NULL)
