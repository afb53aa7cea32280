/*
 * Flash in a file of the host, by Arm's semihosting: for firmware in QEMU,
 * whose boards have no flash that a program can write, or under a debugger such
 * as OpenOCD. On a board, a driver for its flash takes the place of this one.
 *
 * It behaves as flash does: erasing sets all bits of a sector, programming only
 * clears bits, and power can be cut in the middle of both. Without semihosting
 * the processor stops with a fault.
 *
 * SPDX-License-Identifier: 0BSD
 */
#ifndef MST_SEMIHOSTING_H
#define MST_SEMIHOSTING_H

#include "mst_flash.h"

/* The file, owned by the caller. Members are private. */
struct mst_semihosting {
    size_t sector_len;
    int file;
    uint32_t cut;   /* steps until power is cut, or 0 */
    size_t read_at; /* where the bytes below are from, or SIZE_MAX */
    uint8_t read[64];
};

/* Opens the file at this path, relative to the emulator's folder, and makes it
 * if it is missing. Fills in the driver: two sectors of sector_len bytes, words
 * of 4. If cut is not 0, the erasure or word-by-word write of this number is
 * carried out by half, then the emulator ends: for tests. Without a file, all
 * of the driver's functions fail. */
void mst_semihosting_init(struct mst_semihosting *flash, const char *path,
                          size_t sector_len, uint32_t cut,
                          struct mst_flash_driver *driver);

#endif
