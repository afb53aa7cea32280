/*
 * What the files of a replay share: the items of the call at hand, and the
 * answers of the token endpoint. See replay_port.h.
 *
 * SPDX-License-Identifier: 0BSD
 */
#ifndef REPLAY_PRIVATE_H
#define REPLAY_PRIVATE_H

#include "replay_port.h"

/* Ends the replay for a difference; the first one is kept. */
void replay_differ(struct replay *r, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* An item as text. */
void replay_item_name(char out[200], enum recording_kind kind,
                      const int64_t *values, const uint8_t *data, size_t len);

/* Is it one of USE_TOLD? */
bool replay_is_told(enum recording_kind kind);

/* What of a link is used up in the call at hand. */
struct replay_line *replay_line_of(struct replay *r, int link);

/* The next item of this use on a link, or NULL; it is used up. */
struct replay_item *replay_peek(struct replay *r, int link,
                                enum replay_use use);
void replay_used(struct replay *r, int link, enum replay_use use);

/* Has all that the library told or sent before an item happened? */
bool replay_is_next(struct replay *r, int link, const struct replay_item *item);

/* The next item of a kind on any link from *at on, or NULL; it is used up. */
const struct replay_item *replay_take(struct replay *r, size_t *at,
                                      enum recording_kind kind);

/* Reads the items of the call at hand, up to the next call. Returns 0, or -1
 * with r->error; replay_read_fail() takes that of the recording. */
int replay_call_read(struct replay *r);
int replay_read_fail(struct replay *r);

/* Makes up the token endpoint's answer, once the recording says what became of
 * it. */
void replay_reply(struct replay *r, int link);

#endif
