/*
 * Streams BTCUSD by a pair on real sockets while its leader changes. A separate
 * client, the witness, receives all executions. Prints a line for each live
 * book, and at the end a report as JSON.
 *
 *     run_handovers COUNT rotate|slow|kill        for e2e_rotate.py
 *
 * rotate: it rotates every second. slow: the same, with a caller that is slow
 * for each event, unless it is a second late (on a busy machine). kill: in hot
 * standby; the leader's socket is reset or goes silent, in turn.
 *
 * SPDX-License-Identifier: 0BSD
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "real.h"

#define DEPTH 200
#define EXECUTIONS 16384

MST_MEMORY(memory_0, MST_LENGTHS_USUAL);
MST_MEMORY(memory_1, MST_LENGTHS_USUAL);
MST_MEMORY(witness_memory, MST_LENGTHS_USUAL);

static struct real real, other;
static struct mst_pair pair;
static struct mst_client witness;
static struct mst_book books[2];
static struct mst_level levels[2][2 * DEPTH];

struct executions {
    struct mst_execution of[EXECUTIONS];
    unsigned count;
    int64_t newest_ns;
};

static struct {
    struct executions pair, witness;
    unsigned repeats, unmarked, lost, not_live, closed, failed, changes, count;
    uint32_t generation;
    int64_t live_ns, last_ns; /* time of the first live book, of the last change
                               * that counts */
    bool slow, kill;
} seen;

static struct {
    int link;    /* the link whose socket is broken, or -1 */
    bool silent; /* silent, or else reset */
    int (*recv)(void *context, int link, void *data, size_t len);
    int (*send)(void *context, int link, const void *data, size_t len);
    void (*close)(void *context, int link);
} fault = {.link = -1};

static int fault_recv(void *context, int link, void *data, size_t len) {
    if (link == fault.link) {
        return fault.silent ? 0 : MST_ERR_RESET;
    }
    return fault.recv(context, link, data, len);
}

static int fault_send(void *context, int link, const void *data, size_t len) {
    if (link == fault.link) {
        return fault.silent ? (int)len : MST_ERR_RESET;
    }
    return fault.send(context, link, data, len);
}

static void fault_close(void *context, int link) {
    fault.link = link == fault.link ? -1 : fault.link;
    fault.close(context, link);
}

static int64_t now_ns(void) {
    int64_t ns = 0;

    real.port.unix_ns(real.port.context, &ns);
    return ns;
}

/* Returns the same execution, or NULL. */
static struct mst_execution *find(struct executions *all,
                                  const struct mst_execution *execution) {
    for (unsigned i = all->count; i > 0; i--) {
        struct mst_execution *e = &all->of[i - 1];
        if (e->time_ns == execution->time_ns &&
            mst_decimal_cmp(e->price, execution->price) == 0 &&
            mst_decimal_cmp(e->amount, execution->amount) == 0) {
            return e;
        }
    }
    return NULL;
}

static void keep(struct executions *all,
                 const struct mst_execution *execution) {
    struct mst_execution *same = find(all, execution);

    if (execution->time_ns > all->newest_ns) {
        all->newest_ns = execution->time_ns;
    }
    if (same != NULL) {
        seen.repeats++;
        seen.unmarked += !same->repeat && !execution->repeat;
        same->repeat &= execution->repeat;
    } else if (all->count < EXECUTIONS) {
        all->of[all->count++] = *execution;
    }
}

static void print_side(const struct mst_book *book, enum mst_side side) {
    for (size_t i = 0; i < mst_book_depth(book, side); i++) {
        const struct mst_level *level = mst_book_level(book, side, i);
        char price[MST_DECIMAL_TEXT_LEN], amount[MST_DECIMAL_TEXT_LEN];
        mst_decimal_format(mst_level_price(level), price);
        mst_decimal_format(mst_level_amount(level), amount);
        printf("%s%sx%s", i > 0 ? "," : " ", price, amount);
    }
}

/* Prints the book, and counts if it is not live after it was live once. */
static void look(const struct mst_event *event) {
    const struct mst_book *book = mst_pair_book(&pair, "BTCUSD");
    bool live = mst_book_state(book) == MST_BOOK_LIVE;

    if (live && seen.live_ns == 0) {
        seen.live_ns = seen.last_ns = now_ns();
    }
    seen.not_live += seen.live_ns != 0 && !live;
    if (live && event->type == MST_EVENT_PART && event->as.part.last) {
        char time[MST_TIME_TEXT_LEN];
        mst_time_format(mst_book_time(book), time);
        printf("book %s", time);
        print_side(book, MST_BID);
        print_side(book, MST_ASK);
        printf("\n");
    }
}

static void take(const struct mst_event *event) {
    static const struct timespec slowly = {0, 4000000};

    look(event);
    if (event->generation > seen.generation) {
        seen.generation = event->generation;
    }
    if (event->type == MST_EVENT_EXECUTION) {
        keep(&seen.pair, &event->as.execution);
    } else if (event->type == MST_EVENT_CLOSED) {
        seen.closed++;
        seen.failed += event->as.failure.error != MST_OK;
    } else if (event->type == MST_EVENT_LEADER) {
        seen.changes++;
        if (seen.changes <= seen.count) {
            seen.last_ns = now_ns();
        }
    }
    if (seen.slow &&
        mst_link_stats(&pair.clients[event->link].link)->lag_ns < 1000000000) {
        nanosleep(&slowly, NULL);
    }
}

