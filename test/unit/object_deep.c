/*
 * object.c once more in a build that takes the deepest JSON that there may be.
 *
 * SPDX-License-Identifier: 0BSD
 */
#define MST_JSON_DEPTH 32
#include "object.c" /* NOLINT(bugprone-suspicious-include) */
