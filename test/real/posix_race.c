/*
 * Tests of how the POSIX port tries the addresses of a host: families in turn,
 * each address once, and another one as well if there is no answer for 250 ms.
 *
 * getaddrinfo() is replaced here: a test sets the addresses of "list.test". An
 * address that never answers is a listener on the loopback interface with a
 * full queue: the system drops further connections.
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
#include <sys/epoll.h>
#include <sys/un.h>
#include <unistd.h>

#include "real.h"

#define HEAD_START_NS 249000000u /* 250 ms, by a clock of whole ms */
/* The longest wait: only a timeout of the library would take longer. */
#define HANG_NS 120000000000u
#define MANY (MST_POSIX_FEW + 4)

static struct mst_posix_link links[MANY];
static struct mst_posix posix;
static struct mst_port port;

/* ---- Functions of the system, replaced ---- */

static const char *const *names; /* the addresses, up to NULL */

int getaddrinfo(const char *name, const char *service,
                const struct addrinfo *req, struct addrinfo **pai) {
    struct addrinfo numeric = *req;
    int rc = 0;

    REAL_OF(getaddrinfo);
    if (strcmp(name, "list.test") != 0 || (req->ai_flags & AI_NUMERICHOST)) {
        return real(name, service, req, pai);
    }
    numeric.ai_flags |= AI_NUMERICHOST;
    for (size_t i = 0; names[i] != NULL && rc == 0; i++) {
        rc = real(names[i], service, &numeric, pai);
        pai = &(*pai)->ai_next;
    }
    return rc;
}

static char begun[256]; /* the addresses of all calls of connect() */

int connect(int fd, __CONST_SOCKADDR_ARG addr, socklen_t len) {
    const struct sockaddr *to = addr.__sockaddr__;
    char host[INET6_ADDRSTRLEN + 1];
    size_t at = strlen(begun);

    REAL_OF(connect);
    getnameinfo(to, len, host, sizeof host, NULL, 0, NI_NUMERICHOST);
    snprintf(begun + at, sizeof begun - at, "%s%s", at > 0 ? " " : "", host);
    return real(fd, addr, len);
}

static bool no_lists; /* epoll_create1() fails: no descriptor is left */

int epoll_create1(int flags) {
    REAL_OF(epoll_create1);

    if (no_lists) {
        errno = EMFILE;
        return -1;
    }
    return real(flags);
}

/* ---- Addresses that answer, refuse or stay silent ---- */

static struct { int fd, fillers[REAL_FILLERS]; } listeners[8];
static size_t listeners_count;
static uint16_t number; /* the port of all addresses */
static int descriptors; /* before the test */

/* Listens at an address. Returns its index in listeners. */
static size_t answers(const char *host, int backlog) {
    int fd = real_socket(host, number);

    assert_int_equal(listen(fd, backlog), 0);
    memset(listeners[listeners_count].fillers, -1,
           sizeof listeners[listeners_count].fillers);
    listeners[listeners_count].fd = fd;
    return listeners_count++;
}

static size_t says_nothing(const char *host) {
    size_t n = answers(host, 0);

    real_listen_in_vain(listeners[n].fd, listeners[n].fillers);
    return n;
}

static bool bound(int fd, const void *address, size_t size) {
    return bind(fd, address, (socklen_t)size) == 0;
}

/* A port that is free at all addresses, marked like those of free_port() in
 * e2e.py, until the program ends. */
static uint16_t free_port(void) {
    for (uint16_t found = 20000; found < 32768; found++) {
        struct sockaddr_un name = {.sun_family = AF_UNIX};
        struct sockaddr_in6 address = {.sin6_family = AF_INET6,
                                       .sin6_port = htons(found)};
        size_t len = (size_t)snprintf(name.sun_path + 1, 20, "port-%u", found);
        int mark = socket(AF_UNIX, SOCK_STREAM, 0);
        int fd = socket(AF_INET6, SOCK_STREAM, 0);
        bool is_free = bound(mark, &name, sizeof name.sun_family + 1 + len) &&
                       bound(fd, &address, sizeof address);

        close(fd);
        if (is_free) {
            return found;
        }
        close(mark);
    }
    fail_msg("no port");
    return 0;
}

static int set_up(void **state) {
    (void)state;
    no_lists = false;
    number = free_port();
    descriptors = real_descriptors();
    return mst_posix_init(&posix, links, MANY, &port);
}

static int tear_down(void **state) {
    (void)state;
    mst_posix_free(&posix);
    while (listeners_count > 0) {
        real_close(listeners[--listeners_count].fillers);
        close(listeners[listeners_count].fd);
    }
    assert_int_equal(real_descriptors(), descriptors);
    return 0;
}

/* ---- One link ---- */

