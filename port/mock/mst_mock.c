/*
 * Mock port: see mst_mock.h.
 *
 * SPDX-License-Identifier: 0BSD
 */
#include "mst_mock.h"

#include <string.h>

enum { IDLE, RESOLVING, RESOLVED, CONNECTING, CONNECTED };

/* A client spins after this many polls in a row without progress, or without an
 * event or a wait. This is far more than a correct client needs. */
#define SPIN_MAX 1000
#define POLLS_MAX 1000000

/* ---- queues ---- */

/* The number of bytes that have arrived. */
static size_t queue_ready(const struct mst_mock_queue *q, uint64_t now_ms) {
    size_t ready = 0;
    for (size_t i = 0; i < q->chunks; i++) {
        size_t at = (q->chunk_at + i) % MST_MOCK_CHUNKS;
        if (q->chunk[at].due_ms > now_ms) {
            break;
        }
        ready += q->chunk[at].len;
    }
    return ready;
}

static void queue_put(struct mst_mock_queue *q, unsigned char *room,
                      size_t room_len, const void *data, size_t len,
                      uint64_t due_ms) {
    size_t end = (q->at + q->len) % room_len;
    size_t first = len < room_len - end ? len : room_len - end;
    memcpy(room + end, data, first);
    memcpy(room, (const unsigned char *)data + first, len - first);
    q->len += len;

    size_t last =
        (q->chunk_at + q->chunks + MST_MOCK_CHUNKS - 1) % MST_MOCK_CHUNKS;
    if (q->chunks > 0 &&
        (q->chunks == MST_MOCK_CHUNKS || q->chunk[last].due_ms >= due_ms)) {
        if (q->chunk[last].due_ms < due_ms) {
            q->chunk[last].due_ms = due_ms;
        }
        q->chunk[last].len += len;
        return;
    }
    last = (q->chunk_at + q->chunks++) % MST_MOCK_CHUNKS;
    q->chunk[last].due_ms = due_ms;
    q->chunk[last].len = len;
}

/* Takes up to len bytes from the front; all must have arrived. */
static size_t queue_take(struct mst_mock_queue *q, const unsigned char *room,
                         size_t room_len, void *data, size_t len) {
    size_t first = len < room_len - q->at ? len : room_len - q->at;
    memcpy(data, room + q->at, first);
    memcpy((unsigned char *)data + first, room, len - first);
    q->at = (q->at + len) % room_len;
    q->len -= len;
    for (size_t left = len; left > 0;) {
        size_t part = q->chunk[q->chunk_at].len;
        if (part > left) {
            q->chunk[q->chunk_at].len -= left;
            break;
        }
        left -= part;
        q->chunk_at = (q->chunk_at + 1) % MST_MOCK_CHUNKS;
        q->chunks--;
    }
    return len;
}

/* ---- the plan ---- */

static void mock_breach(struct mst_mock *mock, const char *what) {
    if (mock->broken == NULL) {
        mock->broken = what;
    }
}

/* Counts a call. Returns the error that it must fail with, or 0. */
static int mock_enter(struct mst_mock *mock, enum mst_mock_call call) {
    mock->calls[call]++;
    mock->calls[MST_MOCK_ANY]++;
    const struct mst_mock_plan *plan = &mock->plan;
    if (plan->fail_at == 0 ||
        (plan->fail_call != call && plan->fail_call != MST_MOCK_ANY)) {
        return 0;
    }
    uint64_t nth = mock->calls[plan->fail_call];
    uint64_t count = plan->fail_count > 0 ? plan->fail_count : 1;
    if (nth < plan->fail_at || nth - plan->fail_at >= count) {
        return 0;
    }
    mock->failed++;
    return plan->fail_error < 0 ? plan->fail_error : MST_ERR_PORT;
}

/* The link of this number, or NULL. */
static struct mst_mock_link *mock_find(struct mst_mock *mock, int link) {
    return link >= 0 && link < MST_MOCK_LINKS ? &mock->links[link] : NULL;
}

/* The same for a number that resolve has accepted. */
static struct mst_mock_link *mock_link(struct mst_mock *mock, int link) {
    if (link < 0 || link >= MST_MOCK_LINKS) {
        mock_breach(mock, "a link number out of range");
    }
    return mock_find(mock, link);
}

