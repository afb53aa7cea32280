/* Requests on a stream. SPDX-License-Identifier: 0BSD */
#include "request.h"

#include <string.h>

/* The data that a request works on. */
struct context {
    const struct feed *feed;
    GArray *held;
};

/* Carries out one entry of the request's channels. */
typedef enum message_error (*entry_action)(struct context *context,
                                           struct subscription wanted);

static const char *const channel_names[CHANNEL_COUNT] = {
    [CHANNEL_MARKET_DATA] = "market_data",
    [CHANNEL_TOP_OF_BOOK] = "market_data.top_of_book",
    [CHANNEL_EXECUTION_DATA] = "execution_data",
    [CHANNEL_HEARTBEAT] = "heartbeat",
};

enum channel channel_find(const char *name) {
    enum channel channel = CHANNEL_MARKET_DATA;

    while (channel < CHANNEL_COUNT &&
           strcmp(channel_names[channel], name) != 0) {
        channel++;
    }
    return channel;
}

const char *channel_name(enum channel channel) {
    return channel_names[channel];
}

static void subscription_clear(gpointer data) {
    struct subscription *subscription = data;

    g_free(subscription->snapshot);
    g_free(subscription->late_update);
}

GArray *subscriptions_new(void) {
    GArray *held = g_array_new(FALSE, FALSE, sizeof(struct subscription));

    g_array_set_clear_func(held, subscription_clear);
    return held;
}

struct subscription *subscription_at(const GArray *held, guint index) {
    return &g_array_index(held, struct subscription, index);
}

/* Returns the index of a subscription, or the array's length. */
static guint subscription_index(const GArray *held, enum channel channel,
                                const struct market *market) {
    guint i = 0;

    for (; i < held->len; i++) {
        const struct subscription *each = subscription_at(held, i);

        if (each->channel == channel && each->market == market) {
            break;
        }
    }
    return i;
}

struct subscription *subscription_find(const GArray *held, enum channel channel,
                                       const struct market *market) {
    guint i = subscription_index(held, channel, market);

    return i < held->len ? subscription_at(held, i) : NULL;
}

static enum message_error subscribe(struct context *context,
                                    struct subscription wanted) {
    if (subscription_find(context->held, wanted.channel, wanted.market)) {
        return MESSAGE_NO_EFFECT_ACTION;
    }
    g_array_append_val(context->held, wanted);
    return MESSAGE_OK;
}

static enum message_error unsubscribe(struct context *context,
                                      struct subscription wanted) {
    guint i = subscription_index(context->held, wanted.channel, wanted.market);

    if (i == context->held->len) {
        return MESSAGE_NO_EFFECT_ACTION;
    }
    g_array_remove_index(context->held, i);
    return MESSAGE_OK;
}

/* Reads the parameters: none for the heartbeat, only the market for others. */
static bool read_params(const json_t *params, const struct feed *feed,
                        struct subscription *wanted) {
    const char *symbol = json_string_value(json_object_get(params, "market"));

    if (wanted->channel == CHANNEL_HEARTBEAT) {
        return !params ||
               (json_is_object(params) && json_object_size(params) == 0);
    }
    if (!symbol || json_object_size(params) != 1) {
        return false;
    }
    wanted->market = feed_find(feed, symbol);
    return wanted->market != NULL;
}

static enum message_error read_entry(const json_t *entry,
                                     const struct feed *feed,
                                     struct subscription *wanted) {
    const char *name = json_string_value(json_object_get(entry, "type"));
    enum channel channel = channel_find(name);

    if (channel == CHANNEL_COUNT) {
        return MESSAGE_UNKNOWN_CHANNEL;
    }
    *wanted = (struct subscription){.channel = channel};
    return read_params(json_object_get(entry, "params"), feed, wanted)
               ? MESSAGE_OK
               : MESSAGE_UNKNOWN_CHANNEL_PARAMS_CONFIGURATION;
}

/* Returns the entry's type and params unchanged, with its result. */
static json_t *entry_result(const json_t *entry, enum message_error error) {
    json_t *result = json_pack(
        "{s:O, s:O*, s:b}", "type", json_object_get(entry, "type"), "params",
        json_object_get(entry, "params"), "success", error == MESSAGE_OK);

    if (error != MESSAGE_OK) {
        json_object_set_new(result, "error",
                            json_string(message_error_code(error)));
    }
    return result;
}

/* Returns true for an array of objects that have a type. */
static bool channels_well_formed(const json_t *channels) {
    size_t i;
    json_t *entry;

    json_array_foreach(channels, i, entry) {
        if (!json_is_string(json_object_get(entry, "type"))) {
            return false;
        }
    }
    return json_is_array(channels);
}

static enum message_error answer_entries(struct context *context,
                                         const json_t *channels,
                                         entry_action action, json_t *results) {
    size_t i;
    json_t *entry;

    if (!channels_well_formed(channels)) {
        return MESSAGE_MALFORMED_REQUEST;
    }
    if (json_array_size(channels) == 0) {
        return MESSAGE_NO_EFFECT_ACTION;
    }
    json_array_foreach(channels, i, entry) {
        struct subscription wanted;
        enum message_error error = read_entry(entry, context->feed, &wanted);

        if (error == MESSAGE_OK) {
            error = action(context, wanted);
        }
        json_array_append_new(results, entry_result(entry, error));
    }
    return MESSAGE_OK;
}

static enum message_error answer_list(const struct context *context,
                                      json_t *results) {
    for (guint i = 0; i < context->held->len; i++) {
        const struct subscription *each = subscription_at(context->held, i);
        json_t *params = NULL;

        if (each->market) {
            params = json_pack("{s:s}", "market", each->market->spec.symbol);
        }
        json_array_append_new(results, json_pack("{s:s, s:o*}", "type",
                                                 channel_names[each->channel],
                                                 "params", params));
    }
    return MESSAGE_OK;
}

static enum message_error answer(struct context *context, const json_t *request,
                                 json_t *results) {
    const char *type = json_string_value(json_object_get(request, "type"));
    const json_t *channels = json_object_get(request, "channels");

    if (!type) {
        return MESSAGE_MALFORMED_REQUEST;
    }
    if (strcmp(type, "subscribe") == 0) {
        return answer_entries(context, channels, subscribe, results);
    }
    if (strcmp(type, "unsubscribe") == 0) {
        return answer_entries(context, channels, unsubscribe, results);
    }
    if (strcmp(type, "subscription_list") == 0) {
        return answer_list(context, results);
    }
    return MESSAGE_UNKNOWN_ACTION;
}

char *request_answer(const struct writer *writer, const char *text, size_t len,
                     const struct feed *feed, GArray *held) {
    struct context context = {.feed = feed, .held = held};
    json_auto_t *request = json_loadb(text, len, JSON_REJECT_DUPLICATES, NULL);
    json_auto_t *results = json_array();
    enum message_error error = answer(&context, request, results);

    if (error != MESSAGE_OK) {
        return message_error(writer, error);
    }
    return writer_text(writer, json_pack("{s:O, s:O}", "type",
                                         json_object_get(request, "type"),
                                         "channels", results));
}
