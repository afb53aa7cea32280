/*
 * Tokens and a seed in two sectors of flash.
 *
 * A sector begins with a header: magic, number, CRC. A record is a key, the
 * length of its data, a mark, a CRC of all this and the data, and the data.
 * Numbers have their lowest byte first. What follows, up to the next multiple
 * of the unit and of 8, stays erased.
 *
 * In this order: bytes, records, sectors, store.
 *
 * SPDX-License-Identifier: 0BSD
 */
#include "mst_flash.h"

#include <bearssl.h>
#include <string.h>

#define HEADER_LEN 12
#define HEADER_MAGIC 0x4654534Du /* "MSTF" */
#define RECORD_LEN (MST_TOKEN_KEY_LEN + 8)
#define RECORD_KEEP 0x5A01u /* it never makes room for others */
#define RECORD_DROP 0x5A02u
#define TIME_LEN 8 /* of a token: Unix seconds, before its text */
#define CHUNK MST_FLASH_UNIT_MAX

/* A record that was read. */
struct record {
    uint8_t key[MST_TOKEN_KEY_LEN];
    size_t at, data_len;
    unsigned mark;
};

/* One that is to be written: its data come in two pieces. */
struct draft {
    const uint8_t *key;
    unsigned mark;
    const void *data[2];
    size_t len[2];
};

/* Writes bytes in whole units. */
struct writer {
    const struct mst_flash_driver *driver;
    size_t at;
    int sector;
    int error;
    size_t count;
    uint8_t chunk[CHUNK];
};

static const uint8_t seed_key[MST_TOKEN_KEY_LEN];

/* ------------------------------------------------------------------------
 * Bytes
 * ------------------------------------------------------------------------ */

static void wipe(void *data, size_t len) {
    volatile uint8_t *bytes = data;

    while (len > 0) {
        bytes[--len] = 0;
    }
}

static void put_number(uint8_t *bytes, size_t len, uint64_t number) {
    for (size_t i = 0; i < len; i++) {
        bytes[i] = (uint8_t)(number >> 8 * i);
    }
}

static uint64_t get_number(const uint8_t *bytes, size_t len) {
    uint64_t number = 0;

    while (len > 0) {
        number = number << 8 | bytes[--len];
    }
    return number;
}

uint32_t mst_flash_crc(uint32_t crc, const void *data, size_t len) {
    static const uint32_t nibbles[] = {
        0x00000000, 0x1DB71064, 0x3B6E20C8, 0x26D930AC, 0x76DC4190, 0x6B6B51F4,
        0x4DB26158, 0x5005713C, 0xEDB88320, 0xF00F9344, 0xD6D6A3E8, 0xCB61B38C,
        0x9B64C2B0, 0x86D3D2D4, 0xA00AE278, 0xBDBDF21C};
    const uint8_t *bytes = data;

    crc = ~crc;
    for (size_t i = 0; i < len; i++) {
        crc ^= bytes[i];
        crc = nibbles[crc & 0xF] ^ crc >> 4;
        crc = nibbles[crc & 0xF] ^ crc >> 4;
    }
    return ~crc;
}

/* What records are aligned to. */
static size_t step_of(const struct mst_flash_driver *driver) {
    return driver->unit < 8 ? 8 : driver->unit;
}

static size_t aligned(const struct mst_flash_driver *driver, size_t len) {
    size_t step = step_of(driver);

    return (len + step - 1) / step * step;
}

static bool get(const struct mst_flash_driver *driver, int sector, size_t at,
                void *data, size_t len) {
    return driver->read(driver->context, sector, at, data, len) >= 0;
}

static bool is_blank(const struct mst_flash_driver *driver, int sector,
                     size_t at, size_t len) {
    uint8_t chunk[CHUNK];

    for (size_t n; len > 0; at += n, len -= n) {
        n = len < CHUNK ? len : CHUNK;
        if (!get(driver, sector, at, chunk, n)) {
            return false;
        }
        for (size_t i = 0; i < n; i++) {
            if (chunk[i] != 0xFF) {
                return false;
            }
        }
    }
    return true;
}

/* Programs what was gathered, and reads it back. */
static void writer_flush(struct writer *w) {
    const struct mst_flash_driver *driver = w->driver;
    uint8_t back[CHUNK];

    if (w->error == 0 && w->count > 0 &&
        (driver->program(driver->context, w->sector, w->at, w->chunk,
                         w->count) < 0 ||
         !get(driver, w->sector, w->at, back, w->count) ||
         memcmp(back, w->chunk, w->count) != 0)) {
        w->error = MST_FLASH_ERR_DRIVER;
    }
    w->at += w->count;
    w->count = 0;
}

