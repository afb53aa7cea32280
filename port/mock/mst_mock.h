/*
 * Mock port: a network without sockets, for tests of the library and of
 * programs that use it. It has a scripted peer, a virtual clock, seeded entropy
 * and a fault plan. Only what the test asks for happens, in virtual time, and
 * the same seed gives the same run, byte for byte.
 *
 * SPDX-License-Identifier: 0BSD
 *
 * In short:
 *
 *     static struct mst_mock mock;
 *     struct mst_port port;
 *     mst_mock_init(&mock, &port, 1);
 *     mock.peer = peer;                      (what the network answers)
 *     mst_client_init(&client, &config, &port, &memory);
 *     mst_mock_run(&mock, &client, 60000, on_event, context);
 *     assert(mock.broken == NULL);           (the port's contract was kept)
 */
#ifndef MST_MOCK_H
#define MST_MOCK_H

#include "mini_stream.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Bytes in transit to the client, per link. When full, mst_mock_write() takes
 * fewer. */
#ifndef MST_MOCK_IN_LEN
#define MST_MOCK_IN_LEN 65536
#endif

/* Bytes in transit from the client, per link; used only if data has latency.
 * When full, a send takes fewer. */
#ifndef MST_MOCK_OUT_LEN
#define MST_MOCK_OUT_LEN 16384
#endif

/* Pieces in transit with different arrival times. Further ones arrive together
 * with the last. */
#ifndef MST_MOCK_CHUNKS
#define MST_MOCK_CHUNKS 64
#endif

/* Number of links, from 0 on. */
#ifndef MST_MOCK_LINKS
#define MST_MOCK_LINKS 4
#endif

/* Addresses that a host name may have. */
#ifndef MST_MOCK_ADDRESSES
#define MST_MOCK_ADDRESSES 8
#endif

/* In the plan, the result of a resolution or connection that never ends. */
#define MST_MOCK_NEVER 1

/* A time that never comes. */
#define MST_MOCK_NO_TIME UINT64_MAX

/* Wall clock after mst_mock_init(): 2026-01-02T03:04:05Z, in ns. */
#define MST_MOCK_WALL_NS INT64_C(1767323045000000000)

/* The port's functions that can fail. */
enum mst_mock_call {
    MST_MOCK_RESOLVE,
    MST_MOCK_CONNECT,
    MST_MOCK_SEND,
    MST_MOCK_RECV,
    MST_MOCK_UNIX_NS,
    MST_MOCK_ENTROPY,
    MST_MOCK_ANY /* any of them, counted together */
};

/* The peer: the other end of the connection. Any callback may be NULL, and each
 * may call mst_mock_write(), mst_mock_end() and mst_mock_wake(). */
struct mst_mock_peer {
    void *context; /* passed to every callback */
    /* The client has connected. */
    void (*opened)(void *context, int link,
                   const struct mst_endpoint *endpoint);
    /* Bytes of the client have arrived; data is valid during the call. */
    void (*received)(void *context, int link, const void *data, size_t len);
    /* The client has closed the link, or a fault of the plan has. */
    void (*closed)(void *context, int link);
    /* The client has read all that was written: the buffer is empty. */
    void (*drained)(void *context, int link);
    /* The time asked for with mst_mock_wake() has come. now_ms counts from
     * mst_mock_init() and does not wrap. */
    void (*tick)(void *context, uint64_t now_ms);
};

/* Faults and delays. With all zero there are none. A test may change it at any
 * time. */
struct mst_mock_plan {
    uint32_t resolve_ms, connect_ms; /* latency, virtual ms */
    uint32_t data_ms;                /* of bytes, each direction */

    int addresses;     /* of every host name; 0: 1 */
    int resolve_error; /* mst_error, MST_MOCK_NEVER, or 0: resolves */
    /* For each address: mst_error, MST_MOCK_NEVER, or 0: connects. */
    int connect_error[MST_MOCK_ADDRESSES];
    int detail; /* returned by the port's detail function */

    bool clock_unset;  /* the wall clock is not set */
    bool entropy_none; /* no entropy */

    size_t recv_max, send_max; /* most bytes per call; 0: any number */
    bool send_stall;           /* sends take nothing */

    /* recv returns bytes up to this one, counting all bytes that the client has
     * read so far, then once nothing, then the rest; 0: no cut. */
    uint64_t cut_at;

    /* Bytes that arrive per virtual second, rounded to whole bytes per ms or
     * whole ms per byte; 0: no limit. */
    uint32_t drip;

    /* The call with this number (counted from 1, see mst_mock.calls) and the
     * following ones, fail_count in all (0: 1), fail with fail_error. A link on
     * which send or recv failed stays broken. */
    enum mst_mock_call fail_call;
    uint64_t fail_at; /* 0: none fails */
    uint64_t fail_count;
    int fail_error;
};

/* Private: bytes in transit, in the order of their arrival. */
struct mst_mock_queue {
    size_t at, len, chunk_at, chunks;
    struct {
        uint64_t due_ms;
        size_t len;
    } chunk[MST_MOCK_CHUNKS];
};

/* Private. */
struct mst_mock_link {
    int stage, address, end, failure;
    bool told, frozen, stalled;
    uint64_t due_ms, end_ms, drip_ms;
    const struct mst_endpoint *endpoint;
    struct mst_mock_queue in, out;
    unsigned char in_data[MST_MOCK_IN_LEN];
    unsigned char out_data[MST_MOCK_OUT_LEN];
};