/* Breaks the link after a failed send or recv, as a socket would be. */
static int mock_kill(struct mst_mock *mock, int link, int error) {
    struct mst_mock_link *l = &mock->links[link];
    l->failure = error;
    if (l->told && mock->peer.closed != NULL) {
        l->told = false;
        mock->peer.closed(mock->peer.context, link);
    }
    return error;
}

/* ---- the port's functions ---- */

static int mock_resolve(void *context, int link,
                        const struct mst_endpoint *endpoint) {
    struct mst_mock *mock = context;
    const struct mst_mock_plan *plan = &mock->plan;
    struct mst_mock_link *l = mock_find(mock, link);
    int error = mock_enter(mock, MST_MOCK_RESOLVE);
    if (l == NULL) {
        return MST_ERR_ARGUMENT;
    }
    if (endpoint == NULL || endpoint->host[0] == '\0' || endpoint->port == 0) {
        mock_breach(mock, "resolve: no host or no port");
    }
    if (l->stage == CONNECTED) {
        mock_breach(mock, "resolve on a link that is connected");
    }
    if (error != 0) {
        return error;
    }
    if (l->stage != RESOLVING) {
        l->stage = RESOLVING;
        l->endpoint = endpoint;
        l->due_ms = mock->elapsed_ms + plan->resolve_ms;
    }
    if (mock->elapsed_ms < l->due_ms || l->frozen ||
        plan->resolve_error == MST_MOCK_NEVER) {
        return 0;
    }
    l->stage = plan->resolve_error < 0 ? IDLE : RESOLVED;
    l->address = -1;
    if (plan->resolve_error < 0) {
        return plan->resolve_error;
    }
    mock->moved++;
    return plan->addresses > 0 ? plan->addresses : 1;
}

/* Removes all traces of an earlier connection. */
static void link_clear(struct mst_mock_link *l) {
    memset(&l->in, 0, sizeof l->in);
    memset(&l->out, 0, sizeof l->out);
    l->end = 0;
    l->failure = 0;
    l->told = false;
    l->frozen = false;
    l->drip_ms = 0;
}

static int mock_connect(void *context, int link, int address) {
    struct mst_mock *mock = context;
    const struct mst_mock_plan *plan = &mock->plan;
    struct mst_mock_link *l = mock_link(mock, link);
    int error = mock_enter(mock, MST_MOCK_CONNECT);
    if (l == NULL) {
        return MST_ERR_PORT;
    }
    int count = plan->addresses > 0 ? plan->addresses : 1;
    if ((l->stage != RESOLVED && l->stage != CONNECTING) || address < 0 ||
        address >= count) {
        mock_breach(mock, "connect: not resolved, or no such address");
        return MST_ERR_PORT;
    }
    if (error != 0) {
        return error;
    }
    if (l->stage == RESOLVED || l->address != address) {
        l->stage = CONNECTING;
        l->address = address;
        l->frozen = false;
        l->due_ms = mock->elapsed_ms + plan->connect_ms;
    }
    int result = plan->connect_error[address % MST_MOCK_ADDRESSES];
    if (mock->elapsed_ms < l->due_ms || l->frozen || result == MST_MOCK_NEVER) {
        return 0;
    }
    if (result < 0) {
        l->stage = RESOLVED;
        l->address = -1;
        return result;
    }
    mock->moved++;
    link_clear(l);
    l->stage = CONNECTED;
    l->told = true;
    mock->connects++;
    if (mock->peer.opened != NULL) {
        mock->peer.opened(mock->peer.context, link, l->endpoint);
    }
    return 1;
}

/* Passes arrived bytes of the client to the peer. */
static void mock_deliver(struct mst_mock *mock, int link) {
    struct mst_mock_link *l = &mock->links[link];
    unsigned char piece[1024];
    while (l->stage == CONNECTED && l->end == 0 && l->told) {
        size_t len = queue_ready(&l->out, mock->elapsed_ms);
        if (len > sizeof piece) {
            len = sizeof piece;
        }
        if (len == 0) {
            break;
        }
        queue_take(&l->out, l->out_data, sizeof l->out_data, piece, len);
        if (mock->peer.received != NULL) {
            mock->peer.received(mock->peer.context, link, piece, len);
        }
    }
}

/* The end that the peer has set, if it has arrived after its bytes. */
static int link_ended(const struct mst_mock *mock,
                      const struct mst_mock_link *l) {
    return l->end != 0 && l->in.len == 0 && mock->elapsed_ms >= l->end_ms &&
                   !l->frozen
               ? l->end
               : 0;
}

