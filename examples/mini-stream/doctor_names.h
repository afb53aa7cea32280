/*
 * The addresses of a host.
 *
 * SPDX-License-Identifier: 0BSD
 */
#ifndef DOCTOR_NAMES_H
#define DOCTOR_NAMES_H

#include "mst_posix.h"

/* Fills in up to MST_POSIX_ADDRESSES_MAX addresses, with the port. Returns a
 * status of c-ares. */
int names_find(const struct mst_endpoint *endpoint, unsigned timeout_ms,
               union mst_posix_address *addresses, size_t *count);

#endif
