/*
 * Creates an address and ends: no stream.
 *
 * SPDX-License-Identifier: 0BSD
 */
#include "board.h"

static struct mst_transfer transfer;
MST_TRANSFER_MEMORY(memory, MST_RECORD_IN_ANY, MST_RECORD_OUT_MIN, 2048);
static struct mst_address record;

static const struct mst_config config = {
    .base_url = "https://exchange.example",
    BOARD_SETTINGS,
};

static const struct mst_address_request request = {
    .network = "BITCOIN",
    .address = "bc1qar0srrr7xfkvy5l643lydnw9re59gtzzwf5mdq",
    .nickname = "cold storage",
};

int main(void) {
    struct mst_event event;
    int rc = mst_transfer_init(&transfer, &config, &board_port, &memory);

    rc = rc ? rc : mst_address_put(&transfer, &request, &record);
    while (rc >= 0) {
        rc = mst_transfer_poll(&transfer, &event);
        if (rc == 0) {
            board_sleep(mst_next_deadline_ms(&transfer.link),
                        mst_wants(&transfer.link));
        } else if (rc > 0 && event.type == MST_EVENT_ADDRESS) {
            if (event.as.address.error == 0) {
                board_show_record(record.id, record.status);
            } else {
                board_show_error(event.as.address.error,
                                 event.as.address.http_status,
                                 event.as.address.retry_ms);
            }
            mst_transfer_close(&transfer); /* more polls follow */
        } else if (rc > 0 && event.type == MST_EVENT_CLOSED) {
            board_show_error(event.as.failure.error, event.as.failure.detail,
                             event.as.failure.retry_ms);
        }
    }
    return rc != MST_ERR_CLOSED;
}
