/*
 * Tests of the POSIX port's loader of trust stores: what it accepts, what it
 * refuses with which error, and that no file makes it crash or leak.
 *
 * The openssl command makes the certificates in a temporary directory. open()
 * is replaced here, to open a file of the test in place of the system's store.
 *
 * SPDX-License-Identifier: 0BSD
 */
#define _GNU_SOURCE

#include "support.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "real.h"

#define PEM(base64) \
    "-----BEGIN CERTIFICATE-----\n" base64 "-----END CERTIFICATE-----\n"

static struct mst_posix_anchors anchors;
static char directory[] = "/tmp/mst-anchors-XXXXXX";

/* The file opened in place of the system's stores; NULL for the system's own,
 * "" for a system without a store. */
static const char *system_store;

int open(const char *file, int oflag, ...) {
    REAL_OF(open);

    if (system_store != NULL &&
        (strstr(file, "/ca-") != NULL || strstr(file, "/cert.pem") != NULL)) {
        if (*system_store == '\0') {
            errno = ENOENT;
            return -1;
        }
        file = system_store;
    }
    return real(file, oflag, 0600);
}

/* ---- Helpers ---- */

/* The path of a file in the test's directory. Valid until the next call. */
static const char *file_name(const char *name) {
    static char path[128];

    snprintf(path, sizeof path, "%s/%s", directory, name);
    return path;
}

static size_t file_read(const char *name, char *data, size_t len) {
    FILE *file = fopen(file_name(name), "rb");
    size_t got;

    assert_non_null(file);
    got = fread(data, 1, len, file);
    assert_true(got < len);
    fclose(file);
    return got;
}

static void file_write(const char *name, const char *data, size_t len) {
    FILE *file = fopen(file_name(name), "wb");

    assert_non_null(file);
    assert_int_equal(fwrite(data, 1, len, file), len);
    assert_int_equal(fclose(file), 0);
}

/* Loads a file of the test's directory. */
static int load(const char *name) {
    mst_posix_anchors_free(&anchors);
    return mst_posix_anchors_load(&anchors, file_name(name));
}

/* Loads a file with this content. It is in memory because there are many. */
static int load_text(const char *data, size_t len) {
    static char path[64];
    int fd = memfd_create("text.pem", 0);
    int rc;

    assert_true(fd >= 0);
    assert_int_equal(write(fd, data, len), len);
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    mst_posix_anchors_free(&anchors);
    rc = mst_posix_anchors_load(&anchors, path);
    close(fd);
    return rc;
}

/* The next descriptor to be opened. It stays equal if none leaks. */
static int next_descriptor(void) {
    int fd = dup(0);

    close(fd);
    return fd;
}

/* BearSSL's result for the leaf with the loaded anchors. */
static unsigned judge_leaf(void) {
    static char leaf[4096];
    size_t len = file_read("leaf.der", leaf, sizeof leaf);
    time_t now = time(NULL);
    br_x509_minimal_context context;
    const br_x509_class **class = &context.vtable;

    br_x509_minimal_init_full(&context, anchors.anchors, anchors.len);
    br_x509_minimal_set_time(&context, (uint32_t)(now / 86400 + 719528),
                             (uint32_t)(now % 86400));
    (*class)->start_chain(class, "localhost");
    (*class)->start_cert(class, (uint32_t)len);
    (*class)->append(class, (const unsigned char *)leaf, len);
    (*class)->end_cert(class);
    return (*class)->end_chain(class);
}

/* An EC authority with a leaf, an RSA and an Ed25519 authority, a certificate
 * without the CA flag, and the EC authority in X.509 version 1. */
