/*
 * The arguments of `mini-stream stream`.
 *
 * SPDX-License-Identifier: 0BSD
 */
#include "options.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "exits.h"

#define LEVELS_DEFAULT 100
#define LEVELS_MAX 100000
#define SECONDS_MAX 31536000

#define CHANNELS_ALL ((1u << MST_CHANNEL_OTHER) - 1)

enum { KEY_PLAIN = 'p', KEY_EXPECT_ALL = 0x200 };

static const struct argp_option stream_options[] = {
    {"channels", 'c', "LIST", 0,
     "market_data, market_data.top_of_book, execution_data, heartbeat; "
     "separated by commas (default: all four)",
     0},
    {"levels", 'l', "N", 0, "Levels kept of each side of a book (default 100)",
     0},
    {"depth", 'd', "N", 0,
     "In lines: also the N best levels of each side of a live book, and the "
     "book's time (default 0: none)",
     0},
    {"seconds", 's', "N", 0,
     "End after N seconds, such as 10 or 1.5 (default 0: at Ctrl-C)", 0},
    {"plain", KEY_PLAIN, 0, 0, "Lines instead of the live view", 0},
    {"expect-all", KEY_EXPECT_ALL, 0, 0,
     "Fail when a channel of a market delivered nothing, or a message could "
     "not be decoded",
     0},
    {0}};

/* A whole number of a range; ends the program with a line on anything else. */
static unsigned options_number(const struct argp_state *state,
                               const char *option, const char *text,
                               unsigned min, unsigned max) {
    char *end;
    unsigned long value;

    errno = 0;
    value = strtoul(text, &end, 10);
    if (text[0] < '0' || text[0] > '9' || *end != '\0' || errno != 0 ||
        value < min || value > max) {
        argp_failure(state, EXITS_USAGE, 0,
                     "--%s %s: not a whole number from %u to %u", option, text,
                     min, max);
    }
    return (unsigned)value;
}

/* Seconds, with up to three decimals, as ms; ends the program with a line on
 * anything else. */
static uint64_t options_seconds(const struct argp_state *state,
                                const char *text) {
    const uint64_t max_ms = (uint64_t)SECONDS_MAX * 1000;
    const char *at = text;
    uint64_t ms = 0;

    while (*at >= '0' && *at <= '9' && ms <= max_ms) {
        ms = ms * 10 + (uint64_t)(*at++ - '0') * 1000;
    }
    if (at > text && *at == '.') {
        at++;
        for (unsigned unit = 100; *at >= '0' && *at <= '9' && unit > 0; at++) {
            ms += (uint64_t)(*at - '0') * unit;
            unit /= 10;
        }
    }
    if (at == text || *at != '\0' || ms > max_ms) {
        argp_failure(state, EXITS_USAGE, 0,
                     "--seconds %s: not a number from 0 to %u, with up to "
                     "three decimals",
                     text, SECONDS_MAX);
    }
    return ms;
}

/* The channel of this name (of len bytes), or MST_CHANNEL_OTHER. */
static enum mst_channel options_channel(const char *name, size_t len) {
    int c = MST_MARKET_DATA;

    while (c < MST_CHANNEL_OTHER) {
        const char *known = mst_channel_name((enum mst_channel)c);

        if (strlen(known) == len && memcmp(known, name, len) == 0) {
            break;
        }
        ++c;
    }
    return (enum mst_channel)c;
}

static unsigned options_channels(const struct argp_state *state,
                                 const char *list) {
    unsigned channels = 0;

    for (const char *name = list;; ++name) {
        size_t len = strcspn(name, ",");
        enum mst_channel channel = options_channel(name, len);

        if (channel == MST_CHANNEL_OTHER) {
            argp_failure(state, EXITS_USAGE, 0,
                         "--channels: no channel is called '%.*s'", (int)len,
                         name);
        }
        channels |= 1u << channel;
        name += len;
        if (*name == '\0') {
            return channels;
        }
    }
}

