/* Reads the INI file. SPDX-License-Identifier: 0BSD */
#include "config.h"

#include <glib.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "exits.h"
#include "inifile.h"
#include "subject.h"

#define PASSWORD_KEY "password_file"

struct reader {
    struct config *config;
    const char *path;
    GHashTable *known; /* "[section] key" of those read */
};

/* Keeps a text until config_free(). */
static char *reader_keep(struct reader *reader, char *text) {
    g_ptr_array_add(reader->config->texts, text);
    return text;
}

/* Keys with a text as value. */
#define AT(member) offsetof(struct broker_config, member)
static const struct {
    const char *section, *key;
    size_t offset; /* in struct broker_config */
    enum { TEXT_WORD, TEXT_ANY, TEXT_PATH, TEXT_SECRET } kind;
} texts[] = {
    {"gateway", "name", AT(gateway), TEXT_WORD},
    {"broker", "url", AT(url), TEXT_ANY},
    {"broker", "prefix", AT(prefix), TEXT_WORD},
    {"broker", "user", AT(user), TEXT_ANY},
    {"broker", "nkey", AT(nkey), TEXT_ANY},
    {"broker", "seed", AT(seed), TEXT_SECRET},
    {"broker", "credentials", AT(credentials), TEXT_SECRET},
    {"broker", "ca", AT(ca), TEXT_PATH},
    {"broker", "certificate", AT(certificate), TEXT_PATH},
    {"broker", "key", AT(key), TEXT_SECRET},
};
#undef AT

/* Keys of [gateway] with a number as value. */
#define AT(member) offsetof(struct publish_config, member)
static const struct {
    const char *key;
    size_t offset; /* in struct publish_config */
    unsigned min, max;
} numbers[] = {
    {"lease_ms", AT(broker.lease_ms), 500, 600000},
    {"duplicates_s", AT(broker.duplicates_s), 60, 86400},
    {"store_mb", AT(broker.store_mb), 1, 1000000},
    {"answers", AT(broker.answers), 0, 10000},
    {"last_book_ms", AT(last_book_ms), 1000, 3600000},
    {"queue", AT(queue), 16, 10000000},
};
#undef AT

static bool reader_text(struct reader *reader, size_t i, const char *value,
                        char *what) {
    char **where = (char **)(void *)((char *)&reader->config->publish.broker +
                                     texts[i].offset);

    if (texts[i].kind == TEXT_WORD && !subject_is_plain(value)) {
        snprintf(what, INIFILE_WHAT_LEN,
                 "%s has 1 to %d letters, digits, '-' and '_', which '%s' is "
                 "not",
                 texts[i].key, SUBJECT_PREFIX_MAX, value);
        return false;
    }
    *where = reader_keep(reader, texts[i].kind >= TEXT_PATH
                                     ? inifile_path(reader->path, value)
                                     : g_strdup(value));
    return texts[i].kind != TEXT_SECRET ||
           secret_from_file(NULL, *where, what, INIFILE_WHAT_LEN);
}

static bool reader_number(struct reader *reader, size_t i, const char *value,
                          char *what) {
    guint64 number;

    if (!g_ascii_string_to_unsigned(value, 10, numbers[i].min, numbers[i].max,
                                    &number, NULL)) {
        snprintf(what, INIFILE_WHAT_LEN,
                 "%s must be a whole number from %u to %u, not %s",
                 numbers[i].key, numbers[i].min, numbers[i].max, value);
        return false;
    }
    *(unsigned *)(void *)((char *)&reader->config->publish +
                          numbers[i].offset) = (unsigned)number;
    return true;
}

/* Returns true if an option has exactly this name. */
static bool is_option(const char *name) {
    struct option list[OPTIONS_MAX];
    size_t count = options_list(&options_argp, list, 0);

    while (count > 0 && strcmp(list[count - 1].name, name) != 0) {
        --count;
    }
    return count > 0;
}

