/*
 * Counts work: see work.h. It is not compiled so itself.
 *
 * SPDX-License-Identifier: 0BSD
 */
#include "work.h"

uint64_t work_done;

void __sanitizer_cov_trace_pc(void); /* the compiler's name for it */

void __sanitizer_cov_trace_pc(void) {
    work_done++;
}
