/*
 * wslay, OpenSSL and jsmn on a blocking socket, with read-ahead below TLS for
 * the fewest system calls.
 *
 * SPDX-License-Identifier: 0BSD
 */
#include "client.h"
#include "decoders.h"

#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/evp.h>
#include <openssl/rand.h>
#include <openssl/ssl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <wslay/wslay.h>

#define GUID "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"

#define READ_AHEAD 16384 /* larger is slower: OpenSSL moves the rest */

struct connection {
    int fd;
    SSL *ssl; /* or NULL */
    wslay_event_context_ptr ws;
    bool done;
};

/* ---- Bytes ---- */

static int socket_connect(const char *port) {
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM}, *list;
    int fd = -1;

    if (getaddrinfo(CLIENT_HOST, port, &hints, &list) != 0) {
        client_fail("no address");
    }
    for (struct addrinfo *to = list; to != NULL && fd < 0; to = to->ai_next) {
        fd = socket(to->ai_family, to->ai_socktype, to->ai_protocol);
        if (fd >= 0 && connect(fd, to->ai_addr, to->ai_addrlen) != 0) {
            close(fd);
            fd = -1;
        }
    }
    freeaddrinfo(list);
    if (fd < 0) {
        client_fail("cannot connect");
    }
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &(int){1}, sizeof(int));
    return fd;
}

static ssize_t take(const struct connection *connection, void *data,
                    size_t len) {
    return connection->ssl != NULL ? SSL_read(connection->ssl, data, (int)len)
                                   : recv(connection->fd, data, len, 0);
}

static ssize_t give(const struct connection *connection, const void *data,
                    size_t len) {
    return connection->ssl != NULL
               ? SSL_write(connection->ssl, data, (int)len)
               : send(connection->fd, data, len, MSG_NOSIGNAL);
}

/* A full handshake, or one that resumes the previous connection's session. */
static void tls_connect(struct connection *connection, SSL_CTX *context,
                        SSL_SESSION *session) {
    connection->ssl = SSL_new(context);
    SSL_set_tlsext_host_name(connection->ssl, CLIENT_HOST);
    SSL_set1_host(connection->ssl, CLIENT_HOST);
    if (session != NULL) {
        SSL_set_session(connection->ssl, session);
    }
    SSL_set_fd(connection->ssl, connection->fd);
    if (SSL_connect(connection->ssl) != 1) {
        client_fail("TLS");
    }
}

/* ---- WebSocket ---- */

static void upgrade(const struct connection *connection,
                    const struct client *client) {
    unsigned char random[16], digest[EVP_MAX_MD_SIZE];
    char key[32], keyed[80], text[1024], accept[64];
    size_t len = 0;
    int n;

    RAND_bytes(random, sizeof random);
    EVP_EncodeBlock((unsigned char *)key, random, sizeof random);
    n = snprintf(text, sizeof text,
                 "GET %s HTTP/1.1\r\nHost: %s:%s\r\nUpgrade: websocket\r\n"
                 "Connection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
                 "Sec-WebSocket-Key: %s\r\nAuthorization: Bearer %s\r\n\r\n",
                 client->path, CLIENT_HOST, client->port, key, CLIENT_TOKEN);
    if (give(connection, text, (size_t)n) != n) {
        client_fail("cannot send");
    }
    n = snprintf(keyed, sizeof keyed, "%s" GUID, key);
    EVP_Digest(keyed, (size_t)n, digest, NULL, EVP_sha1(), NULL);
    EVP_EncodeBlock((unsigned char *)accept, digest, 20);
    /* The server sends nothing after the response until it gets a request. */
    do {
        ssize_t got = take(connection, text + len, sizeof text - 1 - len);

        if (got <= 0) {
            client_fail("no response");
        }
        len += (size_t)got;
        text[len] = '\0';
    } while (strstr(text, "\r\n\r\n") == NULL);
    if (strncmp(text, "HTTP/1.1 101 ", 13) != 0 ||
        strstr(text, accept) == NULL) {
        client_fail("not upgraded");
    }
}

