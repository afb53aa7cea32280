/*
 * The scripted service of port/mock, extended for tests of the library: it
 * checks every request, records times, and can answer as only a broken service
 * would. It does not use the library.
 *
 * SPDX-License-Identifier: 0BSD
 */
#ifndef SERVICE_H
#define SERVICE_H

#include "mst_mock_service.h"

/* The configuration that the service accepts. Id and secret contain characters
 * that a form must escape. */
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

/* Counts something, and its times (virtual ms). */
struct service_count {
    uint64_t count;
    uint64_t first_ms, last_ms;
    uint64_t gap_min_ms;        /* between two in a row */
    uint64_t ms[SERVICE_TIMES]; /* of the last, at count % SERVICE_TIMES */
};

/* The token or WebSocket endpoint's responses; all zero: correct ones. */
struct service_script {
    bool never;        /* reads the request and does not respond */
    uint32_t delay_ms; /* responds this much later */
    /* A whole response instead of the correct one, for the first raw_times
     * requests (0: for all). raw_len 0: up to the NUL. */
    const char *raw;
    size_t raw_len;
    unsigned raw_times;
    int raw_end;         /* then ends the link with this error; 0: does not */
    int status;          /* an error with this status and no body */
    uint32_t retry_s;    /* Retry-After, s; 0: none */
    bool retry_date;     /* Retry-After is a date, in 300 s */
    const char *headers; /* further header lines, each with CRLF */
    const char *interim; /* a 1xx response before it */
};

enum service_framing { SERVICE_LENGTH, SERVICE_CHUNKED, SERVICE_UNTIL_CLOSE };

/* The form of error messages (field notes): {"type":"error","error":CODE},
 * {"type":"error","code":,"message":} or {"error":{"code":,"message":}}. */
enum service_shape { SERVICE_FLAT, SERVICE_CODED, SERVICE_NESTED };

/* Responses to requests on the stream; all zero: correct ones. */
struct service_rules {
    bool never;             /* requests are not answered */
    bool unsaid;            /* requests are carried out but not answered */
    const char *only_never; /* requests of this type are not answered */
    uint32_t delay_ms;      /* answers this much later */
    const char *error;      /* answers with this error message instead */
    unsigned error_times;   /* for this many requests; 0: for all */
    const char *error_type; /* only for requests of this type; NULL: for all */
    const char *error_market; /* only for requests with it; NULL: for all */
    enum service_shape shape;
    const char *fail_code; /* entries of fail_market fail with this code */
    const char *fail_market;
    const char *fail_type; /* only in requests of this type; NULL: in all */
    bool overlap;          /* allows a request before the last one's answer */
    bool no_echo;          /* a close frame is not answered */
    bool no_pong;          /* a ping is not answered */
    bool no_snapshot;
    const char *no_snapshot_of; /* gets no snapshot; or NULL */
    const char *bids, *asks;    /* levels of snapshots; NULL: the usual ones */
    uint32_t feed_ms; /* interval of pushes to every subscription; 0: none */
    uint32_t beat_ms; /* interval of heartbeats; 0: none */
    /* Closes a stream when its token expires, and refuses an expired token. */
    bool expire;
    /* Reports a request that comes too early as wrong: before retry_s or, after
     * a 429 without it, within 5 minutes. */
    bool hold;
    const char *greeting; /* raw frames in the same write as the 101 */
    size_t greeting_len;
};

/* The state of one connection. */
struct service_link {
    struct mst_endpoint endpoint;
    uint64_t answer_due_ms; /* for the outstanding request */
    uint64_t end_ms;        /* expiry of its token */
    char key[64];
    char token_scope[256];     /* of the last token request */
    char held[SERVICE_BUFFER]; /* the request whose answer is delayed */
};

struct service {
    struct mst_mock_service
        core; /* first member: its address is the service's */

