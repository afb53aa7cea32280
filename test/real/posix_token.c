/*
 * Tests of the access tokens' file, mst_posix_token_file().
 *
 * SPDX-License-Identifier: 0BSD
 */
#define _GNU_SOURCE

#include "support.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "mst_posix.h"

#define KEY 0x01ABCDEFu
#define UNTIL INT64_C(4102444800) /* the year 2100 */
#define TOKEN "abc.DEF-123_~+/=="
#define FIRST "mini_stream-tokens 3\n"
#define LAST "end\n"

static char directory[] = "/tmp/mst_token_XXXXXX";
static char path[64], aside[80], lock[80], other[80];
static struct mst_posix_link links[1];
static struct mst_posix posix;
static struct mst_port port;
static char longest[MST_TOKEN_MAX + 1]; /* a token of the greatest length */
static uid_t user;                      /* the result of geteuid() */

/* Replaces libc's function: tests another user's file without another user. */
uid_t geteuid(void) {
    return user;
}

static int make_directory(void **state) {
    (void)state;
    memset(longest, 'x', MST_TOKEN_MAX);
    if (mkdtemp(directory) == NULL) {
        return -1;
    }
    snprintf(path, sizeof path, "%s/token", directory);
    snprintf(aside, sizeof aside, "%s.new", path);
    snprintf(lock, sizeof lock, "%s.lock", path);
    snprintf(other, sizeof other, "%s/other", directory);
    return 0;
}

static int remove_directory(void **state) {
    (void)state;
    return rmdir(directory);
}

static int set_up(void **state) {
    (void)state;
    user = getuid();
    return mst_posix_init(&posix, links, 1, &port) != 0 ||
           mst_posix_token_file(&posix, &port, path) != 0;
}

/* Starts with a new port, like a restarted program. */
static void restart(void) {
    void *none = NULL;

    mst_posix_free(&posix);
    assert_int_equal(set_up(&none), 0);
}

/* The key that ends with this number. Valid until the thread's next call. */
static const uint8_t *key_of(uint32_t number) {
    static _Thread_local uint8_t key[MST_TOKEN_KEY_LEN];

    for (unsigned i = 0; i < 4; i++) {
        key[MST_TOKEN_KEY_LEN - 1 - i] = (uint8_t)(number >> 8 * i);
    }
    return key;
}

static void save(uint32_t key, const char *token) {
    port.token_save(port.context, key_of(key), token, strlen(token), UNTIL);
}

static void forget(uint32_t key) {
    port.token_save(port.context, key_of(key), NULL, 0, 0);
}

static int load_into(uint32_t key, char *token, size_t cap, int64_t *until_s) {
    return port.token_load(port.context, key_of(key), token, cap, until_s);
}

/* Loads the token of this key, or "". */
static const char *load(uint32_t key) {
    static char token[MST_TOKEN_MAX + 1];
    int64_t until_s = 0;
    int len = load_into(key, token, MST_TOKEN_MAX, &until_s);

    assert_in_range(len, 0, MST_TOKEN_MAX);
    if (len > 0) {
        assert_int_equal(until_s, UNTIL);
    }
    token[len] = '\0';
    return token;
}

/* Expects this error since the last call. */
static void assert_error(int error, int detail) {
    assert_int_equal(posix.token_error, error);
    assert_int_equal(posix.token_detail, detail);
    posix.token_error = posix.token_detail = 0;
}

/* Expects no error that the test has not checked. */
static int tear_down(void **state) {
    (void)state;
    assert_error(0, 0);
    (void)unlink(path);
    (void)unlink(aside);
    (void)unlink(lock);
    (void)unlink(other);
    mst_posix_free(&posix);
    return 0;
}

static void write_file(const char *name, const char *text, size_t len) {
    int fd = open(name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, len), len);
    assert_int_equal(close(fd), 0);
}

static size_t read_file(const char *name, char *text, size_t cap) {
    FILE *file = fopen(name, "rb");
    size_t len;

    assert_non_null(file);
    len = fread(text, 1, cap, file);
    (void)fclose(file);
    return len;
}

static void assert_mode(const char *name, mode_t mode) {
    struct stat status;

    assert_int_equal(lstat(name, &status), 0);
    assert_int_equal(status.st_mode, S_IFREG | mode);
}

/* ---- Contents ---- */

