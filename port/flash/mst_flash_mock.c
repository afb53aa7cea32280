/* Flash that loses its power. SPDX-License-Identifier: 0BSD */
#include "mst_flash_mock.h"

#include <string.h>

static uint8_t *place(struct mst_flash_mock *flash, int sector, size_t at,
                      size_t len) {
    if ((sector != 0 && sector != 1) || at > flash->sector_len ||
        len > flash->sector_len - at) {
        flash->broken = "outside of a sector";
        return NULL;
    }
    return flash->bytes + (size_t)sector * flash->sector_len + at;
}

static int mock_read(void *context, int sector, size_t at, void *data,
                     size_t len) {
    struct mst_flash_mock *flash = context;
    const uint8_t *from = place(flash, sector, at, len);

    if (from == NULL || flash->off) {
        return -1;
    }
    memcpy(data, from, len);
    return 0;
}

/* Changes bytes to what data has, or all to 0xFF if it is NULL, as far as the
 * power lasts. */
static int change(struct mst_flash_mock *flash, uint8_t *to,
                  const uint8_t *data, size_t len) {
    size_t from = 0, until = len;
    bool cut = ++flash->steps == flash->cut_at;

    if (cut) {
        flash->off = true;
        from = flash->cut == MST_FLASH_CUT_LAST ? len / 2 : 0;
        until = flash->cut == MST_FLASH_CUT_BEFORE ? 0
                : flash->cut == MST_FLASH_CUT_HALF ? len / 2
                                                   : len;
    }
    for (size_t i = from; i < until; i++) {
        uint8_t wanted = data != NULL ? data[i] : 0xFF;

        flash->random = flash->random * 1664525u + 1013904223u;
        if (cut && flash->cut == MST_FLASH_CUT_BITS) {
            uint8_t mask = (uint8_t)(flash->random >> 24);
            wanted = (uint8_t)((to[i] & ~mask) | (wanted & mask));
        }
        to[i] = wanted;
    }
    return cut ? -1 : 0;
}

static int mock_erase(void *context, int sector) {
    struct mst_flash_mock *flash = context;
    uint8_t *to = place(flash, sector, 0, flash->sector_len);

    if (to == NULL || flash->off) {
        return -1;
    }
    flash->erasures[sector]++;
    return flash->worn ? 0 : change(flash, to, NULL, flash->sector_len);
}

static int mock_program(void *context, int sector, size_t at, const void *data,
                        size_t len) {
    struct mst_flash_mock *flash = context;
    uint8_t *to = place(flash, sector, at, len);

    if (to == NULL || flash->off) {
        return -1;
    }
    if (at % flash->unit != 0 || len % flash->unit != 0 || len == 0 ||
        len > MST_FLASH_UNIT_MAX) {
        flash->broken = "not whole units";
    }
    if (flash->worn) {
        return 0;
    }
    for (size_t i = 0; i < len; i++) {
        if (to[i] != 0xFF) {
            flash->broken = "programmed twice";
        }
    }
    return change(flash, to, data, len);
}

void mst_flash_mock_init(struct mst_flash_mock *flash, void *bytes,
                         size_t sector_len, size_t unit,
                         struct mst_flash_driver *driver) {
    *flash = (struct mst_flash_mock){
        .bytes = bytes, .sector_len = sector_len, .unit = unit};
    memset(bytes, 0xFF, 2 * sector_len);
    *driver = (struct mst_flash_driver){
        .sector_len = sector_len,
        .unit = unit,
        .read = mock_read,
        .erase = mock_erase,
        .program = mock_program,
        .context = flash,
    };
}

void mst_flash_mock_on(struct mst_flash_mock *flash) {
    flash->off = false;
    flash->cut_at = 0;
}
