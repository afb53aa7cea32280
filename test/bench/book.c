/*
 * What a change and a snapshot cost in books of different sizes. The sizes
 * take turns, so that whatever slows the machine slows all of them, and time
 * is the processor's; the medians are shown.
 *
 * SPDX-License-Identifier: 0BSD
 */
#include "levels.h"
#include "parts.h"

#include <stdio.h>
#include <stdlib.h>

#define LEVELS_MOST 10000
#define SNAPSHOT_LEVELS 5000

#define ROUNDS 41
#define BATCH 4000 /* updates that are timed together */

/* How many times as much a change near the top may cost in the largest book
 * as in the smallest. */
#define BAR 2.0

static const size_t sizes[] = {100, 1000, LEVELS_MOST};

#define SIZES (sizeof sizes / sizeof *sizes)

/* Which changes come. */
enum mix {
    MIX_NEAR,  /* half within 10 levels of the best, 90% within 100 and the
                * rest within 1,000 */
    MIX_WHOLE, /* anywhere in the book */
    MIX_FULL,  /* new best levels of sides without room */
    MIXES
};

static const char *const mix_names[MIXES] = {
    "near the top",
    "anywhere in the book",
    "a new best level, no room",
};

/* A book and the levels that it lacks; slot 0 is the best. */
struct subject {
    struct mst_book book;
    struct mst_level *levels;
    size_t count;
    int64_t moved; /* ticks that the best price has moved by */
    int64_t time_ns;
    bool absent[2][LEVELS_MOST];
};

static struct mst_level changes[BATCH];
static struct mst_part parts[BATCH];

static uint64_t random_state = 1;

static size_t random_below(size_t n) {
    return (size_t)(bench_random(&random_state) % n);
}

static double now_ns(void) {
    return (double)bench_ns(CLOCK_PROCESS_CPUTIME_ID);
}

/* The level of a slot: bids below, asks above, far from each other. */
static struct mst_level level_of(unsigned side, int64_t slot, int64_t amount) {
    int64_t away = side == MST_BID ? -slot : slot;
    struct mst_level level = {
        .price_coefficient = (side == MST_BID ? 100000000 : 200000000) + away,
        .price_exponent = -2,
        .amount_coefficient = amount,
        .side = (uint8_t)side,
    };

    return level;
}

/* A live book with so many levels on each side, and room for no more. */
static struct subject *subject_new(size_t count) {
    struct subject *subject = bench_allocate(1, sizeof *subject);
    struct mst_level *levels = bench_allocate(2 * count, sizeof *levels);

    subject->levels = bench_allocate(2 * count, sizeof *subject->levels);
    subject->count = count;
    for (size_t i = 0; i < 2 * count; i++) {
        levels[i] =
            level_of(i < count ? MST_BID : MST_ASK, (int64_t)(i % count), 100);
    }
    mst_book_init(&subject->book, subject->levels, count);
    parts_apply(&subject->book, levels, 2 * count, ++subject->time_ns, true);
    free(levels);
    return subject;
}

static void subject_free(struct subject *subject) {
    free(subject->levels);
    free(subject);
}

static size_t random_slot(enum mix mix, size_t count) {
    size_t dice = random_below(10);

    if (mix == MIX_WHOLE) {
        return random_below(count);
    }
    if (dice < 5) {
        return random_below(10);
    }
    return (dice < 9 ? 10 + random_below(90) : 100 + random_below(900)) % count;
}

/* Of five changes three are of an amount, one removes a level, and one brings
 * a level back, so that the book keeps its size. */
static struct mst_level change(struct subject *subject, enum mix mix) {
    unsigned side = (unsigned)random_below(2);
    size_t slot = random_slot(mix, subject->count);
    bool *absent = &subject->absent[side][slot];

    if (mix == MIX_FULL) {
        return level_of(side, -++subject->moved, 1);
    }
    *absent = !*absent && random_below(4) == 0;
    return level_of(side, (int64_t)slot,
                    *absent ? 0 : 1 + (int64_t)random_below(1000));
}

