/*
 * Plans for a service that misbehaves in any way for a while. A plan is drawn
 * from a seed; a service acts on it; a model knows the content of its messages.
 * Used by test/session/plans.c and year.c, in virtual time.
 *
 * SPDX-License-Identifier: 0BSD
 */
#ifndef PLAN_H
#define PLAN_H

#include "service.h"
#include "support.h"

#define PLAN_MARKETS 3
#define PLAN_PRICES 48     /* of a side at most */
#define PLAN_CHANGES 8192  /* remembered, of a market's true book */
#define PLAN_TEXT 16384    /* bytes of a message at most */
#define PLAN_MESSAGES 1024 /* in transit on one connection */
#define PLAN_CLIENTS 2     /* links 0 and 1 of a client or a pair */
#define PLAN_LATER 32      /* texts to be sent later */
#define PLAN_SPELLS 8
#define PLAN_SECOND 1000u
#define PLAN_MS_NS INT64_C(1000000)

/* ---- the plan ---- */

/* Faults. Each occasion decides at random; a fault's strength in a spell is its
 * probability, in 1/256. */
#define PLAN_FAULTS(X)                                                      \
    /* Requests: */                                                         \
    X(REFUSE, "requests refused")                                           \
    X(FAIL_ENTRY, "entries fail")   /* with or without a code */            \
    X(WITHHOLD, "requests ignored") /* neither carried out nor answered */  \
    X(UNSAID, "answers withheld")   /* but carried out */                   \
    X(LATE, "late answers")         /* within the deadline or after it */   \
    X(IDLE, "answered, not done")                                           \
    X(STRANGE, "strange answers") /* to something else, or partial */       \
    X(TWICE, "answered twice")                                              \
    X(ENTRIES, "entries of any form")                                       \
    X(LIST, "lists that lie")                                               \
    X(FORGET, "subscriptions lost")                                         \
    X(INVENT, "subscriptions invented")                                     \
    /* Snapshots: */                                                        \
    X(NO_SNAPSHOT, "no snapshot")                                           \
    X(LATE_SNAPSHOT, "late snapshots") /* of the time when they were due */ \
    X(SNAPSHOT_TWICE, "snapshots twice")                                    \
    X(SNAPSHOT_UNASKED, "snapshots unasked")                                \
    X(SNAPSHOT_EARLY, "snapshots before the answer")                        \
    /* Times: */                                                            \
    X(CLOCK, "all times jump")                                              \
    X(CLOCK_UPDATE, "times of updates jump")                                \
    X(CLOCK_SNAPSHOT, "times of snapshots jump")                            \
    X(CLOCK_TOP, "times of tops jump")                                      \
    X(CLOCK_BEAT, "times of heartbeats jump")                               \
    X(WALL, "the caller's clock jumps")   /* or is unset */                 \
    X(EQUAL, "equal times")               /* for some seconds */            \
    X(FINE, "times within a millisecond") /* in any order */                \
    /* Messages: */                                                         \
    X(LOST, "updates never sent")                                           \
    X(HELD, "late updates")                                                 \
    X(AGAIN, "updates twice")                                               \
    X(BROKEN, "broken updates")                                             \
    X(UNASKED, "updates unasked")                                           \
    X(GARBAGE, "garbage")        /* messages of any kind */                 \
    X(FRAMES, "fragments")       /* with pings in between */                \
    X(KEYS, "keys in any order") /* unknown keys, white space */            \
    X(BUSY, "busy")              /* more messages at every poll */          \
    /* Connections: */                                                      \
    X(SLICES, "slices")      /* of a few bytes */                           \
    X(SLOW, "slow line")     /* latency, a low rate */                      \
    X(DRIP, "drip")          /* a few bytes per second */                   \
    X(TORN, "torn messages") /* the connection ends within */               \
    X(CLOSE, "closes")       /* with any code */                            \
    X(RESET, "resets")                                                      \
    X(FREEZE, "half-open")                                                  \
    X(STALL, "stall")                 /* maybe after some bytes */          \
    X(PORT, "calls of the port fail") /* any call */                        \
    X(ENTROPY, "no entropy")                                                \
    X(NO_CONNECT, "no connection") /* and no name is resolved */            \
    X(TOKEN, "no token")           /* it is refused, or hangs */            \
    X(UPGRADE, "no upgrade")       /* it is refused, or hangs */            \
    X(ADDRESS, "no address")       /* it is refused, or hangs */            \
    X(SHORT_TOKENS, "short tokens")                                         \
    X(NO_BEATS, "no heartbeats")                                            \
    X(NO_PONGS, "no pongs")                                                 \
    X(SILENCE, "silence")                                                   \
    /* The caller: */                                                       \
    X(SLOW_CALLER, "slow caller")                                           \
    X(UNPOLLED, "objects not polled")                                       \
    X(CALLS, "calls") /* resync, list, rotate, subscribe, close */

