/*
 * Port for POSIX systems: access tokens kept in a file, so that a program that
 * is started again and again does not use up the quota of tokens.
 *
 * The file has a first line, a line for each token, and a last line, which a
 * file that was cut off lacks. A file is never changed, but replaced as a
 * whole, and only if it is missing or begins with such a first line.
 *
 * In this order: errors, reading, writing, port.
 *
 * SPDX-License-Identifier: 0BSD
 */
#define _DEFAULT_SOURCE /* flock() */

#include "mst_posix.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define TOKEN_FIRST "mini_stream-tokens 3\n"
/* An older format, whose keys of 32 bits two clients could share. */
#define TOKEN_OLD "mini_stream-tokens 2\n"
/* The begin of all formats. */
#define TOKEN_BEGINS "mini_stream-tokens "
#define TOKEN_BEGINS_LEN (sizeof TOKEN_BEGINS - 1)
#define TOKEN_LAST "end\n"
#define TOKEN_FIRST_LEN (sizeof TOKEN_FIRST - 1)
#define TOKEN_LAST_LEN (sizeof TOKEN_LAST - 1)

/* A line begins with the token's key and its end in Unix seconds. */
#define TOKEN_KEY_LEN ((size_t)2 * MST_TOKEN_KEY_LEN)
#define TOKEN_BEGIN "%.*s %" PRId64 " "
#define TOKEN_BEGIN_MAX (TOKEN_KEY_LEN + 1 + 20 + 1)
#define TOKEN_LINE_MAX (TOKEN_BEGIN_MAX + MST_TOKEN_MAX + 1)
#define TOKEN_FILE_MAX                                                 \
    (TOKEN_FIRST_LEN + (size_t)MST_POSIX_TOKENS_MAX * TOKEN_LINE_MAX + \
     TOKEN_LAST_LEN)

/* How often to try again, after 1 ms each, if the lock is taken. */
#define TOKEN_LOCK_TRIES 10

struct token_line {
    const char *key; /* hexadecimal digits, without an end */
    int64_t until_s;
    const char *text, *token; /* the line with its end, and a part of it */
    size_t len, token_len;
};

struct token_file {
    char text[TOKEN_FILE_MAX + 1]; /* one byte more shows a longer file */
    size_t len, count;
    bool strange; /* the path has something that must not be replaced */
    struct token_line lines[MST_POSIX_TOKENS_MAX]; /* the newest first */
};

/* ------------------------------------------------------------------------
 * Errors
 * ------------------------------------------------------------------------ */

static void token_fail(struct mst_posix *posix, int error, int detail) {
    posix->token_error = error;
    posix->token_detail = detail;
}

/* ------------------------------------------------------------------------
 * Reading
 * ------------------------------------------------------------------------ */

/* Erases the file's text. volatile keeps the compiler from omitting this. */
static void token_wipe(struct token_file *file) {
    volatile char *text = file->text;

    while (file->len > 0) {
        text[--file->len] = 0;
    }
}

/* Returns a descriptor of the file, or -1, with an error unless it is missing.
 * Opens the path first and then checks the descriptor, so nobody can swap the
 * file in between. Does not wait for the writer of a FIFO. */