TEST_CASE(what_was_saved_is_loaded) {
    assert_string_equal(load(KEY), "");
    save(KEY, TOKEN);
    assert_string_equal(load(KEY), TOKEN);
    save(KEY, "another");
    assert_string_equal(load(KEY), "another");
    save(KEY, longest);
    assert_string_equal(load(KEY), longest);
    forget(KEY);
    assert_string_equal(load(KEY), "");
    assert_int_not_equal(access(path, F_OK), 0);
    forget(KEY);
}

TEST_CASE(another_key_finds_nothing) {
    save(KEY, TOKEN);
    assert_string_equal(load(KEY + 1), "");
    assert_string_equal(load(0), "");
    assert_string_equal(load(KEY), TOKEN);
}

TEST_CASE(keys_are_kept_side_by_side) {
    int64_t until_s;
    char token[8];

    save(KEY, "first");
    save(0, "second");
    save(UINT32_MAX, "third");
    restart();
    assert_string_equal(load(KEY), "first");
    assert_string_equal(load(0), "second");
    assert_string_equal(load(UINT32_MAX), "third");

    /* One is replaced, one forgotten, one has another end: the others stay. */
    save(0, "anew");
    forget(UINT32_MAX);
    port.token_save(port.context, key_of(7), BYTES("fourth"), INT64_MAX);
    restart();
    assert_string_equal(load(KEY), "first");
    assert_string_equal(load(0), "anew");
    assert_string_equal(load(UINT32_MAX), "");
    assert_int_equal(load_into(7, token, sizeof token, &until_s), 6);
    assert_true(until_s == INT64_MAX);

    forget(7);
    forget(0);
    forget(1);
    assert_string_equal(load(KEY), "first");
    forget(KEY);
    assert_int_not_equal(access(path, F_OK), 0);
}

/* As many of the longest tokens as fit. Then the one saved first makes room. */
TEST_CASE(the_oldest_makes_room) {
    for (uint32_t i = 0; i < MST_POSIX_TOKENS_MAX; i++) {
        save(i, longest);
    }
    for (uint32_t i = 0; i < MST_POSIX_TOKENS_MAX; i++) {
        assert_string_equal(load(i), longest);
    }
    save(0, "anew"); /* now 1 is the oldest */
    save(KEY, TOKEN);
    assert_string_equal(load(1), "");
    assert_string_equal(load(0), "anew");
    assert_string_equal(load(KEY), TOKEN);
    for (uint32_t i = 2; i < MST_POSIX_TOKENS_MAX; i++) {
        assert_string_equal(load(i), longest);
    }
}

TEST_CASE(the_longest_lines_fit) {
    static char token[MST_TOKEN_MAX];
    int64_t until_s;

    for (uint32_t i = 0; i < MST_POSIX_TOKENS_MAX; i++) {
        int64_t end = i < MST_POSIX_TOKENS_MAX - 1 ? INT64_MAX : INT64_MIN;
        port.token_save(port.context, key_of(i), longest, MST_TOKEN_MAX, end);
    }
    for (uint32_t i = 0; i < MST_POSIX_TOKENS_MAX; i++) {
        assert_int_equal(load_into(i, token, sizeof token, &until_s),
                         MST_TOKEN_MAX);
    }
    assert_true(until_s == INT64_MIN);
}

/* It goes before any valid one, whichever was saved first. */
TEST_CASE(an_expired_one_makes_room) {
    for (uint32_t i = 0; i < MST_POSIX_TOKENS_MAX - 1; i++) {
        save(i, TOKEN);
    }
    port.token_save(port.context, key_of(KEY), BYTES("expired"), 1);
    save(KEY + 1, TOKEN);
    assert_string_equal(load(KEY), "");
    assert_string_equal(load(KEY + 1), TOKEN);
    for (uint32_t i = 0; i < MST_POSIX_TOKENS_MAX - 1; i++) {
        assert_string_equal(load(i), TOKEN);
    }
}

/* ---- Access to the file ---- */

TEST_CASE(only_the_owner_can_read_it) {
    mode_t mask = umask(0);

    save(KEY, TOKEN);
    umask(mask);
    assert_mode(path, 0600);
    assert_mode(lock, 0600);
}

/* The file is neither loaded nor replaced. */
static void assert_refused(int error, int detail) {
    assert_string_equal(load(KEY), "");
    assert_error(error, detail);
    save(KEY, TOKEN);
    assert_error(error, detail);
    forget(KEY);
    assert_error(error, detail);
}

