/*
 * Tests of the POSIX port: what the library relies on, through the functions
 * of struct mst_port, against small servers on the loopback interface.
 *
 * No query leaves the machine: getaddrinfo() is replaced here. So are
 * getrandom(), socket(), socketpair() and connect(), to make them fail.
 *
 * SPDX-License-Identifier: 0BSD
 */
#define _GNU_SOURCE

#include "cases.h"

#include <arpa/inet.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include "real.h"

static const char *const hosts[] = {"127.0.0.1", "::1"};
static struct mst_posix_link links[1];
static struct mst_posix posix;
static struct mst_port port;

/* ---- Functions of the system, replaced ---- */

static sem_t hang_entered, hang_leave;
static sigset_t hang_mask; /* signals blocked in the thread that hangs */

/* Lists count loopback addresses, the first of IPv6, the others of IPv4. */
static int many_addresses(const char *service, int count,
                          struct addrinfo **list) {
    struct addrinfo **at = list;

    for (int i = 0; i < count; i++) {
        struct addrinfo hints = {.ai_flags = AI_NUMERICHOST,
                                 .ai_socktype = SOCK_STREAM};
        char host[32];
        int rc;

        REAL_OF(getaddrinfo);
        snprintf(host, sizeof host, i == 0 ? "::1" : "127.0.0.%d", i);
        rc = real(host, service, &hints, at);
        if (rc != 0) {
            return rc;
        }
        at = &(*at)->ai_next;
    }
    return 0;
}

/*
 * Knows these names: "hang.test" hangs until hang_leave is posted; "two.test"
 * and "many.test" have 2 and 40 addresses; "system.test" fails with an errno;
 * names in ".invalid" have none (RFC 6761). The system resolves all others.
 */
int getaddrinfo(const char *name, const char *service,
                const struct addrinfo *req, struct addrinfo **pai) {
    REAL_OF(getaddrinfo);

    if (req->ai_flags & AI_NUMERICHOST) {
        return real(name, service, req, pai);
    }
    if (strcmp(name, "hang.test") == 0) {
        pthread_sigmask(SIG_BLOCK, NULL, &hang_mask);
        sem_post(&hang_entered);
        sem_wait(&hang_leave);
        return EAI_AGAIN;
    }
    if (strcmp(name, "two.test") == 0) {
        return many_addresses(service, 2, pai);
    }
    if (strcmp(name, "many.test") == 0) {
        return many_addresses(service, 40, pai);
    }
    if (strcmp(name, "system.test") == 0) {
        errno = ENFILE;
        return EAI_SYSTEM;
    }
    if (strstr(name, ".invalid") != NULL) {
        return EAI_NONAME;
    }
    return real(name, service, req, pai);
}

static int getrandom_errno;
static size_t getrandom_most = SIZE_MAX;
static unsigned getrandom_calls, getrandom_flags;

ssize_t getrandom(void *buffer, size_t length, unsigned flags) {
    REAL_OF(getrandom);

    getrandom_calls++;
    getrandom_flags = flags;
    if (getrandom_errno != 0) {
        errno = getrandom_errno;
        return -1;
    }
    if (getrandom_most < SIZE_MAX && getrandom_calls % 2 == 0) {
        errno = EINTR;
        return -1;
    }
    return real(buffer, length < getrandom_most ? length : getrandom_most,
                flags);
}

static int connect_errno;

/* The argument has the type of glibc's header in GNU mode. */
int connect(int fd, __CONST_SOCKADDR_ARG addr, socklen_t len) {
    REAL_OF(connect);

    if (connect_errno != 0) {
        errno = connect_errno;
        return -1;
    }
    return real(fd, addr, len);
}

static int socket_errno;

int socket(int domain, int type, int protocol) {
    REAL_OF(socket);

    if (socket_errno != 0) {
        errno = socket_errno;
        return -1;
    }
    return real(domain, type, protocol);
}

int socketpair(int domain, int type, int protocol, int fds[2]) {
    REAL_OF(socketpair);

    if (socket_errno != 0) {
        errno = socket_errno;
        return -1;
    }
    return real(domain, type, protocol, fds);
}

/* ---- Helpers ---- */

