/* Names on the broker. SPDX-License-Identifier: 0BSD */
#include "subject.h"

#include <stdio.h>
#include <string.h>

static bool is_plain(char c) {
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
           (c >= '0' && c <= '9') || c == '-' || c == '_';
}

void subject_encode(const char *market, char token[SUBJECT_TOKEN_LEN]) {
    size_t at = 0;

    for (const char *c = market; *c && at + 4 <= SUBJECT_TOKEN_LEN; ++c) {
        if (is_plain(*c)) {
            token[at++] = *c;
        } else {
            at += (size_t)snprintf(token + at, 4, "=%02X", (unsigned char)*c);
        }
    }
    token[at] = '\0';
}

bool subject_is_plain(const char *text) {
    const char *c = text;

    while (is_plain(*c)) {
        ++c;
    }
    return *c == '\0' && c > text && c - text <= SUBJECT_PREFIX_MAX;
}
