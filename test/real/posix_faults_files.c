/*
 * System calls that fail in the POSIX port's readers and writers of files: the
 * file of tokens, and the trust store.
 *
 * SPDX-License-Identifier: 0BSD
 */
#define _GNU_SOURCE

#include <fcntl.h>
#include <limits.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "faults.h"
#include "support.h"

#define open(...) FAULT("open", -1, open(__VA_ARGS__))
#define read(...) FAULT("read", -1, read(__VA_ARGS__))
#define write(...) FAULT("write", -1, write(__VA_ARGS__))
#define close(...) FAULT("close", -1, close(__VA_ARGS__))
#define fstat(...) FAULT("fstat", -1, fstat(__VA_ARGS__))
#define flock(...) FAULT("flock", -1, flock(__VA_ARGS__))
#define unlink(...) FAULT("unlink", -1, unlink(__VA_ARGS__))
#define rename(...) FAULT("rename", -1, rename(__VA_ARGS__))
#define realloc(...) FAULT("realloc", NULL, realloc(__VA_ARGS__))
#undef _DEFAULT_SOURCE         /* the file defines it itself */
#include "mst_posix_anchors.c" /* NOLINT(bugprone-suspicious-include) */
#include "mst_posix_token.c"   /* NOLINT(bugprone-suspicious-include) */

static const uint8_t key[MST_TOKEN_KEY_LEN] = {7};
#define UNTIL INT64_C(4102444800) /* no clock of a test is there yet */

static char directory[] = "/tmp/mst_faults_XXXXXX";
static char path[64], lock[80], aside[80];
static struct mst_posix_link links[1];
static struct mst_posix posix;
static struct mst_port port;

static int set_up(void **state) {
    (void)state;
    fault_none();
    strcpy(directory, "/tmp/mst_faults_XXXXXX");
    if (mkdtemp(directory) == NULL) {
        return -1;
    }
    (void)snprintf(path, sizeof path, "%s/token", directory);
    (void)snprintf(lock, sizeof lock, "%s.lock", path);
    (void)snprintf(aside, sizeof aside, "%s.new", path);
    return mst_posix_init(&posix, links, 1, &port) != 0 ||
           mst_posix_token_file(&posix, &port, path) != 0;
}

static int tear_down(void **state) {
    (void)state;
    fault_none();
    (void)unlink(path);
    (void)unlink(lock);
    (void)unlink(aside);
    mst_posix_free(&posix);
    return rmdir(directory);
}

/* ---- the file of tokens ---- */

static void save(const char *token) {
    posix.token_error = posix.token_detail = 0;
    port.token_save(port.context, key, token, strlen(token), UNTIL);
}

/* Expects this stored token, or none for "". */
static void expect_stored(const char *expected) {
    char token[64] = "";
    int64_t until_s;
    int len =
        port.token_load(port.context, key, token, sizeof token - 1, &until_s);

    assert_int_equal(len, strlen(expected));
    assert_string_equal(token, expected);
}

/* Whichever call fails, nothing is lost and the error is reported. */
TEST_CASE(a_call_that_fails_leaves_the_old_file) {
    static const struct fault cases[] = {
        {"open", 0, 1, EACCES},  {"open", 1, 1, EACCES},
        {"open", 2, 1, EACCES},  {"open", 3, 1, EACCES},
        {"open", 4, 1, EACCES},  {"flock", 0, 1, ENOLCK},
        {"close", 2, 1, EIO},    {"write", 0, 1, ENOSPC},
        {"write", 1, 1, ENOSPC}, {"write", 2, 1, ENOSPC},
        {"write", 3, 1, ENOSPC}, {"write", 4, 1, ENOSPC},
        {"rename", 0, 1, EXDEV},
    };

    save("old");
    assert_int_equal(posix.token_error, 0);
    for (size_t i = 0; i < COUNT(cases); i++) {
        faults[0] = cases[i];
        save("new");
        assert_null(faults[0].call);
        assert_int_equal(posix.token_error, MST_POSIX_ERR_TOKEN_FILE);
        assert_int_equal(posix.token_detail, cases[i].error);
        expect_stored("old");
    }
    save("new");
    assert_int_equal(posix.token_error, 0);
    expect_stored("new");
}

/* The first of two errors is reported. */
TEST_CASE(a_file_that_cannot_be_closed_either) {
    char line[8] = "text";
    const struct token_line token = {
        .key = "", .until_s = UNTIL, .token = line, .token_len = 4};
    static struct token_file file;

    save("older");
    fault_set("write", 1, ENOSPC);
    fault_also("close", 2, EIO);
    save("new");
    assert_int_equal(posix.token_detail, ENOSPC);
    expect_stored("older");
    fault_set("write", 0, EINTR); /* a signal costs nothing */
    save("old");
    assert_int_equal(posix.token_error, 0);
    expect_stored("old");
    assert_int_equal(mkdir(aside, 0700), 0); /* neither opened nor removed */
    assert_false(token_replace(&posix, &token, &file));
    assert_int_equal(errno, EEXIST);
    assert_int_equal(rmdir(aside), 0);
    assert_int_equal(close(open(aside, O_CREAT | O_WRONLY, 0600)), 0);
    fault_set("fstat", 0, EIO);
    assert_false(token_replace(&posix, &token, &file));
    expect_stored("old");
}

