/*
 * Playing a recording, with the board of its markets: for `replay` and `watch
 * --replay`.
 *
 * SPDX-License-Identifier: 0BSD
 */
#ifndef PLAYBACK_H
#define PLAYBACK_H

#include "board.h"
#include "player.h"
#include "out.h"

/* The contents of a recording, found by reading it once. */
struct contents {
    char **names; /* of the markets */
    size_t *objects;
    size_t count;
    unsigned channels;
    size_t levels; /* kept of each side of a book, at most; 0: no books */
    bool pairs;
    int links[RECORDING_NUMBERS]; /* number of each object's first link */
    size_t link_count;            /* highest link number + 1 */
    int status;                   /* exit status of the run */
    bool failed;                  /* the run had failed */
    bool cut, surplus;            /* as in struct recording */
    uint64_t first_ns;            /* monotonic, of the first poll; 0: none */
    int64_t wall_ns;              /* wall clock minus monotonic clock, then */
};

/* Reads a whole recording, and writes its messages to raw unless that is NULL.
 * Returns 0 or an exit code, with a line on standard error. Without raw, the
 * replay reports later damage, after it has shown everything before. */
int contents_read(struct contents *contents, const char *path, struct raw *raw);

#define PLAYBACK_LINKS (2 * RECORDING_NUMBERS)

/* Zeroed at first. */
struct playback {
    const char *path;
    struct contents contents;
    struct board board; /* its books are the player's */
    struct player player;
    bool closing; /* the run has closed the clients */
    bool last;    /* the recorded run ends here */
};

/* Take a path, or "-" for standard input; find the markets; open the recording.
 * Each returns an exit code, with a line on standard error. */
int playback_prepare(struct playback *p, const char *path);
int playback_begin(struct playback *p);
int playback_open(struct playback *p);

/* True if the next call is a poll; *ns is its monotonic time. */
bool playback_due_ns(const struct playback *p, uint64_t *ns);
/* Repeats calls up to the next poll. Returns 1 with its result, as
 * player_step(); 0 at the end; or -1. */
int playback_step(struct playback *p, struct player_step *step);
/* Updates the board with an event, as the run did. An error that ended the run
 * has no next attempt. Returns false if the run did not show the event. */
bool playback_take(struct playback *p, struct mst_event *event, uint64_t now_ns,
                   struct board_market **market);
/* Returns the exit code after playback_step() returned rc, with a line. */
int playback_result(const struct playback *p, int rc);

/* Finds the links of all objects. Returns how many. */
size_t playback_links(const struct playback *p,
                      const struct mst_link *links[PLAYBACK_LINKS]);
void playback_end(struct playback *p);

#endif
