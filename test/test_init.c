/*
 * mst_old_client_init(): what is missing or wrong is a named error, before
 * anything happens.
 * SPDX-License-Identifier: 0BSD
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "mini_stream.h"
#include "mst_mock.h"
#include "support.h"

static struct mst_mock mock;
static struct mst_port port;
static struct mst_old_client client;
static unsigned char memory[MST_OLD_MEMORY_LEN_DEFAULT];
static const br_x509_trust_anchor anchor; /* only counted here */

static struct mst_old_config good(void)
{
    struct mst_old_config config = {
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

static int init(const struct mst_old_config *config)
{
    return mst_old_client_init(&client, config, &port, memory, sizeof memory);
}

static void a_good_configuration_is_taken(void **state)
{
    struct mst_old_config config = good();

    (void)state;
    assert_int_equal(init(&config), 0);
    assert_int_equal(mst_old_client_state(&client), MST_STATE_WAIT);
}

static void urls_are_checked(void **state)
{
    static const struct {
        const char *ws_url;
        int error;
    } cases[] = {
        {"wss://a.example", 0},
        {"wss://a.example:8443/path?q=1", 0},
        {NULL, MST_ERR_URL},
        {"", MST_ERR_URL},
        {"a.example", MST_ERR_URL},
        {"https://a.example", MST_ERR_URL},
        {"wss://", MST_ERR_URL},
        {"wss://:443", MST_ERR_URL},
        {"wss://a.example:0", MST_ERR_URL},
        {"wss://a.example:65536", MST_ERR_URL},
        {"wss://a.example:", MST_ERR_URL},
        {"wss://user@a.example", MST_ERR_URL},
        {"wss://a.example/a b", MST_ERR_URL},
        {"wss://a.example/a#b", MST_ERR_URL},
        {"wss://a.example/a\r\nX: y", MST_ERR_URL},
        {"wss://[::1", MST_ERR_URL},
        {"ws://a.example", MST_ERR_PLAIN},
        {"wss://127.0.0.1", MST_ERR_IP_HOST},
        {"wss://[::1]:443", MST_ERR_IP_HOST},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct mst_old_config config = good();
        config.ws_url = cases[i].ws_url;
        expect_int(cases[i].ws_url != NULL ? cases[i].ws_url : "(null)",
                   cases[i].error, init(&config));
    }
}

static void the_token_url_is_checked_as_well(void **state)
{
    struct mst_old_config config = good();

    (void)state;
    config.auth_url = "wss://localhost";
    assert_int_equal(init(&config), MST_ERR_URL);
    config.auth_url = "http://localhost";
    assert_int_equal(init(&config), MST_ERR_PLAIN);
    config.flags = MST_ALLOW_PLAIN;
    assert_int_equal(init(&config), 0);
}

static void trust_anchors_are_needed_unless_the_port_is_secure(void **state)
{
    struct mst_old_config config = good();

    (void)state;
    config.anchors_len = 0;
    assert_int_equal(init(&config), MST_ERR_ANCHORS);
    config.anchors = NULL;
    config.anchors_len = 1;
    assert_int_equal(init(&config), MST_ERR_ANCHORS);
    port.flags = MST_PORT_SECURE;
    assert_int_equal(init(&config), 0);
}

static void credentials_are_needed(void **state)
{
    struct mst_old_config config = good();

    (void)state;
    config.client_id = "";
    assert_int_equal(init(&config), MST_ERR_CREDENTIALS);
    config = good();
    config.client_secret = NULL;
    assert_int_equal(init(&config), MST_ERR_CREDENTIALS);
}

static void lengths_and_links_are_bounded(void **state)
{
    struct mst_old_config config = good();

    (void)state;
    config.message_len = 255;
    assert_int_equal(init(&config), MST_ERR_ARGUMENT);
    config.message_len = SIZE_MAX;
    assert_int_equal(init(&config), MST_ERR_ARGUMENT);
    config = good();
    config.record_in_len = MST_RECORD_IN_MIN - 1;
    assert_int_equal(init(&config), MST_ERR_ARGUMENT);
    config = good();
    config.record_out_len = MST_RECORD_OUT_MIN - 1;
    assert_int_equal(init(&config), MST_ERR_ARGUMENT);
    config = good();
    config.links = 3;
    assert_int_equal(init(&config), MST_ERR_ARGUMENT);
    config.links = 2;
    assert_int_equal(init(&config), MST_ERR_MEMORY);
    config = good();
    config.staging_len = MST_OLD_STAGING_USUAL + 16;
    assert_int_equal(init(&config), MST_ERR_MEMORY);
}

/* Each named set of lengths needs the memory of its name, and no byte less. */
static void named_lengths_need_their_memory(void **state)
{
    static unsigned char room[MST_OLD_MEMORY_LEN_FAST];
    static const struct {
        struct mst_old_config lengths;
        size_t memory_len, staging_len;
    } sets[] = {
        {{MST_OLD_LENGTHS_SMALL}, MST_OLD_MEMORY_LEN_SMALL, 0},
        {{.links = 1}, MST_OLD_MEMORY_LEN_DEFAULT, MST_OLD_STAGING_USUAL},
        {{MST_OLD_LENGTHS_FAST}, MST_OLD_MEMORY_LEN_FAST, 524288},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(sets); i++) {
        struct mst_old_config config = good();
        config.record_in_len = sets[i].lengths.record_in_len;
        config.record_out_len = sets[i].lengths.record_out_len;
        config.message_len = sets[i].lengths.message_len;
        config.staging_len = sets[i].lengths.staging_len;
        expect_int("memory", 0,
                   mst_old_client_init(&client, &config, &port, room,
                                       sets[i].memory_len));
        expect_int("read ahead", (long long)sets[i].staging_len,
                   (long long)client.config.staging_len);
        expect_int("a byte less", MST_ERR_MEMORY,
                   mst_old_client_init(&client, &config, &port, room,
                                       sets[i].memory_len - 1));
    }
}

struct piece {
    uintptr_t from, to;
};

static void piece_add(struct piece *pieces, size_t *n, const void *from,
                      size_t len)
{
    pieces[*n].from = (uintptr_t)from;
    pieces[(*n)++].to = (uintptr_t)from + len;
}

/* Bytes of a handshake that are held back lie in front of the output. */
static size_t pieces_of_client(struct piece *pieces)
{
    const struct mst_old_config *config = &client.config;
    size_t n = 0;

    piece_add(pieces, &n, client.links, config->links * sizeof *client.links);
    for (unsigned i = 0; i < config->links; i++) {
        const struct mst_old_link *l = &client.links[i];
        piece_add(pieces, &n, l->tls, MST_OLD_TLS_LEN);
        piece_add(pieces, &n, l->in, config->record_in_len);
        piece_add(pieces, &n, l->out - MST_OLD_TLS_HELD,
                  MST_OLD_TLS_HELD + config->record_out_len);
        piece_add(pieces, &n, l->staging, config->staging_len);
        piece_add(pieces, &n, l->decoder.kept.buffer, config->message_len);
    }
    return n;
}

static void expect_apart(const void *from, size_t len)
{
    struct piece pieces[1 + 2 * 5];
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

/* However the memory is aligned, with nothing left over between them. */
static void pieces_of_memory_lie_apart(void **state)
{
    static const size_t stagings[] = {MST_OLD_STAGING_NONE, 64};
    static unsigned char room[15 + MST_OLD_MEMORY_LEN(848, 608, 256, 64, 2)];

    (void)state;
    for (size_t i = 0; i < 16 * COUNT(stagings); i++) {
        size_t staging = stagings[i / 16];
        size_t len = MST_OLD_MEMORY_LEN(848, 608, 256, staging, 2);
        struct mst_old_config config = good();

        config.record_in_len = 848;
        config.record_out_len = 608;
        config.message_len = 256;
        config.staging_len = staging;
        config.links = 2;
        assert_int_equal(
            mst_old_client_init(&client, &config, &port, room + i % 16, len),
            0);
        expect_apart(room + i % 16, len);
    }
}

static void a_client_of_another_build_is_refused(void **state)
{
    struct mst_old_config config = good();

    (void)state;
    assert_int_equal(mst_old_client_init_checked(&client, sizeof client - 1,
                                                 MST_LIMITS, &config, &port,
                                                 memory, sizeof memory),
                     MST_ERR_BUILD);
    assert_int_equal(mst_old_client_init_checked(&client, sizeof client,
                                                 MST_LIMITS + 1, &config, &port,
                                                 memory, sizeof memory),
                     MST_ERR_BUILD);
}

static void a_port_that_lacks_a_function_is_refused(void **state)
{
    struct mst_old_config config = good();

    (void)state;
    port.entropy = NULL;
    assert_int_equal(init(&config), MST_ERR_ARGUMENT);
}

/* AES and GHASH, or neither; keys no larger than what they are kept in. */
static void aes_of_the_port_is_whole(void **state)
{
    struct mst_old_config config = good();
    br_block_ctr_class aes = br_aes_ct_ctr_vtable;

    (void)state;
    port.aes_ctr = &aes;
    assert_int_equal(init(&config), MST_ERR_ARGUMENT);
    port.ghash = br_ghash_ctmul;
    assert_int_equal(init(&config), 0);
    aes.context_size = sizeof(br_aes_gen_ctr_keys);
    assert_int_equal(init(&config), 0);
    aes.context_size++;
    assert_int_equal(init(&config), MST_ERR_ARGUMENT);
    port.aes_ctr = NULL;
    assert_int_equal(init(&config), MST_ERR_ARGUMENT);
}

static void a_client_that_was_refused_does_nothing(void **state)
{
    struct mst_old_config config = good();
    struct mst_event event;

    (void)state;
    config.ws_url = NULL;
    assert_int_equal(init(&config), MST_ERR_URL);
    assert_int_equal(mst_old_poll(&client, &event), MST_ERR_CLOSED);
    assert_int_equal(mst_old_subscribe(&client, MST_HEARTBEAT, NULL, NULL),
                     MST_ERR_CLOSED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_good_configuration_is_taken),
        TEST(urls_are_checked),
        TEST(the_token_url_is_checked_as_well),
        TEST(trust_anchors_are_needed_unless_the_port_is_secure),
        TEST(credentials_are_needed),
        TEST(lengths_and_links_are_bounded),
        TEST(named_lengths_need_their_memory),
        TEST(pieces_of_memory_lie_apart),
        TEST(a_client_of_another_build_is_refused),
        TEST(a_port_that_lacks_a_function_is_refused),
        TEST(aes_of_the_port_is_whole),
        TEST(a_client_that_was_refused_does_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
