/*
 * simdjson On Demand: strings as raw tokens, which holds as long as nothing
 * that is read has an escape, or unescaped.
 *
 * SPDX-License-Identifier: 0BSD
 */
#include "bench.h"
#include "decoders.h"

#include <simdjson.h>

#include <string_view>

namespace ondemand = simdjson::ondemand;

namespace {

struct Raw {
    static std::string_view text(ondemand::value value) {
        std::string_view token = value.raw_json_token();

        if (token.front() != '"') {
            throw simdjson::simdjson_error(simdjson::INCORRECT_TYPE);
        }
        return token.substr(1, token.rfind('"') - 1);
    }
};

struct Unescaped {
    static std::string_view text(ondemand::value value) {
        return value.get_string();
    }
};

bench_number decimal(std::string_view text) {
    return bench_decimal(text.data(), text.size());
}

template <class Text> uint64_t levels(ondemand::value value, bench_side side) {
    uint64_t sum = 0;

    for (ondemand::object level : value.get_array()) {
        bench_number price = decimal(Text::text(level["price"]));

        sum +=
            bench_sum_level(side, price, decimal(Text::text(level["amount"])));
    }
    return sum;
}

template <class Text>
uint64_t message(bench_kind kind, std::string_view market,
                 std::string_view time) {
    return bench_sum_message(kind, market.data(),
                             bench_time(time.data(), time.size()));
}

template <class Text>
uint64_t sides(ondemand::object payload, bench_kind kind,
               const char *time_key) {
    std::string_view market = Text::text(payload["market"]);

    if (Text::text(payload["type"]) == "SNAPSHOT") {
        kind = BENCH_SNAPSHOT;
    }
    uint64_t sum = message<Text>(kind, market, Text::text(payload[time_key]));
    sum += levels<Text>(payload["bids"], BENCH_BID);
    return sum + levels<Text>(payload["asks"], BENCH_ASK);
}

template <class Text> uint64_t execution(ondemand::object payload) {
    std::string_view market = Text::text(payload["market"]);
    bench_number price = decimal(Text::text(payload["price"]));
    bench_number amount = decimal(Text::text(payload["amount"]));

    return bench_sum_level(BENCH_TRADE, price, amount) +
           message<Text>(BENCH_EXECUTION, market,
                         Text::text(payload["executed_at"]));
}

template <class Text> uint64_t decode(const char *text, size_t len) {
    static ondemand::parser parser;

    try {
        ondemand::document document =
            parser.iterate(text, len, len + BENCH_PADDING);
        std::string_view channel = Text::text(document["channel"]);
        ondemand::object payload = document["payload"];

        if (channel == "market_data") {
            return sides<Text>(payload, BENCH_UPDATE, "time");
        }
        if (channel == "market_data.top_of_book") {
            return sides<Text>(payload, BENCH_TOP, "timestamp");
        }
        if (channel == "execution_data") {
            return execution<Text>(payload);
        }
        return message<Text>(BENCH_HEARTBEAT, std::string_view("\0\0\0\0", 4),
                             Text::text(payload["timestamp"]));
    } catch (const simdjson::simdjson_error &) {
        return 0;
    }
}

} // namespace

uint64_t decode_simdjson(const char *text, size_t len) {
    return decode<Raw>(text, len);
}

uint64_t decode_simdjson_strings(const char *text, size_t len) {
    return decode<Unescaped>(text, len);
}
