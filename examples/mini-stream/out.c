/*
 * The output of a run: what is written, and in which order.
 *
 * SPDX-License-Identifier: 0BSD
 */
#include "out.h"

#include <errno.h>
#include <stdio_ext.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "examples/start.h"
#include "exits.h"
#include "options.h"
#include "recording.h"

/* Bytes of the output's buffer. It is flushed before each sleep. */
#define BUFFER_LEN 262144

#define NS_PER_MS 1000000u

#define EVERY_MAX_MS 86400000

/* Levels of a sampled book without --depth. */
#define DEPTH_DEFAULT 10

enum { KEY_BOOK_EVERY = 0x400, KEY_RAW };

int64_t out_wall(const struct out *out, uint64_t ns) {
    return out->wall_ns + (int64_t)ns;
}

uint64_t out_received_ns(const struct out *out, const struct mst_event *event) {
    switch (event->type) {
    case MST_EVENT_OPEN:
    case MST_EVENT_CLOSED:
    case MST_EVENT_ERROR:
    case MST_EVENT_LEADER: return out->now_ns;
    default: return event->received_ns;
    }
}

static void out_gap(struct out *out, struct board_market *market,
                    enum mst_channel channel) {
    const uint64_t since = market->missing_ns[channel];

    if (since > 0) {
        market->missing_ns[channel] = 0;
        out->sequence++;
        out->format->gap(out, market, channel,
                         out->now_ns > since ? (out->now_ns - since) / NS_PER_MS
                                             : 0);
    }
}

/* Adds a market to those to be sampled. */
static void out_later(struct out *out, struct board_market *market) {
    if (!market->due) {
        market->due = true;
        market->next_due = out->due;
        out->due = market;
    }
}

/* Writes a whole book as a snapshot of this link. Its updates came on a link
 * that did not lead, and were not shown. */
static void out_whole(struct out *out, const struct mst_event *event,
                      const struct board_market *market) {
    const size_t bids = mst_book_depth(market->book, MST_BID);
    const size_t all = bids + mst_book_depth(market->book, MST_ASK);
    struct mst_level levels[MST_PART_LEVELS];
    struct mst_event whole = {.type = MST_EVENT_PART,
                              .link = event->link,
                              .generation = event->generation,
                              .received_ns = out->now_ns,
                              .market = market->name,
                              .book = market->book};
    struct mst_part *part = &whole.as.part;
    size_t done = 0;

    *part = (struct mst_part){.market = market->name,
                              .time_ns = mst_book_time(market->book),
                              .levels = levels,
                              .snapshot = true,
                              .first = true};
    out->board->bids = bids;
    out->board->asks = all - bids;
    while (!part->last) {
        for (part->count = 0; part->count < MST_PART_LEVELS && done < all;
             ++done) {
            levels[part->count++] =
                done < bids
                    ? *mst_book_level(market->book, MST_BID, done)
                    : *mst_book_level(market->book, MST_ASK, done - bids);
        }
        part->last = done == all;
        out->sequence++;
        out->format->data(out, &whole, market);
        part->first = false;
    }
}

/* True if the limit admits another change of doubts or reason while the state
 * stays the same: each message may cause one. A change that is left out is not
 * lost, because the book's current state is written once there is room. */
static bool out_admits_doubt(struct out *out) {
    return out->note.lines < out->note.most &&
           note_admits(&out->note, NULL, out_wall(out, out->now_ns));
}

/* Reports a change of a book's state. Changes within a message are not
 * reported. */
