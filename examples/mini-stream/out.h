/*
 * What a run puts out: each event of the library, and what follows from them
 * (a book is stale, data are missing, a sample is due), in one of the formats.
 *
 * SPDX-License-Identifier: 0BSD
 */
#ifndef OUT_H
#define OUT_H

#include <argp.h>
#include <stdio.h>

#include "board.h"
#include "note.h"

/* Of all the fields of JSON and CSV: one more when a meaning changes. */
#define OUT_VERSION 1

struct out;

/* A format. Each call writes what stands for one thing, whole. */
struct out_format {
    const char *name;
    const char *header; /* what files of it begin with, or NULL: anything */
    bool (*open)(struct out *out);  /* false: out of memory; or NULL */
    void (*begin)(struct out *out); /* or NULL */
    /* Data of a market: part, top, execution. */
    void (*data)(struct out *out, const struct mst_event *event,
                 const struct board_market *market);
    /* Another event. */
    void (*note)(struct out *out, const struct mst_event *event);
    /* How many events about messages were left out: out->note. */
    void (*rest)(struct out *out);
    /* The service spells the market differently; or NULL. */
    void (*renamed)(struct out *out, const struct board_market *market);
    /* The state of a market's book is another one. */
    void (*book)(struct out *out, const struct board_market *market);
    /* Of this channel data may have been lost for so long. */
    void (*gap)(struct out *out, const struct board_market *market,
                enum mst_channel channel, uint64_t ms);
    /* The best levels of a market's book; NULL if every_ns is never set. */
    void (*sample)(struct out *out, const struct board_market *market);
    void (*end)(struct out *out, int status, const struct mst_stats *stats);
    void (*free)(struct out *out); /* or NULL */
};
extern const struct out_format out_text, out_json, out_csv;

/* The line that out_json made last, with its line feed; without a file it goes
 * nowhere else. */
const char *out_json_line(const struct out *out, size_t *len);

struct out {
    const struct out_format *format;
    bool raw; /* nothing is put out here: messages are, by raw.c */
    FILE *file;
    const char *path; /* of the file; NULL: standard output */
    struct board *board;
    size_t depth;       /* levels of a side that are shown of a live book */
    uint64_t every_ns;  /* 0: each update is shown; else books, so often */
    int64_t wall_ns;    /* the wall clock less the monotonic one */
    uint64_t sequence;  /* of the last thing; 0: it has not begun */
    uint64_t now_ns;    /* monotonic, of the current thing; 0: not known */
    uint64_t sample_ns; /* when the next samples are due */
    struct board_market *due; /* the markets to be sampled then */
    struct note note;         /* what is written about messages */
    void *state;              /* the format's */
    bool gone;                /* takes no more */
    bool cut;                 /* it ends because a recording was cut */
};

/* True if the output is the file at this path, which it would empty. */
bool out_is(const struct out *out, const char *path);

/* Opens the file, or takes standard output. wall_ns: see there. Returns 0 or an
 * exit code, with a line on standard error. */
int out_begin(struct out *out, struct board *board, int64_t wall_ns);

/* Before anything else of a moment: monotonic now. Says that a run begins, and
 * shows the samples that are due. */
void out_tick(struct out *out, uint64_t now_ns);
/* Takes an event of the moment at hand that the board has taken, and what
 * board_take() has returned: its market. */
void out_event(struct out *out, const struct mst_event *event,
               struct board_market *market);
/* When the next one is, monotonic; UINT64_MAX: none is. */
uint64_t out_due_ns(const struct out *out);

/* Writes out what is buffered, whole lines. Returns 0 as long as the output
 * takes it; else an errno, once. */
int out_flush(struct out *out);

/* Says that the run ends with this exit status and these counts, and closes the
 * file. Returns as out_flush(). */
int out_end(struct out *out, int status, const struct mst_stats *stats);

/* When an event was received, monotonic, or seen where no bytes brought it. */
uint64_t out_received_ns(const struct out *out, const struct mst_event *event);

/* The wall clock's time of a monotonic one. */
int64_t out_wall(const struct out *out, uint64_t ns);

/* The format of this name; ends the program with a line on any other. */
const struct out_format *out_format(const struct argp_state *state,
                                    const char *name);

/* The options; the input is a struct out, zeroed at first. */
extern const struct argp out_argp;

/* ---- --raw: the messages as they were received, from the trace ---- */

/* Of one link: what came of the response to the opening handshake, then of the
 * frames. */
struct raw_link {
    bool upgraded;
    unsigned end; /* bytes of the empty line that ends the response */
    struct mst_ws ws;
};

struct raw {
    FILE *file;
    bool terminal;  /* it is one */
    uint8_t before; /* the last byte */
    struct raw_link *links;
};

/* A trace; context is a struct raw. Prints each text message as a line. */
void raw_trace(void *context, const struct mst_trace *trace);

#endif
