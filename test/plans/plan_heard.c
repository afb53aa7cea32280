/*
 * The caller's events, other than those of books: see plan.h.
 *
 * Every execution that the client has read becomes one event, exactly as sent,
 * before the client reads anything else; a malformed one becomes an error. If
 * the client has not read an execution that was sent, the connection ends with
 * an error. Every connection has an end. After the caller's close only that
 * must come. No connection ends because of an answer that arrived, whatever the
 * form of its entries.
 *
 * SPDX-License-Identifier: 0BSD
 */
#include "plan_private.h"

#define GRANT_MS 10000u /* by then the client has read the answer */

void exchange_wrong(struct exchange *x, const char *what) {
    if (x->wrong == NULL) {
        x->wrong = what;
    }
}

void exchange_look(struct exchange *x, int link,
                   const struct plan_message *message) {
    struct plan_link *l = &x->links[link];
    struct plan_heard *h = &l->heard;
    bool broken = message->says == SAYS_BROKEN_EXECUTION;

    if (h->answered) {
        exchange_wrong(x, "no event for an answer");
    }
    if (message->says >= SAYS_EXECUTION && !h->released) {
        exchange_rest(x);
        h->due = !broken || !h->error;
        h->message = *message;
    } else if (message->says == SAYS_ANSWER && !h->released) {
        h->answered = true;
        h->answer = *message;
    } else if (message->says > SAYS_OTHER && message->says < SAYS_ANSWER) {
        plan_known_give(&l->known[message->market], &x->books[message->market],
                        message, l->read_ms);
    }
    h->error = false;
}

void exchange_rest(struct exchange *x) {
    for (int i = 0; i < PLAN_CLIENTS; i++) {
        if (x->links[i].heard.due) {
            exchange_wrong(x, "no event for an execution");
        }
    }
}

void exchange_ended(struct exchange *x, int link) {
    struct plan_link *l = &x->links[link];

    l->client = l->heard.answered = false;
    l->heard.entries = 0;
    for (; l->messages_len > 0; l->messages_len--) {
        l->heard.lost += l->messages[l->messages_at].says >= SAYS_EXECUTION;
        l->messages_at = (l->messages_at + 1) % PLAN_MESSAGES;
    }
}

/* True if this execution was sent. */
static bool is_same(const struct mst_execution *e,
                    const struct plan_message *m) {
    return strcmp(e->market, plan_markets[m->market]) == 0 &&
           e->time_ns == m->time_ns && e->price.exponent == -1 &&
           e->price.coefficient == 10 * (int64_t)m->version + 5 &&
           e->amount.exponent == -2 &&
           e->amount.coefficient == 10 * (int64_t)(m->version % 10) + 1;
}

static void execution_hear(struct exchange *x, struct plan_heard *h,
                           const struct mst_execution *execution) {
    if (!h->due || h->message.says != SAYS_EXECUTION ||
        !is_same(execution, &h->message)) {
        exchange_wrong(x, "a wrong or repeated execution");
    }
    h->due = false;
    x->told++;
}

/* True if the service has confirmed a subscription, and the client knows. */
static bool is_granted(const struct exchange *x, const struct plan_link *l) {
    static const bool nothing[MST_HEARTBEAT + 1][PLAN_MARKETS];

    return memcmp(l->granted, nothing, sizeof nothing) != 0 &&
           mst_mock_elapsed(x->mock) > l->granted_ms + GRANT_MS;
}

/* At the end of a response, every readable entry must have been an event. */
static void response_hear(struct exchange *x, struct plan_heard *h,
                          size_t entries) {
    if (h->answered &&
        (entries != h->answer.version || h->entries < h->answer.first)) {
        exchange_wrong(x, "no event for an answer's entry");
    }
    h->answered = false;
    h->entries = 0;
}

/* The refusal of an unknown client must be permanent. Other failures may be
 * permanent only if the service has caused a long wait. */
static void failure_hear(struct exchange *x, const struct mst_failure *f) {
    bool refused = f->error == MST_ERR_TOKEN_REFUSED &&
                   strcmp(f->text, "invalid_client") == 0;

    if (refused
            ? !f->permanent
            : f->permanent && x->wait_ms < x->plan->config.backoff_slow_ms) {
        exchange_wrong(x, "a failure is wrongly permanent or temporary");
    }
}

static void end_hear(struct exchange *x, struct plan_link *l, int error) {
    struct plan_heard *h = &l->heard;

    if (!l->blamed &&
        (error == MST_ERR_ANSWER ||
         ((error == MST_ERR_SERVICE || error == MST_ERR_NO_RESULT) &&
          is_granted(x, l)))) {
        exchange_wrong(x, "an answered request ends its connection");
    }
    if (error == MST_OK && h->lost > 0 && !h->released) {
        exchange_wrong(x, "executions are lost, and the end has no error");
    }
    h->open = false;
    x->lost += h->lost;
    h->lost = 0;
}

void exchange_event(struct exchange *x, const struct mst_event *event) {
    struct plan_heard *h = &x->links[event->link].heard;
    int error = event->as.failure.error;

    if (event->generation < h->generation) {
        exchange_wrong(x, "an event of an older connection");
    }
    h->generation = event->generation;
    switch (event->type) {
    case MST_EVENT_OPEN:
        if (h->open) {
            exchange_wrong(x, "no event for a connection's end");
        }
        h->open = true;
        break;
    case MST_EVENT_CLOSED:
        failure_hear(x, &event->as.failure);
        end_hear(x, &x->links[event->link], error);
        break;
    case MST_EVENT_ENTRY: h->entries++; break;
    case MST_EVENT_RESPONSE:
        response_hear(x, h, event->as.response.entries);
        break;
    case MST_EVENT_EXECUTION: execution_hear(x, h, &event->as.execution); break;
    case MST_EVENT_ERROR:
        if (error <= MST_ERR_JSON_SYNTAX && error > MST_ERR_TIMEOUT) {
            h->error = !h->due; /* it may come before the message's end */
            h->due &= h->message.says == SAYS_EXECUTION;
        }
        break;
    default: break;
    }
}

void exchange_release(struct exchange *x, bool wiped) {
    for (int i = 0; i < PLAN_CLIENTS; i++) {
        struct plan_link *l = &x->links[i];
        if (wiped) {
            exchange_ended(x, i);
            l->heard = (struct plan_heard){.open = false};
        } else {
            l->heard.released = true;
            l->heard.due = l->heard.answered = false;
        }
    }
}
