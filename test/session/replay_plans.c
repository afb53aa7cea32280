/*
 * Plans of a service that does whatever it likes for a while (see plan.h),
 * recorded and replayed with the same events, every third with TLS of the
 * library's own.
 *
 * REPLAYS: how many plans; PLANS_SEED: the first one's seed.
 *
 * SPDX-License-Identifier: 0BSD
 */
#include "plan.h"
#include "played.h"
#include "tls_peer.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define REPLAYS 300u

static struct {
    struct plan plan;
    struct mst_mock mock;
    struct mst_port port;
    struct exchange exchange;
    struct tls_peer tls; /* in between, in some plans */
    struct tls_identity identity;
    struct tls_anchor anchor;
    struct mst_client client;
    struct mst_pair pair;
    bool paired;
    struct mst_memory memory[2];
    unsigned char bytes[2][MST_MEMORY_LEN(MST_RECORD_IN_ANY, MST_RECORD_OUT_MIN,
                                          4096, 4096)];
    struct mst_book books[2][PLAN_MARKETS], spares[2][PLAN_MARKETS];
    struct mst_level levels[2][PLAN_MARKETS][2][2 * PLAN_PRICES];
    uint64_t events;
} run;

static void on_trace(void *context, const struct mst_trace *trace) {
    exchange_trace(context, trace);
}

static unsigned books_of(unsigned market) {
    return run.paired && (run.plan.only_one >> market & 1) == 0 ? 2 : 1;
}

static void subscribe(enum mst_channel channel, unsigned market) {
    const char *name = channel == MST_HEARTBEAT ? NULL : plan_markets[market];
    const struct recorder_books books = {books_of(market), run.plan.capacity,
                                         run.plan.thin, run.plan.spare};
    bool book = channel == MST_MARKET_DATA;

    recorder_subscribe(&played.recorder, 0, channel, name,
                       book ? &books : NULL);
    if (run.paired) {
        (void)mst_pair_subscribe(
            &run.pair, channel, name, book ? &run.books[0][market] : NULL,
            book && books.count == 2 ? &run.books[1][market] : NULL);
    } else {
        (void)mst_subscribe(&run.client, channel, name,
                            book ? &run.books[0][market] : NULL);
    }
}

static void book_begin(unsigned which, unsigned market) {
    struct mst_book *book = &run.books[which][market];
    struct mst_book *spare = &run.spares[which][market];

    (void)mst_book_init(book, run.levels[which][market][0], run.plan.capacity);
    if (run.plan.spare) {
        (void)mst_book_init(spare, run.levels[which][market][1],
                            run.plan.capacity);
        (void)mst_book_set_spare(book, spare);
    }
    mst_book_set_thin(book, run.plan.thin);
}

static void objects_begin(void) {
    struct mst_config *config = &run.plan.config;

    for (unsigned i = 0; i < 2; i++) {
        run.memory[i] = (struct mst_memory){
            run.bytes[i],       sizeof run.bytes[i], MST_RECORD_IN_ANY,
            MST_RECORD_OUT_MIN, run.plan.message,    4096};
        for (unsigned m = 0; m < run.plan.markets; m++) {
            book_begin(i, m);
        }
    }
    if (run.paired) {
        recorder_pair(&played.recorder, 0, config, run.plan.rotate_ms, -1,
                      &run.memory[0], &run.memory[1]);
        assert_int_equal(mst_pair_init(&run.pair, config, run.plan.rotate_ms,
                                       &run.port, &run.memory[0],
                                       &run.memory[1]),
                         0);
        played.objects[0].pair = &run.pair;
    } else {
        recorder_client(&played.recorder, 0, config, -1, &run.memory[0]);
        assert_int_equal(
            mst_client_init(&run.client, config, &run.port, &run.memory[0]), 0);
        played.objects[0].client = &run.client;
    }
    played.count = 1;
}

