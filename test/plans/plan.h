/*
 * Plans of a service that does whatever it likes for a while: what is drawn
 * from a seed, the service that acts on it, and the model of what its
 * messages said. Used by test/session/plans.c and year.c, in virtual time.
 *
 * SPDX-License-Identifier: 0BSD
 */
#ifndef PLAN_H
#define PLAN_H

#include "service.h"
#include "support.h"

#define PLAN_MARKETS 3
#define PLAN_PRICES 48     /* that a side may have */
#define PLAN_CHANGES 8192  /* of a market's true book that are remembered */
#define PLAN_TEXT 16384    /* bytes of a message */
#define PLAN_MESSAGES 1024 /* on the way on one connection */
#define PLAN_CLIENTS 2     /* links of a client or a pair: 0 and 1 */
#define PLAN_LATER 32      /* things that are done later */
#define PLAN_SPELLS 8
#define PLAN_SECOND 1000u
#define PLAN_MS_NS INT64_C(1000000)

/* ---- the plan ---- */

/* What may go wrong. Each is decided about where it can happen; how often it
 * does then is its strength in a spell, in 1/256. */
#define PLAN_FAULTS(X)                                                    \
    /* of requests: */                                                    \
    X(REFUSE, "requests refused")                                         \
    X(FAIL_ENTRY, "entries fail")   /* with a code or without */          \
    X(WITHHOLD, "requests ignored") /* neither done nor answered */       \
    X(UNSAID, "answers withheld")   /* though it is done */               \
    X(LATE, "late answers")         /* in time or too late */             \
    X(IDLE, "answered, not done")                                         \
    X(STRANGE, "strange answers") /* to what was not asked, or in part */ \
    X(TWICE, "answered twice")                                            \
    X(ENTRIES, "entries of any form")                                     \
    X(LIST, "lists that lie")                                             \
    X(FORGET, "subscriptions lost")                                       \
    X(INVENT, "subscriptions invented")                                   \
    /* of snapshots: */                                                   \
    X(NO_SNAPSHOT, "no snapshot")                                         \
    X(LATE_SNAPSHOT, "late snapshots") /* as it was when it was due */    \
    X(SNAPSHOT_TWICE, "snapshots twice")                                  \
    X(SNAPSHOT_UNASKED, "snapshots unasked")                              \
    X(SNAPSHOT_EARLY, "snapshots before the answer")                      \
    /* of time: */                                                        \
    X(CLOCK, "all times jump")                                            \
    X(CLOCK_UPDATE, "times of updates jump")                              \
    X(CLOCK_SNAPSHOT, "times of snapshots jump")                          \
    X(CLOCK_TOP, "times of tops jump")                                    \
    X(CLOCK_BEAT, "times of heartbeats jump")                             \
    X(WALL, "the caller's clock jumps")   /* or is not set */             \
    X(EQUAL, "equal times")               /* for seconds */               \
    X(FINE, "times within a millisecond") /* in any order */              \
    /* of messages: */                                                    \
    X(LOST, "updates never sent")                                         \
    X(HELD, "late updates")                                               \
    X(AGAIN, "updates twice")                                             \
    X(BROKEN, "broken updates")                                           \
    X(UNASKED, "updates unasked")                                         \
    X(GARBAGE, "garbage")        /* messages of any kind */               \
    X(FRAMES, "fragments")       /* with pings in between */              \
    X(KEYS, "keys in any order") /* unknown ones, white space */          \
    X(BUSY, "busy")              /* more is ready at every poll */        \
    /* of the line: */                                                    \
    X(SLICES, "slices")      /* of a few bytes */                         \
    X(SLOW, "slow line")     /* latencies, a drip */                      \
    X(DRIP, "drip")          /* a few bytes in a second */                \
    X(TORN, "torn messages") /* they end within */                        \
    X(CLOSE, "closes")       /* with any code */                          \
    X(RESET, "resets")                                                    \
    X(FREEZE, "half-open")                                                \
    X(STALL, "stall")                 /* maybe after some bytes */        \
    X(PORT, "calls of the port fail") /* whichever come */                \
    X(ENTROPY, "no entropy")                                              \
    X(NO_CONNECT, "no connection") /* nor a name resolved */              \
    X(TOKEN, "no token")           /* it is refused, or hangs */          \
    X(UPGRADE, "no upgrade")       /* it is refused, or hangs */          \
    X(ADDRESS, "no address")       /* it is refused, or hangs */          \
    X(SHORT_TOKENS, "short tokens")                                       \
    X(NO_BEATS, "no heartbeats")                                          \
    X(NO_PONGS, "no pongs")                                               \
    X(SILENCE, "silence")                                                 \
    /* of the caller: */                                                  \
    X(SLOW_CALLER, "slow caller")                                         \
    X(UNPOLLED, "objects not polled")                                     \
    X(CALLS, "calls") /* resync, list, rotate, wishes, close */

