/*
 * Counts work instead of timing it: the basic blocks that a program compiled
 * with -fsanitize-coverage=trace-pc has run.
 *
 * SPDX-License-Identifier: 0BSD
 */
#ifndef WORK_H
#define WORK_H

#include <stdint.h>

extern uint64_t work_done;

#endif
