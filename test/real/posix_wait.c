/*
 * Tests of mst_posix_wait(): clients on the POSIX port sleep on the right
 * descriptors in each state. All waits are long, unless nothing is expected: a
 * test that sleeps on a wrong descriptor hangs.
 *
 * SPDX-License-Identifier: 0BSD
 */
#define _GNU_SOURCE

#include "cases.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <sys/time.h>
#include <unistd.h>

#include "real.h"
#include "service.h"

#define LONG_MS 600000u

#define LINKS 40

static struct mst_posix posix;
static struct mst_posix_link links[LINKS];
static struct mst_port port;
static struct mst_client client;
MST_MEMORY(memory, MST_LENGTHS_USUAL);
static struct mst_config config;
static struct mst_event event;

static int listener;
static char ws_url[64], http_url[64];

static sem_t hang_entered, hang_leave, hang_left;

/* "hang.test" hangs until hang_leave is posted. The system resolves others. */
int getaddrinfo(const char *name, const char *service,
                const struct addrinfo *req, struct addrinfo **pai) {
    REAL_OF(getaddrinfo);

    if (strcmp(name, "hang.test") == 0 &&
        (req->ai_flags & AI_NUMERICHOST) == 0) {
        sem_post(&hang_entered);
        sem_wait(&hang_leave);
        sem_post(&hang_left);
        return EAI_AGAIN;
    }
    return real(name, service, req, pai);
}

/* Ends the call that hangs, and waits until its thread has left it. */
static void hang_end(void) {
    sem_wait(&hang_entered);
    sem_post(&hang_leave);
    sem_wait(&hang_left);
}

/* Counts of calls of recv(), and of those of recv() and poll() that may
 * sleep. */
static struct {
    unsigned reads, sleeping_reads, sleeping_polls;
    int poll_ms; /* the timeout of the last poll() */
} calls;

int poll(struct pollfd *fds, nfds_t nfds, int timeout) {
    REAL_OF(poll);

    calls.sleeping_polls += timeout != 0;
    calls.poll_ms = timeout;
    return real(fds, nfds, timeout);
}

ssize_t recv(int fd, void *buf, size_t n, int flags) {
    REAL_OF(recv);

    calls.reads++;
    calls.sleeping_reads +=
        (flags & MSG_DONTWAIT) == 0 && (fcntl(fd, F_GETFL) & O_NONBLOCK) == 0;
    return real(fd, buf, n, flags);
}

static bool send_full; /* send() fails with EAGAIN */

ssize_t send(int fd, const void *buf, size_t n, int flags) {
    REAL_OF(send);

    if (send_full) {
        errno = EAGAIN;
        return -1;
    }
    return real(fd, buf, n, flags);
}

/* ---- Client and service ---- */

static int fillers[REAL_FILLERS];

static void client_begin(const char *host) {
    snprintf(ws_url, sizeof ws_url, "ws://%s:%u/", host, real_port(listener));
    snprintf(http_url, sizeof http_url, "http://%s:%u", host,
             real_port(listener));
    config.ws_url = ws_url;
    config.auth_url = http_url;
    assert_int_equal(mst_client_init(&client, &config, &port, &memory), 0);
}

static const struct mst_link *const only_link[] = {&client.link};

static int wait_ms(uint32_t ms) {
    return mst_posix_wait(&posix, only_link, 1, ms);
}

static struct pollfd fds[1];

/* Expects the client to wait for these events, or for no descriptor if 0. */
static void expect_events(short events) {
    fds[0].events = 0;
    assert_int_equal(mst_posix_pollfds(&posix, only_link, 1, fds), events != 0);
    assert_int_equal(fds[0].events, events);
}

/* Polls and sleeps until there is an event, like a program. */
static enum mst_event_type next_event(void) {
    while (mst_poll(&client, &event) == 0) {
        assert_true(wait_ms(LONG_MS) >= 0);
    }
    return event.type;
}