static void out_book(struct out *out, const struct mst_event *event,
                     struct board_market *market) {
    enum mst_book_state state = mst_book_state(market->book);
    enum mst_book_reason reason = mst_book_reason(market->book);
    unsigned flags = mst_book_flags(market->book);
    uint64_t *missing = &market->missing_ns[MST_MARKET_DATA];

    if (state == MST_BOOK_BUILDING || reason == MST_BOOK_IN_MESSAGE) {
        return;
    }
    if (market->owed && state == MST_BOOK_LIVE &&
        event->link == out->board->objects[market->object].leads) {
        market->owed = false;
        out_whole(out, event, market);
    }
    if (state == market->told_state && reason == market->told_reason &&
        flags == market->told_flags) {
        return;
    }
    if (state == market->told_state && !out_admits_doubt(out)) {
        return;
    }
    if (market->told_state == MST_BOOK_LIVE && state != MST_BOOK_LIVE &&
        *missing == 0) {
        *missing = out->now_ns;
    }
    market->told_state = state;
    market->told_reason = reason;
    market->told_flags = flags;
    out->sequence++;
    out->format->book(out, market);
    if (state == MST_BOOK_LIVE) {
        out_gap(out, market, MST_MARKET_DATA);
    }
}

/* Another link leads from now on, with its books and its data. */
static void out_leader(struct out *out, const struct mst_event *event) {
    struct board *board = out->board;
    const size_t object = (size_t)event->link / 2;

    for (size_t i = 0; i < board->market_count; ++i) {
        struct board_market *market = &board->markets[i];

        if (market->object != object) {
            continue;
        }
        out_gap(out, market, MST_TOP_OF_BOOK);
        if (!board_wants(board, MST_MARKET_DATA)) {
            continue;
        }
        if (out->every_ns > 0) {
            out_later(out, market);
        } else {
            market->owed = true;
        }
    }
}

/* A confirmed subscription ends a gap of its channel. A book's gap ends with
 * its snapshot. */
static void out_entry(struct out *out, const struct mst_event *event,
                      struct board_market *market) {
    const struct mst_entry *entry = &event->as.entry;
    bool known = entry->success && market && entry->channel < MST_HEARTBEAT;

    /* It was subscribed again on the same connection: data may be missing since
     * the service's previous confirmation. */
    if (known && entry->action == MST_SUBSCRIBE &&
        market->confirmed[entry->channel].generation == event->generation) {
        uint64_t *missing = &market->missing_ns[entry->channel];
        uint64_t ns = market->confirmed[entry->channel].ns;

        *missing = *missing == 0 || ns < *missing ? ns : *missing;
    }
    if (known) {
        market->confirmed[entry->channel].generation = event->generation;
        market->confirmed[entry->channel].ns = out->now_ns;
    }
    if (known && entry->action == MST_SUBSCRIBE &&
        entry->channel > MST_MARKET_DATA) {
        out_gap(out, market, entry->channel);
    }
}

uint64_t out_due_ns(const struct out *out) {
    return out->due ? out->sample_ns : UINT64_MAX;
}

/* Reports how many lines about messages were left out. */
static void out_rest(struct out *out) {
    if (out->note.repeats + out->note.left_out > 0) {
        out->sequence++;
        out->format->rest(out);
    }
    note_renew(&out->note);
}

/* Writes the beginning of the output, once. */
static void out_start(struct out *out) {
    if (out->sequence == 0 && !out->raw && !out->gone) {
        out->sequence = 1;
        if (out->format->begin) {
            out->format->begin(out);
        }
    }
}

void out_tick(struct out *out, uint64_t now_ns) {
    out->now_ns = now_ns;
    out_start(out);
    if (note_is_over(&out->note, out_wall(out, now_ns)) && !out->gone) {
        out_rest(out);
    }
    if (!out->due || now_ns < out->sample_ns || out->gone) {
        return;
    }
    out->sample_ns = now_ns + out->every_ns;
    while (out->due) {
        struct board_market *market = out->due;

        out->due = market->next_due;
        market->due = false;
        if (mst_book_state(market->book) == MST_BOOK_LIVE) {
            out->sequence++;
            out->format->sample(out, market);
        }
    }
}

