/*
 * The options that say what is put out, and how.
 *
 * SPDX-License-Identifier: 0BSD
 */
#include <argp.h>
#include <string.h>

#include "exits.h"
#include "options.h"
#include "out.h"

#define DEPTH_MAX 100000
#define EVERY_MAX_MS 86400000

/* Levels of a sampled book where --depth says nothing. */
#define DEPTH_DEFAULT 10

enum { KEY_BOOK_EVERY = 0x400, KEY_RAW };

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

static const struct out_format *const formats[] = {&out_text, &out_json,
                                                   &out_csv};
#define FORMATS (sizeof formats / sizeof(void *))

const struct out_format *out_format(const struct argp_state *state,
                                    const char *name) {
    for (size_t i = 0; i < FORMATS; ++i) {
        if (strcmp(formats[i]->name, name) == 0) {
            return formats[i];
        }
    }
    argp_failure(state, EXITS_USAGE, 0,
                 "--format %s: must be text, json or csv", name);
    return NULL;
}

static error_t out_key(int key, char *arg, struct argp_state *state) {
    struct out *out = state->input;

    switch (key) {
    case 'f': out->format = out_format(state, arg); return 0;
    case 'o': out->path = strcmp(arg, "-") == 0 ? NULL : arg; return 0;
    case 'd':
        out->depth = options_number(state, "depth", arg, 0, DEPTH_MAX);
        return 0;
    case KEY_BOOK_EVERY:
        out->every_ns =
            1000000 *
            (uint64_t)options_number(state, "book-every", arg, 1, EVERY_MAX_MS);
        return 0;
    case KEY_RAW: out->raw = true; return 0;
    case ARGP_KEY_END:
        if (out->raw && (out->format || out->depth > 0 || out->every_ns > 0)) {
            argp_failure(state, EXITS_USAGE, 0,
                         "--raw cannot be combined with --format, --depth or "
                         "--book-every");
        }
        if (out->format == &out_csv && out->depth > 0 && out->every_ns == 0) {
            argp_failure(state, EXITS_USAGE, 0,
                         "--depth with csv needs --book-every");
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

const struct argp out_argp = {.options = out_options, .parser = out_key};
