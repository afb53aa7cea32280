/*
 * mini_stream: client for an order-routing exchange's streaming interface.
 *
 * Two files, C99, no allocation: the caller owns every byte. "Specification" is
 * that of the interface, which the exchange gives to its customers.
 *
 * Conventions: a call that can fail returns 0 or a positive number on success,
 * and a negative mst_error otherwise. Texts are UTF-8 and end with a NUL; those
 * that calls return are never NULL and stay valid. The time of a message is in
 * ns since the Unix epoch. What an event points to is valid until the next
 * poll. An object, and all that share its port or access, belong to one thread.
 *
 * SPDX-License-Identifier: 0BSD
 */
#ifndef MINI_STREAM_H
#define MINI_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* MST_NO_TLS leaves BearSSL's engine out, for ports that are secure themselves.
 * BearSSL's SHA-1 and SHA-256 are still used. */
#ifndef MST_NO_TLS
#include <bearssl.h>
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* The version of this header. */
#define MST_VERSION "0.1.0"

/* ---- Limits ----------------------------------------------------------------
 * A build may set others with -DMST_...=n, but the library and all files that
 * include this header must use the same; mst_client_init() checks this. Lengths
 * are in bytes. Each limit names the error that reports more than it allows. */
#ifndef MST_SUBSCRIPTIONS_MAX
#define MST_SUBSCRIPTIONS_MAX 32 /* of a client, 1 to 65,535: MST_ERR_FULL */
#endif
#ifndef MST_MARKET_MAX
#define MST_MARKET_MAX 31 /* market symbol: MST_ERR_ARGUMENT, _MESSAGE_SIZE */
#endif
#ifndef MST_TOKEN_MAX
#define MST_TOKEN_MAX 4096 /* access token: MST_ERR_TOKEN_TOO_LARGE */
#endif
#ifndef MST_HOST_MAX
#define MST_HOST_MAX 253 /* host (as RFC 1035 allows): MST_ERR_URL */
#endif
#ifndef MST_PATH_MAX
#define MST_PATH_MAX 127 /* path of a configured URL: MST_ERR_URL */
#endif
/* 64 to 32,768. An HTTP header line that the client reads: MST_ERR_HTTP_HEADER.
 * Token, lifetime, type, scope and error of a token response, as JSON, may take
 * MST_TOKEN_MAX + MST_LINE_MAX + 160 together (MST_ERR_TOKEN_TOO_LARGE). */
#ifndef MST_LINE_MAX
#define MST_LINE_MAX 512
#endif
#ifndef MST_HEADERS_MAX
#define MST_HEADERS_MAX 16384 /* all header lines: MST_ERR_HTTP_HEADER */
#endif
#ifndef MST_BODY_MAX
#define MST_BODY_MAX 65536 /* a response's body: MST_ERR_HTTP_BODY */
#endif
#ifndef MST_JSON_DEPTH
#define MST_JSON_DEPTH 16 /* 4 to 32: nesting of JSON: MST_ERR_JSON_DEPTH */
#endif
#ifndef MST_PART_LEVELS
#define MST_PART_LEVELS 32 /* 2 or more. Levels in a part: more parts follow */
#endif
#ifndef MST_TEXT_MAX
#define MST_TEXT_MAX 95 /* 47 or more. Text kept for an event: longer is cut */
#endif
/* In an address: a word (id, network, status, custodian type); any other text.
 * MST_ERR_ADDRESS in a request, MST_ERR_MESSAGE_SIZE in an answer. */
#ifndef MST_ADDRESS_WORD_MAX
#define MST_ADDRESS_WORD_MAX 63
#endif
#ifndef MST_ADDRESS_TEXT_MAX
#define MST_ADDRESS_TEXT_MAX 127
#endif
/* A book that is wrong or thin needs a new snapshot: its market is subscribed
 * again. This happens MST_RESYNCS_MAX times in a row (1 or more), then once per
 * MST_RESYNC_EVERY_MS (their product is 24 days at most). The interval doubles,
 * up to a day, while it runs thin, goes back or has numbers it cannot keep. */
#ifndef MST_RESYNCS_MAX
#define MST_RESYNCS_MAX 3
#endif
#ifndef MST_RESYNC_EVERY_MS
#define MST_RESYNC_EVERY_MS 600000
#endif
/* A book disagrees with the top of book (MST_BOOK_DISAGREES) after this many
 * differing messages in a row (1 to 255) over at least this time (ms). */
#ifndef MST_DISAGREEMENTS
#define MST_DISAGREEMENTS 3
#endif
#ifndef MST_DISAGREEMENT_MS
#define MST_DISAGREEMENT_MS 2000
#endif
/* Unix s (2024-01-01). An earlier wall clock is not set: MST_ERR_CLOCK. */
#ifndef MST_CLOCK_MIN
#define MST_CLOCK_MIN 1704067200
#endif

/* ---- Errors, by layer ---------------------------------------------------- */
/* Returned by calls and reported in events. */
enum mst_error {
    MST_OK = 0,
    /* The caller's mistakes. Unless it says otherwise, a call had no effect. */
    MST_ERR_ARGUMENT = -1, /* null, empty, too long or not valid UTF-8 */
    MST_ERR_BUILD = -2,    /* the caller was compiled with other limits */
    MST_ERR_MEMORY = -3,   /* memory is too small for its lengths */
    MST_ERR_URL = -4,      /* wrong scheme, too long, or unlike the access's */
    MST_ERR_PLAIN = -5,    /* ws or http without MST_ALLOW_PLAIN */
    MST_ERR_CREDENTIALS = -6,  /* client_id or client_secret is missing */
    MST_ERR_ANCHORS = -7,      /* no trust anchors */
    MST_ERR_IP_HOST = -8,      /* an IP address as host under TLS */
    MST_ERR_HEADER_VALUE = -9, /* CR, LF, NUL or another control character */
    MST_ERR_FULL = -10,        /* no room for one more subscription */
    MST_ERR_EXISTS = -11,      /* subscribed already */
    MST_ERR_MISSING = -12,     /* no such subscription */
    MST_ERR_CLOSED = -13,      /* the object has been closed */
    MST_ERR_BUSY = -14,        /* another request is under way */
    MST_ERR_INEXACT = -15,     /* the value is not a whole number of units */
    MST_ERR_NO_LEVELS = -16,   /* the book, or a side of it, shows no level */
    MST_ERR_HORIZON = -17,     /* beyond what the book knows exactly */
    MST_ERR_ADDRESS = -18,     /* breaks a rule: see mst_address_check() */
    MST_ERR_BOOK = -19,        /* another subscription uses the book */
    /* From the port. */
    MST_ERR_CLOCK = -100,       /* the wall clock is not set */
    MST_ERR_ENTROPY = -101,     /* no entropy */
    MST_ERR_RESOLVE = -102,     /* the host name has no address */
    MST_ERR_REFUSED = -103,     /* connection refused */
    MST_ERR_UNREACHABLE = -104, /* no route to the host or network */
    MST_ERR_RESET = -105,       /* connection reset */
    MST_ERR_EOF = -106,         /* the peer closed the connection */
    MST_ERR_PORT = -107,        /* another error of the port, see detail */
    /* From a port with a proxy. The detail is its HTTP status, or 0. */
    MST_ERR_PROXY_LOGIN = -108,   /* it wants other credentials (407, or 401) */
    MST_ERR_PROXY_REFUSED = -109, /* it forbids the connection */
    MST_ERR_PROXY_GATEWAY = -110, /* it cannot reach the server (5xx) */
    MST_ERR_PROXY_ANSWER = -111,  /* not HTTP, or a page instead of a tunnel */
    MST_ERR_PROXY_TIMEOUT = -112, /* it accepts but does not answer */
    /* TLS. The detail is BearSSL's error code. */
    MST_ERR_TLS_ISSUER = -200,      /* chain does not lead to a trust anchor */
    MST_ERR_TLS_NAME = -201,        /* certificate is for another name */
    MST_ERR_TLS_TIME = -202,        /* expired or not yet valid: see clock_s */
    MST_ERR_TLS_CERTIFICATE = -203, /* malformed, not for this use, or weak */
    MST_ERR_TLS_VERSION = -204,     /* the server requires another version */
    MST_ERR_TLS_HANDSHAKE = -205,   /* no common suite, or handshake refused */
    MST_ERR_TLS_ALERT = -206,       /* another fatal alert */
    MST_ERR_TLS_PROTOCOL = -207,    /* malformed or forged records */
    MST_ERR_TLS_TRUNCATED = -208,   /* ended without close_notify */
    /* HTTP (RFC 9110, 9112). */
    MST_ERR_HTTP_SYNTAX = -300,    /* not an HTTP/1.1 response */
    MST_ERR_HTTP_LENGTH = -301,    /* malformed or conflicting lengths */
    MST_ERR_HTTP_CODING = -302,    /* a coding that was not requested */
    MST_ERR_HTTP_HEADER = -303,    /* header line or all headers too large */
    MST_ERR_HTTP_BODY = -304,      /* body too large */
    MST_ERR_HTTP_TRUNCATED = -305, /* the response ended early */
    MST_ERR_HTTP_STATUS = -306,    /* an unexpected status, see http_status */
    /* OAuth 2.0 (RFC 6749) and access. */
    MST_ERR_TOKEN_REFUSED = -400,   /* error response; text is its code */
    MST_ERR_TOKEN_SHAPE = -401,     /* not a token response */
    MST_ERR_TOKEN_TYPE = -402,      /* token_type is not bearer */
    MST_ERR_TOKEN_SCOPE = -403,     /* a scope was not granted: see text */
    MST_ERR_TOKEN_TOO_LARGE = -404, /* see MST_TOKEN_MAX and MST_LINE_MAX */
    MST_ERR_UNAUTHORIZED = -405,    /* 401: the token is not accepted */
    MST_ERR_FORBIDDEN = -406,       /* 403: scope missing, not on allow list */
    MST_ERR_THROTTLED = -407,       /* 429: too many requests */
    /* WebSocket (RFC 6455). */
    MST_ERR_WS_UPGRADE = -500,   /* not 101, or without its Upgrade headers */
    MST_ERR_WS_ACCEPT = -501,    /* wrong Sec-WebSocket-Accept */
    MST_ERR_WS_EXTENSION = -502, /* extension or subprotocol not requested */
    MST_ERR_WS_RESERVED = -503,  /* reserved bit or opcode */
    MST_ERR_WS_MASKED = -504,    /* a masked frame from a server */
    MST_ERR_WS_LENGTH = -505,    /* malformed frame length */
    MST_ERR_WS_CONTROL = -506,   /* fragmented or oversized control frame */
    MST_ERR_WS_FRAGMENT = -507,  /* continuation out of order */
    MST_ERR_WS_UTF8 = -508,      /* text that is not UTF-8 */
    MST_ERR_WS_CLOSE = -509,     /* malformed close frame */
    MST_ERR_WS_CLOSED = -510,    /* the service closed; see ws_code and text */
    /* Messages: one message, or one entry of a response, is lost. */
    MST_ERR_JSON_SYNTAX = -600,    /* not JSON (RFC 8259) */
    MST_ERR_JSON_DEPTH = -601,     /* nested too deeply */
    MST_ERR_MESSAGE_SHAPE = -602,  /* a field is missing or of a wrong type */
    MST_ERR_MESSAGE_KEY = -603,    /* a key that matters occurs twice */
    MST_ERR_MESSAGE_SIZE = -604,   /* an item does not fit the message buffer */
    MST_ERR_MESSAGE_ORDER = -605,  /* levels or a bad field precede channel,
                                    * market, type or time, and do not fit */
    MST_ERR_MESSAGE_BINARY = -606, /* a binary message */
    MST_ERR_DECIMAL = -607,        /* not a decimal number, or negative */
    MST_ERR_DECIMAL_WIDE = -608,   /* more digits or exponent than fit */
    MST_ERR_TIME = -609,           /* not an RFC 3339 timestamp */
    /* The session. */
    MST_ERR_TIMEOUT = -700,   /* a stage took too long; stage says which */
    MST_ERR_SILENCE = -701,   /* no complete frame came for too long */
    MST_ERR_SLOW = -702,      /* a large frame came below the minimum rate */
    MST_ERR_ANSWER = -703,    /* a request was not answered in time */
    MST_ERR_SERVICE = -704,   /* error message of the service; see code */
    MST_ERR_HEARTBEAT = -705, /* subscribed heartbeats no longer come */
    MST_ERR_LAG = -706,       /* messages come later than lag_max_ms allows */
    MST_ERR_SNAPSHOT = -707,  /* no snapshot came, even on a second request */
    MST_ERR_NO_RESULT = -708, /* an answer lacks a channel, or is unreadable */
    MST_ERR_GARBAGE = -709    /* 100 messages in a row could not be read */
};