/* Expects the next event to be this error in this stage. */
static void expect_failure(int error, enum mst_state stage) {
    assert_int_equal(next_event(), MST_EVENT_CLOSED);
    assert_int_equal(event.as.failure.error, error);
    assert_int_equal(event.as.failure.stage, stage);
}

/* Polls until the client must wait for something. */
static void poll_until_idle(void) {
    do {
        assert_int_equal(mst_poll(&client, &event), 0);
    } while (mst_next_deadline_ms(&client.link) == 0);
}

/* Runs until link 0 waits for the response to its token request. */
static void token_requested(void) {
    do {
        poll_until_idle();
    } while (mst_link_state(&client.link) != MST_STATE_TOKEN &&
             wait_ms(LONG_MS) >= 0);
}

static int set_up(void **state) {
    (void)state;
    memset(&config, 0, sizeof config);
    config.client_id = "id";
    config.client_secret = "secret";
    config.flags = MST_ALLOW_PLAIN;
    config.resolve_ms = config.connect_ms = LONG_MS;
    config.token_ms = config.upgrade_ms = LONG_MS;
    send_full = false;
    listener = real_socket("127.0.0.1", 0);
    sem_init(&hang_entered, 0, 0);
    sem_init(&hang_leave, 0, 0);
    sem_init(&hang_left, 0, 0);
    return mst_posix_init(&posix, links, LINKS, &port);
}

static int tear_down(void **state) {
    (void)state;
    mst_client_wipe(&client);
    mst_posix_free(&posix);
    close(listener);
    return 0;
}

/* Reads a whole request: its header, and the form of a POST. */
static const char *request_read(int peer) {
    static char text[4096];
    size_t len = 0;

    for (;;) {
        ssize_t n = recv(peer, text + len, sizeof text - 1 - len, 0);
        const char *end;

        if (n <= 0) {
            abort();
        }
        len += (size_t)n;
        text[len] = '\0';
        end = strstr(text, "\r\n\r\n");
        if (end != NULL && (strncmp(text, "GET ", 4) == 0 ||
                            strstr(end, "client_secret=") != NULL)) {
            return text;
        }
    }
}

static const char token[] =
    "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 62\r\n\r\n"
    "{\"access_token\":\"abc\",\"expires_in\":3600,"
    "\"token_type\":\"bearer\"}";

/* A service that sends a token byte by byte, and then refuses it. */
static void *service_run(void *argument) {
    static const char refusal[] =
        "HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n";
    int peer = accept(listener, NULL, NULL);

    (void)argument;
    (void)request_read(peer);
    for (size_t i = 0; i < sizeof token - 1; i++) {
        send(peer, token + i, 1, MSG_NOSIGNAL);
        usleep(100);
    }
    close(peer);
    peer = accept(listener, NULL, NULL);
    (void)request_read(peer);
    send(peer, refusal, sizeof refusal - 1, MSG_NOSIGNAL);
    close(peer);
    return NULL;
}

/* Connects link 0, which then waits long for data. Returns the service's
 * end. */
static int reading_client(void) {
    int peer;

    assert_int_equal(listen(listener, 4), 0);
    client_begin("127.0.0.1");
    token_requested();
    peer = accept(listener, NULL, NULL);
    (void)request_read(peer);
    memset(&calls, 0, sizeof calls);
    return peer;
}

