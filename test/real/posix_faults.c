/*
 * System calls of the POSIX port that fail, or do what they seldom do: each is
 * a named error, or only costs time.
 *
 * SPDX-License-Identifier: 0BSD
 */
#define _GNU_SOURCE

#include <fcntl.h>
#include <limits.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include "faults.h"
#include "support.h"

static size_t asked_len; /* length of the last send() or recv() that failed */
static long result;      /* result of a call that FAULT() replaces */

#define clock_gettime(...) \
    FAULT("clock_gettime", -1, clock_gettime(__VA_ARGS__))
#define open(...) FAULT("open", -1, open(__VA_ARGS__))
#define read(...) FAULT("read", result, read(__VA_ARGS__))
#define fcntl(...) FAULT("fcntl", -1, fcntl(__VA_ARGS__))
#define connect(...) FAULT("connect", (int)result, connect(__VA_ARGS__))
#define poll(...) FAULT("poll", -1, poll(__VA_ARGS__))
#define getsockopt(...) FAULT("getsockopt", -1, getsockopt(__VA_ARGS__))
#define setsockopt(...) FAULT("setsockopt", -1, setsockopt(__VA_ARGS__))
#define malloc(...) FAULT("malloc", NULL, malloc(__VA_ARGS__))
#define pthread_attr_init(...) \
    FAULT("pthread_attr_init", ENOMEM, pthread_attr_init(__VA_ARGS__))
#define epoll_create1(...) \
    FAULT("epoll_create1", -1, epoll_create1(__VA_ARGS__))
#define epoll_ctl(...) FAULT("epoll_ctl", -1, epoll_ctl(__VA_ARGS__))
#define timerfd_create(...) \
    FAULT("timerfd_create", -1, timerfd_create(__VA_ARGS__))
#define timerfd_settime(...) \
    FAULT("timerfd_settime", -1, timerfd_settime(__VA_ARGS__))
#define send(fd, data, len, flags)                      \
    FAULT("send", (ssize_t)(asked_len = (len), result), \
          send(fd, data, len, flags))
#define recv(fd, data, len, flags)                      \
    FAULT("recv", (ssize_t)(asked_len = (len), result), \
          recv(fd, data, len, flags))
#include "mst_posix.c" /* NOLINT(bugprone-suspicious-include) */
#undef connect         /* members of the port's have these names */
#undef recv
#undef send

#define LINKS (MST_POSIX_FEW + 2)

static struct mst_posix_link links[LINKS];
static struct mst_posix posix;
static struct mst_port port;
static struct mst_endpoint endpoint;

static int set_up(void **state) {
    (void)state;
    fault_none();
    result = -1;
    memset(&endpoint, 0, sizeof endpoint);
    endpoint.port = 9; /* discard: nobody listens */
    strcpy(endpoint.host, "127.0.0.1");
    return mst_posix_init(&posix, links, LINKS, &port);
}

static int tear_down(void **state) {
    (void)state;
    fault_none();
    mst_posix_free(&posix);
    return 0;
}

/* ---- clocks and entropy ---- */

TEST_CASE(a_clock_that_fails_is_an_error) {
    int64_t ns;

    fault_set("clock_gettime", 0, EINVAL);
    assert_int_equal(port.unix_ns(port.context, &ns), MST_ERR_CLOCK);
    assert_int_equal(port.unix_ns(port.context, &ns), 0);
}

TEST_CASE(a_device_of_entropy_that_fails_is_an_error) {
    unsigned char data[16];

    fault_set("open", 0, ENOENT);
    assert_int_equal(entropy_from_device(data, sizeof data), MST_ERR_ENTROPY);
    fault_set("read", 0, EIO);
    assert_int_equal(entropy_from_device(data, sizeof data), MST_ERR_ENTROPY);
    result = 0; /* the device's end */
    fault_set("read", 0, 0);
    assert_int_equal(entropy_from_device(data, sizeof data), MST_ERR_ENTROPY);
    result = -1; /* a signal costs nothing */
    fault_set("read", 0, EINTR);
    assert_int_equal(entropy_from_device(data, sizeof data), 0);
}

/* ---- sockets ---- */

