/*
 * The library without TLS, ws:// and http://, with markets longer than the
 * texts that it stores, and with one subscription. It refuses what it does not
 * support with a named error.
 *
 * SPDX-License-Identifier: 0BSD
 */
#define MST_NO_TLS
#define MST_NO_PLAIN
#define MST_MARKET_MAX 127
#define MST_SUBSCRIPTIONS_MAX 1
#include "mini_stream.c" /* NOLINT(bugprone-suspicious-include) */

#include "cases.h"
#include "mst_mock.h"

static struct mst_client client;
MST_MEMORY(memory, MST_LENGTHS_USUAL);

static struct mst_mock mock;
static struct mst_port port;

static int init(const char *auth_url, unsigned flags, unsigned port_flags) {
    const struct mst_config config = {
        .ws_url = "wss://localhost",
        .auth_url = auth_url,
        .client_id = "id",
        .client_secret = "secret",
        .flags = flags,
    };

    mst_mock_init(&mock, &port, 1);
    port.flags = port_flags;
    return mst_client_init(&client, &config, &port, &memory);
}

TEST_CASE(what_the_build_has_not_is_named) {
    assert_int_equal(init("https://localhost", 0, 0), MST_ERR_BUILD);
    assert_int_equal(init("http://localhost", MST_ALLOW_PLAIN, 0),
                     MST_ERR_PLAIN);
}

/* With TLS in the port, the library's own is not needed. */
TEST_CASE(a_port_may_do_tls) {
    struct mst_event event = {0};

    assert_int_equal(init("https://localhost", 0, MST_PORT_SECURE), 0);
    mock.plan.fail_call = MST_MOCK_RECV;
    mock.plan.fail_at = 1;
    mock.plan.fail_error = MST_ERR_RESET;
    assert_int_equal(mst_poll(&client, &event), 1);
    assert_int_equal(event.type, MST_EVENT_CLOSED);
    assert_int_equal(event.as.failure.error, MST_ERR_RESET);
    assert_int_equal(event.as.failure.stage, MST_STATE_TOKEN);
    mst_client_wipe(&client);
}

/* A slot for one subscription serves one after another. */
TEST_CASE(one_subscription_after_another) {
    assert_int_equal(init("https://localhost", 0, MST_PORT_SECURE), 0);
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
}

/* A market with escapes may be longer than a stored text, and still be valid:
 * it is not truncated. */
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
