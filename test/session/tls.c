/*
 * The session with BearSSL on the mock port, and secrets: in memory, and in the
 * trace.
 *
 * SPDX-License-Identifier: 0BSD
 */
#include "session.h"

/* ---- TLS ---- */

static void read_ahead(size_t len, unsigned flags) {
    session.port.flags = flags;
    session_lengths(2048, len);
}

/* Events must not depend on TLS, on reads of single bytes, on read-ahead, or on
 * a port that wrongly reports that it has no more data. */
TEST_CASE(test_main_job) {
    static const size_t sizes[] = {0, 1, 5, 1000};
    static const struct {
        size_t len;
        unsigned flags;
    } ahead[] = {{0, 0}, {4096, 0}, {1000, 0}, {1000, MST_PORT_DRAINS}};
    struct text *expected = text_new();

    session_begin();
    session_main_job();
    session_record_copy(expected);
    for (size_t i = 0; i < COUNT(ahead) * COUNT(sizes); i++) {
        session_begin_tls("localhost");
        session.mock.plan.recv_max = sizes[i % COUNT(sizes)];
        session.mock.plan.send_max = sizes[COUNT(sizes) - 1 - i % COUNT(sizes)];
        read_ahead(ahead[i / COUNT(sizes)].len, ahead[i / COUNT(sizes)].flags);
        session_main_job();
        expect_text("events", text_get(expected),
                    text_get(&session.seen.record));
    }
}

/* If the port reports that it has no more data, it is not read again. Later
 * data is still read, in the same millisecond and without an event between. */
TEST_CASE(test_drained) {
    const uint64_t *calls = &session.mock.calls[MST_MOCK_RECV];

    for (unsigned flags = 0; flags <= MST_PORT_DRAINS;
         flags += MST_PORT_DRAINS) {
        session_begin_tls("localhost");
        read_ahead(1000, flags);
        session_open();
        session_run(0);
        for (unsigned i = 1; i <= 3; i++) {
            uint64_t before = *calls;
            service_push(&session.service, "heartbeat", "");
            session_run(0);
            expect_int("heartbeats", i,
                       session.seen.events[MST_EVENT_HEARTBEAT]);
            expect_int("calls", flags == 0 ? 2 : 1, *calls - before);
        }
        service_push(&session.service, "heartbeat", "");
        service_end(&session.service, MST_ERR_RESET);
        session_run(0);
        expect_int("heartbeats", 4, session.seen.events[MST_EVENT_HEARTBEAT]);
        session_expect_closed("end", MST_ERR_RESET, MST_STATE_OPEN);
    }
}

/* After the port has reported that it has no more data, an error of send ends
 * the connection at once, and the next connection is read at once. */
TEST_CASE(test_drained_and_over) {
    struct mst_event event;

    session_begin();
    session.port.flags |= MST_PORT_DRAINS;
    session_start_all();
    expect_int("token and upgrade in one poll", 1,
               mst_poll(&session.client, &event));
    expect_int("open", MST_EVENT_OPEN, event.type);
    assert_true(session_until_subscribed(5000));
    session_run(1000);
    service_push(&session.service, "heartbeat", "");
    assert_true(session_until(MST_EVENT_HEARTBEAT, 0));
    session_fail_next(MST_MOCK_SEND, MST_ERR_RESET);
    expect_int("request", 0, session_wish(MST_TOP_OF_BOOK, "LTCUSD"));
    expect_int("not sent", 1, mst_poll(&session.client, &event));
    expect_int("closed", MST_EVENT_CLOSED, event.type);
    expect_int("error", MST_ERR_RESET, event.as.failure.error);
    assert_true(session_until(MST_EVENT_OPEN, SESSION_MINUTE));
}

/* A slow caller does not keep the peer waiting, however much was read ahead. */
TEST_CASE(test_slow_caller) {
    session_begin_tls("localhost");
    read_ahead(1000, MST_PORT_DRAINS);
    session_open();
    session_run(0);
    for (int i = 0; i < 6; i++) {
        service_push(&session.service, "heartbeat", "");
        if (i == 1) {
            service_frame(&session.service, 0x80, MST_WS_PING, "ping", 4);
        }
    }
    for (int i = 0; i < 6; i++) {
        assert_true(session_until(MST_EVENT_HEARTBEAT, 0));
        expect_text("pong", i < 2 ? "" : "ping", session.service.pong);
        mst_mock_advance(&session.mock, 10);
    }
}

