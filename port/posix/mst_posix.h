/*
 * Port of mini_stream for POSIX systems: sockets, name resolution, clocks,
 * entropy, a file for access tokens, a loader for trust stores. ../README.md
 * has the contract of a port.
 *
 * Needs POSIX threads (-pthread): the C library resolves a name in a separate
 * thread, so that no call here waits for a name server. ../cares resolves names
 * without a thread.
 *
 * A host's addresses are tried as in RFC 8305: in the resolver's order
 * (RFC 6724), with address families alternating. If an address has not answered
 * after 250 ms, the next one is tried in parallel.
 *
 * SPDX-License-Identifier: 0BSD
 */
#ifndef MST_POSIX_H
#define MST_POSIX_H

#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include "mini_stream.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Addresses of a host that are tried; further ones are ignored. */
#define MST_POSIX_ADDRESSES_MAX 16

/* With up to this many objects, a wait calls poll(); with more, epoll on
 * Linux. */
#define MST_POSIX_FEW 8

/* The members of the next structs are private. */

union mst_posix_address {
    struct sockaddr any;
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
};

struct mst_posix;
struct mst_posix_resolution; /* of ../cares */

struct mst_posix_answer {
    int error, detail, count;
    union mst_posix_address addresses[MST_POSIX_ADDRESSES_MAX];
};

/* One link: a socket and its state; 2.7 KB. */
struct mst_posix_link {
    int fd;         /* the connected socket, or -1 */
    int set;        /* epoll descriptor to wait for until then, or -1 */
    int timer;      /* a timer in the set, or -1 */
    bool resolves;  /* the name is being resolved */
    bool naps;      /* no descriptor covers all it waits for: see nap_end */
    bool listed;    /* in the list of links that each wait looks at */
    bool ready;     /* mst_posix_next() has still to return it */
    bool ended;     /* epoll has reported: the peer sends no more */
    short wanted;   /* events that it waits for, or 0 */
    short watched;  /* events that epoll watches for it */
    short reported; /* events that epoll has reported and that no call has used
                     * up since */
    int error;      /* of the last recv() in a wait: receiving has ended */
    int next;       /* in the list of links to look at, or -1 */
    uint32_t round; /* of the last wait that looked at every object */
    uint32_t nap_end;
    size_t position;            /* of its object, at the last wait */
    size_t ahead_at, ahead_len; /* what a wait has read, for the next recv() */
    struct mst_posix_resolution *resolution; /* the resolver's state, or NULL */
    int address;                             /* the last one requested */
    int detail;
    int fds[MST_POSIX_ADDRESSES_MAX];    /* connecting sockets, or -1 */
    int errors[MST_POSIX_ADDRESSES_MAX]; /* of those that failed, or 0 */
    uint32_t begun;                 /* addresses that were tried, a bit each */
    uint32_t next_ms;               /* when to try the next one in parallel */
    struct mst_posix_answer answer; /* the host's addresses */
    unsigned char ahead[2048];      /* several messages; more saves nothing */
};

/* A resolver. resolve is called until it returns true and has filled in the
 * answer. end may be called at any time, more than once. forget is called
 * last. */
struct mst_posix_resolver {
    bool (*resolve)(struct mst_posix *posix, struct mst_posix_link *link,
                    const struct mst_endpoint *endpoint);
    void (*end)(struct mst_posix *posix, struct mst_posix_link *link);
    void (*forget)(struct mst_posix *posix);
};

/* State kept from one wait to the next. */
struct mst_posix_wait_state {
    int watch;      /* epoll descriptor, or -1 */
    int list, told; /* first link to look at; next one to return */
    uint32_t round;
    uint32_t due;  /* earliest deadline of the other links */
    uint64_t rest; /* checksum of the other links */
};