TEST_CASE(a_file_open_to_others_is_left_alone) {
    save(KEY, TOKEN);
    for (mode_t bit = 1; bit <= 040; bit <<= 1) {
        assert_int_equal(chmod(path, 0600 | bit), 0);
        assert_refused(MST_POSIX_ERR_TOKEN_ACCESS, 0);
        assert_mode(path, 0600 | bit);
    }
    assert_int_equal(chmod(path, 0400), 0);
    assert_string_equal(load(KEY), TOKEN);
}

TEST_CASE(a_file_of_another_user_is_left_alone) {
    save(KEY, TOKEN);
    user++;
    assert_refused(MST_POSIX_ERR_TOKEN_ACCESS, 0);
    user--;
    assert_string_equal(load(KEY), TOKEN);
}

/* A file that is there by mistake stays, without a lock next to it. */
TEST_CASE(a_strange_file_is_left_alone) {
    static const struct {
        const char *text;
        size_t len;
    } strange[] = {{BYTES("mine")},
                   {BYTES("\n\n\n")},
                   {BYTES("\0\0\0\0")},
                   {BYTES(LAST)},
                   {BYTES("mini_stream-token 1 01abcdef 4102444800\nabc\n")}};
    char text[64];

    for (size_t i = 0; i < COUNT(strange); i++) {
        write_file(path, strange[i].text, strange[i].len);
        assert_refused(MST_POSIX_ERR_TOKEN_FOREIGN, 0);
        assert_int_equal(read_file(path, text, sizeof text), strange[i].len);
        assert_memory_equal(text, strange[i].text, strange[i].len);
    }
    assert_int_not_equal(access(lock, F_OK), 0);
}

/* The target of a link is neither read nor overwritten. */
TEST_CASE(a_symbolic_link_is_not_followed) {
    char text[80];

    save(KEY, TOKEN);
    assert_int_equal(rename(path, other), 0);
    assert_int_equal(symlink(other, path), 0);
    assert_refused(MST_POSIX_ERR_TOKEN_ACCESS, ELOOP);
    assert_int_equal(readlink(path, text, sizeof text), strlen(other));
    assert_int_equal(unlink(path), 0);
    write_file(other, "mine", 4);
    assert_int_equal(symlink(other, aside), 0);
    save(KEY, TOKEN);
    assert_error(MST_POSIX_ERR_TOKEN_FILE, ELOOP);
    assert_int_equal(read_file(other, text, sizeof text), 4);
    assert_int_equal(unlink(aside), 0);
    save(KEY, TOKEN);

    /* The lock has no contents, but a followed link would create a file. */
    assert_int_equal(unlink(other), 0);
    assert_int_equal(unlink(lock), 0);
    assert_int_equal(symlink(other, lock), 0);
    save(KEY, "another");
    assert_error(MST_POSIX_ERR_TOKEN_FILE, ELOOP);
    assert_int_not_equal(access(other, F_OK), 0);
    assert_string_equal(load(KEY), TOKEN);
}

/* It does not wait for a writer. */
TEST_CASE(a_fifo_counts_for_nothing) {
    struct stat status;

    assert_int_equal(mkfifo(path, 0600), 0);
    assert_refused(MST_POSIX_ERR_TOKEN_ACCESS, 0);
    assert_int_equal(lstat(path, &status), 0);
    assert_true(S_ISFIFO(status.st_mode));
}

TEST_CASE(a_directory_counts_for_nothing) {
    assert_int_equal(mkdir(path, 0700), 0);
    assert_refused(MST_POSIX_ERR_TOKEN_ACCESS, 0);
    assert_int_not_equal(access(aside, F_OK), 0);
    assert_int_equal(rmdir(path), 0);
}

/* ---- Format of the file ---- */

static void assert_damaged(const char *text, size_t len) {
    write_file(path, text, len);
    assert_string_equal(load(KEY), "");
    assert_error(MST_POSIX_ERR_TOKEN_DAMAGED, 0);
}

TEST_CASE(a_file_that_is_cut_off_counts_for_nothing) {
    char text[256];
    size_t len;

    save(KEY + 1, TOKEN);
    save(KEY, TOKEN);
    len = read_file(path, text, sizeof text);
    for (size_t i = 0; i < len; i++) {
        assert_damaged(text, i);
    }
    save(KEY + 1, TOKEN);
    assert_error(MST_POSIX_ERR_TOKEN_DAMAGED, 0);
    assert_string_equal(load(KEY), "");
    assert_string_equal(load(KEY + 1), TOKEN);
}

