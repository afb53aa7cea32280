/*
 * mini-stream on the port for RTOS sockets: linked with --wrap, these functions
 * replace those of its POSIX port. Tokens are not stored.
 *
 * SPDX-License-Identifier: 0BSD
 */
#include "mst_posix.h"
#include "mst_sockets.h"

int __real_mst_posix_init(struct mst_posix *posix, struct mst_posix_link *links,
                          size_t count, struct mst_port *port);
static struct mst_sockets_link socket_links[MST_SOCKETS_LINKS_MAX];
static struct mst_sockets sockets;

int __wrap_mst_posix_init(struct mst_posix *posix, struct mst_posix_link *links,
                          size_t count, struct mst_port *port) {
    int rc = __real_mst_posix_init(posix, links, count, port);

    return rc != 0 ? rc
                   : mst_sockets_init(&sockets, socket_links, (int)count, port);
}

int __wrap_mst_posix_token_file(struct mst_posix *posix, struct mst_port *port,
                                const char *path) {
    (void)posix;
    (void)port;
    (void)path;
    return 0;
}

int __wrap_mst_posix_wait(struct mst_posix *posix,
                          const struct mst_link *const *objects, size_t count,
                          uint32_t max_ms) {
    (void)posix;
    return mst_sockets_wait(&sockets, objects, count, max_ms);
}

/* Nothing of the POSIX port is in use. */
void __wrap_mst_posix_free(struct mst_posix *posix) {
    (void)posix;
    mst_sockets_free(&sockets);
}