TEST_CASE(a_file_that_cannot_be_read_counts_for_nothing) {
    static const struct {
        const char *call;
        int error, told;
    } cases[] = {
        {"open", EACCES, MST_POSIX_ERR_TOKEN_FILE},
        {"open", ELOOP, MST_POSIX_ERR_TOKEN_ACCESS},
        {"fstat", EIO, MST_POSIX_ERR_TOKEN_FILE},
        {"read", EIO, MST_POSIX_ERR_TOKEN_FILE},
    };

    save("token");
    for (size_t i = 0; i < COUNT(cases); i++) {
        fault_set(cases[i].call, 0, cases[i].error);
        expect_stored("");
        assert_int_equal(posix.token_error, cases[i].told);
        assert_int_equal(posix.token_detail, cases[i].error);
    }
    fault_set("read", 0, EINTR);
    expect_stored("token");
}

TEST_CASE(a_file_that_cannot_be_removed_is_told) {
    save("token");
    fault_set("unlink", 0, EBUSY);
    save("");
    assert_int_equal(posix.token_error, MST_POSIX_ERR_TOKEN_FILE);
    assert_int_equal(posix.token_detail, EBUSY);
    fault_set("unlink", 0, ENOENT); /* another program was faster */
    save("");
    assert_int_equal(posix.token_error, 0);
    save("");
    expect_stored("");
}

TEST_CASE(a_path_that_is_too_long_is_told) {
    static char long_path[PATH_MAX + 1];

    memset(long_path, 'x', sizeof long_path - 1);
    long_path[0] = '/';
    assert_int_equal(mst_posix_token_file(&posix, &port, long_path), 0);
    save("token");
    assert_int_equal(posix.token_error, MST_POSIX_ERR_TOKEN_FILE);
    assert_int_equal(posix.token_detail, ENAMETOOLONG);
}

/* ---- the trust store ---- */

TEST_CASE(without_memory_there_are_no_anchors) {
    struct mst_posix_anchors anchors;
    char command[1024];
    int rc = MST_POSIX_ERR_MEMORY;
    unsigned skip = 0;

    (void)snprintf(command, sizeof command,
                   "openssl req -x509 -newkey ec -pkeyopt "
                   "ec_paramgen_curve:P-256 -nodes -keyout %s -out %s -days 9 "
                   "-subj /CN=faults 2>%s && cp %s %s && cat %s >>%s",
                   lock, path, aside, path, aside, aside, path);
    assert_int_equal(system(command), 0);
    for (; rc == MST_POSIX_ERR_MEMORY; skip++) {
        fault_set("realloc", skip, ENOMEM);
        rc = mst_posix_anchors_load(&anchors, path);
        mst_posix_anchors_free(&anchors);
    }
    assert_int_equal(rc, 0);
    assert_int_equal(skip, 4); /* each name with its key, and the list */
    fault_set("read", 0, EIO);
    assert_int_equal(mst_posix_anchors_load(&anchors, path),
                     MST_POSIX_ERR_FILE);
    fault_set("read", 0, EINTR);
    assert_int_equal(mst_posix_anchors_load(&anchors, path), 0);
    mst_posix_anchors_free(&anchors);
}

/* Bytes after its end make a certificate malformed. */
TEST_CASE(bytes_behind_a_certificate_are_no_part_of_it) {
    static br_x509_decoder_context decoder;
    static char der[2048];
    struct mst_posix_anchors anchors;
    char command[1024];
    size_t len;
    FILE *file;

    (void)snprintf(command, sizeof command,
                   "openssl req -x509 -newkey ec -pkeyopt "
                   "ec_paramgen_curve:P-256 -nodes -keyout %s -outform der "
                   "-out %s -days 9 -subj /CN=faults 2>%s && "
                   "head -c 3000 /dev/zero >>%s && "
                   "{ echo -----BEGIN CERTIFICATE-----; base64 %s; "
                   "echo -----END CERTIFICATE-----; } >%s",
                   lock, path, aside, path, path, aside);
    assert_int_equal(system(command), 0);
    file = fopen(path, "rb");
    assert_non_null(file);
    assert_int_equal(fread(der, 1, sizeof der, file), sizeof der);
    assert_int_equal(fclose(file), 0);
    br_x509_decoder_init(&decoder, NULL, NULL);
    len = 4 + 256u * (unsigned char)der[2] + (unsigned char)der[3];
    anchor_decode(&decoder, der, len);
    assert_int_equal(br_x509_decoder_last_error(&decoder), 0);
    anchor_decode(&decoder, der + len, 1); /* after the end */
    assert_int_not_equal(br_x509_decoder_last_error(&decoder), 0);
    assert_int_equal(mst_posix_anchors_load(&anchors, aside),
                     MST_POSIX_ERR_CERTIFICATE);
    mst_posix_anchors_free(&anchors);
}

TEST_CASE(nothing_is_appended_for_nothing) {
    struct anchor_bytes bytes = {0};

    anchor_append(&bytes, "", 0);
    assert_null(bytes.data);
}

TEST_CASE(a_certificate_has_two_names) {
    assert_true(anchor_is_certificate("CERTIFICATE"));
    assert_true(anchor_is_certificate("X509 CERTIFICATE-----"));
    assert_true(anchor_is_certificate("CERTIFICATE-----  "));
    assert_false(anchor_is_certificate("X510 CERTIFICATE"));
    assert_false(anchor_is_certificate("CERTIFICATES"));
}

/* Bytes after the end are an error; a decoder that has failed ignores them. */
TEST_CASE(a_key_that_is_too_large_is_skipped) {
    static struct anchor_loader loader;

    br_x509_decoder_init(&loader.x509, NULL, NULL);
    loader.x509.err = BR_ERR_X509_LIMIT_EXCEEDED;
    anchor_decode(&loader.x509, "\x30\x00", 2);
    assert_int_equal(anchor_end(&loader), 0);
    assert_int_equal(loader.skipped, 1);
    assert_int_equal(loader.detail, BR_ERR_X509_LIMIT_EXCEEDED);
}

RUN_WITH(set_up, tear_down, NULL, NULL)