/* Cuts the ciphertext at many offsets. */
TEST_CASE(test_cut_ciphertext) {
    for (uint64_t offset = 1; offset < 3500; offset += 61) {
        session_begin_tls("localhost");
        session.mock.plan.cut_at = offset;
        session_start_all();
        session_expect_subscribed(5000, "cut at %d", (int)offset);
    }
}

/* The bytes of each connection as the service gets them, before TLS. */
static struct {
    struct mst_mock_peer peer;
    uint8_t first[6];
    size_t len;                 /* its length so far */
    unsigned greetings, others; /* connections with and without a ClientHello */
    /* The current record, and the longest so far. */
    uint8_t header[5];
    size_t header_len, left, longest;
} wire;

static void wire_opened(void *context, int link,
                        const struct mst_endpoint *endpoint) {
    wire.len = wire.header_len = wire.left = 0;
    wire.peer.opened(context, link, endpoint);
}

static void wire_record(uint8_t byte) {
    if (wire.left > 0) {
        wire.left--;
        return;
    }
    wire.header[wire.header_len++] = byte;
    if (wire.header_len == sizeof wire.header) {
        wire.left = (size_t)wire.header[3] << 8 | wire.header[4];
        if (wire.left + sizeof wire.header > wire.longest) {
            wire.longest = wire.left + sizeof wire.header;
        }
        wire.header_len = 0;
    }
}

static void wire_received(void *context, int link, const void *data,
                          size_t len) {
    const uint8_t *bytes = data;

    for (size_t i = 0; i < len && wire.len < sizeof wire.first; i++) {
        wire.first[wire.len++] = bytes[i];
        if (wire.len == sizeof wire.first) {
            bool hello = wire.first[0] == 22 && wire.first[5] == 1;
            wire.greetings += hello;
            wire.others += !hello;
        }
    }
    for (size_t i = 0; i < len; i++) {
        wire_record(bytes[i]);
    }
    wire.peer.received(context, link, data, len);
}

static void wire_watch(void) {
    memset(&wire, 0, sizeof wire);
    wire.peer = session.mock.peer;
    session.mock.peer.opened = wire_opened;
    session.mock.peer.received = wire_received;
}

/* A connection ends while the line accepts none of the handshake's last bytes.
 * The next one begins with a ClientHello, not with those bytes. */
TEST_CASE(test_cut_at_the_last_words) {
    static const struct {
        int end; /* 0: the client gives up */
        int error;
    } cases[] = {{MST_ERR_RESET, MST_ERR_RESET},
                 {MST_ERR_EOF, MST_ERR_TLS_TRUNCATED},
                 {0, MST_ERR_TIMEOUT}};

    for (size_t i = 0; i < COUNT(cases); i++) {
        session_begin_tls("localhost");
        wire_watch();
        session.mock.plan.data_ms = 20;
        session_start_and_run(30); /* ClientHello received, no response */
        session_stall_after(0);
        session_run(100);
        assert_true((br_ssl_engine_current_state(
                         &session.client.link.transport.tls->eng) &
                     BR_SSL_SENDREC) != 0);
        if (cases[i].end != 0) {
            mst_mock_end(&session.mock, 0, cases[i].end);
        }
        session_until_closed("cut", SESSION_MINUTE, cases[i].error,
                             MST_STATE_TLS);
        session_unstall();
        assert_true(session_until_subscribed(SESSION_MINUTE));
        expect_int("greetings", 3, wire.greetings);
        expect_int("something else", 0, wire.others);
        expect_int("closed", 1, session.seen.events[MST_EVENT_CLOSED]);
    }
}

