/*
 * Tokens and a seed in flash (port/flash): the check of drivers and store with
 * all units, with drivers that are wrong, and what it has no part in.
 *
 * SPDX-License-Identifier: 0BSD
 */
#include "mst_flash_check.h"
#include "mst_flash_mock.h"
#include "mst_settings.h"
#include "support.h"

#define SECTOR 512

static uint8_t bytes[2 * SECTOR];
static struct mst_flash_mock mock;
static struct mst_flash_driver driver;
static struct mst_flash flash;
static struct mst_flash_check check;
static const uint8_t key[MST_TOKEN_KEY_LEN] = {1},
                     other[MST_TOKEN_KEY_LEN] = {2};
static const uint8_t secret[MST_FLASH_SEED_LEN] = "of the factory";
static uint8_t seeds[2][MST_FLASH_SEED_LEN];

static const char *found; /* the first case that failed, or NULL */

static void report(void *context, const char *name, const char *why) {
    (void)context;
    if (why != NULL && found == NULL) {
        found = name;
    }
}

static int run(size_t unit, const struct mst_flash_driver *wrong) {
    mst_flash_mock_init(&mock, bytes, SECTOR, unit, &driver);
    check = (struct mst_flash_check){.driver = driver, .report = report};
    if (wrong != NULL) {
        check.driver.read = wrong->read ? wrong->read : driver.read;
        check.driver.erase = wrong->erase ? wrong->erase : driver.erase;
        check.driver.program = wrong->program ? wrong->program : driver.program;
    }
    found = NULL;
    return mst_flash_check_run(&check);
}

TEST_CASE(test_all_units) {
    for (size_t unit = 1; unit <= MST_FLASH_UNIT_MAX; unit *= 2) {
        expect_int("failed", 0, run(unit, NULL));
        expect_text("found", "", found == NULL ? "" : found);
    }
}

/* ---- Drivers that are wrong, each in one way ---- */

static int read_first(void *context, int sector, size_t at, void *data,
                      size_t len) {
    (void)sector;
    return driver.read(context, 0, at, data, len);
}

static int erase_first(void *context, int sector) {
    return driver.erase(context, 0) | sector;
}

static int erase_both(void *context, int sector) {
    return driver.erase(context, !sector) | driver.erase(context, sector);
}

static int erase_nothing(void *context, int sector) {
    (void)context, (void)sector;
    return 0;
}

static int program_unit(void *context, int sector, size_t at, const void *data,
                        size_t len) {
    (void)len;
    return driver.program(context, sector, at, data, driver.unit);
}

static int program_short(void *context, int sector, size_t at, const void *data,
                         size_t len) {
    return len > 16 ? -1 : driver.program(context, sector, at, data, len);
}

TEST_CASE(test_wrong_drivers_are_found) {
    static const struct mst_flash_driver wrong[] = {
        {.read = read_first},      {.erase = erase_first},
        {.erase = erase_both},     {.erase = erase_nothing},
        {.program = program_unit}, {.program = program_short},
    };

    for (size_t i = 0; i < COUNT(wrong); i++) {
        assert_true(run(4, &wrong[i]) > 0);
        expect_text("found", "erases, writes and reads", found ? found : "");
    }
}

/* ---- What the check has no part in ---- */

static void begin(void) {
    mst_flash_mock_init(&mock, bytes, SECTOR, 4, &driver);
    expect_int("open", 0, mst_flash_open(&flash, &driver));
}

static int save(const uint8_t *of, size_t len) {
    static const char text[SECTOR] = "a token";

    return mst_flash_token_save(&flash, of, text, len, 1);
}

/* How long the stored token is. */
static int load(const uint8_t *of) {
    char text[SECTOR];
    int64_t until_s;

    return mst_flash_token_load(&flash, of, text, sizeof text, &until_s);
}

static int seed(size_t secret_len, int i) {
    return mst_flash_seed(&flash, secret, secret_len, seeds[i]);
}

