/*
 * Where the service is and who the client is: see settings.h.
 *
 * SPDX-License-Identifier: 0BSD
 */
#define _GNU_SOURCE /* memmem() */

#include "settings.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "line.h"
#include "options.h"
#include "text.h"

#define ENV_PREFIX "MINI_STREAM_"
#define ENV_PROFILE ENV_PREFIX "PROFILE"

enum { KEY_PROFILE = KEY_SETTING + SETTING_COUNT };

static const struct argp_option settings_options[] = {
    {0, 0, 0, 0, "The service:", 8},
    {"ws-url", KEY_SETTING + SETTING_WS_URL, "URL", 0,
     "Streaming endpoint, wss://host[:port]", 0},
    {"auth-url", KEY_SETTING + SETTING_AUTH_URL, "URL", 0,
     "Token endpoint's server, https://host[:port]", 0},
    {"base-url", KEY_SETTING + SETTING_BASE_URL, "URL", 0,
     "HTTP API, https://host[:port][/path]", 0},
    {"endpoints", KEY_SETTING + SETTING_ENDPOINTS, "FILE", 0,
     "JSON file with the URLs, as ws_url, auth_url and base_url", 0},
    {"ca", KEY_SETTING + SETTING_CA, "FILE", 0,
     "Trust anchors, PEM (default: the system's store)", 0},
    {"proxy", KEY_SETTING + SETTING_PROXY, "URL", 0,
     "HTTP proxy, [http://][user:password@]host:port. Other users can see "
     "options: put a password into MINI_STREAM_PROXY or HTTPS_PROXY. '' means "
     "none, as an option only (default: HTTPS_PROXY, except for this machine "
     "and the hosts in NO_PROXY, which cannot name networks such as "
     "10.0.0.0/8)",
     0},
    {"tls", KEY_SETTING + SETTING_TLS, "LIBRARY", 0,
     "fast (default: BearSSL with faster primitives), bearssl (needs 8 MB "
     "less) or openssl (TLS 1.3 as well as 1.2)",
     0},
    {0, 0, 0, 0, "The client:", 9},
    {"client-id", KEY_SETTING + SETTING_CLIENT_ID, "ID", 0, "Client identifier",
     0},
    {"secret-file", KEY_SETTING + SETTING_SECRET_FILE, "FILE", 0,
     "File with the client secret, accessible to its owner only", 0},
    {"profile", KEY_PROFILE, "FILE", 0,
     "INI file with settings; a NAME without '/' and '.' means "
     "~/.config/mini-stream/NAME.ini (default: ~/.config/mini-stream.ini, if "
     "it exists)",
     0},
    {0}};

static const char *const tls_names[] = {"fast", "bearssl", "openssl", NULL};

static void settings_check_tls(const struct argp_state *state,
                               const char *option) {
    char *name = text_must(strdup(option));

    (void)line_strip(name); /* reported later */
    (void)options_choice(state, "--tls", name, tls_names);
    free(name);
}

static error_t settings_parse(int key, char *arg, struct argp_state *state) {
    struct settings *settings = state->input;

    if (key >= KEY_SETTING && key < KEY_SETTING + SETTING_COUNT) {
        if (key == KEY_SETTING + SETTING_TLS) {
            settings_check_tls(state, arg);
        }
        layer_set(&settings->options, (enum setting)(key - KEY_SETTING), arg);
        return 0;
    }
    if (key == KEY_PROFILE) {
        settings->profile = arg;
        return 0;
    }
    if (key == ARGP_KEY_ARG) { /* nor did the command take it */
        options_fail(state, "too many arguments: '%s'", arg);
    }
    return ARGP_ERR_UNKNOWN;
}

static const struct argp settings_argp = {.options = settings_options,
                                          .parser = settings_parse};
const struct argp_child settings_children[] = {{&settings_argp, 0, NULL, 0},
                                               {0}};

/* The value of an environment variable, or NULL if unset or empty. */
static const char *env(const char *name) {
    const char *value = getenv(name);

    return value && value[0] != '\0' ? value : NULL;
}

static void settings_env(struct layer *layer) {
    for (int i = 0; i < SETTING_COUNT; ++i) {
        char name[sizeof ENV_PREFIX + 16] = ENV_PREFIX;
        size_t at = sizeof ENV_PREFIX - 1;
        const char *value;

        for (const char *key = profile_key((enum setting)i); *key; ++key) {
            name[at++] = text_upper(*key);
        }
        value = env(name);
        if (value) {
            layer_set(layer, (enum setting)i, value);
        }
    }
}

