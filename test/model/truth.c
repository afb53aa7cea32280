/*
 * A true book of a few prices: see truth.h.
 *
 * SPDX-License-Identifier: 0BSD
 */
#include "truth.h"

#include "session.h"

#define PRICES 6
#define VERSIONS 512 /* that are kept */

static struct {
    unsigned prices, version; /* the last one */
    struct version {
        uint64_t ms;                 /* when it began */
        unsigned amounts[2][PRICES]; /* 0: no such level */
    } of[VERSIONS];
    uint64_t seed;
    char levels[2][512];
} truth;

static int price_of(unsigned side, unsigned rank) {
    return side == MST_BID ? 100 - (int)rank : 101 + (int)rank;
}

static int level_write(char *out, size_t len, unsigned side, unsigned rank,
                       unsigned amount) {
    return snprintf(out, len, "{\"price\":\"%d\",\"amount\":\"%u\"}",
                    price_of(side, rank), amount);
}

static void publish(void) {
    const struct version *v = &truth.of[truth.version % VERSIONS];

    for (unsigned side = 0; side < 2; side++) {
        char *text = truth.levels[side];
        size_t at = 0;
        text[0] = '\0';
        for (unsigned i = 0; i < truth.prices; i++) {
            if (v->amounts[side][i] > 0) {
                at += (size_t)snprintf(text + at, 2, "%s", at > 0 ? "," : "");
                at += (size_t)level_write(text + at, 64, side, i,
                                          v->amounts[side][i]);
            }
        }
    }
    session.service.rules.bids = truth.levels[MST_BID];
    session.service.rules.asks = truth.levels[MST_ASK];
}

void truth_begin(unsigned prices) {
    memset(&truth, 0, sizeof truth);
    truth.prices = prices;
    truth.seed = 7;
    for (unsigned i = 0; i < 2 * prices; i++) {
        truth.of[0].amounts[i % 2][i / 2] = 1 + i / 2 + i % 2;
    }
    publish();
}

void truth_change(void) {
    static const char *const markets[] = {"BTCUSD", "ETHUSD"};
    unsigned side = random_below(&truth.seed, 2);
    unsigned rank = random_below(&truth.seed, truth.prices);
    unsigned amount = random_below(&truth.seed, 9);
    const struct version *last = &truth.of[truth.version++ % VERSIONS];
    struct version *next = &truth.of[truth.version % VERSIONS];
    char level[64];

    *next = *last;
    next->ms = session_now();
    next->amounts[side][rank] = amount;
    publish();
    /* A snapshot of the same ms would contain the change. */
    mst_mock_advance(&session.mock, 1);
    (void)level_write(level, sizeof level, side, rank, amount);
    for (size_t i = 0; i < COUNT(markets); i++) {
        service_book(&session.service, markets[i], "UPDATE",
                     mst_mock_wall(&session.mock), side == MST_BID ? level : "",
                     side == MST_ASK ? level : "");
    }
}

/* True if a side of a book shows exactly these amounts. */
static bool side_is(const struct mst_book *book, unsigned side,
                    const unsigned *amounts) {
    size_t rank = 0;

    for (unsigned i = 0; i < truth.prices; i++) {
        const struct mst_level *level =
            mst_book_level(book, (enum mst_side)side, rank);
        if (amounts[i] == 0) {
            continue;
        }
        if (level == NULL || level->amount_coefficient != (int)amounts[i] ||
            level->amount_exponent != 0 ||
            mst_decimal_cmp(
                mst_level_price(level),
                (struct mst_decimal){price_of(side, i), 0, false}) != 0) {
            return false;
        }
        rank++;
    }
    return mst_book_depth(book, (enum mst_side)side) == rank;
}

bool truth_is(const struct mst_book *book, uint64_t late_ms) {
    uint64_t now = session_now(), until = now;

    for (unsigned i = 0; i < VERSIONS && i <= truth.version; i++) {
        const struct version *v = &truth.of[(truth.version - i) % VERSIONS];
        if (i > 0 && until + late_ms < now) {
            break;
        }
        if (side_is(book, MST_BID, v->amounts[MST_BID]) &&
            side_is(book, MST_ASK, v->amounts[MST_ASK])) {
            return true;
        }
        until = v->ms;
    }
    return false;
}
