/*
 * The steps of a session, by the library as `mini-stream stream` uses it.
 *
 * SPDX-License-Identifier: 0BSD
 */
#include "doctor.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"

#define MESSAGE_LEN 65536
#define AHEAD_LEN 65536

static struct mst_client client;
MST_MEMORY(memory, MST_RECORD_IN_ANY, MST_RECORD_OUT_FULL, MESSAGE_LEN,
           AHEAD_LEN);

static struct {
    bool begun;
    unsigned timeout_ms;
    const char *market;               /* or NULL */
    char strange[MST_MARKET_MAX + 1]; /* whose data came, or "" */
    struct mst_event held; /* an event of the same poll as the token */
    bool has_held;
} session;

struct session_token session_token;

static void session_trace(void *context, const struct mst_trace *trace) {
    (void)context;
    if (trace->kind == MST_TRACE_TOKEN && strcmp(trace->text, "dropped") != 0) {
        session_token.there = true;
        session_token.loaded = strcmp(trace->text, "loaded") == 0;
        session_token.lifetime_s = trace->value;
        snprintf(session_token.scope, sizeof session_token.scope, "%.*s",
                 (int)trace->len, (const char *)trace->data);
    }
    text_trace(NULL, trace);
}

int session_begin(struct mst_config *config, const struct network *network,
                  const char *market, unsigned timeout_ms) {
    int rc;

    session.timeout_ms = timeout_ms;
    session.market = market;
    config->flags |= MST_TRACE_ALL; /* text_trace() needs it */
    config->trace = session_trace;
    config->resolve_ms = config->connect_ms = config->tls_ms = timeout_ms;
    config->token_ms = config->upgrade_ms = config->answer_ms = timeout_ms;
    config->closing_ms = timeout_ms;
    rc = mst_client_init(&client, config, &network->port, &memory);
    session.begun = rc == 0;
    if (rc == 0) {
        rc = mst_subscribe(&client,
                           market != NULL ? MST_MARKET_DATA : MST_HEARTBEAT,
                           market, NULL);
    }
    return rc;
}

void session_end(void) {
    if (session.begun) {
        mst_client_wipe(&client);
    }
}

enum outcome session_next(struct network *network, uint64_t end_ms, bool token,
                          struct mst_event *event) {
    if (session.has_held) {
        session.has_held = false;
        *event = session.held;
        return OUTCOME_EVENT;
    }
    for (;;) {
        int rc = mst_poll(&client, event);

        if (rc < 0) {
            return OUTCOME_CLOSED;
        }
        if (token && session_token.there) {
            session.has_held = rc > 0;
            session.held = *event;
            return OUTCOME_TOKEN;
        }
        if (rc > 0) {
            return OUTCOME_EVENT;
        }
        if (clock_ms() >= end_ms) {
            return OUTCOME_LATE;
        }
        network_wait(network, &client.link);
    }
}

/* Returns what to do about a failure, or NULL for the error's usual advice. */
static const char *failure_advice(const struct mst_failure *failure) {
    if (failure->error != MST_ERR_TOKEN_REFUSED || failure->text == NULL) {
        return NULL;
    }
    if (strcmp(failure->text, "invalid_client") == 0) {
        return "the token endpoint does not know this client_id with this "
               "secret: check both, and that auth_url is of the environment "
               "that they are for";
    }
    if (strcmp(failure->text, "invalid_scope") == 0) {
        return "this client may not have the scope of the stream: ask the "
               "service to grant it";
    }
    return NULL;
}

void session_failure(const struct mst_failure *failure,
                     char text[TEXT_FAILURE_LEN]) {
    struct mst_failure said = *failure;

    said.permanent = false;
    said.retry_ms = 0;
    text_failure(&said, 0, text);
}

static void tell_failure(struct report *report,
                         const struct mst_failure *failure) {
    char text[TEXT_FAILURE_LEN];

    session_failure(failure, text);
    if (failure->http_status != 0) {
        report_set(report, "http_status", json_integer(failure->http_status));
    }
    report_fail(report, failure->error, failure_advice(failure), "%s", text);
}

/* Ends the current step without the event that it waits for. */
static void tell_late(struct report *report, enum outcome outcome) {
    if (outcome == OUTCOME_LATE && session.strange[0] != '\0') {
        report_fail(report, MST_ERR_TIMEOUT,
                    "use the market's symbol as the service writes it: see the "
                    "text of this step",
                    "no data of %s within %g s, but of %s", session.market,
                    (double)session.timeout_ms / 1000, session.strange);
    } else if (outcome == OUTCOME_LATE) {
        report_fail(
            report, MST_ERR_TIMEOUT,
            "the server does not answer in time: try again, perhaps with a "
            "longer --timeout; if it still fails, ask the service",
            "nothing within %g s (stage %s)", (double)session.timeout_ms / 1000,
            mst_state_name(mst_link_state(&client.link)));
    } else {
        report_fail(report, MST_ERR_CLOSED, NULL, "the client has ended");
    }
}

/* ---- Steps ---- */

static void tell_token(struct report *report) {
    const struct session_token *token = &session_token;
    const char *how = token->loaded ? "kept from before" : "obtained";

    if (token->lifetime_s >= 0) {
        report_set(report, "lifetime_s", json_integer(token->lifetime_s));
        report_ok(report, "%s, valid for %" PRId64 " s", how,
                  token->lifetime_s);
    } else {
        report_ok(report, "%s, without expiry", how);
    }
    report_begin(report, "scope", "scope");
    report_set(report, "scope", report_text(token->scope));
    report_ok(report, "%s is granted", token->scope);
}

