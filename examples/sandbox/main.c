/*
 * A local, independent implementation of the service that mini_stream talks to.
 * README.md says how to start it and what it simulates.
 *
 * SPDX-License-Identifier: 0BSD
 */
#include "api.h"
#include "certificate.h"
#include "endpoints.h"
#include "examples/start.h"
#include "http.h"
#include "journal.h"
#include "listener.h"
#include "options.h"
#include "page.h"
#include "state.h"
#include "stream.h"

#include <glib-unix.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

/* The end waits up to 1 s for connections to close. */
#define END_POLL_MS 20
#define END_POLLS_MAX 50

struct sandbox {
    struct around all;
    GMainLoop *loop;
    struct page *page; /* or NULL */
    SoupServer *auth_server;
    SoupServer *api_server;
    struct listener *api_listener;
    struct endpoints *endpoints;
    struct relay *auth_relay;
    guint end_polls; /* since SIGTERM or the like; 0 before */
};

static void start_feed(const struct around *all) {
    if (all->played) {
        played_start(all->played, stream_forward, all->stream);
    } else {
        feed_start(all->feed, stream_publish, all->stream);
    }
}

/* Returns the markets of a recording, with books that never change. */
static GArray *recorded_markets(const struct played *played) {
    const GPtrArray *symbols = played_markets(played);
    GArray *markets = feed_default_markets(symbols->len, 0, MARKET_DEPTH_LEAST);

    for (guint i = 0; i < symbols->len; i++) {
        g_array_index(markets, struct feed_market, i).spec.symbol =
            g_ptr_array_index(symbols, i);
    }
    return markets;
}

/* Reads the script; creates the markets of script, recording or options. */
static bool create_feed(struct around *all, GError **error) {
    const struct options *options = all->options;
    guint levels = (guint)options->levels;
    g_autoptr(GArray) markets = NULL;

    if (options->script &&
        !script_load(all->script, options->script, options->rate, levels,
                     &markets, error)) {
        return false;
    }
    if (markets && (options->markets > 0 || all->played)) {
        g_set_error(error, G_OPTION_ERROR, G_OPTION_ERROR_BAD_VALUE,
                    "%s and the markets of %s exclude each other",
                    all->played ? "--play" : "--markets", options->script);
        return false;
    }
    if (all->played) {
        markets = recorded_markets(all->played);
    } else if (!markets) {
        guint count = options->markets > 0 ? (guint)options->markets
                                           : FEED_MARKETS_DEFAULT;

        markets = feed_default_markets(count, options->rate, levels);
    }
    all->feed = feed_new(markets, quirk_on(options->quirks, QUIRK_CROSSED),
                         (uint32_t)options->seed);
    return true;
}

static void create_services(struct sandbox *sandbox,
                            GTlsCertificate *certificate) {
    struct around *all = &sandbox->all;
    const struct options *options = all->options;
    int window_s = quirk_on(options->quirks, QUIRK_TOKEN_LIMIT)
                       ? options->token_window
                       : 0;

    sandbox->loop = g_main_loop_new(NULL, FALSE);
    all->tokens = token_store_new(options->token_lifetime, window_s,
                                  all->faults, all->script);
    all->executions = executions_new((guint)options->executions);
    all->ws_server = http_server_new(certificate);
    sandbox->auth_server = http_server_new(certificate);
    sandbox->api_server = http_server_new(certificate);
    all->ws_relay = relay_new(all->ws_server, all->faults, "stream");
    sandbox->auth_relay = relay_new(sandbox->auth_server, all->faults, "token");
    if (options->page_port != OPTIONS_NO_PAGE) {
        all->journal = journal_new(all->tokens);
        journal_watch(all->journal, all->ws_server, "stream");
        journal_watch(all->journal, sandbox->auth_server, "token");
        journal_watch(all->journal, sandbox->api_server, "api");
    }
    all->stream = stream_new(all);
    token_endpoint_add(all->tokens, sandbox->auth_server);
    api_add(sandbox->api_server, all);
}

static void free_services(struct sandbox *sandbox) {
    struct around *all = &sandbox->all;

    g_clear_pointer(&sandbox->api_listener, listener_free);
    g_clear_pointer(&sandbox->page, page_free);
    stream_free(all->stream);
    relay_free(all->ws_relay);
    relay_free(sandbox->auth_relay);
    g_object_unref(all->ws_server);
    g_object_unref(sandbox->auth_server);
    g_object_unref(sandbox->api_server);
    executions_free(all->executions);
    g_clear_pointer(&all->journal, journal_free);
    feed_free(all->feed);
    token_store_free(all->tokens);
    g_main_loop_unref(sandbox->loop);
}

static bool listen_all(struct sandbox *sandbox, struct ports *ports,
                       GError **error) {
    const struct around *all = &sandbox->all;
    const char *address = all->options->bind;

    if (!relay_listen(all->ws_relay, address, &ports->ws, error) ||
        !relay_listen(sandbox->auth_relay, address, &ports->auth, error)) {
        return false;
    }
    sandbox->api_listener = listener_new(
        address, &ports->api, http_server_accept, sandbox->api_server, error);
    return sandbox->api_listener &&
           (!all->journal ||
            (sandbox->page = page_new(all, &ports->page, error)) != NULL);
}