static void reset_by(int peer) {
    const struct linger at_once = {1, 0};

    setsockopt(peer, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
    close(peer);
}

/* Sends data whose byte n is a function of n. */
static void send_pattern(int peer, size_t len) {
    unsigned char data[16384];

    for (size_t i = 0; i < len; i++) {
        data[i] = (unsigned char)(i * 31 >> 3);
    }
    assert_int_equal(send(peer, data, len, MSG_NOSIGNAL), len);
}

static void expect_pattern(size_t at, size_t asked, size_t given) {
    unsigned char data[16384];

    assert_int_equal(port.recv(port.context, 0, data, asked), given);
    for (size_t i = 0; i < given; i++) {
        assert_int_equal(data[i], (unsigned char)((at + i) * 31 >> 3));
    }
}

/* Expects no data (0) or this error. */
static void expect_recv(int rc) {
    char data[16];

    assert_int_equal(port.recv(port.context, 0, data, sizeof data), rc);
}

static uint64_t clock_ns(void) {
    return port.now_ns(port.context);
}

/* ---- Tests ---- */

TEST_CASE(waits_for_the_resolver) {
    client_begin("hang.test");
    poll_until_idle();
    expect_events(POLLIN);
    assert_int_equal(wait_ms(20), 0);
    hang_end();
    assert_int_equal(wait_ms(LONG_MS), 1);
    expect_failure(MST_ERR_RESOLVE, MST_STATE_RESOLVE);
    assert_int_equal(event.as.failure.detail, EAI_AGAIN);
    /* Until the next attempt the client only waits for the time. */
    expect_events(0);
}

TEST_CASE(wakes_up_at_the_deadline) {
    config.resolve_ms = 500;
    client_begin("hang.test");
    poll_until_idle();
    assert_int_equal(wait_ms(UINT32_MAX), 0);
    expect_failure(MST_ERR_TIMEOUT, MST_STATE_RESOLVE);
    hang_end();
}

static volatile sig_atomic_t signals_caught;

static void count_signal(int number) {
    (void)number;
    signals_caught++;
}

/* Also with a handler that lets calls be restarted. */
static void expect_signal_to_end_the_wait(void) {
    struct sigaction action = {.sa_handler = count_signal,
                               .sa_flags = SA_RESTART};
    struct sigaction before;
    const struct itimerval often = {{0, 10000}, {0, 10000}};
    const struct itimerval never = {{0, 0}, {0, 0}};

    signals_caught = 0;
    sigaction(SIGALRM, &action, &before);
    setitimer(ITIMER_REAL, &often, NULL);
    while (signals_caught == 0) {
        assert_int_equal(wait_ms(LONG_MS), 0);
    }
    setitimer(ITIMER_REAL, &never, NULL);
    sigaction(SIGALRM, &before, NULL);
}

TEST_CASE(wakes_up_for_a_signal) {
    int peer;

    client_begin("hang.test");
    poll_until_idle();
    expect_signal_to_end_the_wait();
    hang_end();
    mst_client_wipe(&client);

    peer = reading_client();
    expect_signal_to_end_the_wait();
    assert_int_equal(calls.sleeping_polls, 0);
    close(peer);
}

TEST_CASE(waits_for_the_connection) {
    real_listen_in_vain(listener, fillers);
    client_begin("127.0.0.1");
    poll_until_idle();
    assert_int_equal(mst_link_state(&client.link), MST_STATE_CONNECT);
    expect_events(POLLOUT);
    assert_int_equal(wait_ms(20), 0);
    real_close(fillers);
}

TEST_CASE(waits_through_a_whole_attempt) {
    pthread_t service;

    assert_int_equal(listen(listener, 4), 0);
    pthread_create(&service, NULL, service_run, NULL);
    client_begin("localhost");
    expect_failure(MST_ERR_FORBIDDEN, MST_STATE_UPGRADE);
    assert_int_equal(event.as.failure.http_status, 403);
    assert_int_equal(mst_link_stats(&client.link)->tokens, 1);
    pthread_join(service, NULL);
    poll_until_idle();
    expect_events(0);
}

TEST_CASE(refused_connection_reaches_the_program) {
    client_begin("127.0.0.1");
    expect_failure(MST_ERR_REFUSED, MST_STATE_CONNECT);
    assert_int_equal(event.as.failure.detail, ECONNREFUSED);
}

/* One call of the system waits and reads. */
TEST_CASE(reads_where_it_can_wait_long) {
    int peer = reading_client();

    expect_events(POLLIN);
    send(peer, token, sizeof token - 1, MSG_NOSIGNAL);
    assert_int_equal(wait_ms(LONG_MS), 1);
    /* No wait sleeps while data that was read is left. */
    assert_int_equal(wait_ms(LONG_MS), 1);
    assert_int_equal(wait_ms(0), 1);
    assert_int_equal(calls.sleeping_polls, 0);
    assert_int_equal(calls.sleeping_reads, 1);
    expect_events(POLLIN | POLLOUT); /* POLLOUT is always ready here */
    assert_int_equal(poll(fds, 1, (int)LONG_MS), 1);
    poll_until_idle();
    assert_int_equal(mst_link_stats(&client.link)->tokens, 1);
    close(peer);
}

TEST_CASE(reads_no_less_than_there_is) {
    static const size_t ahead = sizeof links[0].ahead;
    int peer = reading_client();
    size_t at = 0;

    for (size_t len = ahead - 1; len <= ahead + 1; len++) {
        send_pattern(peer, len);
        assert_int_equal(wait_ms(LONG_MS), 1);
        calls.reads = 0;
        expect_pattern(0, ahead + 2, len);
        assert_int_equal(calls.reads, len >= ahead);
        expect_pattern(0, 1, 0);
    }
    /* In parts, also beyond the data that the wait has read. */
    send_pattern(peer, 3 * ahead);
    assert_int_equal(wait_ms(LONG_MS), 1);
    for (size_t len = 1; len < 2 * ahead; len *= 2) {
        expect_pattern(at, len, len);
        at += len;
    }
    expect_pattern(at, 16384, 3 * ahead - at);
    expect_pattern(0, 1, 0);
    assert_int_equal(calls.sleeping_reads, 4); /* only those of waits */
    close(peer);
}

TEST_CASE(end_comes_after_what_was_read) {
    int peer = reading_client();

    send_pattern(peer, 10);
    assert_int_equal(wait_ms(LONG_MS), 1);
    close(peer);
    expect_pattern(0, 16, 10);
    assert_int_equal(wait_ms(LONG_MS), 1);
    assert_int_equal(calls.sleeping_polls, 0);
    expect_recv(MST_ERR_EOF);
    assert_int_equal(port.detail(port.context, 0), 0);
}

/* The system reports a reset once, here to the wait. */
TEST_CASE(reset_reaches_the_program) {
    int peer = reading_client();

    reset_by(peer);
    assert_int_equal(wait_ms(LONG_MS), 1);
    assert_int_equal(calls.sleeping_polls, 0);
    assert_int_equal(wait_ms(LONG_MS), 1);
    assert_int_equal(wait_ms(20), 1);
    assert_int_equal(port.send(port.context, 0, "data", 4), MST_ERR_RESET);
    assert_int_equal(port.detail(port.context, 0), ECONNRESET);
    expect_failure(MST_ERR_RESET, MST_STATE_TOKEN);
    assert_int_equal(event.as.failure.detail, ECONNRESET);
}

/* The error occurs while data that the wait has read is delivered. */
TEST_CASE(reset_comes_after_what_was_read) {
    static const size_t ahead = sizeof links[0].ahead;
    int peer = reading_client();

    send_pattern(peer, ahead);
    assert_int_equal(wait_ms(LONG_MS), 1);
    reset_by(peer);
    expect_pattern(0, 2 * ahead, ahead);
    assert_int_equal(wait_ms(LONG_MS), 1);
    expect_recv(MST_ERR_RESET);
    assert_int_equal(port.detail(port.context, 0), ECONNRESET);
}

/* Connects link 0 again, without the client. */
static void connect_anew(void) {
    struct mst_endpoint endpoint = {.host = "127.0.0.1"};

    port.close(port.context, 0);
    endpoint.port = real_port(listener);
    assert_int_equal(port.resolve(port.context, 0, &endpoint), 1);
    while (port.connect(port.context, 0, 0) == 0) {
        usleep(100);
    }
}

TEST_CASE(next_connection_starts_clean) {
    int peer = reading_client();

    send_pattern(peer, 10);
    assert_int_equal(wait_ms(LONG_MS), 1);
    connect_anew();
    expect_recv(0);
    close(peer);
    peer = accept(listener, NULL, NULL);
    reset_by(peer);
    assert_int_equal(wait_ms(LONG_MS), 1);
    connect_anew();
    expect_recv(0);
    assert_int_equal(port.send(port.context, 0, "data", 4), 4);
}

/* Neither too early nor, except for the machine's own delays, too late. */
TEST_CASE(sleeps_no_longer_than_told) {
    static const uint32_t limits[] = {0, 1, 30, 249, 250, 251, 555};
    int peer = reading_client();
    struct timeval limit;
    socklen_t len = sizeof limit;

    assert_int_equal(
        getsockopt(links[0].fd, SOL_SOCKET, SO_RCVTIMEO, &limit, &len), 0);
    assert_int_equal(limit.tv_sec * 1000 + limit.tv_usec / 1000, 200);
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) {
        uint64_t begin_ns = clock_ns(), passed_ns;

        calls.poll_ms = -1;
        calls.sleeping_reads = 0;
        assert_int_equal(wait_ms(limits[i]), 0);
        passed_ns = clock_ns() - begin_ns;
        assert_true(passed_ns >= limits[i] * UINT64_C(1000000));
        /* The kernel rounds a read's timeout, so poll() does the rest. */
        assert_int_equal(calls.sleeping_reads, limits[i] >= 250);
        assert_in_range(calls.poll_ms, 0,
                        limits[i] >= 250 ? limits[i] - 190 : limits[i]);
    }
    close(peer);
}