static bool check_token(struct report *report, struct network *network) {
    const uint64_t end_ms = clock_ms() + session.timeout_ms;
    struct mst_event event;
    enum outcome outcome;

    report_begin(report, "token", "token");
    outcome = session_next(network, end_ms, true, &event);
    if (outcome == OUTCOME_TOKEN) {
        tell_token(report);
        return true;
    }
    if (outcome != OUTCOME_EVENT) {
        tell_late(report, outcome);
        report_skip(report, "scope", "scope");
    } else if (event.as.failure.error == MST_ERR_TOKEN_SCOPE) {
        report_ok(report, "obtained");
        report_begin(report, "scope", "scope");
        tell_failure(report, &event.as.failure);
    } else {
        tell_failure(report, &event.as.failure);
        report_skip(report, "scope", "scope");
    }
    return false;
}

static bool check_handshake(struct report *report, struct network *network) {
    const uint64_t end_ms = clock_ms() + session.timeout_ms;
    struct mst_event event;
    enum outcome outcome;

    report_begin(report, "handshake", "WebSocket handshake");
    outcome = session_next(network, end_ms, false, &event);
    if (outcome != OUTCOME_EVENT) {
        tell_late(report, outcome);
    } else if (event.type == MST_EVENT_OPEN) {
        report_set(report, "http_status", json_integer(101));
        report_ok(report, "HTTP status 101, the stream is open");
        return true;
    } else {
        tell_failure(report, &event.as.failure);
    }
    return false;
}

/* Counts levels. Returns true once the requested market's message is
 * complete. */
static bool take_part(struct report *report, const struct mst_event *event,
                      size_t *levels) {
    const struct mst_part *part = &event->as.part;

    if (session.market == NULL || event->market == NULL ||
        strcmp(event->market, session.market) != 0) {
        snprintf(session.strange, sizeof session.strange, "%s", part->market);
        return false;
    }
    *levels += part->count;
    if (!part->last || part->aborted) {
        *levels = part->aborted ? 0 : *levels;
        return false;
    }
    if (strcmp(part->market, session.market) != 0) {
        report_note(report, "the service writes it %s", part->market);
    }
    report_ok(report, "subscribed, received %s of %zu levels",
              part->snapshot ? "a snapshot" : "an update", *levels);
    return true;
}

/* Handles an event of the open stream. Returns true if it ends the step. */
static bool take_event(struct report *report, const struct mst_event *event,
                       size_t *levels, bool *good) {
    const struct mst_entry *entry = &event->as.entry;

    *good = false;
    switch (event->type) {
    case MST_EVENT_ENTRY:
        if (entry->success) {
            return false;
        }
        report_fail(report, MST_ERR_SERVICE, NULL,
                    "subscription refused: %s %s: %s", entry->channel_name,
                    entry->market,
                    entry->text[0] != '\0' ? entry->text : "no reason given");
        return true;
    case MST_EVENT_SERVICE_ERROR:
        report_fail(report, MST_ERR_SERVICE, NULL, "the service says: %s %s",
                    event->as.service_error.code_text,
                    event->as.service_error.message);
        return true;
    case MST_EVENT_CLOSED:
    case MST_EVENT_ERROR: tell_failure(report, &event->as.failure); return true;
    case MST_EVENT_HEARTBEAT:
        *good = session.market == NULL;
        if (*good) {
            report_ok(report, "subscribed, received a heartbeat");
        }
        return *good;
    case MST_EVENT_PART: *good = take_part(report, event, levels); return *good;
    default: return false;
    }
}

static bool check_message(struct report *report, struct network *network) {
    const uint64_t end_ms = clock_ms() + session.timeout_ms;
    struct mst_event event;
    enum outcome outcome;
    size_t levels = 0;
    bool good;

    report_begin(report, "message", "first message of %s",
                 session.market != NULL ? session.market : "heartbeat");
    do {
        outcome = session_next(network, end_ms, false, &event);
        if (outcome != OUTCOME_EVENT) {
            tell_late(report, outcome);
            return false;
        }
    } while (!take_event(report, &event, &levels, &good));
    return good;
}

static void check_close(struct report *report, struct network *network) {
    const uint64_t end_ms = clock_ms() + session.timeout_ms;
    struct mst_event event = {.type = MST_EVENT_NONE};
    enum outcome outcome;

    report_begin(report, "close", "close");
    mst_close(&client);
    do {
        outcome = session_next(network, end_ms, false, &event);
    } while (outcome == OUTCOME_EVENT && event.type != MST_EVENT_CLOSED);
    if (outcome != OUTCOME_EVENT) {
        tell_late(report, outcome);
    } else if (event.as.failure.error != MST_OK) {
        tell_failure(report, &event.as.failure);
    } else {
        report_ok(report, "closed on request");
    }
}

static void skip_stream(struct report *report, bool handshake, bool message) {
    if (handshake) {
        report_skip(report, "handshake", "WebSocket handshake");
    }
    if (message) {
        report_skip(report, "message", "first message of %s",
                    session.market != NULL ? session.market : "heartbeat");
    }
    report_skip(report, "close", "close");
}

void session_check(struct report *report, struct network *network,
                   bool reachable) {
    if (!check_token(report, network) || !reachable) {
        skip_stream(report, true, true);
    } else if (!check_handshake(report, network)) {
        skip_stream(report, false, true);
    } else if (!check_message(report, network) &&
               mst_link_state(&client.link) != MST_STATE_OPEN) {
        skip_stream(report, false, false);
    } else {
        check_close(report, network);
    }
}

void session_skip(struct report *report, const char *market) {
    session.market = market;
    report_skip(report, "token", "token");
    report_skip(report, "scope", "scope");
    skip_stream(report, true, true);
}
