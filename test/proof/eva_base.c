/*
 * Writers, texts, UTF-8, base64: any text, any window onto one.
 * SPDX-License-Identifier: 0BSD
 */
#include "eva.h"
#include "mini_stream.c"

static void write(void) {
    static uint8_t window[INPUT_MAX + 1];
    struct out o = {window, INPUT_LEN, INPUT_LEN, 0};

    while (any_bool()) {
        input_any();
        out_bytes(&o, input, INPUT_LEN);
        out_number(&o, any_size());
        (void)out_stored(&o);
    }
}

static void texts(void) {
    const char *text = any_text();
    char copy[INPUT_MAX + 1];
    size_t len = some_len();

    (void)text_hash(TEXT_HASH, text);
    (void)text_is_field(text);
    (void)text_is(input, len, "word");
    (void)text_is_nocase(input, len, "Word");
    (void)text_lookup(message_channels, input, len);
    (void)mem_equal(input, input, len);
    text_copy(copy, len + 1, input, len);
    mem_wipe(copy, len);
    (void)mst_strerror((int)any_size());
    (void)mst_error_is_permanent((int)any_size());
    (void)mst_state_name((enum mst_state)any_below(MST_STATE_CLOSING + 1));
}

static void utf8(void) {
    uint32_t state = 0;

    while (any_bool()) {
        input_any();
        (void)utf8_check(&state, (const uint8_t *)input, some_len());
    }
    (void)utf8_is(input, some_len());
}

static void base64(void) {
    char key[MST_WS_KEY_LEN + 1];
    uint8_t random[16];

    ANY(random);
    mst_ws_key(random, key);
}

int main(void) {
    write();
    texts();
    utf8();
    base64();
    REACHED();
    return 0;
}
