/*
 * object.c again, in a build with the greatest depth of JSON.
 *
 * SPDX-License-Identifier: 0BSD
 */
#define MST_JSON_DEPTH 32
#include "object.c" /* NOLINT(bugprone-suspicious-include) */
