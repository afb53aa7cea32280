/*
 * See book_std.h.
 *
 * SPDX-License-Identifier: 0BSD
 */
#include "book_std.h"

#include "bench.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <utility>
#include <vector>

namespace {

constexpr int decimals = 8; // of prices and amounts

// Times differ in precision: two this close may mean the same moment.
constexpr int64_t alike_ns = 1000000;

bool is_older(int64_t time_ns, int64_t than_ns) {
    return time_ns + alike_ns <= than_ns;
}

constexpr auto powers = [] {
    std::array<int64_t, 19> of_ten{1};

    for (size_t i = 1; i < of_ten.size(); i++) {
        of_ten[i] = of_ten[i - 1] * 10;
    }
    return of_ten;
}();

// Converts to units of 10^-8; false if that is no integer or does not fit.
bool scale(int64_t coefficient, int exponent, int64_t &units) {
    unsigned power = static_cast<unsigned>(exponent + decimals);

    return power < std::size(powers) &&
           !__builtin_mul_overflow(coefficient, powers[power], &units);
}

// The key of a better level is lower: bids are stored by their negated price.
int64_t key(unsigned side, int64_t price) {
    return side == MST_BID ? -price : price;
}

struct Level {
    int64_t amount;
    int64_t time_ns;
    bool inexact;

    // Takes an update's values; the update may have the same time.
    void change(const Level &to) {
        int64_t newest = std::max(time_ns, to.time_ns);

        *this = to;
        time_ns = newest;
    }
};

struct Map {
    std::map<int64_t, Level> levels;

    void set(int64_t price, const Level &level) {
        if (level.amount == 0) {
            auto at = levels.find(price);

            if (at != levels.end() &&
                !is_older(level.time_ns, at->second.time_ns)) {
                levels.erase(at);
            }
            return;
        }
        auto [at, added] = levels.try_emplace(price, level);

        if (!added && !is_older(level.time_ns, at->second.time_ns)) {
            at->second.change(level);
        }
    }

    std::pair<int64_t, Level> best() const {
        return *levels.begin();
    }
};

// The best level is last, so that changes move few levels.
struct Vector {
    std::vector<std::pair<int64_t, Level>> levels;

    void set(int64_t price, const Level &level) {
        auto at = std::lower_bound(
            levels.begin(), levels.end(), price,
            [](const auto &one, int64_t to) { return one.first > to; });

        if (at == levels.end() || at->first != price) {
            if (level.amount != 0) {
                levels.emplace(at, price, level);
            }
        } else if (is_older(level.time_ns, at->second.time_ns)) {
            return;
        } else if (level.amount == 0) {
            levels.erase(at);
        } else {
            at->second.change(level);
        }
    }

    std::pair<int64_t, Level> best() const {
        return levels.back();
    }
};

template <class Side> struct Book {
    Side sides[2];
    std::vector<mst_level> early; // of updates before the snapshot
    bool live = false, exact = true, crossed = false, disagrees = false;
    int disagreements = 0;
    int64_t snapshot_ns = 0, time_ns = 0, disagrees_ns = 0;

    void set(const mst_level &level) {
        Level to{0, level.time_ns, (level.flags & MST_LEVEL_INEXACT) != 0};
        int64_t price;

        if (scale(level.price_coefficient, level.price_exponent, price) &&
            scale(level.amount_coefficient, level.amount_exponent, to.amount)) {
            sides[level.side].set(key(level.side, price), to);
        } else {
            exact = false;
        }
    }

    bool is_crossed() const {
        return !sides[MST_BID].levels.empty() &&
               !sides[MST_ASK].levels.empty() &&
               -sides[MST_BID].best().first >= sides[MST_ASK].best().first;
    }

    // Ends a message.
    void end(const mst_part &part) {
        if (part.snapshot) {
            for (const mst_level &level : early) {
                if (level.time_ns > snapshot_ns) {
                    set(level);
                }
            }
            early.clear();
            live = true;
        }
        time_ns = std::max(time_ns, part.time_ns);
        crossed = is_crossed();
    }

    void apply(const mst_part &part) {
        if (part.aborted) {
            *this = {}; // until the next snapshot
            return;
        }
        if (part.snapshot && part.first) {
            sides[MST_BID].levels.clear();
            sides[MST_ASK].levels.clear();
            exact = true;
            live = false;
            snapshot_ns = part.time_ns;
        } else if (!part.snapshot && !live) {
            early.insert(early.end(), part.levels, part.levels + part.count);
            return;
        } else if (!part.snapshot && part.time_ns <= snapshot_ns) {
            return;
        }
        for (size_t i = 0; i < part.count; i++) {
            set(part.levels[i]);
        }
        if (part.last) {
            end(part);
        }
    }

    bool agrees(unsigned side, bool has, const mst_level &top) const {
        int64_t price, amount;

        if (!has || sides[side].levels.empty()) {
            return !has && sides[side].levels.empty();
        }
        auto [best, level] = sides[side].best();

        return scale(top.price_coefficient, top.price_exponent, price) &&
               scale(top.amount_coefficient, top.amount_exponent, amount) &&
               best == key(side, price) && level.amount == amount;
    }

    void check(const mst_top &top) {
        if (is_older(top.time_ns, time_ns)) {
            return;
        }
        if (!live || (agrees(MST_BID, top.has_bid, top.bid) &&
                      agrees(MST_ASK, top.has_ask, top.ask))) {
            disagreements = 0;
            disagrees = false;
            return;
        }
        if (disagreements++ == 0) {
            disagrees_ns = top.time_ns;
        }
        disagrees |= disagreements >= MST_DISAGREEMENTS &&
                     top.time_ns - disagrees_ns >=
                         int64_t{MST_DISAGREEMENT_MS} * 1000000;
    }

    uint64_t sum() const {
        uint64_t sum = 0;

        if (!live || !exact || crossed || disagrees) {
            return sum;
        }
        for (unsigned side = 0; side < 2; side++) {
            for (const auto &level : sides[side].levels) {
                sum += bench_sum_level(static_cast<bench_side>(side),
                                       {key(side, level.first), -decimals},
                                       {level.second.amount, -decimals});
            }
        }
        return sum;
    }
};

Book<Map> map;
Book<Vector> vector;

} // namespace

void book_std_init(enum book_std_kind kind) {
    if (kind == BOOK_STD_MAP) {
        map = {};
    } else {
        vector = {};
    }
}

void book_std_apply(enum book_std_kind kind, const struct mst_part *part) {
    kind == BOOK_STD_MAP ? map.apply(*part) : vector.apply(*part);
}

void book_std_check(enum book_std_kind kind, const struct mst_top *top) {
    kind == BOOK_STD_MAP ? map.check(*top) : vector.check(*top);
}

uint64_t book_std_sum(enum book_std_kind kind) {
    return kind == BOOK_STD_MAP ? map.sum() : vector.sum();
}
