/*
 * Port for POSIX systems: the access token kept in a file, so that a program
 * that is started again and again does not use up the quota of tokens.
 *
 * SPDX-License-Identifier: 0BSD
 */
#define _POSIX_C_SOURCE 200809L

#include "mst_posix.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The first line: what the file is, the token's key, its end in Unix
 * seconds. The second is the token. */
#define TOKEN_FORMAT "mini_stream-token 1 %08" PRIx32 " %" PRId64 "\n"
#define TOKEN_LINE_MAX 64

/* Overwrites it, although nothing reads it again. */
static void token_wipe(void *data, size_t len)
{
    volatile char *p = data;

    while (len > 0) {
        p[--len] = 0;
    }
}

/* Whatever is at that path: a FIFO without a writer is not waited for. */
static int token_read(const char *path, char *text, size_t cap)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    size_t len = 0;
    ssize_t n = -1;

    if (fd < 0) {
        return -1;
    }
    do {
        n = read(fd, text + len, cap - len);
        len += n > 0 ? (size_t)n : 0;
    } while ((n > 0 && len < cap) || (n < 0 && errno == EINTR));
    (void)close(fd);
    return n < 0 || len == cap ? -1 : (int)len;
}

/* Takes the token out of a file's text: its length, or 0 if what is there is
 * not what would have been written for it. */
static int token_parse(const char *text, uint32_t key, char *token, size_t cap,
                       int64_t *until_s)
{
    const char *end = strchr(text, '\n');
    char line[TOKEN_LINE_MAX];
    size_t line_len, token_len;

    if (end == NULL || strncmp(text, "mini_stream-token 1 ", 20) != 0) {
        return 0;
    }
    *until_s = strtoll(text + 29 < end ? text + 29 : end, NULL, 10);
    line_len = (size_t)snprintf(line, sizeof line, TOKEN_FORMAT, key, *until_s);
    if (line_len != (size_t)(end + 1 - text) ||
        memcmp(line, text, line_len) != 0) {
        return 0;
    }
    token_len = strcspn(end + 1, "\n");
    if (token_len > cap || end[1 + token_len] != '\n') {
        return 0;
    }
    memcpy(token, end + 1, token_len);
    return (int)token_len;
}

static int port_token_load(void *context, uint32_t key, char *token, size_t cap,
                           int64_t *until_s)
{
    const struct mst_posix *posix = context;
    char text[TOKEN_LINE_MAX + MST_TOKEN_MAX + 2];
    int len = token_read(posix->token_path, text, sizeof text - 1);

    if (len > 0) {
        text[len] = '\0';
        len = token_parse(text, key, token, cap, until_s);
    }
    token_wipe(text, sizeof text);
    return len > 0 ? len : 0;
}

static bool token_write(int fd, const char *text, size_t len)
{
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

/* Written aside and renamed: whoever reads finds the old one or the new. */
static void port_token_save(void *context, uint32_t key, const char *token,
                            size_t len, int64_t until_s)
{
    const struct mst_posix *posix = context;
    char aside[PATH_MAX], line[TOKEN_LINE_MAX];
    int n, fd;
    bool written;

    if (len == 0) {
        (void)unlink(posix->token_path);
        return;
    }
    n = snprintf(aside, sizeof aside, "%s.new", posix->token_path);
    if (n < 0 || (size_t)n >= sizeof aside) {
        return;
    }
    (void)unlink(aside); /* of a program that was killed */
    fd = open(aside, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0) {
        return;
    }
    n = snprintf(line, sizeof line, TOKEN_FORMAT, key, until_s);
    written = token_write(fd, line, (size_t)n) && token_write(fd, token, len) &&
              token_write(fd, "\n", 1);
    written &= close(fd) == 0;
    if (!written || rename(aside, posix->token_path) != 0) {
        (void)unlink(aside);
    }
}

int mst_posix_token_file(struct mst_posix *posix, struct mst_port *port,
                         const char *path)
{
    if (posix == NULL || port == NULL || path == NULL || path[0] == '\0') {
        return MST_ERR_ARGUMENT;
    }
    posix->token_path = path;
    port->token_load = port_token_load;
    port->token_save = port_token_save;
    return 0;
}
