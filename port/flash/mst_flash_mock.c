/* Flash in memory. SPDX-License-Identifier: 0BSD */
#include "mst_flash_mock.h"

#include <string.h>

static uint8_t *place(struct mst_flash_mock *mock, int sector, size_t at,
                      size_t len) {
    if ((sector != 0 && sector != 1) || at > mock->sector_len ||
        len > mock->sector_len - at) {
        mock->broken = "outside of a sector";
        return NULL;
    }
    return mock->bytes + (size_t)sector * mock->sector_len + at;
}

static int mock_read(void *context, int sector, size_t at, void *data,
                     size_t len) {
    const uint8_t *from = place(context, sector, at, len);

    if (from == NULL) {
        return -1;
    }
    memcpy(data, from, len);
    return 0;
}

static int mock_erase(void *context, int sector) {
    struct mst_flash_mock *mock = context;
    uint8_t *to = place(mock, sector, 0, mock->sector_len);

    mock->erasures++;
    if (to == NULL) {
        return -1;
    }
    memset(to, 0xFF, mock->sector_len);
    return 0;
}

static int mock_program(void *context, int sector, size_t at, const void *data,
                        size_t len) {
    struct mst_flash_mock *mock = context;
    uint8_t *to = place(mock, sector, at, len);

    if (to == NULL) {
        return -1;
    }
    if (at % mock->unit != 0 || len % mock->unit != 0 || len == 0 ||
        len > MST_FLASH_UNIT_MAX) {
        mock->broken = "not whole units";
    }
    for (size_t i = 0; i < len; i++) {
        if (to[i] != 0xFF) {
            mock->broken = "programmed twice";
        }
        to[i] &= ((const uint8_t *)data)[i];
    }
    return 0;
}

void mst_flash_mock_init(struct mst_flash_mock *mock, void *bytes,
                         size_t sector_len, size_t unit,
                         struct mst_flash_driver *driver) {
    *mock = (struct mst_flash_mock){
        .bytes = bytes, .sector_len = sector_len, .unit = unit};
    memset(bytes, 0xFF, 2 * sector_len);
    *driver = (struct mst_flash_driver){
        .sector_len = sector_len,
        .unit = unit,
        .read = mock_read,
        .erase = mock_erase,
        .program = mock_program,
        .context = mock,
    };
}
