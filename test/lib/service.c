/*
 * A scripted exchange service: connections and WebSocket framing. See
 * service.h; HTTP is in service_http.c, what is said on the stream in
 * service_stream.c.
 *
 * SPDX-License-Identifier: 0BSD
 */
#include "service.h"

#include "service_private.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- notes ---- */

void service_wrong(struct service *service, const char *format, ...) {
    va_list args;

    if (service->wrong[0] != '\0') {
        return;
    }
    va_start(args, format);
    vsnprintf(service->wrong, sizeof service->wrong, format, args);
    va_end(args);
}

void service_note(struct service *service, struct service_count *count) {
    uint64_t now = mst_mock_elapsed(service->mock);

    if (count->count == 0) {
        count->first_ms = now;
        count->gap_min_ms = UINT64_MAX;
    } else if (now - count->last_ms < count->gap_min_ms) {
        count->gap_min_ms = now - count->last_ms;
    }
    count->last_ms = now;
    count->ms[count->count++ % SERVICE_TIMES] = now;
}

void service_write(struct service *service, int link, const void *data,
                   size_t len) {
    service->sink.write(service->sink.context, link, data, len);
}

/* ---- WebSocket frames ---- */

size_t service_frame_header(unsigned char out[10], unsigned first,
                            uint64_t len) {
    size_t bytes = len < 126 ? 0 : len < 65536 ? 2 : 8;

    out[0] = (unsigned char)first;
    out[1] = (unsigned char)(bytes == 0 ? len : bytes == 2 ? 126 : 127);
    for (size_t i = 0; i < bytes; i++) {
        out[2 + i] = (unsigned char)(len >> 8 * (bytes - 1 - i));
    }
    return 2 + bytes;
}

void service_bytes(struct service *service, const void *data, size_t len) {
    if (service->stream >= 0) {
        service_write(service, service->stream, data, len);
    }
}

void service_link_frame(struct service *service, int link, unsigned flags,
                        unsigned opcode, const void *data, size_t len) {
    static unsigned char frame[SERVICE_BUFFER + 10];
    size_t head = service_frame_header(frame, flags | opcode, len);

    if (len > SERVICE_BUFFER) {
        abort();
    }
    if (len > 0) {
        memcpy(frame + head, data, len);
    }
    service_write(service, link, frame, head + len);
}

void service_frame(struct service *service, unsigned flags, unsigned opcode,
                   const void *data, size_t len) {
    if (service->stream >= 0) {
        service_link_frame(service, service->stream, flags, opcode, data, len);
    }
}

bool service_is_stream(const struct service *service, int link) {
    return service->links[link].kind == SERVICE_STREAM;
}

void service_text(struct service *service, const char *text) {
    service_frame(service, 0x80, 1, text, strlen(text));
}

void service_link_close(struct service *service, int link, unsigned code,
                        const char *reason) {
    unsigned char payload[125] = {(unsigned char)(code >> 8),
                                  (unsigned char)code};
    size_t len = strlen(reason);

    memcpy(payload + 2, reason, len);
    service->links[link].close_sent = true;
    service_link_frame(service, link, 0x80, 8, payload, 2 + len);
}

void service_close(struct service *service, unsigned code, const char *reason) {
    if (service->stream >= 0) {
        service_link_close(service, service->stream, code, reason);
    }
}

void service_end(struct service *service, int error) {
    if (service->stream >= 0) {
        service->sink.end(service->sink.context, service->stream, error);
    }
}

void service_restart(struct service *service, int error) {
    for (int i = 0; i < MST_MOCK_LINKS; i++) {
        if (service->links[i].kind != SERVICE_CLOSED) {
            service->sink.end(service->sink.context, i, error);
        }
    }
}

/* Whether a client may send it (RFC 6455, section 7.4). */
static bool is_close_code(unsigned code) {
    return (code >= 1000 && code <= 1003) || (code >= 1007 && code <= 1014) ||
           (code >= 3000 && code <= 4999);
}

