/*
 * Responses of any bytes in any pieces, any URL, requests to any endpoint.
 * SPDX-License-Identifier: 0BSD
 */
#include "eva.h"
#include "eva_sha1.h"
#include "mini_stream.c"

/* Frama-C's contract does not say that the texts are equally long if it is
 * 0. */
int strncmp(const char *a, const char *b, size_t n) {
    for (size_t i = 0; i < n; i++) {
        if (a[i] != b[i]) {
            return (uint8_t)a[i] < (uint8_t)b[i] ? -1 : 1;
        }
        if (a[i] == '\0') {
            break;
        }
    }
    return 0;
}

static void upgrade(void) {
    struct mst_http http;
    size_t used;

    mst_ws_upgrade_init(&http, "dGhlIHNhbXBsZSBub25jZQ==");
    while (any_bool()) {
        input_any();
        (void)mst_ws_upgrade_read(&http, (const uint8_t *)input, INPUT_LEN,
                                  &used);
        (void)mst_http_status(&http);
    }
}

static void response(void) {
    struct mst_http http = {0};
    size_t used, piece;

    while (any_bool()) {
        used = 0;
        input_any();
        (void)http_read(&http, (const uint8_t *)input, INPUT_LEN, &used,
                        &piece);
        (void)http_ends(&http);
        (void)http_status_error(http.status, MST_ERR_HTTP_STATUS);
    }
}

static void request(void) {
    static uint8_t window[INPUT_MAX + 1];
    struct out o = {window, INPUT_LEN, INPUT_LEN, 0};
    struct mst_endpoint endpoint;

    if (http_url(any_text(), "ws", &endpoint) != 0) {
        return;
    }
    http_request_begin(&o, "GET ", &endpoint, any_bool() ? "/token" : NULL);
    http_upgrade_write(&o, "dGhlIHNhbXBsZSBub25jZQ==");
    http_form_write(&o, "scope", any_text());
    http_length_write(&o, any_size());
    (void)mst_ws_upgrade_write((char *)window, INPUT_LEN, endpoint.host,
                               any_text(), "key",
                               any_bool() ? "Bearer token" : NULL);
}

int main(void) {
    upgrade();
    response();
    request();
    REACHED();
    return 0;
}
