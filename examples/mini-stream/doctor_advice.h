/*
 * What to do about an error.
 *
 * SPDX-License-Identifier: 0BSD
 */
#ifndef DOCTOR_ADVICE_H
#define DOCTOR_ADVICE_H

/* Of an mst_error, or of the configuration (0). */
const char *doctor_advice(int error);

#endif
