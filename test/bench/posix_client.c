/*
 * See posix_client.h.
 *
 * SPDX-License-Identifier: 0BSD
 */
#include "posix_client.h"

#include "corpus.h"

#include <stdio.h>
#include <time.h>

static int token_load(void *context, const uint8_t key[MST_TOKEN_KEY_LEN],
                      char *token, size_t cap, int64_t *until_s) {
    (void)context;
    (void)key;
    *until_s = time(NULL) + 3600;
    return snprintf(token, cap, "%s", CLIENT_TOKEN);
}

void posix_client_begin(struct posix_client *shared,
                        const struct client *client,
                        struct mst_posix_link *links, size_t links_len) {
    shared->anchors = (struct mst_posix_anchors){.len = 0};
    if (client->tls &&
        mst_posix_anchors_load(&shared->anchors, client->ca) != 0) {
        client_fail(client->ca);
    }
    snprintf(shared->url, sizeof shared->url, "%s://%s:%s%s",
             client->tls ? "wss" : "ws", CLIENT_HOST, client->port,
             client->path);
    shared->config = (struct mst_config){
        .ws_url = shared->url,
        .auth_url = client->tls ? "https://localhost" : "http://localhost",
        .client_id = "id",
        .client_secret = "secret",
        .anchors = shared->anchors.anchors,
        .anchors_len = shared->anchors.len,
        .flags = client->tls ? 0 : MST_ALLOW_PLAIN,
        .request_gap_ms = 1,
    };
    mst_posix_init(&shared->posix, links, links_len, &shared->port);
    shared->port.token_load = token_load;
}

void posix_client_start(const struct posix_client *shared,
                        struct mst_client *stream,
                        const struct mst_memory *memory, unsigned markets) {
    int rc = mst_client_init(stream, &shared->config, &shared->port, memory);
    char market[CORPUS_MARKET_LEN + 1];

    if (rc != 0) {
        client_fail(mst_strerror(rc));
    }
    for (unsigned i = 0; i < markets; i++) {
        corpus_market(i, market);
        mst_subscribe(stream, MST_MARKET_DATA, market, NULL);
        mst_subscribe(stream, MST_TOP_OF_BOOK, market, NULL);
        mst_subscribe(stream, MST_EXECUTION_DATA, market, NULL);
    }
}

void posix_client_end(struct posix_client *shared) {
    mst_posix_free(&shared->posix);
    mst_posix_anchors_free(&shared->anchors);
}
