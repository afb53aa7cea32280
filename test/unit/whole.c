/*
 * Cleared objects, arrays and secrets are cleared to their last byte, padding
 * included, and nothing before or after them changes.
 *
 * SPDX-License-Identifier: 0BSD
 */
#include "mini_stream.c" /* NOLINT(bugprone-suspicious-include) */

#include "support.h"

#define PATTERN 0x5A

#define FILL(object) memset(&(object), PATTERN, sizeof(object))
#define EXPECT_EMPTY(object) expect_bytes(#object, &(object), sizeof(object), 0)

static struct mst_client client;
static struct mst_transfer transfer;
static struct mst_pair pair;

static void expect_bytes(const char *name, const void *object, size_t len,
                         int value) {
    const unsigned char *at = object;

    for (size_t i = 0; i < len; i++) {
        if (at[i] != value) {
            expect_failed("%s: byte %zu of %zu is %d", name, i, len, at[i]);
        }
    }
}

TEST_CASE(what_begins_is_empty) {
    static uint8_t buffer[256];
    struct mst_decoder decoder;
    struct mst_ws ws;
    struct mst_endpoint endpoint;

    FILL(ws);
    mst_ws_init(&ws);
    EXPECT_EMPTY(ws);
    FILL(endpoint);
    assert_int_equal(http_url("x", "ws", &endpoint), MST_ERR_URL);
    EXPECT_EMPTY(endpoint);
    FILL(decoder);
    assert_int_equal(mst_decoder_init(&decoder, buffer, sizeof buffer, 0), 0);
    expect_bytes("the end of a decoder",
                 (char *)&decoder + sizeof decoder - sizeof(void *),
                 sizeof(void *), 0);
    FILL(pair);
    assert_int_equal(mst_pair_init(&pair, NULL, 0, NULL, NULL, NULL),
                     MST_ERR_ARGUMENT);
    EXPECT_EMPTY(pair.access);
    expect_bytes("the end of a pair", (char *)(&pair + 1) - 8, 8, 0);
}

/* The sum of a side without levels. */
TEST_CASE(a_sum_begins_with_nothing) {
    static struct mst_level levels[2];
    struct mst_book book;
    struct mst_decimal sum, price = {1, 0, false};

    assert_int_equal(mst_book_init(&book, levels, 1), 0);
    FILL(sum);
    assert_int_equal(mst_book_amount(&book, MST_BID, price, &sum),
                     MST_ERR_NO_LEVELS);
    EXPECT_EMPTY(sum);
}

TEST_CASE(a_connection_begins_with_nothing) {
    struct mst_stream expected;

    memset(&client, 0, sizeof client);
    FILL(client.stream);
    client_reset(&client, MST_BOOK_RECONNECT);
    memset(&expected, 0, sizeof expected);
    expected.request = CLIENT_NO_REQUEST;
    expected.least_ns = INT64_MAX;
    assert_memory_equal(&client.stream, &expected, sizeof expected);
}

/* All slots are in use: nothing after the last one is changed. */
TEST_CASE(nothing_behind_the_last_slot_is_touched) {
    memset(&client, 0, sizeof client);
    FILL(client.decoder);
    client.slots = MST_SUBSCRIPTIONS_MAX;
    client_reset(&client, MST_BOOK_RECONNECT);
    expect_bytes("behind the slots", &client.decoder, sizeof client.decoder,
                 PATTERN);
}

/* When the last object of an access leaves, the TLS sessions are wiped, and
 * nothing else. */
TEST_CASE(what_is_left_is_wiped) {
    static struct mst_access access;
    struct mst_link *l = &client.link;

    memset(&client, 0, sizeof client);
    l->access = &access;
    access.links = l;
    l->token = &access.tokens[0];
    FILL(access.resume);
    access.next_resume = PATTERN;
    link_leave(l);
    EXPECT_EMPTY(access.resume);
    assert_int_equal(access.next_resume, PATTERN);
    assert_null(access.links);
    FILL(access.resume);
    l->state = MST_STATE_TLS;
    l->config.auth_url = access.resume[1].url = "https://server";
    access.resume[0].url = NULL;
    l->user = &client_user;
    link_forget(l, MST_ERR_TIMEOUT);
    FILL(access.resume[0].url);
    EXPECT_EMPTY(access.resume[1]);
    expect_bytes("another session", &access.resume[0], sizeof access.resume[0],
                 PATTERN);
}

