/*
 * Scripted service over the mock port: an exchange that lives in the memory of
 * a test. A program that uses the library is tested against it on the host, in
 * virtual time, without sockets, threads or accounts.
 *
 * SPDX-License-Identifier: 0BSD
 *
 * By itself the service hands out tokens, opens streams, grants subscriptions,
 * sends a snapshot after each grant, heartbeats, and answers pings and close
 * frames. A test says in a table what else it does, and when:
 *
 *     static struct mst_mock mock;
 *     static struct mst_mock_service service;
 *     static const struct mst_mock_step script[] = {
 *         {0, MST_MOCK_BOOK, "BTCUSD", .bids = "95000 2", .asks = "95010 1"},
 *         {5000, MST_MOCK_UPDATE, "BTCUSD", .bids = "95000 0, 94990 3"},
 *         {9000, MST_MOCK_EXECUTION, "BTCUSD", .text = "95010 0.1"},
 *         {10000, MST_MOCK_OUTAGE, .ms = 3600000}};
 *
 *     mst_mock_init(&mock, &port, 1);
 *     mst_mock_service_init(&service, &mock);
 *     mst_client_init(&client, &config, &port, &memory);
 *     mst_mock_service_play(&service, script, 4);
 *     mst_mock_run(&mock, &client, 60000, on_event, &program);
 *     assert(service.wrong[0] == '\0' && mock.broken == NULL);
 *
 * The test then asserts what the program has made of the events. Hosts, client
 * id and secret in the configuration may be any. The mock port acts as secure
 * itself, so there are no certificates; a build with MST_NO_TLS works as well.
 * Requests for addresses (mst_address_put()) are answered with 404, unless the
 * test answers them (hooks). Link the files of port/mock, the library and
 * BearSSL, of which the service needs SHA-1.
 */
#ifndef MST_MOCK_SERVICE_H
#define MST_MOCK_SERVICE_H

#include "mst_mock.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Bytes of the longest request, and of the longest message to the client. */
#ifndef MST_MOCK_SERVICE_LEN
#define MST_MOCK_SERVICE_LEN 65536
#endif

/* Subscriptions of a connection. */
#ifndef MST_MOCK_SUBSCRIPTIONS
#define MST_MOCK_SUBSCRIPTIONS 64
#endif

/* Markets that a script names, and levels on each side of their books. */
#ifndef MST_MOCK_MARKETS
#define MST_MOCK_MARKETS 8
#endif
#ifndef MST_MOCK_LEVELS
#define MST_MOCK_LEVELS 100
#endif

/* Characters of a channel, a market, a price or amount and a time, with the
 * NUL. */
#define MST_MOCK_CHANNEL_LEN 32
#define MST_MOCK_MARKET_LEN 64
#define MST_MOCK_NUMBER_LEN 32
#define MST_MOCK_TIME_LEN 48

/* What the service does in a step. In parentheses: the members of the step that
 * count besides at_ms and action. */
enum mst_mock_action {
    /* (market, bids, asks) This is the market's book. Whoever subscribes it from
     * now on gets a snapshot of it; whoever has, an update to it. Before this
     * step a market's book is empty. */
    MST_MOCK_BOOK,
    /* (market, bids, asks) These levels change: an amount of 0 removes one. Sent
     * as an update, and part of later snapshots. */
    MST_MOCK_UPDATE,
    /* (market, bids, asks) The best bid and ask, for those who have
     * subscribed the top of book. The service does not derive it. */
    MST_MOCK_TOP,
    /* (market, text: price and amount) A trade. */
    MST_MOCK_EXECUTION,
    /* (ms) A heartbeat every ms; 0: none. Before this step: 1,000. */
    MST_MOCK_HEARTBEAT,
    /* (text) A message as it is, to every stream: an error, an unknown kind, or
     * no JSON at all. */
    MST_MOCK_TEXT,
    /* (text: at most 125 bytes, or NULL) A ping to every stream. */
    MST_MOCK_PING,
    /* (market, text: code) Subscriptions of this market are refused with this
     * code, such as "UNKNOWN_CHANNEL_PARAMS_CONFIGURATION"; with NULL they are
     * granted again. market NULL: those of heartbeats. */
    MST_MOCK_REFUSE,
    /* (number, text: body or NULL, ms) Token requests are answered with this
     * HTTP status and, if ms is not 0, a Retry-After of ms/1000 s;
     * MST_MOCK_NEVER: not at all; 0: with a token again. */
    MST_MOCK_TOKEN,
    /* (number, text: body or NULL, ms) The same for opening handshakes. */
    MST_MOCK_UPGRADE,
    /* (ms) New tokens expire after ms, as expires_in tells the client. Before
     * this step: an hour. A stream outlives its token. */
    MST_MOCK_TOKEN_LIFE,
    /* () No token handed out so far is good any longer: streams are closed with
     * 1008, and an opening handshake with such a token is answered with 401. */
    MST_MOCK_EXPIRE,
    /* (number: code, text: reason or NULL) Closes every stream by a close
     * frame; the end follows the client's own. number 0: 1000. */
    MST_MOCK_CLOSE,
    /* (number) Every connection ends with this mst_error, such as MST_ERR_EOF;
     * 0: MST_ERR_RESET. */
    MST_MOCK_CUT,
    /* () Every connection is half-open from now on: nothing arrives on either
     * side, until the client gives it up. New connections work. */
    MST_MOCK_SILENCE,
    /* (number, ms) Nobody reaches the service for ms. Connections are refused
     * (number 0), fail with this mst_error, or get no answer (MST_MOCK_NEVER);
     * with MST_ERR_RESOLVE names do not resolve. Open connections are cut, or
     * silent with MST_MOCK_NEVER. ms 0: until the next MST_MOCK_OUTAGE, which
     * ends this one. Sets resolve_error and connect_error in the mock's plan. */
    MST_MOCK_OUTAGE
};

