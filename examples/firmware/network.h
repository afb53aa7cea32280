/*
 * lwIP on the board's Ethernet: an address, a name server and a time server by
 * DHCP, and the time. SPDX-License-Identifier: 0BSD
 */
#ifndef NETWORK_H
#define NETWORK_H

#include <stdint.h>

void network_begin(void);
/* Gives lwIP the frames that have come and its time. */
void network_poll(void);
/* So long lwIP may be left alone if no frame comes, ms. */
uint32_t network_sleep_ms(void);
/* Prints lwIP's use of memory: what is in use now, the most that ever was, and
 * how often it had no more. */
void network_report(void);

#endif
