/*
 * The report of `mini-stream doctor`, as lines or as JSON: see doctor.h.
 *
 * SPDX-License-Identifier: 0BSD
 */
#include "doctor.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "clock.h"
#include "exits.h"

/* Columns before the title of a step and its notes. */
#define INDENT 15

static const struct {
    const char *word, *name, *colour;
} statuses[] = {
    [STATUS_OK] = {"ok", "ok", "32"},
    [STATUS_WARNING] = {"warn", "warning", "33"},
    [STATUS_FAILED] = {"FAIL", "failed", "31"},
    [STATUS_NOT_TRIED] = {"-", "not tried", "2"},
};

static const struct {
    int error;
    const char *advice;
} advices[] = {
    {0, "fix the configuration: `mini-stream doctor --help' lists the "
        "options, the variables and the keys of a profile"},
    {MST_ERR_URL, "write the URLs as wss://host[:port] (ws_url) and "
                  "https://host[:port] (auth_url)"},
    {MST_ERR_PLAIN, "use wss:// and https://: secrets must be encrypted"},
    {MST_ERR_IP_HOST, "name the host instead of its address, or give --tls "
                      "openssl, which knows certificates for addresses"},
    {MST_ERR_CLOCK, "set this machine's clock (timedatectl set-ntp true, or "
                    "chrony): certificates cannot be checked without it"},
    {MST_ERR_RESOLVE, "check the host's spelling in the URL; then this "
                      "machine's name resolution: /etc/hosts, "
                      "/etc/resolv.conf, VPN"},
    {MST_ERR_REFUSED, "nothing listens there, or a firewall refuses: check "
                      "host and port in the URL, and ask the operator"},
    {MST_ERR_UNREACHABLE, "check this machine's network: address, route, VPN"},
    {MST_ERR_RESET, "the server, or something before it, closes the "
                    "connection: check host and port, ask if this machine's "
                    "address is allowed"},
    {MST_ERR_EOF, "the server closes the connection: check host and port, "
                  "ask if this machine's address is allowed"},
    {MST_ERR_TIMEOUT, "no answer: most often a firewall drops the packets, "
                      "or the port is wrong; a proxy may be needed "
                      "(--proxy). --timeout allows more time"},
    {MST_ERR_PROXY_LOGIN, "the proxy needs a valid user name and password: "
                          "http://user:password@host:port in "
                          "MINI_STREAM_PROXY or HTTPS_PROXY"},
    {MST_ERR_PROXY_REFUSED, "ask the proxy's operator to allow CONNECT to "
                            "this host and port"},
    {MST_ERR_PROXY_GATEWAY, "the proxy itself cannot reach the server: check "
                            "host and port in the URL, then ask the proxy's "
                            "operator"},
    {MST_ERR_PROXY_ANSWER, "this is no HTTP proxy: check the proxy's host "
                           "and port"},
    {MST_ERR_PROXY_TIMEOUT, "the proxy does not answer: check its host and "
                            "port, and ask its operator"},
    {MST_ERR_TLS_ISSUER, "give the certificate of the service's authority "
                         "with --ca; if you do not know the issuer, "
                         "something intercepts TLS"},
    {MST_ERR_TLS_NAME, "check the host in the URL: it must be one of the names "
                       "in the certificate"},
    {MST_ERR_TLS_TIME, "if the clock of this machine is right, the service "
                       "must renew its certificate"},
    {MST_ERR_TLS_CERTIFICATE, "the certificate does not meet today's rules "
                              "(key, hash, use): the service must replace it"},
    {MST_ERR_TLS_VERSION, "the stream's library does not support the "
                          "server's version of TLS: --tls openssl has 1.2 "
                          "and 1.3"},
    {MST_ERR_TLS_HANDSHAKE, "the server offers no suite of ECDHE with "
                            "AES-GCM or ChaCha20, or requires a client "
                            "certificate: ask its operator"},
    {MST_ERR_TLS_PROTOCOL, "the server does not speak TLS: check the port"},
    {MST_ERR_TOKEN_REFUSED, "the token endpoint does not accept this client, "
                            "its secret, or the requested scope: check "
                            "client_id and secret with the service"},
    {MST_ERR_TOKEN_SCOPE, "ask the service to grant this client the scope"},
    {MST_ERR_UNAUTHORIZED, "the stream does not accept the token: check that "
                           "ws_url and auth_url belong to the same "
                           "environment"},
    {MST_ERR_FORBIDDEN, "ask the service to put this client, and this "
                        "machine's address, on its allow list, with the "
                        "stream's scope"},
    {MST_ERR_THROTTLED, "too many requests: wait some minutes, and see what "
                        "else uses the same client"},
    {MST_ERR_HTTP_STATUS, "this is not the token endpoint, or it is out of "
                          "order: check the URL, then ask the service"},
    {MST_ERR_WS_UPGRADE, "this is not the stream: check ws_url with its "
                         "path, then ask the service"},
    {MST_ERR_SERVICE, "the service refuses the subscription: check the "
                      "market's symbol"},
};

