/*
 * Measures the whole client: opening a stream, and a message from received
 * plaintext to the event. The port does its own TLS and talks to a service in
 * this file, whose work does not count; copying its data does. target.c
 * replaces SHA-1.
 *
 * SPDX-License-Identifier: 0BSD
 */
#include "bench.h"
#include "corpus.h"
#include "count.h"
#include "follow.h"

#include <stdio.h>
#include <stdlib.h>

#define MARKETS MST_SUBSCRIPTIONS_MAX
#define ROOM_APART 4 /* of a market without messages */

#define TOKEN_USUAL 800
#define TOKEN_LARGE 4000
#define TOKEN_OTHER "\"token_type\":\"Bearer\",\"expires_in\":3600"

#define MASKED 0x80u
#define POLLS_MAX 10000

/* Holds a request for all markets, or its response. */
#define SERVICE_ROOM (8192 + 80 * MARKETS)

static struct mst_client client;
MST_MEMORY(memory, MST_LENGTHS_USUAL);
static struct mst_book books[MARKETS];
static struct mst_level levels[2 * COUNT_BOOK_ROOM];
static struct mst_level levels_apart[MARKETS][2 * ROOM_APART];

/* ---- The service, and the port that leads to it ---- */

static struct {
    uint32_t ms;
    uint64_t apart; /* cost of the service's work */
    char token[TOKEN_LARGE + 1];
    uint8_t sent[SERVICE_ROOM]; /* by the client, not yet answered */
    size_t sent_len;
    char answer[SERVICE_ROOM];
    const void *reply; /* the rest of a response or message */
    size_t reply_len;
} service;

static void reply(const void *data, size_t len) {
    service.reply = data;
    service.reply_len = len;
}

/* Answers a complete HTTP request, for a token or an upgrade. The SHA-1 of each
 * key is all zeros. */
static void answer_http(const char *request) {
    static const char upgrade[] =
        "HTTP/1.1 101 Switching Protocols\r\n"
        "Date: Thu, 01 Jan 2026 00:00:00 GMT\r\n"
        "Upgrade: websocket\r\nConnection: Upgrade\r\n"
        "Sec-WebSocket-Accept: AAAAAAAAAAAAAAAAAAAAAAAAAAA=\r\n\r\n";
    const char *body = strstr(request, "\r\n\r\n");
    const char *length = strstr(request, "Content-Length: ");

    if (body == NULL ||
        (length != NULL && strlen(body + 4) < strtoul(length + 16, NULL, 10))) {
        return;
    }
    service.sent_len = 0;
    if (*request == 'G') {
        reply(upgrade, sizeof upgrade - 1);
        return;
    }
    reply(service.answer,
          (size_t)snprintf(
              service.answer, sizeof service.answer,
              "HTTP/1.1 200 OK\r\n"
              "Date: Thu, 01 Jan 2026 00:00:00 GMT\r\n"
              "Content-Type: application/json\r\n"
              "Content-Length: %u\r\n\r\n"
              "{\"access_token\":\"%s\",%s}",
              (unsigned)(strlen(service.token) + sizeof TOKEN_OTHER - 1 + 20),
              service.token, TOKEN_OTHER));
}

/* Answers a complete masked frame with a subscribe request: each channel
 * succeeds. */
static void answer_frame(const uint8_t *frame, size_t frame_len) {
    static char text[sizeof service.answer];
    size_t header = 6, len, out = 0;
    const uint8_t *mask;

    if (frame_len < 8 || (frame[1] & MASKED) == 0) {
        return;
    }
    len = frame[1] & 0x7Fu;
    if (len == 126) {
        len = (size_t)frame[2] << 8 | frame[3];
        header = 8;
    }
    mask = frame + header - 4;
    if (frame_len < header + len) {
        return;
    }
    for (size_t i = 0; i < len; i++) {
        text[out++] = (char)(frame[header + i] ^ mask[i % 4]);
        if (out > 1 && text[out - 1] == '}' && text[out - 2] == '}') {
            out += (size_t)sprintf(text + out - 1, ",\"success\":true}") - 1;
        }
    }
    service.sent_len = 0;
    reply(service.answer,
          bench_frame((uint8_t *)service.answer, COUNT_TEXT_FRAME, text, out));
}

static int service_resolve(void *context, int link,
                           const struct mst_endpoint *endpoint) {
    (void)context;
    (void)link;
    (void)endpoint;
    return 1;
}

static int service_connect(void *context, int link, int address) {
    (void)context;
    (void)link;
    (void)address;
    return 1;
}

static int service_send(void *context, int link, const void *data, size_t len) {
    (void)context;
    (void)link;
    if (len >= sizeof service.sent - service.sent_len) {
        bench_stop("too large a request");
    }
    memcpy(service.sent + service.sent_len, data, len);
    service.sent_len += len;
    return (int)len;
}

static int service_recv(void *context, int link, void *data, size_t len) {
    (void)context;
    (void)link;
    if (service.sent_len > 0) {
        uint64_t begin = count_now();

        service.sent[service.sent_len] = '\0';
        if (service.sent[0] == 'P' || service.sent[0] == 'G') {
            answer_http((const char *)service.sent);
        } else {
            answer_frame(service.sent, service.sent_len);
        }
        service.apart += count_now() - begin;
    }
    if (len > service.reply_len) {
        len = service.reply_len;
    }
    if (len > 0) {
        memcpy(data, service.reply, len);
        reply((const char *)service.reply + len, service.reply_len - len);
    }
    return (int)len;
}

