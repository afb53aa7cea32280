/*
 * Tests of mst_old_posix_wait(): a client on the POSIX port sleeps on the right
 * descriptor in each state. Nothing here waits for less than a minute, except
 * where nothing comes: a test that sleeps on the wrong one hangs.
 *
 * SPDX-License-Identifier: 0BSD
 */
#define _GNU_SOURCE

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <arpa/inet.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

#include "mst_posix.h"

#define LONG_MS 600000u

static struct mst_posix posix;
static struct mst_port port;
static struct mst_old_client client;
static unsigned char memory[MST_OLD_MEMORY_LEN(
    MST_RECORD_IN_ANY, MST_RECORD_OUT_MIN, 2048, MST_OLD_STAGING_USUAL, 2)];
static struct mst_old_config config;
static struct mst_event event;

static int listener;
static char ws_url[64], http_url[64];

static sem_t hang_leave;

/* "hang.test" hangs until it is let go; the rest is the system's. */
int getaddrinfo(const char *name, const char *service,
                const struct addrinfo *req, struct addrinfo **pai)
{
    int (*real)(const char *, const char *, const struct addrinfo *,
                struct addrinfo **);

    if (strcmp(name, "hang.test") == 0 &&
        (req->ai_flags & AI_NUMERICHOST) == 0) {
        sem_wait(&hang_leave);
        return EAI_AGAIN;
    }
    *(void **)&real = dlsym(RTLD_NEXT, "getaddrinfo");
    return real(name, service, req, pai);
}

/* Calls of recv(), and those of it and of poll() that may sleep. */
static struct {
    unsigned reads, sleeping_reads, sleeping_polls;
    int poll_ms; /* the last poll()'s limit */
} calls;

int poll(struct pollfd *fds, nfds_t nfds, int timeout)
{
    int (*real)(struct pollfd *, nfds_t, int);

    *(void **)&real = dlsym(RTLD_NEXT, "poll");
    calls.sleeping_polls += timeout != 0;
    calls.poll_ms = timeout;
    return real(fds, nfds, timeout);
}

ssize_t recv(int fd, void *buf, size_t n, int flags)
{
    ssize_t (*real)(int, void *, size_t, int);

    *(void **)&real = dlsym(RTLD_NEXT, "recv");
    calls.reads++;
    calls.sleeping_reads +=
        (flags & MSG_DONTWAIT) == 0 && (fcntl(fd, F_GETFL) & O_NONBLOCK) == 0;
    return real(fd, buf, n, flags);
}

static bool send_full; /* nothing can be sent */

ssize_t send(int fd, const void *buf, size_t n, int flags)
{
    ssize_t (*real)(int, const void *, size_t, int);

    if (send_full) {
        errno = EAGAIN;
        return -1;
    }
    *(void **)&real = dlsym(RTLD_NEXT, "send");
    return real(fd, buf, n, flags);
}

/* ------------------------------------------------------------------------
 * Client and service
 * ------------------------------------------------------------------------ */

static uint16_t listener_port(void)
{
    struct sockaddr_in address = {0};
    socklen_t len = sizeof address;

    assert_int_equal(getsockname(listener, (struct sockaddr *)&address, &len),
                     0);
    return ntohs(address.sin_port);
}

static void client_begin(const char *host)
{
    snprintf(ws_url, sizeof ws_url, "ws://%s:%u/", host, listener_port());
    snprintf(http_url, sizeof http_url, "http://%s:%u", host, listener_port());
    config.ws_url = ws_url;
    config.auth_url = config.base_url = http_url;
    assert_int_equal(
        mst_old_client_init(&client, &config, &port, memory, sizeof memory), 0);
}

/* Polls and sleeps until there is an event, as a program does. */
static enum mst_event_type next_event(void)
{
    while (mst_old_poll(&client, &event) == 0) {
        assert_true(mst_old_posix_wait(&posix, &client, LONG_MS) >= 0);
    }
    return event.type;
}