TEST_CASE(wakes_up_at_the_deadline_of_a_read) {
    int peer;

    config.token_ms = 1555;
    peer = reading_client();
    while (mst_link_state(&client.link) == MST_STATE_TOKEN) {
        assert_int_equal(wait_ms(UINT32_MAX), 0);
        assert_in_range(calls.poll_ms, 0, 1555 - 190);
        (void)mst_poll(&client, &event);
    }
    expect_failure(MST_ERR_TIMEOUT, MST_STATE_TOKEN);
    close(peer);
}

/* The wait has read the first part of a response. The rest comes before the
 * deadline, but the program polls only after it. */
TEST_CASE(what_came_in_time_counts) {
    int peer;

    config.token_ms = 2000;
    peer = reading_client();
    send(peer, token, 20, MSG_NOSIGNAL);
    assert_int_equal(wait_ms(LONG_MS), 1);
    assert_int_equal(calls.sleeping_reads, 1);
    send(peer, token + 20, sizeof token - 1 - 20, MSG_NOSIGNAL);
    usleep(2100000);
    poll_until_idle();
    assert_int_equal(mst_link_stats(&client.link)->tokens, 1);
    close(peer);
}

TEST_CASE(room_to_send_is_noticed) {
    assert_int_equal(listen(listener, 4), 0);
    send_full = true;
    client_begin("127.0.0.1");
    token_requested();
    calls.sleeping_reads = 0;
    assert_int_equal(wait_ms(LONG_MS), 1);
    assert_int_equal(calls.sleeping_reads, 0);
}

