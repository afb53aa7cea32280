/* Listens, and accepts connections. SPDX-License-Identifier: 0BSD */
#include "listener.h"

#include <netinet/in.h>
#include <netinet/tcp.h>

/* A port that is free on 127.0.0.1 may be in use on ::1. */
#define FREE_PORT_TRIES 16

struct listener {
    /* GSocket, owned, one for each address: they reserve the port and do not
     * listen. */
    GPtrArray *places;
    GPtrArray *sources; /* GSource, owned: of the sockets that listen */
    listener_accepted accepted;
    void *user_data;
};

static gboolean on_client(GSocket *socket, GIOCondition condition,
                          gpointer user_data) {
    const struct listener *listener = user_data;
    g_autoptr(GSocket) client = g_socket_accept(socket, NULL, NULL);
    g_autoptr(GSocketAddress) local = NULL;
    g_autoptr(GSocketAddress) remote = NULL;

    (void)condition;
    if (!client) {
        return G_SOURCE_CONTINUE;
    }
    local = g_socket_get_local_address(client, NULL);
    remote = g_socket_get_remote_address(client, NULL);
    if (local && remote) { /* else the client has gone already */
        g_autoptr(GSocketConnection) connection =
            g_socket_connection_factory_create_connection(client);

        g_socket_set_option(client, IPPROTO_TCP, TCP_NODELAY, TRUE, NULL);
        listener->accepted(connection, local, remote, listener->user_data);
    }
    return G_SOURCE_CONTINUE;
}

/* Returns a bound socket. Another one can be bound to the same address while
 * only one of them listens. */
static GSocket *bind_at(GSocketAddress *where, GError **error) {
    g_autoptr(GSocket) socket =
        g_socket_new(g_socket_address_get_family(where), G_SOCKET_TYPE_STREAM,
                     G_SOCKET_PROTOCOL_TCP, error);

    return socket && g_socket_bind(socket, where, TRUE, error)
               ? g_steal_pointer(&socket)
               : NULL;
}

/* Listens on the address of a bound socket. */
static gboolean listen_at(struct listener *listener, GSocket *place,
                          GError **error) {
    g_autoptr(GSocketAddress) where = g_socket_get_local_address(place, error);
    g_autoptr(GSocket) socket = where ? bind_at(where, error) : NULL;
    GSource *source;

    if (!socket || !g_socket_listen(socket, error)) {
        return FALSE;
    }
    g_socket_set_blocking(socket, FALSE);
    source = g_socket_create_source(socket, G_IO_IN, NULL);
    g_source_set_callback(source, G_SOURCE_FUNC(on_client), listener, NULL);
    g_source_attach(source, NULL);
    g_ptr_array_add(listener->sources, source);
    return TRUE;
}

/* Reserves the port and listens; sets *port to the actual one. */
static gboolean add(struct listener *listener, const char *address, guint *port,
                    GError **error) {
    g_autoptr(GSocketAddress) where =
        g_inet_socket_address_new_from_string(address, *port);
    g_autoptr(GSocketAddress) bound = NULL;
    g_autoptr(GSocket) place = NULL;

    if (!where) {
        g_set_error(error, G_IO_ERROR, G_IO_ERROR_INVALID_ARGUMENT,
                    "%s is not an IP address", address);
        return FALSE;
    }
    place = bind_at(where, error);
    if (!place || !listen_at(listener, place, error)) {
        return FALSE;
    }
    bound = g_socket_get_local_address(place, NULL);
    *port = g_inet_socket_address_get_port(G_INET_SOCKET_ADDRESS(bound));
    g_ptr_array_add(listener->places, g_steal_pointer(&place));
    return TRUE;
}

/* Listens on both loopback addresses; on one if the machine has no ::1. */
static gboolean add_loopback(struct listener *listener, guint *port,
                             GError **error) {
    GError *failure = NULL;

    if (!add(listener, "127.0.0.1", port, error)) {
        return FALSE;
    }
    if (!add(listener, "::1", port, &failure)) {
        if (g_error_matches(failure, G_IO_ERROR, G_IO_ERROR_ADDRESS_IN_USE)) {
            g_propagate_error(error, failure);
            return FALSE;
        }
        g_error_free(failure);
    }
    return TRUE;
}

static void source_free(gpointer data) {
    g_source_destroy(data);
    g_source_unref(data);
}

void listener_stop(struct listener *listener) {
    g_ptr_array_set_size(listener->sources, 0);
}

bool listener_start(struct listener *listener, GError **error) {
    for (guint i = 0; i < listener->places->len; i++) {
        if (!listen_at(listener, g_ptr_array_index(listener->places, i),
                       error)) {
            return false;
        }
    }
    return true;
}

bool listener_listens(const struct listener *listener) {
    return listener->sources->len > 0;
}

struct listener *listener_new(const char *address, guint *port,
                              listener_accepted accepted, void *user_data,
                              GError **error) {
    struct listener *listener = g_new0(struct listener, 1);
    guint wanted = *port;
    int tries = address || wanted != 0 ? 1 : FREE_PORT_TRIES;
    gboolean ok = FALSE;

    listener->places = g_ptr_array_new_with_free_func(g_object_unref);
    listener->sources = g_ptr_array_new_with_free_func(source_free);
    listener->accepted = accepted;
    listener->user_data = user_data;
    while (!ok && tries-- > 0) {
        g_clear_error(error);
        listener_stop(listener);
        g_ptr_array_set_size(listener->places, 0);
        *port = wanted;
        ok = address ? add(listener, address, port, error)
                     : add_loopback(listener, port, error);
    }
    if (!ok) {
        g_prefix_error(error, "cannot listen on port %u: ", wanted);
        g_clear_pointer(&listener, listener_free);
    }
    return listener;
}

void listener_free(struct listener *listener) {
    g_ptr_array_unref(listener->sources);
    g_ptr_array_unref(listener->places);
    g_free(listener);
}