static size_t link_send_room(const struct mst_mock *mock,
                             const struct mst_mock_link *l) {
    size_t room = MST_MOCK_OUT_LEN - l->out.len;
    if (mock->plan.send_max > 0 && room > mock->plan.send_max) {
        room = mock->plan.send_max;
    }
    return mock->plan.send_stall || l->stalled ? 0 : room;
}

static int mock_send(void *context, int link, const void *data, size_t len) {
    struct mst_mock *mock = context;
    struct mst_mock_link *l = mock_link(mock, link);
    int error = mock_enter(mock, MST_MOCK_SEND);
    if (l == NULL || l->stage != CONNECTED || len == 0) {
        mock_breach(mock, "send: not connected, or no bytes");
        return MST_ERR_PORT;
    }
    if (error != 0) {
        return mock_kill(mock, link, error);
    }
    if (l->failure != 0) {
        return l->failure;
    }
    error = link_ended(mock, l);
    if (error != 0 && error != MST_ERR_EOF) {
        return mock_kill(mock, link, error);
    }
    size_t room = link_send_room(mock, l);
    if (len > room) {
        len = room;
    }
    if (len == 0) {
        return 0;
    }
    mock->moved++;
    mock->bytes_out += len;
    /* Bytes after the peer's end, or on a half-open link, are lost. */
    if (l->frozen || l->end != 0) {
        return (int)len;
    }
    queue_put(&l->out, l->out_data, sizeof l->out_data, data, len,
              mock->elapsed_ms + mock->plan.data_ms);
    mock_deliver(mock, link);
    return (int)len;
}

/* The number of bytes that recv may return now. */
static size_t link_readable(const struct mst_mock *mock,
                            const struct mst_mock_link *l) {
    const struct mst_mock_plan *plan = &mock->plan;
    size_t len = queue_ready(&l->in, mock->elapsed_ms);
    if (l->frozen || (plan->drip > 0 && mock->elapsed_ms < l->drip_ms)) {
        return 0;
    }
    size_t drip = plan->drip >= 1000 ? plan->drip / 1000 : 1;
    if (plan->drip > 0 && len > drip) {
        len = drip;
    }
    if (plan->recv_max > 0 && len > plan->recv_max) {
        len = plan->recv_max;
    }
    return len;
}

/* Limits a read at the place where the plan cuts the stream: bytes up to it,
 * then once nothing, then the rest. */
static size_t mock_cut(struct mst_mock *mock, size_t len) {
    const uint64_t cut_at = mock->plan.cut_at;
    if (cut_at > mock->bytes_in && cut_at - mock->bytes_in < len) {
        return (size_t)(cut_at - mock->bytes_in);
    }
    if (len > 0 && cut_at > 0 && cut_at == mock->bytes_in &&
        mock->cut_done != cut_at) {
        mock->cut_done = cut_at;
        mock->moved++;
        return 0;
    }
    return len;
}

static int mock_recv(void *context, int link, void *data, size_t len) {
    struct mst_mock *mock = context;
    const struct mst_mock_plan *plan = &mock->plan;
    struct mst_mock_link *l = mock_link(mock, link);
    int error = mock_enter(mock, MST_MOCK_RECV);
    if (l == NULL || l->stage != CONNECTED || len == 0) {
        mock_breach(mock, "recv: not connected, or no room");
        return MST_ERR_PORT;
    }
    if (error != 0) {
        return mock_kill(mock, link, error);
    }
    if (l->failure != 0) {
        return l->failure;
    }
    error = link_ended(mock, l);
    if (error != 0) {
        return error == MST_ERR_EOF ? error : mock_kill(mock, link, error);
    }
    size_t ready = link_readable(mock, l);
    if (len > ready) {
        len = ready;
    }
    len = mock_cut(mock, len);
    if (len == 0) {
        return 0;
    }
    mock->moved++;
    mock->bytes_in += len;
    queue_take(&l->in, l->in_data, sizeof l->in_data, data, len);
    if (plan->drip > 0) {
        l->drip_ms =
            mock->elapsed_ms + (plan->drip < 1000 ? 1000 / plan->drip : 1);
    }
    if (l->in.len == 0 && l->end == 0 && mock->peer.drained != NULL) {
        mock->peer.drained(mock->peer.context, link);
    }
    return (int)len;
}

