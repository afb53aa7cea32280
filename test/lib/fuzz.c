/*
 * Shared by the fuzz targets: see fuzz.h.
 *
 * SPDX-License-Identifier: 0BSD
 */
#include "fuzz.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void fuzz_failed(const char *condition, const char *file, int line) {
    (void)fflush(stdout);
    fprintf(stderr, "%s:%d: does not hold: %s\n", file, line, condition);
    abort();
}

size_t fuzz_piece(uint8_t how, size_t at, size_t len) {
    size_t first = how >> 4, other = how & 15u;
    size_t n = at > 0 ? other : other > 0 ? first : first * len / 16;

    return n == 0 || n > len - at ? len - at : n;
}

const uint8_t *fuzz_put(const uint8_t *data, size_t len) {
    static uint8_t room[FUZZ_LEN];
    uint8_t *at = room + (sizeof room - len);

    if (len > 0) {
        memcpy(at, data, len);
    }
    return at;
}

void fuzz_note(struct fuzz_record *record, const void *data, size_t len) {
    FUZZ_EXPECT(len <= sizeof record->bytes - record->len);
    if (len > 0) {
        memcpy(record->bytes + record->len, data, len);
    }
    record->len += len;
}

void fuzz_note_byte(struct fuzz_record *record, unsigned byte) {
    const uint8_t b = (uint8_t)byte;

    fuzz_note(record, &b, 1);
}

bool fuzz_same(const struct fuzz_record *a, const struct fuzz_record *b) {
    return a->len == b->len && memcmp(a->bytes, b->bytes, a->len) == 0;
}

/* Returns the length of a character from its first byte; 0: none begins so. */
static unsigned utf8_len(uint8_t c) {
    return c < 0x80             ? 1
           : (c & 0xE0) == 0xC0 ? 2
           : (c & 0xF0) == 0xE0 ? 3
           : (c & 0xF8) == 0xF0 ? 4
                                : 0;
}

/* True if the first bytes (have) of a character of this length may begin a
 * valid one. The missing bytes allow the code points from low to high; one of
 * them must be valid. */
static bool utf8_begins(const uint8_t *data, unsigned have, unsigned len) {
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    uint32_t low = len == 1 ? data[0] : data[0] & (0x7Fu >> len), high;

    high = low;
    for (unsigned i = 1; i < len; i++) {
        if (i < have && (data[i] & 0xC0) != 0x80) {
            return false;
        }
        low = low << 6 | (i < have ? data[i] & 0x3Fu : 0u);
        high = high << 6 | (i < have ? data[i] & 0x3Fu : 0x3Fu);
    }
    return high >= least[len] && low <= 0x10FFFF &&
           !(low >= 0xD800 && high <= 0xDFFF);
}

size_t fuzz_utf8(const uint8_t *data, size_t len, bool *whole) {
    size_t at = 0;

    *whole = true;
    while (at < len) {
        unsigned n = utf8_len(data[at]), have = 0;

        while (have < n && at + have < len &&
               utf8_begins(data + at, have + 1, n)) {
            have++;
        }
        at += have;
        if (have < n || n == 0) {
            *whole = have == 0;
            break;
        }
    }
    return at;
}
