/*
 * What a device keeps across restarts, in two sectors of flash: access tokens
 * and a seed for its random numbers. Power may be cut at any moment: what was
 * saved before is still there, and what was being saved is there or not.
 *
 *     rc = mst_flash_open(&flash, &driver);            report rc, continue
 *     rc = mst_flash_seed(&flash, secret, len, seed);  0: seed the generator
 *
 * and port.token_load and token_save call mst_flash_token_load() and _save().
 *
 * One sector is in use. Records are appended to it, each with its length and a
 * CRC; the last intact one of a key counts. If it is full, or anything in it is
 * damaged, the current records go to the other sector, which is erased before.
 * That sector's header, with a number one higher, is written last: until then
 * the old sector counts. No unit is programmed twice.
 *
 * It allocates nothing, needs 400 bytes of stack and BearSSL's SHA-256. What it
 * stores is secret and not encrypted: turn on the read-out protection of the
 * device. One thread at a time may use a store.
 *
 * SPDX-License-Identifier: 0BSD
 */
#ifndef MST_FLASH_H
#define MST_FLASH_H

#include "mini_stream.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Errors, apart from all of enum mst_error. */
enum mst_flash_error {
    /* The driver failed, or flash does not hold what was written to it. */
    MST_FLASH_ERR_DRIVER = -1100,
    /* Something is damaged, or was cut off. What is intact can be used. */
    MST_FLASH_ERR_DAMAGED = -1101,
    MST_FLASH_ERR_FULL = -1102 /* it does not fit into a sector */
};

#define MST_FLASH_UNIT_MAX 32

/* The caller's flash: two sectors, 0 and 1, that nothing else uses. A sector
 * may be several of the chip's. Functions return 0, or negative for a failure.
 * They may wait for the flash: some ms for a word, up to seconds for an
 * erasure, which a watchdog must allow for. */
struct mst_flash_driver {
    /* Bytes of a sector: a multiple of the unit and of 8. Room for the longest
     * tokens (two, for an object that also puts addresses) and 120 bytes; the
     * larger, the more rarely a sector is erased: a boot takes 56 bytes. */
    size_t sector_len;
    size_t unit; /* bytes programmed at once: 1, 2, 4, ... MST_FLASH_UNIT_MAX */
    /* Reads any bytes. It fails if flash with ECC finds them damaged. */
    int (*read)(void *context, int sector, size_t at, void *data, size_t len);
    /* Makes all bytes 0xFF. */
    int (*erase)(void *context, int sector);
    /* Writes whole units, at most MST_FLASH_UNIT_MAX bytes, to erased ones. */
    int (*program)(void *context, int sector, size_t at, const void *data,
                   size_t len);
    void *context;
};

/* A store, owned by the caller. */
struct mst_flash {
    /* For the program to read: damaged places found by mst_flash_open(). */
    unsigned damaged;
    const struct mst_flash_driver *driver; /* private, as all that follows */
    uint32_t sequence;                     /* of the sector in use */
    size_t end;                            /* where its next record goes */
    int sector;                            /* in use, or -1 */
    bool closed; /* the next record goes to the other sector */
};

/* Opens the store. Writes nothing. The driver is borrowed for the store's life.
 * Returns 0 (also for erased flash), MST_ERR_ARGUMENT if lengths are not
 * possible, or MST_FLASH_ERR_DAMAGED. The store works after this, too: saving
 * the next two records repairs it. */
int mst_flash_open(struct mst_flash *flash,
                   const struct mst_flash_driver *driver);

#define MST_FLASH_SEED_LEN 32
/*
 * Makes the seed of this boot, to be called once per boot. It is a hash of all
 * that both sectors hold, damaged or not, and of secret (len bytes, or NULL):
 * random bytes that the device was given when it was made, and whatever else
 * differs from boot to boot. Before it returns, a new stored seed is saved, so
 * that the next boot has another one.
 *
 * Returns 0. Otherwise seed is not written and there must be no keys:
 * MST_ERR_ENTROPY if there is no stored seed and secret is shorter than
 * MST_FLASH_SEED_LEN, MST_FLASH_ERR_DRIVER if the new one could not be saved.
 *
 * Whoever erases both sectors must give the device a new secret, too: otherwise
 * the first boot after it has the seed of the first boot ever.
 */
int mst_flash_seed(struct mst_flash *flash, const void *secret, size_t len,
                   uint8_t seed[MST_FLASH_SEED_LEN]);

/* What mst_port.token_load does. */
int mst_flash_token_load(struct mst_flash *flash,
                         const uint8_t key[MST_TOKEN_KEY_LEN], char *token,
                         size_t cap, int64_t *until_s);
/* What mst_port.token_save does. If tokens do not fit, those saved first make
 * room, never the seed. Returns 0, MST_FLASH_ERR_FULL, or MST_FLASH_ERR_DRIVER,
 * after which the token saved before may still be there. */
int mst_flash_token_save(struct mst_flash *flash,
                         const uint8_t key[MST_TOKEN_KEY_LEN],
                         const char *token, size_t len, int64_t until_s);

/* CRC-32 (IEEE 802.3, zlib's) of data that follows those of crc; 0 at first. */
uint32_t mst_flash_crc(uint32_t crc, const void *data, size_t len);

#ifdef __cplusplus
}
#endif

#endif
