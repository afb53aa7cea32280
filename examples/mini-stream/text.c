/*
 * Text for people: see text.h.
 *
 * SPDX-License-Identifier: 0BSD
 */
#define _GNU_SOURCE /* vasprintf() */

#include "text.h"

#include <inttypes.h>
#include <netdb.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509_vfy.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "network.h"

#define NS_PER_S INT64_C(1000000000)

void text_time(int64_t ns, char out[TEXT_TIME_LEN]) {
    char text[MST_TIME_TEXT_LEN];

    mst_time_format(ns < 0 ? 0 : ns, text);
    memcpy(out, text, TEXT_TIME_LEN - 2);
    out[TEXT_TIME_LEN - 2] = 'Z';
    out[TEXT_TIME_LEN - 1] = '\0';
}

void text_time_ns(int64_t ns, char out[MST_TIME_TEXT_LEN]) {
    mst_time_format(ns < 0 ? 0 : ns, out);
}

char text_upper(char c) {
    return (char)(c >= 'a' && c <= 'z' ? c - 'a' + 'A' : c);
}

bool text_is_name(const char *a, const char *b, size_t len) {
    size_t i = 0;

    while (i < len && text_upper(a[i]) == text_upper(b[i]) && a[i] != '\0') {
        ++i;
    }
    return i == len || (a[i] == '\0' && b[i] == '\0');
}

bool text_no_color(void) {
    const char *value = getenv("NO_COLOR");

    return value && value[0] != '\0';
}

const char *text_span(uint64_t ms, char out[TEXT_SPAN_LEN]) {
    static const struct {
        const char *name;
        uint64_t ms;
    } units[] = {{"d", 86400000}, {"h", 3600000}, {"min", 60000}, {"s", 1000}};
    size_t i = 0;

    while (units[i].ms > 1000 && ms < 2 * units[i].ms) {
        ++i;
    }
    snprintf(out, TEXT_SPAN_LEN, "%" PRIu64 " %s", ms / units[i].ms,
             units[i].name);
    return out;
}

void text_decimal(struct mst_decimal value, int places,
                  char out[TEXT_DECIMAL_LEN]) {
    size_t len = mst_decimal_format(value, out);
    int has = value.exponent < 0 ? -value.exponent : 0;

    if (has < places && has == 0) {
        out[len++] = '.';
    }
    for (; has < places; ++has) {
        out[len++] = '0';
    }
    out[len] = '\0';
}

/* Bytes of the text's first character, or 0 if it is not valid UTF-8 (RFC
 * 3629). */
static size_t text_character(const unsigned char *c) {
    size_t len = c[0] < 0x80                   ? 1
                 : c[0] >= 0xC2 && c[0] < 0xE0 ? 2
                 : c[0] >= 0xE0 && c[0] < 0xF0 ? 3
                 : c[0] >= 0xF0 && c[0] < 0xF5 ? 4
                                               : 0;

    for (size_t i = 1; i < len; ++i) {
        if ((c[i] & 0xC0) != 0x80) {
            return 0;
        }
    }
    if ((c[0] == 0xE0 && c[1] < 0xA0) || (c[0] == 0xF0 && c[1] < 0x90) ||
        (c[0] == 0xED && c[1] >= 0xA0) || (c[0] == 0xF4 && c[1] >= 0x90)) {
        return 0; /* overlong, a surrogate, or too large */
    }
    return len;
}

/* True for characters that a terminal would obey: controls, and those that
 * change the direction of writing. */
static bool text_is_control(const unsigned char *c) {
    return c[0] < ' ' || c[0] == 0x7F ||
           (c[0] == 0xC2 && c[1] < 0xA0) ||  /* U+0080 to U+009F */
           (c[0] == 0xD8 && c[1] == 0x9C) || /* U+061C */
           (c[0] == 0xE2 && /* U+200E, U+200F, U+2028 to 2E, U+2066 to 69 */
            ((c[1] == 0x80 && (c[2] == 0x8E || c[2] == 0x8F ||
                               (c[2] >= 0xA8 && c[2] <= 0xAE))) ||
             (c[1] == 0x81 && c[2] >= 0xA6 && c[2] <= 0xA9)));
}

const char *text_clean(const char *in, char *out, size_t len) {
    size_t i = 0;

    while (in[i] != '\0') {
        const unsigned char *c = (const unsigned char *)in + i;
        size_t character = text_character(c);
        size_t n = character > 0 ? character : 1;

        if (i + n >= len) {
            break;
        }
        if (character == 0 || text_is_control(c)) {
            memset(out + i, '?', n);
        } else {
            memcpy(out + i, c, n);
        }
        i += n;
    }
    out[i] = '\0';
    return out;
}

