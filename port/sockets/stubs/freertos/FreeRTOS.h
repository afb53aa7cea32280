/*
 * Stand-in for FreeRTOS's headers: declares what mst_sockets_freertos.h uses,
 * to compile it on a host (test/package/systems.py). With freertos.c it also
 * runs there, over lwIP (test/lwip/tap.c).
 *
 * SPDX-License-Identifier: 0BSD
 */
#ifndef STUB_FREERTOS_H
#define STUB_FREERTOS_H

#include <stdint.h>

typedef long BaseType_t;
typedef unsigned long UBaseType_t;
typedef uint32_t TickType_t;
typedef uint32_t StackType_t;
typedef struct task_handle *TaskHandle_t;
typedef struct semaphore_handle *SemaphoreHandle_t;
typedef void (*TaskFunction_t)(void *argument);
typedef struct {
    uint64_t unused[8];
} StaticTask_t, StaticSemaphore_t;
typedef struct {
    BaseType_t xOverflowCount;
    TickType_t xTimeOnEntering;
} TimeOut_t;

#define configTICK_RATE_HZ ((TickType_t)1024)
#define portMAX_DELAY ((TickType_t)0xffffffffu)
#define tskIDLE_PRIORITY ((UBaseType_t)0u)

TaskHandle_t xTaskCreateStatic(TaskFunction_t code, const char *name,
                               uint32_t depth, void *parameters,
                               UBaseType_t priority, StackType_t *stack,
                               StaticTask_t *buffer);
void vTaskDelete(TaskHandle_t task);
void vTaskSuspend(TaskHandle_t task);
void vTaskSetTimeOutState(TimeOut_t *timeout);
SemaphoreHandle_t xSemaphoreCreateMutexStatic(StaticSemaphore_t *buffer);
SemaphoreHandle_t xSemaphoreCreateBinaryStatic(StaticSemaphore_t *buffer);
BaseType_t xSemaphoreTake(SemaphoreHandle_t semaphore, TickType_t ticks);
BaseType_t xSemaphoreGive(SemaphoreHandle_t semaphore);
void vSemaphoreDelete(SemaphoreHandle_t semaphore);

#endif
