/*
 * Shared by the session tests: a client on the mock port, connected to the
 * scripted service, in virtual time, with guard bytes around its memory and its
 * books.
 *
 * SPDX-License-Identifier: 0BSD
 */
#ifndef SESSION_H
#define SESSION_H

#include "service.h"
#include "support.h"
#include "tls_peer.h"

#define SESSION_LEVELS 8
#define SESSION_GUARD 64
#define SESSION_MINUTE 60000u
#define SESSION_HOUR 3600000u
#define SESSION_DAY 86400000u

/* Memory of a client with TLS and the largest message buffer of the tests. */
#define SESSION_MEMORY \
    MST_MEMORY_LEN(MST_RECORD_IN_ANY, MST_RECORD_OUT_MIN, 4096, 4096)

/* The levels of one book. */
struct session_levels {
    struct mst_level of[2 * SESSION_LEVELS];
    unsigned char guard[SESSION_GUARD];
};

/* The events of a run. */
struct session_seen {
    struct text record; /* every event, one a line */
    unsigned events[MST_EVENT_UNKNOWN + 1];
    struct mst_failure closed; /* of the last MST_EVENT_CLOSED */
    char closed_text[MST_TEXT_MAX + 1];
    uint64_t closed_ms;       /* its virtual time */
    struct mst_failure error; /* of the last MST_EVENT_ERROR */
    char error_text[MST_TEXT_MAX + 1];
    struct mst_address_result address; /* of the last MST_EVENT_ADDRESS */
    struct mst_problem problem;
    char address_text[MST_TEXT_MAX + 1];
    char address_body[4096];
    uint64_t address_ms; /* its virtual time */
    uint32_t generation; /* of the last event */
    uint64_t received_ns[MST_MOCK_LINKS];
    uint32_t generations[MST_MOCK_LINKS];
};

struct session {
    struct mst_mock mock;
    bool begun;
    struct mst_port port;
    struct service service;
    struct mst_config config;
    struct session_seen seen;
    enum mst_event_type stop; /* session_until(): the event that ends it */
    int (*send)(void *context, int link, const void *data, size_t len);
    size_t send_left; /* session_stall_after() */

    unsigned char guard_3[SESSION_GUARD];
    struct mst_book books[2];
    unsigned char guard_4[SESSION_GUARD];
    struct session_levels levels[2];

    bool has_client, has_transfer, has_pair; /* which are initialised */
    unsigned char guard_0[SESSION_GUARD];
    struct mst_client client;
    unsigned char guard_1[SESSION_GUARD];
    unsigned char memory[SESSION_MEMORY];
    unsigned char guard_2[SESSION_GUARD];
    struct mst_memory lengths; /* the client's part of it */
    struct mst_memory other_lengths;
    struct mst_memory transfer_lengths;
    unsigned char guard_6[SESSION_GUARD];
    struct mst_pair pair;
    unsigned char guard_7[SESSION_GUARD];
    struct mst_book others[2]; /* of the pair's second client */
    unsigned char guard_8[SESSION_GUARD];
    struct session_levels other_levels[2];
    unsigned char other_memory[SESSION_MEMORY];
    unsigned char guard_9[SESSION_GUARD];
    struct mst_transfer transfer;
    unsigned char guard_10[SESSION_GUARD];
    unsigned char transfer_memory[SESSION_MEMORY];
    unsigned char guard_11[SESSION_GUARD];

    struct mst_address_request request; /* of session_put() */
    struct mst_address record;          /* its answer */

    struct tls_peer tls; /* used with session_begin_tls() */
    struct tls_identity identity;
    struct tls_anchor anchor;
};

/* The current session. */
extern struct session session;

/* Ends the previous session and initialises mock, service and configuration,
 * which the test may then change. */
void session_begin(void);

/* The same with TLS by BearSSL, and this certificate (see tls_peer.h); one of
 * the two. */
void session_begin_tls(const char *certificate);
void session_begin_over(bool tls);

/* Sets the lengths of the client's message buffer and of its read-ahead. */
void session_lengths(size_t message, size_t read_ahead);

void session_certificate(const char *certificate); /* of the service */

/* A port's token_load() that returns SERVICE_TOKEN, with this lifetime. */
extern int64_t session_stored_s;
int session_token_load(void *context, const uint8_t key[MST_TOKEN_KEY_LEN],
                       char *token, size_t cap, int64_t *until_s);

void session_start(void); /* initialises the client */

/* Initialises a transfer: on link 0, on link 1 with a client, or on link 2 with
 * a pair. It uses the access of the client or pair. */
void session_start_transfer(void);

/* Initialises a pair instead of the client, on links 0 and 1, which rotates
 * every rotate_ms (0: only on request). session_subscribe() gives it two books
 * for each market. */
void session_start_pair(uint32_t rotate_ms);

/* Kinds of sessions: a client alone, a pair that rotates only on request, a
 * pair in hot standby, and a client with a transfer that shares its access. */
enum session_kind {
    SESSION_CLIENT,
    SESSION_PAIR,
    SESSION_STANDBY,
    SESSION_BESIDE,
    SESSION_KINDS
};

const char *session_kind_name(enum session_kind kind);

/* Initialises one of these; the others also run until all is subscribed. */
void session_start_kind(enum session_kind kind);
void session_open_kind(enum session_kind kind);
void session_open_pair(uint32_t rotate_ms);

/* Initialises one of these (a pair rotates every rotate_ms), and a transfer
 * that shares its access. */
void session_start_beside(enum session_kind kind, uint32_t rotate_ms);

/* The client, or the pair's leader; its access, statistics and state. */
struct mst_client *session_leader(void);
struct mst_access *session_access(void);
const struct mst_stats *session_stats(void);
enum mst_state session_state(void);

