/*
 * INI files: see inifile.h.
 *
 * SPDX-License-Identifier: 0BSD
 */
#include "inifile.h"

#include <errno.h>
#include <ini.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "line.h"
#include "text.h"

/* A file being read. inih does not pass line numbers to its handler and accepts
 * any text after a section's name, so inifile_line() looks at lines before it. */
struct inifile {
    FILE *file;
    const char *path;
    const char *const *sections;
    inifile_value *take;
    void *context;
    int line, bad_line;
    bool midway; /* within a line that exceeds inih's buffer */
    char *error;
    size_t error_len;
};

/* Keeps the first error and its line. */
static void inifile_error(struct inifile *ini, const char *what) {
    if (ini->bad_line == 0) {
        ini->bad_line = ini->line;
        snprintf(ini->error, ini->error_len, "%s:%d: %s", ini->path, ini->line,
                 what);
    }
}

bool inifile_known(const char *kind, const char *word, const char *const *known,
                   char what[INIFILE_WHAT_LEN]) {
    char suggestion[TEXT_SUGGEST_LEN];

    snprintf(what, INIFILE_WHAT_LEN, "unknown %s '%.40s': %.180s", kind, word,
             text_suggest(word, known, suggestion));
    return known[text_find(word, known)] != NULL;
}

static void inifile_section(struct inifile *ini, const char *text) {
    char name[64] = "", what[INIFILE_WHAT_LEN];
    int end = 0;

    sscanf(text, " [%63[^]\r\n]]%n", name, &end);
    text += end;
    text += strspn(text, " \t\r\n");
    if (end == 0 || !strchr(";#", *text)) {
        inifile_error(ini, "a section is a line like [service]");
    } else if (ini->sections &&
               !inifile_known("section", name, ini->sections, what)) {
        inifile_error(ini, what);
    }
}

static char *inifile_line(char *text, int len, void *context) {
    struct inifile *ini = context;

    if (!fgets(text, len, ini->file)) {
        return NULL;
    }
    if (ini->midway) {
        inifile_error(ini, "line is too long");
    } else {
        ++ini->line;
        if (text[strspn(text, " \t")] == '[') {
            inifile_section(ini, text);
        }
    }
    ini->midway = !strchr(text, '\n');
    return text;
}

/* inih's handler. Returns 1 for a good line, 0 for a bad one. */
static int inifile_take(void *context, const char *section, const char *name,
                        const char *value) {
    struct inifile *ini = context;
    char what[INIFILE_WHAT_LEN] = "";

    if (section[0] == '\0') {
        snprintf(what, sizeof what, "no [section] comes before it");
    } else if (value[0] == '\0') {
        snprintf(what, sizeof what, "no value for %.80s", name);
    } else if (ini->take(ini->context, section, name, value, what)) {
        return 1;
    }
    inifile_error(ini, what);
    return 0;
}

bool inifile_read(const char *path, const char *kind,
                  const char *const *sections, inifile_value *take,
                  void *context, char *error, size_t error_len) {
    struct inifile ini = {.path = path,
                          .sections = sections,
                          .take = take,
                          .context = context,
                          .error = error,
                          .error_len = error_len};
    int bad_line, failed;

    ini.file = line_open(path);
    if (!ini.file) {
        snprintf(error, error_len, "%s %s: %s", kind, path, strerror(errno));
        return false;
    }
    bad_line = ini_parse_stream(inifile_line, &ini, inifile_take, &ini);
    failed = ferror(ini.file) ? errno : 0;
    fclose(ini.file);
    if (failed || bad_line < 0) {
        snprintf(error, error_len, "%s %s: %s", kind, path,
                 failed ? strerror(failed) : "out of memory");
        return false;
    }
    /* inih reports only the first bad line. If the handler did not refuse it,
     * its syntax is wrong. */
    if (bad_line > 0 && (ini.bad_line == 0 || bad_line < ini.bad_line)) {
        ini.bad_line = 0;
        ini.line = bad_line;
        inifile_error(&ini, "neither [section] nor key = value");
    }
    return ini.bad_line == 0;
}

char *inifile_path(const char *path, const char *value) {
    const char *slash = strrchr(path, '/');

    return text_new("%.*s%s",
                    value[0] != '/' && slash ? (int)(slash + 1 - path) : 0,
                    path, value);
}
