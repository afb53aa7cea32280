/*
 * What a port must do. SPDX-License-Identifier: 0BSD
 */
#include "mst_conform.h"

#include <string.h>

/* The first byte of a connection tells peer.py what to do. LEN follows, except
 * after PEER_ECHO. LEN and sums (Adler-32) are 4 bytes, the lowest first. */
#define PEER_ECHO 'E'  /* sends back all that it receives */
#define PEER_TALK 'T'  /* sends LEN bytes of the pattern, and ends */
#define PEER_STALL 'S' /* waits a second, reads LEN bytes, sends their sum */
#define PEER_KEEP 'K'  /* waits, reads to the end, stores the sum as LEN */
#define PEER_UTTER 'U' /* like PEER_KEEP, but sends 2,500 bytes first */
#define PEER_SUM 'A'   /* sends the sum stored as LEN */
#define PEER_RESET 'R' /* resets the connection */
#define PEER_QUIET 'Q' /* neither reads nor sends */

/* No step takes longer than this, in ms; and two looks at
 * the clock are never this far apart. */
#define PATIENCE_MS 140000u
#define JUMP_MS 3600000u

/* A sleep that the port should end takes less than this. */
#define WOKEN_MS 50000u

#define LINKS_MAX 8

/* Bytes that a peer sends if several links are in use, and the most that it
 * sends to be read by one. */
#define SOME 20000u
#define MORE 8000000u

/* How long the clock is watched, and after how many readings without a change
 * it counts as one that advances only while the program waits. */
#define WATCH_MS 1000u
#define LOOKS 100000u
#define RESTS 20u

/* The current test. */
struct run {
    const struct mst_conform *c;
    const char *why;    /* the first reason to fail, or NULL */
    int failed;         /* tests so far */
    uint32_t last;      /* the last reading of the clock, ms */
    int count, address; /* addresses of the last name, and the current one */
    bool woken;         /* waits until the port wakes it */
    struct mst_endpoint peer, nobody;
};

static void fail(struct run *r, const char *why) {
    r->why = r->why != NULL ? r->why : why;
}

/* Reads the clock, and compares it with the previous reading. */
static uint32_t now(struct run *r) {
    uint32_t before = r->last;

    r->last = r->c->port.now_ms(r->c->port.context);
    if ((int32_t)(r->last - before) < 0) {
        fail(r, "now_ms goes back");
    }
    if (r->last - before > JUMP_MS) {
        fail(r, "now_ms jumps ahead");
    }
    return r->last;
}

/* Sleeps. If the port is to wake the program, a sleep ends before its time. */
static void rest(struct run *r) {
    uint32_t begin = now(r);

    (r->woken ? r->c->wait_woken : r->c->wait)(r->c->context);
    if (r->woken && now(r) - begin >= WOKEN_MS) {
        fail(r, "the port did not wake the program");
    }
}

static uint8_t pattern(uint32_t at) {
    return (uint8_t)(at ^ at >> 8 ^ at >> 16);
}

/* ---- Steps ---- */

static void endpoint_set(const struct run *r, struct mst_endpoint *endpoint,
                         const char *host, uint16_t port) {
    memset(endpoint, 0, sizeof *endpoint);
    strncpy(endpoint->host, host, sizeof endpoint->host - 1);
    endpoint->port = port;
    endpoint->tls = r->c->tls;
}

/* Continues to connect, to one address after the other. Returns 1, 0 for not
 * yet, or an error. A secure port may also report the TLS handshake. */
static int connect_some(struct run *r, int link) {
    const struct mst_port *port = &r->c->port;
    int rc = port->connect(port->context, link, r->address);

    while (rc < 0 && r->address + 1 < r->count) {
        rc = port->connect(port->context, link, ++r->address);
    }
    if (rc == MST_PORT_IN_TLS && r->c->tls) {
        return 0;
    }
    if (rc > 1) {
        fail(r, "connect gave another number than 1");
    }
    if (port->detail != NULL) { /* may be called at any time */
        (void)port->detail(port->context, link);
    }
    return rc;
}

/* Resolves and connects. Returns 1, the port's error, or 0 if it took too
 * long. */
static int open_link(struct run *r, int link,
                     const struct mst_endpoint *endpoint) {
    const struct mst_port *port = &r->c->port;
    uint32_t begin = now(r);
    int rc = 0;

    r->count = r->address = 0;
    while (rc == 0 && now(r) - begin < PATIENCE_MS) {
        if (r->count == 0) {
            r->count = port->resolve(port->context, link, endpoint);
            rc = r->count < 0 ? r->count : 0;
        }
        if (r->count > 0) {
            rc = connect_some(r, link);
        }
        if (rc == 0) {
            rest(r);
        }
    }
    return rc;
}

