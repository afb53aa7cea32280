/*
 * A caller with a transfer, which requests addresses: see plan.h.
 *
 * Every accepted request ends with one event, within put_ms or when the caller
 * closes; a refused one has no event. A request succeeds only if the service
 * has answered it. If the service has answered and the client does not know,
 * the event has maybe_done.
 *
 * SPDX-License-Identifier: 0BSD
 */
#include "plan_private.h"

#define LATE_MS 2000u

static void put_open(struct plan_put *p) {
    assert_int_equal(
        mst_transfer_init(&p->transfer, &p->config, p->port, &p->memory), 0);
}

void plan_put_begin(struct plan_put *put, const struct plan_object *object,
                    struct exchange *x, const struct mst_port *port) {
    const struct plan *plan = object->plan;

    put->x = x;
    put->port = port;
    put->config = plan->config;
    put->config.trace = NULL;
    put->config.link = PLAN_PUT_LINK;
    put->config.base_url = "https://" SERVICE_API_HOST;
    put->config.put_ms = plan->put_ms;
    put->config.access =
        plan->shares ? (struct mst_access *)&object->access : NULL;
    put->memory = (struct mst_memory){put->bytes,
                                      sizeof put->bytes,
                                      MST_RECORD_IN_MIN,
                                      MST_RECORD_OUT_MIN,
                                      1024,
                                      0};
    put->under_way = put->well = false;
    put->back_ms = 0;
    put_open(put);
}

/* Expects the refusal of a request that breaks a rule, and of a second
 * request. */
static void refused_request(struct plan_put *p) {
    static const struct mst_address_request good = {.id = "id"},
                                            bad = {.id = "id", .network = "X"};
    int rc = mst_address_put(&p->transfer, &bad, &p->record);

    if (rc != (p->under_way ? MST_ERR_BUSY : MST_ERR_ADDRESS) ||
        (p->under_way &&
         mst_address_put(&p->transfer, &good, &p->record) != MST_ERR_BUSY)) {
        exchange_wrong(p->x, "a bad request is accepted");
    }
}

void plan_put_request(struct plan_put *put) {
    bool named = exchange_pick(put->x, 2) == 0;

    exchange_address(put->x);
    put->x->service.tokens.count = 0; /* the client may request one at once */
    snprintf(put->nickname, sizeof put->nickname, "n%u", ++put->serial);
    put->request = (struct mst_address_request){
        .id = named ? "an-id" : NULL,
        .network = named ? NULL : "BITCOIN",
        .address = named ? NULL : "bc1qknown",
        .nickname = put->nickname,
        .bookmarked = (enum mst_bookmark)exchange_pick(put->x, 3),
    };
    put->records = put->x->service.records;
    put->since_ms = mst_mock_elapsed(put->x->mock);
    if (mst_address_put(&put->transfer, &put->request, &put->record) != 0) {
        exchange_wrong(put->x, "a request is refused");
    }
    put->under_way = true;
    put->well = false;
    put->requests++;
}

/* Closes the transfer, and opens it again. */
static void put_close(struct plan_put *p) {
    struct mst_event event;
    int rc = 0;

    mst_transfer_close(&p->transfer);
    for (int i = 0; i < 4 && rc >= 0; i++) {
        rc = mst_transfer_poll(&p->transfer, &event);
        if (rc == 1) {
            plan_put_event(p, &event);
        }
    }
    if (p->under_way || rc != MST_ERR_CLOSED) {
        exchange_wrong(p->x, "no end after a transfer's close");
    }
    if (mst_address_put(&p->transfer, &p->request, &p->record) !=
        MST_ERR_CLOSED) {
        exchange_wrong(p->x, "a request is accepted after the end");
    }
    put_open(p);
}

void plan_put_call(struct plan_put *put) {
    switch (exchange_pick(put->x, 8)) {
    case 0: refused_request(put); break;
    case 1: put_close(put); break;
    default:
        if (!put->under_way) {
            plan_put_request(put);
        }
        break;
    }
}

void plan_put_event(struct plan_put *put, const struct mst_event *event) {
    const struct mst_address_result *r = &event->as.address;
    bool answered = put->x->service.records > put->records;

    if (event->type == MST_EVENT_CLOSED) {
        return; /* from fetching the next token early */
    }
    if (event->type != MST_EVENT_ADDRESS || !put->under_way) {
        exchange_wrong(put->x, "an event without a request");
        return;
    }
    put->under_way = false;
    put->well = r->error == MST_OK;
    put->done += put->well;
    put->back_ms = mst_mock_elapsed(put->x->mock) + r->retry_ms;
    if (put->well && (!answered || r->record != &put->record ||
                      strcmp(put->record.nickname, put->nickname) != 0)) {
        exchange_wrong(put->x, "a record that the service did not send");
    } else if (!put->well && answered && !r->maybe_done) {
        exchange_wrong(put->x, "a request is done, without maybe_done");
    }
}

void plan_put_rest(struct plan_put *put) {
    uint64_t now_ms = mst_mock_elapsed(put->x->mock);

    if (put->under_way &&
        now_ms > put->since_ms + put->config.put_ms + LATE_MS) {
        exchange_wrong(put->x, "a request exceeds its deadline");
    }
}

void plan_put_away(struct plan_put *put, uint32_t ms) {
    put->since_ms += ms;
}
