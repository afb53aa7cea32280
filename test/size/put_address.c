/*
 * Creates an address and ends: no stream.
 *
 * SPDX-License-Identifier: 0BSD
 */
#include "board.h"

static struct mst_old_client client;
static unsigned char memory[MST_OLD_MEMORY_LEN_DEFAULT];
static struct mst_address record;

static const struct mst_old_config config = {
    .auth_url = "https://exchange.example",
    .base_url = "https://exchange.example",
    .client_id = board_id,
    .client_secret = board_secret,
#ifndef MST_NO_TLS
    .anchors = board_anchors,
    .anchors_len = BOARD_ANCHORS,
#endif
};

static const struct mst_address_request request = {
    .network = MST_NETWORK_BITCOIN,
    .address = "bc1qar0srrr7xfkvy5l643lydnw9re59gtzzwf5mdq",
    .nickname = "cold storage",
};

int main(void)
{
    struct mst_event event;
    int rc = mst_old_client_init(&client, &config, &board_port, memory,
                                 sizeof memory);

    rc = rc ? rc : mst_old_address_put(&client, &request, &record);
    while (rc >= 0) {
        rc = mst_old_poll(&client, &event);
        if (rc == 0) {
            board_sleep(mst_old_next_deadline_ms(&client),
                        mst_old_wants(&client, 0));
        } else if (rc > 0 && event.type == MST_EVENT_ADDRESS) {
            if (event.as.address.error == 0) {
                board_show_record(record.id, record.status);
            } else {
                board_show_error(event.as.address.error,
                                 event.as.address.http_status,
                                 event.as.address.retry_ms);
            }
            mst_old_close(&client); /* goes on until MST_ERR_CLOSED */
        } else if (rc > 0 && event.type == MST_EVENT_CLOSED) {
            board_show_error(event.as.failure.error, event.as.failure.detail,
                             event.as.failure.retry_ms);
        }
    }
    return rc != MST_ERR_CLOSED;
}
