/*
 * RapidJSON, as a stream of events.
 *
 * SPDX-License-Identifier: 0BSD
 */
#include "bench.h"
#include "decoders.h"

#include <rapidjson/reader.h>

#include <string_view>

namespace {

using std::string_view;

struct Handler : rapidjson::BaseReaderHandler<rapidjson::UTF8<>, Handler> {
    enum Key { CHANNEL, MARKET, TYPE, TIME, PRICE, AMOUNT, BIDS, ASKS, OTHER };

    Key key = OTHER;
    bench_side side = BENCH_TRADE;
    bench_kind kind = BENCH_HEARTBEAT;
    bench_number price{}, amount{};
    int64_t time_ns = 0;
    char market[8] = "";
    uint64_t sum = 0;

    // Keys of the same length are few: the length tells them apart first.
    static Key key_of(string_view text) {
        switch (text.size()) {
        case 4:
            return text == "bids"   ? BIDS
                   : text == "asks" ? ASKS
                   : text == "time" ? TIME
                   : text == "type" ? TYPE
                                    : OTHER;
        case 5: return text == "price" ? PRICE : OTHER;
        case 6:
            return text == "amount"   ? AMOUNT
                   : text == "market" ? MARKET
                                      : OTHER;
        case 7: return text == "channel" ? CHANNEL : OTHER;
        case 9: return text == "timestamp" ? TIME : OTHER;
        case 11: return text == "executed_at" ? TIME : OTHER;
        default: return OTHER;
        }
    }

    static bench_kind kind_of(string_view text) {
        return text == "market_data"               ? BENCH_UPDATE
               : text == "market_data.top_of_book" ? BENCH_TOP
               : text == "execution_data"          ? BENCH_EXECUTION
                                                   : BENCH_HEARTBEAT;
    }

    bool Key(const char *text, rapidjson::SizeType len, bool) {
        key = key_of(string_view(text, len));
        return true;
    }

    bool String(const char *text, rapidjson::SizeType len, bool) {
        switch (key) {
        case CHANNEL: kind = kind_of(string_view(text, len)); break;
        case MARKET:
            memcpy(market, text, len < sizeof market ? len : sizeof market);
            break;
        case TYPE:
            if (string_view(text, len) == "SNAPSHOT") {
                kind = BENCH_SNAPSHOT;
            }
            break;
        case TIME: time_ns = bench_time(text, len); break;
        case PRICE: price = bench_decimal(text, len); break;
        case AMOUNT: amount = bench_decimal(text, len); break;
        default: break;
        }
        return true;
    }

    bool StartArray() {
        side = key == BIDS ? BENCH_BID : BENCH_ASK;
        return true;
    }

    bool EndObject(rapidjson::SizeType) {
        if (side != BENCH_TRADE) {
            sum += bench_sum_level(side, price, amount);
        }
        return true;
    }

    bool EndArray(rapidjson::SizeType) {
        side = BENCH_TRADE;
        return true;
    }
};

} // namespace

uint64_t decode_rapidjson(const char *text, size_t) {
    static rapidjson::Reader reader;
    rapidjson::StringStream stream(text);
    Handler handler;

    if (!reader.Parse(stream, handler)) {
        return 0;
    }
    if (handler.kind == BENCH_EXECUTION) {
        handler.sum +=
            bench_sum_level(BENCH_TRADE, handler.price, handler.amount);
    }
    return handler.sum +
           bench_sum_message(handler.kind, handler.market, handler.time_ns);
}
