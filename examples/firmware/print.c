/* Text on the UART. SPDX-License-Identifier: 0BSD */
#include "print.h"

#include "board/board.h"

/* Prints a number with leading zeros, to at least this many digits. */
static void print_digits(uint64_t number, int least) {
    char text[21];
    char *at = text + sizeof text - 1;

    *at = '\0';
    do {
        *--at = (char)('0' + number % 10);
        number /= 10;
        least--;
    } while (number != 0 || least > 0);
    board_print(at);
}

void print_begin(void) {
    uint32_t ms = board_ms();

    print_digits(ms / 1000, 1);
    board_print(".");
    print_digits(ms % 1000, 3);
    board_print(" ");
}

void print_end(void) {
    board_print("\n");
}

void print_text(const char *text) {
    board_print(text);
}

void print_foreign(const char *text) {
    char one[2] = "";

    for (; *text != '\0'; text++) {
        one[0] = *text >= ' ' && *text <= '~' ? *text : '?';
        board_print(one);
    }
}

void print_number(int64_t number) {
    if (number < 0) {
        board_print("-");
    }
    print_digits(number < 0 ? 0 - (uint64_t)number : (uint64_t)number, 1);
}

void print_decimal(struct mst_decimal value) {
    char text[MST_DECIMAL_TEXT_LEN];

    mst_decimal_format(value, text);
    board_print(text);
}

void print_time(int64_t ns) {
    char text[MST_TIME_TEXT_LEN];

    mst_time_format(ns, text);
    board_print(text);
}

void print_pair(const char *name, int64_t number) {
    board_print(" ");
    board_print(name);
    board_print("=");
    print_number(number);
}

void print_line(const char *text, const char *more) {
    print_begin();
    board_print(text);
    board_print(more);
    print_end();
}
