/* A test of flash drivers and of the store. SPDX-License-Identifier: 0BSD */
#include "mst_flash_check.h"

#include <string.h>

#define SECTOR_MIN 512
#define ROUNDS_MAX (MST_FLASH_CHECK_SEEDS / 2)
#define TOKEN_MAX 90
#define CHUNK MST_FLASH_UNIT_MAX
#define HEADER_LEN 12 /* of a sector */
#define OTHER 2       /* a key that no life uses */

/* What a cut leaves of the step that it interrupts. */
enum cut {
    CUT_BEFORE, /* nothing has changed */
    CUT_HALF,   /* the first half is done */
    CUT_LAST,   /* the second half is done */
    CUT_BITS,   /* some bits everywhere are as they will be */
    CUT_AFTER,  /* it is done, but nobody knows */
    CUTS
};

static const char secret[] = "what the factory gave to this one";

static bool fails(struct mst_flash_check *check, bool bad, const char *why) {
    if (bad && check->why == NULL) {
        check->why = why;
    }
    return check->why != NULL;
}

/* ---- The driver, with faults ---- */

static uint8_t random_byte(struct mst_flash_check *check) {
    check->random = check->random * 1664525u + 1013904223u;
    return (uint8_t)(check->random >> 24);
}

static int cut_read(void *context, int sector, size_t at, void *data,
                    size_t len) {
    struct mst_flash_check *check = context;
    const struct mst_flash_driver *driver = &check->driver;
    size_t from = (size_t)sector * driver->sector_len + at;
    int rc =
        check->off ? -1 : driver->read(driver->context, sector, at, data, len);

    if (rc >= 0 && check->damaged - from < len) {
        ((uint8_t *)data)[check->damaged - from] ^= 0x10;
    }
    return rc;
}

static bool is_cut(struct mst_flash_check *check) {
    check->off = check->off || ++check->steps == check->cut_at;
    return check->off;
}

/* Programs these bytes, or those of a cut. */
static int program(struct mst_flash_check *check, int sector, size_t at,
                   const uint8_t *data, size_t len, bool cut) {
    const struct mst_flash_driver *driver = &check->driver;
    uint8_t bytes[CHUNK];

    for (size_t i = 0; i < len; i++) {
        bool first = i < len / 2;
        bytes[i] = data[i];
        if (cut && (check->cut == CUT_BEFORE ||
                    check->cut == (first ? CUT_LAST : CUT_HALF))) {
            bytes[i] = 0xFF;
        } else if (cut && check->cut == CUT_BITS) {
            bytes[i] |= random_byte(check);
        }
    }
    return driver->program(driver->context, sector, at, bytes, len);
}

static int cut_program(void *context, int sector, size_t at, const void *data,
                       size_t len) {
    struct mst_flash_check *check = context;

    if (check->off || check->worn) {
        return check->off ? -1 : 0;
    }
    if (!is_cut(check)) {
        return program(check, sector, at, data, len, false);
    }
    (void)program(check, sector, at, data, len, true);
    return -1;
}

/* What a cut leaves of a sector that was being erased is random here. */
static int cut_erase(void *context, int sector) {
    struct mst_flash_check *check = context;
    const struct mst_flash_driver *driver = &check->driver;
    size_t half = driver->sector_len / 2;
    uint8_t bytes[CHUNK];
    bool cut;

    if (check->off || check->worn) {
        return check->off ? -1 : 0;
    }
    cut = is_cut(check);
    check->damaged = SIZE_MAX;
    if (cut && check->cut == CUT_BEFORE) {
        return -1;
    }
    if (driver->erase(driver->context, sector) < 0) {
        return -1;
    }
    for (size_t at = 0; cut && at < driver->sector_len; at += driver->unit) {
        for (size_t i = 0; i < driver->unit; i++) {
            bytes[i] = random_byte(check);
        }
        if (check->cut == CUT_BITS ||
            check->cut == (at < half ? CUT_LAST : CUT_HALF)) {
            (void)driver->program(driver->context, sector, at, bytes,
                                  driver->unit);
        }
    }
    return cut ? -1 : 0;
}

