/* Puts the address of the settings. SPDX-License-Identifier: 0BSD */
#include "address.h"

#include "board/board.h"
#include "print.h"
#include "show.h"

static struct mst_transfer *transfer;

/* Both are in use until the response. */
static struct mst_address_request request;
static struct mst_address record;

void address_begin(struct mst_transfer *object, const struct mst_config *config,
                   const struct mst_port *port,
                   const struct mst_memory *memory) {
    int rc = mst_transfer_init(object, config, port, memory);

    transfer = object;
    request = (struct mst_address_request){
        .network = board_setting("put_network"),
        .address = board_setting("put_address"),
        .nickname = board_setting("put_nickname"),
    };
    if (rc == 0) {
        rc = mst_address_put(transfer, &request, &record);
    }
    if (rc != 0) {
        print_begin();
        print_text("address: ");
        show_error(rc);
        print_end();
        mst_transfer_close(transfer);
    }
}

bool address_poll(void) {
    struct mst_event event;
    int rc;

    while ((rc = mst_transfer_poll(transfer, &event)) == 1) {
        if (event.type == MST_EVENT_ADDRESS) {
            show_address(&event.as.address);
            mst_transfer_close(transfer);
        } else if (event.type == MST_EVENT_CLOSED) {
            show_failure("closed", &event.as.failure);
        }
    }
    return rc == 0;
}
