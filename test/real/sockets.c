/*
 * Tests of the port for RTOS sockets: its resolver, its wait, and system calls
 * that fail like those of other stacks. posix_conform.py tests the rest.
 *
 * SPDX-License-Identifier: 0BSD
 */
#define _GNU_SOURCE

#include <fcntl.h>
#include <netdb.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <sys/socket.h>

#include "faults.h"
#include "real.h"
#include "support.h"

static int lookup(const char *host, const char *service,
                  const struct addrinfo *hints, struct addrinfo **list);

static unsigned sleeps; /* calls of poll() that may sleep */

#define poll(fds, count, ms) (sleeps += (ms) != 0, poll(fds, count, ms))
#define getaddrinfo(...) lookup(__VA_ARGS__)
#define freeaddrinfo(list) (void)(list)
#define socketpair(...) FAULT("socketpair", -1, socketpair(__VA_ARGS__))
#define pthread_create(...) \
    FAULT("pthread_create", EAGAIN, pthread_create(__VA_ARGS__))
#define socket(...) FAULT("socket", -1, socket(__VA_ARGS__))
#define connect(...) FAULT("connect", -1, connect(__VA_ARGS__))
#define send(fd, data, len, flags) FAULT("send", -1, send(fd, data, len, flags))
#include "mst_sockets.c" /* NOLINT(bugprone-suspicious-include) */
#undef connect           /* members of the port's have these names */
#undef send

#define LONG_MS 600000u

static sem_t entered, leave;
static struct sockaddr_in6 v6 = {.sin6_family = AF_INET6};
static struct sockaddr_in v4 = {.sin_family = AF_INET};

static struct addrinfo item_of(int family, struct addrinfo *next) {
    return (struct addrinfo){
        .ai_family = family,
        .ai_addr =
            family == AF_INET ? (struct sockaddr *)&v4 : (struct sockaddr *)&v6,
        .ai_addrlen = family == AF_INET ? sizeof v4 : sizeof v6,
        .ai_next = next};
}

/* "hang.test" hangs until leave is posted, and has one address; "many.test" has
 * five of IPv6, then one of IPv4; others have two of IPv4. */
static int lookup(const char *host, const char *service,
                  const struct addrinfo *hints, struct addrinfo **list) {
    static struct addrinfo items[6];
    bool many = strcmp(host, "many.test") == 0;
    bool hangs = strcmp(host, "hang.test") == 0;

    assert_string_equal(service, "9");
    assert_int_equal(hints->ai_socktype, SOCK_STREAM);
    if (hangs) {
        sem_post(&entered);
        sem_wait(&leave);
    }
    *list = NULL;
    for (int i = 0; i < (hangs ? 1 : many ? 6 : 2); i++) {
        items[i] = item_of(many && i > 0 ? AF_INET6 : AF_INET, *list);
        *list = &items[i];
    }
    return 0;
}

static struct mst_sockets sockets;
static struct mst_sockets_link links[2];
static struct mst_port port;
static struct mst_endpoint endpoint, other;

static int set_up(void **state) {
    (void)state;
    fault_none();
    sem_init(&entered, 0, 0);
    sem_init(&leave, 0, 0);
    endpoint = other = (struct mst_endpoint){.port = 9};
    strcpy(endpoint.host, "hang.test");
    strcpy(other.host, "many.test");
    return mst_sockets_init(&sockets, links, 2, &port);
}

static int tear_down(void **state) {
    (void)state;
    fault_none();
    for (int i = 0; i < 4; i++) {
        sem_post(&leave); /* a failed test may leave threads hanging */
    }
    mst_sockets_free(&sockets);
    return 0;
}

/* Resolves to the end, waiting only for the resolver. */
static int resolve(int link, const struct mst_endpoint *of) {
    int rc = port.resolve(port.context, link, of);

    while (rc == 0) {
        assert_int_equal(mst_sockets_wait(&sockets, NULL, 0, LONG_MS), 1);
        rc = port.resolve(port.context, link, of);
    }
    return rc;
}