/* ---- Several clients: few wait by poll(), many by epoll ---- */

#define FEW 3
#define MANY (MST_POSIX_FEW + 4)

static struct mst_client clients[MANY];
static unsigned char rooms[MANY][MST_MEMORY_LEN(MST_LENGTHS_USUAL)];
static const struct mst_link *objects[MANY];
static int peers[MANY]; /* the service's end of each, or -1 */
static size_t clients_count;

/* Initialises the client of this link; it is not polled yet. */
static void clients_add(size_t number, const char *host, uint16_t at) {
    static char urls[MANY][64];
    static struct mst_memory memories[MANY];
    struct mst_config its = config;

    memories[number] = (struct mst_memory){rooms[number], sizeof rooms[number],
                                           MST_LENGTHS_USUAL};
    snprintf(urls[number], sizeof urls[number], "ws://%s:%u/", host, at);
    its.ws_url = urls[number];
    its.auth_url = "http://127.0.0.1";
    its.link = (int)number;
    /* No deadline is reached while these tests run. */
    its.request_gap_ms = 1;
    its.ping_ms = its.ping_ms != 0 ? its.ping_ms : LONG_MS;
    its.answer_ms = its.silence_ms = its.stable_ms = LONG_MS;
    port.token_load = real_token;
    assert_int_equal(
        mst_client_init(&clients[number], &its, &port, &memories[number]), 0);
    objects[number] = &clients[number].link;
    peers[number] = -1;
}

