/*
 * Figures of a run for Prometheus: see metrics.h.
 *
 * SPDX-License-Identifier: 0BSD
 */
#include "metrics.h"

#include <errno.h>
#include <inttypes.h>
#include <microhttpd.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "exits.h"
#include "text.h"

/* Simultaneous connections, and seconds that one may be idle. */
#define CONNECTIONS_MAX 4
#define IDLE_S 5

#define UPDATE_NS 1000000000u

struct metrics {
    struct MHD_Daemon *daemon;
    unsigned port;
    uint64_t updated_ns;
    void (*more)(void *context, FILE *file); /* or NULL */
    void *more_context;
    pthread_mutex_t lock;
    char *text; /* the text that is served */
};

static void metrics_head(FILE *file, const char *name, const char *type,
                         const char *help) {
    fprintf(file, "# HELP mini_stream_%s %s\n# TYPE mini_stream_%s %s\n", name,
            help, name, type);
}

/* Writes one figure with a label. Escapes quotes and backslashes, because
 * anybody may choose a market's name. */
static void metrics_of(FILE *file, const char *name, const char *label,
                       const char *of, double value) {
    fprintf(file, "mini_stream_%s{%s=\"", name, label);
    for (const char *c = of; *c; ++c) {
        if (*c == '"' || *c == '\\') {
            putc('\\', file);
        }
        putc(*c, file);
    }
    fprintf(file, "\"} %.17g\n", value);
}

void metrics_figure(FILE *file, const char *name, const char *type,
                    const char *help, double value) {
    metrics_head(file, name, type, help);
    fprintf(file, "mini_stream_%s %.17g\n", name, value);
}

static void metrics_counts(FILE *file, const struct board *board,
                           const struct mst_stats *stats) {
    const struct {
        const char *name, *help;
        double value;
    } figures[] = {
        {"messages_total", "Messages received.", (double)stats->messages},
        {"received_bytes_total", "Plaintext received.",
         (double)stats->bytes_in},
        {"bad_messages_total", "Messages that could not be decoded.",
         stats->bad_messages},
        {"opens_total", "Streams opened.", stats->opens},
        {"failures_total", "Attempts and connections that failed.",
         stats->failures},
        {"losses_total", "Streams that ended in an error.",
         (double)board->losses},
        {"tokens_total", "Tokens obtained.", stats->tokens},
        {"resyncs_total", "Markets subscribed again for their book.",
         stats->resyncs},
        {"unanswered_total", "Requests that were not answered in time.",
         stats->unanswered},
        {"unknown_total", "Messages and entries of unknown kinds.",
         stats->unknown},
        {"drifts_total", "Subscriptions that an audit had to repair.",
         stats->drifts},
        {"repeats_total", "Executions marked as repeats.",
         (double)board->repeats},
        {"open_connections", "Streams that are open.", board->open},
        {"refused_subscriptions", "Subscriptions currently refused.",
         (double)board_refused(board)},
        {"lag_seconds", "Lag of the stream at its last message.",
         (double)stats->lag_ns / 1e9},
        {"lag_max_seconds", "Largest lag on the open connections.",
         (double)stats->lag_max_ns / 1e9},
    };

    for (size_t i = 0; i < sizeof figures / sizeof *figures; ++i) {
        metrics_figure(file, figures[i].name,
                       strstr(figures[i].name, "_total") ? "counter" : "gauge",
                       figures[i].help, figures[i].value);
    }
}

static void metrics_errors(FILE *file, const struct mst_stats *stats) {
    static const char *const layers[MST_BANDS] = {
        "caller", "network",   "tls",     "http",
        "access", "websocket", "message", "session"};

    metrics_head(file, "errors_total", "counter",
                 "Errors of connections and messages, by layer.");
    for (size_t i = 1; i < MST_BANDS; ++i) {
        metrics_of(file, "errors_total", "layer", layers[i], stats->errors[i]);
    }
}

static void metrics_books(FILE *file, const struct board *board) {
    metrics_head(file, "book_live", "gauge",
                 "Whether a market's book is live.");
    for (size_t i = 0; i < board->market_count; ++i) {
        const struct board_market *market = &board->markets[i];

        metrics_of(file, "book_live", "market", market->name,
                   mst_book_state(market->book) == MST_BOOK_LIVE);
    }
}

void metrics_add(struct metrics *metrics,
                 void (*more)(void *context, FILE *file), void *context) {
    if (metrics) {
        metrics->more = more;
        metrics->more_context = context;
    }
}