#define PLAN_FAULT(name, text) FAULT_##name,
enum plan_fault { PLAN_FAULTS(PLAN_FAULT) FAULTS };

extern const char *const plan_fault_names[FAULTS];

struct plan_spell {
    enum plan_fault fault;
    uint32_t from_ms, until_ms; /* of the plan */
    uint8_t strength;
};

struct plan {
    uint64_t seed;
    unsigned markets, links; /* two: a pair */
    bool tops, executions, beats, fine;
    bool addresses; /* requests for them, by a transfer beside it */
    bool shares;    /* both share an access */
    bool leaves;    /* an object that is not polled stays so to the end */
    bool stays;     /* the caller does not close before that */
    bool standby;   /* a pair in hot standby */
    unsigned capacity, thin, depth; /* of books; levels of the true ones */
    uint32_t length_ms, feed_ms, beat_ms, away_ms; /* the caller, at most */
    struct plan_spell spells[PLAN_SPELLS];
    unsigned spells_len;
    struct mst_config config; /* but the endpoints */
    size_t message;           /* bytes of the message buffer */
    uint32_t rotate_ms;       /* of a pair */
    uint32_t put_ms;          /* of a transfer */
    unsigned port_flags;
};

void plan_draw(struct plan *plan, uint64_t seed);

/* One line for a failing plan, and its spells. */
void plan_describe(const struct plan *plan, struct text *text);

/* ---- the true books, and what is on the way ---- */

struct plan_change {
    uint8_t side, price;
    uint16_t amount; /* 0: removed */
};

/* A market's true book is of version n after its n-th change, and changes has
 * the last ones. */
struct plan_book {
    uint32_t version;
    uint16_t amounts[2][PLAN_PRICES];
    struct plan_change changes[PLAN_CHANGES];
};

const struct plan_change *plan_change(const struct plan_book *book,
                                      uint32_t version);

enum plan_says {
    SAYS_OTHER,           /* nothing of a book, and it is no execution */
    SAYS_UPDATE,          /* the changes from first to version */
    SAYS_SNAPSHOT,        /* the book of that version */
    SAYS_BROKEN,          /* the same changes, in a message that is malformed */
    SAYS_ANSWER,          /* so many entries, of which the first number is of
                           * those that can be read */
    SAYS_EXECUTION,       /* the one of that number */
    SAYS_BROKEN_EXECUTION /* the same, malformed */
};

/* What a message that is on the way says of a market. */
struct plan_message {
    enum plan_says says;
    unsigned market;
    uint32_t first, version; /* or the number of an execution, or of entries */
    int64_t time_ns;
    uint64_t end; /* bytes of the connection, with this message's last */
};

/* ---- the model ---- */

/* Why a level of a book may be wrong, unnoticed: see plan_model.c. */
enum plan_excuse {
    EXCUSE_NONE,
    EXCUSE_LOST,
    EXCUSE_DROPPED,
    EXCUSE_STEPPED,
    EXCUSE_GONE,
    EXCUSE_OLDER,
    EXCUSE_EARLIER,
    EXCUSE_REORDERED
};

#define PLAN_GIVEN 512 /* messages of a market whose times are remembered */

/* What a client can know of a market's book by one connection. */
struct plan_known {
    uint32_t version;                      /* the newest it was told of */
    uint16_t amounts[2][PLAN_PRICES];      /* the true book of then */
    uint32_t changed[2][PLAN_PRICES];      /* by which version last */
    uint8_t excuse[2][PLAN_PRICES];        /* enum plan_excuse */
    bool snapshot;                         /* one was given */
    struct plan_message last;              /* the last one */
    uint64_t snapshot_ms;                  /* when it was read */
    struct plan_message given[PLAN_GIVEN]; /* the last ones */
    uint32_t given_len, gone, wished;      /* these came before */
    bool settled;                          /* a snapshot came since then */
    uint32_t broken_version; /* 0: it asks for the book anew since then */
};

/* A connection has begun. */
void plan_known_begin(struct plan_known *known, const struct plan_book *book);

/* A message that was read at this time has been given to the client. */
void plan_known_give(struct plan_known *known, const struct plan_book *book,
                     const struct plan_message *message, uint64_t read_ms);

/* The client has begun its book anew: it has forgotten what it was given. */
void plan_known_restart(struct plan_known *known);

/* The caller wishes for the market again: for its book all begins anew. */
void plan_known_wish(struct plan_known *known);

/* The client asks for books anew: what it could not read is mended by the next
 * snapshot, whichever that is. */
void plan_known_ask(struct plan_known *known);

