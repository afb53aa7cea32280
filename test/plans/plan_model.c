/*
 * What a client can know about a market's book: see plan.h.
 *
 * The service's own book is true. After each message, a live book without a
 * flag must show the true book as of the newest message received. Levels may
 * differ only for these reasons, because nobody could know that they are wrong:
 *
 * LOST       The service never sent the change, and has not named the price
 *            since. (A top of book may reveal it: session/plans.c checks that.)
 * DROPPED    The change came less than PLAN_STEP_MS after the snapshot, and is
 *            older than it by a millisecond or more, like changes that the
 *            snapshot contains.
 * STEPPED    Two updates, or an update and the snapshot after it, have times
 *            in the wrong order, by at most PLAN_STEP_MS. Updates before a
 *            snapshot are merged if they are newer than it.
 * GONE       After the update, the client reset the stale book. Then another
 *            snapshot came than the one it waits for. That is older than the
 *            last update by at most PLAN_STEP_MS, or no update has come since
 *            the caller subscribed the market.
 * OLDER      The snapshot is older than an update that came before it, but has
 *            the newer time: it should contain the update.
 * EARLIER    An update that the snapshot contains comes after it, and is not
 *            older than it by a millisecond.
 * REORDERED  Two updates of one moment were swapped, or the older one is
 *            repeated after the newer.
 *
 * SPDX-License-Identifier: 0BSD
 */
#include "plan.h"

#define PLAN_STEP_MS 2000

/* Times closer than this may be of one moment. */
#define MOMENT_NS PLAN_MS_NS

const struct plan_change *plan_change(const struct plan_book *book,
                                      uint32_t version) {
    return &book->changes[(version - 1) % PLAN_CHANGES];
}

void plan_known_begin(struct plan_known *known, const struct plan_book *book) {
    memset(known, 0, offsetof(struct plan_known, given));
    memcpy(known->amounts, book->amounts, sizeof known->amounts);
    known->version = book->version;
    known->given_len = known->gone = known->wished = 0;
    known->settled = false;
    known->broken_version = 0;
}

/* Advances the true book to a version. Its changes count as lost, for now. */
static void known_advance(struct plan_known *k, const struct plan_book *book,
                          uint32_t version) {
    while (k->version < version) {
        const struct plan_change *c = plan_change(book, ++k->version);
        k->amounts[c->side][c->price] = c->amount;
        k->changed[c->side][c->price] = k->version;
        k->excuse[c->side][c->price] = EXCUSE_LOST;
    }
}

void plan_known_restart(struct plan_known *known) {
    known->gone = known->given_len;
}

void plan_known_wish(struct plan_known *known) {
    known->gone = known->wished = known->given_len;
    known->settled = false;
}

void plan_known_ask(struct plan_known *known) {
    known->broken_version = 0;
}

/* Returns the time of the update with this version of the book, or
 * INT64_MIN. */
static int64_t known_time(const struct plan_known *k, uint32_t version) {
    uint32_t least = k->given_len > PLAN_GIVEN ? k->given_len - PLAN_GIVEN : 0;

    for (uint32_t i = k->given_len; i-- > least;) {
        const struct plan_message *m = &k->given[i % PLAN_GIVEN];
        if (m->first < version && version <= m->version) {
            return m->time_ns;
        }
    }
    return INT64_MIN;
}

/* Returns the newest time among the updates that named a change's price and
 * that the client remembers, or INT64_MIN. A level keeps this time, whatever is
 * dropped. */
static int64_t known_named(const struct plan_known *k,
                           const struct plan_book *book,
                           const struct plan_change *change) {
    uint32_t i = k->given_len > PLAN_GIVEN ? k->given_len - PLAN_GIVEN : 0;
    int64_t newest_ns = INT64_MIN;

    for (i = i > k->gone ? i : k->gone; i < k->given_len; i++) {
        const struct plan_message *m = &k->given[i % PLAN_GIVEN];
        for (uint32_t v = m->first; v < m->version; v++) {
            const struct plan_change *c = plan_change(book, v + 1);
            if (c->side == change->side && c->price == change->price &&
                m->time_ns > newest_ns) {
                newest_ns = m->time_ns;
            }
        }
    }
    return newest_ns;
}

/* Returns a price's excuse after a change was applied that came after the
 * snapshot and may not be the price's last. */
