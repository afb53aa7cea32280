/*
 * Compares the decoder with its fast lane to the scanner alone, over the same
 * messages. A program that includes this has the library in it.
 *
 * SPDX-License-Identifier: 0BSD
 */
#ifndef LANES_H
#define LANES_H

#include <stdbool.h>

static bool fast_lane;

#define MESSAGE_FAST fast_lane
#include "mini_stream.c" /* NOLINT(bugprone-suspicious-include) */

#include "support.h"

#define MESSAGE_MAX (1 << 18)

/* A decoder for each lane, kept from message to message. */
struct lanes {
    struct decoding usual, scanned;
    struct text usual_record, scanned_record;
    struct guard guard;
};

static const struct {
    size_t buffer_len;
    unsigned flags;
} lanes_kinds[] = {
    {256, 0}, {300, MST_STRICT_AMOUNTS}, {2048, 0}, {2048, MST_STRICT_AMOUNTS}};

static void lanes_open(struct lanes *lanes, size_t kind) {
    *lanes = (struct lanes){0};
    decoding_open(&lanes->usual, lanes_kinds[kind].buffer_len,
                  lanes_kinds[kind].flags);
    decoding_open(&lanes->scanned, lanes_kinds[kind].buffer_len,
                  lanes_kinds[kind].flags);
    guard_open(&lanes->guard, MESSAGE_MAX);
}

static inline void lanes_close(struct lanes *lanes) {
    decoding_close(&lanes->usual);
    decoding_close(&lanes->scanned);
    text_free(&lanes->usual_record);
    text_free(&lanes->scanned_record);
    guard_close(&lanes->guard);
}

/* How a message is cut: after the first bytes, then into random pieces of up to
 * most bytes. */
struct cuts {
    size_t first, most;
    uint64_t seed;
};

static void lanes_decode(struct decoding *decoding, const struct guard *guard,
                         const char *message, size_t len, struct cuts cuts,
                         struct text *record) {
    size_t at = 0, piece = cuts.first;

    text_clear(record);
    do {
        uint8_t *data;

        piece = piece < len - at ? piece : len - at;
        data = memcpy(guard_room(guard, piece), message + at, piece);
        at += piece;
        decoding_feed(decoding, data, piece, at == len, record);
        memset(data, 0xA5, piece);
        piece = cuts.most < len
                    ? (size_t)(random_next(&cuts.seed) % (cuts.most + 1))
                    : len;
    } while (at < len);
    text_add(record, "depth %u\n", decoding->decoder.json.deepest);
}

/* Decodes a message with both lanes; true if the events are the same. */
static bool lanes_agree(struct lanes *lanes, const char *message, size_t len,
                        struct cuts cuts) {
    fast_lane = true;
    lanes_decode(&lanes->usual, &lanes->guard, message, len, cuts,
                 &lanes->usual_record);
    fast_lane = false;
    lanes_decode(&lanes->scanned, &lanes->guard, message, len, cuts,
                 &lanes->scanned_record);
    return strcmp(text_get(&lanes->usual_record),
                  text_get(&lanes->scanned_record)) == 0;
}

#endif