/* No timer runs, and no descriptor stays ready. */
TEST_CASE(the_resolver_wakes_a_wait_once) {
    assert_int_equal(port.resolve(port.context, 0, &endpoint), 0);
    sem_wait(&entered);
    sleeps = 0;
    assert_int_equal(mst_sockets_wait(&sockets, NULL, 0, 20), 0);
    sem_post(&leave);
    assert_int_equal(mst_sockets_wait(&sockets, NULL, 0, LONG_MS), 1);
    assert_int_equal(sleeps, 2);
    assert_int_equal(port.resolve(port.context, 0, &endpoint), 1);
    assert_int_equal(mst_sockets_wait(&sockets, NULL, 0, 20), 0);
}

TEST_CASE(an_answer_that_comes_too_late_is_dropped) {
    assert_int_equal(port.resolve(port.context, 0, &endpoint), 0);
    sem_wait(&entered);
    port.close(port.context, 0);
    assert_int_equal(port.resolve(port.context, 0, &other), 0);
    sem_post(&leave);
    assert_int_equal(resolve(0, &other), MST_SOCKETS_ADDRESSES_MAX);
}

TEST_CASE(an_answer_that_comes_too_late_wakes_nobody) {
    assert_int_equal(port.resolve(port.context, 0, &endpoint), 0);
    sem_wait(&entered);
    port.close(port.context, 0);
    assert_int_equal(port.resolve(port.context, 1, &endpoint), 0);
    sem_post(&leave);
    sem_wait(&entered); /* it is done with the first */
    assert_int_equal(mst_sockets_wait(&sockets, NULL, 0, 20), 0);
    sem_post(&leave);
    assert_int_equal(resolve(1, &endpoint), 1);
}

TEST_CASE(families_alternate_and_further_addresses_are_left_out) {
    const struct sockaddr_storage *list = links[0].answer.addresses;

    assert_int_equal(resolve(0, &other), MST_SOCKETS_ADDRESSES_MAX);
    assert_int_equal(list[0].ss_family, AF_INET6);
    assert_int_equal(list[1].ss_family, AF_INET);
    assert_int_equal(list[2].ss_family, AF_INET6);
    assert_int_equal(list[3].ss_family, AF_INET6);
    assert_int_equal(links[0].answer.lens[1], sizeof v4);
    assert_int_equal(port.connect(port.context, 0, 4), MST_ERR_PORT);
}

TEST_CASE(errors_while_connecting_are_named) {
    static const struct {
        int number, error;
    } cases[] = {
        {ECONNRESET, MST_ERR_REFUSED},
        {ECONNREFUSED, MST_ERR_REFUSED},
        {ECONNABORTED, MST_ERR_UNREACHABLE},
        {EHOSTUNREACH, MST_ERR_UNREACHABLE},
        {ENOTCONN, MST_ERR_RESET},
        {EINPROGRESS, 0},
        {ENOBUFS, MST_ERR_PORT},
    };

    strcpy(endpoint.host, "two.test");
    for (size_t i = 0; i < COUNT(cases); i++) {
        assert_int_equal(resolve(0, &endpoint), 2);
        fault_set("connect", 0, cases[i].number);
        assert_int_equal(port.connect(port.context, 0, 0), cases[i].error);
        assert_int_equal(links[0].fd < 0, cases[i].error < 0);
        if (cases[i].error < 0) {
            assert_int_equal(port.detail(port.context, 0), cases[i].number);
        }
        port.close(port.context, 0);
    }
}

/* The caller moves to another address while it connects. */
TEST_CASE(another_address_takes_another_socket) {
    strcpy(endpoint.host, "two.test");
    assert_int_equal(resolve(0, &endpoint), 2);
    fault_set("connect", 0, EINPROGRESS);
    assert_int_equal(port.connect(port.context, 0, 0), 0);
    fault_set("connect", 0, EINPROGRESS);
    assert_int_equal(port.connect(port.context, 0, 1), 0);
    assert_int_equal(links[0].address, 1);
}

