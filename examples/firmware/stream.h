/*
 * What this program does with a stream: it follows books and counts
 * executions. SPDX-License-Identifier: 0BSD
 */
#ifndef STREAM_H
#define STREAM_H

#include "mini_stream.h"

/* Begins a stream in this client, borrowed until stream_poll() says that it has
 * ended. Returns 0 or an error of the configuration. */
int stream_begin(struct mst_client *object, const struct mst_config *config,
                 const struct mst_port *port, const struct mst_memory *memory);
/* Goes on as far as it can, and prints what happens. False once it has ended
 * after mst_close(). */
bool stream_poll(void);

void stream_show_levels(void);
/* Its counts since the start of the program, as parts of a line. */
void stream_report(void);

#endif
