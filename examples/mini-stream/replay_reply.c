/*
 * The token endpoint's responses in a replay: see replay_port.h.
 *
 * SPDX-License-Identifier: 0BSD
 */
#include "replay_port.h"

#include <inttypes.h>
#include <stdarg.h>
#include <string.h>

#include <jansson.h>

__attribute__((format(printf, 2, 3))) static void
reply_add(struct replay *r, const char *format, ...) {
    va_list args;
    int n;

    va_start(args, format);
    n = vsnprintf((char *)r->reply + r->reply_len,
                  sizeof r->reply - r->reply_len, format, args);
    va_end(args);
    r->reply_len += (size_t)n;
}

static void reply_body(struct replay *r, int64_t status, const char *head,
                       const char *body) {
    reply_add(r, "HTTP/1.1 %" PRId64 " X\r\n%sContent-Length: %zu\r\n\r\n%s",
              status, head, strlen(body), body);
}

static void reply_token(struct replay *r, int64_t life_s, int64_t len) {
    char body[MST_TOKEN_MAX + 200], life[60] = "", token[MST_TOKEN_MAX + 1];

    memset(token, '*', (size_t)len);
    if (life_s >= 0) {
        snprintf(life, sizeof life, "\"expires_in\":%" PRId64 ",", life_s);
    }
    snprintf(body, sizeof body,
             "{\"token_type\":\"Bearer\",%s\"access_token\":\"%.*s\"}", life,
             (int)len, token);
    reply_body(r, 200, "", body);
}

/* Writes the body of a refusal with the recorded code. */
static void reply_code(const struct recording_item *e, char *body, size_t len) {
    json_t *code = json_pack("{s:s%}", "error", (const char *)e->data, e->len);
    size_t n = json_dumpb(code, body, len - 1, JSON_COMPACT);

    body[n < len ? n : 0] = '\0';
    json_decref(code);
}

/* Bytes of the scope before the word in the error. */
static size_t words_before(const struct replay *r,
                           const struct recording_item *e) {
    const char *at = r->scope;

    while (*at != '\0' &&
           (strcspn(at, " ") != e->len || memcmp(at, e->data, e->len) != 0)) {
        at += strcspn(at, " ");
        at += *at == ' ';
    }
    return (size_t)(at - r->scope);
}

/* Makes a response that causes the recorded error. */
static void reply_error(struct replay *r, const struct recording_item *e,
                        bool came) {
    char head[60] = "", body[MST_TOKEN_MAX + 200] = "{}";
    int64_t status = e->values[3];

    if (e->values[4] > 0 || e->values[1] == MST_ERR_THROTTLED) {
        snprintf(head, sizeof head, "Retry-After: %" PRId64 "\r\n",
                 e->values[4] / 1000);
    }
    switch (e->values[1]) {
    case MST_ERR_TOKEN_REFUSED: reply_code(e, body, sizeof body); break;
    case MST_ERR_TOKEN_TYPE: strcpy(body, "{\"token_type\":\"X\"}"); break;
    case MST_ERR_TOKEN_SCOPE:
        /* everything before the missing word */
        snprintf(body, sizeof body, "{\"scope\":\"%.*s\"}",
                 (int)words_before(r, e), r->scope);
        break;
    case MST_ERR_TOKEN_TOO_LARGE:
        snprintf(body, sizeof body, "{\"access_token\":\"%0*d\"}",
                 MST_TOKEN_MAX + 8, 0);
        break;
    case MST_ERR_JSON_DEPTH:
        snprintf(body, sizeof body, "{\"x\":");
        memset(body + strlen(body), '[', MST_JSON_DEPTH);
        break;
    case MST_ERR_TOKEN_SHAPE:
    case MST_ERR_UNAUTHORIZED:
    case MST_ERR_FORBIDDEN:
    case MST_ERR_THROTTLED:
    case MST_ERR_HTTP_STATUS: break;
    default:
        if (status != 0) {
            reply_add(r, "HTTP/1.1 %" PRId64 " X\r\n%s", status, head);
        }
        switch (e->values[1]) {
        case MST_ERR_HTTP_SYNTAX: reply_add(r, "\001"); break;
        case MST_ERR_HTTP_LENGTH:
            reply_add(r, "Content-Length: x\r\n\r\n");
            break;
        case MST_ERR_HTTP_CODING:
            reply_add(r, "Content-Encoding: gzip\r\n\r\n");
            break;
        case MST_ERR_HTTP_HEADER:
            reply_add(r, "Content-Length: %0*d\r\n\r\n", MST_LINE_MAX, 0);
            break;
        case MST_ERR_HTTP_BODY:
            reply_add(r, "Content-Length: 999999999\r\n\r\n");
            break;
        default: /* an incomplete response */
            if (status == 0 && came) {
                reply_add(r, "H");
            }
        }
        return;
    }
    reply_body(r, status, head, body);
}

void replay_reply(struct replay *r, int link) {
    struct replay_line *line = replay_line_of(r, link);
    const struct recording_item *told = replay_peek(r, link, USE_TOLD);

    if (line->made || told == NULL) {
        return;
    }
    r->reply_at = r->reply_len = 0;
    if (told->kind == RECORDING_TOKEN && told->values[1] == TOKEN_OBTAINED) {
        reply_token(r, told->values[2], told->values[3]);
    } else if (told->kind == RECORDING_ERROR) {
        reply_error(r, told, told->received_ns != line->received_ns);
    } else {
        return;
    }
    line->made = true;
    r->now_ns = told->received_ns;
}