TEST_CASE(a_stack_without_buffers_sends_later) {
    fault_set("send", 0, ENOBUFS);
    assert_int_equal(port.send(port.context, 0, "", 1), 0);
    fault_set("send", 0, EPIPE);
    assert_int_equal(port.send(port.context, 0, "", 1), MST_ERR_RESET);
}

TEST_CASE(what_cannot_begin_is_an_error_and_leaves_nothing) {
    int before = real_descriptors();
    struct mst_sockets more;

    fault_set("socketpair", 0, EMFILE);
    assert_int_equal(mst_sockets_init(&more, links, 2, &port), MST_ERR_PORT);
    fault_set("pthread_create", 0, 0);
    assert_int_equal(mst_sockets_init(&more, links, 2, &port), MST_ERR_PORT);
    assert_int_equal(real_descriptors(), before);
    mst_sockets_free(&more);
    assert_int_equal(
        mst_sockets_init(&more, links, MST_SOCKETS_LINKS_MAX + 1, &port),
        MST_ERR_ARGUMENT);
}

static struct mst_client client;
MST_MEMORY(memory, MST_LENGTHS_SMALL);
static const struct mst_link *const objects[] = {&client.link};

static void client_begin(const char *ws_url, const char *auth_url, int link) {
    const struct mst_config config = {.ws_url = ws_url,
                                      .auth_url = auth_url,
                                      .client_id = "id",
                                      .client_secret = "secret",
                                      .flags = MST_ALLOW_PLAIN,
                                      .link = link,
                                      .resolve_ms = 500,
                                      .connect_ms = LONG_MS};

    assert_int_equal(mst_client_init(&client, &config, &port, &memory), 0);
    sleeps = 0;
}

/* Runs a client without TLS until its connection ends. Returns the error. */
static int client_fails(const char *ws_url, const char *auth_url) {
    struct mst_event event;

    client_begin(ws_url, auth_url, 0);
    while (mst_poll(&client, &event) == 0) {
        assert_true(mst_sockets_wait(&sockets, objects, 1, LONG_MS) >= 0);
    }
    assert_int_equal(event.type, MST_EVENT_CLOSED);
    return event.as.failure.error;
}

TEST_CASE(a_wait_ends_at_the_deadline) {
    assert_int_equal(client_fails("ws://hang.test:9/", "http://hang.test:9"),
                     MST_ERR_TIMEOUT);
    assert_in_range(sleeps, 1, 3);
}

/* If the stack has no free socket, it is asked again soon. */
TEST_CASE(a_socket_that_is_missing_is_waited_for) {
    fault_set("socket", 0, ENOBUFS);
    faults[0].times = 3;
    fault_also("connect", 0, ECONNREFUSED);
    faults[1].times = 2; /* each of two addresses */
    assert_int_equal(client_fails("ws://two.test:9/", "http://two.test:9"),
                     MST_ERR_REFUSED);
    assert_in_range(sleeps, 3, 6);
    assert_null(faults[0].call);
    fault_set("socket", 0, EMFILE);
    assert_int_equal(resolve(0, &other), MST_SOCKETS_ADDRESSES_MAX);
    assert_int_equal(port.connect(port.context, 0, 0), MST_ERR_PORT);
    assert_int_equal(port.detail(port.context, 0), EMFILE);
}

TEST_CASE(a_link_that_the_port_does_not_have_is_an_error) {
    client_begin("ws://two.test:9/", "http://two.test:9", 2);
    assert_int_equal(mst_sockets_wait(&sockets, objects, 1, LONG_MS),
                     MST_ERR_ARGUMENT);
}

RUN_WITH(set_up, tear_down, NULL, NULL)