static void start_with(size_t in, size_t out, size_t ahead) {
    static unsigned char memory[MST_MEMORY_LEN(
        MST_RECORD_IN_ANY, MST_RECORD_OUT_FULL, 2048, 4096)];

    session.lengths =
        (struct mst_memory){memory, sizeof memory, in, out, 2048, ahead};
    assert_int_equal(mst_client_init(&session.client, &session.config,
                                     &session.port, &session.lengths),
                     0);
    session.has_client = true;
    session_subscribe();
}

/* All lengths of buffers that TLS allows. */
TEST_CASE(test_buffers) {
    static const struct {
        size_t in, out, staging;
    } lengths[] = {{MST_RECORD_IN_ANY, MST_RECORD_OUT_FULL, 0},
                   {MST_RECORD_IN_ANY, MST_RECORD_OUT_MIN, 1},
                   {MST_RECORD_IN_ANY, MST_RECORD_OUT_MIN, 300},
                   {MST_RECORD_IN_MIN, MST_RECORD_OUT_MIN, 0}};

    for (size_t i = 0; i < COUNT(lengths); i++) {
        session_begin_tls("localhost");
        session.service.rules.feed_ms = 500;
        start_with(lengths[i].in, lengths[i].out, lengths[i].staging);
        session_expect_subscribed(5000, "lengths %zu", i);
        session_run(10000);
        expect_int("closed", 0, session.seen.events[MST_EVENT_CLOSED]);
        expect_int("staged",
                   lengths[i].staging == 0 ? 0 : (long long)lengths[i].staging,
                   session_stats()->high.staged);
    }
}

/* Short records are requested only if the buffer may be too short for longer
 * ones. In any case the client's records fit its own buffer, also a request
 * with a long token. */
TEST_CASE(test_fragment_length) {
    static const struct {
        size_t in, out;
        unsigned asked; /* log2; 0: not requested */
    } cases[] = {
        {MST_RECORD_IN_ANY, MST_RECORD_OUT_MIN, 0},
        {MST_RECORD_IN_ANY, MST_RECORD_OUT_FULL, 0},
        {MST_RECORD_IN_ANY - 1, MST_RECORD_OUT_MIN, 9},
        {MST_RECORD_IN_ANY - 1, MST_RECORD_OUT_FULL, 12},
        {MST_RECORD_IN_MIN, MST_RECORD_OUT_MIN, 9},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        size_t most = cases[i].asked > 0 ? (size_t)1 << cases[i].asked : 16384u;

        session_begin_tls("localhost");
        wire_watch();
        session.service.token_value = repeated("t", 4000);
        start_with(cases[i].in, cases[i].out, 4096);
        assert_true(session_until_subscribed(SESSION_MINUTE));
        expect_int("asked for", cases[i].asked,
                   session.tls.links[0].server.eng.peer_log_max_frag_len);
        assert_in_range(wire.longest, 500, cases[i].out);
        assert_in_range(session.client.link.stats.high.received,
                        most < 4001 ? most : 4001, most);
    }
}

/* A port's primitives: BearSSL's portable AES, with counts of its use. */
static struct {
    br_block_ctr_class aes;
    unsigned streams, handshakes, ends, links;
    const void *tls, *x509;
} own;

static void own_init(const br_block_ctr_class **context, const void *key,
                     size_t len) {
    br_aes_ct64_ctr_vtable.init(context, key, len);
    *context = &own.aes;
}

static uint32_t own_run(const br_block_ctr_class *const *context,
                        const void *iv, uint32_t counter, void *data,
                        size_t len) {
    own.streams++;
    return br_aes_ct64_ctr_vtable.run(context, iv, counter, data, len);
}

static void own_set_up(void *tls_context, int link, br_ssl_client_context *tls,
                       const br_x509_class **x509) {
    static const uint16_t suites[] = {
        BR_TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256};

    assert_ptr_equal(tls_context, &own);
    assert_ptr_equal(tls->eng.x509ctx, x509);
    assert_int_equal(((const br_x509_minimal_context *)(const void *)x509)
                         ->trust_anchors_num,
                     1);
    own.handshakes++;
    own.links |= 1u << link;
    br_ssl_engine_set_suites(&tls->eng, suites, COUNT(suites));
    br_ssl_engine_set_gcm(&tls->eng, &br_sslrec_in_gcm_vtable,
                          &br_sslrec_out_gcm_vtable);
    br_ssl_engine_set_aes_ctr(&tls->eng, &own.aes);
    br_ssl_engine_set_ghash(&tls->eng, br_ghash_ctmul64);
}