const char *mst_strerror(int error); /* one line of English */
/* True if this error will recur until somebody changes something: the client
 * retries every backoff_slow_ms. MST_ERR_TOKEN_REFUSED, for which it is false,
 * may be permanent, too: mst_failure.permanent goes by the service's code. */
bool mst_error_is_permanent(int error);

/* Error codes of the service (specification, section 7). */
enum mst_code {
    MST_CODE_NONE,
    MST_CODE_UNKNOWN_ACTION,
    MST_CODE_INTERNAL_SERVER_ERROR,
    MST_CODE_MALFORMED_REQUEST,
    MST_CODE_NO_EFFECT_ACTION, /* the channel already is as requested */
    MST_CODE_UNKNOWN_CHANNEL,
    MST_CODE_UNKNOWN_CHANNEL_PARAMS_CONFIGURATION,
    MST_CODE_OTHER /* a code this version does not know: see the text */
};

/* The types that a program allocates. Their layouts are at the end. */
struct mst_decoder; /* turns messages into events */
struct mst_book;
struct mst_ws;   /* reader of WebSocket frames */
struct mst_http; /* reader of an HTTP response */
struct mst_access;
struct mst_client;
struct mst_transfer;
struct mst_pair;
struct mst_link;    /* the connection of a client or a transfer */
struct mst_address; /* an address record of the service */
struct mst_problem; /* the service's description of an error */

/* ---- Numbers and time ---------------------------------------------------- */
/* coefficient * 10^exponent, without trailing zeros; zero is 0 * 10^0. Equal
 * numbers have equal members. */
struct mst_decimal {
    int64_t coefficient; /* at most 18 digits */
    int8_t exponent;     /* -64 to 63 */
    bool inexact;        /* digits beyond the 18th were cut off */
};
/* Reads a JSON number (RFC 8259, section 6). Returns 0; MST_ERR_DECIMAL if the
 * text is not one; MST_ERR_DECIMAL_WIDE if the exponent is out of range. */
int mst_decimal_parse(const char *text, size_t len, struct mst_decimal *out);
/* a + b and a - b. The result is inexact if a or b is. Beyond 18 digits it is
 * rounded towards zero, out of range it is the largest number of its sign: both
 * are inexact. */
struct mst_decimal mst_decimal_add(struct mst_decimal a, struct mst_decimal b);
struct mst_decimal mst_decimal_sub(struct mst_decimal a, struct mst_decimal b);
/* Negative, zero or positive as a is less than, equal to or greater than b. */
int mst_decimal_cmp(struct mst_decimal a, struct mst_decimal b);
/* The value in units of 10^exponent: with exponent -8, 0.5 is 50,000,000.
 * Returns 0. On an error *out is 0: MST_ERR_INEXACT if the value is inexact or
 * not a whole number of units, MST_ERR_DECIMAL_WIDE if int64_t is too small. */
int mst_decimal_to_scaled(struct mst_decimal value, int exponent, int64_t *out);

/* The value as an IEEE 754 double, for display and statistics. It is the
 * nearest double if the coefficient is at most 2^53 and the exponent -22 to 22;
 * else the relative error is at most 5e-16. */
static inline double mst_decimal_to_double(struct mst_decimal value) {
    double power = 1; /* exact up to 10^22 */

    for (int i = value.exponent; i != 0; i += i < 0 ? 1 : -1) {
        power *= 10;
    }
    return value.exponent < 0 ? (double)value.coefficient / power
                              : (double)value.coefficient * power;
}

/* Reads an RFC 3339 timestamp, 1970 to 2261, as Unix ns. Digits of the fraction
 * after the 9th are ignored. A leap second is read as the first second of the
 * next minute. Returns 0 or MST_ERR_TIME. */
int mst_time_parse(const char *text, size_t len, int64_t *ns);
/* Write a number in plain notation ("0.00012", "50000"), or a time of at least
 * 0 ("2026-01-02T03:04:05.678901234Z"), with a NUL, into a buffer of at least
 * this length. Return the length of the text. */
#define MST_DECIMAL_TEXT_LEN 88
#define MST_TIME_TEXT_LEN 31
size_t mst_decimal_format(struct mst_decimal value, char *text);
size_t mst_time_format(int64_t ns, char *text);

/* ---- Port: sockets, clocks, entropy ----------------------------------------
 * port/README.md has the contract and a skeleton. */
/* The server of a link. Valid as long as the link is in use. */
struct mst_endpoint {
    char host[MST_HOST_MAX + 1]; /* without brackets */
    char path[MST_PATH_MAX + 1]; /* begins with '/', or is empty */
    uint16_t port;
    bool tls; /* wss or https */
};
#define MST_PORT_SECURE 1u /* the port does TLS itself: it gets plain bytes */
/* A recv that returns less than requested has emptied the socket. The library
 * calls it again after a poll returned 0, or if it may have ended since. */
#define MST_PORT_DRAINS 2u
/* Returned by connect of a secure port during the TLS handshake: the state is
 * MST_STATE_TLS, with a deadline of tls_ms. */
#define MST_PORT_IN_TLS 2

struct br_ssl_client_context_; /* BearSSL's, for tls_setup */
struct br_x509_class_;
#define MST_TOKEN_KEY_LEN 16 /* bytes of the key of a stored token */
/* The functions of a port, and its properties. */
struct mst_port {
    void *context;  /* passed to every function */
    unsigned flags; /* MST_PORT_SECURE and MST_PORT_DRAINS, or 0 */
    /* None of these waits: 0 means not yet, a negative mst_error a failure.
     * resolve starts or continues to resolve the host and returns the number of
     * addresses. connect does the same with one of them, counted from 0: 1 once
     * connected, with TLS if the port is secure. send and recv return how many
     * bytes they moved, 1 to len; MST_ERR_EOF: the peer sends no more. close
     * ends all that the link does, at any time, a resolution too. */
    int (*resolve)(void *context, int link,
                   const struct mst_endpoint *endpoint);
    int (*connect)(void *context, int link, int address);
    int (*send)(void *context, int link, const void *data, size_t len);
    int (*recv)(void *context, int link, void *data, size_t len);
    void (*close)(void *context, int link);
    /* Monotonic milliseconds; may start anywhere and may wrap. */
    uint32_t (*now_ms)(void *context);
    /* Wall clock, Unix ns. Returns 0, or a negative number if it is not set. */
    int (*unix_ns)(void *context, int64_t *ns);
    /* Fills data with cryptographically secure random bytes: 0, or negative. */
    int (*entropy)(void *context, void *data, size_t len);

