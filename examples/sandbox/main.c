/*
 * A local, independent implementation of the service that mini_stream talks
 * to. README.md says how to start it and what it simulates.
 *
 * SPDX-License-Identifier: 0BSD
 */
#include "address.h"
#include "api.h"
#include "certificate.h"
#include "endpoints.h"
#include "http.h"
#include "journal.h"
#include "listener.h"
#include "options.h"
#include "page.h"
#include "stream.h"

#include <errno.h>
#include <glib-unix.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

/* How long connections have to close at the end. */
#define END_POLL_MS 20
#define END_POLLS_MAX 50

struct sandbox {
    GMainLoop *loop;
    struct faults *faults;
    struct script *script;
    struct token_store *tokens;
    struct played *played; /* a recording that is served; or NULL */
    struct feed *feed;
    struct executions *executions;
    struct stream *stream;
    struct journal *journal; /* NULL: there is no page; so the next one */
    struct page *page;
    struct address_store *addresses;
    struct address_around address_around;
    struct api_around api_around;
    SoupServer *ws_server;
    SoupServer *auth_server;
    SoupServer *api_server;
    struct listener *api_listener;
    struct endpoints *endpoints;
    struct relay *ws_relay;
    struct relay *auth_relay;
    guint end_polls; /* since the end began; 0 before */
};

static void start_feed(void *user_data) {
    struct sandbox *sandbox = user_data;

    if (sandbox->played) {
        played_start(sandbox->played, stream_forward, sandbox->stream);
    } else {
        feed_start(sandbox->feed, stream_publish, sandbox->stream);
    }
}

/* Whether nothing moves before there is a subscription. */
static bool waits(const struct options *options) {
    return options->wait || options->play;
}

static void create_stream(struct sandbox *sandbox,
                          const struct options *options) {
    const struct stream_around around = {
        .server = sandbox->ws_server,
        .relay = sandbox->ws_relay,
        .tokens = sandbox->tokens,
        .feed = sandbox->feed,
        .faults = sandbox->faults,
        .executions = sandbox->executions,
        .script = sandbox->script,
        .played = sandbox->played,
        .began = waits(options) ? start_feed : NULL,
        .user_data = sandbox,
        .journal = sandbox->journal,
    };
    const struct stream_options stream_options = {
        .quirks = options->quirks,
        .error_shape = options->error_shape,
        .lose = options->lose,
        .ping = (guint)options->ping,
        .seed = (uint32_t)options->seed,
    };

    sandbox->stream = stream_new(&around, &stream_options);
}

/* The markets of a recording: names, and books that never move. */
static GArray *recorded_markets(const struct played *played) {
    const GPtrArray *symbols = played_markets(played);
    GArray *markets = feed_default_markets(symbols->len, 0, MARKET_DEPTH_LEAST);

    for (guint i = 0; i < symbols->len; i++) {
        g_array_index(markets, struct feed_market, i).spec.symbol =
            g_ptr_array_index(symbols, i);
    }
    return markets;
}

/* The script is read, whose markets these are if it has any. */
static bool create_feed(struct sandbox *sandbox, const struct options *options,
                        GError **error) {
    guint levels = (guint)options->levels;
    GArray *markets = NULL;

    if (options->script &&
        !script_load(sandbox->script, options->script, options->rate, levels,
                     &markets, error)) {
        g_clear_pointer(&markets, g_array_unref);
        return false;
    }
    if (markets && (options->markets > 0 || sandbox->played)) {
        g_set_error(error, G_OPTION_ERROR, G_OPTION_ERROR_BAD_VALUE,
                    "%s and the markets of %s exclude each other",
                    sandbox->played ? "--play" : "--markets", options->script);
        g_array_unref(markets);
        return false;
    }
    if (sandbox->played) {
        markets = recorded_markets(sandbox->played);
    } else if (!markets) {
        guint count = options->markets > 0 ? (guint)options->markets
                                           : FEED_MARKETS_DEFAULT;

        markets = feed_default_markets(count, options->rate, levels);
    }
    sandbox->feed = feed_new(markets, quirk_on(options->quirks, QUIRK_CROSSED),
                             (uint32_t)options->seed);
    g_array_unref(markets);
    return true;
}

