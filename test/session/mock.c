/*
 * The mock port by itself. The session tests depend on it.
 *
 * SPDX-License-Identifier: 0BSD
 */
#include "service.h"
#include "support.h"

static struct mst_mock mock;
static struct mst_port port;
static const struct mst_endpoint endpoint = {
    .host = "host.example", .port = 443, .tls = true};

/* A peer that echoes in upper case and logs its calls. */
static struct text notes;

static void note_opened(void *context, int link,
                        const struct mst_endpoint *to) {
    assert_ptr_equal(context, &notes);
    text_add(&notes, "opened %d %s:%u\n", link, to->host, to->port);
}

static void note_received(void *context, int link, const void *data,
                          size_t len) {
    (void)context;
    text_add(&notes, "received %d at %d: %.*s\n", link,
             (int)mst_mock_elapsed(&mock), (int)len, (const char *)data);
    mst_mock_write(&mock, link, data, len);
}

static void note_closed(void *context, int link) {
    (void)context;
    text_add(&notes, "closed %d\n", link);
}

static void note_drained(void *context, int link) {
    (void)context;
    text_add(&notes, "drained %d\n", link);
}

static void note_tick(void *context, uint64_t now_ms) {
    (void)context;
    text_add(&notes, "tick %d\n", (int)now_ms);
}

static int begin(void **state) {
    expect_begin(state);
    text_free(&notes);
    mst_mock_init(&mock, &port, 1);
    mock.peer = (struct mst_mock_peer){&notes,      note_opened,  note_received,
                                       note_closed, note_drained, note_tick};
    return 0;
}

static int end(void **state) {
    text_free(&notes);
    return expect_end(state);
}

static void connect_now(void) {
    assert_int_equal(port.resolve(&mock, 0, &endpoint), 1);
    assert_int_equal(port.connect(&mock, 0, 0), 1);
}

/* Reads all that has arrived. Returns the last call's result. */
static int read_all(struct text *text) {
    char data[100];
    int n;

    while ((n = port.recv(&mock, 0, data, sizeof data)) > 0) {
        text_add_bytes(text, data, (size_t)n);
    }
    return n;
}

TEST_CASE(test_echo) {
    struct text *text = text_new();

    connect_now();
    assert_int_equal(port.send(&mock, 0, "hello", 5), 5);
    assert_int_equal(read_all(text), 0);
    mst_mock_write(&mock, 0, "bye", 3);
    mst_mock_end(&mock, 0, MST_ERR_EOF);
    assert_int_equal(mst_mock_write(&mock, 0, "late", 4), 0);
    assert_int_equal(read_all(text), MST_ERR_EOF);
    assert_int_equal(read_all(text), MST_ERR_EOF);
    assert_true(mst_mock_in_use(&mock, 0));
    port.close(&mock, 0);
    assert_false(mst_mock_in_use(&mock, 0));
    expect_text("bytes", "hellobye", text_get(text));
    expect_text("notes",
                "opened 0 host.example:443\nreceived 0 at 0: hello\n"
                "drained 0\nclosed 0\n",
                text_get(&notes));
    assert_null(mock.broken);
}

TEST_CASE(test_latency) {
    struct text *text = text_new();

    mock.plan.resolve_ms = 10;
    mock.plan.connect_ms = 20;
    mock.plan.data_ms = 5;
    assert_int_equal(port.resolve(&mock, 0, &endpoint), 0);
    assert_int_equal(mst_mock_next(&mock), 10);
    mst_mock_advance(&mock, 10);
    assert_int_equal(port.resolve(&mock, 0, &endpoint), 1);
    assert_int_equal(port.connect(&mock, 0, 0), 0);
    mst_mock_advance(&mock, 19);
    assert_int_equal(port.connect(&mock, 0, 0), 0);
    mst_mock_advance(&mock, 1);
    assert_int_equal(port.connect(&mock, 0, 0), 1);
    port.send(&mock, 0, "a", 1);
    mst_mock_advance(&mock, 3);
    port.send(&mock, 0, "b", 1);
    mst_mock_wake(&mock, 4);
    mst_mock_advance(&mock, 100);
    expect_text("notes",
                "opened 0 host.example:443\nreceived 0 at 35: a\n"
                "tick 37\nreceived 0 at 38: b\n",
                text_get(&notes));
    assert_int_equal(read_all(text), 0);
    expect_text("bytes", "ab", text_get(text));
}

TEST_CASE(test_slices_and_cut) {
    char data[16];

    mock.plan.send_max = 2;
    connect_now();
    assert_int_equal(port.send(&mock, 0, "abcdef", 6), 2);
    assert_int_equal(port.send(&mock, 0, "cdef", 4), 2);
    mst_mock_write(&mock, 0, "efghij", 6);
    mock.plan.cut_at = 3;
    assert_int_equal(port.recv(&mock, 0, data, sizeof data), 3);
    assert_int_equal(port.recv(&mock, 0, data, sizeof data), 0);
    mock.plan.recv_max = 5;
    assert_int_equal(port.recv(&mock, 0, data, sizeof data), 5);
    assert_memory_equal(data, "defgh", 5);
    assert_int_equal(port.recv(&mock, 0, data, sizeof data), 2);
    assert_int_equal(mock.bytes_in, 10);
    assert_int_equal(mock.bytes_out, 4);
}