/* Polls until the client cannot get any further by itself. */
static void poll_until_idle(void)
{
    do {
        assert_int_equal(mst_old_poll(&client, &event), 0);
    } while (mst_old_next_deadline_ms(&client) == 0);
}

/* Goes on until link 0 waits for the answer to its request of a token. */
static void token_requested(void)
{
    do {
        poll_until_idle();
    } while (mst_old_client_state(&client) != MST_STATE_TOKEN &&
             mst_old_posix_wait(&posix, &client, LONG_MS) >= 0);
}

static int set_up(void **state)
{
    struct sockaddr_in address;

    (void)state;
    memset(&config, 0, sizeof config);
    config.client_id = "id";
    config.client_secret = "secret";
    config.flags = MST_ALLOW_PLAIN;
    config.resolve_ms = config.connect_ms = LONG_MS;
    config.token_ms = config.upgrade_ms = LONG_MS;
    send_full = false;
    memset(&address, 0, sizeof address);
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    listener = socket(AF_INET, SOCK_STREAM, 0);
    sem_init(&hang_leave, 0, 0);
    if (bind(listener, (struct sockaddr *)&address, sizeof address) != 0) {
        return -1;
    }
    return mst_posix_init(&posix, &port);
}

static int tear_down(void **state)
{
    (void)state;
    mst_old_client_wipe(&client);
    mst_posix_free(&posix);
    close(listener);
    return 0;
}

/* Reads a request to its end: headers, and the form of a POST. */
static void request_read(int peer, char *text, size_t size)
{
    size_t len = 0;

    for (;;) {
        ssize_t n = recv(peer, text + len, size - 1 - len, 0);
        const char *end;

        if (n <= 0) {
            abort();
        }
        len += (size_t)n;
        text[len] = '\0';
        end = strstr(text, "\r\n\r\n");
        if (end != NULL && (strncmp(text, "GET ", 4) == 0 ||
                            strstr(end, "client_secret=") != NULL)) {
            return;
        }
    }
}

static const char token[] =
    "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 62\r\n\r\n"
    "{\"access_token\":\"abc\",\"expires_in\":3600,"
    "\"token_type\":\"bearer\"}";

/* A service that gives a token, byte by byte, and then refuses it. */
static void *service_run(void *argument)
{
    static const char refusal[] =
        "HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n";
    char request[4096];
    int peer = accept(listener, NULL, NULL);

    (void)argument;
    request_read(peer, request, sizeof request);
    for (size_t i = 0; i < sizeof token - 1; i++) {
        send(peer, token + i, 1, MSG_NOSIGNAL);
        usleep(100);
    }
    close(peer);
    peer = accept(listener, NULL, NULL);
    request_read(peer, request, sizeof request);
    send(peer, refusal, sizeof refusal - 1, MSG_NOSIGNAL);
    close(peer);
    return NULL;
}

/* Connects link 0, which then waits to read and for nothing else, for long.
 * Returns the service's end. */
static int reading_client(void)
{
    char request[4096];
    int peer;

    assert_int_equal(listen(listener, 4), 0);
    client_begin("127.0.0.1");
    token_requested();
    peer = accept(listener, NULL, NULL);
    request_read(peer, request, sizeof request);
    memset(&calls, 0, sizeof calls);
    return peer;
}