/* Appends to a text of TEXT_FAILURE_LEN bytes, as far as it fits. */
__attribute__((format(printf, 2, 3))) static void
text_add(char *out, const char *format, ...) {
    size_t at = strlen(out);
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(out + at, TEXT_FAILURE_LEN - at, format, arguments);
    va_end(arguments);
}

/* Where each link goes, as "host:port", according to the trace. */
static struct {
    char (*of)[MST_HOST_MAX + 10];
    size_t count;
} targets;

void text_trace(void *context, const struct mst_trace *trace) {
    size_t number = (size_t)trace->link;

    (void)context;
    if (trace->kind != MST_TRACE_OPEN) {
        return;
    }
    if (number >= targets.count) {
        targets.of =
            text_must(reallocarray(targets.of, number + 1, sizeof *targets.of));
        memset(targets.of + targets.count, 0,
               (number + 1 - targets.count) * sizeof *targets.of);
        targets.count = number + 1;
    }
    snprintf(targets.of[number], sizeof *targets.of,
             strchr(trace->text, ':') ? "[%s]:%" PRId64 : "%s:%" PRId64,
             trace->text, trace->value);
}

const char *text_target(int link) {
    return (size_t)link < targets.count ? targets.of[link] : "";
}

size_t text_find(const char *word, const char *const *known) {
    size_t i = 0;

    while (known[i] && strcmp(known[i], word) != 0) {
        ++i;
    }
    return i;
}

/* The number of letters to change, remove, add or swap (optimal string
 * alignment), ignoring case. Words have up to CLOSE_LEN bytes. */
#define CLOSE_LEN 40
static size_t text_distance(const char *a, const char *b) {
    size_t rows[3][CLOSE_LEN + 1];
    size_t *before = rows[0], *last = rows[1], *now = rows[2];
    size_t a_len = strlen(a), b_len = strlen(b);

    for (size_t j = 0; j <= b_len; ++j) {
        last[j] = j;
    }
    for (size_t i = 1; i <= a_len; ++i) {
        size_t *free_row = before;

        now[0] = i;
        for (size_t j = 1; j <= b_len; ++j) {
            size_t least =
                last[j - 1] + ((a[i - 1] | 0x20) != (b[j - 1] | 0x20));

            least = last[j] + 1 < least ? last[j] + 1 : least;
            least = now[j - 1] + 1 < least ? now[j - 1] + 1 : least;
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] &&
                a[i - 2] == b[j - 1] && before[j - 2] + 1 < least) {
                least = before[j - 2] + 1;
            }
            now[j] = least;
        }
        before = last;
        last = now;
        now = free_row;
    }
    return last[b_len];
}

const char *text_close(const char *word, const char *const *known) {
    size_t most = strlen(word) < 4 ? 1 : 2;
    const char *found = NULL;

    for (; *known && strlen(word) <= CLOSE_LEN; ++known) {
        size_t distance = strlen(*known) <= CLOSE_LEN
                              ? text_distance(word, *known)
                              : CLOSE_LEN;

        if (distance <= most) {
            found = *known;
            most = distance - (distance > 0);
        }
    }
    return found;
}

const char *text_suggest(const char *word, const char *const *known,
                         char out[TEXT_SUGGEST_LEN]) {
    const char *close = text_close(word, known);
    size_t len = 0;

    snprintf(out, TEXT_SUGGEST_LEN, "did you mean '%s'?", close ? close : "");
    for (; !close && *known && len < TEXT_SUGGEST_LEN; ++known) {
        len += (size_t)snprintf(out + len, TEXT_SUGGEST_LEN - len, "%s%s",
                                len > 0 ? ", " : "not one of ", *known);
    }
    return out;
}

void *text_must(void *pointer) {
    if (!pointer) {
        abort();
    }
    return pointer;
}

char *text_new(const char *format, ...) {
    va_list arguments;
    char *text;

    va_start(arguments, format);
    if (vasprintf(&text, format, arguments) < 0) {
        abort();
    }
    va_end(arguments);
    return text;
}

void text_say(const char *error) {
    char clean[TEXT_FAILURE_LEN];

    fprintf(stderr, "mini-stream: %s\n",
            text_clean(error, clean, sizeof clean));
}

