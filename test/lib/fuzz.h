/*
 * What the fuzz targets share (test/fuzz/, make fuzz). A target is a function
 * that takes any input and asserts what must be true of it. libFuzzer calls
 * it, and the program of the same name in `make test`, with the inputs of
 * NAME.seeds alone.
 *
 * SPDX-License-Identifier: 0BSD
 */
#ifndef FUZZ_H
#define FUZZ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FUZZ_LEN 65536 /* bytes of an input, at most; beyond: not looked at */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

/* Ends the program where a condition does not hold. */
#define FUZZ_EXPECT(condition) \
    ((condition) ? (void)0 : fuzz_failed(#condition, __FILE__, __LINE__))
_Noreturn void fuzz_failed(const char *condition, const char *file, int line);

/* How long the piece is that begins at this place, by a byte of the input: how
 * long the first piece is, in sixteenths of the whole, and the others, or both
 * in bytes. 0: all that is left. */
size_t fuzz_piece(uint8_t how, size_t at, size_t len);

/* A copy of a piece that lies at the end of an array, where the sanitizer sees
 * who reads beyond it, until the next call. */
const uint8_t *fuzz_put(const uint8_t *data, size_t len);

/* What has been read of an input, in bytes that are compared. */
struct fuzz_record {
    size_t len;
    uint8_t bytes[4 * FUZZ_LEN];
};

void fuzz_note(struct fuzz_record *record, const void *data, size_t len);
void fuzz_note_byte(struct fuzz_record *record, unsigned byte);
bool fuzz_same(const struct fuzz_record *a, const struct fuzz_record *b);

/* A reference for UTF-8 (RFC 3629): how many bytes may begin a text, and
 * whether that is whole characters. */
size_t fuzz_utf8(const uint8_t *data, size_t len, bool *whole);

#endif
