/*
 * The program of a fuzz target in `make test`: calls the target with each input
 * of test/fuzz/NAME.seeds, where NAME is the program's name. A line of that
 * file is an input, with the escapes \n, \r, \t, \\ and \xHH; an input with a
 * backslash at its line's end continues on the next line. Lines that are empty
 * or begin with # are ignored. test/evidence/fuzz.py reads the same format.
 *
 * SPDX-License-Identifier: 0BSD
 */
#define _GNU_SOURCE /* program_invocation_short_name */

#include "fuzz.h"
#include "support.h"

#include <errno.h>

static uint8_t unescape(const char **at) {
    static const char letters[] = "nrt\\", meant[] = "\n\r\t\\";
    char c = *(*at)++, hex[3] = {0};
    const char *letter;

    if (c != '\\') {
        return (uint8_t)c;
    }
    c = *(*at)++;
    letter = c != '\0' ? strchr(letters, c) : NULL;
    if (letter != NULL) {
        return (uint8_t)meant[letter - letters];
    }
    assert_int_equal(c, 'x');
    hex[0] = *(*at)++;
    hex[1] = hex[0] != '\0' ? *(*at)++ : '\0';
    assert_int_equal(strspn(hex, "0123456789ABCDEFabcdef"), 2);
    return (uint8_t)strtoul(hex, NULL, 16);
}

/* Adds a line to the current input. Returns true if the input is complete. */
static bool add_line(struct text *input, const char *line) {
    while (*line != '\0' && strcmp(line, "\\") != 0) {
        uint8_t byte = unescape(&line);
        text_add_bytes(input, &byte, 1);
    }
    return *line == '\0';
}

/* The array has exactly the input's length, for the sanitizer. */
static void run(const struct text *input) {
    uint8_t *data = malloc(input->len > 0 ? input->len : 1);

    assert_non_null(data);
    if (input->len > 0) {
        memcpy(data, input->data, input->len);
    }
    assert_int_equal(LLVMFuzzerTestOneInput(data, input->len), 0);
    free(data);
}

TEST_CASE(test_seeds) {
    struct text input = {0};
    char path[200], *line = NULL;
    size_t size = 0, inputs = 0;
    FILE *file;

    snprintf(path, sizeof path, "test/fuzz/%s.seeds",
             program_invocation_short_name);
    file = fopen(path, "r");
    assert_non_null(file);
    run(&input);
    while (getline(&line, &size, file) > 0) {
        line[strcspn(line, "\n")] = '\0';
        if ((line[0] == '\0' || line[0] == '#') && input.len == 0) {
            continue;
        }
        if (add_line(&input, line)) {
            run(&input);
            text_clear(&input);
            inputs++;
        }
    }
    printf("%zu inputs\n", inputs);
    assert_true(inputs > 0 && input.len == 0);
    text_free(&input);
    free(line);
    fclose(file);
}

RUN_CASES(NULL, NULL)