static void reset_by(int peer)
{
    const struct linger at_once = {1, 0};

    setsockopt(peer, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
    close(peer);
}

/* Byte n of what this sends is a function of n. */
static void send_pattern(int peer, size_t len)
{
    unsigned char data[16384];

    for (size_t i = 0; i < len; i++) {
        data[i] = (unsigned char)(i * 31 >> 3);
    }
    assert_int_equal(send(peer, data, len, MSG_NOSIGNAL), len);
}

static void expect_pattern(size_t at, size_t asked, size_t given)
{
    unsigned char data[16384];

    assert_int_equal(port.recv(port.context, 0, data, asked), given);
    for (size_t i = 0; i < given; i++) {
        assert_int_equal(data[i], (unsigned char)((at + i) * 31 >> 3));
    }
}

static void expect_reset(void)
{
    char data[16];

    assert_int_equal(port.recv(port.context, 0, data, sizeof data),
                     MST_ERR_RESET);
    assert_int_equal(port.detail(port.context, 0), ECONNRESET);
}

static uint64_t clock_ns(void)
{
    return port.now_ns(port.context);
}

/* ------------------------------------------------------------------------
 * Tests
 * ------------------------------------------------------------------------ */

static void waits_for_the_resolver(void **state)
{
    struct pollfd fds[MST_LINKS_MAX];

    (void)state;
    client_begin("hang.test");
    poll_until_idle();
    assert_int_equal(mst_posix_pollfds(&posix, &client, fds), 1);
    assert_int_equal(fds[0].events, POLLIN);
    assert_int_equal(mst_old_posix_wait(&posix, &client, 20), 0);
    sem_post(&hang_leave);
    assert_int_equal(mst_old_posix_wait(&posix, &client, LONG_MS), 1);
    assert_int_equal(next_event(), MST_EVENT_CLOSED);
    assert_int_equal(event.as.failure.error, MST_ERR_RESOLVE);
    assert_int_equal(event.as.failure.detail, EAI_AGAIN);
    assert_int_equal(event.as.failure.stage, MST_STATE_RESOLVE);
    /* Until the next attempt there is nothing but time to wait for. */
    assert_int_equal(mst_posix_pollfds(&posix, &client, fds), 0);
}

static void wakes_up_at_the_deadline(void **state)
{
    (void)state;
    config.resolve_ms = 30;
    client_begin("hang.test");
    poll_until_idle();
    assert_int_equal(mst_old_posix_wait(&posix, &client, UINT32_MAX), 0);
    assert_int_equal(next_event(), MST_EVENT_CLOSED);
    assert_int_equal(event.as.failure.error, MST_ERR_TIMEOUT);
    sem_post(&hang_leave);
}

static volatile sig_atomic_t signals_caught;

static void count_signal(int number)
{
    (void)number;
    signals_caught++;
}

/* Also where the handler asks for calls to be begun anew. */
static void expect_signal_to_end_the_wait(void)
{
    struct sigaction action = {.sa_handler = count_signal,
                               .sa_flags = SA_RESTART};
    struct sigaction before;
    const struct itimerval often = {{0, 10000}, {0, 10000}};
    const struct itimerval never = {{0, 0}, {0, 0}};

    signals_caught = 0;
    sigaction(SIGALRM, &action, &before);
    setitimer(ITIMER_REAL, &often, NULL);
    while (signals_caught == 0) {
        assert_int_equal(mst_old_posix_wait(&posix, &client, LONG_MS), 0);
    }
    setitimer(ITIMER_REAL, &never, NULL);
    sigaction(SIGALRM, &before, NULL);
}

static void wakes_up_for_a_signal(void **state)
{
    int peer;

    (void)state;
    client_begin("hang.test");
    poll_until_idle();
    expect_signal_to_end_the_wait();
    sem_post(&hang_leave);
    mst_old_client_wipe(&client);

    peer = reading_client();
    expect_signal_to_end_the_wait();
    assert_int_equal(calls.sleeping_polls, 0);
    close(peer);
}

static void waits_for_the_connection(void **state)
{
    struct pollfd fds[MST_LINKS_MAX];
    struct sockaddr_in address;
    socklen_t len = sizeof address;
    int fillers[8];

    (void)state;
    /* A full backlog: further attempts get no answer. */
    assert_int_equal(listen(listener, 0), 0);
    getsockname(listener, (struct sockaddr *)&address, &len);
    for (size_t i = 0; i < 8; i++) {
        fillers[i] = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
        (void)connect(fillers[i], (struct sockaddr *)&address, len);
    }
    client_begin("127.0.0.1");
    poll_until_idle();
    assert_int_equal(mst_old_client_state(&client), MST_STATE_CONNECT);
    assert_int_equal(mst_posix_pollfds(&posix, &client, fds), 1);
    assert_int_equal(fds[0].events, POLLOUT);
    assert_int_equal(mst_old_posix_wait(&posix, &client, 20), 0);
    for (size_t i = 0; i < 8; i++) {
        close(fillers[i]);
    }
}

static void waits_through_a_whole_attempt(void **state)
{
    struct pollfd fds[MST_LINKS_MAX];
    pthread_t service;

    (void)state;
    assert_int_equal(listen(listener, 4), 0);
    pthread_create(&service, NULL, service_run, NULL);
    client_begin("localhost");
    assert_int_equal(next_event(), MST_EVENT_CLOSED);
    assert_int_equal(event.as.failure.error, MST_ERR_FORBIDDEN);
    assert_int_equal(event.as.failure.http_status, 403);
    assert_int_equal(event.as.failure.stage, MST_STATE_UPGRADE);
    assert_int_equal(mst_old_client_stats(&client)->tokens, 1);
    pthread_join(service, NULL);
    poll_until_idle();
    assert_int_equal(mst_posix_pollfds(&posix, &client, fds), 0);
}

static void refused_connection_reaches_the_program(void **state)
{
    (void)state;
    client_begin("127.0.0.1");
    assert_int_equal(next_event(), MST_EVENT_CLOSED);
    assert_int_equal(event.as.failure.error, MST_ERR_REFUSED);
    assert_int_equal(event.as.failure.detail, ECONNREFUSED);
    assert_int_equal(event.as.failure.stage, MST_STATE_CONNECT);
}

/* One call of the system waits and reads. */
static void reads_where_it_can_wait_long(void **state)
{
    struct pollfd fds[MST_LINKS_MAX];
    int peer = reading_client();

    (void)state;
    assert_int_equal(mst_posix_pollfds(&posix, &client, fds), 1);
    assert_int_equal(fds[0].events, POLLIN);
    send(peer, token, sizeof token - 1, MSG_NOSIGNAL);
    assert_int_equal(mst_old_posix_wait(&posix, &client, LONG_MS), 1);
    /* What was read is not slept on, by whatever means. */
    assert_int_equal(mst_old_posix_wait(&posix, &client, LONG_MS), 1);
    assert_int_equal(mst_old_posix_wait(&posix, &client, 0), 1);
    assert_int_equal(calls.sleeping_polls, 0);
    assert_int_equal(calls.sleeping_reads, 1);
    assert_int_equal(mst_posix_pollfds(&posix, &client, fds), 1);
    assert_int_equal(poll(fds, 1, (int)LONG_MS), 1);
    poll_until_idle();
    assert_int_equal(mst_old_client_stats(&client)->tokens, 1);
    close(peer);
}

static void reads_no_less_than_there_is(void **state)
{
    static const size_t ahead = sizeof posix.links[0].ahead;
    int peer = reading_client();
    size_t at = 0;

    (void)state;
    for (size_t len = ahead - 1; len <= ahead + 1; len++) {
        send_pattern(peer, len);
        assert_int_equal(mst_old_posix_wait(&posix, &client, LONG_MS), 1);
        calls.reads = 0;
        expect_pattern(0, ahead + 2, len);
        assert_int_equal(calls.reads, len >= ahead);
        expect_pattern(0, 1, 0);
    }
    /* In parts, and over the end of what the wait has read. */
    send_pattern(peer, 3 * ahead);
    assert_int_equal(mst_old_posix_wait(&posix, &client, LONG_MS), 1);
    for (size_t len = 1; len < 2 * ahead; len *= 2) {
        expect_pattern(at, len, len);
        at += len;
    }
    expect_pattern(at, 16384, 3 * ahead - at);
    expect_pattern(0, 1, 0);
    assert_int_equal(calls.sleeping_reads, 4); /* the waits alone */
    close(peer);
}

static void end_comes_after_what_was_read(void **state)
{
    int peer = reading_client();
    char data[16];

    (void)state;
    send_pattern(peer, 10);
    assert_int_equal(mst_old_posix_wait(&posix, &client, LONG_MS), 1);
    close(peer);
    expect_pattern(0, 16, 10);
    assert_int_equal(mst_old_posix_wait(&posix, &client, LONG_MS), 1);
    assert_int_equal(calls.sleeping_polls, 0);
    assert_int_equal(port.recv(port.context, 0, data, sizeof data),
                     MST_ERR_EOF);
    assert_int_equal(port.detail(port.context, 0), 0);
}

/* The system says it once, and here to the wait. */
static void reset_reaches_the_program(void **state)
{
    int peer = reading_client();

    (void)state;
    reset_by(peer);
    assert_int_equal(mst_old_posix_wait(&posix, &client, LONG_MS), 1);
    assert_int_equal(calls.sleeping_polls, 0);
    assert_int_equal(mst_old_posix_wait(&posix, &client, LONG_MS), 1);
    assert_int_equal(mst_old_posix_wait(&posix, &client, 20), 1);
    assert_int_equal(port.send(port.context, 0, "data", 4), MST_ERR_RESET);
    assert_int_equal(port.detail(port.context, 0), ECONNRESET);
    assert_int_equal(next_event(), MST_EVENT_CLOSED);
    assert_int_equal(event.as.failure.error, MST_ERR_RESET);
    assert_int_equal(event.as.failure.detail, ECONNRESET);
}

/* The error is met while what the wait has read is handed out. */
static void reset_comes_after_what_was_read(void **state)
{
    static const size_t ahead = sizeof posix.links[0].ahead;
    int peer = reading_client();

    (void)state;
    send_pattern(peer, ahead);
    assert_int_equal(mst_old_posix_wait(&posix, &client, LONG_MS), 1);
    reset_by(peer);
    expect_pattern(0, 2 * ahead, ahead);
    assert_int_equal(mst_old_posix_wait(&posix, &client, LONG_MS), 1);
    expect_reset();
}

/* Connects link 0 anew, without the client. */
static void connect_anew(void)
{
    struct mst_endpoint endpoint = {.host = "127.0.0.1"};

    port.close(port.context, 0);
    endpoint.port = listener_port();
    assert_int_equal(port.resolve(port.context, 0, &endpoint), 1);
    while (port.connect(port.context, 0, 0) == 0) {
        usleep(100);
    }
}

static void next_connection_starts_clean(void **state)
{
    int peer = reading_client();
    char data[16];

    (void)state;
    send_pattern(peer, 10);
    assert_int_equal(mst_old_posix_wait(&posix, &client, LONG_MS), 1);
    connect_anew();
    assert_int_equal(port.recv(port.context, 0, data, sizeof data), 0);
    close(peer);
    peer = accept(listener, NULL, NULL);
    reset_by(peer);
    assert_int_equal(mst_old_posix_wait(&posix, &client, LONG_MS), 1);
    connect_anew();
    assert_int_equal(port.recv(port.context, 0, data, sizeof data), 0);
    assert_int_equal(port.send(port.context, 0, "data", 4), 4);
}

/* Neither too early nor, but for the machine's own delays, too late. */
static void sleeps_no_longer_than_told(void **state)
{
    static const uint32_t limits[] = {0, 1, 30, 249, 250, 251, 555};
    int peer = reading_client();
    struct timeval limit;
    socklen_t len = sizeof limit;

    (void)state;
    assert_int_equal(
        getsockopt(posix.links[0].fd, SOL_SOCKET, SO_RCVTIMEO, &limit, &len),
        0);
    assert_int_equal(limit.tv_sec * 1000 + limit.tv_usec / 1000, 200);
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) {
        uint64_t begin_ns = clock_ns(), passed_ns;

        calls.poll_ms = -1;
        calls.sleeping_reads = 0;
        assert_int_equal(mst_old_posix_wait(&posix, &client, limits[i]), 0);
        passed_ns = clock_ns() - begin_ns;
        assert_true(passed_ns >= limits[i] * UINT64_C(1000000));
        /* A read's limit is the kernel's ticks: the end is poll()'s. */
        assert_int_equal(calls.sleeping_reads, limits[i] >= 250);
        assert_in_range(calls.poll_ms, 0,
                        limits[i] >= 250 ? limits[i] - 190 : limits[i]);
    }
    close(peer);
}