/* Listens on all ports, and writes endpoints.json. */
static bool open_endpoints(struct sandbox *sandbox, GError **error) {
    const struct options *options = sandbox->all.options;
    struct ports ports = {
        .ws = (guint)options->ws_port,
        .auth = (guint)options->auth_port,
        .api = (guint)options->api_port,
        .page = sandbox->all.journal ? (guint)options->page_port
                                     : ENDPOINTS_NO_PAGE,
    };

    if (options->keep_ports &&
        !endpoints_recall(sandbox->endpoints, &ports, error)) {
        return false;
    }
    if (!listen_all(sandbox, &ports, error)) {
        g_prefix_error(error, options->keep_ports ? "--keep-ports: " : "");
        return false;
    }
    return endpoints_tell(sandbox->endpoints, &ports, error);
}

static gboolean on_end_poll(gpointer user_data) {
    struct sandbox *sandbox = user_data;

    sandbox->end_polls++;
    if (relay_connections(sandbox->all.ws_relay) +
                relay_connections(sandbox->auth_relay) ==
            0 ||
        sandbox->end_polls > END_POLLS_MAX) {
        g_main_loop_quit(sandbox->loop);
    }
    return G_SOURCE_CONTINUE;
}

static gboolean on_signal(gpointer user_data) {
    struct sandbox *sandbox = user_data;

    endpoints_end(sandbox->endpoints);
    relay_stop_listening(sandbox->all.ws_relay);
    relay_stop_listening(sandbox->auth_relay);
    g_clear_pointer(&sandbox->api_listener, listener_free);
    soup_server_disconnect(sandbox->all.ws_server);
    soup_server_disconnect(sandbox->auth_server);
    soup_server_disconnect(sandbox->api_server);
    if (sandbox->page) {
        page_close(sandbox->page);
    }
    stream_close(sandbox->all.stream);
    g_timeout_add(END_POLL_MS, on_end_poll, sandbox);
    return G_SOURCE_REMOVE;
}

static void end_by_signals(struct sandbox *sandbox) {
    static const int numbers[] = {SIGTERM, SIGINT, SIGHUP};

    for (size_t i = 0; i < G_N_ELEMENTS(numbers); i++) {
        if (!start_ignores(numbers[i])) {
            g_unix_signal_add(numbers[i], on_signal, sandbox);
        }
    }
}

static bool serve(struct sandbox *sandbox, GTlsCertificate *certificate,
                  GError **error) {
    const struct around *all = &sandbox->all;
    const struct options *options = all->options;
    bool ok;

    create_services(sandbox, certificate);
    /* Before endpoints.json exists, so that whoever reads it can end this. */
    end_by_signals(sandbox);
    ok = (!options->faults ||
          faults_load(all->faults, options->faults, error)) &&
         open_endpoints(sandbox, error);
    if (ok) {
        script_happened(all->script, SCRIPT_START);
        if (!all->began) {
            start_feed(all);
        }
        puts("ready");
        if (sandbox->page) {
            printf("page at http://127.0.0.1:%u/\n", page_port(sandbox->page));
        }
        fflush(stdout);
        g_main_loop_run(sandbox->loop);
    }
    free_services(sandbox);
    return ok;
}

static bool run(const struct options *options, struct endpoints *endpoints,
                GTlsCertificate *certificate, GError **error) {
    const char *status =
        options->address_status ? options->address_status : "APPROVED";
    struct sandbox sandbox = {
        /* With these options the first subscription starts the data. */
        .all = {.options = options,
                .began = options->wait || options->play ? start_feed : NULL},
        .endpoints = endpoints,
    };
    struct around *all = &sandbox.all;
    bool ok;

    all->addresses = address_store_open(options->state, status, error);
    if (!all->addresses) {
        return false;
    }
    all->faults = faults_new();
    all->script = script_new(all->faults);
    ok = (!options->play ||
          (all->played = played_new(options->play, options->speed, error))) &&
         create_feed(all, error) && serve(&sandbox, certificate, error);
    g_clear_pointer(&all->played, played_free);
    script_free(all->script);
    faults_free(all->faults);
    address_store_close(all->addresses);
    return ok;
}

static bool prepare_and_run(const struct options *options, GError **error) {
    g_autoptr(GTlsCertificate) certificate = NULL;
    struct endpoints *endpoints;
    bool ok = false;

    if (!state_lock(options->state, error)) {
        return false;
    }
    endpoints = endpoints_new(options->state);
    certificate =
        certificate_obtain(options->state, options->host_names, error);
    if (certificate) {
        ok = run(options, endpoints, certificate, error);
    }
    endpoints_free(endpoints);
    return ok;
}

/* A connection takes three descriptors. The usual soft limit only protects
 * programs that use select(). */
static void raise_descriptor_limit(void) {
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
        limit.rlim_cur = limit.rlim_max;
        setrlimit(RLIMIT_NOFILE, &limit);
    }
}

int main(int argc, char **argv) {
    struct options options;
    g_autoptr(GError) error = NULL;
    bool ok;

    start("sandbox");
    raise_descriptor_limit();
    /* Like GLib, abort if memory runs out. */
    json_set_alloc_funcs(g_malloc, g_free);
    ok = options_parse(&options, argc, argv, &error);
    if (ok && options.quirk_help) {
        quirk_print_help();
    } else if (ok) {
        ok = prepare_and_run(&options, &error);
    }
    if (!ok) {
        fprintf(stderr, "sandbox: %s\n", error->message);
    }
    options_free(&options);
    return ok                                                    ? EXIT_SUCCESS
           : g_error_matches(error, state_unwritable_quark(), 0) ? START_FAILED
                                                                 : EXIT_FAILURE;
}