TEST_CASE(test_drip) {
    char data[16];

    mock.plan.drip = 4;
    connect_now();
    mst_mock_write(&mock, 0, "abcdef", 6);
    assert_int_equal(port.recv(&mock, 0, data, sizeof data), 0);
    for (int i = 0; i < 6; i++) {
        assert_int_equal(mst_mock_next(&mock), 250);
        mst_mock_advance(&mock, 250);
        assert_int_equal(port.recv(&mock, 0, data, sizeof data), 1);
        assert_int_equal(data[0], "abcdef"[i]);
    }
    assert_int_equal(mst_mock_next(&mock), MST_MOCK_NO_TIME);
}

TEST_CASE(test_faults) {
    char data[16];
    int64_t ns;

    mock.plan.addresses = 2;
    mock.plan.connect_error[0] = MST_ERR_REFUSED;
    mock.plan.detail = 5;
    assert_int_equal(port.resolve(&mock, 0, &endpoint), 2);
    assert_int_equal(port.connect(&mock, 0, 0), MST_ERR_REFUSED);
    assert_int_equal(port.detail(&mock, 0), 5);
    assert_int_equal(port.connect(&mock, 0, 1), 1);

    mock.plan.fail_call = MST_MOCK_RECV;
    mock.plan.fail_at = 2;
    mock.plan.fail_error = MST_ERR_RESET;
    assert_int_equal(port.recv(&mock, 0, data, sizeof data), 0);
    assert_int_equal(port.recv(&mock, 0, data, sizeof data), MST_ERR_RESET);
    assert_int_equal(port.recv(&mock, 0, data, sizeof data), MST_ERR_RESET);
    assert_int_equal(port.send(&mock, 0, "x", 1), MST_ERR_RESET);
    assert_int_equal(mock.failed, 1);

    assert_int_equal(port.unix_ns(&mock, &ns), 0);
    assert_true(ns == MST_MOCK_WALL_NS);
    mock.plan.clock_unset = true;
    mock.plan.entropy_none = true;
    assert_int_equal(port.unix_ns(&mock, &ns), MST_ERR_CLOCK);
    assert_int_equal(port.entropy(&mock, data, 4), MST_ERR_ENTROPY);

    port.close(&mock, 0);
    mock.plan.resolve_error = MST_ERR_RESOLVE;
    assert_int_equal(port.resolve(&mock, 0, &endpoint), MST_ERR_RESOLVE);
    mock.plan.resolve_error = MST_MOCK_NEVER;
    assert_int_equal(port.resolve(&mock, 0, &endpoint), 0);
    mst_mock_advance(&mock, 1000000);
    assert_int_equal(port.resolve(&mock, 0, &endpoint), 0);
    assert_null(mock.broken);
}

TEST_CASE(test_freeze) {
    struct text *text = text_new();

    connect_now();
    mst_mock_freeze(&mock, 0);
    mst_mock_write(&mock, 0, "a", 1);
    assert_int_equal(port.send(&mock, 0, "hello", 5), 5);
    mst_mock_end(&mock, 0, MST_ERR_EOF);
    mst_mock_advance(&mock, 1000);
    assert_int_equal(read_all(text), 0);
    port.close(&mock, 0);
    expect_text("notes", "opened 0 host.example:443\nclosed 0\n",
                text_get(&notes));
    connect_now();
    port.send(&mock, 0, "b", 1);
    assert_int_equal(read_all(text), 0);
    expect_text("bytes", "b", text_get(text));
}

/* Stalls one link, also after it has connected again. */
TEST_CASE(test_stall) {
    connect_now();
    mst_mock_stall(&mock, 0, true);
    assert_int_equal(port.send(&mock, 0, "hello", 5), 0);
    port.close(&mock, 0);
    connect_now();
    assert_int_equal(port.send(&mock, 0, "hello", 5), 0);
    mst_mock_stall(&mock, 0, false);
    assert_int_equal(port.send(&mock, 0, "hello", 5), 5);
}

TEST_CASE(test_clocks) {
    int64_t ns;

    mst_mock_set_now(&mock, 0xFFFFFFF0u);
    assert_int_equal(port.now_ms(&mock), 0xFFFFFFF0u);
    mst_mock_advance(&mock, 0x20);
    assert_int_equal(port.now_ms(&mock), 0x10);
    assert_true(port.now_ns(&mock) == UINT64_C(0x100000010) * 1000000);
    mst_mock_set_wall(&mock, INT64_C(5000000000));
    mst_mock_advance(&mock, 7);
    assert_int_equal(port.unix_ns(&mock, &ns), 0);
    assert_true(ns == INT64_C(5007000000));
    assert_int_equal(mst_mock_elapsed(&mock), 0x27);
}

