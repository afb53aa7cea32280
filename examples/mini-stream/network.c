/*
 * The network of the tool: see network.h.
 *
 * SPDX-License-Identifier: 0BSD
 */
#include "network.h"

#include <openssl/err.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "line.h"
#include "mst_cares.h"
#include "text.h"

static char via[MST_HOST_MAX + 40];
static bool direct; /* the last connection used no proxy */

static char *no_proxy;

/* Returns an environment variable, the lower-case name first, as in curl;
 * stripped and allocated. */
static char *environment(const char *lower, const char *upper) {
    const char *value = getenv(lower);
    const char *name = value && value[0] != '\0' ? lower : upper;
    char *text;

    value = getenv(name);
    text = text_new("%s", value ? value : "");
    line_report(name, NULL, line_strip(text));
    return text;
}

/* True if a word of NO_PROXY is this host or a domain that contains it, and has
 * this port or none. An IPv6 address may be in brackets, and has no port. */
static bool word_fits(const char *word, size_t len,
                      const struct mst_endpoint *endpoint) {
    const char *host = endpoint->host, *tail;
    const char *colon = memchr(word, ':', len);
    char port[8];
    size_t skip;

    if (strchr(host, ':')) {
        skip = len > 2 && *word == '[' && word[len - 1] == ']';
        return (len == 1 && *word == '*') ||
               (len - 2 * skip == strlen(host) &&
                text_is_name(word + skip, host, strlen(host)));
    }
    snprintf(port, sizeof port, ":%u", endpoint->port);
    if (colon) {
        size_t port_len = len - (size_t)(colon - word);
        if (port_len != strlen(port) || memcmp(colon, port, port_len) != 0) {
            return false;
        }
        len -= port_len;
    }
    if (len == 1 && *word == '*') {
        return true;
    }
    skip = len >= 2 && memcmp(word, "*.", 2) == 0 ? 2 : *word == '.';
    word += skip;
    len -= skip;
    if (len == 0 || len > strlen(host)) {
        return false;
    }
    tail = host + strlen(host) - len;
    return text_is_name(tail, word, len) && (tail == host || tail[-1] == '.');
}

/* True if a host is this machine, by name or address. */
static bool is_here(const char *host) {
    return text_is_name(host, "localhost", sizeof "localhost") ||
           strcmp(host, "::1") == 0 ||
           (strncmp(host, "127.", 4) == 0 &&
            host[strspn(host, "0123456789.")] == '\0');
}

/* True if a connection must not use the environment's proxy: to this machine or
 * a host in NO_PROXY. */
static bool is_direct(void *context, const struct mst_endpoint *endpoint) {
    static const char separators[] = ", \r\n";
    const char *at = no_proxy;

    (void)context;
    direct = is_here(endpoint->host);
    while (*at && !direct) {
        size_t len = strcspn(at, separators);
        direct = word_fits(at, len, endpoint);
        at += len + strspn(at + len, separators);
    }
    return direct;
}

/* mst_proxy_init() for a URL whose scheme may be in upper case or missing. */
static int proxy_begin(struct network *network, const char *url, size_t links) {
    static const char scheme[] = "http://";
    const size_t len = sizeof scheme - 1;
    const bool http = text_is_name(url, scheme, len);
    char *text = text_new("%s%s", http || !strstr(url, "://") ? scheme : "",
                          http ? url + len : url);
    int rc;

    rc = mst_proxy_init(&network->proxy, text, &network->direct,
                        network->proxied, links, &network->below);
    explicit_bzero(text, strlen(text));
    free(text);
    return rc;
}

/* Prepares the proxy of the settings, if set, or the environment. */
static bool proxy_use(struct network *network, const char *url, bool set,
                      size_t links, char error[SETTINGS_ERROR_LEN]) {
    const struct mst_endpoint *endpoint = &network->proxy.endpoint;

    if (proxy_begin(network, url, links) != 0) { /* may contain a password */
        const char *colon = strstr(url, "://");
        const bool other = colon && !text_is_name(url, "http://", 7);

        snprintf(error, SETTINGS_ERROR_LEN,
                 "%s: not a URL like http://[user:password@]host:port%s%.*s",
                 set ? "the setting proxy" : "HTTPS_PROXY",
                 other ? ", but begins with " : "",
                 other ? (int)(colon - url) + 3 : 0, url);
        return false;
    }
    if (!set) {
        network->proxy.direct = is_direct;
        free(no_proxy);
        no_proxy = environment("no_proxy", "NO_PROXY");
    }
    snprintf(via, sizeof via,
             strchr(endpoint->host, ':') ? " through the proxy [%s]:%u"
                                         : " through the proxy %s:%u",
             endpoint->host, endpoint->port);
    return true;
}

/* Finds the proxy in settings or environment, and prepares it if there is
 * one. */