void metrics_update(struct metrics *metrics, const struct run *run,
                    uint64_t now_ns) {
    struct mst_stats stats;
    char *text = NULL, *old;
    size_t len = 0;
    FILE *file;

    if (!metrics || now_ns - metrics->updated_ns < UPDATE_NS) {
        return;
    }
    metrics->updated_ns = now_ns;
    file = open_memstream(&text, &len);
    if (!file) {
        return; /* out of memory: keep the old figures */
    }
    run_sum(run, &stats);
    metrics_counts(file, &run->board, &stats);
    metrics_errors(file, &stats);
    if (board_wants(&run->board, MST_MARKET_DATA)) {
        metrics_books(file, &run->board);
    }
    if (metrics->more) {
        metrics->more(metrics->more_context, file);
    }
    if (fclose(file) != 0) {
        free(text);
        return;
    }
    pthread_mutex_lock(&metrics->lock);
    old = metrics->text;
    metrics->text = text;
    pthread_mutex_unlock(&metrics->lock);
    free(old);
}

/* True if the request is for this server's name. A web page under another name
 * must not read it (DNS rebinding). */
static bool metrics_is_host(const struct metrics *metrics, const char *host) {
    static const char *const names[] = {"127.0.0.1", "localhost"};
    char expected[32];

    for (size_t i = 0; host && i < sizeof names / sizeof *names; ++i) {
        snprintf(expected, sizeof expected, "%s:%u", names[i], metrics->port);
        if (text_is_name(host, expected, sizeof expected)) {
            return true;
        }
    }
    return false;
}

static enum MHD_Result metrics_reply(struct MHD_Connection *connection,
                                     unsigned status, const char *text) {
    struct MHD_Response *response = MHD_create_response_from_buffer(
        strlen(text), (void *)text, MHD_RESPMEM_MUST_COPY);
    enum MHD_Result result;

    if (!response) {
        return MHD_NO;
    }
    MHD_add_response_header(response, "Content-Type",
                            "text/plain; version=0.0.4; charset=utf-8");
    result = MHD_queue_response(connection, status, response);
    MHD_destroy_response(response);
    return result;
}

static enum MHD_Result
metrics_request(void *context, struct MHD_Connection *connection,
                const char *url, const char *method, const char *version,
                const char *upload_data, size_t *upload_len, void **state) {
    struct metrics *metrics = context;
    enum MHD_Result result;

    (void)version;
    (void)upload_data;
    (void)upload_len;
    (void)state;
    if (!metrics_is_host(metrics, MHD_lookup_connection_value(
                                      connection, MHD_HEADER_KIND, "Host"))) {
        return metrics_reply(connection, MHD_HTTP_FORBIDDEN,
                             "not for this host\n");
    }
    if (strcmp(method, "GET") != 0 || strcmp(url, "/metrics") != 0) {
        return metrics_reply(connection, MHD_HTTP_NOT_FOUND,
                             "only GET /metrics\n");
    }
    pthread_mutex_lock(&metrics->lock);
    result = metrics_reply(connection, MHD_HTTP_OK,
                           metrics->text ? metrics->text : "");
    pthread_mutex_unlock(&metrics->lock);
    return result;
}

int metrics_begin(struct metrics **metrics, unsigned port) {
    const struct sockaddr_in address = {.sin_family = AF_INET,
                                        .sin_port = htons((uint16_t)port),
                                        .sin_addr.s_addr =
                                            htonl(INADDR_LOOPBACK)};
    struct metrics *new;

    if (port == 0) {
        return EXITS_OK;
    }
    new = calloc(1, sizeof *new);
    if (!new) {
        fputs("mini-stream: out of memory\n", stderr);
        return EXITS_LOCAL;
    }
    new->port = port;
    pthread_mutex_init(&new->lock, NULL);
    new->daemon =
        MHD_start_daemon(MHD_USE_INTERNAL_POLLING_THREAD, (uint16_t)port, NULL,
                         NULL, metrics_request, new, MHD_OPTION_SOCK_ADDR,
                         &address, MHD_OPTION_CONNECTION_LIMIT, CONNECTIONS_MAX,
                         MHD_OPTION_CONNECTION_TIMEOUT, IDLE_S, MHD_OPTION_END);
    *metrics = new;
    if (!new->daemon) {
        fprintf(stderr, "mini-stream: --metrics %u: %s\n", port,
                strerror(errno));
        return EXITS_LOCAL;
    }
    return EXITS_OK;
}

void metrics_end(struct metrics *metrics) {
    if (!metrics) {
        return;
    }
    if (metrics->daemon) {
        MHD_stop_daemon(metrics->daemon);
    }
    pthread_mutex_destroy(&metrics->lock);
    free(metrics->text);
    free(metrics);
}