char *settings_profile(const char *wanted) {
    const char *folder = env("XDG_CONFIG_HOME");
    const char *home = env("HOME");
    char *path;

    if (wanted && strpbrk(wanted, "/.")) {
        return text_must(strdup(wanted));
    }
    path = text_new("%s%s/mini-stream%s%s.ini",
                    folder ? folder
                    : home ? home
                           : "",
                    folder ? "" : "/.config", wanted ? "/" : "",
                    wanted ? wanted : "");
    if (!wanted && access(path, F_OK)) {
        free(path);
        path = NULL;
    }
    return path;
}

/* Takes settings that are not set yet from a layer. A value that consists of
 * line ends counts as not set. */
static bool settings_merge(struct settings *settings, struct layer *from,
                           const char *origin, char *error) {
    struct layer *into = &settings->options;
    bool ok = true;

    for (int i = 0; ok && i < SETTING_COUNT; ++i) {
        const char *key = profile_key((enum setting)i);
        char *value = from->value[i];
        unsigned removed = value ? line_strip(value) : 0;

        if (!value || into->value[i] || (removed != 0 && value[0] == '\0')) {
            continue;
        }
        line_report(key, origin, removed);
        ok = line_is_one(value);
        if (!ok) {
            snprintf(error, SETTINGS_ERROR_LEN,
                     "%s from %s: not one line of text", key, origin);
        }
        layer_set(into, (enum setting)i, value);
        settings->origin[i] = origin;
    }
    return ok;
}

/* settings_merge(), then the same for the endpoints file that the layer
 * names. */
static bool settings_take(struct settings *settings, struct layer *from,
                          const char *origin, char *error) {
    char *const *value = settings->options.value;
    bool named = from->value[SETTING_ENDPOINTS] != NULL;
    struct layer file = {{NULL}};
    bool ok = settings_merge(settings, from, origin, error);

    if (ok && named && value[SETTING_ENDPOINTS] &&
        !(value[settings->url] && value[SETTING_AUTH_URL])) {
        ok = endpoints_read(&file, settings->url, value[SETTING_ENDPOINTS],
                            error, SETTINGS_ERROR_LEN) &&
             settings_merge(settings, &file, "endpoints", error);
        layer_free(&file);
    }
    return ok;
}

/* The order of precedence: a file that an option names, the environment's
 * secret, a file that environment or profile name. */
static bool settings_secret(struct settings *settings, bool option,
                            char *error) {
    const char *path = settings->options.value[SETTING_SECRET_FILE];
    int got = secret_from_env(&settings->secret, SETTINGS_ENV_SECRET, error,
                              SETTINGS_ERROR_LEN);

    if (got < 0) {
        return false;
    }
    if (got > 0 && !option) {
        settings->secret_origin = SETTINGS_ENV_SECRET;
        return true;
    }
    if (!path) {
        snprintf(error, SETTINGS_ERROR_LEN,
                 "no client secret: set " SETTINGS_ENV_SECRET
                 " or give --secret-file FILE");
        return false;
    }
    settings->secret_origin = path;
    return secret_from_file(&settings->secret, path, error, SETTINGS_ERROR_LEN);
}

/* Fails if a needed setting is missing, with the ways to set it. */
static bool settings_complete(const struct settings *settings, char *error) {
    static const char *const ways[] = {
        [SETTING_WS_URL] =
            "--ws-url URL, --endpoints FILE, " ENV_PREFIX "WS_URL",
        [SETTING_AUTH_URL] =
            "--auth-url URL, --endpoints FILE, " ENV_PREFIX "AUTH_URL",
        [SETTING_BASE_URL] =
            "--base-url URL, --endpoints FILE, " ENV_PREFIX "BASE_URL",
        [SETTING_CLIENT_ID] = "--client-id ID, " ENV_PREFIX "CLIENT_ID",
    };
    const enum setting needed[] = {settings->url, SETTING_AUTH_URL,
                                   SETTING_CLIENT_ID};

    for (size_t i = 0; i < sizeof needed / sizeof *needed; ++i) {
        if (!settings->options.value[needed[i]]) {
            snprintf(error, SETTINGS_ERROR_LEN, "no %s: give %s or a profile",
                     profile_key(needed[i]), ways[needed[i]]);
            return false;
        }
    }
    return true;
}

