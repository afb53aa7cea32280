/*
 * Address requests of any texts. The harness "write" covers writing a text,
 * "object" and "item" reading the bodies of responses.
 * SPDX-License-Identifier: 0BSD
 */
#include "eva.h"
#include "mini_stream.c"

/* Any text, or none. */
static const char *any_text_or_none(void) {
    return any_bool() ? any_text() : NULL;
}

int main(void) {
    static uint8_t body[4096];
    struct mst_travelrule rule = {any_text_or_none(), any_text_or_none(),
                                  any_text_or_none(), any_text_or_none(),
                                  any_text_or_none()};
    struct mst_address_request request = {any_text_or_none(),
                                          any_text_or_none(),
                                          any_text_or_none(),
                                          any_text_or_none(),
                                          (enum mst_bookmark)any_size(),
                                          any_bool() ? &rule : NULL};
    char why[MST_TEXT_MAX + 1];
    const struct mst_address_request *r = any_bool() ? &request : NULL;

    (void)mst_address_check(r, any_bool() ? why : NULL);
    if (r != NULL && mst_address_check(r, NULL) == 0) {
        struct out o = {body, any_below(sizeof body + 1), 0, 0};
        address_body_write(&o, r);
    }
    REACHED();
    return 0;
}