static void close_link(struct run *r, int link) {
    r->c->port.close(r->c->port.context, link);
}

/* Sends some of these bytes. Returns how many; 0 for not now, or after a
 * failure. */
static size_t send_some(struct run *r, int link, const void *data, size_t len) {
    int n = r->c->port.send(r->c->port.context, link, data, len);

    if (n < 0) {
        fail(r, "send failed");
    } else if ((size_t)n > len) {
        fail(r, "send took more than there was");
    }
    return r->why == NULL ? (size_t)n : 0;
}

/* Receives up to len bytes. Returns how many; 0 for not now; negative at the
 * end. */
static int receive_some(struct run *r, int link, void *data, size_t len) {
    int n = r->c->port.recv(r->c->port.context, link, data, len);

    if (n > 0 && (size_t)n > len) {
        fail(r, "recv gave more than there was room for");
        return MST_ERR_PORT;
    }
    return n;
}

static void send_all(struct run *r, int link, const void *data, size_t len) {
    const uint8_t *at = data;
    uint32_t begin = now(r);

    while (len > 0 && r->why == NULL) {
        size_t n = send_some(r, link, at, len);

        at += n;
        len -= n;
        if (n == 0) {
            rest(r);
        }
        if (now(r) - begin >= PATIENCE_MS) {
            fail(r, "could not send");
        }
    }
}

/* Connects to the peer, and sends it the command with len. */
static void begin_peer(struct run *r, int link, char what, uint32_t len) {
    const uint8_t request[] = {(uint8_t)what, (uint8_t)len, (uint8_t)(len >> 8),
                               (uint8_t)(len >> 16), (uint8_t)(len >> 24)};

    if (open_link(r, link, &r->peer) != 1) {
        fail(r, "could not connect");
        return;
    }
    send_all(r, link, request, what == PEER_ECHO ? 1 : sizeof request);
}

/* Receives to the connection's end, up to room bytes at a time, and checks that
 * they are the pattern. Returns their number. */
static uint32_t receive_pattern(struct run *r, int link, size_t room,
                                uint32_t until) {
    uint8_t data[256];
    uint32_t at = 0, heard = now(r);

    while (r->why == NULL && at < until) {
        int n = receive_some(r, link, data, room);

        if (n == MST_ERR_EOF) {
            break;
        }
        if (n < 0) {
            fail(r, "recv failed");
        } else if (n == 0) {
            rest(r);
        } else {
            heard = now(r);
        }
        for (int i = 0; i < n; i++, at++) {
            if (data[i] != pattern(at)) {
                fail(r, "other bytes came than were sent");
            }
        }
        if (now(r) - heard >= PATIENCE_MS) {
            fail(r, "nothing came any more");
        }
    }
    return at;
}

/* Bytes sent so far, and their Adler-32 (RFC 1950, section 8.2). */
struct sent {
    uint32_t len, low, high;
};

/* Sends more of the pattern, up to len bytes in all. Returns how many now. */
static size_t send_pattern(struct run *r, int link, struct sent *sent,
                           uint32_t until) {
    uint8_t data[251]; /* not a divisor of a buffer's length: some are split */
    size_t n, len = sizeof data;

    len = len < until - sent->len ? len : until - sent->len;
    for (uint32_t i = 0; i < len; i++) {
        data[i] = pattern(sent->len + i);
    }
    n = send_some(r, link, data, len);
    for (uint32_t i = 0; i < n; i++) {
        sent->low = (sent->low + data[i]) % 65521;
        sent->high = (sent->high + sent->low) % 65521;
    }
    sent->len += (uint32_t)n;
    return n;
}

/* Receives the Adler-32 of what the peer has received, and compares it. */
static void receive_sum(struct run *r, int link, const struct sent *sent) {
    uint32_t got = 0, begin = now(r);
    uint8_t answer[4];

    while (got < sizeof answer && r->why == NULL) {
        int n = receive_some(r, link, answer + got, sizeof answer - got);

        if (n < 0) {
            fail(r, "the peer says nothing of what it got");
        } else if (n == 0) {
            rest(r);
        }
        got += n > 0 ? (uint32_t)n : 0;
        if (now(r) - begin >= PATIENCE_MS) {
            fail(r, "nothing came any more");
        }
    }
    if (r->why == NULL &&
        (sent->high << 16 | sent->low) !=
            ((uint32_t)answer[0] | (uint32_t)answer[1] << 8 |
             (uint32_t)answer[2] << 16 | (uint32_t)answer[3] << 24)) {
        fail(r, "the peer got other bytes");
    }
}

