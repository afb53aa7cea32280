/*
 * Tokens and a seed in flash (port/flash) whose power is cut at every step, and
 * settings that are damaged.
 *
 * SPDX-License-Identifier: 0BSD
 */
#include "mst_flash_mock.h"
#include "mst_settings.h"
#include "support.h"

#define SECTOR 512
#define KEYS 3
#define ROUNDS 12
#define TEXT_LEN 90 /* of the longest token: four fit */

static uint8_t bytes[2 * SECTOR];
static struct mst_flash_mock mock;
static struct mst_flash_driver driver;
static struct mst_flash flash;
static const uint8_t keys[KEYS][MST_TOKEN_KEY_LEN] = {{1}, {2}, {3, 3}};
static const char secret[] = "what the factory gave to this one";

/* Seeds that were given, of all lives of a device. */
static uint8_t seeds[ROUNDS * 2][MST_FLASH_SEED_LEN];
static size_t given;

static void begin(size_t unit) {
    mst_flash_mock_init(&mock, bytes, SECTOR, unit, &driver);
    given = 0;
    expect_int("open", 0, mst_flash_open(&flash, &driver));
}

/* Token number i of a key; they differ in length. */
static size_t token_text(unsigned key, unsigned i, char text[TEXT_LEN + 1]) {
    size_t len = 20 + (i * 31 + key * 17) % (TEXT_LEN - 19);

    memset(text, 'a' + (int)key, len);
    (void)snprintf(text, TEXT_LEN, "%u.%u.", key, i);
    text[strlen(text)] = '-';
    text[len] = '\0';
    return len;
}

static int save(unsigned key, unsigned i) {
    char text[TEXT_LEN + 1];
    size_t len = token_text(key, i, text);

    return mst_flash_token_save(&flash, keys[key], text, len, (int64_t)i << 33);
}

/* The number of the token that is stored for this key, and is whole; -1 if
 * there is none. */
static int stored(unsigned key) {
    char text[TEXT_LEN + 1], expected[TEXT_LEN + 1];
    int64_t until_s = -1;
    int len = mst_flash_token_load(&flash, keys[key], text, TEXT_LEN, &until_s);

    if (len == 0) {
        return -1;
    }
    text[len] = '\0';
    (void)token_text(key, (unsigned)(until_s >> 33), expected);
    expect_text("token", expected, text);
    return (int)(until_s >> 33);
}

/* A seed, unlike any before. */
static int seed(void) {
    uint8_t *now = seeds[given];
    int rc = mst_flash_seed(&flash, secret, sizeof secret, now);

    for (size_t i = 0; rc == 0 && i < given; i++) {
        assert_memory_not_equal(seeds[i], now, MST_FLASH_SEED_LEN);
    }
    given += rc == 0;
    return rc;
}

/* Boots again and again, with a new token of one of two keys in each life, until
 * the power is gone. What was saved before it went is there after it; of what
 * was being saved, the old one or the new one. False: it was not cut. */
static bool live_until_cut(unsigned at, enum mst_flash_cut how) {
    int last[2] = {-1, -1}, opened, found;
    unsigned round = 0;

    mock.cut_at = at;
    mock.cut = how;
    for (; round < ROUNDS; round++) {
        expect_int("open", 0, mst_flash_open(&flash, &driver));
        if (seed() != 0 || save(round % 2, round) != 0) {
            break;
        }
        last[round % 2] = (int)round;
    }
    if (round == ROUNDS) {
        return false;
    }
    assert_true(mock.off);
    mst_flash_mock_on(&mock);
    opened = mst_flash_open(&flash, &driver);
    assert_true(opened == 0 || opened == MST_FLASH_ERR_DAMAGED);
    for (unsigned key = 0; key < 2; key++) {
        found = stored(key);
        if (found != last[key] && (key != round % 2 || found != (int)round)) {
            expect_failed("step %u, cut %u: token %d, not %d", at, how, found,
                          last[key]);
        }
    }
    expect_int("seed", 0, seed());
    expect_int("save", 0, save(2, ROUNDS));
    expect_int("repaired", 0, mst_flash_open(&flash, &driver));
    expect_int("saved", ROUNDS, stored(2));
    return true;
}

TEST_CASE(test_power_cut_at_every_step) {
    for (size_t unit = 1; unit <= MST_FLASH_UNIT_MAX; unit *= 2) {
        for (int cut = 0; cut < MST_FLASH_CUTS; cut++) {
            unsigned at = 1;

            do {
                begin(unit);
            } while (live_until_cut(at++, (enum mst_flash_cut)cut));
            assert_null(mock.broken);
            assert_in_range(mock.erasures[0] + mock.erasures[1], 4, 8);
        }
    }
}

/* Cut in the repair as well, at the same step again and again, as by a weak
 * battery. */
