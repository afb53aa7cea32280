/*
 * The text of a service's messages, well-formed or malformed: see plan.h.
 *
 * SPDX-License-Identifier: 0BSD
 */
#include "plan.h"

const char *const plan_markets[PLAN_MARKETS] = {"BTCUSD", "ETHUSD", "SOL-EUR"};

int64_t plan_price(unsigned market, unsigned price) {
    static const int64_t firsts[PLAN_MARKETS] = {999000, 9900, 5};
    static const int64_t steps[PLAN_MARKETS] = {100, 5, 1};

    return firsts[market] + steps[market] * price;
}

void plan_write(struct plan_writer *w, const char *text) {
    size_t len = strlen(text);

    if (w->len + len >= w->size) {
        abort();
    }
    memcpy(w->text + w->len, text, len + 1);
    w->len += len;
}

__attribute__((format(printf, 2, 3))) static void
put_format(struct plan_writer *w, const char *format, ...) {
    char text[256];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    plan_write(w, text);
}

/* ---- messages ---- */

static uint32_t chance(const struct plan_writer *w, uint32_t n) {
    return random_below(w->random, n);
}

static void put_level(struct plan_writer *w, unsigned market, unsigned price,
                      unsigned amount, bool first) {
    static const char *const nothing[] = {"0", "0.00", "0E-8", "0.000", "0e3"};
    int64_t tenths = plan_price(market, price);
    char number[16];

    if (amount == 0) {
        snprintf(number, sizeof number, "%s", nothing[chance(w, 5)]);
    } else if (amount % 100 == 0) {
        snprintf(number, sizeof number, "%u", amount / 100);
    } else {
        snprintf(number, sizeof number, "%u.%02u", amount / 100, amount % 100);
    }
    bool swapped = w->odd && chance(w, 4) == 0;
    plan_write(w, first ? "{" : ",{");
    if (swapped) {
        put_format(w, "\"amount\":\"%s\",", number);
    }
    put_format(w, "\"price\":\"%" PRId64 ".%" PRId64 "%s\"", tenths / 10,
               tenths % 10, chance(w, 8) == 0 ? "00" : "");
    if (!swapped) {
        put_format(w, ",\"amount\":\"%s\"", number);
    }
    plan_write(w, "}");
}

static void put_side(struct plan_writer *w, unsigned market, unsigned side,
                     const struct plan_change *changes, size_t count) {
    bool first = true;

    put_format(w, "\"%s\":[", side == MST_BID ? "bids" : "asks");
    for (size_t i = 0; i < count; i++) {
        if (changes[i].side == side) {
            put_level(w, market, changes[i].price, changes[i].amount, first);
            first = false;
        }
    }
    plan_write(w, "]");
}

/* Writes the members of a payload, in any order if odd. */
static void put_pieces(struct plan_writer *w, unsigned market,
                       const char *const heads[], size_t heads_len,
                       const struct plan_change *changes, size_t count) {
    unsigned order[8], len = (unsigned)heads_len + 2;

    for (unsigned i = 0; i < len; i++) {
        order[i] = i;
    }
    for (unsigned i = 0; i < len && w->odd; i++) {
        unsigned k = i + chance(w, len - i), was = order[i];
        order[i] = order[k];
        order[k] = was;
    }
    plan_write(w, w->odd && chance(w, 2) == 0 ? "\"payload\" : \n{"
                                              : "\"payload\":{");
    for (unsigned i = 0; i < len; i++) {
        plan_write(w, i > 0 ? "," : "");
        if (order[i] < heads_len) {
            plan_write(w, heads[order[i]]);
        } else {
            put_side(w, market, order[i] == heads_len ? MST_BID : MST_ASK,
                     changes, count);
        }
    }
    if (w->odd && chance(w, 3) == 0) {
        plan_write(w, ",\"news\":{\"a\":[1,2.5e3,null,{\"rate\":\"x\"}]}");
    }
    plan_write(w, "}");
}