/* Before the stream, which writes to it. */
static void create_journal(struct sandbox *sandbox) {
    sandbox->journal = journal_new(sandbox->tokens);
    journal_watch(sandbox->journal, sandbox->ws_server, "stream");
    journal_watch(sandbox->journal, sandbox->auth_server, "token");
    journal_watch(sandbox->journal, sandbox->api_server, "api");
}

static void create_services(struct sandbox *sandbox,
                            const struct options *options,
                            GTlsCertificate *certificate) {
    int window_s = quirk_on(options->quirks, QUIRK_TOKEN_LIMIT)
                       ? options->token_window
                       : 0;

    sandbox->loop = g_main_loop_new(NULL, FALSE);
    sandbox->tokens = token_store_new(options->token_lifetime, window_s,
                                      sandbox->faults, sandbox->script);
    sandbox->executions = executions_new((guint)options->executions);
    sandbox->ws_server = http_server_new(certificate);
    sandbox->auth_server = http_server_new(certificate);
    sandbox->api_server = http_server_new(certificate);
    sandbox->ws_relay =
        relay_new(sandbox->ws_server, sandbox->faults, "stream");
    sandbox->auth_relay =
        relay_new(sandbox->auth_server, sandbox->faults, "token");
    if (options->page_port != OPTIONS_NO_PAGE) {
        create_journal(sandbox);
    }
    create_stream(sandbox, options);
    token_endpoint_add(sandbox->tokens, sandbox->auth_server);
    sandbox->address_around = (struct address_around){
        .store = sandbox->addresses,
        .tokens = sandbox->tokens,
        .faults = sandbox->faults,
        .journal = sandbox->journal,
    };
    address_add(sandbox->api_server, &sandbox->address_around);
    sandbox->api_around = (struct api_around){
        .feed = sandbox->feed,
        .executions = sandbox->executions,
        .played = sandbox->played,
        .faults = sandbox->faults,
    };
    api_add(sandbox->api_server, &sandbox->api_around);
}

static void free_services(struct sandbox *sandbox) {
    g_clear_pointer(&sandbox->api_listener, listener_free);
    g_clear_pointer(&sandbox->page, page_free);
    stream_free(sandbox->stream);
    relay_free(sandbox->ws_relay);
    relay_free(sandbox->auth_relay);
    g_object_unref(sandbox->ws_server);
    g_object_unref(sandbox->auth_server);
    g_object_unref(sandbox->api_server);
    executions_free(sandbox->executions);
    g_clear_pointer(&sandbox->journal, journal_free);
    feed_free(sandbox->feed);
    token_store_free(sandbox->tokens);
    g_main_loop_unref(sandbox->loop);
}

static bool open_page(struct sandbox *sandbox, const struct options *options,
                      guint *port, GError **error) {
    const struct page_around around = {
        .feed = sandbox->feed,
        .played = sandbox->played,
        .stream = sandbox->stream,
        .tokens = sandbox->tokens,
        .addresses = sandbox->addresses,
        .journal = sandbox->journal,
        .faults = sandbox->faults,
        .seed = options->seed,
    };

    sandbox->page = page_new(&around, port, error);
    return sandbox->page != NULL;
}

static bool listen_all(struct sandbox *sandbox, const struct options *options,
                       struct ports *ports, GError **error) {
    const char *address = options->bind;

    if (!relay_listen(sandbox->ws_relay, address, &ports->ws, error) ||
        !relay_listen(sandbox->auth_relay, address, &ports->auth, error)) {
        return false;
    }
    sandbox->api_listener = listener_new(
        address, &ports->api, http_server_accept, sandbox->api_server, error);
    return sandbox->api_listener &&
           (!sandbox->journal ||
            open_page(sandbox, options, &ports->page, error));
}

/* Listens, and tells where. */
static bool open_endpoints(const struct options *options,
                           struct sandbox *sandbox, GError **error) {
    struct ports ports = {
        .ws = (guint)options->ws_port,
        .auth = (guint)options->auth_port,
        .api = (guint)options->api_port,
        .page =
            sandbox->journal ? (guint)options->page_port : ENDPOINTS_NO_PAGE,
    };

    if (options->keep_ports &&
        !endpoints_recall(sandbox->endpoints, &ports, error)) {
        return false;
    }
    if (!listen_all(sandbox, options, &ports, error)) {
        g_prefix_error(error, options->keep_ports ? "--keep-ports: " : "");
        return false;
    }
    return endpoints_tell(sandbox->endpoints, &ports, error);
}

