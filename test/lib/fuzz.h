/*
 * Shared by the fuzz targets (test/fuzz/, make fuzz). A target is a function
 * that takes any input and asserts what must be true of it. libFuzzer calls it;
 * in `make test` the program of the same name calls it with the inputs of
 * NAME.seeds.
 *
 * SPDX-License-Identifier: 0BSD
 */
#ifndef FUZZ_H
#define FUZZ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FUZZ_LEN 65536 /* bytes of an input; longer inputs are skipped */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

/* Ends the program if a condition does not hold. */
#define FUZZ_EXPECT(condition) \
    ((condition) ? (void)0 : fuzz_failed(#condition, __FILE__, __LINE__))
_Noreturn void fuzz_failed(const char *condition, const char *file, int line);

/* The length of the piece that begins at this position. A byte of the input
 * sets the length of the first piece, in sixteenths of the whole, and of the
 * others, or both in bytes. Returns 0 for the whole rest. */
size_t fuzz_piece(uint8_t how, size_t at, size_t len);

/* Copies a piece to the end of an array, so that the sanitizer sees reads
 * beyond it. Valid until the next call. */
const uint8_t *fuzz_put(const uint8_t *data, size_t len);

/* The result of reading an input, as bytes to compare. */
struct fuzz_record {
    size_t len;
    uint8_t bytes[4 * FUZZ_LEN];
};

void fuzz_note(struct fuzz_record *record, const void *data, size_t len);
void fuzz_note_byte(struct fuzz_record *record, unsigned byte);
bool fuzz_same(const struct fuzz_record *a, const struct fuzz_record *b);

/* A reference for UTF-8 (RFC 3629): the number of bytes that may begin a text.
 * *whole is true if they are whole characters. */
size_t fuzz_utf8(const uint8_t *data, size_t len, bool *whole);

#endif
