/*
 * mini-stream: the command-line tool of mini_stream. Each subcommand has a
 * file of its own.
 *
 * SPDX-License-Identifier: 0BSD
 */
#include <argp.h>
#include <fcntl.h>
#include <locale.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "address.h"
#include "exits.h"
#include "mini_stream.h"
#include "stream.h"
#include "watch.h"

static const struct {
    const char *name;
    int (*run)(int argc, char **argv);
    const char *purpose;
} commands[] = {
    {"stream", stream_main, "order books, executions and heartbeats as lines"},
    {"watch", watch_main, "the same on a whole screen"},
    {"address put", address_put_main,
     "create or update a crypto destination address"},
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
    fputs("\n"
          "  --help      print this and end\n"
          "  --version   print the version and end\n"
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

int main(int argc, char **argv) {
    const char *command = argc > 1 ? argv[1] : "";

    open_standard_streams();
    /* Numbers keep their point: only characters follow the locale. */
    setlocale(LC_CTYPE, "");
    argp_err_exit_status = EXITS_USAGE;
    for (size_t i = 0; i < COMMANDS; ++i) {
        int words = match_command(commands[i].name, argc, argv);

        if (words > 0) {
            return commands[i].run(argc - words, argv + words);
        }
    }
    if (strcmp(command, "-h") == 0 ||
        (argc > 1 && strcmp(argv[argc - 1], "--help") == 0)) {
        print_help(stdout);
        return EXITS_OK;
    }
    if (strcmp(command, "--version") == 0) {
        puts("mini-stream " MST_VERSION);
        return EXITS_OK;
    }
    if (argc < 2) {
        print_help(stderr);
    } else {
        fprintf(stderr,
                "mini-stream: no command is called '%s%s%s': see --help\n",
                command, argc > 2 ? " " : "", argc > 2 ? argv[2] : "");
    }
    return EXITS_USAGE;
}