static void writer_put(struct writer *w, const void *data, size_t len) {
    const uint8_t *bytes = data;

    for (size_t i = 0; i < len; i++) {
        w->chunk[w->count++] = bytes[i];
        if (w->count == CHUNK) {
            writer_flush(w);
        }
    }
}

/* Ends a record. */
static void writer_end(struct writer *w) {
    while (w->count % step_of(w->driver) != 0) {
        w->chunk[w->count++] = 0xFF;
    }
    writer_flush(w);
}

/* ------------------------------------------------------------------------
 * Records
 * ------------------------------------------------------------------------ */

static size_t record_size(const struct mst_flash_driver *driver, size_t len) {
    return aligned(driver, RECORD_LEN + len);
}

/* Reads the record that begins there: whether there is an intact one. */
static bool record_read(const struct mst_flash_driver *driver, int sector,
                        size_t at, struct record *record) {
    uint8_t head[RECORD_LEN], chunk[CHUNK];
    uint32_t crc;
    size_t left;

    if (at + RECORD_LEN > driver->sector_len ||
        !get(driver, sector, at, head, RECORD_LEN)) {
        return false;
    }
    memcpy(record->key, head, MST_TOKEN_KEY_LEN);
    record->at = at;
    record->data_len = (size_t)get_number(head + MST_TOKEN_KEY_LEN, 2);
    record->mark = (unsigned)get_number(head + MST_TOKEN_KEY_LEN + 2, 2);
    if ((record->mark != RECORD_KEEP && record->mark != RECORD_DROP) ||
        record->data_len > driver->sector_len - at - RECORD_LEN) {
        return false;
    }
    crc = mst_flash_crc(0, head, RECORD_LEN - 4);
    at += RECORD_LEN;
    left = record->data_len;
    for (size_t n; left > 0; at += n, left -= n) {
        n = left < CHUNK ? left : CHUNK;
        if (!get(driver, sector, at, chunk, n)) {
            return false;
        }
        crc = mst_flash_crc(crc, chunk, n);
    }
    return crc == get_number(head + RECORD_LEN - 4, 4);
}

/* The next intact record of the sector in use, from *at on, which moves past
 * it. A damaged one hides none of the others. */
static bool record_next(const struct mst_flash *flash, size_t *at,
                        struct record *record) {
    const struct mst_flash_driver *driver = flash->driver;

    while (flash->sector >= 0 && *at < flash->end) {
        if (record_read(driver, flash->sector, *at, record)) {
            *at += record_size(driver, record->data_len);
            return true;
        }
        *at += step_of(driver);
    }
    return false;
}

/* The last one of this key. */
static bool record_find(const struct mst_flash *flash, const uint8_t *key,
                        struct record *found) {
    size_t at = aligned(flash->driver, HEADER_LEN);
    struct record record;
    bool any = false;

    while (record_next(flash, &at, &record)) {
        if (memcmp(record.key, key, MST_TOKEN_KEY_LEN) == 0) {
            *found = record;
            any = true;
        }
    }
    return any && found->data_len > 0;
}

static void record_write(struct writer *w, const struct draft *draft) {
    uint8_t head[RECORD_LEN];
    uint32_t crc;

    memcpy(head, draft->key, MST_TOKEN_KEY_LEN);
    put_number(head + MST_TOKEN_KEY_LEN, 2, draft->len[0] + draft->len[1]);
    put_number(head + MST_TOKEN_KEY_LEN + 2, 2, draft->mark);
    crc = mst_flash_crc(0, head, RECORD_LEN - 4);
    crc = mst_flash_crc(crc, draft->data[0], draft->len[0]);
    crc = mst_flash_crc(crc, draft->data[1], draft->len[1]);
    put_number(head + RECORD_LEN - 4, 4, crc);
    writer_put(w, head, RECORD_LEN);
    writer_put(w, draft->data[0], draft->len[0]);
    writer_put(w, draft->data[1], draft->len[1]);
    writer_end(w);
}

/* ------------------------------------------------------------------------
 * Sectors
 * ------------------------------------------------------------------------ */

/* Reads a sector's number: whether its header is intact. */
static bool sector_read(const struct mst_flash_driver *driver, int sector,
                        uint32_t *sequence) {
    uint8_t head[HEADER_LEN];

    if (!get(driver, sector, 0, head, HEADER_LEN) ||
        get_number(head, 4) != HEADER_MAGIC ||
        get_number(head + 8, 4) != mst_flash_crc(0, head, 8)) {
        return false;
    }
    *sequence = (uint32_t)get_number(head + 4, 4);
    return true;
}