    /* For the test to set. */
    struct service_script token, upgrade, address;
    struct service_rules rules;
    enum service_framing framing;
    const char *token_body;  /* instead of the correct JSON */
    const char *token_rest;  /* the JSON after the token; NULL: the usual */
    const char *token_value; /* instead of SERVICE_TOKEN and the like */
    const char *scope;       /* another granted scope; NULL: SERVICE_SCOPE */
    const char *api_path;    /* path of base_url; NULL: "" */
    const char *api_token;   /* NULL: SERVICE_ADDRESS_TOKEN */
    uint32_t expires_in;     /* 0: 3600 */
    /* Gets each request on a stream and answers instead of the service; NULL:
     * the service answers. */
    void (*on_request)(void *context, int link, const char *text);
    void *on_request_context;

    /* For the test to read. */
    struct service_count connects, tokens, upgrades, requests, pings, pongs,
        closes, puts;
    uint64_t records;        /* of addresses that were sent */
    uint64_t address_tokens; /* tokens requested with the scope of addresses */
    uint64_t subscribes, unsubscribes, lists;
    uint16_t close_code; /* of the client's last close frame */
    char pong[126];      /* payload of the last pong */
    char ping[126];      /* payload of the last ping */
    char request[4096];  /* text of the last request */
    char opening[4096];  /* the newest connection's first request */
    char put[8192];      /* the whole last address request */
    char record[8192];   /* the record that it made, as sent */

    /* Private. */
    struct service_link links[MST_MOCK_LINKS];
    uint64_t feed_due_ms, beat_due_ms;
    uint64_t token_end_ms; /* expiry of the token */
    uint64_t told_ms[2];   /* when the client learnt of hold_ms */
    uint64_t hold_ms[2];   /* token and upgrade requests must wait until then */
    uint64_t serial;
};

/* Initialises a service over the mock and makes it the mock's peer. A TLS layer
 * between them then sets mock->peer and service->core.sink. */
void service_init(struct service *service, struct mst_mock *mock);

/* Makes the endpoint send this response to the next requests (times; 0: to all)
 * and then end the link with an error (end; 0: does not). */
void service_answer(struct service_script *script, const char *raw,
                    unsigned times, int end);

/* The number of subscriptions of the open stream. */
size_t service_len(const struct service *service);

/* True if this is subscribed on the open stream; on this link. market is "" for
 * none. */
bool service_has(const struct service *service, const char *channel,
                 const char *market);
bool service_link_has(const struct service *service, int link,
                      const char *channel, const char *market);

/* True if this link has an open stream. */
bool service_is_stream(const struct service *service, int link);

/* Adds a subscription to the open stream without a request. */
void service_add(struct service *service, const char *channel,
                 const char *market);

/* Drops this subscription of every connection without telling the client. */
void service_forget(struct service *service, const char *channel,
                    const char *market);

/* Sends an unmasked frame on the open stream; flags are the four upper bits of
 * the first byte (0x80: FIN). */
void service_frame(struct service *service, unsigned flags, unsigned opcode,
                   const void *data, size_t len);

void service_text(struct service *service, const char *text);

/* Send raw bytes on a link; on the open stream. */
void service_write(struct service *service, int link, const void *data,
                   size_t len);
void service_bytes(struct service *service, const void *data, size_t len);

/* Sends a close frame, and ends the link after the client's. */
void service_close(struct service *service, unsigned code, const char *reason);

/* End a link; the open stream; every connection. */
void service_link_end(struct service *service, int link, int error);
void service_end(struct service *service, int error);
void service_restart(struct service *service, int error);

/* Sends a message of the channel for this market: on every connection that has
 * subscribed it or, if none has, on the open stream. Numbers come from a
 * counter, times from the mock's wall clock. */
void service_push(struct service *service, const char *channel,
                  const char *market);

/* Sends a market_data message of this type ("SNAPSHOT", "UPDATE") and time
 * (Unix ns, sent with ms), or a top of book, with these levels as JSON, on the
 * same connections as service_push(). */
void service_book(struct service *service, const char *market, const char *type,
                  int64_t time_ns, const char *bids, const char *asks);
void service_top(struct service *service, const char *market, int64_t time_ns,
                 const char *bids, const char *asks);

#endif