static bool is_open(int i) {
    return mst_link_state(&pair.clients[i].link) == MST_STATE_OPEN;
}

/* Breaks the leader's socket if both are open, 2 s after the last change. */
static void break_leader(void) {
    bool due = seen.live_ns != 0 && now_ns() - seen.last_ns > 2000000000;
    const struct mst_book *leads = mst_pair_book(&pair, "BTCUSD");

    if (seen.kill && due && seen.changes < seen.count && fault.link < 0 &&
        is_open(0) && is_open(1) &&
        mst_book_state(&books[0]) == MST_BOOK_LIVE &&
        mst_book_state(&books[1]) == MST_BOOK_LIVE) {
        fault.silent = seen.changes % 2 == 1;
        fault.link = leads == &books[0] ? 0 : 1;
    }
}

static int start(const char *mode) {
    int rc = real_begin(&real);

    rc = rc ? rc : real_begin(&other);
    seen.slow = strcmp(mode, "slow") == 0;
    seen.kill = strcmp(mode, "kill") == 0;
    fault.recv = real.port.recv;
    fault.send = real.port.send;
    fault.close = real.port.close;
    real.port.recv = fault_recv;
    real.port.send = fault_send;
    real.port.close = fault_close;
    real.config.flags = seen.kill ? MST_HOT_STANDBY : 0;
    real.config.ping_ms = 2000;
    real.config.silence_ms = 6000;
    mst_book_init(&books[0], levels[0], DEPTH);
    mst_book_init(&books[1], levels[1], DEPTH);
    rc = rc ? rc
            : mst_pair_init(&pair, &real.config, seen.kill ? 0 : 1000,
                            &real.port, &memory_0, &memory_1);
    rc = rc ? rc
            : mst_pair_subscribe(&pair, MST_MARKET_DATA, "BTCUSD", &books[0],
                                 &books[1]);
    rc = rc ? rc
            : mst_pair_subscribe(&pair, MST_EXECUTION_DATA, "BTCUSD", NULL,
                                 NULL);
    rc = rc ? rc
            : mst_client_init(&witness, &other.config, &other.port,
                              &witness_memory);
    return rc ? rc
              : mst_subscribe(&witness, MST_EXECUTION_DATA, "BTCUSD", NULL);
}

/* True after all changes, once both have received the executions of the 2 s
 * after them, however slow the machine is. */
static bool is_over(void) {
    int64_t until_ns = seen.last_ns + 2000000000;

    return seen.changes >= seen.count && seen.pair.newest_ns >= until_ns &&
           seen.witness.newest_ns >= until_ns;
}

static int run(void) {
    const struct mst_link *const links[] = {&pair.clients[0].link,
                                            &pair.clients[1].link};
    struct mst_event event;
    int rc = 0;

    while (rc >= 0 && !is_over()) {
        while ((rc = mst_poll(&witness, &event)) > 0) {
            if (event.type == MST_EVENT_EXECUTION) {
                keep(&seen.witness, &event.as.execution);
            }
        }
        break_leader();
        rc = rc < 0 ? rc : mst_pair_poll(&pair, &event);
        if (rc == 0) {
            /* Bytes for a silent link would end a wait at once. */
            mst_posix_wait(&real.posix, links, fault.link < 0 ? 2 : 0, 5);
        } else if (rc > 0) {
            take(&event);
        }
    }
    return rc;
}

/* The number of executions between, which only the witness received. */
static unsigned lost(int64_t from_ns, int64_t to_ns) {
    unsigned n = 0;

    for (unsigned i = 0; i < seen.witness.count; i++) {
        const struct mst_execution *e = &seen.witness.of[i];
        n += e->time_ns > from_ns && e->time_ns < to_ns &&
             find(&seen.pair, e) == NULL;
    }
    return n;
}

int main(int argc, char **argv) {
    const struct mst_stats *stats[] = {mst_link_stats(&pair.clients[0].link),
                                       mst_link_stats(&pair.clients[1].link)};
    int rc = start(argc > 2 ? argv[2] : "rotate");

    seen.count = argc > 1 ? (unsigned)strtoul(argv[1], NULL, 10) : 1;
    rc = rc ? rc : run();
    if (rc < 0) {
        fprintf(stderr, "%s\n", mst_posix_strerror(rc));
        return EXIT_FAILURE;
    }
    printf("{\"generation\": %u, \"opens\": %u, \"tokens\": %u, "
           "\"executions\": %u, \"witnessed\": %u, \"lost\": %u, "
           "\"repeats\": %u, \"unmarked\": %u, \"not_live\": %u, "
           "\"closed\": %u, \"failed\": %u, \"changes\": %u}\n",
           (unsigned)seen.generation,
           (unsigned)(stats[0]->opens + stats[1]->opens),
           (unsigned)(stats[0]->tokens + stats[1]->tokens), seen.pair.count,
           seen.witness.count,
           lost(seen.live_ns + 1000000000, seen.last_ns + 1000000000),
           seen.repeats, seen.unmarked, seen.not_live, seen.closed, seen.failed,
           seen.changes);
    mst_client_wipe(&witness);
    mst_pair_wipe(&pair);
    real_end(&real);
    real_end(&other);
    return EXIT_SUCCESS;
}