static bool proxy_find(struct network *network, const struct settings *settings,
                       size_t links, char error[SETTINGS_ERROR_LEN]) {
    const char *set = settings->options.value[SETTING_PROXY];
    char *url =
        set ? text_new("%s", set) : environment("https_proxy", "HTTPS_PROXY");
    bool ok;

    network->below = network->direct;
    ok = *url == '\0' || proxy_use(network, url, set != NULL, links, error);
    explicit_bzero(url, strlen(url));
    free(url);
    return ok;
}

static bool openssl_begin(struct network *network, const char *ca, size_t links,
                          char error[SETTINGS_ERROR_LEN]) {
    int rc = mst_openssl_init(&network->openssl, ca, &network->below,
                              network->secured, links, &network->port);
    const struct mst_openssl_anchors *anchors = &network->openssl.anchors;
    unsigned long detail = anchors->detail;
    const char *why = ERR_SYSTEM_ERROR(detail)
                          ? strerror(ERR_GET_REASON(detail))
                          : ERR_reason_error_string(detail);

    if (rc == MST_ERR_ANCHORS) { /* of a file, never of the system */
        snprintf(error, SETTINGS_ERROR_LEN, "trust anchors %s: %s",
                 anchors->path, why ? why : mst_strerror(rc));
    } else if (rc != 0) {
        snprintf(error, SETTINGS_ERROR_LEN, "OpenSSL: %s", mst_strerror(rc));
    }
    return rc == 0;
}

/* Reports how many trust anchors there are. Unusable certificates are no error,
 * but explain a later failure because of an unknown issuer. */
static void tell_trust(struct network *network,
                       const struct settings *settings) {
    const struct mst_openssl_anchors *openssl = &network->openssl.anchors;
    struct mst_posix_anchors anchors = settings->anchors;

    if (settings->tls == SETTINGS_OPENSSL) {
        anchors.len = openssl->len;
        anchors.leaves = openssl->leaves;
        anchors.skipped = openssl->skipped;
        anchors.path = openssl->path;
    }
    snprintf(network->trust, sizeof network->trust,
             "trust anchors: %zu in %s, %zu that can issue nothing, %zu left "
             "out",
             anchors.len, anchors.path ? anchors.path : "the system's store",
             anchors.leaves, anchors.skipped);
    if (anchors.leaves + anchors.skipped > 0 && !network->quiet) {
        fprintf(stderr, "mini-stream: %s\n", network->trust);
    }
}

bool network_begin(struct network *network, const struct settings *settings,
                   size_t links, char error[SETTINGS_ERROR_LEN]) {
    int rc = MST_ERR_MEMORY;

    network->links = calloc(links, sizeof *network->links);
    network->proxied = calloc(links, sizeof *network->proxied);
    network->secured = calloc(links, sizeof *network->secured);
    if (network->links && network->proxied && network->secured) {
        rc = mst_posix_init(&network->posix, network->links, links,
                            &network->direct);
    }
    if (rc != 0) {
        snprintf(error, SETTINGS_ERROR_LEN, "%s", mst_strerror(rc));
        return false;
    }
    detail_of_openssl(settings->tls == SETTINGS_OPENSSL);
    mst_cares_init(&network->posix);
    if (settings->tls == SETTINGS_FAST) {
        /* without memory for these, BearSSL's own are used */
        (void)mst_primitives_init(&network->primitives, links,
                                  &network->direct);
    }
    if (!proxy_find(network, settings, links, error)) {
        return false;
    }
    network->port = network->below;
    if (settings->tls == SETTINGS_OPENSSL &&
        !openssl_begin(network, settings->options.value[SETTING_CA], links,
                       error)) {
        return false;
    }
    tell_trust(network, settings);
    return true;
}

void network_wait(struct network *network, const struct mst_link *link) {
    mst_posix_wait(&network->posix, &link, 1, NETWORK_WAIT_MS);
}

void network_end(struct network *network) {
    free(no_proxy);
    no_proxy = NULL;
    mst_openssl_free(&network->openssl);
    mst_proxy_wipe(&network->proxy);
    mst_posix_free(&network->posix);
    mst_primitives_free(&network->primitives);
    free(network->links);
    free(network->proxied);
    free(network->secured);
}

const struct mst_proxy *network_proxy(const struct network *network,
                                      const struct mst_endpoint *endpoint) {
    const struct mst_proxy *proxy = &network->proxy;

    return proxy->endpoint.port == 0 ||
                   (proxy->direct && proxy->direct(NULL, endpoint))
               ? NULL
               : proxy;
}

const char *network_via(int error, enum mst_state stage) {
    const bool secured = error <= MST_ERR_TLS_ISSUER;

    return (stage == MST_STATE_RESOLVE || stage == MST_STATE_CONNECT) &&
                   error != MST_ERR_CLOCK && error != MST_ERR_ENTROPY &&
                   !secured && !direct
               ? via
               : "";
}
