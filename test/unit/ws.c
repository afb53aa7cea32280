/*
 * Tests of WebSocket framing (RFC 6455), both directions.
 *
 * SPDX-License-Identifier: 0BSD
 */
#include "fuzz.h"
#include "support.h"

/* ---- A reader of frames, for tests of streams ---- */

struct framing {
    struct reader reader;
    struct mst_ws ws;
    struct text message; /* as far as received */
    bool in_message, failed;
};

static void framing_begin(void *context) {
    struct framing *framing = context;

    mst_ws_init(&framing->ws);
    text_clear(&framing->message);
    framing->in_message = framing->failed = false;
}

static void record_payload(struct text *record, const void *data, size_t len) {
    text_add(record, "<");
    if (len <= 200) {
        text_add_bytes(record, data, len);
    } else {
        text_add(record, "%zu bytes", len);
    }
    text_add(record, ">\n");
}

/* Records a message when it is complete, and a control frame at once, with its
 * place in the current message. */
static void record_piece(struct framing *framing,
                         const struct mst_ws_piece *piece,
                         struct text *record) {
    if (piece->opcode == MST_WS_TEXT || piece->opcode == MST_WS_BINARY) {
        if (piece->first == framing->in_message) {
            text_add(record, "wrong first flag\n");
        }
        framing->in_message = !piece->last;
        text_add_bytes(&framing->message, piece->data, piece->len);
        if (!piece->last) {
            return;
        }
        text_add(record, piece->opcode == MST_WS_TEXT ? "text" : "binary");
        record_payload(record, text_get(&framing->message),
                       framing->message.len);
        text_clear(&framing->message);
        return;
    }
    if (framing->in_message) {
        text_add(record, "after %zu: ", framing->message.len);
    }
    if (!piece->first || !piece->last) {
        text_add(record, "divided ");
    }
    if (piece->opcode == MST_WS_CLOSE) {
        text_add(record, "close %d", piece->close_code);
    } else if (piece->opcode == MST_WS_PING) {
        text_add(record, "ping");
    } else {
        text_add(record, piece->opcode == MST_WS_PONG ? "pong" : "unknown");
    }
    record_payload(record, piece->data, piece->len);
}

static void framing_read(struct framing *framing, const uint8_t *data,
                         size_t len, struct text *record) {
    size_t at = 0, calls = 0;
    int rc;

    do {
        struct mst_ws_piece piece;
        size_t used = SIZE_MAX;

        rc = mst_ws_read(&framing->ws, data + at, len - at, &used, &piece);
        if (rc < 0) {
            framing->failed = true;
            text_add(record, "%s\n", error_name(rc));
            return;
        }
        assert_true(used <= len - at);
        if (rc == 1 && piece.opcode < MST_WS_CLOSE && piece.len > 0) {
            assert_true(piece.data >= data + at &&
                        piece.data + piece.len <= data + at + used);
        }
        if (rc == 1) {
            record_piece(framing, &piece, record);
        }
        at += used;
        assert_true(++calls <= len + 2);
    } while (rc == 1);
    assert_int_equal(rc, 0);
    assert_int_equal(at, len);
}

static void framing_piece(void *context, const uint8_t *data, size_t len,
                          bool last, struct text *record) {
    struct framing *framing = context;

    (void)last;
    if (!framing->failed) {
        framing_read(framing, data, len, record);
    }
}

static void expect_frames(const char *name, const void *data, size_t len,
                          const char *expected) {
    struct framing framing = {
        .reader = {&framing, framing_begin, framing_piece}};

    replay_everywhere(name, &framing.reader, data, len, expected);
    text_free(&framing.message);
}

struct frame_case {
    const char *name;
    const char *data;
    size_t len;
    const char *expected;
};

static void expect_frame_cases(const struct frame_case *cases, size_t count) {
    for (size_t i = 0; i < count; i++) {
        expect_frames(cases[i].name, cases[i].data, cases[i].len,
                      cases[i].expected);
    }
}

