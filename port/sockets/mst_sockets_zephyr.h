/*
 * mst_sockets.h on Zephyr. It needs CONFIG_NET_TCP, CONFIG_NET_SOCKETS,
 * CONFIG_NET_SOCKETPAIR, CONFIG_DNS_RESOLVER, a generator for sys_csrand_get()
 * (CONFIG_ENTROPY_GENERATOR), and a wall clock that SNTP or an RTC sets
 * (CONFIG_POSIX_TIMERS, clock_settime()). poll() must take one socket more than
 * there are links (CONFIG_NET_SOCKETS_POLL_MAX or CONFIG_ZVFS_POLL_MAX), and
 * two more file descriptors are needed (CONFIG_ZVFS_OPEN_MAX).
 *
 * SPDX-License-Identifier: 0BSD
 */
#ifndef MST_SOCKETS_ZEPHYR_H
#define MST_SOCKETS_ZEPHYR_H

#include <zephyr/kernel.h>
#include <zephyr/net/socket.h>

/* Bytes of stack of the resolver's task. */
#ifndef MST_SOCKETS_STACK
#define MST_SOCKETS_STACK 2048
#endif

struct mst_sockets_task {
    void (*run)(void *context);
    void *context;
    struct k_mutex lock;
    struct k_sem asked;
    struct k_thread thread;
    K_KERNEL_STACK_MEMBER(stack, MST_SOCKETS_STACK);
};

#ifdef MST_SOCKETS_PRIVATE

#include <errno.h>
#include <fcntl.h>
#include <time.h>
#include <zephyr/random/random.h>

#define MST_SOCKETS(name) zsock_##name
#define MST_SOCKETS_POLLIN ZSOCK_POLLIN
#define MST_SOCKETS_POLLOUT ZSOCK_POLLOUT
#define MST_SOCKETS_SEND_FLAGS 0
#define MST_SOCKETS_NONBLOCK(fd) zsock_fcntl(fd, F_SETFL, O_NONBLOCK)
#define MST_SOCKETS_PAIR(fds) zsock_socketpair(AF_UNIX, SOCK_STREAM, 0, fds)
#define MST_SOCKETS_LOCK(task) k_mutex_lock(&(task)->lock, K_FOREVER)
#define MST_SOCKETS_UNLOCK(task) k_mutex_unlock(&(task)->lock)
#define MST_SOCKETS_RING(task) k_sem_give(&(task)->asked)
#define MST_SOCKETS_AWAIT(task) k_sem_take(&(task)->asked, K_FOREVER)
#define MST_SOCKETS_ENTROPY(data, len) (sys_csrand_get(data, len) == 0)

static inline uint32_t mst_sockets_now_ms(void) {
    return k_uptime_get_32();
}

static inline bool mst_sockets_unix(int64_t *s, int32_t *ns) {
    struct timespec now;

    if (clock_gettime(CLOCK_REALTIME, &now) != 0) {
        return false;
    }
    *s = (int64_t)now.tv_sec;
    *ns = (int32_t)now.tv_nsec;
    return true;
}

static void mst_sockets_main(void *argument, void *unused, void *neither) {
    struct mst_sockets_task *task = argument;

    (void)unused;
    (void)neither;
    task->run(task->context);
}

static inline int mst_sockets_start(struct mst_sockets_task *task) {
    k_mutex_init(&task->lock);
    k_sem_init(&task->asked, 0, 1);
    k_thread_create(&task->thread, task->stack,
                    K_KERNEL_STACK_SIZEOF(task->stack), mst_sockets_main, task,
                    NULL, NULL, K_LOWEST_APPLICATION_THREAD_PRIO, 0, K_NO_WAIT);
    return 0;
}

static inline void mst_sockets_join(struct mst_sockets_task *task) {
    k_thread_join(&task->thread, K_FOREVER);
}

#endif

#endif