    /* The rest may be NULL. Monotonic nanoseconds, for the times in events. */
    uint64_t (*now_ns)(void *context);
    /* Stores access tokens, which are secrets, across restarts, so that a boot
     * loop does not use up the quota. save stores one under this key until this
     * Unix time (s), or erases it if len is 0. load writes the stored token, of
     * up to cap bytes, and its time; it returns the length, or 0 for none. The
     * key is half of a SHA-256 of auth_url, client_id and scope. */
    int (*token_load)(void *context, const uint8_t key[MST_TOKEN_KEY_LEN],
                      char *token, size_t cap, int64_t *until_s);
    void (*token_save)(void *context, const uint8_t key[MST_TOKEN_KEY_LEN],
                       const char *token, size_t len, int64_t until_s);
    /* The platform's number for the link's last error, such as errno. */
    int (*detail)(void *context, int link);
    /* Called by mst_wants() with the object's MST_WANT_ bits. Returns those of
     * the socket, which differ while the port talks to a proxy or does TLS. */
    unsigned (*wants)(void *context, int link, unsigned wants);
    /* Called before each handshake, with tls_context, to replace primitives of
     * BearSSL by the platform's, using br_ssl_engine_set_gcm() and the like.
     * x509 is a br_x509_minimal_context that the library has initialised.
     * tls_end, or NULL, is called after each connection to wipe what
     * tls_setup keeps for the link. */
    void (*tls_setup)(void *tls_context, int link,
                      struct br_ssl_client_context_ *tls,
                      const struct br_x509_class_ **x509);
    void (*tls_end)(void *tls_context, int link);
    void *tls_context;
};

/* ---- Events -------------------------------------------------------------- */
/* The channels. All but the heartbeat are subscribed per market. */
enum mst_channel {
    MST_MARKET_DATA,
    MST_TOP_OF_BOOK,
    MST_EXECUTION_DATA,
    MST_HEARTBEAT,
    MST_CHANNEL_OTHER /* a channel this version does not know */
};
/* The channel's name on the wire ("market_data.top_of_book"), or "". */
const char *mst_channel_name(enum mst_channel channel);
enum mst_side { MST_BID, MST_ASK }; /* offers to buy, offers to sell */
/* A price level (specification, section 2.2). Books consist of these, so it is
 * packed: read it with mst_level_price() and mst_level_amount(). */
struct mst_level {
    int64_t price_coefficient;
    int64_t amount_coefficient; /* 0: the level is removed */
    int64_t time_ns;            /* of the message that set it */
    int8_t price_exponent, amount_exponent;
    uint8_t side;  /* enum mst_side */
    uint8_t flags; /* MST_LEVEL_INEXACT, or 0 */
    uint32_t key;  /* private: a book's */
};
#define MST_LEVEL_INEXACT 1u /* the amount was cut to 18 digits */
struct mst_decimal mst_level_price(const struct mst_level *level);
struct mst_decimal mst_level_amount(const struct mst_level *level);

/* A part of a market_data message: up to MST_PART_LEVELS levels, bids and asks
 * together, or none. The last part comes only after the whole message has been
 * checked. If a message turns out bad after its first part, an empty part with
 * aborted set ends it. */
struct mst_part {
    const char *market;
    int64_t time_ns;
    const struct mst_level *levels;
    size_t count;
    bool snapshot; /* replaces the book; otherwise an update */
    bool first, last, aborted;
};

/* Best bid and ask (specification, section 2.3). A side may be empty. */
struct mst_top {
    const char *market;
    int64_t time_ns;
    bool has_bid, has_ask;
    struct mst_level bid, ask;
};

/* A trade (specification, section 2.4). May come out of time order. Trades of a
 * time without a connection do not come later. */
struct mst_execution {
    const char *market;
    int64_t time_ns;
    struct mst_decimal price, amount;
    bool repeat; /* in a pair: the other connection may report it, too. If both
                  * do, at least one of the two is marked */
};
/* The kind of a request. */
enum mst_action { MST_SUBSCRIBE, MST_UNSUBSCRIBE, MST_SUBSCRIPTION_LIST };
/* One entry of a response (specification, sections 2.1 and 4.1). */
struct mst_entry {
    enum mst_action action;
    enum mst_channel channel;
    const char *channel_name; /* as the service wrote it, up to 31 bytes */
    const char *market;       /* "" if the entry has none */
    bool success;             /* true for an entry of a list */
    enum mst_code code;       /* why it failed, or MST_CODE_NONE */
    const char *text;         /* the code as text, or "" */
};

/* The state of a link: the stages of a connection, in order. */
enum mst_state {
    MST_STATE_OFF,     /* closed by the caller */
    MST_STATE_WAIT,    /* waiting before the next attempt */
    MST_STATE_RESOLVE, /* resolving the host name */
    MST_STATE_CONNECT, /* connecting */
    MST_STATE_TLS,     /* in the TLS handshake */
    MST_STATE_TOKEN,   /* requesting a token */
    MST_STATE_UPGRADE, /* in the WebSocket opening handshake */
    MST_STATE_PUT,     /* creating or updating an address */
    MST_STATE_IDLE,    /* connected, waiting for another such request */
    MST_STATE_OPEN,    /* streaming */
    MST_STATE_CLOSING  /* in the closing handshake */
};
const char *mst_state_name(enum mst_state state);

/* What went wrong. An unknown number is 0, an unknown text is "". */
struct mst_failure {
    int error;            /* mst_error */
    enum mst_state stage; /* in which it happened */
    bool permanent;       /* somebody must change something: retried slowly */
    uint32_t retry_ms;    /* until the next attempt, if one follows */
    int detail;           /* BearSSL's code, or the port's number */
    int http_status;
    int ws_code;        /* close code received (RFC 6455, section 7.4) */
    int64_t clock_s;    /* with MST_ERR_TLS_TIME: the Unix time used */
    const char *market; /* of the message, or the first without a result */
    const char *text;   /* the service's text, or the bad value */
};

/* The result of mst_address_put(), valid until the next poll or put. */
struct mst_address_result {
    int error;         /* mst_error, or MST_OK */
    bool maybe_done;   /* the record may have changed despite the error */
    int http_status;   /* of the API, or of the token endpoint; or 0 */
    uint32_t retry_ms; /* how long another request would have to wait */
    const struct mst_address *record;  /* the caller's, or NULL */
    const struct mst_problem *problem; /* the service's description, or NULL */
    const char *text; /* MST_ERR_FORBIDDEN: missing scope; else token endpoint's
                       * code, or "" */
    const char *body; /* as received, or NULL */
    size_t body_len;
};

/* Type of an event, and the member of its union that is set. */
enum mst_event_type {
    MST_EVENT_NONE,
    MST_EVENT_OPEN,          /* connected; subscriptions follow: no payload */
    MST_EVENT_CLOSED,        /* connection or attempt ended: failure */
    MST_EVENT_ERROR,         /* only a message or request failed: failure */
    MST_EVENT_PART,          /* market_data: part */
    MST_EVENT_TOP,           /* market_data.top_of_book: top */
    MST_EVENT_EXECUTION,     /* execution_data: execution */
    MST_EVENT_HEARTBEAT,     /* heartbeat: heartbeat */
    MST_EVENT_ENTRY,         /* an entry of a response: entry */
    MST_EVENT_RESPONSE,      /* the response's entries are complete: response */
    MST_EVENT_SERVICE_ERROR, /* error message of the service: service_error */
    MST_EVENT_ADDRESS,       /* mst_address_put() has ended: address */
    MST_EVENT_LEADER,        /* in a pair, this link leads from now on */
    MST_EVENT_UNKNOWN        /* message of an unknown kind: unknown */
};
/* What a poll returns. */
struct mst_event {
    enum mst_event_type type;
    int link;              /* the number of its link */
    uint32_t generation;   /* of the connection, counting from 1 */
    uint64_t received_ns;  /* monotonic: when its last bytes were read */
    const char *market;    /* as passed to mst_subscribe(), or NULL. The payload
                            * has it as the service wrote it */
    struct mst_book *book; /* of the subscription, or NULL */
    union {
        struct mst_part part;
        struct mst_top top;
        struct mst_execution execution;
        struct mst_entry entry;
        struct mst_failure failure;
        struct mst_address_result address;
        struct {
            int64_t time_ns;
        } heartbeat;
        struct {
            enum mst_action action;
            size_t entries, failed;
        } response;
        struct {
            enum mst_code code;
            const char *code_text, *message; /* or "" */
        } service_error;
        struct {
            const char *text; /* without a NUL; NULL if it did not fit */
            size_t len;       /* of the whole message in any case */
        } unknown;
    } as;
};

/* ---- Decoder: messages to events, without I/O ------------------------------
 * The client contains one; it can also be used alone. */
/* Amounts of more than 18 digits are MST_ERR_DECIMAL_WIDE, not inexact. */
#define MST_STRICT_AMOUNTS 1u
/* Initialises a decoder with a buffer (borrowed; 256 bytes or more). flags:
 * MST_STRICT_AMOUNTS or 0. Returns 0 or MST_ERR_ARGUMENT. */
int mst_decoder_init(struct mst_decoder *decoder, void *buffer, size_t len,
                     unsigned flags);
/* Passes in the next piece of a message, borrowed until mst_decoder_next()
 * returns 0. final: the message ends with this piece. The caller has checked
 * that it is UTF-8. Small first pieces are read together with later ones. */
void mst_decoder_feed(struct mst_decoder *decoder, const void *data, size_t len,
                      bool final);
/* Returns 1 with the next event, or 0 once the piece is used up. link,
 * generation, received_ns, market and book are not set. Pointers are valid
 * until the next call with this decoder. */
int mst_decoder_next(struct mst_decoder *decoder, struct mst_event *event);
/* Drops the current message. Returns 1 with an aborted part if parts of it were
 * returned before, else 0. */
