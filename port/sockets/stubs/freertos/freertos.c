/*
 * What mst_sockets_freertos.h calls of FreeRTOS, by POSIX threads. Each mutex
 * is a semaphore; ticks begin half a second before their count overflows.
 *
 * SPDX-License-Identifier: 0BSD
 */
#include <FreeRTOS.h>

#include <pthread.h>
#include <semaphore.h>
#include <time.h>

struct task_handle {
    pthread_t thread;
    TaskFunction_t code;
    void *parameters;
};

/* They take the places of the program's buffers. */
_Static_assert(sizeof(struct task_handle) <= sizeof(StaticTask_t), "task");
_Static_assert(sizeof(sem_t) <= sizeof(StaticSemaphore_t), "semaphore");

static SemaphoreHandle_t semaphore_new(StaticSemaphore_t *buffer,
                                       unsigned count) {
    sem_init((sem_t *)buffer, 0, count);
    return (SemaphoreHandle_t)buffer;
}

SemaphoreHandle_t xSemaphoreCreateMutexStatic(StaticSemaphore_t *buffer) {
    return semaphore_new(buffer, 1);
}

SemaphoreHandle_t xSemaphoreCreateBinaryStatic(StaticSemaphore_t *buffer) {
    return semaphore_new(buffer, 0);
}

BaseType_t xSemaphoreTake(SemaphoreHandle_t semaphore, TickType_t ticks) {
    (void)ticks;                                 /* always portMAX_DELAY */
    while (sem_wait((sem_t *)semaphore) != 0) {} /* EINTR */
    return 1;
}

/* Given twice, it can be taken once. */
BaseType_t xSemaphoreGive(SemaphoreHandle_t semaphore) {
    int count = 0;

    sem_getvalue((sem_t *)semaphore, &count);
    return count == 0 && sem_post((sem_t *)semaphore) == 0;
}

void vSemaphoreDelete(SemaphoreHandle_t semaphore) {
    sem_destroy((sem_t *)semaphore);
}

static void *task_main(void *argument) {
    TaskHandle_t task = argument;

    task->code(task->parameters);
    return NULL;
}

TaskHandle_t xTaskCreateStatic(TaskFunction_t code, const char *name,
                               uint32_t depth, void *parameters,
                               UBaseType_t priority, StackType_t *stack,
                               StaticTask_t *buffer) {
    TaskHandle_t task = (TaskHandle_t)buffer;

    (void)name;
    (void)depth;
    (void)priority;
    (void)stack; /* too small for a thread of this system */
    task->code = code;
    task->parameters = parameters;
    return pthread_create(&task->thread, NULL, task_main, task) == 0 ? task
                                                                     : NULL;
}

/* Only a task that is about to be deleted suspends itself. */
void vTaskSuspend(TaskHandle_t task) {
    (void)task;
    pthread_exit(NULL);
}

void vTaskDelete(TaskHandle_t task) {
    pthread_join(task->thread, NULL);
}

void vTaskSetTimeOutState(TimeOut_t *timeout) {
    static uint64_t begin;
    struct timespec now;
    uint64_t ticks;

    clock_gettime(CLOCK_MONOTONIC, &now);
    ticks = (uint64_t)now.tv_sec * configTICK_RATE_HZ +
            (uint64_t)now.tv_nsec * configTICK_RATE_HZ / 1000000000u;
    begin = begin != 0 ? begin : ticks;
    ticks += UINT32_MAX - begin - configTICK_RATE_HZ / 2u;
    timeout->xOverflowCount = (BaseType_t)(ticks >> 32);
    timeout->xTimeOnEntering = (TickType_t)ticks;
}