static void service_close(void *context, int link) {
    (void)context;
    (void)link;
    service.sent_len = service.reply_len = 0;
}

static uint32_t service_now_ms(void *context) {
    (void)context;
    return service.ms;
}

static int service_unix_ns(void *context, int64_t *ns) {
    (void)context;
    *ns = INT64_C(1767225600000000000) + (int64_t)service.ms * 1000000;
    return 0;
}

static int service_entropy(void *context, void *data, size_t len) {
    (void)context;
    memset(data, 'r', len);
    return 0;
}

static const struct mst_port port = {
    .flags = MST_PORT_SECURE,
    .resolve = service_resolve,
    .connect = service_connect,
    .send = service_send,
    .recv = service_recv,
    .close = service_close,
    .now_ms = service_now_ms,
    .unix_ns = service_unix_ns,
    .entropy = service_entropy,
};

/* ---- The client ---- */

static void next_event(struct mst_event *event) {
    for (unsigned polls = 0; polls < POLLS_MAX; polls++) {
        int rc = mst_poll(&client, event);

        if (rc < 0 || event->type == MST_EVENT_CLOSED ||
            event->type == MST_EVENT_ERROR) {
            break;
        }
        if (rc > 0) {
            return;
        }
        if (service.sent_len == 0 && service.reply_len == 0) {
            service.ms += mst_next_deadline_ms(&client.link);
        }
    }
    bench_stop("the stream does not go on");
}

/* Prepares a client with a book for each market; the last market is that of the
 * messages. */
static void prepare(unsigned markets, size_t token_len) {
    static const struct mst_config config = {
        .ws_url = "wss://exchange.example/stream",
        .auth_url = "https://exchange.example",
        .client_id = "a client",
        .client_secret = "a secret",
    };
    char market[CORPUS_MARKET_LEN + 1];

    service.sent_len = service.reply_len = 0;
    memset(service.token, 't', token_len);
    service.token[token_len] = '\0';
    if (mst_client_init(&client, &config, &port, &memory) != 0) {
        bench_stop("no client");
    }
    corpus_market(0, market);
    for (unsigned i = 0; i < markets; i++) {
        char apart[] = "A000USD";
        bool last = i + 1 == markets;

        apart[1] = (char)('0' + i / 100);
        apart[2] = (char)('0' + i / 10 % 10);
        apart[3] = (char)('0' + i % 10);
        mst_book_init(&books[i], last ? levels : levels_apart[i],
                      last ? COUNT_BOOK_ROOM : ROOM_APART);
        if (mst_subscribe(&client, MST_MARKET_DATA, last ? market : apart,
                          &books[i]) != 0) {
            bench_stop("no subscription");
        }
    }
}

/* The cost from a client without a token to a stream with all subscriptions
 * confirmed. */
static uint64_t open_stream(unsigned markets, size_t token_len) {
    struct mst_event event;
    uint64_t begin;
    size_t entries = 0;

    prepare(markets, token_len);
    service.apart = 0;
    begin = count_now();
    while (entries < markets) {
        next_event(&event);
        if (event.type == MST_EVENT_RESPONSE) {
            entries += event.as.response.entries - event.as.response.failed;
        }
    }
    return count_now() - begin - service.apart;
}

static void message(const struct corpus_message *frame, const char *frames) {
    struct mst_event event;

    reply(frames + frame->at, frame->len);
    do {
        next_event(&event);
    } while (event.type == MST_EVENT_PART && !event.as.part.last);
}

/* Measures messages that arrive one at a time, after a snapshot. */
static void count_messages(const char *what, unsigned markets) {
    struct corpus corpus;
    uint8_t *frames;
    uint64_t sum, begin;
    size_t len = 0;

    sum = corpus_live(&corpus, COUNT_MESSAGES, COUNT_BOOK_LEVELS, CORPUS_MOVES);
    frames = count_frame(&corpus, &len);
    open_stream(markets, TOKEN_USUAL);
    message(&corpus.messages[0], (const char *)frames);
    begin = count_now();
    for (size_t i = 1; i < corpus.count; i++) {
        message(&corpus.messages[i], (const char *)frames);
    }
    count_row(what, count_now() - begin, COUNT_MESSAGES);
    if (follow_book_sum(&books[markets - 1]) != sum) {
        bench_stop("wrong book");
    }
    free(frames);
    corpus_free(&corpus);
}

void count_client(void) {
    char what[48];

    count_messages("a message through the client, 1 book", 1);
    snprintf(what, sizeof what, "a message through the client, %u books",
             MARKETS);
    count_messages(what, MARKETS);
    count_row("open a stream: token, upgrade, 1 market",
              open_stream(1, TOKEN_USUAL), 1);
    snprintf(what, sizeof what, "open a stream of %u markets", MARKETS);
    count_row(what, open_stream(MARKETS, TOKEN_USUAL), 1);
    count_row("open a stream of 1 market with a token of 4,000 bytes",
              open_stream(1, TOKEN_LARGE), 1);
}
