/* Reads WebSocket frames (RFC 6455). SPDX-License-Identifier: 0BSD */
#include "frames.h"

#include <string.h>

#define HEAD_MAX 65536
#define ACCEPTED "HTTP/1.1 101 "

enum { CONTINUATION = 0, TEXT = 1, CLOSE = 8 };

enum state { FRAMES_HEAD, FRAMES_OPEN, FRAMES_OVER };

struct frames {
    enum state state;
    GByteArray *data;    /* not decoded yet */
    GByteArray *message; /* the fragments so far of a message */
    bool is_text;        /* the message is text */
    frames_message callback;
    void *user_data;
};

struct frames *frames_new(frames_message message, void *user_data) {
    struct frames *frames = g_new0(struct frames, 1);

    frames->data = g_byte_array_new();
    frames->message = g_byte_array_new();
    frames->callback = message;
    frames->user_data = user_data;
    return frames;
}

void frames_free(struct frames *frames) {
    g_byte_array_unref(frames->data);
    g_byte_array_unref(frames->message);
    g_free(frames);
}

static void restart(struct frames *frames, enum state state) {
    frames->state = state;
    g_byte_array_set_size(frames->data, 0);
    g_byte_array_set_size(frames->message, 0);
}

void frames_reset(struct frames *frames) {
    restart(frames, FRAMES_HEAD);
}

bool frames_open(const struct frames *frames) {
    return frames->state == FRAMES_OPEN;
}

/* Returns the length of the response's head, or 0 if it is incomplete. */
static gsize read_head(struct frames *frames) {
    const char *data = (const char *)frames->data->data;
    const char *end = g_strstr_len(data, frames->data->len, "\r\n\r\n");

    if (!end) {
        frames->state =
            frames->data->len > HEAD_MAX ? FRAMES_OVER : FRAMES_HEAD;
        return 0;
    }
    frames->state =
        g_str_has_prefix(data, ACCEPTED) ? FRAMES_OPEN : FRAMES_OVER;
    return (gsize)(end - data) + 4;
}

static void take_frame(struct frames *frames, uint8_t first,
                       const uint8_t *payload, gsize len) {
    int opcode = first & 0x0F;

    if (opcode == CLOSE) {
        frames->state = FRAMES_OVER; /* no more frames follow */
    }
    if (opcode >= CLOSE) { /* a control frame */
        return;
    }
    if (opcode != CONTINUATION) {
        frames->is_text = opcode == TEXT;
        g_byte_array_set_size(frames->message, 0);
    }
    if (frames->message->len + len > FRAMES_MESSAGE_MAX) {
        frames->state = FRAMES_OVER;
        return;
    }
    g_byte_array_append(frames->message, payload, (guint)len);
    if ((first & 0x80) != 0) {
        if (frames->is_text) {
            frames->callback(frames->user_data,
                             (const char *)frames->message->data,
                             frames->message->len);
        }
        g_byte_array_set_size(frames->message, 0);
    }
}

/* Decodes a frame. Returns its length, or 0 if it is incomplete or invalid. */
static gsize read_frame(struct frames *frames, const uint8_t *data, gsize len) {
    gsize head = 2;
    uint64_t payload;

    if (len < head) {
        return 0;
    }
    payload = data[1] & 0x7F;
    /* Masked or compressed frames are not supported. */
    if ((data[1] & 0x80) != 0 || (data[0] & 0x70) != 0) {
        frames->state = FRAMES_OVER;
        return 0;
    }
    if (payload >= 126) {
        head += payload == 126 ? 2 : 8;
        if (len < head) {
            return 0;
        }
        payload = 0;
        for (gsize i = 2; i < head; i++) {
            payload = payload << 8 | data[i];
        }
    }
    if (payload > FRAMES_MESSAGE_MAX) {
        frames->state = FRAMES_OVER;
        return 0;
    }
    if (len - head < payload) {
        return 0;
    }
    take_frame(frames, data[0], data + head, payload);
    return head + payload;
}

void frames_take(struct frames *frames, const uint8_t *data, gsize len) {
    gsize at = 0;
    gsize used;

    if (frames->state == FRAMES_OVER) {
        return;
    }
    g_byte_array_append(frames->data, data, (guint)len);
    if (frames->state == FRAMES_HEAD) {
        at = read_head(frames);
    }
    while (frames->state == FRAMES_OPEN &&
           (used = read_frame(frames, frames->data->data + at,
                              frames->data->len - at)) > 0) {
        at += used;
    }
    if (frames->state == FRAMES_OVER) {
        restart(frames, FRAMES_OVER);
    } else {
        g_byte_array_remove_range(frames->data, 0, (guint)at);
    }
}