/* A control frame of the client. */
static void frame_control(struct service *service, int number, unsigned opcode,
                          const unsigned char *data, size_t len) {
    struct service_link *link = &service->links[number];

    if (opcode == 9) {
        service_note(service, &service->pings);
        memcpy(service->ping, data, len);
        service->ping[len] = '\0';
        if (!service->rules.no_pong) {
            service_link_frame(service, number, 0x80, 10, data, len);
        }
    } else if (opcode == 10) {
        service_note(service, &service->pongs);
        memcpy(service->pong, data, len);
        service->pong[len] = '\0';
    } else if (opcode == 8) {
        service_note(service, &service->closes);
        link->close_seen = true;
        if (len == 1) {
            service_wrong(service, "a close frame of one byte");
        }
        service->close_code =
            (uint16_t)(len < 2 ? 1005 : data[0] << 8 | data[1]);
        if (len > 0 && !is_close_code(service->close_code)) {
            service_wrong(service, "a close frame with %u",
                          service->close_code);
        }
        if (service->rules.no_echo && !link->close_sent) {
            return;
        }
        if (!link->close_sent) {
            service_link_frame(service, number, 0x80, 8, data, len);
        }
        link->close_sent = true;
        service->sink.end(service->sink.context, number, MST_ERR_EOF);
    } else {
        service_wrong(service, "a frame with opcode %u", opcode);
    }
}

/* Takes a whole client frame from the link's bytes; 0 if there is none. */
static size_t frame_take(struct service *service, int number) {
    struct service_link *link = &service->links[number];
    unsigned char *data = link->data;
    unsigned opcode = data[0] & 15, bytes;
    bool fin = (data[0] & 0x80) != 0;
    uint64_t len = link->len > 1 ? data[1] & 127 : 0;

    bytes = len < 126 ? 0 : len == 126 ? 2 : 8;
    if (link->len < 6 + bytes) {
        return 0;
    }
    if ((data[1] & 0x80) == 0 || (data[0] & 0x70) != 0) {
        service_wrong(service, "a frame unmasked or with reserved bits");
    }
    if (bytes > 0) {
        len = 0;
    }
    for (unsigned i = 0; i < bytes; i++) {
        len = len << 8 | data[2 + i];
    }
    if ((bytes == 2 && len < 126) || (bytes == 8 && len < 65536)) {
        service_wrong(service, "a frame length in too many bytes");
    }
    if (link->len < 6 + bytes + len) {
        return 0;
    }
    unsigned char *payload = data + 6 + bytes;
    for (size_t i = 0; i < len; i++) {
        payload[i] ^= data[2 + bytes + i % 4];
    }
    if (link->close_seen) {
        service_wrong(service, "a frame after the close frame");
    }
    if (opcode >= 8) {
        if (len > 125 || !fin) {
            service_wrong(service, "a control frame too long or in parts");
        } else {
            frame_control(service, number, opcode, payload, (size_t)len);
        }
        return (size_t)(6 + bytes + len);
    }
    if (opcode != (link->message_open ? 0 : 1)) {
        service_wrong(service, "a data frame with opcode %u", opcode);
    }
    memcpy(link->message + link->message_len, payload, (size_t)len);
    link->message_len += (size_t)len;
    link->message_open = !fin;
    if (fin) {
        link->message[link->message_len] = '\0';
        link->message_len = 0;
        service_request(service, number, link->message);
    }
    return (size_t)(6 + bytes + len);
}

/* ---- the peer ---- */

static void peer_opened(void *context, int number,
                        const struct mst_endpoint *endpoint) {
    struct service *service = context;
    struct service_link *link = &service->links[number];

    service_note(service, &service->connects);
    link->kind = SERVICE_HTTP;
    link->endpoint = *endpoint;
    link->len = 0;
    link->message_len = 0;
    link->message_open = false;
    link->close_sent = false;
    link->close_seen = false;
    link->subscriptions_len = 0;
    link->answer_due_ms = UINT64_MAX;
    link->end_ms = UINT64_MAX;
}

