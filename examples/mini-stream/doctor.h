/*
 * `mini-stream doctor`: what stands between this machine and a stream.
 *
 * SPDX-License-Identifier: 0BSD
 */
#ifndef DOCTOR_H
#define DOCTOR_H

/* Runs the subcommand. Returns an exit code. */
int doctor_main(int argc, char **argv);

#endif
