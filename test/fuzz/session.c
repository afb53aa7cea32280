/*
 * A fuzz target: a script of what a service, the network and the caller do to a
 * client on the mock port, step by step in virtual time. The client must keep
 * its deadlines and the port's contract, even if input never ends. It must
 * deliver events only while their connection is open, end soon after
 * mst_close(), then stay silent, and leave no secret. An entry of any JSON in a
 * response must not affect the others. Another client may share its access, and
 * either may remain unpolled.
 *
 * SPDX-License-Identifier: 0BSD
 */
#define _GNU_SOURCE /* memmem() */
#include "fuzz.h"
#include "service.h"
#include "support.h"

#include <jansson.h>

#define SCRIPT_MAX 1024
#define CLIENTS 2
#define SHARED_BITS 28u /* of the script's first byte */
#define SHARED 16u      /* their value for two clients */
#define SECRET "the-client's-secret"
#define TOKEN "the-token-of-the-service"
#define SILENCE_MS 60000u
#define CLOSING_MS 3000u
#define SLEEP_MS 620000u /* the client's longest pause */
#define BUSY_POLLS 300   /* in one script */
#define LATE_MS 1200u    /* how late the client may be if input never ends */

/* A step's kind: the low bits of its byte. */
enum {
    STEP_ANSWER,  /* the service answers HTTP requests correctly */
    STEP_MESSAGE, /* sends one of the frames below */
    STEP_TIME,    /* time passes */
    STEP_TEXT,    /* sends bytes of the script in a text frame */
    STEP_FRAME,   /* sends them in any frame */
    STEP_BYTES,   /* sends them without a frame */
    STEP_END,     /* the connection ends */
    STEP_CALL,    /* the caller calls the library */
    STEP_PLAN,    /* the network gets another plan */
    STEP_CLOCK,   /* the wall clock is set */
    STEP_BUSY,    /* time passes with a message at every poll */
    STEP_ENTRY,   /* sends a response with bytes of the script as an entry */
    STEP_POLLED,  /* selects the clients that are polled */
    STEPS
};

/* What the client owes; owed_ms has since when, or 0. */
enum { OWED_REQUEST, OWED_BYTES, OWED_RESULT, OWED };

/* A client, and the service's end of its connection. */
struct line {
    struct mst_client client;
    struct mst_memory memory;
    unsigned char bytes[MST_MEMORY_LEN(MST_LENGTHS_USUAL)];
    bool asked; /* a complete HTTP request is unanswered */
    bool upgrade, streams;
    char request[4096];
    size_t request_len;
    bool polled, open, in_part;
    uint32_t generation;
    uint64_t state_ms; /* when the state was entered */
    uint64_t heard_ms; /* of the last data that was read */
};

