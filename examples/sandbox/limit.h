/* The quirk token-limit. SPDX-License-Identifier: 0BSD */
#ifndef SANDBOX_LIMIT_H
#define SANDBOX_LIMIT_H

#include <stdbool.h>

#define LIMIT_WINDOW_DEFAULT 300 /* s */
#define LIMIT_WINDOW_MAX 3600

struct limit;

/* Allows window_s requests in window_s seconds per IP address. */
struct limit *limit_new(int window_s);
void limit_free(struct limit *limit);

/* Returns true if this address may send a request now. Else it may not for a
 * whole window from now on; each further request starts that time again. */
bool limit_allows(struct limit *limit, const char *address);

#endif