#define PLAN_FAULT(name, text) FAULT_##name,
enum plan_fault { PLAN_FAULTS(PLAN_FAULT) FAULTS };

extern const char *const plan_fault_names[FAULTS];

struct plan_spell {
    enum plan_fault fault;
    uint32_t from_ms, until_ms; /* since the plan's start */
    uint8_t strength;
};

struct plan {
    uint64_t seed;
    unsigned markets, links; /* links 2: a pair */
    bool tops, executions, beats, fine;
    bool addresses;          /* a transfer requests some */
    bool shares;             /* client and transfer share an access */
    bool leaves;             /* an object may be left unpolled to the end */
    bool stays;              /* the caller does not close before the end */
    bool standby;            /* a pair in hot standby */
    unsigned capacity, thin; /* of books */
    unsigned depth;          /* levels of the true books */
    uint32_t length_ms, feed_ms, beat_ms;
    uint32_t away_ms; /* the caller's longest absence */
    struct plan_spell spells[PLAN_SPELLS];
    unsigned spells_len;
    struct mst_config config; /* without the endpoints */
    size_t message;           /* bytes of the message buffer */
    uint32_t rotate_ms;       /* interval of a pair's rotations */
    uint32_t put_ms;          /* a transfer's deadline */
    unsigned port_flags;
};

void plan_draw(struct plan *plan, uint64_t seed);

/* Appends a plan's settings and spells as lines. */
void plan_describe(const struct plan *plan, struct text *text);

/* ---- true books, and messages in transit ---- */

struct plan_change {
    uint8_t side, price;
    uint16_t amount; /* 0: removed */
};

/* A market's true book. Version n is the book after its n-th change; changes
 * holds the last changes. */
struct plan_book {
    uint32_t version;
    uint16_t amounts[2][PLAN_PRICES];
    struct plan_change changes[PLAN_CHANGES];
};

const struct plan_change *plan_change(const struct plan_book *book,
                                      uint32_t version);

enum plan_says {
    SAYS_OTHER,           /* neither a book nor an execution */
    SAYS_UPDATE,          /* the changes from first to version */
    SAYS_SNAPSHOT,        /* the book of this version */
    SAYS_BROKEN,          /* an update or a snapshot, malformed */
    SAYS_ANSWER,          /* version entries; first of them are readable */
    SAYS_EXECUTION,       /* the execution of this number */
    SAYS_BROKEN_EXECUTION /* the same, malformed */
};

/* The content of a message in transit. */
struct plan_message {
    enum plan_says says;
    unsigned market;
    uint32_t first, version; /* see enum plan_says */
    int64_t time_ns;
    uint64_t end; /* its last byte's position on the connection */
};

/* ---- the model ---- */

/* Why a level may be wrong without the client's knowledge: see plan_model.c. */
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

#define PLAN_GIVEN 512 /* updates of a market that are remembered */

/* What a client can know about a market's book from one connection. */
struct plan_known {
    uint32_t version;                 /* the newest one received */
    uint16_t amounts[2][PLAN_PRICES]; /* the true book of that version */
    uint32_t changed[2][PLAN_PRICES]; /* the last version that changed it */
    uint8_t excuse[2][PLAN_PRICES];   /* enum plan_excuse */
    bool snapshot;                    /* one was received */
    struct plan_message last;         /* the last snapshot */
    uint64_t snapshot_ms;             /* when the client read it */
    struct plan_message given[PLAN_GIVEN]; /* the last updates */
    uint32_t given_len;
    uint32_t gone, wished;   /* given_len at a restart; at a subscription */
    bool settled;            /* a snapshot came since the subscription */
    uint32_t broken_version; /* last malformed version; 0: requested again */
};

/* Starts a new connection. */
void plan_known_begin(struct plan_known *known, const struct plan_book *book);

