/*
 * Faster primitives for BearSSL, with any port: P-256, P-384, ECDSA and RSA
 * from OpenSSL's libcrypto (3.0 or later); AES-GCM and ChaCha20-Poly1305 from
 * libcrypto or, if compiled with MST_PRIMITIVES_IPSEC_MB, from Intel's IPsec-MB
 * for x86-64. BearSSL still does the rest of TLS, including the checks of
 * certificates, names and times. Without IPsec-MB, BearSSL also does short
 * records if it is faster.
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
 * Makes TLS on this port use these primitives, for link numbers 0 to count - 1;
 * other links keep BearSSL's. Call it before an object is initialised with the
 * port, or with a copy of it, such as one through a proxy. primitives must not
 * move until mst_primitives_free().
 *
 * Returns 0, MST_ERR_ARGUMENT, or MST_ERR_PORT if there is no memory. After an
 * error TLS uses BearSSL's primitives, and there is nothing to free.
 */
int mst_primitives_init(struct mst_primitives *primitives, size_t count,
                        struct mst_port *port);

/* Frees what was allocated. Does nothing if primitives is all zero. Call it
 * after the objects are closed or wiped: a link's keys are wiped when its
 * connection ends. */
void mst_primitives_free(struct mst_primitives *primitives);

#ifdef __cplusplus
}
#endif

#endif