/*
 * One line of a script. Members that an action does not name are not read; a
 * compiler may warn of those left out unless the last one is named, as in
 * {5000, .action = MST_MOCK_CUT}.
 * Levels are "PRICE AMOUNT, PRICE AMOUNT", in any order; NULL: none. Two prices
 * are the same level if they are written the same. What is no plain decimal
 * number is sent as it is, in a message that the client must reject, and does
 * not become part of the book: "x 1" is an update that is lost.
 */
struct mst_mock_step {
    uint64_t at_ms; /* virtual ms since mst_mock_service_play() */
    enum mst_mock_action action;
    const char *market;
    const char *bids, *asks;
    const char *text;
    int number;
    uint32_t ms;
};

/* Where the service's bytes go. */
struct mst_mock_sink {
    void *context;
    size_t (*write)(void *context, int link, const void *data, size_t len);
    void (*end)(void *context, int link, int error);
};

/* What a test may do in the service's place. Each may be NULL. */
struct mst_mock_service_hooks {
    void *context; /* handed to each */
    /* An HTTP request has come, text with its body. True: it is answered here,
     * now or later, by sink.write or mst_mock_service_upgrade(). */
    bool (*http)(void *context, int link, const char *text, const char *body);
    /* A message has come on a stream. True: it is answered here, or later by
     * mst_mock_service_answer(). */
    bool (*message)(void *context, int link, const char *text);
    /* A ping (9), pong (10) or close frame (8) has come. True: the service does
     * not answer it. */
    bool (*control)(void *context, int link, unsigned opcode, const void *data,
                    size_t len);
    /* An entry of a request is to be granted. NULL: it is; else it fails with
     * this code. market is "" for heartbeats. Must not send anything. */
    const char *(*refuse)(void *context, int link, bool subscribe,
                          const char *channel, const char *market);
    /* A market's book was granted. True: the service sends no snapshot. */
    bool (*snapshot)(void *context, int link, const char *market);
};

/* Private: a level of a market's book, as the script has written it. */
struct mst_mock_level {
    char price[MST_MOCK_NUMBER_LEN], amount[MST_MOCK_NUMBER_LEN];
};

/* Private: what the script has said of a market. */
struct mst_mock_market {
    char name[MST_MOCK_MARKET_LEN];
    const char *refused;
    size_t depth[2];
    struct mst_mock_level levels[2][MST_MOCK_LEVELS];
};

/* Private: how requests of a kind are answered. */
struct mst_mock_reply {
    int status;
    uint32_t retry_ms;
    const char *body;
};

/* A connection, as the service sees it. A test may read it. */
struct mst_mock_stream {
    int kind; /* 0: closed, 1: HTTP, 2: a stream */
    bool message_open, close_sent, close_seen;
    size_t data_len, message_len, subscriptions_len;
    struct {
        char channel[MST_MOCK_CHANNEL_LEN], market[MST_MOCK_MARKET_LEN];
    } subscriptions[MST_MOCK_SUBSCRIPTIONS];
    char accept[32]; /* what answers the key of its handshake */
    char data[MST_MOCK_SERVICE_LEN], message[MST_MOCK_SERVICE_LEN];
};

/* The service, about 700 KB. The caller owns it; nothing is allocated. */
struct mst_mock_service {
    /* For the test to set. */
    struct mst_mock_service_hooks hooks;
    struct mst_mock_sink sink; /* the mock; a TLS server may come between */
    bool unanswered; /* requests on streams count, but get no answer */

