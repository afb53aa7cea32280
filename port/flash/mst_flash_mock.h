/*
 * Two sectors of flash in memory that the test owns. It notices programs that
 * treat flash as no flash allows. SPDX-License-Identifier: 0BSD
 */
#ifndef MST_FLASH_MOCK_H
#define MST_FLASH_MOCK_H

#include "mst_flash.h"

#ifdef __cplusplus
extern "C" {
#endif

struct mst_flash_mock {
    uint8_t *bytes; /* of both sectors, the test's */
    size_t sector_len, unit;
    unsigned erasures;  /* that were asked for */
    const char *broken; /* what the program did wrong, or NULL */
};

/* Erased flash. Fills in the driver. */
void mst_flash_mock_init(struct mst_flash_mock *mock, void *bytes,
                         size_t sector_len, size_t unit,
                         struct mst_flash_driver *driver);

#ifdef __cplusplus
}
#endif

#endif
