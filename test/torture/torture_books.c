/*
 * The true books of a scenario, and what live books must be: see torture.h.
 *
 * SPDX-License-Identifier: 0BSD
 */
#include "torture_private.h"
#include "truth.h"

#define MARKETS 2
#define RANKS 4      /* prices of a side */
#define VERSIONS 512 /* that are remembered */

static const char *const markets[MARKETS] = {"BTCUSD", "ETHUSD"};

/* Both markets have the same book: its versions, and the last one as text. */
static struct {
    unsigned version;
    unsigned amounts[VERSIONS][2][RANKS]; /* 0: no such level */
    char levels[2][256];
} truth;

static void truth_publish(void) {
    for (int side = 0; side < 2; side++) {
        truth_write(truth.levels[side], sizeof truth.levels[side],
                    (enum mst_side)side,
                    truth.amounts[truth.version % VERSIONS][side], RANKS);
    }
    session.service.rules.bids = truth.levels[MST_BID];
    session.service.rules.asks = truth.levels[MST_ASK];
}

void torture_books_begin(void) {
    memset(&truth, 0, sizeof truth);
    for (int i = 0; i < 2 * RANKS; i++) {
        truth.amounts[0][i / RANKS][i % RANKS] = (unsigned)i + 1;
    }
    truth_publish();
}

/* Does a connection have this subscribed? */
static bool is_followed(const char *channel, const char *market) {
    bool followed = false;

    for (int i = 0; i < MST_MOCK_LINKS; i++) {
        followed |= service_link_has(&session.service, i, channel, market);
    }
    return followed;
}

void torture_books_change(void) {
    unsigned n = ++truth.version, rank = n / 2 % RANKS, amount = n * 5 % 7;
    int side = (int)(n % 2);
    char level[TRUTH_LEVEL];

    memcpy(truth.amounts[n % VERSIONS], truth.amounts[(n - 1) % VERSIONS],
           sizeof truth.amounts[0]);
    truth.amounts[n % VERSIONS][side][rank] = amount;
    truth_publish();
    /* A snapshot of the same ms would have it already. */
    mst_mock_advance(&session.mock, 1);
    truth_write_level(level, (enum mst_side)side, (int)rank, amount);
    for (size_t i = 0; i < MARKETS; i++) {
        if (is_followed("market_data", markets[i])) {
            service_book(&session.service, markets[i], "UPDATE",
                         mst_mock_wall(&session.mock),
                         side == MST_BID ? level : "",
                         side == MST_ASK ? level : "");
        }
    }
}

void torture_books_trade(unsigned number) {
    if (is_followed("execution_data", markets[0])) {
        session.service.serial = number;
        service_push(&session.service, "execution_data", markets[0]);
        service_push(&session.service, "heartbeat", "");
    }
}

static bool book_is(const struct mst_book *book, unsigned version) {
    unsigned(*amounts)[RANKS] = truth.amounts[version % VERSIONS];

    return truth_is_side(book, MST_BID, amounts[MST_BID], RANKS) &&
           truth_is_side(book, MST_ASK, amounts[MST_ASK], RANKS);
}

static bool book_was(const struct mst_book *book) {
    bool was = false;

    for (unsigned v = 0; v <= truth.version && v < VERSIONS && !was; v++) {
        was = book_is(book, v);
    }
    return was;
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
        } else if (!book_is(book, truth.version)) {
            good = false;
            if (!hangs || !book_was(book)) {
                torture_failed("%s is live, and not as the service has it",
                               markets[i]);
            }
        } else if (mst_book_flags(book) != 0) {
            torture_failed("%s has flags %u", markets[i], mst_book_flags(book));
        }
    }
    return good;
}
