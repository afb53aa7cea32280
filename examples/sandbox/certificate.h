/*
 * The sandbox's own certificate authority and server certificate.
 *
 * SPDX-License-Identifier: 0BSD
 */
#ifndef SANDBOX_CERTIFICATE_H
#define SANDBOX_CERTIFICATE_H

#include <gio/gio.h>

/* Returns the server's certificate from PEM files in the directory, and creates
 * missing files. ca.pem and ca-key.pem are kept. server.pem and server-key.pem
 * are replaced if they expire soon, do not belong to the CA or lack a name:
 * localhost, or one of the DNS names and IP addresses in the array, which may
 * be NULL. On failure, returns NULL and sets the error. */
GTlsCertificate *certificate_obtain(const char *directory, char **names,
                                    GError **error);

#endif
