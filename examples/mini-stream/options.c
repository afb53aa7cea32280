/*
 * The options of a run: see options.h.
 *
 * SPDX-License-Identifier: 0BSD
 */
#define _GNU_SOURCE /* strchrnul() */

#include "options.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "recording.h"
#include "text.h"

#define LEVELS_DEFAULT 100
#define SECONDS_MAX 31536000
#define SPLIT_MAX 1000000
#define COUNT_MAX 4000000000

#define CHANNELS_ALL ((1u << MST_CHANNEL_OTHER) - 1)

enum {
    KEY_TOP = 0x200,
    KEY_EXECUTIONS,
    KEY_ROTATE,
    KEY_HOT_STANDBY,
    KEY_LAG,
    KEY_TOKEN_FILE,
    KEY_SCOPE,
    KEY_SET,
    KEY_STRICT,
    KEY_RESYNC_CROSSED,
    KEY_ALLOW_PLAIN,
    KEY_RECORD,
    KEY_SPLIT,
    KEY_EXPECT_ALL,
    KEY_FAIL_ON_DISCONNECT,
    KEY_STATS,
    KEY_METRICS,
    KEY_COUNT,
    KEY_USAGE = 0x700
};

static const struct argp_option run_options[] = {
    {0, 0, 0, 0, "Data:", 1},
    {"channels", 'c', "LIST", 0,
     "market_data, market_data.top_of_book (or top), execution_data (or "
     "executions), heartbeat; separated by commas (default: all four). `list' "
     "shows all names, here and for --format and --tls",
     0},
    {"top", KEY_TOP, 0, 0,
     "The channel market_data.top_of_book, besides any given by --channels", 0},
    {"executions", KEY_EXECUTIONS, 0, 0,
     "The channel execution_data, besides any given by --channels", 0},
    {"levels", 'l', "N", 0, "Levels kept of each side of a book (default 100)",
     0},
    {"strict", KEY_STRICT, 0, 0,
     "Refuse amounts of more than 18 digits (default: cut them)", 0},
    {"resync-crossed", KEY_RESYNC_CROSSED, 0, 0,
     "Subscribe again if a book is crossed", 0},
    {0, 0, 0, 0, "End:", 2},
    {"seconds", 's', "N", 0,
     "End after N seconds, such as 10 or 1.5, even if nobody reads standard "
     "output (default 0: at Ctrl-C)",
     0},
    {"count", KEY_COUNT, "N", 0,
     "End after N messages of data: snapshots, updates, best prices, "
     "executions; with the heartbeat channel alone, after N heartbeats",
     0},
    {"fail-on-disconnect", KEY_FAIL_ON_DISCONNECT, 0, 0,
     "End if a connection fails or is lost", 0},
    {"expect-all", KEY_EXPECT_ALL, 0, 0,
     "Fail if a channel of a market delivered nothing, or a message could not "
     "be decoded",
     0},
    {0, 0, 0, 0, "Connection:", 3},
    {"rotate", KEY_ROTATE, "SECONDS", 0,
     "Open a new connection every SECONDS (10 or more), and switch to it "
     "without a gap once its books are live",
     0},
    {"hot-standby", KEY_HOT_STANDBY, 0, 0,
     "Keep a second connection with live books, in case the first is lost", 0},
    {"lag", KEY_LAG, "SECONDS", 0,
     "Reconnect if the stream lags by more than SECONDS", 0},
    {"token-file", KEY_TOKEN_FILE, "FILE", 0,
     "Keep the access token in FILE for the next start. A file that is not a "
     "token file, or that others can access, is left as it is",
     0},
    {"scope", KEY_SCOPE, "SCOPE", 0, "Scope of the token to request", 0},
    {"set", KEY_SET, "NAME=N", 0,
     "Set a time of struct mst_config in ms, such as connect_ms=5000; `--set "
     "list' lists them",
     0},
    {"allow-plain", KEY_ALLOW_PLAIN, 0, 0,
     "Allow ws:// and http://: others on the network can read the token", 0},
    {0, 0, 0, 0, "Diagnostics:", 4},
    {"verbose", 'v', 0, 0,
     "Report each step of each connection on standard error", 0},
    {"quiet", 'q', 0, 0,
     "Only fatal errors, and the figures of --stats, on standard error", 0},
    {"stats", KEY_STATS, "SECONDS", 0,
     "Print a line of figures on standard error every SECONDS", 0},
    {"record", KEY_RECORD, "FILE", 0,
     "Record the run in FILE, a new file, for `mini-stream replay'", 0},
    {"split", KEY_SPLIT, "MB", 0,
     "Continue the recording in FILE.1, FILE.2 and so on, each of MB megabytes",
     0},
    {"metrics", KEY_METRICS, "PORT", 0,
     "Serve figures for Prometheus on http://127.0.0.1:PORT/metrics", 0},
    {0}};