const char *doctor_advice(int error) {
    for (size_t i = 0; i < sizeof advices / sizeof *advices; ++i) {
        if (advices[i].error == error) {
            return advices[i].advice;
        }
    }
    return "try again; if it still fails, send these lines to the service";
}

void report_init(struct report *report, bool json) {
    const char *term = getenv("TERM");

    memset(report, 0, sizeof *report);
    report->json = json;
    report->live = !json && isatty(STDOUT_FILENO) && term != NULL &&
                   strcmp(term, "dumb") != 0;
    report->colour = report->live && !text_no_color();
    report->steps = json_array();
}

json_t *report_text(const char *text) {
    const size_t size = strlen(text) + 1;
    char *clean = text_must(malloc(size));
    json_t *value = text_must(json_string(text_clean(text, clean, size)));

    free(clean);
    return value;
}

/* report_text() of an allocated text, which it frees. */
static json_t *text_take(char *text) {
    json_t *value = report_text(text);

    free(text);
    return value;
}

static const char *step_text(const struct report *report, const char *key) {
    return json_string_value(json_object_get(report->step, key));
}

void report_set(struct report *report, const char *key, json_t *value) {
    if (json_object_set_new(report->step, key, value) != 0) {
        abort();
    }
}

static void step_begin(struct report *report, const char *name, char *title) {
    report->step = text_must(json_object());
    report->begin_ms = clock_ms();
    report_set(report, "step", json_string(name));
    if (report->endpoint != NULL) {
        report_set(report, "endpoint", json_string(report->endpoint));
    }
    report_set(report, "title", text_take(title));
    report_set(report, "status", json_null());
    report_set(report, "ms", json_null());
    report_set(report, "text", json_null());
    report_set(report, "notes", json_array());
}

void report_step(struct report *report, const char *name, char *title) {
    step_begin(report, name, title);
    if (report->live) {
        printf("\r%-*s%.60s...", INDENT, "", step_text(report, "title"));
        fflush(stdout);
    }
}

void report_add(struct report *report, char *note) {
    json_array_append_new(json_object_get(report->step, "notes"),
                          text_take(note));
}

static void step_print(const struct report *report, enum status status) {
    const char *colour = statuses[status].colour;
    char time[INDENT] = "";
    const json_t *note;
    size_t i;

    if (report->live) {
        printf("\r\033[K");
    }
    if (status != STATUS_NOT_TRIED) {
        snprintf(time, sizeof time, "%6" JSON_INTEGER_FORMAT " ms",
                 json_integer_value(json_object_get(report->step, "ms")));
    }
    printf("%s%s%s%-4s%s%-*s%s: %s\n", report->colour ? "\033[" : "",
           report->colour ? colour : "", report->colour ? "m" : "",
           statuses[status].word, report->colour ? "\033[0m" : "", INDENT - 4,
           time, step_text(report, "title"), step_text(report, "text"));
    json_array_foreach(json_object_get(report->step, "notes"), i, note) {
        printf("%-*s%s\n", INDENT, "", json_string_value(note));
    }
    fflush(stdout);
}

void report_close(struct report *report, enum status status, char *text) {
    uint64_t ms = clock_ms() - report->begin_ms;

    report->warned |= status == STATUS_WARNING;
    report_set(report, "status", json_string(statuses[status].name));
    report_set(report, "ms",
               status == STATUS_NOT_TRIED ? json_null()
                                          : json_integer((json_int_t)ms));
    report_set(report, "text", text_take(text));
    if (!report->json) {
        step_print(report, status);
    }
    json_array_append_new(report->steps, report->step);
    report->step = NULL;
}

void report_failed(struct report *report, int error, const char *advice,
                   char *text) {
    if (error != 0) {
        report_set(report, "error_code", json_integer(error));
    }
    if (report->code == EXITS_OK) {
        report->code = error != 0 ? exits_code(error) : EXITS_CONFIG;
        report->advice = advice != NULL ? advice : doctor_advice(error);
        report->first = text_must(strdup(step_text(report, "title")));
    }
    report_close(report, STATUS_FAILED, text);
}

void report_skipped(struct report *report, const char *name, char *title) {
    step_begin(report, name, title);
    report_close(report, STATUS_NOT_TRIED, text_new("not tried"));
}

static void json_print(const struct report *report) {
    json_t *object = text_must(
        json_pack("{s:i,s:b,s:i,s:s?,s:O}", "version", REPORT_VERSION, "ok",
                  report->code == EXITS_OK, "exit_status", report->code,
                  "advice", report->advice, "steps", report->steps));

    json_dumpf(object, stdout, JSON_INDENT(2) | JSON_ENSURE_ASCII);
    putchar('\n');
    json_decref(object);
}

int report_end(struct report *report) {
    int code = report->code;

    if (report->json) {
        json_print(report);
    } else if (code != EXITS_OK) {
        printf("\nfirst failure: %s\nwhat to do: %s\n", report->first,
               report->advice);
    } else {
        puts(report->warned ? "\nno failures; see the warnings above"
                            : "\nall is well");
    }
    json_decref(report->steps);
    free(report->first);
    return code;
}