/* ---- Cases ---- */

/* The clocks advance and never go back. Reads them without a pause, because a
 * clock may be wrong only for an instant. */
static void has_clocks(struct run *r) {
    const struct mst_port *port = &r->c->port;
    uint32_t begin = now(r), looks = 0, rests = 0;
    uint64_t last_ns = 0;
    int64_t unix_ns = 0;
    int rc;

    while (rests < RESTS && now(r) - begin < WATCH_MS && r->why == NULL) {
        uint64_t ns = port->now_ns != NULL ? port->now_ns(port->context) : 0;
        uint32_t before = r->last;

        if (ns < last_ns) {
            fail(r, "now_ns goes back");
        }
        last_ns = ns;
        looks = now(r) == before ? looks + 1 : 0;
        if (looks == LOOKS) {
            rest(r);
            rests++;
            looks = 0;
        }
    }
    if (now(r) == begin) {
        fail(r, "now_ms stands still");
    }
    rc = port->unix_ns(port->context, &unix_ns);
    if (rc == 0 && unix_ns / 1000000000 < MST_CLOCK_MIN) {
        fail(r, "unix_ns is set, and before 2024");
    }
    if (rc != 0 && rc != MST_ERR_CLOCK) {
        fail(r, "unix_ns fails otherwise than with MST_ERR_CLOCK");
    }
}

static void connects_and_echoes(struct run *r) {
    uint8_t data[61];
    int n;

    begin_peer(r, 0, PEER_ECHO, 0);
    n = r->why == NULL ? receive_some(r, 0, data, sizeof data) : 0;
    if (n != 0) {
        fail(r, "recv before anything came is not 0");
    }
    for (uint32_t i = 0; i < sizeof data; i++) {
        data[i] = pattern(i);
    }
    send_all(r, 0, data, sizeof data);
    (void)receive_pattern(r, 0, 7, sizeof data);
}

/* Reads more than the window, slowly: nothing is lost before the end. Then
 * sends to the closed peer must fail or do nothing; a signal would end the
 * test. */
static void reads_much_to_its_end(struct run *r) {
    uint32_t much = r->c->much < MORE ? r->c->much : MORE;
    uint8_t byte;

    begin_peer(r, 0, PEER_TALK, much);
    for (unsigned i = 0; i < 200 && r->why == NULL; i++) {
        rest(r);
    }
    if (receive_pattern(r, 0, 251, UINT32_MAX) != much) {
        fail(r, "bytes were lost");
    }
    for (unsigned i = 0; i < 3 && r->why == NULL; i++) {
        if (receive_some(r, 0, &byte, 1) != MST_ERR_EOF) {
            fail(r, "the end is not told again");
        }
    }
    for (unsigned i = 0; i < 20 && r->why == NULL; i++) {
        (void)r->c->port.send(r->c->port.context, 0, "", 1);
        rest(r);
    }
}

/* Sends to a peer that does not read must stop, and continue later. */
static void sends_to_a_slow_reader(struct run *r) {
    struct sent sent = {0, 1, 0};
    uint32_t begin;
    bool stalled = false;

    begin_peer(r, 0, PEER_STALL, r->c->much);
    begin = now(r);
    while (sent.len < r->c->much && r->why == NULL) {
        if (send_pattern(r, 0, &sent, r->c->much) == 0) {
            stalled = true;
            rest(r);
        } else {
            begin = now(r);
        }
        if (now(r) - begin >= PATIENCE_MS) {
            fail(r, "sending does not go on");
        }
    }
    if (!stalled) {
        fail(r, "sends never stopped, though nobody read");
    }
    receive_sum(r, 0, &sent);
}

/* Closes as soon as nothing more can be sent: what the port has taken must be
 * sent, and then the end. */
static void send_and_close(struct run *r, char what) {
    struct sent sent = {0, 1, 0};
    uint32_t name = now(r);

    begin_peer(r, 0, what, name);
    for (unsigned i = 0; i < 200 && what == PEER_UTTER && r->why == NULL; i++) {
        rest(r);
    }
    while (sent.len < r->c->much && r->why == NULL &&
           send_pattern(r, 0, &sent, r->c->much) > 0) {}
    close_link(r, 0);
    if (r->why == NULL) {
        begin_peer(r, 0, PEER_SUM, name);
    }
    receive_sum(r, 0, &sent);
}

