/*
 * Connections of the POSIX port start from an address that the program chooses.
 *
 * SPDX-License-Identifier: 0BSD
 */
#include "cases.h"

#include <arpa/inet.h>
#include <errno.h>
#include <unistd.h>

#include "real.h"

static struct mst_posix_link links[1];
static struct mst_posix posix;
static struct mst_port port;

/* Connects to a server at this host from this address. Returns the result;
 * seen is the address that the server sees. */
static int connect_from(const char *host, const struct sockaddr_in *source,
                        char seen[INET_ADDRSTRLEN]) {
    int listener = real_socket(host, 0);
    struct mst_endpoint to = {.port = real_port(listener)};
    struct sockaddr_in peer = {0};
    socklen_t peer_len = sizeof peer;
    int rc, fd;

    snprintf(to.host, sizeof to.host, "%s", host);
    assert_int_equal(listen(listener, 1), 0);
    mst_posix_free(&posix);
    assert_int_equal(mst_posix_init(&posix, links, 1, &port), 0);
    posix.source = (const struct sockaddr *)source;
    posix.source_len = sizeof *source;
    while ((rc = port.resolve(port.context, 0, &to)) == 0) {
        usleep(1000);
    }
    assert_int_equal(rc, 1);
    while ((rc = port.connect(port.context, 0, 0)) == 0) {
        usleep(1000);
    }
    if (rc > 0) {
        fd = accept(listener, (struct sockaddr *)&peer, &peer_len);
        assert_true(fd >= 0);
        inet_ntop(AF_INET, &peer.sin_addr, seen, INET_ADDRSTRLEN);
        close(fd);
    }
    close(listener);
    return rc;
}

static int set_up(void **state) {
    (void)state;
    return mst_posix_init(&posix, links, 1, &port);
}

static int tear_down(void **state) {
    (void)state;
    mst_posix_free(&posix);
    return 0;
}

TEST_CASE(test_source_address) {
    struct sockaddr_in ours = {.sin_family = AF_INET}, foreign = ours;
    char seen[INET_ADDRSTRLEN];

    assert_int_equal(connect_from("127.0.0.1", NULL, seen), 1);
    assert_string_equal(seen, "127.0.0.1");
    /* Any address of IPv4: no IPv6. */
    assert_int_equal(connect_from("127.0.0.1", &ours, seen), 1);
    assert_int_equal(connect_from("::1", &ours, seen), MST_ERR_UNREACHABLE);
    inet_pton(AF_INET, "127.0.0.2", &ours.sin_addr);
    assert_int_equal(connect_from("127.0.0.1", &ours, seen), 1);
    assert_string_equal(seen, "127.0.0.2");
    assert_int_equal(connect_from("::1", &ours, seen), MST_ERR_UNREACHABLE);
    assert_int_equal(port.detail(port.context, 0), EAFNOSUPPORT);
    inet_pton(AF_INET, "192.0.2.1", &foreign.sin_addr); /* RFC 5737 */
    assert_int_equal(connect_from("127.0.0.1", &foreign, seen),
                     MST_ERR_UNREACHABLE);
    assert_int_equal(port.detail(port.context, 0), EADDRNOTAVAIL);
}

RUN_WITH(set_up, tear_down, NULL, NULL)
