/* Creates or updates an address. SPDX-License-Identifier: 0BSD */
#include <stdio.h>
#include <stdlib.h>

#include "mini_stream.h"
#include "mst_posix.h"

static struct mst_transfer transfer;
MST_TRANSFER_MEMORY(memory, MST_RECORD_IN_ANY, MST_RECORD_OUT_MIN, 2048);

static int put(const struct mst_address_request *request) {
    struct mst_posix_link links[1];
    struct mst_posix posix;
    struct mst_port port;
    struct mst_posix_anchors ca;
    int result = EXIT_FAILURE, rc = mst_posix_init(&posix, links, 1, &port);
    int loaded = mst_posix_anchors_load(&ca, getenv("MINI_STREAM_CA"));
    struct mst_config config = {
        .auth_url = getenv("MINI_STREAM_AUTH_URL"),
        .base_url = getenv("MINI_STREAM_BASE_URL"),
        .client_id = getenv("MINI_STREAM_CLIENT_ID"),
        .client_secret = getenv("MINI_STREAM_CLIENT_SECRET"),
        .anchors = ca.anchors,
        .anchors_len = ca.len,
    };
    struct mst_address record;
    struct mst_event event;
    const struct mst_link *link = &transfer.link;
    const struct mst_address_result *end = &event.as.address;

    rc = rc ? rc : loaded;
    rc = rc ? rc : mst_transfer_init(&transfer, &config, &port, &memory);
    rc = rc ? rc : mst_address_put(&transfer, request, &record);
    while (rc >= 0) {
        rc = mst_transfer_poll(&transfer, &event); /* never waits */
        if (rc == 0) {
            mst_posix_wait(&posix, &link, 1, 1000);
        } else if (rc > 0 && event.type == MST_EVENT_ADDRESS) {
            if (end->error == 0) {
                printf("%s %s\n", record.id, record.status);
                result = EXIT_SUCCESS;
            } else {
                fprintf(stderr, "%s%s%s%s\n", mst_strerror(end->error),
                        end->problem->detail[0] != '\0' ? ": " : "",
                        end->problem->detail,
                        end->maybe_done ? "; it may have been done" : "");
            }
            mst_transfer_close(&transfer); /* continues until MST_ERR_CLOSED */
        }
    }
    if (rc != MST_ERR_CLOSED) {
        fprintf(stderr, "%s\n", mst_posix_strerror(rc));
    }
    mst_posix_free(&posix);
    mst_posix_anchors_free(&ca);
    return result;
}

int main(int argc, char **argv) {
    if (argc < 3 || getenv("MINI_STREAM_BASE_URL") == NULL) {
        fputs("Usage: put-address NETWORK ADDRESS [NICKNAME]\n"
              "MINI_STREAM_AUTH_URL, _BASE_URL, _CLIENT_ID, _CLIENT_SECRET and "
              "_CA (a PEM file,\nor the system's) are in the environment.\n",
              stderr);
        return EXIT_FAILURE;
    }
    char why[MST_TEXT_MAX + 1];
    struct mst_address_request request = {
        .network = argv[1],
        .address = argv[2],
        .nickname = argv[3], /* NULL: unchanged */
    };
    if (mst_address_check(&request, why) != MST_OK) {
        fprintf(stderr, "%s\n", why);
        return EXIT_FAILURE;
    }
    return put(&request);
}