/* Says how a live book differs from what can be known, in text: false where
 * it does. */
bool plan_known_check(const struct plan_known *known, unsigned market,
                      const struct mst_book *book, char *text, size_t len);

/* ---- the service ---- */

enum plan_clock { CLOCK_UPDATES, CLOCK_SNAPSHOTS, CLOCK_TOPS, CLOCK_BEATS };

/* A text that is sent later on a connection. */
struct plan_later {
    uint64_t due_ms, serial; /* of one moment the first goes first */
    int link;
    uint32_t generation; /* of the connection */
    bool says;           /* it has this message */
    struct plan_message message;
    char *text; /* NULL: free */
    size_t len;
};

/* Why what the service sends is no part of the stream any more. */
enum plan_over {
    OVER_NOT,
    OVER_CLOSED, /* it has sent its close frame */
    OVER_WRONG   /* its frames are wrong: what comes then is lost */
};

/* What the caller has heard of a connection: see plan_heard.c. */
struct plan_heard {
    bool open;     /* it was told so, and of no end */
    bool released; /* it has closed: nothing more is told but the end */
    bool due;      /* the client has looked at this, the caller was not told */
    bool error;    /* it was told of an error in what is not yet whole */
    struct plan_message message;
    bool answered; /* the client has looked at this answer, the caller not */
    struct plan_message answer;
    uint32_t entries; /* that it was told */
    uint32_t lost;    /* executions */
    uint32_t generation;
};

struct plan_link {
    bool open;   /* the service streams */
    bool client; /* so does the client: it has not seen an end */
    uint32_t generation;
    uint64_t written, traced; /* bytes of the connection */
    uint64_t read_ms;         /* when the client last read some */
    bool subscribed[MST_HEARTBEAT + 1][PLAN_MARKETS];
    bool strays; /* something else is subscribed, too */
    /* What readable answers have granted; the service or the line is to blame
     * if a request fails. */
    bool granted[MST_HEARTBEAT + 1][PLAN_MARKETS];
    bool blamed;
    uint64_t granted_ms; /* when the last was */
    enum plan_over over;
    struct plan_heard heard;
    struct plan_message messages[PLAN_MESSAGES];
    uint32_t messages_at, messages_len;
    struct plan_known known[PLAN_MARKETS];
};

struct exchange {
    const struct plan *plan;
    uint64_t random;
    struct mst_mock *mock;
    struct service service;
    struct mst_mock_sink line; /* to the client: the mock, or TLS over it */
    struct mst_mock_peer peer; /* the service's own */
    uint8_t strength[FAULTS];  /* at present */
    int64_t offset_ns[CLOCK_BEATS + 1];
    int64_t wall_ns; /* by so much the caller's clock is off, */
    bool wall_unset; /* or it is not set */
    uint64_t feed_due_ms, beat_due_ms, serial;
    uint32_t wait_ms;  /* for what it says in this plan, at most */
    uint64_t begin_ms; /* of the plan's spells */
    uint64_t edge_ms;  /* when of the plan one begins or ends next */
    size_t stall_left; /* bytes of the client's before a stall */
    uint32_t event_ms; /* what an event of a busy service costs the caller */
    uint32_t busy;     /* messages that it may still send in this plan */
    struct plan_book books[PLAN_MARKETS];
    struct plan_link links[MST_MOCK_LINKS];
    struct plan_later later[PLAN_LATER];
    char text[PLAN_TEXT];
    void (*note)(const char *format, ...); /* of the trace, or NULL */
    const char *wrong;   /* what the caller was told or not told, or NULL */
    uint64_t told, lost; /* executions of all plans */
};

/* Prepares a service over the mock for a plan. */
void exchange_begin(struct exchange *x, const struct plan *plan,
                    struct mst_mock *mock);
void exchange_end(struct exchange *x);

/* The plan's spells begin now: it may have others than before. */
void exchange_spells(struct exchange *x);

/* The strengths become those of this moment's spells. Returns when the caller
 * does something next: at the latest when a spell begins or ends. */
uint64_t exchange_next_ms(struct exchange *x);

/* The plan is over: from now on the service behaves. */
void exchange_behave(struct exchange *x);

/* Is told when the client reads, and what its trace is. */
void exchange_read(struct exchange *x, int link);
void exchange_trace(struct exchange *x, const struct mst_trace *trace);

/* A busy service has messages ready. Returns how long each event takes the
 * caller, ms; 0: no time. */
uint32_t exchange_busy(struct exchange *x);

/* Is told each event; that there is none for now; that the caller closes, or
 * that it has wiped the object. */
void exchange_event(struct exchange *x, const struct mst_event *event);
void exchange_rest(struct exchange *x);
void exchange_release(struct exchange *x, bool wiped);