static const char make_certificates[] =
    "ca() { name=$1; shift; openssl req -x509 -nodes -days 30 "
    "-subj \"/O=mini_stream/CN=Test $name\" -keyout $name.key "
    "-out $name.pem \"$@\"; }\n"
    "set -e\n"
    "ca ec -newkey ec -pkeyopt ec_paramgen_curve:P-256\n"
    "ca rsa -newkey rsa:2048\n"
    "ca ed -newkey ed25519\n"
    "ca own -newkey ec -pkeyopt ec_paramgen_curve:P-384 "
    "-addext basicConstraints=critical,CA:FALSE\n"
    "echo subjectAltName=DNS:localhost >leaf.ext\n"
    "openssl req -new -nodes -newkey ec -pkeyopt ec_paramgen_curve:P-256 "
    "-subj /CN=localhost -keyout leaf.key -out leaf.csr\n"
    "openssl x509 -req -in leaf.csr -CA ec.pem -CAkey ec.key -days 30 "
    "-extfile leaf.ext -CAcreateserial -outform DER -out leaf.der\n"
    "openssl req -new -key ec.key -subj '/O=mini_stream/CN=Test ec' | "
    "openssl x509 -req -signkey ec.key -days 30 -out v1.pem\n"
    "cat rsa.pem ec.key ed.pem ec.pem own.pem >bundle.pem\n";

static int make_directory(void **state) {
    char command[256];

    (void)state;
    if (mkdtemp(directory) == NULL) {
        return -1;
    }
    file_write("make.sh", make_certificates, sizeof make_certificates - 1);
    snprintf(command, sizeof command, "cd %s && sh make.sh >log 2>&1",
             directory);
    return system(command);
}

static int remove_directory(void **state) {
    char command[256];

    (void)state;
    snprintf(command, sizeof command, "rm -r %s", directory);
    return system(command);
}

static int set_up(void **state) {
    (void)state;
    system_store = NULL;
    unsetenv("SSL_CERT_FILE");
    memset(&anchors, 0, sizeof anchors);
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    mst_posix_anchors_free(&anchors);
    return 0;
}

static void assert_error(int rc, int error) {
    assert_int_equal(rc, error);
    assert_null(anchors.anchors);
    assert_int_equal(anchors.len, 0);
}

/* ---- Good files ---- */

TEST_CASE(anchor_verifies_its_leaf) {
    int descriptor = next_descriptor();

    assert_int_equal(load("ec.pem"), 0);
    assert_int_equal(anchors.len, 1);
    assert_int_equal(anchors.skipped, 0);
    assert_string_equal(anchors.path, file_name("ec.pem"));
    assert_int_equal(anchors.anchors[0].flags, BR_X509_TA_CA);
    assert_int_equal(judge_leaf(), 0);
    assert_int_equal(load("rsa.pem"), 0);
    assert_int_equal(judge_leaf(), BR_ERR_X509_NOT_TRUSTED);
    assert_int_equal(load("ed.pem"), MST_POSIX_ERR_UNUSABLE);
    assert_int_equal(next_descriptor(), descriptor);
}

TEST_CASE(bundle_gives_all_that_can_be_used) {
    const br_x509_trust_anchor *at;

    assert_int_equal(load("bundle.pem"), 0);
    assert_int_equal(anchors.len, 3);
    assert_int_equal(anchors.skipped, 1);
    at = anchors.anchors;
    assert_int_equal(at[0].pkey.key_type, BR_KEYTYPE_RSA);
    assert_int_equal(at[0].pkey.key.rsa.nlen, 256);
    assert_memory_equal(at[0].pkey.key.rsa.e, "\x01\x00\x01", 3);
    assert_int_equal(at[0].flags, BR_X509_TA_CA);
    assert_int_equal(at[1].pkey.key_type, BR_KEYTYPE_EC);
    assert_int_equal(at[1].pkey.key.ec.curve, BR_EC_secp256r1);
    /* Only for direct trust. */
    assert_int_equal(at[2].pkey.key.ec.curve, BR_EC_secp384r1);
    assert_int_equal(at[2].flags, 0);
    assert_int_equal(anchors.leaves, 1);
    assert_int_equal(judge_leaf(), 0);
}

