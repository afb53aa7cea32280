/*
 * The true books of a scenario, and what live books must be: see torture.h.
 *
 * SPDX-License-Identifier: 0BSD
 */
#include "torture_private.h"

#include <stdio.h>
#include <string.h>

#define MARKETS 2
#define RANKS 4      /* prices of a side */
#define VERSIONS 512 /* that are remembered */

static const char *const markets[MARKETS] = {"BTCUSD", "ETHUSD"};

/* Both markets have the same book: its versions, and the last one as text. */
static struct {
    unsigned version;
    unsigned char amounts[VERSIONS][2][RANKS]; /* 0: no such level */
    char levels[2][256];
} truth;

static int price_of(int side, int rank) {
    return side == MST_BID ? 100 - rank : 101 + rank;
}

static void truth_publish(void) {
    for (int side = 0; side < 2; side++) {
        const unsigned char *amounts =
            truth.amounts[truth.version % VERSIONS][side];
        char *out = truth.levels[side];
        size_t at = 0, len = sizeof truth.levels[side];
        out[0] = '\0';
        for (int i = 0; i < RANKS; i++) {
            if (amounts[i] > 0) {
                at += (size_t)snprintf(out + at, len - at,
                                       "%s{\"price\":\"%d\",\"amount\":\"%u\"}",
                                       at > 0 ? "," : "", price_of(side, i),
                                       amounts[i]);
            }
        }
    }
    session.service.rules.bids = truth.levels[MST_BID];
    session.service.rules.asks = truth.levels[MST_ASK];
}

void torture_books_begin(void) {
    memset(&truth, 0, sizeof truth);
    for (int i = 0; i < 2 * RANKS; i++) {
        truth.amounts[0][i / RANKS][i % RANKS] = (unsigned char)(i + 1);
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
    char level[64];

    memcpy(truth.amounts[n % VERSIONS], truth.amounts[(n - 1) % VERSIONS],
           sizeof truth.amounts[0]);
    truth.amounts[n % VERSIONS][side][rank] = (unsigned char)amount;
    truth_publish();
    /* A snapshot of the same ms would have it already. */
    mst_mock_advance(&session.mock, 1);
    snprintf(level, sizeof level, "{\"price\":\"%d\",\"amount\":\"%u\"}",
             price_of(side, (int)rank), amount);
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

static bool side_is(const struct mst_book *book, int side,
                    const unsigned char amounts[RANKS]) {
    size_t rank = 0;

    for (int i = 0; i < RANKS; i++) {
        const struct mst_level *level;
        if (amounts[i] == 0) {
            continue;
        }
        level = mst_book_level(book, (enum mst_side)side, rank++);
        if (level == NULL || level->amount_coefficient != amounts[i] ||
            level->amount_exponent != 0 ||
            mst_decimal_cmp(
                mst_level_price(level),
                (struct mst_decimal){price_of(side, i), 0, false}) != 0) {
            return false;
        }
    }
    return mst_book_depth(book, (enum mst_side)side) == rank;
}

static bool book_is(const struct mst_book *book, unsigned version) {
    return side_is(book, MST_BID, truth.amounts[version % VERSIONS][MST_BID]) &&
           side_is(book, MST_ASK, truth.amounts[version % VERSIONS][MST_ASK]);
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
