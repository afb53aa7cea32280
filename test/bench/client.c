/*
 * See client.h.
 *
 * SPDX-License-Identifier: 0BSD
 */
#include "client.h"

#include "bench.h"
#include "corpus.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>

static struct client client;

static struct {
    size_t repeats, messages; /* from the command line */
    bool paced;
    const uint64_t *stamps; /* if paced */
    size_t connections, received;
    uint64_t connecting_ns, first_us, last_us, sum;
    uint64_t *samples;
    size_t count;
} run;

void client_fail(const char *why) {
    fprintf(stderr, "client: %s\n", why);
    exit(1);
}

__attribute__((format(printf, 1, 2))) static void
request_add(const char *format, ...) {
    size_t len = strlen(client.request);
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(client.request + len, sizeof client.request - len, format,
              arguments);
    va_end(arguments);
}

static void request_make(void) {
    static const char *const channels[] = {
        "market_data", "market_data.top_of_book", "execution_data"};
    char market[CORPUS_MARKET_LEN + 1];

    request_add("{\"type\":\"subscribe\",\"channels\":[{\"type\":"
                "\"heartbeat\"}");
    for (unsigned i = 0; i < client.markets; i++) {
        corpus_market(i, market);
        for (size_t c = 0; c < sizeof channels / sizeof *channels; c++) {
            request_add(",{\"type\":\"%s\",\"params\":{\"market\":\"%s\"}}",
                        channels[c], market);
        }
    }
    request_add("]}");
}

static void stamps_map(const char *directory) {
    char path[256];
    FILE *file;

    snprintf(path, sizeof path, "%s/stamps", directory);
    file = fopen(path, "rb");
    if (file == NULL) {
        client_fail(path);
    }
    run.stamps = mmap(NULL, run.messages * sizeof *run.stamps, PROT_READ,
                      MAP_SHARED, fileno(file), 0);
    if (run.stamps == MAP_FAILED) {
        client_fail(path);
    }
    fclose(file);
}

const struct client *client_begin(int argc, char **argv) {
    client.usual = argc == 11 && strcmp(argv[10], "usual") == 0;
    client.clients = argc == 11 ? (unsigned)strtoul(argv[10], NULL, 10) : 1;
    client.clients += client.usual;
    if (argc < 10 || argc > 11 || client.clients == 0) {
        client_fail("wrong arguments, see client.h");
    }
    client.tls = strcmp(argv[2], "wss") == 0;
    client.resume = strcmp(argv[1], "resumed") == 0;
    client.port = argv[3];
    client.markets = (unsigned)strtoul(argv[9], NULL, 10);
    snprintf(client.ca, sizeof client.ca, "%s/ca.pem", argv[4]);
    snprintf(client.path, sizeof client.path, "/%s/%s/%s/%s/%u", argv[6],
             argv[7], argv[8], argv[9], client.clients);
    request_make();

    run.repeats = strtoul(argv[5], NULL, 10) + client.resume;
    run.messages = strtoul(argv[6], NULL, 10);
    run.paced = strtoul(argv[8], NULL, 10) > 0;
    if (run.paced) {
        stamps_map(argv[4]);
    }
    run.samples =
        malloc((run.paced ? run.messages : run.repeats) * sizeof *run.samples);
    if (run.samples == NULL) {
        client_fail("no memory");
    }
    return &client;
}

static uint64_t cpu_us(void) {
    struct rusage usage;

    getrusage(RUSAGE_SELF, &usage);
    return (uint64_t)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) *
               1000000u +
           (uint64_t)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
}

void client_connecting(void) {
    run.received = 0;
    run.connecting_ns = bench_ns(CLOCK_MONOTONIC);
}

bool client_message(uint64_t sum) {
    run.sum += sum;
    if (run.paced) {
        run.samples[run.count++] =
            bench_ns(CLOCK_MONOTONIC) - run.stamps[run.received];
    }
    if (run.received++ == 0) {
        /* The first connection has no session to resume. */
        if (!run.paced && (!client.resume || run.connections > 0)) {
            run.samples[run.count++] =
                bench_ns(CLOCK_MONOTONIC) - run.connecting_ns;
        }
        run.first_us = cpu_us();
    }
    if (run.received < run.messages) {
        return false;
    }
    run.last_us = cpu_us();
    run.connections++;
    return true;
}

bool client_again(void) {
    return run.connections < run.repeats;
}

/* Unlike ru_maxrss, VmHWM does not include the parent's memory. */
static long resident_kb(void) {
    FILE *file = fopen("/proc/self/status", "r");
    char line[256];
    long kb = 0;

    while (file != NULL && fgets(line, sizeof line, file) != NULL) {
        if (strncmp(line, "VmHWM:", 6) == 0) {
            kb = strtol(line + 6, NULL, 10);
        }
    }
    if (file != NULL) {
        fclose(file);
    }
    return kb;
}

static int compare(const void *a, const void *b) {
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return (x > y) - (x < y);
}

int client_end(void) {
    long kb = resident_kb(); /* before sorting and printing add to it */

    qsort(run.samples, run.count, sizeof *run.samples, compare);
    printf("cpu_us=%" PRIu64 " rss_kb=%ld p50_ns=%" PRIu64 " p999_ns=%" PRIu64
           " connections=%zu sum=%016" PRIx64 "\n",
           run.last_us - run.first_us, kb, run.samples[run.count / 2],
           run.samples[run.count * 999 / 1000], run.connections, run.sum);
    return 0;
}
