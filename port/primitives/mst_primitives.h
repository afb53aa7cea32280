/*
 * Primitives of well-kept libraries for BearSSL, beside any port: P-256, P-384,
 * ECDSA and RSA of OpenSSL's libcrypto (3.0 or later), AES-GCM and
 * ChaCha20-Poly1305 of libcrypto or, compiled with MST_PRIMITIVES_IPSEC_MB, of
 * Intel's IPsec-MB, which is for x86-64 processors. All else of TLS, the checks
 * of certificates, names and times included, stays BearSSL's, and without
 * IPsec-MB so do short records wherever BearSSL takes less time for them.
 *
 * For programs where time counts and memory does not: both libraries allocate.
 *
 * SPDX-License-Identifier: 0BSD
 */
#ifndef MST_PRIMITIVES_H
#define MST_PRIMITIVES_H

#include "mini_stream.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Owned by the caller; members are private. */
struct mst_primitives {
    struct mst_primitives_link *links;
    size_t count;
    struct IMB_MGR *manager; /* of IPsec-MB, or NULL */
};

/*
 * Lets TLS on this port use the libraries' primitives, for link numbers 0 to
 * count - 1; others keep BearSSL's. To be called before an object is
 * initialised with the port, or with a copy of it, such as one through a proxy.
 * primitives stays where it is until mst_primitives_free().
 *
 * Returns 0, MST_ERR_ARGUMENT, or MST_ERR_PORT where there is no memory; after
 * an error TLS uses BearSSL's own, and primitives need not be freed.
 */
int mst_primitives_init(struct mst_primitives *primitives, size_t count,
                        struct mst_port *port);

/* Frees what was allocated. To be called after the objects are closed or wiped:
 * the keys of a link are wiped at the end of its connection. Harmless where
 * primitives is all zero. */
void mst_primitives_free(struct mst_primitives *primitives);

#ifdef __cplusplus
}
#endif

#endif
