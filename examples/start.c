/*
 * What a program inherits from whoever starts it: see start.h.
 *
 * SPDX-License-Identifier: 0BSD
 */
#define _GNU_SOURCE /* fopencookie() */

#include "start.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static const char *program;
static int output_error; /* errno of standard output's last failure */

/* Returns true if a call is to be repeated: after EAGAIN once the descriptor is
 * ready, after a signal if it is ready now. */
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

static int64_t limit_ms;

void start_limit(int64_t ms) {
    limit_ms = ms;
}

/* Waits until a write does not block. Returns false with EINTR at the limit. */
static bool stream_ready(int fd) {
    struct pollfd ready = {.fd = fd, .events = POLLOUT};
    struct timespec now;
    int64_t rest;

    if (limit_ms == 0) {
        return true;
    }
    clock_gettime(CLOCK_MONOTONIC, &now);
    rest = limit_ms - now.tv_sec * INT64_C(1000) - now.tv_nsec / 1000000;
    if (rest > INT_MAX) {
        return true;
    }
    errno = EINTR;
    return poll(&ready, 1, rest < 1000 ? 1000 : (int)rest) > 0;
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
        /* a write to a pipe is complete or fails: a signal during a longer one
         * would be missed, and the next write would block again */
        const size_t most = len - done < PIPE_BUF ? len - done : PIPE_BUF;
        ssize_t n = stream_ready(fd) ? write(fd, data + done, most) : -1;

        if (n >= 0) {
            done += (size_t)n;
        } else if (!stream_again(fd, POLLOUT)) {
            output_error = fd == STDOUT_FILENO ? errno : output_error;
            break;
        }
    }
    return (ssize_t)done;
}

/* Opens a stream that waits. O_NONBLOCK stays set, because other processes may
 * have the same open file. */
static FILE *stream_open(FILE *before, int number, const char *mode) {
    static int numbers[] = {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO};
    const cookie_io_functions_t functions = {.read = stream_read,
                                             .write = stream_write};
    FILE *file = fopencookie(&numbers[number], mode, functions);

    return file != NULL ? file : before;
}

static void open_descriptors(void) {
    int fd;

    do { /* a write to a closed one still fails */
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
    if (!isatty(STDIN_FILENO)) { /* ncurses needs a terminal's descriptor */
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

FILE *start_output(const char *path, const char *header) {
    char begin[64] = "";
    struct stat status;
    FILE *file;
    int error;

    if (stat(path, &status) == 0 && !S_ISREG(status.st_mode)) {
        return fopen(path, "we");
    }
    file = fopen(path, "a+e");
    if (file == NULL) {
        return NULL;
    }
    if ((fread(begin, 1, sizeof begin - 1, file) > 0 || ferror(file)) &&
        (header == NULL || strncmp(begin, header, strlen(header)) != 0)) {
        errno = EEXIST;
    } else if (ftruncate(fileno(file), 0) == 0) {
        rewind(file);
        return file;
    }
    error = errno;
    fclose(file);
    errno = error;
    return NULL;
}