static void mock_close(void *context, int link) {
    struct mst_mock *mock = context;
    struct mst_mock_link *l = mock_find(mock, link);
    if (l == NULL) {
        return;
    }
    bool told = l->told;
    link_clear(l);
    l->stage = IDLE;
    l->endpoint = NULL;
    if (told && mock->peer.closed != NULL) {
        mock->peer.closed(mock->peer.context, link);
    }
}

static uint32_t mock_now_ms(void *context) {
    const struct mst_mock *mock = context;
    return (uint32_t)(mock->start_ms + mock->elapsed_ms);
}

static uint64_t mock_now_ns(void *context) {
    const struct mst_mock *mock = context;
    return (mock->start_ms + mock->elapsed_ms) * UINT64_C(1000000);
}

static int mock_unix_ns(void *context, int64_t *ns) {
    struct mst_mock *mock = context;
    int error = mock_enter(mock, MST_MOCK_UNIX_NS);
    if (error != 0) {
        return error;
    }
    if (mock->plan.clock_unset) {
        return MST_ERR_CLOCK;
    }
    *ns = mst_mock_wall(mock);
    return 0;
}

static int mock_entropy(void *context, void *data, size_t len) {
    struct mst_mock *mock = context;
    int error = mock_enter(mock, MST_MOCK_ENTROPY);
    if (error != 0) {
        return error;
    }
    if (mock->plan.entropy_none) {
        return MST_ERR_ENTROPY;
    }
    mst_mock_random(mock, data, len);
    return 0;
}

static int mock_detail(void *context, int link) {
    (void)link;
    return ((const struct mst_mock *)context)->plan.detail;
}

/* ---- for the test ---- */

void mst_mock_init(struct mst_mock *mock, struct mst_port *port,
                   uint64_t seed) {
    memset(mock, 0, sizeof *mock);
    mock->random = seed;
    mock->wall_ns = MST_MOCK_WALL_NS;
    mock->wake_ms = MST_MOCK_NO_TIME;
    memset(port, 0, sizeof *port);
    port->context = mock;
    port->flags = MST_PORT_SECURE;
    port->resolve = mock_resolve;
    port->connect = mock_connect;
    port->send = mock_send;
    port->recv = mock_recv;
    port->close = mock_close;
    port->now_ms = mock_now_ms;
    port->unix_ns = mock_unix_ns;
    port->entropy = mock_entropy;
    port->now_ns = mock_now_ns;
    port->detail = mock_detail;
}

void mst_mock_set_now(struct mst_mock *mock, uint32_t now_ms) {
    mock->start_ms = now_ms - (uint32_t)mock->elapsed_ms;
}

void mst_mock_set_wall(struct mst_mock *mock, int64_t unix_ns) {
    mock->wall_ns = unix_ns - (int64_t)mock->elapsed_ms * 1000000;
}

int64_t mst_mock_wall(const struct mst_mock *mock) {
    return mock->wall_ns + (int64_t)mock->elapsed_ms * 1000000;
}

uint64_t mst_mock_elapsed(const struct mst_mock *mock) {
    return mock->elapsed_ms;
}

/* The earlier of two times; the second counts only if it is in the future. */
static uint64_t time_min(uint64_t best, uint64_t time, uint64_t now_ms) {
    return time > now_ms && time < best ? time : best;
}

/* When the peer's next callback is due. */
static uint64_t mock_peer_due(const struct mst_mock *mock) {
    uint64_t now = mock->elapsed_ms;
    uint64_t due = time_min(MST_MOCK_NO_TIME, mock->wake_ms, now);
    for (int i = 0; i < MST_MOCK_LINKS; i++) {
        const struct mst_mock_queue *q = &mock->links[i].out;
        if (q->chunks > 0) {
            due = time_min(due, q->chunk[q->chunk_at].due_ms, now);
        }
    }
    return due;
}

uint64_t mst_mock_next(const struct mst_mock *mock) {
    uint64_t now = mock->elapsed_ms;
    uint64_t due = mock_peer_due(mock);
    for (int i = 0; i < MST_MOCK_LINKS; i++) {
        const struct mst_mock_link *l = &mock->links[i];
        if (l->stage == RESOLVING || l->stage == CONNECTING) {
            due = time_min(due, l->due_ms, now);
        }
        if (l->stage != CONNECTED || l->frozen) {
            continue;
        }
        if (l->in.chunks > 0) {
            due = time_min(due, l->in.chunk[l->in.chunk_at].due_ms, now);
            if (mock->plan.drip > 0) {
                due = time_min(due, l->drip_ms, now);
            }
        }
        if (l->end != 0) {
            due = time_min(due, l->end_ms, now);
        }
    }
    return due == MST_MOCK_NO_TIME ? due : due - now;
}