static int token_open(struct mst_posix *posix) {
    int fd =
        open(posix->token_path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    struct stat status;

    posix->token_error = posix->token_detail = 0;

    if (fd < 0) {
        if (errno != ENOENT) {
            token_fail(posix,
                       errno == ELOOP ? MST_POSIX_ERR_TOKEN_ACCESS
                                      : MST_POSIX_ERR_TOKEN_FILE,
                       errno);
        }
        return -1;
    }
    if (fstat(fd, &status) != 0) {
        token_fail(posix, MST_POSIX_ERR_TOKEN_FILE, errno);
    } else if (!S_ISREG(status.st_mode) || status.st_uid != geteuid() ||
               (status.st_mode & (S_IRWXG | S_IRWXO)) != 0) {
        token_fail(posix, MST_POSIX_ERR_TOKEN_ACCESS, 0);
    } else {
        return fd;
    }
    (void)close(fd);
    return -1;
}

static bool token_read(struct token_file *file, int fd) {
    ssize_t n;

    do {
        n = read(fd, file->text + file->len, sizeof file->text - file->len);
        file->len += n > 0 ? (size_t)n : 0;
    } while ((n > 0 && file->len < sizeof file->text) ||
             (n < 0 && errno == EINTR));
    return n >= 0;
}

static void token_key(const uint8_t key[MST_TOKEN_KEY_LEN],
                      char text[TOKEN_KEY_LEN + 1]) {
    for (size_t i = 0; i < MST_TOKEN_KEY_LEN; i++) {
        (void)snprintf(text + 2 * i, 3, "%02x", key[i]);
    }
}

/* Writes the begin of a line. Returns its length. */
static size_t token_begin(const struct token_line *line,
                          char begin[TOKEN_BEGIN_MAX + 1]) {
    return (size_t)snprintf(begin, TOKEN_BEGIN_MAX + 1, TOKEN_BEGIN,
                            (int)TOKEN_KEY_LEN, line->key, line->until_s);
}

/* Parses a line. Returns the begin of the next one, or NULL if the line differs
 * from what would be written for its key and end. */
static const char *token_parse_line(struct token_line *line, const char *text,
                                    const char *end) {
    const char *stop = memchr(text, '\n', (size_t)(end - text));
    char begin[TOKEN_BEGIN_MAX + 1];
    size_t len;

    if (stop == NULL || strspn(text, "0123456789abcdef") != TOKEN_KEY_LEN) {
        return NULL;
    }
    line->key = text;
    line->until_s = strtoll(text + TOKEN_KEY_LEN, NULL, 10);
    len = token_begin(line, begin);
    if (len >= (size_t)(stop - text) || memcmp(begin, text, len) != 0) {
        return NULL;
    }
    line->text = text;
    line->len = (size_t)(stop + 1 - text);
    line->token = text + len;
    line->token_len = (size_t)(stop - line->token);
    return stop + 1;
}

static bool token_parse(struct token_file *file) {
    const char *at = file->text + TOKEN_FIRST_LEN, *end;

    if (file->len >= TOKEN_FIRST_LEN &&
        memcmp(file->text, TOKEN_OLD, TOKEN_FIRST_LEN) == 0) {
        return true;
    }
    if (file->len > TOKEN_FILE_MAX ||
        file->len < TOKEN_FIRST_LEN + TOKEN_LAST_LEN) {
        return false;
    }
    end = file->text + file->len - TOKEN_LAST_LEN;
    if (memcmp(file->text, TOKEN_FIRST, TOKEN_FIRST_LEN) != 0 ||
        memcmp(end, TOKEN_LAST, TOKEN_LAST_LEN) != 0) {
        return false;
    }
    file->text[file->len] = '\0';
    while (at != NULL && at < end && file->count < MST_POSIX_TOKENS_MAX) {
        at = token_parse_line(&file->lines[file->count], at, end);
        file->count++;
    }
    return at == end;
}

/* True if the text, which may be cut off, begins as a file of tokens. */
static bool token_is_ours(const char *text, size_t len) {
    return memcmp(text, TOKEN_BEGINS,
                  len < TOKEN_BEGINS_LEN ? len : TOKEN_BEGINS_LEN) == 0;
}

/* Reads the file. It has no tokens if it is missing or cannot be used. The
 * caller must call token_wipe(). */
static void token_load(struct mst_posix *posix, struct token_file *file) {
    const int error = posix->token_error, detail = posix->token_detail;
    int fd = token_open(posix);

    file->count = file->len = 0;
    file->strange = fd < 0 && posix->token_error != 0;
    if (fd >= 0 && !token_read(file, fd)) {
        token_fail(posix, MST_POSIX_ERR_TOKEN_FILE, errno);
        file->strange = true;
    } else if (fd >= 0 && !token_is_ours(file->text, file->len)) {
        token_fail(posix, MST_POSIX_ERR_TOKEN_FOREIGN, 0);
        file->strange = true;
    } else if (fd >= 0 && !token_parse(file)) {
        token_fail(posix, MST_POSIX_ERR_TOKEN_DAMAGED, 0);
        file->count = 0;
    }
    if (fd >= 0) {
        (void)close(fd);
    }
    if (posix->token_error == 0) { /* keep the last error */
        token_fail(posix, error, detail);
    }
}

/* ------------------------------------------------------------------------
 * Writing
 * ------------------------------------------------------------------------ */

/* The path of a file in the same folder: the token's with a suffix. */
static bool token_beside(const struct mst_posix *posix, const char *suffix,
                         char path[PATH_MAX]) {
    size_t n =
        (size_t)snprintf(path, PATH_MAX, "%s%s", posix->token_path, suffix);

    if (n >= PATH_MAX) {
        errno = ENAMETOOLONG;
        return false;
    }
    return true;
}

/* Keeps others from saving between reading and writing. Returns a descriptor,
 * or -1. The lock is on a file that is never replaced or removed. It also works
 * between threads, and ends with the process. */
static int token_lock(struct mst_posix *posix) {
    const struct timespec pause = {0, 1000000};
    char path[PATH_MAX];
    int fd = -1;

    if (token_beside(posix, ".lock", path)) {
        fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK,
                  0600);
    }
    if (fd < 0) {
        token_fail(posix, MST_POSIX_ERR_TOKEN_FILE, errno);
        return -1;
    }
    for (int i = 0; flock(fd, LOCK_EX | LOCK_NB) != 0; i++) {
        if (errno != EWOULDBLOCK || i == TOKEN_LOCK_TRIES) {
            token_fail(posix,
                       errno == EWOULDBLOCK ? MST_POSIX_ERR_TOKEN_BUSY
                                            : MST_POSIX_ERR_TOKEN_FILE,
                       errno);
            (void)close(fd);
            return -1;
        }
        (void)nanosleep(&pause, NULL);
    }
    return fd;
}

