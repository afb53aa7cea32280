/*
 * mst_sockets.h on NuttX and Linux. On Linux, ../posix does more.
 *
 * NuttX needs CONFIG_NET_TCP, CONFIG_NET_LOCAL (socketpair), CONFIG_LIBC_NETDB,
 * CONFIG_NETDB_DNSCLIENT, CONFIG_DEV_URANDOM or another source for getrandom(),
 * and a stack of 2 KB or more for a thread (CONFIG_PTHREAD_STACK_DEFAULT).
 *
 * SPDX-License-Identifier: 0BSD
 */
#ifndef MST_SOCKETS_POSIX_H
#define MST_SOCKETS_POSIX_H

#include <netinet/in.h>
#include <pthread.h>
#include <semaphore.h>
#include <sys/socket.h>

struct mst_sockets_task {
    void (*run)(void *context);
    void *context;
    pthread_mutex_t lock;
    sem_t asked;
    pthread_t thread;
};

#ifdef MST_SOCKETS_PRIVATE /* the rest is for mst_sockets.c */

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#define MST_SOCKETS(name) name /* of a function or struct of the system */
#define MST_SOCKETS_POLLIN POLLIN
#define MST_SOCKETS_POLLOUT POLLOUT
#define MST_SOCKETS_SEND_FLAGS MSG_NOSIGNAL
#define MST_SOCKETS_NONBLOCK(fd) fcntl(fd, F_SETFL, O_NONBLOCK)

/* Makes two connected sockets; they need not be streams. 0, or an error. */
#define MST_SOCKETS_PAIR(fds) socketpair(AF_UNIX, SOCK_STREAM, 0, fds)

/* The lock of the data that the resolver shares, and a signal to wake it. A
 * signal before the resolver waits is not lost. */
#define MST_SOCKETS_LOCK(task) pthread_mutex_lock(&(task)->lock)
#define MST_SOCKETS_UNLOCK(task) pthread_mutex_unlock(&(task)->lock)
#define MST_SOCKETS_RING(task) sem_post(&(task)->asked)
#define MST_SOCKETS_AWAIT(task) sem_wait(&(task)->asked)

/* Fills data; false if the generator is not ready. */
#define MST_SOCKETS_ENTROPY(data, len) \
    (getrandom(data, len, GRND_NONBLOCK) == (ssize_t)(len))

static inline uint32_t mst_sockets_now_ms(void) {
    struct timespec now = {0, 0};

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint32_t)now.tv_sec * 1000u + (uint32_t)(now.tv_nsec / 1000000);
}

/* Unix s and ns; false if there is no clock. */
static inline bool mst_sockets_unix(int64_t *s, int32_t *ns) {
    struct timespec now;

    if (clock_gettime(CLOCK_REALTIME, &now) != 0) {
        return false;
    }
    *s = (int64_t)now.tv_sec;
    *ns = (int32_t)now.tv_nsec;
    return true;
}

static void *mst_sockets_main(void *argument) {
    struct mst_sockets_task *task = argument;

    task->run(task->context);
    return NULL;
}

/* Calls run(context) in a new task with all signals blocked: the program's own
 * threads handle them. 0, or an error. */
static inline int mst_sockets_start(struct mst_sockets_task *task) {
    sigset_t all, before;
    int rc;

    pthread_mutex_init(&task->lock, NULL);
    sem_init(&task->asked, 0, 0);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    rc = pthread_create(&task->thread, NULL, mst_sockets_main, task);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return rc;
}

/* Waits until run() has returned. */
static inline void mst_sockets_join(struct mst_sockets_task *task) {
    pthread_join(task->thread, NULL);
    sem_destroy(&task->asked);
    pthread_mutex_destroy(&task->lock);
}

#endif

#endif
