/*
 * Messages as the service writes them, and the sum that decoding them must
 * give, computed from their content without a decoder.
 *
 * SPDX-License-Identifier: 0BSD
 */
#ifndef CORPUS_H
#define CORPUS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Length of a time with nanoseconds. */
#define CORPUS_TIME_LEN 30

#define CORPUS_MARKETS_MAX 10
#define CORPUS_MARKET_LEN 8

struct corpus_message {
    size_t at, len;
    uint64_t sum;
};

/* BENCH_PADDING readable bytes follow each message; the first of them is 0. */
struct corpus {
    char *text;
    size_t len, size;
    struct corpus_message *messages;
    size_t count;
    size_t levels; /* of updates and snapshots */
    size_t bytes;  /* of the messages alone */
    uint64_t sum;  /* of all messages */
};

/* Different messages of a varied corpus, and their markets, for programs that
 * must measure the same. */
#define CORPUS_VARIED_MESSAGES 200000
#define CORPUS_VARIED_MARKETS 8

/* How messages are written. All except the varied ones have the same content:
 * prices with two decimals, amounts with four, times in ms or ns by the kind of
 * message. */
enum corpus_form {
    CORPUS_USUAL,   /* as the service does */
    CORPUS_SPACED,  /* a space after each ':' and ',' between values */
    CORPUS_ORDERED, /* members in another order that needs no second reading */
    CORPUS_SORTED,  /* by name, so that levels come before their market */
    CORPUS_VARIED   /* as usual, with many markets: prices have their market's
                     * 0 to 5 decimals, amounts up to five digits and 0 to 8
                     * decimals, perhaps ending with zeros, times ms or ns */
};

/* Makes 80% updates of 1 to 10 levels, 10% top of book, 9% executions and 1%
 * heartbeats, of up to CORPUS_MARKETS_MAX markets; the same in each run. */
void corpus_mixed(struct corpus *corpus, size_t count, unsigned markets,
                  enum corpus_form form);

/* Makes one snapshot with this many levels on each side. */
void corpus_snapshot(struct corpus *corpus, size_t levels,
                     enum corpus_form form);

/* Each message of a long corpus is an update with this many levels, of both
 * sides, and bytes. */
#define CORPUS_LONG_LEVELS 21
#define CORPUS_LONG_BYTES 1024

enum corpus_changes {
    CORPUS_AMOUNTS, /* of amounts only */
    CORPUS_MOVES,   /* one in eight removes a level and one in eight adds one:
                     * a side keeps about its size, and at most doubles it */
    CORPUS_LONG     /* the same in long updates, whose amounts have 5 to 8
                     * decimals and enough digits before to fill them */
};

/* One market's book: a snapshot of `levels` levels (more than 50) on each side,
 * then `count` messages, in the mix above unless they are long. Half of the
 * changes are within 10 levels of the best price, 90% within 100, the rest
 * anywhere. Returns the sum (bench_sum_level()) of the levels at the end. */
uint64_t corpus_live(struct corpus *corpus, size_t count, unsigned levels,
                     enum corpus_changes changes);

void corpus_free(struct corpus *corpus);

/* Writes the market of this number, with a NUL. */
void corpus_market(unsigned number, char market[CORPUS_MARKET_LEN + 1]);

#endif
