/*
 * Scripted service over the mock port: an exchange in a test's memory. Programs
 * that use the library are tested against it on the host, in virtual time,
 * without sockets, threads or accounts.
 *
 * SPDX-License-Identifier: 0BSD
 *
 * Without a script the service issues tokens, opens streams, grants
 * subscriptions, sends a snapshot after each grant and heartbeats, and answers
 * pings and close frames. A table says what else it does, and when:
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
 * The test then asserts what the program did with the events. Hosts, client id
 * and secret in the configuration can be any text. The mock port counts as
 * secure, so there are no certificates; a build with MST_NO_TLS works, too.
 * Address requests (mst_address_put()) get a 404, unless the test answers them
 * (hooks). Link the files of port/mock, the library and BearSSL: the service
 * needs its SHA-1.
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

/* Markets of a script, and levels on each side of their books. */
#ifndef MST_MOCK_MARKETS
#define MST_MOCK_MARKETS 8
#endif
#ifndef MST_MOCK_LEVELS
#define MST_MOCK_LEVELS 100
#endif

/* Bytes, with the NUL, of a channel, a market, a price or amount, and a
 * time. */
#define MST_MOCK_CHANNEL_LEN 32
#define MST_MOCK_MARKET_LEN 64
#define MST_MOCK_NUMBER_LEN 32
#define MST_MOCK_TIME_LEN 48

/* What the service does in a step. Parentheses list the members of the step
 * that are used, besides at_ms and action. */
enum mst_mock_action {
    /* (market, bids, asks) Sets the market's book. Later subscribers get a
     * snapshot of it; those already subscribed get an update. Before this step
     * the book is empty. */
    MST_MOCK_BOOK,
    /* (market, bids, asks) Changes these levels; an amount of 0 removes one.
     * Sent as an update, and included in later snapshots. */
    MST_MOCK_UPDATE,
    /* (market, bids, asks) Sends the best bid and ask to subscribers of the top
     * of book. The service does not derive it from the book. */
    MST_MOCK_TOP,
    /* (market, text: price and amount) A trade. */
    MST_MOCK_EXECUTION,
    /* (ms) A heartbeat every ms; 0: none. Before this step: 1,000. */
    MST_MOCK_HEARTBEAT,
    /* (text) Sends this message to every stream: an error, an unknown kind, or
     * text that is not JSON. */
    MST_MOCK_TEXT,
    /* (text: at most 125 bytes, or NULL) A ping to every stream. */
    MST_MOCK_PING,
    /* (market, text: code) Refuses subscriptions of this market with this code,
     * such as "UNKNOWN_CHANNEL_PARAMS_CONFIGURATION"; NULL grants them again.
     * market NULL: the heartbeat. */
    MST_MOCK_REFUSE,
    /* (number, text: body or NULL, ms) Answers token requests with this HTTP
     * status and, if ms is not 0, a Retry-After of ms/1000 s. number
     * MST_MOCK_NEVER: no answer; 0: a token again. */
    MST_MOCK_TOKEN,
    /* (number, text: body or NULL, ms) The same for opening handshakes. */
    MST_MOCK_UPGRADE,
    /* (ms) New tokens expire after ms, as expires_in tells the client. Before
     * this step: an hour. A stream outlives its token. */
    MST_MOCK_TOKEN_LIFE,
    /* () All tokens issued so far become invalid: streams are closed with 1008,
     * and an opening handshake with such a token gets a 401. */
    MST_MOCK_EXPIRE,
    /* (number: code, text: reason or NULL) Sends a close frame on every stream,
     * and ends the connection after the client's close frame. number 0:
     * 1000. */
    MST_MOCK_CLOSE,
    /* (number) Ends every connection with this mst_error, such as MST_ERR_EOF;
     * 0: MST_ERR_RESET. */
    MST_MOCK_CUT,
    /* () Makes every open connection half-open: nothing arrives on either side
     * until the client gives it up. New connections work. */
    MST_MOCK_SILENCE,
    /* (number, ms) Makes the service unreachable for ms. Connections are
     * refused (number 0), fail with this mst_error, or get no answer
     * (MST_MOCK_NEVER); with MST_ERR_RESOLVE names do not resolve. Open
     * connections are cut, or with MST_MOCK_NEVER become silent. ms 0: until
     * the next MST_MOCK_OUTAGE, which ends this one. Sets resolve_error and
     * connect_error in the plan. */
    MST_MOCK_OUTAGE
};

/*
 * One line of a script. Members that an action does not use are ignored. A
 * compiler may warn of missing members unless the last one is named, as in
 * {5000, .action = MST_MOCK_CUT}.
 * Levels are "PRICE AMOUNT, PRICE AMOUNT", in any order; NULL: none. Two prices
 * are the same level if they are written the same. A text that is not a plain
 * decimal number is sent as it is, in a message that the client must reject,
 * and does not change the book: use "x 1" to lose an update.
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

/* The destination of the service's bytes. */
struct mst_mock_sink {
    void *context;
    size_t (*write)(void *context, int link, const void *data, size_t len);
    void (*end)(void *context, int link, int error);
};

