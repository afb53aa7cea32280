/*
 * `mini-stream address put`: creates or updates an address, and shows the
 * record.
 *
 * SPDX-License-Identifier: 0BSD
 */
#ifndef ADDRESS_H
#define ADDRESS_H

/* Runs the subcommand; argv[0] is its name. Returns an exit code. */
int address_put_main(int argc, char **argv);

#endif
