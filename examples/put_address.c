/*
 * Creates a crypto destination address, or updates it.
 *
 *     put-address NETWORK ADDRESS [NICKNAME]
 *
 * The service and the client are named by MINI_STREAM_AUTH_URL, _BASE_URL,
 * _CLIENT_ID, _CLIENT_SECRET and _CA (a PEM file; without: the system's).
 *
 * SPDX-License-Identifier: 0BSD
 */
#include <stdio.h>
#include <stdlib.h>

#include "mini_stream.h"
#include "mst_posix.h"

static struct mst_client client;
static unsigned char memory[MST_MEMORY_LEN_DEFAULT];

int main(int argc, char **argv)
{
    struct mst_posix_anchors ca;
    int rc = mst_posix_anchors_load(&ca, getenv("MINI_STREAM_CA"));
    struct mst_config config = {
        .auth_url = getenv("MINI_STREAM_AUTH_URL"),
        .base_url = getenv("MINI_STREAM_BASE_URL"), /* no ws_url: no stream */
        .client_id = getenv("MINI_STREAM_CLIENT_ID"),
        .client_secret = getenv("MINI_STREAM_CLIENT_SECRET"),
        .anchors = ca.anchors,
        .anchors_len = ca.len,
    };
    struct mst_address_request request = {
        .network = mst_network_from_name(argc > 1 ? argv[1] : NULL),
        .network_text = argc > 1 ? argv[1] : NULL,
        .address = argc > 2 ? argv[2] : NULL,
        .nickname = argc > 3 ? argv[3] : NULL, /* NULL: as it is */
    };
    struct mst_address record; /* both are borrowed until the event */
    struct mst_posix posix;
    struct mst_port port;
    struct mst_event event = {.type = MST_EVENT_NONE};

    mst_posix_init(&posix, &port);
    rc = rc ? rc
            : mst_client_init(&client, &config, &port, memory, sizeof memory);
    rc = rc ? rc : mst_address_put(&client, &request, &record);
    while (rc >= 0 && event.type != MST_EVENT_ADDRESS) {
        rc = mst_poll(&client, &event); /* never waits */
        if (rc == 0) {
            mst_posix_wait(&posix, &client, 1000);
        }
    }
    if (rc >= 0 && event.as.address.error == 0) {
        printf("%s %s\n", record.id, record.status_text);
        return EXIT_SUCCESS;
    }
    fprintf(stderr, "%s\n",
            rc < 0 ? mst_posix_strerror(rc)
            : event.as.address.problem->detail[0] != '\0'
                ? event.as.address.problem->detail
                : mst_strerror(event.as.address.error));
    return EXIT_FAILURE;
}
