/*
 * The terminal: see screen.h.
 *
 * ncurses sets the terminal up and restores it. In between, its descriptor is a
 * file in memory that collects one picture, which is sent from there.
 *
 * SPDX-License-Identifier: 0BSD
 */
#define _GNU_SOURCE /* memfd_create() */

#include "screen.h"

#include <errno.h>
#include <fcntl.h>
#include <ncurses.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <term.h>
#include <unistd.h>

#include "examples/start.h"

/* The speed that every pseudo-terminal reports. */
#define SPEED_UNKNOWN 38400

/* Time to wait for a terminal: for part of a picture, and at the end. */
#define PATIENCE_MS 2
#define PATIENCE_END_MS 500

/* Bytes may be saved up for a second divided by this. */
#define SAVED 10

static struct {
    SCREEN *curses;
    FILE *file;   /* ncurses' */
    int picture;  /* collects a picture */
    int terminal; /* gets it */
    off_t sent;
    unsigned rate; /* bytes per second; 0: no limit */
    uint64_t credit, credit_ms;
    int kept_stderr, real_stderr; /* -1: unchanged */
} screen = {.kept_stderr = -1, .real_stderr = -1};

static volatile sig_atomic_t stops, continues;

static void screen_signal(int number) {
    if (number == SIGTSTP) {
        stops = 1;
    } else {
        continues = 1;
    }
}

/* Catches Ctrl-Z, unless it was ignored at start. */
static void screen_catch_stop(void) {
    start_catch(SIGCONT, screen_signal);
    start_catch(SIGTSTP, screen_signal);
}

/* Opens the terminal again: O_NONBLOCK must not affect other processes. */
static int screen_terminal(void) {
    const char *name = ttyname(STDOUT_FILENO);
    int fd =
        name ? open(name, O_WRONLY | O_NOCTTY | O_NONBLOCK | O_CLOEXEC) : -1;

    return fd >= 0 ? fd : fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 0);
}

/* True if the terminal can be drawn on; else writes an error. */
static bool screen_check(char *error, size_t len) {
    const char *term = getenv("TERM");
    int result;
    bool can;

    if (!isatty(STDOUT_FILENO)) {
        snprintf(error, len,
                 "standard output is no terminal: `mini-stream stream' writes "
                 "lines");
        return false;
    }
    if (!term || setupterm(term, STDOUT_FILENO, &result) != OK) {
        snprintf(error, len, "TERM=%s: no terminal of this kind is known",
                 term ? term : "");
        return false;
    }
    can = cursor_address != NULL && clear_screen != NULL;
    del_curterm(cur_term);
    if (!can) {
        snprintf(error, len,
                 "TERM=%s: such a terminal cannot be drawn on; `mini-stream "
                 "stream' writes lines",
                 term);
    }
    return can;
}

/* The bytes per second that a line and a kind of terminal accept. */
static unsigned screen_rate(void) {
    int speed = baudrate();
    unsigned line =
        speed > 0 && speed < SPEED_UNKNOWN ? (unsigned)speed / 10 : 0; /* any */

    if (tigetnum("colors") <= 0 && (line == 0 || line > SCREEN_RATE_PLAIN)) {
        return SCREEN_RATE_PLAIN;
    }
    return line;
}

/* Redirects standard error, because its lines would damage the picture. */
static void screen_keep_stderr(void) {
    if (isatty(STDERR_FILENO)) {
        screen.real_stderr = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 0);
        screen.kept_stderr = memfd_create("stderr", MFD_CLOEXEC);
        if (screen.real_stderr >= 0 && screen.kept_stderr >= 0) {
            dup2(screen.kept_stderr, STDERR_FILENO);
        }
    }
}

static void screen_return_stderr(void) {
    char text[4096];
    ssize_t len;

    if (screen.kept_stderr >= 0 && screen.real_stderr >= 0) {
        dup2(screen.real_stderr, STDERR_FILENO);
        lseek(screen.kept_stderr, 0, SEEK_SET);
        while ((len = read(screen.kept_stderr, text, sizeof text)) > 0) {
            fwrite(text, 1, (size_t)len, stderr);
        }
    }
    close(screen.kept_stderr);
    close(screen.real_stderr);
    screen.kept_stderr = screen.real_stderr = -1;
}

static void screen_modes(void) {
    cbreak();
    noecho();
    nonl();
    keypad(stdscr, TRUE);
    nodelay(stdscr, TRUE);
    typeahead(-1); /* draw pictures completely */
    set_escdelay(25);
    curs_set(0);
}

