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

/* Of the JSON object: another number once what is there has changed. */
#define REPORT_VERSION 1

/* For --help. */
#define REPORT_HELP                                                           \
    "With --json standard output has one object. version: 1. ok: whether "    \
    "nothing failed. exit_status. advice: what to do about the first step "   \
    "that failed, or null. steps: an array of objects, in their order; each " \
    "with step (configuration, clock, dns, tcp, proxy, tls, token, scope, "   \
    "handshake, message or close), endpoint (token or stream) where "         \
    "it is for one of the two (dns and tcp stand once where both have the "   \
    "same proxy, or are one), title, status (ok, warning, failed "            \
    "or not tried), ms, text, notes (an array of lines), and error_code "     \
    "where mini_stream has a number for it. A step may have more: "           \
    "addresses, http_status, tls_version, suite, certificates, anchor, "      \
    "other_tls (whether it works with the other library), scope, "            \
    "lifetime_s.\n"

#define REPORT_PRINTF(n) __attribute__((format(printf, n, (n) + 1)))

struct report {
    bool json, colour;
    bool live;   /* the title of a step is shown while it lasts */
    int code;    /* the exit code of the first step that failed, or EXITS_OK */
    char *first; /* its title */
    const char *advice;
    bool warned;          /* a step has ended with a warning */
    const char *endpoint; /* that the steps are for: token, stream or NULL */
    json_t *steps;
    json_t *step; /* at hand */
    uint64_t begin_ms;
};

void report_init(struct report *report, bool json);

/* Begins a step: its name in JSON, and its title. */
REPORT_PRINTF(3)
void report_begin(struct report *report, const char *name, const char *format,
                  ...);

/* Adds a line below the step. */
REPORT_PRINTF(2)
void report_note(struct report *report, const char *format, ...);

/* Adds a value, which is taken over, to the step's JSON. */
void report_set(struct report *report, const char *key, json_t *value);

/* A text as JSON, whatever is in it. */
json_t *report_text(const char *text);

/* End the step. */
REPORT_PRINTF(2) void report_ok(struct report *report, const char *format, ...);
REPORT_PRINTF(2)
void report_warn(struct report *report, const char *format, ...);

/* The same where it has failed: with an mst_error, or 0 where it is the
 * configuration; what to do, NULL for what that error usually asks for. */
REPORT_PRINTF(4)
void report_fail(struct report *report, int error, const char *advice,
                 const char *format, ...);

/* A whole step that cannot be tried. */
REPORT_PRINTF(3)
void report_skip(struct report *report, const char *name, const char *format,
                 ...);

/* Says what to do, and frees what the report has. Returns the exit code. */
int report_end(struct report *report);

/* Bytes of "[host]:port" and a NUL. */
#define ROUTE_NAME_LEN (MST_HOST_MAX + 9)

struct route {
    struct mst_endpoint server;
    const struct mst_proxy *proxy; /* or NULL */
    char name[ROUTE_NAME_LEN];     /* of the server */
    char via[ROUTE_NAME_LEN];      /* of what is connected to: it, or proxy */
    unsigned timeout_ms;           /* for each step */
    union mst_posix_address addresses[MST_POSIX_ADDRESSES_MAX];
    size_t count;
    int good; /* the first address that was connected to, or -1 */
};

/* Prepares the way to the server of a URL that the library has accepted. */
void route_init(struct route *route, const char *url,
                const struct network *network, unsigned timeout_ms);

/* Steps; each returns whether it was good. An address found is needed for the
 * second, one connected to for the third, which is for a proxy alone. */
bool route_resolve(struct route *route, struct report *report);
bool route_connect(struct route *route, struct report *report);
bool route_tunnel(struct route *route, struct report *report);

/* Opens a connection to the server, through the proxy where there is one.
 * Returns a socket that does not block, or an mst_error. */
int route_open(const struct route *route);

/* Waits for these events until an instant of clock_ms(). */
bool route_wait(int fd, short events, uint64_t end_ms);

/* A certificate that ends before that many days have passed ends soon. */
#define CERTIFICATE_SOON_DAYS 14

#define CERTIFICATE_TEXT_LEN 512
#define CERTIFICATE_FAULTS 8

/* What OpenSSL minds, in the order in which it looks, each once. Zero at
 * first. */
struct certificate_faults {
    size_t count;
    int codes[CERTIFICATE_FAULTS]; /* X509_V_ERR_... */
    int depths[CERTIFICATE_FAULTS];
};

/* For SSL_CTX_set_verify(): notes what is wrong in the faults that are the
 * connection's application data, and lets the handshake go on. */
int certificate_look(int good, X509_STORE_CTX *store);

/* Tells each certificate and the trust anchor, which is of this file, or of
 * the system (NULL). Returns the days that are left of the one that ends
 * first. */
int64_t certificate_tell(const SSL *ssl,
                         const struct certificate_faults *faults,
                         const char *anchors, struct report *report);

/* Whether the server sends its certificates in the order of the chain that
 * leads to the trust anchor, as BearSSL needs them. */
bool certificate_in_order(const SSL *ssl);

/* Describes the fault that is this mst_error, or else the first one, with
 * advice, or NULL for the usual; the others as notes. Returns its mst_error, or
 * 0. */
int certificate_verdict(const SSL *ssl, const struct certificate_faults *faults,
                        int error, const char *host, struct report *report,
                        char text[CERTIFICATE_TEXT_LEN], const char **advice);

/* What to do about an mst_error, or about the configuration (0). */
const char *doctor_advice(int error);

/* The step of a server's TLS, along a route that has been tried: by the second
 * link of a network, with a session's configuration. Returns whether the
 * stream's own TLS works. */
bool tls_check(const struct route *route, struct network *network,
               const struct settings *settings, const struct mst_config *config,
               struct report *report);
void tls_end(void);

/* The token that the session has got. */
extern struct session_token {
    bool there, loaded; /* loaded: not requested, but kept from before */
    int64_t lifetime_s; /* or -1 */
    char scope[MST_LINE_MAX + 1];
} session_token;

/* What the session has come to, until the next event. */
enum outcome { OUTCOME_EVENT, OUTCOME_TOKEN, OUTCOME_LATE, OUTCOME_CLOSED };

/* Prepares the client, with every deadline of timeout_ms, and what it is to
 * subscribe: a market's book, or heartbeats (NULL). Returns 0 or an
 * mst_error. */
int session_begin(struct mst_config *config, const struct network *network,
                  const char *market, unsigned timeout_ms);

/* Goes on until there is an event, or a token where one is waited for, or the
 * time is up. An event's pointers live until the next call. */
enum outcome session_next(struct network *network, uint64_t end_ms, bool token,
                          struct mst_event *event);

/* Writes a failure that no other attempt follows. */
void session_failure(const struct mst_failure *failure,
                     char text[TEXT_FAILURE_LEN]);

/* The steps: token, scope, handshake, first message, close. Only those for the
 * token where the stream cannot be reached. */
void session_check(struct report *report, struct network *network,
                   bool reachable);

/* The steps that session_check() would have tried. */
void session_skip(struct report *report, const char *market);

void session_end(void);

#endif
