/*
 * A fuzz target: messages, one per line, after a byte that selects the decoder
 * and if it expects varying amounts, and one that says how messages are cut.
 * The decoder's fast lane must give the same events as the scanner alone. A
 * message that fits the decoder's buffer must give the same ones whole.
 *
 * SPDX-License-Identifier: 0BSD
 */
#include "lanes.h"

#include "fuzz.h"

/* Resets the decoders to their state before any message. */
static void begin(struct lanes *lanes, unsigned variety) {
    lanes->usual.reader.begin(&lanes->usual);
    lanes->scanned.reader.begin(&lanes->scanned);
    lanes->usual.decoder.variety = (uint8_t)variety;
}

static struct cuts cuts_of(uint8_t how, size_t len) {
    return (struct cuts){.first = fuzz_piece(how, 0, len),
                         .most = how % 16 == 0 ? MESSAGE_MAX : how % 16u,
                         .seed = how};
}

static void expect_agreement(struct lanes *lanes, const char *message,
                             size_t len, uint8_t how) {
    const struct cuts whole = {len, MESSAGE_MAX, 0};

    if (!lanes_agree(lanes, message, len, cuts_of(how, len))) {
        printf("fast lane:\n%sscanner:\n%s", text_get(&lanes->usual_record),
               text_get(&lanes->scanned_record));
        FUZZ_EXPECT(false);
    }
    if (how == 0 || len > lanes->scanned.buffer_len) {
        return;
    }
    fast_lane = false;
    lanes_decode(&lanes->scanned, &lanes->guard, message, len, whole,
                 &lanes->scanned_record);
    if (strcmp(text_get(&lanes->usual_record),
               text_get(&lanes->scanned_record)) != 0) {
        printf("in pieces:\n%swhole:\n%s", text_get(&lanes->usual_record),
               text_get(&lanes->scanned_record));
        FUZZ_EXPECT(false);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len) {
    static struct lanes kinds[COUNT(lanes_kinds)];
    const char *at = (const char *)data + 2, *end = (const char *)data + len;
    struct lanes *lanes;

    if (len < 2 || len > FUZZ_LEN) {
        return 0;
    }
    lanes = &kinds[data[0] % COUNT(kinds)];
    if (lanes->guard.base == NULL) {
        lanes_open(lanes, data[0] % COUNT(kinds));
    }
    begin(lanes, (data[0] & 0x40) != 0 ? UINT8_MAX : 0);
    while (at < end) {
        const char *line = memchr(at, '\n', (size_t)(end - at));

        line = line != NULL ? line : end;
        expect_agreement(lanes, at, (size_t)(line - at), data[1]);
        at = line + 1;
    }
    return 0;
}