TEST_CASE(no_more_is_asked_for_than_an_int_can_say) {
    char byte = 0;

    result = 5;
    fault_set("send", 0, 0);
    assert_int_equal(port.send(port.context, 0, &byte, SIZE_MAX), 5);
    assert_int_equal(asked_len, INT_MAX);
    fault_set("recv", 0, 0);
    assert_int_equal(port.recv(port.context, 0, &byte, SIZE_MAX), 5);
    assert_int_equal(asked_len, INT_MAX);
}

/* A peer that sends without end does not delay a close. */
TEST_CASE(a_close_reads_so_much_and_no_more) {
    struct mst_posix_link link = {.fd = 0};

    result = 1;
    faults[0] = (struct fault){"recv", 0, UINT_MAX, 0};
    link_drain(&link);
    assert_int_equal(UINT_MAX - faults[0].times, DRAIN_ROUNDS);
    fault_none();
}

static int resolve_and_connect(void) {
    assert_int_equal(port.resolve(port.context, 0, &endpoint), 1);
    return port.connect(port.context, 0, 0);
}

TEST_CASE(a_socket_that_cannot_be_set_up_is_an_error) {
    for (unsigned skip = 0; skip < 3; skip++) {
        fault_set("fcntl", skip, EBADF);
        assert_int_equal(resolve_and_connect(), MST_ERR_PORT);
        assert_int_equal(port.detail(port.context, 0), EBADF);
        port.close(port.context, 0);
    }
}

TEST_CASE(every_errno_of_a_reset_is_one) {
    static const int numbers[] = {ECONNRESET, ECONNABORTED, EPIPE};

    for (size_t i = 0; i < COUNT(numbers); i++) {
        fault_set("connect", 0, numbers[i]);
        assert_int_equal(resolve_and_connect(), MST_ERR_RESET);
        port.close(port.context, 0);
    }
}

/* It continues by itself or has ended: its result is seen later. */
TEST_CASE(a_connect_that_is_interrupted_goes_on) {
    for (int i = 0; i < 2; i++) {
        int pair[2];

        assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
        result = i - 1;
        fault_set("connect", 0, EINTR);
        assert_int_equal(port.resolve(port.context, 0, &endpoint), 1);
        socket_begin(&posix, &links[0], 0);
        assert_true(links[0].fds[0] >= 0);
        assert_int_equal(links[0].errors[0], 0);
        assert_int_equal(dup2(pair[0], links[0].fds[0]), links[0].fds[0]);
        assert_int_equal(port.connect(port.context, 0, 0), 1);
        (void)close(pair[0]);
        (void)close(pair[1]);
        port.close(port.context, 0);
    }
}

TEST_CASE(what_cannot_be_asked_about_a_connection_is_its_error) {
    int pair[2];

    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
    links[0].fds[0] = pair[0];
    fault_set("poll", 0, EINTR);
    assert_false(socket_go_on(&links[0], 0));
    assert_int_equal(links[0].errors[0], 0);
    assert_true(socket_go_on(&links[0], 0));
    fault_set("getsockopt", 0, ENOBUFS);
    assert_false(socket_go_on(&links[0], 0));
    assert_int_equal(links[0].errors[0], ENOBUFS);
    assert_int_equal(links[0].fds[0], -1);
    links[0].fds[0] = pair[1];
    fault_set("poll", 0, ENOMEM);
    assert_false(socket_go_on(&links[0], 0));
    assert_int_equal(links[0].errors[0], ENOMEM);
}

/* A wait must not hang if its read cannot have a timeout. */
TEST_CASE(a_socket_without_a_limit_does_not_block) {
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);

    fault_set("setsockopt", 0, EDOM);
    socket_let_block(fd);
    assert_true((fcntl(fd, F_GETFL) & O_NONBLOCK) != 0);
    socket_let_block(fd);
    assert_false((fcntl(fd, F_GETFL) & O_NONBLOCK) != 0);
    (void)close(fd);
}

/* ---- the descriptors of a link that connects ---- */