/* ---- Well-formed frames ---- */

TEST_CASE(the_examples_of_rfc_6455_are_read) {
    static const struct frame_case cases[] = {
        {"text", BYTES("\x81\x05Hello"), "text<Hello>\n"},
        {"fragmented text", BYTES("\x01\x03Hel\x80\x02lo"), "text<Hello>\n"},
        {"ping", BYTES("\x89\x05Hello"), "ping<Hello>\n"},
        {"pong", BYTES("\x8a\x05Hello"), "pong<Hello>\n"},
    };

    expect_frame_cases(cases, COUNT(cases));
}

TEST_CASE(messages_come_whole_in_order_and_with_their_opcode) {
    static const struct frame_case cases[] = {
        {"nothing", BYTES(""), ""},
        {"empty text", BYTES("\x81\0"), "text<>\n"},
        {"empty binary", BYTES("\x82\0"), "binary<>\n"},
        {"binary", BYTES("\x82\x03xx\xff"), "binary<xx\xff>\n"},
        {"three in a row", BYTES("\x81\x01x\x82\x01y\x81\x01z"),
         "text<x>\nbinary<y>\ntext<z>\n"},
        {"fragmented binary", BYTES("\x02\x01x\0\x01y\x80\x01z"),
         "binary<xyz>\n"},
        {"empty fragments", BYTES("\x01\0\0\0\x80\0"), "text<>\n"},
        {"empty fragments around data",
         BYTES("\x01\0\0\x02hi\0\0\0\x01!\x80\0"), "text<hi!>\n"},
        {"empty first fragment, then a message",
         BYTES("\x01\0\x80\x01x\x81\x01y"), "text<x>\ntext<y>\n"},
        {"half a header", BYTES("\x81"), ""},
        {"half a payload", BYTES("\x81\x05Hel"), ""},
        {"half a control frame", BYTES("\x89\x05Hel"), ""},
        {"between fragments", BYTES("\x01\x03Hel"), ""},
        {"half a long length", BYTES("\x82\x7f\0\0\0\0\0\x01\0"), ""},
    };

    expect_frame_cases(cases, COUNT(cases));
}

TEST_CASE(control_frames_may_stand_between_fragments) {
    static const struct frame_case cases[] = {
        {"ping between fragments", BYTES("\x01\x03Hel\x89\x01p\x80\x02lo"),
         "after 3: ping<p>\ntext<Hello>\n"},
        {"several",
         BYTES("\x89\0\x02\x01x\x8a\x01q\x89\x01p\0\x02yz\x8a\0\x80\0\x89\0"),
         "ping<>\nafter 1: pong<q>\nafter 1: ping<p>\nafter 3: pong<>\n"
         "binary<xyz>\nping<>\n"},
        {"inside of a character", BYTES("\x01\x01\xc3\x89\0\x80\x01\xa9"),
         "after 1: ping<>\ntext<\xc3\xa9>\n"},
        {"close between fragments", BYTES("\x01\x03Hel\x88\x02\x03\xe8"),
         "after 3: close 1000<>\n"},
        {"control payloads are bytes", BYTES("\x89\x02\xff\xfe"),
         "ping<\xff\xfe>\n"},
    };

    expect_frame_cases(cases, COUNT(cases));
}

/* Writes the header of a server's frame with the shortest length. Returns its
 * own length. */
static size_t put_header(uint8_t *out, uint8_t first, uint64_t len) {
    size_t bytes = len < 126 ? 0 : len < 65536 ? 2 : 8;

    out[0] = first;
    out[1] = bytes == 0 ? (uint8_t)len : bytes == 2 ? 126 : 127;
    for (size_t i = 0; i < bytes; i++) {
        out[2 + i] = (uint8_t)(len >> (8 * (bytes - 1 - i)));
    }
    return 2 + bytes;
}