static void own_end(void *tls_context, int link) {
    assert_ptr_equal(tls_context, &own);
    assert_int_equal(link, 1);
    own.ends++;
}

/* The port's primitives are used on every connection of each link, and the port
 * is called when the connection ends. */
TEST_CASE(test_primitives_of_the_port) {
    memset(&own, 0, sizeof own);
    own.aes = br_aes_ct64_ctr_vtable;
    own.aes.init = own_init;
    own.aes.run = own_run;
    session_begin_tls("localhost");
    session.port.tls_setup = own_set_up;
    session.port.tls_end = own_end;
    session.port.tls_context = &own;
    session.config.link = 1;
    session_start_all();
    for (unsigned connection = 1; connection <= 2; connection++) {
        assert_true(session_until_subscribed(SESSION_MINUTE));
        expect_int("suite", BR_TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256,
                   session.tls.links[1].server.eng.session.cipher_suite);
        unsigned streams = own.streams;
        service_push(&session.service, "heartbeat", "");
        session_run(0);
        expect_int("heartbeats", connection,
                   session.seen.events[MST_EVENT_HEARTBEAT]);
        /* One for the record, one for its tag. */
        expect_int("streams", 2, own.streams - streams);
        service_end(&session.service, MST_ERR_RESET);
        session_run(0);
    }
    /* At first one more, for the token. */
    expect_int("handshakes", 3, own.handshakes);
    expect_int("ends", 3, own.ends);
    expect_int("links", 1u << 1, own.links);
}

static void certificate_expect(const char *certificate, int error) {
    session_begin_tls(certificate);
    session_start_all();
    session_until_closed(certificate, SESSION_MINUTE, error, MST_STATE_TLS);
    expect_int("requests", 0, session.service.tokens.count);
    if (error != MST_ERR_TLS_TIME) {
        assert_int_not_equal(session.seen.closed.detail, 0);
    }

    /* With a good certificate the session recovers by itself. */
    session_certificate("localhost");
    session_expect_subscribed(15 * SESSION_MINUTE, "%s", certificate);
}

TEST_CASE(test_certificates) {
    certificate_expect("wrong", MST_ERR_TLS_NAME);
    certificate_expect("expired", MST_ERR_TLS_TIME);
    certificate_expect("early", MST_ERR_TLS_TIME);
    certificate_expect("unknown", MST_ERR_TLS_ISSUER);
}

/* A good certificate, but a wrong clock of the client. */
TEST_CASE(test_wrong_clock) {
    static const int64_t year_s = INT64_C(31557600);

    session_begin_tls("localhost");
    mst_mock_set_wall(&session.mock,
                      MST_MOCK_WALL_NS + 30 * year_s * 1000000000);
    session_start_all();
    session_until_closed("clock", 1000, MST_ERR_TLS_TIME, MST_STATE_TLS);
    mst_mock_set_wall(&session.mock, MST_MOCK_WALL_NS);
    assert_true(session_until_subscribed(10 * SESSION_MINUTE));
}

/* A server that answers the first record with a fatal alert. */
TEST_CASE(test_alerts) {
    static const struct {
        uint8_t alert;
        int error;
        bool permanent;
    } cases[] = {{70, MST_ERR_TLS_VERSION, true}, /* requires TLS 1.3 */
                 {40, MST_ERR_TLS_HANDSHAKE, false},
                 {80, MST_ERR_TLS_ALERT, false}};

    for (size_t i = 0; i < COUNT(cases); i++) {
        uint8_t alert[7] = {21, 3, 3, 0, 2, 2, cases[i].alert};
        session_begin_tls("localhost");
        session.tls.silent = true;
        session_start_and_run(10);
        mst_mock_write(&session.mock, 0, alert, sizeof alert);
        session_until_closed("alert", 1000, cases[i].error, MST_STATE_TLS);
        expect_int("permanent", cases[i].permanent,
                   session.seen.closed.permanent);
        expect_int("detail", 256 + cases[i].alert, session.seen.closed.detail);
        session.tls.silent = false;
        assert_true(session_until_subscribed(10 * SESSION_MINUTE));
    }
}

