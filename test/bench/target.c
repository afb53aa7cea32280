/*
 * The emulated boards that `make count` runs on, which are alike: a Cortex-M4
 * (QEMU's mps2-an386) and a Cortex-M3 (mps2-an385). Their vectors, a clock by
 * which an instruction takes 1 ns, and what of BearSSL is called, which costs
 * nothing. newlib's start-up code and semihosting do the rest.
 *
 * SPDX-License-Identifier: 0BSD
 */
#include <bearssl.h>
#include <stdint.h>
#include <string.h>
#include <time.h>

/* A timer of the board counts down at 25 MHz; with -icount shift=0 that is
 * once in 40 instructions. */
struct timer {
    uint32_t control, value, reload;
};

#define TIMER ((volatile struct timer *)0x40000000)
#define TIMER_ENABLE 1u
#define TIMER_TICK_NS 40u

#define STACK_END 0x20400000 /* RAM apart from that of code, data and heap */

void _start(void);

/* Linked to address 0, where the processor starts. */
__attribute__((section(".vectors"), used)) static const struct {
    uintptr_t stack;
    void (*reset)(void);
} vectors = {STACK_END, _start};

int clock_gettime(clockid_t clock, struct timespec *now) {
    uint64_t ns;

    (void)clock;
    if ((TIMER->control & TIMER_ENABLE) == 0) {
        TIMER->value = TIMER->reload = UINT32_MAX;
        TIMER->control = TIMER_ENABLE;
    }
    ns = (uint64_t)(UINT32_MAX - TIMER->value) * TIMER_TICK_NS;
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
