/*
 * lwIP on the board's Ethernet. DHCP gives address, name server and time
 * server; SNTP gives the time. SPDX-License-Identifier: 0BSD
 */
#ifndef NETWORK_H
#define NETWORK_H

#include <stdint.h>

void network_begin(void);
/* Gives lwIP all received frames, and handles its timeouts. */
void network_poll(void);
/* Returns how long lwIP needs no poll unless a frame comes, ms. */
uint32_t network_sleep_ms(void);
/* Prints lwIP's memory: in use, most ever used, failed allocations. */
void network_report(void);

#endif
