/*
 * `mini-stream doctor`: diagnoses, step by step, why a stream does not work.
 *
 * SPDX-License-Identifier: 0BSD
 */
#include "commands.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "doctor.h"
#include "exits.h"
#include "options.h"

#define SECONDS_DEFAULT 10
#define SECONDS_MAX 600

enum { KEY_JSON = 0x200, KEY_TIMEOUT };

struct doctor {
    struct settings settings;
    const char *market; /* or NULL: heartbeats */
    unsigned seconds;
    bool json;
    struct network network;
    struct mst_config config;
    struct report report;
    struct route token, stream;
};

static const struct argp_option doctor_options[] = {
    {"json", KEY_JSON, 0, 0, "One JSON object instead of lines", 0},
    {"timeout", KEY_TIMEOUT, "SECONDS", 0,
     "Time limit of each step (default 10)", 0},
    {0}};

/* ---- Arguments ---- */

static error_t doctor_parse(int key, char *arg, struct argp_state *state) {
    struct doctor *doctor = state->input;

    switch (key) {
    case ARGP_KEY_INIT: state->child_inputs[0] = &doctor->settings; return 0;
    case KEY_JSON: doctor->json = true; return 0;
    case KEY_TIMEOUT:
        doctor->seconds = options_number(state, "timeout", arg, 1, SECONDS_MAX);
        return 0;
    case ARGP_KEY_ARG:
        options_check_market(state, arg);
        if (doctor->market != NULL) {
            options_fail(state, "more than one market: '%s'", arg);
        }
        doctor->market = arg;
        return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

/* ---- Steps on this machine ---- */

/* Notes a setting and its source; for a file of endpoints, the file's name. */
static void tell_setting(struct doctor *doctor, enum setting setting) {
    const struct settings *settings = &doctor->settings;
    const char *value = setting < SETTINGS_URLS
                            ? settings->shown[setting]
                            : settings->options.value[setting];
    const char *origin = settings->origin[setting];

    if (value == NULL) {
        return;
    }
    if (strcmp(origin, "endpoints") == 0) {
        origin = settings->options.value[SETTING_ENDPOINTS];
    } else if (strcmp(origin, "profile") == 0) {
        origin = settings->profile_path;
    }
    report_note(&doctor->report, "%s: %s (%s)", profile_key(setting), value,
                origin);
}

/* Notes if a server is reached through the proxy. Shows only the proxy's host
 * and port, because its setting may contain a password. */
static void tell_proxy(struct doctor *doctor, const struct route *route) {
    const char *origin = doctor->settings.origin[SETTING_PROXY];

    if (route->proxy != NULL) {
        report_note(&doctor->report, "proxy for %s: %s (%s)", route->name,
                    route->via, origin != NULL ? origin : "HTTPS_PROXY");
    } else if (doctor->network.proxy.endpoint.port != 0) {
        report_note(&doctor->report,
                    "proxy for %s: none (this machine, or NO_PROXY)",
                    route->name);
    }
}

static void tell_settings(struct doctor *doctor) {
    static const enum setting told[] = {SETTING_AUTH_URL, SETTING_WS_URL,
                                        SETTING_CLIENT_ID, SETTING_CA,
                                        SETTING_TLS};
    const struct settings *settings = &doctor->settings;

    for (size_t i = 0; i < sizeof told / sizeof *told; ++i) {
        tell_setting(doctor, told[i]);
    }
    if (settings->secret_origin != NULL) {
        report_note(&doctor->report, "secret: in %s", settings->secret_origin);
    }
    if (doctor->network.trust[0] != '\0') {
        report_note(&doctor->report, "%s", doctor->network.trust);
    }
}

static bool check_configuration(struct doctor *doctor) {
    struct report *report = &doctor->report;
    char error[SETTINGS_ERROR_LEN] = "";
    int rc = 0;
    bool good;

    report_begin(report, "configuration", "configuration");
    doctor->network.quiet = true;
    good = settings_resolve(&doctor->settings, &doctor->config, error) &&
           network_begin(&doctor->network, &doctor->settings, 2, error);
    tell_settings(doctor);
    if (good) {
        rc = session_begin(&doctor->config, &doctor->network, doctor->market,
                           doctor->seconds * 1000);
        settings_refused(&doctor->settings, rc, error);
    }
    if (!good || rc != 0) {
        report_fail(report, rc, NULL, "%s", error);
        return false;
    }
    route_init(&doctor->token, doctor->config.auth_url, &doctor->network,
               doctor->seconds * 1000);
    route_init(&doctor->stream, doctor->config.ws_url, &doctor->network,
               doctor->seconds * 1000);
    tell_proxy(doctor, &doctor->token);
    tell_proxy(doctor, &doctor->stream);
    report_ok(report, "complete");
    return true;
}

static bool check_clock(struct report *report) {
    const int64_t now_ns = clock_unix_ns();
    char text[TEXT_TIME_LEN];

    report_begin(report, "clock", "clock");
    text_time(now_ns, text);
    if (now_ns / 1000000000 < MST_CLOCK_MIN) {
        report_fail(report, MST_ERR_CLOCK, NULL, "%s: it says %s",
                    mst_strerror(MST_ERR_CLOCK), text);
        return false;
    }
    report_ok(report, "%s", text);
    return true;
}

/* ---- Steps to a server ---- */

/* Resolves and connects to the server or its proxy. Reuses the result if both
 * servers have the same first hop. */
static bool check_first_hop(struct report *report, struct route *route,
                            const struct route *before) {
    const bool proxied = route->proxy != NULL;
    const char *between = proxied ? "the proxy " : "";

    if (before != NULL && strcmp(before->via, route->via) == 0) {
        memcpy(route->addresses, before->addresses, sizeof route->addresses);
        route->count = before->count;
        route->good = before->good;
        return route->good >= 0;
    }
    if (!route_resolve(route, report)) {
        report_skip(report, "tcp", "TCP to %s%s", between, route->via);
        return false;
    }
    return route_connect(route, report);
}

static bool check_server(struct doctor *doctor, struct route *route,
                         const struct route *before, bool clock) {
    struct report *report = &doctor->report;
    bool good;

    report->endpoint = before == NULL ? "token" : "stream";
    good = check_first_hop(report, route, before);
    if (route->proxy != NULL && good) {
        good = route_tunnel(route, report);
    } else if (route->proxy != NULL) {
        report_skip(report, "proxy", "CONNECT to %s by the proxy %s",
                    route->name, route->via);
    }
    if (good && clock) {
        good = tls_check(route, &doctor->network, &doctor->settings,
                         &doctor->config, report);
    } else {
        report_skip(report, "tls", "TLS of %s", route->name);
        good = false;
    }
    report->endpoint = NULL;
    return good;
}

static void check_all(struct doctor *doctor) {
    struct report *report = &doctor->report;
    bool configured = check_configuration(doctor);
    bool clock = check_clock(report);
    bool token, stream;

    if (!configured) {
        report_skip(report, "dns", "DNS");
        report_skip(report, "tcp", "TCP");
        report_skip(report, "tls", "TLS");
        session_skip(report, doctor->market);
        return;
    }
    token = check_server(doctor, &doctor->token, NULL, clock);
    stream = check_server(doctor, &doctor->stream, &doctor->token, clock);
    if (token) {
        session_check(report, &doctor->network, stream);
    } else {
        session_skip(report, doctor->market);
    }
}

int doctor_main(int argc, char **argv) {
    static const struct argp argp = {
        .options = doctor_options,
        .parser = doctor_parse,
        .args_doc = "[MARKET]",
        .doc =
            "Diagnoses, step by step, why a stream of MARKET (default: of "
            "heartbeats) does not work, and gives advice for the first step "
            "that fails. Steps that depend on it are not tried.\v" SETTINGS_HELP
            "\n" REPORT_HELP "\n" EXITS_HELP,
        .children = settings_children};
    static struct doctor doctor;

    doctor.settings.url = SETTING_WS_URL;
    doctor.seconds = SECONDS_DEFAULT;
    options_parse(&argp, argc, argv, &doctor);
    signal(SIGPIPE, SIG_IGN);
    report_init(&doctor.report, doctor.json);
    check_all(&doctor);
    session_end();
    tls_end();
    network_end(&doctor.network);
    settings_free(&doctor.settings);
    return report_end(&doctor.report);
}