bool screen_open(unsigned rate, char *error, size_t error_len) {
    int fd;

    if (!screen_check(error, error_len)) {
        return false;
    }
    fd = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 0);
    screen.file = fd >= 0 ? fdopen(fd, "w") : NULL;
    screen.picture = memfd_create("screen", MFD_CLOEXEC);
    screen.terminal = screen_terminal();
    screen_catch_stop();
    screen.curses = screen.file ? newterm(NULL, screen.file, stdin) : NULL;
    if (!screen.curses || screen.picture < 0 || screen.terminal < 0) {
        snprintf(error, error_len, "the terminal cannot be taken over: %s",
                 strerror(errno));
        return false;
    }
    set_term(screen.curses);
    screen_modes();
    screen.rate = rate > 0 ? rate : screen_rate();
    dup2(screen.picture, fd);
    screen_keep_stderr();
    screen_resize();
    return true;
}

/* The bytes that may be sent now. Saved bytes count, so that no second exceeds
 * the rate. */
static uint64_t screen_credit(uint64_t now_ms) {
    uint64_t most, more;

    if (screen.rate == 0) {
        return UINT64_MAX;
    }
    most = screen.rate / SAVED;
    more = (now_ms - screen.credit_ms) * (screen.rate - most) / 1000;
    if (more > 0) {
        screen.credit_ms = now_ms;
        screen.credit += more;
    }
    if (screen.credit > most) {
        screen.credit = most;
    }
    return screen.credit;
}

/* Writes up to most bytes of the picture. Returns how many: 0 if the terminal
 * accepts none now, negative if it has gone. */
static ssize_t screen_write(uint64_t most, int patience_ms) {
    char part[4096];
    size_t len = most < sizeof part ? (size_t)most : sizeof part;
    ssize_t got = pread(screen.picture, part, len, screen.sent);
    struct pollfd ready = {.fd = screen.terminal, .events = POLLOUT};
    ssize_t wrote;

    if (got <= 0) {
        return got;
    }
    wrote = write(screen.terminal, part, (size_t)got);
    if (wrote < 0 && errno == EAGAIN && poll(&ready, 1, patience_ms) > 0) {
        wrote = write(screen.terminal, part, (size_t)got);
    }
    if (wrote < 0) {
        return errno == EAGAIN || errno == EINTR ? 0 : -1;
    }
    screen.sent += wrote;
    return wrote;
}

bool screen_send(uint64_t now_ms) {
    while (!screen_is_idle()) {
        uint64_t credit = screen_credit(now_ms);
        ssize_t wrote = screen_write(credit, PATIENCE_MS);

        if (wrote <= 0) {
            return wrote == 0;
        }
        screen.credit -= screen.rate > 0 ? (uint64_t)wrote : 0;
    }
    if (screen.sent > 0) {
        screen.sent = 0;
        return ftruncate(screen.picture, 0) == 0 &&
               lseek(screen.picture, 0, SEEK_SET) == 0;
    }
    return true;
}

bool screen_is_idle(void) {
    return lseek(screen.picture, 0, SEEK_CUR) == screen.sent;
}

bool screen_resize(void) {
    struct winsize size;

    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_row == 0 ||
        size.ws_col == 0 || (size.ws_row == LINES && size.ws_col == COLS)) {
        return false;
    }
    resize_term(size.ws_row, size.ws_col);
    screen_renew();
    return true;
}

void screen_renew(void) {
    clearok(curscr, TRUE);
}

/* Sends the rest of the picture and returns the terminal to ncurses. */
static void screen_leave(void) {
    while (!screen_is_idle() && screen_write(UINT64_MAX, PATIENCE_END_MS) > 0) {
    }
    dup2(STDOUT_FILENO, fileno(screen.file));
    endwin();
}

bool screen_stop(void) {
    if (!stops && !continues) {
        return false;
    }
    if (stops) {
        stops = 0;
        screen_leave();
        signal(SIGTSTP, SIG_DFL);
        raise(SIGTSTP);
        screen_catch_stop();
    }
    continues = 0;
    dup2(STDOUT_FILENO, fileno(screen.file));
    reset_prog_mode();
    dup2(screen.picture, fileno(screen.file));
    screen_renew();
    return true;
}

void screen_close(void) {
    if (screen.curses) {
        screen_leave();
        delscreen(screen.curses);
        screen.curses = NULL;
        fclose(screen.file);
        close(screen.picture);
        close(screen.terminal);
        screen_return_stderr();
    }
}
