/*
 * The tests' service: counts, frames and connections. service_http.c has HTTP,
 * service_stream.c the messages of the stream. See service.h.
 *
 * SPDX-License-Identifier: 0BSD
 */
#include "service_private.h"

#include <stdarg.h>

/* ---- counts ---- */

void service_wrong(struct service *service, const char *format, ...) {
    va_list args;
    char what[256];

    va_start(args, format);
    vsnprintf(what, sizeof what, format, args);
    va_end(args);
    mst_mock_service_wrong(&service->core, what);
}

void service_note(struct service *service, struct service_count *count) {
    uint64_t now = mst_mock_elapsed(service->core.mock);

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
    service->core.sink.write(service->core.sink.context, link, data, len);
}

/* ---- WebSocket frames ---- */

void service_bytes(struct service *service, const void *data, size_t len) {
    if (service->core.stream >= 0) {
        service_write(service, service->core.stream, data, len);
    }
}

void service_link_frame(struct service *service, int link, unsigned flags,
                        unsigned opcode, const void *data, size_t len) {
    mst_mock_service_frame(&service->core, link, flags | opcode, data, len);
}

void service_frame(struct service *service, unsigned flags, unsigned opcode,
                   const void *data, size_t len) {
    if (service->core.stream >= 0) {
        service_link_frame(service, service->core.stream, flags, opcode, data,
                           len);
    }
}

bool service_is_stream(const struct service *service, int link) {
    return service->core.links[link].kind == 2;
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
    service->core.links[link].close_sent = true;
    service_link_frame(service, link, 0x80, 8, payload, 2 + len);
}

void service_close(struct service *service, unsigned code, const char *reason) {
    if (service->core.stream >= 0) {
        service_link_close(service, service->core.stream, code, reason);
    }
}

void service_link_end(struct service *service, int link, int error) {
    service->core.sink.end(service->core.sink.context, link, error);
}

void service_end(struct service *service, int error) {
    if (service->core.stream >= 0) {
        service_link_end(service, service->core.stream, error);
    }
}

void service_restart(struct service *service, int error) {
    for (int i = 0; i < MST_MOCK_LINKS; i++) {
        if (service->core.links[i].kind != 0) {
            service_link_end(service, i, error);
        }
    }
}

/* True if a client may send this code (RFC 6455, section 7.4). */
static bool is_close_code(unsigned code) {
    return (code >= 1000 && code <= 1003) || (code >= 1007 && code <= 1014) ||
           (code >= 3000 && code <= 4999);
}

/* Handles a control frame of the client. Returns true if the mock's service
 * must not answer it. */
static bool service_control(void *context, int link, unsigned opcode,
                            const void *data, size_t len) {
    struct service *service = context;
    const unsigned char *bytes = data;

    if (opcode == 9) {
        service_note(service, &service->pings);
        memcpy(service->ping, data, len);
        service->ping[len] = '\0';
        return service->rules.no_pong;
    }
    if (opcode == 10) {
        service_note(service, &service->pongs);
        memcpy(service->pong, data, len);
        service->pong[len] = '\0';
        return true;
    }
    service_note(service, &service->closes);
    if (len == 1) {
        service_wrong(service, "a close frame of one byte");
    }
    service->close_code = (uint16_t)(len < 2 ? 1005 : bytes[0] << 8 | bytes[1]);
    if (len > 0 && !is_close_code(service->close_code)) {
        service_wrong(service, "a close frame with %u", service->close_code);
    }
    return service->rules.no_echo && !service->core.links[link].close_sent;
}

/* ---- the peer ---- */

static void peer_opened(void *context, int number,
                        const struct mst_endpoint *endpoint) {
    struct service *service = context;
    struct service_link *link = &service->links[number];

    mst_mock_service_peer(&service->core).opened(context, number, endpoint);
    service_note(service, &service->connects);
    link->endpoint = *endpoint;
    link->answer_due_ms = UINT64_MAX;
    link->end_ms = UINT64_MAX;
}

static void peer_closed(void *context, int number) {
    struct service *service = context;

    mst_mock_service_peer(&service->core).closed(context, number);
    if (service->core.stream < 0) {
        service->opening[0] = '\0';
        service->feed_due_ms = UINT64_MAX;
        service->beat_due_ms = UINT64_MAX;
    }
}

/* Sends due answers on a link, and closes it when its token expires. */
static void link_tick(struct service *service, int number, uint64_t now_ms) {
    struct service_link *link = &service->links[number];

    if (service->core.links[number].kind != 0 &&
        now_ms >= link->answer_due_ms) {
        link->answer_due_ms = UINT64_MAX;
        if (service_is_stream(service, number)) {
            service_request_answer(service, number);
        } else {
            service_http_answer(service, number);
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
        if (service->core.links[i].kind != 0) {
            next = link->answer_due_ms < next ? link->answer_due_ms : next;
            next = link->end_ms < next ? link->end_ms : next;
        }
    }
    if (next != UINT64_MAX) {
        uint64_t wait = next > now_ms ? next - now_ms : 1;
        mst_mock_wake(service->core.mock,
                      wait < UINT32_MAX ? (uint32_t)wait : UINT32_MAX);
    }
}

void service_answer(struct service_script *script, const char *raw,
                    unsigned times, int end) {
    script->raw = raw;
    script->raw_times = times;
    script->raw_end = end;
}

void service_init(struct service *service, struct mst_mock *mock) {
    memset(service, 0, sizeof *service);
    mst_mock_service_init(&service->core, mock);
    service->core.heartbeat_ms = 0; /* they are sent here */
    service->core.hooks = (struct mst_mock_service_hooks){
        service,         service_http,   service_message,
        service_control, service_refuse, service_snapshot};
    service->feed_due_ms = UINT64_MAX;
    service->beat_due_ms = UINT64_MAX;
    service->token_end_ms = UINT64_MAX;
    mock->peer = mst_mock_service_peer(&service->core);
    mock->peer.opened = peer_opened;
    mock->peer.closed = peer_closed;
    mock->peer.tick = peer_tick;
}
