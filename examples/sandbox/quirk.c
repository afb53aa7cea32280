/*
 * The names of the quirks.
 *
 * SPDX-License-Identifier: 0BSD
 */
#include "quirk.h"

#include <stdio.h>
#include <string.h>

static const struct {
    const char *name;
    const char *meaning;
} quirks[QUIRK_COUNT] = {
    [QUIRK_EARLY_UPDATES] = {"early-updates",
                             "updates older and newer than the SNAPSHOT come "
                             "before it, an old one after it"},
    [QUIRK_MIXED_PRECISION] = {"mixed-precision",
                               "times with 3 and with 9 digits of a second's "
                               "fraction in one channel"},
    [QUIRK_TRIMMED_ZEROS] = {"trimmed-zeros",
                             "fractions of times, prices and amounts without "
                             "trailing zeros, or no fraction"},
    [QUIRK_ZERO_SPELLINGS] = {"zero-spellings",
                              "the amount of a removed level is also 0.00, "
                              "0.000, 0E-8"},
    [QUIRK_ABSENT_SIDES] = {"absent-sides",
                            "an update does not name a side without levels"},
    [QUIRK_LATE_EXECUTIONS] = {"late-executions",
                               "executions out of time order, up to 1 s late"},
    [QUIRK_DELAYED_DATA] = {"delayed-data",
                            "more than one subscribe a second and address "
                            "holds back its data, 1 s for each"},
    [QUIRK_ERROR_SHAPES] = {"error-shapes",
                            "errors outside a response in any of the shapes "
                            "of --error-shape"},
    [QUIRK_SNAPSHOT_TYPE] = {"snapshot-type",
                             "the first book message has a type other than "
                             "SNAPSHOT"},
    [QUIRK_LEVEL_ORDER] = {"level-order",
                           "levels of a snapshot in random order"},
    [QUIRK_KEY_ORDER] = {"key-order",
                         "keys in random order; where there are many levels, "
                         "they stay last"},
    [QUIRK_WHITE_SPACE] = {"white-space", "white space between tokens"},
    [QUIRK_UNKNOWN_FIELDS] = {"unknown-fields",
                              "fields that the specification does not name"},
    [QUIRK_UNKNOWN_CHANNELS] = {"unknown-channels",
                                "each second a message of an unknown channel "
                                "and one of an unknown type"},
    [QUIRK_CROSSED] = {"crossed",
                       "the best bid is at times at or above the best ask"},
    [QUIRK_TOKEN_LIMIT] = {"token-limit",
                           "429 for an address that asks for more than a token "
                           "a second, see --token-window"},
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
    printf("%-17s %s\n", "all", "each of them");
}
