/*
 * `mini-stream replay`: shows a recording again, as the stream was shown.
 *
 * SPDX-License-Identifier: 0BSD
 */
#ifndef REPLAY_H
#define REPLAY_H

/* Runs the subcommand; argv[0] is its name. Returns an exit code. */
int replay_main(int argc, char **argv);

#endif
