/* The quirk token-limit. SPDX-License-Identifier: 0BSD */
#ifndef SANDBOX_LIMIT_H
#define SANDBOX_LIMIT_H

#include <stdbool.h>

#define LIMIT_WINDOW_DEFAULT 300 /* s */
#define LIMIT_WINDOW_MAX 3600

struct limit;

/* One request a second, averaged over a window of so many. */
struct limit *limit_new(int window_s);
void limit_free(struct limit *limit);

/* Whether this address may ask now. If not, nor may it for a window from now
 * on: asking earlier makes that longer. */
bool limit_allows(struct limit *limit, const char *address);

#endif