static void sends_what_it_took(struct run *r) {
    send_and_close(r, PEER_KEEP);
}

/* Many stacks reset the connection if there is unread input. */
static void sends_it_with_bytes_unread(struct run *r) {
    send_and_close(r, PEER_UTTER);
}

static void tells_of_a_reset(struct run *r) {
    uint32_t begin;
    uint8_t byte;
    int rc = 0;

    begin_peer(r, 0, PEER_RESET, 0);
    begin = now(r);
    while (rc == 0 && r->why == NULL && now(r) - begin < PATIENCE_MS) {
        rc = receive_some(r, 0, &byte, 1);
        rest(r);
    }
    /* Through a proxy it may be an ordinary end. */
    if (rc != MST_ERR_RESET &&
        !(r->c->proxied &&
          rc == (r->c->tls ? MST_ERR_TLS_TRUNCATED : MST_ERR_EOF))) {
        fail(r, "not MST_ERR_RESET");
    }
}

/* If nobody listens, the port must return this error, or a proxy's. */
static void find_nobody(struct run *r, const char *host, uint16_t number,
                        int error, const char *why) {
    if (r->c->proxied) {
        error = MST_ERR_PROXY_GATEWAY;
        why = "not MST_ERR_PROXY_GATEWAY";
    }
    endpoint_set(r, &r->nobody, host, number);
    if (open_link(r, 0, &r->nobody) != error) {
        fail(r, why);
    }
}

/* A second call must try again. */
static void tells_of_a_refusal(struct run *r) {
    uint32_t begin;
    int rc = 0;

    find_nobody(r, r->c->host, r->c->closed_port, MST_ERR_REFUSED,
                "not MST_ERR_REFUSED");
    begin = now(r);
    while (rc == 0 && r->why == NULL && now(r) - begin < PATIENCE_MS) {
        rc = connect_some(r, 0);
        rest(r);
    }
    if (rc >= 0) {
        fail(r, "not refused once more");
    }
}

static void tells_of_an_unknown_name(struct run *r) {
    find_nobody(r, r->c->nowhere, r->c->peer_port, MST_ERR_RESOLVE,
                "not MST_ERR_RESOLVE");
}

/* The port must wake the waiting thread for each event. */
static void wakes_who_waits(struct run *r) {
    r->woken = true;
    tells_of_an_unknown_name(r);
    close_link(r, 0);
    find_nobody(r, r->c->host, r->c->closed_port, MST_ERR_REFUSED,
                "not MST_ERR_REFUSED");
    close_link(r, 0);
    sends_to_a_slow_reader(r);
    r->woken = false;
}

/* A link can be closed after any number of steps, and used again at once. */
static void closes_at_any_time(struct run *r) {
    const struct mst_port *port = &r->c->port;
    uint8_t data[256] = {0};

    for (unsigned steps = 0; steps < 20 && r->why == NULL; steps++) {
        int connected = 0;

        r->count = r->address = 0;
        for (unsigned i = 0; i < steps; i++) {
            if (r->count == 0) {
                r->count = port->resolve(port->context, 0, &r->peer);
            } else if (connected == 0) {
                connected = connect_some(r, 0);
            } else {
                data[0] = PEER_QUIET;
                (void)port->send(port->context, 0, data, sizeof data);
            }
            if (steps % 2 != 0) {
                rest(r);
            }
        }
        close_link(r, 0);
        if (steps % 3 == 0) {
            close_link(r, 0); /* a closed link may be closed again */
        }
    }
    connects_and_echoes(r);
}

/* A link that is not read receives no more than its window, and does not
 * disturb other links. */
static void leaves_room_for_others(struct run *r) {
    begin_peer(r, 0, PEER_TALK, r->c->much);
    for (unsigned i = 0; i < 200 && r->why == NULL; i++) {
        rest(r);
    }
    begin_peer(r, 1, PEER_TALK, SOME);
    if (receive_pattern(r, 1, 251, UINT32_MAX) != SOME) {
        fail(r, "bytes were lost");
    }
}