/* True if an event itself is shown, not only its consequences. */
static bool out_shows(const struct out *out, const struct mst_event *event) {
    return event->type != MST_EVENT_RESPONSE &&
           (event->type != MST_EVENT_PART || out->every_ns == 0) &&
           (event->type != MST_EVENT_ENTRY || !event->as.entry.success);
}

/* True if the limit of lines about messages admits an event. The text format
 * applies the limit itself, because it does not write repetitions. */
static bool out_admits(struct out *out, const struct mst_event *event) {
    return out->format == &out_text || !note_is_of_message(event) ||
           note_admits(&out->note, NULL, out_wall(out, out->now_ns));
}

void out_event(struct out *out, const struct mst_event *event,
               struct board_market *market) {
    struct board *board = out->board;
    struct mst_event stray = {.type = MST_EVENT_UNKNOWN};
    const bool is_data = event->type == MST_EVENT_PART ||
                         event->type == MST_EVENT_TOP ||
                         event->type == MST_EVENT_EXECUTION;

    if (out->raw || out->gone) {
        return;
    }
    if (out->now_ns < event->received_ns) {
        out->now_ns = event->received_ns; /* the poll has just read it */
    }
    if (is_data && !market) {
        stray.link = event->link; /* a market that is not subscribed */
        stray.generation = event->generation;
        stray.received_ns = event->received_ns;
        event = &stray;
    }
    if (board->renamed && out->format->renamed) {
        out->format->renamed(out, board->renamed);
    }
    if (out_shows(out, event) && out_admits(out, event)) {
        out->sequence++;
        if (is_data && market) {
            out->format->data(out, event, market);
        } else {
            out->format->note(out, event);
        }
    }
    switch (event->type) {
    case MST_EVENT_ENTRY: out_entry(out, event, market); break;
    case MST_EVENT_PART:
        if (market && event->as.part.snapshot) {
            market->owed = false; /* this is the snapshot */
        }
        if (market && out->every_ns > 0 && event->as.part.last) {
            out_later(out, market);
        }
        break;
    case MST_EVENT_LEADER: out_leader(out, event); break;
    case MST_EVENT_CLOSED:
    case MST_EVENT_ERROR: market = NULL; break; /* any book may be stale */
    default: break;
    }
    if (!board_wants(board, MST_MARKET_DATA)) {
        return;
    }
    if (market) {
        out_book(out, event, market);
    } else if (event->type != MST_EVENT_HEARTBEAT) {
        for (size_t i = 0; i < board->market_count; ++i) {
            out_book(out, event, &board->markets[i]);
        }
    }
}

bool out_is(const struct out *out, const char *path) {
    struct stat to, file;

    return out->path && stat(out->path, &to) == 0 && stat(path, &file) == 0 &&
           to.st_dev == file.st_dev && to.st_ino == file.st_ino;
}

int out_begin(struct out *out, struct board *board, int64_t wall_ns) {
    for (size_t i = 0; i < board->market_count; ++i) {
        struct board_market *market = &board->markets[i];

        market->told_state = mst_book_state(market->book);
        market->told_reason = mst_book_reason(market->book);
    }
    out->board = board;
    out->wall_ns = wall_ns;
    note_init(&out->note, board->market_count * (size_t)BOARD_CHANNELS);
    out->file = out->path ? start_output(out->path,
                                         out->raw ? NULL : out->format->header)
                          : stdout;
    if (!out->file) {
        fprintf(stderr, "mini-stream: --output %s: %s\n", out->path,
                errno == EEXIST ? "it exists and is no output of this format; "
                                  "it is left as it is"
                                : strerror(errno));
        return EXITS_LOCAL;
    }
    setvbuf(out->file, NULL, _IOFBF, BUFFER_LEN);
    if (out->format->open && !out->format->open(out)) {
        fputs("mini-stream: out of memory\n", stderr);
        return EXITS_LOCAL;
    }
    return EXITS_OK;
}

