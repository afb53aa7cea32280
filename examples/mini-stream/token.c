/*
 * `mini-stream token`: gets an access token as a stream does, and shows its
 * scope and expiry, but never the token.
 *
 * SPDX-License-Identifier: 0BSD
 */
#include "commands.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "doctor.h"
#include "options.h"
#include "text.h"

#define NS_PER_S INT64_C(1000000000)

enum { KEY_JSON = 0x200, KEY_SCOPE };

struct token_options {
    struct settings settings;
    const char *scope; /* NULL: the stream's */
    bool json;
};

static const struct argp_option token_options[] = {
    {"json", KEY_JSON, 0, 0, "One JSON object instead of lines", 0},
    {"scope", KEY_SCOPE, "SCOPE", 0,
     "Scope to request (default: exchange:read_aggregated_marketdata_stream)",
     0},
    {0}};

static error_t token_parse(int key, char *arg, struct argp_state *state) {
    struct token_options *options = state->input;

    switch (key) {
    case ARGP_KEY_INIT: state->child_inputs[0] = &options->settings; return 0;
    case KEY_JSON: options->json = true; return 0;
    case KEY_SCOPE: options->scope = arg; return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

/* Prepares the session. ws_url is never used, because the session ends before:
 * it is that of the token endpoint. */
static int token_begin(struct token_options *options, struct network *network,
                       struct mst_config *config, char **url, char *error) {
    static const char http[] = "http";
    const size_t len = sizeof http - 1;
    int rc;

    if (!settings_resolve(&options->settings, config, error) ||
        !network_begin(network, &options->settings, 1, error)) {
        return EXITS_CONFIG;
    }
    *url = text_new("ws%s", strncmp(config->auth_url, http, len) == 0
                                ? config->auth_url + len
                                : "");
    config->ws_url = *url;
    config->scope = options->scope;
    rc = session_begin(config, network, NULL, 0);
    if (rc != 0) {
        settings_refused(&options->settings, rc, error);
    }
    return exits_code(rc);
}

static void print_json(const struct mst_failure *failure, const char *end) {
    const struct session_token *token = &session_token;
    json_t *object;

    if (!token->there) {
        object = json_pack(
            "{s:s,s:i,s:o,s:o}", "error", mst_strerror(failure->error),
            "error_code", failure->error, "http_status",
            failure->http_status > 0 ? json_integer(failure->http_status)
                                     : json_null(),
            "text", report_text(failure->text ? failure->text : ""));
    } else {
        bool ends = token->lifetime_s >= 0;

        object = json_pack("{s:o,s:o,s:o}", "scope", report_text(token->scope),
                           "lifetime_s",
                           ends ? json_integer(token->lifetime_s) : json_null(),
                           "expires", ends ? json_string(end) : json_null());
    }
    json_dumpf(object, stdout, JSON_INDENT(2) | JSON_ENSURE_ASCII);
    putchar('\n');
    json_decref(object);
}

static void print_lines(const char *end) {
    char scope[MST_LINE_MAX + 1];

    printf("scope     %s\n",
           text_clean(session_token.scope, scope, sizeof scope));
    if (session_token.lifetime_s >= 0) {
        printf("lifetime  %" PRId64 " s\nexpires   %s\n",
               session_token.lifetime_s, end);
    } else {
        puts("lifetime  without an end");
    }
}

/* Waits for a token or a failed attempt, and shows it. Returns the exit
 * code. */
static int token_run(struct network *network, bool json) {
    struct mst_event event = {0};
    struct mst_failure *failure = &event.as.failure;
    char text[TEXT_FAILURE_LEN], end[TEXT_TIME_LEN];

    while (session_next(network, UINT64_MAX, true, &event) == OUTCOME_EVENT &&
           event.type != MST_EVENT_CLOSED) {}
    text_time(clock_unix_ns() + session_token.lifetime_s * NS_PER_S, end);
    if (json) {
        print_json(failure, end);
    } else if (session_token.there) {
        print_lines(end);
    }
    if (!session_token.there) {
        session_failure(failure, text);
        fprintf(stderr, "mini-stream: %s\n", text);
    }
    return session_token.there ? EXITS_OK : exits_code(failure->error);
}

int token_main(int argc, char **argv) {
    static const struct argp argp = {
        .options = token_options,
        .parser = token_parse,
        .doc = "Gets an access token, once, and shows its scope and expiry, "
               "but never the token itself.\v" SETTINGS_HELP "\n" EXITS_HELP,
        .children = settings_children};
    static struct token_options options;
    static struct network network;
    struct mst_config config = {0};
    char error[SETTINGS_ERROR_LEN] = "", *url = NULL;
    int result;

    options.settings.url = SETTING_AUTH_URL;
    options_parse(&argp, argc, argv, &options);
    signal(SIGPIPE, SIG_IGN);
    result = token_begin(&options, &network, &config, &url, error);
    if (result != EXITS_OK) {
        fprintf(stderr, "mini-stream: %s\n", error);
    } else {
        result = token_run(&network, options.json);
    }
    session_end();
    free(url);
    network_end(&network);
    settings_free(&options.settings);
    return result;
}
