/*
 * What the files of `mini-stream doctor` share: the report of its steps, the
 * route to a server, the server's certificates, and the session.
 *
 * SPDX-License-Identifier: 0BSD
 */
#ifndef DOCTOR_H
#define DOCTOR_H

#include <jansson.h>
#include <openssl/ssl.h>

#include "network.h"
#include "text.h"

/* Version of the JSON object: changes if the meaning of a member changes. */
#define REPORT_VERSION 1

#define REPORT_HELP                                                          \
    "With --json, standard output is one object. version: 1. ok: true if "   \
    "nothing failed. exit_status. advice: what to do about the first step "  \
    "that failed, or null. steps: an array of objects, in order, each with " \
    "step (configuration, clock, dns, tcp, proxy, tls, token, scope, "       \
    "handshake, message or close), endpoint (token or stream, if the step "  \
    "is for one of them; dns and tcp come once if both have the same proxy " \
    "or are the same server), title, status (ok, warning, failed or not "    \
    "tried), ms, text, notes (an array of lines), and error_code if "        \
    "mini_stream has one. Some steps have more: addresses, http_status, "    \
    "tls_version, suite, certificates, anchor, other_tls (library, works), " \
    "scope, lifetime_s.\n"

enum status { STATUS_OK, STATUS_WARNING, STATUS_FAILED, STATUS_NOT_TRIED };

struct report {
    bool json, colour;
    bool live;   /* the title of a step is shown while it runs */
    int code;    /* the exit code of the first step that failed, or EXITS_OK */
    char *first; /* the title of that step */
    const char *advice;
    bool warned;          /* a step ended with a warning */
    const char *endpoint; /* the server of these steps: token, stream or NULL */
    json_t *steps;
    json_t *step; /* the current step */
    uint64_t begin_ms;
};

void report_init(struct report *report, bool json);

/* These take over an allocated text; the macros format it.
 * Begins a step: its name in JSON, and its title for people. */
void report_step(struct report *report, const char *name, char *title);
#define report_begin(report, name, ...) \
    report_step(report, name, text_new(__VA_ARGS__))

/* Adds a note to the current step. */
void report_add(struct report *report, char *note);
#define report_note(report, ...) report_add(report, text_new(__VA_ARGS__))

/* Adds a value to the step's JSON; takes over the reference. */
void report_set(struct report *report, const char *key, json_t *value);

/* Returns a text as JSON, with control characters replaced. */
json_t *report_text(const char *text);

/* Ends the current step. */
void report_close(struct report *report, enum status status, char *text);
#define report_ok(report, ...) \
    report_close(report, STATUS_OK, text_new(__VA_ARGS__))
#define report_warn(report, ...) \
    report_close(report, STATUS_WARNING, text_new(__VA_ARGS__))

/* Ends the current step as failed: error is an mst_error, or 0 for the
 * configuration. advice: what to do; NULL: the usual for that error. */
void report_failed(struct report *report, int error, const char *advice,
                   char *text);
#define report_fail(report, error, advice, ...) \
    report_failed(report, error, advice, text_new(__VA_ARGS__))

/* Adds a step that is not tried. */
void report_skipped(struct report *report, const char *name, char *title);
#define report_skip(report, name, ...) \
    report_skipped(report, name, text_new(__VA_ARGS__))

/* Prints the advice or the JSON object, and frees the report. Returns the exit
 * code. */
int report_end(struct report *report);

/* Bytes of "[host]:port" and a NUL. */
#define ROUTE_NAME_LEN (MST_HOST_MAX + 9)

struct route {
    struct mst_endpoint server;
    const struct mst_proxy *proxy; /* or NULL */
    char name[ROUTE_NAME_LEN];     /* of the server */
    char via[ROUTE_NAME_LEN];      /* of the proxy or the server */
    unsigned timeout_ms;           /* of each step */
    union mst_posix_address addresses[MST_POSIX_ADDRESSES_MAX];
    size_t count;
    int good; /* index of the first address that accepts, or -1 */
};

