/*
 * Two sectors of flash in memory that the test owns, whose power can be cut in
 * the middle of any erasure or write. It notices programs that treat flash as
 * no flash allows. SPDX-License-Identifier: 0BSD
 */
#ifndef MST_FLASH_MOCK_H
#define MST_FLASH_MOCK_H

#include "mst_flash.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What a cut leaves of the step that it interrupts. */
enum mst_flash_cut {
    MST_FLASH_CUT_BEFORE, /* nothing has changed */
    MST_FLASH_CUT_HALF,   /* the first half is done */
    MST_FLASH_CUT_LAST,   /* the second half is done */
    MST_FLASH_CUT_BITS,   /* some bits everywhere are as they will be */
    MST_FLASH_CUT_AFTER,  /* it is done, but nobody knows */
    MST_FLASH_CUTS
};

struct mst_flash_mock {
    uint8_t *bytes; /* of both sectors, the test's */
    size_t sector_len, unit;
    unsigned steps;         /* erasures and writes begun */
    unsigned cut_at;        /* the step at which power is cut; 0: none */
    enum mst_flash_cut cut; /* how */
    bool off;               /* from then on: all calls fail */
    unsigned erasures[2];   /* of each sector */
    bool worn;              /* writes change nothing, and do not say so */
    const char *broken;     /* what the program did wrong, or NULL */
    uint32_t random;        /* for MST_FLASH_CUT_BITS */
};

/* Erased flash. Fills in the driver. */
void mst_flash_mock_init(struct mst_flash_mock *flash, void *bytes,
                         size_t sector_len, size_t unit,
                         struct mst_flash_driver *driver);
/* Power comes back; no cut is planned. */
void mst_flash_mock_on(struct mst_flash_mock *flash);

#ifdef __cplusplus
}
#endif

#endif