TEST_CASE(every_length_form_carries_its_payload) {
    static const size_t lens[] = {0,     1,     124,   125,   126,
                                  127,   255,   256,   65534, 65535,
                                  65536, 65537, 99999, 131072};

    for (size_t i = 0; i < COUNT(lens); i++) {
        struct text *expected = text_new();
        uint8_t *data = malloc(lens[i] + 32);
        size_t len;

        assert_non_null(data);
        len = put_header(data, 0x82, lens[i]);
        memset(data + len, 'x', lens[i]);
        text_add(expected, "binary");
        record_payload(expected, data + len, lens[i]);
        text_add(expected, "ping<>\n");
        memcpy(data + len + lens[i], "\x89\0", 2);
        expect_frames("length form", data, len + lens[i] + 2,
                      text_get(expected));
        free(data);
    }
}

/* The memory for a piece limits the piece, not the message. */
TEST_CASE(a_frame_larger_than_any_memory_passes_in_pieces) {
    uint8_t header[10], chunk[4096];
    struct mst_ws_piece piece;
    struct mst_ws ws;
    size_t used;

    memset(chunk, 0x81, sizeof chunk);
    mst_ws_init(&ws);
    assert_int_equal(put_header(header, 0x82, INT64_MAX), sizeof header);
    mst_ws_read(&ws, header, sizeof header, &used, &piece);
    assert_int_equal(used, sizeof header);
    for (int i = 0; i < 1000; i++) {
        assert_int_equal(mst_ws_read(&ws, chunk, sizeof chunk, &used, &piece),
                         1);
        assert_int_equal(used, sizeof chunk);
        assert_ptr_equal(piece.data, chunk);
        assert_int_equal(piece.len, sizeof chunk);
        assert_false(piece.last);
    }
}

/* ---- Malformed frames ---- */

static const struct frame_case malformed[] = {
    {"125 in 16 bits", BYTES("\x82\x7e\0\x7d"), "WS_LENGTH\n"},
    {"0 in 16 bits", BYTES("\x82\x7e\0\0"), "WS_LENGTH\n"},
    {"65535 in 64 bits", BYTES("\x82\x7f\0\0\0\0\0\0\xff\xff"), "WS_LENGTH\n"},
    {"5 in 64 bits", BYTES("\x81\x7f\0\0\0\0\0\0\0\x05Hello"), "WS_LENGTH\n"},
    {"top bit of the length", BYTES("\x82\x7f\x80\0\0\0\0\x01\0\0"),
     "WS_LENGTH\n"},
    {"all bits of the length",
     BYTES("\x82\x7f\xff\xff\xff\xff\xff\xff\xff\xff"), "WS_LENGTH\n"},
    {"masked", BYTES("\x81\x85\x37\xfa\x21\x3d\x7f\x9f\x4d\x51\x58"),
     "WS_MASKED\n"},
    {"masked and empty", BYTES("\x81\x80\0\0\0\0"), "WS_MASKED\n"},
    {"masked ping", BYTES("\x89\x80\0\0\0\0"), "WS_MASKED\n"},
    {"first reserved bit", BYTES("\xc1\x01x"), "WS_RESERVED\n"},
    {"second reserved bit", BYTES("\xa1\x01x"), "WS_RESERVED\n"},
    {"third reserved bit", BYTES("\x91\x01x"), "WS_RESERVED\n"},
    {"reserved bit in a continuation", BYTES("\x01\x01x\xc0\x01y"),
     "WS_RESERVED\n"},
    {"reserved bit in a ping", BYTES("\xc9\0"), "WS_RESERVED\n"},
    {"fragmented ping", BYTES("\x09\x01x"), "WS_CONTROL\n"},
    {"fragmented close", BYTES("\x08\x02\x03\xe8"), "WS_CONTROL\n"},
    {"ping of 126 bytes", BYTES("\x89\x7e\0\x7e"), "WS_CONTROL\n"},
    {"close of 64-bit length", BYTES("\x88\x7f\0\0\0\0\0\x01\0\0"),
     "WS_CONTROL\n"},
    {"continuation of nothing", BYTES("\x80\x01x"), "WS_FRAGMENT\n"},
    {"continuation after a whole message", BYTES("\x81\x01x\x80\x01y"),
     "text<x>\nWS_FRAGMENT\n"},
    {"continuation after the last", BYTES("\x01\x01x\x80\x01y\x80\x01z"),
     "text<xy>\nWS_FRAGMENT\n"},
    {"text inside of a text", BYTES("\x01\x01x\x81\x01y"), "WS_FRAGMENT\n"},
    {"binary inside of a text", BYTES("\x01\x01x\x02\x01y"), "WS_FRAGMENT\n"},
    {"good frames before stay good", BYTES("\x81\x01x\x89\x01p\x83\0"),
     "text<x>\nping<p>\nWS_RESERVED\n"},
};