/* Unlocks explicitly: a forked child may have the descriptor, too. */
static void token_unlock(int fd) {
    (void)flock(fd, LOCK_UN);
    (void)close(fd);
}

/* Drops the line of this key, expired lines and, if there would be no room for
 * another, the oldest. Returns true if there was a line of this key. */
static bool token_drop(struct token_file *file, const char *key) {
    int64_t now_s = time(NULL);
    size_t kept = 0;
    bool found = false;

    for (size_t i = 0; i < file->count; i++) {
        const struct token_line *line = &file->lines[i];

        if (memcmp(line->key, key, TOKEN_KEY_LEN) == 0) {
            found = true;
        } else if (line->until_s > now_s && kept < MST_POSIX_TOKENS_MAX - 1) {
            file->lines[kept++] = *line;
        }
    }
    file->count = kept;
    return found;
}

static bool token_write(int fd, const char *text, size_t len) {
    while (len > 0) {
        ssize_t n = write(fd, text, len);
        if (n < 0 && errno != EINTR) {
            return false;
        }
        text += n > 0 ? n : 0;
        len -= n > 0 ? (size_t)n : 0;
    }
    return true;
}

/* Writes the new token's line, then the others. */
static bool token_write_file(int fd, const struct token_line *line,
                             const struct token_file *file) {
    char begin[TOKEN_BEGIN_MAX + 1];
    size_t len = token_begin(line, begin);
    bool good = token_write(fd, TOKEN_FIRST, TOKEN_FIRST_LEN);

    if (line->token_len > 0) {
        good = good && token_write(fd, begin, len) &&
               token_write(fd, line->token, line->token_len) &&
               token_write(fd, "\n", 1);
    }
    for (size_t i = 0; i < file->count; i++) {
        good = good && token_write(fd, file->lines[i].text, file->lines[i].len);
    }
    return good && token_write(fd, TOKEN_LAST, TOKEN_LAST_LEN);
}

