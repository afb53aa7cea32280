/*
 * Parts of headers and URLs by themselves: lists, dates, hosts, ports.
 * SPDX-License-Identifier: 0BSD
 */
#include "eva.h"
#include "mini_stream.c"

/* A list may fill a line. A date of that length would take hours. */
#ifdef EXACT
#define LIST_LEN EXACT
#define DATE_LEN EXACT
#else
#define LIST_LEN MST_LINE_MAX
#define DATE_LEN 64
#endif

static void list(void) {
    (void)http_list_has(any_text() + (TEXT_MAX - LIST_LEN), "word");
}

static void date(void) {
    input_any();
    (void)http_date(input, DATE_LEN);
}

static void url(void) {
    char host[MST_HOST_MAX + 1];
    uint16_t port = 0;

    (void)http_url_host(any_text(), host);
    (void)http_url_port(any_text(), &port);
}

int main(void) {
    list();
    date();
    url();
    REACHED();
    return 0;
}
