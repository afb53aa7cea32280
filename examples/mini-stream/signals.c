/*
 * The signals that end a program: see signals.h.
 *
 * SPDX-License-Identifier: 0BSD
 */
#include "signals.h"

#include <signal.h>
#include <stddef.h>

#include "examples/start.h"

static volatile sig_atomic_t signals;

static void signals_take(int number) {
    (void)number;
    signals = signals + 1;
}

void signals_catch(void) {
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};

    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; ++i) {
        start_catch(numbers[i], signals_take);
    }
    signal(SIGPIPE, SIG_IGN);
}

unsigned signals_count(void) {
    return (unsigned)signals;
}
