/*
 * What the number beside an error says: of the system, of the resolver, of the
 * TLS library.
 *
 * SPDX-License-Identifier: 0BSD
 */
#ifndef DETAIL_H
#define DETAIL_H

#include <stdbool.h>

/* Which library does TLS: OpenSSL, or BearSSL. */
void detail_of_openssl(bool is);

/* In words, or "" where the number says nothing; static. */
const char *detail_text(int error, int detail);

#endif