static void wishes_begin(void) {
    for (unsigned m = 0; m < run.plan.markets; m++) {
        subscribe(MST_MARKET_DATA, m);
        if (run.plan.tops) {
            subscribe(MST_TOP_OF_BOOK, m);
        }
        if (run.plan.executions) {
            subscribe(MST_EXECUTION_DATA, m);
        }
    }
    if (run.plan.beats) {
        subscribe(MST_HEARTBEAT, 0);
    }
}

/* A slow caller is busy with the event for a while. */
static void on_event(const struct mst_event *event) {
    (void)event;
    if (exchange_happens(&run.exchange, FAULT_SLOW_CALLER) &&
        exchange_pick(&run.exchange, 16) == 0) {
        mst_mock_advance(&run.mock, exchange_pick(&run.exchange, 20000));
    }
}

/* Does the line take a few bytes at a time, or none? With TLS of the library's
 * own a replay does not know how much of a record is on its way. */
static bool is_tight(void) {
    bool tight = false;

    for (unsigned i = 0; i < run.plan.spells_len; i++) {
        tight |= run.plan.spells[i].fault == FAULT_STALL ||
                 run.plan.spells[i].fault == FAULT_SLICES;
    }
    return tight;
}

static void plan_begin(uint64_t seed) {
    uint64_t clock = seed;
    struct mst_config *config = &run.plan.config;

    plan_draw(&run.plan, seed);
    run.paired = run.plan.links == 2;
    mst_mock_init(&run.mock, &run.port, seed);
    mst_mock_set_now(&run.mock, (uint32_t)(seed % 2 << 31) -
                                    random_below(&clock, run.plan.length_ms));
    run.port.flags |= run.plan.port_flags;
    exchange_begin(&run.exchange, &run.plan, &run.mock);
    if (seed % 3 == 0 && !is_tight()) {
        run.port.flags &= ~MST_PORT_SECURE;
        tls_peer_init(&run.tls, &run.mock, &run.identity);
        run.exchange.line =
            (struct service_sink){&run.tls, tls_peer_write, tls_peer_end};
        config->anchors = &run.anchor.anchor;
        config->anchors_len = 1;
    }
    config->ws_url = "wss://" SERVICE_WS_HOST;
    config->auth_url = "https://" SERVICE_AUTH_HOST;
    config->client_id = SERVICE_ID;
    config->client_secret = SERVICE_SECRET;
    config->trace = on_trace;
    config->trace_context = &run.exchange;
    /* Some are written to many files. */
    played_begin(&run.mock, seed % 4 == 0 ? 5000 : 0);
    recorder_configure(&played.recorder, config);
    played.on_event = on_event;
    objects_begin();
    wishes_begin();
}

/* The spells of this moment; returns when the next one begins or ends. */
static uint64_t spells_set(uint64_t at_ms) {
    uint64_t next = run.plan.length_ms;

    memset(run.exchange.strength, 0, sizeof run.exchange.strength);
    for (unsigned i = 0; i < run.plan.spells_len; i++) {
        const struct plan_spell *s = &run.plan.spells[i];
        uint64_t edge = at_ms < s->from_ms ? s->from_ms : s->until_ms;
        if (at_ms < edge && edge < next) {
            next = edge;
        }
        if (at_ms >= s->from_ms && at_ms < s->until_ms &&
            s->strength > run.exchange.strength[s->fault]) {
            run.exchange.strength[s->fault] = s->strength;
        }
    }
    exchange_change(&run.exchange);
    return next;
}

static void unsubscribe(const char *name) {
    recorder_named(&played.recorder, RECORDING_UNSUBSCRIBE, 0, MST_MARKET_DATA,
                   name);
    (void)(run.paired ? mst_pair_unsubscribe(&run.pair, MST_MARKET_DATA, name)
                      : mst_unsubscribe(&run.client, MST_MARKET_DATA, name));
}

