/*
 * The port with faults: see torture.h. It is directly above the mock, below
 * other ports of a scenario.
 *
 * SPDX-License-Identifier: 0BSD
 */
#include "torture.h"

struct torture_port torture_port;

/* What calls return if the peer has closed, and if they fail; 0: impossible. */
static const struct {
    int end, error;
} says[TORTURE_KINDS] = {
    [TORTURE_RESOLVE] = {0, MST_ERR_RESOLVE},
    [TORTURE_CONNECT] = {MST_ERR_RESET, MST_ERR_REFUSED},
    [TORTURE_SEND] = {MST_ERR_RESET, MST_ERR_PORT},
    [TORTURE_RECV] = {MST_ERR_EOF, MST_ERR_RESET},
    [TORTURE_UNIX_NS] = {0, MST_ERR_CLOCK},
    [TORTURE_ENTROPY] = {0, MST_ERR_ENTROPY},
    [TORTURE_LOAD] = {0, MST_ERR_PORT},
};

bool torture_applies(enum torture_kind kind, enum torture_action action) {
    bool moves = kind == TORTURE_SEND || kind == TORTURE_RECV;

    switch (action) {
    case TORTURE_ONE: return moves;
    case TORTURE_LATER:
    case TORTURE_NEVER: return kind <= TORTURE_RECV;
    case TORTURE_END: return says[kind].end != 0;
    default: return true;
    }
}

bool torture_is_held(void) {
    bool held = false;

    for (int i = 0; i < MST_MOCK_LINKS; i++) {
        held |= torture_port.links[i].held || torture_port.links[i].ended;
    }
    return held;
}

static void breach(const char *what) {
    if (torture_port.broken == NULL) {
        torture_port.broken = what;
    }
}

/* ---- the fault of a call or byte ---- */

static void fire(size_t i) {
    torture_port.fired[i] = true;
    torture_port.fired_len++;
    torture_port.fired_ms = session_now();
}

/* Counts a call. Returns the action at it, or TORTURE_ACTIONS. */
static enum torture_action enter(enum torture_kind kind) {
    struct torture_port *p = &torture_port;
    uint32_t n = p->at[TORTURE_CALL]++;

    if (n < TORTURE_CALLS) {
        p->kinds[n] = (uint8_t)kind;
    }
    for (size_t i = 0; i < p->len; i++) {
        const struct torture_fault *f = &p->faults[i];
        if (f->where == TORTURE_CALL && f->at == n + 1 && !p->fired[i] &&
            torture_applies(kind, f->action)) {
            fire(i);
            return f->action;
        }
    }
    return TORTURE_ACTIONS;
}

/* Shortens a move of bytes to end at the next fault. Returns the action of a
 * fault at the current byte, or TORTURE_ACTIONS. */
static enum torture_action reach(enum torture_where where, size_t *len) {
    struct torture_port *p = &torture_port;
    enum torture_action action = TORTURE_ACTIONS;

    for (size_t i = 0; i < p->len; i++) {
        const struct torture_fault *f = &p->faults[i];
        if (f->where != where || p->fired[i] || f->at < p->at[where]) {
            continue;
        }
        if (f->at > p->at[where]) {
            size_t left = f->at - p->at[where];
            *len = *len < left ? *len : left;
        } else if (action == TORTURE_ACTIONS) {
            action = f->action;
            fire(i);
        }
    }
    return action;
}

/* ---- calls ---- */

/* From now on the link receives nothing. */
static void freeze(int link) {
    torture_port.links[link].held = true;
    mst_mock_freeze(&session.mock, link);
}

static int error_of(enum torture_kind kind, enum torture_action action) {
    return action == TORTURE_END ? says[kind].end : says[kind].error;
}

/* Prepares a call of resolve or connect; before: it repeats an earlier one.
 * Returns true if it is not passed on now. A delayed first call takes a
 * millisecond more; a delayed repetition is not passed on. */