int mst_decoder_abort(struct mst_decoder *decoder, struct mst_event *event);

/* ---- Addresses -------------------------------------------------------------
 * Crypto destination addresses (specification, sections 2.6 to 2.8 and 4.2).
 * Words such as networks are passed on, also those of a later version. */
/* Travel rule metadata. A member that is NULL is not sent; the service decides
 * whether it is needed. Contradictions are refused: a beneficiary that is both
 * person and institution, a custodian "VASP" without a vasp_id, a custodian
 * "PRIVATE" with one. */
struct mst_travelrule {
    const char *first_name, *last_name, *institution; /* of the beneficiary */
    const char *vasp_id, *custodian_type;             /* not "" */
};

/* Whether to bookmark an address. */
enum mst_bookmark {
    MST_BOOKMARK_UNCHANGED, /* on creation: not bookmarked */
    MST_BOOKMARK_FALSE,
    MST_BOOKMARK_TRUE
};

/* Creates an address record, or sets the given fields of an existing one. Needs
 * either id, or network and address, none of them ""; the rest may be zero.
 * Repeating a request is safe, but undoes what another client changed since.
 * Networks: BITCOIN, ETHEREUM, BITCOIN_CASH, LITECOIN, SOLANA, POLYGON_POS,
 * BASE, ARBITRUM_ONE, STELLAR, INK, XLAYER. */
struct mst_address_request {
    const char *id; /* of an existing record */
    const char *network, *address;
    const char *nickname; /* NULL: unchanged, or generated; "": none */
    enum mst_bookmark bookmarked;
    const struct mst_travelrule *travelrule; /* or NULL */
};

/* Checks a request. Returns 0; MST_ERR_ADDRESS, with the first field that
 * breaks a rule in why, such as "nickname is too long"; or MST_ERR_ARGUMENT if
 * request is NULL. why may be NULL; it becomes "" if no rule is broken. */
int mst_address_check(const struct mst_address_request *request,
                      char why[MST_TEXT_MAX + 1]);
/* An address record. Texts are the service's, or "". They may contain control
 * characters: do not log them as they are. NUL is replaced by U+FFFD. */
struct mst_address {
    int64_t created_ns; /* 0: unknown */
    bool bookmarked;
    char id[MST_ADDRESS_WORD_MAX + 1]; /* never empty */
    char network[MST_ADDRESS_WORD_MAX + 1];
    char status[MST_ADDRESS_WORD_MAX + 1]; /* PENDING, APPROVED, REJECTED... */
    char address[MST_ADDRESS_TEXT_MAX + 1], nickname[MST_ADDRESS_TEXT_MAX + 1];
};

/* What an error response says, shortened, without control characters. */
struct mst_problem {
    int status; /* in the body, 100 to 599; 0: none, see http_status */
    char title[MST_TEXT_MAX + 1];  /* summary or error code, or "" */
    char detail[MST_TEXT_MAX + 1]; /* explanation, or "" */
};

/* ---- Book ---------------------------------------------------------------- */
/* Whether the prices of a book can be used. */
enum mst_book_state {
    MST_BOOK_EMPTY,    /* no data yet */
    MST_BOOK_BUILDING, /* a message is being merged: shows no levels */
    MST_BOOK_LIVE,     /* current */
    MST_BOOK_STALE     /* shows the last known levels; may be wrong */
};
/* Why a book is not live. */
enum mst_book_reason {
    MST_BOOK_OK,          /* it is live */
    MST_BOOK_NO_SNAPSHOT, /* the snapshot has not come yet */
    MST_BOOK_IN_MESSAGE,  /* a message of several parts is incomplete */
    MST_BOOK_RECONNECT,   /* the connection was lost */
    MST_BOOK_RESYNC,      /* the market is being subscribed again */
    MST_BOOK_ABORTED,     /* a message turned out bad, or was cut off */
    MST_BOOK_BAD_MESSAGE, /* a bad message may have been for this book */
    MST_BOOK_NUMBER,      /* a price or amount that cannot be stored */
    MST_BOOK_DISORDER,    /* a snapshot is older than the book, or has one price
                           * with two amounts */
    MST_BOOK_DETACHED     /* its subscription has ended */
};
const char *mst_book_state_name(enum mst_book_state state);
const char *mst_book_reason_name(enum mst_book_reason reason);

/* Reasons to doubt a live book, updated at the end of each message. A book that
 * combines several venues may rightly be crossed. */
#define MST_BOOK_CROSSED 1u    /* best bid at or above best ask */
#define MST_BOOK_THIN 2u       /* fewer exact levels than mst_book_set_thin() */
#define MST_BOOK_DISAGREES 4u  /* differs from the top of book for some time */
#define MST_BOOK_BACKWARD 8u   /* an update was older than one before it */
#define MST_BOOK_TIME_STEP 16u /* the service's time went back */
/* Initialises an empty book over levels[2 * capacity], borrowed as long as the
 * book is used. It keeps the best capacity levels of each side, or up to a 64th
 * less. Returns 0 or MST_ERR_ARGUMENT. */
int mst_book_init(struct mst_book *book, struct mst_level *levels,
                  size_t capacity);
/* A side is thin if it had to drop levels and has fewer than this many left: at
 * most 63/64 of the capacity. With 0, the default, it never is. */
void mst_book_set_thin(struct mst_book *book, size_t levels);

/* Applies a part of a market_data message, as the client does for the book of a
 * subscription. received_ns is as in struct mst_event, or always 0. A part that
 * does not continue the previous one makes the book stale (MST_BOOK_ABORTED)
 * until the next snapshot.
 * Updates that come before their snapshot are merged with it. For each level
 * the newest amount counts; if times differ by less than a millisecond, the one
 * received last, since times may be that coarse. An update older than the
 * snapshot is dropped. MST_BOOK_TIME_STEP is set if that is doubtful: if it was
 * received 2 s or more after the snapshot (or the caller read it so late), or
 * if the snapshot is over 2 s older than updates before it. A snapshot may
 * repeat a level; with another amount the book is stale (MST_BOOK_DISORDER). An
 * update older than a live book may restore a removed level: MST_BOOK_BACKWARD
 * is set. A level of rank k costs O(log n + k), a sorted snapshot O(n). */
void mst_book_apply(struct mst_book *book, const struct mst_part *part,
                    uint64_t received_ns);
/* Compares a live book with its market's top of book, as the client does if it
 * subscribes both. A top that is older than the book is ignored, unless it is
 * received 2 s or more after the book's last message. */
void mst_book_check(struct mst_book *book, const struct mst_top *top,
                    uint64_t received_ns);
/* Marks the book stale; the next part begins a new one. */
void mst_book_stale(struct mst_book *book, enum mst_book_reason reason);

/* The book's state, and why it is not live. */
enum mst_book_state mst_book_state(const struct mst_book *book);
enum mst_book_reason mst_book_reason(const struct mst_book *book);
unsigned mst_book_flags(const struct mst_book *book); /* doubts, or 0 */
int64_t mst_book_time(const struct mst_book *book); /* of its newest message */
/* Number of levels that can be read: 0 while the book is building. O(1). */
size_t mst_book_depth(const struct mst_book *book, enum mst_side side);
/* The level of this rank (0 is the best, O(1)) or of this price (O(log n)), or
 * NULL. Valid until the book changes. */
const struct mst_level *mst_book_level(const struct mst_book *book,
                                       enum mst_side side, size_t rank);
const struct mst_level *mst_book_find(const struct mst_book *book,
                                      enum mst_side side,
                                      struct mst_decimal price);
/* True if a side had to drop levels: it is exact, and shown, only at prices
 * better than *price. False while the book is building. O(1). */
bool mst_book_horizon(const struct mst_book *book, enum mst_side side,
                      struct mst_decimal *price);
/* Adds up the amounts from the best price to this one, inclusive. Returns 0;
 * MST_ERR_NO_LEVELS if the side shows no level (*sum is 0); MST_ERR_HORIZON if
 * the price is beyond the horizon (*sum is of all known levels). O(levels). */
int mst_book_amount(const struct mst_book *book, enum mst_side side,
                    struct mst_decimal price, struct mst_decimal *sum);
/* The best ask minus the best bid (0 or negative if the book is crossed), and
 * the price halfway between them. Return 0. On an error the result is 0:
 * MST_ERR_NO_LEVELS if a side shows no level, MST_ERR_HORIZON if its best level
 * was dropped. O(1). */
int mst_book_spread(const struct mst_book *book, struct mst_decimal *spread);
int mst_book_mid(const struct mst_book *book, struct mst_decimal *mid);

/* ---- WebSocket (RFC 6455): a client's framing, without I/O --------------- */
/* Kinds of frames (section 5.2). */
enum mst_ws_opcode {
    MST_WS_CONTINUATION = 0x0,
    MST_WS_TEXT = 0x1,
    MST_WS_BINARY = 0x2,
    MST_WS_CLOSE = 0x8,
    MST_WS_PING = 0x9,
    MST_WS_PONG = 0xA
};
#define MST_WS_HEADER_MAX 14   /* bytes of a frame header, with its mask */
#define MST_WS_CONTROL_MAX 125 /* bytes of a control frame's payload */
#define MST_WS_KEY_LEN 24      /* characters of Sec-WebSocket-Key */
#define MST_WS_ACCEPT_LEN 28   /* characters of Sec-WebSocket-Accept */
/* A piece of a text or binary message, or a whole ping, pong or close frame. A
 * piece of a message is empty only if it is the last. */
