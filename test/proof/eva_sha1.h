/*
 * A stand-in for BearSSL's SHA-1: it reads its input, and its digest may be any
 * bytes. BearSSL itself is not analysed.
 * SPDX-License-Identifier: 0BSD
 */
#ifndef EVA_SHA1_H
#define EVA_SHA1_H

#include <bearssl.h>

void br_sha1_init(br_sha1_context *ctx) {
    Frama_C_make_unknown((char *)ctx, sizeof *ctx);
}

void br_sha1_update(br_sha1_context *ctx, const void *data, size_t len) {
    const unsigned char *bytes = data;

    for (size_t i = 0; i < len; i++) {
        ctx->buf[i % sizeof ctx->buf] ^= bytes[i];
    }
}

void br_sha1_out(const br_sha1_context *ctx, void *out) {
    (void)ctx->buf[0];
    Frama_C_make_unknown(out, br_sha1_SIZE);
}

#endif
