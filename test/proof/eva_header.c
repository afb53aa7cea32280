/*
 * A header line of any text, after any status and any headers.
 * SPDX-License-Identifier: 0BSD
 */
#include "eva.h"
#include "mini_stream.c"

int main(void) {
    struct mst_http h = {0};

    ANY(h.has);
    ANY(h.status);
    ANY(h.error);
    ANY(h.accept);
    h.accept[MST_WS_ACCEPT_LEN] = '\0';
    h.upgrading = any_bool();
    h.close = any_bool();
    h.old = any_bool();
    h.state = any_bool() ? HTTP_HEADER_LINE : HTTP_TRAILER;
#ifdef EXACT
    Frama_C_make_unknown(h.line, EXACT);
    (void)http_header_line(&h, EXACT);
#else
    Frama_C_make_unknown(h.line, MST_LINE_MAX);
    (void)http_header_line(&h, any_below(MST_LINE_MAX + 2));
#endif
    REACHED();
    return 0;
}