/* The network, owned by the caller. */
struct mst_mock {
    /* For the test to set. */
    struct mst_mock_peer peer;
    struct mst_mock_plan plan;

    /* For the test to read. */
    uint64_t calls[MST_MOCK_ANY + 1]; /* of each function, and of all */
    uint64_t failed;                  /* calls that failed as planned */
    uint64_t bytes_in, bytes_out;     /* read and written by the client */
    uint64_t connects;                /* successful connections */
    const char *broken; /* the first breach of the port's contract, or NULL */

    /* Private. */
    uint64_t elapsed_ms, wake_ms, random, moved, cut_done;
    uint32_t start_ms;
    int64_t wall_ns;
    struct mst_mock_link links[MST_MOCK_LINKS];
};

/*
 * Initialises a mock and a port over it that counts as secure
 * (MST_PORT_SECURE); with port->flags = 0 the library adds TLS. mock is
 * borrowed for the port's life. Then set peer and plan.
 */
void mst_mock_init(struct mst_mock *mock, struct mst_port *port, uint64_t seed);

/* Sets the monotonic clock, for example to shortly before it wraps. Call it
 * before the client's first poll: later the clock would jump. */
void mst_mock_set_now(struct mst_mock *mock, uint32_t now_ms);

/* Sets the wall clock, in ns since the Unix epoch. It advances with the virtual
 * time. */
void mst_mock_set_wall(struct mst_mock *mock, int64_t unix_ns);

/* The wall clock, even if the plan hides it from the client. */
int64_t mst_mock_wall(const struct mst_mock *mock);

/* Virtual ms since mst_mock_init(). */
uint64_t mst_mock_elapsed(const struct mst_mock *mock);

/* Lets time pass, and calls the peer at the right times. */
void mst_mock_advance(struct mst_mock *mock, uint32_t ms);

/* Virtual ms until something is due in the mock (an arrival, a connection, a
 * tick), or MST_MOCK_NO_TIME. */
uint64_t mst_mock_next(const struct mst_mock *mock);

/* For the peer: sends bytes to the client. Returns how many were taken: fewer
 * than len if the buffer is full, 0 if the link is closed or has ended. */
size_t mst_mock_write(struct mst_mock *mock, int link, const void *data,
                      size_t len);

/* For the peer: bytes that mst_mock_write() would take. */
size_t mst_mock_room(const struct mst_mock *mock, int link);

/* For the peer: ends the link with MST_ERR_EOF, MST_ERR_RESET or another
 * error, which the client sees after the bytes written before. */
void mst_mock_end(struct mst_mock *mock, int link, int error);

/* For the peer: requests a tick after ms of virtual time (at least 1), unless
 * one is due sooner. */
void mst_mock_wake(struct mst_mock *mock, uint32_t ms);

/* True if the client uses the link: it is resolving, connecting or
 * connected. */
bool mst_mock_in_use(const struct mst_mock *mock, int link);

/* With true, sends on this link take nothing, on this connection and later
 * ones, until it is called with false. */
void mst_mock_stall(struct mst_mock *mock, int link, bool stalled);

/* Makes the link half-open until the client closes it: sends are accepted, but
 * nothing arrives on either side. A resolution or connection in progress never
 * ends. No effect on a link that is not in use. */
void mst_mock_freeze(struct mst_mock *mock, int link);

/* Fills data with the mock's reproducible bytes, which are not secure. */
void mst_mock_random(struct mst_mock *mock, void *data, size_t len);

/*
 * Runs a client as a program's main loop would: polls it until it has no event,
 * then sleeps, in virtual time, until its deadline, until its link is ready
 * (mst_wants()), or until something is due in the mock. Passes each event to
 * on_event, which may be NULL. Ends when on_event returns false, after
 * budget_ms, or when the client is closed. on_event may let time pass; if that
 * exceeds budget_ms, the run ends even if there are more events. Returns the
 * virtual ms that passed. If the client keeps asking for polls without making
 * progress, mock->broken says so.
 */
uint32_t mst_mock_run(struct mst_mock *mock, struct mst_client *client,
                      uint32_t budget_ms,
                      bool (*on_event)(void *context,
                                       const struct mst_event *event),
                      void *context);

/* The same, until mst_mock_elapsed() reaches at_ms. */
uint32_t mst_mock_run_until(struct mst_mock *mock, struct mst_client *client,
                            uint64_t at_ms,
                            bool (*on_event)(void *context,
                                             const struct mst_event *event),
                            void *context);

/* An object of the library: how it is polled, and its links. */
struct mst_mock_object {
    int (*poll)(void *object, struct mst_event *event);
    void *object;
    const struct mst_link *links[2]; /* the second may be NULL */
};

/* mst_mock_run() with several objects on this port, polled in turn: after an
 * event the next one is polled. Ends when all are closed. */
uint32_t mst_mock_run_objects(struct mst_mock *mock,
                              const struct mst_mock_object *objects,
                              size_t count, uint32_t budget_ms,
                              bool (*on_event)(void *context,
                                               const struct mst_event *event),
                              void *context);

#ifdef __cplusplus
}
#endif

#endif
