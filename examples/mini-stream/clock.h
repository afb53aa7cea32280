/*
 * The clocks.
 *
 * SPDX-License-Identifier: 0BSD
 */
#ifndef CLOCK_H
#define CLOCK_H

#include <stdint.h>

/* The monotonic clock. */
uint64_t clock_ns(void);
uint64_t clock_ms(void);

/* The wall clock, since 1970. */
int64_t clock_unix_ns(void);

#endif