static void put_book(struct plan_writer *w, unsigned market,
                     enum mst_channel channel, const char *type,
                     const char *time, const struct plan_change *changes,
                     size_t count) {
    char market_head[64], type_head[64], time_head[80], channel_head[64];
    const char *const heads[] = {market_head, type_head, time_head};
    bool last = w->odd && chance(w, 8) == 0;

    snprintf(market_head, sizeof market_head, "\"market\":\"%s\"",
             plan_markets[market]);
    snprintf(type_head, sizeof type_head, "\"type\":\"%s\"", type);
    snprintf(time_head, sizeof time_head, "\"%s\":\"%s\"",
             channel == MST_TOP_OF_BOOK ? "timestamp" : "time", time);
    snprintf(channel_head, sizeof channel_head, "\"channel\":\"%s\"",
             mst_channel_name(channel));
    w->len = 0;
    plan_write(w, "{");
    if (!last) {
        plan_write(w, channel_head);
        plan_write(w, ",");
    }
    put_pieces(w, market, heads, COUNT(heads), changes, count);
    if (last) {
        plan_write(w, ",");
        plan_write(w, channel_head);
    }
    plan_write(w, "}");
}

void plan_write_update(struct plan_writer *w, unsigned market, const char *time,
                       const struct plan_change *changes, size_t count) {
    put_book(w, market, MST_MARKET_DATA, "UPDATE", time, changes, count);
}

/* Copies the best levels of a side, at most this number, best first. Returns
 * how many. */
static size_t best_levels(const struct plan_book *book, unsigned side,
                          struct plan_change *levels, size_t most) {
    size_t count = 0;

    for (unsigned i = 0; i < PLAN_PRICES && count < most; i++) {
        unsigned price = side == MST_BID ? PLAN_PRICES - 1 - i : i;
        if (book->amounts[side][price] > 0) {
            levels[count++] = (struct plan_change){
                (uint8_t)side, (uint8_t)price, book->amounts[side][price]};
        }
    }
    return count;
}

void plan_write_snapshot(struct plan_writer *w, unsigned market,
                         const char *time, const struct plan_book *book) {
    struct plan_change levels[2 * PLAN_PRICES];
    size_t count = 0;

    for (unsigned side = 0; side < 2; side++) {
        count += best_levels(book, side, levels + count, PLAN_PRICES);
    }
    put_book(w, market, MST_MARKET_DATA, "SNAPSHOT", time, levels, count);
}

void plan_write_top(struct plan_writer *w, unsigned market, const char *time,
                    const struct plan_book *book) {
    struct plan_change levels[2];
    size_t count = 0;

    for (unsigned side = 0; side < 2; side++) {
        count += best_levels(book, side, levels + count, 1);
    }
    put_book(w, market, MST_TOP_OF_BOOK, "TOP_OF_BOOK", time, levels, count);
}

void plan_write_execution(struct plan_writer *w, unsigned market,
                          const char *time, uint32_t number) {
    static const char *const forms[] = {
        EXECUTION_AT("%s", "%u.5", "0.%u1", "%s"),
        "{ \"channel\" :\"execution_data\", \"news\":[{}], \"payload\":{"
        "\"id\":7,\"market\":\"%s\",\n\"price\":\"%u.50\",\"amount\":\"0.%u1\","
        "\"taker\":{\"market\":null},\"executed_at\":\"%s\"}}"};

    w->len = 0;
    put_format(w, forms[w->odd], plan_markets[market], number, number % 10,
               time);
}

void plan_write_beat(struct plan_writer *w, const char *time) {
    w->len = 0;
    put_format(w, HEARTBEAT_AT("%s"), time);
}

/* ---- entries of answers ---- */