/* Takes an option of `mini-stream stream`. */
static bool reader_stream(struct reader *reader, const char *key,
                          const char *value, char *what) {
    if (strcmp(key, "markets") == 0) {
        g_auto(GStrv) words = g_strsplit_set(value, " \t", 0);

        for (gchar **word = words; *word; ++word) {
            if (**word != '\0') {
                g_ptr_array_add(reader->config->arguments,
                                reader_keep(reader, g_strdup(*word)));
            }
        }
    } else if (strcmp(key, "profile") == 0 || !is_option(key)) {
        snprintf(what, INIFILE_WHAT_LEN, "unknown: %s in section [stream]",
                 key);
        return false;
    } else if (strcmp(value, "yes") == 0) {
        g_ptr_array_add(reader->config->arguments,
                        reader_keep(reader, g_strdup_printf("--%s", key)));
    } else if (strcmp(value, "no") != 0) {
        g_ptr_array_add(
            reader->config->arguments,
            reader_keep(reader, g_strdup_printf("--%s=%s", key, value)));
    }
    return true;
}

static bool reader_value(void *context, const char *section, const char *name,
                         const char *value, char what[INIFILE_WHAT_LEN]) {
    struct reader *reader = context;
    bool many = strcmp(section, "stream") == 0 &&
                (strcmp(name, "markets") == 0 || strcmp(name, "set") == 0);

    if (strcmp(section, "service") == 0) {
        return true; /* read by settings.c, as a profile */
    }
    if (!g_hash_table_add(reader->known,
                          g_strdup_printf("[%s] %s", section, name)) &&
        !many) {
        snprintf(what, INIFILE_WHAT_LEN, "set twice: %s", name);
        return false;
    }
    if (strcmp(section, "stream") == 0) {
        return reader_stream(reader, name, value, what);
    }
    if (strcmp(section, "broker") == 0 && strcmp(name, PASSWORD_KEY) == 0) {
        struct config *config = reader->config;
        char *path = reader_keep(reader, inifile_path(reader->path, value));

        config->publish.broker.password = config->password.text;
        return secret_from_file(&config->password, path, what,
                                INIFILE_WHAT_LEN);
    }
    for (size_t i = 0; i < G_N_ELEMENTS(texts); ++i) {
        if (strcmp(section, texts[i].section) == 0 &&
            strcmp(name, texts[i].key) == 0) {
            return reader_text(reader, i, value, what);
        }
    }
    for (size_t i = 0; i < G_N_ELEMENTS(numbers); ++i) {
        if (strcmp(section, "gateway") == 0 &&
            strcmp(name, numbers[i].key) == 0) {
            return reader_number(reader, i, value, what);
        }
    }
    snprintf(what, INIFILE_WHAT_LEN, "unknown: %s in section [%s]", name,
             section);
    return false;
}

/* Checks a server's URL. Returns what is wrong, or NULL. Sets *here if it is
 * this machine, and *tls if it asks for TLS. */
static const char *server_objection(const char *server, bool *here, bool *tls) {
    static const char *const loopback[] = {"127.0.0.1", "::1", "localhost"};
    g_autofree char *scheme = NULL, *user = NULL, *host = NULL;

    *here = false;
    if (!g_uri_split(server, G_URI_FLAGS_NONE, &scheme, &user, &host, NULL,
                     NULL, NULL, NULL, NULL) ||
        !scheme || !host || host[0] == '\0' || host[0] == '.' ||
        strstr(host, "..") ||
        (strcmp(scheme, "nats") != 0 && strcmp(scheme, "tls") != 0)) {
        return "[broker] url must be nats://HOST:PORT or tls://HOST:PORT, or "
               "several, separated by commas";
    }
    if (user) {
        return "[broker] url cannot contain a user: set user "
               "and " PASSWORD_KEY;
    }
    *tls |= strcmp(scheme, "tls") == 0;
    for (size_t i = 0; i < G_N_ELEMENTS(loopback); ++i) {
        *here |= strcmp(host, loopback[i]) == 0;
    }
    return NULL;
}