static int wait_for_all(uint32_t ms) {
    return mst_posix_wait(&posix, objects, clients_count, ms);
}

/* Polls a client once, and expects this event. */
static void expect_event(size_t number, enum mst_event_type type) {
    assert_int_equal(mst_poll(&clients[number], &event), 1);
    assert_int_equal(event.type, type);
    assert_int_equal(event.link, number);
}

/* Polls until the client is idle and the gap between requests has passed. */
static void poll_idle(size_t number) {
    assert_int_equal(mst_poll(&clients[number], &event), 0);
    usleep(25000); /* more than a tick of the clock */
    do {
        assert_int_equal(mst_poll(&clients[number], &event), 0);
    } while (mst_next_deadline_ms(&clients[number].link) == 0);
}

/* Expects that only this client must be polled now. */
static void expect_next(size_t number) {
    assert_int_equal(wait_for_all(LONG_MS), 1);
    assert_int_equal(mst_posix_next(&posix), number);
    assert_int_equal(mst_posix_next(&posix), -1);
}

static void expect_nothing(void) {
    assert_int_equal(wait_for_all(20), 0);
    assert_int_equal(mst_posix_next(&posix), -1);
}

/* Sends the service's response to the opening handshake. */
static void upgrade_answer(int peer) {
    char text[256], key[24 + 1], accept[28 + 1];
    const char *line = strstr(request_read(peer), "Sec-WebSocket-Key: ");

    assert_non_null(line);
    snprintf(key, sizeof key, "%s", line + 19);
    mst_mock_service_accept(key, accept);
    snprintf(text, sizeof text,
             "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n"
             "Connection: Upgrade\r\nSec-WebSocket-Accept: %s\r\n\r\n",
             accept);
    send(peer, text, strlen(text), MSG_NOSIGNAL);
}

/* Opens a client's stream. */
static void clients_open(size_t number) {
    clients_add(number, "127.0.0.1", real_port(listener));
    for (;;) {
        poll_idle(number);
        if (mst_link_state(&clients[number].link) == MST_STATE_UPGRADE) {
            break;
        }
        assert_true(mst_posix_wait(&posix, &objects[number], 1, LONG_MS) >= 0);
    }
    peers[number] = accept(listener, NULL, NULL);
    upgrade_answer(peers[number]);
    assert_int_equal(mst_posix_wait(&posix, &objects[number], 1, LONG_MS), 1);
    expect_event(number, MST_EVENT_OPEN);
    poll_idle(number);
}

/* Opens count streams, which are then idle. */
static void clients_begin(size_t count) {
    assert_int_equal(listen(listener, MANY), 0);
    for (size_t i = 0; i < count; i++) {
        clients_open(i);
    }
    clients_count = count;
    expect_nothing();
}

static void clients_end(void) {
    for (size_t i = 0; i < clients_count; i++) {
        mst_client_wipe(&clients[i]);
        if (peers[i] >= 0) {
            close(peers[i]);
        }
    }
    clients_count = 0;
}

static void send_heartbeat(size_t number) {
    static const char text[] = "..{\"channel\":\"heartbeat\",\"payload\":"
                               "{\"timestamp\":\"2026-01-02T03:04:05.678Z\"}}";
    char frame[sizeof text];
    size_t len = sizeof text - 1;

    memcpy(frame, text, sizeof text);
    frame[0] = '\x81'; /* a whole text, RFC 6455, section 5.2 */
    frame[1] = (char)(len - 2);
    assert_int_equal(send(peers[number], frame, len, MSG_NOSIGNAL), len);
}

static void expect_heartbeat(size_t number) {
    send_heartbeat(number);
    expect_next(number);
    expect_event(number, MST_EVENT_HEARTBEAT);
    poll_idle(number);
}

