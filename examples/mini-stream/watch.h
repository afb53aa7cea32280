/*
 * `mini-stream watch`: the markets on a whole screen.
 *
 * SPDX-License-Identifier: 0BSD
 */
#ifndef WATCH_H
#define WATCH_H

/* Runs the subcommand; argv[0] is its name. Returns an exit code. */
int watch_main(int argc, char **argv);

#endif
