/*
 * What a program inherits from whoever starts it: descriptors, signals, and
 * limits of files. Shared by tools and servers.
 *
 * SPDX-License-Identifier: 0BSD
 */
#ifndef START_H
#define START_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* The exit status if standard output cannot be written. */
#define START_FAILED 7

/* To be called first. Opens descriptors 0 to 2 if they are closed: a socket
 * that got such a number would be written to. Has the standard streams wait if
 * their descriptor is non-blocking, and a write beyond the limit of a file's
 * size fail with EFBIG. At exit, flushes standard output; if that fails, the
 * program, called name, says why and ends with START_FAILED. A reader that has
 * left is no error. name must be static. */
void start(const char *name);

/* True for a signal that whoever started the program has it ignore, as nohup
 * does with SIGHUP: it must stay ignored. */
bool start_ignores(int number);

/* Handles a signal, without SA_RESTART, unless it is to stay ignored. */
void start_catch(int number, void (*handler)(int number));

/* Limits how long a write to a standard stream waits: after this time (ms, as of
 * CLOCK_MONOTONIC), a second, then it fails with EINTR. 0: no limit. */
void start_limit(int64_t ms);

/* A file's descriptor. After start(), fileno() knows none for the standard
 * streams. */
int start_fileno(FILE *file);

/* Opens a file for writing and empties it. Refuses a regular file that neither
 * is empty nor begins with header (NULL: none fits), with errno EEXIST: it is
 * not ours. Others, such as a FIFO, are written to. NULL with errno if it
 * fails. */
FILE *start_output(const char *path, const char *header);

#endif