/* The keys of version 2 were hashes of 32 bits. */
TEST_CASE(tokens_of_an_older_version_are_ignored) {
    char text[256];

    write_file(path,
               BYTES("mini_stream-tokens 2\n01abcdef 4102444800 abc\nend\n"));
    assert_string_equal(load(KEY), "");
    save(KEY, TOKEN);
    assert_string_equal(load(KEY), TOKEN);
    assert_error(0, 0);
    (void)read_file(path, text, sizeof text);
    assert_memory_equal(text, FIRST, sizeof FIRST - 1);
}

/* One damaged line makes the whole file invalid. */
TEST_CASE(a_garbled_file_counts_for_nothing) {
#define ZEROS "000000000000000000000000"
#define GOOD ZEROS "01abcdef 4102444800 abc\n"
    static const struct {
        const char *text;
        size_t len;
    } bad[] = {
        {BYTES("")},
        {BYTES(FIRST)},
        {BYTES("mini_stream-tokens 4\n" GOOD LAST)},
        {BYTES(FIRST GOOD "END\n")},
        {BYTES(FIRST GOOD LAST "\n")},
        {BYTES(FIRST GOOD LAST LAST)},
        {BYTES(FIRST GOOD "end\0\n")},
        {BYTES(FIRST GOOD "\n" LAST)},
        {BYTES(FIRST GOOD "abc" LAST)},
        {BYTES(FIRST GOOD ZEROS "01abcdef 4102444800 \n" LAST)},
        {BYTES(FIRST GOOD ZEROS "01abcdef 4102444800\n" LAST)},
        {BYTES(FIRST GOOD ZEROS "01abcdef\n" LAST)},
        {BYTES(FIRST GOOD ZEROS "01ABCDEF 4102444800 abc\n" LAST)},
        {BYTES(FIRST GOOD ZEROS "1abcdef 4102444800 abc\n" LAST)},
        {BYTES(FIRST GOOD ZEROS "001abcdef 4102444800 abc\n" LAST)},
        {BYTES(FIRST GOOD ZEROS "101abcdef 4102444800 abc\n" LAST)},
        {BYTES(FIRST GOOD ZEROS "-1abcdef 4102444800 abc\n" LAST)},
        {BYTES(FIRST GOOD ZEROS "0x1abcde 4102444800 abc\n" LAST)},
        {BYTES(FIRST GOOD ZEROS "01abcdef  4102444800 abc\n" LAST)},
        {BYTES(FIRST GOOD ZEROS "01abcdef 04102444800 abc\n" LAST)},
        {BYTES(FIRST GOOD ZEROS "01abcdef +4102444800 abc\n" LAST)},
        {BYTES(FIRST GOOD ZEROS "01abcdef 99999999999999999999 abc\n" LAST)},
        {BYTES(FIRST GOOD ZEROS "01abcdef\0"
                                "4102444800 abc\n" LAST)},
        {BYTES(FIRST GOOD ZEROS "01abcdef -\n" LAST)},
        {BYTES(FIRST GOOD GOOD GOOD GOOD GOOD GOOD GOOD GOOD GOOD LAST)},
    };

    write_file(path, BYTES(FIRST GOOD LAST));
    assert_string_equal(load(KEY), "abc");
    assert_error(0, 0);
    for (size_t i = 0; i < COUNT(bad); i++) {
        assert_damaged(bad[i].text, bad[i].len);
        save(KEY, TOKEN);
        assert_error(MST_POSIX_ERR_TOKEN_DAMAGED, 0);
        assert_string_equal(load(KEY), TOKEN);
    }
}

/* Random bytes are changed: no access beyond a buffer, and no token from a
 * file that is reported as damaged. */
TEST_CASE(random_damage_is_survived) {
    char text[512], bad[512], token[MST_TOKEN_MAX];
    unsigned seed = 1;
    int64_t until_s;
    size_t len;

    for (uint32_t i = 0; i < MST_POSIX_TOKENS_MAX; i++) {
        save(KEY + i, TOKEN);
    }
    len = read_file(path, text, sizeof text);
    for (int i = 0; i < 3000; i++) {
        int got;

        memcpy(bad, text, len);
        for (int j = 0; j <= i % 4; j++) {
            seed = seed * 1103515245u + 12345u;
            bad[(seed >> 16) % len] = "\n 0f\0\xFF-~"[(seed >> 8) % 8];
        }
        write_file(path, bad, len);
        got = load_into(KEY + (unsigned)i % 8, token, sizeof token, &until_s);
        assert_true(got == 0 || posix.token_error == 0);
        if (posix.token_error == MST_POSIX_ERR_TOKEN_FOREIGN) {
            assert_int_equal(unlink(path), 0); /* save() leaves it alone */
        }
        port.token_save(port.context, key_of(KEY), BYTES(TOKEN), UNTIL);
        assert_string_equal(load(KEY), TOKEN);
        posix.token_error = 0;
    }
}