/* Callbacks for a test that replaces parts of the service. Each may be NULL. */
struct mst_mock_service_hooks {
    void *context; /* passed to each */
    /* An HTTP request has arrived; text includes its body. Return true if the
     * test answers it, now or later, with sink.write or
     * mst_mock_service_upgrade(). */
    bool (*http)(void *context, int link, const char *text, const char *body);
    /* A message has arrived on a stream. Return true if the test answers it,
     * now or later with mst_mock_service_answer(). */
    bool (*message)(void *context, int link, const char *text);
    /* A ping (9), pong (10) or close frame (8) has arrived. Return true if the
     * service must not answer it. */
    bool (*control)(void *context, int link, unsigned opcode, const void *data,
                    size_t len);
    /* Decides about an entry of a request. Return NULL to grant it, or the code
     * to refuse it with. market is "" for heartbeats. Must not send
     * anything. */
    const char *(*refuse)(void *context, int link, bool subscribe,
                          const char *channel, const char *market);
    /* A market's book was granted. Return true to send no snapshot. */
    bool (*snapshot)(void *context, int link, const char *market);
};

/* Private: a level of a market's book, as written in the script. */
struct mst_mock_level {
    char price[MST_MOCK_NUMBER_LEN], amount[MST_MOCK_NUMBER_LEN];
};

/* Private: the script's state of a market. */
struct mst_mock_market {
    char name[MST_MOCK_MARKET_LEN];
    const char *refused;
    size_t depth[2];
    struct mst_mock_level levels[2][MST_MOCK_LEVELS];
};

/* Private: the answer to a kind of request. */
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
    char accept[32]; /* Sec-WebSocket-Accept of its handshake */
    char data[MST_MOCK_SERVICE_LEN], message[MST_MOCK_SERVICE_LEN];
};

/* The service, about 700 KB. The caller owns it; nothing is allocated. */
struct mst_mock_service {
    /* For the test to set. */
    struct mst_mock_service_hooks hooks;
    struct mst_mock_sink sink; /* the mock, or a TLS server over it */
    bool unanswered; /* requests on streams are counted but not answered */

    /* For the test to read. */
    uint32_t tokens;     /* issued */
    uint32_t streams;    /* opened */
    uint32_t subscribes; /* requests to subscribe that were answered */
    uint32_t pongs;      /* from the client */
    uint32_t duplicates; /* subscriptions that existed already */
    int stream;          /* the link whose stream opened last, or -1 */
    char wrong[256];     /* the first error of client or script, or "" */
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

/* Initialises a service and makes it the mock's peer. mock is borrowed for the
 * service's life. Call this after mst_mock_init(). */
void mst_mock_service_init(struct mst_mock_service *service,
                           struct mst_mock *mock);

/* Plays count steps, in the order of the table, each at its time; steps with
 * at_ms 0 are done before it returns. Replaces the rest of an earlier script.
 * steps and their texts are borrowed until they are done, those of
 * MST_MOCK_REFUSE, _TOKEN and _UPGRADE for the service's life. */
void mst_mock_service_play(struct mst_mock_service *service,
                           const struct mst_mock_step *steps, size_t count);

/* Does one step now; its at_ms is ignored. Texts are borrowed as above. */
void mst_mock_service_do(struct mst_mock_service *service,
                         const struct mst_mock_step *step);

/* True if this is subscribed on a link, or on any (link -1). channel is a name
 * such as "market_data"; market is "" or NULL for "heartbeat". */
bool mst_mock_service_has(const struct mst_mock_service *service, int link,
                          const char *channel, const char *market);

/* Sends a frame of at most MST_MOCK_SERVICE_LEN bytes on a link. first is its
 * first byte: 0x81 is a whole text message. */
void mst_mock_service_frame(struct mst_mock_service *service, int link,
                            unsigned first, const void *data, size_t len);

/* ---- for tests that answer requests themselves (hooks) ---- */

/* The service as a peer, for a test that inserts something between the service
 * and the mock. */
struct mst_mock_peer mst_mock_service_peer(struct mst_mock_service *service);

/* Writes the header of an unmasked frame; returns its length. */
size_t mst_mock_service_head(unsigned char out[10], unsigned first,
                             uint64_t len);

/* Answers a link's opening handshake. lines are further header lines, each with
 * CRLF; frames are sent in the same write. */
void mst_mock_service_upgrade(struct mst_mock_service *service, int link,
                              const char *lines, const void *frames,
                              size_t frames_len);

/* Answers a request on a stream as the service does without hooks. */
void mst_mock_service_answer(struct mst_mock_service *service, int link,
                             const char *text);

/* Sends a market_data message of this type ("SNAPSHOT", "UPDATE"), or with
 * "TOP_OF_BOOK" the top of book, on a link or, with -1, on all that subscribed
 * it. time_ns is Unix time, sent with ms, in a top of book with ns. bids and
 * asks are JSON. Returns the number of links it was sent to. */
int mst_mock_service_levels(struct mst_mock_service *service, int link,
                            const char *market, const char *type,
                            int64_t time_ns, const char *bids,
                            const char *asks);

/* Adds or removes a link's subscription without the client's knowledge. */
void mst_mock_service_set(struct mst_mock_service *service, int link,
                          const char *channel, const char *market,
                          bool subscribed);

/* Copies the value of a request's header to out, cut to its length; "" if it is
 * absent. */
void mst_mock_service_header(const char *request, const char *name, char *out,
                             size_t out_len);

/* Writes a time as in messages: RFC 3339, UTC, with a fraction of 9 digits
 * (fine) or 3. ns since the Unix epoch, not negative. */
void mst_mock_service_time(int64_t ns, bool fine, char out[MST_MOCK_TIME_LEN]);

/* Writes the Sec-WebSocket-Accept of a key of 24 characters (RFC 6455, section
 * 4.2.2). */
void mst_mock_service_accept(const char *key, char accept[29]);

/* Sets service.wrong, unless it is set. */
void mst_mock_service_wrong(struct mst_mock_service *service, const char *what);

#ifdef __cplusplus
}
#endif

#endif
