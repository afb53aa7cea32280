/*
 * A fuzz target: a script of what a service, the line and the caller do to a
 * client on the mock port, step by step in virtual time. The client keeps its
 * deadlines and the port's contract, hands out what came on a connection while
 * that is open, ends soon when it is closed, says nothing afterwards, and
 * leaves no secret.
 *
 * SPDX-License-Identifier: 0BSD
 */
#define _GNU_SOURCE /* memmem() */
#include "fuzz.h"
#include "service.h"
#include "support.h"

#include <stdio.h>
#include <string.h>

#define SCRIPT_MAX 1024
#define SECRET "the-client's-secret"
#define TOKEN "the-token-of-the-service"
#define SILENCE_MS 60000u
#define CLOSING_MS 3000u

/* What a step does, by the low bits of its byte. */
enum {
    STEP_ANSWER,  /* the service answers a request of HTTP as it should */
    STEP_MESSAGE, /* sends one of the frames below */
    STEP_TIME,    /* time goes by */
    STEP_TEXT,    /* a text frame of so many bytes of the script */
    STEP_FRAME,   /* one of any kind */
    STEP_BYTES,   /* bytes of the script as they are */
    STEP_END,     /* the connection ends */
    STEP_CALL,    /* the caller calls */
    STEP_PLAN,    /* the line is another one */
    STEP_CLOCK,   /* the wall clock is set */
    STEPS
};

static struct {
    const uint8_t *at, *end; /* of the script */
    struct mst_mock mock;
    struct mst_port port;
    struct mst_client client;
    struct mst_memory memory;
    unsigned char bytes[MST_MEMORY_LEN(MST_LENGTHS_USUAL)];
    struct mst_book book;
    struct mst_level levels[2 * 8];
    /* Of the connection. */
    bool asked; /* a request of HTTP has come whole, and was not answered */
    bool upgrade, streams;
    char request[4096];
    size_t request_len;
    /* Of the client. */
    bool open, in_part, closed;
    uint32_t generation;
    uint64_t state_ms; /* when the state was entered */
    uint64_t heard_ms; /* when something was read last */
    int (*recv)(void *context, int link, void *data, size_t len);
} s;

static unsigned take(void) {
    return s.at < s.end ? *s.at++ : 0;
}

static size_t take_bytes(const uint8_t **data) {
    size_t len = take(), left = (size_t)(s.end - s.at);

    len = len < left ? len : left;
    *data = s.at;
    s.at += len;
    return len;
}

/* ---- The service ---- */

static void send_bytes(const void *data, size_t len) {
    if (len > 0) {
        (void)mst_mock_write(&s.mock, 0, data, len);
    }
}

static void send_frame(unsigned first, const void *data, size_t len) {
    unsigned char frame[10 + 1024];
    size_t head = service_frame_header(frame, first, len);

    FUZZ_EXPECT(len <= sizeof frame - head);
    memcpy(frame + head, data, len);
    send_bytes(frame, head + len);
}

static void peer_opened(void *context, int link,
                        const struct mst_endpoint *endpoint) {
    (void)context;
    (void)link;
    s.asked = s.streams = false;
    s.upgrade = strcmp(endpoint->host, SERVICE_WS_HOST) == 0;
    s.request_len = 0;
}

static void peer_received(void *context, int link, const void *data,
                          size_t len) {
    size_t room = sizeof s.request - 1 - s.request_len;

    (void)context;
    (void)link;
    if (s.streams) {
        return;
    }
    len = len < room ? len : room;
    memcpy(s.request + s.request_len, data, len);
    s.request_len += len;
    s.request[s.request_len] = '\0';
    s.asked = strstr(s.request, "\r\n\r\n") != NULL;
}

static void send_token(void) {
    static const char body[] =
        "{\"access_token\":\"" TOKEN "\",\"token_type\":\"bearer\","
        "\"expires_in\":600,\"scope\":\"" SERVICE_SCOPE "\"}";
    char text[400];

    snprintf(text, sizeof text,
             "HTTP/1.1 200 OK\r\nContent-Length: %zu\r\n\r\n%s",
             sizeof body - 1, body);
    send_bytes(text, strlen(text));
}

