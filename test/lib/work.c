/*
 * Counts work: see work.h. This file itself is not counted.
 *
 * SPDX-License-Identifier: 0BSD
 */
#include "work.h"

uint64_t work_done;

void __sanitizer_cov_trace_pc(void); /* the compiler's name */

void __sanitizer_cov_trace_pc(void) {
    work_done++;
}