TEST_CASE(a_huge_file_and_a_small_buffer_are_refused) {
    static char huge[(MST_POSIX_TOKENS_MAX + 1) * (MST_TOKEN_MAX + 64)];
    char small[sizeof TOKEN - 2];
    int64_t until_s;

    save(KEY, TOKEN);
    assert_int_equal(load_into(KEY, small, sizeof small, &until_s), 0);
    memset(huge, 'x', sizeof huge);
    memcpy(huge, BYTES(FIRST ZEROS "01abcdef 4102444800 "));
    assert_damaged(huge, sizeof huge);
    /* Lengths around the greatest length of a file. */
    for (size_t i = 0; i < 64; i++) {
        size_t len = MST_POSIX_TOKENS_MAX * (MST_TOKEN_MAX + 31) + i;
        memcpy(huge + len - 5, BYTES("\n" LAST));
        write_file(path, huge, len);
        assert_string_equal(load(KEY), "");
        memset(huge + len - 5, 'x', 5);
    }
    posix.token_error = 0;
    assert_damaged(huge, sizeof huge);
    save(KEY, TOKEN);
    assert_error(MST_POSIX_ERR_TOKEN_DAMAGED, 0);
    assert_string_equal(load(KEY), TOKEN);
}

/* ---- Saving ---- */

TEST_CASE(what_a_killed_program_left_is_no_obstacle) {
    char text[16];

    write_file(aside, BYTES("mini_str"));
    write_file(lock, "", 0);
    save(KEY, TOKEN);
    assert_string_equal(load(KEY), TOKEN);
    assert_int_not_equal(access(aside, F_OK), 0);
    write_file(aside, "mine", 4); /* another program's file */
    save(KEY, "another");
    assert_error(MST_POSIX_ERR_TOKEN_FILE, EEXIST);
    assert_int_equal(read_file(aside, text, sizeof text), 4);
}

TEST_CASE(a_disk_that_is_full_leaves_the_old_file) {
    struct rlimit limit, full = {0, 0};
    void (*old)(int) = signal(SIGXFSZ, SIG_IGN);

    save(KEY, TOKEN);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
    for (rlim_t i = 1; i < 180; i += 7) { /* the file has 181 bytes */
        full.rlim_cur = i;
        full.rlim_max = limit.rlim_max;
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &full), 0);
        save(KEY + 1, "another-one-that-is-as-long-as-this-one-must-be..");
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
        assert_error(MST_POSIX_ERR_TOKEN_FILE, EFBIG);
        assert_string_equal(load(KEY), TOKEN);
        assert_string_equal(load(KEY + 1), "");
        assert_int_not_equal(access(aside, F_OK), 0);
    }
    (void)signal(SIGXFSZ, old);
}

TEST_CASE(a_place_that_cannot_be_written_is_no_error) {
    static char long_path[PATH_MAX];

    assert_int_equal(mst_posix_token_file(&posix, &port, "/proc/no/token"), 0);
    assert_string_equal(load(KEY), "");
    assert_error(0, 0);
    save(KEY, TOKEN);
    assert_error(MST_POSIX_ERR_TOKEN_FILE, ENOENT);
    assert_string_equal(load(KEY), "");

    memset(long_path, '/', sizeof long_path - 1);
    memcpy(long_path, directory, strlen(directory));
    long_path[sizeof long_path - 2] = 'x';
    assert_int_equal(mst_posix_token_file(&posix, &port, long_path), 0);
    save(KEY, TOKEN);
    assert_error(MST_POSIX_ERR_TOKEN_FILE, ENAMETOOLONG);
}

