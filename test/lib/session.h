/*
 * What the session's tests share: a client on the mock port, before the
 * scripted service, in virtual time, with guard bytes around its memory and
 * its books.
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

/* Memory of a client under TLS, of the largest message buffer in use. */
#define SESSION_MEMORY \
    MST_MEMORY_LEN(MST_RECORD_IN_ANY, MST_RECORD_OUT_MIN, 4096, 4096)

/* Of one book. */
struct session_levels {
    struct mst_level of[2 * SESSION_LEVELS];
    unsigned char guard[SESSION_GUARD];
};

/* What a run of the client has seen. */
struct session_seen {
    struct text record; /* every event, one a line */
    unsigned events[MST_EVENT_UNKNOWN + 1];
    struct mst_failure closed; /* of the last MST_EVENT_CLOSED */
    char closed_text[MST_TEXT_MAX + 1];
    uint64_t closed_ms;       /* virtual time of it */
    struct mst_failure error; /* of the last MST_EVENT_ERROR */
    char error_text[MST_TEXT_MAX + 1];
    struct mst_address_result address; /* of the last MST_EVENT_ADDRESS */
    struct mst_problem problem;
    char address_text[MST_TEXT_MAX + 1];
    char address_body[4096];
    uint64_t address_ms; /* virtual time of it */
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

    bool has_client, has_transfer, has_pair; /* once they were initialised */
    unsigned char guard_0[SESSION_GUARD];
    struct mst_client client;
    unsigned char guard_1[SESSION_GUARD];
    unsigned char memory[SESSION_MEMORY];
    unsigned char guard_2[SESSION_GUARD];
    struct mst_memory lengths; /* what the client is given of it */
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

    struct mst_address_request request; /* session_put(): goes out */
    struct mst_address record;          /* and this comes back */

    struct tls_peer tls; /* in use with session_begin_tls() */
    struct tls_identity identity;
    struct tls_anchor anchor;
};

/* The one session at hand. */
extern struct session session;

/* Prepares mock, service and configuration, on which the test may then
 * change what it likes; ends the session before. */
void session_begin(void);

/* The same below BearSSL, with this certificate (see tls_peer.h). */
void session_begin_tls(const char *certificate);

/* The one or the other. */
void session_begin_over(bool tls);

/* The client is given a message buffer of so much, and reads so much ahead. */
void session_lengths(size_t message, size_t read_ahead);

/* Gives the service another certificate. */
void session_certificate(const char *certificate);

/* A port's token_load() that knows SERVICE_TOKEN, which lives so long. */
extern int64_t session_stored_s;
int session_token_load(void *context, const uint8_t key[MST_TOKEN_KEY_LEN],
                       char *token, size_t cap, int64_t *until_s);

/* Initialises the client. */
void session_start(void);

/* Initialises a transfer: on link 0 where there is nothing else, else on link 1,
 * or 2 beside a pair, with the client's or the pair's access. */
void session_start_transfer(void);

/* Initialises a pair in place of the client, which rotates so often (0: not by
 * itself), on links 0 and 1. session_subscribe() gives it two books for each
 * market. */
void session_start_pair(uint32_t rotate_ms);

/* What may be at hand: a client alone, a pair that does not rotate by itself,
 * one in hot standby, and a client with a transfer that shares its access. */
enum session_kind {
    SESSION_CLIENT,
    SESSION_PAIR,
    SESSION_STANDBY,
    SESSION_BESIDE,
    SESSION_KINDS
};

/* Initialises one of these. */
void session_start_kind(enum session_kind kind);

/* The same, until all is subscribed. */
void session_open_kind(enum session_kind kind);
void session_open_pair(uint32_t rotate_ms);

/* Initialises one of these, a pair that rotates so often, and a transfer that
 * shares its access. */
void session_start_beside(enum session_kind kind, uint32_t rotate_ms);

/* What session_start_kind() has made, for the messages of a test. */
const char *session_kind_name(enum session_kind kind);

/* The access of the client or the pair. */
struct mst_access *session_access(void);

/* The client, or the one of the pair that leads. */
struct mst_client *session_leader(void);

/* Those of the client, or of the one of the pair that leads. */
const struct mst_stats *session_stats(void);
enum mst_state session_state(void);

/* Virtual ms since session_begin(). */
uint64_t session_now(void);

/* How many tokens all objects have obtained. */
unsigned session_tokens(void);

/* How often the pair has rotated, as its statistics say. */
unsigned session_rotations(void);

/* The book of a market (0 or 1): the pair's leader's, or the client's. */
const struct mst_book *session_book(size_t market);

/* Subscribes everything there is for BTCUSD and ETHUSD, with books. */
void session_subscribe(void);

/* session_start() and session_subscribe(). */
void session_start_all(void);

/* The same, until all is subscribed. */
void session_open(void);

/* session_start(), until it is open; nothing is subscribed. */
void session_connect(void);

/* A session of five seconds with a message a second: what is seen of it must
 * not depend on the way of the bytes. */