static enum plan_excuse known_follow(const struct plan_known *k,
                                     const struct plan_message *m,
                                     uint32_t version, uint32_t changed) {
    if (version == changed) {
        return EXCUSE_NONE;
    }
    return version <= k->last.version                        ? EXCUSE_EARLIER
           : m->time_ns + MOMENT_NS > known_time(k, changed) ? EXCUSE_REORDERED
                                                             : EXCUSE_NONE;
}

/* Records a change that came after the snapshot. */
static void known_change(struct plan_known *k, const struct plan_book *book,
                         const struct plan_message *m, uint32_t version,
                         uint64_t read_ms) {
    const struct plan_change *c = plan_change(book, version);
    uint32_t changed = k->changed[c->side][c->price];
    bool dropped = m->time_ns + MOMENT_NS <= k->last.time_ns;
    bool soon = read_ms < k->snapshot_ms + PLAN_STEP_MS;
    enum plan_excuse excuse;

    if (dropped && version <= k->last.version) {
        return; /* it is in the snapshot */
    }
    excuse = !dropped ? known_follow(k, m, version, changed)
             : soon   ? EXCUSE_DROPPED
                      : EXCUSE_NONE;
    if (version == changed || excuse != EXCUSE_NONE) {
        k->excuse[c->side][c->price] = (uint8_t)excuse;
    }
}

static void known_update(struct plan_known *k, const struct plan_book *book,
                         const struct plan_message *m, uint64_t read_ms) {
    known_advance(k, book, m->version);
    for (uint32_t v = m->first + 1; v <= m->version; v++) {
        const struct plan_change *c = plan_change(book, v);
        if (k->snapshot) {
            known_change(k, book, m, v, read_ms);
        } else if (v == k->changed[c->side][c->price]) {
            k->excuse[c->side][c->price] = EXCUSE_NONE;
        }
    }
    k->given[k->given_len++ % PLAN_GIVEN] = *m;
}

/* The time of a price's newest change, compared with the snapshot's; never: not
 * received. */
enum named { NAMED_NEVER, NAMED_BEFORE, NAMED_AFTER };

/* Weighs an update before a snapshot, for each of its prices. gone: the client
 * has forgotten the update, so it is not merged. */
static void known_weigh(struct plan_known *k, const struct plan_book *book,
                        const struct plan_message *m,
                        const struct plan_message *snapshot, bool gone,
                        uint8_t named[2][PLAN_PRICES]) {
    bool after = m->time_ns > snapshot->time_ns;
    int64_t limit_ns = snapshot->time_ns + PLAN_STEP_MS * PLAN_MS_NS;
    bool soon = m->time_ns <= limit_ns;
    bool stepped =
        k->given[(k->given_len - 1) % PLAN_GIVEN].time_ns <= limit_ns ||
        (k->settled && k->given_len == k->wished);

    for (uint32_t v = m->first + 1; v <= m->version; v++) {
        const struct plan_change *c = plan_change(book, v);
        uint8_t *excuse = &k->excuse[c->side][c->price];
        if (v == k->changed[c->side][c->price]) {
            named[c->side][c->price] = after ? NAMED_AFTER : NAMED_BEFORE;
        } else if (named[c->side][c->price] == NAMED_AFTER &&
                   known_named(k, book, c) > snapshot->time_ns &&
                   m->time_ns + MOMENT_NS >
                       known_time(k, k->changed[c->side][c->price])) {
            *excuse = EXCUSE_REORDERED;
        }
        if (after && soon && v != k->changed[c->side][c->price]) {
            *excuse = EXCUSE_STEPPED;
        } else if (after && gone && stepped) {
            *excuse = EXCUSE_GONE;
        }
    }
}

static void known_snapshot(struct plan_known *k, const struct plan_book *book,
                           const struct plan_message *m, uint64_t read_ms) {
    uint8_t named[2][PLAN_PRICES] = {{0}};
    uint32_t i = k->given_len > PLAN_GIVEN ? k->given_len - PLAN_GIVEN : 0;

    known_advance(k, book, m->version);
    memset(k->excuse, 0, sizeof k->excuse);
    for (; i < k->given_len; i++) {
        known_weigh(k, book, &k->given[i % PLAN_GIVEN], m, i < k->gone, named);
    }
    for (unsigned n = 0; n < 2 * PLAN_PRICES; n++) {
        unsigned side = n / PLAN_PRICES, price = n % PLAN_PRICES;
        uint32_t changed = k->changed[side][price];
        if (changed <= m->version || changed <= k->broken_version) {
            continue; /* the snapshot has it, or the book is in doubt */
        }
        if (named[side][price] == NAMED_NEVER) {
            k->excuse[side][price] = EXCUSE_LOST;
        } else if (named[side][price] == NAMED_BEFORE) {
            k->excuse[side][price] = EXCUSE_OLDER;
        }
    }
    k->snapshot = k->settled = true;
    k->last = *m;
    k->snapshot_ms = read_ms;
}

