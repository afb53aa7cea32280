/* The quirk token-limit. SPDX-License-Identifier: 0BSD */
#include "limit.h"

#include <glib.h>
#include <stdint.h>

/* The state of an IP address; monotonic times. */
struct address {
    int64_t throttled_until_us;
    guint oldest;
    int64_t allowed_us[]; /* when the last window_s requests were allowed; a
                             ring */
};

struct limit {
    GHashTable *addresses; /* IP address to struct address, both owned */
    int window_s;
};

struct limit *limit_new(int window_s) {
    struct limit *limit = g_new0(struct limit, 1);

    limit->addresses =
        g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
    limit->window_s = window_s;
    return limit;
}

void limit_free(struct limit *limit) {
    g_hash_table_unref(limit->addresses);
    g_free(limit);
}

static struct address *find_address(struct limit *limit, const char *text,
                                    int64_t window_us) {
    struct address *address = g_hash_table_lookup(limit->addresses, text);

    if (!address) {
        address = g_malloc0(sizeof *address + (gsize)limit->window_s *
                                                  sizeof *address->allowed_us);
        for (int i = 0; i < limit->window_s; i++) {
            address->allowed_us[i] = -window_us; /* long ago */
        }
        g_hash_table_insert(limit->addresses, g_strdup(text), address);
    }
    return address;
}

bool limit_allows(struct limit *limit, const char *text) {
    int64_t window_us = (int64_t)limit->window_s * G_USEC_PER_SEC;
    struct address *address = find_address(limit, text, window_us);
    int64_t now_us = g_get_monotonic_time();

    if (now_us < address->throttled_until_us ||
        now_us - address->allowed_us[address->oldest] < window_us) {
        address->throttled_until_us = now_us + window_us;
        return false;
    }
    address->allowed_us[address->oldest] = now_us;
    address->oldest = (address->oldest + 1) % (guint)limit->window_s;
    return true;
}
