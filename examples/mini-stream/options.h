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
    struct clients_plan plan;
    const char *token_file;
    const char *record; /* the recording's file, or NULL */
    unsigned split_mb;  /* of a file of it; 0: one file */
    bool only_records;
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

/* A whole number of a range; ends the program with a line on anything else. */
unsigned options_number(const struct argp_state *state, const char *option,
                        const char *text, unsigned min, unsigned max);

/* Ends the program with a line on what is no market's symbol. */
void options_check_market(const struct argp_state *state, const char *market);

#endif
