/*
 * The text of every message that the streaming side writes.
 *
 * SPDX-License-Identifier: 0BSD
 */
#include "message.h"

#include <inttypes.h>
#include <jansson.h>
#include <time.h>

#define DECIMAL_SIZE 32
#define TIME_SIZE 40

#define NS_PER_S INT64_C(1000000000)

static const struct {
    const char *code;
    const char *text;
} errors[] = {
    [MESSAGE_OK] = {"", ""},
    [MESSAGE_MALFORMED_REQUEST] = {"MALFORMED_REQUEST",
                                   "the request cannot be parsed"},
    [MESSAGE_UNKNOWN_ACTION] = {"UNKNOWN_ACTION",
                                "the type of the request is not known"},
    [MESSAGE_UNKNOWN_CHANNEL] = {"UNKNOWN_CHANNEL",
                                 "the type of the channel is not known"},
    [MESSAGE_UNKNOWN_CHANNEL_PARAMS_CONFIGURATION] =
        {"UNKNOWN_CHANNEL_PARAMS_CONFIGURATION",
         "the parameters of the channel are invalid or missing"},
    [MESSAGE_NO_EFFECT_ACTION] = {"NO_EFFECT_ACTION",
                                  "the request would change nothing"},
    [MESSAGE_INTERNAL_SERVER_ERROR] = {"INTERNAL_SERVER_ERROR",
                                       "unexpected server error"},
};

static void decimal_text(char text[DECIMAL_SIZE], int64_t value, int decimals)
{
    int64_t scale = 1;

    if (value == 0) {
        g_strlcpy(text, "0", DECIMAL_SIZE);
        return;
    }
    for (int i = 0; i < decimals; i++) {
        scale *= 10;
    }
    g_snprintf(text, DECIMAL_SIZE, "%" PRId64 ".%0*" PRId64, value / scale,
               decimals, value % scale);
}

/* ISO 8601, UTC, with this many digits (1 to 9) of a second's fraction. */
static void time_text(char text[TIME_SIZE], int64_t time_ns, int digits)
{
    time_t seconds = (time_t)(time_ns / NS_PER_S);
    int64_t fraction = time_ns % NS_PER_S;
    struct tm tm;
    char date[TIME_SIZE / 2];

    for (int i = digits; i < 9; i++) {
        fraction /= 10;
    }
    gmtime_r(&seconds, &tm);
    strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%S", &tm);
    g_snprintf(text, TIME_SIZE, "%s.%0*" PRId64 "Z", date, digits, fraction);
}

static json_t *level_json(const struct market_spec *spec,
                          const struct market_level *level)
{
    char price[DECIMAL_SIZE];
    char amount[DECIMAL_SIZE];

    decimal_text(price, level->price, spec->price_decimals);
    decimal_text(amount, level->amount, spec->amount_decimals);
    return json_pack("{s:s, s:s}", "price", price, "amount", amount);
}

/* The first levels of the array, at most limit of them. */
static json_t *levels_json(const struct market_spec *spec, const GArray *levels,
                           guint limit)
{
    json_t *array = json_array();

    for (guint i = 0; i < MIN(levels->len, limit); i++) {
        const struct market_level *level =
            &g_array_index(levels, struct market_level, i);

        json_array_append_new(array, level_json(spec, level));
    }
    return array;
}

/* Text of the JSON value, which is released. */
static char *json_text(json_t *json)
{
    char *text = json_dumps(json, JSON_COMPACT);

    json_decref(json);
    return text;
}

static char *book_text(const struct market *market, const char *type,
                       int64_t time_ns, const GArray *bids, const GArray *asks)
{
    const struct market_spec *spec = market_spec(market);
    char time[TIME_SIZE];

    time_text(time, time_ns, 3);
    return json_text(json_pack("{s:s, s:{s:s, s:s, s:s, s:o, s:o}}", "channel",
                               "market_data", "payload", "market", spec->symbol,
                               "type", type, "time", time, "bids",
                               levels_json(spec, bids, G_MAXUINT), "asks",
                               levels_json(spec, asks, G_MAXUINT)));
}

const char *message_error_code(enum message_error error)
{
    return errors[error].code;
}

char *message_error(enum message_error error, enum message_error_shape shape)
{
    const char *code = errors[error].code;
    const char *text = errors[error].text;
    json_t *json = NULL;

    switch (shape) {
    case MESSAGE_ERROR_PLAIN:
        json = json_pack("{s:s, s:s}", "type", "error", "error", code);
        break;
    case MESSAGE_ERROR_OBJECT:
        json = json_pack("{s:s, s:s, s:s}", "type", "error", "code", code,
                         "message", text);
        break;
    case MESSAGE_ERROR_NESTED:
        json =
            json_pack("{s:{s:s, s:s}}", "error", "code", code, "message", text);
        break;
    }
    return json_text(json);
}

char *message_snapshot(const struct market *market)
{
    return book_text(market, "SNAPSHOT", market_time_ns(market),
                     market_levels(market, MARKET_BID),
                     market_levels(market, MARKET_ASK));
}

char *message_update(const struct market *market,
                     const struct market_change *change)
{
    return book_text(market, "UPDATE", change->time_ns,
                     change->levels[MARKET_BID], change->levels[MARKET_ASK]);
}

char *message_top(const struct market *market)
{
    const struct market_spec *spec = market_spec(market);
    char time[TIME_SIZE];

    time_text(time, market_time_ns(market), 9);
    return json_text(json_pack(
        "{s:s, s:{s:s, s:s, s:s, s:o, s:o}}", "channel",
        "market_data.top_of_book", "payload", "market", spec->symbol, "type",
        "TOP_OF_BOOK", "timestamp", time, "bids",
        levels_json(spec, market_levels(market, MARKET_BID), 1), "asks",
        levels_json(spec, market_levels(market, MARKET_ASK), 1)));
}

char *message_trade(const struct market *market,
                    const struct market_level *taken, int64_t time_ns)
{
    const struct market_spec *spec = market_spec(market);
    char price[DECIMAL_SIZE];
    char amount[DECIMAL_SIZE];
    char time[TIME_SIZE];

    decimal_text(price, taken->price, spec->price_decimals);
    decimal_text(amount, taken->amount, spec->amount_decimals);
    time_text(time, time_ns, 3);
    return json_text(json_pack("{s:s, s:{s:s, s:s, s:s, s:s}}", "channel",
                               "execution_data", "payload", "market",
                               spec->symbol, "price", price, "amount", amount,
                               "executed_at", time));
}

char *message_heartbeat(int64_t time_ns)
{
    char time[TIME_SIZE];

    time_text(time, time_ns, 9);
    return json_text(json_pack("{s:s, s:{s:s}}", "channel", "heartbeat",
                               "payload", "timestamp", time));
}
