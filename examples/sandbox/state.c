/* Locks and writes the state folder. SPDX-License-Identifier: 0BSD */
#include "state.h"

#include <errno.h>
#include <fcntl.h>
#include <gio/gio.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *const files[] = {
    "addresses.db-journal", "ca-key.pem", "ca.pem",       "addresses.db-wal",
    "endpoints.json",       "ports.json", "addresses.db", "server-key.pem",
    "server.pem",           "lock"};

/* The lock's content: shows that the other files are the sandbox's, too. */
static const char mark[] = "mini_stream sandbox\n";
#define MARK_LEN (sizeof mark - 1)

G_DEFINE_QUARK(sandbox_state, state_unwritable)

static gboolean refuse(GError **error, const char *path, const char *why) {
    g_set_error(error, G_IO_ERROR, G_IO_ERROR_FAILED, "%s: %s", path, why);
    return FALSE;
}

gboolean state_failed(GError **error, const char *path, const char *why) {
    g_set_error(error, state_unwritable_quark(), 0, "%s: %s", path, why);
    return FALSE;
}

static gboolean check_folder(const char *path, int folder, GError **error) {
    struct stat status;

    if (folder < 0 && (errno == ELOOP || errno == ENOTDIR)) {
        return refuse(error, path, "not a directory, or a symbolic link");
    }
    if (folder < 0 || fstat(folder, &status) != 0) {
        return refuse(error, path, g_strerror(errno));
    }
    if (status.st_uid != geteuid()) {
        return refuse(error, path, "belongs to another user");
    }
    if ((status.st_mode & (S_IRWXG | S_IRWXO)) != 0) {
        return refuse(error, path, "open to other users: chmod 700 closes it");
    }
    return TRUE;
}

/* Reads the lock's mark. Returns its length, less than MARK_LEN if the lock is
 * missing or could not be written; -1 if the lock is another program's. */
static ssize_t read_mark(int folder) {
    char begin[MARK_LEN];
    int fd =
        openat(folder, "lock", O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    ssize_t len = fd >= 0 ? read(fd, begin, sizeof begin) : 0;

    if (fd >= 0) {
        close(fd);
    }
    return len > 0 && memcmp(begin, mark, (size_t)len) != 0 ? -1 : len;
}

/* Rejects links and other users' files, created before the folder was closed to
 * others, and files that no sandbox wrote. */
static gboolean check_files(const char *path, int folder, GError **error) {
    ssize_t marked = read_mark(folder);

    for (guint i = 0; i < G_N_ELEMENTS(files); i++) {
        g_autofree char *file = g_build_filename(path, files[i], NULL);
        struct stat status;

        if (fstatat(folder, files[i], &status, AT_SYMLINK_NOFOLLOW) != 0) {
            continue;
        }
        if (!S_ISREG(status.st_mode) || status.st_uid != geteuid()) {
            return refuse(error, file, "not a regular file of this user");
        }
        if (marked < (ssize_t)MARK_LEN &&
            (marked < 0 || strcmp(files[i], "lock") != 0)) {
            return refuse(error, file,
                          "not written by a sandbox, left as it is");
        }
    }
    return TRUE;
}

/* The lock lasts until the process ends: its descriptor is never closed. */
static gboolean lock(const char *path, int folder, GError **error) {
    struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    int fd =
        openat(folder, "lock", O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);

    if (fd >= 0 && fcntl(fd, F_SETLK, &whole) == 0 &&
        dprintf(fd, "%s", mark) > 0) {
        return TRUE;
    }
    if (fd < 0 || (errno != EACCES && errno != EAGAIN)) {
        g_autofree char *file = g_build_filename(path, "lock", NULL);

        state_failed(error, file, g_strerror(errno));
    } else if (fcntl(fd, F_GETLK, &whole) == 0 && whole.l_type != F_UNLCK) {
        g_set_error(error, G_IO_ERROR, G_IO_ERROR_BUSY,
                    "%s: in use by process %ld", path, (long)whole.l_pid);
    } else {
        refuse(error, path, "in use");
    }
    close(fd);
    return FALSE;
}

gboolean state_lock(const char *path, GError **error) {
    gboolean ok;
    int folder;

    if (g_mkdir_with_parents(path, 0700) != 0) {
        return state_failed(error, path, g_strerror(errno));
    }
    folder = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    ok = check_folder(path, folder, error) &&
         check_files(path, folder, error) && lock(path, folder, error);
    if (folder >= 0) {
        close(folder);
    }
    return ok;
}

gboolean state_write(const char *path, const char *text, size_t len, int mode,
                     GError **error) {
    g_autofree char *temporary = g_strconcat(path, ".XXXXXX", NULL);
    int fd = g_mkstemp_full(temporary, O_WRONLY | O_CLOEXEC, mode);
    gboolean ok = fd >= 0 && dprintf(fd, "%.*s", (int)len, text) >= 0 &&
                  fsync(fd) == 0 && rename(temporary, path) == 0;

    if (!ok) {
        state_failed(error, path, g_strerror(errno));
    }
    if (fd >= 0) {
        close(fd);
        unlink(temporary); /* unless it was renamed */
    }
    return ok;
}