/* What a program may do at any time. */
static void calls_make(void) {
    unsigned m = exchange_pick(&run.exchange, run.plan.markets);
    const char *name = plan_markets[m];

    switch (exchange_pick(&run.exchange, 5)) {
    case 0:
        recorder_named(&played.recorder, RECORDING_RESYNC, 0, MST_MARKET_DATA,
                       name);
        (void)(run.paired ? mst_pair_resync(&run.pair, MST_MARKET_DATA, name)
                          : mst_resync(&run.client, MST_MARKET_DATA, name));
        break;
    case 1:
        recorder_call(&played.recorder, RECORDING_LIST, 0);
        (void)(run.paired ? mst_pair_subscription_list(&run.pair)
                          : mst_subscription_list(&run.client));
        break;
    case 2:
        if (run.paired) {
            recorder_call(&played.recorder, RECORDING_ROTATE, 0);
            (void)mst_pair_rotate(&run.pair);
        } else {
            recorder_replaced(&played.recorder, RECORDING_CREDENTIALS, 0,
                              false);
            (void)mst_access_set_credentials(&run.client.link.own, SERVICE_ID,
                                             SERVICE_SECRET);
        }
        break;
    case 3: unsubscribe(name); break;
    default: subscribe(MST_MARKET_DATA, m);
    }
}

static uint64_t now_ms(void) {
    return mst_mock_elapsed(&run.mock);
}

static void plan_play(void) {
    uint64_t edge_ms = 0;

    while (now_ms() < run.plan.length_ms) {
        if (now_ms() >= edge_ms) {
            edge_ms = spells_set(now_ms());
        }
        uint64_t step_ms =
            now_ms() + 1 +
            exchange_pick(&run.exchange, run.plan.length_ms / 16);
        step_ms = step_ms < edge_ms ? step_ms : edge_ms;
        played_run((uint32_t)(step_ms > now_ms() ? step_ms - now_ms() : 1));
        if (exchange_happens(&run.exchange, FAULT_CALLS)) {
            calls_make();
        }
        if (exchange_happens(&run.exchange, FAULT_SLOW_CALLER)) {
            mst_mock_advance(&run.mock, exchange_pick(&run.exchange, 60000));
        }
    }
    exchange_behave(&run.exchange);
    played_run(60000);
    recorder_call(&played.recorder, RECORDING_CLOSE, 0);
    if (run.paired) {
        mst_pair_close(&run.pair);
    } else {
        mst_close(&run.client);
    }
    played_run(10000);
}

static uint64_t setting(const char *name, uint64_t usual) {
    const char *text = getenv(name);

    return text != NULL ? strtoull(text, NULL, 0) : usual;
}

static char folder[64];

static int begin_all(void **state) {
    (void)state;
    return tls_make_certificates(folder, "DNS:" SERVICE_AUTH_HOST
                                         ",DNS:" SERVICE_WS_HOST) &&
                   tls_identity_load(&run.identity, folder, "localhost") &&
                   tls_anchor_load(&run.anchor, folder)
               ? 0
               : -1;
}

static int end_all(void **state) {
    (void)state;
    tls_remove_certificates(folder);
    return 0;
}

static void test_plans(void **state) {
    uint64_t plans = setting("REPLAYS", REPLAYS);
    uint64_t seed = setting("PLANS_SEED", 1);
    char name[60];

    (void)state;
    for (uint64_t i = 0; i < plans; i++) {
        snprintf(name, sizeof name, "PLANS_SEED=%" PRIu64 " REPLAYS=1",
                 seed + i);
        plan_begin(seed + i);
        plan_play();
        for (unsigned type = 0; type <= MST_EVENT_UNKNOWN; type++) {
            run.events += played.counts[type];
        }
        played_compare(name);
        played_end();
        exchange_end(&run.exchange);
    }
    print_message("%" PRIu64 " plans, %" PRIu64 " events\n", plans, run.events);
}

int main(void) {
    static const struct CMUnitTest tests[] = {
        TEST(test_plans),
    };

    return cmocka_run_group_tests(tests, begin_all, end_all);
}