TEST_CASE(test_reproducible) {
    unsigned char a[40], b[40];

    port.entropy(&mock, a, sizeof a);
    mst_mock_init(&mock, &port, 1);
    port.entropy(&mock, b, sizeof b);
    assert_memory_equal(a, b, sizeof a);
    mst_mock_init(&mock, &port, 2);
    port.entropy(&mock, b, sizeof b);
    assert_memory_not_equal(a, b, sizeof a);
}

/* A full queue accepts no more. Nothing is lost or reordered. */
TEST_CASE(test_room) {
    static unsigned char data[MST_MOCK_IN_LEN];
    size_t written = 0, read = 0;

    connect_now();
    for (size_t i = 0; i < sizeof data; i++) {
        data[i] = (unsigned char)(i * 7 + i / 251);
    }
    for (int round = 0; round < 50; round++) {
        unsigned char got[3001];
        size_t at = written % sizeof data;
        written += mst_mock_write(&mock, 0, data + at, sizeof data - at);
        int n = port.recv(&mock, 0, got, sizeof got);
        assert_true(n > 0);
        for (int i = 0; i < n; i++) {
            assert_int_equal(got[i], data[(read + (size_t)i) % sizeof data]);
        }
        read += (size_t)n;
        assert_int_equal(mst_mock_room(&mock, 0),
                         MST_MOCK_IN_LEN - (written - read));
        mst_mock_advance(&mock, 1);
    }
}

static void breach_expect(const char *what) {
    if (mock.broken == NULL || strstr(mock.broken, what) == NULL) {
        expect_failed("not noticed: %s", what);
    }
    mst_mock_init(&mock, &port, 1);
}

/* A caller that takes this long, in ms. */
static bool take(void *context, const struct mst_event *event) {
    (void)event;
    mst_mock_advance(&mock, *(const uint32_t *)context);
    return mst_mock_elapsed(&mock) < 10000;
}

MST_MEMORY(memory, MST_LENGTHS_USUAL);

/* A run ends if an event took longer than the rest of the run. */
TEST_CASE(test_run_ends) {
    static struct mst_client client;
    static const br_x509_trust_anchor anchor;
    static const struct mst_config config = {.ws_url = "wss://" SERVICE_WS_HOST,
                                             .auth_url =
                                                 "https://" SERVICE_AUTH_HOST,
                                             .client_id = SERVICE_ID,
                                             .client_secret = SERVICE_SECRET,
                                             .anchors = &anchor,
                                             .anchors_len = 1};

    uint32_t ms = 500;

    mock.plan.resolve_error = MST_ERR_RESOLVE;
    assert_int_equal(mst_client_init(&client, &config, &port, &memory), 0);
    assert_int_equal(mst_mock_run(&mock, &client, 100, take, &ms), 500);
    assert_int_equal(mst_mock_elapsed(&mock), 500);
}

static int poll_ready(void *object, struct mst_event *event) {
    (void)event;
    ++*(unsigned *)object;
    return 1;
}

/* So does a run with endless events. Every object gets its turn. */
TEST_CASE(test_run_ends_busy) {
    uint32_t ms = 10;
    unsigned polls[2] = {0};
    const struct mst_mock_object objects[] = {{poll_ready, &polls[0], {NULL}},
                                              {poll_ready, &polls[1], {NULL}}};

    assert_int_equal(mst_mock_run_objects(&mock, objects, 2, 90, take, &ms),
                     100);
    assert_int_equal(polls[0], 5);
    assert_int_equal(polls[1], 5);
}

/* Calls that the port's contract forbids are detected. */
TEST_CASE(test_contract) {
    struct mst_endpoint nowhere = {.host = ""};
    char data[4];

    port.send(&mock, 0, "x", 1);
    breach_expect("send");
    port.recv(&mock, 0, data, 4);
    breach_expect("recv");
    port.connect(&mock, 0, 0);
    breach_expect("connect");
    port.resolve(&mock, 0, &endpoint);
    port.connect(&mock, 0, 1);
    breach_expect("no such address");
    port.resolve(&mock, 0, &nowhere);
    breach_expect("resolve");
    assert_int_equal(port.resolve(&mock, MST_MOCK_LINKS, &endpoint),
                     MST_ERR_ARGUMENT);
    port.close(&mock, MST_MOCK_LINKS);
    assert_null(mock.broken);
    port.send(&mock, MST_MOCK_LINKS, "x", 1);
    breach_expect("link");
    connect_now();
    port.send(&mock, 0, "", 0);
    breach_expect("no bytes");
    connect_now();
    port.resolve(&mock, 0, &endpoint);
    breach_expect("is connected");
    port.close(&mock, 0);
    port.close(&mock, 0);
    assert_null(mock.broken);
}

RUN_WITH(begin, end, NULL, NULL)
