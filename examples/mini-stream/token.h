/*
 * `mini-stream token`: gets an access token, and shows what it is good for.
 *
 * SPDX-License-Identifier: 0BSD
 */
#ifndef TOKEN_H
#define TOKEN_H

/* Runs the subcommand. Returns an exit code. */
int token_main(int argc, char **argv);

#endif
