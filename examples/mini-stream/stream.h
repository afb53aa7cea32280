/*
 * `mini-stream stream`: subscribes markets and puts out what comes.
 *
 * SPDX-License-Identifier: 0BSD
 */
#ifndef STREAM_H
#define STREAM_H

/* Runs the subcommand; argv[0] is its name. Returns an exit code. */
int stream_main(int argc, char **argv);

#endif
