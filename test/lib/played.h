/*
 * Records objects on the mock port, replays the recording and compares their
 * events.
 *
 * SPDX-License-Identifier: 0BSD
 */
#ifndef PLAYED_H
#define PLAYED_H

#include "mst_mock.h"
#include "player.h"
#include "recorder.h"
#include "support.h"

#define PLAYED_OBJECTS 4

/* One of the two is NULL. */
struct played_object {
    struct mst_client *client;
    struct mst_pair *pair;
};
struct played {
    struct recorder recorder;
    struct mst_mock *mock;
    char folder[64], path[96];
    struct played_object objects[PLAYED_OBJECTS];
    int count;
    struct text events; /* of all objects */
    uint64_t counts[MST_EVENT_UNKNOWN + 1];
    void (*on_event)(const struct mst_event *event); /* or NULL */
};
extern struct played played;

/* Starts to record, in a new folder. */
void played_begin(struct mst_mock *mock, uint64_t rotate_bytes);
/* Records and starts the session's client, or its pair; subscribes, with books
 * of the session; starts to close the client. */
void played_start(void);
void played_start_pair(uint32_t rotate_ms);
void played_wish(enum mst_channel channel, const char *market);
void played_close(void);
/* Polls all objects as a program would, for this time. */
void played_run(uint32_t ms);
/* Ends the recording; replays it, and expects the same events. */
void played_compare(const char *name);
/* Replays a recording and writes its events, like player_step(). */
int played_play(const char *path, struct text *events, bool *cut, char *error,
                size_t error_len);
/* Removes the folder. */
void played_end(void);

/* Writes all contents of an event, as lines. */
void played_tell(struct text *text, const struct mst_event *event);

#endif