/* Records a message that the client read at this time. */
void plan_known_give(struct plan_known *known, const struct plan_book *book,
                     const struct plan_message *message, uint64_t read_ms);

/* The client has reset its book: it no longer knows earlier messages. */
void plan_known_restart(struct plan_known *known);

/* The caller has subscribed the market again: its book starts from nothing. */
void plan_known_wish(struct plan_known *known);

/* The client has requested books again: any next snapshot repairs what it could
 * not read. */
void plan_known_ask(struct plan_known *known);

/* Returns false if a live book differs from what the client can know, and
 * writes the difference to text. */
bool plan_known_check(const struct plan_known *known, unsigned market,
                      const struct mst_book *book, char *text, size_t len);

/* ---- the service ---- */

enum plan_clock { CLOCK_UPDATES, CLOCK_SNAPSHOTS, CLOCK_TOPS, CLOCK_BEATS };

/* A message to be sent later on a connection. */
struct plan_later {
    uint64_t due_ms, serial; /* order among equal times */
    int link;
    uint32_t generation; /* the connection's */
    bool says;           /* message is set */
    struct plan_message message;
    char *text; /* NULL: the slot is free */
    size_t len;
};

/* Why later messages of the service are no part of the stream. */
enum plan_over {
    OVER_NOT,
    OVER_CLOSED, /* the service has sent its close frame */
    OVER_WRONG   /* its frames are malformed: the rest is lost */
};

/* The events of a connection that the caller has received: see plan_heard.c. */
struct plan_heard {
    bool open;     /* MST_EVENT_OPEN came, and no MST_EVENT_CLOSED */
    bool released; /* the caller has closed: only the end follows */
    bool due;      /* the client has read message; its event must follow */
    bool error;    /* an error came before its message was complete */
    struct plan_message message;
    bool answered; /* the client has read answer; its event must follow */
    struct plan_message answer;
    uint32_t entries; /* events since the last response */
    uint32_t lost;    /* executions without an event */
    uint32_t generation;
};

struct plan_link {
    bool open;   /* it is a stream for the service */
    bool client; /* and for the client, which has seen no end */
    uint32_t generation;
    uint64_t written, traced; /* bytes sent and read on the connection */
    uint64_t read_ms;         /* when the client last read bytes */
    bool subscribed[MST_HEARTBEAT + 1][PLAN_MARKETS];
    bool strays; /* it also has a subscription of another market */
    /* granted: subscriptions that a readable answer confirmed. blamed: the
     * service or the connection explains a failed request. */
    bool granted[MST_HEARTBEAT + 1][PLAN_MARKETS];
    bool blamed;
    uint64_t granted_ms; /* when the last one was confirmed */
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
    struct mst_mock_peer peer; /* the service's */
    uint8_t strength[FAULTS];  /* now */
    int64_t offset_ns[CLOCK_BEATS + 1];
    int64_t wall_ns; /* error of the caller's clock */
    bool wall_unset; /* the caller's clock is not set */
    uint64_t feed_due_ms, beat_due_ms, serial;
    uint32_t wait_ms;  /* longest wait that the service has caused */
    uint64_t begin_ms; /* when the spells' times start */
    uint64_t edge_ms;  /* when the next spell begins or ends */
    size_t stall_left; /* bytes that the client can send before a stall */
    uint32_t event_ms; /* time per event if the service is busy */
    uint32_t busy;     /* further messages that it may send in this plan */
    struct plan_book books[PLAN_MARKETS];
    struct plan_link links[MST_MOCK_LINKS];
    struct plan_later later[PLAN_LATER];
    char text[PLAN_TEXT];
    void (*note)(const char *format, ...); /* for the trace, or NULL */
    const char *wrong;   /* the first wrong or missing event, or NULL */
    uint64_t told, lost; /* executions in all plans */
};

/* Initialises the service of a plan over the mock. */
void exchange_begin(struct exchange *x, const struct plan *plan,
                    struct mst_mock *mock);
void exchange_end(struct exchange *x);

/* Starts the plan's spells, which may have changed, now. */
void exchange_spells(struct exchange *x);

/* Sets the strengths of the current spells. Returns when the caller acts next:
 * at the latest when a spell begins or ends. */
uint64_t exchange_next_ms(struct exchange *x);

/* Ends the plan: from now on the service is correct. */
void exchange_behave(struct exchange *x);

