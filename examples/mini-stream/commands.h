/*
 * The subcommands of mini-stream. argv[0] is the subcommand's name. Each
 * returns an exit code.
 *
 * SPDX-License-Identifier: 0BSD
 */
#ifndef COMMANDS_H
#define COMMANDS_H

int address_put_main(int argc, char **argv);
int doctor_main(int argc, char **argv);
int profiles_main(int argc, char **argv);
int record_main(int argc, char **argv);
int replay_main(int argc, char **argv);
int stream_main(int argc, char **argv);
int token_main(int argc, char **argv);
int watch_main(int argc, char **argv);

#endif
