/* Books and executions. SPDX-License-Identifier: 0BSD */
#include "stream.h"

#include "board/board.h"
#include "image.h"
#include "print.h"
#include "show.h"

static struct mst_client *client;

static const char *const markets[IMAGE_BOOKS] = IMAGE_MARKETS;
static struct {
    struct mst_book book;
    struct mst_level levels[2 * IMAGE_LEVELS];
    enum mst_book_state shown;
} books[IMAGE_BOOKS];

static struct {
    uint32_t opens, generation, parts, executions;
    uint64_t longest; /* poll with an open stream, us */
} counts;

int stream_begin(struct mst_client *object, const struct mst_config *config,
                 const struct mst_port *port, const struct mst_memory *memory) {
    int rc = mst_client_init(object, config, port, memory);

    client = object;
    for (unsigned i = 0; i < IMAGE_BOOKS && rc == 0; i++) {
        mst_book_init(&books[i].book, books[i].levels, IMAGE_LEVELS);
        /* Dropped levels do not come back by themselves. */
        mst_book_set_thin(&books[i].book, IMAGE_LEVELS / 4);
        books[i].shown = MST_BOOK_EMPTY;
        rc = mst_subscribe(client, MST_MARKET_DATA, markets[i], &books[i].book);
    }
    if (rc == 0) {
        rc = mst_subscribe(client, MST_EXECUTION_DATA, markets[0], NULL);
    }
    return rc;
}

static void take_event(const struct mst_event *event) {
    switch (event->type) {
    case MST_EVENT_OPEN:
        counts.opens++;
        counts.generation = event->generation;
        print_begin();
        print_text("open");
        print_pair("generation", event->generation);
        print_pair("resumed", mst_link_stats(&client->link)->resumed);
        print_end();
        break;
    case MST_EVENT_CLOSED: show_failure("closed", &event->as.failure); break;
    case MST_EVENT_ERROR: show_failure("error", &event->as.failure); break;
    case MST_EVENT_ENTRY: show_entry(&event->as.entry); break;
    case MST_EVENT_PART: counts.parts++; break; /* the book has it already */
    case MST_EVENT_EXECUTION: counts.executions++; break;
    default: break;
    }
}

/* Prints books whose state has changed. */
static void watch_books(void) {
    for (unsigned i = 0; i < IMAGE_BOOKS; i++) {
        enum mst_book_state state = mst_book_state(&books[i].book);

        if (state != books[i].shown && state != MST_BOOK_BUILDING) {
            books[i].shown = state;
            show_book(markets[i], &books[i].book);
        }
    }
}

/* Polls once, and measures the time. */
static int poll(struct mst_event *event) {
    bool open = mst_link_state(&client->link) == MST_STATE_OPEN;
    uint64_t begin = board_us(), took;
    int rc = mst_poll(client, event);

    took = board_us() - begin;
    if (open && took > counts.longest) {
        counts.longest = took;
    }
    return rc;
}

bool stream_poll(void) {
    struct mst_event event;
    int rc;

    while ((rc = poll(&event)) == 1) {
        take_event(&event);
    }
    watch_books();
    return rc == 0;
}

void stream_show_levels(void) {
    for (unsigned i = 0; i < IMAGE_BOOKS; i++) {
        show_levels(markets[i], &books[i].book);
    }
}

void stream_report(void) {
    print_pair("opens", counts.opens);
    print_pair("generation", counts.generation);
    print_pair("parts", counts.parts);
    print_pair("executions", counts.executions);
    print_pair("longest_open_poll", (int64_t)counts.longest);
}