/* The token comes over TLS; the stream, on the same link, is plaintext. */
TEST_CASE(test_plain_stream_after_tls) {
    session_begin();
    struct mst_mock_peer plain = session.mock.peer;
    struct mst_mock_sink sink = session.service.core.sink;

    session_begin_tls("localhost");
    session.config.ws_url = "ws://" SERVICE_WS_HOST;
    session.config.flags |= MST_ALLOW_PLAIN;
    session.mock.plan.connect_ms = 100;
    session_start_all();
    while (session.client.link.stats.tokens == 0) {
        session_run(10);
    }
    session.mock.peer = plain;
    session.service.core.sink = sink;
    assert_true(session_until_subscribed(10000));
    expect_int("handshakes", 1, session.tls.handshakes);
}

TEST_CASE(test_truncation) {
    session_begin_tls("localhost");
    session.tls.truncate = true;
    session_open();
    uint64_t sends = session.mock.calls[MST_MOCK_SEND];
    session.mock.plan.connect_ms = 100;
    service_end(&session.service, MST_ERR_EOF);
    session_until_closed("no close_notify", 1000, MST_ERR_TLS_TRUNCATED,
                         MST_STATE_OPEN);
    session_run(1);
    expect_int("said to nobody", sends, session.mock.calls[MST_MOCK_SEND]);
    session.tls.truncate = false;
    assert_true(session_until_subscribed(10000));
    service_end(&session.service, MST_ERR_EOF);
    session_until_closed("close_notify", 1000, MST_ERR_EOF, MST_STATE_OPEN);
    assert_true(session_until_subscribed(10000));
}

/* The peer has sent close_notify, and no longer reads. The client does not wait
 * until its own close_notify is sent. */
TEST_CASE(test_close_notify_to_no_reader) {
    session_begin_tls("localhost");
    session_open();
    session_run(3000);
    session_stall_after(0);
    session.tls.truncate = false;
    service_end(&session.service, MST_ERR_EOF);
    session_until_closed("close_notify", 100, MST_ERR_EOF, MST_STATE_OPEN);
    session_unstall();
    assert_true(session_until_subscribed(10000));
}

/* Bytes after a response are not read; close_notify is sent all the same. */
TEST_CASE(test_goodbye_beside_unread_bytes) {
    session_begin_tls("localhost");
    session.service.token.raw =
        "HTTP/1.1 503 No\r\nContent-Length: 0\r\n\r\nmore";
    session_start_all();
    session_until_closed("more", 1000, MST_ERR_HTTP_STATUS, MST_STATE_TOKEN);
    session.service.token.raw = NULL;
    assert_true(session_until_subscribed(10 * SESSION_MINUTE));
}

static struct mst_port whole_port; /* the original port */

static int refuse(void *context, int link, const void *data, size_t len) {
    (void)context, (void)link, (void)data, (void)len;
    return MST_ERR_RESET;
}

static int received; /* by receive(): 0 or an error */

static int receive(void *context, int link, void *data, size_t len) {
    (void)context, (void)link, (void)data, (void)len;
    return received;
}

/* Opens a stream that accepts nothing of a request, and then cannot send. */
static void open_mute(void) {
    struct mst_event event;

    session_open();
    session_run(3000);
    whole_port = session.port;
    session_stall_after(0);
    expect_int("request", 0, session_wish(MST_TOP_OF_BOOK, "LTCUSD"));
    expect_int("stalls", 0, mst_poll(&session.client, &event));
    session.port.send = refuse;
}

/* If sending fails, that error is reported, whether the other direction is
 * silent or has ended. Input that arrived before is read first. */
