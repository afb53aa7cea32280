/*
 * Resolves names with c-ares for the POSIX port, without a thread; a resolution
 * can be cancelled at once. Copy it next to that port, and link with -lcares
 * (Debian's libc-ares-dev, 1.16 or later).
 *
 * The hosts file and the name servers of resolv.conf are used in the order of
 * nsswitch.conf; changes of these files apply from the next name on. Unlike the
 * C library's resolver, c-ares ignores other sources in nsswitch.conf (mDNS,
 * LDAP and others), gai.conf, and "timeout" and "attempts" in resolv.conf. It
 * has "retrans" (ms) and "retry" there instead.
 *
 * c-ares allocates about 80 KB for each name that is being resolved, and keeps
 * as much for the next one, until mst_posix_free().
 *
 * SPDX-License-Identifier: 0BSD
 */
#ifndef MST_CARES_H
#define MST_CARES_H

#include "mst_posix.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Makes c-ares resolve the names of this port. Call it after mst_posix_init(),
 * before the first object is polled. */
void mst_cares_init(struct mst_posix *posix);

#ifdef __cplusplus
}
#endif

#endif
