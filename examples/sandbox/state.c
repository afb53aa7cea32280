/* Locks the state folder. SPDX-License-Identifier: 0BSD */
#include "state.h"

#include <errno.h>
#include <fcntl.h>
#include <gio/gio.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *const files[] = {
    "addresses.db", "ca-key.pem", "ca.pem",         "endpoints.json",
    "lock",         "ports.json", "server-key.pem", "server.pem"};

static gboolean refuse(GError **error, const char *path, const char *why) {
    g_set_error(error, G_IO_ERROR, G_IO_ERROR_FAILED, "%s: %s", path, why);
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

/* Rejects links and other users' files, created before the folder was closed to
 * others. */
static gboolean check_files(const char *path, int folder, GError **error) {
    for (guint i = 0; i < G_N_ELEMENTS(files); i++) {
        struct stat status;

        if (fstatat(folder, files[i], &status, AT_SYMLINK_NOFOLLOW) == 0 &&
            (!S_ISREG(status.st_mode) || status.st_uid != geteuid())) {
            g_set_error(error, G_IO_ERROR, G_IO_ERROR_FAILED,
                        "%s/%s: not a regular file of this user", path,
                        files[i]);
            return FALSE;
        }
    }
    return TRUE;
}

/* The lock lasts until the process ends: its descriptor is never closed. */
static gboolean lock(const char *path, int folder, GError **error) {
    struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    int fd =
        openat(folder, "lock", O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);

    if (fd < 0) {
        return refuse(error, path, g_strerror(errno));
    }
    if (fcntl(fd, F_SETLK, &whole) == 0) {
        return TRUE;
    }
    if ((errno == EACCES || errno == EAGAIN) &&
        fcntl(fd, F_GETLK, &whole) == 0 && whole.l_type != F_UNLCK) {
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
        return refuse(error, path, g_strerror(errno));
    }
    folder = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    ok = check_folder(path, folder, error) &&
         check_files(path, folder, error) && lock(path, folder, error);
    if (folder >= 0) {
        close(folder);
    }
    return ok;
}