TEST_CASE(test_nothing_can_be_sent) {
    for (int i = 0; i < 8; i++) {
        static const char beats[] = "\x81\x02{}\x81\x02{}\x81\x02{}";
        struct mst_event event;
        int read = 0;

        session_begin_over(i % 2 == 0);
        open_mute();
        received = i / 2 == 0 ? 0 : MST_ERR_EOF;
        if (i / 2 >= 2) {
            service_bytes(&session.service, beats, sizeof beats - 1);
        } else {
            session.port.recv = receive;
        }
        if (i / 2 == 2) {
            service_end(&session.service, MST_ERR_EOF);
        }
        do {
            assert_int_equal(mst_poll(&session.client, &event), 1);
            read += event.type == MST_EVENT_UNKNOWN;
        } while (event.type != MST_EVENT_CLOSED);
        expect_int("not sent", MST_ERR_RESET, event.as.failure.error);
        expect_int("read before", i / 2 >= 2 ? 3 : 0, read);
        session.port = whole_port;
        session_unstall();
        assert_true(session_until(MST_EVENT_OPEN, SESSION_MINUTE));
    }
}

/* But if the input is not valid TLS, that is reported. */
TEST_CASE(test_forged_where_nothing_can_be_sent) {
    session_begin_tls("localhost");
    open_mute();
    mst_mock_write(&session.mock, 0,
                   BYTES("\x17\x03\x03\x00\x20"
                         "nobody with the keys has made this"));
    session_until_closed("forged", 1000, MST_ERR_TLS_PROTOCOL, MST_STATE_OPEN);
    session.port = whole_port;
    session_unstall();
}

static void (*opened)(void *context, int link,
                      const struct mst_endpoint *endpoint);

/* A service that responds before the request. */
static void answer_early(void *context, int link,
                         const struct mst_endpoint *endpoint) {
    static const char refusal[] = SERVICE_EMPTY("503 Later");

    opened(context, link, endpoint);
    (void)tls_peer_write(&session.tls, link, refusal, sizeof refusal - 1);
}

static int send_handshake(void *context, int link, const void *data,
                          size_t len) {
    return session_state() > MST_STATE_TLS
               ? MST_ERR_RESET
               : whole_port.send(context, link, data, len);
}

/* Only the handshake can be sent, and a response is already there: its error is
 * reported, and no close_notify is sent. */
TEST_CASE(test_answer_without_a_request) {
    session_begin_tls("localhost");
    opened = session.tls.inner.opened;
    session.tls.inner.opened = answer_early;
    whole_port = session.port;
    session.port.send = send_handshake;
    session_start();
    session_until_closed("early", SESSION_MINUTE, MST_ERR_HTTP_STATUS,
                         MST_STATE_TOKEN);
    expect_int("status", 503, session.seen.closed.http_status);
    session.tls.inner.opened = opened;
    session.port = whole_port;
}

/* A body that ends with the connection may have been truncated. */
TEST_CASE(test_truncated_token) {
    session_begin_tls("localhost");
    session.tls.truncate = true;
    session.service.framing = SERVICE_UNTIL_CLOSE;
    session_start_all();
    session_until_closed("body", 1000, MST_ERR_TLS_TRUNCATED, MST_STATE_TOKEN);
    session.tls.truncate = false;
    assert_true(session_until_subscribed(10000));
}

/* What the service says instead of a ServerHello. */
static void expect_hello(const char *what, const void *data, size_t len,
                         int error) {
    session_begin_tls("localhost");
    session.tls.silent = true;
    session_start();
    session_run(10);
    mst_mock_write(&session.mock, 0, data, len);
    session_until_closed(what, 1000, error, MST_STATE_TLS);
    session_check();
}

TEST_CASE(test_forged_record) {
    /* A ServerHello of TLS 1.2 with RSA and RC4, a suite that was not asked
     * for. */
    uint8_t hello[47] = {22, 3, 3, 0, 42, 2, 0, 0, 38, 3, 3};

    hello[45] = 5;
    session_begin_tls("localhost");
    session_open();
    session_forge_record();
    expect_hello("not TLS", "HTTP/1.1 400 Bad Request\r\n", 26,
                 MST_ERR_TLS_PROTOCOL);
    expect_hello("suite", hello, sizeof hello, MST_ERR_TLS_HANDSHAKE);
}

