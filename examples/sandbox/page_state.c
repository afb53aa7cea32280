/* The page's data, as JSON of limited size. SPDX-License-Identifier: 0BSD */
#include "page.h"

#include "api.h"
#include "mask.h"
#include "request.h"

#define LEVELS_MAX 200U /* per side */
#define TOPS_MAX 6U
#define CONNECTIONS_MAX 30U
#define SUBSCRIPTIONS_MAX 30U /* per connection */
#define ADDRESSES_MAX 30

json_t *page_about(const struct around *around, const char *run) {
    const GPtrArray *all = feed_markets(around->feed);
    json_t *markets = json_array();

    for (guint i = 0; i < all->len; i++) {
        const struct market *market = g_ptr_array_index(all, i);

        json_array_append_new(markets, json_string(market->spec.symbol));
    }
    return json_pack("{s:s, s:I, s:o, s:o}", "run", run, "seed",
                     (json_int_t)around->options->seed, "markets", markets,
                     "faults", fault_fields());
}

/* Returns a market's best levels, or null while a recording has none. */
static json_t *truth_json(const struct around *around,
                          const struct market *market, guint levels) {
    json_t *json = api_truth(around, market, levels);

    return json ? json : json_null();
}

/* Adds the number of levels, if it is known. */
static json_t *book_json(const struct around *around,
                         const struct market *market) {
    json_t *json = truth_json(around, market, LEVELS_MAX);

    if (!around->played) {
        json_object_set_new(json, "bid_levels",
                            json_integer(market->levels[MARKET_BID]->len));
        json_object_set_new(json, "ask_levels",
                            json_integer(market->levels[MARKET_ASK]->len));
    }
    return json;
}

/* Returns the top of book of the first markets. */
static json_t *tops_json(const struct around *around) {
    const GPtrArray *all = feed_markets(around->feed);
    json_t *tops = json_array();

    for (guint i = 0; i < MIN(all->len, TOPS_MAX); i++) {
        const struct market *market = g_ptr_array_index(all, i);

        json_array_append_new(tops, json_pack("{s:s, s:o}", "market",
                                              market->spec.symbol, "book",
                                              truth_json(around, market, 1)));
    }
    return tops;
}

static json_t *subscriptions_json(const GArray *held) {
    json_t *list = json_array();

    for (guint i = 0; i < MIN(held->len, SUBSCRIPTIONS_MAX); i++) {
        const struct subscription *each = subscription_at(held, i);

        json_array_append_new(
            list, json_pack("{s:s, s:s*}", "channel",
                            channel_name(each->channel), "market",
                            each->market ? each->market->spec.symbol : NULL));
    }
    return list;
}

static json_t *connection_json(const struct peer *peer) {
    struct connection_figures figures = connection_figures(peer->connection);
    g_autofree char *address = connection_address(peer->connection);

    return json_pack(
        "{s:I, s:s, s:s, s:o, s:I, s:I, s:I, s:I, s:o}", "number",
        (json_int_t)peer->number, "client", peer->client->id, "address",
        address, "since", writer_time(&writer_plain, peer->since_ns, 3),
        "messages", (json_int_t)figures.messages, "bytes",
        (json_int_t)figures.bytes, "waiting", (json_int_t)figures.backlog,
        "held", (json_int_t)peer->held->len, "subscriptions",
        subscriptions_json(peer->held));
}

static json_t *connections_json(const struct stream *stream) {
    const GPtrArray *peers = stream->peers;
    json_t *list = json_array();

    for (guint i = 0; i < MIN(peers->len, CONNECTIONS_MAX); i++) {
        json_array_append_new(list,
                              connection_json(g_ptr_array_index(peers, i)));
    }
    return json_pack("{s:I, s:o}", "count", (json_int_t)peers->len, "list",
                     list);
}

/* Returns null if the database cannot be read now. */
static json_t *addresses_json(const struct around *around) {
    json_t *list = address_store_list(around->addresses, ADDRESSES_MAX);

    mask_json(around->tokens, list);
    return list ? list : json_null();
}

json_t *page_state(const struct around *around, const char *run,
                   const char *symbol, gint64 number) {
    const struct market *found =
        symbol ? feed_find(around->feed, symbol) : NULL;
    const struct market *market =
        found ? found : g_ptr_array_index(feed_markets(around->feed), 0);

    return json_pack(
        "{s:s, s:o, s:s, s:o, s:o, s:o, s:o, s:o, s:o}", "run", run, "time",
        writer_time(&writer_plain, feed_now_ns(), 3), "market",
        market->spec.symbol, "book", book_json(around, market), "tops",
        tops_json(around), "connections", connections_json(around->stream),
        "journal", journal_since(around->journal, number), "faults",
        faults_json(around->faults), "addresses", addresses_json(around));
}
