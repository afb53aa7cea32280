/*
 * Quirks: behaviour that the specification allows, or that was seen in
 * practice. Each is off unless --quirk names it.
 *
 * SPDX-License-Identifier: 0BSD
 */
#ifndef SANDBOX_QUIRK_H
#define SANDBOX_QUIRK_H

#include <stdbool.h>

enum quirk {
    QUIRK_EARLY_UPDATES,
    QUIRK_MIXED_PRECISION,
    QUIRK_TRIMMED_ZEROS,
    QUIRK_ZERO_SPELLINGS,
    QUIRK_ABSENT_SIDES,
    QUIRK_LATE_EXECUTIONS,
    QUIRK_DELAYED_DATA,
    QUIRK_ERROR_SHAPES,
    QUIRK_SNAPSHOT_TYPE,
    QUIRK_LEVEL_ORDER,
    QUIRK_KEY_ORDER,
    QUIRK_WHITE_SPACE,
    QUIRK_UNKNOWN_FIELDS,
    QUIRK_UNKNOWN_CHANNELS,
    QUIRK_CROSSED,
    QUIRK_TOKEN_LIMIT,
    QUIRK_COUNT,
};

/* A set of quirks, as bits 1 << quirk. */
typedef unsigned quirk_set;

/* Adds the quirk with this name, or all for "all". Returns false if there is
 * none. */
bool quirk_add(quirk_set *set, const char *name);

static inline bool quirk_on(quirk_set set, enum quirk quirk) {
    return (set >> quirk & 1U) != 0;
}

/* Prints all names and meanings to standard output. */
void quirk_print_help(void);

#endif