static uint64_t now_ns(void) {
    return port.now_ns(port.context);
}

/* Resolves the host that has these addresses. */
#define RESOLVE(...) resolve((const char *const[]){__VA_ARGS__, NULL})

static int resolve(const char *const list[]) {
    struct mst_endpoint endpoint = {.host = "list.test", .port = number};
    int rc;

    names = list;
    while ((rc = port.resolve(port.context, 0, &endpoint)) == 0) {
        usleep(1000);
    }
    begun[0] = '\0';
    return rc;
}

/* Connects to the end. */
static int connect_to(int address) {
    uint64_t begin_ns = now_ns();
    int rc;

    while ((rc = port.connect(port.context, 0, address)) == 0) {
        assert_true(now_ns() - begin_ns < HANG_NS);
        usleep(1000);
    }
    return rc;
}

/* Calls connect() for this time; it must not end. */
static void connect_in_vain(int address, uint64_t ns) {
    uint64_t begin_ns = now_ns();

    do {
        assert_int_equal(port.connect(port.context, 0, address), 0);
        usleep(1000);
    } while (now_ns() - begin_ns < ns);
}

/* Calls connect() until these attempts have begun; it must not end. */
static void connect_until(int address, const char *list) {
    uint64_t begin_ns = now_ns();

    do {
        assert_int_equal(port.connect(port.context, 0, address), 0);
        assert_true(now_ns() - begin_ns < HANG_NS);
        usleep(1000);
    } while (strcmp(begun, list) != 0);
}

static void expect_peer(const char *host) {
    struct sockaddr_storage address;
    socklen_t len = sizeof address;
    char text[INET6_ADDRSTRLEN];

    assert_int_equal(
        getpeername(links[0].fd, (struct sockaddr *)&address, &len), 0);
    getnameinfo((struct sockaddr *)&address, len, text, sizeof text, NULL, 0,
                NI_NUMERICHOST);
    assert_string_equal(text, host);
}