/* Makes a client and a transfer, otherwise zero, share an access. */
static void both_share(struct mst_access *access) {
    struct mst_link *l = &client.link, *other = &transfer.link;

    memset(&client, 0, sizeof client);
    memset(&transfer, 0, sizeof transfer);
    l->access = other->access = access;
    access->links = other;
    other->next = l;
    l->storage = client.token;
    other->storage = transfer.token;
}

/* When the storage of a token goes, the other object sees that it is lost. The
 * token's scope then points to the other object's text. */
TEST_CASE(a_token_goes_with_its_storage) {
    struct mst_access access = {.links = NULL};
    struct mst_link *l = &client.link, *other = &transfer.link;
    char scope[] = "a";

    both_share(&access);
    l->token = other->token = &access.tokens[1];
    l->config.scope = access.tokens[1].scope = "a";
    other->config.scope = scope;
    access_take(&access, l->token, l->storage, 1, TIMER_NONE);
    other->grant.serial = other->token->serial;
    link_leave(l);
    assert_ptr_equal(access.links, other);
    assert_null(other->next);
    assert_true(link_lost_token(other));
    assert_null(other->token->text);
    assert_ptr_equal(other->token->scope, scope);
}

/* If the last user of a scope leaves, a fetch for that scope ends. */
TEST_CASE(what_is_fetched_ends_with_its_scope) {
    struct mst_access access = {.links = NULL};
    struct mst_link *l = &client.link, *other = &transfer.link;

    both_share(&access);
    l->token = &access.tokens[0];
    other->token = &access.tokens[1];
    access.tokens[0].scope = "a";
    access.tokens[1].scope = other->config.scope = "b";
    other->reply.text = other->storage;
    other->reply.token = l->token;
    other->user = &transfer_user;
    other->state = MST_STATE_TOKEN;
    access.fetching = other;
    link_leave(l);
    assert_null(access.fetching);
    assert_int_equal(other->state, MST_STATE_WAIT);
}

TEST_CASE(a_failure_has_nothing_of_the_last_one) {
    struct mst_link *l = &client.link;
    const struct mst_failure *f = &l->failure;

    memset(&client, 0, sizeof client);
    FILL(l->failure);
    l->state = MST_STATE_OPEN;
    (void)link_note(l, MST_EVENT_CLOSED, MST_ERR_TIMEOUT);
    assert_int_equal(f->error, MST_ERR_TIMEOUT);
    assert_int_equal(f->stage, MST_STATE_OPEN);
    assert_false(f->permanent);
    assert_int_equal(f->retry_ms, 0);
    assert_int_equal(f->detail, 0);
    assert_int_equal(f->http_status, 0);
    assert_int_equal(f->ws_code, 0);
    assert_int_equal(f->clock_s, 0);
    assert_string_equal(f->market, "");
    assert_string_equal(f->text, "");
}

TEST_CASE(a_wiped_object_is_empty) {
    memset(&client, 0, sizeof client);
    FILL(client.token);
    client.link.wiped = true; /* its link is already released */
    mst_client_wipe(&client);
    client.link.wiped = false;
    EXPECT_EMPTY(client);
    FILL(transfer);
    transfer.link.wiped = true;
    mst_transfer_wipe(&transfer);
    transfer.link.wiped = false;
    EXPECT_EMPTY(transfer);
    FILL(pair.access);
    pair.clients[0].link.wiped = pair.clients[1].link.wiped = true;
    mst_pair_wipe(&pair);
    EXPECT_EMPTY(pair.access);
}

RUN_CASES(NULL, NULL)