static void short_sleep(void) {
    const struct timespec pause = {0, 1000000};

    nanosleep(&pause, NULL);
}

/* Asks the resolver once: number of addresses, an error, or 0 if unfinished. */
static int resolve_once(const char *host, uint16_t number) {
    struct mst_endpoint endpoint = {.port = number};

    snprintf(endpoint.host, sizeof endpoint.host, "%s", host);
    return port.resolve(port.context, 0, &endpoint);
}

/* Resolves to the end: a number of addresses, or an error. */
static int resolve(const char *host, uint16_t number) {
    int rc;

    while ((rc = resolve_once(host, number)) == 0) {
        short_sleep();
    }
    return rc;
}

/* Connects to the end. */
static int connect_to(int address) {
    int rc;

    while ((rc = port.connect(port.context, 0, address)) == 0) {
        short_sleep();
    }
    return rc;
}

/* Reads until there is data or an error. */
static int receive(void *data, size_t len) {
    int rc;

    while ((rc = port.recv(port.context, 0, data, len)) == 0) {
        short_sleep();
    }
    return rc;
}

/* A socket on a free port, which listens if backlog >= 0. */
static int server_socket(const char *host, int backlog, uint16_t *number) {
    int fd = real_socket(host, 0);

    assert_true(fd >= 0);
    *number = real_port(fd);
    if (backlog >= 0) {
        assert_int_equal(listen(fd, backlog), 0);
    }
    return fd;
}

/* Connects link 0 to a server at this address. Returns the server's end. */
static int connected_pair(const char *host) {
    uint16_t number;
    int listener = server_socket(host, 1, &number);
    int peer;

    assert_int_equal(resolve(host, number), 1);
    assert_int_equal(connect_to(0), 1);
    peer = accept(listener, NULL, NULL);
    assert_true(peer >= 0);
    close(listener);
    return peer;
}

static int set_up(void **state) {
    (void)state;
    getrandom_errno = 0;
    getrandom_most = SIZE_MAX;
    getrandom_calls = 0;
    connect_errno = socket_errno = 0;
    sem_init(&hang_entered, 0, 0);
    sem_init(&hang_leave, 0, 0);
    return mst_posix_init(&posix, links, 1, &port);
}

static int tear_down(void **state) {
    (void)state;
    mst_posix_free(&posix);
    return 0;
}

/* ---- Init, clocks, entropy ---- */

TEST_CASE(init_fills_the_port) {
    struct mst_posix other;

    assert_ptr_equal(port.context, &posix);
    assert_int_equal(port.flags, MST_PORT_DRAINS);
    assert_non_null(port.now_ns);
    assert_non_null(port.detail);
    assert_int_equal(mst_posix_init(NULL, links, 1, &port), MST_ERR_ARGUMENT);
    assert_int_equal(mst_posix_init(&other, NULL, 1, &port), MST_ERR_ARGUMENT);
    assert_int_equal(mst_posix_init(&other, links, 0, &port), MST_ERR_ARGUMENT);
    assert_int_equal(mst_posix_init(&other, links, 1, NULL), MST_ERR_ARGUMENT);
}

TEST_CASE(clocks_agree_and_go_forward) {
    uint64_t ns = port.now_ns(port.context);
    uint32_t ms = port.now_ms(port.context);
    int64_t before = (int64_t)time(NULL);
    int64_t wall = 0;

    /* The clock of ms may be a tick behind. */
    assert_true((uint32_t)(ms + 100 - (uint32_t)(ns / 1000000)) < 60000);
    assert_true(port.now_ns(port.context) >= ns);
    assert_true((uint32_t)(port.now_ms(port.context) - ms) < 60000);
    assert_int_equal(port.unix_ns(port.context, &wall), 0);
    assert_true(wall / 1000000000 >= before - 1);
    assert_true(wall / 1000000000 <= (int64_t)time(NULL) + 1);
}

