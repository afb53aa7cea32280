/*
 * libwebsockets, OpenSSL and cJSON.
 *
 * SPDX-License-Identifier: 0BSD
 */
#include "client.h"
#include "decoders.h"

#include <libwebsockets.h>
#include <stdlib.h>
#include <string.h>

#define RECEIVE 65536 /* bytes read at a time */

static const struct client *client;
static bool done, failed;

/* A message that arrives in pieces. */
static struct {
    char *text;
    size_t len, size;
} partial;

static void on_message(const char *text, size_t len) {
    /* Only the response to the request begins like this. */
    if (!done && (len < 7 || strncmp(text, "{\"type\"", 7) != 0)) {
        done = client_message(decode_cjson(text, len));
    }
}

static void on_receive(struct lws *wsi, const char *data, size_t len) {
    bool last =
        lws_is_final_fragment(wsi) && lws_remaining_packet_payload(wsi) == 0;

    if (last && partial.len == 0) {
        on_message(data, len);
        return;
    }
    if (partial.len + len > partial.size) {
        partial.size = 2 * (partial.len + len);
        partial.text = realloc(partial.text, partial.size);
        if (partial.text == NULL) {
            client_fail("no memory");
        }
    }
    memcpy(partial.text + partial.len, data, len);
    partial.len += len;
    if (last) {
        on_message(partial.text, partial.len);
        partial.len = 0;
    }
}

static int send_request(struct lws *wsi) {
    static unsigned char frame[LWS_PRE + sizeof client->request];
    size_t len = strlen(client->request);

    memcpy(frame + LWS_PRE, client->request, len);
    return lws_write(wsi, frame + LWS_PRE, len, LWS_WRITE_TEXT) < (int)len ? -1
                                                                           : 0;
}

static int append_token(struct lws *wsi, void *in, size_t len) {
    static const char value[] = "Bearer " CLIENT_TOKEN;
    unsigned char **at = in;

    return lws_add_http_header_by_token(wsi, WSI_TOKEN_HTTP_AUTHORIZATION,
                                        (const unsigned char *)value,
                                        (int)strlen(value), at, *at + len);
}

static int on_event(struct lws *wsi, enum lws_callback_reasons reason,
                    void *user, void *in, size_t len) {
    (void)user;
    switch (reason) {
    case LWS_CALLBACK_CLIENT_APPEND_HANDSHAKE_HEADER:
        return append_token(wsi, in, len);
    case LWS_CALLBACK_CLIENT_ESTABLISHED:
        lws_callback_on_writable(wsi);
        return 0;
    case LWS_CALLBACK_CLIENT_WRITEABLE: return send_request(wsi);
    case LWS_CALLBACK_CLIENT_RECEIVE:
        on_receive(wsi, in, len);
        return done ? -1 : 0;
    case LWS_CALLBACK_CLIENT_CONNECTION_ERROR: failed = true; return 0;
    case LWS_CALLBACK_CLIENT_CLOSED: failed = !done; return 0;
    default: return 0;
    }
}

static struct lws_context *context_new(void) {
    static const struct lws_protocols protocols[] = {
        {.name = "stream", .callback = on_event, .rx_buffer_size = RECEIVE},
        {.name = NULL},
    };
    struct lws_context_creation_info info = {
        .port = CONTEXT_PORT_NO_LISTEN,
        .protocols = protocols,
        .options = LWS_SERVER_OPTION_DO_SSL_GLOBAL_INIT,
        .client_ssl_ca_filepath = client->tls ? client->ca : NULL,
        .pt_serv_buf_size = RECEIVE,
        .fd_limit_per_thread = 16,
    };
    struct lws_context *context;

    lws_set_log_level(LLL_ERR, NULL);
    context = lws_create_context(&info);
    if (context == NULL) {
        client_fail("no context");
    }
    return context;
}

int main(int argc, char **argv) {
    struct lws_context *context;

    client = client_begin(argc, argv);
    if (client->resume) {
        client_fail("this version of libwebsockets resumes no session");
    }
    context = context_new();
    do {
        const struct lws_client_connect_info info = {
            .context = context,
            .address = CLIENT_HOST,
            .host = CLIENT_HOST,
            .origin = CLIENT_HOST,
            .port = (int)strtol(client->port, NULL, 10),
            .path = client->path,
            .ssl_connection = client->tls ? LCCSCF_USE_SSL : 0,
        };

        done = false;
        client_connecting();
        lws_client_connect_via_info(&info);
        while (!done && !failed) {
            lws_service(context, 0);
        }
        if (failed) {
            client_fail("the stream ended");
        }
    } while (client_again());
    lws_context_destroy(context);
    free(partial.text);
    return client_end();
}
