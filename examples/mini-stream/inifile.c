/*
 * INI files: see inifile.h.
 *
 * SPDX-License-Identifier: 0BSD
 */
#include "inifile.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "line.h"
#include "text.h"

struct inifile {
    const char *const *sections;
    inifile_value *take;
    void *context;
    char section[64];
};

static const char spaces[] = " \t\r\n";

/* Removes spaces at both ends. */
static char *inifile_trim(char *text) {
    size_t len;

    text += strspn(text, spaces);
    len = strlen(text);
    while (len > 0 && strchr(spaces, text[len - 1])) {
        --len;
    }
    text[len] = '\0';
    return text;
}

bool inifile_known(const char *kind, const char *word, const char *const *known,
                   char what[INIFILE_WHAT_LEN]) {
    const char *close = text_close(word, known);
    char suggestion[TEXT_SUGGEST_LEN];

    snprintf(what, INIFILE_WHAT_LEN, "unknown %s '%.40s': %.180s", kind, word,
             text_suggest(word, known, suggestion));
    return close && strcmp(close, word) == 0;
}

static bool inifile_section(struct inifile *ini, char *name,
                            char what[INIFILE_WHAT_LEN]) {
    size_t len = strlen(name);

    if (len == 0 || name[len - 1] != ']') {
        snprintf(what, INIFILE_WHAT_LEN, "a section is a line like [service]");
        return false;
    }
    name[len - 1] = '\0';
    name = inifile_trim(name);
    snprintf(ini->section, sizeof ini->section, "%s", name);
    return !ini->sections ||
           inifile_known("section", name, ini->sections, what);
}

/* Takes a line. Returns false with an error in what. */
static bool inifile_line(struct inifile *ini, char *text,
                         char what[INIFILE_WHAT_LEN]) {
    char *value, *comment = strchr(text, ';');

    while (comment && comment > text && !strchr(spaces, comment[-1])) {
        comment = strchr(comment + 1, ';');
    }
    if (comment) {
        *comment = '\0';
    }
    text = inifile_trim(text);
    if (*text == '\0' || *text == '#') {
        return true;
    }
    if (*text == '[') {
        return inifile_section(ini, text + 1, what);
    }
    value = strpbrk(text, "=:");
    if (!value || ini->section[0] == '\0') {
        snprintf(what, INIFILE_WHAT_LEN,
                 value ? "no [section] comes before it"
                       : "neither [section] nor key = value");
        return false;
    }
    *value = '\0';
    text = inifile_trim(text);
    value = inifile_trim(value + 1);
    if (*value == '\0') {
        snprintf(what, INIFILE_WHAT_LEN, "no value for %.80s", text);
        return false;
    }
    return ini->take(ini->context, ini->section, text, value, what);
}

bool inifile_read(const char *path, const char *kind,
                  const char *const *sections, inifile_value *take,
                  void *context, char *error, size_t error_len) {
    struct inifile ini = {sections, take, context, ""};
    FILE *file = line_open(path);
    char what[INIFILE_WHAT_LEN], *text = NULL;
    size_t room = 0;
    unsigned line = 0;
    bool ok = true;

    while (ok && file && getline(&text, &room, file) >= 0) {
        ++line;
        ok = inifile_line(&ini, text, what);
    }
    if (!ok) {
        snprintf(error, error_len, "%s:%u: %s", path, line, what);
    } else if (!file || ferror(file)) {
        snprintf(error, error_len, "%s %s: %s", kind, path, strerror(errno));
        ok = false;
    }
    free(text);
    if (file) {
        fclose(file);
    }
    return ok;
}

char *inifile_path(const char *path, const char *value) {
    const char *slash = strrchr(path, '/');

    return text_new("%.*s%s",
                    value[0] != '/' && slash ? (int)(slash + 1 - path) : 0,
                    path, value);
}
