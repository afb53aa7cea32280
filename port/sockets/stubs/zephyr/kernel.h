/*
 * Stand-in for Zephyr's headers: declares what mst_sockets_zephyr.h and the
 * port use, to compile them on a host (test/package/systems.py).
 *
 * SPDX-License-Identifier: 0BSD
 */
#ifndef STUB_ZEPHYR_H
#define STUB_ZEPHYR_H

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdint.h>
#include <sys/socket.h>
#include <time.h>

typedef struct {
    int64_t ticks;
} k_timeout_t;
typedef void (*k_thread_entry_t)(void *p1, void *p2, void *p3);
struct k_mutex {
    int unused;
};
struct k_sem {
    unsigned count;
};
struct k_thread {
    int unused;
};
struct z_thread_stack_element {
    char data;
};

#define K_KERNEL_STACK_MEMBER(sym, size) struct z_thread_stack_element sym[size]
#define K_KERNEL_STACK_SIZEOF(sym) sizeof(sym)
#define K_LOWEST_APPLICATION_THREAD_PRIO 14
#define K_FOREVER ((k_timeout_t){-1})
#define K_NO_WAIT ((k_timeout_t){0})

struct k_thread *k_thread_create(struct k_thread *new_thread,
                                 struct z_thread_stack_element *stack,
                                 size_t stack_size, k_thread_entry_t entry,
                                 void *p1, void *p2, void *p3, int prio,
                                 uint32_t options, k_timeout_t delay);
int k_thread_join(struct k_thread *thread, k_timeout_t timeout);
int k_mutex_init(struct k_mutex *mutex);
int k_mutex_lock(struct k_mutex *mutex, k_timeout_t timeout);
int k_mutex_unlock(struct k_mutex *mutex);
int k_sem_init(struct k_sem *sem, unsigned initial_count, unsigned limit);
void k_sem_give(struct k_sem *sem);
int k_sem_take(struct k_sem *sem, k_timeout_t timeout);
uint32_t k_uptime_get_32(void);
int sys_csrand_get(void *dst, size_t len);

#define ZSOCK_POLLIN 1
#define ZSOCK_POLLOUT 4
struct zsock_pollfd {
    int fd;
    short events;
    short revents;
};
struct zsock_addrinfo {
    struct zsock_addrinfo *ai_next;
    int ai_flags;
    int ai_family;
    int ai_socktype;
    int ai_protocol;
    socklen_t ai_addrlen;
    struct sockaddr *ai_addr;
    char *ai_canonname;
};
int zsock_socket(int family, int type, int proto);
int zsock_socketpair(int family, int type, int proto, int *sv);
int zsock_close(int sock);
int zsock_connect(int sock, const struct sockaddr *addr, socklen_t addrlen);
ssize_t zsock_send(int sock, const void *buf, size_t len, int flags);
ssize_t zsock_recv(int sock, void *buf, size_t max_len, int flags);
int zsock_fcntl(int sock, int cmd, int flags);
int zsock_poll(struct zsock_pollfd *fds, int nfds, int timeout);
int zsock_getsockopt(int sock, int level, int optname, void *optval,
                     socklen_t *optlen);
int zsock_setsockopt(int sock, int level, int optname, const void *optval,
                     socklen_t optlen);
int zsock_getaddrinfo(const char *host, const char *service,
                      const struct zsock_addrinfo *hints,
                      struct zsock_addrinfo **res);
void zsock_freeaddrinfo(struct zsock_addrinfo *ai);

#endif
