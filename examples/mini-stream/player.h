/*
 * Plays a recording: makes the recorded objects again and repeats each recorded
 * call, so that the same events come.
 *
 * SPDX-License-Identifier: 0BSD
 */
#ifndef PLAYER_H
#define PLAYER_H

#include "replay_port.h"

/* Bytes of objects, memory and books, at most: 4 GiB, or 1 GiB with 32-bit
 * addresses. */
#define PLAYER_BYTES ((size_t)1 << (SIZE_MAX > UINT32_MAX ? 32 : 30))

struct player_object;
struct player_book;
struct player {
    struct replay replay;
    struct mst_port port;
    struct player_object *objects[RECORDING_NUMBERS];
    struct mst_access *accesses[RECORDING_NUMBERS];
    struct player_book *books;
    size_t bytes;
};

/* A call that was repeated. */
struct player_step {
    const struct recording_item *call; /* as recorded */
    uint64_t monotonic_ns;             /* of the last poll, as recorded */
    int64_t unix_ns;
    bool has_event;
    struct mst_event event; /* of a poll */
};

/* Opens a recording. Returns 0, or -1 with a text in p->replay.error. */
int player_open(struct player *p, const char *path);
/* Repeats the next call. Returns 1 with its result, valid until the next call;
 * 0 at the end; or -1 with a text in p->replay.error. */
int player_step(struct player *p, struct player_step *step);
void player_close(struct player *p);

/* A client or a pair by its number; NULL if it is the other. */
struct mst_client *player_client(const struct player *p, int object);
struct mst_pair *player_pair(const struct player *p, int object);

#endif
