/*
 * The TLS of a server: version, suite, certificates, and a plain verdict.
 *
 * SPDX-License-Identifier: 0BSD
 */
#ifndef DOCTOR_TLS_H
#define DOCTOR_TLS_H

#include "doctor_route.h"

/* The step, along a way that has been tried. Returns whether it was good. */
bool tls_check(const struct route *route, const struct settings *settings,
               struct report *report);

#endif
