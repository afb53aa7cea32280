/*
 * Playing a recording: see playback.h.
 *
 * SPDX-License-Identifier: 0BSD
 */
#define _GNU_SOURCE /* hsearch_r() */

#include "playback.h"

#include <errno.h>
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "exits.h"
#include "text.h"

/* Markets that a recording may name, at most. */
#define MARKETS_MAX 100000

/* The path of a copy of the recording, and the one that it was copied from. */
static char copy[32];
static const char *copied;

/* Prints an error, which begins with a path. */
static void playback_say(const char *error) {
    const size_t len = strlen(copy);
    char *text = copied && strncmp(error, copy, len) == 0
                     ? text_new("%s%s", copied, error + len)
                     : text_new("%s", error);

    text_say(text);
    free(text);
}

/* Adds a market, unless it is known. Returns false without memory. */
static bool contents_add(struct contents *contents, struct hsearch_data *names,
                         const struct recording_item *item) {
    char *name = strndup((const char *)item->data, item->len);
    ENTRY entry = {.key = name}, *found;
    bool known = name && hsearch_r(entry, FIND, &found, names);

    if (!name || known || contents->count == MARKETS_MAX ||
        !hsearch_r(entry, ENTER, &found, names)) {
        free(name);
        return known;
    }
    contents->names[contents->count] = name;
    contents->objects[contents->count++] = (size_t)item->values[0];
    return true;
}

