/*
 * Tests of mst_posix_wait(): a client on the POSIX port sleeps on the right
 * descriptor in each state. Nothing here waits for less than a minute: a test
 * that sleeps on the wrong one hangs.
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
static struct mst_client client;
static unsigned char memory[MST_MEMORY_LEN_DEFAULT];
static struct mst_config config;
static struct mst_event event;

static int listener;
static char ws_url[64], auth_url[64];

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

/* ------------------------------------------------------------------------
 * Client and service
 * ------------------------------------------------------------------------ */

static void client_begin(const char *host)
{
    struct sockaddr_in address = {0};
    socklen_t len = sizeof address;

    assert_int_equal(getsockname(listener, (struct sockaddr *)&address, &len),
                     0);
    snprintf(ws_url, sizeof ws_url, "ws://%s:%u/", host,
             (unsigned)ntohs(address.sin_port));
    snprintf(auth_url, sizeof auth_url, "http://%s:%u", host,
             (unsigned)ntohs(address.sin_port));
    config.ws_url = ws_url;
    config.auth_url = auth_url;
    assert_int_equal(
        mst_client_init(&client, &config, &port, memory, sizeof memory), 0);
}

/* Polls and sleeps until there is an event, as a program does. */
static enum mst_event_type next_event(void)
{
    while (mst_poll(&client, &event) == 0) {
        assert_true(mst_posix_wait(&posix, &client, LONG_MS) >= 0);
    }
    return event.type;
}

/* Polls until the client cannot get any further by itself. */
static void poll_until_idle(void)
{
    do {
        assert_int_equal(mst_poll(&client, &event), 0);
    } while (mst_next_deadline_ms(&client) == 0);
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
    mst_client_wipe(&client);
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

/* A service that gives a token, byte by byte, and then refuses it. */
static void *service_run(void *argument)
{
    static const char token[] =
        "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 62\r\n\r\n"
        "{\"access_token\":\"abc\",\"expires_in\":3600,"
        "\"token_type\":\"bearer\"}";
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
    assert_int_equal(mst_posix_wait(&posix, &client, 20), 0);
    sem_post(&hang_leave);
    assert_int_equal(mst_posix_wait(&posix, &client, LONG_MS), 1);
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
    assert_int_equal(mst_posix_wait(&posix, &client, UINT32_MAX), 0);
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

static void wakes_up_for_a_signal(void **state)
{
    struct sigaction action = {.sa_handler = count_signal,
                               .sa_flags = SA_RESTART};
    struct sigaction before;
    const struct itimerval often = {{0, 10000}, {0, 10000}};
    const struct itimerval never = {{0, 0}, {0, 0}};

    (void)state;
    client_begin("hang.test");
    poll_until_idle();
    signals_caught = 0;
    sigaction(SIGALRM, &action, &before);
    setitimer(ITIMER_REAL, &often, NULL);
    while (signals_caught == 0) {
        assert_int_equal(mst_posix_wait(&posix, &client, LONG_MS), 0);
    }
    setitimer(ITIMER_REAL, &never, NULL);
    sigaction(SIGALRM, &before, NULL);
    sem_post(&hang_leave);
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
    assert_int_equal(mst_client_state(&client), MST_STATE_CONNECT);
    assert_int_equal(mst_posix_pollfds(&posix, &client, fds), 1);
    assert_int_equal(fds[0].events, POLLOUT);
    assert_int_equal(mst_posix_wait(&posix, &client, 20), 0);
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
    assert_int_equal(mst_client_stats(&client)->tokens, 1);
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
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