static void send_upgrade(void) {
    static const char name[] = "Sec-WebSocket-Key: ";
    const char *key = strstr(s.request, name);
    char accept[SERVICE_ACCEPT_LEN + 1], text[300], copy[SERVICE_KEY_LEN + 1];

    FUZZ_EXPECT(key != NULL);
    snprintf(copy, sizeof copy, "%s", key + sizeof name - 1);
    service_accept(copy, accept);
    snprintf(text, sizeof text,
             "HTTP/1.1 101 Yes\r\nUpgrade: websocket\r\n"
             "Connection: Upgrade\r\nSec-WebSocket-Accept: %s\r\n\r\n",
             accept);
    send_bytes(text, strlen(text));
    s.streams = true;
}

static void answer(void) {
    if (!s.asked) {
        return;
    }
    s.asked = false;
    s.request_len = 0;
    if (s.upgrade) {
        send_upgrade();
    } else {
        send_token();
    }
}

#define ENTRY(type, success)                                     \
    "{\"type\":\"" type "\",\"params\":{\"market\":\"BTCUSD\"}," \
    "\"success\":" success "}"

static void send_message(void) {
    static const struct {
        unsigned first;
        const char *text;
    } messages[] = {
        {0x81, "{\"type\":\"subscribe\",\"channels\":[" ENTRY(
                   "market_data", "true") ",{\"type\":\"heartbeat\","
                                          "\"success\":true}]}"},
        {0x81, BOOK_MESSAGE("SNAPSHOT", LEVEL("10", "1") "," LEVEL("9", "2"),
                            LEVEL("11", "1"))},
        {0x81, BOOK_MESSAGE("UPDATE", LEVEL("10", "0"), LEVEL("12", "3"))},
        {0x81, TOP(LEVEL("10", "1"), LEVEL("11", "1"))},
        {0x81, EXECUTION("10.5", "0.1")},
        {0x81, "{\"channel\":\"heartbeat\",\"payload\":" HEARTBEAT_PAYLOAD "}"},
        {0x81, "{\"type\":\"error\",\"error\":\"INTERNAL_SERVER_ERROR\"}"},
        {0x81, "{\"type\":\"subscribe\",\"channels\":[" ENTRY("market_data",
                                                              "false") "]}"},
        {0x81, "{\"type\":\"unsubscribe\",\"channels\":[" ENTRY("market_data",
                                                                "true") "]}"},
        {0x81, "{\"type\":\"subscription_list\",\"channels\":[" ENTRY(
                   "top_of_book", "true") "]}"},
        {0x81, UPDATE_WITH(",\"bids\":[" LEVEL("10", "1") "]") "x"},
        {0x01, "{\"channel\":\"market_data\",\"payload\":{"},
        {0x80, "\"market\":\"BTCUSD\"}}"},
        {0x88, "\x03\xE8"},
        {0x89, "ping"},
        {0x8A, ""},
    };
    unsigned i = take() % COUNT(messages);

    send_frame(messages[i].first, messages[i].text, strlen(messages[i].text));
}

/* ---- The client ---- */

static int hear(void *context, int link, void *data, size_t len) {
    int n = s.recv(context, link, data, len);

    if (n > 0) {
        s.heard_ms = mst_mock_elapsed(&s.mock);
    }
    return n;
}

static void on_trace(void *context, const struct mst_trace *trace) {
    (void)context;
    if (trace->kind == MST_TRACE_STATE) {
        FUZZ_EXPECT(trace->state != trace->from);
        s.state_ms = mst_mock_elapsed(&s.mock);
    }
}

static void take_part(const struct mst_part *part) {
    FUZZ_EXPECT(part->first || s.in_part);
    FUZZ_EXPECT(!part->first || !s.in_part);
    FUZZ_EXPECT(part->count <= MST_PART_LEVELS);
    FUZZ_EXPECT(!part->aborted || part->count == 0);
    s.in_part = !part->last && !part->aborted;
}

