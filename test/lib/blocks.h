/*
 * Declarations for the pieces of programs in the pages. package/blocks.py
 * compiles each piece after this header.
 *
 * SPDX-License-Identifier: 0BSD
 */
#ifndef BLOCKS_H
#define BLOCKS_H

#include "mini_stream.h"
#include "mst_mbedtls.h"
#include "mst_openssl.h"
#include "mst_posix.h"
#include "mst_proxy.h"

extern struct mst_client client;
extern struct mst_config config;
extern const struct mst_memory memory;
extern struct mst_event event;
extern struct mst_port port, direct, below;
extern struct mst_posix posix;
extern struct mst_posix_link links[1];
extern struct mst_proxy proxy;
extern struct mst_proxy_link proxied[1];
extern struct mst_openssl openssl;
extern const unsigned char ca_pem[2000];
extern struct mst_openssl_link secured[1];

/* A function of the reader's program. */
void report(int error);

#endif
