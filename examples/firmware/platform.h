/*
 * What lwIP and the library need besides the network: a wall clock, random
 * bytes, a store of tokens. SPDX-License-Identifier: 0BSD
 */
#ifndef PLATFORM_H
#define PLATFORM_H

#include "mini_stream.h"

/* Opens the store, and seeds the random generator from it. */
void platform_begin(void);
/* Makes the port keep tokens in the store. */
void platform_keep_tokens(struct mst_port *port);

/* Sets the Unix time, ns. Returns 0, or MST_ERR_CLOCK before SNTP's answer. */
int platform_unix_ns(int64_t *ns);
/* Sets bytes fit for keys. Returns 0, or MST_ERR_ENTROPY without a seed. */
int platform_entropy(void *data, size_t len);

#endif
