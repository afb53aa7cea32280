/* Prints events of a link. SPDX-License-Identifier: 0BSD */
#include "show.h"

#include "image.h"
#include "print.h"

void show_trace(void *context, const struct mst_trace *trace) {
    (void)context;
    switch (trace->kind) {
    case MST_TRACE_STATE:
        print_line("state ", mst_state_name(trace->state));
        break;
    case MST_TRACE_TOKEN: print_line("token ", trace->text); break;
    case MST_TRACE_REPAIR: print_line("repair ", trace->text); break;
    default: break;
    }
}

/* Without the texts, an image has only numbers, and is 5 KB smaller. */
void show_error(int error) {
    if (IMAGE_TEXTS) {
        print_text(mst_strerror(error));
    }
    print_pair("error", error);
}

void show_failure(const char *what, const struct mst_failure *failure) {
    print_begin();
    print_text(what);
    print_text(" in ");
    print_text(mst_state_name(failure->stage));
    print_text(": ");
    show_error(failure->error);
    print_text(failure->permanent ? " (permanent)" : "");
    print_pair("detail", failure->detail);
    print_pair("http", failure->http_status);
    print_pair("ws", failure->ws_code);
    print_pair("retry_ms", failure->retry_ms);
    if (failure->text[0] != '\0') {
        print_text(" text=");
        print_foreign(failure->text);
    }
    print_end();
}

void show_entry(const struct mst_entry *entry) {
    print_begin();
    print_text(entry->success ? "entry ok " : "entry refused ");
    print_foreign(entry->channel_name);
    print_text(" ");
    print_foreign(entry->market);
    print_text(" ");
    print_foreign(entry->text);
    print_end();
}

void show_book(const char *market, const struct mst_book *book) {
    print_begin();
    print_text("book ");
    print_text(market);
    print_text(" ");
    print_text(mst_book_state_name(mst_book_state(book)));
    if (mst_book_reason(book) != MST_BOOK_OK) {
        print_text(": ");
        print_text(mst_book_reason_name(mst_book_reason(book)));
    }
    print_end();
}

void show_levels(const char *market, const struct mst_book *book) {
    static const char *const names[] = {
        [MST_BID] = " bids", [MST_ASK] = " asks"};
    const struct mst_level *level;

    print_begin();
    print_text("levels ");
    print_text(market);
    print_text(" ");
    print_text(mst_book_state_name(mst_book_state(book)));
    print_text(" ");
    print_time(mst_book_time(book));
    for (int side = MST_BID; side <= MST_ASK; side++) {
        print_text(names[side]);
        for (size_t i = 0;
             (level = mst_book_level(book, (enum mst_side)side, i)) != NULL;
             i++) {
            print_text(" ");
            print_decimal(mst_level_price(level));
            print_text(":");
            print_decimal(mst_level_amount(level));
        }
    }
    print_end();
}

void show_address(const struct mst_address_result *result) {
    print_begin();
    print_text("address: ");
    show_error(result->error);
    print_pair("http", result->http_status);
    if (result->record != NULL) {
        print_text(" id=");
        print_foreign(result->record->id);
        print_text(" status=");
        print_foreign(result->record->status);
        print_text(" network=");
        print_foreign(result->record->network);
        print_text(" address=");
        print_foreign(result->record->address);
        print_text(" nickname=");
        print_foreign(result->record->nickname);
    }
    print_end();
}
