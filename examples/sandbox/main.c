/*
 * A local, independent implementation of the service that mini_stream talks
 * to. README.md says how to start it and what it simulates.
 *
 * SPDX-License-Identifier: 0BSD
 */
#include "api.h"
#include "certificate.h"
#include "http.h"
#include "stream.h"

#include <errno.h>
#include <glib-unix.h>
#include <glib/gstdio.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TOKEN_LIFETIME_MAX 31536000 /* s: a year */

/* How long connections have to close at the end. */
#define END_POLL_MS 20
#define END_POLLS_MAX 50

struct options {
    char *state;
    int ws_port;
    int auth_port;
    int api_port;
    char *bind;
    char **host_names;
    int token_lifetime;
    int rate;
    int64_t seed;      /* -1: a random one */
    char *error_shape; /* one of error_shapes; NULL: the first */
};

struct sandbox {
    GMainLoop *loop;
    struct token_store *tokens;
    struct feed *feed;
    struct stream *stream;
    SoupServer *ws_server;
    SoupServer *auth_server;
    SoupServer *api_server;
    guint end_polls; /* since the end began; 0 before */
};

static const char *const error_shapes[] = {
    [MESSAGE_ERROR_PLAIN] = "plain",
    [MESSAGE_ERROR_OBJECT] = "object",
    [MESSAGE_ERROR_NESTED] = "nested",
    NULL,
};

static bool in_range(const char *name, int64_t value, int64_t min, int64_t max,
                     GError **error)
{
    if (value < min || value > max) {
        g_set_error(error, G_OPTION_ERROR, G_OPTION_ERROR_BAD_VALUE,
                    "%s must be from %" G_GINT64_FORMAT " to %" G_GINT64_FORMAT,
                    name, min, max);
        return false;
    }
    return true;
}

/* A host name in the certificate: letters, digits, dots and hyphens, or an IP
 * address. */
static bool valid_host_name(const char *name)
{
    return g_hostname_is_ip_address(name) ||
           (*name != '\0' &&
            strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                         "0123456789.-") == strlen(name));
}

static bool check_options(const struct options *options, GError **error)
{
    if (!options->state) {
        g_set_error(error, G_OPTION_ERROR, G_OPTION_ERROR_FAILED,
                    "--state DIR is required");
        return false;
    }
    if (options->error_shape &&
        !g_strv_contains(error_shapes, options->error_shape)) {
        g_set_error(error, G_OPTION_ERROR, G_OPTION_ERROR_BAD_VALUE,
                    "--error-shape must be plain, object or nested");
        return false;
    }
    for (char **name = options->host_names; name && *name; name++) {
        if (!valid_host_name(*name)) {
            g_set_error(error, G_OPTION_ERROR, G_OPTION_ERROR_BAD_VALUE,
                        "%s is not a host name", *name);
            return false;
        }
    }
    return in_range("--ws-port", options->ws_port, 0, G_MAXUINT16, error) &&
           in_range("--auth-port", options->auth_port, 0, G_MAXUINT16, error) &&
           in_range("--api-port", options->api_port, 0, G_MAXUINT16, error) &&
           in_range("--token-lifetime", options->token_lifetime, 1,
                    TOKEN_LIFETIME_MAX, error) &&
           in_range("--rate", options->rate, 1, FEED_RATE_MAX, error) &&
           in_range("--seed", options->seed, -1, G_MAXUINT32, error);
}

static bool parse_options(struct options *options, int argc, char **argv,
                          GError **error)
{
    const GOptionEntry entries[] = {
        {"state", 0, 0, G_OPTION_ARG_FILENAME, &options->state,
         "Directory for certificates and endpoints.json", "DIR"},
        {"ws-port", 0, 0, G_OPTION_ARG_INT, &options->ws_port,
         "WebSocket port (0, the default: a free one)", "N"},
        {"auth-port", 0, 0, G_OPTION_ARG_INT, &options->auth_port,
         "Token endpoint's port (default 0)", "N"},
        {"api-port", 0, 0, G_OPTION_ARG_INT, &options->api_port,
         "HTTP API's port (default 0)", "N"},
        {"bind", 0, 0, G_OPTION_ARG_STRING, &options->bind,
         "Listen on this IP address (default: loopback)", "ADDRESS"},
        {"host-name", 0, 0, G_OPTION_ARG_STRING_ARRAY, &options->host_names,
         "Also name this host in the certificate (repeatable)", "NAME"},
        {"token-lifetime", 0, 0, G_OPTION_ARG_INT, &options->token_lifetime,
         "Lifetime of a token (default 3600)", "SECONDS"},
        {"rate", 0, 0, G_OPTION_ARG_INT, &options->rate,
         "Book changes a second in each market (default 10)", "N"},
        {"seed", 0, 0, G_OPTION_ARG_INT64, &options->seed,
         "Seed of the markets (default: random)", "N"},
        {"error-shape", 0, 0, G_OPTION_ARG_STRING, &options->error_shape,
         "Errors outside a response: plain (default), object, nested", "SHAPE"},
        G_OPTION_ENTRY_NULL,
    };
    GOptionContext *context =
        g_option_context_new("- a local sandbox of the streaming service");
    bool ok;

    g_option_context_add_main_entries(context, entries, NULL);
    ok = g_option_context_parse(context, &argc, &argv, error);
    g_option_context_free(context);
    if (ok && argc > 1) {
        g_set_error(error, G_OPTION_ERROR, G_OPTION_ERROR_FAILED,
                    "unexpected argument %s", argv[1]);
        ok = false;
    }
    return ok && check_options(options, error);
}

