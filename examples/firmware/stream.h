/* Follows books, counts executions. SPDX-License-Identifier: 0BSD */
#ifndef STREAM_H
#define STREAM_H

#include "mini_stream.h"

/* Starts a stream in this client, which is borrowed until stream_poll() returns
 * false. Returns 0 or an error of the configuration. */
int stream_begin(struct mst_client *object, const struct mst_config *config,
                 const struct mst_port *port, const struct mst_memory *memory);
/* Polls the stream, and prints its events. Returns false once it has ended
 * after mst_close(). */
bool stream_poll(void);

void stream_show_levels(void);
/* Prints the counts since the program's start within a line. */
void stream_report(void);

#endif
