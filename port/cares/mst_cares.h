/*
 * Names by c-ares, for the POSIX port: without a thread, and given up at once.
 * Copy it beside that port, and link with -lcares (Debian's libc-ares-dev, 1.16
 * or later).
 *
 * The hosts file and the name servers of resolv.conf are asked in the order of
 * nsswitch.conf, and a change of these files counts from the next name on.
 * Unlike the C library's resolver it does not know what else nsswitch.conf may
 * name (mDNS, LDAP and others are passed over), nor gai.conf, nor "timeout" and
 * "attempts" in resolv.conf; its own "retrans" (ms) and "retry" it does.
 *
 * c-ares allocates memory: some 80 KB for each name that is being resolved, and
 * as much is kept for the next one, until mst_posix_free().
 *
 * SPDX-License-Identifier: 0BSD
 */
#ifndef MST_CARES_H
#define MST_CARES_H

#include "mst_posix.h"

#ifdef __cplusplus
extern "C" {
#endif

/* From now on c-ares resolves the names of this port. To be called after
 * mst_posix_init(), before its first object is polled. */
void mst_cares_init(struct mst_posix *posix);

#ifdef __cplusplus
}
#endif

#endif