/* Version 1 has no CA flag: it cannot issue, which the loader reports. */
TEST_CASE(a_root_of_version_1_issues_nothing) {
    assert_int_equal(load("v1.pem"), 0);
    assert_int_equal(anchors.len, 1);
    assert_int_equal(anchors.leaves, 1);
    assert_int_equal(judge_leaf(), BR_ERR_X509_NOT_TRUSTED);
    assert_int_equal(load("ec.pem"), 0);
    assert_int_equal(anchors.leaves, 0);
}

/* An editor may write one before the first line. */
TEST_CASE(a_byte_order_mark_is_passed_over) {
    char text[2048] = "\xEF\xBB\xBF";
    size_t len = 3 + file_read("ec.pem", text + 3, sizeof text - 3);

    assert_int_equal(load_text(text, len), 0);
    assert_int_equal(anchors.len, 1);
    assert_int_equal(judge_leaf(), 0);
    text[1] = 'x'; /* no mark, so the first line is not a certificate's */
    assert_error(load_text(text, len), MST_POSIX_ERR_EMPTY);
    assert_error(load_text("\xEF\xBB\xBF", 3), MST_POSIX_ERR_EMPTY);
}

TEST_CASE(many_certificates) {
    char one[2048];
    char *all;
    size_t len = file_read("ec.pem", one, sizeof one);

    all = malloc(len * 300);
    assert_non_null(all);
    for (size_t i = 0; i < 300; i++) {
        memcpy(all + i * len, one, len);
    }
    assert_int_equal(load_text(all, len * 300), 0);
    assert_int_equal(anchors.len, 300);
    assert_int_equal(judge_leaf(), 0);
    free(all);
}

TEST_CASE(text_and_line_ends_do_not_matter) {
    char one[2048], text[8192];
    size_t len = file_read("ec.pem", one, sizeof one);
    size_t n = (size_t)snprintf(text, sizeof text, "Subject: CN=x\r\n\r\n");

    for (size_t i = 0; i < len; i++) {
        if (one[i] == '\n') {
            text[n++] = '\r';
        }
        text[n++] = one[i];
    }
    assert_int_equal(load_text(text, n), 0);
    assert_int_equal(judge_leaf(), 0);
    /* Without the end of the last line. */
    assert_int_equal(load_text(one, len - 1), 0);
    assert_int_equal(judge_leaf(), 0);
}

/* ---- Bad files ---- */

TEST_CASE(missing_file) {
    assert_error(load("none.pem"), MST_POSIX_ERR_FILE);
    assert_int_equal(anchors.detail, ENOENT);
    assert_error(load("."), MST_POSIX_ERR_FILE);
    assert_int_equal(anchors.detail, EISDIR);
}

TEST_CASE(nothing_in_it) {
    static const char garbage[] = "\0\xFF-----BEGIN\n-----END X-----\n\x80";

    assert_error(load_text("", 0), MST_POSIX_ERR_EMPTY);
    assert_error(load_text(garbage, sizeof garbage), MST_POSIX_ERR_EMPTY);
    assert_error(load("ec.key"), MST_POSIX_ERR_EMPTY);
    assert_error(load("leaf.der"), MST_POSIX_ERR_EMPTY);
}

TEST_CASE(not_pem) {
    assert_error(load_text(BYTES(PEM("MIIB*not base64*\n"))),
                 MST_POSIX_ERR_PEM);
}

TEST_CASE(not_a_certificate) {
    assert_error(load_text(BYTES(PEM("AAAAAAAA\n"))),
                 MST_POSIX_ERR_CERTIFICATE);
    assert_int_not_equal(anchors.detail, 0);
    assert_error(load_text(BYTES(PEM(""))), MST_POSIX_ERR_CERTIFICATE);
    assert_int_equal(anchors.detail, BR_ERR_X509_TRUNCATED);
}

TEST_CASE(unknown_kind_of_key) {
    assert_error(load("ed.pem"), MST_POSIX_ERR_UNUSABLE);
    assert_int_equal(anchors.skipped, 1);
    assert_int_equal(anchors.detail, BR_ERR_X509_UNSUPPORTED);
}

