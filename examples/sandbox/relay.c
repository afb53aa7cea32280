/*
 * A relay between clients and a server.
 *
 * For each client there is a pair of sockets. The server uses one end as if it
 * were the client. Two pipes connect the other end with the client's socket.
 *
 * SPDX-License-Identifier: 0BSD
 */
#include "relay.h"

#include "http.h"
#include "listener.h"
#include "pipe.h"

#include <string.h>
#include <sys/socket.h>

struct relay {
    SoupServer *server;
    struct faults *faults;
    const char *place;
    struct listener *listener; /* NULL before relay_listen and after the end */
    GPtrArray *links;          /* struct link, owned */
};

/* One connection. */
struct link {
    struct relay *relay;
    GSocketAddress *address;       /* the client's */
    GSocketConnection *connection; /* the client's; it closes the socket */
    GSocket *client;               /* the connection's */
    GSocket *server;
    struct pipe *up;   /* to the server */
    struct pipe *down; /* to the client; NULL if half open */
    uint64_t mark;     /* bytes to the client until a fault may be due */
    bool up_ended;
    bool down_ended;
};

static void link_free(gpointer data) {
    struct link *link = data;

    pipe_free(link->up);
    g_clear_pointer(&link->down, pipe_free);
    g_socket_close(link->server, NULL);
    g_object_unref(link->address);
    g_object_unref(link->connection);
    g_object_unref(link->server);
    g_free(link);
}

static void link_end(struct link *link) {
    g_ptr_array_remove_fast(link->relay->links, link);
}

/* Closes the connection with RST. */
static void link_reset(struct link *link) {
    const struct linger now = {.l_onoff = 1, .l_linger = 0};

    setsockopt(g_socket_get_fd(link->client), SOL_SOCKET, SO_LINGER, &now,
               sizeof now);
    link_end(link);
}

/* Closes the server's end. The client gets nothing more, not even a FIN. */
static void link_half_open(struct link *link) {
    g_clear_pointer(&link->down, pipe_free);
    g_socket_close(link->server, NULL);
    if (link->up_ended) {
        link_end(link);
    } else {
        pipe_drain(link->up);
    }
}

/* Returns the fault's parameters, or NULL if it is not active here. */
static const json_t *fault_here(const struct relay *relay, enum fault fault) {
    const json_t *parameters = faults_get(relay->faults, fault);
    const char *at = faults_text(parameters, "at");

    return at && (strcmp(at, relay->place) == 0 || strcmp(at, "all") == 0)
               ? parameters
               : NULL;
}

/* Returns the bytes to a client, from now on, after which the fault is due. */
static uint64_t mark_of(const struct relay *relay, enum fault fault) {
    const json_t *parameters = fault_here(relay, fault);

    return parameters ? (uint64_t)faults_number(parameters, "after_bytes")
                      : PIPE_NO_MARK;
}

static struct pipe_limits limits_now(const struct relay *relay) {
    return (struct pipe_limits){
        .latency_us =
            faults_number(fault_here(relay, FAULT_LATENCY), "ms") * 1000,
        .bytes_per_s =
            faults_number(fault_here(relay, FAULT_BANDWIDTH), "bytes_per_s"),
        .slice = faults_number(fault_here(relay, FAULT_SLICE), "bytes"),
        .frozen = fault_here(relay, FAULT_FREEZE) != NULL,
    };
}

/* Applies the active faults to the connection. */
static void link_set(struct link *link) {
    const struct relay *relay = link->relay;
    struct pipe_limits limits = limits_now(relay);

    link->mark =
        MIN(mark_of(relay, FAULT_RESET), mark_of(relay, FAULT_HALF_OPEN));
    pipe_set(link->up, &limits, PIPE_NO_MARK);
    if (link->down) {
        pipe_set(link->down, &limits, link->mark);
    }
}

/* Carries out the fault that is due, if other connections have left any. */
static void on_mark(struct link *link) {
    const struct relay *relay = link->relay;
    struct pipe_limits limits = limits_now(relay);
    uint64_t reset = mark_of(relay, FAULT_RESET);
    uint64_t half_open = mark_of(relay, FAULT_HALF_OPEN);
    uint64_t passed = link->mark;

    if (reset <= passed) {
        faults_use(relay->faults, FAULT_RESET);
        link_reset(link);
    } else if (half_open <= passed) {
        faults_use(relay->faults, FAULT_HALF_OPEN);
        link_half_open(link);
    } else {
        link->mark = MIN(reset, half_open);
        pipe_set(link->down, &limits,
                 link->mark == PIPE_NO_MARK ? PIPE_NO_MARK
                                            : link->mark - passed);
    }
}

