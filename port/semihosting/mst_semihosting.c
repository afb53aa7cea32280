/* Flash in a file, by Arm's semihosting. SPDX-License-Identifier: 0BSD */
#include "mst_semihosting.h"

#include <string.h>

#define SYS_OPEN 0x01u
#define SYS_WRITE 0x05u
#define SYS_READ 0x06u
#define SYS_SEEK 0x0Au
#define SYS_EXIT 0x18u
#define MODE_CHANGE 3u /* "r+b" */
#define MODE_MAKE 7u   /* "w+b" */
#define STOPPED 0x20026u

#define PIECE sizeof(((struct mst_semihosting *)0)->read)

/* The operation's result in r0; its arguments are in an array, or a number. */
static int call(uint32_t operation, uintptr_t arguments) {
    register uint32_t r0 __asm__("r0") = operation;
    register uintptr_t r1 __asm__("r1") = arguments;

    __asm__ volatile("bkpt 0xAB" : "+r"(r0) : "r"(r1) : "memory");
    return (int)r0;
}

/* Reads or writes bytes of the file: the number of those that it did not. */
static int transfer(uint32_t operation, const struct mst_semihosting *flash,
                    size_t at, const void *data, size_t len) {
    uintptr_t seek[] = {(uintptr_t)flash->file, at};
    uintptr_t move[] = {(uintptr_t)flash->file, (uintptr_t)data, len};

    if (call(SYS_SEEK, (uintptr_t)seek) != 0) {
        return (int)len;
    }
    return call(operation, (uintptr_t)move);
}

/* What was never written is erased. Reads a piece of the file at a time, since
 * each call of the host takes long. */
static int flash_read(void *context, int sector, size_t at, void *data,
                      size_t len) {
    struct mst_semihosting *flash = context;

    if (flash->file < 0) {
        return -1;
    }
    at += (size_t)sector * flash->sector_len;
    for (size_t i = 0; i < len; i++, at++) {
        if (flash->read_at != at - at % PIECE) {
            flash->read_at = at - at % PIECE;
            memset(flash->read, 0xFF, PIECE);
            (void)transfer(SYS_READ, flash, flash->read_at, flash->read, PIECE);
        }
        ((uint8_t *)data)[i] = flash->read[at % PIECE];
    }
    return 0;
}

/* How much of len bytes this step does before power is cut. */
static size_t before_cut(struct mst_semihosting *flash, size_t len) {
    if (flash->cut == 0 || --flash->cut > 0) {
        return len;
    }
    flash->cut = UINT32_MAX; /* now */
    return len / 2;
}

static void cut_now(const struct mst_semihosting *flash) {
    if (flash->cut == UINT32_MAX) {
        (void)call(SYS_EXIT, STOPPED);
    }
}

static int flash_program(void *context, int sector, size_t at, const void *data,
                         size_t len) {
    struct mst_semihosting *flash = context;
    uint8_t bytes[MST_FLASH_UNIT_MAX];
    int rc;

    if (flash_read(context, sector, at, bytes, len) < 0) {
        return -1;
    }
    for (size_t i = 0; i < len; i++) {
        bytes[i] &= ((const uint8_t *)data)[i];
    }
    rc = transfer(SYS_WRITE, flash, (size_t)sector * flash->sector_len + at,
                  bytes, before_cut(flash, len));
    flash->read_at = SIZE_MAX;
    cut_now(flash);
    return rc == 0 ? 0 : -1;
}

static int flash_erase(void *context, int sector) {
    struct mst_semihosting *flash = context;
    size_t len = before_cut(flash, flash->sector_len);
    uint8_t blank[PIECE];
    int rc = flash->file < 0 ? -1 : 0;

    memset(blank, 0xFF, sizeof blank);
    for (size_t at = 0; at < len && rc == 0; at += PIECE) {
        rc = transfer(SYS_WRITE, flash, (size_t)sector * flash->sector_len + at,
                      blank, PIECE);
    }
    flash->read_at = SIZE_MAX;
    cut_now(flash);
    return rc == 0 ? 0 : -1;
}

void mst_semihosting_init(struct mst_semihosting *flash, const char *path,
                          size_t sector_len, uint32_t cut,
                          struct mst_flash_driver *driver) {
    uintptr_t open[] = {(uintptr_t)path, MODE_CHANGE, strlen(path)};

    *flash = (struct mst_semihosting){
        .sector_len = sector_len, .cut = cut, .read_at = SIZE_MAX};
    flash->file = call(SYS_OPEN, (uintptr_t)open);
    if (flash->file < 0) {
        open[1] = MODE_MAKE;
        flash->file = call(SYS_OPEN, (uintptr_t)open);
    }
    *driver = (struct mst_flash_driver){
        .sector_len = sector_len,
        .unit = 4,
        .read = flash_read,
        .erase = flash_erase,
        .program = flash_program,
        .context = flash,
    };
}