void session_main_job(void);

/* Each call of the port fails in turn, of a session that begin(n) begins and
 * end() ends: all is subscribed in the end. */
void session_every_call_fails(void (*begin)(uint64_t n), void (*end)(void));

/* session_begin(), session_start() and session_subscribe(). */
void session_new(void);

/* session_begin() and session_open(). */
void session_begin_open(void);

/* Begins the transfer's next request; says what mst_address_put() does. */
int session_put(void);

/* Begins it and runs to its end. */
void session_put_and_wait(const char *name);

/* Subscribes one of these channels: of the pair with two books. */
int session_wish(enum mst_channel channel, const char *market);

/* Other requests of the client's or the pair's. */
int session_leave(enum mst_channel channel, const char *market);
int session_resync(enum mst_channel channel, const char *market);
int session_list(void);

/* Gives an access the credentials that it has: its tokens are forgotten. */
void session_new_credentials(struct mst_access *access);

/* Gives it the trust anchors that it has: TLS sessions are forgotten. */
void session_new_anchors(struct mst_access *access);

/* Runs for so many virtual ms. */
void session_run(uint32_t ms);

/* The same, with another receiver of events; it ends when that says false. */
void session_run_with(uint32_t ms,
                      bool (*on_event)(void *context,
                                       const struct mst_event *event));

/* Runs until an event of this type has come, at most so long; says whether
 * it has. */
bool session_until(enum mst_event_type type, uint32_t ms);

/* Runs until one of the service's connections has every subscription of
 * session_subscribe(), and the books are live, at most so long; says whether
 * it is so. */
bool session_until_subscribed(uint32_t ms);

/* Expects it to be so; the case is named printf-like. */
void session_expect_subscribed(uint32_t ms, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Is that so? */
bool session_subscribed(void);

/* Has the link's connection what is wished for, and nothing else? */
bool session_link_subscribed(int link);

/* Line and service let no link out of this state: RESOLVE to UPGRADE, or
 * CLOSING; MST_STATE_OFF: out of any. */
void session_hang(enum mst_state state);

/* The port's next call of this kind fails. */
void session_fail_next(enum mst_mock_call call, int error);

/* The youngest connection ends with this error, and the client says so. */
void session_break(int error);

/* The service sends an update of this market that is bad. */
void session_bad_update(const char *market);

/* The line takes so many bytes more of the client's, then nothing, until
 * session_unstall(). */
void session_stall_after(size_t bytes);
void session_unstall(void);

/* The youngest connection ends with this error in the midst of a message, and
 * the client has just said that the message is given up. */
void session_cut_message(int error);

/* Below TLS a record comes that nobody with the keys has made. The client sees
 * it, and is subscribed anew. */
void session_forge_record(void);

/* Connects link 0 of the port to a host, without an object: what the port's
 * connect() comes to. */
int session_reach(const char *host, uint16_t port);

/* Begins to close all there is; or wipes it. */
void session_close(void);
void session_wipe(void);

/* Closes, checks that the client and the service are content and nothing was
 * written next to the client's memory or its books, and cleans up; a test's last
 * session is ended after it. */
void session_end(void);
int session_tear_down(void **state);

/* RUN_CASES() of tests with sessions. */
#define RUN_SESSIONS(begin, end) \
    RUN_WITH(expect_begin, session_tear_down, begin, end)

/* The checks alone. */
void session_check(void);

/* Appends what was recorded so far to another text. */
void session_record_copy(struct text *text);

/* Expects the last MST_EVENT_CLOSED to have this error and stage. */
void session_expect_closed(const char *name, int error, enum mst_state stage);

/* The same of the next one, which comes within so many ms. */
void session_until_closed(const char *name, uint32_t ms, int error,
                          enum mst_state stage);

/* Expects the stream to be as it was when it began. */
void session_expect_undisturbed(const char *name);

/* Expects a book to be in this state. */
void session_expect_book(const char *name, enum mst_book_state expected,
                         const struct mst_book *book);

/* Expects the service to have handed out so many tokens. */
void session_expect_tokens(const char *name, uint64_t count);

/* The client's secret and the token, as they are and as they are sent. */
#define SESSION_SECRETS 4
extern const char *const session_secrets[SESSION_SECRETS];

/* Is it in an object, or in the memory of one? */
bool session_contains(const void *what, size_t len);

/* Expects that nothing secret is left in them. */
void session_expect_clean(const char *name);

/* Expects that nothing secret is in this text. */
void session_expect_no_secret(const char *name, const struct text *text);

/* Makes and removes the certificates that session_begin_tls() uses: group
 * setup and teardown of cmocka. */
int session_certificates(void **state);
int session_no_certificates(void **state);

/* The members for TLS, and they alone, of the port that session_begin_tls()
 * uses. */
extern struct mst_port session_tls;

/* The same, and until then all TLS uses the primitives of port/primitives. */
int session_primitives(void **state);
int session_no_primitives(void **state);

#endif
