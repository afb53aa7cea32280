/*
 * The page's server: plain HTTP on the loopback interface.
 *
 * Other sites in the same browser must not read the page's data or use its
 * buttons. These stop them: Host, against a foreign name that resolves to this
 * machine; Origin, against scripts of other sites; the content type, against
 * forms; Content-Security-Policy, against frames.
 *
 * SPDX-License-Identifier: 0BSD
 */
#include "page.h"

#include "http.h"
#include "listener.h"

#include <string.h>

#define HTTP_PORT 80 /* which browsers omit after the host */

/* The files in examples/sandbox/page/, embedded by the linker. */
#define EMBEDDED(name)                                                   \
    extern const char name##_begin[] __asm__("_binary_" #name "_start"); \
    extern const char name##_end[] __asm__("_binary_" #name "_end")
EMBEDDED(page_html);
EMBEDDED(base_css);
EMBEDDED(page_css);
EMBEDDED(icon_svg);
EMBEDDED(page_js);
EMBEDDED(chart_js);
EMBEDDED(dom_js);
EMBEDDED(faults_js);

struct page {
    const struct around *around;
    SoupServer *server;
    struct listener *listener;
    char *run; /* a unique name of this run */
    guint port;
};

#define HTML "text/html; charset=utf-8"
#define CSS "text/css; charset=utf-8"
#define SCRIPT "text/javascript; charset=utf-8"

static const struct {
    const char *path;
    const char *type;
    const char *begin;
    const char *end;
} files[] = {
    {"/", HTML, page_html_begin, page_html_end},
    {"/base.css", CSS, base_css_begin, base_css_end},
    {"/page.css", CSS, page_css_begin, page_css_end},
    {"/icon.svg", "image/svg+xml", icon_svg_begin, icon_svg_end},
    {"/page.js", SCRIPT, page_js_begin, page_js_end},
    {"/chart.js", SCRIPT, chart_js_begin, chart_js_end},
    {"/dom.js", SCRIPT, dom_js_begin, dom_js_end},
    {"/faults.js", SCRIPT, faults_js_begin, faults_js_end},
};

/* Sets the headers of every response. */
static void on_started(SoupServer *server, SoupServerMessage *message,
                       gpointer user_data) {
    static const char *const headers[][2] = {
        {"Content-Security-Policy",
         "default-src 'self'; base-uri 'none'; form-action 'none'; "
         "frame-ancestors 'none'"},
        {"X-Content-Type-Options", "nosniff"},
        {"Cross-Origin-Resource-Policy", "same-origin"},
        {"Cross-Origin-Opener-Policy", "same-origin"},
        {"Referrer-Policy", "no-referrer"},
        {"Cache-Control", "no-store"},
    };

    (void)server;
    (void)user_data;
    for (guint i = 0; i < G_N_ELEMENTS(headers); i++) {
        soup_message_headers_replace(
            soup_server_message_get_response_headers(message), headers[i][0],
            headers[i][1]);
    }
}

/* Returns true if the text is the prefix and then this machine and port. */
static bool names_page(const struct page *page, const char *prefix,
                       const char *text) {
    static const char *const names[] = {"127.0.0.1", "localhost"};

    for (guint i = 0; i < G_N_ELEMENTS(names); i++) {
        g_autofree char *without = g_strconcat(prefix, names[i], NULL);
        g_autofree char *with_port =
            g_strdup_printf("%s:%u", without, page->port);

        if (g_ascii_strcasecmp(text, with_port) == 0 ||
            (page->port == HTTP_PORT &&
             g_ascii_strcasecmp(text, without) == 0)) {
            return true;
        }
    }
    return false;
}

/* Returns true if the request comes from the page itself; else answers it. */
static bool is_own(const struct page *page, SoupServerMessage *message) {
    SoupMessageHeaders *headers =
        soup_server_message_get_request_headers(message);
    const char *host = soup_message_headers_get_one(headers, "Host");
    const char *origin = soup_message_headers_get_one(headers, "Origin");

    if (!host || !names_page(page, "", host)) {
        http_reply_problem(message, SOUP_STATUS_MISDIRECTED_REQUEST,
                           "The header Host names another server.");
        return false;
    }
    if (origin && !names_page(page, "http://", origin)) {
        http_reply_problem(message, SOUP_STATUS_FORBIDDEN,
                           "The header Origin names another site.");
        return false;
    }
    return true;
}

static void send_state(const struct page *page, SoupServerMessage *message,
                       GHashTable *query) {
    const char *symbol = query ? g_hash_table_lookup(query, "market") : NULL;
    const char *after = query ? g_hash_table_lookup(query, "after") : NULL;

    http_reply_json(message, SOUP_STATUS_OK,
                    page_state(page->around, page->run, symbol,
                               after ? g_ascii_strtoll(after, NULL, 10) : 0));
}

static void send_get(const struct page *page, SoupServerMessage *message,
                     const char *path, GHashTable *query) {
    if (strcmp(path, "/state") == 0) {
        send_state(page, message, query);
        return;
    }
    if (strcmp(path, "/about") == 0) {
        http_reply_json(message, SOUP_STATUS_OK,
                        page_about(page->around, page->run));
        return;
    }
    for (guint i = 0; i < G_N_ELEMENTS(files); i++) {
        if (strcmp(path, files[i].path) == 0) {
            http_reply(message, SOUP_STATUS_OK, files[i].type,
                       SOUP_MEMORY_STATIC, files[i].begin,
                       (gsize)(files[i].end - files[i].begin));
            return;
        }
    }
    http_reply_not_found(message);
}

static void on_request(SoupServer *server, SoupServerMessage *message,
                       const char *path, GHashTable *query,
                       gpointer user_data) {
    const struct page *page = user_data;
    const char *method = soup_server_message_get_method(message);
    bool is_faults = strcmp(path, "/faults") == 0;

    (void)server;
    if (!is_own(page, message)) {
        return;
    }
    if (is_faults && strcmp(method, "POST") == 0) {
        if (http_check_json(message)) {
            faults_take(page->around->faults, message, faults_change);
        }
    } else if (is_faults) {
        http_reply_method(message, "POST");
    } else if (strcmp(method, "GET") == 0) {
        send_get(page, message, path, query);
    } else {
        http_reply_method(message, "GET");
    }
}

/* A listener_accepted. */
static void on_accepted(GSocketConnection *connection, GSocketAddress *local,
                        GSocketAddress *remote, void *user_data) {
    struct page *page = user_data;

    soup_server_accept_iostream(page->server, G_IO_STREAM(connection), local,
                                remote, NULL);
}

struct page *page_new(const struct around *around, guint *port,
                      GError **error) {
    struct page *page = g_new0(struct page, 1);

    page->around = around;
    page->run = g_uuid_string_random();
    page->server = http_server_new(NULL);
    g_signal_connect(page->server, "request-started", G_CALLBACK(on_started),
                     NULL);
    soup_server_add_handler(page->server, NULL, on_request, page, NULL);
    page->listener = listener_new("127.0.0.1", port, on_accepted, page, error);
    page->port = *port;
    if (!page->listener) {
        g_clear_pointer(&page, page_free);
    }
    return page;
}

guint page_port(const struct page *page) {
    return page->port;
}

void page_close(struct page *page) {
    g_clear_pointer(&page->listener, listener_free);
    soup_server_disconnect(page->server);
}

void page_free(struct page *page) {
    g_clear_pointer(&page->listener, listener_free);
    g_object_unref(page->server);
    g_free(page->run);
    g_free(page);
}