static bool settings_find_tls(struct settings *settings, char *error) {
    const char *tls = settings->options.value[SETTING_TLS];
    size_t found = tls ? text_find(tls, tls_names) : SETTINGS_FAST;

    settings->tls = (enum settings_tls)found;
    if (tls_names[found]) {
        return true;
    }
    snprintf(error, SETTINGS_ERROR_LEN,
             "tls '%s': must be fast, bearssl or openssl", tls);
    return false;
}

static bool settings_anchors(struct settings *settings, char *error) {
    const char *ca = settings->options.value[SETTING_CA];
    int rc = mst_posix_anchors_load(&settings->anchors, ca);
    const char *path = settings->anchors.path;

    if (rc == 0) {
        return true;
    }
    snprintf(error, SETTINGS_ERROR_LEN, "trust anchors %s: %s%s%s",
             path ? path : "of the system", mst_posix_strerror(rc),
             rc == MST_POSIX_ERR_FILE ? ": " : "",
             rc == MST_POSIX_ERR_FILE ? strerror(settings->anchors.detail)
                                      : "");
    return false;
}

char *settings_url_shown(const char *url) {
    char *shown = text_must(strdup(url)), *end = NULL;
    size_t scheme = strspn(url, "abcdefghijklmnopqrstuvwxyz");

    scheme = strncmp(url + scheme, "://", 3) == 0 ? scheme + 3 : 0;
    for (char *at = shown + scheme; *at; ++at) {
        end = *at == '@' || strncmp(at, "%40", 3) == 0 ? at : end;
    }
    if (end) {
        memset(shown + scheme, '*', (size_t)(end - shown) - scheme);
    }
    return shown;
}

/* Returns what is wrong with a URL's port and path, or NULL. */
static const char *url_tail_fault(const char *at) {
    /* strchr() also finds the NUL: the URL may end there */
    if (*at == ':' && (strtoul(at + 1, NULL, 10) - 1 > 65534 ||
                       !strchr("/?#", at[1 + strspn(at + 1, "0123456789")]))) {
        return "the port is not a number from 1 to 65535";
    }
    at += strcspn(at, "/?#");
    return *at == '?'                  ? "'/' is missing before '?'"
           : at[strcspn(at, "# \t")]   ? "'#' or a space is not supported"
           : strlen(at) > MST_PATH_MAX ? "its path is too long"
                                       : NULL;
}

/* Returns what is wrong with a URL after "://", or NULL. */
static const char *url_host_fault(const char *at) {
    static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                  "abcdefghijklmnopqrstuvwxyz0123456789-._";
    const bool bracket = *at == '[';
    size_t len = strcspn(at, bracket ? "]/?#" : ":/?#");

    if (strchr(at, '@') || strstr(at, "%40")) {
        return "a name and a password, or '@' in the host, are not supported";
    }
    if (len == 0) {
        return "it has no host";
    }
    if (bracket && (at[len] != ']' || !memchr(at, ':', len))) {
        return "'[' must be followed by an IPv6 address and ']'";
    }
    if (!bracket && strspn(at, letters) < len) {
        return "its host has a character other than letters, digits, '-', '.' "
               "and '_'";
    }
    if (*at == '.' || at[len - 1] == '.' || memmem(at, len, "..", 2)) {
        return "its host has a dot too many";
    }
    return len > MST_HOST_MAX ? "its host is too long"
                              : url_tail_fault(at + len + bracket);
}

/* Returns why a URL causes this error, or NULL if it does not. */
static const char *url_fault(const char *url, bool stream, int rc) {
    const char *host = strstr(url, "://");
    const char *scheme = stream ? "wss" : "https";
    size_t len = strlen(scheme);
    bool secure = host == url + len && text_is_name(url, scheme, len);
    bool plain = host == url + len - 1 && text_is_name(url, scheme, len - 1);

    if (rc == MST_ERR_PLAIN) {
        return !plain   ? NULL
               : stream ? "it must begin with wss://, unless stream, watch or "
                          "record has --allow-plain"
                        : "it must begin with https://, unless stream, watch "
                          "or record has --allow-plain";
    }
    if (!secure && !plain) {
        return stream ? "it must begin with wss://"
                      : "it must begin with https://";
    }
    if (strncmp(url, scheme, len - plain) != 0) {
        return "the letters before :// must be small ones";
    }
    host += strlen("://");
    if (rc == MST_ERR_IP_HOST) {
        return *host == '[' || host[strspn(host, "0123456789.")] == '\0' ||
                       strchr(":/", host[strspn(host, "0123456789.")])
                   ? "give --tls openssl, or name the host"
                   : NULL;
    }
    return url_host_fault(host);
}