TEST_CASE(without_a_set_the_link_is_looked_at) {
    static const struct fault cases[] = {
        {"epoll_create1", 0, 1, EMFILE}, {"timerfd_create", 0, 1, EMFILE},
        {"epoll_ctl", 0, 1, ENOSPC},     {"epoll_ctl", 0, 2, EEXIST},
        {"epoll_ctl", 1, 1, ENOMEM},     {"timerfd_settime", 0, 1, EINVAL},
    };
    int pair[2];

    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
    for (size_t i = 0; i < COUNT(cases); i++) {
        const struct pollfd one = {pair[0], POLLIN, 0};

        faults[0] = cases[i];
        mst_posix_link_wait(&links[0], &one, 1, 1000);
        assert_true(links[0].naps);
        mst_posix_link_wait(&links[0], &one, 1, 1000);
        assert_false(links[0].naps);
        set_close(&links[0]);
    }
    (void)close(pair[0]);
    (void)close(pair[1]);
}

/* ---- the resolver ---- */

TEST_CASE(an_address_of_another_family_does_not_count) {
    struct mst_posix_answer answer = {0};
    const struct sockaddr local = {.sa_family = AF_UNIX};

    mst_posix_answer_add(&answer, &local);
    assert_int_equal(answer.count, 0);
    mst_posix_answer_end(&answer, 0);
    assert_int_equal(answer.error, MST_ERR_RESOLVE);
    assert_int_equal(answer.detail, EAI_NONAME);
    mst_posix_answer_end(&answer, EAI_MEMORY);
    assert_int_equal(answer.error, MST_ERR_PORT);
    assert_int_equal(answer.detail, EAI_MEMORY);
}

static int resolve_until_over(void) {
    int rc;

    do {
        rc = port.resolve(port.context, 0, &endpoint);
    } while (rc == 0);
    return rc;
}

TEST_CASE(a_resolver_that_cannot_begin_is_an_error) {
    static const struct fault cases[] = {
        {"fcntl", 0, 1, EBADF},
        {"fcntl", 3, 1, EBADF},
        {"malloc", 0, 1, ENOMEM},
        {"pthread_attr_init", 0, 1, ENOMEM},
    };

    strcpy(endpoint.host, "localhost");
    for (size_t i = 0; i < COUNT(cases); i++) {
        faults[0] = cases[i];
        assert_int_equal(resolve_until_over(), MST_ERR_PORT);
        assert_int_equal(port.detail(port.context, 0), cases[i].error);
        port.close(port.context, 0);
    }
    assert_true(resolve_until_over() > 0);
}

TEST_CASE(an_answer_that_is_not_whole_is_an_error) {
    strcpy(endpoint.host, "localhost");
    for (result = -1; result <= 7; result += 8) {
        fault_set("recv", 0, EBADF);
        assert_int_equal(resolve_until_over(), MST_ERR_PORT);
        assert_int_equal(port.detail(port.context, 0), EIO);
        port.close(port.context, 0);
    }
}

/* ---- waiting ---- */

static struct mst_client clients[LINKS];
static const struct mst_link *objects[LINKS];
static unsigned char memory[LINKS][MST_MEMORY_LEN(MST_LENGTHS_SMALL)];

/* Initialises a client for each link. None is polled yet. */
static void clients_open(void) {
    static struct mst_memory memories[LINKS];

    for (int i = 0; i < LINKS; i++) {
        struct mst_config config = {.ws_url = "ws://localhost",
                                    .auth_url = "http://localhost",
                                    .client_id = "id",
                                    .client_secret = "secret",
                                    .flags = MST_ALLOW_PLAIN,
                                    .link = i};

        memories[i] =
            (struct mst_memory){memory[i], sizeof memory[i], MST_LENGTHS_SMALL};
        assert_int_equal(
            mst_client_init(&clients[i], &config, &port, &memories[i]), 0);
        objects[i] = &clients[i].link;
    }
}

TEST_CASE(a_count_that_no_int_can_say_is_refused) {
    struct mst_posix other;

    assert_int_equal(mst_posix_init(&other, links, (size_t)INT_MAX + 1, &port),
                     MST_ERR_ARGUMENT);
}

TEST_CASE(what_was_never_initialised_can_be_freed) {
    struct mst_posix none = {0};

    mst_posix_free(&none);
}

TEST_CASE(limits_of_time_and_errors_of_a_wait) {
    assert_int_equal(wait_limit(UINT32_MAX), INT_MAX);
    assert_int_equal(wait_limit(7), 7);
    errno = EINTR;
    assert_int_equal(wait_result(-1), 0);
    errno = ENOMEM;
    assert_int_equal(wait_result(-1), MST_ERR_PORT);
    assert_string_equal(mst_posix_strerror(0), "success");
}

