/*
 * The service that clients are measured against. It is not measured itself: it
 * frames and encrypts a stream in advance, then sends it as fast as the client
 * takes it.
 *
 *   server PLAIN|CIPHER DIRECTORY
 *
 * CIPHER is a cipher suite's name (see openssl ciphers); the directory has
 * key.pem and cert.pem. Listens on a port of 127.0.0.1 and prints its number. A
 * WebSocket's path says what to send after the response to a subscribe request:
 *
 *   /MESSAGES/RECORD/RATE/MARKETS/CONNECTIONS
 *
 * RECORD 1 puts each message into a TLS record, 0 fills records of 16 KB. RATE,
 * if not 0, is the number of messages per second; the time of sending each
 * (CLOCK_MONOTONIC, ns) is then written to the directory's file "stamps". The
 * server waits for CONNECTIONS connections and sends a message over each in
 * turn. Afterwards it prints the number of messages and their sum.
 *
 * SPDX-License-Identifier: 0BSD
 */
#define _GNU_SOURCE

#include "bench.h"
#include "corpus.h"

#include <errno.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/ssl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#define RECORD 16384
#define CONNECTIONS_MAX 1024
#define PART 16384 /* sent over one of several connections at a time */

#define GUID "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"

struct connection {
    int fd;
    SSL *ssl;    /* or NULL */
    BIO *out;    /* pending output, in memory */
    size_t sent; /* bytes of it sent by send_part() */
};

/* The path's fields. */
struct order {
    size_t messages;
    unsigned record, rate, markets, connections;
};

static uint64_t *stamps;
static size_t stamps_len;

__attribute__((noreturn)) static void die(const char *what) {
    perror(what);
    ERR_print_errors_fp(stderr);
    exit(1);
}

/* ---- Bytes: functions return false once the connection has ended ---- */

static void put(const struct connection *connection, const void *data,
                size_t len) {
    int n = connection->ssl != NULL
                ? SSL_write(connection->ssl, data, (int)len)
                : BIO_write(connection->out, data, (int)len);

    if (n != (int)len) {
        die("cannot encrypt");
    }
}

static bool flush(const struct connection *connection) {
    char *data;
    size_t len = (size_t)BIO_get_mem_data(connection->out, &data);

    while (len > 0) {
        ssize_t n = send(connection->fd, data, len, MSG_NOSIGNAL);

        if (n < 0 && errno != EINTR) {
            return false;
        }
        data += n > 0 ? n : 0;
        len -= n > 0 ? (size_t)n : 0;
    }
    BIO_reset(connection->out);
    return true;
}

static bool get(const struct connection *connection, void *data, size_t len) {
    for (size_t at = 0; at < len;) {
        unsigned char *to = (unsigned char *)data + at;
        ssize_t n = connection->ssl != NULL
                        ? SSL_read(connection->ssl, to, (int)(len - at))
                        : recv(connection->fd, to, len - at, 0);

        if (n <= 0) {
            return false;
        }
        at += (size_t)n;
    }
    return true;
}

/* ---- WebSocket ---- */

/* The longest frame: a response and its header. */
#define FRAME_MAX (16384 + BENCH_FRAME_HEADER)

static void put_frame(const struct connection *connection, unsigned first,
                      const void *data, size_t len) {
    unsigned char frame[FRAME_MAX];

    put(connection, frame, bench_frame(frame, first, data, len));
}

/* Reads frames up to the first text. */
static bool get_text(const struct connection *connection, char *text,
                     size_t size) {
    unsigned char header[2], extended[2], mask[4];
    size_t len;

    do {
        if (!get(connection, header, 2)) {
            return false;
        }
        len = header[1] & 0x7Fu;
        if (len == 126) {
            if (!get(connection, extended, 2)) {
                return false;
            }
            len = (size_t)extended[0] << 8 | extended[1];
        }
        if (len >= size || !get(connection, mask, 4) ||
            !get(connection, text, len)) {
            return false;
        }
        for (size_t i = 0; i < len; i++) {
            text[i] = (char)((unsigned char)text[i] ^ mask[i % 4]);
        }
        text[len] = '\0';
    } while (header[0] != 0x81);
    return true;
}

