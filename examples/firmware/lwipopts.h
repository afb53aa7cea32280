/* How the image differs from lwIP's defaults. SPDX-License-Identifier: 0BSD */
#ifndef LWIPOPTS_H
#define LWIPOPTS_H

#define NO_SYS 1
#define SYS_LIGHTWEIGHT_PROT 0 /* interrupts do not call lwIP */
#define LWIP_NETCONN 0
#define LWIP_SOCKET 0
#define LWIP_NOASSERT 1

#define MEM_ALIGNMENT 4
#define MEM_SIZE 3072 /* data not acknowledged yet; DHCP */
#ifndef MEMP_NUM_TCP_PCB
#define MEMP_NUM_TCP_PCB 3
#endif
#define MEMP_NUM_TCP_PCB_LISTEN 1
#define MEMP_NUM_UDP_PCB 3
#define MEMP_NUM_TCP_SEG 8
#define MEMP_NUM_PBUF 4
#ifndef PBUF_POOL_SIZE
#define PBUF_POOL_SIZE 16 /* a window of full segments, of one link */
#endif
#define PBUF_POOL_BUFSIZE 288

#define TCP_MSS 1460
#define TCP_WND (2 * TCP_MSS)
#define TCP_SND_QUEUELEN 6
#define TCP_QUEUE_OOSEQ 0

#define LWIP_NO_CTYPE_H 1
#define LWIP_SINGLE_NETIF 1
#define IP_OPTIONS_ALLOWED 0
#define LWIP_DHCP_DOES_ACD_CHECK 0
#define DHCP_DOES_ARP_CHECK 0
#define IP_REASSEMBLY 0
#define IP_FRAG 0
#define LWIP_DHCP 1
#define LWIP_DNS 1
#define DNS_TABLE_SIZE 2
#define DNS_MAX_NAME_LENGTH 128
#define LWIP_DHCP_GET_NTP_SRV 1
#define SNTP_CHECK_RESPONSE 1
#define SNTP_STARTUP_DELAY 0

#endif