/* Removes a temporary file that a killed program left, and nothing else. */
static bool token_clear(const char *aside) {
    char begin[TOKEN_BEGINS_LEN];
    int fd = open(aside, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    struct stat status;
    ssize_t n = -1;

    if (fd < 0) {
        return errno == ENOENT;
    }
    if (fstat(fd, &status) == 0 && S_ISREG(status.st_mode)) {
        n = read(fd, begin, sizeof begin);
    }
    (void)close(fd);
    if (n < 0 || !token_is_ours(begin, (size_t)n)) {
        errno = EEXIST;
        return false;
    }
    return unlink(aside) == 0;
}

/* Writes a temporary file and renames it, so readers find the old or the new
 * file, and nothing is written into what was at the path. There is no fsync():
 * a power failure may leave a damaged file, which costs a token. */
static bool token_replace(const struct mst_posix *posix,
                          const struct token_line *line,
                          const struct token_file *file) {
    char aside[PATH_MAX];
    int fd, reason;
    bool written;

    if (line->token_len == 0 && file->count == 0) {
        return unlink(posix->token_path) == 0 || errno == ENOENT;
    }
    (void)token_beside(posix, ".new", aside); /* it fits: ".lock" has fitted */
    if (!token_clear(aside)) {
        return false;
    }
    fd = open(aside, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0) {
        return false;
    }
    written = token_write_file(fd, line, file);
    reason = errno;
    if (close(fd) != 0 && written) {
        written = false;
        reason = errno;
    }
    if (written && rename(aside, posix->token_path) == 0) {
        return true;
    }
    reason = written ? errno : reason;
    (void)unlink(aside);
    errno = reason;
    return false;
}

/* ------------------------------------------------------------------------
 * Port
 * ------------------------------------------------------------------------ */

static int port_token_load(void *context, const uint8_t key[MST_TOKEN_KEY_LEN],
                           char *token, size_t cap, int64_t *until_s) {
    struct token_file file;
    char sought[TOKEN_KEY_LEN + 1];
    struct mst_posix *posix = context;
    int len = 0;

    token_key(key, sought);
    token_load(posix, &file);
    for (size_t i = 0; i < file.count && len == 0; i++) {
        const struct token_line *line = &file.lines[i];

        if (memcmp(line->key, sought, TOKEN_KEY_LEN) == 0 &&
            line->token_len <= cap) {
            memcpy(token, line->token, line->token_len);
            *until_s = line->until_s;
            len = (int)line->token_len;
        }
    }
    token_wipe(&file);
    return len;
}

static void port_token_save(void *context, const uint8_t key[MST_TOKEN_KEY_LEN],
                            const char *token, size_t len, int64_t until_s) {
    char text[TOKEN_KEY_LEN + 1];
    const struct token_line line = {
        .key = text, .until_s = until_s, .token = token, .token_len = len};
    struct mst_posix *posix = context;
    struct token_file file;
    int lock;
    bool found;

    token_load(posix, &file); /* no lock for a foreign file */
    token_wipe(&file);
    lock = file.strange ? -1 : token_lock(posix);
    if (lock < 0) {
        return;
    }
    token_key(key, text);
    token_load(posix, &file);
    found = token_drop(&file, text);
    if (!file.strange && (found || len > 0) &&
        !token_replace(posix, &line, &file)) {
        token_fail(posix, MST_POSIX_ERR_TOKEN_FILE, errno);
    }
    token_wipe(&file);
    token_unlock(lock);
}

int mst_posix_token_file(struct mst_posix *posix, struct mst_port *port,
                         const char *path) {
    if (posix == NULL || port == NULL || path == NULL || path[0] == '\0') {
        return MST_ERR_ARGUMENT;
    }
    posix->token_path = path;
    posix->token_error = posix->token_detail = 0;
    port->token_load = port_token_load;
    port->token_save = port_token_save;
    return 0;
}
