/*
 * The client or pair of a plan, and the start of a plan. See plan.h.
 *
 * SPDX-License-Identifier: 0BSD
 */
#include "plan.h"

/* The service that the port sends to, and the mock's send(). */
static struct {
    struct exchange *x;
    int (*send)(void *context, int link, const void *data, size_t len);
} line;

static int line_send(void *context, int link, const void *data, size_t len) {
    struct exchange *x = line.x;
    size_t most = x->stall_left > 0 ? x->stall_left : 1; /* 1: stalls */
    int n = line.send(context, link, data, len < most ? len : most);

    x->stall_left -= n > 0 ? (size_t)n : 0;
    x->mock->plan.send_stall = x->stall_left == 0;
    return n;
}

void plan_begin(struct plan *plan, struct mst_mock *mock, struct mst_port *port,
                struct exchange *x) {
    struct mst_config *config = &plan->config;
    uint64_t clock = plan->seed;

    mst_mock_init(mock, port, plan->seed);
    mst_mock_set_now(mock, (uint32_t)(plan->seed % 2 << 31) -
                               random_below(&clock, plan->length_ms));
    port->flags |= plan->port_flags;
    line.x = x;
    line.send = port->send;
    port->send = line_send;
    exchange_begin(x, plan, mock);
    config->ws_url = "wss://" SERVICE_WS_HOST;
    config->auth_url = "https://" SERVICE_AUTH_HOST;
    config->client_id = SERVICE_ID;
    config->client_secret = SERVICE_SECRET;
}

/* Replaces memory of the last plan. The sanitizer detects accesses next to
 * it. */
static void *renewed(void *old, size_t len) {
    void *new = malloc(len);

    assert_non_null(new);
    free(old);
    return new;
}

static void book_begin(struct plan_object *object, unsigned which,
                       unsigned market) {
    const struct plan *plan = object->plan;
    struct mst_book *book = &object->books[which][market];
    struct mst_level **levels = &object->levels[which][market];

    *levels = renewed(*levels, 2 * plan->capacity * sizeof **levels);
    assert_int_equal(mst_book_init(book, *levels, plan->capacity), 0);
    mst_book_set_thin(book, plan->thin);
}

void plan_object_prepare(struct plan_object *object, const struct plan *plan) {
    size_t len = MST_MEMORY_LEN(MST_RECORD_IN_ANY, MST_RECORD_OUT_MIN,
                                plan->message, 4096);

    object->plan = plan;
    object->paired = plan->links == 2;
    assert_int_equal(mst_access_init(&object->access, &plan->config), 0);
    for (unsigned i = 0; i < 2; i++) {
        object->bytes[i] = renewed(object->bytes[i], len);
        object->memory[i] = (struct mst_memory){
            object->bytes[i],   len,           MST_RECORD_IN_ANY,
            MST_RECORD_OUT_MIN, plan->message, 4096};
        for (unsigned m = 0; m < plan->markets; m++) {
            book_begin(object, i, m);
        }
    }
}

int plan_object_init(struct plan_object *object, const struct mst_port *port) {
    const struct plan *plan = object->plan;
    struct mst_config config = plan->config;

    config.access = plan->shares ? &object->access : NULL;
    return object->paired
               ? mst_pair_init(&object->pair, &config, plan->rotate_ms, port,
                               &object->memory[0], &object->memory[1])
               : mst_client_init(&object->client, &config, port,
                                 &object->memory[0]);
}

int plan_object_subscribe(struct plan_object *object, enum mst_channel channel,
                          unsigned market) {
    const char *name = channel == MST_HEARTBEAT ? NULL : plan_markets[market];
    struct mst_book *book = NULL, *other = NULL;

    if (channel == MST_MARKET_DATA) {
        book = &object->books[0][market];
        other = &object->books[1][market];
    }
    return object->paired
               ? mst_pair_subscribe(&object->pair, channel, name, book, other)
               : mst_subscribe(&object->client, channel, name, book);
}

int plan_object_unsubscribe(struct plan_object *object,
                            enum mst_channel channel, unsigned market) {
    const char *name = channel == MST_HEARTBEAT ? NULL : plan_markets[market];

    return object->paired ? mst_pair_unsubscribe(&object->pair, channel, name)
                          : mst_unsubscribe(&object->client, channel, name);
}

int plan_object_resync(struct plan_object *object, unsigned market) {
    const char *name = plan_markets[market];

    return object->paired
               ? mst_pair_resync(&object->pair, MST_MARKET_DATA, name)
               : mst_resync(&object->client, MST_MARKET_DATA, name);
}

int plan_object_list(struct plan_object *object) {
    return object->paired ? mst_pair_subscription_list(&object->pair)
                          : mst_subscription_list(&object->client);
}

void plan_object_close(struct plan_object *object) {
    if (object->paired) {
        mst_pair_close(&object->pair);
    } else {
        mst_close(&object->client);
    }
}

void plan_object_wipe(struct plan_object *object) {
    if (object->paired) {
        mst_pair_wipe(&object->pair);
    } else {
        mst_client_wipe(&object->client);
    }
}

void plan_object_renew(struct plan_object *object) {
    struct mst_link *link =
        object->paired ? &object->pair.clients[0].link : &object->client.link;

    (void)mst_access_set_credentials(link->access, SERVICE_ID, SERVICE_SECRET);
}
