/*
 * An address record, or what went wrong, as a table, as JSON, as a line.
 *
 * SPDX-License-Identifier: 0BSD
 */
#include "address.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>

#include "text.h"

/* Bytes of a text that are shown: each text of a record has less. */
#define TEXT_LEN 1024

static void print_field(const char *name, const char *value) {
    char clean[TEXT_LEN];

    printf("%-12s%s\n", name,
           value[0] != '\0' ? text_clean(value, clean, sizeof clean) : "-");
}

void address_print_table(const struct mst_address *record) {
    char time[TEXT_TIME_LEN] = "";

    print_field("id", record->id);
    print_field("network", record->network);
    print_field("address", record->address);
    print_field("nickname", record->nickname);
    print_field("status", record->status);
    if (record->created_ns > 0) {
        text_time(record->created_ns, time);
    }
    print_field("created at", time);
    print_field("bookmarked", record->bookmarked ? "yes" : "no");
}

/* A text of the service; what jansson would not take is not UTF-8. */
static json_t *json_any_text(const char *text) {
    char clean[TEXT_LEN];
    json_t *json = json_string(text);

    return json != NULL ? json
                        : json_string(text_clean(text, clean, sizeof clean));
}

/* A text, or null where there is none. */
static json_t *json_text(const char *text) {
    return text[0] != '\0' ? json_any_text(text) : json_null();
}

static json_t *json_record(const struct mst_address *record) {
    char time[MST_TIME_TEXT_LEN] = "";

    if (record->created_ns > 0) {
        mst_time_format(record->created_ns, time);
    }
    return json_pack(
        "{s:o,s:o,s:o,s:o,s:o,s:o,s:b}", "id", json_text(record->id),
        "crypto_network", json_text(record->network), "address",
        json_text(record->address), "nickname", json_any_text(record->nickname),
        "status", json_text(record->status), "created_at", json_text(time),
        "bookmarked", record->bookmarked);
}

/* The body as JSON, to be freed, or NULL where it is none. */
static json_t *body_read(const struct mst_address_result *result) {
    return result->body != NULL
               ? json_loadb(result->body, result->body_len, 0, NULL)
               : NULL;
}

/* What the service says in full: the library keeps the beginning. Lives as
 * long as the body. */
static const char *body_detail(const struct mst_address_result *result,
                               const json_t *body) {
    const char *detail = json_string_value(json_object_get(body, "detail"));

    return detail != NULL ? detail : result->problem->detail;
}

static json_t *json_failure(const struct mst_address_result *result) {
    json_t *body = body_read(result);
    json_t *failure = json_pack(
        "{s:s,s:i,s:b,s:o,s:o,s:o,s:o,s:I}", "error",
        mst_strerror(result->error), "error_code", result->error, "maybe_done",
        result->maybe_done, "http_status",
        result->http_status > 0 ? json_integer(result->http_status)
                                : json_null(),
        "title", json_text(result->problem->title), "detail",
        json_text(body_detail(result, body)), "text", json_text(result->text),
        "retry_ms", (json_int_t)result->retry_ms);

    json_decref(body);
    return failure;
}

/* Escaped, so that a terminal obeys nothing in it. */
void address_print_json(const struct mst_address_result *result) {
    json_t *object = result->record != NULL ? json_record(result->record)
                                            : json_failure(result);
    char *text = json_dumps(object, JSON_INDENT(2) | JSON_ENSURE_ASCII);

    if (text == NULL) {
        abort();
    }
    for (const char *c = text; *c != '\0'; ++c) {
        if (*c == 0x7F) { /* which jansson leaves as it is */
            fputs("\\u007F", stdout);
        } else {
            putchar(*c);
        }
    }
    putchar('\n');
    free(text);
    json_decref(object);
}

/* Adds a text of the service, if there is one. */
static void print_text(const char *text) {
    char clean[TEXT_LEN];

    if (text[0] != '\0') {
        fprintf(stderr, ": %s", text_clean(text, clean, sizeof clean));
    }
}

void address_print_failure(const struct mst_address_result *result,
                           const char *via) {
    json_t *body = body_read(result);

    if (result->error == MST_ERR_HTTP_STATUS && result->http_status > 0) {
        fprintf(stderr, "mini-stream: HTTP status %d", result->http_status);
    } else {
        fprintf(stderr, "mini-stream: %s%s", mst_strerror(result->error), via);
    }
    print_text(result->text);
    print_text(result->problem->title);
    print_text(body_detail(result, body));
    json_decref(body);
    if (result->retry_ms > 0) {
        fprintf(stderr, " (try again in %u s)",
                (result->retry_ms + 999) / 1000);
    }
    putc('\n', stderr);
    if (result->maybe_done) {
        fputs("mini-stream: the request may have taken effect; repeating the "
              "command is safe\n",
              stderr);
    }
}
