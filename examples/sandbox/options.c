/* The command line. SPDX-License-Identifier: 0BSD */
#include "options.h"

#include "executions.h"
#include "feed.h"
#include "limit.h"

#include <string.h>

#define TOKEN_LIFETIME_MAX 31536000 /* s: a year */
#define STATUS_MAX 31
#define SPEED_MIN 0.01
#define SPEED_MAX 1000
#define PING_MAX 86400 /* s: a day */

static const char *const error_shapes[WRITER_ERROR_SHAPES] = {
    [WRITER_ERROR_PLAIN] = "plain",
    [WRITER_ERROR_OBJECT] = "object",
    [WRITER_ERROR_NESTED] = "nested",
};

static bool refuse(const char *what, const char *why, GError **error) {
    g_set_error(error, G_OPTION_ERROR, G_OPTION_ERROR_BAD_VALUE, "%s %s", what,
                why);
    return false;
}

/* Returns true for an IP address, or for letters, digits, dots and hyphens. */
static bool valid_host_name(const char *name) {
    return g_hostname_is_ip_address(name) ||
           (*name != '\0' &&
            strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                         "0123456789.-") == strlen(name));
}

static bool read_error_shape(struct options *options, const char *text,
                             GError **error) {
    for (int i = 0; text && i < WRITER_ERROR_SHAPES; i++) {
        if (strcmp(text, error_shapes[i]) == 0) {
            options->error_shape = (enum writer_error_shape)i;
            return true;
        }
    }
    return !text ||
           refuse("--error-shape", "must be plain, object or nested", error);
}

static bool read_quirks(struct options *options, char *const *names,
                        GError **error) {
    for (; names && *names; names++) {
        if (strcmp(*names, "help") == 0) {
            options->quirk_help = true;
        } else if (!quirk_add(&options->quirks, *names)) {
            return refuse(*names, "is not a quirk: --quirk help lists them",
                          error);
        }
    }
    return true;
}

static bool check_numbers(const struct options *options, GError **error) {
    const struct {
        const char *name;
        int64_t value, min, max;
        bool absent;
    } numbers[] = {
        {"--ws-port", options->ws_port, 0, G_MAXUINT16, false},
        {"--auth-port", options->auth_port, 0, G_MAXUINT16, false},
        {"--api-port", options->api_port, 0, G_MAXUINT16, false},
        {"--page-port", options->page_port, 0, G_MAXUINT16,
         options->page_port == OPTIONS_NO_PAGE},
        {"--token-lifetime", options->token_lifetime, 1, TOKEN_LIFETIME_MAX,
         false},
        {"--token-window", options->token_window, 1, LIMIT_WINDOW_MAX, false},
        {"--rate", options->rate, 1, FEED_RATE_MAX, false},
        {"--levels", options->levels, MARKET_DEPTH_LEAST, MARKET_DEPTH_MOST,
         options->levels == 0},
        {"--markets", options->markets, 1, FEED_MARKETS_MAX,
         options->markets == 0},
        {"--executions", options->executions, 1, EXECUTIONS_KEPT_MAX, false},
        {"--lose", options->lose, 0, G_MAXINT32, false},
        {"--ping", options->ping, 0, PING_MAX, false},
        {"--seed", options->seed, 0, G_MAXUINT32, false},
    };

    for (guint i = 0; i < G_N_ELEMENTS(numbers); i++) {
        if (!numbers[i].absent && (numbers[i].value < numbers[i].min ||
                                   numbers[i].value > numbers[i].max)) {
            g_set_error(error, G_OPTION_ERROR, G_OPTION_ERROR_BAD_VALUE,
                        "%s must be from %" G_GINT64_FORMAT
                        " to %" G_GINT64_FORMAT,
                        numbers[i].name, numbers[i].min, numbers[i].max);
            return false;
        }
    }
    return true;
}

/* Returns true for capitals and underscores, in the specification or not. */
static bool valid_status(const char *status) {
    size_t len = strlen(status);

    return len >= 1 && len <= STATUS_MAX &&
           strspn(status, "ABCDEFGHIJKLMNOPQRSTUVWXYZ_") == len;
}

static bool check(const struct options *options, GError **error) {
    if (options->quirk_help) {
        return true;
    }
    if (!options->state) {
        return refuse("--state DIR", "is required", error);
    }
    for (char **name = options->host_names; name && *name; name++) {
        if (!valid_host_name(*name)) {
            return refuse(*name, "is not a host name", error);
        }
    }
    if (options->address_status && !valid_status(options->address_status)) {
        return refuse("--address-status", "must be capitals and underscores",
                      error);
    }
    /* Written so that NaN is rejected. */
    if (!(options->speed >= SPEED_MIN && options->speed <= SPEED_MAX)) {
        return refuse("--speed", "must be from 0.01 to 1000", error);
    }
    if (options->play && (options->markets > 0 || options->lose > 0)) {
        return refuse(options->markets > 0 ? "--markets" : "--lose",
                      "cannot be combined with --play", error);
    }
    return check_numbers(options, error);
}

