/*
 * A fuzz target: a server's frames, after a byte that says how they are cut.
 * They must be read, whole and in pieces, as by a reference written from RFC
 * 6455. A frame that is written from a payload must be read as that payload.
 *
 * SPDX-License-Identifier: 0BSD
 */
#include "fuzz.h"
#include "mini_stream.h"

#include <string.h>

#define INPUT_MAX 4096

/* Marks in a record, added to an opcode. */
enum { MARK_END = 0x20, MARK_BEGIN = 0x40, MARK_ERROR = 0x80 };

/* ---- The reference ---- */

/* The current message. */
struct message {
    unsigned opcode; /* 0 if there is no message */
    bool begun;      /* its beginning was noted */
    size_t len, good;
    uint8_t data[INPUT_MAX];
};

struct frame {
    unsigned first, second, len_bytes;
    uint64_t len;
    const uint8_t *payload;
    size_t have; /* bytes of it in the input */
};

/* Reads a frame's header; false if it is incomplete. */
static bool frame_begin(struct frame *f, const uint8_t *data, size_t len) {
    unsigned code = len >= 2 ? data[1] & 0x7Fu : 0;
    size_t header_len;

    *f = (struct frame){.len_bytes = code == 126 ? 2 : code == 127 ? 8 : 0};
    header_len = 2 + f->len_bytes;
    if (len < header_len) {
        return false;
    }
    f->first = data[0];
    f->second = data[1];
    f->len = f->len_bytes == 0 ? code : 0;
    for (size_t i = 2; i < header_len; i++) {
        f->len = f->len * 256 + data[i];
    }
    f->payload = data + header_len;
    f->have = len - header_len < f->len ? len - header_len : (size_t)f->len;
    return true;
}

/* Returns the close code that answers the frame's error, or 0. */
static unsigned frame_error(const struct frame *f, const struct message *m) {
    unsigned opcode = f->first & 15u;
    bool known = opcode <= 2 || (opcode >= 8 && opcode <= 10);
    bool shortest = f->len_bytes == 0   ? true
                    : f->len_bytes == 2 ? f->len >= 126
                                        : f->len >= 65536;

    if ((f->first & 0x70) != 0 || !known || (f->second & 0x80) != 0 ||
        !shortest || f->len >= UINT64_C(1) << 63) {
        return 1002;
    }
    if (opcode >= 8) {
        return (f->first & 0x80) == 0 || f->len > 125 ? 1002 : 0;
    }
    return (opcode == 0) != (m->opcode != 0) ? 1002 : 0;
}

/* A peer may send the codes of RFC 6455, section 7.4, and of the registry that
 * the section opens. */
static unsigned close_error(const uint8_t *data, size_t len) {
    unsigned code = len >= 2 ? data[0] * 256u + data[1] : 0;
    bool named =
        (code >= 1000 && code <= 1003) || (code >= 1007 && code <= 1014);
    bool whole;

    if (len == 0) {
        return 0;
    }
    if (!named && (code < 3000 || code > 4999)) {
        return 1002;
    }
    return fuzz_utf8(data + 2, len - 2, &whole) == len - 2 && whole ? 0 : 1007;
}

static void note_control(struct fuzz_record *r, unsigned opcode,
                         const uint8_t *data, size_t len) {
    fuzz_note_byte(r, MARK_BEGIN | MARK_END | opcode);
    fuzz_note_byte(r, (unsigned)len);
    fuzz_note(r, data, len);
}

static void note_data(struct fuzz_record *r, bool begins, unsigned opcode,
                      const uint8_t *data, size_t len, bool ends) {
    if (begins) {
        fuzz_note_byte(r, MARK_BEGIN | opcode);
    }
    fuzz_note(r, data, len);
    if (ends) {
        fuzz_note_byte(r, MARK_END | opcode);
    }
}