/* Finds where the records of the sector in use end, and damaged places. */
static void sector_scan(struct mst_flash *flash) {
    const struct mst_flash_driver *driver = flash->driver;
    size_t step = step_of(driver), at = aligned(driver, HEADER_LEN);
    struct record record;
    bool good, before = true;

    flash->end = at;
    for (size_t size; at < driver->sector_len; at += size) {
        good = record_read(driver, flash->sector, at, &record);
        size = good ? record_size(driver, record.data_len) : step;
        if (!good && is_blank(driver, flash->sector, at, step)) {
            continue;
        }
        flash->damaged += before && !good;
        before = good;
        flash->end = at + size;
    }
}

/* Whether a record counts and goes to the other sector when draft is saved. */
static bool record_stays(const struct mst_flash *flash,
                         const struct record *record, const struct draft *draft,
                         size_t from) {
    struct record last;

    return (record->mark == RECORD_KEEP || record->at >= from) &&
           memcmp(record->key, draft->key, MST_TOKEN_KEY_LEN) != 0 &&
           record_find(flash, record->key, &last) && last.at == record->at;
}

/* Where the records begin that fit into a sector with the draft: those before
 * make room, apart from those that never do. 0: it does not fit at all. */
static size_t sector_fit(const struct mst_flash *flash,
                         const struct draft *draft) {
    const struct mst_flash_driver *driver = flash->driver;
    size_t head = aligned(driver, HEADER_LEN), from = head, at, size, gap;
    struct record record;

    do {
        size = head + record_size(driver, draft->len[0] + draft->len[1]);
        gap = 0;
        at = head;
        while (record_next(flash, &at, &record)) {
            if (record_stays(flash, &record, draft, from)) {
                size += record_size(driver, record.data_len);
                gap = gap == 0 && record.mark == RECORD_DROP ? at : gap;
            }
        }
        if (size <= driver->sector_len) {
            return from;
        }
        from = gap;
    } while (from != 0);
    return 0;
}

static void sector_copy(const struct mst_flash *flash,
                        const struct record *record, struct writer *w) {
    size_t left = RECORD_LEN + record->data_len, at = record->at;
    uint8_t chunk[CHUNK];

    for (size_t n; left > 0; at += n, left -= n) {
        n = left < CHUNK ? left : CHUNK;
        if (!get(flash->driver, flash->sector, at, chunk, n)) {
            w->error = MST_FLASH_ERR_DRIVER;
        }
        writer_put(w, chunk, n);
    }
    writer_end(w);
}

/* Writes the current records and this one to the other sector. Without one in
 * use it takes an erased one, so that what the other holds is not lost to the
 * seed. It is erased in any case: a cut might have come while that was done. */
static int sector_change(struct mst_flash *flash, const struct draft *draft) {
    const struct mst_flash_driver *driver = flash->driver;
    size_t head = aligned(driver, HEADER_LEN), at = head, end;
    size_t from = sector_fit(flash, draft);
    struct writer w = {.driver = driver, .at = head};
    struct record record;
    uint8_t header[HEADER_LEN];
    bool rest = false; /* the one that is not taken is to be repaired, too */

    if (from == 0) {
        return MST_FLASH_ERR_FULL;
    }
    w.sector = !flash->sector;
    if (flash->sector < 0) {
        w.sector = !is_blank(driver, 0, 0, driver->sector_len) &&
                   is_blank(driver, 1, 0, driver->sector_len);
        rest = !is_blank(driver, !w.sector, 0, driver->sector_len);
    }
    if (driver->erase(driver->context, w.sector) < 0) {
        return MST_FLASH_ERR_DRIVER;
    }
    while (record_next(flash, &at, &record)) {
        if (record_stays(flash, &record, draft, from)) {
            sector_copy(flash, &record, &w);
        }
    }
    if (draft->len[0] + draft->len[1] > 0) {
        record_write(&w, draft);
    }
    end = w.at;
    w.at = 0;
    put_number(header, 4, HEADER_MAGIC);
    put_number(header + 4, 4, flash->sequence + 1);
    put_number(header + 8, 4, mst_flash_crc(0, header, 8));
    writer_put(&w, header, HEADER_LEN);
    writer_end(&w);
    if (w.error == 0) {
        flash->sequence++;
        flash->sector = w.sector;
        flash->end = end;
        flash->closed = rest;
    }
    return w.error;
}

/* ------------------------------------------------------------------------
 * Store
 * ------------------------------------------------------------------------ */

