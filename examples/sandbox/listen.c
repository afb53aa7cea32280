/*
 * Sockets that listen.
 *
 * SPDX-License-Identifier: 0BSD
 */
#include "listen.h"

/* A port that is free on one address may be taken on the other. */
#define FREE_PORT_TRIES 16

static GSocket *listen_at(const char *address, guint port, GError **error)
{
    GSocketAddress *where =
        g_inet_socket_address_new_from_string(address, port);
    GSocket *socket;

    if (!where) {
        g_set_error(error, G_IO_ERROR, G_IO_ERROR_INVALID_ARGUMENT,
                    "%s is not an IP address", address);
        return NULL;
    }
    socket = g_socket_new(g_socket_address_get_family(where),
                          G_SOCKET_TYPE_STREAM, G_SOCKET_PROTOCOL_TCP, error);
    if (socket) {
        g_socket_set_blocking(socket, FALSE);
        if (!g_socket_bind(socket, where, TRUE, error) ||
            !g_socket_listen(socket, error)) {
            g_clear_object(&socket);
        }
    }
    g_object_unref(where);
    return socket;
}

static guint port_of(GSocket *socket)
{
    GSocketAddress *address = g_socket_get_local_address(socket, NULL);
    guint port = g_inet_socket_address_get_port(G_INET_SOCKET_ADDRESS(address));

    g_object_unref(address);
    return port;
}

/* Both loopback addresses, or one where the machine has no ::1. */
static gboolean listen_loopback(GPtrArray *sockets, guint port, GError **error)
{
    GSocket *first = listen_at("127.0.0.1", port, error);
    GError *failure = NULL;
    GSocket *second;

    if (!first) {
        return FALSE;
    }
    g_ptr_array_add(sockets, first);
    second = listen_at("::1", port_of(first), &failure);
    if (second) {
        g_ptr_array_add(sockets, second);
    } else if (g_error_matches(failure, G_IO_ERROR,
                               G_IO_ERROR_ADDRESS_IN_USE)) {
        g_ptr_array_set_size(sockets, 0);
        g_propagate_error(error, failure);
        return FALSE;
    } else {
        g_error_free(failure);
    }
    return TRUE;
}

static void listen_free_port(GPtrArray *sockets, GError **error)
{
    for (int i = 0; i < FREE_PORT_TRIES && sockets->len == 0; i++) {
        g_clear_error(error);
        listen_loopback(sockets, 0, error);
    }
}

GPtrArray *listen_open(const char *address, guint *port, GError **error)
{
    GPtrArray *sockets = g_ptr_array_new_with_free_func(g_object_unref);

    if (address) {
        GSocket *socket = listen_at(address, *port, error);

        if (socket) {
            g_ptr_array_add(sockets, socket);
        }
    } else if (*port != 0) {
        listen_loopback(sockets, *port, error);
    } else {
        listen_free_port(sockets, error);
    }
    if (sockets->len == 0) {
        g_prefix_error(error, "cannot listen on port %u: ", *port);
        g_ptr_array_unref(sockets);
        return NULL;
    }
    *port = port_of(g_ptr_array_index(sockets, 0));
    return sockets;
}
