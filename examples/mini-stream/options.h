/*
 * The options of a run, shared by `stream`, `watch` and `record`.
 *
 * SPDX-License-Identifier: 0BSD
 */
#ifndef OPTIONS_H
#define OPTIONS_H

#include <getopt.h>

#include "clients.h"
#include "exits.h"
#include "settings.h"

struct options {
    struct settings settings;
    const char **markets; /* pointers into argv */
    size_t market_count;
    unsigned channels; /* bit n is channel n of enum mst_channel */
    size_t levels;     /* per side of a book */
    uint64_t end_ms;   /* 0: no limit */
    unsigned count;    /* messages of data; 0: no limit */
    struct clients_plan plan;
    const char *token_file;
    const char *record; /* file to record to, or NULL */
    unsigned split_mb;  /* size of its files; 0: one file */
    bool only_records;
    const char *replay;    /* recording to show instead, or NULL */
    unsigned stats_ms;     /* 0: no lines of figures */
    unsigned metrics_port; /* 0: no metrics */
    bool expect_all, fail_on_disconnect, verbose, quiet;
};

/* A child for a subcommand's parser, with the arguments. The input is a struct
 * options, zeroed at first. */
extern const struct argp options_argp;
/* The children of a parser that has no others. */
extern const struct argp_child options_children[];

/* Long options of a parser, at most, with an end. */
#define OPTIONS_MAX 80
/* Appends the long options of a parser and its children to a list. Returns its
 * new length. */
size_t options_list(const struct argp *argp, struct option list[OPTIONS_MAX],
                    size_t count);

/* argp_parse(), with -h as --help, and with a suggestion for an unknown
 * option. */
void options_parse(const struct argp *argp, int argc, char **argv, void *input);

void options_free(struct options *options);

/* Ends the program with a usage error. */
#define options_fail(state, ...) \
    argp_failure(state, EXITS_USAGE, 0, __VA_ARGS__)

/* Returns a whole number from min to max. Anything else is a usage error. */
unsigned options_number(const struct argp_state *state, const char *option,
                        const char *text, unsigned min, unsigned max);

/* The library's longest time: 24 days. */
#define MS_MAX 2073600000
/* Returns seconds, with up to three decimals, in ms. Anything else is a usage
 * error. */
uint64_t options_seconds(const struct argp_state *state, const char *option,
                         const char *text, uint64_t min_ms, uint64_t max_ms);

/* Returns a word's number among the known ones, which end with NULL. Ends the
 * program if it is unknown, with a suggestion. For the word "list", prints the
 * known words and exits with success, for shell completion. */
size_t options_choice(const struct argp_state *state, const char *what,
                      const char *word, const char *const *known);

/* Ends the program if market is not a valid symbol. */
void options_check_market(const struct argp_state *state, const char *market);

#endif
