/*
 * The scripted service of port/mock, with what tests of the library need in
 * addition: it checks every request, notes when what was done, and answers in
 * ways that only a bad service does. Independent of the library.
 *
 * SPDX-License-Identifier: 0BSD
 */
#ifndef SERVICE_H
#define SERVICE_H

#include "mst_mock_service.h"

/* What a client should be configured with to be accepted. The id and secret
 * have characters that a form must escape. */
#define SERVICE_AUTH_HOST "auth.example"
#define SERVICE_WS_HOST "ws.example"
#define SERVICE_API_HOST "api.example"
#define SERVICE_ID "client id&1"
#define SERVICE_SECRET "s+cr=t/%\xC3\xA4~"
#define SERVICE_SCOPE "exchange:read_aggregated_marketdata_stream"
#define SERVICE_TOKEN "token-AbC.123_x~y+z/w=="
#define SERVICE_ENDLESS /* a body: the token without a life */ \
    "{\"access_token\":\"" SERVICE_TOKEN "\",\"token_type\":\"bearer\"}"
#define SERVICE_EMPTY(status) /* a response without a body */ \
    "HTTP/1.1 " status "\r\nContent-Length: 0\r\n\r\n"
#define SERVICE_BAD_CLIENT /* the response to wrong credentials */ \
    "HTTP/1.1 401 Unauthorized\r\nContent-Length: 26\r\n\r\n"      \
    "{\"error\":\"invalid_client\"}"
#define SERVICE_ADDRESS_SCOPE "transfer:write_crypto_destination_address"
#define SERVICE_ADDRESS_TOKEN "another-Token/of+addresses=="
#define SERVICE_ADDRESS_PATH "/v2/transfer/crypto-destination-address"

#define SERVICE_TIMES 64
#define SERVICE_BUFFER 65536

/* How often something was seen, and when (virtual ms). */
struct service_count {
    uint64_t count;
    uint64_t first_ms, last_ms;
    uint64_t gap_min_ms;        /* between two in a row */
    uint64_t ms[SERVICE_TIMES]; /* of the last, at count % SERVICE_TIMES */
};

/* How the token or WebSocket endpoint answers; all zero: as it should. */
struct service_script {
    bool never;        /* takes the request and says nothing */
    uint32_t delay_ms; /* answers so much later */
    /* A whole response instead of the proper one, for the first raw_times
     * requests (0: for all). raw_len 0: up to the NUL. */
    const char *raw;
    size_t raw_len;
    unsigned raw_times;
    int raw_end;         /* ends the link so afterwards; 0: does not */
    int status;          /* an error with this status and nothing else */
    uint32_t retry_s;    /* Retry-After: so many s; 0: without */
    bool retry_date;     /* says a date instead: 300 s */
    const char *headers; /* further header lines, each with CRLF */
    const char *interim; /* a 1xx response in front */
};

enum service_framing { SERVICE_LENGTH, SERVICE_CHUNKED, SERVICE_UNTIL_CLOSE };

/* How errors are told, field notes: {"type":"error","error":CODE},
 * {"type":"error","code":,"message":} or {"error":{"code":,"message":}}. */
enum service_shape { SERVICE_FLAT, SERVICE_CODED, SERVICE_NESTED };

/* How requests on the stream are answered; all zero: as they should be. */
struct service_rules {
    bool never;             /* requests are not answered */
    bool unsaid;            /* they are not, but done */
    const char *only_never; /* nor are those of this type */
    uint32_t delay_ms;      /* answers so much later */
    const char *error;      /* answers with this error message instead */
    unsigned error_times;   /* for so many requests; 0: for all */
    const char *error_type; /* only for requests of this type; NULL: for all */
    const char *error_market; /* only where it is named; NULL: for all */
    enum service_shape shape;
    const char *fail_code; /* entries of this market fail so */
    const char *fail_market;
    const char *fail_type; /* only in requests of this type; NULL: in all */
    bool overlap;          /* a request may come before the last one's answer */
    bool no_echo;          /* a close frame is not answered */
    bool no_pong;          /* a ping is not answered */
    bool no_snapshot;
    const char *no_snapshot_of; /* this market; NULL: of none */
    const char *bids, *asks;    /* levels of snapshots; NULL: the usual ones */
    uint32_t feed_ms; /* pushes to every subscription so often; 0: never */
    uint32_t beat_ms; /* and a heartbeat so often; 0: never */
    /* A stream is closed when the life of its token is over, and a token that
     * is over is not accepted. */
    bool expire;
    /* It is wrong to come back too early: before retry_s or, after a 429
     * without, within 5 minutes. */
    bool hold;
    const char *greeting; /* raw frames in the same write as the 101 */
    size_t greeting_len;
};

