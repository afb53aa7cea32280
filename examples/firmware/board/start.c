/*
 * From reset to main(): the vectors, and the memory that C expects.
 * SPDX-License-Identifier: 0BSD
 */
#include "device.h"

#include <string.h>

#define STACK_PAINT 0xC5C5C5C5u

extern uint32_t data_begin[], data_end[], data_load[], bss_begin[], bss_end[];
extern uint32_t stack_begin[], stack_end[];

int main(void);
void board_tick(void);

/* Handles faults: prints a line and waits for the watchdog to restart. */
static void stop(void) {
    __asm__ volatile("msr msp, %0" ::"r"(stack_end));
    board_print(board_stack_used() == board_stack_size()
                    ? "fault: the stack was too small\n"
                    : "fault\n");
    for (;;) {}
}

static void ignore(void) {
}

void reset(void);

void reset(void) {
    uint32_t *here = (uint32_t *)(uintptr_t)__builtin_frame_address(0) - 16;

    memcpy(data_begin, data_load, (size_t)(data_end - data_begin) * 4);
    memset(bss_begin, 0, (size_t)(bss_end - bss_begin) * 4);
    while (here > stack_begin) {
        *--here = STACK_PAINT;
    }
    (void)main();
    stop();
}

size_t board_stack_size(void) {
    return (size_t)(stack_end - stack_begin) * 4;
}

size_t board_stack_used(void) {
    const uint32_t *at = stack_begin;

    while (at < stack_end && *at == STACK_PAINT) {
        at++;
    }
    return (size_t)(stack_end - at) * 4;
}

extern const vector vectors[];
__attribute__((section(".vectors"), used)) const vector vectors[] = {
    (vector)(uintptr_t)stack_end,
    reset,
    [2] = ignore, /* NMI: the watchdog's first time is over */
    [3] = stop,   /* faults */
    [4] = stop,
    [5] = stop,
    [6] = stop,
    [11] = ignore,
    [12] = ignore,
    [14] = ignore,
    [15] = board_tick,
};
