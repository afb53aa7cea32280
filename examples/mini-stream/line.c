/*
 * Text that people set: see line.h.
 *
 * SPDX-License-Identifier: 0BSD
 */
#include "line.h"

#include <string.h>

static const char mark[] = "\xEF\xBB\xBF"; /* the byte order mark of UTF-8 */
#define MARK_LEN (sizeof mark - 1)

static bool verbose;

unsigned line_strip(char *text) {
    const char *from = text;
    unsigned removed = 0;
    size_t len;

    for (; *from && strchr("\r\n\xEF", *from); ++from) {
        if (*from != mark[0]) {
            removed |= LINE_ENDS;
        } else if (strncmp(from, mark, MARK_LEN) == 0) {
            removed |= LINE_MARK;
            from += MARK_LEN - 1;
        } else {
            break;
        }
    }
    len = strlen(from);
    while (len > 0 && strchr("\r\n", from[len - 1])) {
        removed |= LINE_ENDS;
        --len;
    }
    memmove(text, from, len);
    text[len] = '\0';
    return removed;
}

bool line_is_one(const char *text) {
    while (*text && (unsigned char)*text >= ' ' && *text != 0x7F) {
        ++text;
    }
    return *text == '\0';
}

void line_be_verbose(void) {
    verbose = true;
}

void line_report(const char *name, const char *where, unsigned removed) {
    static const char *const what[] = {[LINE_MARK] = "a byte order mark",
                                       [LINE_ENDS] = "line ends",
                                       [LINE_MARK | LINE_ENDS] =
                                           "a byte order mark and line ends"};

    if (verbose && removed != 0) {
        fprintf(stderr, "mini-stream: %s%s%s: removed %s\n", name,
                where ? " from " : "", where ? where : "", what[removed]);
    }
}

FILE *line_open(const char *path) {
    FILE *file = fopen(path, "re");
    size_t i = 0;
    int c = EOF;

    while (file && i < MARK_LEN && (c = getc(file)) == (unsigned char)mark[i]) {
        ++i;
    }
    if (i == MARK_LEN) {
        line_report(path, NULL, LINE_MARK);
    } else if (file) {
        ungetc(c, file); /* no text begins with part of a mark */
    }
    return file;
}