/* What belongs to one connection. */
struct service_link {
    struct mst_endpoint endpoint;
    uint64_t answer_due_ms; /* of the request that is outstanding */
    uint64_t end_ms;        /* of the life of its token */
    char key[64];
    char token_scope[256];     /* asked for last */
    char held[SERVICE_BUFFER]; /* the request whose answer is delayed */
};

struct service {
    struct mst_mock_service core; /* first: a pointer to it is one to this */

    /* For the test to set. */
    struct service_script token, upgrade, address;
    struct service_rules rules;
    enum service_framing framing;
    const char *token_body;  /* instead of the proper JSON */
    const char *token_rest;  /* what follows the token in it; NULL: as usual */
    const char *token_value; /* instead of SERVICE_TOKEN or its like */
    const char *scope;       /* also granted; NULL: SERVICE_SCOPE */
    const char *api_path;    /* of base_url; NULL: "" */
    const char *api_token;   /* NULL: SERVICE_ADDRESS_TOKEN */
    uint32_t expires_in;     /* 0: 3600 */
    /* Is handed each request on a stream, and answers instead of the service;
     * NULL: the service answers. */
    void (*on_request)(void *context, int link, const char *text);
    void *on_request_context;

    /* For the test to read. */
    struct service_count connects, tokens, upgrades, requests, pings, pongs,
        closes, puts;
    uint64_t records;        /* of addresses that were sent */
    uint64_t address_tokens; /* tokens asked for with that scope */
    uint64_t subscribes, unsubscribes, lists;
    uint16_t close_code; /* of the client's last close frame */
    char pong[126];      /* payload of the last pong */
    char ping[126];      /* and of the last ping */
    char request[4096];  /* text of the last request */
    char opening[4096];  /* and of the youngest connection's first */
    char put[8192];      /* the last request for an address, whole */
    char record[8192];   /* the record it made, as sent */

    /* Private. */
    struct service_link links[MST_MOCK_LINKS];
    uint64_t feed_due_ms, beat_due_ms;
    uint64_t token_end_ms; /* of the token's life */
    uint64_t told_ms[2];   /* the client knows of the next since then */
    uint64_t hold_ms[2];   /* no token or upgrade is asked for before */
    uint64_t serial;
};

/* Prepares a service over the mock, and makes it the mock's peer. A TLS layer
 * in between sets mock->peer and service->core.sink afterwards. */
void service_init(struct service *service, struct mst_mock *mock);

/* The endpoint gives this response to so many requests (0: to all), and ends
 * the link so afterwards (0: does not). */
void service_answer(struct service_script *script, const char *raw,
                    unsigned times, int end);

/* The service as a peer, for a layer in between. */
struct mst_mock_peer service_peer(struct service *service);

/* Is this subscribed on the connection that streams? market "" for none. */
bool service_has(const struct service *service, const char *channel,
                 const char *market);

/* How much is subscribed on the connection that streams. */
size_t service_len(const struct service *service);

/* The same for one of two connections. */
bool service_link_has(const struct service *service, int link,
                      const char *channel, const char *market);

/* Does this link stream? */
bool service_is_stream(const struct service *service, int link);

/* The connection that streams has this subscription, which it was not asked
 * for. */
void service_add(struct service *service, const char *channel,
                 const char *market);

/* Every connection loses this subscription, unnoticed. */
void service_forget(struct service *service, const char *channel,
                    const char *market);

/* Sends an unmasked frame on the connection that streams; flags are the four
 * upper bits of the first byte (0x80: FIN). */
void service_frame(struct service *service, unsigned flags, unsigned opcode,
                   const void *data, size_t len);

/* Sends a text message. */
void service_text(struct service *service, const char *text);

/* Sends raw bytes on a link; ends it. */
void service_write(struct service *service, int link, const void *data,
                   size_t len);
void service_link_end(struct service *service, int link, int error);

/* Sends raw bytes on the connection that streams. */
void service_bytes(struct service *service, const void *data, size_t len);

/* Sends a close frame, and ends the link when it is answered. */
void service_close(struct service *service, unsigned code, const char *reason);

/* Ends the connection that streams. */
void service_end(struct service *service, int error);

/* Ends every connection. */
void service_restart(struct service *service, int error);

/* Pushes one message of the channel to this market (numbers come from a
 * serial counter, times from the mock's wall clock): on every connection that
 * has subscribed it or, if none has, on the one that streams. */
void service_push(struct service *service, const char *channel,
                  const char *market);

/* Pushes a market_data message of this type ("SNAPSHOT", "UPDATE") and time
 * (Unix ns, sent in ms), or a top of book, with these levels as JSON, on the
 * same connections. */
void service_book(struct service *service, const char *market, const char *type,
                  int64_t time_ns, const char *bids, const char *asks);
void service_top(struct service *service, const char *market, int64_t time_ns,
                 const char *bids, const char *asks);

#endif