/* The port, owned by the caller. */
struct mst_posix {
    struct mst_posix_link *links;              /* private */
    size_t count;                              /* private; of links */
    struct mst_posix_wait_state state;         /* private */
    const char *token_path;                    /* private */
    const struct mst_posix_resolver *resolver; /* private */
    struct mst_posix_resolution *kept;         /* private */
    /* The last mst_posix_error of the token's file, or 0 as long as there was
     * none, and its errno or 0: see mst_posix_token_file(). */
    int token_error, token_detail;
    /* The address that connections start from, with port 0, for a machine that
     * has several (borrowed). NULL, as after mst_posix_init(): the system
     * chooses. A host's addresses of another family are then unreachable, as
     * are all if it is not an address of this machine. May be changed at any
     * time: it counts for the next connection. */
    const struct sockaddr *source;
    socklen_t source_len;
};

/* Errors of mst_posix_anchors_load() and of the token file. None has a value of
 * enum mst_error. */
enum mst_posix_error {
    MST_POSIX_ERR_FILE = -1000,  /* cannot be read; detail is errno */
    MST_POSIX_ERR_STORE = -1001, /* no trust store in the usual places */
    MST_POSIX_ERR_EMPTY = -1002, /* no certificate in the file */
    /* No certificate could be used. The last one was damaged PEM or cut off
     * (_PEM); malformed (_CERTIFICATE); or of a kind or size that BearSSL does
     * not support (_UNUSABLE). For the last two, detail is BearSSL's code. */
    MST_POSIX_ERR_PEM = -1003,
    MST_POSIX_ERR_CERTIFICATE = -1004,
    MST_POSIX_ERR_UNUSABLE = -1005,
    MST_POSIX_ERR_MEMORY = -1006, /* out of memory */
    /* The token's file, its lock or the file written aside cannot be opened,
     * read or written; detail is errno. */
    MST_POSIX_ERR_TOKEN_FILE = -1007,
    /* No regular file, another user's, or open to others: it is neither loaded
     * nor replaced. */
    MST_POSIX_ERR_TOKEN_ACCESS = -1008,
    /* A file of tokens that was cut off, damaged, or is too large: not
     * loaded. */
    MST_POSIX_ERR_TOKEN_DAMAGED = -1009,
    /* Another client was saving all the time: nothing was saved. */
    MST_POSIX_ERR_TOKEN_BUSY = -1010,
    /* Not a file of tokens: it is neither loaded nor replaced. */
    MST_POSIX_ERR_TOKEN_FOREIGN = -1011
};

/* Describes an mst_posix_error, or any mst_error as mst_strerror() does, in one
 * line of English: a static text, never NULL. */
const char *mst_posix_strerror(int error);

/*
 * Initialises posix and fills port with its functions. links is an array of
 * count links, one for each object on this port. mst_config.link is 0 to count
 * - 1; an object with another number fails with MST_ERR_ARGUMENT at its first
 * attempt. posix and links must not move until mst_posix_free(). Returns 0 or
 * MST_ERR_ARGUMENT.
 */
int mst_posix_init(struct mst_posix *posix, struct mst_posix_link *links,
                   size_t count, struct mst_port *port);

/* Tokens that a file holds. */
#define MST_POSIX_TOKENS_MAX 8

/*
 * Keeps access tokens in this file (borrowed for the port's life) for the next
 * start of the program. Clients may share a file, also those of other threads
 * and processes: for each client_id, auth_url and scope there is a token, up to
 * MST_POSIX_TOKENS_MAX. Beyond, the one that was saved first makes room;
 * expired ones are dropped whenever another is saved. To be called before
 * mst_client_init(). Returns 0 or MST_ERR_ARGUMENT.
 *
 * Only a regular file of the effective user that others can neither read nor
 * write is loaded, and only if it begins as a file of tokens. Anything else at
 * the path is never replaced: no token is kept then. A damaged or empty file of
 * tokens is replaced when the next token is saved. The directory should be one
 * where only this user can write.
 *
 * Saving takes the lock of an empty file next to it, which stays there (.lock
 * after the path), and writes another one first (.new). Where another client
 * holds it, saving waits for some 10 ms and then gives up: the token is used,
 * but not kept for the next start, and one that was refused is tried once more
 * then.
 *
 * No error ends a connection. posix->token_error is the last one, also after
 * the file was repaired. Loading and saving take 38 KB of stack and wipe what
 * they read.
 */
int mst_posix_token_file(struct mst_posix *posix, struct mst_port *port,
                         const char *path);