bool plan_write_object(struct plan_writer *w, const struct plan_member *members,
                       size_t count) {
    static const char *const values[] = {
        /* Of any type. */
        "null", "true", "false", "0", "-1.5e300", "\"\"", "\"X\"", "[]",
        "[[{}],\"X\"]", "{}",
        "{\"code\":\"UNKNOWN_CHANNEL\",\"message\":\"no\"}",
        "{\"code\":{},\"message\":[]}", "{\"market\":7}",
        "{\"error\":{\"code\":{\"a\":[]}}}",
        /* Duplicate, if the member matters. */
        "{\"code\":1,\"code\":2}"};
    bool first = true, clear = true;

    if (w->odd && chance(w, 16) == 0) {
        plan_write(w, values[chance(w, COUNT(values))]);
        return false;
    }
    plan_write(w, "{");
    for (size_t i = 0; i < count; i++) {
        uint32_t way = w->odd ? chance(w, 8) : 0;
        uint32_t at = chance(w, COUNT(values));
        const char *value = way == 1 ? values[at] : members[i].value;
        clear &= way != 3 && (way == 0 || way > 3 || i > 1) &&
                 (way != 1 || at < COUNT(values) - 1);
        for (uint32_t n = value == NULL || way == 2 ? 0
                          : way == 3                ? 2
                                                    : 1;
             n > 0; n--) {
            put_format(w, "%s\"%s\":", first ? "" : ",", members[i].name);
            plan_write(w, value);
            first = false;
        }
    }
    if (w->odd && chance(w, 32) == 0 && w->len < w->size / 4) {
        /* Larger than the message buffer. */
        put_format(w, "%s\"x\":\"", first ? "" : ",");
        for (unsigned i = 0; i < 4200 / 7; i++) {
            plan_write(w, "a text ");
        }
        plan_write(w, "\"");
    }
    plan_write(w, "}");
    return clear;
}

/* ---- what cannot be read ---- */

/* Replaces the first occurrence of old. Returns false if there is none. */
static bool replace(struct plan_writer *w, const char *old, const char *new) {
    char *at = strstr(w->text, old);
    size_t old_len = strlen(old), new_len = strlen(new);

    if (at == NULL || w->len + new_len >= w->size) {
        return false;
    }
    memmove(at + new_len, at + old_len,
            w->len + 1 - (size_t)(at - w->text) - old_len);
    memcpy(at, new, new_len);
    w->len += new_len - old_len;
    return true;
}

bool plan_break(struct plan_writer *w) {
    static const struct {
        const char *old, *new;
    } ways[] = {
        {"\"payload\"", "\"payload"},
        {"}}", "}"},
        {"\"price\":\"", "\"price\":\"x"},
        {"\"price\":\"", "\"price\":\"-"},
        {"\"price\":\"", "\"price\":\"1e99999"},
        {"\"amount\":\"", "\"amount\":\"1e999"},
        {"\"amount\":\"", "\"amount\":\"NaN"},
        {"\"amount\"", "\"count\""},
        {"\"price\"", "\"amount\":\"1\",\"price\""},
        {"\"time\":\"2", "\"time\":\"x"},
        {"\"time\"", "\"times\""},
        {"\"market\"", "\"markets\""},
        {"\"market\"", "\"market\":\"XRPUSD\",\"market\""},
        {"\"type\"", "\"type\":\"UPDATE\",\"type\""},
        {"\"type\"", "\"types\""},
        {"\"bids\":[", "\"bids\":7,\"x\":["},
        {"\"bids\":[", "\"bids\":[[]"},
        {"\"channel\":", "\"channel\":\"news\",\"channel\":"},
        {"\"payload\":{", "\"payload\":{\"a\":[[[[[[[[[[[[[[[[[[]"
                          "]]]]]]]]]]]]]]]]],"},
    };
    uint32_t way = chance(w, COUNT(ways) + 3);

    if (way < COUNT(ways) && replace(w, ways[way].old, ways[way].new)) {
        return true;
    }
    if (way == COUNT(ways) + 1) {
        return false;
    }
    w->len -= 1 + chance(w, (uint32_t)w->len); /* cut off its end */
    return true;
}

/* Writes an object of the keys and values of messages, in any order and place,
 * sometimes with a changed byte. It names no market of the plan. */