/* ns of one update, on average over a batch. */
static double time_batch(struct subject *subject, enum mix mix) {
    double begin;

    for (size_t i = 0; i < BATCH; i++) {
        changes[i] = change(subject, mix);
        changes[i].time_ns = ++subject->time_ns;
        parts[i] = (struct mst_part){
            .market = "",
            .time_ns = subject->time_ns,
            .levels = &changes[i],
            .count = 1,
            .first = true,
            .last = true,
        };
    }
    begin = now_ns();
    for (size_t i = 0; i < BATCH; i++) {
        mst_book_apply(&subject->book, &parts[i], 0);
    }
    return (now_ns() - begin) / BATCH;
}

static int compare(const void *a, const void *b) {
    double x = *(const double *)a;
    double y = *(const double *)b;

    return (x > y) - (x < y);
}

static double median(double times[ROUNDS]) {
    qsort(times, ROUNDS, sizeof *times, compare);
    return times[ROUNDS / 2];
}

/* Prints a row; returns how many times as much the largest book costs. */
static double bench_updates(enum mix mix) {
    struct subject *subjects[SIZES];
    static double times[SIZES][ROUNDS];
    double least;

    for (size_t s = 0; s < SIZES; s++) {
        subjects[s] = subject_new(sizes[s]);
        time_batch(subjects[s], mix); /* warms up, and is not counted */
    }
    for (size_t round = 0; round < ROUNDS; round++) {
        for (size_t s = 0; s < SIZES; s++) {
            times[s][round] = time_batch(subjects[s], mix);
        }
    }
    least = median(times[0]);
    printf("%-32s", mix_names[mix]);
    for (size_t s = 0; s < SIZES; s++) {
        printf("%8.0f ns %5.2f", median(times[s]), median(times[s]) / least);
        subject_free(subjects[s]);
    }
    putchar('\n');
    return median(times[SIZES - 1]) / least;
}

enum order { ORDER_BEST_FIRST, ORDER_WORST_FIRST, ORDER_RANDOM, ORDERS };

static const char *const order_names[ORDERS] = {"best first", "worst first",
                                                "random"};

static void arrange(struct mst_level *levels, enum order order) {
    for (size_t i = 0; i < 2 * SNAPSHOT_LEVELS; i++) {
        size_t rank = i % SNAPSHOT_LEVELS;
        size_t slot =
            order == ORDER_WORST_FIRST ? SNAPSHOT_LEVELS - 1 - rank : rank;

        levels[i] = level_of(i < SNAPSHOT_LEVELS ? MST_BID : MST_ASK,
                             (int64_t)slot, 100);
    }
    if (order == ORDER_RANDOM) {
        levels_shuffle(levels, (size_t)2 * SNAPSHOT_LEVELS, &random_state);
    }
}

static void bench_snapshots(void) {
    static struct mst_level came[ORDERS][2 * SNAPSHOT_LEVELS];
    static struct mst_level levels[2 * SNAPSHOT_LEVELS];
    static double times[ORDERS][ROUNDS];

    for (int order = 0; order < ORDERS; order++) {
        arrange(came[order], (enum order)order);
    }
    for (size_t round = 0; round < ROUNDS; round++) {
        for (int order = 0; order < ORDERS; order++) {
            struct mst_book book;
            double begin;

            mst_book_init(&book, levels, SNAPSHOT_LEVELS);
            begin = now_ns();
            parts_apply(&book, came[order], 2 * SNAPSHOT_LEVELS, 1, true);
            times[order][round] = now_ns() - begin;
        }
    }
    for (int order = 0; order < ORDERS; order++) {
        double ns = median(times[order]);

        printf("%-32s%8.0f us %8.0f ns a level\n", order_names[order],
               ns / 1000, ns / (2 * SNAPSHOT_LEVELS));
    }
}

int main(void) {
    double ratio;

    printf("%-32s", "One update, levels of each side:");
    for (size_t s = 0; s < SIZES; s++) {
        printf("%11zu %5s", sizes[s], "x");
    }
    putchar('\n');
    ratio = bench_updates(MIX_NEAR);
    for (int mix = MIX_WHOLE; mix < MIXES; mix++) {
        bench_updates((enum mix)mix);
    }
    printf("\nA snapshot of %d levels of each side:\n", SNAPSHOT_LEVELS);
    bench_snapshots();
    printf("\nAn update near the top of %d levels costs %.2f times as much as "
           "one of %zu: %s the bar of %.1f.\n",
           LEVELS_MOST, ratio, sizes[0], ratio <= BAR ? "within" : "beyond",
           BAR);
    return 0;
}
