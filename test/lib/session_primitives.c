/*
 * The session's client with the primitives of port/primitives, which needs
 * OpenSSL's libcrypto: see session.h.
 *
 * SPDX-License-Identifier: 0BSD
 */
#include "session.h"
#include "mst_primitives.h"

static struct mst_primitives primitives;

int session_primitives(void **state) {
    return session_certificates(state) != 0
               ? -1
               : mst_primitives_init(&primitives, MST_MOCK_LINKS, &session_tls);
}

int session_no_primitives(void **state) {
    mst_primitives_free(&primitives);
    memset(&session_tls, 0, sizeof session_tls);
    return tls_remove_certificates(state);
}
