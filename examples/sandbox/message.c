/* Builds the stream's messages. SPDX-License-Identifier: 0BSD */
#include "message.h"

static const struct {
    const char *code;
    const char *text;
} errors[] = {
#define ERROR(code, text) [MESSAGE_##code] = {#code, text}
    ERROR(MALFORMED_REQUEST, "the request cannot be parsed"),
    ERROR(UNKNOWN_ACTION, "the type of the request is not known"),
    ERROR(UNKNOWN_CHANNEL, "the type of the channel is not known"),
    ERROR(UNKNOWN_CHANNEL_PARAMS_CONFIGURATION,
          "the parameters of the channel are invalid or missing"),
    ERROR(NO_EFFECT_ACTION, "the request would change nothing"),
    ERROR(INTERNAL_SERVER_ERROR, "unexpected server error"),
#undef ERROR
};

static void begin(const struct writer *writer, const char *kind,
                  const struct market *market) {
    writer_begin(writer, kind, market->spec.symbol, market->steps);
}

static json_t *level_json(const struct writer *writer,
                          const struct market_spec *spec,
                          const struct market_level *level) {
    json_t *price = writer_decimal(writer, level->price, spec->price_decimals);
    json_t *amount =
        writer_decimal(writer, level->amount, spec->amount_decimals);

    return json_pack("{s:o, s:o}", "price", price, "amount", amount);
}

/* Returns the first levels of the array, at most limit. */
static json_t *levels_json(const struct writer *writer,
                           const struct market_spec *spec, const GArray *levels,
                           guint limit) {
    json_t *array = json_array();

    for (guint i = 0; i < MIN(levels->len, limit); i++) {
        const struct market_level *level =
            &g_array_index(levels, struct market_level, i);

        json_array_append_new(array, level_json(writer, spec, level));
    }
    return array;
}

/* Returns a side of a snapshot. */
static json_t *side_json(const struct writer *writer,
                         const struct market *market, enum market_side side) {
    const GArray *levels = market->levels[side];
    GArray *mixed;
    json_t *array;

    if (!quirk_on(writer->quirks, QUIRK_LEVEL_ORDER)) {
        return levels_json(writer, &market->spec, levels, G_MAXUINT);
    }
    mixed = g_array_new(FALSE, FALSE, sizeof(struct market_level));
    g_array_append_vals(mixed, levels->data, levels->len);
    for (guint i = mixed->len; i > 1; i--) {
        guint j = (guint)g_rand_int_range(writer->random, 0, (int)i);
        struct market_level *a =
            &g_array_index(mixed, struct market_level, i - 1);
        struct market_level *b = &g_array_index(mixed, struct market_level, j);
        struct market_level level = *a;

        *a = *b;
        *b = level;
    }
    array = levels_json(writer, &market->spec, mixed, G_MAXUINT);
    g_array_unref(mixed);
    return array;
}

/* Releases bids and asks; a NULL side is omitted. */
static char *book_text(const struct writer *writer, const struct market *market,
                       const char *type, int64_t time_ns, json_t *bids,
                       json_t *asks) {
    json_t *time = writer_time(writer, time_ns, 3);

    return writer_text(writer,
                       json_pack("{s:s, s:{s:s, s:s, s:o, s:o*, s:o*}}",
                                 "channel", "market_data", "payload", "market",
                                 market->spec.symbol, "type", type, "time",
                                 time, "bids", bids, "asks", asks));
}

const char *message_error_code(enum message_error error) {
    return errors[error].code;
}

static enum writer_error_shape error_shape(const struct writer *writer) {
    if (quirk_on(writer->quirks, QUIRK_ERROR_SHAPES)) {
        return (enum writer_error_shape)g_rand_int_range(writer->random, 0,
                                                         WRITER_ERROR_SHAPES);
    }
    return writer->error_shape;
}

char *message_error(const struct writer *writer, enum message_error error) {
    const char *code = errors[error].code;
    const char *text = errors[error].text;
    json_t *json = NULL;

    switch (error_shape(writer)) {
    case WRITER_ERROR_OBJECT:
        json = json_pack("{s:s, s:s, s:s}", "type", "error", "code", code,
                         "message", text);
        break;
    case WRITER_ERROR_NESTED:
        json =
            json_pack("{s:{s:s, s:s}}", "error", "code", code, "message", text);
        break;
    case WRITER_ERROR_PLAIN:
    case WRITER_ERROR_SHAPES:
        json = json_pack("{s:s, s:s}", "type", "error", "error", code);
        break;
    }
    return writer_text(writer, json);
}