static void take_end(const struct mst_failure *failure) {
    FUZZ_EXPECT(failure->error <= 0);
    FUZZ_EXPECT(mst_strerror(failure->error)[0] != '\0');
    FUZZ_EXPECT(mst_book_state(&s.book) != MST_BOOK_LIVE);
    s.open = s.in_part = false;
}

static bool on_event(void *context, const struct mst_event *event) {
    (void)context;
    FUZZ_EXPECT(!s.closed);
    FUZZ_EXPECT(event->type > MST_EVENT_NONE &&
                event->type <= MST_EVENT_UNKNOWN);
    FUZZ_EXPECT(event->generation >= s.generation);
    s.generation = event->generation;
    switch (event->type) {
    case MST_EVENT_OPEN:
        FUZZ_EXPECT(!s.open && s.streams);
        s.open = true;
        break;
    case MST_EVENT_CLOSED: take_end(&event->as.failure); break;
    case MST_EVENT_ERROR: FUZZ_EXPECT(event->as.failure.error < 0); break;
    case MST_EVENT_PART: take_part(&event->as.part); /* fall through */
    default: FUZZ_EXPECT(s.open);
    }
    return true;
}

/* How long the client may be in a state; 0: as long as it likes. */
static uint64_t most_ms(enum mst_state state) {
    switch (state) {
    case MST_STATE_RESOLVE:
    case MST_STATE_CONNECT: return 10000;
    case MST_STATE_TOKEN:
    case MST_STATE_UPGRADE: return 15000;
    case MST_STATE_CLOSING: return CLOSING_MS;
    default: return 0;
    }
}

static void expect_deadlines(void) {
    enum mst_state state = mst_link_state(&s.client.link);
    uint64_t now = mst_mock_elapsed(&s.mock);

    FUZZ_EXPECT(most_ms(state) == 0 || now - s.state_ms <= most_ms(state));
    FUZZ_EXPECT(state != MST_STATE_OPEN || now - s.heard_ms <= SILENCE_MS ||
                now - s.state_ms <= SILENCE_MS);
    FUZZ_EXPECT(mst_next_deadline_ms(&s.client.link) <= 24u * 86400000u);
}

static void run(uint32_t ms) {
    mst_mock_run(&s.mock, &s.client, ms, on_event, NULL);
    if (s.mock.broken != NULL) {
        printf("%s\n", s.mock.broken);
    }
    FUZZ_EXPECT(s.mock.broken == NULL);
    expect_deadlines();
}

/* ---- The steps ---- */

static void call(void) {
    static const char *const markets[] = {"BTCUSD", "ETHUSD", ""};
    unsigned which = take();
    const char *market = markets[which / 16 % COUNT(markets)];

    switch (which % 8) {
    case 0:
        (void)mst_subscribe(&s.client, MST_TOP_OF_BOOK, market, NULL);
        break;
    case 1: (void)mst_unsubscribe(&s.client, MST_MARKET_DATA, market); break;
    case 2: (void)mst_resync(&s.client, MST_MARKET_DATA, market); break;
    case 3: (void)mst_subscription_list(&s.client); break;
    case 4:
        (void)mst_subscribe(&s.client, MST_MARKET_DATA, market, &s.book);
        break;
    case 5: (void)mst_unsubscribe(&s.client, MST_HEARTBEAT, NULL); break;
    case 6: (void)mst_subscribe(&s.client, MST_HEARTBEAT, NULL, NULL); break;
    default:
        if (which == 7) {
            mst_close(&s.client);
        }
    }
}

static void change_plan(void) {
    struct mst_mock_plan *p = &s.mock.plan;
    unsigned which = take();

    memset(p, 0, sizeof *p);
    switch (which % 10) {
    case 0: p->recv_max = 1 + which / 16; break;
    case 1: p->send_max = 1 + which / 16; break;
    case 2: p->send_stall = true; break;
    case 3: p->resolve_error = MST_MOCK_NEVER; break;
    case 4: p->connect_error[0] = MST_ERR_REFUSED; break;
    case 5: p->connect_error[0] = MST_MOCK_NEVER; break;
    case 6: p->clock_unset = true; break;
    case 7: p->entropy_none = true; break;
    case 8: p->drip = 1 + which * 8; break;
    default: break;
    }
}

