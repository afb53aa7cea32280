/*
 * mini-stream-gateway: streams from the service and publishes to NATS
 * JetStream. README.md describes what it publishes.
 *
 * SPDX-License-Identifier: 0BSD
 */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <systemd/sd-daemon.h>

#include "config.h"
#include "examples/start.h"
#include "exits.h"
#include "metrics.h"
#include "publish.h"
#include "run.h"

/* The longest wait in poll(). */
#define WAIT_MS 100

/* Events handled before their messages are sent. */
#define EVENTS_MAX 256

#define COUNTER "counter"
#define GAUGE "gauge"

struct gateway {
    struct config config;
    struct run run;
    struct out out;
    struct publish publish;
    struct metrics *metrics;
    struct pollfd *fds; /* the broker's, then those of the links */
};

/* Waits for data of the service or reports of the broker. */
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

static uint64_t stored_of(const struct lanes *lanes, enum mst_channel channel) {
    uint64_t sum = 0;

    for (size_t i = 0; i < lanes->count; ++i) {
        sum += lanes->all[i].channel == channel ? lanes->all[i].ever : 0;
    }
    return sum;
}

/* For metrics_add(): the gateway's figures for Prometheus. */
static void figures_write(void *context, FILE *file) {
    const struct publish *publish = context;
    const struct lanes *lanes = &publish->lanes;
    const struct keep *keep = &publish->keep;
    struct broker_stats stats;

    broker_stats(publish->broker, &stats);
    const struct {
        const char *name, *type, *help;
        uint64_t value;
    } figures[] = {
        {"broker_up", GAUGE, "Whether the broker accepts messages.", keep->up},
        {"holds_lease", GAUGE, "Whether this gateway publishes books and tops.",
         lanes->epoch != 0},
        {"epoch", GAUGE, "Epoch of the lease that it holds, or 0.",
         lanes->epoch},
        {"queue_messages", GAUGE, "Messages waiting to be stored.",
         keep_count(keep)},
        {"queue_size", GAUGE, "Size of the queue, in messages.", keep->size},
        {"books_total", COUNTER, "Messages about books stored.",
         stored_of(lanes, MST_MARKET_DATA)},
        {"tops_total", COUNTER, "Tops of books stored.",
         stored_of(lanes, MST_TOP_OF_BOOK)},
        {"kept_total", COUNTER, "Executions, gaps and notes stored.",
         keep->kept},
        {"repeats_total", COUNTER, "Of these, those that were stored already.",
         keep->again},
        {"executions_lost_total", COUNTER,
         "Executions lost because the queue was full.", publish->lost},
        {"notes_lost_total", COUNTER, "Notes lost because the queue was full.",
         publish->notes_lost},
        {"snapshots_total", COUNTER, "Requests for snapshots answered.",
         publish->answers},
        {"snapshots_turned_away_total", COUNTER,
         "Requests for snapshots refused because of their rate.", stats.turned},
        {"broker_connections_total", COUNTER, "Connections to the broker.",
         stats.opens},
        {"broker_failures_total", COUNTER,
         "Messages that the broker refused or did not answer.", stats.failures},
        {"broker_conflicts_total", COUNTER,
         "Of these, conflicts with another gateway's messages.",
         stats.conflicts},
    };

    for (size_t i = 0; i < sizeof figures / sizeof *figures; ++i) {
        char name[64];

        snprintf(name, sizeof name, "gateway_%s", figures[i].name);
        metrics_figure(file, name, figures[i].type, figures[i].help,
                       (double)figures[i].value);
    }
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

    start("mini-stream-gateway");
    if (argc != 2 || argv[1][0] == '-') {
        FILE *file = argc == 2 && (strcmp(argv[1], "--help") == 0 ||
                                   strcmp(argv[1], "-h") == 0)
                         ? stdout
                         : stderr;

        fputs("Usage: mini-stream-gateway FILE\n"
              "Streams from the service and publishes to NATS JetStream, as "
              "configured\nin FILE (INI).\n",
              file);
        return file == stdout ? EXITS_OK : EXITS_USAGE;
    }
    config_read(&gateway.config, argv[1]);
    result = gateway_begin(&gateway);
    if (result == EXITS_OK) {
        (void)sd_notify(0, "READY=1");
        gateway_run(&gateway);
        (void)sd_notify(0, "STOPPING=1");
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
