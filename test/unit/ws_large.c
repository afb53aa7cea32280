/*
 * Tests of WebSocket framing at its limits: lengths beyond any memory, messages
 * of many fragments and of 16 MiB, and input after an error.
 *
 * SPDX-License-Identifier: 0BSD
 */
#include "support.h"

#define MIB ((size_t)1 << 20)
#define LARGE (16 * MIB)

/* What was read of a message, without its bytes. */
struct reading {
    struct mst_ws ws;
    size_t pieces, firsts, lasts, bytes;
    uint64_t sum; /* of the bytes, weighted by their place */
};

static uint64_t sum_add(uint64_t sum, const uint8_t *data, size_t len) {
    for (size_t i = 0; i < len; i++) {
        sum = sum * 31 + data[i];
    }
    return sum;
}

/* Continues to read. Returns 0, or an error. */
static int read_on(struct reading *r, const uint8_t *data, size_t len) {
    size_t at = 0;
    int rc;

    do {
        struct mst_ws_piece piece;
        size_t used;

        rc = mst_ws_read(&r->ws, data + at, len - at, &used, &piece);
        at += used;
        if (rc == 1) {
            r->pieces++;
            r->firsts += piece.first;
            r->lasts += piece.last;
            r->bytes += piece.len;
            r->sum = sum_add(r->sum, piece.data, piece.len);
        }
    } while (rc == 1);
    return rc;
}

static void reading_begin(struct reading *r) {
    memset(r, 0, sizeof *r);
    mst_ws_init(&r->ws);
}

/* Writes a frame's header with a 64-bit length. */
static void put_header(uint8_t header[10], uint8_t first, uint64_t len) {
    header[0] = first;
    header[1] = 127;
    for (int i = 0; i < 8; i++) {
        header[2 + i] = (uint8_t)(len >> 8 * (7 - i));
    }
}

/* ---- lengths ---- */

/* A 64-bit length is exact: it does not wrap in a register, and nothing is read
 * beyond the input. */
TEST_CASE(a_length_of_64_bits_does_not_wrap) {
    static const uint64_t lens[] = {
        UINT64_C(0x100000000),         UINT64_C(0x100000001),
        UINT64_C(0x100000005),         UINT64_C(0x1000000FFFF),
        UINT64_C(0x7FFFFFFF00000000),  UINT64_C(0x7FFFFFFFFFFFFFFF),
        UINT64_C(0x0000000080000000),  UINT64_C(0x00000000FFFFFFFF),
        UINT64_C(0x00000000FFFFFFFF0),
    };

    for (size_t i = 0; i < COUNT(lens); i++) {
        uint8_t header[10], *data;
        struct reading r;

        put_header(header, 0x82, lens[i]);
        reading_begin(&r);
        data = guarded(header, sizeof header);
        assert_int_equal(read_on(&r, data, sizeof header), 0);
        expect_int("pieces", 0, r.pieces);
        /* Frames, if the message ended here. The guard page follows. */
        data = guarded("\x81\x80\x89\x80\xFF\xFF\xFF\xFF", 8);
        assert_int_equal(read_on(&r, data, 8), 0);
        expect_int("bytes", 8, r.bytes);
        expect_int("over", 0, r.lasts);
    }
}

/* A control frame does not exceed 125 bytes through a length that wraps. */
TEST_CASE(a_control_frame_has_no_long_length) {
    static const uint64_t lens[] = {126, 65536, UINT64_C(0x100000000),
                                    UINT64_C(0x10000007D),
                                    UINT64_C(0x7FFFFFFFFFFFFFFF)};

    for (uint8_t opcode = 8; opcode <= 10; opcode++) {
        for (size_t i = 0; i < COUNT(lens); i++) {
            uint8_t header[10];
            struct reading r;

            put_header(header, (uint8_t)(0x80 | opcode), lens[i]);
            reading_begin(&r);
            expect_int("control", MST_ERR_WS_CONTROL,
                       read_on(&r, header, sizeof header));
        }
    }
}

/* ---- many fragments ---- */

/* Expects the pieces of a message, one per fragment, after empty fragments. */
static void expect_fragments(size_t count, size_t empty, size_t len) {
    static const uint8_t continuation[] = {0x00, 0};
    uint8_t frame[2 + 125] = {0x02, (uint8_t)len};
    uint64_t sum = 0;
    struct reading r;

    reading_begin(&r);
    for (size_t i = 0; i < count; i++) {
        memset(frame + 2, (int)(i & 0xFF), len);
        sum = sum_add(sum, frame + 2, len);
        if (i + 1 == count) {
            frame[0] |= 0x80;
        }
        assert_int_equal(read_on(&r, frame, 2 + len), 0);
        frame[0] = 0;
        for (size_t n = 0; n < empty && i + 1 < count; n++) {
            assert_int_equal(read_on(&r, continuation, sizeof continuation), 0);
        }
    }
    expect_int("first", 1, r.firsts);
    expect_int("last", 1, r.lasts);
    expect_int("bytes", (long long)count * (long long)len, r.bytes);
    expect_int("pieces", len > 0 ? count : 1, r.pieces);
    assert_true(r.sum == sum);
    assert_int_equal(read_on(&r, (const uint8_t *)"\x81\x01x", 3), 0);
    expect_int("the next", 2, r.lasts);
}