static void serve_clients(size_t count) {
    bool told[MANY] = {false};

    clients_begin(count);
    for (size_t i = 0; i < 3 * count; i++) {
        expect_heartbeat(i * 2 % count);
    }
    send_heartbeat(1);
    expect_next(1);
    expect_next(1); /* again, because it was not polled */
    expect_event(1, MST_EVENT_HEARTBEAT);
    poll_idle(1);
    /* Two at a time, in any order. */
    send_heartbeat(0);
    send_heartbeat(2);
    assert_int_equal(wait_for_all(LONG_MS), 1);
    told[mst_posix_next(&posix)] = true;
    if (!told[0] || !told[2]) { /* the second may come later */
        int number = mst_posix_next(&posix);

        number = number < 0 && wait_for_all(LONG_MS) == 1
                     ? mst_posix_next(&posix)
                     : number;
        told[number] = true;
    }
    expect_event(0, MST_EVENT_HEARTBEAT);
    expect_event(2, MST_EVENT_HEARTBEAT);
    poll_idle(0);
    poll_idle(2);
    expect_nothing();

    mst_close(&clients[1]);
    expect_next(1);
    assert_int_equal(mst_poll(&clients[1], &event), 0);
    close(peers[1]);
    peers[1] = -1;
    expect_next(1);
    expect_event(1, MST_EVENT_CLOSED);
    assert_int_equal(mst_poll(&clients[1], &event), MST_ERR_CLOSED);
    /* No wait is for a closed client. */
    expect_nothing();
    expect_heartbeat(2);
    expect_heartbeat(0);
    mst_client_wipe(&clients[1]);
    expect_nothing();
    expect_heartbeat(0);
    expect_heartbeat(2);
    clients_open(1);
    expect_heartbeat(1);
    expect_heartbeat(0);
    clients_end();
}

TEST_CASE(clients_share_a_loop) {
    serve_clients(FEW);
    serve_clients(MANY);
}

/* The last two clients resolve and connect, all others stream. */
static void serve_all_stages(size_t count) {
    size_t resolves = count - 2, connects = count - 1;
    int silent = real_socket("127.0.0.1", 0);

    real_listen_in_vain(silent, fillers);
    clients_begin(count - 2);
    clients_add(resolves, "hang.test", 80);
    clients_add(connects, "127.0.0.1", real_port(silent));
    clients_count = count;
    poll_idle(resolves);
    poll_idle(connects);
    assert_int_equal(mst_link_state(&clients[resolves].link),
                     MST_STATE_RESOLVE);
    assert_int_equal(mst_link_state(&clients[connects].link),
                     MST_STATE_CONNECT);
    expect_nothing();
    expect_heartbeat(0);
    expect_nothing();

    hang_end();
    expect_next(resolves);
    expect_event(resolves, MST_EVENT_CLOSED);
    assert_int_equal(event.as.failure.error, MST_ERR_RESOLVE);
    mst_client_wipe(&clients[resolves]);

    /* The system's next attempt, about a second later, is refused. */
    close(silent);
    real_close(fillers);
    expect_next(connects);
    expect_event(connects, MST_EVENT_CLOSED);
    assert_int_equal(event.as.failure.error, MST_ERR_REFUSED);
    mst_client_wipe(&clients[connects]);
    expect_heartbeat(0);
    clients_end();
}

TEST_CASE(clients_wait_in_every_stage) {
    serve_all_stages(FEW);
    serve_all_stages(MANY);
}

/* The next wait notices calls and polls out of turn. */
TEST_CASE(wait_sees_what_was_called) {
    char text[4096];

    clients_begin(MANY);
    assert_int_equal(mst_subscribe(&clients[5], MST_HEARTBEAT, NULL, NULL), 0);
    expect_next(5);
    send_full = true;
    assert_int_equal(mst_poll(&clients[5], &event), 0);
    expect_next(5); /* the system reports room */
    assert_int_equal(mst_poll(&clients[5], &event), 0);
    assert_int_equal(recv(peers[5], text, sizeof text, MSG_DONTWAIT), -1);
    send_full = false;
    do { /* the system reports room once: from now on only time helps */
        assert_int_equal(mst_poll(&clients[5], &event), 0);
    } while (recv(peers[5], text, sizeof text, MSG_DONTWAIT) <= 0);
    poll_idle(5);
    expect_nothing();

    send_heartbeat(7);
    while (mst_poll(&clients[7], &event) == 0) {}
    assert_int_equal(event.type, MST_EVENT_HEARTBEAT);
    expect_next(7); /* there may be more: it was not polled until 0 */
    poll_idle(7);
    expect_nothing();
    clients_end();
}

