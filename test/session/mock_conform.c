/*
 * The port conformance test on the mock, which acts as peer.py.
 *
 * SPDX-License-Identifier: 0BSD
 */
#include "mst_conform.h"
#include "mst_mock.h"

#include "support.h"

#define NOWHERE "nobody.invalid"
#define PEER_PORT 1000
#define CLOSED_PORT 1001
#define STALL_MS 1000

static struct mst_mock mock;
static struct mst_conform conform;
static struct mst_port port; /* the mock's functions */

/* A connection of peer.py. */
static struct {
    uint8_t request[5];
    uint32_t len;           /* its bytes received so far */
    uint32_t left, sent;    /* still to read or send; sent */
    uint32_t low, high;     /* parts of Adler-32 of the input */
    uint64_t stalled_until; /* 0: not stalled */
} peers[MST_MOCK_LINKS];
static uint32_t kept; /* the stored sum, for another connection */

static uint8_t pattern(uint32_t at) {
    return (uint8_t)(at ^ at >> 8 ^ at >> 16);
}

static void on_opened(void *context, int link,
                      const struct mst_endpoint *endpoint) {
    (void)context, (void)endpoint;
    memset(&peers[link], 0, sizeof peers[link]);
    peers[link].low = 1;
}

static void talk(int link) {
    while (peers[link].left > 0 && mst_mock_room(&mock, link) > 0) {
        uint8_t byte = pattern(peers[link].sent);

        assert_int_equal(mst_mock_write(&mock, link, &byte, 1), 1);
        peers[link].sent++;
        if (--peers[link].left == 0) {
            mst_mock_end(&mock, link, MST_ERR_EOF);
        }
    }
}

static void say_sum(int link, uint32_t sum) {
    const uint8_t bytes[] = {(uint8_t)sum, (uint8_t)(sum >> 8),
                             (uint8_t)(sum >> 16), (uint8_t)(sum >> 24)};

    assert_int_equal(mst_mock_write(&mock, link, bytes, sizeof bytes),
                     sizeof bytes);
}

/* True if the connection stores the sum of its input. */
static bool keeps(int link) {
    return peers[link].request[0] == 'K' || peers[link].request[0] == 'U';
}

static void begin(int link) {
    static const uint8_t unread[2500];
    const uint8_t *n = peers[link].request + 1;

    peers[link].left = (uint32_t)n[0] | (uint32_t)n[1] << 8 |
                       (uint32_t)n[2] << 16 | (uint32_t)n[3] << 24;
    switch (peers[link].request[0]) {
    case 'T': talk(link); break;
    case 'A': say_sum(link, kept); break;
    case 'U': (void)mst_mock_write(&mock, link, unread, sizeof unread); break;
    case 'R': mst_mock_end(&mock, link, MST_ERR_RESET); break;
    case 'S':
        peers[link].stalled_until = mst_mock_elapsed(&mock) + STALL_MS;
        mst_mock_stall(&mock, link, true);
        mst_mock_wake(&mock, STALL_MS);
        break;
    default: break;
    }
}

static void add_up(int link, uint8_t byte) {
    peers[link].low = (peers[link].low + byte) % 65521;
    peers[link].high = (peers[link].high + peers[link].low) % 65521;
}

static uint32_t sum_of(int link) {
    return peers[link].high << 16 | peers[link].low;
}

static void on_received(void *context, int link, const void *data, size_t len) {
    const uint8_t *at = data;

    (void)context;
    for (size_t i = 0; i < len; i++) {
        if (peers[link].len > 0 && peers[link].request[0] == 'E') {
            (void)mst_mock_write(&mock, link, &at[i], 1);
        } else if (peers[link].len < sizeof peers[link].request) {
            peers[link].request[peers[link].len++] = at[i];
            if (peers[link].len == sizeof peers[link].request) {
                begin(link);
            }
        } else if (keeps(link)) {
            add_up(link, at[i]);
        } else if (peers[link].request[0] == 'S' && peers[link].left > 0) {
            add_up(link, at[i]);
            if (--peers[link].left == 0) {
                say_sum(link, sum_of(link));
            }
        }
    }
}

static void on_drained(void *context, int link) {
    (void)context;
    if (peers[link].request[0] == 'T') {
        talk(link);
    }
}

static void on_tick(void *context, uint64_t now_ms) {
    (void)context;
    for (int link = 0; link < MST_MOCK_LINKS; link++) {
        if (peers[link].stalled_until != 0 &&
            peers[link].stalled_until <= now_ms) {
            peers[link].stalled_until = 0;
            mst_mock_stall(&mock, link, false);
        }
    }
}

static void on_closed(void *context, int link) {
    (void)context;
    if (keeps(link)) {
        kept = sum_of(link);
    }
    peers[link].stalled_until = 0;
    mst_mock_stall(&mock, link, false);
}

