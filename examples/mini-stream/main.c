/*
 * mini-stream: the command-line tool of mini_stream.
 *
 * SPDX-License-Identifier: 0BSD
 */
#include <argp.h>
#include <locale.h>
#include <stdio.h>
#include <string.h>

#include "commands.h"
#include "examples/start.h"
#include "exits.h"
#include "mini_stream.h"
#include "text.h"

static const struct {
    const char *name;
    int (*run)(int argc, char **argv);
    const char *purpose;
} commands[] = {
    {"stream", stream_main, "order books, executions and heartbeats as lines"},
    {"watch", watch_main, "the same on the whole terminal"},
    {"record", record_main, "record a stream"},
    {"replay", replay_main, "replay a recording, as stream would show it"},
    {"address put", address_put_main,
     "create or update a crypto destination address"},
    {"token", token_main, "get an access token, show its scope and expiry"},
    {"profiles", profiles_main, "list, show or check the profiles"},
    {"doctor", doctor_main, "diagnose why a stream does not work"},
};

#define COMMANDS (sizeof commands / sizeof *commands)

static void print_help(FILE *file) {
    fputs("Usage: mini-stream COMMAND [OPTION...]\n"
          "\n"
          "Client of an order-routing exchange's streaming and address "
          "interfaces.\n"
          "\n"
          "Commands (see `mini-stream COMMAND --help'):\n",
          file);
    for (size_t i = 0; i < COMMANDS; ++i) {
        fprintf(file, "  %-13s%s\n", commands[i].name, commands[i].purpose);
    }
    fputs("  help         the same as COMMAND --help\n"
          "  version      the version\n"
          "\n"
          "  -h, --help      print this help\n"
          "      --version   print the version\n"
          "\n" EXITS_HELP,
          file);
}

/* Returns how many arguments match the words of a command's name, or 0 if they
 * do not match. */
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

/* Runs the command that the arguments begin with. Returns -1 if there is
 * none. */
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

/* Runs `help COMMAND' as `COMMAND --help'. Returns -1 if no single command
 * matches. */
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
    return words[text_find(word, words)] != NULL;
}

/* True if the arguments ask for the general help. */
static bool asks_for_help(int argc, char **argv) {
    static const char *const options[] = {"-h", "--help", "-?", NULL};
    static const char *const others[] = {"help", "version", "address", NULL};
    const char *last = argv[argc - 1];

    return (argc == 2 && strcmp(last, "help") == 0) ||
           (argc <= 3 && is_one_of(last, options)) ||
           (argc == 3 && strcmp(argv[1], "help") == 0 &&
            is_one_of(last, others));
}

/* Reports an unknown command and suggests a similar one: tries both words, the
 * first one alone, and the first one with "put". */
static void say_unknown(int count, char **words) {
    const char *known[COMMANDS + 7] = {"help",      "version", "--help",
                                       "--version", "-h",      "-V"};
    const char *ends[] = {count > 1 ? words[1] : "", "", "put"};
    const char *close = NULL;
    char name[80] = "";

    for (size_t i = 0; i < COMMANDS; ++i) {
        known[6 + i] = commands[i].name;
    }
    for (size_t i = 0; i < 3 && !close; ++i) {
        snprintf(name, sizeof name, "%s%s%s", words[0], *ends[i] ? " " : "",
                 ends[i]);
        close = text_close(name, known);
    }
    if (count > 1 && close && strcmp(close, words[0]) == 0) {
        fprintf(stderr, "mini-stream: '%s' takes no argument '%s'\n", close,
                words[1]);
        return;
    }
    fprintf(stderr, "mini-stream: no command is called '%s'",
            close && strchr(close, ' ') && count > 1 ? name : words[0]);
    fprintf(stderr, close ? ": did you mean '%s'?\n" : ": see --help%s\n",
            close ? close : "");
}

int main(int argc, char **argv) {
    static const char *const version[] = {"version", "--version", "-V", NULL};
    int result;
    bool help;

    start("mini-stream");
    /* Only characters follow the locale: numbers keep their decimal point. */
    setlocale(LC_CTYPE, "");
    argp_err_exit_status = EXITS_USAGE;
    if (argc < 2) {
        print_help(stderr);
        return EXITS_USAGE;
    }
    help = strcmp(argv[1], "help") == 0;
    result = help ? help_command(argc, argv) : run_command(argc, argv);
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
    say_unknown(argc - 1 - help, argv + 1 + help);
    return EXITS_USAGE;
}