int mst_flash_open(struct mst_flash *flash,
                   const struct mst_flash_driver *driver) {
    bool blank[2], good[2];
    uint32_t sequence[2] = {0, 0};

    *flash = (struct mst_flash){.driver = driver, .sector = -1};
    if (driver->unit == 0 || (driver->unit & (driver->unit - 1)) != 0 ||
        driver->unit > MST_FLASH_UNIT_MAX || driver->sector_len == 0 ||
        driver->sector_len % step_of(driver) != 0) {
        return MST_ERR_ARGUMENT;
    }
    for (int i = 0; i < 2; i++) {
        good[i] = sector_read(driver, i, &sequence[i]);
        blank[i] = is_blank(driver, i, 0, driver->sector_len);
        flash->damaged += !good[i] && !blank[i];
    }
    if (good[0] || good[1]) {
        flash->sector = !good[0] || (good[1] && sequence[1] > sequence[0]);
        flash->sequence = sequence[flash->sector];
        sector_scan(flash);
    }
    flash->closed = flash->damaged > 0;
    return flash->damaged > 0 ? MST_FLASH_ERR_DAMAGED : 0;
}

static int store(struct mst_flash *flash, const struct draft *draft) {
    const struct mst_flash_driver *driver = flash->driver;
    size_t len = draft->len[0] + draft->len[1];
    struct writer w = {.driver = driver, .at = flash->end};

    if (len > UINT16_MAX) {
        return MST_FLASH_ERR_FULL;
    }
    if (flash->sector < 0 || flash->closed ||
        record_size(driver, len) > driver->sector_len - flash->end) {
        return sector_change(flash, draft);
    }
    w.sector = flash->sector;
    record_write(&w, draft);
    flash->end = w.at;
    if (w.error != 0) {
        flash->closed = true;
        return sector_change(flash, draft);
    }
    return 0;
}

int mst_flash_seed(struct mst_flash *flash, const void *secret, size_t len,
                   uint8_t seed[MST_FLASH_SEED_LEN]) {
    const struct mst_flash_driver *driver = flash->driver;
    uint8_t block[CHUNK], state[2][br_sha256_SIZE];
    br_sha256_context hash;
    struct record record;
    struct draft draft = {.key = seed_key,
                          .mark = RECORD_KEEP,
                          .data = {state[1]},
                          .len = {MST_FLASH_SEED_LEN}};
    int rc;

    if (len < MST_FLASH_SEED_LEN && !record_find(flash, seed_key, &record)) {
        return MST_ERR_ENTROPY;
    }
    br_sha256_init(&hash);
    for (int sector = 0; sector < 2; sector++) {
        for (size_t at = 0; at < driver->sector_len; at += step_of(driver)) {
            memset(block, 0, sizeof block); /* for what cannot be read */
            (void)get(driver, sector, at, block, step_of(driver));
            br_sha256_update(&hash, block, step_of(driver));
        }
    }
    br_sha256_update(&hash, secret, len);
    br_sha256_out(&hash, state[0]);
    for (uint8_t i = 2; i > 0; i--) { /* the one to be stored first */
        br_sha256_init(&hash);
        br_sha256_update(&hash, state[0], br_sha256_SIZE);
        br_sha256_update(&hash, &i, 1);
        br_sha256_out(&hash, state[i - 1]);
    }
    rc = store(flash, &draft);
    if (rc == 0) {
        memcpy(seed, state[0], MST_FLASH_SEED_LEN);
    }
    wipe(&hash, sizeof hash);
    wipe(block, sizeof block);
    wipe(state, sizeof state);
    return rc;
}

int mst_flash_token_load(struct mst_flash *flash,
                         const uint8_t key[MST_TOKEN_KEY_LEN], char *token,
                         size_t cap, int64_t *until_s) {
    const struct mst_flash_driver *driver = flash->driver;
    uint8_t until[TIME_LEN];
    struct record record;
    size_t at, len;

    if (!record_find(flash, key, &record) || record.data_len <= TIME_LEN ||
        record.data_len - TIME_LEN > cap) {
        return 0;
    }
    at = record.at + RECORD_LEN;
    len = record.data_len - TIME_LEN;
    if (!get(driver, flash->sector, at, until, TIME_LEN) ||
        !get(driver, flash->sector, at + TIME_LEN, token, len)) {
        return 0;
    }
    *until_s = (int64_t)get_number(until, TIME_LEN);
    return (int)len;
}

int mst_flash_token_save(struct mst_flash *flash,
                         const uint8_t key[MST_TOKEN_KEY_LEN],
                         const char *token, size_t len, int64_t until_s) {
    uint8_t until[TIME_LEN];
    struct record record;
    struct draft draft = {.key = key,
                          .mark = RECORD_DROP,
                          .data = {until, token},
                          .len = {TIME_LEN, len}};

    put_number(until, TIME_LEN, (uint64_t)until_s);
    if (len == 0) {
        draft.len[0] = 0;
        if (!record_find(flash, key, &record)) {
            return 0;
        }
    }
    return store(flash, &draft);
}
