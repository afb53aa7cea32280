/*
 * The sender, a thread: carries out orders and moves the connection's bytes.
 * The library uses it as its event loop by the functions loop_...(). So it
 * needs no threads for this, and orders given together are sent together.
 *
 * SPDX-License-Identifier: 0BSD
 */
#include <poll.h>
#include <sys/eventfd.h>

#include "broker_private.h"

/* The longest wait in poll(). */
#define WAIT_MS 100

void broker_wake(struct broker *broker) {
    (void)eventfd_write(broker->wake, 1); /* a full counter wakes as well */
}

static natsStatus loop_attach(void **context, void *loop,
                              natsConnection *connection, natsSock socket) {
    struct broker *broker = loop;

    (void)connection;
    *context = broker;
    g_atomic_int_set(&broker->reads, 1);
    g_atomic_int_set(&broker->writes, 0);
    g_atomic_int_set(&broker->socket, socket);
    broker_wake(broker);
    return NATS_OK;
}

/* Starts or stops watching the socket for reading or writing. */
static natsStatus loop_set(struct broker *broker, gint *what, bool wanted) {
    g_atomic_int_set(what, wanted);
    if (g_thread_self() != broker->sender) {
        broker_wake(broker);
    }
    return NATS_OK;
}

static natsStatus loop_read(void *context, bool wanted) {
    struct broker *broker = context;

    return loop_set(broker, &broker->reads, wanted);
}

static natsStatus loop_write(void *context, bool wanted) {
    struct broker *broker = context;

    return loop_set(broker, &broker->writes, wanted);
}

static natsStatus loop_detach(void *context) {
    struct broker *broker = context;

    g_atomic_int_set(&broker->socket, -1);
    broker_wake(broker);
    return NATS_OK;
}

natsStatus loop_options(struct broker *broker, natsOptions *options) {
    return natsOptions_SetEventLoop(options, broker, loop_attach, loop_read,
                                    loop_write, loop_detach);
}

/* Makes the library read and write the socket. */
static void loop_move(struct broker *broker, bool readable) {
    g_rw_lock_reader_lock(&broker->use);
    if (broker->connection) {
        if (readable) {
            natsConnection_ProcessReadEvent(broker->connection);
        }
        if (g_atomic_int_get(&broker->writes)) {
            natsConnection_ProcessWriteEvent(broker->connection);
        }
    }
    g_rw_lock_reader_unlock(&broker->use);
}

gpointer loop_run(gpointer context) {
    struct broker *broker = context;
    struct order *order;
    eventfd_t count;
    bool ending;

    do {
        struct pollfd fds[2] = {{.fd = broker->wake, .events = POLLIN},
                                {.fd = g_atomic_int_get(&broker->socket)}};

        ending = g_atomic_int_get(&broker->unmoved);
        fds[1].events =
            (short)((g_atomic_int_get(&broker->reads) ? POLLIN : 0) |
                    (g_atomic_int_get(&broker->writes) ? POLLOUT : 0));
        (void)poll(fds, 2, ending ? 0 : WAIT_MS);
        if (fds[0].revents != 0) {
            (void)eventfd_read(broker->wake, &count);
        }
        if (fds[1].revents != 0) {
            loop_move(broker, (fds[1].revents & ~POLLOUT) != 0);
        }
        orders_go_on(broker);
        while ((order = g_async_queue_try_pop(broker->orders))) {
            order_do(broker, order);
        }
        loop_move(broker, false);
    } while (!ending);
    return NULL;
}