static void power(struct mst_flash_check *check, unsigned cut_at, int cut) {
    check->off = false;
    check->steps = 0;
    check->cut_at = cut_at;
    check->cut = cut;
}

/* ---- The driver itself ---- */

static uint8_t pattern(int sector, size_t at) {
    return (uint8_t)(at * 37 + at / 251 + (size_t)sector * 101);
}

/* Whether a sector has the pattern up to here, and is erased from there on;
 * read in pieces of this length. */
static bool holds(const struct mst_flash_check *check, int sector, size_t end,
                  size_t piece) {
    const struct mst_flash_driver *driver = &check->driver;
    uint8_t bytes[CHUNK];

    for (size_t at = 0, n; at < driver->sector_len; at += n) {
        n = driver->sector_len - at < piece ? driver->sector_len - at : piece;
        if (driver->read(driver->context, sector, at, bytes, n) < 0) {
            return false;
        }
        for (size_t i = 0; i < n; i++) {
            if (bytes[i] != (at + i < end ? pattern(sector, at + i) : 0xFF)) {
                return false;
            }
        }
    }
    return true;
}

static bool erase(const struct mst_flash_check *check, int sector) {
    return check->driver.erase(check->driver.context, sector) >= 0;
}

/* Fills a sector, with writes of all lengths. */
static void fill(struct mst_flash_check *check, int sector) {
    const struct mst_flash_driver *driver = &check->driver;
    uint8_t bytes[CHUNK];
    size_t units = 1, len;

    for (size_t at = 0; at < driver->sector_len; at += len) {
        len = units * driver->unit;
        len = len > driver->sector_len - at ? driver->sector_len - at : len;
        for (size_t i = 0; i < len; i++) {
            bytes[i] = pattern(sector, at + i);
        }
        if (fails(check,
                  driver->program(driver->context, sector, at, bytes, len) < 0,
                  "a write fails") ||
            fails(check, at == 0 && !holds(check, sector, len, CHUNK),
                  "a write is not read back, or changes more")) {
            return;
        }
        units = units * driver->unit == CHUNK ? 1 : units * 2;
    }
}

static void case_driver(struct mst_flash_check *check) {
    size_t len = check->driver.sector_len;

    for (int sector = 0; sector < 2; sector++) {
        (void)fails(check, !erase(check, sector), "erasing fails");
    }
    for (int sector = 0; sector < 2 && check->why == NULL; sector++) {
        (void)fails(check, !holds(check, sector, 0, CHUNK),
                    "erased bytes are not 0xFF");
        fill(check, sector);
    }
    for (size_t piece = 1; piece <= CHUNK; piece += 6) {
        (void)fails(
            check, !holds(check, 0, len, piece) || !holds(check, 1, len, piece),
            "what was written is not read back");
    }
    (void)fails(check, !erase(check, 0) || !holds(check, 1, len, CHUNK),
                "erasing a sector changes the other one");
    (void)fails(check,
                !holds(check, 0, 0, CHUNK) || !erase(check, 1) ||
                    !holds(check, 1, 0, CHUNK),
                "erased bytes are not 0xFF");
}

/* ---- The store ---- */

static int opens(struct mst_flash_check *check) {
    return mst_flash_open(&check->flash, &check->cutting);
}

static void begin(struct mst_flash_check *check) {
    power(check, 0, 0);
    check->damaged = SIZE_MAX;
    check->given = 0;
    (void)fails(check,
                !erase(check, 0) || !erase(check, 1) || opens(check) != 0,
                "an empty store does not open");
}

/* Token number i of a key; they differ in length. */
static size_t token_text(unsigned key, unsigned i, char text[TOKEN_MAX]) {
    size_t len = 20 + (i * 31 + key * 17) % (TOKEN_MAX - 19);

    for (size_t at = 0; at < len; at++) {
        text[at] = (char)('a' + (at * (i + 1) + key) % 26);
    }
    return len;
}