/* Virtual ms since session_begin(). */
uint64_t session_now(void);

/* The numbers of tokens and rotations, from the statistics of all objects. */
unsigned session_tokens(void);
unsigned session_rotations(void);

/* The book of a market (0 or 1): the pair's leader's, or the client's. */
const struct mst_book *session_book(size_t market);

/* Subscribes all channels of BTCUSD and ETHUSD, with books. */
void session_subscribe(void);

/* session_start() and session_subscribe(); the second also runs for this time,
 * the third until all is subscribed. */
void session_start_all(void);
void session_start_and_run(uint32_t ms);
void session_open(void);

/* session_start(), and runs until it is open; subscribes nothing. */
void session_connect(void);

/* A session of five seconds with a message per second. Its events must not
 * depend on how the bytes arrive. */
void session_main_job(void);

/* Runs sessions from begin(n) to end(), in each of which another call of the
 * port fails. Expects that all is subscribed in the end. */
void session_every_call_fails(void (*begin)(uint64_t n), void (*end)(void));

/* session_begin(), and session_start_all() or session_open(). */
void session_new(void);
void session_begin_open(void);

/* Starts the transfer's next request. Returns mst_address_put()'s result. The
 * second also initialises a missing transfer, and runs until the end. */
int session_put(void);
void session_put_and_wait(const char *name);

/* Requests of the client or pair. The first subscribes, with two books for a
 * pair. */
int session_wish(enum mst_channel channel, const char *market);
int session_leave(enum mst_channel channel, const char *market);
int session_resync(enum mst_channel channel, const char *market);
int session_list(void);

/* Sets an access's credentials or trust anchors to the same again: its tokens
 * or TLS sessions are dropped. */
void session_new_credentials(struct mst_access *access);
void session_new_anchors(struct mst_access *access);

/* Runs for this virtual time. */
void session_run(uint32_t ms);

/* The same with another receiver of events; ends when that returns false. */
void session_run_with(uint32_t ms,
                      bool (*on_event)(void *context,
                                       const struct mst_event *event));

/* Runs until an event of this type comes, at most for ms. Returns true if it
 * came. */
bool session_until(enum mst_event_type type, uint32_t ms);

/* Runs until one of the service's connections has every subscription of
 * session_subscribe() and the books are live, at most for ms. Returns true if
 * that is so. */
bool session_until_subscribed(uint32_t ms);

bool session_subscribed(void); /* now */

/* Expects the same; the case is named printf-like. */
void session_expect_subscribed(uint32_t ms, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* True if the link's connection has exactly the wanted subscriptions. */
bool session_link_subscribed(int link);

/* Keeps links in this state: RESOLVE to UPGRADE, or CLOSING. MST_STATE_OFF: in
 * whichever they are. */
void session_hang(enum mst_state state);

/* Makes the port's nth call of this kind fail (0: none); the next one. */
void session_fail_at(uint64_t n, enum mst_mock_call call, int error);
void session_fail_next(enum mst_mock_call call, int error);

/* Ends the newest connection with this error, and expects the client's
 * event. */
void session_break(int error);

void session_bad_update(const char *market); /* sends one */

/* Lets the client send this many more bytes, then nothing until
 * session_unstall(). */
void session_stall_after(size_t bytes);
void session_unstall(void);

/* Ends the newest connection with this error in the middle of a message, just
 * after the client has reported the message as aborted. */
void session_cut_message(int error);

/* Sends a forged TLS record. The client detects it, reconnects and subscribes
 * again. */
void session_forge_record(void);

/* Connects link 0 of the port to a host, without an object. Returns the result
 * of the port's connect(). */
int session_reach(const char *host, uint16_t port);

/* Start to close all objects; wipe them. */
void session_close(void);
void session_wipe(void);

/* Closes all objects, checks that neither client nor service found anything
 * wrong and that nothing was written next to the client's memory and books, and
 * cleans up. A test's last session is ended for it. */
void session_end(void);
int session_tear_down(void **state);

/* RUN_CASES() for session tests. */
#define RUN_SESSIONS(begin, end) \
    RUN_WITH(expect_begin, session_tear_down, begin, end)

void session_check(void); /* does only the checks */

/* Appends the record so far to another text. */
void session_record_copy(struct text *text);

/* Expects the last MST_EVENT_CLOSED to have this error and stage. */
void session_expect_closed(const char *name, int error, enum mst_state stage);

/* Expects the same of the next one, within ms. */
void session_until_closed(const char *name, uint32_t ms, int error,
                          enum mst_state stage);

/* Expects the stream to be the first one, without errors. */
void session_expect_undisturbed(const char *name);

void session_expect_book(const char *name, enum mst_book_state expected,
                         const struct mst_book *book);

/* Expects the number of tokens that the service has issued. */
void session_expect_tokens(const char *name, uint64_t count);

/* The client's secret and the token, as they are and as they are sent. */
#define SESSION_SECRETS 4
extern const char *const session_secrets[SESSION_SECRETS];

/* True if these bytes are in an object or its memory. */
bool session_contains(const void *what, size_t len);

/* Expect that no secret is left in them; that none is in this text. */
void session_expect_clean(const char *name);
void session_expect_no_secret(const char *name, const struct text *text);

/* Makes the certificates of session_begin_tls(): cmocka's group setup, whose
 * teardown is tls_remove_certificates(). */
int session_certificates(void **state);

/* The port of session_begin_tls(): only the members for TLS are set. */
extern struct mst_port session_tls;

/* The same, and makes TLS use the primitives of port/primitives. */
int session_primitives(void **state);
int session_no_primitives(void **state);

#endif