static void wakes_up_at_the_deadline_of_a_read(void **state)
{
    int peer;

    (void)state;
    config.token_ms = 555;
    peer = reading_client();
    while (mst_old_client_state(&client) == MST_STATE_TOKEN) {
        assert_int_equal(mst_old_posix_wait(&posix, &client, UINT32_MAX), 0);
        assert_in_range(calls.poll_ms, 0, 555 - 190);
        (void)mst_old_poll(&client, &event);
    }
    assert_int_equal(next_event(), MST_EVENT_CLOSED);
    assert_int_equal(event.as.failure.error, MST_ERR_TIMEOUT);
    close(peer);
}

/* The wait has read the first part of an answer; the rest comes while the
 * program does something else until after the deadline. */
static void what_came_in_time_counts(void **state)
{
    int peer;

    (void)state;
    config.token_ms = 600;
    peer = reading_client();
    send(peer, token, 20, MSG_NOSIGNAL);
    assert_int_equal(mst_old_posix_wait(&posix, &client, LONG_MS), 1);
    assert_int_equal(calls.sleeping_reads, 1);
    send(peer, token + 20, sizeof token - 1 - 20, MSG_NOSIGNAL);
    usleep(700000);
    poll_until_idle();
    assert_int_equal(mst_old_client_stats(&client)->tokens, 1);
    close(peer);
}

