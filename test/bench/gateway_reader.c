/*
 * Subscribes to a gateway's streams and measures the time from each message's
 * receipt by the gateway to its arrival here. On SIGTERM, prints each stream's
 * number of messages and percentiles in microseconds.
 *
 * Usage: gateway_reader URL PREFIX
 *
 * SPDX-License-Identifier: 0BSD
 */
#include <inttypes.h>
#include <nats/nats.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mini_stream.h"

#define STREAMS 3
#define SAMPLES 8000000

struct stream {
    const char *word;
    natsSubscription *subscription;
    uint32_t *us;
    size_t count;
};

static struct stream streams[STREAMS] = {
    {.word = "book"}, {.word = "top"}, {.word = "execution"}};

static void fail(const char *what, natsStatus status) {
    fprintf(stderr, "gateway_reader: %s: %s\n", what,
            natsStatus_GetText(status));
    exit(EXIT_FAILURE);
}

/* The library calls this in a thread for each stream. */
static void on_message(natsConnection *connection,
                       natsSubscription *subscription, natsMsg *message,
                       void *context) {
    static const char field[] = "\"received\":\"";
    struct stream *stream = context;
    const char *at = strstr(natsMsg_GetData(message), field);
    const int64_t now_ns = nats_NowInNanoSeconds();
    int64_t received_ns, us;

    (void)connection;
    (void)subscription;
    if (at && stream->count < SAMPLES) {
        at += sizeof field - 1;
        if (mst_time_parse(at, strcspn(at, "\""), &received_ns) == 0) {
            us = (now_ns - received_ns) / 1000;
            stream->us[stream->count++] = us > 0 ? (uint32_t)us : 0;
        }
    }
    natsMsg_Destroy(message);
}

static int compare(const void *a, const void *b) {
    const uint32_t *x = a, *y = b;

    return (*x > *y) - (*x < *y);
}

static uint32_t percentile(const struct stream *stream, unsigned permille) {
    return stream->count ? stream->us[(stream->count - 1) * permille / 1000]
                         : 0;
}

int main(int argc, char **argv) {
    natsConnection *connection = NULL;
    jsCtx *js = NULL;
    natsStatus status;
    sigset_t ends;
    int number;

    if (argc != 3) {
        fputs("Usage: gateway_reader URL PREFIX\n", stderr);
        return EXIT_FAILURE;
    }
    sigemptyset(&ends);
    sigaddset(&ends, SIGTERM);
    sigprocmask(SIG_BLOCK, &ends, NULL);
    status = natsConnection_ConnectTo(&connection, argv[1]);
    if (status != NATS_OK) {
        fail("no connection", status);
    }
    status = natsConnection_JetStream(&js, connection, NULL);
    for (int i = 0; i < STREAMS && status == NATS_OK; ++i) {
        char subject[128];
        jsSubOptions options;

        streams[i].us = calloc(SAMPLES, sizeof *streams[i].us);
        jsSubOptions_Init(&options);
        options.Ordered = true;
        options.Config.DeliverPolicy = js_DeliverNew;
        snprintf(subject, sizeof subject, "%s.%s.*", argv[2], streams[i].word);
        status = js_Subscribe(&streams[i].subscription, js, subject, on_message,
                              &streams[i], NULL, &options, NULL);
    }
    if (status != NATS_OK) {
        fail("no subscription", status);
    }
    puts("ready");
    fflush(stdout);
    sigwait(&ends, &number);
    for (int i = 0; i < STREAMS; ++i) {
        natsSubscription_Destroy(streams[i].subscription);
        qsort(streams[i].us, streams[i].count, sizeof *streams[i].us, compare);
        printf("%s %zu %" PRIu32 " %" PRIu32 "\n", streams[i].word,
               streams[i].count, percentile(&streams[i], 500),
               percentile(&streams[i], 999));
    }
    return EXIT_SUCCESS;
}