/* Does this connection have all that is wished for, and nothing else? */
bool exchange_has(const struct exchange *x, int link);

/* Does a fault happen now? */
bool exchange_happens(struct exchange *x, enum plan_fault fault);
uint32_t exchange_pick(struct exchange *x, uint32_t n);

extern const char *const plan_markets[PLAN_MARKETS];

/* A price of the grid, in tenths. */
int64_t plan_price(unsigned market, unsigned price);

/* ---- the library's object ---- */

/* A client or a pair, with its memories and books; a client that is not in a
 * pair has the first of what there are two of. */
struct plan_object {
    const struct plan *plan;
    bool paired;
    struct mst_access access; /* where it is shared */
    struct mst_client client;
    struct mst_pair pair;
    struct mst_memory memory[2];
    unsigned char *bytes[2]; /* as long as they must be, and so are levels */
    struct mst_book books[2][PLAN_MARKETS];
    struct mst_level *levels[2][PLAN_MARKETS];
};

/* Begins a plan that is drawn, with a service over the mock, whose clock passes
 * the middle of its range meanwhile, or its end. */
void plan_begin(struct plan *plan, struct mst_mock *mock, struct mst_port *port,
                struct exchange *x);

/* Prepares memories and books, and the object with them. */
void plan_object_prepare(struct plan_object *object, const struct plan *plan);
int plan_object_init(struct plan_object *object, const struct mst_port *port);

/* The library's calls of these names. */
int plan_object_subscribe(struct plan_object *object, enum mst_channel channel,
                          unsigned market);
int plan_object_unsubscribe(struct plan_object *object,
                            enum mst_channel channel, unsigned market);
int plan_object_resync(struct plan_object *object, unsigned market);
int plan_object_list(struct plan_object *object);
void plan_object_close(struct plan_object *object);
void plan_object_wipe(struct plan_object *object);

/* The credentials are replaced, by the same ones. */
void plan_object_renew(struct plan_object *object);

/* ---- requests for addresses ---- */

#define PLAN_PUT_LINK 2

/* A caller with a transfer. What is wrong is told to the exchange. */
struct plan_put {
    struct exchange *x;
    const struct mst_port *port;
    struct mst_config config;
    struct mst_memory memory;
    unsigned char
        bytes[MST_MEMORY_LEN(MST_RECORD_IN_MIN, MST_RECORD_OUT_MIN, 1024, 0)];
    struct mst_transfer transfer;
    struct mst_address_request request;
    char nickname[16];
    struct mst_address record;
    bool under_way, well;    /* the last one has come through */
    uint64_t since_ms;       /* it is under way, and the caller was here */
    uint64_t records;        /* of the service by then */
    uint64_t back_ms;        /* the next one is not held back */
    uint32_t serial;         /* of the last one */
    uint64_t requests, done; /* of all plans, and those that came through */
};

void plan_put_begin(struct plan_put *put, const struct plan_object *object,
                    struct exchange *x, const struct mst_port *port);

/* What a caller may do at any time; a request, where none is under way. */
void plan_put_call(struct plan_put *put);
void plan_put_request(struct plan_put *put);

/* Is told each event; that there is none for now; that the caller was away. */
void plan_put_event(struct plan_put *put, const struct mst_event *event);
void plan_put_rest(struct plan_put *put);
void plan_put_away(struct plan_put *put, uint32_t ms);

/* ---- the text of messages ---- */

struct plan_writer {
    char *text;
    size_t len, size;
    uint64_t *random;
    bool odd; /* keys in any order, unknown ones, white space */
};

/* Writes a market_data message with changes, or with a whole book. */
void plan_write_update(struct plan_writer *w, unsigned market, const char *time,
                       const struct plan_change *changes, size_t count);
void plan_write_snapshot(struct plan_writer *w, unsigned market,
                         const char *time, const struct plan_book *book);
void plan_write_top(struct plan_writer *w, unsigned market, const char *time,
                    const struct plan_book *book);
void plan_write_execution(struct plan_writer *w, unsigned market,
                          const char *time, uint32_t number);
void plan_write_beat(struct plan_writer *w, const char *time);

void plan_write(struct plan_writer *w, const char *text);

/* Adds an object of these members; a value may be NULL. If keys are odd, values
 * may have any type, and members may be missing or there twice. Returns true if
 * none is there twice, and the first two are as they should be. */
struct plan_member {
    const char *name, *value;
};
bool plan_write_object(struct plan_writer *w, const struct plan_member *members,
                       size_t count);

/* Makes a message one that cannot be read, in one of many ways; false where
 * it is binary. */
bool plan_break(struct plan_writer *w);

/* A message that is none of the above, in one of many ways. */
void plan_garbage(struct plan_writer *w);

#endif