static void keeps_links_apart(struct run *r) {
    uint32_t at[LINKS_MAX] = {0}, heard = 0;
    int links = r->c->links < LINKS_MAX ? r->c->links : LINKS_MAX;
    bool more = true;

    for (int i = 0; i < links; i++) {
        begin_peer(r, i, PEER_TALK, SOME + (uint32_t)i);
    }
    heard = now(r);
    while (more && r->why == NULL) {
        more = false;
        for (int i = 0; i < links && r->why == NULL; i++) {
            uint8_t data[100];
            int n = receive_some(r, i, data, sizeof data - (size_t)i);

            more |= n >= 0;
            if (n < 0 && n != MST_ERR_EOF) {
                fail(r, "recv failed");
            }
            for (int k = 0; k < n; k++) {
                if (data[k] != pattern(at[i]++)) {
                    fail(r, "a link has bytes of another");
                }
            }
            heard = n > 0 ? now(r) : heard;
        }
        if (now(r) - heard >= PATIENCE_MS) {
            fail(r, "nothing came any more");
        }
        rest(r);
    }
    for (int i = 0; i < links; i++) {
        if (at[i] != SOME + (uint32_t)i) {
            fail(r, "bytes were lost");
        }
    }
}

static void refuses_links_that_it_does_not_have(struct run *r) {
    const struct mst_port *port = &r->c->port;
    const int numbers[] = {-1, r->c->links, INT32_MAX};

    for (unsigned i = 0; i < 3; i++) {
        if (port->resolve(port->context, numbers[i], &r->peer) !=
            MST_ERR_ARGUMENT) {
            fail(r, "resolve is not MST_ERR_ARGUMENT");
        }
        close_link(r, numbers[i]);
        if (port->detail != NULL) {
            (void)port->detail(port->context, numbers[i]);
        }
    }
}

static void has_entropy(struct run *r) {
    const struct mst_port *port = &r->c->port;
    uint8_t any[32] = {0}, draw[34], last[34] = {0};

    for (unsigned i = 0; i < 64; i++) {
        memset(draw, 0, sizeof draw);
        if (port->entropy(port->context, draw + 1, 32) != 0) {
            fail(r, "no entropy");
        }
        if (draw[0] != 0 || draw[33] != 0) {
            fail(r, "entropy writes beyond its room");
        }
        if (memcmp(draw, last, sizeof draw) == 0) {
            fail(r, "entropy is the same as before");
        }
        memcpy(last, draw, sizeof last);
        for (unsigned k = 0; k < sizeof any; k++) {
            any[k] |= draw[k + 1];
        }
    }
    for (unsigned k = 0; k < sizeof any; k++) {
        if (any[k] == 0) {
            fail(r, "not all bytes are filled");
        }
    }
}

static void run_case(struct run *r, const char *name,
                     void (*test)(struct run *r)) {
    r->why = NULL;
    test(r);
    for (int i = 0; i < r->c->links; i++) {
        close_link(r, i);
    }
    r->failed += r->why != NULL;
    r->c->report(r->c->context, name, r->why);
}

int mst_conform_run(const struct mst_conform *conform) {
    const struct mst_port *port = &conform->port;
    struct run r = {.c = conform, .last = port->now_ms(port->context)};

    endpoint_set(&r, &r.peer, conform->host, conform->peer_port);
    run_case(&r, "has clocks", has_clocks);
    if (r.failed > 0) {
        return r.failed; /* the other cases need a clock to give up */
    }
    run_case(&r, "connects and echoes", connects_and_echoes);
    run_case(&r, "reads much to its end", reads_much_to_its_end);
    run_case(&r, "sends to a slow reader", sends_to_a_slow_reader);
    run_case(&r, "sends what it took", sends_what_it_took);
    run_case(&r, "sends it with bytes unread", sends_it_with_bytes_unread);
    run_case(&r, "tells of a reset", tells_of_a_reset);
    run_case(&r, "tells of a refusal", tells_of_a_refusal);
    run_case(&r, "tells of an unknown name", tells_of_an_unknown_name);
    if (conform->wait_woken != NULL) {
        run_case(&r, "wakes who waits", wakes_who_waits);
    }
    run_case(&r, "closes at any time", closes_at_any_time);
    if (conform->links > 1) {
        run_case(&r, "leaves room for others", leaves_room_for_others);
    }
    run_case(&r, "keeps links apart", keeps_links_apart);
    run_case(&r, "refuses links that it does not have",
             refuses_links_that_it_does_not_have);
    run_case(&r, "has entropy", has_entropy);
    return r.failed;
}