/* Errors that DNS and an operating system would detect. */
static int resolve(void *context, int link,
                   const struct mst_endpoint *endpoint) {
    mock.plan.resolve_error =
        strcmp(endpoint->host, NOWHERE) == 0 ? MST_ERR_RESOLVE : 0;
    mock.plan.connect_error[mock.plan.addresses > 1] =
        endpoint->port == CLOSED_PORT ? MST_ERR_REFUSED : 0;
    return port.resolve(context, link, endpoint);
}

static void rest(void *context) {
    (void)context;
    mst_mock_advance(&mock, 1);
}

static void report(void *context, const char *name, const char *why) {
    (void)context;
    expect_text(name, "passed", why == NULL ? "passed" : why);
    expect_text(name, "", mock.broken == NULL ? "" : mock.broken);
}

static void begin_run(uint32_t now_ms) {
    mst_mock_init(&mock, &port, 1);
    mst_mock_set_now(&mock, now_ms);
    mock.peer = (struct mst_mock_peer){
        .opened = on_opened,
        .received = on_received,
        .closed = on_closed,
        .drained = on_drained,
        .tick = on_tick,
    };
    mock.plan.resolve_ms = mock.plan.connect_ms = 3;
    conform = (struct mst_conform){
        .port = port,
        .links = MST_MOCK_LINKS,
        .host = "peer.test",
        .nowhere = NOWHERE,
        .peer_port = PEER_PORT,
        .closed_port = CLOSED_PORT,
        .much = 300000,
        .wait = rest,
        .report = report,
    };
    conform.port.resolve = resolve;
}

TEST_CASE(test_mock_is_a_port) {
    begin_run(0);
    assert_int_equal(mst_conform_run(&conform), 0);
}

/* As c-ares says ::1 of localhost, and the peer is only at 127.0.0.1. */
TEST_CASE(test_the_first_address_is_dead) {
    begin_run(0);
    mock.plan.addresses = 2;
    mock.plan.connect_error[0] = MST_ERR_UNREACHABLE;
    assert_int_equal(mst_conform_run(&conform), 0);
}

TEST_CASE(test_while_the_clock_wraps) {
    begin_run(UINT32_MAX - 500);
    assert_int_equal(mst_conform_run(&conform), 0);
}

/* ---- Ports that are wrong, each in one way ---- */

static int resolve_any(void *context, int link,
                       const struct mst_endpoint *endpoint) {
    return resolve(context, link < 0 || link >= MST_MOCK_LINKS ? 0 : link,
                   endpoint);
}

static int resolve_always(void *context, int link,
                          const struct mst_endpoint *endpoint) {
    struct mst_endpoint other = *endpoint;

    strcpy(other.host, "peer.test");
    return resolve(context, link, &other);
}

static int same_entropy(void *context, void *data, size_t len) {
    (void)context;
    memset(data, 0x5A, len);
    return 0;
}

static int unix_fails(void *context, int64_t *ns) {
    (void)context;
    *ns = 0;
    return MST_ERR_PORT;
}

static int connect_anyhow(void *context, int link, int address) {
    int rc = port.connect(context, link, address);

    return rc == MST_ERR_REFUSED ? MST_ERR_PORT : rc;
}

/* Returns a wrong result in place of the mock's. */
static struct { int is, said; } result;

static int connect_says(void *context, int link, int address) {
    int rc = port.connect(context, link, address);

    return rc == result.is ? result.said : rc;
}

static int recv_says(void *context, int link, void *data, size_t len) {
    int n = port.recv(context, link, data, len);

    return n == result.is ? result.said : n;
}

static int recv_loses(void *context, int link, void *data, size_t len) {
    static unsigned count;
    int n = port.recv(context, link, data, len);

    return n > 1 && ++count % 100 == 0 ? n - 1 : n;
}

static int recv_other(void *context, int link, void *data, size_t len) {
    return port.recv(context, link > 1 ? 1 : link, data, len);
}

static int send_loses(void *context, int link, const void *data, size_t len) {
    int n = port.send(context, link, data, len);

    return n == 0 ? (int)len : n;
}

/* Drops sent data if there is unread input. */
static void close_resets(void *context, int link) {
    uint8_t byte;
    bool unread = link >= 0 && link < MST_MOCK_LINKS &&
                  port.recv(context, link, &byte, 1) > 0;

    port.close(context, link);
    kept += unread;
}

static bool left_over;

static void close_leaves(void *context, int link) {
    left_over = true;
    port.close(context, link);
}

static int recv_left(void *context, int link, void *data, size_t len) {
    if (left_over) {
        left_over = false;
        *(char *)data = 0;
        return 1;
    }
    return port.recv(context, link, data, len);
}

/* Receives nothing on other links while the first has input. */
static int recv_in_turn(void *context, int link, void *data, size_t len) {
    return link > 0 && mst_mock_in_use(&mock, 0)
               ? 0
               : port.recv(context, link, data, len);
}