/* Each byte must change in some of 64 draws: else it was never written. */
static void assert_fills(size_t len) {
    unsigned char first[600], next[600], changed[600] = {0};

    assert_true(len < sizeof first);
    memset(first, 0xA5, sizeof first);
    assert_int_equal(port.entropy(port.context, first, len), 0);
    assert_int_equal(first[len], 0xA5);
    for (int draw = 0; draw < 64; draw++) {
        assert_int_equal(port.entropy(port.context, next, len), 0);
        for (size_t i = 0; i < len; i++) {
            changed[i] |= first[i] ^ next[i];
        }
    }
    for (size_t i = 0; i < len; i++) {
        assert_int_not_equal(changed[i], 0);
    }
}

TEST_CASE(entropy_fills_all) {
    assert_fills(1);
    assert_fills(500);
    assert_true(getrandom_calls > 0);
    /* It must not wait for a system that has just started. */
    assert_true(getrandom_flags & GRND_NONBLOCK);
}

TEST_CASE(entropy_goes_on_after_part_and_signal) {
    getrandom_most = 7;
    assert_fills(500);
}

TEST_CASE(entropy_without_getrandom) {
    getrandom_errno = ENOSYS;
    assert_fills(500);
}

TEST_CASE(entropy_not_ready_is_an_error) {
    unsigned char byte;

    getrandom_errno = EAGAIN;
    assert_int_equal(port.entropy(port.context, &byte, 1), MST_ERR_ENTROPY);
}

/* ---- Resolver ---- */

TEST_CASE(addresses_need_no_wait) {
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(resolve_once(hosts[i], 80), 1);
        assert_int_equal(links[0].set, -1);
    }
}

TEST_CASE(localhost_resolves) {
    assert_true(resolve("localhost", 80) >= 1);
    assert_int_equal(port.detail(port.context, 0), 0);
}

TEST_CASE(unknown_name_is_an_error) {
    assert_int_equal(resolve_once("nobody.invalid", 80), 0);
    assert_int_equal(resolve("nobody.invalid", 80), MST_ERR_RESOLVE);
    assert_int_equal(port.detail(port.context, 0), EAI_NONAME);
    /* Once more, from the beginning. */
    assert_int_equal(resolve("nobody.invalid", 80), MST_ERR_RESOLVE);
    /* The error does not affect the next name. */
    assert_int_equal(resolve("127.0.0.1", 80), 1);
    assert_int_equal(port.detail(port.context, 0), 0);
}

TEST_CASE(resolver_failure_of_the_system) {
    assert_int_equal(resolve("system.test", 80), MST_ERR_PORT);
    assert_int_equal(port.detail(port.context, 0), ENFILE);
}

TEST_CASE(addresses_are_capped_in_order) {
    const union mst_posix_address *addresses = links[0].answer.addresses;

    assert_int_equal(resolve("many.test", 4711), MST_POSIX_ADDRESSES_MAX);
    assert_int_equal(addresses[0].any.sa_family, AF_INET6);
    assert_int_equal(ntohs(addresses[0].v6.sin6_port), 4711);
    for (int i = 1; i < MST_POSIX_ADDRESSES_MAX; i++) {
        assert_int_equal(addresses[i].any.sa_family, AF_INET);
        assert_int_equal(ntohl(addresses[i].v4.sin_addr.s_addr) & 0xFF, i);
        assert_int_equal(ntohs(addresses[i].v4.sin_port), 4711);
    }
}

TEST_CASE(hung_resolver_stalls_nothing) {
    int descriptors = real_descriptors();

    assert_int_equal(resolve_once("hang.test", 80), 0);
    sem_wait(&hang_entered);
    assert_int_equal(resolve_once("hang.test", 80), 0);
    assert_int_equal(resolve_once("hang.test", 80), 0);
    port.close(port.context, 0);
    port.close(port.context, 0);
    /* The link can be used again while the thread still hangs. */
    assert_int_equal(resolve_once("127.0.0.1", 80), 1);
    /* mst_posix_free() gives up another one. */
    assert_int_equal(resolve_once("hang.test", 80), 0);
    sem_wait(&hang_entered);
    mst_posix_free(&posix);
    /* Both threads end and leave nothing open. */
    sem_post(&hang_leave);
    sem_post(&hang_leave);
    while (real_descriptors() > descriptors) {
        short_sleep();
    }
}

