/*
 * Port of mini_stream for POSIX systems: sockets, name resolution, clocks,
 * entropy, a file for access tokens, a loader for trust stores. The contract is
 * in ../README.md.
 *
 * Needs POSIX threads (-pthread): a name is resolved by the C library in a
 * thread of its own, so that no call here ever waits for a name server.
 * ../cares needs no thread for it.
 *
 * A host's addresses are tried as RFC 8305 has it: in the resolver's order
 * (RFC 6724), with families in turn, and where one has not answered within
 * 250 ms the next one as well.
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

/* Addresses kept of one host; further ones are left out. */
#define MST_POSIX_ADDRESSES_MAX 16

/* Up to so many objects a wait asks poll(), which keeps nothing. */
#define MST_POSIX_FEW 8

/* The members of these are private. */

union mst_posix_address {
    struct sockaddr any;
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
};

struct mst_posix;
struct mst_posix_resolution; /* c-ares' */

struct mst_posix_answer {
    int error, detail, count;
    union mst_posix_address addresses[MST_POSIX_ADDRESSES_MAX];
};

/* One link: a socket and what belongs to it; 2.7 KB. */
struct mst_posix_link {
    int fd;         /* the socket once it is connected, or -1 */
    int set;        /* stands for what the link waits for until then, or -1 */
    int timer;      /* in the set, or -1 */
    bool resolves;  /* the resolver was asked, and has not answered yet */
    bool naps;      /* nothing stands for all of it: look at nap_end */
    bool listed;    /* it is looked at in each wait */
    bool ready;     /* its object can go on, and was not told of yet */
    bool ended;     /* the system's list has said: the peer sends no more */
    short wanted;   /* events that are waited for, or 0 */
    short watched;  /* those that the system's list has for it */
    short reported; /* those that the list has said have come, and no call has
                     * found used up since */
    int error;      /* that recv() met: the end of it */
    int next;       /* in the list of those that are looked at, or -1 */
    uint32_t round; /* of the last wait that looked at every object */
    uint32_t nap_end;
    size_t position;            /* of its object, at the last wait */
    size_t ahead_at, ahead_len; /* of what a wait has read, not handed out */
    struct mst_posix_resolution *resolution; /* the resolver's own, or NULL */
    int address;                             /* that was asked for last */
    int detail;
    int fds[MST_POSIX_ADDRESSES_MAX];    /* sockets that connect, or -1 */
    int errors[MST_POSIX_ADDRESSES_MAX]; /* of those that could not, or 0 */
    uint32_t begun;                 /* those that were tried, a bit for each */
    uint32_t next_ms;               /* when the next one is tried as well */
    struct mst_posix_answer answer; /* what the host name led to */
    unsigned char ahead[2048];      /* several messages; more saves nothing */
};

/* How names are resolved: resolve is called until it is true, and has filled
 * in the answer then; end may come at any time, and more than once; forget
 * comes last. */
struct mst_posix_resolver {
    bool (*resolve)(struct mst_posix *posix, struct mst_posix_link *link,
                    const struct mst_endpoint *endpoint);
    void (*end)(struct mst_posix *posix, struct mst_posix_link *link);
    void (*forget)(struct mst_posix *posix);
};

/* What a wait keeps for the next one. */
struct mst_posix_wait_state {
    int watch;      /* the system's list of descriptors, or -1 */
    int list, told; /* first of the links that are looked at; next to tell */
    uint32_t round;
    uint32_t due;  /* when the first deadline of the others may come */
    uint64_t rest; /* the others, as they were looked at */
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
};

/* Errors of mst_posix_anchors_load() and of the token's file, apart from all
 * of enum mst_error. */
enum mst_posix_error {
    MST_POSIX_ERR_FILE = -1000,  /* cannot be read; detail is errno */
    MST_POSIX_ERR_STORE = -1001, /* no trust store where systems have one */
    MST_POSIX_ERR_EMPTY = -1002, /* no certificate in it */
    /* No certificate could be used, and the last one was damaged PEM or cut off;
     * malformed; or of a kind or size that BearSSL does not know. Of the last
     * two, detail is BearSSL's code. */
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
    /* A file of tokens that was cut off, damaged, or is too large: not loaded. */
    MST_POSIX_ERR_TOKEN_DAMAGED = -1009,
    /* Another client was saving all the time: nothing was saved. */
    MST_POSIX_ERR_TOKEN_BUSY = -1010,
    /* Not a file of tokens: it is neither loaded nor replaced. */
    MST_POSIX_ERR_TOKEN_FOREIGN = -1011
};

/* One line of English for an mst_posix_error, and for any mst_error as
 * mst_strerror() has it; never NULL, static. */
const char *mst_posix_strerror(int error);

/*
 * Prepares posix and fills port with its functions. links is an array of count
 * links, one for each object on this port: mst_config.link counts from 0 to
 * count - 1, and an object with another number fails with MST_ERR_ARGUMENT at
 * its first attempt. posix and links must stay where they are until
 * mst_posix_free(). Returns 0 or MST_ERR_ARGUMENT.
 */
