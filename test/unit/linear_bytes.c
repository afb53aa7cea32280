/*
 * linear.c again, in a build that reads byte by byte, as builds for small
 * machines do.
 *
 * SPDX-License-Identifier: 0BSD
 */
#define WORDS 0
#include "linear.c" /* NOLINT(bugprone-suspicious-include) */
