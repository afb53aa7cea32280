/*
 * The clocks.
 *
 * SPDX-License-Identifier: 0BSD
 */
#include "clock.h"

#include <time.h>

#define NS_PER_S 1000000000

static int64_t clock_read(clockid_t id) {
    struct timespec now;

    clock_gettime(id, &now);
    return (int64_t)now.tv_sec * NS_PER_S + now.tv_nsec;
}

uint64_t clock_ns(void) {
    return (uint64_t)clock_read(CLOCK_MONOTONIC);
}

uint64_t clock_ms(void) {
    return clock_ns() / 1000000;
}

int64_t clock_unix_ns(void) {
    return clock_read(CLOCK_REALTIME);
}