/*
 * Sleeps until one of these objects can continue, until the next deadline of
 * one, until max_ms have passed or until a signal is caught, whichever comes
 * first. objects has the link of each object that uses this port, and both
 * links of a pair. Returns 1 if an object can continue, 0 if none can,
 * MST_ERR_ARGUMENT for a link number that the port does not have, or
 * MST_ERR_PORT with the reason in errno.
 *
 * On Linux, if there is one link, which only reads, and the wait is 250 ms or
 * more, it waits in recv() itself, which saves a system call per event. The
 * next poll of the object gets the data.
 *
 * After a wait all objects may be polled. With more than a few it is cheaper to
 * poll only those that can continue, each until it has no more events:
 *
 *     mst_posix_wait(&posix, objects, count, 1000);
 *     while ((number = mst_posix_next(&posix)) >= 0) {
 *         while (mst_poll(&clients[number], &event) > 0) { ... }
 *     }
 *
 * The next wait then looks only at these and at other objects that were polled
 * or called in between. With more than MST_POSIX_FEW objects on Linux, the time
 * of a wait hardly depends on their number (it uses an epoll descriptor).
 */
int mst_posix_wait(struct mst_posix *posix,
                   const struct mst_link *const *objects, size_t count,
                   uint32_t max_ms);

/* The number (mst_config.link) of a link that was ready in the last wait, or
 * whose deadline has passed: returns each once, then -1. */
int mst_posix_next(struct mst_posix *posix);

/* For your own event loop: writes what mst_posix_wait() would wait for, at most
 * one entry per object, and returns the number of entries. They are valid until
 * the next poll. POLLOUT is included if mst_posix_wait() has read data that was
 * not polled yet, so that the loop does not sleep. A link number that the port
 * does not have is ignored. On systems other than Linux, or without free
 * descriptors, sleep at most 10 ms while an object resolves or connects. */
size_t mst_posix_pollfds(const struct mst_posix *posix,
                         const struct mst_link *const *objects, size_t count,
                         struct pollfd *fds);

/* Closes all sockets, without waiting. Does nothing if posix is all zero. Call
 * it after the objects are closed or wiped. */
void mst_posix_free(struct mst_posix *posix);

/* ------------------------------------------------------------------------
 * Trust stores
 * ------------------------------------------------------------------------ */

#ifndef MST_NO_TLS

/* Trust anchors, as they go into struct mst_config. */
struct mst_posix_anchors {
    const br_x509_trust_anchor *anchors;
    size_t len;
    /* How many of these lack the CA flag, as a root of X.509 version 1 does:
     * certificates that they issued are not accepted. Such an anchor only
     * serves for the server that uses it as its own certificate. */
    size_t leaves;
    size_t skipped;   /* certificates that were ignored */
    const char *path; /* what was read, borrowed; or NULL */
    int detail;       /* see enum mst_posix_error */
};

/*
 * Reads the certificates of a PEM file; other objects and text are ignored. If
 * path is NULL, reads the file that $SSL_CERT_FILE names or, if that is not
 * set, the system's store. A certificate is ignored and counted if it is
 * damaged, cut off, or has a key that BearSSL does not support (Ed25519, for
 * example). Only name, key and CA flag of an anchor are used, not its dates,
 * its constraints or the strength of its key. A FIFO without a writer is empty.
 * A file of more than 16 MB is an error (EFBIG).
 *
 * Returns 0, with at least one anchor, or an mst_posix_error. In both cases
 * call mst_posix_anchors_free() once no client uses the anchors any more.
 */
int mst_posix_anchors_load(struct mst_posix_anchors *anchors, const char *path);

void mst_posix_anchors_free(struct mst_posix_anchors *anchors);

#endif

/* ------------------------------------------------------------------------
 * Private: for resolvers
 * ------------------------------------------------------------------------ */

void mst_posix_answer_add(struct mst_posix_answer *answer,
                          const struct sockaddr *address);
void mst_posix_answer_end(struct mst_posix_answer *answer, int rc);
void mst_posix_link_wait(struct mst_posix_link *link, const struct pollfd *fds,
                         size_t count, uint32_t ms);

#ifdef __cplusplus
}
#endif

#endif
