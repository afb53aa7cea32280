/*
 * `mini-stream profiles`: lists, shows and checks profiles.
 *
 * SPDX-License-Identifier: 0BSD
 */
#include "commands.h"

#include <argp.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "doctor.h"
#include "exits.h"
#include "options.h"
#include "text.h"

/* Settings that may come from options and the environment instead. */
static const struct {
    enum setting setting;
    const char *instead; /* placeholder for `check` */
} open_settings[] = {{SETTING_WS_URL, "wss://host.invalid"},
                     {SETTING_AUTH_URL, "https://host.invalid"},
                     {SETTING_CLIENT_ID, "none"}};

struct profiles {
    char **names; /* without ".ini"; "": the default; ends with NULL */
    size_t count;
    char **arguments;
    int argument_count;
};

static error_t profiles_key(int key, char *arg, struct argp_state *state) {
    struct profiles *profiles = state->input;

    (void)arg;
    if (key != ARGP_KEY_ARGS) {
        return ARGP_ERR_UNKNOWN;
    }
    profiles->arguments = state->argv + state->next;
    profiles->argument_count = state->argc - state->next;
    return 0;
}

static int is_profile(const struct dirent *entry) {
    const char *end = strrchr(entry->d_name, '.');

    return end && end != entry->d_name && strcmp(end, ".ini") == 0;
}

static void profiles_find(struct profiles *profiles) {
    char *usual = settings_profile(NULL), *folder = settings_profile("*");
    struct dirent **entries = NULL;
    int count;

    *strrchr(folder, '/') = '\0';
    count = scandir(folder, &entries, is_profile, alphasort);
    count = count < 0 ? 0 : count;
    profiles->names =
        text_must(calloc((size_t)count + 2, sizeof *profiles->names));
    if (usual) {
        profiles->names[profiles->count++] = text_new("%s", "");
    }
    for (int i = 0; i < count; ++i) {
        char *name = entries[i]->d_name;

        *strrchr(name, '.') = '\0';
        profiles->names[profiles->count++] = text_must(strdup(name));
        free(entries[i]);
    }
    free(entries);
    free(folder);
    free(usual);
}

/* Returns the path of a profile, "" being the default one; NULL with a line on
 * standard error if there is none. */
static char *profile_path(const struct profiles *profiles, const char *name) {
    char *path = settings_profile(*name ? name : NULL);
    const char *close;

    if (path && access(path, F_OK) == 0) {
        return path;
    }
    close = text_close(name, (const char *const *)profiles->names);
    fprintf(stderr, "mini-stream: there is no %s%s%s%s%s%s%s%s\n",
            *name ? "profile '" : "default profile", name, *name ? "'" : "",
            path && strcmp(path, name) != 0 ? ", " : "",
            path && strcmp(path, name) != 0 ? path : "",
            close ? ": did you mean '" : "", close ? close : "",
            close ? "'?" : "");
    free(path);
    return NULL;
}

static int profiles_list(const struct profiles *profiles) {
    for (size_t i = 0; profiles->names[i]; ++i) {
        const char *name = profiles->names[i];
        char *path = settings_profile(*name ? name : NULL);

        printf("%-15s %s\n", *name ? name : "(default)", path);
        free(path);
    }
    if (profiles->count == 0) {
        fputs("mini-stream: there are no profiles; `mini-stream profiles "
              "--help' names their folder\n",
              stderr);
    }
    return EXITS_OK;
}

static int profile_show(const char *path) {
    struct layer layer = {{NULL}};
    char error[SETTINGS_ERROR_LEN];

    if (!profile_read(&layer, path, false, error, sizeof error)) {
        fprintf(stderr, "mini-stream: %s\n", error);
        layer_free(&layer);
        return EXITS_CONFIG;
    }
    printf("# %s\n[service]\n", path);
    for (int i = 0; i < SETTING_COUNT; ++i) {
        bool url = i < SETTINGS_URLS || i == SETTING_PROXY;
        char *shown =
            layer.value[i] && url ? settings_url_shown(layer.value[i]) : NULL;

        if (layer.value[i]) {
            printf("%s = %s\n", profile_key((enum setting)i),
                   shown ? shown : layer.value[i]);
        }
        free(shown);
    }
    layer_free(&layer);
    return EXITS_OK;
}

