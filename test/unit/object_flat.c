/*
 * object.c again, in a build with the least depth of JSON.
 *
 * SPDX-License-Identifier: 0BSD
 */
#define MST_JSON_DEPTH 4
#include "object.c" /* NOLINT(bugprone-suspicious-include) */
