/*
 * A recording that is played, with the board of its markets: for `replay` and
 * `watch --replay`.
 *
 * SPDX-License-Identifier: 0BSD
 */
#ifndef PLAYBACK_H
#define PLAYBACK_H

#include "board.h"
#include "player.h"
#include "out.h"

/* What a recording is of, found by reading it once. */
struct contents {
    char **names; /* of markets, each once */
    size_t *objects;
    size_t count;
    unsigned channels;
    bool pairs;
    int links[RECORDING_NUMBERS]; /* of objects: the first one's number */
    size_t link_count;            /* the highest number, and one more */
    int status;                   /* the run's, if it was ended in order */
    bool failed;                  /* the run has */
    bool cut;                     /* the recording has no end */
    uint64_t first_ns; /* monotonic, of the first poll; 0: there is none */
    int64_t wall_ns;   /* the wall clock less the monotonic one, then */
};

/* Reads a whole recording; raw: and puts out its messages. Returns 0 or an exit
 * code, with a line on standard error. Without raw, what is damaged further on
 * is left for the replay to tell in its place, once all before it was shown. */
int contents_read(struct contents *contents, const char *path, struct raw *raw);

#define PLAYBACK_LINKS (2 * RECORDING_NUMBERS)

/* Zeroed at first. */
struct playback {
    const char *path;
    struct contents contents;
    struct board board; /* its books are the player's */
    struct player player;
    bool closing; /* the run has asked the clients to close */
    bool last;    /* the recorded run ends here */
};

/* Takes a path, or "-" for standard input. Finds the markets, and opens the
 * recording. Return an exit code, with a line on standard error. */
int playback_prepare(struct playback *p, const char *path);
int playback_begin(struct playback *p);
int playback_open(struct playback *p);

/* Whether the next call is a poll, and when it was: monotonic. */
bool playback_due_ns(const struct playback *p, uint64_t *ns);
/* Repeats calls up to the next poll: 1 with what came of it, as player_step();
 * 0 at the end; -1. */
int playback_step(struct playback *p, struct player_step *step);
/* Takes an event in as the run did. Where it has failed, what has ended it is
 * told without a next attempt. Returns false for one that was not told. */
bool playback_take(struct playback *p, struct mst_event *event, uint64_t now_ns,
                   struct board_market **market);
/* The exit code for what playback_step() returned last, with a line. */
int playback_result(const struct playback *p, int rc);

/* The links of all objects that there are. Returns how many. */
size_t playback_links(const struct playback *p,
                      const struct mst_link *links[PLAYBACK_LINKS]);
void playback_end(struct playback *p);

#endif
