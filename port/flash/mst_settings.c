/* Settings in a page of flash. SPDX-License-Identifier: 0BSD */
#include "mst_settings.h"

#include <string.h>

#define CHECK "crc32="
#define CHECK_LEN (sizeof CHECK - 1)
#define DIGITS 8

/* Whether these are the digits of the number. */
static bool is_hex(const char *text, uint32_t number) {
    for (int i = DIGITS - 1; i >= 0; i--) {
        if (text[i] != "0123456789abcdef"[number & 0xF]) {
            return false;
        }
        number >>= 4;
    }
    return text[DIGITS] == '\0';
}

int mst_settings_open(struct mst_settings *settings, const void *page,
                      size_t len) {
    const char *text = page, *end;

    *settings = (struct mst_settings){.page = page};
    for (size_t at = 0; at < len; at = (size_t)(end + 1 - text)) {
        if (len - at > CHECK_LEN + DIGITS &&
            memcmp(text + at, CHECK, CHECK_LEN) == 0) {
            if (!is_hex(text + at + CHECK_LEN, mst_flash_crc(0, page, at))) {
                break;
            }
            settings->len = at;
            return 0;
        }
        end = memchr(text + at, '\0', len - at);
        if (end == NULL) {
            break;
        }
    }
    return MST_FLASH_ERR_DAMAGED;
}

const char *mst_settings_text(const struct mst_settings *settings,
                              const char *name) {
    const char *at = settings->page, *end = at + settings->len;
    size_t len = strlen(name);

    for (; at < end; at += strlen(at) + 1) {
        if (strncmp(at, name, len) == 0 && at[len] == '=') {
            return at + len + 1;
        }
    }
    return "";
}

uint32_t mst_settings_number(const struct mst_settings *settings,
                             const char *name) {
    const char *at = mst_settings_text(settings, name);
    uint64_t number = 0;

    for (; *at >= '0' && *at <= '9' && number <= UINT32_MAX; at++) {
        number = number * 10 + (uint64_t)(*at - '0');
    }
    return *at != '\0' || number > UINT32_MAX ? 0 : (uint32_t)number;
}