static void mock_work(struct mst_mock *mock) {
    for (int i = 0; i < MST_MOCK_LINKS; i++) {
        mock_deliver(mock, i);
    }
    if (mock->elapsed_ms >= mock->wake_ms) {
        mock->wake_ms = MST_MOCK_NO_TIME;
        if (mock->peer.tick != NULL) {
            mock->peer.tick(mock->peer.context, mock->elapsed_ms);
        }
    }
}

void mst_mock_advance(struct mst_mock *mock, uint32_t ms) {
    uint64_t target = mock->elapsed_ms + ms;
    for (;;) {
        uint64_t due = mock_peer_due(mock);
        if (due > target) {
            break;
        }
        mock->elapsed_ms = due;
        mock_work(mock);
    }
    mock->elapsed_ms = target;
}

size_t mst_mock_room(const struct mst_mock *mock, int link) {
    if (link < 0 || link >= MST_MOCK_LINKS) {
        return 0;
    }
    const struct mst_mock_link *l = &mock->links[link];
    return l->stage == CONNECTED && l->end == 0 && l->failure == 0
               ? MST_MOCK_IN_LEN - l->in.len
               : 0;
}

size_t mst_mock_write(struct mst_mock *mock, int link, const void *data,
                      size_t len) {
    size_t room = mst_mock_room(mock, link);
    if (len > room) {
        len = room;
    }
    if (len == 0) {
        return 0;
    }
    struct mst_mock_link *l = &mock->links[link];
    if (mock->plan.drip > 0 && l->in.len == 0 &&
        l->drip_ms <= mock->elapsed_ms) {
        l->drip_ms = mock->elapsed_ms +
                     (mock->plan.drip < 1000 ? 1000 / mock->plan.drip : 1);
    }
    queue_put(&l->in, l->in_data, sizeof l->in_data, data, len,
              mock->elapsed_ms + mock->plan.data_ms);
    return len;
}

void mst_mock_end(struct mst_mock *mock, int link, int error) {
    struct mst_mock_link *l = mock_link(mock, link);
    if (l == NULL || l->stage != CONNECTED || l->end != 0) {
        return;
    }
    l->end = error;
    l->end_ms = mock->elapsed_ms + mock->plan.data_ms;
}

void mst_mock_wake(struct mst_mock *mock, uint32_t ms) {
    uint64_t due = mock->elapsed_ms + (ms > 0 ? ms : 1);
    if (due < mock->wake_ms) {
        mock->wake_ms = due;
    }
}

bool mst_mock_in_use(const struct mst_mock *mock, int link) {
    return link >= 0 && link < MST_MOCK_LINKS &&
           mock->links[link].stage != IDLE;
}

void mst_mock_freeze(struct mst_mock *mock, int link) {
    struct mst_mock_link *l = mock_link(mock, link);
    if (l != NULL && l->stage != IDLE) {
        l->frozen = true;
    }
}

void mst_mock_stall(struct mst_mock *mock, int link, bool stalled) {
    struct mst_mock_link *l = mock_link(mock, link);
    if (l != NULL) {
        l->stalled = stalled;
    }
}

void mst_mock_random(struct mst_mock *mock, void *data, size_t len) {
    unsigned char *out = data;
    for (size_t i = 0; i < len; i++) {
        /* splitmix64 (Steele, Lea, Flood 2014) */
        uint64_t z = mock->random += UINT64_C(0x9E3779B97F4A7C15);
        z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
        z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
        out[i] = (unsigned char)((z ^ (z >> 31)) >> 24);
    }
}

/* ---- the loop ---- */

/* True if a program that waits for this on a link would wake up now. */
static bool mock_link_ready(const struct mst_mock *mock, int link,
                            unsigned wants) {
    const struct mst_mock_link *l = &mock->links[link];
    const struct mst_mock_plan *plan = &mock->plan;
    bool due = mock->elapsed_ms >= l->due_ms && !l->frozen;
    if (l->stage == RESOLVING) {
        return due && plan->resolve_error != MST_MOCK_NEVER;
    }
    if (l->stage == CONNECTING) {
        return due && plan->connect_error[l->address % MST_MOCK_ADDRESSES] !=
                          MST_MOCK_NEVER;
    }
    int end = l->failure != 0 ? l->failure : link_ended(mock, l);
    /* After the peer's end, sends may still succeed. */
    bool dead = end != 0 && end != MST_ERR_EOF;
    return l->stage == CONNECTED &&
           (((wants & MST_WANT_READ) != 0 &&
             (end != 0 || link_readable(mock, l) > 0)) ||
            ((wants & MST_WANT_WRITE) != 0 &&
             (dead || link_send_room(mock, l) > 0)));
}