/* A callback's result: the number of bytes, or -1 with an error. */
static ssize_t result(wslay_event_context_ptr ws, ssize_t n, int error) {
    if (n <= 0) {
        wslay_event_set_error(ws, error);
    }
    return n > 0 ? n : -1;
}

static ssize_t on_receive(wslay_event_context_ptr ws, uint8_t *data, size_t len,
                          int flags, void *user) {
    const struct connection *connection = user;

    (void)flags;
    return connection->done ? result(ws, -1, WSLAY_ERR_WOULDBLOCK)
                            : result(ws, take(connection, data, len),
                                     WSLAY_ERR_CALLBACK_FAILURE);
}

static ssize_t on_send(wslay_event_context_ptr ws, const uint8_t *data,
                       size_t len, int flags, void *user) {
    (void)flags;
    return result(ws, give(user, data, len), WSLAY_ERR_CALLBACK_FAILURE);
}

static int on_mask(wslay_event_context_ptr ws, uint8_t *data, size_t len,
                   void *user) {
    (void)ws;
    (void)user;
    return RAND_bytes(data, (int)len) == 1 ? 0 : -1;
}

static void on_message(wslay_event_context_ptr ws,
                       const struct wslay_event_on_msg_recv_arg *message,
                       void *user) {
    struct connection *connection = user;

    (void)ws;
    /* Only the response to the request begins like this. */
    if (message->opcode == WSLAY_TEXT_FRAME && !connection->done &&
        strncmp((const char *)message->msg, "{\"type\"", 7) != 0) {
        connection->done = client_message(
            decode_jsmn((const char *)message->msg, message->msg_length));
    }
}

static void receive(struct connection *connection,
                    const struct client *client) {
    static const struct wslay_event_callbacks callbacks = {
        .recv_callback = on_receive,
        .send_callback = on_send,
        .genmask_callback = on_mask,
        .on_msg_recv_callback = on_message,
    };
    const struct wslay_event_msg request = {
        .opcode = WSLAY_TEXT_FRAME,
        .msg = (const uint8_t *)client->request,
        .msg_length = strlen(client->request),
    };

    wslay_event_context_client_init(&connection->ws, &callbacks, connection);
    wslay_event_queue_msg(connection->ws, &request);
    while (!connection->done) {
        if (wslay_event_send(connection->ws) != 0 ||
            wslay_event_recv(connection->ws) != 0) {
            client_fail("the stream ended");
        }
    }
    wslay_event_context_free(connection->ws);
}

/* ---- */

static SSL_CTX *context_new(const struct client *client) {
    SSL_CTX *context = SSL_CTX_new(TLS_client_method());

    if (context == NULL ||
        SSL_CTX_load_verify_locations(context, client->ca, NULL) != 1) {
        client_fail(client->ca);
    }
    SSL_CTX_set_verify(context, SSL_VERIFY_PEER, NULL);
    SSL_CTX_set_read_ahead(context, 1);
    SSL_CTX_set_default_read_buffer_len(context, READ_AHEAD);
    return context;
}

int main(int argc, char **argv) {
    const struct client *client = client_begin(argc, argv);
    SSL_CTX *context = client->tls ? context_new(client) : NULL;
    SSL_SESSION *session = NULL;

    do {
        struct connection connection = {.fd = -1};

        client_connecting();
        connection.fd = socket_connect(client->port);
        if (client->tls) {
            tls_connect(&connection, context, session);
        }
        upgrade(&connection, client);
        receive(&connection, client);
        if (client->resume) {
            SSL_SESSION_free(session);
            session = SSL_get1_session(connection.ssl);
        }
        if (client->tls) {
            SSL_shutdown(connection.ssl);
            SSL_free(connection.ssl);
        }
        close(connection.fd);
    } while (client_again());
    SSL_SESSION_free(session);
    SSL_CTX_free(context);
    return client_end();
}
