/*
 * Others' parts for a stream, without code to connect them: HTTP responses by
 * llhttp, WebSocket messages by wslay, JSON by jsmn.
 *
 * SPDX-License-Identifier: 0BSD
 */
#include "../board.h"

#include <jsmn.h>
#include <llhttp.h>
#include <string.h>
#include <wslay/wslay.h>

static void show(const char *text, size_t len) {
    static jsmntok_t tokens[64];
    jsmn_parser parser;

    jsmn_init(&parser);
    if (jsmn_parse(&parser, text, len, tokens, 64) > 2) {
        board_show_record(text + tokens[1].start, text + tokens[2].start);
    }
}

static ssize_t passed(wslay_event_context_ptr ws, int n) {
    wslay_event_set_error(ws, n < 0 ? WSLAY_ERR_CALLBACK_FAILURE
                                    : WSLAY_ERR_WOULDBLOCK);
    return n > 0 ? n : -1;
}

static ssize_t on_receive(wslay_event_context_ptr ws, uint8_t *data, size_t len,
                          int flags, void *user) {
    (void)flags;
    return passed(ws, board_recv(user, 0, data, len));
}

static ssize_t on_send(wslay_event_context_ptr ws, const uint8_t *data,
                       size_t len, int flags, void *user) {
    (void)flags;
    return passed(ws, board_send(user, 0, data, len));
}

static int on_mask(wslay_event_context_ptr ws, uint8_t *data, size_t len,
                   void *user) {
    (void)ws;
    return board_entropy(user, data, len);
}

static void on_message(wslay_event_context_ptr ws,
                       const struct wslay_event_on_msg_recv_arg *message,
                       void *user) {
    (void)ws;
    (void)user;
    show((const char *)message->msg, message->msg_length);
}

int main(void) {
    static const struct wslay_event_callbacks callbacks = {
        .recv_callback = on_receive,
        .send_callback = on_send,
        .genmask_callback = on_mask,
        .on_msg_recv_callback = on_message,
    };
    const struct wslay_event_msg request = {WSLAY_TEXT_FRAME,
                                            (const uint8_t *)board_market, 6};
    wslay_event_context_ptr ws;
    llhttp_settings_t settings;
    llhttp_t http;
    char text[512];
    int n;

    llhttp_settings_init(&settings);
    llhttp_init(&http, HTTP_RESPONSE, &settings);
    do {
        n = board_recv(NULL, 0, text, sizeof text);
    } while (n >= 0 && llhttp_execute(&http, text, (size_t)n) == HPE_OK);
    wslay_event_context_client_init(&ws, &callbacks, NULL);
    wslay_event_queue_msg(ws, &request);
    while (wslay_event_send(ws) == 0 && wslay_event_recv(ws) == 0) {}
    wslay_event_context_free(ws);
    return 0;
}