static void free_options(struct options *options)
{
    g_free(options->state);
    g_free(options->bind);
    g_strfreev(options->host_names);
    g_free(options->error_shape);
}

static enum message_error_shape error_shape(const struct options *options)
{
    for (int i = 0; options->error_shape && error_shapes[i]; i++) {
        if (strcmp(options->error_shape, error_shapes[i]) == 0) {
            return (enum message_error_shape)i;
        }
    }
    return MESSAGE_ERROR_PLAIN;
}

static void create_services(struct sandbox *sandbox,
                            const struct options *options,
                            GTlsCertificate *certificate)
{
    uint32_t seed =
        options->seed < 0 ? g_random_int() : (uint32_t)options->seed;

    sandbox->loop = g_main_loop_new(NULL, FALSE);
    sandbox->tokens = token_store_new(options->token_lifetime);
    sandbox->feed = feed_new(seed, options->rate);
    sandbox->ws_server = http_server_new(certificate);
    sandbox->auth_server = http_server_new(certificate);
    sandbox->api_server = http_server_new(certificate);
    sandbox->stream = stream_new(sandbox->ws_server, sandbox->tokens,
                                 sandbox->feed, error_shape(options));
    token_endpoint_add(sandbox->tokens, sandbox->auth_server);
    api_add(sandbox->api_server);
}

static void free_services(struct sandbox *sandbox)
{
    stream_free(sandbox->stream);
    g_object_unref(sandbox->ws_server);
    g_object_unref(sandbox->auth_server);
    g_object_unref(sandbox->api_server);
    feed_free(sandbox->feed);
    token_store_free(sandbox->tokens);
    g_main_loop_unref(sandbox->loop);
}

/* Listens, and tells the endpoints in a file that is whole once it exists. */
static bool open_endpoints(struct sandbox *sandbox,
                           const struct options *options, const char *path,
                           GError **error)
{
    guint ws_port = (guint)options->ws_port;
    guint auth_port = (guint)options->auth_port;
    guint api_port = (guint)options->api_port;
    json_t *json;
    char *text;
    bool ok;

    if (!http_server_listen(sandbox->ws_server, options->bind, &ws_port,
                            error) ||
        !http_server_listen(sandbox->auth_server, options->bind, &auth_port,
                            error) ||
        !http_server_listen(sandbox->api_server, options->bind, &api_port,
                            error)) {
        return false;
    }
    json =
        json_pack("{s:o, s:o, s:o}", "ws_url",
                  json_sprintf("wss://localhost:%u/", ws_port), "auth_url",
                  json_sprintf("https://localhost:%u", auth_port), "base_url",
                  json_sprintf("https://localhost:%u", api_port));
    text = json_dumps(json, JSON_COMPACT);
    ok = g_file_set_contents(path, text, -1, error);
    g_free(text);
    json_decref(json);
    return ok;
}

static gboolean on_end_poll(gpointer user_data)
{
    struct sandbox *sandbox = user_data;

    sandbox->end_polls++;
    if (stream_connections(sandbox->stream) == 0 ||
        sandbox->end_polls > END_POLLS_MAX) {
        g_main_loop_quit(sandbox->loop);
    }
    return G_SOURCE_CONTINUE;
}

static gboolean on_signal(gpointer user_data)
{
    struct sandbox *sandbox = user_data;

    soup_server_disconnect(sandbox->ws_server);
    soup_server_disconnect(sandbox->auth_server);
    soup_server_disconnect(sandbox->api_server);
    stream_close(sandbox->stream);
    g_timeout_add(END_POLL_MS, on_end_poll, sandbox);
    return G_SOURCE_REMOVE;
}

static bool run(const struct options *options, const char *endpoints_path,
                GTlsCertificate *certificate, GError **error)
{
    struct sandbox sandbox = {.end_polls = 0};
    bool ok;

    create_services(&sandbox, options, certificate);
    ok = open_endpoints(&sandbox, options, endpoints_path, error);
    if (ok) {
        g_unix_signal_add(SIGTERM, on_signal, &sandbox);
        g_unix_signal_add(SIGINT, on_signal, &sandbox);
        feed_start(sandbox.feed, stream_publish, sandbox.stream);
        puts("ready");
        fflush(stdout);
        g_main_loop_run(sandbox.loop);
    }
    free_services(&sandbox);
    return ok;
}

static bool prepare_and_run(const struct options *options, GError **error)
{
    char *path = g_build_filename(options->state, "endpoints.json", NULL);
    GTlsCertificate *certificate = NULL;
    bool ok = false;

    if (g_mkdir_with_parents(options->state, 0700) != 0) {
        int saved = errno;

        g_set_error(error, G_FILE_ERROR, (gint)g_file_error_from_errno(saved),
                    "%s: %s", options->state, g_strerror(saved));
    } else {
        /* That of an earlier run would mislead whoever waits for it. */
        g_remove(path);
        certificate =
            certificate_obtain(options->state, options->host_names, error);
    }
    if (certificate) {
        ok = run(options, path, certificate, error);
        g_object_unref(certificate);
    }
    g_free(path);
    return ok;
}

int main(int argc, char **argv)
{
    struct options options = {.token_lifetime = 3600, .rate = 10, .seed = -1};
    GError *error = NULL;
    bool ok;

    /* Like GLib, end where memory does. */
    json_set_alloc_funcs(g_malloc, g_free);
    ok = parse_options(&options, argc, argv, &error) &&
         prepare_and_run(&options, &error);
    if (!ok) {
        fprintf(stderr, "sandbox: %s\n", error->message);
        g_error_free(error);
    }
    free_options(&options);
    return ok ? EXIT_SUCCESS : EXIT_FAILURE;
}