/* Sends the request back, with success in each entry. */
static void put_answer(const struct connection *connection, const char *text) {
    static const char success[] = ",\"success\":true";
    char answer[FRAME_MAX - BENCH_FRAME_HEADER];
    size_t len = 0;
    int depth = 0;

    for (; *text != '\0' && len < sizeof answer - sizeof success; text++) {
        depth += *text == '{';
        if (*text == '}' && depth-- == 2) {
            memcpy(answer + len, success, sizeof success - 1);
            len += sizeof success - 1;
        }
        answer[len++] = *text;
    }
    put_frame(connection, 0x81, answer, len);
}

/* Reads a request's path; false if it is malformed. */
static bool order_read(const char *request, struct order *order) {
    unsigned long numbers[5];

    request += strncmp(request, "GET ", 4) == 0 ? 4 : 0;
    for (size_t i = 0; i < 5; i++) {
        char *end;

        if (*request != '/') {
            return false;
        }
        numbers[i] = strtoul(request + 1, &end, 10);
        request = end;
    }
    order->messages = numbers[0];
    order->record = (unsigned)numbers[1];
    order->rate = (unsigned)numbers[2];
    order->markets = (unsigned)numbers[3];
    order->connections = (unsigned)numbers[4];
    return order->markets >= 1 && order->markets <= CORPUS_MARKETS_MAX &&
           order->connections >= 1 && order->connections <= CONNECTIONS_MAX;
}

/* Reads and answers the request to upgrade. */
static bool upgrade(const struct connection *connection, struct order *order) {
    unsigned char digest[EVP_MAX_MD_SIZE];
    char request[8192], keyed[128], accept[64], response[256];
    size_t len = 0;
    const char *key;
    int n;

    do {
        if (len == sizeof request - 1 || !get(connection, request + len++, 1)) {
            return false;
        }
        request[len] = '\0';
    } while (len < 4 || memcmp(request + len - 4, "\r\n\r\n", 4) != 0);
    key = strcasestr(request, "\r\nSec-WebSocket-Key: ");
    if (key == NULL || !order_read(request, order)) {
        return false;
    }
    n = snprintf(keyed, sizeof keyed, "%.24s" GUID, key + 21);
    EVP_Digest(keyed, (size_t)n, digest, NULL, EVP_sha1(), NULL);
    EVP_EncodeBlock((unsigned char *)accept, digest, 20);
    n = snprintf(response, sizeof response,
                 "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n"
                 "Connection: Upgrade\r\nSec-WebSocket-Accept: %s\r\n\r\n",
                 accept);
    put(connection, response, (size_t)n);
    return flush(connection);
}

/* ---- Streams ---- */

static const struct corpus *corpus_of(unsigned markets) {
    static struct corpus corpora[CORPUS_MARKETS_MAX + 1];
    struct corpus *corpus = &corpora[markets];

    if (corpus->count == 0) {
        corpus_mixed(corpus, CORPUS_VARIED_MESSAGES, markets, CORPUS_VARIED);
    }
    return corpus;
}

/* Encrypts all that is sent over the connection with this number. */
static void prepare(const struct connection *connections, size_t number,
                    const struct order *order, const struct corpus *corpus) {
    static unsigned char record[RECORD + FRAME_MAX];
    const struct connection *connection = &connections[number];
    size_t len = 0;

    for (size_t i = number; i < order->messages; i += order->connections) {
        const struct corpus_message *m = &corpus->messages[i % corpus->count];

        if (m->len > FRAME_MAX - BENCH_FRAME_HEADER) {
            die("message too long");
        }
        len += bench_frame(record + len, 0x81, corpus->text + m->at, m->len);
        if (order->record == 1) {
            put(connection, record, len);
            len = 0;
        }
        while (len >= RECORD) {
            put(connection, record, RECORD);
            len -= RECORD;
            memmove(record, record + RECORD, len);
        }
    }
    if (len > 0) {
        put(connection, record, len);
    }
}