static void peer_received(void *context, int number, const void *data,
                          size_t len) {
    struct service *service = context;
    struct service_link *link = &service->links[number];

    if (link->len + len >= sizeof link->data) {
        service_wrong(service, "more bytes than a request may have");
        return;
    }
    memcpy(link->data + link->len, data, len);
    link->len += len;
    while (link->len > 0 && link->kind != SERVICE_CLOSED) {
        size_t used = link->kind == SERVICE_HTTP
                          ? service_http_request(service, number)
                          : frame_take(service, number);
        if (used == 0 || used > link->len) {
            break;
        }
        memmove(link->data, link->data + used, link->len - used);
        link->len -= used;
    }
}

static void peer_closed(void *context, int number) {
    struct service *service = context;

    service->links[number].kind = SERVICE_CLOSED;
    if (service->stream != number) {
        return;
    }
    service->stream = -1;
    for (int i = 0; i < MST_MOCK_LINKS; i++) {
        if (service_is_stream(service, i)) {
            service->stream = i;
        }
    }
    if (service->stream < 0) {
        service->opening[0] = '\0';
        service->feed_due_ms = UINT64_MAX;
        service->beat_due_ms = UINT64_MAX;
    }
}

/* Does what is due on a link. */
static void link_tick(struct service *service, int number, uint64_t now_ms) {
    struct service_link *link = &service->links[number];

    if (link->kind != SERVICE_CLOSED && now_ms >= link->answer_due_ms) {
        link->answer_due_ms = UINT64_MAX;
        if (link->kind == SERVICE_HTTP) {
            service_http_answer(service, number);
        } else {
            service_request_answer(service, number);
        }
    }
    if (service_is_stream(service, number) && now_ms >= link->end_ms) {
        link->end_ms = UINT64_MAX;
        service_link_close(service, number, 1008, "token expired");
    }
}

static void peer_tick(void *context, uint64_t now_ms) {
    struct service *service = context;
    uint64_t next = UINT64_MAX;

    for (int i = 0; i < MST_MOCK_LINKS; i++) {
        link_tick(service, i, now_ms);
    }
    service_feed(service, now_ms);

    const uint64_t feeds[] = {service->feed_due_ms, service->beat_due_ms};
    for (size_t i = 0; i < 2; i++) {
        next = feeds[i] < next ? feeds[i] : next;
    }
    for (int i = 0; i < MST_MOCK_LINKS; i++) {
        const struct service_link *link = &service->links[i];
        if (link->kind != SERVICE_CLOSED) {
            next = link->answer_due_ms < next ? link->answer_due_ms : next;
            next = link->end_ms < next ? link->end_ms : next;
        }
    }
    if (next != UINT64_MAX) {
        uint64_t wait = next > now_ms ? next - now_ms : 1;
        mst_mock_wake(service->mock,
                      wait < UINT32_MAX ? (uint32_t)wait : UINT32_MAX);
    }
}

struct mst_mock_peer service_peer(struct service *service) {
    return (struct mst_mock_peer){.context = service,
                                  .opened = peer_opened,
                                  .received = peer_received,
                                  .closed = peer_closed,
                                  .tick = peer_tick};
}

static size_t sink_write(void *context, int link, const void *data,
                         size_t len) {
    struct service *service = context;
    size_t taken = mst_mock_write(service->mock, link, data, len);

    if (taken < len && mst_mock_room(service->mock, link) == 0 && taken > 0) {
        service_wrong(service, "the test wrote more than the mock holds");
    }
    return taken;
}

static void sink_end(void *context, int link, int error) {
    mst_mock_end(((struct service *)context)->mock, link, error);
}

void service_answer(struct service_script *script, const char *raw,
                    unsigned times, int end) {
    script->raw = raw;
    script->raw_times = times;
    script->raw_end = end;
}

void service_init(struct service *service, struct mst_mock *mock) {
    memset(service, 0, sizeof *service);
    service->mock = mock;
    service->stream = -1;
    service->feed_due_ms = UINT64_MAX;
    service->beat_due_ms = UINT64_MAX;
    service->token_end_ms = UINT64_MAX;
    service->sink = (struct service_sink){service, sink_write, sink_end};
    mock->peer = service_peer(service);
}
