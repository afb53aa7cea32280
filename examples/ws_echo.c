/*
 * ws-echo: the WebSocket functions of mini_stream on their own.
 *
 *     ws-echo HOST PORT PATH
 *
 * Connects by plain TCP, makes the opening handshake and echoes every message
 * until the peer closes. The mst_ws_* functions do no I/O: mst_ws_read() gets
 * the bytes from the socket and returns pieces of messages within them;
 * mst_ws_header() and mst_ws_mask() make the frames to send. Messages of any
 * length need only 16 KiB: each piece is sent as a fragment before the next one
 * is read.
 *
 * Exit status: 0 after a clean close, 1 with a line on standard error after
 * anything else, 2 for wrong arguments.
 *
 * SPDX-License-Identifier: 0BSD
 */
#define _POSIX_C_SOURCE 200809L

#include "mini_stream.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "start.h"

/* Bytes of a piece: one is received and one sent, in 16 KiB together. */
#define PIECE_MAX (8 * 1024 - MST_WS_HEADER_MAX)

/* How long to wait for the peer to close the connection after a close frame,
 * ms. */
#define HANG_UP_MS 2000

struct echo {
    int fd;
    struct mst_http http;
    struct mst_ws ws;
    size_t at, len; /* in[at] to in[len - 1] was received and is not read yet */
    uint8_t in[PIECE_MAX];
    uint8_t out[MST_WS_HEADER_MAX + PIECE_MAX];
};

/* ---- Socket: errors are mini_stream's; MST_ERR_PORT leaves errno ---- */

/* Returns a connected socket, or -1 after it has reported why there is none. */
static int socket_connect(const char *host, const char *port) {
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM};
    struct addrinfo *list;
    const char *why = "no address";
    int fd = -1;
    int rc = getaddrinfo(host, port, &hints, &list);

    if (rc != 0) {
        fprintf(stderr, "ws-echo: %s: %s\n", host, gai_strerror(rc));
        return -1;
    }
    for (struct addrinfo *to = list; to != NULL && fd < 0; to = to->ai_next) {
        fd = socket(to->ai_family, to->ai_socktype, to->ai_protocol);
        if (fd < 0 || connect(fd, to->ai_addr, to->ai_addrlen) != 0) {
            why = strerror(errno);
            if (fd >= 0) {
                close(fd);
                fd = -1;
            }
        }
    }
    freeaddrinfo(list);
    if (fd < 0) {
        fprintf(stderr, "ws-echo: %s port %s: %s\n", host, port, why);
        return -1;
    }
    /* do not delay small frames */
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &(int){1}, sizeof(int));
    return fd;
}

/* Sends all data. Returns 0 or an error. */
static int socket_send(int fd, const void *data, size_t len) {
    const char *at = data;

    while (len > 0) {
        ssize_t n = send(fd, at, len, MSG_NOSIGNAL);

        if (n < 0 && errno != EINTR) {
            return MST_ERR_PORT;
        }
        if (n > 0) {
            at += n;
            len -= (size_t)n;
        }
    }
    return 0;
}

/* Receives more bytes, after all earlier ones were read. Returns 0 or an
 * error. */
static int socket_receive(struct echo *echo) {
    ssize_t n;

    do {
        n = recv(echo->fd, echo->in, sizeof echo->in, 0);
    } while (n < 0 && errno == EINTR);
    if (n <= 0) {
        return n == 0 ? MST_ERR_EOF : MST_ERR_PORT;
    }
    echo->at = 0;
    echo->len = (size_t)n;
    return 0;
}

/* Waits a while for the peer to close the connection, as the server should (RFC
 * 6455, section 7.1.1). */
