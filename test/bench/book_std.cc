/*
 * See book_std.h.
 *
 * SPDX-License-Identifier: 0BSD
 */
#include "book_std.h"

#include "bench.h"

#include <algorithm>
#include <functional>
#include <map>
#include <utility>
#include <vector>

namespace
{

constexpr int decimals = 8; // of prices and amounts

int64_t scaled(int64_t coefficient, int exponent)
{
    return static_cast<int64_t>(bench_scaled({coefficient, exponent}));
}

// Best first: lower is better, so bids are kept by their price below 0.
int64_t key(unsigned side, int64_t price)
{
    return side == MST_BID ? -price : price;
}

struct Map {
    std::map<int64_t, int64_t> levels;

    void set(int64_t price, int64_t amount)
    {
        if (amount == 0) {
            levels.erase(price);
        } else {
            levels[price] = amount;
        }
    }

    std::pair<int64_t, int64_t> best() const
    {
        return levels.empty() ? std::make_pair(int64_t{0}, int64_t{0})
                              : std::make_pair(levels.begin()->first,
                                               levels.begin()->second);
    }
};

// The best level is the last, where changes move the fewest levels.
struct Vector {
    std::vector<std::pair<int64_t, int64_t>> levels;

    void set(int64_t price, int64_t amount)
    {
        auto at = std::lower_bound(
            levels.begin(), levels.end(), price,
            [](const auto &level, int64_t to) { return level.first > to; });
        bool there = at != levels.end() && at->first == price;

        if (amount == 0) {
            if (there) {
                levels.erase(at);
            }
        } else if (there) {
            at->second = amount;
        } else {
            levels.emplace(at, price, amount);
        }
    }

    std::pair<int64_t, int64_t> best() const
    {
        return levels.empty() ? std::make_pair(int64_t{0}, int64_t{0})
                              : levels.back();
    }
};

template <class Side> struct Book {
    Side sides[2];
    bool wrong = false;

    void apply(const mst_part &part)
    {
        if (part.snapshot && part.first) {
            sides[0].levels.clear();
            sides[1].levels.clear();
        }
        for (size_t i = 0; i < part.count; i++) {
            const mst_level &level = part.levels[i];

            sides[level.side].set(
                key(level.side,
                    scaled(level.price_coefficient, level.price_exponent)),
                scaled(level.amount_coefficient, level.amount_exponent));
        }
    }

    void check(const mst_top &top)
    {
        const mst_level *best[] = {&top.bid, &top.ask};
        const bool has[] = {top.has_bid, top.has_ask};

        for (unsigned side = 0; side < 2; side++) {
            std::pair<int64_t, int64_t> level = sides[side].best();

            wrong |= has[side] == sides[side].levels.empty();
            wrong |=
                has[side] &&
                level.first != key(side, scaled(best[side]->price_coefficient,
                                                best[side]->price_exponent));
        }
    }

    uint64_t sum() const
    {
        uint64_t sum = wrong ? 1 : 0;

        for (unsigned side = 0; side < 2; side++) {
            for (const auto &level : sides[side].levels) {
                sum += bench_sum_level(static_cast<bench_side>(side),
                                       {key(side, level.first), -decimals},
                                       {level.second, -decimals});
            }
        }
        return sum;
    }
};

Book<Map> map;
Book<Vector> vector;

} // namespace

void book_std_init(enum book_std_kind kind)
{
    if (kind == BOOK_STD_MAP) {
        map = {};
    } else {
        vector = {};
    }
}

void book_std_apply(enum book_std_kind kind, const struct mst_part *part)
{
    kind == BOOK_STD_MAP ? map.apply(*part) : vector.apply(*part);
}

void book_std_check(enum book_std_kind kind, const struct mst_top *top)
{
    kind == BOOK_STD_MAP ? map.check(*top) : vector.check(*top);
}

uint64_t book_std_sum(enum book_std_kind kind)
{
    return kind == BOOK_STD_MAP ? map.sum() : vector.sum();
}