static bool read_command_line(const GOptionEntry *entries, int argc,
                              char **argv, GError **error) {
    g_autoptr(GOptionContext) context =
        g_option_context_new("- a local sandbox of the streaming service");

    g_option_context_add_main_entries(context, entries, NULL);
    return g_option_context_parse(context, &argc, &argv, error) &&
           (argc <= 1 || refuse("unexpected argument", argv[1], error));
}

bool options_parse(struct options *options, int argc, char **argv,
                   GError **error) {
    g_autofree char *error_shape = NULL;
    g_auto(GStrv) quirks = NULL;
    const GOptionEntry entries[] = {
        {"state", 0, 0, G_OPTION_ARG_FILENAME, &options->state,
         "Directory for certificates and endpoints.json", "DIR"},
        {"ws-port", 0, 0, G_OPTION_ARG_INT, &options->ws_port,
         "WebSocket port (0, the default: a free one)", "N"},
        {"auth-port", 0, 0, G_OPTION_ARG_INT, &options->auth_port,
         "Token endpoint's port (default 0)", "N"},
        {"api-port", 0, 0, G_OPTION_ARG_INT, &options->api_port,
         "HTTP API's port (default 0)", "N"},
        {"page-port", 0, 0, G_OPTION_ARG_INT, &options->page_port,
         "Serve a page on 127.0.0.1:N (0: a free port)", "N"},
        {"keep-ports", 0, 0, G_OPTION_ARG_NONE, &options->keep_ports,
         "Use the ports of the last start with this state", NULL},
        {"bind", 0, 0, G_OPTION_ARG_STRING, &options->bind,
         "Listen on this IP address (default: loopback)", "ADDRESS"},
        {"host-name", 0, 0, G_OPTION_ARG_STRING_ARRAY, &options->host_names,
         "Add this host to the certificate (repeatable)", "NAME"},
        {"token-lifetime", 0, 0, G_OPTION_ARG_INT, &options->token_lifetime,
         "Lifetime of a token (default 3600)", "SECONDS"},
        {"token-window", 0, 0, G_OPTION_ARG_INT, &options->token_window,
         "Period of the quirk token-limit (default 300)", "SECONDS"},
        {"rate", 0, 0, G_OPTION_ARG_INT, &options->rate,
         "Book changes per second and market (default 10)", "N"},
        {"levels", 0, 0, G_OPTION_ARG_INT, &options->levels,
         "Levels per side of a book (default: 100 to 150)", "N"},
        {"markets", 0, 0, G_OPTION_ARG_INT, &options->markets,
         "Number of markets (default 4; then M5, M6...)", "N"},
        {"wait", 0, 0, G_OPTION_ARG_NONE, &options->wait,
         "Start the markets at the first subscription", NULL},
        {"executions", 0, 0, G_OPTION_ARG_INT, &options->executions,
         "Executions that the truth keeps (default 1000000)", "N"},
        {"seed", 0, 0, G_OPTION_ARG_INT64, &options->seed,
         "Seed of the markets (default: random)", "N"},
        {"error-shape", 0, 0, G_OPTION_ARG_STRING, &error_shape,
         "Errors: plain (default), object or nested", "SHAPE"},
        {"quirk", 0, 0, G_OPTION_ARG_STRING_ARRAY, &quirks,
         "Quirk (repeatable): NAME, all, or help for a list", "NAME"},
        {"lose", 0, 0, G_OPTION_ARG_INT, &options->lose,
         "Lose about one in N book updates (default: none)", "N"},
        {"ping", 0, 0, G_OPTION_ARG_INT, &options->ping,
         "Ping clients every SECONDS (default 0: never)", "SECONDS"},
        {"address-status", 0, 0, G_OPTION_ARG_STRING, &options->address_status,
         "Status of new addresses (default APPROVED)", "STATUS"},
        {"play", 0, 0, G_OPTION_ARG_FILENAME, &options->play,
         "Serve this recording instead of markets", "FILE"},
        {"speed", 0, 0, G_OPTION_ARG_DOUBLE, &options->speed,
         "Speed of the recording (default 1)", "FACTOR"},
        {"script", 0, 0, G_OPTION_ARG_FILENAME, &options->script,
         "Markets, and faults at given times", "FILE"},
        {"faults", 0, 0, G_OPTION_ARG_FILENAME, &options->faults,
         "Start with the faults in this file", "FILE"},
        G_OPTION_ENTRY_NULL,
    };

    *options = (struct options){.page_port = OPTIONS_NO_PAGE,
                                .token_lifetime = 3600,
                                .token_window = LIMIT_WINDOW_DEFAULT,
                                .rate = 10,
                                .executions = EXECUTIONS_KEPT_DEFAULT,
                                .speed = 1,
                                .seed = g_random_int()};
    return read_command_line(entries, argc, argv, error) &&
           read_error_shape(options, error_shape, error) &&
           read_quirks(options, quirks, error) && check(options, error);
}

void options_free(struct options *options) {
    g_free(options->state);
    g_free(options->bind);
    g_free(options->faults);
    g_free(options->script);
    g_free(options->play);
    g_free(options->address_status);
    g_strfreev(options->host_names);
}
