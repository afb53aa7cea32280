/*
 * The output of a run: the events of the library and their consequences (a
 * stale book, missing data, a sample that is due), in one of the formats.
 *
 * SPDX-License-Identifier: 0BSD
 */
#ifndef OUT_H
#define OUT_H

#include <argp.h>
#include <stdio.h>

#include "board.h"
#include "note.h"

/* Version of JSON and CSV: increases if the meaning of a field changes. */
#define OUT_VERSION 1

struct out;

/* A format. Each function writes one item completely. */
struct out_format {
    const char *name;
    const char *header;             /* how files begin, or NULL */
    bool (*open)(struct out *out);  /* false: no memory; or NULL */
    void (*begin)(struct out *out); /* or NULL */
    /* Writes data of a market: a part, top or execution. */
    void (*data)(struct out *out, const struct mst_event *event,
                 const struct board_market *market);
    /* Writes another event. */
    void (*note)(struct out *out, const struct mst_event *event);
    /* Writes how many events about messages were left out: out->note. */
    void (*rest)(struct out *out);
    /* Writes how the service spells the market; may be NULL. */
    void (*renamed)(struct out *out, const struct board_market *market);
    /* Writes the new state of a market's book. */
    void (*book)(struct out *out, const struct board_market *market);
    /* Writes that data of this channel may be missing for this long. */
    void (*gap)(struct out *out, const struct board_market *market,
                enum mst_channel channel, uint64_t ms);
    /* Writes the best levels of a book; NULL if every_ns is always 0. */
    void (*sample)(struct out *out, const struct board_market *market);
    void (*end)(struct out *out, int status, const struct mst_stats *stats);
    void (*free)(struct out *out); /* or NULL */
};
extern const struct out_format out_text, out_json, out_csv;

/* Returns the last line of out_json, with its line feed. If out->file is NULL,
 * lines are not written. */
const char *out_json_line(const struct out *out, size_t *len);

struct out {
    const struct out_format *format;
    bool raw; /* raw.c writes the messages instead */
    FILE *file;
    const char *path; /* NULL: standard output */
    struct board *board;
    size_t depth;             /* levels per side shown of a live book */
    uint64_t every_ns;        /* interval of samples; 0: each update is shown */
    int64_t wall_ns;          /* wall clock minus monotonic clock */
    uint64_t sequence;        /* of the last item; 0: not begun */
    uint64_t now_ns;          /* monotonic, of the current item; 0: unknown */
    uint64_t sample_ns;       /* when the next samples are due */
    struct board_market *due; /* the list of markets to sample then */
    struct note note;         /* limits the lines about messages */
    void *state;              /* private to the format */
    bool gone;                /* the output accepts no more data */
    bool cut;                 /* the replayed recording was cut */
};

/* True if the output is the file at this path, which opening it would empty. */
bool out_is(const struct out *out, const char *path);

/* Opens the output. wall_ns: see struct out. Returns 0 or an exit code, with a
 * line on standard error. */
int out_begin(struct out *out, struct board *board, int64_t wall_ns);

/* To be called first at each monotonic time. Writes the beginning of the
 * output, and the samples that are due. */
void out_tick(struct out *out, uint64_t now_ns);
/* Writes an event of the current time, after board_take(), which returned its
 * market. */
void out_event(struct out *out, const struct mst_event *event,
               struct board_market *market);
/* Returns the monotonic time of the next sample, or UINT64_MAX. */
uint64_t out_due_ns(const struct out *out);

/* Flushes the output, in whole lines. Returns 0, or an errno once if that
 * fails. */
int out_flush(struct out *out);

/* Writes the end of the run and closes the file. Returns as out_flush(). */
int out_end(struct out *out, int status, const struct mst_stats *stats);

/* Returns the monotonic time at which an event was received, or seen if no
 * bytes brought it. */
uint64_t out_received_ns(const struct out *out, const struct mst_event *event);

/* Converts a monotonic time to the wall clock. */
int64_t out_wall(const struct out *out, uint64_t ns);

/* Returns the format of this name. Another name is a usage error. */
const struct out_format *out_format(const struct argp_state *state,
                                    const char *name);

/* The options; the input is a struct out, zeroed at first. */
extern const struct argp out_argp;

/* Ends the program if --depth is more than the levels kept of each side. keeps:
 * if not NULL, the option that keeps more. */
void out_check_depth(const struct out *out, size_t levels, const char *keeps);

/* ---- --raw: messages as received ---- */

/* State of one link: first the response to the opening handshake, then the
 * frames. */
struct raw_link {
    bool upgraded;
    unsigned end; /* matching bytes of the empty line that ends the response */
    struct mst_ws ws;
};

struct raw {
    FILE *file;
    bool terminal;  /* it is a terminal */
    uint8_t before; /* the last byte written */
    struct raw_link *links;
};

/* A function for traces; context is a struct raw. Writes each text message as a
 * line. */
void raw_trace(void *context, const struct mst_trace *trace);

#endif
