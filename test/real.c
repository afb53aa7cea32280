/*
 * A client of the environment on real sockets, see real.h.
 *
 * SPDX-License-Identifier: 0BSD
 */
#include "real.h"

#include <stdlib.h>

int real_begin(struct real *real)
{
    int rc =
        mst_posix_init(&real->posix, real->links, MST_LINKS_MAX, &real->port);
    int loaded =
        mst_posix_anchors_load(&real->anchors, getenv("MINI_STREAM_CA"));

    real->config = (struct mst_old_config){
        .ws_url = getenv("MINI_STREAM_WS_URL"),
        .auth_url = getenv("MINI_STREAM_AUTH_URL"),
        .base_url = getenv("MINI_STREAM_BASE_URL"),
        .client_id = getenv("MINI_STREAM_CLIENT_ID"),
        .client_secret = getenv("MINI_STREAM_CLIENT_SECRET"),
        .anchors = real->anchors.anchors,
        .anchors_len = real->anchors.len,
        .links = MST_LINKS_MAX,
    };
    return rc != 0 ? rc : loaded;
}

int real_start(struct real *real)
{
    return mst_old_client_init(&real->client, &real->config, &real->port,
                               real->memory, sizeof real->memory);
}

void real_end(struct real *real)
{
    struct mst_event event;

    mst_old_close(&real->client);
    while (mst_old_poll(&real->client, &event) >= 0) {
        mst_old_posix_wait(&real->posix, &real->client, 1000);
    }
    mst_posix_free(&real->posix);
    mst_posix_anchors_free(&real->anchors);
}
