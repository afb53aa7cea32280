/*
 * Reads the body of a token response as a link does. A program that includes
 * this has the library in it.
 *
 * SPDX-License-Identifier: 0BSD
 */
#ifndef REPLIES_H
#define REPLIES_H

#include <string.h>

/* The link, and the token that it fetches. */
static struct mst_link reply_link;
static struct mst_token reply_token;
static char reply_room[MST_TOKEN_ROOM];

/* Reads a response with this status, step bytes at a time. Returns 0 or an
 * error. */
static int reply_read(int status, const uint8_t *text, size_t len, size_t step,
                      struct link_reply *r) {
    int rc = 0;

    memset(&reply_link, 0, sizeof reply_link);
    memset(reply_room, 0, sizeof reply_room);
    memset(r, 0, sizeof *r);
    reply_token.scope = "";
    reply_link.http.status = (uint16_t)status;
    reply_link.reply.token = &reply_token;
    reply_link.reply.text = reply_room;
    for (size_t at = 0; at < len && rc == 0; at += step) {
        rc = link_reply_sink(&reply_link, text + at,
                             len - at < step ? len - at : step);
    }
    return rc == 0 ? link_reply_read(&reply_link, r) : rc;
}

#endif