static void socket_wait_for_end(struct echo *echo) {
    struct pollfd readable = {echo->fd, POLLIN, 0};
    struct timespec now;
    int64_t until_ms = -1, now_ms;

    do {
        clock_gettime(CLOCK_MONOTONIC, &now);
        now_ms = (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
        if (until_ms < 0) {
            until_ms = now_ms + HANG_UP_MS;
        }
    } while (now_ms < until_ms &&
             poll(&readable, 1, (int)(until_ms - now_ms)) > 0 &&
             recv(echo->fd, echo->in, sizeof echo->in, 0) > 0);
}

static int random_bytes(uint8_t *data, size_t len) {
    return getrandom(data, len, 0) == (ssize_t)len ? 0 : MST_ERR_ENTROPY;
}

/* ---- WebSocket ---- */

/* Makes the opening handshake. Bytes after the response, the first frames, stay
 * in echo->in. Returns 0 or an error. */
static int echo_upgrade(struct echo *echo, const char *host, const char *path) {
    char key[MST_WS_KEY_LEN + 1];
    uint8_t random[16];
    int rc;

    if (random_bytes(random, sizeof random) != 0) {
        return MST_ERR_ENTROPY;
    }
    mst_ws_key(random, key);
    rc = mst_ws_upgrade_write((char *)echo->out, sizeof echo->out, host, path,
                              key, NULL);
    if (rc > 0) {
        rc = socket_send(echo->fd, echo->out, (size_t)rc);
    }
    if (rc < 0) {
        return rc;
    }

    mst_ws_upgrade_init(&echo->http, key);
    do {
        rc = socket_receive(echo);
        if (rc == 0) {
            rc = mst_ws_upgrade_read(&echo->http, echo->in, echo->len,
                                     &echo->at);
        }
    } while (rc == 0);
    return rc > 0 ? 0 : rc;
}

/* Sends a frame of up to PIECE_MAX bytes. Returns 0 or an error. */
static int echo_send(struct echo *echo, enum mst_ws_opcode opcode, bool fin,
                     const void *data, size_t len) {
    uint8_t mask[4];
    size_t header_len;

    /* a new, unpredictable mask for each frame (section 5.3) */
    if (random_bytes(mask, sizeof mask) != 0) {
        return MST_ERR_ENTROPY;
    }
    header_len = mst_ws_header(echo->out, opcode, fin, len, mask);
    memcpy(echo->out + header_len, data, len);
    mst_ws_mask(echo->out + header_len, len, mask, 0);
    return socket_send(echo->fd, echo->out, header_len + len);
}

/* Sends a close frame. Code 1005 means that the peer's had none. */
static int echo_send_close(struct echo *echo, uint16_t code) {
    const uint8_t payload[2] = {(uint8_t)(code >> 8), (uint8_t)code};

    return echo_send(echo, MST_WS_CLOSE, true, payload,
                     code == 1005 ? 0 : sizeof payload);
}

/* Answers one piece. Returns 0 or an error. */
static int echo_answer(struct echo *echo, const struct mst_ws_piece *piece) {
    switch (piece->opcode) {
    case MST_WS_PING:
        return echo_send(echo, MST_WS_PONG, true, piece->data, piece->len);
    case MST_WS_PONG: return 0;
    case MST_WS_CLOSE: return echo_send_close(echo, piece->close_code);
    default:
        return echo_send(echo,
                         piece->first ? piece->opcode : MST_WS_CONTINUATION,
                         piece->last, piece->data, piece->len);
    }
}

/* Echoes until the peer closes. Returns 0 or an error. */
static int echo_run(struct echo *echo) {
    struct mst_ws_piece piece = {.opcode = MST_WS_CONTINUATION};
    size_t used;
    int rc;

    mst_ws_init(&echo->ws);
    do {
        rc = mst_ws_read(&echo->ws, echo->in + echo->at, echo->len - echo->at,
                         &used, &piece);
        echo->at += used;
        if (rc > 0) {
            rc = echo_answer(echo, &piece);
        } else if (rc == 0) {
            rc = socket_receive(echo); /* all was read */
        }
    } while (rc == 0 && piece.opcode != MST_WS_CLOSE);
    return rc;
}

/* Reports an error. Returns the exit status. */
static int report(const char *what, int error, int http_status) {
    fprintf(stderr, "ws-echo: %s: %s", what,
            error == MST_ERR_PORT ? strerror(errno) : mst_strerror(error));
    if (http_status != 0) {
        fprintf(stderr, " (HTTP status %d)", http_status);
    }
    fprintf(stderr, "\n");
    return 1;
}

/* Runs from the handshake to the end. Returns the exit status. */
static int echo_session(struct echo *echo, const char *host, const char *path) {
    int rc = echo_upgrade(echo, host, path);
    int status = 0;

    if (rc != 0) {
        return report("opening handshake", rc, mst_http_status(&echo->http));
    }
    rc = echo_run(echo);
    if (rc != 0) {
        status = report("connection failed", rc, 0);
        if (rc == MST_ERR_EOF || rc == MST_ERR_PORT) {
            return status; /* the peer is gone */
        }
        echo_send_close(echo, mst_ws_error_code(rc));
    }
    socket_wait_for_end(echo);
    return status;
}

int main(int argc, char **argv) {
    static struct echo echo;
    char host[300];
    int status;

    start("ws-echo");
    if (argc != 4) {
        fprintf(stderr, "usage: ws-echo HOST PORT PATH\n");
        return 2;
    }
    echo.fd = socket_connect(argv[1], argv[2]);
    if (echo.fd < 0) {
        return 1;
    }
    /* the Host header's value: an IPv6 address is in brackets */
    snprintf(host, sizeof host, strchr(argv[1], ':') ? "[%s]:%s" : "%s:%s",
             argv[1], argv[2]);
    status = echo_session(&echo, host, argv[3]);
    close(echo.fd);
    return status;
}