TEST_CASE(test_power_cut_time_and_again) {
    for (unsigned at = 1; at < 40; at++) {
        begin(8);
        expect_int("save", 0, save(0, 1));
        for (unsigned i = 0; i < ROUNDS; i++) {
            mst_flash_mock_on(&mock);
            mock.steps = 0;
            mock.cut_at = at;
            mock.cut = (enum mst_flash_cut)((i + at) % MST_FLASH_CUTS);
            (void)mst_flash_open(&flash, &driver);
            expect_int("token", 1, stored(0));
            (void)(seed() == 0 && save(1, i) == 0);
        }
        assert_null(mock.broken);
    }
}

/* Any byte but those between records is damaged: this is reported, other tokens are still there, none is
 * wrong, and the seed is new all the same. */
TEST_CASE(test_damage) {
    size_t padding = 0;

    for (size_t at = 0; at < sizeof bytes; at++) {
        unsigned lost = 0;
        int opened;

        begin(4);
        for (unsigned key = 0; key < KEYS; key++) {
            expect_int("save", 0, save(key, 5));
        }
        expect_int("seed", 0, seed());
        bytes[at] ^= 0x40;
        opened = mst_flash_open(&flash, &driver);
        for (unsigned key = 0; key < KEYS; key++) {
            lost += stored(key) != 5;
        }
        padding += opened == 0;
        expect_int("open", lost > 0 ? MST_FLASH_ERR_DAMAGED : opened, opened);
        assert_in_range(lost, 0, at < 12 ? KEYS : 1);
        expect_int("seed", 0, seed());
        expect_int("save", 0, save(0, 6));
        expect_int("repaired", 0, mst_flash_open(&flash, &driver));
        assert_null(mock.broken);
    }
    assert_in_range(padding, 4, 4 + 4 * 7);
}

/* Flash that cannot be read or written any more. */
TEST_CASE(test_dead_flash) {
    begin(4);
    expect_int("save", 0, save(0, 1));
    mock.worn = true;
    expect_int("save", MST_FLASH_ERR_DRIVER, save(0, 2));
    expect_int("token", 1, stored(0));
    expect_int("seed", MST_FLASH_ERR_DRIVER, seed());
    mock.worn = false;
    expect_int("seed", 0, seed());
    mock.off = true;
    expect_int("open", MST_FLASH_ERR_DAMAGED, mst_flash_open(&flash, &driver));
    expect_int("save", MST_FLASH_ERR_DRIVER, save(0, 2));
    expect_int("token", -1, stored(0));
    expect_int("seed", MST_FLASH_ERR_DRIVER, seed());
}

TEST_CASE(test_seed_needs_a_secret) {
    begin(4);
    expect_int(
        "secret", MST_ERR_ENTROPY,
        mst_flash_seed(&flash, secret, MST_FLASH_SEED_LEN - 1, seeds[0]));
    expect_int("first", 0, seed());
    expect_int("open", 0, mst_flash_open(&flash, &driver));
    expect_int("from the stored one", 0,
               mst_flash_seed(&flash, NULL, 0, seeds[1]));
    assert_memory_not_equal(seeds[0], seeds[1], MST_FLASH_SEED_LEN);
}

TEST_CASE(test_what_fits) {
    static char text[SECTOR];

    begin(4);
    expect_int("forget none", 0,
               mst_flash_token_save(&flash, keys[0], "", 0, 0));
    expect_int("nothing written", 0, mock.steps);
    expect_int("seed", 0, seed());
    expect_int("save", 0, save(0, 7));
    expect_int("save", 0, save(1, 8));
    memset(text, 'x', sizeof text);
    expect_int("too long", MST_FLASH_ERR_FULL,
               mst_flash_token_save(&flash, keys[2], text, 430, 1));
    expect_int("first", 7, stored(0));
    expect_int("long", 0, mst_flash_token_save(&flash, keys[2], text, 300, 1));
    expect_int("saved first", -1, stored(0));
    expect_int("saved then", 8, stored(1));
    expect_int("the seed stays", 0,
               mst_flash_seed(&flash, NULL, 0, seeds[given]));
    expect_int("forget", 0, mst_flash_token_save(&flash, keys[1], "", 0, 0));
    expect_int("open", 0, mst_flash_open(&flash, &driver));
    expect_int("forgotten", -1, stored(1));
    for (unsigned i = 0; i < 3; i++) { /* no power of two, too large, uneven */
        static const size_t lengths[][2] = {{SECTOR, 6}, {SECTOR, 64}, {12, 4}};

        driver.sector_len = lengths[i][0];
        driver.unit = lengths[i][1];
        expect_int("lengths", MST_ERR_ARGUMENT,
                   mst_flash_open(&flash, &driver));
    }
}

/* ---- Settings ---- */

static const char page[] = "client_id=me\0client=\0wait=4294967295\0"
                           "more=4294967296\0word=1x\0crc32=c6da9ad3";

TEST_CASE(test_settings) {
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