/* The whole certificates of a truncated file are loaded. */
TEST_CASE(truncated_everywhere) {
    static const char begin[] = "-----BEGIN CERTIFICATE";
    static const char end[] = "-----END ";
    char text[4096];
    size_t len = file_read("ec.pem", text, sizeof text);
    size_t whole = 0;
    bool inside = false;

    len += file_read("own.pem", text + len, sizeof text - len);
    for (size_t cut = 0; cut <= len; cut++) {
        int rc = load_text(text, cut);

        if (cut >= sizeof begin - 1 && memcmp(text + cut - (sizeof begin - 1),
                                              begin, sizeof begin - 1) == 0) {
            inside = true;
        }
        if (cut >= sizeof end - 1 &&
            memcmp(text + cut - (sizeof end - 1), end, sizeof end - 1) == 0) {
            inside = false;
            whole++;
        }
        assert_int_equal(anchors.skipped, inside);
        if (whole == 0) {
            assert_error(rc, inside ? MST_POSIX_ERR_PEM : MST_POSIX_ERR_EMPTY);
        } else {
            assert_int_equal(rc, 0);
            assert_int_equal(anchors.len, whole);
        }
    }
    assert_int_equal(whole, 2);
}

/* A changed byte gives anchors or a named error. */
TEST_CASE(damaged_everywhere) {
    static const char bytes[] = {'\0', '\n', '-', 'A', '=', '\x80'};
    char text[2048];
    size_t len = file_read("rsa.pem", text, sizeof text);
    size_t refused = 0;

    for (size_t i = 0; i < len; i++) {
        char before = text[i];

        for (size_t k = 0; k < sizeof bytes; k++) {
            int rc;

            text[i] = bytes[k];
            rc = load_text(text, len);
            if (rc == 0) {
                assert_int_equal(anchors.len, 1);
            } else {
                assert_true(rc <= MST_POSIX_ERR_EMPTY &&
                            rc >= MST_POSIX_ERR_UNUSABLE);
                assert_null(anchors.anchors);
                refused++;
            }
        }
        text[i] = before;
    }
    assert_true(refused > len);
}

/* ---- The system's store ---- */

TEST_CASE(variable_names_the_store) {
    system_store = "";
    setenv("SSL_CERT_FILE", file_name("ec.pem"), 1);
    assert_int_equal(mst_posix_anchors_load(&anchors, NULL), 0);
    assert_int_equal(anchors.len, 1);
    assert_string_equal(anchors.path, file_name("ec.pem"));
    mst_posix_anchors_free(&anchors);
    /* The variable decides what to trust: there is no fallback. */
    system_store = NULL;
    setenv("SSL_CERT_FILE", file_name("none.pem"), 1);
    assert_error(mst_posix_anchors_load(&anchors, NULL), MST_POSIX_ERR_FILE);
    assert_int_equal(anchors.detail, ENOENT);
    /* An explicit file precedes it. An empty variable does not count. */
    assert_int_equal(load("rsa.pem"), 0);
    mst_posix_anchors_free(&anchors);
    setenv("SSL_CERT_FILE", "", 1);
    system_store = "";
    assert_error(mst_posix_anchors_load(&anchors, NULL), MST_POSIX_ERR_STORE);
}

TEST_CASE(system_without_a_store) {
    system_store = "";
    assert_error(mst_posix_anchors_load(&anchors, NULL), MST_POSIX_ERR_STORE);
}

