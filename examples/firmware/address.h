/* Puts the address of the settings. SPDX-License-Identifier: 0BSD */
#ifndef ADDRESS_H
#define ADDRESS_H

#include "mini_stream.h"

/* Starts the request in this transfer, which is borrowed until address_poll()
 * returns false. */
void address_begin(struct mst_transfer *object, const struct mst_config *config,
                   const struct mst_port *port,
                   const struct mst_memory *memory);
/* Continues the request, and prints the record. Returns false at the end. */
bool address_poll(void);

#endif