/* Handles an item about an object, a subscription or the first poll. */
static bool contents_take(struct contents *contents, struct hsearch_data *names,
                          const struct recording_item *item) {
    struct recording_setup setup;
    bool pair = item->kind == RECORDING_PAIR;

    if (item->kind == RECORDING_CLIENT || pair) {
        size_t end;

        if (!recording_setup_read(item->data, item->len, &setup)) {
            return true; /* the player reports it when it gets there */
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
    if ((size_t)item->values[3] > contents->levels) {
        contents->levels = (size_t)item->values[3];
    }
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
        playback_say(recording.error);
    } else if (!room) {
        fputs("mini-stream: not enough memory for all markets\n", stderr);
    }
    contents->status = recording.status;
    contents->failed = recording.failed;
    contents->cut = recording.cut;
    contents->surplus = recording.surplus;
    recording_close(&recording);
    return (rc < 0 && tells) || !room ? EXITS_LOCAL : EXITS_OK;
}

static void contents_free(struct contents *contents) {
    for (size_t i = 0; i < contents->count; ++i) {
        free(contents->names[i]);
    }
    free(contents->names);
    free(contents->objects);
}

static struct mst_book *leader_of(void *context, size_t object,
                                  const char *market) {
    struct playback *p = context;

    for (int i = 0; i < (int)RECORDING_NUMBERS; ++i) {
        struct mst_pair *pair = player_pair(&p->player, i);

        if (pair && (size_t)p->contents.links[i] / 2 == object) {
            return mst_pair_book(pair, market);
        }
    }
    return NULL;
}

/* Makes a board for the recording's markets; the player has the books. */
static int board_make(struct playback *p) {
    const struct contents *contents = &p->contents;
    const struct clients_plan plan = {
        .count = contents->link_count > 0
                     ? (contents->link_count + contents->pairs) /
                           (contents->pairs ? 2 : 1)
                     : 1,
        .pairs = contents->pairs};
    int rc = board_init(&p->board, (const char *const *)contents->names,
                        contents->count, contents->channels, 1, &plan);

    for (size_t i = 0; rc == 0 && i < contents->count; ++i) {
        size_t link = (size_t)contents->links[contents->objects[i]];

        p->board.markets[i].object = contents->pairs ? link / 2 : link;
    }
    p->board.leader = leader_of;
    p->board.leader_context = p;
    return rc;
}

/* A recording is read twice: what is not a regular file, such as a pipe, is
 * copied to one first. */
static const char *input_path(const char *path) {
    const bool standard = strcmp(path, "/dev/stdin") == 0;
    struct stat input;
    FILE *from, *file;
    char bytes[65536];
    size_t len;

    if (stat(path, &input) != 0 || S_ISREG(input.st_mode)) {
        return path; /* recording_open() reports an error */
    }
    file = tmpfile(); /* stays open */
    from = standard ? stdin : fopen(path, "rbe");
    while (file && from && (len = fread(bytes, 1, sizeof bytes, from)) > 0 &&
           fwrite(bytes, 1, len, file) == len) {}
    if (!file || !from || ferror(from) || !feof(from) || fflush(file) != 0) {
        fprintf(stderr, "mini-stream: %s: %s\n",
                standard ? "standard input" : path, strerror(errno));
        return NULL;
    }
    if (standard && dup2(fileno(file), STDIN_FILENO) == STDIN_FILENO) {
        return path; /* the name that errors show */
    }
    fclose(from);
    snprintf(copy, sizeof copy, "/dev/fd/%d", fileno(file));
    copied = path;
    return copy;
}

int playback_prepare(struct playback *p, const char *path) {
    p->path = input_path(strcmp(path, "-") == 0 ? "/dev/stdin" : path);
    return p->path ? EXITS_OK : EXITS_LOCAL;
}

int playback_begin(struct playback *p) {
    int result = contents_read(&p->contents, p->path, NULL);

    if (result == EXITS_OK && board_make(p) != 0) {
        fputs("mini-stream: out of memory\n", stderr);
        result = EXITS_LOCAL;
    }
    return result;
}

int playback_open(struct playback *p) {
    if (player_open(&p->player, p->path) != 0) {
        playback_say(p->player.replay.error);
        return EXITS_LOCAL;
    }
    p->player.replay.then = text_trace;
    return EXITS_OK;
}

bool playback_due_ns(const struct playback *p, uint64_t *ns) {
    const struct replay *replay = &p->player.replay;

    *ns = (uint64_t)replay->next.values[1];
    return replay->has_next && replay->next.kind == RECORDING_POLL;
}

int playback_step(struct playback *p, struct player_step *step) {
    const struct replay *replay = &p->player.replay;
    int rc;

    do {
        if (p->last) {
            return 0; /* the objects with their counts still exist */
        }
        rc = player_step(&p->player, step);
        p->closing |= rc == 1 && step->call->kind == RECORDING_CLOSE;
        p->last = replay->has_next && replay->next.kind == RECORDING_WIPE;
    } while (rc == 1 && step->call->kind != RECORDING_POLL);
    return rc;
}

bool playback_take(struct playback *p, struct mst_event *event, uint64_t now_ns,
                   struct board_market **market) {
    const struct replay *replay = &p->player.replay;
    bool ends = event->type == MST_EVENT_CLOSED && p->contents.failed;

    if (ends && event->as.failure.error != MST_OK && replay->has_next &&
        replay->next.kind == RECORDING_CLOSE) {
        event->as.failure.retry_ms = 0;
    }
    *market = board_take(&p->board, event, now_ns);
    return !ends || event->as.failure.error != MST_OK || !p->closing;
}

int playback_result(const struct playback *p, int rc) {
    const struct replay *replay = &p->player.replay;

    if (rc < 0) {
        playback_say(replay->error);
        return replay->differs ? EXITS_UNMET : EXITS_LOCAL;
    }
    if (rc == 0 && (p->contents.cut || p->contents.surplus)) {
        char *text =
            text_new("%s: %s", p->path,
                     p->contents.cut ? "the recording was cut off here"
                                     : "damaged: data follows a file's end");
        playback_say(text);
        free(text);
        return EXITS_LOCAL;
    }
    return EXITS_OK;
}

size_t playback_links(const struct playback *p,
                      const struct mst_link *links[PLAYBACK_LINKS]) {
    size_t count = 0;

    for (int i = 0; i < (int)RECORDING_NUMBERS; ++i) {
        struct mst_client *client = player_client(&p->player, i);
        struct mst_pair *pair = player_pair(&p->player, i);

        if (client) {
            links[count++] = &client->link;
        } else if (pair) {
            links[count++] = &pair->clients[0].link;
            links[count++] = &pair->clients[1].link;
        }
    }
    return count;
}

void playback_end(struct playback *p) {
    player_close(&p->player);
    board_free(&p->board);
    contents_free(&p->contents);
}