TEST_CASE(malformed_frames_are_named) {
    expect_frame_cases(malformed, COUNT(malformed));
}

/* Returns how many bytes are used until the error, step by step. */
static size_t used_until_error(const uint8_t *data, size_t len, size_t step) {
    struct mst_ws ws;
    struct mst_ws_piece piece;
    size_t at = 0, used;
    int rc = 0;

    mst_ws_init(&ws);
    while (rc >= 0 && at < len) {
        used = SIZE_MAX;
        rc = mst_ws_read(&ws, data + at, len - at < step ? len - at : step,
                         &used, &piece);
        assert_true(used <= step && used <= len - at);
        at += used;
    }
    assert_true(rc < 0);
    return at;
}

TEST_CASE(malformed_frames_are_consumed_alike) {
    for (size_t i = 0; i < COUNT(malformed); i++) {
        uint8_t data[64] = {0}; /* more bytes follow it */
        size_t len = malformed[i].len;

        assert_true(len + 10 <= sizeof data);
        memcpy(data, malformed[i].data, len);
        expect_int(malformed[i].name, used_until_error(data, len, 1),
                   used_until_error(data, sizeof data, 64));
    }
}

TEST_CASE(every_reserved_opcode_is_refused) {
    static const uint8_t opcodes[] = {3, 4, 5, 6, 7, 11, 12, 13, 14, 15};

    for (size_t i = 0; i < COUNT(opcodes); i++) {
        uint8_t frame[] = {(uint8_t)(0x80 | opcodes[i]), 0};

        expect_frames("reserved opcode", frame, sizeof frame, "WS_RESERVED\n");
    }
}

TEST_CASE(a_control_frame_of_125_bytes_is_whole) {
    uint8_t frame[2 + MST_WS_CONTROL_MAX] = {0x89, MST_WS_CONTROL_MAX};
    struct text *expected = text_new();

    memset(frame + 2, 'p', MST_WS_CONTROL_MAX);
    text_add(expected, "ping");
    record_payload(expected, frame + 2, MST_WS_CONTROL_MAX);
    expect_frames("ping of 125 bytes", frame, sizeof frame, text_get(expected));
}

/* ---- UTF-8 (RFC 3629) ---- */

