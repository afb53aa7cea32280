/*
 * What a recording is of.
 *
 * SPDX-License-Identifier: 0BSD
 */
#ifndef CONTENTS_H
#define CONTENTS_H

#include "raw.h"
#include "recording.h"

/* Found by reading it once. */
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
void contents_free(struct contents *contents);

#endif
