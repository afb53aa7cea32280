/*
 * The sandbox's own certificate authority and server certificate.
 *
 * SPDX-License-Identifier: 0BSD
 */
#ifndef SANDBOX_CERTIFICATE_H
#define SANDBOX_CERTIFICATE_H

#include <gio/gio.h>

/* Makes what is missing in the directory, where the PEM files are: ca.pem and
 * ca-key.pem, which are kept, and server.pem and server-key.pem, which are
 * made anew when they are near expiry, do not belong to the CA or lack one of
 * the names: localhost, and the DNS names or IP addresses in the array (which
 * may be NULL). Returns NULL with the error set when it cannot. */
GTlsCertificate *certificate_obtain(const char *directory, char **names,
                                    GError **error);

#endif