static void begin_that_fails(uint64_t n) {
    (void)n;
    session_begin_tls("localhost");
}

/* Makes each call of the port fail in turn, the clock's included. */
TEST_CASE(test_every_call_fails) {
    session_every_call_fails(begin_that_fails, session_end);
}

/* ---- secrets ---- */

TEST_CASE(test_wiped_after_close) {
    for (int tls = 0; tls < 2; tls++) {
        for (int how = 0; how < 3; how++) {
            session_begin_over(tls);
            session.service.rules.no_echo = how == 1;
            session_open();
            if (how == 2) {
                mst_client_wipe(&session.client);
            } else {
                session_end();
            }
            session_expect_clean(tls ? "TLS" : "secure port");
        }
    }
}

/* A secret is in memory only while it is needed. */
TEST_CASE(test_wiped_after_use) {
    session_begin_open();
    for (size_t i = 0; i < 2; i++) {
        if (session_contains(session_secrets[i], strlen(session_secrets[i]))) {
            expect_failed("client_secret is in memory while it streams");
        }
    }

    /* A refused token, and an incomplete one. */
    session_begin();
    session.service.token_value = SERVICE_TOKEN "\\r\\n";
    session_start();
    session_run(500);
    session_end();
    session_expect_clean("a bad token");
    session_begin();
    session.mock.plan.fail_call = MST_MOCK_RECV;
    session.mock.plan.fail_at = 30;
    session.mock.plan.recv_max = 8;
    session_start();
    session_run(0);
    session_end();
    session_expect_clean("a token cut off");
}

/* ---- the trace ---- */

static struct {
    struct text all, in, out, order;
    unsigned counts[MST_TRACE_RANDOM + 1];
    int64_t token_len, token_s;
    char host[MST_HOST_MAX + 1];
} trace;

static void trace_record(void *context, const struct mst_trace *record) {
    static const char letters[] = {
        [MST_TRACE_TOKEN] = 'T',  [MST_TRACE_OPEN] = 'o',
        [MST_TRACE_OPENED] = 'O', [MST_TRACE_IN] = 'I',
        [MST_TRACE_OUT] = 'U',    [MST_TRACE_END] = 'E'};

    assert_ptr_equal(context, &trace);
    assert_in_range(record->kind, MST_TRACE_STATE, MST_TRACE_RANDOM);
    trace.counts[record->kind]++;
    if ((record->kind == MST_TRACE_IN || record->kind == MST_TRACE_OUT) &&
        record->len == 0) {
        expect_failed("a record of no bytes");
    }
    if (record->kind < MST_TRACE_CLOCK && letters[record->kind] != 0) {
        text_add(&trace.order, "%c", letters[record->kind]);
    }
    if (record->len > 0) {
        text_add_bytes(&trace.all, record->data, record->len);
    }
    if (record->kind == MST_TRACE_IN || record->kind == MST_TRACE_OUT) {
        text_add_bytes(record->kind == MST_TRACE_IN ? &trace.in : &trace.out,
                       record->data, record->len);
    }
    if (record->kind == MST_TRACE_TOKEN) {
        trace.token_s = record->value;
        trace.token_len = record->value2;
        expect_int("scope", strlen(SERVICE_SCOPE), record->len);
    }
    if (record->kind == MST_TRACE_OPEN) {
        snprintf(trace.host, sizeof trace.host, "%s", record->text);
        expect_int("port", 443, record->value);
    }
}

static void trace_begin(bool tls) {
    text_free(&trace.all);
    text_free(&trace.in);
    text_free(&trace.out);
    text_free(&trace.order);
    memset(&trace, 0, sizeof trace);
    session_begin_over(tls);
    session.config.trace = trace_record;
    session.config.flags |= MST_TRACE_ALL;
    session.config.trace_context = &trace;
}