static bool is_put_off(enum torture_kind kind, enum torture_action action,
                       bool before, uint32_t *takes_ms) {
    if (action == TORTURE_LATER || action == TORTURE_NEVER) {
        *takes_ms += before ? 0 : 1;
        return before;
    }
    if (action != TORTURE_ACTIONS) {
        session_fail_next(kind == TORTURE_RESOLVE ? MST_MOCK_RESOLVE
                                                  : MST_MOCK_CONNECT,
                          error_of(kind, action));
    }
    return false;
}

static int port_resolve(void *context, int link,
                        const struct mst_endpoint *endpoint) {
    struct torture_link *l = &torture_port.links[link];
    uint32_t *takes_ms = &session.mock.plan.resolve_ms, usual = *takes_ms;
    enum torture_action action = enter(TORTURE_RESOLVE);
    int rc = 0;

    if (!is_put_off(TORTURE_RESOLVE, action, l->resolves, takes_ms)) {
        rc = torture_port.below.resolve(context, link, endpoint);
    }
    if (action == TORTURE_NEVER) {
        freeze(link);
    }
    l->in_use = true;
    l->resolves = rc == 0;
    l->address = -1;
    *takes_ms = usual;
    session.mock.plan.fail_at = 0;
    return rc;
}

static int port_connect(void *context, int link, int address) {
    struct torture_link *l = &torture_port.links[link];
    uint32_t *takes_ms = &session.mock.plan.connect_ms, usual = *takes_ms;
    enum torture_action action = enter(TORTURE_CONNECT);
    bool before = l->address == address;
    int rc = 0;

    if (!is_put_off(TORTURE_CONNECT, action, before, takes_ms)) {
        rc = torture_port.below.connect(context, link, address);
    }
    l->held &= before;
    if (action == TORTURE_NEVER) {
        freeze(link);
    }
    l->address = rc == 0 ? address : -1;
    *takes_ms = usual;
    session.mock.plan.fail_at = 0;
    return rc;
}

/* Prepares a call that moves bytes. Returns its action. */
static enum torture_action moves(enum torture_kind kind, size_t *len) {
    enum torture_where where = kind == TORTURE_SEND ? TORTURE_OUT : TORTURE_IN;
    enum torture_action action = enter(kind);

    if (action == TORTURE_ACTIONS) {
        action = reach(where, len);
    }
    if (action == TORTURE_ONE) {
        *len = 1;
    } else if (action == TORTURE_END || action == TORTURE_ERROR) {
        session_fail_next(kind == TORTURE_SEND ? MST_MOCK_SEND : MST_MOCK_RECV,
                          error_of(kind, action));
    }
    return action;
}

static int port_send(void *context, int link, const void *data, size_t len) {
    struct torture_link *l = &torture_port.links[link];
    enum torture_action action = moves(TORTURE_SEND, &len);
    int n;

    if (l->no_send) {
        breach("send after an error of send");
    }
    if (action == TORTURE_LATER) {
        return 0;
    }
    if (action == TORTURE_NEVER) {
        l->held = true;
        mst_mock_stall(&session.mock, link, true);
    }
    if (action == TORTURE_ERROR) {
        /* What the peer sent earlier still arrives. */
        n = says[TORTURE_SEND].error;
        mst_mock_end(&session.mock, link, n);
    } else if (l->ended && session.mock.plan.fail_at == 0) {
        n = (int)len;
    } else {
        n = torture_port.below.send(context, link, data, len);
    }
    session.mock.plan.fail_at = 0;
    l->no_send |= n < 0;
    torture_port.at[TORTURE_OUT] += n > 0 ? (uint32_t)n : 0;
    return n;
}

