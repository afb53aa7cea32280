/*
 * Objects of the environment on real sockets, see real.h.
 *
 * SPDX-License-Identifier: 0BSD
 */
#include "real.h"

#include <stdlib.h>

int real_begin(struct real *real) {
    int rc = mst_posix_init(&real->posix, real->links, REAL_LINKS, &real->port);
    int loaded =
        mst_posix_anchors_load(&real->anchors, getenv("MINI_STREAM_CA"));

    real->config = (struct mst_config){
        .ws_url = getenv("MINI_STREAM_WS_URL"),
        .auth_url = getenv("MINI_STREAM_AUTH_URL"),
        .base_url = getenv("MINI_STREAM_BASE_URL"),
        .client_id = getenv("MINI_STREAM_CLIENT_ID"),
        .client_secret = getenv("MINI_STREAM_CLIENT_SECRET"),
        .anchors = real->anchors.anchors,
        .anchors_len = real->anchors.len,
    };
    return rc != 0 ? rc : loaded;
}

void real_end(struct real *real) {
    mst_posix_free(&real->posix);
    mst_posix_anchors_free(&real->anchors);
}
