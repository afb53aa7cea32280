/*
 * The library in an event loop of the program: epoll (Linux), which also
 * watches a descriptor for signals. Any other loop takes the same three steps.
 * Two clients of one customer each print the best bid of a market, until SIGINT
 * or SIGTERM.
 *
 *     epoll MARKET MARKET
 *
 * SPDX-License-Identifier: 0BSD
 */
#define _POSIX_C_SOURCE 200809L
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "mini_stream.h"
#include "mst_posix.h"

#define STREAMS 2
#define LEVELS 100

struct stream {
    struct mst_client client;
    struct mst_memory memory;
    struct mst_level levels[2 * LEVELS];
    struct mst_book book;
    const char *market;
    int fd;     /* the one that the loop watches for it, or -1 */
    bool ready; /* the loop has reported its descriptor */
    bool over;
    unsigned char bytes[MST_MEMORY_LEN(MST_LENGTHS_USUAL)];
};

static struct stream streams[STREAMS];
static struct mst_access shared; /* one token for both */
static struct mst_posix_link links[STREAMS];
static struct mst_posix posix;
static struct mst_port port;

/* Prepares the stream of this number. */
static int begin(int number, const char *market, struct mst_config *config) {
    struct stream *s = &streams[number];
    struct mst_memory memory = {s->bytes, sizeof s->bytes, MST_LENGTHS_USUAL};
    int rc;

    s->memory = memory;
    s->market = market;
    s->fd = -1;
    config->link = number;
    mst_book_init(&s->book, s->levels, LEVELS);
    rc = mst_client_init(&s->client, config, &port, &s->memory);
    return rc ? rc
              : mst_subscribe(&s->client, MST_MARKET_DATA, market, &s->book);
}

static void print(struct stream *s, const struct mst_event *event) {
    char price[MST_DECIMAL_TEXT_LEN];

    if (event->type == MST_EVENT_CLOSED) {
        fprintf(stderr, "%s: closed: %s\n", s->market,
                mst_strerror(event->as.failure.error));
    } else if (event->book != NULL && mst_book_depth(&s->book, MST_BID) > 0) {
        mst_decimal_format(
            mst_level_price(mst_book_level(&s->book, MST_BID, 0)), price);
        printf("%s %s\n", s->market, price);
    }
}

/* Step one: polls a stream, and updates what the loop watches. A poll may close
 * its descriptor and open another one with the same number, so the loop forgets
 * the descriptor before, and adds the new one after. */
static void go_on(int loop, struct stream *s) {
    const struct mst_link *link = &s->client.link;
    struct epoll_event wanted = {.data = {.ptr = s}};
    struct mst_event event;
    struct pollfd waits;
    int rc;

    if (s->fd >= 0) {
        epoll_ctl(loop, EPOLL_CTL_DEL, s->fd, &wanted);
    }
    while ((rc = mst_poll(&s->client, &event)) > 0) {
        print(s, &event);
    }
    s->ready = false;
    s->over = rc < 0; /* MST_ERR_CLOSED, after mst_close() */
    s->fd = -1;
    if (mst_posix_pollfds(&posix, &link, 1, &waits) > 0) {
        s->fd = waits.fd;
        wanted.events = (uint32_t)waits.events; /* POLLIN is EPOLLIN */
        epoll_ctl(loop, EPOLL_CTL_ADD, s->fd, &wanted);
    }
}

/* Step two: how long the loop may sleep. A poll of one stream may wake the
 * other, which waits for the token, so both are asked after all polls. */
static uint32_t next_deadline(void) {
    uint32_t ms = UINT32_MAX;

    for (int i = 0; i < STREAMS; i++) {
        uint32_t left = mst_next_deadline_ms(&streams[i].client.link);
        ms = left < ms ? left : ms;
    }
    return ms; /* 24 days at most */
}

/* Step three: polls the streams that are ready or due. */
static void run(int loop, int signals) {
    struct epoll_event events[STREAMS + 1];
    struct signalfd_siginfo caught;

    while (!streams[0].over || !streams[1].over) {
        int count = epoll_wait(loop, events, STREAMS + 1, (int)next_deadline());

        for (int i = 0; i < count; i++) {
            struct stream *s = events[i].data.ptr;

            if (s != NULL) {
                s->ready = true;
            } else if (read(signals, &caught, sizeof caught) > 0) {
                mst_close(&streams[0].client);
                mst_close(&streams[1].client);
            }
        }
        for (int i = 0; i < STREAMS; i++) {
            const struct mst_link *link = &streams[i].client.link;

            if (streams[i].ready || mst_next_deadline_ms(link) == 0) {
                go_on(loop, &streams[i]);
            }
        }
    }
}

int main(int argc, char **argv) {
    struct epoll_event wanted = {.events = EPOLLIN}; /* data.ptr: NULL */
    struct mst_posix_anchors ca;
    int loop = epoll_create1(EPOLL_CLOEXEC), signals, rc;
    struct mst_config config = {
        .ws_url = getenv("MINI_STREAM_WS_URL"),
        .auth_url = getenv("MINI_STREAM_AUTH_URL"),
        .client_id = getenv("MINI_STREAM_CLIENT_ID"),
        .client_secret = getenv("MINI_STREAM_CLIENT_SECRET"),
        .access = &shared,
    };
    sigset_t ends;

    if (argc != 1 + STREAMS || config.client_secret == NULL) {
        fputs("Usage: epoll MARKET MARKET\n"
              "MINI_STREAM_WS_URL, _AUTH_URL, _CLIENT_ID, _CLIENT_SECRET and "
              "_CA (a PEM file,\nor the system's) are in the environment.\n",
              stderr);
        return EXIT_FAILURE;
    }
    setvbuf(stdout, NULL, _IOLBF, BUFSIZ); /* a line at a time, into a pipe */
    sigemptyset(&ends);
    sigaddset(&ends, SIGINT);
    sigaddset(&ends, SIGTERM);
    sigprocmask(SIG_BLOCK, &ends, NULL); /* they come through the descriptor */
    signals = signalfd(-1, &ends, SFD_CLOEXEC);
    epoll_ctl(loop, EPOLL_CTL_ADD, signals, &wanted);

    mst_posix_init(&posix, links, STREAMS, &port);
    rc = mst_posix_anchors_load(&ca, getenv("MINI_STREAM_CA"));
    config.anchors = ca.anchors;
    config.anchors_len = ca.len;
    rc = rc ? rc : mst_access_init(&shared, &config);
    for (int i = 0; i < STREAMS && rc == 0; i++) {
        rc = begin(i, argv[1 + i], &config);
    }
    if (rc == 0) {
        run(loop, signals);
    } else {
        fprintf(stderr, "%s\n", mst_posix_strerror(rc));
    }
    mst_posix_free(&posix);
    mst_posix_anchors_free(&ca);
    close(signals);
    close(loop);
    return rc == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
