/*
 * What a flash driver must do, and what the store on it promises, as a test
 * that runs wherever the driver does: on a desktop or on the device itself.
 * Power is cut, as far as software can, at every erasure and every write.
 *
 * It erases both sectors some hundred times, so a device should give it 512
 * bytes, or its smallest sector, and not the flash that it keeps things in. It
 * allocates nothing and needs 1 KB of stack.
 *
 * SPDX-License-Identifier: 0BSD
 */
#ifndef MST_FLASH_CHECK_H
#define MST_FLASH_CHECK_H

#include "mst_flash.h"

#ifdef __cplusplus
extern "C" {
#endif

#define MST_FLASH_CHECK_SEEDS 32

struct mst_flash_check {
    struct mst_flash_driver driver; /* to be tested; 512 bytes at least */
    /* Told of each case: why is NULL where it passed. */
    void (*report)(void *context, const char *name, const char *why);
    void *context;

    /* Private. */
    struct mst_flash flash;
    struct mst_flash_driver cutting; /* the driver, with faults */
    unsigned steps, cut_at;          /* erasures and writes; 0: no cut */
    int cut;                         /* how */
    bool off;                        /* power is cut */
    bool worn;                       /* changes do nothing, silently */
    size_t damaged;                  /* byte that reads wrong, or SIZE_MAX */
    uint32_t random;
    uint8_t seeds[MST_FLASH_CHECK_SEEDS][MST_FLASH_SEED_LEN];
    size_t given; /* of them, in the lives of a device */
    const char *why;
};

/* Runs all cases: the number that failed. */
int mst_flash_check_run(struct mst_flash_check *check);

#ifdef __cplusplus
}
#endif

#endif
