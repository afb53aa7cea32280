/*
 * Lines for people about connections and messages: see note.h.
 *
 * SPDX-License-Identifier: 0BSD
 */
#include "note.h"

#include <inttypes.h>
#include <string.h>

/* Lines about messages in a period, in addition to those for subscriptions. */
#define NOTE_LINES 100
#define NOTE_PERIOD_NS INT64_C(10000000000)

void note_begin(FILE *file, int64_t unix_ns, const char *kind) {
    char time[TEXT_TIME_LEN];

    text_time(unix_ns, time);
    fprintf(file, "%s %s - ", time, kind);
}

void note_init(struct note *note, size_t subscriptions) {
    memset(note, 0, sizeof *note);
    note->most = NOTE_LINES + (unsigned)subscriptions;
}

bool note_is_of_message(const struct mst_event *event) {
    return event->type == MST_EVENT_ERROR ||
           event->type == MST_EVENT_SERVICE_ERROR ||
           event->type == MST_EVENT_UNKNOWN || event->type == MST_EVENT_ENTRY;
}

bool note_admits(struct note *note, const char *line, int64_t unix_ns) {
    if (line && strcmp(line, note->last) == 0) {
        note->repeats++;
        return false;
    }
    if (note->lines >= note->most) {
        note->left_out++;
        return false;
    }
    if (note->lines++ == 0) {
        note->since_ns = unix_ns;
    }
    return true;
}

bool note_is_over(const struct note *note, int64_t unix_ns) {
    return note->lines > 0 && (unix_ns - note->since_ns >= NOTE_PERIOD_NS ||
                               unix_ns < note->since_ns);
}

void note_renew(struct note *note) {
    note_init(note, note->most - NOTE_LINES);
}

/* Does not repeat the reason of the market's previous refusal. */
static void note_entry(struct note *note, const struct mst_event *event,
                       char line[NOTE_LEN]) {
    const struct mst_entry *entry = &event->as.entry;
    const char *of = event->market && event->market[0] ? event->market : "-";
    char name[MST_TEXT_MAX + 1];
    char market[MST_TEXT_MAX + 1];
    char text[MST_TEXT_MAX + 1];
    char refused[sizeof note->refused];

    text_clean(entry->text[0] != '\0' ? entry->text : "no reason given", text,
               sizeof text);
    text_clean(of, market, sizeof market);
    snprintf(refused, sizeof refused, "%s: %s", market, text);
    snprintf(
        line, NOTE_LEN, "refused - %s %s %s: %s", text_action(entry->action),
        text_clean(entry->channel_name, name, sizeof name), market,
        strcmp(refused, note->refused) == 0 ? "for the same reason" : text);
    memcpy(note->refused, refused, sizeof refused);
}

static void note_service_error(const struct mst_event *event,
                               char line[NOTE_LEN]) {
    const char *code_text = event->as.service_error.code_text;
    const char *text = event->as.service_error.message;
    char code[MST_TEXT_MAX + 1];
    char message[MST_TEXT_MAX + 1];

    snprintf(line, NOTE_LEN, "error - the service says: %s%s%s",
             text_clean(code_text, code, sizeof code),
             code_text[0] != '\0' && text[0] != '\0' ? ", " : "",
             text_clean(text, message, sizeof message));
}

/* Writes the line of an event, without its time; "" if it has none. */
static void note_line(struct note *note, const struct mst_event *event,
                      char line[NOTE_LEN]) {
    char text[TEXT_FAILURE_LEN];

    line[0] = '\0';
    switch (event->type) {
    case MST_EVENT_OPEN:
    case MST_EVENT_LEADER:
        snprintf(line, NOTE_LEN, "%s - generation %" PRIu32, text_event(event),
                 event->generation);
        break;
    case MST_EVENT_CLOSED:
    case MST_EVENT_ERROR:
        text_failure(&event->as.failure, event->link, text);
        snprintf(line, NOTE_LEN, "%s - %s", text_event(event), text);
        break;
    case MST_EVENT_ENTRY:
        if (!event->as.entry.success) {
            note_entry(note, event, line);
        }
        break;
    case MST_EVENT_SERVICE_ERROR: note_service_error(event, line); break;
    case MST_EVENT_UNKNOWN:
        snprintf(line, NOTE_LEN, "%s - message of an unknown kind, %zu bytes",
                 text_event(event), event->as.unknown.len);
        break;
    default: break;
    }
}