static void token_key(unsigned key, uint8_t bytes[MST_TOKEN_KEY_LEN]) {
    memset(bytes, 0, MST_TOKEN_KEY_LEN);
    bytes[key % MST_TOKEN_KEY_LEN] = (uint8_t)(key + 1);
}

static int save(struct mst_flash_check *check, unsigned key, unsigned i) {
    uint8_t bytes[MST_TOKEN_KEY_LEN];
    char text[TOKEN_MAX];
    size_t len = token_text(key, i, text);

    token_key(key, bytes);
    return mst_flash_token_save(&check->flash, bytes, text, len,
                                (int64_t)i << 33);
}

/* The number of the token that is stored for this key, or -1. */
static int stored(struct mst_flash_check *check, unsigned key) {
    uint8_t bytes[MST_TOKEN_KEY_LEN];
    char text[TOKEN_MAX], expected[TOKEN_MAX];
    int64_t until_s = 0;
    int len;

    token_key(key, bytes);
    len = mst_flash_token_load(&check->flash, bytes, text, TOKEN_MAX, &until_s);
    if (len == 0) {
        return -1;
    }
    (void)fails(check,
                (size_t)len !=
                        token_text(key, (unsigned)(until_s >> 33), expected) ||
                    memcmp(text, expected, (size_t)len) != 0,
                "a token is not the one that was saved");
    return (int)(until_s >> 33);
}

/* A seed, unlike any before. */
static int seeds(struct mst_flash_check *check) {
    uint8_t *now = check->seeds[check->given];
    int rc = mst_flash_seed(&check->flash, secret, sizeof secret, now);

    for (size_t i = 0; rc == 0 && i < check->given; i++) {
        (void)fails(check,
                    memcmp(check->seeds[i], now, MST_FLASH_SEED_LEN) == 0,
                    "a boot has the seed of an earlier one");
    }
    check->given += rc == 0;
    return rc;
}

/* The store works again, and two records have repaired it. */
static void expect_repaired(struct mst_flash_check *check) {
    (void)fails(check, seeds(check) != 0 || save(check, OTHER, 5) != 0,
                "it does not work afterwards");
    (void)fails(check, opens(check) != 0 || stored(check, OTHER) != 5,
                "it is not repaired");
}

/* Boots again and again, with a new token of one of two keys in each life,
 * until the power is gone. What was saved before it went is there after it; of
 * what was being saved, the old one or the new one. False: it was not cut. */
static bool live_until_cut(struct mst_flash_check *check) {
    int last[2] = {-1, -1}, rc, found;
    unsigned round = 0;

    for (; round < ROUNDS_MAX - 2; round++) {
        if (opens(check) != 0 || seeds(check) != 0 ||
            save(check, round % 2, round) != 0) {
            break;
        }
        last[round % 2] = (int)round;
    }
    if (!check->off) {
        (void)fails(check, round < ROUNDS_MAX - 2, "it fails without a cut");
        return false;
    }
    power(check, 0, 0);
    rc = opens(check);
    (void)fails(check, rc != 0 && rc != MST_FLASH_ERR_DAMAGED,
                "it does not open");
    for (unsigned key = 0; key < 2; key++) {
        found = stored(check, key);
        (void)fails(check,
                    found != last[key] &&
                        (key != round % 2 || found != (int)round),
                    "a token is lost");
    }
    expect_repaired(check);
    return true;
}

static void case_cut(struct mst_flash_check *check) {
    unsigned at;

    for (int cut = 0; cut < CUTS; cut++) {
        at = 1;
        do {
            begin(check);
            power(check, at++, cut);
        } while (check->why == NULL && live_until_cut(check));
    }
}