/* A pipe_callback for data of the client. */
static void on_up(enum pipe_event event, void *user_data) {
    struct link *link = user_data;

    if (event == PIPE_BROKEN) {
        pipe_drain(link->up); /* the server has closed and reads no more */
        return;
    }
    link->up_ended = true;
    if (link->down_ended || !link->down) {
        link_end(link);
    } else {
        g_socket_shutdown(link->server, FALSE, TRUE, NULL);
    }
}

/* A pipe_callback for data of the server. */
static void on_down(enum pipe_event event, void *user_data) {
    struct link *link = user_data;

    switch (event) {
    case PIPE_MARK: on_mark(link); break;
    case PIPE_BROKEN: link_end(link); break;
    case PIPE_ENDED:
        link->down_ended = true;
        if (link->up_ended) {
            link_end(link);
        } else {
            g_socket_shutdown(link->client, FALSE, TRUE, NULL);
        }
        break;
    }
}

/* Creates two connected sockets, to be released. Returns false on failure. */
static bool new_pair(GSocket *ends[2]) {
    int descriptors[2];

    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, descriptors) != 0) {
        return false;
    }
    for (int i = 0; i < 2; i++) {
        ends[i] = g_socket_new_from_fd(descriptors[i], NULL);
    }
    return true;
}

/* Connects the client with the relay's end of the pair; takes that over. */
static void link_new(struct relay *relay, GSocketConnection *connection,
                     GSocket *end, GSocketAddress *address) {
    GSocket *client = g_socket_connection_get_socket(connection);
    struct link *link = g_new0(struct link, 1);

    g_socket_set_blocking(client, FALSE);
    g_socket_set_blocking(end, FALSE);
    link->relay = relay;
    link->address = g_object_ref(address);
    link->connection = g_object_ref(connection);
    link->client = client;
    link->server = end;
    link->up = pipe_new(client, end, on_up, link);
    link->down = pipe_new(end, client, on_down, link);
    g_ptr_array_add(relay->links, link);
    link_set(link);
}

/* A listener_accepted. */
static void on_accepted(GSocketConnection *connection, GSocketAddress *local,
                        GSocketAddress *remote, void *user_data) {
    struct relay *relay = user_data;
    GSocket *ends[2];

    if (new_pair(ends)) {
        /* The server takes its end for a client with this address. */
        g_autoptr(GSocket) end = ends[0];
        g_autoptr(GSocketConnection) inside =
            g_socket_connection_factory_create_connection(end);

        http_server_accept(inside, local, remote, relay->server);
        link_new(relay, connection, ends[1], remote);
    }
}

/* Stops listening during the fault restart; then listens again. */
static void set_listening(struct relay *relay) {
    bool down = faults_get(relay->faults, FAULT_RESTART) != NULL;
    GError *error = NULL;

    if (!relay->listener || down != listener_listens(relay->listener)) {
        return;
    }
    if (down) {
        listener_stop(relay->listener);
        while (relay->links->len > 0) {
            link_reset(g_ptr_array_index(relay->links, 0));
        }
    } else if (!listener_start(relay->listener, &error)) {
        g_error("%s", error->message);
    }
}

/* A faults_changed. */
static void on_faults(void *user_data) {
    struct relay *relay = user_data;

    set_listening(relay);
    for (guint i = 0; i < relay->links->len; i++) {
        link_set(g_ptr_array_index(relay->links, i));
    }
}

struct relay *relay_new(SoupServer *server, struct faults *faults,
                        const char *place) {
    struct relay *relay = g_new0(struct relay, 1);

    relay->server = server;
    relay->faults = faults;
    relay->place = place;
    relay->links = g_ptr_array_new_with_free_func(link_free);
    faults_watch(faults, on_faults, relay);
    return relay;
}

void relay_stop_listening(struct relay *relay) {
    g_clear_pointer(&relay->listener, listener_free);
}

void relay_free(struct relay *relay) {
    relay_stop_listening(relay);
    g_ptr_array_unref(relay->links);
    g_free(relay);
}

bool relay_listen(struct relay *relay, const char *address, guint *port,
                  GError **error) {
    relay->listener = listener_new(address, port, on_accepted, relay, error);
    set_listening(relay);
    return relay->listener != NULL;
}

void relay_drop(struct relay *relay, GSocketAddress *client) {
    for (guint i = 0; i < relay->links->len; i++) {
        const struct link *link = g_ptr_array_index(relay->links, i);

        if (link->address == client && link->down) {
            g_socket_shutdown(link->server, TRUE, TRUE, NULL);
        }
    }
}

guint relay_connections(const struct relay *relay) {
    return relay->links->len;
}