/* Sends a part of the pending output, if possible. Returns the rest's
 * length. */
static size_t send_part(struct connection *connection) {
    char *data;
    size_t left =
        (size_t)BIO_get_mem_data(connection->out, &data) - connection->sent;
    ssize_t n = send(connection->fd, data + connection->sent,
                     left < PART ? left : PART, MSG_NOSIGNAL | MSG_DONTWAIT);

    if (n < 0 && errno != EAGAIN && errno != EINTR) {
        return 0; /* the connection has ended */
    }
    connection->sent += n > 0 ? (size_t)n : 0;
    return left - (n > 0 ? (size_t)n : 0);
}

/* Encrypts everything, then sends it as fast as it is taken, a part over each
 * connection in turn. */
static void send_at_once(struct connection *connections,
                         const struct order *order,
                         const struct corpus *corpus) {
    size_t left = 1;

    for (size_t i = 0; i < order->connections; i++) {
        prepare(connections, i, order, corpus);
    }
    if (order->connections == 1) {
        flush(connections);
        return;
    }
    while (left > 0) {
        left = 0;
        for (size_t i = 0; i < order->connections; i++) {
            left += send_part(&connections[i]);
        }
    }
    for (size_t i = 0; i < order->connections; i++) {
        BIO_reset(connections[i].out);
    }
}

/* Sends at a steady rate, over each connection in turn. */
static void send_paced(const struct connection *connections,
                       const struct order *order, const struct corpus *corpus) {
    uint64_t due = bench_ns(CLOCK_MONOTONIC);
    bool up = true;

    for (size_t i = 0; i < order->messages && i < stamps_len && up; i++) {
        const struct corpus_message *m = &corpus->messages[i % corpus->count];
        const struct connection *connection =
            &connections[i % order->connections];
        struct timespec until;

        due += 1000000000u / order->rate;
        until.tv_sec = (time_t)(due / 1000000000u);
        until.tv_nsec = (long)(due % 1000000000u);
        put_frame(connection, 0x81, corpus->text + m->at, m->len);
        clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
        stamps[i] = bench_ns(CLOCK_MONOTONIC);
        up = flush(connection);
    }
}

static void report(const struct order *order, const struct corpus *corpus) {
    uint64_t sum = 0;

    for (size_t i = 0; i < order->messages; i++) {
        sum += corpus->messages[i % corpus->count].sum;
    }
    printf("%zu %016" PRIx64 "\n", order->messages, sum);
    fflush(stdout);
}

/* Sends what the path asks for, over all connections. */
static void serve(struct connection *connections, const struct order *order) {
    const struct corpus *corpus = corpus_of(order->markets);

    if (order->rate > 0) {
        send_paced(connections, order, corpus);
    } else {
        send_at_once(connections, order, corpus);
    }
    for (unsigned i = 0; i < order->connections; i++) {
        put_frame(&connections[i], 0x88, "\3\350", 2);
        flush(&connections[i]);
    }
    report(order, corpus);
}

/* Serves a connection up to the response to its subscribe request. */
static bool begin(struct connection *connection, SSL_CTX *context,
                  struct order *order) {
    char text[8192];

    setsockopt(connection->fd, IPPROTO_TCP, TCP_NODELAY, &(int){1},
               sizeof(int));
    connection->out = BIO_new(BIO_s_mem());
    if (context != NULL) {
        connection->ssl = SSL_new(context);
        SSL_set_fd(connection->ssl, connection->fd);
        if (SSL_accept(connection->ssl) != 1) {
            return false;
        }
        BIO_up_ref(connection->out);
        SSL_set0_wbio(connection->ssl, connection->out);
    }
    if (!upgrade(connection, order) ||
        !get_text(connection, text, sizeof text)) {
        return false;
    }
    put_answer(connection, text);
    return flush(connection);
}