static void trace_expect_out(void) {
    static const char name[] = "Authorization: ";
    const char *line = strstr(text_get(&trace.out), name);

    assert_non_null(strstr(text_get(&trace.out), "GET / HTTP/1.1\r\n"));
    assert_non_null(line);
    expect_int("length of the masked value", strlen("Bearer " SERVICE_TOKEN),
               strcspn(line + strlen(name), "\r"));
    assert_null(strstr(text_get(&trace.out), "oauth2"));
    assert_null(strstr(text_get(&trace.in), "expires_in"));
    assert_non_null(strstr(text_get(&trace.in), "101 Switching Protocols"));
    assert_non_null(strstr(text_get(&trace.in), "\"SNAPSHOT\""));
}

TEST_CASE(test_trace) {
    static const size_t sizes[] = {0, 1, 3, 50};

    for (int tls = 0; tls < 2; tls++) {
        for (size_t i = 0; i < COUNT(sizes); i++) {
            trace_begin(tls);
            session.mock.plan.recv_max = sizes[i];
            session.mock.plan.send_max = sizes[i];
            session_open();
            session_end();
            session_expect_no_secret("the trace", &trace.all);
            trace_expect_out();
            expect_int("opens", 2, trace.counts[MST_TRACE_OPEN]);
            expect_int("opened", 2, trace.counts[MST_TRACE_OPENED]);
            expect_int("tokens", 1, trace.counts[MST_TRACE_TOKEN]);
            expect_int("ends", 2, trace.counts[MST_TRACE_END]);
            expect_int("lifetime", 3600, trace.token_s);
            expect_int("token length", strlen(SERVICE_TOKEN), trace.token_len);
            expect_text("last host", SERVICE_WS_HOST, trace.host);
            assert_true(trace.counts[MST_TRACE_CLOCK] > 0);
            assert_true(trace.counts[MST_TRACE_RANDOM] > 0);
            if (strncmp(text_get(&trace.order), "oOTEoOU", 7) != 0) {
                expect_failed("order: %.20s", text_get(&trace.order));
            }
        }
    }
}

/* "Opened" is reported only for a verified link. */
TEST_CASE(test_trace_of_bad_certificate) {
    trace_begin(true);
    session_certificate("wrong");
    session_start();
    assert_true(session_until(MST_EVENT_CLOSED, SESSION_MINUTE));
    expect_int("open", 1, trace.counts[MST_TRACE_OPEN]);
    expect_int("opened", 0, trace.counts[MST_TRACE_OPENED]);
    expect_int("end", 1, trace.counts[MST_TRACE_END]);
}

/* The trace shows no secret if the exchange fails either. */
TEST_CASE(test_trace_of_bad_tokens) {
    static const char *const raws[] = {
        "HTTP/1.1 200 OK\r\nContent-Length: "
        "999\r\n\r\n{\"access_token\":\"" SERVICE_TOKEN,
        "HTTP/1.1 400 Bad\r\nX: " SERVICE_TOKEN "\r\n\r\n" SERVICE_SECRET,
        SERVICE_TOKEN "\r\n",
    };

    for (size_t i = 0; i < COUNT(raws); i++) {
        trace_begin(false);
        service_answer(&session.service.token, raws[i], 0, MST_ERR_EOF);
        session.mock.plan.recv_max = i;
        session_start();
        assert_true(session_until(MST_EVENT_CLOSED, SESSION_MINUTE));
        session_end();
        session_expect_no_secret("the trace", &trace.all);
    }
}

/* A line that accepts no bytes does not end the handshake. */
TEST_CASE(test_handshake_on_a_full_line) {
    session_begin_tls("localhost");
    session_stall_after(0);
    session_start_and_run(5000);
    expect_int("stage", MST_STATE_TLS, session_state());
    session_unstall();
    assert_true(session_until_subscribed(5000));
    expect_int("closed", 0, session.seen.events[MST_EVENT_CLOSED]);
}

int main(void) {
    return cases_run("tls", expect_begin, session_tear_down,
                     session_certificates, tls_remove_certificates) +
           cases_run("tls, with port/primitives", expect_begin,
                     session_tear_down, session_primitives,
                     session_no_primitives);
}
