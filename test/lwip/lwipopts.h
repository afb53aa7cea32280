/* lwIP on this machine, for tap.c: NO_SYS is the build's.
 * SPDX-License-Identifier: 0BSD */
#ifndef LWIPOPTS_H
#define LWIPOPTS_H

#define LWIP_IPV6 0
#define LWIP_DNS 1
#define LWIP_NETCONN 0
#define LWIP_SOCKET 0
#define LWIP_STATS 0
#define MEM_ALIGNMENT 8
#define MEM_LIBC_MALLOC 1
#define MEMP_MEM_MALLOC 1
#define TCP_MSS 1460
#define TCP_WND (4 * TCP_MSS)
#define TCP_SND_BUF (4 * TCP_MSS)

/* sys_arch.c ends the program where lwIP is called without its lock. */
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
