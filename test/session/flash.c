/*
 * Tokens and a seed in flash (port/flash): its check with all units and with
 * drivers that are wrong, wear, and settings.
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
static struct mst_flash_check check;
static char found[100]; /* the first case that failed, and why, or "" */

static void report(void *context, const char *name, const char *why) {
    (void)context;
    if (why != NULL && found[0] == '\0') {
        (void)snprintf(found, sizeof found, "%s: %s", name, why);
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
    found[0] = '\0';
    return mst_flash_check_run(&check);
}

TEST_CASE(test_all_units) {
    for (size_t unit = 1; unit <= MST_FLASH_UNIT_MAX; unit *= 2) {
        expect_int("failed", 0, run(unit, NULL));
        expect_text("found", "", found);
        assert_null(mock.broken);
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
    static const struct {
        struct mst_flash_driver driver;
        const char *why;
    } wrong[] = {
        {{.read = read_first}, "erased bytes are not 0xFF"},
        {{.erase = erase_first}, "erased bytes are not 0xFF"},
        {{.erase = erase_both}, "erasing a sector changes the other one"},
        {{.erase = erase_nothing}, "erased bytes are not 0xFF"},
        {{.program = program_unit}, "what was written is not read back"},
        {{.program = program_short}, "a write fails"},
    };

    for (size_t i = 0; i < COUNT(wrong); i++) {
        assert_true(run(4, &wrong[i].driver) > 0);
        expect_text("found", wrong[i].why, strchr(found, ':') + 2);
    }
}

/* A boot loop wears flash out in years: a sector is erased once in as many
 * boots as seeds fit into it. */
TEST_CASE(test_wear) {
    static const char secret[] = "32 bytes that the factory gave it";
    uint8_t seed[MST_FLASH_SEED_LEN];
    struct mst_flash flash;

    mst_flash_mock_init(&mock, bytes, SECTOR, 4, &driver);
    for (int i = 0; i < 800; i++) {
        expect_int("open", 0, mst_flash_open(&flash, &driver));
        expect_int("seed", 0,
                   mst_flash_seed(&flash, secret, sizeof secret, seed));
    }
    assert_in_range(mock.erasures, 99, 101);
    assert_null(mock.broken);
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
