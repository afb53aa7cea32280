/*
 * book_search.c again, for builds that do not search for speed.
 *
 * SPDX-License-Identifier: 0BSD
 */
#define WORDS 0
#include "book_search.c" /* NOLINT(bugprone-suspicious-include) */
