/*
 * What a run streams and how: the arguments that `stream`, `watch` and `record`
 * have in common.
 *
 * SPDX-License-Identifier: 0BSD
 */
#ifndef OPTIONS_H
#define OPTIONS_H

#include "clients.h"
#include "settings.h"

struct options {
    struct settings settings;
    const char **markets; /* names of argv */
    size_t market_count;
    unsigned channels; /* bit n is channel n of enum mst_channel */
    size_t levels;     /* of a side of a book */
    uint64_t end_ms;   /* 0: without end */
    unsigned count;    /* messages of data, 0: without end */
    struct clients_plan plan;
    const char *token_file;
    const char *record; /* the recording's file, or NULL */
    unsigned split_mb;  /* of a file of it; 0: one file */
    bool only_records;
    const char *replay;    /* a recording to be shown instead, or NULL */
    unsigned stats_ms;     /* 0: no line of figures */
    unsigned metrics_port; /* 0: no metrics */
    bool expect_all, fail_on_disconnect, verbose, quiet;
};

/* For the parser of a subcommand, as its child; the input is a struct options,
 * zeroed at first. It takes the arguments, too. */
extern const struct argp options_argp;
/* For one that has no other child. */
extern const struct argp_child options_children[];

void options_free(struct options *options);

/* Ends the program with a line about wrong arguments. */
#define options_fail(state, ...) \
    argp_failure(state, EXITS_USAGE, 0, __VA_ARGS__)

/* A whole number of a range; ends the program with a line on anything else. */
unsigned options_number(const struct argp_state *state, const char *option,
                        const char *text, unsigned min, unsigned max);

/* Of the library's times: 24 days. */
#define MS_MAX 2073600000
/* Seconds, with up to three decimals, as ms; ends the program with a line on
 * anything else. */
uint64_t options_seconds(const struct argp_state *state, const char *option,
                         const char *text, uint64_t min_ms, uint64_t max_ms);

/* Ends the program with a line on a word that is none of these, which end with
 * NULL: it has the one that was likely meant, or all. The word "list" prints them
 * and ends the program well: completion asks so. */
void options_unknown(const struct argp_state *state, const char *what,
                     const char *word, const char *const *known);

/* Ends the program with a line on what is no market's symbol. */
void options_check_market(const struct argp_state *state, const char *market);

#endif