static int port_recv(void *context, int link, void *data, size_t len) {
    struct torture_link *l = &torture_port.links[link];
    enum torture_action action = moves(TORTURE_RECV, &len);
    int n;

    if (l->no_recv) {
        breach("recv after its end, or an error");
    }
    if (action == TORTURE_LATER) {
        return 0;
    }
    if (action == TORTURE_NEVER) {
        freeze(link);
    }
    n = torture_port.below.recv(context, link, data, len);
    session.mock.plan.fail_at = 0;
    l->no_recv |= n < 0;
    l->ended |= action == TORTURE_END;
    if (n > 0) {
        torture_port.at[TORTURE_IN] += (uint32_t)n;
        l->heard_ms = session_now();
    }
    return n;
}

static void port_close(void *context, int link) {
    torture_port.closes++;
    memset(&torture_port.links[link], 0, sizeof torture_port.links[link]);
    mst_mock_stall(&session.mock, link, false);
    torture_port.below.close(context, link);
}

static int port_unix_ns(void *context, int64_t *ns) {
    enum torture_action action = enter(TORTURE_UNIX_NS);

    return action == TORTURE_ACTIONS ? torture_port.below.unix_ns(context, ns)
                                     : error_of(TORTURE_UNIX_NS, action);
}

static int port_entropy(void *context, void *data, size_t len) {
    enum torture_action action = enter(TORTURE_ENTROPY);

    return action == TORTURE_ACTIONS
               ? torture_port.below.entropy(context, data, len)
               : error_of(TORTURE_ENTROPY, action);
}

static int port_load(void *context, const uint8_t key[MST_TOKEN_KEY_LEN],
                     char *token, size_t cap, int64_t *until_s) {
    enum torture_action action = enter(TORTURE_LOAD);

    return action == TORTURE_ACTIONS ? torture_port.below.token_load(
                                           context, key, token, cap, until_s)
                                     : error_of(TORTURE_LOAD, action);
}

void torture_port_begin(const struct torture_fault *faults, size_t len) {
    struct torture_port *p = &torture_port;
    struct mst_port *port = &session.port;

    memset(p, 0, sizeof *p);
    p->harmless = p->quick = true;
    for (; p->len < len; p->len++) {
        p->faults[p->len] = faults[p->len];
        p->harmless &= faults[p->len].action <= TORTURE_LATER;
        p->quick &= faults[p->len].action != TORTURE_NEVER;
    }
    p->below = *port;
    port->resolve = port_resolve;
    port->connect = port_connect;
    port->send = port_send;
    port->recv = port_recv;
    port->close = port_close;
    port->unix_ns = port_unix_ns;
    port->entropy = port_entropy;
    port->token_load = port->token_load != NULL ? port_load : NULL;
}

/* ---- as text ---- */

static const char *const wheres[TORTURE_WHERES] = {"call", "in", "out"};
static const char *const actions[TORTURE_ACTIONS] = {"one", "later", "never",
                                                     "end", "error"};

void torture_fault_write(char out[40], const struct torture_fault *fault) {
    snprintf(out, 40, "%s:%u:%s", wheres[fault->where], fault->at,
             actions[fault->action]);
}

/* Returns the index of the word before the text's colon or end, or count. */
static unsigned word_read(const char *text, const char *const *words,
                          unsigned count) {
    size_t len = strcspn(text, ":");
    unsigned i = 0;

    while (i < count &&
           (strlen(words[i]) != len || strncmp(text, words[i], len) != 0)) {
        i++;
    }
    return i;
}

bool torture_fault_read(const char *text, struct torture_fault *fault) {
    unsigned where = word_read(text, wheres, TORTURE_WHERES), action;
    const char *at = strchr(text, ':');
    char *rest;

    if (where == TORTURE_WHERES || at == NULL) {
        return false;
    }
    fault->where = (enum torture_where)where;
    fault->at = (uint32_t)strtoul(at + 1, &rest, 10);
    action = *rest == ':' ? word_read(rest + 1, actions, TORTURE_ACTIONS)
                          : TORTURE_ACTIONS;
    fault->action = (enum torture_action)action;
    return action < TORTURE_ACTIONS;
}