TEST_CASE(signals_stay_with_the_program) {
    static const int numbers[] = {SIGINT, SIGTERM, SIGALRM, SIGUSR1, SIGPIPE};
    sigset_t before, after;

    pthread_sigmask(SIG_BLOCK, NULL, &before);
    assert_int_equal(resolve_once("hang.test", 80), 0);
    pthread_sigmask(SIG_BLOCK, NULL, &after);
    sem_wait(&hang_entered);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        assert_int_equal(sigismember(&hang_mask, numbers[i]), 1);
        assert_int_equal(sigismember(&after, numbers[i]),
                         sigismember(&before, numbers[i]));
    }
    sem_post(&hang_leave);
    assert_int_equal(resolve("hang.test", 80), MST_ERR_RESOLVE);
    assert_int_equal(port.detail(port.context, 0), EAI_AGAIN);
}

TEST_CASE(no_thread_is_an_error) {
    int descriptors = real_descriptors();
    pthread_attr_t before, huge;

    pthread_getattr_default_np(&before);
    pthread_attr_init(&huge);
    pthread_attr_setstacksize(&huge, SIZE_MAX / 2 + 1);
    assert_int_equal(pthread_setattr_default_np(&huge), 0);
    assert_int_equal(resolve_once("nobody.invalid", 80), MST_ERR_PORT);
    assert_int_not_equal(port.detail(port.context, 0), 0);
    assert_int_equal(pthread_setattr_default_np(&before), 0);
    assert_int_equal(real_descriptors(), descriptors);
    assert_int_equal(resolve("nobody.invalid", 80), MST_ERR_RESOLVE);
    pthread_attr_destroy(&before);
    pthread_attr_destroy(&huge);
}

TEST_CASE(no_descriptor_is_an_error) {
    int descriptors = real_descriptors();

    socket_errno = EMFILE;
    assert_int_equal(resolve_once("nobody.invalid", 80), MST_ERR_PORT);
    assert_int_equal(port.detail(port.context, 0), EMFILE);
    assert_int_equal(resolve_once("127.0.0.1", 80), 1);
    assert_int_equal(port.connect(port.context, 0, 0), MST_ERR_PORT);
    assert_int_equal(port.detail(port.context, 0), EMFILE);
    socket_errno = EAFNOSUPPORT;
    assert_int_equal(port.connect(port.context, 0, 0), MST_ERR_UNREACHABLE);
    assert_int_equal(real_descriptors(), descriptors);
}

/* ---- Connect ---- */

TEST_CASE(connects_and_passes_bytes) {
    for (size_t i = 0; i < 2; i++) {
        int peer = connected_pair(hosts[i]);
        int fd = links[0].fd;
        int no_delay = 0;
        socklen_t len = sizeof no_delay;
        char data[8];

        assert_int_equal(port.connect(port.context, 0, 0), 1);
        assert_int_equal(port.recv(port.context, 0, data, sizeof data), 0);
        assert_int_equal(port.send(port.context, 0, "there", 5), 5);
        assert_int_equal(recv(peer, data, 5, MSG_WAITALL), 5);
        assert_memory_equal(data, "there", 5);
        assert_int_equal(send(peer, "back", 4, 0), 4);
        assert_int_equal(receive(data, sizeof data), 4);
        assert_memory_equal(data, "back", 4);

        getsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &no_delay, &len);
        assert_int_not_equal(no_delay, 0);
        assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
        port.close(port.context, 0);
        assert_int_equal(recv(peer, data, sizeof data, 0), 0);
        close(peer);
    }
}

/* The program's output must not go to the resolver or the peer. */
TEST_CASE(no_socket_becomes_a_standard_stream) {
    int listener = real_socket("127.0.0.1", 0);
    int kept = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    int resolving, closed;

    close(STDIN_FILENO);
    resolving = resolve_once("hang.test", 80);
    closed = fcntl(STDIN_FILENO, F_GETFD);
    dup2(kept, STDIN_FILENO);
    assert_int_equal(resolving, 0);
    assert_int_equal(closed, -1);
    sem_wait(&hang_entered);
    port.close(port.context, 0);
    sem_post(&hang_leave);

    assert_int_equal(listen(listener, 1), 0);
    assert_int_equal(resolve_once("127.0.0.1", real_port(listener)), 1);
    close(STDIN_FILENO);
    (void)port.connect(port.context, 0, 0);
    closed = fcntl(STDIN_FILENO, F_GETFD);
    dup2(kept, STDIN_FILENO);
    assert_int_equal(closed, -1);
    assert_true(links[0].fd > STDERR_FILENO || links[0].fds[0] > STDERR_FILENO);
    port.close(port.context, 0);
    close(kept);
    close(listener);
}