/* Take in that the client reads, and its trace. */
void exchange_read(struct exchange *x, int link);
void exchange_trace(struct exchange *x, const struct mst_trace *trace);

/* Sends messages if the service is busy. Returns how long the caller takes for
 * each event, in ms. */
uint32_t exchange_busy(struct exchange *x);

/* Take in each event; that no event is left; that the caller closes or has
 * wiped the object. */
void exchange_event(struct exchange *x, const struct mst_event *event);
void exchange_rest(struct exchange *x);
void exchange_release(struct exchange *x, bool wiped);

/* True if this connection has exactly the wanted subscriptions. */
bool exchange_has(const struct exchange *x, int link);

/* The first returns true if a fault happens now; the second a number below
 * n. */
bool exchange_happens(struct exchange *x, enum plan_fault fault);
uint32_t exchange_pick(struct exchange *x, uint32_t n);

extern const char *const plan_markets[PLAN_MARKETS];

/* The price with this number, in tenths. */
int64_t plan_price(unsigned market, unsigned price);

/* ---- the library's object ---- */

/* A client or a pair, with memory and books. A client uses the first of each
 * two. */
struct plan_object {
    const struct plan *plan;
    bool paired;
    struct mst_access access; /* if it is shared */
    struct mst_client client;
    struct mst_pair pair;
    struct mst_memory memory[2];
    unsigned char *bytes[2]; /* exactly as long as needed, like levels */
    struct mst_book books[2][PLAN_MARKETS];
    struct mst_level *levels[2][PLAN_MARKETS];
};

/* Starts a plan with a service over the mock, whose clock passes the middle or
 * the end of its range during the plan. */
void plan_begin(struct plan *plan, struct mst_mock *mock, struct mst_port *port,
                struct exchange *x);

/* Prepare memory and books; initialise the object with them. */
void plan_object_prepare(struct plan_object *object, const struct plan *plan);
int plan_object_init(struct plan_object *object, const struct mst_port *port);

/* Call the library's functions of these names. */
int plan_object_subscribe(struct plan_object *object, enum mst_channel channel,
                          unsigned market);
int plan_object_unsubscribe(struct plan_object *object,
                            enum mst_channel channel, unsigned market);
int plan_object_resync(struct plan_object *object, unsigned market);
int plan_object_list(struct plan_object *object);
void plan_object_close(struct plan_object *object);
void plan_object_wipe(struct plan_object *object);

/* Sets the credentials to the same again. */
void plan_object_renew(struct plan_object *object);

/* ---- requests for addresses ---- */

#define PLAN_PUT_LINK 2

/* A caller with a transfer, which reports errors to the exchange. */
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
    bool under_way, well;    /* well: the last one succeeded */
    uint64_t since_ms;       /* start, without the caller's absence */
    uint64_t records;        /* the service's records at the start */
    uint64_t back_ms;        /* the end of retry_ms */
    uint32_t serial;         /* number of the last one */
    uint64_t requests, done; /* in all plans; those that succeeded */
};

void plan_put_begin(struct plan_put *put, const struct plan_object *object,
                    struct exchange *x, const struct mst_port *port);

/* Does something that a caller may do at any time; starts a request. */
void plan_put_call(struct plan_put *put);
void plan_put_request(struct plan_put *put);

/* Take in each event; that no event is left; that the caller was away. */
void plan_put_event(struct plan_put *put, const struct mst_event *event);
void plan_put_rest(struct plan_put *put);
void plan_put_away(struct plan_put *put, uint32_t ms);

/* ---- the text of messages ---- */

struct plan_writer {
    char *text;
    size_t len, size;
    uint64_t *random;
    bool odd; /* keys in any order, unknown keys, white space */
};

/* Write a message with changes, with a whole book, and so on. */
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

/* Appends an object with these members, without those whose value is NULL. If
 * odd, values may have any type, and members may be missing or duplicate.
 * Returns true if no member is duplicate and the first two are correct. */
struct plan_member {
    const char *name, *value;
};
bool plan_write_object(struct plan_writer *w, const struct plan_member *members,
                       size_t count);

/* Makes a message unreadable, in one of many ways. False: send it as binary. */
bool plan_break(struct plan_writer *w);

/* Writes a message that is none of the above. */
void plan_garbage(struct plan_writer *w);

#endif