void plan_known_give(struct plan_known *known, const struct plan_book *book,
                     const struct plan_message *message, uint64_t read_ms) {
    if (message->says == SAYS_UPDATE) {
        known_update(known, book, message, read_ms);
    } else if (message->says == SAYS_SNAPSHOT) {
        known_snapshot(known, book, message, read_ms);
    } else {
        known_advance(known, book, message->version);
        for (uint32_t v = message->first + 1; v <= message->version; v++) {
            const struct plan_change *c = plan_change(book, v);
            known->excuse[c->side][c->price] = EXCUSE_NONE;
        }
        known->broken_version = message->version;
    }
}

/* ---- the check ---- */

/* Returns a decimal in units of 10^-digits, or -1 if it is no price or
 * amount. */
static int64_t units(struct mst_decimal value, int digits) {
    int64_t n = value.coefficient;

    if (value.exponent < -digits || value.exponent > 9 || n < 0 ||
        n > INT32_MAX) {
        return -1;
    }
    for (int e = -digits; e < value.exponent; e++) {
        n *= 10;
    }
    return n;
}

static int price_of(unsigned market, struct mst_decimal price) {
    int64_t tenths = units(price, 1), first = plan_price(market, 0);
    int64_t step = plan_price(market, 1) - first;
    int64_t at = (tenths - first) / step;

    return tenths >= first && (tenths - first) % step == 0 && at < PLAN_PRICES
               ? (int)at
               : -1;
}

/* Reads the amounts of a side by price. False if it cannot be of this
 * market. */
static bool side_read(unsigned market, const struct mst_book *book,
                      unsigned side, uint16_t got[PLAN_PRICES]) {
    int last = side == MST_BID ? PLAN_PRICES : -1;

    memset(got, 0, PLAN_PRICES * sizeof *got);
    for (size_t i = 0; i < mst_book_depth(book, (enum mst_side)side); i++) {
        const struct mst_level *level =
            mst_book_level(book, (enum mst_side)side, i);
        int price = price_of(market, mst_level_price(level));
        int64_t amount = units(mst_level_amount(level), 2);
        if (price < 0 || amount <= 0 || amount > UINT16_MAX ||
            (side == MST_BID ? price >= last : price <= last)) {
            return false;
        }
        got[price] = (uint16_t)amount;
        last = price;
    }
    return true;
}

static bool side_check(const struct plan_known *k, unsigned market,
                       const struct mst_book *book, unsigned side, char *text,
                       size_t len) {
    uint16_t got[PLAN_PRICES];
    struct mst_decimal horizon = {0, 0, false};
    int end = side == MST_BID ? -1 : PLAN_PRICES;

    if (!side_read(market, book, side, got)) {
        snprintf(text, len, "%s of %s are no levels of its",
                 side == MST_BID ? "bids" : "asks", plan_markets[market]);
        return false;
    }
    if (mst_book_horizon(book, (enum mst_side)side, &horizon)) {
        end = price_of(market, horizon);
    }
    for (int price = 0; price < PLAN_PRICES; price++) {
        bool beyond = side == MST_BID ? price <= end : price >= end;
        int expected = beyond ? 0 : k->amounts[side][price];
        if (got[price] != expected &&
            (beyond || k->excuse[side][price] == EXCUSE_NONE)) {
            snprintf(text, len,
                     "%s of %s at %" PRId64 " (number %d, horizon %d, changed "
                     "by version %u of %u): %d instead of %d",
                     side == MST_BID ? "bids" : "asks", plan_markets[market],
                     plan_price(market, (unsigned)price), price, end,
                     k->changed[side][price], k->version, got[price], expected);
            return false;
        }
    }
    return true;
}

bool plan_known_check(const struct plan_known *known, unsigned market,
                      const struct mst_book *book, char *text, size_t len) {
    if (!known->snapshot) {
        snprintf(text, len, "%s is live without a snapshot",
                 plan_markets[market]);
        return false;
    }
    return side_check(known, market, book, MST_BID, text, len) &&
           side_check(known, market, book, MST_ASK, text, len);
}
