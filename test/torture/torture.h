/*
 * Transport torture: what a port's call or a byte of the line can do to a
 * client, a pair or a transfer, done at one or two points of a scenario, and
 * what must hold all the same. Used by test/session/torture.c, in virtual time
 * on the mock port, over session.h.
 *
 * SPDX-License-Identifier: 0BSD
 */
#ifndef TORTURE_H
#define TORTURE_H

#include "session.h"

/* ---- faults: torture_port.c ---- */

/* What happens at a point. */
enum torture_action {
    TORTURE_ONE,   /* one byte is moved, no more */
    TORTURE_LATER, /* not now, once */
    TORTURE_NEVER, /* not now, until the connection is given up */
    TORTURE_END,   /* the peer has closed */
    TORTURE_ERROR, /* the call fails */
    TORTURE_ACTIONS
};

/* What points are counted by: calls of the port that may say something, in
 * their order; bytes that were received; bytes that were sent. */
enum torture_where { TORTURE_CALL, TORTURE_IN, TORTURE_OUT, TORTURE_WHERES };

/* At the call of this number (from 1 on), or behind so many bytes. */
struct torture_fault {
    enum torture_where where;
    uint32_t at;
    enum torture_action action;
};

/* The calls that are counted. */
enum torture_kind {
    TORTURE_RESOLVE,
    TORTURE_CONNECT,
    TORTURE_SEND,
    TORTURE_RECV,
    TORTURE_UNIX_NS,
    TORTURE_ENTROPY,
    TORTURE_LOAD,
    TORTURE_KINDS
};

#define TORTURE_FAULTS 2
#define TORTURE_CALLS 4096 /* whose kind is remembered */

/* A link of the port. */
struct torture_link {
    bool in_use;   /* something was asked of it since the last close */
    bool resolves; /* it does so, and connects to this address, or -1 */
    int address;
    bool held;             /* it gets no further, until it is closed */
    bool ended;            /* the peer has closed: what is sent is lost */
    bool no_send, no_recv; /* these have failed */
    uint64_t heard_ms;     /* when it last brought a byte */
};

/* The port between the object and the mock. */
struct torture_port {
    struct torture_fault faults[TORTURE_FAULTS];
    size_t len;
    bool harmless; /* the faults cost a millisecond at most */
    bool quick;    /* they cost a connection at most, which is closed at once */
    bool fired[TORTURE_FAULTS];
    unsigned fired_len;
    uint64_t fired_ms; /* when the last one was */
    uint32_t at[TORTURE_WHERES];
    uint8_t kinds[TORTURE_CALLS]; /* of call n at n - 1 */
    uint32_t closes;
    const char *broken; /* the first breach of the port's contract, or NULL */
    struct torture_link links[MST_MOCK_LINKS];
    struct mst_port below;
};

extern struct torture_port torture_port;

/* Puts it over the port of the session at hand, with these faults. */
void torture_port_begin(const struct torture_fault *faults, size_t len);

/* Does this action mean anything at a call of this kind? */
bool torture_applies(enum torture_kind kind, enum torture_action action);

/* Does a link get no further, or has its peer gone, unnoticed so far? */
bool torture_is_held(void);

/* "call:17:end", and back; false where it is none. */
void torture_fault_write(char out[40], const struct torture_fault *fault);
bool torture_fault_read(const char *text, struct torture_fault *fault);

/* ---- scenarios: torture_scenarios.c ---- */

/* What is said of a scenario. */
#define TORTURE_TLS 1u    /* handshakes cost some ms each */
#define TORTURE_RENEWS 2u /* how many tokens it takes depends on the time */
#define TORTURE_EITHER 4u /* of a pair either leads, by the order of calls */
#define TORTURE_OPEN \
    8u /* an answer ends with its connection: nobody can tell
                           * that it was cut short, but by its JSON */

struct torture_scenario {
    const char *name;
    void (*begin)(void); /* session_begin(), and what else it takes */
    void (*start)(void); /* initialises the objects, wishes */
    void (*play)(void);
    unsigned flags;
    int error, status; /* of each of its requests for an address: HTTP's */
};

extern const struct torture_scenario torture_scenarios[];
extern const size_t torture_scenarios_len;

/* The scenario of this name, or NULL. */
const struct torture_scenario *torture_scenario(const char *name);

/* ---- one run: torture.c ---- */

/* From the last fault until all is well: at most so long. */
#define TORTURE_RECOVERY_MS 100000u

/* For a scenario: lets time pass; the books change, and the service says so;
 * a trade, a heartbeat; a message of several parts; a request for an address.
 */
void torture_pass(uint32_t ms);
void torture_trade(void);
void torture_parts(void);
void torture_put(void);

/* What a run came to. */
struct torture_result {
    uint32_t at[TORTURE_WHERES]; /* calls and bytes */
    uint8_t kinds[TORTURE_CALLS];
    uint32_t recovery_ms; /* from the last fault until all is well */
    unsigned fired;
    bool failed;
};

/* Plays a scenario without a fault: what the runs that follow are compared
 * with. */
void torture_reference(const struct torture_scenario *of,
                       struct torture_result *result);

/* Plays the scenario of the last torture_reference() with faults. What must
 * hold, and does not, is told as an expectation that failed, with the line that
 * plays it again. loud: events are told. */
void torture_run(const struct torture_fault *faults, size_t len, bool loud,
                 struct torture_result *result);

/* The line that plays the last run again. */
const char *torture_what(void);

#endif
