/*
 * fast_lane.c once more in a build that reads byte by byte, as those for small
 * machines do.
 *
 * SPDX-License-Identifier: 0BSD
 */
#define WORDS 0
#include "fast_lane.c" /* NOLINT(bugprone-suspicious-include) */