/* At the same step again and again, also of repairs, as by a weak battery. */
static void case_cuts(struct mst_flash_check *check) {
    for (unsigned at = 1; at < 30 && check->why == NULL; at++) {
        begin(check);
        (void)fails(check, save(check, 0, 1) != 0, "it fails without a cut");
        for (unsigned i = 0; i < ROUNDS_MAX; i++) {
            power(check, at, (int)((i + at) % CUTS));
            (void)opens(check);
            (void)fails(check, stored(check, 0) != 1, "a token is lost");
            (void)(seeds(check) == 0 && save(check, 1, i) == 0);
        }
    }
}

/* Any byte reads wrong. At most one token is lost, with them all only if it is
 * in a header; that is reported, and the seed is new. */
static void case_damage(struct mst_flash_check *check) {
    size_t silent = 0, len = check->driver.sector_len;

    for (size_t at = 0; at < 2 * len && check->why == NULL; at++) {
        int lost = 0, rc;

        begin(check);
        for (unsigned key = 0; key < 3; key++) {
            (void)fails(check, save(check, key, 5) != 0, "saving fails");
        }
        (void)fails(check, seeds(check) != 0, "seeding fails");
        check->damaged = at;
        rc = opens(check);
        for (unsigned key = 0; key < 3; key++) {
            lost += stored(check, key) != 5;
        }
        silent += rc == 0;
        (void)fails(check, rc == 0 && (lost > 0 || at < HEADER_LEN),
                    "damage is not reported");
        (void)fails(check, lost > (at % len < HEADER_LEN ? 3 : 1),
                    "damage of one token loses others");
        expect_repaired(check);
    }
    (void)fails(check, silent > 5 * CHUNK, /* between records */
                "damage is not reported");
}

/* Tokens make room for others, the seed does not. */
static void case_room(struct mst_flash_check *check) {
    uint8_t seed[MST_FLASH_SEED_LEN];

    begin(check);
    (void)fails(check, seeds(check) != 0, "seeding fails");
    for (unsigned key = 0; key < 12; key++) {
        (void)fails(check, save(check, key, key) != 0, "there is no room");
        (void)fails(check, stored(check, key) != (int)key, "it is not saved");
    }
    (void)fails(check,
                check->driver.sector_len == SECTOR_MIN &&
                    (stored(check, 0) != -1 || stored(check, 10) != 10),
                "not the oldest makes room");
    (void)fails(check, mst_flash_seed(&check->flash, NULL, 0, seed) != 0,
                "the seed makes room");
}

/* A token of len bytes for this key. */
static int save_long(struct mst_flash_check *check, unsigned key, size_t len) {
    static const char text[SECTOR_MIN] = "a token";
    uint8_t bytes[MST_TOKEN_KEY_LEN];

    token_key(key, bytes);
    return mst_flash_token_save(&check->flash, bytes, text, len, 1);
}

static int load_long(struct mst_flash_check *check, unsigned key) {
    uint8_t bytes[MST_TOKEN_KEY_LEN];
    char text[SECTOR_MIN];
    int64_t until_s;

    token_key(key, bytes);
    return mst_flash_token_load(&check->flash, bytes, text, sizeof text,
                                &until_s);
}

/* With a seed, a token may have this many bytes and no more; lengths that no
 * flash has are refused; what is forgotten is gone. */