TEST_CASE(test_flash_that_is_worn_out) {
    begin();
    memset(seeds, 0, sizeof seeds);
    expect_int("save", 0, save(key, 10));
    mock.worn = true;
    expect_int("save", MST_FLASH_ERR_DRIVER, save(key, 11));
    expect_int("token", 10, load(key));
    expect_int("no seed", MST_FLASH_ERR_DRIVER, seed(sizeof secret, 0));
    assert_memory_equal(seeds[0], seeds[1], MST_FLASH_SEED_LEN);
    mock.worn = false;
    expect_int("seed", 0, seed(sizeof secret, 0));
    mock.dead = true;
    expect_int("open", MST_FLASH_ERR_DAMAGED, mst_flash_open(&flash, &driver));
    expect_int("save", MST_FLASH_ERR_DRIVER, save(key, 11));
    expect_int("token", 0, load(key));
    expect_int("no seed", MST_FLASH_ERR_DRIVER, seed(sizeof secret, 0));
}

TEST_CASE(test_seed_needs_a_secret) {
    begin();
    expect_int("secret", MST_ERR_ENTROPY, seed(MST_FLASH_SEED_LEN - 1, 0));
    expect_int("first", 0, seed(sizeof secret, 0));
    expect_int("open", 0, mst_flash_open(&flash, &driver));
    expect_int("from the stored one", 0, seed(0, 1));
    assert_memory_not_equal(seeds[0], seeds[1], MST_FLASH_SEED_LEN);
    begin(); /* another device */
    expect_int("its own", 0,
               mst_flash_seed(&flash, "not the first one's, but as long",
                              MST_FLASH_SEED_LEN, seeds[1]));
    assert_memory_not_equal(seeds[0], seeds[1], MST_FLASH_SEED_LEN);
}

/* A boot loop with a token wears flash out in years: a sector is erased once
 * in as many boots as seeds fit into it. */
TEST_CASE(test_lengths_and_wear) {
    begin();
    expect_int("forget none", 0, save(key, 0));
    expect_int("nothing written", 0, mock.writes);
    expect_int("seed", 0, seed(sizeof secret, 0));
    expect_int("longest", 0, save(key, SECTOR - 16 - 56 - 32));
    expect_int("token", SECTOR - 16 - 56 - 32, load(key));
    expect_int("too long", MST_FLASH_ERR_FULL,
               save(other, SECTOR - 16 - 56 - 31));
    expect_int("token", SECTOR - 16 - 56 - 32, load(key));
    expect_int("forget", 0, save(key, 0));
    expect_int("open", 0, mst_flash_open(&flash, &driver));
    expect_int("forgotten", 0, load(key));
    mock.erasures = 0;
    for (int i = 0; i < 800; i++) {
        expect_int("open", 0, mst_flash_open(&flash, &driver));
        expect_int("seed", 0, seed(0, 1));
    }
    assert_in_range(mock.erasures, 99, 101);
    for (unsigned i = 0; i < 3; i++) { /* no power of two, too large, uneven */
        static const size_t lengths[][2] = {{SECTOR, 6}, {SECTOR, 64}, {12, 4}};

        driver.sector_len = lengths[i][0];
        driver.unit = lengths[i][1];
        expect_int("lengths", MST_ERR_ARGUMENT,
                   mst_flash_open(&flash, &driver));
    }
}

TEST_CASE(test_settings) {
    static const char page[] = "client_id=me\0client=\0wait=4294967295\0"
                               "more=4294967296\0word=1x\0crc32=c6da9ad3";
    struct mst_settings settings;
    char damaged[sizeof page];

    expect_int("open", 0, mst_settings_open(&settings, page, sizeof page));
    expect_text("client_id", "me", mst_settings_text(&settings, "client_id"));
    expect_text("client", "", mst_settings_text(&settings, "client"));
    expect_text("none", "", mst_settings_text(&settings, "crc32"));
    expect_int("wait", UINT32_MAX, mst_settings_number(&settings, "wait"));
    expect_int("more", 0, mst_settings_number(&settings, "more"));
    expect_int("word", 0, mst_settings_number(&settings, "word"));
    for (size_t i = 0; i < sizeof page; i++) {
        memcpy(damaged, page, sizeof page);
        damaged[i] ^= 1;
        expect_int("damaged", MST_FLASH_ERR_DAMAGED,
                   mst_settings_open(&settings, damaged, sizeof page));
        expect_text("id", "", mst_settings_text(&settings, "client_id"));
        expect_int("cut off", MST_FLASH_ERR_DAMAGED,
                   mst_settings_open(&settings, page, i));
    }
}

RUN_CASES(NULL, NULL)
