/*
 * What happens to the connections, in lines for people.
 *
 * SPDX-License-Identifier: 0BSD
 */
#include "note.h"

#include <inttypes.h>
#include <string.h>

#include "text.h"

void note_begin(FILE *file, int64_t unix_ns, const char *kind) {
    char time[TEXT_TIME_LEN];

    text_time(unix_ns, time);
    fprintf(file, "%s %s - ", time, kind);
}

static void note_entry(FILE *file, int64_t unix_ns,
                       const struct mst_entry *entry) {
    char name[MST_TEXT_MAX + 1];
    char market[MST_TEXT_MAX + 1];
    char text[MST_TEXT_MAX + 1];

    note_begin(file, unix_ns, "refused");
    fprintf(file, "%s %s %s: %s\n", text_action(entry->action),
            text_clean(entry->channel_name, name, sizeof name),
            text_clean(entry->market[0] != '\0' ? entry->market : "-", market,
                       sizeof market),
            text_clean(entry->text[0] != '\0' ? entry->text : "no reason given",
                       text, sizeof text));
}

static void note_service_error(FILE *file, int64_t unix_ns,
                               const char *code_text, const char *text) {
    char code[MST_TEXT_MAX + 1];
    char message[MST_TEXT_MAX + 1];

    note_begin(file, unix_ns, "error");
    fprintf(file, "the service says: %s%s%s\n",
            text_clean(code_text, code, sizeof code),
            code_text[0] != '\0' && text[0] != '\0' ? ", " : "",
            text_clean(text, message, sizeof message));
}

void note_event(FILE *file, int64_t unix_ns, const struct mst_event *event) {
    char text[TEXT_FAILURE_LEN];

    switch (event->type) {
    case MST_EVENT_OPEN:
    case MST_EVENT_LEADER:
        note_begin(file, unix_ns, text_event(event));
        fprintf(file, "generation %" PRIu32 "\n", event->generation);
        break;
    case MST_EVENT_CLOSED:
    case MST_EVENT_ERROR:
        note_begin(file, unix_ns, text_event(event));
        text_failure(&event->as.failure, event->link, text);
        fprintf(file, "%s\n", text);
        break;
    case MST_EVENT_ENTRY:
        if (!event->as.entry.success) {
            note_entry(file, unix_ns, &event->as.entry);
        }
        break;
    case MST_EVENT_SERVICE_ERROR:
        note_service_error(file, unix_ns, event->as.service_error.code_text,
                           event->as.service_error.message);
        break;
    case MST_EVENT_UNKNOWN:
        note_begin(file, unix_ns, text_event(event));
        fprintf(file, "message of an unknown kind, %zu bytes\n",
                event->as.unknown.len);
        break;
    default: break;
    }
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

void note_trace(FILE *file, int64_t unix_ns, const struct mst_trace *trace) {
    static const char *const repairs[] = {
        [MST_REPAIR_BOOK] = "subscribed anew for its book",
        [MST_REPAIR_MISSING] = "was not subscribed any more",
        [MST_REPAIR_STRAY] = "was subscribed and is not wanted",
    };

    char clean[MST_TEXT_MAX + 1];

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
