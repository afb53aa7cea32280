/*
 * `mini-stream record`: records a stream.
 *
 * SPDX-License-Identifier: 0BSD
 */
#ifndef RECORD_H
#define RECORD_H

/* Runs the subcommand; argv[0] is its name. Returns an exit code. */
int record_main(int argc, char **argv);

#endif
