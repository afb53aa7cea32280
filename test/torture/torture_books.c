/*
 * The true books of a scenario, compared with live books: see torture.h.
 *
 * SPDX-License-Identifier: 0BSD
 */
#include "torture_private.h"
#include "truth.h"

#define MARKETS 2

static const char *const markets[MARKETS] = {"BTCUSD", "ETHUSD"};

/* True if a connection has subscribed this. */
static bool is_followed(const char *channel, const char *market) {
    bool followed = false;

    for (int i = 0; i < MST_MOCK_LINKS; i++) {
        followed |= service_link_has(&session.service, i, channel, market);
    }
    return followed;
}

void torture_books_trade(unsigned number) {
    if (is_followed("execution_data", markets[0])) {
        session.service.serial = number;
        service_push(&session.service, "execution_data", markets[0]);
        service_push(&session.service, "heartbeat", "");
    }
}

static bool has_stream(void) {
    return session.has_client || session.has_pair;
}

void torture_books_look(void) {
    enum mst_state state = MST_STATE_OFF;

    for (size_t i = 0; has_stream() && i < MARKETS; i++) {
        const struct mst_link *link = &session_leader()->link;
        state = mst_link_state(link);
        if (mst_book_state(session_book(i)) == MST_BOOK_LIVE &&
            (state != MST_STATE_OPEN ||
             !torture_seen.open[link->config.link])) {
            torture_failed("%s is live in state %s", markets[i],
                           mst_state_name(state));
        }
    }
}

bool torture_books_check(bool hangs) {
    bool good = true;

    torture_books_look();
    for (size_t i = 0; has_stream() && i < MARKETS; i++) {
        const struct mst_book *book = session_book(i);
        if (mst_book_state(book) != MST_BOOK_LIVE) {
            good = false;
        } else if (!truth_is(book, 0)) {
            good = false;
            if (!hangs || !truth_is(book, session_now())) {
                torture_failed("%s is live and not the true book", markets[i]);
            }
        } else if (mst_book_flags(book) != 0) {
            torture_failed("%s has flags %u", markets[i], mst_book_flags(book));
        }
    }
    return good;
}