/* The last data sent arrives, without a reset, although data is unread. */
TEST_CASE(what_was_sent_last_survives_a_close) {
    static char unread[300000], data[8];
    int peer = connected_pair("127.0.0.1");

    assert_int_equal(send(peer, unread, sizeof unread, 0), sizeof unread);
    short_sleep();
    assert_int_equal(port.send(port.context, 0, "last", 4), 4);
    port.close(port.context, 0);
    assert_int_equal(recv(peer, data, sizeof data, 0), 4);
    assert_memory_equal(data, "last", 4);
    assert_int_equal(recv(peer, data, sizeof data, 0), 0);
    close(peer);
}

TEST_CASE(refused_is_named) {
    int descriptors;
    uint16_t number;
    int holder = server_socket("127.0.0.1", -1, &number);

    assert_int_equal(resolve("127.0.0.1", number), 1);
    descriptors = real_descriptors();
    assert_int_equal(connect_to(0), MST_ERR_REFUSED);
    assert_int_equal(port.detail(port.context, 0), ECONNREFUSED);
    assert_int_equal(real_descriptors(), descriptors);
    /* The same address may be tried again. */
    assert_int_equal(listen(holder, 1), 0);
    assert_int_equal(connect_to(0), 1);
    close(holder);
}

TEST_CASE(next_address_after_a_refused_one) {
    uint16_t number;
    int listener = server_socket("127.0.0.1", 1, &number);

    assert_int_equal(resolve("two.test", number), 2);
    assert_int_equal(connect_to(0), MST_ERR_REFUSED);
    assert_int_equal(connect_to(1), 1);
    assert_int_equal(port.connect(port.context, 0, 2), MST_ERR_PORT);
    assert_int_equal(port.connect(port.context, 0, -1), MST_ERR_PORT);
    close(listener);
}

TEST_CASE(unanswered_connect_can_be_left) {
    uint16_t number;
    int listener = server_socket("127.0.0.1", -1, &number);
    int fillers[REAL_FILLERS];
    int descriptors;

    assert_int_equal(resolve("127.0.0.1", number), 1);
    real_listen_in_vain(listener, fillers);
    descriptors = real_descriptors();
    for (int i = 0; i < 20; i++) {
        assert_int_equal(port.connect(port.context, 0, 0), 0);
        short_sleep();
    }
    port.close(port.context, 0);
    assert_int_equal(real_descriptors(), descriptors);

    /* Also for the next address, without a close in between. */
    assert_int_equal(resolve("many.test", number), MST_POSIX_ADDRESSES_MAX);
    assert_int_equal(port.connect(port.context, 0, 1), 0);
    assert_int_equal(connect_to(2), MST_ERR_REFUSED);
    assert_int_equal(connect_to(3), MST_ERR_REFUSED);
    port.close(port.context, 0);
    assert_int_equal(real_descriptors(), descriptors);
    real_close(fillers);
    close(listener);
    assert_int_equal(resolve("127.0.0.1", 1), 1);
}

TEST_CASE(connect_errors_are_named) {
    static const struct {
        int number, error;
    } cases[] = {
        {ENETUNREACH, MST_ERR_UNREACHABLE},
        {EHOSTUNREACH, MST_ERR_UNREACHABLE},
        {ENETDOWN, MST_ERR_UNREACHABLE},
        {ETIMEDOUT, MST_ERR_UNREACHABLE},
        {EADDRNOTAVAIL, MST_ERR_UNREACHABLE},
        {ECONNREFUSED, MST_ERR_REFUSED},
        {ECONNRESET, MST_ERR_RESET},
        {EACCES, MST_ERR_PORT},
    };
    int descriptors;

    assert_int_equal(resolve("127.0.0.1", 1), 1);
    descriptors = real_descriptors();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        connect_errno = cases[i].number;
        assert_int_equal(connect_to(0), cases[i].error);
        assert_int_equal(port.detail(port.context, 0), cases[i].number);
    }
    assert_int_equal(real_descriptors(), descriptors);
}