struct mst_ws_piece {
    enum mst_ws_opcode opcode; /* of the message, not MST_WS_CONTINUATION */
    const uint8_t *data;       /* in the input, or in the reader (control) */
    size_t len;
    bool first, last;    /* piece of its message; a control frame is both */
    uint16_t close_code; /* of a close frame; 1005 if it has none */
};
void mst_ws_init(struct mst_ws *ws); /* for a new connection */
/* Reads *used bytes of data. Returns 1 with a piece, or 0 when data is used up:
 * call it until then. An MST_ERR_WS_... is returned again until mst_ws_init().
 * The last piece of a text comes only if the whole text is UTF-8. */
int mst_ws_read(struct mst_ws *ws, const uint8_t *data, size_t len,
                size_t *used, struct mst_ws_piece *piece);
/* The close code with which to answer an error of mst_ws_read(). */
uint16_t mst_ws_error_code(int error);
/* Writes a frame's header into out[MST_WS_HEADER_MAX]; returns its length. */
size_t mst_ws_header(uint8_t *out, enum mst_ws_opcode opcode, bool fin,
                     uint64_t payload_len, const uint8_t mask[4]);
/* Masks data in place; offset is its position in the frame's payload. */
void mst_ws_mask(uint8_t *data, size_t len, const uint8_t mask[4],
                 uint64_t offset);
/* Writes Sec-WebSocket-Key from random bytes, with a NUL. */
void mst_ws_key(const uint8_t random[16], char key[MST_WS_KEY_LEN + 1]);

/* Writes the request of the opening handshake (section 4.1). host and
 * authorization ("Bearer ...", or NULL) are the values of these headers; path
 * begins with '/' or is empty. Returns the request's length; MST_ERR_ARGUMENT
 * for another path, or if it does not fit; MST_ERR_HEADER_VALUE for a control
 * character, or for a space in host or path. */
int mst_ws_upgrade_write(char *out, size_t len, const char *host,
                         const char *path, const char *key,
                         const char *authorization);
/* Prepares to read the response to a request with this key. */
void mst_ws_upgrade_init(struct mst_http *http, const char *key);
/* Reads *used bytes of the response; frames follow it. Returns 1 once the
 * connection is upgraded, 0 if more data is needed, or a negative mst_error. */
int mst_ws_upgrade_read(struct mst_http *http, const uint8_t *data, size_t len,
                        size_t *used);
/* Status of the response read so far, or 0. */
int mst_http_status(const struct mst_http *http);

/* ---- Trace: what the library does, for people and for recordings -----------
 * Token requests and responses are left out. Authorization headers and the
 * texts of an address are masked at equal length. A secret that the service
 * repeats elsewhere (in an error, a reply, a close reason) is not masked. */
/* What happened, and the members that describe it. */
enum mst_trace_kind {
    MST_TRACE_STATE,   /* the link's state changed: from, state */
    MST_TRACE_ERROR,   /* an attempt or a connection failed: error, state,
                        * failure; value: wait that the service wants, ms */
    MST_TRACE_TOKEN,   /* text: obtained, loaded, dropped; value: lifetime in s,
                        * or -1; value2: length; data: scope */
    MST_TRACE_REQUEST, /* text is its type, value the number of its channels */
    MST_TRACE_REPAIR,  /* text is a market, value an mst_repair */
    /* Only with MST_TRACE_ALL. */
    MST_TRACE_OPEN,   /* an attempt begins: text is the host, value its port */
    MST_TRACE_OPENED, /* connected and, with TLS, verified */
    MST_TRACE_READ,   /* plaintext received: data, len */
    MST_TRACE_IN,     /* plaintext processed: data, len */
    MST_TRACE_OUT,    /* plaintext sent: data, len */
    MST_TRACE_PORT,   /* value2 0: receiving has ended: error; 1: a send took
                       * only value bytes, or failed: error, value: detail */
    MST_TRACE_END,    /* an attempt or a connection has ended: error or 0 */
    MST_TRACE_CLOCK,  /* value2 0: value is monotonic ms; 1: Unix ns, or -1 */
    MST_TRACE_RANDOM  /* bytes for WebSocket keys, masks, jitter: data, len */
};
/* Repairs. "Listed": in the service's list of subscriptions. */
enum mst_repair {
    MST_REPAIR_BOOK,    /* a market is subscribed again for its book */
    MST_REPAIR_MISSING, /* a subscription was not listed: subscribed again */
    MST_REPAIR_STRAY    /* an unwanted one was listed: unsubscribed */
};

/* An entry of the trace. */
struct mst_trace {
    enum mst_trace_kind kind;
    int link;                   /* mst_config.link */
    enum mst_state from, state; /* state: of the link */
    int error;                  /* mst_error */
    int64_t value, value2;
    uint64_t received_ns; /* as in struct mst_event */
    /* NULL, or valid until the callback returns; data has len bytes. */
    const struct mst_failure *failure;
    const char *text;
    const void *data;
    size_t len;
};

/* ---- Memory: the records, messages and TLS state of one connection ------- */
/* Lengths of record buffers, bytes. MST_RECORD_IN_ANY is enough for any server.
 * With a shorter one the client asks for records of 512 bytes, or up to 4,096
 * if both buffers hold them. A server that ignores this (max_fragment_length,
 * RFC 6066, section 4) leads to MST_ERR_TLS_PROTOCOL. */
#define MST_RECORD_IN_ANY 16709
#define MST_RECORD_IN_MIN 837
#define MST_RECORD_OUT_FULL 16469
#define MST_RECORD_OUT_MIN 597
/* Sets of lengths: record to receive, record to send, message buffer (256 or
 * more; messages may be larger), read-ahead before TLS (0 for none; it saves
 * calls of recv when several records arrive at once). */
#define MST_LENGTHS_SMALL MST_RECORD_IN_ANY, MST_RECORD_OUT_MIN, 1024, 0
#define MST_LENGTHS_USUAL \
    MST_RECORD_IN_ANY, MST_RECORD_OUT_MIN, 2048, MST_AHEAD_USUAL
#define MST_LENGTHS_FAST MST_RECORD_IN_ANY, MST_RECORD_OUT_FULL, 2048, 524288
/* Memory of one connection, borrowed. data: any alignment and content. */
struct mst_memory {
    void *data;
    size_t size; /* MST_MEMORY_LEN() of the lengths, or more */
    size_t record_in, record_out, message, read_ahead;
};
/* Bytes needed for a set of lengths, or for four numbers. */
#define MST_MEMORY_LEN(...) MST_MEMORY_LEN_OF(__VA_ARGS__)
#define MST_MEMORY_LEN_OF(in, out, message, ahead)                         \
    (16u + MST_ALIGNED(MST_TLS_LEN) + MST_ALIGNED(in) + MST_ALIGNED(out) + \
     MST_ALIGNED(ahead) + MST_ALIGNED(MST_MESSAGE_ROOM(message)))
/* Defines, at file scope, an array and a constant struct mst_memory with this
 * name: MST_MEMORY(memory, MST_LENGTHS_USUAL), or with four numbers. The
 * message buffer of a transfer must hold the longest response. */
