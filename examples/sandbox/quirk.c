/* Names of the quirks. SPDX-License-Identifier: 0BSD */
#include "quirk.h"

#include <stdio.h>
#include <string.h>

static const struct {
    const char *name;
    const char *meaning;
} quirks[QUIRK_COUNT] = {
    [QUIRK_EARLY_UPDATES] =
        {"early-updates",
         "updates come before the SNAPSHOT, and an older one after it"},
    [QUIRK_MIXED_PRECISION] = {"mixed-precision", "times have 3 or 9 decimals"},
    [QUIRK_TRIMMED_ZEROS] = {"trimmed-zeros",
                             "times and numbers lack trailing zeros"},
    [QUIRK_ZERO_SPELLINGS] =
        {"zero-spellings",
         "a removed level has the amount 0, 0.00, 0.000 or 0E-8"},
    [QUIRK_ABSENT_SIDES] = {"absent-sides",
                            "updates may omit a side without levels"},
    [QUIRK_LATE_EXECUTIONS] = {"late-executions",
                               "executions up to 1 s out of order"},
    [QUIRK_DELAYED_DATA] =
        {"delayed-data", "subscribing faster than once a second delays data"},
    [QUIRK_ERROR_SHAPES] =
        {"error-shapes", "unsolicited errors have any of the --error-shapes"},
    [QUIRK_SNAPSHOT_TYPE] =
        {"snapshot-type",
         "the first book message has another type than SNAPSHOT"},
    [QUIRK_LEVEL_ORDER] = {"level-order",
                           "levels of a snapshot in random order"},
    [QUIRK_KEY_ORDER] = {"key-order", "keys in random order, long arrays last"},
    [QUIRK_WHITE_SPACE] = {"white-space", "white space between tokens"},
    [QUIRK_UNKNOWN_FIELDS] = {"unknown-fields",
                              "objects have unspecified fields"},
    [QUIRK_UNKNOWN_CHANNELS] =
        {"unknown-channels",
         "messages of unknown channels and types every second"},
    [QUIRK_CROSSED] = {"crossed",
                       "the best bid may be at or above the best ask"},
    [QUIRK_TOKEN_LIMIT] = {"token-limit",
                           "429 beyond a token per second, see --token-window"},
};

bool quirk_add(quirk_set *set, const char *name) {
    if (strcmp(name, "all") == 0) {
        *set = (1U << QUIRK_COUNT) - 1;
        return true;
    }
    for (unsigned i = 0; i < QUIRK_COUNT; i++) {
        if (strcmp(name, quirks[i].name) == 0) {
            *set |= 1U << i;
            return true;
        }
    }
    return false;
}

void quirk_print_help(void) {
    for (unsigned i = 0; i < QUIRK_COUNT; i++) {
        printf("%-17s %s\n", quirks[i].name, quirks[i].meaning);
    }
    printf("%-17s %s\n", "all", "all of these");
}