/* The times of struct mst_config that --set knows. */
#define TIME(name) \
    { #name, offsetof(struct mst_config, name) }
static const struct {
    const char *name;
    size_t offset;
} times[] = {
    TIME(resolve_ms),     TIME(connect_ms),      TIME(tls_ms),
    TIME(token_ms),       TIME(upgrade_ms),      TIME(answer_ms),
    TIME(snapshot_ms),    TIME(closing_ms),      TIME(ping_ms),
    TIME(silence_ms),     TIME(request_gap_ms),  TIME(backoff_ms),
    TIME(backoff_max_ms), TIME(backoff_slow_ms), TIME(stable_ms),
    TIME(resume_ms),      TIME(heartbeat_ms),    TIME(audit_ms),
};

unsigned options_number(const struct argp_state *state, const char *option,
                        const char *text, unsigned min, unsigned max) {
    char *end;
    unsigned long value;

    errno = 0;
    value = strtoul(text, &end, 10);
    if (text[0] < '0' || text[0] > '9' || *end != '\0' || errno != 0 ||
        value < min || value > max) {
        options_fail(state, "--%s %s: not a whole number from %u to %u", option,
                     text, min, max);
    }
    return (unsigned)value;
}

uint64_t options_seconds(const struct argp_state *state, const char *option,
                         const char *text, uint64_t min_ms, uint64_t max_ms) {
    const char *at = text;
    uint64_t ms = 0;

    while (*at >= '0' && *at <= '9' && ms <= max_ms) {
        ms = ms * 10 + (uint64_t)(*at++ - '0') * 1000;
    }
    if (*at == '.') {
        at++;
        for (unsigned unit = 100; *at >= '0' && *at <= '9' && unit > 0; at++) {
            ms += (uint64_t)(*at - '0') * unit;
            unit /= 10;
        }
    }
    if (!strpbrk(text, "0123456789") || *at != '\0' || ms < min_ms ||
        ms > max_ms) {
        options_fail(
            state,
            "--%s %s: not a number from %.10g to %.10g, with up to three "
            "decimals",
            option, text, (double)min_ms / 1000, (double)max_ms / 1000);
    }
    return ms;
}

size_t options_choice(const struct argp_state *state, const char *what,
                      const char *word, const char *const *known) {
    char suggestion[TEXT_SUGGEST_LEN];
    size_t i = text_find(word, known);

    if (!known[i] && strcmp(word, "list") == 0) {
        for (i = 0; known[i]; ++i) {
            puts(known[i]);
        }
        exit(EXITS_OK);
    }
    if (!known[i]) {
        options_fail(state, "%s '%s': %s", what, word,
                     text_suggest(word, known, suggestion));
    }
    return i;
}

static unsigned options_channels(const struct argp_state *state,
                                 const char *list) {
    static const char *const known[] = {"market_data",
                                        "market_data.top_of_book",
                                        "execution_data",
                                        "heartbeat",
                                        "executions",
                                        "top_of_book",
                                        "top",
                                        NULL};
    static const enum mst_channel channels[] = {
        MST_MARKET_DATA,    MST_TOP_OF_BOOK, MST_EXECUTION_DATA, MST_HEARTBEAT,
        MST_EXECUTION_DATA, MST_TOP_OF_BOOK, MST_TOP_OF_BOOK};
    char *names = text_must(strdup(list)), *rest = names, *name;
    unsigned chosen = 0;

    while ((name = strsep(&rest, ","))) {
        chosen |=
            1u << channels[options_choice(state, "--channels", name, known)];
    }
    free(names);
    return chosen;
}

static void options_set(const struct argp_state *state,
                        struct mst_config *config, const char *text) {
    const char *known[sizeof times / sizeof *times + 1] = {NULL};
    const char *equals = strchrnul(text, '=');
    char option[64];
    size_t at;

    snprintf(option, sizeof option, "set %.*s", (int)(equals - text), text);
    for (size_t i = 0; i < sizeof times / sizeof *times; ++i) {
        known[i] = times[i].name;
    }
    at = options_choice(state, "--set", option + strlen("set "), known);
    *(uint32_t *)((char *)config + times[at].offset) =
        options_number(state, option, *equals ? equals + 1 : equals, 0, MS_MAX);
}

void options_check_market(const struct argp_state *state, const char *market) {
    size_t len = strlen(market);

    if (len == 0 || len > MST_MARKET_MAX) {
        options_fail(state, "market '%s': a symbol has 1 to %d bytes", market,
                     MST_MARKET_MAX);
    }
    for (size_t i = 0; i < len; ++i) {
        if (market[i] <= ' ' || market[i] > '~') {
            options_fail(state,
                         "market '%s': not printable ASCII without spaces",
                         market);
        }
    }
}

static void options_market(const struct argp_state *state,
                           struct options *options, const char *market) {
    options_check_market(state, market);
    for (size_t i = 0; i < options->market_count; ++i) {
        if (strcmp(options->markets[i], market) == 0) {
            options_fail(state, "market '%s' is given twice", market);
        }
    }
    options->markets = text_must(reallocarray(
        options->markets, options->market_count + 1, sizeof *options->markets));
    options->markets[options->market_count++] = market;
}

/* Checks combinations of options, and computes the number of objects. Each
 * object has all channels of its markets, and the heartbeat. */
static void options_check(const struct argp_state *state,
                          struct options *options) {
    size_t channels = 0, room;

    if (options->replay) {
        if (options->market_count > 0 || options->record ||
            options->metrics_port > 0) {
            options_fail(state, "--replay has its markets, and no --record and "
                                "--metrics");
        }
        return;
    }
    if (options->record && strcmp(options->record, "-") == 0) {
        options_fail(state, "a recording cannot go to standard output: give a "
                            "file instead of '-'");
    }
    if (options->channels == 0) {
        options->channels = CHANNELS_ALL;
    }
    room = MST_SUBSCRIPTIONS_MAX - (options->channels >> MST_HEARTBEAT & 1u);
    for (int c = MST_MARKET_DATA; c < MST_HEARTBEAT; ++c) {
        channels += options->channels >> c & 1u;
    }
    if (channels > 0 && options->market_count == 0) {
        options_fail(state, "no market given: `%s --help' says more",
                     state->name);
    }
    if (channels == 0 && options->market_count > 0) {
        options_fail(state, "the heartbeat alone has no market '%s'",
                     options->markets[0]);
    }
    if (options->plan.rotate_ms > 0 &&
        (options->plan.config.flags & MST_HOT_STANDBY) != 0) {
        options_fail(state, "--rotate and --hot-standby exclude each other");
    }
    if (options->split_mb > 0 && !options->record) {
        options_fail(state, "--split has no --record");
    }
    options->plan.count = 1;
    if (channels > 0) {
        size_t markets = room / channels;

        options->plan.count = (options->market_count + markets - 1) / markets;
    }
}

/* Handles options that only set a value or a flag. Returns false for others. */
static bool options_plain(struct options *options, int key, char *arg) {
    struct mst_config *config = &options->plan.config;

    switch (key) {
    case KEY_HOT_STANDBY:
        options->plan.pairs = true;
        config->flags |= MST_HOT_STANDBY;
        return true;
    case KEY_STRICT: config->flags |= MST_STRICT_AMOUNTS; return true;
    case KEY_RESYNC_CROSSED: config->flags |= MST_RESYNC_CROSSED; return true;
    case KEY_ALLOW_PLAIN: config->flags |= MST_ALLOW_PLAIN; return true;
    case KEY_TOKEN_FILE: options->token_file = arg; return true;
    case KEY_RECORD: options->record = arg; return true;
    case KEY_SCOPE: config->scope = arg; return true;
    case KEY_EXPECT_ALL: options->expect_all = true; return true;
    case KEY_FAIL_ON_DISCONNECT:
        options->fail_on_disconnect = true;
        return true;
    case 'v': options->verbose = true; return true;
    case 'q': options->quiet = true; return true;
    default: return false;
    }
}

static error_t options_key(int key, char *arg, struct argp_state *state) {
    struct options *options = state->input;
    struct mst_config *config = &options->plan.config;

    if (options_plain(options, key, arg)) {
        return 0;
    }
    switch (key) {
    case ARGP_KEY_INIT:
        options->settings.url = SETTING_WS_URL;
        options->levels = LEVELS_DEFAULT;
        state->child_inputs[0] = &options->settings;
        return 0;
    case 'c': options->channels |= options_channels(state, arg); return 0;
    case KEY_TOP: options->channels |= 1u << MST_TOP_OF_BOOK; return 0;
    case KEY_EXECUTIONS:
        options->channels |= 1u << MST_EXECUTION_DATA;
        return 0;
    case 'l':
        options->levels =
            options_number(state, "levels", arg, 1, RECORDING_CAPACITY);
        return 0;
    case 's':
        options->end_ms = options_seconds(state, "seconds", arg, 0,
                                          (uint64_t)SECONDS_MAX * 1000);
        return 0;
    case KEY_ROTATE:
        options->plan.pairs = true;
        options->plan.rotate_ms =
            (uint32_t)options_seconds(state, "rotate", arg, 10000, MS_MAX);
        return 0;
    case KEY_LAG:
        config->lag_max_ms =
            (uint32_t)options_seconds(state, "lag", arg, 1, MS_MAX);
        return 0;
    case KEY_COUNT:
        options->count = options_number(state, "count", arg, 1, COUNT_MAX);
        return 0;
    case KEY_SET: options_set(state, config, arg); return 0;
    case KEY_STATS:
        options->stats_ms =
            (unsigned)options_seconds(state, "stats", arg, 100, MS_MAX);
        return 0;
    case KEY_METRICS:
        options->metrics_port = options_number(state, "metrics", arg, 1, 65535);
        return 0;
    case KEY_SPLIT:
        options->split_mb = options_number(state, "split", arg, 1, SPLIT_MAX);
        return 0;
    case ARGP_KEY_ARG: options_market(state, options, arg); return 0;
    case ARGP_KEY_END: options_check(state, options); return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

const struct argp options_argp = {.options = run_options,
                                  .parser = options_key,
                                  .children = settings_children};
const struct argp_child options_children[] = {{&options_argp, 0, NULL, 0}, {0}};

size_t options_list(const struct argp *argp, struct option list[OPTIONS_MAX],
                    size_t count) {
    for (const struct argp_option *option = argp->options;
         option && (option->name || option->key || option->doc); ++option) {
        if (option->name && count + 1 < OPTIONS_MAX) {
            list[count++] = (struct option){
                option->name, option->arg ? required_argument : no_argument,
                NULL, option->key};
        }
    }
    for (const struct argp_child *child = argp->children; child && child->argp;
         ++child) {
        count = options_list(child->argp, list, count);
    }
    return count;
}

/* Ends the program because getopt_long() returned ':' or '?' for a word. */
static _Noreturn void options_wrong(const char *program, const char *word,
                                    const struct option *list, int result) {
    const char *known[OPTIONS_MAX] = {NULL}, *close = NULL;
    char name[40], clean[40], text[80] = "see --help";
    const char *slash = strrchr(program, '/');

    program = slash ? slash + 1 : program;
    snprintf(name, sizeof name, "%.*s", (int)strcspn(word, "="), word);
    for (size_t i = 0; list[i].name; ++i) {
        known[i] = text_new("--%s", list[i].name);
        if (list[i].val == optopt) { /* its value is wrong */
            fprintf(stderr, "%s: %s %s value\n", program, known[i],
                    result == ':' ? "needs a" : "takes no");
            exit(EXITS_USAGE);
        }
        if (optopt == 0 && strncmp(known[i], name, strlen(name)) == 0) {
            close = close ? close : known[i];
        }
    }
    if (optopt != 0) { /* of a word with several, perhaps */
        snprintf(name, sizeof name, "-%c", optopt);
    }
    close = close ? close : text_close(name, known);
    if (close) {
        snprintf(text, sizeof text, "did you mean '%s'?", close);
    }
    fprintf(stderr, "%s: no option is called '%s': %s\n", program,
            text_clean(name, clean, sizeof clean), text);
    exit(EXITS_USAGE);
}

void options_parse(const struct argp *argp, int argc, char **argv,
                   void *input) {
    static char option[] = "--help";
    char *help[] = {argv[0], option, NULL}, shorts[OPTIONS_MAX * 2 + 2] = ":";
    struct option list[OPTIONS_MAX] = {{"help", no_argument, NULL, 'h'},
                                       {"usage", no_argument, NULL, KEY_USAGE}};
    int key;

    list[options_list(argp, list, 2)] = (struct option){0};
    for (size_t i = 0, len = 1; list[i].name; ++i) {
        if (list[i].val < KEY_SETTING) {
            shorts[len++] = (char)list[i].val;
        }
        if (list[i].val < KEY_SETTING && list[i].has_arg) {
            shorts[len++] = ':';
        }
    }
    opterr = 0;
    do {
        optopt = 0;
        key = getopt_long(argc, argv, shorts, list, NULL);
        if (key == ':' || (key == '?' && optopt != '?')) {
            options_wrong(argv[0], argv[optind - 1], list, key);
        }
    } while (key != -1 && key != 'h' && key != '?' && key != KEY_USAGE);
    argp_parse(argp, key == 'h' ? 2 : argc, key == 'h' ? help : argv, 0, NULL,
               input);
}

void options_free(struct options *options) {
    settings_free(&options->settings);
    free(options->markets);
}