#define MST_MEMORY(name, ...) MST_MEMORY_OF(name, __VA_ARGS__)
#define MST_MEMORY_OF(name, in, out, message, ahead)              \
    static unsigned char                                          \
        name##_bytes[MST_MEMORY_LEN_OF(in, out, message, ahead)]; \
    static const struct mst_memory name = {                       \
        name##_bytes, sizeof name##_bytes, in, out, message, ahead}
#define MST_TRANSFER_MEMORY(name, in, out, message) \
    MST_MEMORY_OF(name, in, out, message, 0)

/* ---- Configuration ------------------------------------------------------- */
/* Flags, besides MST_STRICT_AMOUNTS. MST_ALLOW_PLAIN allows ws:// and http://,
 * which expose the token, for tests. With MST_NO_PLAIN it is never allowed. */
#define MST_ALLOW_PLAIN 2u
#define MST_RESYNC_CROSSED 4u /* subscribes a crossed book's market again */
#define MST_TRACE_ALL 8u      /* the trace gets everything */
#define MST_HOT_STANDBY 16u   /* a pair keeps both of its connections up */
#define MST_NO_BURST 32u      /* each poll reads the clock: for recordings */
/* Set hosts, credentials and trust anchors; all else may be zero. Pointers are
 * borrowed for the object's life. Times are in ms, at most 24 days. */
struct mst_config {
    /* The stream's endpoint "wss://host[:port][/path]"; those of tokens and,
     * for a transfer, of addresses: "https://host[:port]". */
    const char *ws_url, *auth_url, *base_url;
    struct mst_access *access; /* shared; NULL: made of the next four members */
    const char *client_id, *client_secret;
#ifndef MST_NO_TLS
    /* A server's chain must lead to one of these trust anchors; revocation is
     * not checked. Not needed if the port is secure itself. */
    const br_x509_trust_anchor *anchors;
    size_t anchors_len;
#endif
    /* Scope to request; NULL: exchange:read_aggregated_marketdata_stream, for
     * addresses transfer:write_crypto_destination_address. */
    const char *scope;
    unsigned flags; /* MST_STRICT_AMOUNTS and those above */
    int link;       /* its number, for the port, in events and in the trace */
    /* Deadlines of the stages. */
    uint32_t resolve_ms;  /* 0: 10,000 */
    uint32_t connect_ms;  /* for each address; 0: 10,000 */
    uint32_t tls_ms;      /* 0: 30,000 */
    uint32_t token_ms;    /* 0: 15,000 */
    uint32_t upgrade_ms;  /* 0: 15,000 */
    uint32_t answer_ms;   /* for each request; 0: 10,000 */
    uint32_t snapshot_ms; /* after a subscription's confirmation, longer while a
                           * frame arrives: then subscribes again; 0: 30,000 */
    uint32_t closing_ms;  /* 0: 3,000 */
    uint32_t put_ms;      /* for an address request, all attempts; 0: 60,000 */
    uint32_t ping_ms;     /* silence before a ping; 0: 20,000 */
    uint32_t silence_ms;  /* silence before giving up; 0: 60,000 */
    uint32_t request_gap_ms; /* least time between requests; 0: 1,000 */
    /* Longest waits before the next attempt; a random number shortens each. */
    uint32_t backoff_ms;      /* the first, doubled each time; 0: 1,000 */
    uint32_t backoff_max_ms;  /* not doubled beyond this; 0: 60,000 */
    uint32_t backoff_slow_ms; /* after a permanent error; 0: 300,000 */
    uint32_t stable_ms; /* open this long: waits start short again; 0: 30,000 */
    uint32_t resume_ms; /* chain is checked again after this; 0: one day */
    /* With MST_HEARTBEAT subscribed: once two heartbeats have come, the
     * connection is given up after this time without one, or after three times
     * the interval between the two if that is longer; 0: 15,000. */
    uint32_t heartbeat_ms;
    uint32_t audit_ms; /* between mst_subscription_list(); 0: 600,000 */
    /* A stream this far behind (mst_stats.lag_ns) is reopened to get fresh
     * snapshots; 0: never. On a long connection a clock that is off by 50 ppm
     * adds 4 s a day: choose more, or rotate. */
    uint32_t lag_max_ms;
    /* A large frame may take silence_ms longer than at this rate, bytes per
     * second; 0: 1,024. */
    uint32_t min_rate;
    /* Called with all that the object does, or NULL. It must not call the
     * object's functions. */
    void (*trace)(void *context, const struct mst_trace *trace);
    void *trace_context;
};

/* ---- Access: a customer's tokens and limits at one service -----------------
 * Each object has its own access, or shares one (mst_config.access) with others
 * on the same thread and port. They share tokens, TLS sessions, the pace of
 * requests, and waits that the service asks for. A program that replaces
 * credentials or trust anchors at run time must set mst_config.access. */
/* Initialises an access, before the objects that share it. It borrows the
 * credentials and trust anchors of the configuration. Objects may come and go;
 * with the last one, tokens and TLS sessions are dropped. All must have the
 * same auth_url, and at most two scopes between them. An object that fetches a
 * token and is not polled when mst_next_deadline_ms() requires it delays the
 * others, by up to its stage's deadline and 10 s; then another one fetches it.
 * If none was polled for 24 days, initialise the access again. Returns 0,
 * MST_ERR_ARGUMENT or MST_ERR_CREDENTIALS. */
int mst_access_init(struct mst_access *access, const struct mst_config *config);
/* Replace credentials or trust anchors. The new ones are borrowed, the old ones
 * no longer used. Attempts in progress start again; an open stream continues.
 * After new credentials the next connection gets a new token, at once if the
 * last attempt failed; after new anchors TLS sessions are dropped. Return 0,
 * MST_ERR_CREDENTIALS or MST_ERR_ANCHORS. */
int mst_access_set_credentials(struct mst_access *access, const char *client_id,
                               const char *client_secret);
#ifndef MST_NO_TLS
int mst_access_set_anchors(struct mst_access *access,
                           const br_x509_trust_anchor *anchors,
                           size_t anchors_len);
#endif

/* ---- Client -------------------------------------------------------------- */
/* The most that was ever used: bytes, except for subscriptions and depth. */
struct mst_high_water {
    uint32_t subscriptions; /* slots, of MST_SUBSCRIPTIONS_MAX */
    uint32_t market, token, line, headers, body; /* of MST_MARKET_MAX, ... */
    uint32_t message;  /* of the memory's message: what was kept */
    uint32_t depth;    /* levels of nesting, of MST_JSON_DEPTH */
    uint32_t received; /* plaintext not yet processed, of record_in */
    uint32_t staged;   /* of read_ahead */
    uint32_t unsent;   /* not yet taken by the port, of record_out */
};

#define MST_BANDS 8 /* of errors: -1 to -99, -100 to -199, ... */
/* Counts of a link. */
struct mst_stats {
    uint64_t bytes_in, bytes_out; /* of plaintext */
    uint64_t messages;            /* received whole */
    uint32_t unknown;             /* messages and entries of unknown kinds */
    uint32_t bad_messages;        /* messages that cost an MST_EVENT_ERROR */
    uint32_t tokens;              /* obtained */
    uint32_t opens;               /* streams opened */
    uint32_t failures;            /* attempts and connections that failed */
    uint32_t resumed;             /* TLS handshakes that were short */
    uint32_t unanswered;          /* requests without an answer in time */
    uint32_t resyncs;   /* markets subscribed again because of their book */
    uint32_t rotations; /* connections that took over from another */
    uint32_t drifts;    /* differences repaired by an audit */
    uint32_t errors[MST_BANDS]; /* failures: [1] the port's, [2] TLS... */
    int last_error;             /* and the last one */
    /* The last and the longest lag of this connection, ns: a message's age when
     * it is received, minus the least such age so far. Snapshots and
     * executions do not count: their times may rightly be old. */
    int64_t lag_ns, lag_max_ns;
    struct mst_high_water high;
};

/* Returns how long the caller may sleep, in ms, if nothing happens on this link
 * (such as &client.link). 0 only if another poll can do something now; at most
 * 24 days, because two polls must not be further apart. */
uint32_t mst_next_deadline_ms(const struct mst_link *link);
/* What to wait for: these bits, or 0. */
#define MST_WANT_READ 1u
#define MST_WANT_WRITE 2u
unsigned mst_wants(const struct mst_link *link);
/* The number from mst_config.link; whether the object has ended and waits for
 * nothing; a counter of polls and calls that may change what it waits for. */
int mst_link_number(const struct mst_link *link);
bool mst_link_ended(const struct mst_link *link);
uint32_t mst_link_changes(const struct mst_link *link);
/* The link's state (one poll may pass through several), and its statistics
 * since the object was initialised, valid as long as the object. */
enum mst_state mst_link_state(const struct mst_link *link);
const struct mst_stats *mst_link_stats(const struct mst_link *link);

/* mst_client_init(client, config, port, memory) initialises a client. config is
 * copied; what it points to, port and memory are borrowed until the client is
 * wiped or a poll returns MST_ERR_CLOSED. Returns 0 or a caller's error. */
#define mst_client_init(client, ...) \
    mst_client_init_checked(client, MST_BUILD(*(client)), __VA_ARGS__)
int mst_client_init_checked(struct mst_client *client, uint32_t build,
                            const struct mst_config *config,
                            const struct mst_port *port,
                            const struct mst_memory *memory);

/* Subscribes to a channel as soon as possible, and again after every reconnect.
 * market is copied; NULL for MST_HEARTBEAT. book, for MST_MARKET_DATA or NULL,
 * is kept up to date, and borrowed until the subscription ends; it is emptied
 * if it belonged to another market. Data is matched to subscriptions by the
 * exact name of the market, or else by the only one that differs just in case
 * (ASCII). Returns 0, MST_ERR_FULL, _EXISTS, _BOOK, _ARGUMENT,
 * _CLOSED. */
int mst_subscribe(struct mst_client *client, enum mst_channel channel,
                  const char *market, struct mst_book *book);
/* Ends a subscription. The book is released at once; the subscription counts as
 * one of MST_SUBSCRIPTIONS_MAX until the service confirms, but can be made
 * again at once. Returns 0, MST_ERR_MISSING or MST_ERR_CLOSED. */
int mst_unsubscribe(struct mst_client *client, enum mst_channel channel,
                    const char *market);
/* Unsubscribes a channel and subscribes it again, for a fresh snapshot. Returns
 * 0, MST_ERR_MISSING or MST_ERR_CLOSED. */
int mst_resync(struct mst_client *client, enum mst_channel channel,
               const char *market);
/* Audits the subscriptions now, as the client does every audit_ms: requests the
 * service's list and repairs differences. Events are MST_EVENT_ENTRY and
 * _RESPONSE. No effect if no stream is open. Returns 0 or MST_ERR_CLOSED. */
int mst_subscription_list(struct mst_client *client);

/* Handles expired timers, sends, receives, and returns the next event. It never
 * waits, but may compute: a certificate chain is checked in one call (tens of
 * millions of instructions). While input keeps coming, the service gets up to
 * 1 s more for an answer, since that may be in the input. Returns 1 with an
 * event, 0 if there is none for now, or MST_ERR_CLOSED once everything has
 * ended after mst_close() and secrets are wiped. */
int mst_poll(struct mst_client *client, struct mst_event *event);
/* Starts to close: tries the closing handshake for closing_ms. Keep calling
 * mst_poll(): the stream ends with an MST_EVENT_CLOSED whose error is MST_OK,
 * or the error of a failure just before. */
void mst_close(struct mst_client *client);
/* Closes the link without a handshake and wipes the object and its memory, at
 * once. It must be initialised before it is used again. */
void mst_client_wipe(struct mst_client *client);

/* ---- Transfer: address requests, on a separate link ---------------------- */
/* mst_transfer_init(transfer, config, port, memory) is like mst_client_init(),
 * with auth_url and base_url. A transfer connects when there is a request. */
#define mst_transfer_init(transfer, ...) \
    mst_transfer_init_checked(transfer, MST_BUILD(*(transfer)), __VA_ARGS__)
int mst_transfer_init_checked(struct mst_transfer *transfer, uint32_t build,
                              const struct mst_config *config,
                              const struct mst_port *port,
                              const struct mst_memory *memory);

/* Creates or updates a crypto destination address (specification, section 4.2),
 * and ends with MST_EVENT_ADDRESS. request, all it points to, and record are
 * borrowed until then. After a lost connection or answer it tries again, within
 * put_ms; after a 401, once, with a new token. Any other status than 200 ends
 * the request, as does an answer that is malformed or larger than the message
 * buffer. Returns 0; MST_ERR_ADDRESS as mst_address_check() does; MST_ERR_BUSY
 * during another request; MST_ERR_ARGUMENT or MST_ERR_CLOSED. */
int mst_address_put(struct mst_transfer *transfer,
                    const struct mst_address_request *request,
                    struct mst_address *record);
/* Like mst_poll(), mst_close() and mst_client_wipe(). A request in progress
 * ends with MST_ERR_CLOSED when the transfer is closed. */
int mst_transfer_poll(struct mst_transfer *transfer, struct mst_event *event);
void mst_transfer_close(struct mst_transfer *transfer);
void mst_transfer_wipe(struct mst_transfer *transfer);

/* ---- Pair: one stream over two clients. One leads, the other follows -------
 * Their links, for waiting, state and statistics, are &pair.clients[0].link and
 * &pair.clients[1].link. */
/* mst_pair_init(pair, config, rotate_ms, port, memory, other) is like
 * mst_client_init(), with memory for each client. The links are config->link
 * and the next number.
 * With MST_HOT_STANDBY (rotate_ms is 0) both clients are always connected.
 * Without, the follower connects when the leader's connection is rotate_ms old
 * (0: never), or after mst_pair_rotate(). If it is not ready within 2 minutes,
 * it gives up and tries again after backoff_slow_ms.
 * If the leader's connection is lost, the follower leads at once. Otherwise it
 * takes over after 3 s in which all it has was as live as the leader's; in hot
 * standby only if the leader was also worse: it received nothing, lacked a
 * subscription, or had a book that was stale or 3 s older. After a rotation the
 * old connection is read to its end; if it fails before, its MST_EVENT_CLOSED
 * has an error. */
#define mst_pair_init(pair, ...) \
    mst_pair_init_checked(pair, MST_BUILD(*(pair)), __VA_ARGS__)
int mst_pair_init_checked(struct mst_pair *pair, uint32_t build,
                          const struct mst_config *config, uint32_t rotate_ms,
                          const struct mst_port *port,
                          const struct mst_memory *memory,
                          const struct mst_memory *other);

/* Like mst_subscribe(), with two books, one for each client, or none. */
int mst_pair_subscribe(struct mst_pair *pair, enum mst_channel channel,
                       const char *market, struct mst_book *book,
                       struct mst_book *other);
/* Like the calls of a client, for both: mst_unsubscribe(), mst_resync(),
 * mst_subscription_list(), mst_close() and mst_client_wipe(). */
int mst_pair_unsubscribe(struct mst_pair *pair, enum mst_channel channel,
                         const char *market);
int mst_pair_resync(struct mst_pair *pair, enum mst_channel channel,
                    const char *market);
int mst_pair_subscription_list(struct mst_pair *pair);
void mst_pair_close(struct mst_pair *pair);
void mst_pair_wipe(struct mst_pair *pair);

/* Rotates now. If the leader has no connection, it just reconnects. Returns 0,
 * MST_ERR_ARGUMENT with MST_HOT_STANDBY, or MST_ERR_CLOSED. */
int mst_pair_rotate(struct mst_pair *pair);
/* Like mst_poll(). Data events are the leader's. MST_EVENT_OPEN, _CLOSED,
 * _ERROR, _ENTRY, _RESPONSE and executions come from both; event.link says from
 * which. repeat marks the follower's executions, and all for 10 s after a
 * change of leader. Generations count over both. */
int mst_pair_poll(struct mst_pair *pair, struct mst_event *event);
/* The leader's book of a market, or NULL; the next poll may change leaders. */
struct mst_book *mst_pair_book(struct mst_pair *pair, const char *market);

/* ---- Layouts: private, but a program must be able to allocate them ------- */
#define MST_KEY_MAX 23
#define MST_MINUTE_LEN 17
struct mst_json {
    uint8_t state, depth, deepest, take_depth, mode;
    uint8_t escape, literal, key_len;
    uint16_t code;   /* of the current escape sequence */
    bool low;        /* it is to be the low half of a surrogate pair */
    uint32_t arrays; /* a bit for each container, the innermost lowest */
    char key[MST_KEY_MAX + 1];
};
/* Tokens of jsmn: what is being read of an item, and what that is in. */
#define MST_JSON_TOKENS (2 * MST_JSON_DEPTH + 16)
struct mst_tokens {
    int of[MST_JSON_TOKENS][5];
};
/* What a message says in texts, and whether an entry says success. */
struct mst_said {
    bool success;
    char market[MST_MARKET_MAX + 1], name[32];
    char text[MST_TEXT_MAX + 1], message[MST_TEXT_MAX + 1];
};
/* What is used most comes first: its place fits a short instruction. */
struct mst_decoder {
    /* Of the current message; zero when it begins. */
    uint8_t place, field, side, channel, action;
    bool snapshot, parts_out, final; /* final: the piece is its last one */
    bool there[2]; /* the best of each side of a top of book, in levels */
    struct mst_json json;
    uint16_t seen, taken;      /* sets of fields: begun to be read; taken in */
    size_t message_len, count; /* of the pieces so far; current levels */
    struct {
        size_t entries, failed;
    } response;
    size_t waiting; /* so much of it is in the buffer, not yet read */
    struct {
        const uint8_t *data;
        size_t len;
    } behind; /* comes after the current piece */
    /* The current piece. */
    const uint8_t *data;
    size_t at, len;
    bool strict;     /* MST_STRICT_AMOUNTS */
    uint8_t variety; /* how much amounts differ in form, lately */
    struct {         /* the last bytes of the pieces before */
        uint8_t *buffer;
        size_t buffer_len, len, item; /* where an item begins, or 0 */
    } kept;
    int error;
    struct { /* its times; the minute of the last one, in seconds and as text */
        int64_t of[3], minute_s;
        char minute[MST_MINUTE_LEN];
    } time;
    struct mst_decimal numbers[2]; /* price and amount that were read last */
    struct mst_said said;
    union { /* a message with levels has no other items */
        struct mst_level levels[MST_PART_LEVELS];
        struct mst_tokens tokens;
    } shared;
};
struct mst_book_side {
    struct mst_level *levels;
    uint32_t count, newer; /* newer than the snapshot that comes: at the end */
    uint32_t front;        /* free places before the first level */
    int8_t unit;
    bool cut;                   /* levels were dropped: */
    struct mst_decimal horizon; /* the best of them */
    int64_t cut_ns;             /* the newest of their times */
};
struct mst_book {
    struct mst_book_side sides[2];
    const struct mst_book_calls *calls; /* what a client calls of the book */
    const void *owner;                  /* its subscription, or NULL */
    int64_t snapshot_ns, time_ns, disagrees_ns;
    int64_t last_ns; /* of the last update, also of an earlier snapshot's */
    uint64_t snapshot_received_ns, received_ns; /* monotonic */
    uint32_t capacity, thin;
    uint8_t state, reason, flags, phase, disagreements;
};
struct mst_ws {
    uint64_t frame_left;
    uint32_t utf8;
    int16_t error;
    uint8_t header[2], header_len, header_need; /* of the current frame */
    uint8_t message_opcode;                     /* 0: between messages */
    bool first;
    uint8_t control[MST_WS_CONTROL_MAX];
};
struct mst_http {
    /* About one response; what an interim one says is dropped. */
    uint8_t state;
    bool cr, close, old; /* HTTP/1.0 */
    int16_t error;       /* the first in a header, reported after the last */
    uint16_t has, status;
    uint32_t left, retry_after_s;
    /* Of all. */
    bool upgrading;
    uint16_t line_len, longest;
    uint32_t headers_len, body_len;
    char line[MST_LINE_MAX + 1], accept[MST_WS_ACCEPT_LEN + 1];
};
/* An instant of the port's clock that wraps; it counts while armed. */
struct mst_timer {
    uint32_t at;
    bool armed;
};
/* A token, or the members of its response that count. */
#define MST_TOKEN_ROOM (MST_TOKEN_MAX + MST_LINE_MAX + 160)
/* The token of a scope. */
struct mst_token {
    uint8_t serial; /* another one once a token is gone */
    bool unused;    /* no connection has begun with it */
    bool loaded;    /* from the port's store */
    bool renew_due, save_due;
    const char *scope;              /* NULL: no object has it */
    char *text;                     /* an object's storage; NULL: no token */
    struct mst_timer end, renew;    /* renew: when to fetch the next one */
    uint32_t len;                   /* 0: none */
    uint8_t key[MST_TOKEN_KEY_LEN]; /* that it is stored under */
};
#define MST_SCOPES_MAX 2
#ifndef MST_NO_TLS
/* For short TLS handshakes, until the chain must be checked again. */
struct mst_resume {
    br_ssl_session_parameters session;
    struct mst_timer age;
    int64_t unix_s;  /* when the chain was checked */
    const char *url; /* of its server, an object's: host and port count */
};
#define MST_RESUMES 3
/* What checks a server's certificates: BearSSL, and for extended key usage. */
struct mst_validator {
    uint64_t value;     /* of a length or contents, the last eight bytes */
    uint32_t len, left; /* left: to come, of the length or of the contents */
    uint8_t tag, part, eku, depth;
    uint16_t usage;       /* bytes of extended key usage after the next one */
    bool unfit;           /* one of the chain is not for servers */
    br_x509_class checks; /* what BearSSL calls */
    br_x509_minimal_context minimal;
};
#endif
struct mst_access {
    uint8_t renewals; /* of credentials or trust anchors */
    bool save_due;    /* of a token */
    const char *client_id, *client_secret;
    struct mst_link *links, *fetching; /* a token: one of them, or NULL */
    struct mst_timer fetch;            /* until when others wait for it */
    uint32_t port_ms, now;             /* the port's clock; the timers' */
    struct mst_timer due;              /* the first of all timers here */
    struct mst_timer holds[4];         /* by enum access_purpose */
    struct mst_token tokens[MST_SCOPES_MAX];
#ifndef MST_NO_TLS
    const br_x509_trust_anchor *anchors;
    size_t anchors_len;
    uint8_t next_resume;
    struct mst_resume resume[MST_RESUMES];
#endif
};
/* TLS, or nothing at all, between the bytes of the wire and plaintext. */
struct mst_transport {
    bool secured;        /* TLS is in use */
    int end, send_error; /* how receiving and sending ended, or 0 */
#ifndef MST_NO_TLS
    bool aes_first;
    br_ssl_client_context *tls;
    struct mst_validator *validator; /* in the room of the message */
    const br_block_ctr_class *aes;   /* NULL until looked for */
    br_ghash ghash;
#endif
    uint8_t *in, *out, *ahead; /* records; what was read ahead of them */
    size_t in_size, out_size, ahead_size;
    size_t out_len;             /* in use, without TLS */
    size_t ahead_at, ahead_len; /* of ahead; without TLS, of in */
};
enum mst_link_timer {
    MST_TIMER_STAGE,   /* the state's deadline; when a wait is over */
    MST_TIMER_SILENCE, /* the peer's */
    MST_TIMER_PING,    /* after a silence */
    MST_TIMER_BEAT,    /* the next heartbeat is overdue */
    MST_TIMER_ANSWER,  /* to a request; a slow caller counts for none so far */
    MST_TIMER_AUDIT,   /* the next list of subscriptions */
    MST_TIMER_TOKEN,   /* the end of the token that the connection is for */
    MST_TIMER_STABLE,  /* open for long enough: waits start short again */
    MST_TIMER_USER,    /* of the object: it outlasts a connection */
    MST_TIMER_OWNER,   /* of the pair that the object is in; also outlasts it */
    MST_TIMERS
};
struct mst_random { /* in stock */
    uint8_t len, bytes[32];
};
/* The state of the current connection. */
struct mst_connection {
    uint32_t addresses, tried; /* of the host */
    bool up;                   /* the port's side is in use */
    bool reading;              /* what was read is not used up */
    bool drained;              /* the port had no more, at this instant */
};
/* One authorised connection after another. What is often in use, and small,
 * comes first: an instruction reaches only so far. */
struct mst_link {
    enum mst_state state;
    bool wanted, closing, wiped, more;
    struct mst_connection connection;
    uint8_t sending, purpose;
    uint8_t report;      /* type of the next event to return: failure */
    uint8_t burst;       /* events until the clock is looked at again */
    uint8_t renewals;    /* of the access, that it has heard of */
    struct {             /* what authorised the last exchange */
        uint8_t serial;  /* of the token */
        uint8_t refused; /* 401s in a row, 2 for more */
        bool store_tried;
    } grant;
    struct mst_transport transport;
    const struct mst_link_user *user; /* what its user adds to it */
    const struct mst_port *port;
    struct mst_access *access;
    struct mst_token *token; /* its scope's, of the access */
    struct mst_link *next;   /* of those that share the access */
    char *storage;           /* of MST_TOKEN_ROOM bytes, for the access */
    struct {
        uint32_t now;     /* the access's, as last looked at; it wraps */
        uint32_t patient; /* the same, but it stops while the caller is away */
        struct mst_timer caller; /* until when the caller may be away */
        uint64_t elapsed_ms;
        int64_t unix_s;   /* at the begin of the attempt... */
        uint64_t unix_ms; /* ...and elapsed_ms then */
    } clock;
    uint32_t generation, attempts, changes; /* attempts in a row */
    size_t send_at;                         /* of what is being written */
    int port_detail, reported_error;
    struct mst_tokens *tokens; /* the message comes after them */
    const struct mst_memory *memory;
    uint64_t received_ns;
    struct mst_timer timers[MST_TIMERS];
    struct { /* the token endpoint's response: what counts is kept */
        struct mst_json json;
        uint32_t utf8, len;
        struct mst_token *token; /* that it is for */
        char *text;              /* storage for it; NULL: none is in use */
    } reply;
    struct mst_failure failure;
    struct mst_config config;
    struct mst_stats stats;
    struct mst_http http;
    struct mst_endpoint endpoint;
    struct mst_random random;
    char text[MST_TEXT_MAX + 1];
    struct mst_access own; /* in use where none is shared */
};
/* Number of a subscription in its client, from 1 on; 0: none. */
#if MST_SUBSCRIPTIONS_MAX < 256
typedef uint8_t mst_slot;
#else
typedef uint16_t mst_slot;
#endif
struct mst_subscription {
    uint8_t channel, state, need;
    uint8_t lacks;       /* mst_book_reason to ask for it again */
    uint8_t overdue;     /* snapshots in a row */
    bool wanted, listed; /* listed: named by the list that is arriving */
    mst_slot next;       /* of its chain */
    struct mst_book *book;
    struct mst_timer timers[3]; /* by enum sub_timer */
    uint32_t drift_ms; /* for so long drift was left as it was, last time */
    char market[MST_MARKET_MAX + 1];
};
/* What counts on one connection, and not on the next. */
struct mst_stream {
    uint8_t frame;                  /* its opcode: being written, or the last */
    uint8_t request, request_tries; /* the one that is outstanding */
    uint8_t late, bad; /* messages in a row: too late, unreadable */
    uint16_t frames;   /* to be written, BIT(opcode) */
    uint16_t close_code;
    bool ask, audit;   /* there may be a request to make; that of the list */
    bool one_by_one;   /* one channel in each request */
    bool has_snapshot; /* of any market */
    bool deaf;         /* nothing more that comes counts */
    int failing;       /* the error that the closing handshake is for */
    uint32_t byte_at, beat_at; /* last bytes of the frame; last heartbeat */
    int64_t beat_ns;           /* its own time; 0: none has come */
    int64_t least_ns;          /* age of a message, see mst_stats.lag_ns */
    uint64_t open_ms;          /* elapsed_ms when it opened */
};
struct mst_client {
    struct mst_link link; /* comes first */
    struct mst_stream stream;
    struct mst_ws ws;
    uint32_t slots; /* subscriptions that were ever in use */
    bool follows;   /* another one streams: limited time, snapshots or not */
    uint8_t mask[4];
    struct {
        uint8_t len, data[MST_WS_CONTROL_MAX];
    } ping, control; /* to be answered; being written */
    char key[MST_WS_KEY_LEN + 1];
    mst_slot chains[MST_SUBSCRIPTIONS_MAX]; /* by hash of channel and market */
    struct mst_decoder decoder;
    struct mst_subscription subscriptions[MST_SUBSCRIPTIONS_MAX];
    char token[MST_TOKEN_ROOM];
};
/* Tells builds apart: the limits in one number, and an object's size. */
#define MST_LIMITS                                                          \
    ((uint32_t)(MST_SUBSCRIPTIONS_MAX * 3u ^ MST_MARKET_MAX * 1009u ^       \
                MST_TOKEN_MAX * 10007u ^ MST_HOST_MAX * 30011u ^            \
                MST_PATH_MAX * 50021u ^ MST_LINE_MAX * 70001u ^             \
                MST_HEADERS_MAX * 90001u ^ MST_BODY_MAX * 110017u ^         \
                MST_JSON_DEPTH * 130003u ^ MST_PART_LEVELS * 170003u ^      \
                MST_RESYNCS_MAX * 190027u ^ MST_RESYNC_EVERY_MS * 210011u ^ \
                MST_DISAGREEMENTS * 230003u ^ MST_TEXT_MAX * 270001u ^      \
                MST_DISAGREEMENT_MS * 250007u ^ MST_CLOCK_MIN * 310019u ^   \
                MST_ADDRESS_WORD_MAX * 3301u ^ MST_ADDRESS_TEXT_MAX * 3511u))
#define MST_BUILD(object) (MST_LIMITS ^ (uint32_t)sizeof(object))
struct mst_transfer {
    struct mst_link link;                      /* comes first */
    const struct mst_address_request *request; /* in progress or to report */
    struct mst_address *record;
    struct mst_address_result result;
    struct mst_problem problem;
    char token[MST_TOKEN_ROOM];
};
struct mst_pair {
    uint8_t leads, turn;
    uint8_t looks, missed; /* in a row: follower is better; only it received */
    uint8_t repeats;       /* looks until no execution may be a repeat */
    bool tell, rested;
    struct mst_timer look;
    uint32_t rotate_ms;
    uint32_t seen[2];        /* the generation of each client */
    uint32_t generations[2]; /* and the one reported to the caller */
    uint64_t heard[2];       /* bytes of the leader and of the follower */
    struct mst_client clients[2];
    struct mst_access access; /* as mst_link.own */
};
#ifndef MST_NO_TLS
#define MST_AHEAD_USUAL 4096
#define MST_TLS_LEN sizeof(br_ssl_client_context)
#define MST_VALIDATOR_LEN sizeof(struct mst_validator)
#else
#define MST_AHEAD_USUAL 0
#define MST_TLS_LEN 0u
#define MST_VALIDATOR_LEN 0u
#endif
#define MST_ALIGNED(n) (((size_t)(n) + 15u) & ~(size_t)15u)
#define MST_MESSAGE_TOKENS(message) \
    (sizeof(struct mst_tokens) + MST_ALIGNED(message))
/* A certificate is checked in the room of the message: before any comes. */
#define MST_MESSAGE_ROOM(message)                    \
    (MST_MESSAGE_TOKENS(message) > MST_VALIDATOR_LEN \
         ? MST_MESSAGE_TOKENS(message)               \
         : MST_VALIDATOR_LEN)

#ifdef __cplusplus
}
#endif

#endif