static unsigned take_control(struct fuzz_record *r, const struct frame *f) {
    unsigned opcode = f->first & 15u, error = 0;

    if (f->have == f->len) {
        error = opcode == 8 ? close_error(f->payload, f->have) : 0;
    }
    if (f->have == f->len && error == 0) {
        note_control(r, opcode, f->payload, f->have);
    }
    return error;
}

/* Notes a text's bytes as far as they are UTF-8, and its end only if all
 * are. */
static unsigned take_data(struct fuzz_record *r, struct message *m,
                          const struct frame *f) {
    bool fin = f->have == f->len && (f->first & 0x80) != 0, whole = true, bad;
    size_t before = m->good;

    if ((f->first & 15u) != 0) {
        m->opcode = f->first & 15u;
        m->begun = false;
        m->len = before = 0;
    }
    memcpy(m->data + m->len, f->payload, f->have);
    m->len += f->have;
    m->good = m->opcode == 1 ? fuzz_utf8(m->data, m->len, &whole) : m->len;
    bad = m->good < m->len || (fin && !whole);
    fin = fin && !bad;
    if (m->good > before || fin) {
        note_data(r, !m->begun, m->opcode, m->data + before, m->good - before,
                  fin);
        m->begun = true;
    }
    m->opcode = fin ? 0 : m->opcode;
    return bad ? 1007 : 0;
}

static void read_reference(struct fuzz_record *r, const uint8_t *data,
                           size_t len) {
    static struct message m;
    struct frame f;
    unsigned error = 0;
    size_t at = 0;

    m.opcode = 0;
    r->len = 0;
    while (error == 0 && frame_begin(&f, data + at, len - at)) {
        at += 2 + f.len_bytes + f.have;
        error = frame_error(&f, &m);
        if (error == 0) {
            error =
                (f.first & 8) != 0 ? take_control(r, &f) : take_data(r, &m, &f);
        }
    }
    if (error != 0) {
        fuzz_note_byte(r, MARK_ERROR);
        fuzz_note_byte(r, error - 1000);
    }
}

/* ---- The library ---- */

/* Notes a piece, which is in the input or, for a control frame, in the
 * reader. */
static void take_piece(struct fuzz_record *r, const struct mst_ws *ws,
                       const struct mst_ws_piece *piece, const uint8_t *from,
                       const uint8_t *end) {
    uint8_t code[2];

    if ((piece->opcode & 8) == 0) {
        FUZZ_EXPECT(piece->data >= from && piece->data + piece->len == end);
        FUZZ_EXPECT(piece->len > 0 || piece->last);
        note_data(r, piece->first, piece->opcode, piece->data, piece->len,
                  piece->last);
        return;
    }
    FUZZ_EXPECT(piece->first && piece->last);
    FUZZ_EXPECT(piece->data >= ws->control &&
                piece->data + piece->len <= ws->control + sizeof ws->control);
    if (piece->opcode != MST_WS_CLOSE || piece->close_code == 1005) {
        FUZZ_EXPECT(piece->opcode != MST_WS_CLOSE || piece->len == 0);
        note_control(r, piece->opcode, piece->data, piece->len);
        return;
    }
    code[0] = (uint8_t)(piece->close_code >> 8);
    code[1] = (uint8_t)piece->close_code;
    fuzz_note_byte(r, MARK_BEGIN | MARK_END | piece->opcode);
    fuzz_note_byte(r, (unsigned)piece->len + 2);
    fuzz_note(r, code, 2);
    fuzz_note(r, piece->data, piece->len);
}

/* Reads all of a piece of the input; returns its error or 0. */
static int read_piece(struct fuzz_record *r, struct mst_ws *ws,
                      const uint8_t *data, size_t len) {
    struct mst_ws_piece piece;
    size_t at = 0, used;
    int rc;

    do {
        rc = mst_ws_read(ws, data + at, len - at, &used, &piece);
        FUZZ_EXPECT(used <= len - at);
        if (rc > 0) {
            take_piece(r, ws, &piece, data + at, data + at + used);
        }
        at += used;
    } while (rc > 0);
    FUZZ_EXPECT(rc < 0 || at == len);
    return rc;
}