static void case_lengths(struct mst_flash_check *check) {
    static const size_t wrong[][2] = {{512, 6}, {512, 64}, {12, 4}, {512, 0}};
    struct mst_flash_driver driver = check->driver;
    size_t step = driver.unit < 8 ? 8 : driver.unit, most;

    check->driver.sector_len = check->cutting.sector_len = SECTOR_MIN;
    most = SECTOR_MIN - (HEADER_LEN + step - 1) / step * step -
           (56 + step - 1) / step * step - 32;
    begin(check);
    (void)fails(check, save_long(check, 0, 0) != 0 || check->steps > 0,
                "forgetting nothing writes something");
    (void)fails(check, seeds(check) != 0, "seeding fails");
    for (int i = 0; i < 2; i++) { /* then in the other sector */
        (void)fails(check, save_long(check, 0, most) != 0,
                    "the longest token is not saved");
    }
    (void)fails(check, save_long(check, 1, most + 1) != MST_FLASH_ERR_FULL,
                "a token that is too long is not refused");
    (void)fails(check, load_long(check, 0) != (int)most, "a token is lost");
    (void)fails(check,
                save_long(check, 0, 0) != 0 || opens(check) != 0 ||
                    load_long(check, 0) != 0,
                "a token is not forgotten");
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        check->cutting.sector_len = wrong[i][0];
        check->cutting.unit = wrong[i][1];
        (void)fails(check, opens(check) != MST_ERR_ARGUMENT,
                    "lengths are not refused");
    }
    check->driver = driver;
    check->cutting.sector_len = driver.sector_len;
    check->cutting.unit = driver.unit;
}

/* There is none without secret or stored seed, nor from flash that cannot be
 * changed; devices with other secrets have other ones. */
static void case_seed(struct mst_flash_check *check) {
    static const uint8_t none[MST_FLASH_SEED_LEN];
    static const char theirs[] = "what the factory gave to the next one";
    uint8_t seed[MST_FLASH_SEED_LEN] = {0};

    begin(check);
    (void)fails(check,
                mst_flash_seed(&check->flash, secret, MST_FLASH_SEED_LEN - 1,
                               seed) != MST_ERR_ENTROPY,
                "a short secret is enough");
    (void)fails(check, seeds(check) != 0 || opens(check) != 0, "seeding fails");
    (void)fails(check,
                mst_flash_seed(&check->flash, NULL, 0, seed) != 0 ||
                    memcmp(seed, check->seeds[0], sizeof seed) == 0,
                "there is no new seed from the stored one");
    begin(check);
    (void)fails(
        check,
        mst_flash_seed(&check->flash, theirs, sizeof theirs - 1, seed) != 0 ||
            memcmp(seed, check->seeds[0], sizeof seed) == 0,
        "the secret does not count");
    (void)fails(check, save(check, 0, 1) != 0, "saving fails");
    for (int dead = 0; dead < 2; dead++) {
        memset(seed, 0, sizeof seed);
        check->worn = true;
        check->off = dead;
        (void)fails(check,
                    mst_flash_seed(&check->flash, secret, sizeof secret,
                                   seed) != MST_FLASH_ERR_DRIVER ||
                        memcmp(seed, none, sizeof seed) != 0,
                    "flash that cannot be changed gives a seed");
        (void)fails(check,
                    save(check, 0, 2) != MST_FLASH_ERR_DRIVER ||
                        stored(check, 0) != (dead ? -1 : 1),
                    "flash that cannot be changed seems to be");
    }
    (void)fails(check, opens(check) != MST_FLASH_ERR_DAMAGED,
                "dead flash is not reported");
    check->worn = false;
    check->off = false;
    (void)fails(check, seeds(check) != 0, "seeding fails afterwards");
}

int mst_flash_check_run(struct mst_flash_check *check) {
    static const struct {
        const char *name;
        void (*run)(struct mst_flash_check *check);
    } cases[] = {
        {"erases, writes and reads", case_driver},
        {"survives a power cut", case_cut},
        {"survives cuts of its repair", case_cuts},
        {"reports damage", case_damage},
        {"makes room", case_room},
        {"knows lengths", case_lengths},
        {"seeds", case_seed},
    };
    int failed = 0;

    check->cutting = (struct mst_flash_driver){
        .sector_len = check->driver.sector_len,
        .unit = check->driver.unit,
        .read = cut_read,
        .erase = cut_erase,
        .program = cut_program,
        .context = check,
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        check->why = check->driver.sector_len < SECTOR_MIN
                         ? "sectors are too small"
                         : NULL;
        if (check->why == NULL) {
            cases[i].run(check);
        }
        check->report(check->context, cases[i].name, check->why);
        failed += check->why != NULL;
    }
    return failed;
}