TEST_CASE(families_take_turns) {
    static const struct {
        const char *const list[24];
        const char *order;
    } cases[] = {
        {{"::1"}, "::1"},
        {{"127.0.0.1", "127.0.0.2"}, "127.0.0.1 127.0.0.2"},
        {{"::1", "::2", "::3", "127.0.0.1"}, "::1 127.0.0.1 ::2 ::3"},
        {{"127.0.0.1", "::1", "::2", "127.0.0.2", "127.0.0.3"},
         "127.0.0.1 ::1 127.0.0.2 ::2 127.0.0.3"},
        /* More addresses than are kept: the other family is not left out. */
        {{"::1", "::2", "::3", "::4", "::5", "::6", "::7", "::8", "::9", "::a",
          "::b", "::c", "::d", "::e", "::f", "::10", "::11", "127.0.0.1",
          "127.0.0.2"},
         "::1 127.0.0.1 ::2 127.0.0.2 ::3 ::4 ::5 ::6 ::7 ::8 ::9 ::a ::b ::c "
         "::d ::e"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char order[512] = "";
        int count = resolve(cases[i].list);

        for (int n = 0; n < count; n++) {
            const union mst_posix_address *to = &links[0].answer.addresses[n];
            size_t len = strlen(order);

            order[len++] = ' ';
            getnameinfo(&to->any, sizeof *to, order + len,
                        (socklen_t)(sizeof order - len), NULL, 0,
                        NI_NUMERICHOST);
        }
        assert_string_equal(order + 1, cases[i].order);
    }
}

/* With either family broken and first. */
TEST_CASE(broken_first_costs_its_head_start) {
    static const char *const lists[][3] = {{"::1", "127.0.0.1", NULL},
                                           {"127.0.0.1", "::1", NULL}};

    for (size_t i = 0; i < 2; i++) {
        uint64_t begin_ns;
        int peer;

        says_nothing(lists[i][0]);
        answers(lists[i][1], 1);
        assert_int_equal(resolve(lists[i]), 2);
        begin_ns = now_ns();
        assert_int_equal(connect_to(0), 1);
        assert_true(now_ns() - begin_ns >= HEAD_START_NS);
        expect_peer(lists[i][1]);
        assert_int_equal(port.connect(port.context, 0, 0), 1);
        peer = accept(listeners[1].fd, NULL, NULL);
        assert_int_equal(port.send(port.context, 0, "x", 1), 1);

        /* The other one was not used yet and comes next. */
        begun[0] = '\0';
        connect_in_vain(1, HEAD_START_NS * 2);
        assert_string_equal(begun, lists[i][0]);
        /* The winner keeps its number. */
        assert_int_equal(connect_to(0), 1);
        expect_peer(lists[i][1]);
        close(peer);
        (void)tear_down(state);
        assert_int_equal(set_up(state), 0);
    }
}

/* If the first answers at once, no other is tried. */
TEST_CASE(good_first_is_alone) {
    answers("::1", 1);
    answers("127.0.0.1", 1);
    assert_int_equal(RESOLVE("::1", "127.0.0.1"), 2);
    assert_int_equal(connect_to(0), 1);
    assert_string_equal(begun, "::1");
    assert_int_equal(connect_to(1), 1);
    assert_string_equal(begun, "::1 127.0.0.1");
    expect_peer("127.0.0.1");
}

TEST_CASE(refused_are_each_tried_once) {
    static const char *const list[] = {"127.0.0.1", "::1", "127.0.0.2",
                                       "127.0.0.3", NULL};

    assert_int_equal(resolve(list), 4);
    for (int i = 0; i < 4; i++) {
        assert_int_equal(connect_to(i), MST_ERR_REFUSED);
        assert_int_equal(port.detail(port.context, 0), ECONNREFUSED);
    }
    assert_string_equal(begun, "127.0.0.1 ::1 127.0.0.2 127.0.0.3");
    /* Starting with another one, as after an attempt that hung. */
    port.close(port.context, 0);
    assert_int_equal(resolve(list), 4);
    for (int i = 0; i < 4; i++) {
        assert_int_equal(connect_to((i + 2) % 4), MST_ERR_REFUSED);
    }
    assert_string_equal(begun, "127.0.0.2 127.0.0.3 127.0.0.1 ::1");
}

/* An error is reported when its address is asked for, without a new attempt. */
TEST_CASE(error_waits_for_its_turn) {
    says_nothing("::1");
    assert_int_equal(RESOLVE("::1", "127.0.0.1", "127.0.0.2"), 3);
    connect_until(0, "::1 127.0.0.1 127.0.0.2");
    assert_int_equal(port.connect(port.context, 0, 1), MST_ERR_REFUSED);
    assert_int_equal(port.detail(port.context, 0), ECONNREFUSED);
    assert_int_equal(port.connect(port.context, 0, 2), MST_ERR_REFUSED);
    assert_string_equal(begun, "::1 127.0.0.1 127.0.0.2");
}

/* Failures cost no time: fourteen head starts would be 3.5 s. */
TEST_CASE(failure_lets_the_next_begin) {
    uint64_t begin_ns;

    says_nothing("::1");
    answers("127.0.0.14", 1);
    assert_int_equal(RESOLVE("::1", "127.0.0.1", "127.0.0.2", "127.0.0.3",
                             "127.0.0.4", "127.0.0.5", "127.0.0.6", "127.0.0.7",
                             "127.0.0.8", "127.0.0.9", "127.0.0.10",
                             "127.0.0.11", "127.0.0.12", "127.0.0.13",
                             "127.0.0.14"),
                     15);
    begin_ns = now_ns();
    assert_int_equal(connect_to(0), 1);
    assert_true(now_ns() - begin_ns < 13 * (uint64_t)HEAD_START_NS);
    expect_peer("127.0.0.14");
}

/* The system repeats its request after a second. */
TEST_CASE(late_answer_of_the_first_counts) {
    size_t first = says_nothing("::1");
    int peer;

    says_nothing("127.0.0.1");
    assert_int_equal(RESOLVE("::1", "127.0.0.1"), 2);
    connect_until(0, "::1 127.0.0.1");
    real_close(listeners[first].fillers);
    fcntl(listeners[first].fd, F_SETFL, O_NONBLOCK);
    while ((peer = accept(listeners[first].fd, NULL, NULL)) >= 0) {
        close(peer);
    }
    assert_int_equal(connect_to(0), 1);
    expect_peer("::1");
    assert_string_equal(begun, "::1 127.0.0.1");
}

/* The library moves on to the next address after a while. */
TEST_CASE(race_goes_on_without_the_one_that_was_left) {
    says_nothing("::1");
    says_nothing("127.0.0.1");
    answers("127.0.0.2", 1);
    assert_int_equal(RESOLVE("::1", "127.0.0.1", "127.0.0.2"), 3);
    connect_until(0, "::1 127.0.0.1");
    assert_int_equal(connect_to(1), 1);
    expect_peer("127.0.0.2");
    assert_string_equal(begun, "::1 127.0.0.1 127.0.0.2");
    /* The address that was beaten is left. */
    connect_until(2, "::1 127.0.0.1 127.0.0.2 127.0.0.1");
}

/* Whichever comes next, the beaten ones race again. */
TEST_CASE(beaten_were_not_used) {
    says_nothing("::1");
    says_nothing("127.0.0.1");
    answers("127.0.0.2", 4);
    for (int next = 1; next <= 2; next++) {
        assert_int_equal(RESOLVE("::1", "127.0.0.1", "127.0.0.2"), 3);
        assert_int_equal(connect_to(0), 1);
        begun[0] = '\0';
        connect_until(next, next == 1 ? "127.0.0.1 ::1" : "::1 127.0.0.1");
        port.close(port.context, 0);
    }
}

TEST_CASE(close_leaves_nothing) {
    int before;

    says_nothing("::1");
    says_nothing("127.0.0.1");
    before = real_descriptors();
    for (int i = 0; i < 3; i++) {
        assert_int_equal(RESOLVE("::1", "127.0.0.1"), 2);
        connect_in_vain(0, (uint64_t)i * HEAD_START_NS);
        assert_true(real_descriptors() > before);
        port.close(port.context, 0);
        assert_int_equal(real_descriptors(), before);
    }
}

/* In any list: an address that answers is found, after at most one attempt at
 * each other; if none answers, each is tried once. */
TEST_CASE(any_list_is_gone_through) {
    static const char *const hosts[] = {"127.0.0.1", "::1", "127.0.0.2",
                                        "127.0.0.3"};

    says_nothing("127.0.0.1");
    answers("::1", 64);
    for (unsigned n = 0; n < 24; n++) {
        const char *list[5] = {hosts[n % 4], hosts[(n + 1 + n / 4 % 3) % 4]};
        unsigned used = 2;
        size_t answering = 0;
        int count, rc = MST_ERR_REFUSED;
        bool silent = false;

        for (unsigned i = 0; used < 2 + n % 3 && i < 4; i++) {
            if (hosts[i] != list[0] && hosts[i] != list[1]) {
                list[used++] = hosts[i];
            }
        }
        count = resolve(list);
        assert_int_equal(count, used);
        for (unsigned i = 0; i < used; i++) {
            answering += list[i] == hosts[1];
            silent |= list[i] == hosts[0];
        }
        for (int i = 0; i < count && rc != 1; i++) {
            if (answering == 0 && list[i] == hosts[0]) {
                connect_in_vain(i, 0);
            } else {
                rc = connect_to(i);
            }
        }
        if (answering > 0) {
            assert_int_equal(rc, 1);
            expect_peer("::1");
        } else if (!silent) {
            assert_int_equal(rc, MST_ERR_REFUSED);
        }
        for (unsigned i = 0; i < used; i++) {
            const char *at = strstr(begun, list[i]);

            assert_true(at == NULL || strstr(at + 1, list[i]) == NULL);
            assert_true(at != NULL || answering > 0 || silent);
        }
        port.close(port.context, 0);
    }
}

/* ---- Waiting ---- */

/* All clients get past two broken addresses: none sleeps too long, and none
 * wakes up all the time. */
static void get_past(size_t count, bool own_loop) {
    static const char *const list[] = {"::1", "127.0.0.1", "127.0.0.2", NULL};
    static struct real_clients clients;
    uint64_t begin_ns, passed_ns;
    struct mst_event event;
    int waits;

    names = list;
    says_nothing("::1");
    says_nothing("127.0.0.1");
    answers("127.0.0.2", MANY);
    assert_int_equal(
        real_clients_begin(&clients, &posix, &port, "list.test", number, count),
        0);
    begin_ns = now_ns();
    waits = real_clients_connect(&clients, own_loop, HANG_NS / 1000000, &event);
    assert_true(waits >= 0);
    passed_ns = now_ns() - begin_ns;
    assert_true(passed_ns < HANG_NS);
    assert_true(passed_ns >= 2 * HEAD_START_NS);
    /* A few for each stage of each client. Without an epoll list, a sleeping
     * client looks every 10 ms. */
    assert_true((size_t)waits <
                20 * count + (no_lists ? passed_ns / 5000000 : 0));
    for (size_t i = 0; i < count; i++) {
        mst_client_wipe(&clients.of[i]);
    }
}

TEST_CASE(wait_wakes_up_in_between) {
    get_past(1, false);
}

TEST_CASE(several_wake_up_in_between) {
    get_past(3, false);
}

TEST_CASE(many_wake_up_in_between) {
    get_past(MANY, false);
}

TEST_CASE(own_loop_wakes_up_in_between) {
    get_past(1, true);
}

TEST_CASE(own_loop_of_many_wakes_up_in_between) {
    get_past(MANY, true);
}

/* As on a system without a free descriptor for a list. */
TEST_CASE(waits_without_a_list) {
    no_lists = true;
    get_past(1, false);
}

TEST_CASE(many_wait_without_a_list) {
    no_lists = true;
    get_past(MANY, false);
}

RUN_WITH(set_up, tear_down, NULL, NULL)
