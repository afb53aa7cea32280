/*
 * The current faults of a service that acts on a plan: see plan.h.
 *
 * SPDX-License-Identifier: 0BSD
 */
#include "plan_private.h"

#define BODY(body) "Content-Length: " body

/* Bad responses, and some that end too early. The first PERMANENT are permanent
 * errors. */
#define PERMANENT 3
static const char *const responses[] = {
    "HTTP/1.1 400 No\r\n" BODY("26\r\n\r\n{\"error\":\"invalid_client\"}"),
    "HTTP/1.1 400 No\r\n" BODY("25\r\n\r\n{\"error\":\"invalid_scope\"}"),
    "HTTP/1.1 401 No\r\n" BODY("30\r\n\r\n{\"error\":\"unauthorized_client\"}"),
    "HTTP/1.1 400 No\r\n" BODY("17\r\n\r\n{\"error\":\"\xC3\xA9!\"}"),
    "HTTP/1.1 422 No\r\nContent-Type: application/problem+json\r\n" BODY(
        "30\r\n\r\n{\"title\":\"no\",\"status\":\"422\"}"),
    "HTTP/1.1 200 OK\r\n" BODY("2\r\n\r\n{}"),
    "HTTP/1.1 200 OK\r\n" BODY("7\r\n\r\nno JSON"),
    "HTTP/1.1 200 OK\r\n" BODY("18\r\n\r\n{\"access_token\":7}"),
    "HTTP/1.1 200 OK\r\n" BODY("44\r\n\r\n{\"access_token\":\"a b\","
                               "\"token_type\":\"bearer\"}"),
    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n{\"acc",
    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
    "HTTP/1.1 200 OK\r\n\r\n{\"address\":{\"id\":7}}",
    "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n\r\n",
    "HTTP/1.1 307 Elsewhere\r\nLocation: https://other.example/\r\n\r\n",
    "HTTP/1.1 200 OK\r\nContent-Le",
    "HTTP/2 200\r\n\r\n",
    "what?\r\n",
    "",
};

void exchange_waits(struct exchange *x, uint32_t ms) {
    x->wait_ms = ms > x->wait_ms ? ms : x->wait_ms;
}

/* Returns a status of failure, usually a common one. */
static int status_draw(struct exchange *x) {
    static const int statuses[] = {401, 403, 404, 408, 429, 500, 503};
    uint32_t at = exchange_pick(x, 2 * COUNT(statuses));

    return at < COUNT(statuses) ? statuses[at]
                                : 300 + (int)exchange_pick(x, 300);
}

static void script_draw(struct exchange *x, struct service_script *script) {
    static const int ends[] = {0, MST_ERR_EOF, MST_ERR_RESET};
    uint32_t at;

    switch (exchange_pick(x, 6)) {
    case 0: script->never = true; break;
    case 1: script->delay_ms = exchange_pick(x, 8000); break;
    case 2:
    case 3:
        at = exchange_pick(x, exchange_pick(x, 3) == 0 ? PERMANENT
                                                       : COUNT(responses));
        if (at < PERMANENT) {
            exchange_waits(x, x->plan->config.backoff_slow_ms);
        }
        script->raw = responses[at];
        script->raw_end = ends[exchange_pick(x, COUNT(ends))];
        break;
    default:
        script->status = status_draw(x);
        script->retry_s =
            exchange_pick(x, 2) == 0 ? 0 : 1 + exchange_pick(x, 119);
        script->retry_date = exchange_pick(x, 2) == 0;
        if (script->status == 403) {
            exchange_waits(x, x->plan->config.backoff_slow_ms);
        }
        if (script->status == 429 || script->retry_s > 0) {
            bool told = script->retry_s > 0 && !script->retry_date;
            exchange_waits(x, (told ? script->retry_s : 300) * PLAN_SECOND);
        }
        break;
    }
}

static void connect_draw(struct exchange *x) {
    static const int errors[] = {MST_ERR_REFUSED, MST_ERR_UNREACHABLE,
                                 MST_MOCK_NEVER, MST_ERR_TLS_ISSUER};
    static const int resolve[] = {MST_ERR_RESOLVE, MST_ERR_PORT,
                                  MST_MOCK_NEVER};
    int error = errors[exchange_pick(x, COUNT(errors))];

    if (error == MST_ERR_TLS_ISSUER) { /* or another error of TLS */
        error -= (int)exchange_pick(x, 9);
        exchange_waits(x, x->plan->config.backoff_slow_ms);
    }
    if (exchange_pick(x, 3) == 0) {
        x->mock->plan.resolve_error = resolve[exchange_pick(x, COUNT(resolve))];
    }
    x->mock->plan.connect_error[0] = error;
    x->mock->plan.connect_error[1] = exchange_pick(x, 3) == 0 ? 0 : error;
}

static void port_draw(struct exchange *x) {
    static const int errors[] = {MST_ERR_PORT, MST_ERR_RESET,
                                 MST_ERR_UNREACHABLE};
    struct mst_mock_plan *plan = &x->mock->plan;

    plan->fail_call = (enum mst_mock_call)exchange_pick(x, MST_MOCK_ANY + 1);
    plan->fail_at = x->mock->calls[plan->fail_call] + 1 + exchange_pick(x, 20);
    plan->fail_count = 1 + exchange_pick(x, 30);
    plan->fail_error = errors[exchange_pick(x, COUNT(errors))];
}

static void line_draw(struct exchange *x) {
    struct mst_mock_plan *plan = &x->mock->plan;

    *plan = (struct mst_mock_plan){
        .resolve_ms = 20, .connect_ms = 30, .data_ms = 10, .addresses = 2};
    plan->entropy_none = x->strength[FAULT_ENTROPY] > 0;
    if (x->strength[FAULT_BUSY] > 0) {
        plan->data_ms = 0; /* sent data arrives by the next poll */
    }
    if (x->strength[FAULT_DRIP] > 0) {
        plan->drip = 1 + exchange_pick(x, 200);
    }
    if (x->strength[FAULT_PORT] > 0) {
        port_draw(x);
    }
    if (x->strength[FAULT_SLICES] > 0) {
        plan->recv_max = 1 + exchange_pick(x, 40);
        plan->send_max = 1 + exchange_pick(x, 40);
    }
    if (x->strength[FAULT_SLOW] > 0) {
        plan->data_ms = 100 + exchange_pick(x, 4000);
        plan->resolve_ms = exchange_pick(x, 6000);
        plan->connect_ms = exchange_pick(x, 6000);
        plan->drip =
            exchange_pick(x, 3) == 0 ? 300 + exchange_pick(x, 5000) : 0;
    }
    x->stall_left = x->strength[FAULT_STALL] == 0 ? SIZE_MAX
                    : exchange_pick(x, 2) == 0    ? 0
                                                  : exchange_pick(x, 200);
    plan->send_stall = x->stall_left == 0;
    if (x->strength[FAULT_NO_CONNECT] > 0) {
        connect_draw(x);
    }
}

void exchange_blame(struct exchange *x) {
    for (int i = 0; i < PLAN_CLIENTS; i++) {
        x->links[i].blamed |= x->strength[FAULT_SLOW] > 0 ||
                              x->strength[FAULT_DRIP] > 0 ||
                              x->strength[FAULT_STALL] > 0;
    }
}

void exchange_address(struct exchange *x) {
    x->service.address = (struct service_script){0};
    if (exchange_happens(x, FAULT_ADDRESS)) {
        script_draw(x, &x->service.address);
    }
}

/* Draws the lifetime of tokens and whether a response has it. The last token
 * may expire now. */
static void tokens_draw(struct exchange *x) {
    static const char *const rests[] = {
        NULL, ",\"token_type\":\"Bearer\"}",
        ",\"token_type\":\"bearer\",\"expires_in\":0}",
        ",\"token_type\":\"bearer\",\"expires_in\":1e30}"};
    struct service *s = &x->service;

    s->token = (struct service_script){0};
    s->expires_in = 3600;
    s->token_rest = NULL;
    if (x->strength[FAULT_TOKEN] > 0) {
        script_draw(x, &s->token);
    }
    if (x->strength[FAULT_SHORT_TOKENS] > 0) {
        s->expires_in = 1 + exchange_pick(x, 200);
        s->token_rest = rests[exchange_pick(x, COUNT(rests))];
    }
    if (x->strength[FAULT_TOKEN] > 0 || x->strength[FAULT_SHORT_TOKENS] > 0) {
        s->token_end_ms = mst_mock_elapsed(x->mock);
    }
}

/* An access that is not replaced keeps a Retry-After. Its time is known only if
 * connections are fast and do not fail, and if all objects are polled. */
static void hold_draw(struct exchange *x) {
    struct service *s = &x->service;

    s->rules.hold = x->plan->shares || x->plan->stays;
    for (unsigned i = 0; i < x->plan->spells_len; i++) {
        enum plan_fault f = x->plan->spells[i].fault;
        s->rules.hold &= f != FAULT_SLOW && f != FAULT_DRIP &&
                         f != FAULT_PORT && f != FAULT_BUSY &&
                         f != FAULT_UNPOLLED;
    }
    if (!s->rules.hold) {
        memset(s->hold_ms, 0, sizeof s->hold_ms);
    }
}

void exchange_change(struct exchange *x) {
    static const uint32_t events_ms[] = {1, 5, 20, 50, 100, 300, 1000};
    struct service *s = &x->service;
    bool refuses =
        (x->strength[FAULT_TOKEN] > 0 || x->strength[FAULT_UPGRADE] > 0 ||
         x->strength[FAULT_NO_CONNECT] > 0) &&
        !x->plan->stays;

    line_draw(x);
    hold_draw(x);
    tokens_draw(x);
    s->upgrade = (struct service_script){0};
    if (x->strength[FAULT_UPGRADE] > 0) {
        script_draw(x, &s->upgrade);
    }
    exchange_address(x);
    s->framing =
        (enum service_framing)exchange_pick(x, SERVICE_UNTIL_CLOSE + 1);
    s->rules.no_pong = x->strength[FAULT_NO_PONGS] > 0;
    for (int i = 0; i < MST_MOCK_LINKS && refuses; i++) {
        if (x->links[i].open && exchange_pick(x, 2) == 0) {
            exchange_link_end(x, i);
        }
    }
    exchange_blame(x);
    x->event_ms = events_ms[exchange_pick(x, COUNT(events_ms))];
    (void)exchange_busy(x);
}

/* Sets the strengths of the spells of this time. */
static void spells_set(struct exchange *x, uint64_t at_ms) {
    x->edge_ms = x->plan->length_ms;
    memset(x->strength, 0, sizeof x->strength);
    for (unsigned i = 0; i < x->plan->spells_len; i++) {
        const struct plan_spell *s = &x->plan->spells[i];
        uint64_t edge = at_ms < s->from_ms ? s->from_ms : s->until_ms;
        if (at_ms < edge && edge < x->edge_ms) {
            x->edge_ms = edge;
        }
        if (at_ms >= s->from_ms && at_ms < s->until_ms &&
            s->strength > x->strength[s->fault]) {
            x->strength[s->fault] = s->strength;
        }
    }
    exchange_change(x);
}

void exchange_spells(struct exchange *x) {
    x->begin_ms = mst_mock_elapsed(x->mock);
    x->edge_ms = 0;
    x->wait_ms = 0;
}

uint64_t exchange_next_ms(struct exchange *x) {
    uint64_t at_ms = mst_mock_elapsed(x->mock) - x->begin_ms, next_ms;

    if (at_ms >= x->edge_ms) {
        spells_set(x, at_ms);
    }
    next_ms = at_ms + 1 + exchange_pick(x, x->plan->length_ms / 16);
    return x->begin_ms + (next_ms < x->edge_ms ? next_ms : x->edge_ms);
}

void exchange_calm(struct exchange *x) {
    memset(x->strength, 0, sizeof x->strength);
    memset(x->offset_ns, 0, sizeof x->offset_ns);
    x->wall_ns = 0;
    x->wall_unset = false;
}

void exchange_behave(struct exchange *x) {
    exchange_calm(x);
    exchange_end(x);
    for (int i = 0; i < MST_MOCK_LINKS; i++) {
        mst_mock_stall(x->mock, i, false);
    }
    exchange_change(x);
}