TEST_CASE(damage_leaves_the_others) {
    static const char bad[] = PEM("AAAAAAAA\n") PEM("*\n");
    static const char cut[] = "-----BEGIN CERTIFICATE-----\nAAAA";
    char text[8192];
    char name[128];
    size_t len = sizeof bad - 1;

    memcpy(text, bad, len);
    len += file_read("bundle.pem", text + len, sizeof text - len);
    memcpy(text + len, cut, sizeof cut);
    len += sizeof cut - 1;
    file_write("system.pem", text, len);
    snprintf(name, sizeof name, "%s", file_name("system.pem"));
    system_store = name;
    assert_int_equal(mst_posix_anchors_load(&anchors, NULL), 0);
    assert_int_equal(anchors.len, 3);
    assert_int_equal(anchors.skipped, 4);
    assert_int_equal(judge_leaf(), 0);
    mst_posix_anchors_free(&anchors);
    assert_int_equal(load("system.pem"), 0);
    assert_int_equal(anchors.len, 3);
    assert_int_equal(anchors.skipped, 4);
}

/* The first certificate is cut, or has a damaged byte, at each place. */
TEST_CASE(damage_anywhere_leaves_the_next_one) {
    static const char ways[] = {'\0', '\n', '!', '-'};
    char one[2048], text[4096];
    size_t len = file_read("own.pem", one, sizeof one);

    for (size_t i = sizeof "-----BEGIN "; i < len; i++) {
        /* All ways in the lines around, every other one within. */
        size_t step = i < 40 || i + 40 > len ? 1 : 2;

        for (size_t way = i % step; way < sizeof ways; way += step) {
            size_t n = way < 2 ? i : len;

            memcpy(text, one, n);
            text[i] = ways[way];
            n += way == 1; /* the end of the line */
            n += file_read("ec.pem", text + n, sizeof text - n);
            assert_int_equal(load_text(text, n), 0);
            assert_in_range(anchors.len, 1, 2);
            assert_in_range(anchors.len + anchors.skipped, 1, 2);
            assert_int_equal(judge_leaf(), 0);
        }
    }
    /* A certificate that is commented out is not loaded. */
    text[0] = '#';
    len = 1 + file_read("ec.pem", text + 1, sizeof text - 1);
    len += file_read("rsa.pem", text + len, sizeof text - len);
    text[len++] = '#';
    len += file_read("ec.pem", text + len, sizeof text - len);
    assert_int_equal(load_text(text, len), 0);
    assert_int_equal(anchors.len, 1);
    assert_int_equal(judge_leaf(), BR_ERR_X509_NOT_TRUSTED);
}

/* An endless file is given up, and a FIFO does not wait for a writer. */
TEST_CASE(endless_files_are_refused) {
    assert_int_equal(mst_posix_anchors_load(&anchors, "/dev/zero"),
                     MST_POSIX_ERR_FILE);
    assert_int_equal(anchors.detail, EFBIG);
    assert_int_equal(mkfifo(file_name("fifo"), 0600), 0);
    assert_error(load("fifo"), MST_POSIX_ERR_EMPTY);
}

/* A pipe works like a file. */
TEST_CASE(a_pipe_is_read_to_its_end) {
    char text[2048], path[64];
    size_t len = file_read("ec.pem", text, sizeof text);
    int ends[2];

    assert_int_equal(pipe(ends), 0);
    assert_int_equal(write(ends[1], text, len), len);
    assert_int_equal(close(ends[1]), 0);
    snprintf(path, sizeof path, "/dev/fd/%d", ends[0]);
    assert_int_equal(mst_posix_anchors_load(&anchors, path), 0);
    assert_int_equal(close(ends[0]), 0);
    assert_int_equal(judge_leaf(), 0);
}

/* ---- Errors ---- */

TEST_CASE(errors_have_texts) {
    for (int error = MST_POSIX_ERR_TOKEN_FOREIGN; error < MST_POSIX_ERR_FILE;
         error++) {
        assert_string_not_equal(mst_posix_strerror(error),
                                mst_posix_strerror(error + 1));
        assert_string_not_equal(mst_posix_strerror(error),
                                mst_posix_strerror(1));
    }
    assert_string_equal(mst_posix_strerror(1), "unknown error");
}

RUN_WITH(set_up, tear_down, make_directory, remove_directory)