int out_flush(struct out *out) {
    struct pollfd fd = {.fd = start_fileno(out->file), .events = POLLOUT};
    int error = 0;

    if (out->gone) {
        return 0;
    }
    /* After a signal, another write might block again. */
    if (ferror(out->file) && poll(&fd, 1, 0) == 0) {
        error = EINTR;
    } else if (fflush(out->file) != 0 || ferror(out->file)) {
        error = errno ? errno : EIO;
    }
    if (error != 0) {
        out->gone = true;
        __fpurge(out->file); /* or the program would block at its end */
        clearerr(out->file);
    }
    return error;
}

int out_end(struct out *out, int status, const struct mst_stats *stats) {
    int error = 0;

    if (!out->gone && !out->raw) {
        out_start(out);
        out_rest(out);
        out->sequence++;
        out->format->end(out, status, stats);
    }
    if (!out->gone) {
        error = out_flush(out);
    }
    if (out->format->free) {
        out->format->free(out);
    }
    if (out->path && fclose(out->file) != 0 && !out->gone && error == 0) {
        error = errno;
    }
    return error;
}

static const struct argp_option out_options[] = {
    {0, 0, 0, 0, "Output:", 5},
    {"format", 'f', "FORMAT", 0,
     "text (default), json (one object per line) or csv (RFC 4180)", 0},
    {"output", 'o', "FILE", 0,
     "Write to FILE instead of standard output ('-'). An existing file is "
     "replaced only if it is empty, or begins like JSON or CSV of this program",
     0},
    {"depth", 'd', "N", 0,
     "Add the N best levels of each side of a live book, and its time, to each "
     "update (default 0: none)",
     0},
    {"book-every", KEY_BOOK_EVERY, "MS", 0,
     "Instead of updates, show the best levels of each changed book every MS "
     "milliseconds; --depth sets how many (default 10)",
     0},
    {"raw", KEY_RAW, 0, 0, "Only the messages, as received", 0},
    {0}};

const struct out_format *out_format(const struct argp_state *state,
                                    const char *name) {
    static const struct out_format *const formats[] = {&out_text, &out_json,
                                                       &out_csv};
    static const char *const names[] = {"text", "json", "csv", NULL};

    return formats[options_choice(state, "--format", name, names)];
}

static error_t out_key(int key, char *arg, struct argp_state *state) {
    struct out *out = state->input;

    switch (key) {
    case 'f': out->format = out_format(state, arg); return 0;
    case 'o': out->path = strcmp(arg, "-") == 0 ? NULL : arg; return 0;
    case 'd':
        out->depth = options_number(state, "depth", arg, 0, RECORDING_CAPACITY);
        return 0;
    case KEY_BOOK_EVERY:
        out->every_ns =
            1000000 *
            (uint64_t)options_number(state, "book-every", arg, 1, EVERY_MAX_MS);
        return 0;
    case KEY_RAW: out->raw = true; return 0;
    case ARGP_KEY_END:
        if (out->raw && (out->format || out->depth > 0 || out->every_ns > 0)) {
            options_fail(state,
                         "--raw cannot be combined with --format, --depth or "
                         "--book-every");
        }
        if (out->format == &out_csv && out->depth > 0 && out->every_ns == 0) {
            options_fail(state, "--depth with csv needs --book-every");
        }
        if (!out->format) {
            out->format = &out_text;
        }
        if (out->every_ns > 0 && out->depth == 0) {
            out->depth = DEPTH_DEFAULT;
        }
        return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

void out_check_depth(const struct out *out, size_t levels, const char *keeps) {
    if (out->depth > levels) {
        fprintf(stderr,
                "mini-stream: --depth %zu: a book has at most %zu levels of a "
                "side",
                out->depth, levels);
        if (keeps) {
            fprintf(stderr, "; %s %zu keeps more", keeps, out->depth);
        }
        fputc('\n', stderr);
        exit(EXITS_USAGE);
    }
}

const struct argp out_argp = {.options = out_options, .parser = out_key};