static void put_soup(struct plan_writer *w) {
    static const char *const keys[] = {
        "channel",     "payload",  "market", "type",  "time",
        "timestamp",   "bids",     "asks",   "price", "amount",
        "executed_at", "channels", "error",  "code",  "params",
        "success",     "x"};
    static const char *const values[] = {
        /* Of messages. */
        "\"market_data\"", "\"market_data.top_of_book\"", "\"execution_data\"",
        "\"heartbeat\"", "\"XRPUSD\"", "\"UPDATE\"", "\"SNAPSHOT\"",
        "\"TOP_OF_BOOK\"", "\"2026-01-01T00:00:00Z\"", "\"1.5\"",
        /* Others. */
        "\"1e-70\"", "\"-1\"", "1.5", "-0", "true", "null", "[]", "{}",
        "[{\"price\":\"1\",\"amount\":\"2\"}]", "\"\\ud800\"",
        "\"\\u0000\\\"\"", "[[[[", "\"error\"", "\"subscribe\""};
    unsigned depth = 1;
    bool first = true;

    plan_write(w, "{");
    for (uint32_t n = chance(w, 16); n > 0; n--) {
        put_format(w, "%s\"%s\":", first ? "" : ",",
                   keys[chance(w, COUNT(keys))]);
        first = chance(w, 4) == 0;
        plan_write(w, first ? "{" : values[chance(w, COUNT(values))]);
        depth += first;
        if (depth > 1 && chance(w, 4) == 0) {
            plan_write(w, "}");
            depth--;
            first = false;
        }
    }
    for (; depth > 0; depth--) {
        plan_write(w, "}");
    }
    if (chance(w, 4) == 0) {
        w->text[chance(w, (uint32_t)w->len)] = (char)(' ' + chance(w, 95));
    }
}

void plan_garbage(struct plan_writer *w) {
    static const char *const texts[] = {
        "",
        "{",
        "[]",
        "null",
        "nonsense",
        "{\"channel\":\"news\",\"payload\":{}}",
        "{\"channel\":\"news\",\"channel\":\"heartbeat\",\"payload\":{}}",
        "{\"a\":[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[]]]]]]]",
        "{\"channel\":\"market_data\",\"payload\":{}}",
        "{\"channel\":\"market_data.top_of_book\",\"payload\":{\"market\":"
        "\"BTCUSD\",\"type\":\"TOP_OF_BOOK\",\"timestamp\":\"never\"}}",
        "{\"channel\":\"heartbeat\",\"payload\":{\"timestamp\":5}}",
        EXECUTION_AT("BTCUSD", "1e400", "-1", ""),
        "{\"channel\":\"market_data\",\"payload\":{\"market\":\"XRPUSD\","
        "\"type\":\"UPDATE\",\"time\":\"2026-01-01T00:00:00Z\",\"bids\":"
        "[{\"price\":\"1\",\"amount\":\"1\"}],\"asks\":[]}}",
        "{\"channel\":\"market_data\",\"payload\":{\"market\":\"ETHUSD\","
        "\"type\":\"UPDATE\",\"time\":\"2026-01-01T00:00:00Z\",\"bids\":"
        "[{\"price\":\"1x\",\"amount\":\"1\"}],\"asks\":[]}}",
        "{\"type\":\"subscribe\",\"channels\":[]}",
        "{\"type\":\"unsubscribe\",\"channels\":[]}",
        "{\"type\":\"subscription_list\",\"channels\":[]}",
        "{\"type\":\"subscribe\",\"channels\":[{\"type\":\"market_data\","
        "\"params\":{\"market\":\"BTCUSD\"},\"success\":false}]}",
        "{\"type\":\"unsubscribe\",\"channels\":[{\"type\":\"market_data\","
        "\"params\":{\"market\":\"ETHUSD\"},\"success\":true}]}",
        "{\"type\":\"subscription_list\",\"channels\":[{\"type\":"
        "\"heartbeat\"}]}",
        "{\"type\":\"error\",\"error\":\"INTERNAL_SERVER_ERROR\"}",
        "{\"type\":\"error\",\"code\":\"UNKNOWN_ACTION\",\"message\":\"?\"}",
        "{\"error\":{\"code\":\"MALFORMED_REQUEST\",\"message\":\"\"}}",
        "{\"type\":\"welcome\",\"version\":1e400}",
        "\xC3\x28",
    };

    w->len = 0;
    if (chance(w, 2) == 0) {
        put_soup(w);
    } else {
        plan_write(w, texts[chance(w, COUNT(texts))]);
    }
}
