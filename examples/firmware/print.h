/* Text on the UART, without printf(). SPDX-License-Identifier: 0BSD */
#ifndef PRINT_H
#define PRINT_H

#include "mini_stream.h"

/* Begins a line with the time since the start, such as "12.345 ". */
void print_begin(void);
void print_end(void);

void print_text(const char *text);
/* Prints a text of the service; control characters become '?'. */
void print_foreign(const char *text);
void print_number(int64_t number);
void print_decimal(struct mst_decimal value);
/* Prints a Unix time, ns. */
void print_time(int64_t ns);
/* Prints " name=number". */
void print_pair(const char *name, int64_t number);
/* Prints a whole line: a text, and a second one or "". */
void print_line(const char *text, const char *more);

#endif