    /* For the test to read. */
    uint32_t tokens;     /* handed out */
    uint32_t streams;    /* opened */
    uint32_t subscribes; /* requests to subscribe that were answered */
    uint32_t pongs;      /* of the client */
    uint32_t duplicates; /* subscriptions of what was subscribed */
    int stream;          /* the link whose stream opened last, or -1 */
    char wrong[256];     /* what client or script first did wrong, or "" */
    struct mst_mock_stream links[MST_MOCK_LINKS];

    /* Private. */
    struct mst_mock *mock;
    const struct mst_mock_step *step;
    size_t steps;
    uint64_t begin_ms, outage_end_ms, beat_due_ms;
    uint32_t heartbeat_ms, token_life_ms, tokens_old;
    struct mst_mock_reply token, upgrade;
    size_t markets_len;
    struct mst_mock_market markets[MST_MOCK_MARKETS];
    size_t text_len;
    unsigned char frame[MST_MOCK_SERVICE_LEN + 10];
};

/* Prepares a service and makes it the mock's peer. mock is borrowed for the
 * service's life; call this after mst_mock_init(). */
void mst_mock_service_init(struct mst_mock_service *service,
                           struct mst_mock *mock);

/* Plays count steps, in the order of the table, each when its time has come;
 * those with at_ms 0 before it returns. Replaces what is left of an earlier
 * script. steps, and the texts in them, are borrowed until they are done, those
 * of MST_MOCK_REFUSE, _TOKEN and _UPGRADE for the service's life. */
void mst_mock_service_play(struct mst_mock_service *service,
                           const struct mst_mock_step *steps, size_t count);

/* Does one step now, whatever its time; texts are borrowed as above. */
void mst_mock_service_do(struct mst_mock_service *service,
                         const struct mst_mock_step *step);

/* Is this subscribed on a link, or on any (link -1)? channel is a name such as
 * "market_data"; market "" or NULL for "heartbeat". */
bool mst_mock_service_has(const struct mst_mock_service *service, int link,
                          const char *channel, const char *market);

/* Sends a frame on a link, of at most MST_MOCK_SERVICE_LEN bytes. first is its
 * first byte: 0x81 is a whole text message. */
void mst_mock_service_frame(struct mst_mock_service *service, int link,
                            unsigned first, const void *data, size_t len);

/* ---- for tests that answer something themselves (hooks) ---- */

/* The service as a peer, for a test that puts something between it and the
 * mock. */
struct mst_mock_peer mst_mock_service_peer(struct mst_mock_service *service);

/* Writes a frame's header, without a mask; returns its length. */
size_t mst_mock_service_head(unsigned char out[10], unsigned first,
                             uint64_t len);

/* Opens the stream of a link whose handshake has come: lines are further header
 * lines, each with CRLF, and frames are sent in the same write. */
void mst_mock_service_upgrade(struct mst_mock_service *service, int link,
                              const char *lines, const void *frames,
                              size_t frames_len);

/* Answers a request on a stream as the service does by itself. */
void mst_mock_service_answer(struct mst_mock_service *service, int link,
                             const char *text);

/* Sends a market_data message of this type ("SNAPSHOT", "UPDATE"), or with
 * "TOP_OF_BOOK" the top of book: on a link or, with -1, where it is subscribed.
 * time_ns is Unix time, sent in ms, that of a top in ns; bids and asks are JSON.
 * Returns the number of links it was sent to. */
int mst_mock_service_levels(struct mst_mock_service *service, int link,
                            const char *market, const char *type,
                            int64_t time_ns, const char *bids,
                            const char *asks);

/* Adds or removes a link's subscription, unknown to the client. */
void mst_mock_service_set(struct mst_mock_service *service, int link,
                          const char *channel, const char *market,
                          bool subscribed);

/* The value of a header in a request, in out, cut to its length; "" if it is
 * absent. */
void mst_mock_service_header(const char *request, const char *name, char *out,
                             size_t out_len);

/* A time as messages have it: RFC 3339, UTC, with 9 digits of a fraction (fine)
 * or 3. ns since the Unix epoch, not negative. */
void mst_mock_service_time(int64_t ns, bool fine, char out[MST_MOCK_TIME_LEN]);

/* Sec-WebSocket-Accept of a key of 24 characters (RFC 6455, section 4.2.2). */
void mst_mock_service_accept(const char *key, char accept[29]);

/* Notes what went wrong, unless something did before. */
void mst_mock_service_wrong(struct mst_mock_service *service, const char *what);

#ifdef __cplusplus
}
#endif

#endif
