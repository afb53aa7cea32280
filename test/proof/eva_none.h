/*
 * Copies no bytes from or to the end of an array. C allows a pointer to point
 * there, but Frama-C's contracts require a byte, and Eva would stop. Include it
 * before mini_stream.c.
 * SPDX-License-Identifier: 0BSD
 */
#ifndef EVA_NONE_H
#define EVA_NONE_H

#include <string.h>

/*@ requires \object_pointer((char *)to) && \object_pointer((char *)from);
    assigns \result \from to;
    ensures \result == to; */
void *copy_none(void *to, const void *from);

#define memcpy(to, from, len) \
    ((len) == 0 ? copy_none(to, from) : memcpy(to, from, len))
#define memmove(to, from, len) \
    ((len) == 0 ? copy_none(to, from) : memmove(to, from, len))

#endif