/* It gives up and reports it. The stored token stays. */
TEST_CASE(a_lock_that_is_taken_is_not_waited_for) {
    int fd;

    save(KEY, TOKEN);
    fd = open(lock, O_RDONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(flock(fd, LOCK_EX), 0);
    save(KEY, "another");
    assert_error(MST_POSIX_ERR_TOKEN_BUSY, EWOULDBLOCK);
    forget(KEY);
    assert_error(MST_POSIX_ERR_TOKEN_BUSY, EWOULDBLOCK);
    assert_string_equal(load(KEY), TOKEN);
    assert_error(0, 0);
    assert_int_equal(close(fd), 0);
    save(KEY, "another");
    assert_string_equal(load(KEY), "another");
}

/* A separate port: saves under its key again and again, and finds the token
 * each time. Returns NULL on success. */
static void *save_often(void *key) {
    struct mst_posix_link its_links[1];
    struct mst_posix mine;
    struct mst_port its;
    char token[32], got[32];
    int64_t until_s;

    (void)mst_posix_init(&mine, its_links, 1, &its);
    (void)mst_posix_token_file(&mine, &its, path);
    for (int i = 0; i < 100; i++) {
        int len = snprintf(token, sizeof token, "token-%d", i);
        do {
            mine.token_error = 0;
            its.token_save(&mine, key_of(*(uint32_t *)key), token, (size_t)len,
                           UNTIL);
        } while (mine.token_error == MST_POSIX_ERR_TOKEN_BUSY);
        if (mine.token_error != 0 ||
            its.token_load(&mine, key_of(*(uint32_t *)key), got, sizeof got,
                           &until_s) != len ||
            memcmp(got, token, (size_t)len) != 0) {
            return key;
        }
    }
    mst_posix_free(&mine);
    return NULL;
}

/* Two processes of two threads each. */
TEST_CASE(saving_at_once_loses_nothing) {
    pid_t pids[2];

    for (uint32_t i = 0; i < 2; i++) {
        pids[i] = fork();
        assert_true(pids[i] >= 0);
        if (pids[i] == 0) {
            uint32_t keys[2] = {2 * i, 2 * i + 1};
            pthread_t thread;
            void *failed = keys;
            if (pthread_create(&thread, NULL, save_often, &keys[0]) == 0) {
                bool good = save_often(&keys[1]) == NULL;
                (void)pthread_join(thread, &failed);
                _exit(good && failed == NULL ? 0 : 1);
            }
            _exit(1);
        }
    }
    for (int i = 0; i < 2; i++) {
        int status = -1;
        assert_int_equal(waitpid(pids[i], &status, 0), pids[i]);
        assert_int_equal(status, 0);
    }
    for (uint32_t i = 0; i < 4; i++) {
        assert_string_equal(load(i), "token-99");
    }
}

/* ---- Secrets ---- */

#define SECRET "secret-that-must-not-stay-anywhere-on-the-stack"

static _Alignas(4096) char stack[512 * 1024];

static void *load_and_save(void *token) {
    int64_t until_s;

    (void)load_into(KEY, token, MST_TOKEN_MAX, &until_s);
    port.token_save(port.context, key_of(KEY + 1), BYTES(TOKEN), UNTIL);
    return NULL;
}

/* The sanitizer must not check this: it reads frames that have ended. */
__attribute__((no_sanitize("address"))) static bool stack_has(const char *text,
                                                              size_t len) {
    for (size_t i = 0; i + len <= sizeof stack; i++) {
        size_t n = 0;
        while (n < len && stack[i + n] == text[n]) {
            n++;
        }
        if (n == len) {
            return true;
        }
    }
    return false;
}

TEST_CASE(no_token_stays_on_the_stack) {
    static char token[MST_TOKEN_MAX];
    pthread_attr_t attributes;
    pthread_t thread;

    save(KEY, SECRET);
    assert_int_equal(pthread_attr_init(&attributes), 0);
    assert_int_equal(pthread_attr_setstack(&attributes, stack, sizeof stack),
                     0);
    assert_int_equal(pthread_create(&thread, &attributes, load_and_save, token),
                     0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    (void)pthread_attr_destroy(&attributes);
    assert_memory_equal(token, SECRET, sizeof SECRET - 1);
    assert_string_equal(load(KEY), SECRET);
    assert_false(stack_has(BYTES(SECRET)));
}

/* ---- Arguments ---- */

TEST_CASE(wrong_arguments_are_refused) {
    assert_int_equal(mst_posix_token_file(NULL, &port, path), MST_ERR_ARGUMENT);
    assert_int_equal(mst_posix_token_file(&posix, NULL, path),
                     MST_ERR_ARGUMENT);
    assert_int_equal(mst_posix_token_file(&posix, &port, NULL),
                     MST_ERR_ARGUMENT);
    assert_int_equal(mst_posix_token_file(&posix, &port, ""), MST_ERR_ARGUMENT);
}

RUN_WITH(set_up, tear_down, make_directory, remove_directory)
