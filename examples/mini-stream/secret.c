/*
 * The client secret: see settings.h.
 *
 * SPDX-License-Identifier: 0BSD
 */
#include "settings.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "line.h"

/* Strips the secret to one line. Returns an error or NULL. */
static const char *secret_strip(struct secret *secret, const char *origin) {
    line_report("the secret", origin, line_strip(secret->text));
    if (secret->text[0] == '\0') {
        return "empty";
    }
    return line_is_one(secret->text) ? NULL : "not one line of text";
}

int secret_from_env(struct secret *secret, const char *name, char *error,
                    size_t error_len) {
    char *value = getenv(name);
    size_t len = value ? strlen(value) : 0;
    const char *problem;

    if (len == 0) {
        return 0;
    }
    if (len > SECRET_MAX) {
        snprintf(error, error_len, "%s: longer than %d bytes", name,
                 SECRET_MAX);
        return -1;
    }
    memcpy(secret->text, value, len + 1);
    explicit_bzero(value, len);
    unsetenv(name);
    problem = secret_strip(secret, name);
    if (problem) {
        snprintf(error, error_len, "%s: %s", name, problem);
        secret_wipe(secret);
        return -1;
    }
    return 1;
}

/* True if root has given this user access to its own file with an access list,
 * as systemd does for a service's credentials. The mode's group bits then show
 * the list's mask, and the group is root's. */
static bool secret_is_given(const struct stat *status) {
    return status->st_uid == 0 && status->st_gid == 0 &&
           (status->st_mode & (S_IWGRP | S_IXGRP)) == 0;
}

/* Returns why the open file must not be used for a secret, or NULL. */
static const char *secret_objection(int fd) {
    struct stat status;

    if (fstat(fd, &status)) {
        return strerror(errno);
    }
    if (!S_ISREG(status.st_mode) && !S_ISFIFO(status.st_mode)) {
        return "not a file";
    }
    if (status.st_uid != geteuid() && !secret_is_given(&status)) {
        return "belongs to another user";
    }
    if (status.st_mode &
        (status.st_uid != geteuid() ? S_IRWXO : S_IRWXG | S_IRWXO)) {
        return "others have access to it: chmod 600 it";
    }
    return NULL;
}

/* Reads the secret without stdio, whose buffer would keep a copy. Returns an
 * error or NULL. */
static const char *secret_read(struct secret *secret, int fd) {
    size_t len = 0;

    for (;;) {
        ssize_t got = read(fd, secret->text + len, sizeof secret->text - len);

        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got < 0) {
            return strerror(errno);
        }
        if (got == 0) {
            break;
        }
        len += (size_t)got;
        if (len == sizeof secret->text) {
            return "longer than a secret may be";
        }
    }
    secret->text[len] = '\0';
    return strlen(secret->text) < len ? "not one line of text" : NULL;
}

bool secret_from_file(struct secret *secret, const char *path, char *error,
                      size_t error_len) {
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    const char *problem = fd < 0 ? strerror(errno) : secret_objection(fd);

    if (!problem && secret) {
        problem = secret_read(secret, fd);
        problem = problem ? problem : secret_strip(secret, path);
    }
    if (problem) {
        snprintf(error, error_len, "secret file %s: %s", path, problem);
    }
    if (problem && secret) {
        secret_wipe(secret);
    }
    if (fd >= 0) {
        close(fd);
    }
    return !problem;
}

void secret_wipe(struct secret *secret) {
    explicit_bzero(secret, sizeof *secret);
}
