/*
 * Frames of any bytes in any pieces, and the headers that a client writes.
 * SPDX-License-Identifier: 0BSD
 */
#include "eva.h"
#include "mini_stream.c"

static void read(void) {
    struct mst_ws ws;
    struct mst_ws_piece piece;
    size_t used;
    int rc = 0;

    mst_ws_init(&ws);
    while (rc >= 0 && any_bool()) {
        input_any();
        rc = mst_ws_read(&ws, (const uint8_t *)input, INPUT_LEN, &used, &piece);
    }
    if (rc < 0) { /* errors stay */
        (void)mst_ws_read(&ws, (const uint8_t *)input, INPUT_LEN, &used,
                          &piece);
        (void)mst_ws_error_code(rc);
    }
}

static void write(void) {
    uint8_t header[MST_WS_HEADER_MAX], mask[4];

    ANY(mask);
    (void)mst_ws_header(header, (enum mst_ws_opcode)any_below(16), any_bool(),
                        any_size(), mask);
    input_any();
    mst_ws_mask((uint8_t *)input, INPUT_LEN, mask, any_size());
}

int main(void) {
    read();
    write();
    REACHED();
    return 0;
}
