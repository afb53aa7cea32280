/*
 * mst_sockets.h on FreeRTOS with lwIP's sockets (NO_SYS=0), including ESP-IDF.
 *
 * lwIP needs LWIP_SOCKET, LWIP_DNS and LWIP_NETIF_LOOPBACK (ESP-IDF has all of
 * them). MEMP_NUM_NETCONN and MEMP_NUM_UDP_PCB must be two larger than without
 * this port. FreeRTOS needs configSUPPORT_STATIC_ALLOCATION, configUSE_MUTEXES,
 * INCLUDE_vTaskDelete and INCLUDE_vTaskSuspend. Each task should have its own
 * errno: with LWIP_PROVIDE_ERRNO lwIP has only one, and no other task may use
 * sockets.
 *
 * SPDX-License-Identifier: 0BSD
 */
#ifndef MST_SOCKETS_FREERTOS_H
#define MST_SOCKETS_FREERTOS_H

#ifdef ESP_PLATFORM
#include <freertos/FreeRTOS.h>
#include <freertos/semphr.h>
#include <freertos/task.h>
#else
#include <FreeRTOS.h>
#include <semphr.h>
#include <task.h>
#endif

#include <lwip/sockets.h>

#if !LWIP_NETIF_LOOPBACK
#error "Set LWIP_NETIF_LOOPBACK to 1: the resolver's answers wake poll() by it"
#endif

/* The resolver's task: stack in bytes, and priority. */
#ifndef MST_SOCKETS_STACK
#define MST_SOCKETS_STACK 2048
#endif
#ifndef MST_SOCKETS_PRIORITY
#define MST_SOCKETS_PRIORITY (tskIDLE_PRIORITY + 1)
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* Your program defines these. mst_sockets_unix() gives Unix s and ns, or
 * returns false if the clock is not set. mst_sockets_entropy() gives random
 * bytes fit for keys, from the hardware's generator, or returns false if it is
 * not ready. */
bool mst_sockets_unix(int64_t *s, int32_t *ns);
bool mst_sockets_entropy(void *data, size_t len);

#ifdef __cplusplus
}
#endif

struct mst_sockets_task {
    void (*run)(void *context);
    void *context;
    SemaphoreHandle_t lock, asked, ended;
    TaskHandle_t handle;
    StaticSemaphore_t semaphores[3];
    StaticTask_t task;
    StackType_t stack[MST_SOCKETS_STACK / sizeof(StackType_t)];
};

#ifdef MST_SOCKETS_PRIVATE

#include <errno.h>
#include <lwip/netdb.h>
#include <string.h>

#define MST_SOCKETS(name) lwip_##name
#define lwip_addrinfo addrinfo
#define lwip_pollfd pollfd
#define MST_SOCKETS_POLLIN POLLIN
#define MST_SOCKETS_POLLOUT POLLOUT
#define MST_SOCKETS_SEND_FLAGS 0
#define MST_SOCKETS_NONBLOCK(fd) lwip_ioctl(fd, (long)FIONBIO, &(int){1})
#define MST_SOCKETS_PAIR(fds) mst_sockets_pair(fds)
#define MST_SOCKETS_LOCK(of) xSemaphoreTake((of)->lock, portMAX_DELAY)
#define MST_SOCKETS_UNLOCK(of) xSemaphoreGive((of)->lock)
#define MST_SOCKETS_RING(of) xSemaphoreGive((of)->asked)
#define MST_SOCKETS_AWAIT(of) xSemaphoreTake((of)->asked, portMAX_DELAY)
#define MST_SOCKETS_ENTROPY(data, len) mst_sockets_entropy(data, len)

/* The tick counter with its overflows. A tick need not be a whole number of
 * ms. */
static inline uint32_t mst_sockets_now_ms(void) {
    TimeOut_t now;

    vTaskSetTimeOutState(&now);
    return (
        uint32_t)(((uint64_t)now.xOverflowCount << 32 | now.xTimeOnEntering) *
                  1000u / configTICK_RATE_HZ);
}

/* Two UDP sockets on the loopback interface; the second sends to the first. */
static inline int mst_sockets_pair(int fds[2]) {
    struct sockaddr_in own;
    socklen_t len = sizeof own;

    memset(&own, 0, sizeof own);
    own.sin_family = AF_INET;
    own.sin_addr.s_addr = lwip_htonl(INADDR_LOOPBACK);
    fds[0] = lwip_socket(AF_INET, SOCK_DGRAM, 0);
    fds[1] = lwip_socket(AF_INET, SOCK_DGRAM, 0);
    if (fds[0] < 0 || fds[1] < 0 ||
        lwip_bind(fds[0], (struct sockaddr *)&own, len) != 0 ||
        lwip_getsockname(fds[0], (struct sockaddr *)&own, &len) != 0) {
        return -1;
    }
    return lwip_connect(fds[1], (struct sockaddr *)&own, len);
}

/* A task must not return in FreeRTOS: it sleeps until it is deleted. */
static void mst_sockets_main(void *argument) {
    struct mst_sockets_task *task = argument;

    task->run(task->context);
    xSemaphoreGive(task->ended);
    for (;;) {
        vTaskSuspend(NULL);
    }
}

static inline int mst_sockets_start(struct mst_sockets_task *task) {
    task->lock = xSemaphoreCreateMutexStatic(&task->semaphores[0]);
    task->asked = xSemaphoreCreateBinaryStatic(&task->semaphores[1]);
    task->ended = xSemaphoreCreateBinaryStatic(&task->semaphores[2]);
    task->handle =
        xTaskCreateStatic(mst_sockets_main, "mst_sockets",
                          sizeof task->stack / sizeof task->stack[0], task,
                          MST_SOCKETS_PRIORITY, task->stack, &task->task);
    return task->handle != NULL ? 0 : -1;
}

static inline void mst_sockets_join(struct mst_sockets_task *task) {
    xSemaphoreTake(task->ended, portMAX_DELAY);
    vTaskDelete(task->handle);
    vSemaphoreDelete(task->ended);
    vSemaphoreDelete(task->asked);
    vSemaphoreDelete(task->lock);
}

#endif

#endif
