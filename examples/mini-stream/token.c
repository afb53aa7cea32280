/*
 * `mini-stream token`: gets an access token as a stream does, and shows what it
 * is good for; never the token.
 *
 * SPDX-License-Identifier: 0BSD
 */
#define _GNU_SOURCE /* asprintf() */

#include "commands.h"

#include <inttypes.h>
#include <jansson.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "exits.h"
#include "network.h"
#include "text.h"

#define NS_PER_S INT64_C(1000000000)

/* The longest sleep. */
#define WAIT_MS 200

enum { KEY_JSON = 0x200, KEY_SCOPE };

struct token_options {
    struct settings settings;
    const char *scope; /* or NULL: the stream's */
    bool json;
};

static const struct argp_option token_options[] = {
    {"json", KEY_JSON, 0, 0, "One JSON object instead of lines", 0},
    {"scope", KEY_SCOPE, "SCOPE", 0,
     "Scope to request (default: exchange:read_aggregated_marketdata_stream)",
     0},
    {0}};

/* What has become of it, by the trace and by the event of its failure. */
static struct {
    bool obtained;
    int64_t lifetime_s;  /* or -1 */
    int64_t obtained_ns; /* Unix time */
    char scope[MST_LINE_MAX + 1];
    struct mst_failure failure;
    char text[MST_TEXT_MAX + 1]; /* what the service says of it */
} token;

static struct mst_client client;
MST_MEMORY(memory, MST_LENGTHS_SMALL);

static error_t token_parse(int key, char *arg, struct argp_state *state) {
    struct token_options *options = state->input;

    switch (key) {
    case ARGP_KEY_INIT: state->child_inputs[0] = &options->settings; return 0;
    case KEY_JSON: options->json = true; return 0;
    case KEY_SCOPE: options->scope = arg; return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

static void token_options_parse(struct token_options *options, int argc,
                                char **argv) {
    static const struct argp argp = {
        .options = token_options,
        .parser = token_parse,
        .doc = "Gets an access token, once, and shows its scope and expiry, "
               "but never the token itself.\v" SETTINGS_HELP "\n" EXITS_HELP,
        .children = settings_children};

    options->settings.url = SETTING_AUTH_URL;
    argp_parse(&argp, argc, argv, 0, NULL, options);
}

static void token_trace(void *context, const struct mst_trace *trace) {
    struct network *network = context;

    if (trace->kind == MST_TRACE_TOKEN && strcmp(trace->text, "dropped") != 0) {
        token.obtained = true;
        token.lifetime_s = trace->value;
        snprintf(token.scope, sizeof token.scope, "%.*s", (int)trace->len,
                 (const char *)trace->data);
        (void)network->port.unix_ns(network->port.context, &token.obtained_ns);
    } else if (trace->kind == MST_TRACE_OPEN) {
        text_set_target(trace->link, trace->text, trace->value);
    }
}

/* Prepares the client. The stream's URL is that of the token endpoint: it is
 * never asked for, because the client is wiped before. */
static int token_begin(struct token_options *options, struct network *network,
                       struct mst_config *config, char *error) {
    static const char https[] = "https";
    const size_t len = sizeof https - 1;
    char *url;
    int rc;

    if (!settings_resolve(&options->settings, config, error) ||
        !network_begin(network, &options->settings, 1, error)) {
        return EXITS_CONFIG;
    }
    if (asprintf(&url, "wss%s",
                 strncmp(config->auth_url, https, len) == 0
                     ? config->auth_url + len
                     : "") < 0) {
        abort();
    }
    config->ws_url = url;
    config->scope = options->scope;
    rc = mst_client_init(&client, config, &network->port, &memory);
    if (rc != 0) {
        snprintf(error, SETTINGS_ERROR_LEN, "%s (%s)", mst_strerror(rc),
                 options->settings.shown[SETTING_AUTH_URL]);
        free(url);
        config->ws_url = NULL;
    }
    return exits_code(rc);
}

/* Until there is a token, or an attempt has failed. */
static void token_run(struct network *network) {
    const struct mst_link *link = &client.link;
    struct mst_event event;

    for (;;) {
        int rc = mst_poll(&client, &event);

        if (rc < 0 || token.obtained) {
            return;
        }
        if (rc > 0 && event.type == MST_EVENT_CLOSED) {
            token.failure = event.as.failure;
            snprintf(token.text, sizeof token.text, "%s",
                     event.as.failure.text);
            token.failure.text = token.text;
            token.failure.permanent = false; /* there is no next attempt */
            token.failure.retry_ms = 0;
            return;
        }
        if (rc == 0) {
            mst_posix_wait(&network->posix, &link, 1, WAIT_MS);
        }
    }
}

static json_t *text_json(const char *text) {
    char clean[MST_LINE_MAX + 1];

    return json_string(text_clean(text, clean, sizeof clean));
}

static void print_json(void) {
    const struct mst_failure *failure = &token.failure;
    char end[TEXT_TIME_LEN];
    json_t *object;

    text_time(token.obtained_ns + token.lifetime_s * NS_PER_S, end);
    if (!token.obtained) {
        object = json_pack(
            "{s:s,s:i,s:o,s:o}", "error", mst_strerror(failure->error),
            "error_code", failure->error, "http_status",
            failure->http_status > 0 ? json_integer(failure->http_status)
                                     : json_null(),
            "text", text_json(token.text));
    } else {
        bool ends = token.lifetime_s >= 0;
        object = json_pack("{s:o,s:o,s:o}", "scope", text_json(token.scope),
                           "lifetime_s",
                           ends ? json_integer(token.lifetime_s) : json_null(),
                           "expires", ends ? json_string(end) : json_null());
    }
    json_dumpf(object, stdout, JSON_INDENT(2) | JSON_ENSURE_ASCII);
    putchar('\n');
    json_decref(object);
}

static void print_lines(void) {
    char scope[MST_LINE_MAX + 1];
    char end[TEXT_TIME_LEN];

    text_time(token.obtained_ns + token.lifetime_s * NS_PER_S, end);
    printf("scope     %s\n", text_clean(token.scope, scope, sizeof scope));
    if (token.lifetime_s >= 0) {
        printf("lifetime  %" PRId64 " s\nexpires   %s\n", token.lifetime_s,
               end);
    } else {
        puts("lifetime  without an end");
    }
}

/* Shows how it went. Returns the exit code. */
static int token_show(const struct token_options *options) {
    int code = token.obtained ? EXITS_OK : exits_code(token.failure.error);
    char text[TEXT_FAILURE_LEN];

    if (options->json) {
        print_json();
    } else if (token.obtained) {
        print_lines();
    }
    if (!token.obtained) {
        text_failure(&token.failure, 0, text);
        fprintf(stderr, "mini-stream: %s\n", text);
    }
    return code;
}

int token_main(int argc, char **argv) {
    static struct token_options options;
    static struct network network;
    struct mst_config config = {.flags = MST_TRACE_ALL,
                                .trace = token_trace,
                                .trace_context = &network};
    char error[SETTINGS_ERROR_LEN] = "";
    int result;

    token_options_parse(&options, argc, argv);
    signal(SIGPIPE, SIG_IGN);
    result = token_begin(&options, &network, &config, error);
    if (result != EXITS_OK) {
        fprintf(stderr, "mini-stream: %s\n", error);
    } else {
        token_run(&network);
        mst_client_wipe(&client);
        result = token_show(&options);
    }
    free((char *)config.ws_url);
    network_end(&network);
    settings_free(&options.settings);
    return result;
}