TEST_CASE(text_is_utf_8) {
    static const struct frame_case cases[] = {
        {"1 to 4 bytes",
         BYTES("\x81\x0a\x7f\xc2\x80\xe0\xa0\x80\xf0\x90\x80\x80"),
         "text<\x7f\xc2\x80\xe0\xa0\x80\xf0\x90\x80\x80>\n"},
        {"the last of each",
         BYTES("\x81\x09\xdf\xbf\xef\xbf\xbf\xf4\x8f\xbf\xbf"),
         "text<\xdf\xbf\xef\xbf\xbf\xf4\x8f\xbf\xbf>\n"},
        {"across fragments",
         BYTES("\x01\x01\xf0\0\x01\x9f\0\0\0\x01\x98\x80\x01\x80"),
         "text<\xf0\x9f\x98\x80>\n"},
        {"ends within a character", BYTES("\x81\x02x\xc3"), "WS_UTF8\n"},
        {"last fragment ends within a character",
         BYTES("\x01\x01x\x80\x02\xe2\x82"), "WS_UTF8\n"},
        {"empty last fragment within a character",
         BYTES("\x01\x02\xe2\x82\x80\0"), "WS_UTF8\n"},
        {"a character does not go on in the next message",
         BYTES("\x81\x01\xc3\x81\x01\xa9"), "WS_UTF8\n"},
        {"continued wrongly in a fragment", BYTES("\x01\x01\xc3\x80\x01x"),
         "WS_UTF8\n"},
        {"ASCII within a character",
         BYTES("\x01\x01\xc3\0\x0a"
               "0123456789\x80\x01\xa9"),
         "WS_UTF8\n"},
        {"tail alone", BYTES("\x81\x01\x80"), "WS_UTF8\n"},
        {"overlong solidus", BYTES("\x81\x02\xc0\xaf"), "WS_UTF8\n"},
        {"overlong NUL", BYTES("\x81\x03\xe0\x80\x80"), "WS_UTF8\n"},
        {"surrogate", BYTES("\x81\x03\xed\xa0\x80"), "WS_UTF8\n"},
        {"beyond U+10FFFF", BYTES("\x81\x04\xf4\x90\x80\x80"), "WS_UTF8\n"},
        {"refused before the frame ends", BYTES("\x81\x7d\xed\xa0"),
         "WS_UTF8\n"},
        {"refused before the message ends", BYTES("\x01\x02\xc3("),
         "WS_UTF8\n"},
        {"binary is not looked at", BYTES("\x82\x03\xed\xa0\x80"),
         "binary<\xed\xa0\x80>\n"},
        {"nor is its continuation", BYTES("\x02\x01\xc3\x80\x01("),
         "binary<\xc3(>\n"},
        {"binary, then text", BYTES("\x82\x01\xc3\x81\x02\xc3\xa9"),
         "binary<\xc3>\ntext<\xc3\xa9>\n"},
    };

    expect_frame_cases(cases, COUNT(cases));
}

/* Reads a text frame in two pieces. Returns 1 at its end, or an error. */
static int read_text(const uint8_t *frame, size_t len, size_t cut) {
    struct mst_ws_piece piece;
    size_t used, at = 0;
    struct mst_ws ws;
    int rc;

    mst_ws_init(&ws);
    for (size_t end = cut; at < len; end = len) {
        do {
            rc = mst_ws_read(&ws, frame + at, end - at, &used, &piece);
            if (rc < 0 || (rc == 1 && piece.last)) {
                return rc;
            }
            at += used;
        } while (rc == 1);
    }
    return 0;
}

TEST_CASE(every_sequence_of_up_to_four_bytes_is_judged_alike) {
    static const uint8_t tails[] = {0x00, 0x41, 0x7F, 0x80, 0x8F, 0x90,
                                    0x9F, 0xA0, 0xBF, 0xC0, 0xE2, 0xFF};

    for (size_t n = 0; n < 65536 * COUNT(tails) * COUNT(tails); n++) {
        size_t len = 1 + (n >> 16) % 4, tail = n >> 16;
        uint8_t frame[6] = {0x81,
                            (uint8_t)len,
                            (uint8_t)(n >> 8),
                            (uint8_t)n,
                            tails[tail % COUNT(tails)],
                            tails[tail / COUNT(tails)]};
        bool whole, good = fuzz_utf8(frame + 2, len, &whole) == len && whole;
        int expected = good ? 1 : MST_ERR_WS_UTF8;
        int got = read_text(frame, 2 + len, 2 + n % (len + 1));

        if (got != expected) {
            expect_failed("%02x %02x %02x %02x of %zu: %d", frame[2], frame[3],
                          frame[4], frame[5], len, got);
        }
    }
}

