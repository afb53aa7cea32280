/*
 * Settings of a device, such as URLs, a client id and its secret: a page of
 * flash that a tool writes once, apart from the image. settings.py makes it.
 *
 * A page has texts "name=value", each with a NUL. The last one is "crc32=" and
 * eight hexadecimal digits, of all bytes before it. What follows is ignored.
 *
 * SPDX-License-Identifier: 0BSD
 */
#ifndef MST_SETTINGS_H
#define MST_SETTINGS_H

#include "mst_flash.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Members are private. */
struct mst_settings {
    const char *page;
    size_t len; /* of the texts; 0: there are none */
};

/* Opens a page of len bytes, borrowed. Returns 0 or MST_FLASH_ERR_DAMAGED, also
 * for an erased page: then there is no setting. */
int mst_settings_open(struct mst_settings *settings, const void *page,
                      size_t len);
/* The value of this name, or "" if there is none. */
const char *mst_settings_text(const struct mst_settings *settings,
                              const char *name);
/* The same as a decimal number; 0 if it is none or does not fit. */
uint32_t mst_settings_number(const struct mst_settings *settings,
                             const char *name);

#ifdef __cplusplus
}
#endif

#endif