static uint32_t now_back(void *context) {
    static uint32_t count;

    return port.now_ms(context) - (++count % 64 == 0 ? 20 : 0);
}

/* Derived from a count of us, so it wraps a thousand times too early. */
static uint32_t now_of_us(void *context) {
    const uint32_t wraps_ms = UINT32_MAX / 1000;

    return (port.now_ms(context) + wraps_ms - 200) * 1000 / 1000;
}

/* Made of ticks of 0.75 ms, which wrap at 32 bits. */
static uint32_t now_of_ticks(void *context) {
    return (port.now_ms(context) + UINT32_MAX - 200u) / 4 * 3;
}

static uint32_t now_stands(void *context) {
    (void)context;
    return 1;
}

static int no_entropy(void *context, void *data, size_t len) {
    (void)context;
    memset(data, 0, len / 2);
    return 0;
}

static const char *expected; /* the case that must fail */
static const char *reason;   /* NULL: any */
static bool found;

/* The port does not wake the program, which waits for its own time to end. */
static void oversleep(void *context) {
    (void)context;
    mst_mock_advance(&mock, 60000);
}

static void report_wrong(void *context, const char *name, const char *why) {
    (void)context;
    found |= why != NULL && strcmp(name, expected) == 0 &&
             (reason == NULL || strcmp(why, reason) == 0);
}

/* Each wrong port fails in the case that tests for it. */
TEST_CASE(test_wrong_ports_are_found) {
#define WITH(member, function) .port = {.member = (function) }
    static const char number[] = "connect gave another number than 1";
    const struct {
        const char *name;
        struct mst_port port;
        int is, said;     /* for recv_says() */
        uint32_t data_ms; /* latency: a close loses data under way */
        const char *why;  /* NULL: any */
        void (*wait_woken)(void *context);
    } cases[] = {
        {"has clocks", WITH(now_ms, now_back)},
        {"has clocks", WITH(now_ms, now_stands)},
        {"connects and echoes", WITH(recv, recv_says), .said = MST_ERR_EOF},
        {"connects and echoes", WITH(connect, connect_says),
         .said = MST_PORT_IN_TLS, .why = number},
        {"connects and echoes", WITH(connect, connect_says), .is = 1, .said = 3,
         .why = number},
        {"reads much to its end", WITH(recv, recv_says), .is = MST_ERR_EOF},
        {"reads much to its end", WITH(recv, recv_loses)},
        {"reads much to its end", WITH(now_ms, now_of_us)},
        {"reads much to its end", WITH(now_ms, now_of_ticks),
         .why = "now_ms jumps ahead"},
        {"sends to a slow reader", WITH(send, send_loses)},
        {"sends what it took", .data_ms = 5},
        {"sends it with bytes unread", WITH(close, close_resets),
         .why = "the peer got other bytes"},
        {"tells of a reset", WITH(recv, recv_says), .is = MST_ERR_RESET,
         .said = MST_ERR_EOF},
        {"tells of a refusal", WITH(connect, connect_anyhow)},
        {"tells of an unknown name", WITH(resolve, resolve_always)},
        {"wakes who waits", .wait_woken = oversleep},
        {"closes at any time",
         .port = {.close = close_leaves, .recv = recv_left}},
        {"leaves room for others", WITH(recv, recv_in_turn)},
        {"keeps links apart", WITH(recv, recv_other)},
        {"refuses links that it does not have", WITH(resolve, resolve_any)},
        {"has entropy", WITH(entropy, no_entropy)},
        {"has entropy", WITH(entropy, same_entropy)},
        {"has clocks", WITH(unix_ns, unix_fails)},
    };
#undef WITH

    for (size_t i = 0; i < COUNT(cases); i++) {
        const struct mst_port *wrong = &cases[i].port;
        begin_run(0);
        mock.plan.data_ms = cases[i].data_ms;
        conform.report = report_wrong;
        conform.wait_woken = cases[i].wait_woken;
        conform.port.resolve =
            wrong->resolve != NULL ? wrong->resolve : resolve;
        conform.port.connect =
            wrong->connect != NULL ? wrong->connect : port.connect;
        conform.port.recv = wrong->recv != NULL ? wrong->recv : port.recv;
        conform.port.send = wrong->send != NULL ? wrong->send : port.send;
        conform.port.close = wrong->close != NULL ? wrong->close : port.close;
        conform.port.now_ms =
            wrong->now_ms != NULL ? wrong->now_ms : port.now_ms;
        conform.port.unix_ns =
            wrong->unix_ns != NULL ? wrong->unix_ns : port.unix_ns;
        conform.port.entropy =
            wrong->entropy != NULL ? wrong->entropy : port.entropy;
        result.is = cases[i].is;
        result.said = cases[i].said;
        expected = cases[i].name;
        reason = cases[i].why;
        found = false;
        (void)mst_conform_run(&conform);
        expect_int(cases[i].name, true, found);
    }
}

RUN_CASES(NULL, NULL)