TEST_CASE(what_was_read_ahead_is_for_who_reads) {
    links[0].ahead_len = 1;
    assert_true(link_has_read(&links[0], MST_WANT_READ));
    assert_false(link_has_read(&links[0], MST_WANT_WRITE));
    links[0].ahead_at = 1;
    assert_false(link_has_read(&links[0], MST_WANT_READ));
}

/* A read may block longer than its timeout, which the kernel rounds. */
TEST_CASE(a_read_that_blocks_too_long_leaves_no_time) {
    uint32_t ms = 0;
    int pair[2];

    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
    assert_int_equal(write(pair[1], "x", 1), 1);
    links[0].fd = pair[0];
    assert_int_equal(wait_in_recv(&links[0], &ms), 1);
    assert_int_equal(ms, 0);
    ms = 100000;
    result = -1;
    fault_set("recv", 0, EAGAIN);
    assert_int_equal(wait_in_recv(&links[0], &ms), -1);
    assert_in_range(ms, 1, 100000);
    (void)close(pair[1]);
}

/* A deadline before the next look at a link. */
TEST_CASE(a_deadline_comes_before_a_nap_ends) {
    clients_open();
    links[0].naps = true;
    links[0].nap_end = port_now_ms(NULL) + NAP_MS;
    assert_int_equal(mst_posix_wait(&posix, objects, 1, 100000), 1);
    assert_int_equal(mst_posix_next(&posix), 0);
    assert_int_equal(mst_posix_next(&posix), -1);
}

/* An object twice, or other objects than in the last wait. */
TEST_CASE(any_objects_can_be_waited_for) {
    const struct mst_link *others[LINKS];

    clients_open();
    for (int i = 0; i < LINKS; i++) {
        others[i] = objects[LINKS - 1 - i];
    }
    others[0] = others[1];
    assert_int_equal(mst_posix_wait(&posix, objects, LINKS, 0), 1);
    assert_int_equal(mst_posix_wait(&posix, objects, LINKS, 0), 1);
    assert_int_equal(mst_posix_wait(&posix, objects, LINKS - 1, 0), 1);
    assert_int_equal(mst_posix_wait(&posix, others, LINKS, 0), 1);
    for (int i = 0; i < LINKS - 1; i++) {
        assert_int_not_equal(mst_posix_next(&posix), -1);
    }
    assert_int_equal(mst_posix_next(&posix), -1);
}

/* One is due at once, one has data to read, one wants nothing. */
TEST_CASE(all_that_can_go_on_are_told) {
    int pair[2];

    clients_open();
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
    assert_int_equal(write(pair[1], "x", 1), 1);
    links[1].set = pair[0];
    assert_int_equal(mst_posix_wait(&posix, objects, 2, 100000), 1);
    assert_int_not_equal(mst_posix_next(&posix), -1);
    assert_int_not_equal(mst_posix_next(&posix), -1);
    assert_int_equal(mst_posix_next(&posix), -1);
    (void)close(pair[1]);
}

/* If the list cannot take a descriptor, the wait fails. */
TEST_CASE(a_list_that_is_full_is_an_error) {
    int pair[2];

    clients_open();
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
    links[1].set = pair[0];
    fault_set("epoll_ctl", 0, ENOSPC);
    assert_int_equal(mst_posix_wait(&posix, objects, LINKS, 0), MST_ERR_PORT);
    assert_int_equal(mst_posix_wait(&posix, objects, LINKS, 0), 1);
    /* Also for a link that only received data can wake up. */
    port.close(port.context, 1);
    (void)close(pair[1]);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
    links[1].fd = pair[0];
    clients[1].link.state = MST_STATE_OPEN;
    clients[1].link.more = false;
    memset(clients[1].link.timers, 0, sizeof clients[1].link.timers);
    fault_set("epoll_ctl", 0, ENOSPC);
    assert_int_equal(mst_posix_wait(&posix, objects, LINKS, 0), MST_ERR_PORT);
    assert_null(faults[0].call);
    assert_false(links[1].listed);
    (void)close(pair[1]);
}

RUN_WITH(set_up, tear_down, NULL, NULL)
