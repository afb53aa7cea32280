/*
 * What the session tells of itself: the log, and the statistics.
 *
 * SPDX-License-Identifier: 0BSD
 */
#include "service_private.h"
#include "old_session.h"

#include <stdio.h>
#include <string.h>

static const struct mst_stats *stats(void)
{
    return mst_old_client_stats(&session.client);
}

/* ---- the log ---- */

static struct {
    struct text text;   /* one line a record */
    struct text states; /* transitions that were seen, each once */
    unsigned counts[MST_LOG_HANDOVER + 1];
    enum mst_state state[MST_LINKS_MAX];
} seen;

/* The state table of the session. */
static bool is_transition(enum mst_state from, enum mst_state to)
{
    static const unsigned next[] = {
        [MST_STATE_OFF] = 1u << MST_STATE_WAIT, /* mst_old_client_init() */
        [MST_STATE_WAIT] = 1u << MST_STATE_RESOLVE | 1u << MST_STATE_OFF,
        [MST_STATE_RESOLVE] = 1u << MST_STATE_CONNECT,
        [MST_STATE_CONNECT] = 1u << MST_STATE_TLS | 1u << MST_STATE_TOKEN |
                              1u << MST_STATE_UPGRADE,
        [MST_STATE_TLS] = 1u << MST_STATE_TOKEN | 1u << MST_STATE_UPGRADE,
        [MST_STATE_TOKEN] = 0,
        [MST_STATE_UPGRADE] = 1u << MST_STATE_OPEN,
        [MST_STATE_OPEN] = 1u << MST_STATE_CLOSING,
        [MST_STATE_CLOSING] = 1u << MST_STATE_OFF};

    return (next[from] & 1u << to) != 0 ||
           (from != MST_STATE_OFF &&
            (to == MST_STATE_WAIT || to == MST_STATE_OFF));
}

static void state_seen(const struct mst_log *log)
{
    char line[64];

    expect_int("from", seen.state[log->link], log->from);
    seen.state[log->link] = log->state;
    if (log->from == log->state || !is_transition(log->from, log->state)) {
        expect_failed("from %s to %s", mst_state_name(log->from),
                      mst_state_name(log->state));
    }
    snprintf(line, sizeof line, "%s %s\n", mst_state_name(log->from),
             mst_state_name(log->state));
    if (strstr(text_get(&seen.states), line) == NULL) {
        text_add(&seen.states, "%s", line);
    }
}

static void on_log(void *context, const struct mst_log *log)
{
    static const char *const names[] = {"state",  "error", "token",   "request",
                                        "resync", "drift", "handover"};

    assert_ptr_equal(context, &seen);
    assert_in_range(log->kind, MST_LOG_STATE, MST_LOG_HANDOVER);
    assert_in_range(log->link, 0, (int)session.client.config.links - 1);
    assert_in_range(log->state, MST_STATE_OFF, MST_STATE_CLOSING);
    seen.counts[log->kind]++;
    if (log->kind == MST_LOG_STATE) {
        state_seen(log);
        return;
    }
    expect_int("state", seen.state[log->link], log->state);
    expect_int("an error", log->kind == MST_LOG_ERROR, log->error < 0);
    text_add(&seen.text, "%s %lld %s\n", names[log->kind],
             log->kind == MST_LOG_ERROR ? (long long)log->error
                                        : (long long)log->value,
             log->text != NULL ? log->text : "-");
}

static void log_begin(bool two_links)
{
    text_free(&seen.text);
    text_free(&seen.states);
    memset(&seen, 0, sizeof seen);
    session_begin();
    if (two_links) {
        session_two_links();
    }
    session.config.log = on_log;
    session.config.log_context = &seen;
}

static void log_start(void)
{
    session_start();
    session_subscribe();
}

static bool told(const char *line)
{
    const char *at = strstr(text_get(&seen.text), line);

    return at != NULL;
}

static void expect_told(const char *line)
{
    if (!told(line)) {
        expect_failed("\"%s\" is not in\n%s", line, text_get(&seen.text));
    }
}

static const char *const secrets[] = {SERVICE_ID,     "client%20id",
                                      SERVICE_SECRET, "s%2Bcr%3Dt",
                                      SERVICE_TOKEN,  "token-AbC.123"};

static void expect_no_secret(void)
{
    for (size_t i = 0; i < COUNT(secrets); i++) {
        if (told(secrets[i])) {
            expect_failed("the log has %s", secrets[i]);
        }
    }
}

static int load(void *context, uint32_t key, char *token, size_t cap,
                int64_t *until_s)
{
    (void)key;
    assert_true(cap >= strlen(SERVICE_TOKEN));
    memcpy(token, SERVICE_TOKEN, strlen(SERVICE_TOKEN));
    *until_s = mst_mock_wall(context) / 1000000000 + 1800;
    return (int)strlen(SERVICE_TOKEN);
}

/* A line or more of every kind. */
static void test_log(void **state)
{
    struct service_link *link = &session.service.links[0];

    (void)state;
    log_begin(true);
    session.port.token_load = load;
    session.service.upgrade.raw =
        "HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\n\r\n";
    session.service.upgrade.raw_times = 1;
    log_start();
    assert_true(session_until_subscribed(10000));
    expect_told("token 1800 loaded\n");
    expect_told("error -405 -\n"); /* MST_ERR_UNAUTHORIZED */
    expect_told("token -1 dropped\n");
    expect_told("token 3600 obtained\n");
    expect_told("request 7 subscribe\n");

    session_run(2000);
    service_forget(&session.service, "market_data", "BTCUSD");
    snprintf(link->subscriptions[link->subscriptions_len].channel, 32,
             "market_data");
    snprintf(link->subscriptions[link->subscriptions_len++].market, 64,
             "LTCEUR");
    assert_int_equal(mst_old_subscription_list(&session.client), 0);
    session_run(5000);
    expect_told("request 0 subscription_list\n");
    expect_told("drift 1 BTCUSD\n");
    expect_told("drift 0 LTCEUR\n");
    expect_told("request 1 unsubscribe\n");

    service_text(&session.service,
                 "{\"channel\":\"market_data\",\"payload\":{\"market\":"
                 "\"ETHUSD\",\"type\":\"UPDATE\"}}");
    session_run(5000);
    expect_told("resync 0 ETHUSD\n");

    assert_int_equal(mst_old_rotate(&session.client), 0);
    session_run(10000);
    expect_told("handover 0 -\n");

    assert_int_equal(
        mst_old_set_credentials(&session.client, SERVICE_ID, SERVICE_SECRET),
        0);
    service_close(&session.service, 1011, "as told");
    session_run(10000);
    expect_told("error -510 -\n"); /* MST_ERR_WS_CLOSED */
    assert_true(session_until_subscribed(10000));
    for (int kind = 0; kind <= MST_LOG_HANDOVER; kind++) {
        assert_true(seen.counts[kind] > 0);
    }
    session_end();
    expect_no_secret();
    text_free(&seen.text);
    text_free(&seen.states);
}

/* ---- statistics ---- */

/* Of two links, the one that streams counts. */
static void test_state_ms_of_two(void **state)
{
    (void)state;
    session_begin();
    session_two_links();
    session.config.rotate_ms = SESSION_MINUTE;
    session_start();
    session_subscribe();
    session_run(SESSION_HOUR);
    assert_true(stats()->rotations > 50);
    expect_int("open", SESSION_HOUR,
               (long long)stats()->state_ms[MST_STATE_OPEN]);
    session_end();
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        TEST(test_log),
        TEST(test_state_ms_of_two),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