static void end(const struct connection *connection) {
    char rest[4096];

    if (connection->ssl != NULL) {
        SSL_shutdown(connection->ssl); /* or the session would be dropped */
        SSL_set_shutdown(connection->ssl,
                         SSL_SENT_SHUTDOWN | SSL_RECEIVED_SHUTDOWN);
        flush(connection);
        SSL_free(connection->ssl);
    }
    shutdown(connection->fd, SHUT_WR);
    while (recv(connection->fd, rest, sizeof rest, 0) > 0) {}
    BIO_free(connection->out);
    close(connection->fd);
}

/* Accepts as many connections as the first one asks for, serves them and ends
 * them. */
static void accept_all(int listener, SSL_CTX *context) {
    static struct connection connections[CONNECTIONS_MAX];
    struct order order = {.connections = 1};
    unsigned count = 0;

    while (count < order.connections) {
        struct connection *connection = &connections[count];

        *connection = (struct connection){.fd = accept(listener, NULL, NULL)};
        if (connection->fd < 0) {
            die("accept");
        }
        count++;
        if (!begin(connection, context, &order)) {
            order.messages = 0;
            break;
        }
    }
    if (order.messages > 0) {
        serve(connections, &order);
    }
    for (unsigned i = 0; i < count; i++) {
        end(&connections[i]);
    }
}

/* ---- Preparation ---- */

static SSL_CTX *context_new(const char *cipher, const char *directory) {
    SSL_CTX *context = SSL_CTX_new(TLS_server_method());
    char cert[256], key[256];

    snprintf(cert, sizeof cert, "%s/cert.pem", directory);
    snprintf(key, sizeof key, "%s/key.pem", directory);
    if (context == NULL ||
        SSL_CTX_set_max_proto_version(context, TLS1_2_VERSION) != 1 ||
        SSL_CTX_set_cipher_list(context, cipher) != 1 ||
        SSL_CTX_use_certificate_chain_file(context, cert) != 1 ||
        SSL_CTX_use_PrivateKey_file(context, key, SSL_FILETYPE_PEM) != 1 ||
        SSL_CTX_set_session_id_context(context, (const unsigned char *)"b",
                                       1) != 1) {
        die("TLS");
    }
    return context;
}

static int listen_any(void) {
    int listener = socket(AF_INET, SOCK_STREAM, 0);
    struct sockaddr_in address = {
        .sin_family = AF_INET,
        .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
    };
    socklen_t len = sizeof address;

    if (listener < 0 ||
        bind(listener, (struct sockaddr *)&address, sizeof address) != 0 ||
        listen(listener, CONNECTIONS_MAX) != 0 ||
        getsockname(listener, (struct sockaddr *)&address, &len) != 0) {
        die("listen");
    }
    printf("%d\n", ntohs(address.sin_port));
    fflush(stdout);
    return listener;
}

static void map_stamps(const char *directory) {
    char path[256];
    FILE *file;
    long size;

    snprintf(path, sizeof path, "%s/stamps", directory);
    file = fopen(path, "r+b");
    if (file == NULL || fseek(file, 0, SEEK_END) != 0 ||
        (size = ftell(file)) < 0) {
        die(path);
    }
    stamps_len = (size_t)size / sizeof *stamps;
    stamps = mmap(NULL, (size_t)size, PROT_READ | PROT_WRITE, MAP_SHARED,
                  fileno(file), 0);
    if (stamps == MAP_FAILED) {
        die(path);
    }
    fclose(file);
}

int main(int argc, char **argv) {
    SSL_CTX *context = NULL;
    int listener;

    if (argc != 3) {
        fputs("usage: server PLAIN|CIPHER DIRECTORY\n", stderr);
        return 2;
    }
    signal(SIGPIPE, SIG_IGN);
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    prctl(PR_SET_TIMERSLACK, 1ul);
    if (strcmp(argv[1], "PLAIN") != 0) {
        context = context_new(argv[1], argv[2]);
    }
    map_stamps(argv[2]);
    corpus_of(CORPUS_VARIED_MARKETS); /* not while a client waits */
    listener = listen_any();
    for (;;) {
        accept_all(listener, context);
    }
}