int mst_posix_init(struct mst_posix *posix, struct mst_posix_link *links,
                   size_t count, struct mst_port *port);

/* Tokens that a file holds. */
#define MST_POSIX_TOKENS_MAX 8

/*
 * Keeps access tokens in this file (borrowed for the port's life) for the next
 * start of the program. Clients may share a file, also those of other threads
 * and processes: for each client_id, auth_url and scope there is a token, up
 * to MST_POSIX_TOKENS_MAX. Beyond, the one that was saved first makes room;
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
 * after the path), and writes another one first (.new). Where another client holds it, saving waits for some 10 ms
 * and then gives up: the token is used, but not kept for the next start, and
 * one that was refused is tried once more then.
 *
 * No error ends a connection; posix->token_error tells the last one, also
 * where the file has been mended since. Loading and saving take 38 KB of stack
 * and wipe what they read.
 */
int mst_posix_token_file(struct mst_posix *posix, struct mst_port *port,
                         const char *path);

/*
 * Sleeps until a link of one of these objects is ready for what it waits for,
 * until the next deadline of one, until max_ms have passed or until a signal
 * was caught, whichever is first. objects has each object that uses this port,
 * a pair's two, each by the link that it begins with. Returns 1 when an object
 * can go on, 0 when none can, MST_ERR_ARGUMENT for a link number that the port
 * does not have, or MST_ERR_PORT with the reason in errno.
 *
 * On Linux, one link that is read from and nothing else is waited for inside
 * of recv(), if there are 250 ms or more to wait: an event comes sooner by a
 * call of the system. What is read so is kept for the next poll of its object.
 *
 * After a wait all objects may be polled. With more than a few it is cheaper
 * to poll those that can go on, each until it has no more events:
 *
 *     mst_posix_wait(&posix, objects, count, 1000);
 *     while ((number = mst_posix_next(&posix)) >= 0) {
 *         while (mst_poll(&clients[number], &event) > 0) { ... }
 *     }
 *
 * The wait then looks only at these and at what else was polled or called in
 * between; with more than MST_POSIX_FEW objects on Linux its time hardly
 * depends on their number (it keeps a descriptor of its own for that).
 */
int mst_posix_wait(struct mst_posix *posix,
                   const struct mst_link *const *objects, size_t count,
                   uint32_t max_ms);

/* The number (mst_config.link) of a link that the last wait found ready, or
 * whose deadline has come: each once, then -1. */
int mst_posix_next(struct mst_posix *posix);

/* For a loop of one's own: writes what mst_posix_wait() would wait for, at most
 * one entry for each object, and returns how many these are. They hold until
 * the next poll. Where mst_posix_wait() has read and no poll has followed,
 * POLLOUT is among them: there is mostly room. A link number that the port does
 * not have is passed over. On other systems than Linux, and where descriptors
 * have run out, sleep for 10 ms at most while an object resolves or
 * connects. */
size_t mst_posix_pollfds(const struct mst_posix *posix,
                         const struct mst_link *const *objects, size_t count,
                         struct pollfd *fds);

/* Closes what is open, without waiting; harmless where posix is all zero. To be
 * called after the objects are closed or wiped. */
void mst_posix_free(struct mst_posix *posix);

/* ------------------------------------------------------------------------
 * Trust stores
 * ------------------------------------------------------------------------ */

#ifndef MST_NO_TLS

/* Trust anchors, as they go into struct mst_config. */
struct mst_posix_anchors {
    const br_x509_trust_anchor *anchors;
    size_t len;
    /* Of these, those without the CA flag, such as a root of X.509 version 1:
     * nothing that they have issued is taken. One is good for the server whose
     * own certificate it is. */
    size_t leaves;
    size_t skipped;   /* certificates that were left out */
    const char *path; /* what was read, borrowed; or NULL */
    int detail;       /* see enum mst_posix_error */
};

/*
 * Reads the certificates of a PEM file; other objects and text in it are
 * passed over. NULL reads the file that $SSL_CERT_FILE names or, where that
 * is not set, the system's store. A certificate that is damaged, is cut off, or
 * has a key of a kind or size that BearSSL does not know (Ed25519) is left out
 * and counted. Of an anchor only name, key and CA flag are known: its own dates
 * and constraints are not looked at, nor whether its key is strong enough. A
 * FIFO without a writer is empty; of a file of more than 16 MB nothing is taken
 * (EFBIG).
 *
 * Returns 0, with at least one anchor, or an mst_posix_error. Either way
 * mst_posix_anchors_free() may follow; it must, once no client uses the
 * anchors any more.
 */
int mst_posix_anchors_load(struct mst_posix_anchors *anchors, const char *path);

void mst_posix_anchors_free(struct mst_posix_anchors *anchors);

#endif

/* ------------------------------------------------------------------------
 * Private: what resolvers call
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