static struct {
    const uint8_t *at, *end; /* of the script */
    struct mst_mock mock;
    struct mst_port port;
    struct mst_access access;
    struct line lines[CLIENTS];
    size_t count;
    struct mst_book book;
    struct mst_level levels[2 * 8];
    bool closed;
    unsigned busy; /* remaining polls of STEP_BUSY */
    bool raw;   /* the client got bytes of the script, which can be anything */
    bool clean; /* this stream is open and has only complete frames */
    int (*recv)(void *context, int link, void *data, size_t len);
    /* Of the first client: */
    uint64_t owed_ms[OWED];
    char action[32];            /* of the last request */
    unsigned requests, replies; /* on this connection; replies in time */
    bool replied;               /* to the last request */
    bool wished;                /* for a book */
    size_t entries, expects;    /* reported to the caller; at least expected */
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

static void send_bytes(int link, const void *data, size_t len) {
    if (len > 0) {
        (void)mst_mock_write(&s.mock, link, data, len);
    }
}

static void send_frame(unsigned first, const void *data, size_t len) {
    unsigned char frame[10 + 1024];
    size_t head = mst_mock_service_head(frame, first, len);

    FUZZ_EXPECT(len <= sizeof frame - head);
    memcpy(frame + head, data, len);
    send_bytes(0, frame, head + len);
}

static void peer_opened(void *context, int link,
                        const struct mst_endpoint *endpoint) {
    struct line *l = &s.lines[link];

    (void)context;
    l->asked = l->streams = false;
    l->upgrade = strcmp(endpoint->host, SERVICE_WS_HOST) == 0;
    l->request_len = 0;
}

static void peer_received(void *context, int link, const void *data,
                          size_t len) {
    struct line *l = &s.lines[link];
    size_t room = sizeof l->request - 1 - l->request_len;

    (void)context;
    if (l->streams) {
        s.owed_ms[OWED_BYTES] = link == 0 ? 0 : s.owed_ms[OWED_BYTES];
        return;
    }
    len = len < room ? len : room;
    memcpy(l->request + l->request_len, data, len);
    l->request_len += len;
    l->request[l->request_len] = '\0';
    l->asked = strstr(l->request, "\r\n\r\n") != NULL;
}

static void send_token(int link) {
    static const char body[] =
        "{\"access_token\":\"" TOKEN "\",\"token_type\":\"bearer\","
        "\"expires_in\":600,\"scope\":\"" SERVICE_SCOPE "\"}";
    char text[400];

    snprintf(text, sizeof text,
             "HTTP/1.1 200 OK\r\nContent-Length: %zu\r\n\r\n%s",
             sizeof body - 1, body);
    send_bytes(link, text, strlen(text));
}

static void send_upgrade(int link) {
    static const char name[] = "Sec-WebSocket-Key: ";
    const char *key = strstr(s.lines[link].request, name);
    char accept[28 + 1], text[300], copy[24 + 1];

    FUZZ_EXPECT(key != NULL);
    snprintf(copy, sizeof copy, "%s", key + sizeof name - 1);
    mst_mock_service_accept(copy, accept);
    snprintf(text, sizeof text,
             "HTTP/1.1 101 Yes\r\nUpgrade: websocket\r\n"
             "Connection: Upgrade\r\nSec-WebSocket-Accept: %s\r\n\r\n",
             accept);
    send_bytes(link, text, strlen(text));
    s.lines[link].streams = true;
    s.clean |= link == 0;
}

static void answer(void) {
    for (int i = 0; i < (int)s.count; i++) {
        struct line *l = &s.lines[i];
        bool asked = l->asked;
        l->asked = false;
        l->request_len = asked ? 0 : l->request_len;
        if (asked && l->upgrade) {
            send_upgrade(i);
        } else if (asked) {
            send_token(i);
        }
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
        {0x81, HEARTBEAT},
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

    s.clean &= messages[i].first == 0x81 || messages[i].first >= 0x89;
    send_frame(messages[i].first, messages[i].text, strlen(messages[i].text));
}

/* The readable entries of a response of three if this is one of them; 0 if it
 * may be no JSON or is nested deeply. */
static size_t entries_of(const uint8_t *data, size_t len) {
    json_t *json = json_loadb((const char *)data, len,
                              JSON_DECODE_ANY | JSON_REJECT_DUPLICATES, NULL);
    json_t *other = json_loadb((const char *)data, len, JSON_DECODE_ANY, NULL);
    const char *type = json_string_value(json_object_get(json, "type"));
    const char *market = json_string_value(
        json_object_get(json_object_get(json, "params"), "market"));
    bool clear = type != NULL && type[0] != '\0' && market != NULL &&
                 strlen(market) <= MST_MARKET_MAX;
    size_t count = other == NULL ? 0 : clear ? 3 : 2, deep = 0;

    json_decref(json);
    json_decref(other);
    for (size_t i = 0; i < len; i++) {
        deep += data[i] == '{' || data[i] == '[';
        count = data[i] == '\0' ? 0 : count; /* jansson stops there */
    }
    return deep < MST_JSON_DEPTH - 4 ? count : 0;
}

static uint64_t now_ms(void) {
    return mst_mock_elapsed(&s.mock) + 1;
}

/* Sends a response with an entry of the script between two good ones. */
static void send_entry(void) {
    const uint8_t *data;
    size_t len = take_bytes(&data);
    struct text text = {0};
    const struct mst_mock_plan *plan = &s.mock.plan;
    size_t readable = entries_of(data, len);
    bool good = readable > 0 && s.clean && plan->drip == 0 &&
                s.lines[0].polled &&
                mst_link_state(&s.lines[0].client.link) == MST_STATE_OPEN;

    text_add(&text, "{\"type\":\"%s\",\"channels\":[", s.action);
    text_add(&text, "{\"type\":\"heartbeat\",\"success\":true},");
    text_add_bytes(&text, data, len);
    text_add(&text, "," ENTRY("market_data", "true") "]}");
    if (s.lines[0].streams) {
        send_frame(0x81, text_get(&text), text.len);
    }
    text_free(&text);
    s.expects = good ? readable : 0;
    s.entries = 0;
    if (good && !s.replied && !plan->send_stall && plan->send_max == 0 &&
        now_ms() < s.owed_ms[OWED_RESULT] + 9000) {
        s.replied = true;
        s.replies++;
    }
}

/* ---- The clients ---- */

static int hear(void *context, int link, void *data, size_t len) {
    int n = s.recv(context, link, data, len);

    if (n > 0) {
        s.lines[link].heard_ms = mst_mock_elapsed(&s.mock);
    }
    return n;
}

static void on_trace(void *context, const struct mst_trace *trace) {
    (void)context;
    if (trace->kind == MST_TRACE_STATE) {
        FUZZ_EXPECT(trace->state != trace->from);
        s.lines[trace->link].state_ms = mst_mock_elapsed(&s.mock);
    }
    if (trace->link != 0) {
        return;
    }
    if (trace->kind == MST_TRACE_STATE) {
        memset(s.owed_ms, 0, sizeof s.owed_ms);
        if (trace->state == MST_STATE_OPEN) {
            s.requests = s.replies = 0;
            s.owed_ms[OWED_REQUEST] = s.wished ? now_ms() : 0;
        }
    } else if (trace->kind == MST_TRACE_REQUEST) {
        s.owed_ms[OWED_REQUEST] = 0;
        s.owed_ms[OWED_BYTES] = s.owed_ms[OWED_RESULT] = now_ms();
        snprintf(s.action, sizeof s.action, "%s", trace->text);
        s.requests++;
        s.replied = false;
    }
}

static void take_part(struct line *l, const struct mst_part *part) {
    FUZZ_EXPECT(part->first || l->in_part);
    FUZZ_EXPECT(!part->first || !l->in_part);
    FUZZ_EXPECT(part->count <= MST_PART_LEVELS);
    FUZZ_EXPECT(!part->aborted || part->count == 0);
    l->in_part = !part->last && !part->aborted;
}

static void take_end(struct line *l, const struct mst_failure *failure) {
    FUZZ_EXPECT(failure->error <= 0);
    FUZZ_EXPECT(mst_strerror(failure->error)[0] != '\0');
    if (l == s.lines) {
        FUZZ_EXPECT(mst_book_state(&s.book) != MST_BOOK_LIVE);
        FUZZ_EXPECT(failure->error != MST_ERR_ANSWER || s.replies < s.requests);
    }
    l->open = l->in_part = false;
}

/* Takes the result of the first client's request. */
static void take_result(const struct mst_event *event) {
    switch (event->type) {
    case MST_EVENT_ENTRY: s.entries++; break;
    case MST_EVENT_RESPONSE:
        FUZZ_EXPECT(s.expects == 0 || (event->as.response.entries == 3 &&
                                       s.entries >= s.expects));
        s.expects = 0; /* fall through */
    case MST_EVENT_SERVICE_ERROR:
    case MST_EVENT_ERROR: s.owed_ms[OWED_RESULT] = 0; break;
    default: break;
    }
}

static bool on_event(void *context, const struct mst_event *event) {
    struct line *l = &s.lines[event->link];

    (void)context;
    FUZZ_EXPECT(!s.closed && l->polled);
    FUZZ_EXPECT(event->type > MST_EVENT_NONE &&
                event->type <= MST_EVENT_UNKNOWN);
    FUZZ_EXPECT(event->generation >= l->generation);
    l->generation = event->generation;
    if (event->link == 0) {
        take_result(event);
    }
    switch (event->type) {
    case MST_EVENT_OPEN:
        FUZZ_EXPECT(!l->open && l->streams);
        l->open = true;
        break;
    case MST_EVENT_CLOSED: take_end(l, &event->as.failure); break;
    case MST_EVENT_ERROR: FUZZ_EXPECT(event->as.failure.error < 0); break;
    case MST_EVENT_PART: take_part(l, &event->as.part); /* fall through */
    default: FUZZ_EXPECT(l->open);
    }
    return true;
}

/* The longest time in a state; 0 if it has no limit. */
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

static void expect_deadlines(const struct line *l, uint32_t late_ms) {
    enum mst_state state = mst_link_state(&l->client.link);
    uint64_t now = mst_mock_elapsed(&s.mock);

    FUZZ_EXPECT(most_ms(state) == 0 ||
                now - l->state_ms <= most_ms(state) + late_ms);
    FUZZ_EXPECT(state != MST_STATE_OPEN ||
                now - l->heard_ms <= SILENCE_MS + late_ms ||
                now - l->state_ms <= SILENCE_MS + late_ms);
    FUZZ_EXPECT(mst_next_deadline_ms(&l->client.link) <=
                (s.raw || state == MST_STATE_OFF ? 24u * 86400000u : SLEEP_MS));
}

/* A request must be sent in time, however busy the service is, and have a
 * result. */
static void expect_owed(void) {
    static const uint32_t most_ms[OWED] = {12000, 0, 10000};
    const struct mst_mock_plan *plan = &s.mock.plan;

    if (plan->send_stall || plan->send_max > 0 || !s.clean) {
        s.owed_ms[OWED_BYTES] = 0;
    }
    for (unsigned i = 0; i < OWED; i++) {
        FUZZ_EXPECT(s.owed_ms[i] == 0 ||
                    now_ms() <= s.owed_ms[i] + most_ms[i] + LATE_MS);
    }
}

static void expect_all(uint32_t late_ms) {
    FUZZ_EXPECT(s.mock.broken == NULL);
    for (size_t i = 0; i < s.count; i++) {
        if (s.lines[i].polled) {
            expect_deadlines(&s.lines[i], late_ms);
        }
    }
    if (s.lines[0].polled) {
        expect_owed();
    }
}

static int poll_line(void *object, struct mst_event *event) {
    struct line *l = object;

    return l->polled ? mst_poll(&l->client, event) : 0;
}

static void run(uint32_t ms) {
    struct mst_mock_object objects[CLIENTS];

    for (size_t i = 0; i < s.count; i++) {
        struct line *l = &s.lines[i];
        objects[i] = (struct mst_mock_object){
            poll_line, l, {l->polled ? &l->client.link : NULL}};
    }
    mst_mock_run_objects(&s.mock, objects, s.count, ms, on_event, NULL);
    if (s.mock.broken != NULL) {
        printf("%s\n", s.mock.broken);
    }
    expect_all(0);
    FUZZ_EXPECT(s.expects == 0 || !s.lines[0].open);
    s.expects = 0;
}

/* ---- The steps ---- */

static void call(void) {
    static const char *const markets[] = {"BTCUSD", "ETHUSD", ""};
    unsigned which = take();
    const char *market = markets[which / 16 % COUNT(markets)];
    struct mst_client *c = &s.lines[0].client;

    switch (which % 8) {
    case 0: (void)mst_subscribe(c, MST_TOP_OF_BOOK, market, NULL); break;
    case 1:
        if (mst_unsubscribe(c, MST_MARKET_DATA, market) == 0) {
            s.wished = false;
            s.owed_ms[OWED_REQUEST] = 0;
        }
        break;
    case 2: (void)mst_resync(c, MST_MARKET_DATA, market); break;
    case 3: (void)mst_subscription_list(c); break;
    case 4:
        if (mst_subscribe(c, MST_MARKET_DATA, market, &s.book) == 0) {
            s.wished = true;
            s.owed_ms[OWED_REQUEST] =
                mst_link_state(&c->link) == MST_STATE_OPEN ? now_ms() : 0;
        }
        break;
    case 5: (void)mst_unsubscribe(c, MST_HEARTBEAT, NULL); break;
    case 6: (void)mst_subscribe(c, MST_HEARTBEAT, NULL, NULL); break;
    default:
        if (which == 7) {
            mst_close(c);
        }
    }
}

/* Polls each client repeatedly, with a message before each poll. */
static void busy(void) {
    static const char news[] = "{\"channel\":\"news\"}";
    static const uint8_t times_ms[] = {1, 10, 50, 100};
    unsigned which = take();
    struct mst_event event;

    for (unsigned i = which / 4; i > 0 && s.busy > 0; i--, s.busy--) {
        if (s.lines[0].streams && mst_mock_room(&s.mock, 0) > 1000) {
            send_frame(0x81, news, sizeof news - 1);
        }
        for (size_t k = 0; k < s.count; k++) {
            if (poll_line(&s.lines[k], &event) == 1) {
                (void)on_event(NULL, &event);
            }
        }
        mst_mock_advance(&s.mock, times_ms[which % COUNT(times_ms)]);
        expect_all(LATE_MS);
    }
}

/* The deadlines of a client that is polled again count from now. */
static void change_polled(unsigned which) {
    for (size_t i = 0; i < s.count; i++) {
        struct line *l = &s.lines[i];
        if (!l->polled) {
            l->state_ms = l->heard_ms = mst_mock_elapsed(&s.mock);
        }
        l->polled = (which >> i & 1) == 0;
        if (i == 0) {
            memset(s.owed_ms, 0, sizeof s.owed_ms);
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
        s.clean = false;
        send_frame(first, data, len);
        break;
    case STEP_BYTES:
        len = take_bytes(&data);
        s.clean = false;
        s.raw = true;
        send_bytes(0, data, len);
        break;
    case STEP_END:
        s.clean = false;
        mst_mock_end(&s.mock, 0, take() % 2 == 0 ? MST_ERR_EOF : MST_ERR_RESET);
        break;
    case STEP_CALL: call(); break;
    case STEP_PLAN: change_plan(); break;
    case STEP_BUSY: busy(); break;
    case STEP_ENTRY: send_entry(); break;
    case STEP_POLLED: change_polled(take()); break;
    case STEP_CLOCK:
        mst_mock_set_wall(&s.mock, MST_MOCK_WALL_NS +
                                       ((int64_t)take() - 128) * 60000000000);
        break;
    default: answer();
    }
    run(0);
}

/* ---- All of it ---- */

static void client_begin(int link, struct mst_config *config) {
    struct line *l = &s.lines[link];

    config->link = link;
    l->memory =
        (struct mst_memory){l->bytes, sizeof l->bytes, MST_LENGTHS_USUAL};
    l->asked = l->streams = l->open = l->in_part = false;
    l->polled = true;
    l->generation = 0;
    l->state_ms = l->heard_ms = 0;
    FUZZ_EXPECT(mst_client_init(&l->client, config, &s.port, &l->memory) == 0);
    FUZZ_EXPECT(mst_subscribe(&l->client, MST_HEARTBEAT, NULL, NULL) == 0);
}

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
    s.count = (how & SHARED_BITS) == SHARED ? 2 : 1;
    s.closed = s.raw = s.clean = s.replied = false;
    s.busy = BUSY_POLLS;
    s.requests = s.replies = 0;
    s.expects = 0;
    snprintf(s.action, sizeof s.action, "subscribe");
    s.wished = true;
    memset(s.owed_ms, 0, sizeof s.owed_ms);
    FUZZ_EXPECT(mst_access_init(&s.access, &config) == 0);
    config.access = s.count > 1 ? &s.access : NULL;
    for (size_t i = 0; i < s.count; i++) {
        client_begin((int)i, &config);
    }
    FUZZ_EXPECT(mst_book_init(&s.book, s.levels, 8) == 0);
    FUZZ_EXPECT(mst_subscribe(&s.lines[0].client, MST_MARKET_DATA, "BTCUSD",
                              &s.book) == 0);
    run(0);
}

/* No part of a secret may be left, unless the script contains it. */
static void expect_nothing(const char *secret, const uint8_t *script,
                           size_t script_len) {
    size_t len = strlen(secret);

    if (memmem(script, script_len, secret, len) != NULL) {
        return;
    }
    for (size_t i = 0; i < s.count; i++) {
        const struct line *l = &s.lines[i];
        FUZZ_EXPECT(memmem(l->bytes, sizeof l->bytes, secret, len) == NULL);
        FUZZ_EXPECT(memmem(&l->client, sizeof l->client, secret, len) == NULL);
    }
}

static void end(const uint8_t *script, size_t len) {
    struct mst_event event;

    change_polled(0);
    for (size_t i = 0; i < s.count; i++) {
        mst_close(&s.lines[i].client);
    }
    run(CLOSING_MS + 1);
    s.closed = true;
    for (size_t i = 0; i < s.count; i++) {
        FUZZ_EXPECT(!s.lines[i].open);
        FUZZ_EXPECT(mst_poll(&s.lines[i].client, &event) == MST_ERR_CLOSED);
        mst_mock_advance(&s.mock, 60000);
        FUZZ_EXPECT(mst_poll(&s.lines[i].client, &event) == MST_ERR_CLOSED);
        FUZZ_EXPECT(!mst_mock_in_use(&s.mock, (int)i));
    }
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