/* Returns what is wrong with the servers or their credentials, or NULL. */
static const char *config_servers(struct broker_config *broker) {
    g_auto(GStrv) servers = g_strsplit(broker->url, ",", 0);
    const char *objection = NULL;
    bool here, all_here = true;

    broker->tls = broker->ca != NULL;
    for (gchar **server = servers; *server && !objection; ++server) {
        objection = server_objection(*server, &here, &broker->tls);
        all_here &= here;
    }
    if (!objection && !broker->tls && !all_here &&
        (broker->password || broker->nkey || broker->credentials)) {
        return "[broker] credentials need TLS: url must be tls://";
    }
    return objection;
}

/* Returns true if the text needs no escape: the library quotes it unchanged. */
static bool is_quotable(const char *text) {
    return !text || !strpbrk(text, "\"\\");
}

/* Returns what is wrong with keys that depend on each other, or NULL. */
static const char *config_objection(struct broker_config *broker) {
    if (!broker->gateway) {
        return "[gateway] name is missing";
    }
    if (!broker->nkey != !broker->seed) {
        return "[broker] nkey and seed need each other";
    }
    if ((broker->user != NULL) + (broker->nkey != NULL) +
            (broker->credentials != NULL) >
        1) {
        return "[broker] set only one of user, nkey and credentials";
    }
    if (!is_quotable(broker->user) || !is_quotable(broker->password)) {
        return "[broker] neither user nor password has '\"' or '\\' in it";
    }
    if (!broker->user != !broker->password) {
        return "[broker] user and " PASSWORD_KEY " need each other";
    }
    if (!broker->certificate != !broker->key) {
        return "[broker] certificate and key need each other";
    }
    return config_servers(broker);
}

static _Noreturn void config_fail(const char *what) {
    fprintf(stderr, "mini-stream-gateway: %s\n", what);
    exit(EXITS_CONFIG);
}

static error_t config_parse(int key, char *arg, struct argp_state *state) {
    struct config *config = state->input;

    (void)arg;
    if (key == ARGP_KEY_INIT) {
        state->child_inputs[0] = &config->options;
        return 0;
    }
    return ARGP_ERR_UNKNOWN;
}

void config_read(struct config *config, const char *path) {
    static const struct argp argp = {.parser = config_parse,
                                     .children = options_children};
    static const char *const sections[] = {"service", "stream", "broker",
                                           "gateway", NULL};
    struct reader reader = {
        config, path,
        g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL)};
    char error[SETTINGS_ERROR_LEN] = "";
    const char *objection;
    int count;

    *config =
        (struct config){.publish = {.broker = {.url = "nats://127.0.0.1:4222",
                                               .prefix = "mst",
                                               .lease_ms = 3000,
                                               .duplicates_s = 120,
                                               .store_mb = 1000,
                                               .answers = 100},
                                    .queue = 100000,
                                    .last_book_ms = 5000},
                        .texts = g_ptr_array_new_with_free_func(g_free),
                        .arguments = g_ptr_array_new()};
    config->options.settings.profile = reader_keep(&reader, g_strdup(path));
    config->options.settings.profile_shared = true;
    g_ptr_array_add(config->arguments, config->options.settings.profile);
    if (!inifile_read(path, "configuration", sections, reader_value, &reader,
                      error, sizeof error)) {
        config_fail(error);
    }
    objection = config_objection(&config->publish.broker);
    if (objection) {
        snprintf(error, sizeof error, "%s: %s", path, objection);
        config_fail(error);
    }
    g_hash_table_destroy(reader.known);
    count = (int)config->arguments->len;
    g_ptr_array_add(config->arguments, NULL);
    argp_parse(&argp, count, (char **)config->arguments->pdata, ARGP_NO_HELP,
               NULL, config);
}

void config_free(struct config *config) {
    options_free(&config->options);
    secret_wipe(&config->password);
    g_ptr_array_unref(config->texts);
    g_ptr_array_unref(config->arguments);
}
