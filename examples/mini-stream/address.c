/*
 * `mini-stream address put`: creates or updates an address, and shows the
 * record.
 *
 * SPDX-License-Identifier: 0BSD
 */
#include "commands.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "address.h"
#include "exits.h"
#include "network.h"
#include "signals.h"

/* A response's body: a record whose every byte is escaped has less. */
#define BODY_LEN 16384

/* The longest sleep: a signal may come just before it. */
#define WAIT_MS 200

/* What the last attempt failed of, until there is another; or 0, and where. */
static int failed;
static enum mst_state failed_stage;

static struct mst_transfer transfer;
MST_TRANSFER_MEMORY(memory, MST_RECORD_IN_ANY, MST_RECORD_OUT_FULL, BODY_LEN);

/* Says what an attempt failed of, once there is another. */
static void put_trace(void *context, const struct mst_trace *trace) {
    (void)context;
    if (trace->kind == MST_TRACE_ERROR) {
        failed = trace->error;
        failed_stage = trace->state;
    } else if (trace->kind == MST_TRACE_STATE &&
               trace->state == MST_STATE_RESOLVE && failed != 0) {
        fprintf(stderr, "mini-stream: %s (stage %s%s): trying again\n",
                mst_strerror(failed), mst_state_name(failed_stage),
                network_via(failed, failed_stage));
        failed = 0;
    }
}

/* Shows how the request ended. Returns the exit code. */
static int put_show(const struct mst_address_result *result, bool json) {
    int code = exits_code(result->error);

    if (json) {
        address_print_json(result);
    } else if (result->record != NULL) {
        address_print_table(result->record);
    }
    if (fflush(stdout) != 0 || ferror(stdout)) {
        fprintf(stderr, "mini-stream: standard output: %s\n", strerror(errno));
        clearerr(stdout);
        code = code == EXITS_OK ? EXITS_LOCAL : code;
    }
    if (result->error == MST_ERR_CLOSED) {
        code = EXITS_CUT;
    }
    if (result->record == NULL) {
        address_print_failure(result, network_via(result->error, failed_stage));
    }
    return code;
}

/* Goes on until the request has ended and the connection is closed. Returns
 * the exit code. */
static int put_run(struct network *network, bool json) {
    const struct mst_link *link = &transfer.link;
    unsigned obeyed = 0; /* signals */
    int code = EXITS_LOCAL;

    for (;;) {
        struct mst_event event;
        int rc = mst_transfer_poll(&transfer, &event);

        if (rc < 0) {
            return code;
        }
        if (rc > 0 && event.type == MST_EVENT_ADDRESS) {
            code = put_show(&event.as.address, json);
            mst_transfer_close(&transfer);
        } else if (signals_count() > obeyed) {
            obeyed = signals_count();
            mst_transfer_close(&transfer);
        } else if (rc == 0) {
            mst_posix_wait(&network->posix, &link, 1, WAIT_MS);
        }
    }
}

/* Prepares the transfer and begins the request. */
static int put_begin(struct address_options *options, struct network *network,
                     struct mst_config *config, char *error) {
    static struct mst_address record;
    int rc;

    if (!settings_resolve(&options->settings, config, error) ||
        !network_begin(network, &options->settings, 1, error)) {
        return EXITS_CONFIG;
    }
    rc = mst_transfer_init(&transfer, config, &network->port, &memory);
    if (rc == 0) {
        rc = mst_address_put(&transfer, &options->request, &record);
    }
    if (rc != 0) {
        settings_refused(&options->settings, rc, error);
    }
    return exits_code(rc);
}

int address_put_main(int argc, char **argv) {
    static struct address_options options;
    static struct network network;
    struct mst_config config = {.trace = put_trace};
    char error[SETTINGS_ERROR_LEN] = "";
    int result;

    address_options_parse(&options, argc, argv);
    config.put_ms = options.seconds * 1000;
    signals_catch();
    result = put_begin(&options, &network, &config, error);
    if (result != EXITS_OK) {
        fprintf(stderr, "mini-stream: %s\n", error);
    } else {
        result = put_run(&network, options.json);
        mst_transfer_wipe(&transfer);
    }
    network_end(&network);
    settings_free(&options.settings);
    return result;
}