/* With many clients, the system reports new data only once. */
TEST_CASE(nothing_is_told_too_seldom) {
    const size_t count = 3000; /* more than one read returns */

    clients_begin(MANY);
    for (size_t i = 0; i < count; i++) {
        send_heartbeat(3);
    }
    for (size_t i = 0; i < count; i++) { /* one for each wait */
        do {
            assert_int_equal(wait_for_all(LONG_MS), 1);
            assert_int_equal(mst_posix_next(&posix), 3);
        } while (mst_poll(&clients[3], &event) == 0);
        assert_int_equal(event.type, MST_EVENT_HEARTBEAT);
    }
    poll_idle(3);
    expect_nothing();

    /* The end comes with the last message. */
    send_heartbeat(4);
    close(peers[4]);
    peers[4] = -1;
    usleep(10000);
    expect_next(4);
    expect_event(4, MST_EVENT_HEARTBEAT);
    while (mst_poll(&clients[4], &event) == 0) {
        assert_int_equal(wait_for_all(LONG_MS), 1);
        assert_int_equal(mst_posix_next(&posix), 4);
    }
    assert_int_equal(event.type, MST_EVENT_CLOSED);
    clients_end();
}

/* A client that is left out does not end a wait, and is not forgotten. */
TEST_CASE(wait_is_for_its_objects) {
    clients_begin(MANY);
    clients_count--;
    send_heartbeat(MANY - 1);
    expect_nothing();
    expect_nothing();
    expect_heartbeat(0);
    clients_count++;
    expect_next(MANY - 1);
    expect_event(MANY - 1, MST_EVENT_HEARTBEAT);
    clients_end();
}

static void serve_deadlines(size_t count) {
    char text[64];

    assert_int_equal(listen(listener, MANY), 0);
    for (size_t i = 0; i < count; i++) {
        if (i != 1) {
            clients_open(i);
        }
    }
    config.ping_ms = 3000; /* of the last to open, even on a slow machine */
    clients_open(1);
    config.ping_ms = 0;
    clients_count = count;
    assert_int_equal(wait_for_all(LONG_MS), 0); /* until the ping is due */
    expect_next(1);
    assert_int_equal(mst_poll(&clients[1], &event), 0);
    assert_true(recv(peers[1], text, sizeof text, 0) > 0);
    clients_end();
}

TEST_CASE(wakes_up_at_the_first_deadline) {
    serve_deadlines(FEW);
    serve_deadlines(MANY);
}

TEST_CASE(link_number_out_of_range_is_an_error) {
    static const int numbers[] = {LINKS - 1, LINKS, INT32_MAX, -1, INT32_MIN};
    struct mst_posix_link behind = links[LINKS - 1];

    assert_int_equal(mst_posix_init(&posix, links, LINKS - 1, &port), 0);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        config.link = numbers[i];
        client_begin("127.0.0.1");
        assert_int_equal(wait_ms(0), MST_ERR_ARGUMENT);
        expect_events(0);
        while (mst_poll(&client, &event) == 0) {}
        assert_int_equal(event.type, MST_EVENT_CLOSED);
        assert_int_equal(event.as.failure.error, MST_ERR_ARGUMENT);
        assert_int_equal(event.as.failure.stage, MST_STATE_RESOLVE);
        assert_int_equal(mst_posix_next(&posix), -1);
        mst_client_wipe(&client);
    }
    assert_memory_equal(&behind, &links[LINKS - 1], sizeof behind);
}

RUN_WITH(set_up, tear_down, NULL, NULL)
