/*
 * A token reply's body, read as a link does. A program of its own has the
 * library in it.
 *
 * SPDX-License-Identifier: 0BSD
 */
#ifndef REPLIES_H
#define REPLIES_H

#include <stdbool.h>
#include <string.h>

/* Whether it is taken, when so many bytes of it come at a time. */
static bool reply_reads(const uint8_t *text, size_t len, size_t step) {
    static struct mst_link link;
    static struct mst_token token;
    static char room[MST_TOKEN_ROOM];
    int rc = 0;

    memset(&link, 0, sizeof link);
    token.text = room;
    token.scope = "";
    link.http.status = 200;
    link.grant.token = &token;
    link.reply.field = REPLY_OTHER;
    json_init(&link.reply.json);
    for (size_t at = 0; at < len && rc == 0; at += step) {
        rc = link_reply_read(&link, text + at,
                             len - at < step ? len - at : step);
    }
    return rc == 0 && json_whole(&link.reply.json);
}

#endif