char *message_snapshot(const struct writer *writer,
                       const struct market *market) {
    static const char *const others[] = {"INITIAL", "FULL_REFRESH", "image"};
    const char *type = "SNAPSHOT";

    begin(writer, "snapshot", market);
    if (quirk_on(writer->quirks, QUIRK_SNAPSHOT_TYPE)) {
        type =
            others[g_rand_int_range(writer->random, 0, G_N_ELEMENTS(others))];
    }
    return book_text(writer, market, type, market->time_ns,
                     side_json(writer, market, MARKET_BID),
                     side_json(writer, market, MARKET_ASK));
}

/* Returns a side of an update, or NULL to omit it. */
static json_t *changed_json(const struct writer *writer,
                            const struct market *market, const GArray *levels) {
    if (levels->len == 0 && writer_chance(writer, QUIRK_ABSENT_SIDES, 1)) {
        return NULL;
    }
    return levels_json(writer, &market->spec, levels, G_MAXUINT);
}

char *message_update(const struct writer *writer, const struct market *market,
                     const struct market_change *change) {
    begin(writer, "update", market);
    return book_text(writer, market, "UPDATE", change->time_ns,
                     changed_json(writer, market, change->levels[MARKET_BID]),
                     changed_json(writer, market, change->levels[MARKET_ASK]));
}

char *message_top(const struct writer *writer, const struct market *market) {
    const struct market_spec *spec = &market->spec;
    json_t *time;

    begin(writer, "top", market);
    time = writer_time(writer, market->time_ns, 9);
    return writer_text(
        writer,
        json_pack("{s:s, s:{s:s, s:s, s:o, s:o, s:o}}", "channel",
                  "market_data.top_of_book", "payload", "market", spec->symbol,
                  "type", "TOP_OF_BOOK", "timestamp", time, "bids",
                  levels_json(writer, spec, market->levels[MARKET_BID], 1),
                  "asks",
                  levels_json(writer, spec, market->levels[MARKET_ASK], 1)));
}

char *message_trade(const struct writer *writer,
                    const struct execution *execution) {
    const struct market_spec *spec = &execution->market->spec;
    json_t *price =
        writer_decimal(writer, execution->taken.price, spec->price_decimals);
    json_t *amount =
        writer_decimal(writer, execution->taken.amount, spec->amount_decimals);
    json_t *time = writer_time(writer, execution->time_ns, 3);

    return writer_text(writer,
                       json_pack("{s:s, s:{s:s, s:o, s:o, s:o}}", "channel",
                                 "execution_data", "payload", "market",
                                 spec->symbol, "price", price, "amount", amount,
                                 "executed_at", time));
}

char *message_heartbeat(const struct writer *writer, int64_t time_ns) {
    return writer_text(writer, json_pack("{s:s, s:{s:o}}", "channel",
                                         "heartbeat", "payload", "timestamp",
                                         writer_time(writer, time_ns, 9)));
}

char *message_unknown_channel(const struct writer *writer, int64_t time_ns) {
    return writer_text(writer,
                       json_pack("{s:s, s:{s:s, s:o, s:[{s:s}]}}", "channel",
                                 "market_data.statistics", "payload", "type",
                                 "STATISTICS", "timestamp",
                                 writer_time(writer, time_ns, 9), "bids",
                                 "price", "0"));
}

char *message_unknown_type(const struct writer *writer) {
    return writer_text(writer, json_pack("{s:s, s:[{s:s}]}", "type", "notice",
                                         "channels", "type", "market_data"));
}

json_t *message_truth(const struct market *market, guint levels) {
    const struct writer *writer = &writer_plain;
    const struct market_spec *spec = &market->spec;

    return json_pack(
        "{s:s, s:o, s:o, s:o}", "market", spec->symbol, "time",
        writer_time(writer, market->time_ns, 9), "bids",
        levels_json(writer, spec, market->levels[MARKET_BID], levels), "asks",
        levels_json(writer, spec, market->levels[MARKET_ASK], levels));
}