/* Texts for the errors of BearSSL, which has none. */
static const struct {
    int number;
    const char *text;
} bearssl[] = {
    {BR_ERR_BAD_PARAM, "bad parameter"},
    {BR_ERR_BAD_STATE, "bad state"},
    {BR_ERR_UNSUPPORTED_VERSION, "unsupported version of TLS"},
    {BR_ERR_BAD_VERSION, "a record of another version"},
    {BR_ERR_BAD_LENGTH, "bad length of a record"},
    {BR_ERR_TOO_LARGE, "a record is larger than the buffer"},
    {BR_ERR_BAD_MAC, "a record was damaged or forged"},
    {BR_ERR_UNKNOWN_TYPE, "unknown type of record"},
    {BR_ERR_UNEXPECTED, "unexpected record"},
    {BR_ERR_BAD_CCS, "bad ChangeCipherSpec"},
    {BR_ERR_BAD_ALERT, "bad alert"},
    {BR_ERR_BAD_HANDSHAKE, "bad handshake message"},
    {BR_ERR_OVERSIZED_ID, "session ID is too long"},
    {BR_ERR_BAD_CIPHER_SUITE, "cipher suite that was not offered"},
    {BR_ERR_BAD_FRAGLEN, "length of records that was not offered"},
    {BR_ERR_BAD_SECRENEG, "renegotiation"},
    {BR_ERR_EXTRA_EXTENSION, "extension that was not offered"},
    {BR_ERR_BAD_SNI, "bad server name extension"},
    {BR_ERR_LIMIT_EXCEEDED, "a limit was exceeded"},
    {BR_ERR_BAD_FINISHED, "bad Finished message"},
    {BR_ERR_RESUME_MISMATCH, "resumed with other parameters"},
    {BR_ERR_INVALID_ALGORITHM, "unsupported algorithm"},
    {BR_ERR_BAD_SIGNATURE, "bad signature of the key exchange"},
    {BR_ERR_NO_CLIENT_AUTH, "the server wants a client certificate"},
    {BR_ERR_X509_UNSUPPORTED, "unsupported certificate"},
    {BR_ERR_X509_LIMIT_EXCEEDED, "certificate exceeds a limit"},
    {BR_ERR_X509_WRONG_KEY_TYPE, "wrong type of key"},
    {BR_ERR_X509_BAD_SIGNATURE, "bad signature of a certificate"},
    {BR_ERR_X509_TIME_UNKNOWN, "the time is not known"},
    {BR_ERR_X509_EXPIRED, "expired, or not valid yet"},
    {BR_ERR_X509_DN_MISMATCH, "issuer and subject do not match"},
    {BR_ERR_X509_BAD_SERVER_NAME, "no such name in the certificate"},
    {BR_ERR_X509_CRITICAL_EXTENSION, "unknown critical extension"},
    {BR_ERR_X509_NOT_CA, "the issuer is not a CA"},
    {BR_ERR_X509_FORBIDDEN_KEY_USAGE, "key is not for this use"},
    {BR_ERR_X509_WEAK_PUBLIC_KEY, "key is too short"},
    {BR_ERR_X509_NOT_TRUSTED, "no trust anchor issued it"},
};

static bool openssl;

void detail_of_openssl(bool is) {
    openssl = is;
}

static const char *bearssl_text(int detail) {
    const int alert =
        detail - (detail >= BR_ERR_SEND_FATAL_ALERT ? BR_ERR_SEND_FATAL_ALERT
                                                    : BR_ERR_RECV_FATAL_ALERT);

    if (alert >= 0) {
        return SSL_alert_desc_string_long(alert);
    }
    for (size_t i = 0; i < sizeof bearssl / sizeof *bearssl; ++i) {
        if (bearssl[i].number == detail) {
            return bearssl[i].text;
        }
    }
    return detail > BR_ERR_X509_OK ? "malformed certificate" : "";
}

static const char *openssl_text(int error, int detail) {
    const char *text;

    if (error <= MST_ERR_TLS_ISSUER && error >= MST_ERR_TLS_CERTIFICATE) {
        return X509_verify_cert_error_string(detail);
    }
    text = ERR_reason_error_string(ERR_PACK(ERR_LIB_SSL, 0, detail));
    return text ? text : "";
}