/* Polls the objects in turn, starting with *turn, until one has an event, and
 * advances *turn. Returns true with an event. */
static bool mock_poll(const struct mst_mock_object *objects, size_t count,
                      size_t *turn, struct mst_event *event, size_t *closed) {
    *closed = 0;
    for (size_t i = 0; i < count; i++) {
        const struct mst_mock_object *o = &objects[*turn];
        *turn = (*turn + 1) % count;
        int rc = o->poll(o->object, event);
        if (rc > 0) {
            return true;
        }
        *closed += rc < 0;
    }
    return false;
}

/* How long the objects let a program sleep, ms; 0 if one is ready. */
static uint64_t mock_sleep(const struct mst_mock *mock,
                           const struct mst_mock_object *objects,
                           size_t count) {
    uint64_t wait = UINT64_MAX;
    for (size_t i = 0; i < count * 2; i++) {
        const struct mst_link *link = objects[i / 2].links[i % 2];
        if (link != NULL) {
            uint64_t left = mst_next_deadline_ms(link);
            bool off = mst_link_state(link) == MST_STATE_OFF;
            if (!off &&
                mock_link_ready(mock, mst_link_number(link), mst_wants(link))) {
                left = 0;
            }
            wait = !off && left < wait ? left : wait;
        }
    }
    return wait;
}

uint32_t mst_mock_run_objects(struct mst_mock *mock,
                              const struct mst_mock_object *objects,
                              size_t count, uint32_t budget_ms,
                              bool (*on_event)(void *context,
                                               const struct mst_event *event),
                              void *context) {
    uint64_t start = mock->elapsed_ms;
    uint64_t moved = mock->moved;
    unsigned idle = 0, polls = 0;
    size_t turn = 0;
    for (;;) {
        struct mst_event event;
        size_t closed;
        if (mock_poll(objects, count, &turn, &event, &closed)) {
            idle = 0;
            polls = 0;
            if (on_event != NULL && !on_event(context, &event)) {
                break;
            }
            /* Events may keep coming while on_event lets time pass. */
            if (mock->elapsed_ms - start > budget_ms) {
                break;
            }
            continue;
        }
        if (closed == count) {
            break;
        }
        uint64_t wait = mock_sleep(mock, objects, count);
        if (wait == 0) {
            idle = moved == mock->moved ? idle + 1 : 0;
            moved = mock->moved;
            if (idle < SPIN_MAX && ++polls < POLLS_MAX) {
                continue;
            }
            mock_breach(mock, "the client spins: no event, no progress");
            wait = 1;
        }
        idle = 0;
        polls = 0;
        uint64_t due = mst_mock_next(mock);
        if (wait > due) {
            wait = due;
        }
        uint64_t passed = mock->elapsed_ms - start;
        if (passed >= budget_ms) {
            break;
        }
        uint64_t left = budget_ms - passed;
        mst_mock_advance(mock, (uint32_t)(wait < left ? wait : left));
    }
    return (uint32_t)(mock->elapsed_ms - start);
}

static int mock_poll_client(void *object, struct mst_event *event) {
    return mst_poll(object, event);
}

uint32_t mst_mock_run(struct mst_mock *mock, struct mst_client *client,
                      uint32_t budget_ms,
                      bool (*on_event)(void *context,
                                       const struct mst_event *event),
                      void *context) {
    const struct mst_mock_object object = {
        mock_poll_client, client, {&client->link}};
    return mst_mock_run_objects(mock, &object, 1, budget_ms, on_event, context);
}

uint32_t mst_mock_run_until(struct mst_mock *mock, struct mst_client *client,
                            uint64_t at_ms,
                            bool (*on_event)(void *context,
                                             const struct mst_event *event),
                            void *context) {
    uint64_t left = at_ms > mock->elapsed_ms ? at_ms - mock->elapsed_ms : 0;

    return mst_mock_run(mock, client,
                        left < UINT32_MAX ? (uint32_t)left : UINT32_MAX,
                        on_event, context);
}
