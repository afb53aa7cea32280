/*
 * Parts of headers and URLs: lists and hosts.
 * SPDX-License-Identifier: 0BSD
 */
#include "eva.h"
#include "mini_stream.c"

/* A list may fill a line. */
#ifdef EXACT
#define LIST_LEN EXACT
#else
#define LIST_LEN MST_LINE_MAX
#endif

static void list(void) {
    (void)http_list_has(any_text() + (TEXT_MAX - LIST_LEN), "word");
}

static void url(void) {
    char host[MST_HOST_MAX + 1];

    (void)http_url_host(any_text(), host);
}

int main(void) {
    list();
    url();
    REACHED();
    return 0;
}