static void either_of_two_links_is_noticed(void **state)
{
    static const struct mst_address_request request = {.id = "an-id",
                                                       .nickname = "n"};
    struct mst_address record;
    struct pollfd fds[MST_LINKS_MAX];
    int peer, peers[2];

    (void)state;
    config.links = 2;
    peer = reading_client();
    assert_int_equal(mst_old_address_put(&client, &request, &record), 0);
    send(peer, token, sizeof token - 1, MSG_NOSIGNAL);
    close(peer);
    while (mst_posix_pollfds(&posix, &client, fds) < 2 ||
           fds[0].events != POLLIN || fds[1].events != POLLIN) {
        assert_true(mst_old_posix_wait(&posix, &client, LONG_MS) >= 0);
        poll_until_idle();
    }
    calls.sleeping_reads = 0;
    for (int i = 0; i < 2; i++) {
        char data[4];
        int given = 0;

        peers[i] = accept(listener, NULL, NULL);
        send(peers[i], "data", 4, MSG_NOSIGNAL);
        assert_int_equal(mst_old_posix_wait(&posix, &client, LONG_MS), 1);
        given += port.recv(port.context, 0, data, sizeof data);
        given += port.recv(port.context, 1, data, sizeof data);
        assert_int_equal(given, 4);
    }
    assert_int_equal(calls.sleeping_reads, 0);
    close(peers[0]);
    close(peers[1]);
}

static void room_to_send_is_noticed(void **state)
{
    (void)state;
    assert_int_equal(listen(listener, 4), 0);
    send_full = true;
    client_begin("127.0.0.1");
    token_requested();
    calls.sleeping_reads = 0;
    assert_int_equal(mst_old_posix_wait(&posix, &client, LONG_MS), 1);
    assert_int_equal(calls.sleeping_reads, 0);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(waits_for_the_resolver),
        TEST(wakes_up_at_the_deadline),
        TEST(wakes_up_for_a_signal),
        TEST(waits_for_the_connection),
        TEST(waits_through_a_whole_attempt),
        TEST(refused_connection_reaches_the_program),
        TEST(reads_where_it_can_wait_long),
        TEST(reads_no_less_than_there_is),
        TEST(end_comes_after_what_was_read),
        TEST(reset_reaches_the_program),
        TEST(reset_comes_after_what_was_read),
        TEST(next_connection_starts_clean),
        TEST(sleeps_no_longer_than_told),
        TEST(wakes_up_at_the_deadline_of_a_read),
        TEST(what_came_in_time_counts),
        TEST(either_of_two_links_is_noticed),
        TEST(room_to_send_is_noticed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