void note_rest(FILE *file, struct note *note, int64_t unix_ns) {
    if (note->repeats > 0) {
        note_begin(file, unix_ns, "repeated");
        fprintf(file, "%" PRIu64 " times: %s\n", note->repeats, note->last);
    }
    if (note->left_out > 0) {
        note_begin(file, unix_ns, "left_out");
        fprintf(file, "%" PRIu64 " more lines about messages\n",
                note->left_out);
    }
    note->repeats = note->left_out = 0;
    note->last[0] = '\0';
}

void note_event(FILE *file, struct note *note, int64_t unix_ns,
                const struct mst_event *event) {
    bool of_message = note_is_of_message(event);
    char time[TEXT_TIME_LEN];
    char line[NOTE_LEN];

    note_line(note, event, line);
    if (line[0] == '\0' || (of_message && !note_admits(note, line, unix_ns))) {
        return;
    }
    note_rest(file, note, unix_ns);
    if (of_message) {
        memcpy(note->last, line, strlen(line) + 1);
    }
    text_time(unix_ns, time);
    fprintf(file, "%s %s\n", time, line);
}

void note_renamed(FILE *file, int64_t unix_ns, const char *market,
                  const char *written) {
    char clean[MST_MARKET_MAX + 1];

    note_begin(file, unix_ns, "renamed");
    fprintf(file, "%s: the service writes %s\n", market,
            text_clean(written, clean, sizeof clean));
}

static void note_token(FILE *file, int64_t unix_ns,
                       const struct mst_trace *trace) {
    char scope[MST_TEXT_MAX + 1] = "";

    if (trace->data) {
        char text[MST_TEXT_MAX + 1];
        size_t len = trace->len < MST_TEXT_MAX ? trace->len : MST_TEXT_MAX;

        memcpy(text, trace->data, len);
        text[len] = '\0';
        text_clean(text, scope, sizeof scope);
    }
    note_begin(file, unix_ns, "token");
    fprintf(file, "%s", trace->text);
    if (trace->value >= 0) {
        fprintf(file, ", for %" PRId64 " s", trace->value);
    }
    fprintf(file, "%s%s\n", scope[0] != '\0' ? ", scope " : "", scope);
}

void note_trace(FILE *file, struct note *note, int64_t unix_ns,
                const struct mst_trace *trace) {
    const unsigned written = 1u << MST_TRACE_STATE | 1u << MST_TRACE_OPEN |
                             1u << MST_TRACE_TOKEN | 1u << MST_TRACE_REQUEST |
                             1u << MST_TRACE_REPAIR;
    static const char *const repairs[] = {
        [MST_REPAIR_BOOK] = "subscribed again for its book",
        [MST_REPAIR_MISSING] = "was no longer subscribed",
        [MST_REPAIR_STRAY] = "was subscribed but not wanted",
    };

    char clean[MST_TEXT_MAX + 1];

    if ((written >> trace->kind & 1u) == 0) {
        return;
    }
    note_rest(file, note, unix_ns);
    switch (trace->kind) {
    case MST_TRACE_STATE:
        note_begin(file, unix_ns, "state");
        fprintf(file, "%s (link %d)\n", mst_state_name(trace->state),
                trace->link);
        break;
    case MST_TRACE_OPEN:
        note_begin(file, unix_ns, "to");
        fprintf(file, "%s:%" PRId64 "\n", trace->text, trace->value);
        break;
    case MST_TRACE_TOKEN: note_token(file, unix_ns, trace); break;
    case MST_TRACE_REQUEST:
        note_begin(file, unix_ns, "request");
        fprintf(file, "%s of %" PRId64 " channels\n", trace->text,
                trace->value);
        break;
    case MST_TRACE_REPAIR:
        note_begin(file, unix_ns, "repair");
        fprintf(file, "%s %s\n", text_clean(trace->text, clean, sizeof clean),
                repairs[trace->value]);
        break;
    default: break;
    }
}
