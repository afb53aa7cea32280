/* lwIP on this machine, for tap.c: NO_SYS and TAP_SOCKETS are the build's.
 * SPDX-License-Identifier: 0BSD */
#ifndef LWIPOPTS_H
#define LWIPOPTS_H

#define LWIP_IPV6 0
#define LWIP_DNS 1
#define LWIP_NETCONN TAP_SOCKETS
#define LWIP_SOCKET TAP_SOCKETS
#define LWIP_NETIF_LOOPBACK TAP_SOCKETS
#define MEMP_NUM_NETCONN 8
/* Debian's lwIP expects these from the system's headers. */
#define IP4ADDR_SOCKADDR_SET_LEN(address) (address)->sin_len = sizeof *(address)
#define IPADDR_SOCKADDR_GET_LEN(address) (address)->sa.sa_len
#define LWIP_STATS 0
#define MEM_ALIGNMENT 8
#define MEM_LIBC_MALLOC 1
#define MEMP_MEM_MALLOC 1
#define TCP_MSS 1460
#define TCP_WND (4 * TCP_MSS)
#define TCP_SND_BUF (4 * TCP_MSS)

/* sys_arch.c ends the program if lwIP is called without its lock. */
#if !NO_SYS
void sys_check_core_locking(void);
void sys_mark_tcpip_thread(void);
void sys_lock_tcpip_core(void);
void sys_unlock_tcpip_core(void);
#define LWIP_ASSERT_CORE_LOCKED() sys_check_core_locking()
#define LWIP_MARK_TCPIP_THREAD() sys_mark_tcpip_thread()
#define LOCK_TCPIP_CORE() sys_lock_tcpip_core()
#define UNLOCK_TCPIP_CORE() sys_unlock_tcpip_core()
#endif

#endif