/* ASCII is checked many bytes at a time. */
TEST_CASE(what_is_not_utf_8_is_found_anywhere_in_ascii) {
    uint8_t frame[2 + 125];

    for (size_t len = 1; len <= 125; len++) {
        frame[0] = 0x81;
        frame[1] = (uint8_t)len;
        memset(frame + 2, 'a', len);
        assert_int_equal(read_text(frame, 2 + len, 2 + len), 1);
        for (size_t at = 0; at < len; at++) {
            frame[2 + at] = 0x80;
            if (read_text(frame, 2 + len, 2 + len) != MST_ERR_WS_UTF8) {
                expect_failed("byte %zu of %zu", at, len);
            }
            frame[2 + at] = 'a';
        }
    }
}

/* ---- Close frames (RFC 6455, sections 5.5.1 and 7.4) ---- */

static bool close_code_is_good(int code) {
    return (code >= 1000 && code <= 1003) || (code >= 1007 && code <= 1014) ||
           (code >= 3000 && code <= 4999);
}

TEST_CASE(close_codes_are_those_that_may_be_sent) {
    for (int code = 0; code <= 65535; code++) {
        uint8_t frame[] = {0x88, 2, (uint8_t)(code >> 8), (uint8_t)code};
        struct mst_ws_piece piece;
        struct mst_ws ws;
        size_t used;
        int rc;

        mst_ws_init(&ws);
        rc = mst_ws_read(&ws, frame, sizeof frame, &used, &piece);
        if (close_code_is_good(code) ? rc != 1 || piece.close_code != code
                                     : rc != MST_ERR_WS_CLOSE) {
            expect_failed("close code %d: %d", code, rc);
        }
    }
}

TEST_CASE(close_frames_give_code_and_reason) {
    static const struct frame_case cases[] = {
        {"no code", BYTES("\x88\0"), "close 1005<>\n"},
        {"half a code", BYTES("\x88\x01\x03"), "WS_CLOSE\n"},
        {"half a code, after a ping that spells one",
         BYTES("\x89\x02\x03\xe8\x88\x01\x03"), "ping<\x03\xe8>\nWS_CLOSE\n"},
        {"code alone", BYTES("\x88\x02\x03\xe8"), "close 1000<>\n"},
        {"code and reason", BYTES("\x88\x07\x03\xe9gone!"),
         "close 1001<gone!>\n"},
        {"reason in UTF-8", BYTES("\x88\x04\x0f\xa0\xc3\xa9"),
         "close 4000<\xc3\xa9>\n"},
        {"code that may not be sent", BYTES("\x88\x02\x03\xed"), "WS_CLOSE\n"},
        {"reason cut within a character", BYTES("\x88\x03\x03\xe8\xc3"),
         "WS_UTF8\n"},
        {"reason that is not UTF-8", BYTES("\x88\x04\x03\xe8\xc0\xaf"),
         "WS_UTF8\n"},
        {"within a character of a text",
         BYTES("\x01\x01\xc3\x88\x04\x03\xe8\xc3\xa9"),
         "after 1: close 1000<\xc3\xa9>\n"},
    };

    expect_frame_cases(cases, COUNT(cases));
}

TEST_CASE(errors_are_answered_with_the_close_code_of_rfc_6455) {
    static const int protocol[] = {MST_ERR_WS_RESERVED, MST_ERR_WS_MASKED,
                                   MST_ERR_WS_LENGTH,   MST_ERR_WS_CONTROL,
                                   MST_ERR_WS_FRAGMENT, MST_ERR_WS_CLOSE};

    for (size_t i = 0; i < COUNT(protocol); i++) {
        assert_int_equal(mst_ws_error_code(protocol[i]), 1002);
    }
    assert_int_equal(mst_ws_error_code(MST_ERR_WS_UTF8), 1007);
}

/* ---- Frames that the client writes ---- */