/* ---- Send, receive, close ---- */

TEST_CASE(full_buffer_takes_a_part) {
    enum { BLOCK = 1 << 20 };
    unsigned char *block = malloc(BLOCK);
    int peer = connected_pair("127.0.0.1");
    bool part = false;
    size_t sent = 0, got = 0;
    int rc;

    assert_non_null(block);
    /* Byte n of the stream is a function of n. */
    do {
        for (size_t i = 0; i < BLOCK; i++) {
            block[i] = (unsigned char)((sent + i) * 31 >> 3);
        }
        rc = port.send(port.context, 0, block, BLOCK);
        assert_true(rc >= 0);
        part |= rc > 0 && rc < BLOCK;
        sent += (size_t)rc;
    } while (rc > 0);
    assert_true(part);
    assert_int_equal(port.send(port.context, 0, block, BLOCK), 0);
    while (got < sent) {
        ssize_t n = recv(peer, block, BLOCK, 0);

        assert_true(n > 0);
        for (size_t i = 0; i < (size_t)n; i++) {
            assert_int_equal(block[i], (unsigned char)((got + i) * 31 >> 3));
        }
        got += (size_t)n;
    }
    assert_int_equal(got, sent);
    assert_true(port.send(port.context, 0, block, BLOCK) > 0);
    close(peer);
    free(block);
}

TEST_CASE(end_comes_after_the_data) {
    int peer = connected_pair("127.0.0.1");
    char data[3];

    assert_int_equal(send(peer, "abcd", 4, 0), 4);
    close(peer);
    assert_int_equal(receive(data, sizeof data), 3);
    assert_int_equal(receive(data, sizeof data), 1);
    assert_int_equal(data[0], 'd');
    assert_int_equal(receive(data, sizeof data), MST_ERR_EOF);
    assert_int_equal(port.detail(port.context, 0), 0);
    assert_int_equal(receive(data, sizeof data), MST_ERR_EOF);
}

TEST_CASE(reset_is_named) {
    const struct linger at_once = {1, 0};
    int peer = connected_pair("127.0.0.1");
    char data[4];

    setsockopt(peer, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
    close(peer);
    assert_int_equal(receive(data, sizeof data), MST_ERR_RESET);
    assert_int_equal(port.detail(port.context, 0), ECONNRESET);
}

static volatile sig_atomic_t signals_caught;

static void count_signal(int number) {
    (void)number;
    signals_caught++;
}

TEST_CASE(no_sigpipe) {
    struct sigaction action = {.sa_handler = count_signal}, before;
    int peer = connected_pair("127.0.0.1");
    int rc;

    signals_caught = 0;
    sigaction(SIGPIPE, &action, &before);
    close(peer);
    do {
        rc = port.send(port.context, 0, "data", 4);
    } while (rc >= 0);
    assert_int_equal(rc, MST_ERR_RESET);
    assert_int_equal(port.send(port.context, 0, "data", 4), MST_ERR_RESET);
    assert_int_equal(port.detail(port.context, 0), EPIPE);
    sigaction(SIGPIPE, &before, NULL);
    assert_int_equal(signals_caught, 0);
}

TEST_CASE(close_is_legal_at_any_time) {
    int descriptors = real_descriptors();
    int peer;

    for (int i = 0; i < 2; i++) {
        port.close(port.context, i);
    }
    peer = connected_pair("127.0.0.1");
    port.close(port.context, 0);
    port.close(port.context, 0);
    close(peer);
    assert_int_equal(real_descriptors(), descriptors);
    /* The link can be used again. */
    close(connected_pair("127.0.0.1"));
    mst_posix_free(&posix);
    mst_posix_free(&posix);
    assert_int_equal(real_descriptors(), descriptors);
}

RUN_WITH(set_up, tear_down, NULL, NULL)