static void step(void) {
    static const uint32_t times_ms[] = {0,     1,     100,   1000,   5000,
                                        15000, 59999, 60001, 300000, 900000};
    const uint8_t *data;
    unsigned first;
    size_t len;

    switch (take() % 16) {
    case STEP_MESSAGE: send_message(); break;
    case STEP_TIME: run(times_ms[take() % COUNT(times_ms)]); break;
    case STEP_TEXT:
        len = take_bytes(&data);
        send_frame(0x81, data, len);
        break;
    case STEP_FRAME:
        first = take();
        len = take_bytes(&data);
        send_frame(first, data, len);
        break;
    case STEP_BYTES:
        len = take_bytes(&data);
        send_bytes(data, len);
        break;
    case STEP_END:
        mst_mock_end(&s.mock, 0, take() % 2 == 0 ? MST_ERR_EOF : MST_ERR_RESET);
        break;
    case STEP_CALL: call(); break;
    case STEP_PLAN: change_plan(); break;
    case STEP_CLOCK:
        mst_mock_set_wall(&s.mock, MST_MOCK_WALL_NS +
                                       ((int64_t)take() - 128) * 60000000000);
        break;
    default: answer();
    }
    run(0);
}

/* ---- All of it ---- */

static void begin(unsigned how) {
    struct mst_config config = {
        .ws_url = "wss://" SERVICE_WS_HOST,
        .auth_url = "https://" SERVICE_AUTH_HOST,
        .client_id = "client",
        .client_secret = SECRET,
        .flags = how & (MST_STRICT_AMOUNTS | MST_NO_BURST),
        .trace = on_trace,
    };

    mst_mock_init(&s.mock, &s.port, how);
    s.recv = s.port.recv;
    s.port.recv = hear;
    mst_mock_set_now(&s.mock, (how & 64) != 0 ? UINT32_MAX - 20000 : 0);
    s.mock.peer = (struct mst_mock_peer){.opened = peer_opened,
                                         .received = peer_received};
    s.memory = (struct mst_memory){s.bytes, sizeof s.bytes, MST_LENGTHS_USUAL};
    s.asked = s.open = s.in_part = s.closed = false;
    s.generation = 0;
    s.state_ms = s.heard_ms = 0;
    FUZZ_EXPECT(mst_book_init(&s.book, s.levels, 8) == 0);
    FUZZ_EXPECT(mst_client_init(&s.client, &config, &s.port, &s.memory) == 0);
    FUZZ_EXPECT(mst_subscribe(&s.client, MST_MARKET_DATA, "BTCUSD", &s.book) ==
                0);
    FUZZ_EXPECT(mst_subscribe(&s.client, MST_HEARTBEAT, NULL, NULL) == 0);
    run(0);
}

/* Nothing is left of a secret, unless the script has it. */
static void expect_nothing(const char *secret, const uint8_t *script,
                           size_t script_len) {
    size_t len = strlen(secret);

    if (memmem(script, script_len, secret, len) != NULL) {
        return;
    }
    FUZZ_EXPECT(memmem(s.bytes, sizeof s.bytes, secret, len) == NULL);
    FUZZ_EXPECT(memmem(&s.client, sizeof s.client, secret, len) == NULL);
}

static void end(const uint8_t *script, size_t len) {
    struct mst_event event;

    mst_close(&s.client);
    run(CLOSING_MS + 1);
    s.closed = true;
    FUZZ_EXPECT(!s.open);
    for (int i = 0; i < 2; i++) {
        FUZZ_EXPECT(mst_poll(&s.client, &event) == MST_ERR_CLOSED);
        mst_mock_advance(&s.mock, 60000);
    }
    FUZZ_EXPECT(!mst_mock_in_use(&s.mock, 0));
    expect_nothing(SECRET, script, len);
    expect_nothing(TOKEN, script, len);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len) {
    if (len < 1 || len > SCRIPT_MAX) {
        return 0;
    }
    s.at = data + 1;
    s.end = data + len;
    begin(data[0]);
    while (s.at < s.end) {
        step();
    }
    end(data, len);
    return 0;
}