static void options_market(const struct argp_state *state,
                           struct options *options, const char *market) {
    size_t len = strlen(market);

    if (len == 0 || len > MST_MARKET_MAX) {
        argp_failure(state, EXITS_USAGE, 0,
                     "market '%s': a symbol has 1 to %d bytes", market,
                     MST_MARKET_MAX);
    }
    for (size_t i = 0; i < len; ++i) {
        if (market[i] <= ' ' || market[i] > '~') {
            argp_failure(state, EXITS_USAGE, 0,
                         "market '%s': not printable ASCII without spaces",
                         market);
        }
    }
    for (size_t i = 0; i < options->market_count; ++i) {
        if (strcmp(options->markets[i], market) == 0) {
            argp_failure(state, EXITS_USAGE, 0, "market '%s' is given twice",
                         market);
        }
    }
    if (options->market_count == MST_SUBSCRIPTIONS_MAX) {
        argp_failure(state, EXITS_USAGE, 0, "more than %d markets",
                     MST_SUBSCRIPTIONS_MAX);
    }
    options->markets[options->market_count++] = market;
}

/* Checks what no single argument shows. */
static void options_check(const struct argp_state *state,
                          const struct options *options) {
    size_t wanted = options->channels >> MST_HEARTBEAT & 1u;
    bool needs_market = false;

    for (int c = MST_MARKET_DATA; c < MST_HEARTBEAT; ++c) {
        if (options->channels >> c & 1u) {
            wanted += options->market_count;
            needs_market = true;
        }
    }
    if (needs_market && options->market_count == 0) {
        argp_failure(state, EXITS_USAGE, 0,
                     "no market given: `%s --help' says more", state->name);
    }
    if (!needs_market && options->market_count > 0) {
        argp_failure(state, EXITS_USAGE, 0,
                     "the heartbeat alone has no market '%s'",
                     options->markets[0]);
    }
    if (wanted > MST_SUBSCRIPTIONS_MAX) {
        argp_failure(state, EXITS_USAGE, 0,
                     "%zu subscriptions: more than %d do not fit", wanted,
                     MST_SUBSCRIPTIONS_MAX);
    }
}

static error_t stream_parse(int key, char *arg, struct argp_state *state) {
    struct options *options = state->input;

    switch (key) {
    case ARGP_KEY_INIT: state->child_inputs[0] = &options->settings; return 0;
    case 'c': options->channels = options_channels(state, arg); return 0;
    case 'l':
        options->levels = options_number(state, "levels", arg, 1, LEVELS_MAX);
        return 0;
    case 'd':
        options->depth = options_number(state, "depth", arg, 0, LEVELS_MAX);
        return 0;
    case 's': options->end_ms = options_seconds(state, arg); return 0;
    case KEY_PLAIN: options->plain = true; return 0;
    case KEY_EXPECT_ALL: options->expect_all = true; return 0;
    case ARGP_KEY_ARG: options_market(state, options, arg); return 0;
    case ARGP_KEY_END: options_check(state, options); return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

void options_parse(struct options *options, const char *name, int argc,
                   char **argv) {
    static const struct argp_child children[] = {{&settings_argp, 0, NULL, 0},
                                                 {0}};
    static const struct argp argp = {
        .options = stream_options,
        .parser = stream_parse,
        .args_doc = "MARKET...",
        .doc = "Streams order books, best prices, trades and heartbeats: as a "
               "live view on a terminal, as lines elsewhere. Standard output "
               "has the data, standard error what happens to the "
               "connection.\v" SETTINGS_HELP "\n" EXITS_HELP,
        .children = children};

    memset(options, 0, sizeof *options);
    options->settings.url = SETTING_WS_URL;
    options->channels = CHANNELS_ALL;
    options->levels = LEVELS_DEFAULT;
    argv[0] = (char *)name;
    argp_parse(&argp, argc, argv, 0, NULL, options);
}
