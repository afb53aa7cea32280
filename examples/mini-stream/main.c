/*
 * mini-stream: the command-line tool of mini_stream. Each subcommand has a
 * file of its own.
 *
 * SPDX-License-Identifier: 0BSD
 */
#include <argp.h>
#include <errno.h>
#include <fcntl.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "commands.h"
#include "exits.h"
#include "mini_stream.h"
#include "text.h"

static const struct {
    const char *name;
    int (*run)(int argc, char **argv);
    const char *purpose;
} commands[] = {
    {"stream", stream_main, "order books, executions and heartbeats as lines"},
    {"watch", watch_main, "the same on a whole screen"},
    {"record", record_main, "record a stream"},
    {"replay", replay_main, "show a recording again, as stream would"},
    {"address put", address_put_main,
     "create or update a crypto destination address"},
    {"token", token_main, "get an access token, show its scope and its end"},
    {"profiles", profiles_main, "list, show or check the profiles"},
    {"doctor", doctor_main, "find what stands between here and a stream"},
};

#define COMMANDS (sizeof commands / sizeof *commands)

static void print_help(FILE *file) {
    fputs("Usage: mini-stream COMMAND [OPTION...]\n"
          "\n"
          "Client of an order-routing exchange's streaming and address "
          "interfaces.\n"
          "\n"
          "Commands (`mini-stream COMMAND --help' says more):\n",
          file);
    for (size_t i = 0; i < COMMANDS; ++i) {
        fprintf(file, "  %-13s%s\n", commands[i].name, commands[i].purpose);
    }
    fputs("  help         what a command does, as its --help\n"
          "  version      the version\n"
          "\n"
          "  -h, --help      print this and end\n"
          "      --version   print the version and end\n"
          "\n" EXITS_HELP,
          file);
}

/* How many arguments the words of a command's name take up, or 0 where they
 * are others. */
static int match_command(const char *name, int argc, char **argv) {
    for (int i = 1; i < argc; ++i) {
        size_t len = strcspn(name, " ");

        if (strlen(argv[i]) != len || memcmp(argv[i], name, len) != 0) {
            return 0;
        }
        if (name[len] == '\0') {
            return i;
        }
        name += len + 1;
    }
    return 0;
}

/* Runs the command that the arguments begin with, under its whole name, or
 * returns -1. */
static int run_command(int argc, char **argv) {
    static char name[40];

    for (size_t i = 0; i < COMMANDS; ++i) {
        int words = match_command(commands[i].name, argc, argv);

        if (words > 0) {
            snprintf(name, sizeof name, "mini-stream %s", commands[i].name);
            argv[words] = name;
            return commands[i].run(argc - words, argv + words);
        }
    }
    return -1;
}

/* `help COMMAND' is `COMMAND --help'; a word that several commands begin with
 * is told in the list of all. */
static int help_command(int argc, char **argv) {
    char *of[5] = {argv[0]};
    char option[] = "--help";
    int count = 1;

    for (int i = 2; i < argc && count < 4; ++i) {
        of[count++] = argv[i];
    }
    of[count++] = option;
    return argc > 2 ? run_command(count, of) : -1;
}

static bool is_one_of(const char *word, const char *const *words) {
    while (*words && strcmp(word, *words) != 0) {
        ++words;
    }
    return *words != NULL;
}

/* Whether help is asked for that is no command's own. */
static bool asks_for_help(int argc, char **argv) {
    static const char *const first[] = {"help",   "version", "-h",
                                        "--help", "-?",      NULL};
    static const char *const of_several[] = {"address", NULL};
    static const char *const last[] = {"-h", "--help", "-?", NULL};

    return argc > 1 &&
           (argc == 2 ? is_one_of(argv[1], first)
                      : argc == 3 && (is_one_of(argv[2], last) ||
                                      (strcmp(argv[1], "help") == 0 &&
                                       (is_one_of(argv[2], first) ||
                                        is_one_of(argv[2], of_several)))));
}

/* Says that no command has this name, and which one was likely meant: of two
 * words, of the first alone, of the first without the second. */
static void say_unknown(int count, char **words) {
    const char *known[COMMANDS + 3] = {"help", "version"};
    const char *ends[] = {count > 1 ? words[1] : "", "", "put"};
    const char *close = NULL;
    char name[80] = "";

    for (size_t i = 0; i < COMMANDS; ++i) {
        known[2 + i] = commands[i].name;
    }
    for (size_t i = 0; i < 3 && !close; ++i) {
        snprintf(name, sizeof name, "%s%s%s", words[0], *ends[i] ? " " : "",
                 ends[i]);
        close = text_close(name, known);
    }
    fprintf(stderr, "mini-stream: no command is called '%s'",
            close && strchr(close, ' ') && count > 1 ? name : words[0]);
    fprintf(stderr, close ? ": did you mean '%s'?\n" : ": see --help%s\n",
            close ? close : "");
}

/* Opens what the caller closed of the standard streams: a socket in the place
 * of one would be written to. A write to it still fails. */
static void open_standard_streams(void) {
    int fd;

    do {
        fd = open("/dev/null", O_RDONLY);
    } while (fd >= 0 && fd <= STDERR_FILENO);
    if (fd >= 0) {
        close(fd);
    }
}

/* The last thing of all: what was printed has arrived, or the exit status says
 * that it has not. A reader that has left is no error. */
static void close_output(void) {
    if (fflush(stdout) != 0 && errno != EPIPE) {
        fprintf(stderr, "mini-stream: standard output: %s\n", strerror(errno));
        _exit(EXITS_LOCAL);
    }
}

int main(int argc, char **argv) {
    static const char *const version[] = {"version", "--version", "-V", NULL};
    int result = -1;

    open_standard_streams();
    atexit(close_output);
    /* Numbers keep their point: only characters follow the locale. */
    setlocale(LC_CTYPE, "");
    argp_err_exit_status = EXITS_USAGE;
    if (argc > 1 && strcmp(argv[1], "help") == 0) {
        result = help_command(argc, argv);
    } else {
        result = run_command(argc, argv);
    }
    if (result >= 0) {
        return result;
    }
    if (argc == 2 && is_one_of(argv[1], version)) {
        puts("mini-stream " MST_VERSION);
        return EXITS_OK;
    }
    if (asks_for_help(argc, argv)) {
        print_help(stdout);
        return EXITS_OK;
    }
    if (argc < 2) {
        print_help(stderr);
    } else {
        bool help = strcmp(argv[1], "help") == 0;

        say_unknown(argc - 1 - help, argv + 1 + help);
    }
    return EXITS_USAGE;
}