TEST_CASE(headers_are_minimal_and_masked) {
    static const struct {
        enum mst_ws_opcode opcode;
        bool fin;
        uint64_t len;
        const char *header;
        size_t header_len;
    } cases[] = {
        {MST_WS_TEXT, true, 0, BYTES("\x81\x80MASK")},
        {MST_WS_TEXT, true, 5, BYTES("\x81\x85MASK")},
        {MST_WS_TEXT, true, 125, BYTES("\x81\xfdMASK")},
        {MST_WS_BINARY, true, 126, BYTES("\x82\xfe\0\x7eMASK")},
        {MST_WS_BINARY, false, 256, BYTES("\x02\xfe\x01\0MASK")},
        {MST_WS_CONTINUATION, false, 65535, BYTES("\0\xfe\xff\xffMASK")},
        {MST_WS_CONTINUATION, true, 65536,
         BYTES("\x80\xff\0\0\0\0\0\x01\0\0MASK")},
        {MST_WS_TEXT, true, UINT64_C(0x0102030405060708),
         BYTES("\x81\xff\x01\x02\x03\x04\x05\x06\x07\x08MASK")},
        {MST_WS_CLOSE, true, 2, BYTES("\x88\x82MASK")},
        {MST_WS_PING, true, 0, BYTES("\x89\x80MASK")},
        {MST_WS_PONG, true, 125, BYTES("\x8a\xfdMASK")},
    };

    for (size_t i = 0; i < COUNT(cases); i++) {
        uint8_t *out = guarded_room(MST_WS_HEADER_MAX);
        size_t len = mst_ws_header(out, cases[i].opcode, cases[i].fin,
                                   cases[i].len, (const uint8_t *)"MASK");

        assert_int_equal(len, cases[i].header_len);
        assert_memory_equal(out, cases[i].header, len);
    }
}

TEST_CASE(masking_gives_the_example_of_rfc_6455) {
    uint8_t data[] = "Hello";

    mst_ws_mask(data, 5, (const uint8_t *)"\x37\xfa\x21\x3d", 0);
    assert_memory_equal(data, "\x7f\x9f\x4d\x51\x58", 5);
}

static void expect_masked(const uint8_t *plain, size_t len, uint64_t offset) {
    static const uint8_t mask[4] = {0x12, 0x34, 0x56, 0x78};
    uint8_t *data = guarded(plain, len);

    mst_ws_mask(data, len, mask, offset);
    for (size_t i = 0; i < len; i++) {
        assert_int_equal(data[i], plain[i] ^ mask[(offset + i) % 4]);
    }
    mst_ws_mask(data, len, mask, offset);
    assert_memory_equal(data, plain, len);
}

TEST_CASE(masking_twice_at_any_offset_gives_the_data_back) {
    static const uint64_t bases[] = {0, UINT64_C(0xfffffffe),
                                     UINT64_C(0x100000003)};
    uint8_t plain[67];

    for (size_t i = 0; i < sizeof plain; i++) {
        plain[i] = (uint8_t)(i * 7);
    }
    for (size_t b = 0; b < COUNT(bases); b++) {
        for (size_t from = 0; from < 9; from++) {
            for (size_t to = from; to < sizeof plain; to++) {
                expect_masked(plain + from, to - from, bases[b] + from);
            }
        }
    }
}

TEST_CASE(the_key_is_base64_of_the_random_bytes) {
    char key[MST_WS_KEY_LEN + 1];

    mst_ws_key((const uint8_t *)"the sample nonce", key);
    assert_string_equal(key, "dGhlIHNhbXBsZSBub25jZQ==");
    mst_ws_key((const uint8_t *)"\xff\xff\xff\xfb\xef\xbe\0\0\0\0\0\0\0\0\0\1",
               key);
    assert_string_equal(key, "////++++AAAAAAAAAAAAAQ==");
}

RUN_CASES(NULL, NULL)
