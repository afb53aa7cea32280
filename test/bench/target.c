/*
 * What the emulated boards of `make count` need besides their C library's
 * start-up code and semihosting: a clock that counts an instruction as 1 ns,
 * the Cortex-M vectors, and stand-ins for the called functions of BearSSL.
 *
 * SPDX-License-Identifier: 0BSD
 */
#include <bearssl.h>
#include <stdint.h>
#include <string.h>
#include <time.h>

#ifdef __riscv
/* Counts at 10 MHz: once per 100 instructions with -icount shift=0. */
static uint64_t clock_ns(void) {
    return *(volatile uint32_t *)0x0200BFF8 * UINT64_C(100);
}
#else
#define STACK_END 0x20400000 /* in other RAM than code, data and heap */

void _start(void);

/* Linked to address 0, where the processor starts. */
__attribute__((section(".vectors"), used)) static const struct {
    uintptr_t stack;
    void (*reset)(void);
} vectors = {STACK_END, _start};

/* A timer of the board counts down at 25 MHz: once per 40 instructions. */
static uint64_t clock_ns(void) {
    static volatile struct {
        uint32_t control, value, reload;
    } *const timer = (void *)0x40000000;

    if (timer->control == 0) {
        timer->value = timer->reload = UINT32_MAX;
        timer->control = 1;
    }
    return (UINT32_MAX - timer->value) * UINT64_C(40);
}
#endif

int clock_gettime(clockid_t clock, struct timespec *now) {
    uint64_t ns = clock_ns();

    (void)clock;
    now->tv_sec = (time_t)(ns / 1000000000u);
    now->tv_nsec = (long)(ns % 1000000000u);
    return 0;
}

/* Every SHA-1 and SHA-256 is all zeros. */
void br_sha1_init(br_sha1_context *context) {
    (void)context;
}

void br_sha1_update(br_sha1_context *context, const void *data, size_t len) {
    (void)context;
    (void)data;
    (void)len;
}

void br_sha1_out(const br_sha1_context *context, void *out) {
    (void)context;
    memset(out, 0, br_sha1_SIZE);
}

void br_sha256_init(br_sha256_context *context) {
    (void)context;
}

void br_sha224_update(br_sha224_context *context, const void *data,
                      size_t len) {
    (void)context;
    (void)data;
    (void)len;
}

void br_sha256_out(const br_sha256_context *context, void *out) {
    (void)context;
    memset(out, 0, br_sha256_SIZE);
}