const char *detail_text(int error, int detail) {
    if (detail == 0 ||
        (error <= MST_ERR_PROXY_LOGIN && error >= MST_ERR_PROXY_TIMEOUT)) {
        return "";
    }
    if (error <= MST_ERR_TLS_ISSUER) {
        return openssl ? openssl_text(error, detail) : bearssl_text(detail);
    }
    if (error == MST_ERR_REFUSED || error == MST_ERR_RESET) {
        return ""; /* the error's own text is enough */
    }
    return detail < 0 ? gai_strerror(detail) : strerror(detail);
}

static void text_numbers(const struct mst_failure *failure, char *out) {
    char time[TEXT_TIME_LEN];

    if (failure->http_status) {
        text_add(out, ", HTTP status %d", failure->http_status);
    }
    if (failure->ws_code) {
        text_add(out, ", close code %d", failure->ws_code);
    }
    /* the texts of these errors are enough */
    if (failure->detail != 0 && failure->error != MST_ERR_REFUSED &&
        failure->error != MST_ERR_RESET) {
        text_add(out, ", detail %d", failure->detail);
    }
    if (failure->error == MST_ERR_TLS_TIME && failure->clock_s > 0 &&
        failure->clock_s < INT64_MAX / NS_PER_S) {
        text_time(failure->clock_s * NS_PER_S, time);
        text_add(out, ", this machine's clock says %s", time);
    }
}

void text_failure(const struct mst_failure *failure, int link,
                  char out[TEXT_FAILURE_LEN]) {
    const char *detail = detail_text(failure->error, failure->detail);
    char clean[MST_TEXT_MAX + 1];
    const char *target = text_target(link);

    out[0] = '\0';
    if (failure->error == MST_OK) {
        text_add(out, "on request");
        return;
    }
    text_add(out, "%s", mst_strerror(failure->error));
    if (failure->text && failure->text[0] != '\0') {
        text_add(out, ": \"%s\"",
                 text_clean(failure->text, clean, sizeof clean));
    }
    text_add(out, " (stage %s%s", mst_state_name(failure->stage),
             network_via(failure->error, failure->stage));
    text_numbers(failure, out);
    text_add(out, ")");
    if (target[0] != '\0') {
        text_add(out, ", %s", target);
    }
    if (failure->market && failure->market[0] != '\0') {
        text_add(out, ", market %s",
                 text_clean(failure->market, clean, sizeof clean));
    }
    text_add(out, "%s%s%s", detail[0] != '\0' ? ", " : "", detail,
             failure->permanent ? ", permanent" : "");
    if (failure->retry_ms) {
        text_add(out, ", next attempt in %.1f s",
                 (double)failure->retry_ms / 1000);
    }
}

const char *text_event(const struct mst_event *event) {
    switch (event->type) {
    case MST_EVENT_OPEN: return "open";
    case MST_EVENT_CLOSED: return "closed";
    case MST_EVENT_ERROR: return "error";
    case MST_EVENT_PART:
        return event->as.part.aborted    ? "aborted"
               : event->as.part.snapshot ? "snapshot"
                                         : "update";
    case MST_EVENT_TOP: return "top";
    case MST_EVENT_EXECUTION: return "execution";
    case MST_EVENT_HEARTBEAT: return "heartbeat";
    case MST_EVENT_ENTRY: return "refused";
    case MST_EVENT_SERVICE_ERROR: return "service_error";
    case MST_EVENT_LEADER: return "leader";
    default: return "unknown";
    }
}

const char *text_event_channel(const struct mst_event *event) {
    switch (event->type) {
    case MST_EVENT_PART: return mst_channel_name(MST_MARKET_DATA);
    case MST_EVENT_TOP: return mst_channel_name(MST_TOP_OF_BOOK);
    case MST_EVENT_EXECUTION: return mst_channel_name(MST_EXECUTION_DATA);
    case MST_EVENT_HEARTBEAT: return mst_channel_name(MST_HEARTBEAT);
    case MST_EVENT_ENTRY: return event->as.entry.channel_name;
    default: return "";
    }
}

const char *text_action(enum mst_action action) {
    switch (action) {
    case MST_SUBSCRIBE: return "subscribe";
    case MST_UNSUBSCRIBE: return "unsubscribe";
    default: return "subscription_list";
    }
}

const char *text_doubt(unsigned flag) {
    switch (flag) {
    case MST_BOOK_CROSSED: return "crossed";
    case MST_BOOK_THIN: return "thin";
    case MST_BOOK_DISAGREES: return "disagrees";
    case MST_BOOK_BACKWARD: return "backward";
    default: return "time step";
    }
}
