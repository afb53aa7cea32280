/*
 * What a program inherits from whoever starts it: see start.h.
 *
 * SPDX-License-Identifier: 0BSD
 */
#define _GNU_SOURCE /* fopencookie() */

#include "start.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *program;
static int output_error; /* errno of standard output's last failure */

/* Whether to try again: after EAGAIN once the descriptor is ready, after a
 * signal if it is ready now. */
static bool stream_again(int fd, short events) {
    struct pollfd ready = {.fd = fd, .events = events};
    const int error = errno;

    if (error != EAGAIN && error != EINTR) {
        return false;
    }
    if (poll(&ready, 1, error == EAGAIN ? -1 : 0) > 0) {
        return true;
    }
    errno = EINTR;
    return false;
}

static ssize_t stream_read(void *context, char *data, size_t len) {
    const int fd = *(const int *)context;
    ssize_t n;

    do {
        n = read(fd, data, len);
    } while (n < 0 && stream_again(fd, POLLIN));
    return n;
}

static ssize_t stream_write(void *context, const char *data, size_t len) {
    const int fd = *(const int *)context;
    size_t done = 0;

    while (done < len) {
        ssize_t n = write(fd, data + done, len - done);

        if (n >= 0) {
            done += (size_t)n;
        } else if (!stream_again(fd, POLLOUT)) {
            output_error = fd == STDOUT_FILENO ? errno : output_error;
            break;
        }
    }
    return (ssize_t)done;
}

/* A stream that waits. Others may have the same open file: its O_NONBLOCK is
 * not ours to change. */
static FILE *stream_open(FILE *before, int number, const char *mode) {
    static int numbers[] = {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO};
    const cookie_io_functions_t functions = {.read = stream_read,
                                             .write = stream_write};
    FILE *file = fopencookie(&numbers[number], mode, functions);

    return file != NULL ? file : before;
}

static void open_descriptors(void) {
    int fd;

    do { /* a write to one that was closed still fails */
        fd = open("/dev/null", O_RDONLY);
    } while (fd >= 0 && fd <= STDERR_FILENO);
    if (fd >= 0) {
        close(fd);
    }
}

static void flush_output(void) {
    if ((fflush(stdout) != 0 || ferror(stdout)) && output_error != EPIPE) {
        fprintf(stderr, "%s: standard output: %s\n", program,
                strerror(output_error));
        _exit(START_FAILED);
    }
}

void start(const char *name) {
    program = name;
    open_descriptors();
    signal(SIGXFSZ, SIG_IGN);
    if (!isatty(STDIN_FILENO)) { /* ncurses wants the descriptor of one */
        stdin = stream_open(stdin, STDIN_FILENO, "r");
    }
    stdout = stream_open(stdout, STDOUT_FILENO, "w");
    if (isatty(STDOUT_FILENO)) {
        setvbuf(stdout, NULL, _IOLBF, 0);
    }
    stderr = stream_open(stderr, STDERR_FILENO, "w");
    setvbuf(stderr, NULL, _IONBF, 0);
    atexit(flush_output);
}

bool start_ignores(int number) {
    struct sigaction action;

    return sigaction(number, NULL, &action) == 0 &&
           action.sa_handler == SIG_IGN;
}

void start_catch(int number, void (*handler)(int number)) {
    struct sigaction action = {.sa_handler = handler};

    sigemptyset(&action.sa_mask);
    if (!start_ignores(number)) {
        sigaction(number, &action, NULL);
    }
}

int start_fileno(FILE *file) {
    return file == stdin    ? STDIN_FILENO
           : file == stdout ? STDOUT_FILENO
           : file == stderr ? STDERR_FILENO
                            : fileno(file);
}

/* Whether an open file is empty or begins with this text. */
static bool begins_with(int fd, const char *header) {
    char begin[64];
    const size_t len = header != NULL ? strlen(header) : 0;
    const ssize_t n = pread(fd, begin, sizeof begin, 0);

    return n == 0 ||
           (len > 0 && n >= (ssize_t)len && memcmp(begin, header, len) == 0);
}

FILE *start_output(const char *path, const char *header) {
    struct stat status;
    FILE *file;
    int fd;

    if (stat(path, &status) == 0 && !S_ISREG(status.st_mode)) {
        return fopen(path, "we");
    }
    fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    file = fd >= 0 ? fdopen(fd, "w") : NULL;
    if (file != NULL && (begins_with(fd, header) || (errno = EEXIST, false)) &&
        ftruncate(fd, 0) == 0) {
        return file;
    }
    if (fd >= 0) {
        const int error = errno;

        close(fd);
        errno = error;
    }
    return NULL;
}
