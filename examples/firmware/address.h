/*
 * One address of the settings page, created or updated.
 * SPDX-License-Identifier: 0BSD
 */
#ifndef ADDRESS_H
#define ADDRESS_H

#include "mini_stream.h"

/* Begins the request in this transfer, borrowed until address_poll() says that
 * it has ended. */
void address_begin(struct mst_transfer *object, const struct mst_config *config,
                   const struct mst_port *port,
                   const struct mst_memory *memory);
/* Goes on as far as it can, and prints the record. False once it has ended. */
bool address_poll(void);

#endif