static gboolean on_end_poll(gpointer user_data) {
    struct sandbox *sandbox = user_data;

    sandbox->end_polls++;
    if (relay_connections(sandbox->ws_relay) +
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
    relay_stop_listening(sandbox->ws_relay);
    relay_stop_listening(sandbox->auth_relay);
    g_clear_pointer(&sandbox->api_listener, listener_free);
    soup_server_disconnect(sandbox->ws_server);
    soup_server_disconnect(sandbox->auth_server);
    soup_server_disconnect(sandbox->api_server);
    if (sandbox->page) {
        page_close(sandbox->page);
    }
    stream_close(sandbox->stream);
    g_timeout_add(END_POLL_MS, on_end_poll, sandbox);
    return G_SOURCE_REMOVE;
}

static void end_by_signals(struct sandbox *sandbox) {
    struct sigaction action;

    g_unix_signal_add(SIGTERM, on_signal, sandbox);
    g_unix_signal_add(SIGINT, on_signal, sandbox);
    /* nohup has it ignored. */
    if (sigaction(SIGHUP, NULL, &action) == 0 && action.sa_handler != SIG_IGN) {
        g_unix_signal_add(SIGHUP, on_signal, sandbox);
    }
}

static bool serve(struct sandbox *sandbox, const struct options *options,
                  GTlsCertificate *certificate, GError **error) {
    bool ok;

    create_services(sandbox, options, certificate);
    /* Before there is a file that tells of it. */
    end_by_signals(sandbox);
    ok = (!options->faults ||
          faults_load(sandbox->faults, options->faults, error)) &&
         open_endpoints(options, sandbox, error);
    if (ok) {
        script_happened(sandbox->script, SCRIPT_START);
        if (!waits(options)) {
            start_feed(sandbox);
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
        .addresses = address_store_open(options->state, status, error),
        .endpoints = endpoints,
    };
    bool ok;

    if (!sandbox.addresses) {
        return false;
    }
    sandbox.faults = faults_new();
    sandbox.script = script_new(sandbox.faults);
    ok = (!options->play ||
          (sandbox.played = played_new(options->play, options->speed, error)) !=
              NULL) &&
         create_feed(&sandbox, options, error) &&
         serve(&sandbox, options, certificate, error);
    g_clear_pointer(&sandbox.played, played_free);
    script_free(sandbox.script);
    faults_free(sandbox.faults);
    address_store_close(sandbox.addresses);
    return ok;
}

static bool prepare_and_run(const struct options *options, GError **error) {
    struct endpoints *endpoints = endpoints_new(options->state);
    GTlsCertificate *certificate = NULL;
    bool ok = false;

    if (g_mkdir_with_parents(options->state, 0700) != 0) {
        int saved = errno;

        g_set_error(error, G_FILE_ERROR, (gint)g_file_error_from_errno(saved),
                    "%s: %s", options->state, g_strerror(saved));
    } else {
        certificate =
            certificate_obtain(options->state, options->host_names, error);
    }
    if (certificate) {
        ok = run(options, endpoints, certificate, error);
        g_object_unref(certificate);
    }
    endpoints_free(endpoints);
    return ok;
}

/* A connection takes three descriptors; the usual limit is for programs that
 * use select(). */
static void raise_descriptor_limit(void) {
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
        limit.rlim_cur = limit.rlim_max;
        setrlimit(RLIMIT_NOFILE, &limit);
    }
}

int main(int argc, char **argv) {
    struct options options;
    GError *error = NULL;
    bool ok;

    raise_descriptor_limit();
    /* Like GLib, end where memory does. */
    json_set_alloc_funcs(g_malloc, g_free);
    ok = options_parse(&options, argc, argv, &error);
    if (ok && options.quirk_help) {
        quirk_print_help();
    } else if (ok) {
        ok = prepare_and_run(&options, &error);
    }
    if (!ok) {
        fprintf(stderr, "sandbox: %s\n", error->message);
        g_error_free(error);
    }
    options_free(&options);
    return ok ? EXIT_SUCCESS : EXIT_FAILURE;
}