/* Prepares the route to the server of a URL that the library has accepted. */
void route_init(struct route *route, const char *url,
                const struct network *network, unsigned timeout_ms);

/* The steps to a server. Each returns true if it succeeded, and needs the one
 * before. route_tunnel() is for proxies only. */
bool route_resolve(struct route *route, struct report *report);
bool route_connect(struct route *route, struct report *report);
bool route_tunnel(struct route *route, struct report *report);

/* Connects to the server, through the proxy if there is one. Returns a
 * non-blocking socket, or an mst_error. */
int route_open(const struct route *route);

/* Waits for these events until end_ms, an instant of clock_ms(). Returns false
 * at a timeout. */
bool route_wait(int fd, short events, uint64_t end_ms);

/* A certificate with fewer days left than this ends soon. */
#define CERTIFICATE_SOON_DAYS 14

#define CERTIFICATE_TEXT_LEN 512
#define CERTIFICATE_FAULTS 8

/* The faults that OpenSSL finds, each once, in its order. Zeroed at first. */
struct certificate_faults {
    size_t count;
    int codes[CERTIFICATE_FAULTS]; /* X509_V_ERR_... */
    int depths[CERTIFICATE_FAULTS];
};

/* A callback for SSL_CTX_set_verify(). Adds each fault to the
 * certificate_faults in the connection's application data, and continues the
 * handshake. */
int certificate_look(int good, X509_STORE_CTX *store);

/* Notes each certificate and the trust anchor. anchors: their file, or NULL for
 * the system's. Returns the days left of the certificate that ends first. */
int64_t certificate_tell(const SSL *ssl,
                         const struct certificate_faults *faults,
                         const char *anchors, struct report *report);

/* True if the server sends its certificates in the order of the chain, as
 * BearSSL needs them. */
bool certificate_in_order(const SSL *ssl);

/* Describes the fault for this mst_error, or else the first one, with advice or
 * NULL for the usual one; notes the others. Returns its mst_error, or 0. */
int certificate_verdict(const SSL *ssl, const struct certificate_faults *faults,
                        int error, const char *host, struct report *report,
                        char text[CERTIFICATE_TEXT_LEN], const char **advice);

/* Returns what to do about an mst_error, or about the configuration (0). */
const char *doctor_advice(int error);

/* The TLS step of a server, on a route that works so far, by the network's
 * second link. Returns true if the stream's own TLS library works. */
bool tls_check(const struct route *route, struct network *network,
               const struct settings *settings, const struct mst_config *config,
               struct report *report);
void tls_end(void);

/* The token that the session has obtained. */
extern struct session_token {
    bool there, loaded; /* loaded: kept from before, not requested */
    int64_t lifetime_s; /* or -1 */
    char scope[MST_LINE_MAX + 1];
} session_token;

/* What session_next() returned for. */
enum outcome { OUTCOME_EVENT, OUTCOME_TOKEN, OUTCOME_LATE, OUTCOME_CLOSED };

/* Prepares the client, with timeout_ms for every step (0: the library's times),
 * and subscribes to a market's book, or to heartbeats (NULL). Returns 0 or an
 * mst_error. */
int session_begin(struct mst_config *config, const struct network *network,
                  const char *market, unsigned timeout_ms);

/* Polls until there is an event, or a token if one is awaited, or until end_ms.
 * The event's pointers are valid until the next call. */
enum outcome session_next(struct network *network, uint64_t end_ms, bool token,
                          struct mst_event *event);

/* Writes a failure as text, without a next attempt. */
void session_failure(const struct mst_failure *failure,
                     char text[TEXT_FAILURE_LEN]);

/* The steps token, scope, handshake, first message and close; without the
 * stream if it is not reachable, only the first two. */
void session_check(struct report *report, struct network *network,
                   bool reachable);

/* Adds the steps of session_check() as not tried. */
void session_skip(struct report *report, const char *market);

void session_end(void);

#endif
