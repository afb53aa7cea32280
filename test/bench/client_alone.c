/*
 * client_mini_stream.c with the POSIX port and BearSSL alone.
 *
 * SPDX-License-Identifier: 0BSD
 */
#include "posix_client.h"

void posix_client_equip(struct posix_client *posix,
                        const struct client *client) {
    (void)posix;
    (void)client;
}