/* Adds placeholders for settings that the profile lacks, and lists these. */
static void profile_complete(struct settings *settings,
                             const struct layer *layer, char *missing,
                             size_t len) {
    missing[0] = '\0';
    for (size_t i = 0; i < sizeof open_settings / sizeof *open_settings; ++i) {
        enum setting setting = open_settings[i].setting;
        bool url = setting != SETTING_CLIENT_ID;
        size_t at = strlen(missing);

        if (!layer->value[setting] &&
            !(url && layer->value[SETTING_ENDPOINTS])) {
            layer_set(&settings->options, setting, open_settings[i].instead);
            snprintf(missing + at, len - at, "%s%s",
                     at == 0 ? "; without " : ", ", profile_key(setting));
        }
    }
    if (layer->value[SETTING_SECRET_FILE]) {
        unsetenv(SETTINGS_ENV_SECRET);
    } else {
        setenv(SETTINGS_ENV_SECRET, "none", 1);
    }
}

/* Does everything that a stream would do before it connects. */
static int profile_check(const char *name, const char *path) {
    struct settings settings = {
        .url = SETTING_WS_URL, .profile = (char *)path, .no_environment = true};
    struct network network = {.quiet = true};
    struct mst_config config = {0};
    struct layer layer = {{NULL}};
    char error[SETTINGS_ERROR_LEN], missing[80] = "";
    bool ok = profile_read(&layer, path, false, error, sizeof error);

    if (ok) {
        profile_complete(&settings, &layer, missing, sizeof missing);
        ok = settings_resolve(&settings, &config, error) &&
             network_begin(&network, &settings, 1, error);
    }
    if (ok) {
        int rc = session_begin(&config, &network, NULL, 0);

        ok = rc == 0;
        settings_refused(&settings, rc, error);
    }
    session_end();
    network_end(&network);
    settings_free(&settings);
    layer_free(&layer);
    printf("%s: %s%s\n", *name ? name : "(default)", ok ? "ok" : error,
           ok ? missing : "");
    return ok ? EXITS_OK : EXITS_CONFIG;
}

/* Shows or checks the named profiles; without names, shows the default one or
 * checks all. */
static int profiles_each(const struct profiles *profiles, bool check) {
    char **names = profiles->arguments + 1;
    int count = profiles->argument_count - 1;
    int result = EXITS_OK;

    if (count == 0) {
        static char usual[] = "", *only[] = {usual};

        names = check ? profiles->names : only;
        count = check ? (int)profiles->count : 1;
    }
    for (int i = 0; i < count && names[i]; ++i) {
        char *path = profile_path(profiles, names[i]);
        int one = !path   ? EXITS_CONFIG
                  : check ? profile_check(names[i], path)
                          : profile_show(path);

        result = result == EXITS_OK ? one : result;
        free(path);
    }
    return result;
}

int profiles_main(int argc, char **argv) {
    static const struct argp argp = {
        .parser = profiles_key,
        .args_doc = "[list]\nshow [NAME]\ncheck [NAME...]",
        .doc =
            "Lists the profiles of this user, shows what is in one, or "
            "checks some or all of them without connecting: keys, URLs, "
            "files, trust anchors. NAME is a profile's name or path, as for "
            "--profile. Profiles are ~/.config/mini-stream/NAME.ini, and the "
            "default one ~/.config/mini-stream.ini.\v" SETTINGS_HELP
            "\n" EXITS_HELP};
    static const char *const actions[] = {"list", "show", "check", NULL};
    struct profiles profiles = {0};
    const char *action = "list";
    int result;

    options_parse(&argp, argc, argv, &profiles);
    action = profiles.argument_count > 0 ? profiles.arguments[0] : action;
    profiles_find(&profiles);
    if (strcmp(action, "list") == 0 && profiles.argument_count < 2) {
        result = profiles_list(&profiles);
    } else if (strcmp(action, "show") == 0 || strcmp(action, "check") == 0) {
        result = profiles_each(&profiles, action[0] == 'c');
    } else {
        char suggestion[TEXT_SUGGEST_LEN];

        fprintf(stderr, "mini-stream profiles: %s: %s\n", action,
                strcmp(action, "list") == 0
                    ? "takes no NAME"
                    : text_suggest(action, actions, suggestion));
        result = EXITS_USAGE;
    }
    for (size_t i = 0; i < profiles.count; ++i) {
        free(profiles.names[i]);
    }
    free(profiles.names);
    return result;
}
