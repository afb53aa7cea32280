/*
 * What a recording is of.
 *
 * SPDX-License-Identifier: 0BSD
 */
#define _GNU_SOURCE /* hsearch_r() */

#include "contents.h"

#include <search.h>
#include <stdlib.h>
#include <string.h>

#include "exits.h"
#include "text.h"

/* Markets that a recording may name. */
#define MARKETS_MAX 100000

/* Takes a market in, unless it is there. */
static bool contents_add(struct contents *contents, struct hsearch_data *names,
                         const struct recording_item *item) {
    char *name = strndup((const char *)item->data, item->len);
    ENTRY entry = {.key = name}, *found;

    if (!name) {
        return false;
    }
    if (hsearch_r(entry, FIND, &found, names)) {
        free(name);
        return true;
    }
    if (contents->count == MARKETS_MAX ||
        !hsearch_r(entry, ENTER, &found, names)) {
        free(name);
        return false;
    }
    contents->names[contents->count] = name;
    contents->objects[contents->count++] = (size_t)item->values[0];
    return true;
}

/* Takes in what is said of an object or of a subscription. */
static bool contents_take(struct contents *contents, struct hsearch_data *names,
                          const struct recording_item *item) {
    struct recording_setup setup;
    bool pair = item->kind == RECORDING_PAIR;

    if (item->kind == RECORDING_CLIENT || pair) {
        size_t end;

        if (!recording_setup_read(item->data, item->len, &setup)) {
            return true; /* the player says so in its place */
        }
        end = (size_t)setup.config.link + (pair ? 2 : 1);
        contents->links[item->values[0]] = setup.config.link;
        contents->pairs |= pair;
        contents->link_count =
            end > contents->link_count ? end : contents->link_count;
        return true;
    }
    if (item->kind == RECORDING_POLL && contents->first_ns == 0) {
        contents->first_ns = (uint64_t)item->values[1];
        contents->wall_ns = item->values[2];
    }
    if (item->kind != RECORDING_SUBSCRIBE) {
        return true;
    }
    contents->channels |= 1u << item->values[1];
    return item->len == 0 || contents_add(contents, names, item);
}

int contents_read(struct contents *contents, const char *path,
                  struct raw *raw) {
    static struct recording recording;
    struct hsearch_data names = {0};
    struct recording_item item;
    int rc = recording_open(&recording, path);
    bool tells = raw || rc != 0;
    bool room = hcreate_r(2 * MARKETS_MAX, &names) != 0;

    contents->names = calloc(MARKETS_MAX, sizeof *contents->names);
    contents->objects = calloc(MARKETS_MAX, sizeof *contents->objects);
    room = room && contents->names && contents->objects;
    while (rc == 0 && room && !(raw && ferror(raw->file)) &&
           (rc = recording_next(&recording, &item)) == 1) {
        room = contents_take(contents, &names, &item);
        if (raw && (item.kind == RECORDING_OPEN || item.kind == RECORDING_IN)) {
            struct mst_trace trace = {.kind = item.kind == RECORDING_OPEN
                                                  ? MST_TRACE_OPEN
                                                  : MST_TRACE_IN,
                                      .link = (int)item.values[0],
                                      .data = item.data,
                                      .len = item.len};
            raw_trace(raw, &trace);
        }
        rc = 0;
    }
    hdestroy_r(&names);
    if (rc < 0 && tells) {
        text_say(recording.error);
    } else if (!room) {
        fputs("mini-stream: not enough memory for all markets\n", stderr);
    }
    contents->status = recording.status;
    contents->failed = recording.failed;
    contents->cut = recording.cut;
    recording_close(&recording);
    return (rc < 0 && tells) || !room ? EXITS_LOCAL : EXITS_OK;
}

void contents_free(struct contents *contents) {
    for (size_t i = 0; i < contents->count; ++i) {
        free(contents->names[i]);
    }
    free(contents->names);
    free(contents->objects);
}
