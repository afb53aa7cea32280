/*
 * What lwIP and the library want of a platform beside the network: a clock of
 * the world, and random bytes. SPDX-License-Identifier: 0BSD
 */
#ifndef PLATFORM_H
#define PLATFORM_H

#include "mini_stream.h"

/* Opens the store and seeds the generator of random bytes from it. */
void platform_begin(void);
/* Has the port keep tokens in the store. */
void platform_keep_tokens(struct mst_port *port);

/* Unix time in ns, once a time server has said it: 0 or MST_ERR_CLOCK. */
int platform_unix_ns(int64_t *ns);
/* Bytes fit for keys: 0, or MST_ERR_ENTROPY where there is no seed. */
int platform_entropy(void *data, size_t len);

#endif