TEST_CASE(a_message_of_65536_fragments_is_one_message) {
    expect_fragments(65536, 0, 1);
    expect_fragments(65536, 0, 125);
    expect_fragments(65536, 0, 0);
    expect_fragments(65536, 3, 1);
    expect_fragments(2, 65534, 1);
}

/* ---- 16 MiB ---- */

/* Returns text of this length with characters of 1 to 4 bytes. */
static uint8_t *large_text(size_t len) {
    static const char piece[] = "a\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80";
    uint8_t *text = malloc(len);

    assert_non_null(text);
    memset(text, 'x', len);
    for (size_t at = 0; at + sizeof piece - 1 <= len; at += sizeof piece - 1) {
        memcpy(text + at, piece, sizeof piece - 1);
    }
    return text;
}

/* Reads a message in frames and pieces of at most these lengths; both cut
 * characters. */
static void expect_large(const uint8_t *text, uint8_t opcode, size_t frame,
                         size_t step) {
    uint64_t sum = sum_add(0, text, LARGE);
    struct reading r;

    reading_begin(&r);
    for (size_t at = 0; at < LARGE; at += frame) {
        size_t len = LARGE - at < frame ? LARGE - at : frame;
        uint8_t header[10];

        put_header(
            header,
            (uint8_t)((at == 0 ? opcode : 0) | (at + len == LARGE ? 0x80 : 0)),
            len);
        assert_true(len > 65535);
        assert_int_equal(read_on(&r, header, sizeof header), 0);
        for (size_t i = 0; i < len; i += step) {
            assert_int_equal(
                read_on(&r, text + at + i, len - i < step ? len - i : step), 0);
        }
    }
    expect_int("first", 1, r.firsts);
    expect_int("last", 1, r.lasts);
    expect_int("bytes", LARGE, r.bytes);
    assert_true(r.sum == sum);
}

TEST_CASE(a_message_of_16_mib_passes_in_pieces) {
    uint8_t *text = large_text(LARGE);

    for (uint8_t opcode = 1; opcode <= 2; opcode++) {
        expect_large(text, opcode, LARGE, 4093);
        expect_large(text, opcode, LARGE, LARGE);
        expect_large(text, opcode, MIB + 1, 65537);
    }
    free(text);
}

/* The error is found at its place, without the rest of the message. */
TEST_CASE(what_is_not_utf_8_ends_a_message_of_16_mib) {
    static const size_t places[] = {0, 9999990, LARGE - 1};
    uint8_t *text = large_text(LARGE), header[10];

    put_header(header, 0x81, LARGE);
    for (size_t i = 0; i < COUNT(places); i++) {
        size_t at = places[i], end = at + 1;
        uint8_t good = text[at];
        struct reading r;

        text[at] = 0xFF;
        reading_begin(&r);
        assert_int_equal(read_on(&r, header, sizeof header), 0);
        expect_int("not UTF-8", MST_ERR_WS_UTF8, read_on(&r, text, end));
        expect_int("over", 0, r.lasts);
        text[at] = good;
    }
    free(text);
}

/* ---- after an error ---- */

/* An error ends the connection: valid frames after it are not read. */
TEST_CASE(nothing_is_read_behind_an_error) {
    static const struct {
        const char *data;
        size_t len;
        int error;
    } cases[] = {
        {BYTES("\xC1\x01x"), MST_ERR_WS_RESERVED},
        {BYTES("\x81\x81MASKx"), MST_ERR_WS_MASKED},
        {BYTES("\x81\x7E\0\x01x"), MST_ERR_WS_LENGTH},
        {BYTES("\x09\x01x"), MST_ERR_WS_CONTROL},
        {BYTES("\x80\x01x"), MST_ERR_WS_FRAGMENT},
        {BYTES("\x81\x01\xFF"), MST_ERR_WS_UTF8},
        {BYTES("\x88\x01x"), MST_ERR_WS_CLOSE},
    };
    static const char good[] = "\x81\x01x\x89\x01p\x82\x01x\x88\x02\x03\xE8";

    for (size_t i = 0; i < COUNT(cases); i++) {
        struct mst_ws_piece piece;
        struct reading r;
        size_t used = 1;

        reading_begin(&r);
        expect_int("error", cases[i].error,
                   read_on(&r, (const uint8_t *)cases[i].data, cases[i].len));
        for (int again = 0; again < 3; again++) {
            expect_int("again", cases[i].error,
                       mst_ws_read(&r.ws, (const uint8_t *)good,
                                   sizeof good - 1, &used, &piece));
            expect_int("used", 0, used);
        }
        expect_int("pieces", 0, r.pieces);
    }
}

RUN_CASES(NULL, NULL)
