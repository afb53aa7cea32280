/*
 * Transport torture: every possible result of a port's call, and a fault at any
 * byte of a connection, at one or two points of a scenario with a client, a
 * pair or a transfer; and what must be true despite them. Used by
 * test/session/torture.c, in virtual time on the mock port, over session.h.
 *
 * SPDX-License-Identifier: 0BSD
 */
#ifndef TORTURE_H
#define TORTURE_H

#include "session.h"

/* ---- faults: torture_port.c ---- */

/* What happens at a point. */
enum torture_action {
    TORTURE_ONE,   /* only one byte is moved */
    TORTURE_LATER, /* returns "not now" once */
    TORTURE_NEVER, /* "not now" until the connection is closed */
    TORTURE_END,   /* the peer has closed */
    TORTURE_ERROR, /* the call fails */
    TORTURE_ACTIONS
};

/* Points are counted by calls of the port that can fail or wait; by bytes
 * received; by bytes sent. */
enum torture_where { TORTURE_CALL, TORTURE_IN, TORTURE_OUT, TORTURE_WHERES };

/* At the call with this number (from 1 on), or after this number of bytes. */
struct torture_fault {
    enum torture_where where;
    uint32_t at;
    enum torture_action action;
};

/* The counted calls. */
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
    bool in_use;   /* used since the last close */
    bool resolves; /* resolving; connecting to this address, or -1 */
    int address;
    bool held;             /* hangs until it is closed */
    bool ended;            /* the peer has closed: sent bytes are lost */
    bool no_send, no_recv; /* send or recv has failed */
    uint64_t heard_ms;     /* when it last received a byte */
};

/* The port between the objects and the mock. */
struct torture_port {
    struct torture_fault faults[TORTURE_FAULTS];
    size_t len;
    bool harmless; /* the faults cost a millisecond at most */
    bool quick;    /* they cost a connection at most, closed at once */
    bool fired[TORTURE_FAULTS];
    unsigned fired_len;
    uint64_t fired_ms; /* the time of the last one */
    uint32_t at[TORTURE_WHERES];
    uint8_t kinds[TORTURE_CALLS]; /* of call n at n - 1 */
    uint32_t closes;
    const char *broken; /* the first breach of the port's contract, or NULL */
    struct torture_link links[MST_MOCK_LINKS];
    struct mst_port below;
};

extern struct torture_port torture_port;

/* Inserts it above the current session's port, with these faults. */
void torture_port_begin(const struct torture_fault *faults, size_t len);

/* True if this action has an effect at a call of this kind. */
bool torture_applies(enum torture_kind kind, enum torture_action action);

/* True if a link hangs, or if its peer has closed and this is not noticed
 * yet. */
bool torture_is_held(void);

/* Write a fault as "call:17:end", and read it; false if it is malformed. */
void torture_fault_write(char out[40], const struct torture_fault *fault);
bool torture_fault_read(const char *text, struct torture_fault *fault);

/* ---- scenarios: torture_scenarios.c ---- */

/* Properties of a scenario. */
#define TORTURE_TLS 1u    /* each handshake costs some ms */
#define TORTURE_RENEWS 2u /* the number of tokens depends on the time */
#define TORTURE_EITHER 4u /* the order of calls decides which of a pair leads */
/* A response ends with its connection: only its JSON shows a truncation. */
#define TORTURE_OPEN 8u

struct torture_scenario {
    const char *name;
    void (*begin)(void); /* session_begin() and further settings */
    void (*start)(void); /* initialises the objects, subscribes */
    void (*play)(void);
    unsigned flags;
    int error, status; /* the result of its requests for addresses */
};

extern const struct torture_scenario torture_scenarios[];
extern const size_t torture_scenarios_len;

/* Returns the scenario of this name, or NULL. */
const struct torture_scenario *torture_scenario(const char *name);

/* ---- one run: torture.c ---- */

/* The longest time from the last fault until all is well. */
#define TORTURE_RECOVERY_MS 100000u

/* For a scenario: let time pass; send a trade and a heartbeat; a message of
 * several parts; request an address. */
void torture_pass(uint32_t ms);
void torture_trade(void);
void torture_parts(void);
void torture_put(void);

/* The results of a run. */
struct torture_result {
    uint32_t at[TORTURE_WHERES]; /* calls and bytes */
    uint8_t kinds[TORTURE_CALLS];
    uint32_t recovery_ms; /* from the last fault until all is well */
    unsigned fired;
    bool failed;
};

/* Plays a scenario without a fault. The following runs are compared with it. */
void torture_reference(const struct torture_scenario *of,
                       struct torture_result *result);

/* Plays the scenario of the last torture_reference() with faults. A violation
 * is a failed expectation, with the line that plays the run again. loud: prints
 * events. */
void torture_run(const struct torture_fault *faults, size_t len, bool loud,
                 struct torture_result *result);

/* Returns the line that plays the last run again. */
const char *torture_what(void);

#endif
