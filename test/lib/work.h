/*
 * Work that is counted and not timed: the basic blocks that a program has gone
 * through, where it was compiled with -fsanitize-coverage=trace-pc.
 *
 * SPDX-License-Identifier: 0BSD
 */
#ifndef WORK_H
#define WORK_H

#include <stdint.h>

extern uint64_t work_done;

#endif