void settings_refused(const struct settings *settings, int rc,
                      char error[SETTINGS_ERROR_LEN]) {
    const enum setting urls[] = {settings->url, SETTING_AUTH_URL};
    bool of_url =
        rc == MST_ERR_URL || rc == MST_ERR_PLAIN || rc == MST_ERR_IP_HOST;

    for (size_t i = 0; of_url && i < 2; ++i) {
        const char *fault = url_fault(settings->options.value[urls[i]],
                                      urls[i] == SETTING_WS_URL, rc);

        if (fault) {
            snprintf(error, SETTINGS_ERROR_LEN, "%s %s: %s: %s",
                     profile_key(urls[i]), settings->shown[urls[i]],
                     rc == MST_ERR_PLAIN ? "not encrypted" : mst_strerror(rc),
                     fault);
            return;
        }
    }
    snprintf(error, SETTINGS_ERROR_LEN, "%s (%s, %s)", mst_strerror(rc),
             settings->shown[settings->url], settings->shown[SETTING_AUTH_URL]);
}

/* Reports a byte order mark in the file of trust anchors, which their readers
 * skip. A FIFO cannot be read twice. */
static void settings_look(const char *ca) {
    struct stat status;
    FILE *file = ca && stat(ca, &status) == 0 && S_ISREG(status.st_mode)
                     ? line_open(ca)
                     : NULL;

    if (file) {
        fclose(file);
    }
}

bool settings_resolve(struct settings *settings, struct mst_config *config,
                      char error[SETTINGS_ERROR_LEN]) {
    struct layer *holds = &settings->options;
    bool secret_option = holds->value[SETTING_SECRET_FILE] != NULL;
    struct layer options = *holds;
    struct layer environment = {{NULL}};
    struct layer file = {{NULL}};
    const char *path = settings->profile_path = settings_profile(
        settings->profile ? settings->profile : env(ENV_PROFILE));
    bool ok;

    memset(holds, 0, sizeof *holds);
    if (!settings->no_environment) {
        settings_env(&environment);
    }
    ok = settings_take(settings, &options, "option", error) &&
         settings_take(settings, &environment, "environment", error) &&
         (!path || (profile_read(&file, path, settings->profile_shared, error,
                                 SETTINGS_ERROR_LEN) &&
                    settings_take(settings, &file, "profile", error))) &&
         settings_complete(settings, error) &&
         settings_secret(settings, secret_option, error) &&
         settings_find_tls(settings, error) &&
         (settings->tls == SETTINGS_OPENSSL ||
          settings_anchors(settings, error));
    for (int i = 0; i < SETTINGS_URLS; ++i) {
        settings->shown[i] =
            holds->value[i] ? settings_url_shown(holds->value[i]) : NULL;
    }
    layer_free(&options);
    layer_free(&environment);
    layer_free(&file);
    if (!ok) {
        return false;
    }
    settings_look(holds->value[SETTING_CA]);
    if (settings->url == SETTING_WS_URL) {
        config->ws_url = holds->value[SETTING_WS_URL];
    } else if (settings->url == SETTING_BASE_URL) {
        config->base_url = holds->value[SETTING_BASE_URL];
    }
    config->auth_url = holds->value[SETTING_AUTH_URL];
    config->client_id = holds->value[SETTING_CLIENT_ID];
    config->client_secret = settings->secret.text;
    config->anchors = settings->anchors.anchors;
    config->anchors_len = settings->anchors.len;
    return true;
}

void settings_free(struct settings *settings) {
    secret_wipe(&settings->secret);
    mst_posix_anchors_free(&settings->anchors);
    layer_free(&settings->options);
    for (int i = 0; i < SETTINGS_URLS; ++i) {
        free(settings->shown[i]);
    }
    free(settings->profile_path);
}