static void read_cut(struct fuzz_record *r, uint8_t how, const uint8_t *data,
                     size_t len) {
    struct mst_ws ws;
    size_t at = 0;
    int rc = 0;

    r->len = 0;
    mst_ws_init(&ws);
    while (rc == 0 && at < len) {
        size_t n = fuzz_piece(how, at, len);

        rc = read_piece(r, &ws, fuzz_put(data + at, n), n);
        at += n;
    }
    if (rc < 0) {
        FUZZ_EXPECT(read_piece(r, &ws, data, len) == rc); /* errors stay */
        fuzz_note_byte(r, MARK_ERROR);
        fuzz_note_byte(r, mst_ws_error_code(rc) - 1000u);
    }
}

/* ---- Writing ---- */

/* The reference must read a client's frame, unmasked, as a message with this
 * payload. */
static void write_and_read(enum mst_ws_opcode opcode, const uint8_t *data,
                           size_t len) {
    static struct fuzz_record expected, got;
    static uint8_t out[MST_WS_HEADER_MAX + INPUT_MAX];
    const uint8_t mask[4] = {0x12, 0x80, 0xFF, (uint8_t)len};
    size_t header_len = mst_ws_header(out, opcode, true, len, mask);
    uint8_t *payload = out + header_len - 4;

    FUZZ_EXPECT(header_len <= MST_WS_HEADER_MAX && (out[1] & 0x80) != 0);
    FUZZ_EXPECT(memcmp(payload, mask, 4) == 0);
    memcpy(payload, data, len);
    mst_ws_mask(payload, len / 2, mask, 0);
    mst_ws_mask(payload + len / 2, len - len / 2, mask, len / 2);
    for (size_t i = 0; i < len; i++) {
        payload[i] ^= mask[i % 4];
    }
    out[1] &= 0x7F;
    read_reference(&got, out, header_len - 4 + len);
    expected.len = 0;
    if ((opcode & 8) != 0) {
        note_control(&expected, opcode, data, len);
    } else {
        note_data(&expected, true, opcode, data, len, true);
    }
    FUZZ_EXPECT(fuzz_same(&expected, &got));
}

/* A header must be read with the length that it was written with. */
static void write_header(uint64_t len) {
    const uint8_t mask[4] = {1, 2, 3, 4};
    uint8_t out[MST_WS_HEADER_MAX];
    struct message none = {.opcode = 0};
    struct frame f;
    size_t n;

    len &= INT64_MAX;
    n = mst_ws_header(out, MST_WS_BINARY, false, len, mask);
    FUZZ_EXPECT(n <= sizeof out && out[0] == 2 && (out[1] & 0x80) != 0);
    out[1] &= 0x7F;
    FUZZ_EXPECT(frame_begin(&f, out, n - 4) && frame_error(&f, &none) == 0);
    FUZZ_EXPECT(f.len == len && f.payload == out + n - 4);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len) {
    static struct fuzz_record expected, got;
    uint64_t number = 0;
    bool whole;
    uint8_t how;

    if (len < 1 || len > INPUT_MAX) {
        return 0;
    }
    how = *data++;
    len--;
    read_reference(&expected, data, len);
    read_cut(&got, 0, data, len);
    FUZZ_EXPECT(fuzz_same(&expected, &got));
    read_cut(&got, how, data, len);
    FUZZ_EXPECT(fuzz_same(&expected, &got));
    if (how % 16 == 0) {
        write_and_read(MST_WS_BINARY, data, len);
        memcpy(&number, data, len < sizeof number ? len : sizeof number);
        write_header(number >> how / 4);
    }
    if (how == 0 && fuzz_utf8(data, len, &whole) == len && whole) {
        write_and_read(MST_WS_TEXT, data, len);
        write_and_read(MST_WS_PING, data, len < 125 ? len : 125);
    }
    return 0;
}
