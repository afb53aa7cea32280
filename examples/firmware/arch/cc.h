/* lwIP's settings of compiler and platform. SPDX-License-Identifier: 0BSD */
#ifndef ARCH_CC_H
#define ARCH_CC_H

#include <stdint.h>

/* In platform.c. */
uint32_t lwip_random(void);
#define LWIP_RAND() lwip_random()

void lwip_time(uint32_t unix_s, uint32_t us);
#define SNTP_SET_SYSTEM_TIME_US(s, us) lwip_time((s), (us))

#endif
