/*
 * Writers, texts, UTF-8, base64: any text, any window of a writer.
 * SPDX-License-Identifier: 0BSD
 */
#include "eva.h"

/* Eva assumes that a volatile pointer can point to any function. */
#define volatile
#include "mini_stream.c"

#ifdef EXACT
/* Windows of some sizes, and text that is before, in or after them. */
static void write(void) {
    static uint8_t window[EXACT + 2];
    size_t cap = any_bool() ? sizeof window : any_below(3);
    struct out o;

    //@ split cap;
    o = (struct out){window + sizeof window - cap, cap, any_below(EXACT + 1),
                     any_below(2 * EXACT + 2)};
    //@ split o.skip;
    //@ split o.len;
    out_bytes(&o, any_bool() ? input : NULL, EXACT);
    (void)out_stored(&o);
}
#else
static void write(void) {
    static uint8_t window[4096];
    size_t cap = some_len(), len = some_len(), skip = some_len();
    struct out o;

    //@ split cap;
    //@ split len;
    //@ split skip;
    o = (struct out){window + sizeof window - cap, cap, skip, len};
    out_bytes(&o, any_bool() ? input : NULL, 1000);
    (void)out_stored(&o);
}
#endif

static void numbers(void) {
    uint8_t window[20];
    struct out o = {window, sizeof window, 0, 0};

    out_number(&o, any_size());
}

static void texts(void) {
    const char *text = any_text();
    char copy[INPUT_MAX + 1];
    size_t len = INPUT_LEN;

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
    size_t len = some_len();
    uint32_t state;

    //@ split len;
    ANY(state);
    input_any();
    (void)utf8_check(&state, (const uint8_t *)input, len);
    (void)utf8_is(input, len);
}

static void base64(void) {
    char key[MST_WS_KEY_LEN + 1];
    uint8_t random[16];

    ANY(random);
    mst_ws_key(random, key);
}

int main(void) {
    write();
    numbers();
    texts();
    utf8();
    base64();
    REACHED();
    return 0;
}
