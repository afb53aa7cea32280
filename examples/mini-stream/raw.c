/*
 * The messages of a stream as received: see out.h.
 *
 * SPDX-License-Identifier: 0BSD
 */
#include "out.h"

#include <string.h>

/* Skips the response's header. Returns its bytes in data. */
static size_t raw_head(struct raw_link *link, const uint8_t *data, size_t len) {
    static const char end[] = "\r\n\r\n";
    size_t i = 0;

    while (i < len && !link->upgraded) {
        char c = (char)data[i++];

        link->end = c == end[link->end] ? link->end + 1 : c == '\r';
        link->upgraded = link->end == sizeof end - 1;
    }
    return i;
}

/* Replaces control characters for a terminal, C1 controls in UTF-8 as well. */
static void raw_write(struct raw *raw, const uint8_t *data, size_t len) {
    if (!raw->terminal) {
        fwrite(data, 1, len, raw->file);
        return;
    }
    for (size_t i = 0; i < len; ++i) {
        bool control = data[i] < ' ' || data[i] == 0x7F ||
                       (data[i] < 0xA0 && raw->before == 0xC2);

        putc(control ? '?' : data[i], raw->file);
        raw->before = data[i];
    }
}

static void raw_frames(struct raw *raw, struct raw_link *link,
                       const uint8_t *data, size_t len) {
    struct mst_ws_piece piece;
    size_t used;

    while (mst_ws_read(&link->ws, data, len, &used, &piece) > 0) {
        data += used;
        len -= used;
        if (piece.opcode == MST_WS_TEXT) {
            raw_write(raw, piece.data, piece.len);
            if (piece.last) {
                putc('\n', raw->file);
            }
        }
    }
}

void raw_trace(void *context, const struct mst_trace *trace) {
    struct raw *raw = context;
    struct raw_link *link = &raw->links[trace->link];

    if (trace->kind == MST_TRACE_OPEN) {
        memset(link, 0, sizeof *link);
        mst_ws_init(&link->ws);
    } else if (trace->kind == MST_TRACE_IN) {
        size_t head = raw_head(link, trace->data, trace->len);

        raw_frames(raw, link, (const uint8_t *)trace->data + head,
                   trace->len - head);
    }
}
