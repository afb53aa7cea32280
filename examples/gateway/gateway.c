/*
 * mini-stream-gateway: streams from the service and publishes to NATS
 * JetStream. README.md beside this file tells what is published and how.
 *
 * SPDX-License-Identifier: 0BSD
 */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config.h"
#include "exits.h"
#include "figures.h"
#include "metrics.h"
#include "publish.h"
#include "run.h"

/* The longest sleep. */
#define WAIT_MS 100

/* So many events at a time before what they lead to goes out. */
#define EVENTS_MAX 256

struct gateway {
    struct config config;
    struct run run;
    struct out out;
    struct publish publish;
    struct metrics *metrics;
    struct pollfd *fds; /* the broker's, then those of the links */
};

/* Sleeps until there is something of the service or the broker. */
static void gateway_wait(struct gateway *gateway) {
    const struct clients *clients = &gateway->run.clients;
    uint32_t ms = WAIT_MS;
    size_t count;

    gateway->fds[0] = (struct pollfd){.fd = broker_fd(gateway->publish.broker),
                                      .events = POLLIN};
    count = 1 + mst_posix_pollfds(&gateway->run.network.posix, clients->links,
                                  clients->link_count, gateway->fds + 1);
    for (size_t i = 0; i < clients->link_count; ++i) {
        uint32_t due = mst_next_deadline_ms(clients->links[i]);

        ms = due < ms ? due : ms;
    }
    if (poll(gateway->fds, count, (int)ms) > 0 &&
        gateway->fds[0].revents != 0) {
        broker_awake(gateway->publish.broker);
    }
}

static void gateway_run(struct gateway *gateway) {
    struct run *run = &gateway->run;
    struct mst_event event;
    unsigned events = 0;
    uint64_t now_ns;
    int rc;

    do {
        rc = run_poll(run, &event, &now_ns);
        metrics_update(gateway->metrics, run, now_ns);
        out_tick(&gateway->out, now_ns);
        if (rc > 0) {
            out_event(&gateway->out, &event, run->market);
        }
        publish_go_on(&gateway->publish, now_ns);
        if (rc == 0 || ++events == EVENTS_MAX) {
            publish_flush(&gateway->publish);
            events = 0;
        }
        if (rc == 0) {
            gateway_wait(gateway);
        }
    } while (rc >= 0);
}

static int gateway_begin(struct gateway *gateway) {
    struct run *run = &gateway->run;
    char error[SETTINGS_ERROR_LEN] = "";
    int result = run_begin(run, &gateway->config.options, error);

    if (result != EXITS_OK) {
        fprintf(stderr, "mini-stream-gateway: %s\n", error);
        return result;
    }
    gateway->fds = calloc(1 + run->clients.link_count, sizeof *gateway->fds);
    gateway->out.format = &publish_format;
    gateway->out.state = &gateway->publish;
    result = gateway->fds ? out_begin(&gateway->out, &run->board, run->wall_ns)
                          : EXITS_LOCAL;
    if (result == EXITS_OK) {
        result = publish_begin(&gateway->publish, &gateway->config.publish,
                               &gateway->out);
    }
    if (result == EXITS_OK) {
        result = metrics_begin(&gateway->metrics,
                               gateway->config.options.metrics_port);
        metrics_add(gateway->metrics, figures_write, &gateway->publish);
    }
    return result;
}

int main(int argc, char **argv) {
    static struct gateway gateway;
    struct mst_stats stats;
    int result;

    if (argc != 2 || argv[1][0] == '-') {
        FILE *file = argc == 2 && (strcmp(argv[1], "--help") == 0 ||
                                   strcmp(argv[1], "-h") == 0)
                         ? stdout
                         : stderr;

        fputs("Usage: mini-stream-gateway FILE\n"
              "Streams from the service and publishes to NATS JetStream, as "
              "the INI file says.\n",
              file);
        return file == stdout && fflush(file) == 0 ? EXITS_OK : EXITS_USAGE;
    }
    config_read(&gateway.config, argv[1]);
    result = gateway_begin(&gateway);
    if (result == EXITS_OK) {
        gateway_run(&gateway);
        run_sum(&gateway.run, &stats);
        result = run_end(&gateway.run);
        (void)out_end(&gateway.out, result, &stats);
    }
    publish_end(&gateway.publish);
    metrics_end(gateway.metrics);
    run_free(&gateway.run);
    free(gateway.fds);
    config_free(&gateway.config);
    return result;
}
