/*
 * Plans with a random service (see plan.h), recorded and replayed with the same
 * events; every third plan uses the library's TLS.
 *
 * REPLAYS: the number of plans; PLANS_SEED: the first one's seed.
 *
 * SPDX-License-Identifier: 0BSD
 */
#include "plan.h"
#include "played.h"
#include "tls_peer.h"

#define REPLAYS 100u

static struct {
    struct plan plan;
    struct mst_mock mock;
    struct mst_port port;
    struct exchange exchange;
    struct tls_peer tls; /* used in some plans */
    struct tls_identity identity;
    struct tls_anchor anchor;
    struct plan_object object;
    uint64_t events;
} run;

static void on_trace(void *context, const struct mst_trace *trace) {
    exchange_trace(context, trace);
}

static void subscribe(enum mst_channel channel, unsigned market) {
    const char *name = channel == MST_HEARTBEAT ? NULL : plan_markets[market];
    const struct recorder_books books = {run.object.paired ? 2 : 1,
                                         run.plan.capacity, run.plan.thin};

    recorder_market(&played.recorder, RECORDING_SUBSCRIBE, 0, channel, name,
                    channel == MST_MARKET_DATA ? &books : NULL);
    (void)plan_object_subscribe(&run.object, channel, market);
}

static void object_begin(void) {
    struct plan_object *object = &run.object;
    const struct mst_config *config = &run.plan.config;

    plan_object_prepare(object, &run.plan);
    recorder_object(&played.recorder, 0, config, run.plan.rotate_ms, -1,
                    &object->memory[0],
                    object->paired ? &object->memory[1] : NULL);
    if (object->paired) {
        played.objects[0].pair = &object->pair;
    } else {
        played.objects[0].client = &object->client;
    }
    assert_int_equal(plan_object_init(object, &run.port), 0);
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

/* A slow caller spends some time on the event. */
static void on_event(const struct mst_event *event) {
    (void)event;
    if (exchange_happens(&run.exchange, FAULT_SLOW_CALLER) &&
        exchange_pick(&run.exchange, 16) == 0) {
        mst_mock_advance(&run.mock, exchange_pick(&run.exchange, 20000));
    }
}

static void run_begin(uint64_t seed) {
    struct mst_config *config = &run.plan.config;

    plan_draw(&run.plan, seed);
    plan_begin(&run.plan, &run.mock, &run.port, &run.exchange);
    if (seed % 3 == 0) {
        run.port.flags &= ~MST_PORT_SECURE;
        tls_peer_init(&run.tls, &run.mock, &run.identity);
        run.exchange.line =
            (struct mst_mock_sink){&run.tls, tls_peer_write, tls_peer_end};
        config->anchors = &run.anchor.anchor;
        config->anchors_len = 1;
    }
    config->trace = on_trace;
    config->trace_context = &run.exchange;
    /* Some recordings have many files. */
    played_begin(&run.mock, seed % 4 == 0 ? 5000 : 0);
    recorder_configure(&played.recorder, config);
    played.on_event = on_event;
    object_begin();
    wishes_begin();
}

/* Makes a random call that a program may make. */
static void calls_make(void) {
    unsigned m = exchange_pick(&run.exchange, run.plan.markets);
    const char *name = plan_markets[m];

    switch (exchange_pick(&run.exchange, 5)) {
    case 0:
        recorder_market(&played.recorder, RECORDING_RESYNC, 0, MST_MARKET_DATA,
                        name, NULL);
        (void)plan_object_resync(&run.object, m);
        break;
    case 1:
        recorder_call(&played.recorder, RECORDING_LIST, 0);
        (void)plan_object_list(&run.object);
        break;
    case 2:
        if (run.object.paired) {
            recorder_call(&played.recorder, RECORDING_ROTATE, 0);
            (void)mst_pair_rotate(&run.object.pair);
        } else {
            recorder_replaced(&played.recorder, RECORDING_CREDENTIALS, 0,
                              false);
            (void)mst_access_set_credentials(run.object.client.link.access,
                                             SERVICE_ID, SERVICE_SECRET);
        }
        break;
    case 3:
        recorder_market(&played.recorder, RECORDING_UNSUBSCRIBE, 0,
                        MST_MARKET_DATA, name, NULL);
        (void)plan_object_unsubscribe(&run.object, MST_MARKET_DATA, m);
        break;
    default: subscribe(MST_MARKET_DATA, m);
    }
}

static uint64_t now_ms(void) {
    return mst_mock_elapsed(&run.mock);
}

static void plan_play(void) {
    while (now_ms() < run.plan.length_ms) {
        played_run((uint32_t)(exchange_next_ms(&run.exchange) - now_ms()));
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
    if (run.object.paired) {
        mst_pair_close(&run.object.pair);
    } else {
        mst_close(&run.object.client);
    }
    played_run(10000);
}

static int begin_all(void **state) {
    (void)state;
    return tls_make_certificates("DNS:" SERVICE_AUTH_HOST
                                 ",DNS:" SERVICE_WS_HOST) &&
                   tls_identity_load(&run.identity, "localhost") &&
                   tls_anchor_load(&run.anchor, "ca")
               ? 0
               : -1;
}

TEST_CASE(test_plans) {
    uint64_t plans = setting("REPLAYS", REPLAYS);
    uint64_t seed = setting("PLANS_SEED", 1);
    for (uint64_t i = 0; i < plans; i++) {
        run_begin(seed + i);
        plan_play();
        for (unsigned type = 0; type <= MST_EVENT_UNKNOWN; type++) {
            run.events += played.counts[type];
        }
        played_compare(printed("PLANS_SEED=%" PRIu64 " REPLAYS=1", seed + i));
        played_end();
        exchange_end(&run.exchange);
    }
    print_message("%" PRIu64 " plans, %" PRIu64 " events\n", plans, run.events);
}

RUN_CASES(begin_all, tls_remove_certificates)
