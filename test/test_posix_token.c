/*
 * Tests of the access token's file, mst_posix_token_file().
 *
 * SPDX-License-Identifier: 0BSD
 */
#define _GNU_SOURCE

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "mst_posix.h"
#include "support.h"

#define KEY 0x01ABCDEFu
#define UNTIL INT64_C(1767326645)
#define TOKEN "abc.DEF-123_~+/=="

static char directory[] = "/tmp/mst_token_XXXXXX";
static char path[64], aside[80];
static struct mst_posix posix;
static struct mst_port port;

static int begin(void **state)
{
    (void)state;
    if (mkdtemp(directory) == NULL) {
        return -1;
    }
    snprintf(path, sizeof path, "%s/token", directory);
    snprintf(aside, sizeof aside, "%s.new", path);
    return mst_posix_init(&posix, &port) != 0 ||
           mst_posix_token_file(&posix, &port, path) != 0;
}

static int end(void **state)
{
    (void)state;
    (void)unlink(path);
    (void)unlink(aside);
    mst_posix_free(&posix);
    return rmdir(directory);
}

static void save(const char *token)
{
    port.token_save(port.context, KEY, token, strlen(token), UNTIL);
}

/* Loads with this key: the token, or "". */
static const char *load(uint32_t key)
{
    static char token[MST_TOKEN_MAX + 1];
    int64_t until_s = 0;
    int len =
        port.token_load(port.context, key, token, MST_TOKEN_MAX, &until_s);

    assert_in_range(len, 0, MST_TOKEN_MAX);
    if (len > 0) {
        assert_int_equal(until_s, UNTIL);
    }
    token[len] = '\0';
    return token;
}

static void write_file(const char *name, const char *text, size_t len)
{
    FILE *file = fopen(name, "wb");

    assert_non_null(file);
    assert_int_equal(fwrite(text, 1, len, file), len);
    assert_int_equal(fclose(file), 0);
}

static void what_was_saved_is_loaded(void **state)
{
    char longest[MST_TOKEN_MAX + 1];

    (void)state;
    assert_string_equal(load(KEY), "");
    save(TOKEN);
    assert_string_equal(load(KEY), TOKEN);
    save("another");
    assert_string_equal(load(KEY), "another");
    memset(longest, 'x', sizeof longest - 1);
    longest[sizeof longest - 1] = '\0';
    save(longest);
    assert_string_equal(load(KEY), longest);
    port.token_save(port.context, KEY, NULL, 0, 0);
    assert_string_equal(load(KEY), "");
    assert_int_not_equal(access(path, F_OK), 0);
    port.token_save(port.context, KEY, NULL, 0, 0);
}

static void another_key_finds_nothing(void **state)
{
    (void)state;
    save(TOKEN);
    assert_string_equal(load(KEY + 1), "");
    assert_string_equal(load(0), "");
    assert_string_equal(load(KEY), TOKEN);
}

static void only_the_owner_can_read_it(void **state)
{
    struct stat status;
    mode_t mask = umask(0);

    (void)state;
    save(TOKEN);
    umask(mask);
    assert_int_equal(stat(path, &status), 0);
    assert_int_equal(status.st_mode & 0777, 0600);
}

/* Whatever is in the file that was not written for this key is none. */
static void a_damaged_file_counts_for_nothing(void **state)
{
    char good[256] = "", bad[256] = "";
    FILE *file;
    size_t len;

    (void)state;
    save(TOKEN);
    file = fopen(path, "rb");
    assert_non_null(file);
    len = fread(good, 1, sizeof good, file);
    (void)fclose(file);
    for (size_t i = 0; i < len; i++) {
        write_file(path, good, i);
        assert_string_equal(load(KEY), "");
    }
    for (size_t i = 0; good[i] != '\n'; i++) {
        int64_t until_s;
        char token[MST_TOKEN_MAX];
        memcpy(bad, good, len);
        bad[i] ^= 0x40;
        write_file(path, bad, len);
        assert_int_equal(
            port.token_load(port.context, KEY, token, sizeof token, &until_s),
            0);
    }
    write_file(path, "mini_stream-token 1\n\n", 21);
    assert_string_equal(load(KEY), "");
    write_file(path, "\n\n\n", 3);
    assert_string_equal(load(KEY), "");
}

static void a_huge_file_and_a_small_buffer_are_refused(void **state)
{
    static char huge[2 * MST_TOKEN_MAX];
    char small[4];
    int64_t until_s;

    (void)state;
    save(TOKEN);
    assert_int_equal(
        port.token_load(port.context, KEY, small, sizeof small, &until_s), 0);
    memset(huge, 'x', sizeof huge);
    write_file(path, huge, sizeof huge);
    assert_string_equal(load(KEY), "");
}

static void what_a_killed_program_left_is_no_obstacle(void **state)
{
    (void)state;
    write_file(aside, "half", 4);
    save(TOKEN);
    assert_string_equal(load(KEY), TOKEN);
    assert_int_not_equal(access(aside, F_OK), 0);
}

/* Neither reads nor overwrites what a link leads to. */
static void a_symbolic_link_is_not_followed(void **state)
{
    char other[80], text[16] = "";
    FILE *file;

    (void)state;
    snprintf(other, sizeof other, "%s/other", directory);
    save(TOKEN);
    assert_int_equal(rename(path, other), 0);
    assert_int_equal(symlink(other, path), 0);
    assert_string_equal(load(KEY), "");
    write_file(other, "mine", 4);
    save(TOKEN);
    assert_string_equal(load(KEY), TOKEN);
    file = fopen(other, "rb");
    assert_non_null(file);
    assert_int_equal(fread(text, 1, sizeof text, file), 4);
    (void)fclose(file);
    assert_int_equal(unlink(other), 0);
}

/* Nobody writes to it: it is not waited for. */
static void a_fifo_counts_for_nothing(void **state)
{
    (void)state;
    (void)unlink(path);
    assert_int_equal(mkfifo(path, 0600), 0);
    assert_string_equal(load(KEY), "");
    save(TOKEN);
    assert_string_equal(load(KEY), TOKEN);
}

static void a_place_that_cannot_be_written_is_no_error(void **state)
{
    (void)state;
    assert_int_equal(mst_posix_token_file(&posix, &port, "/proc/no/token"), 0);
    save(TOKEN);
    assert_string_equal(load(KEY), "");
    assert_int_equal(mst_posix_token_file(&posix, &port, path), 0);
}

static void wrong_arguments_are_refused(void **state)
{
    (void)state;
    assert_int_equal(mst_posix_token_file(NULL, &port, path), MST_ERR_ARGUMENT);
    assert_int_equal(mst_posix_token_file(&posix, NULL, path),
                     MST_ERR_ARGUMENT);
    assert_int_equal(mst_posix_token_file(&posix, &port, NULL),
                     MST_ERR_ARGUMENT);
    assert_int_equal(mst_posix_token_file(&posix, &port, ""), MST_ERR_ARGUMENT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(what_was_saved_is_loaded),
        TEST(another_key_finds_nothing),
        TEST(only_the_owner_can_read_it),
        TEST(a_damaged_file_counts_for_nothing),
        TEST(a_huge_file_and_a_small_buffer_are_refused),
        TEST(what_a_killed_program_left_is_no_obstacle),
        TEST(a_symbolic_link_is_not_followed),
        TEST(a_fifo_counts_for_nothing),
        TEST(a_place_that_cannot_be_written_is_no_error),
        TEST(wrong_arguments_are_refused),
    };

    return cmocka_run_group_tests_name("posix: token file", tests, begin, end);
}
