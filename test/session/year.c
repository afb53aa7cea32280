/*
 * A session that runs unattended for a hundred days, or a year (`make year`),
 * in virtual time, through an outage of every kind several times a day: of a
 * client, and of a pair that rotates or is in hot standby, with requests for
 * addresses beside it. Its states go as the tables in the source say.
 *
 * YEAR_SEED: another year than the usual one; YEAR_DAYS: a longer one.
 *
 * SPDX-License-Identifier: 0BSD
 */
#include "session.h"
#include "states.h"

#define YEAR_DAYS 100
#define STANDBY_DAYS 40 /* a pair in hot standby is polled twice a second */
#define YEAR_MONTH 30
#define YEAR_TIMES 3  /* of each kind in a day */
#define YEAR_LINES 24 /* of the trace are shown */
#define SECOND 1000u

/* The configuration (ms)... */
#define PING_MS (150 * SECOND)
#define SILENCE_MS (300 * SECOND)
#define AUDIT_MS (600 * SECOND)
#define ANSWER_MS (10 * SECOND)
#define BACKOFF_MS (60 * SECOND)
#define SLOW_MS (300 * SECOND)
#define PUT_MS (60 * SECOND)
#define ROTATE_MS (40 * SESSION_MINUTE)
/* ...what else lasts... */
#define BEAT_MS (200 * SECOND)      /* from one heartbeat to the next */
#define THROTTLED_MS (300 * SECOND) /* without Retry-After or with a date */
#define RETRY_MS (120 * SECOND)     /* the longest Retry-After here */
#define REFUSED_MS (60 * SECOND)    /* a refused channel is asked for again */
/* ...and the bounds that follow: of a stage that hangs (two addresses); of an
 * attempt that does not (latencies, gaps between requests); of requests in a
 * row without an answer, with their audits. */
#define STAGE_MS (20 * SECOND)
#define ATTEMPT_MS (5 * SECOND)
#define UNANSWERED_MS (4 * (ANSWER_MS + SECOND))

struct fault {
    const char *name;
    void (*begin)(void);
    uint32_t most_ms;   /* it lasts for at most so long */
    uint32_t detect_ms; /* until the client notices */
    uint32_t wait_ms;   /* the longest wait between attempts */
    int after;          /* an error that may still follow, or 0 */
    unsigned shapes;    /* that it is for, a bit each */
    bool beside;        /* the stream goes on meanwhile */
};

/* What runs for a year. */
enum shape { SHAPE_CLIENT, SHAPE_ROTATES, SHAPE_STANDBY };
#define CLIENT (1u << SHAPE_CLIENT)
#define ROTATES (1u << SHAPE_ROTATES)
#define STANDBY (1u << SHAPE_STANDBY)
#define PAIR (ROTATES | STANDBY)
#define ALL (CLIENT | PAIR)

static struct {
    enum shape shape;
    uint64_t random;
    const struct fault *fault; /* at hand, or the last */
    bool stop;                 /* a run ends at what may be the end of it */
    uint64_t quiet_ms;         /* from then on nothing is wrong */
    uint64_t short_ms;   /* until then a stream may end with its short token */
    unsigned arrived;    /* executions of these links, a bit each */
    size_t turn;         /* of garbage */
    uint64_t put_due_ms; /* when a request for an address must be over */
    uint32_t generations[MST_MOCK_LINKS];
    uint64_t request_ms;
    struct {
        uint64_t count, ms; /* requests on this connection, time of the last */
        uint64_t given_up;  /* after ANSWER_MS, and not answered so far */
    } asked[MST_MOCK_LINKS];
    int (*connect)(void *context, int link, int address);
    bool failed;
    /* The last lines of the trace. */
    struct {
        uint64_t ms;
        struct mst_trace trace;
        char text[24];
    } lines[YEAR_LINES];
    uint64_t lines_len;
} year;

static uint32_t pick(uint32_t n) {
    return random_below(&year.random, n);
}

#define PICK(array) ((array)[pick(COUNT(array))])

static uint64_t now_ms(void) {
    return mst_mock_elapsed(&session.mock);
}

/* ---- the client, or the pair ---- */

static struct mst_link *link_of(unsigned i) {
    return session.has_pair ? &session.pair.clients[i].link
                            : &session.client.link;
}

static unsigned clients(void) {
    return session.has_pair ? 2 : 1;
}

static uint32_t failures(void) {
    uint32_t sum = 0;

    for (unsigned i = 0; i < clients(); i++) {
        sum += mst_link_stats(link_of(i))->failures;
    }
    if (session.has_transfer) {
        sum += mst_link_stats(&session.transfer.link)->failures;
    }
    return sum;
}

static int list(void) {
    return session.has_pair ? mst_pair_subscription_list(&session.pair)
                            : mst_subscription_list(&session.client);
}

static int resync(enum mst_channel channel, const char *market) {
    return session.has_pair ? mst_pair_resync(&session.pair, channel, market)
                            : mst_resync(&session.client, channel, market);
}

static int unsubscribe(enum mst_channel channel, const char *market) {
    return session.has_pair
               ? mst_pair_unsubscribe(&session.pair, channel, market)
               : mst_unsubscribe(&session.client, channel, market);
}

/* All is subscribed and live: in hot standby by both connections. */
static bool is_well(void) {
    bool well = session_subscribed();

    if (year.shape == SHAPE_STANDBY) {
        for (int i = 0; i < 2; i++) {
            well &= session_link_subscribed(i) &&
                    mst_book_state(&session.books[i]) == MST_BOOK_LIVE &&
                    mst_book_state(&session.others[i]) == MST_BOOK_LIVE;
        }
    }
    return well;
}

/* ---- what is watched ---- */

static int year_connect(void *context, int link, int address) {
    if (address > 0) {
        states_note(MST_STATE_CONNECT, STATES_ERROR, MST_STATE_CONNECT);
    }
    return year.connect(context, link, address);
}

static void lines_show(void) {
    uint64_t at = year.lines_len > YEAR_LINES ? year.lines_len - YEAR_LINES : 0;

    for (; at < year.lines_len; at++) {
        const struct mst_trace *trace = &year.lines[at % YEAR_LINES].trace;
        print_error("    %" PRIu64 ".%03u link %d: kind %d, %s to %s, %s, "
                    "%" PRId64 " %s\n",
                    year.lines[at % YEAR_LINES].ms / 1000,
                    (unsigned)(year.lines[at % YEAR_LINES].ms % 1000),
                    trace->link, trace->kind, mst_state_name(trace->from),
                    mst_state_name(trace->state),
                    trace->error != 0 ? mst_strerror(trace->error) : "-",
                    trace->value, year.lines[at % YEAR_LINES].text);
    }
}

/* Fails: says what, in which fault, and what led to it. */
static void year_fail(const char *what, int64_t value) {
    year.failed = true;
    expect_failed("%s (%" PRId64 "), %s, at %" PRIu64 " ms, day %" PRIu64, what,
                  value, year.fault != NULL ? year.fault->name : "at first",
                  now_ms(), now_ms() / SESSION_DAY);
    lines_show();
}

/* A request goes out: not too soon after the last one of all, nor before the
 * last one on this connection is answered or given up. */
static void request_check(int link) {
    uint64_t answers = session.service.links[link].answers;
    uint64_t answered = answers + year.asked[link].given_up;

    if (year.request_ms != 0 && now_ms() - year.request_ms < SECOND) {
        year_fail("ms between two requests",
                  (int64_t)(now_ms() - year.request_ms));
    }
    year.request_ms = now_ms();
    if (answered < year.asked[link].count) {
        if (now_ms() - year.asked[link].ms < ANSWER_MS) {
            year_fail("ms after a request that is outstanding",
                      (int64_t)(now_ms() - year.asked[link].ms));
        }
        year.asked[link].given_up = year.asked[link].count - answers;
    }
    year.asked[link].count++;
    year.asked[link].ms = now_ms();
}

static void year_trace(void *context, const struct mst_trace *trace) {
    size_t at = (size_t)(year.lines_len++ % YEAR_LINES);

    (void)context;
    if (trace->link < 2) { /* not the transfer's */
        states_trace(trace);
    }
    year.lines[at].ms = now_ms();
    year.lines[at].trace = *trace;
    snprintf(year.lines[at].text, sizeof year.lines[at].text, "%s",
             trace->text != NULL ? trace->text : "");
    if (trace->kind == MST_TRACE_REQUEST) {
        request_check(trace->link);
    } else if (trace->kind == MST_TRACE_STATE &&
               trace->state == MST_STATE_OPEN) {
        memset(&year.asked[trace->link], 0, sizeof year.asked[trace->link]);
    }
}

/* No more of these than 64 (SERVICE_TIMES) in so many ms. */
static void storm_check(const struct service_count *count, uint64_t ms) {
    uint64_t first = count->ms[count->count % SERVICE_TIMES];

    if (!year.failed && count->count >= SERVICE_TIMES &&
        count->last_ms - first < ms) {
        year_fail("ms for 64 connections or requests of a kind",
                  (int64_t)(count->last_ms - first));
    }
}

/* Nothing is asked for again and again. */
static void storms_check(void) {
    storm_check(&session.service.connects, 64 * SECOND);
    storm_check(&session.service.tokens, 300 * SECOND);
    storm_check(&session.service.upgrades, 300 * SECOND);
    storm_check(&session.service.requests, 50 * SECOND);
}

/* In quiet times a stream ends with its token or for another one alone, or
 * for what the last fault has left behind. What does not get that far is not
 * the end of a stream. */
static void quiet_check(const struct mst_failure *failure) {
    if (now_ms() >= year.quiet_ms && failure->error != MST_OK &&
        failure->ws_code != 1008 && failure->error != year.fault->after &&
        (failure->stage >= MST_STATE_OPEN || !year.fault->beside)) {
        year_fail(mst_strerror(failure->error), failure->error);
    }
}

static bool year_event(void *context, const struct mst_event *event) {
    uint32_t *generation = &year.generations[event->link];

    (void)context;
    if (event->generation < *generation) {
        year_fail("an event of an older connection", event->generation);
    }
    *generation = event->generation;
    if (event->type == MST_EVENT_EXECUTION) {
        year.arrived |= 1u << event->link;
    }
    if (event->type == MST_EVENT_ADDRESS) {
        year.put_due_ms = UINT64_MAX;
    }
    if (event->type == MST_EVENT_CLOSED) {
        quiet_check(&event->as.failure);
        storms_check();
    }
    return !year.stop || (event->type != MST_EVENT_PART &&
                          event->type != MST_EVENT_RESPONSE &&
                          event->type != MST_EVENT_EXECUTION);
}

static void year_run(uint64_t until_ms, bool stop) {
    year.stop = stop;
    if (until_ms > now_ms()) {
        session_run_with((uint32_t)(until_ms - now_ms()), year_event);
    }
}

static void year_check(void) {
    storms_check();
    if (year.failed) {
        return;
    }
    if (session.mock.broken != NULL) {
        year_fail(session.mock.broken, 0);
    } else if (session.service.wrong[0] != '\0') {
        year_fail(session.service.wrong, 0);
    } else if (session.service.duplicates > 0) {
        year_fail("duplicate subscriptions",
                  (int64_t)session.service.duplicates);
    } else if (now_ms() > year.put_due_ms) {
        year_fail("no end of a request for an address", 0);
    }
}

/* ---- what goes wrong ---- */

#define SHORT_LIFE_S 150u

/* All that the faults below change is put back. */
static void faults_end(void) {
    struct mst_mock *mock = &session.mock;
    struct service *service = &session.service;

    mock->plan = (struct mst_mock_plan){
        .resolve_ms = 20, .connect_ms = 30, .data_ms = 10, .addresses = 2};
    mst_mock_set_wall(mock, MST_MOCK_WALL_NS + (int64_t)now_ms() * 1000000);
    service->token = service->upgrade = (struct service_script){0};
    service->rules = (struct service_rules){
        .feed_ms = 30 * SESSION_MINUTE,
        .beat_ms = BEAT_MS,
        .expire = true,
        .hold = true,
        .overlap = true /* seen to by request_check() */};
    service->address = (struct service_script){0};
    service->token_body = service->token_rest = NULL;
    if (service->expires_in > 0 && service->expires_in <= SHORT_LIFE_S) {
        year.short_ms = now_ms() + SHORT_LIFE_S * SECOND;
    }
    service->expires_in = 3600 - pick(2);
    session_unstall();
}

static void cut(void) {
    service_restart(&session.service,
                    pick(2) == 0 ? MST_ERR_RESET : MST_ERR_EOF);
}

/* The connection is cut, and its token is not good any more. */
static void revoke(void) {
    session.service.upgrade.raw = "HTTP/1.1 401 Unauthorized\r\n"
                                  "Content-Length: 0\r\n\r\n";
    session.service.upgrade.raw_times = 1;
    cut();
}

static void fault_dns(void) {
    static const int errors[] = {MST_ERR_RESOLVE, MST_ERR_PORT, MST_MOCK_NEVER};

    session.mock.plan.resolve_error = PICK(errors);
    cut();
}

static void connect_fail(int error) {
    session.mock.plan.connect_error[0] = error;
    if (pick(4) > 0) { /* else the second address is fine */
        session.mock.plan.connect_error[1] = error;
    }
    cut();
}

static void fault_refuse(void) {
    static const int errors[] = {MST_ERR_REFUSED, MST_ERR_UNREACHABLE,
                                 MST_MOCK_NEVER};

    connect_fail(PICK(errors));
}

static void fault_tls(void) {
    connect_fail(MST_ERR_TLS_ISSUER - (int)pick(9));
}

static void fault_half_open(void) {
    for (int i = 0; i < 2; i++) {
        mst_mock_freeze(&session.mock, i);
    }
}

/* A message of about this length, of a channel that is not known. */
static void push_news(int len) {
    static char text[20100];

    snprintf(text, sizeof text,
             "{\"channel\":\"news\",\"payload\":{\"text\":\"%0*d\"}}", len, 0);
    service_text(&session.service, text);
}

/* A large message drips; so does all that follows. */
static void fault_drip(void) {
    session.mock.plan.drip = 1 + pick(200);
    push_news(3500);
}

static void fault_unauthorized(void) {
    session.service.upgrade.status = 401;
    cut();
}

static void fault_forbidden(void) {
    session.service.upgrade.status = 403;
    cut();
}

/* With Retry-After in seconds, as a date, or without. */
static void script_fail(struct service_script *script, int status) {
    script->status = status;
    script->retry_s = pick(3) == 0 ? 0 : 1 + pick(RETRY_MS / SECOND - 1);
    script->retry_date = pick(2) == 0;
}

static void fault_throttled(void) {
    script_fail(&session.service.token, 429);
    revoke();
}

static void fault_throttled_upgrade(void) {
    script_fail(&session.service.upgrade, 429);
    cut();
}

static void fault_server_error(void) {
    static const int statuses[] = {500, 502, 503, 504};
    bool token = pick(2) == 0;

    script_fail(token ? &session.service.token : &session.service.upgrade,
                PICK(statuses));
    if (token) {
        revoke();
    } else {
        cut();
    }
}

static void fault_client_refused(void) {
    static const char *const bodies[] = {
        "HTTP/1.1 401 No\r\nContent-Length: 26\r\n\r\n"
        "{\"error\":\"invalid_client\"}",
        "HTTP/1.1 400 No\r\nContent-Length: 25\r\n\r\n"
        "{\"error\":\"invalid_scope\"}"};

    session.service.token.raw = PICK(bodies);
    revoke();
}

static void fault_token_garbage(void) {
    static const char *const bodies[] = {
        "",
        "<html>",
        "{}",
        "{\"access_token\":",
        "{\"access_token\":7}",
        "{\"access_token\":\"a b\",\"token_type\":\"bearer\"}"};

    session.service.token_body = PICK(bodies);
    revoke();
}

/* Tokens that live for a short while, or do not say for how long. */
static void fault_token_life(void) {
    static const char *const rests[] = {
        ",\"token_type\":\"Bearer\"}",
        ",\"token_type\":\"bearer\",\"expires_in\":0}",
        ",\"token_type\":\"bearer\",\"expires_in\":1e30}"};

    session.service.expires_in = 1 + pick(SHORT_LIFE_S);
    session.service.token_rest = pick(2) == 0 ? NULL : PICK(rests);
    revoke();
}

static void fault_restart(void) {
    struct service *service = &session.service;

    service_close(service, pick(2) == 0 ? 1001 : 1012, "restart");
    session.mock.plan.connect_error[0] = MST_ERR_REFUSED;
    session.mock.plan.connect_error[1] = MST_ERR_REFUSED;
}

static void fault_clock(void) {
    int64_t days = (int64_t)pick(20000) - 10000;

    mst_mock_set_wall(&session.mock,
                      mst_mock_wall(&session.mock) +
                          days * (SESSION_DAY * INT64_C(1000000)));
    session.mock.plan.clock_unset = pick(4) == 0;
    if (pick(2) == 0) {
        cut();
    }
}

static void fault_no_beats(void) {
    session.service.rules.no_beats = true;
}

static void fault_garbage(void) {
    static const char *const texts[] = {
        "{\"a\":[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[]]]]]]]]",
        "",
        "{",
        "[]",
        "nonsense",
        "{\"channel\":\"news\",\"payload\":{}}",
        "{\"channel\":\"market_data\",\"payload\":{}}",
        ("{\"channel\":\"market_data\",\"payload\":{\"market\":\"BTCUSD\","
         "\"type\":\"UPDATE\",\"time\":\"2026-01-01T00:00:00Z\",\"bids\":"
         "[{\"price\":\"1x\",\"amount\":\"1\"}],\"asks\":[]}}"),
        "{\"type\":\"subscribe\",\"channels\":[]}",
        "{\"type\":\"subscription_list\",\"channels\":[]}",
        "{\"type\":\"error\",\"error\":\"INTERNAL_SERVER_ERROR\"}",
        "{\"error\":{\"code\":\"MALFORMED_REQUEST\",\"message\":\"\"}}",
        "{\"a\":[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[]]]]]]]]",
        "\xC3\x28"};
    static const struct {
        unsigned flags, opcode;
    } frames[] = {{0x80, 2}, {0x80, 3}, {0xC0, 1}, {0, 9}, {0x80, 0}};

    size_t at = year.turn++ % (COUNT(texts) + COUNT(frames));

    if (at < COUNT(texts)) {
        service_text(&session.service, texts[at]);
    } else {
        at -= COUNT(texts);
        service_frame(&session.service, frames[at].flags, frames[at].opcode,
                      "ab", 2);
    }
}

/* The client has something to ask: a list, a channel anew. */
static void ask(void) {
    if (pick(2) == 0) {
        assert_int_equal(list(), 0);
    } else {
        assert_int_equal(resync(MST_EXECUTION_DATA, "BTCUSD"), 0);
    }
}

static void fault_unanswered(void) {
    static const char *const types[] = {"subscribe", "unsubscribe",
                                        "subscription_list"};
    struct service_rules *rules = &session.service.rules;
    unsigned how = pick(4);

    if (how == 0) {
        rules->never = true;
    } else if (how == 1) {
        rules->unsaid = true;
    } else if (how == 2) {
        rules->only_never = PICK(types);
    } else {
        rules->delay_ms = 1 + pick(2 * ANSWER_MS);
    }
    ask();
}

static void fault_refused_request(void) {
    struct service_rules *rules = &session.service.rules;

    rules->shape = (enum service_shape)pick(3);
    if (pick(2) == 0) {
        rules->error = "INTERNAL_SERVER_ERROR";
        rules->error_times = 1 + pick(5);
    } else {
        rules->fail_code = "INTERNAL_SERVER_ERROR";
        rules->fail_market = "ETHUSD";
    }
    if (pick(2) == 0) {
        ask();
    } else {
        cut();
    }
}

/* The service loses subscriptions, or has one more than it should. */
static void fault_drift(void) {
    struct service *service = &session.service;

    switch (pick(4)) {
    case 0: service_forget(service, "heartbeat", ""); break;
    case 1: service_forget(service, "market_data", "BTCUSD"); break;
    case 2:
        service_forget(service, "execution_data", "ETHUSD");
        service_forget(service, "market_data.top_of_book", "ETHUSD");
        break;
    default: service_add(service, "execution_data", "XRPUSD"); break;
    }
}

static void fault_send_stall(void) {
    session_stall_after(pick(200));
    ask();
    if (pick(2) == 0) {
        cut();
    }
}

static void fault_no_entropy(void) {
    session.mock.plan.entropy_none = true;
    cut();
}

/* Some calls of the port fail, whichever come. */
static void fault_port(void) {
    static const int errors[] = {MST_ERR_PORT, MST_ERR_RESET,
                                 MST_ERR_UNREACHABLE};
    struct mst_mock_plan *plan = &session.mock.plan;

    plan->fail_call = (enum mst_mock_call)pick(MST_MOCK_ANY + 1);
    plan->fail_at = session.mock.calls[plan->fail_call] + 1 + pick(20);
    plan->fail_count = 1 + pick(30);
    plan->fail_error = PICK(errors);
    if (pick(2) == 0) {
        cut();
    } else {
        ask();
    }
}

static void fault_slow_line(void) {
    struct mst_mock_plan *plan = &session.mock.plan;

    plan->data_ms = 200 + pick(4000);
    plan->resolve_ms = pick(12 * SECOND);
    plan->connect_ms = pick(12 * SECOND);
    cut();
}

static void fault_slices(void) {
    session.mock.plan.recv_max = 1 + pick(9);
    session.mock.plan.send_max = 1 + pick(9);
    cut();
}

/* Nobody polls for a while, in which more comes than there is room for. */
static void fault_caller(void) {
    if (pick(2) == 0) {
        cut();
    } else {
        push_news(20000);
    }
    mst_mock_advance(&session.mock, pick(15 * SESSION_MINUTE));
}

static void fault_credentials(void) {
    if (pick(2) == 0) {
        cut();
        year_run(now_ms() + pick(200), false);
    }
    assert_int_equal(mst_access_set_credentials(link_of(0)->access, SERVICE_ID,
                                                SERVICE_SECRET),
                     0);
    states_call(STATES_REPLACED);
    session_run_with(0, year_event);
    states_call(STATES_STEP);
}

/* Wishes that are taken back and come again, wherever that hits. */
static void fault_wishes(void) {
    if (pick(2) == 0) {
        cut();
        year_run(now_ms() + pick(500), false);
    }
    for (unsigned i = 1 + pick(3); i > 0; i--) {
        assert_int_equal(unsubscribe(MST_MARKET_DATA, "BTCUSD"), 0);
        assert_int_equal(unsubscribe(MST_HEARTBEAT, NULL), 0);
        year_run(now_ms() + pick(3 * SECOND), false);
        assert_int_equal(session_wish(MST_HEARTBEAT, NULL), 0);
        year_run(now_ms() + pick(SECOND), false);
        assert_int_equal(session_wish(MST_MARKET_DATA, "BTCUSD"), 0);
    }
}

static void fault_rotate(void) {
    assert_int_equal(mst_pair_rotate(&session.pair), 0);
    year_run(now_ms() + pick(4 * SECOND), false);
    if (pick(2) == 0) {
        session.service.sink.end(session.service.sink.context, (int)pick(2),
                                 MST_ERR_RESET);
    }
}

/* One of two connections is lost, or goes half-open. */
static void fault_one_lost(void) {
    int link = (int)pick(2);

    if (pick(2) == 0) {
        session.service.sink.end(session.service.sink.context, link,
                                 MST_ERR_RESET);
    } else {
        mst_mock_freeze(&session.mock, link);
    }
}

/* A request for an address, before a rotation or in its midst. */
static void fault_address(void) {
    static const int statuses[] = {0, 0, 401, 403, 404, 429, 500, 503};
    struct service_script *script = &session.service.address;

    if (year.shape == SHAPE_ROTATES && pick(2) == 0) {
        assert_int_equal(mst_pair_rotate(&session.pair), 0);
        year_run(now_ms() + pick(3 * SECOND), false);
    }
    script->status = PICK(statuses);
    script->never = pick(8) == 0;
    script->delay_ms = pick(15 * SECOND);
    session.request = (struct mst_address_request){.network = "BITCOIN",
                                                   .address = "bc1qexample"};
    assert_int_equal(session_put(), 0);
    year.put_due_ms = now_ms() + PUT_MS + SECOND;
    if (pick(4) == 0) {
        year_run(now_ms() + pick(SECOND), false);
        cut();
    }
}

/* The stream goes on, and what should follow it is turned away. */
static void fault_successor(void) {
    static const int statuses[] = {401, 403, 429, 503};

    year.quiet_ms = now_ms();
    script_fail(&session.service.upgrade, PICK(statuses));
    if (pick(2) == 0) {
        session.service.expires_in = 1 + pick(SHORT_LIFE_S);
    }
    assert_int_equal(mst_pair_rotate(&session.pair), 0);
}

/* The stream goes on, until one follows it whose token lives for a short
 * while, and that one is followed in turn. */
static void fault_short_lives(void) {
    session.service.expires_in = 1 + pick(SHORT_LIFE_S);
    assert_int_equal(mst_pair_rotate(&session.pair), 0);
}

static const struct fault faults[] = {
    {"dns", fault_dns, 240 * SECOND, 0, BACKOFF_MS, 0, ALL, false},
    {"refuse", fault_refuse, 240 * SECOND, 0, BACKOFF_MS, 0, ALL, false},
    {"reset", cut, 0, 0, BACKOFF_MS, 0, ALL, false},
    {"half-open", fault_half_open, 0, SILENCE_MS, BACKOFF_MS, 0, ALL, false},
    {"drip", fault_drip, 900 * SECOND, SILENCE_MS, BACKOFF_MS, 0, ALL, false},
    {"tls", fault_tls, 240 * SECOND, 0, SLOW_MS, 0, ALL, false},
    {"401", fault_unauthorized, 240 * SECOND, 0, BACKOFF_MS, 0, ALL, false},
    {"403", fault_forbidden, 240 * SECOND, 0, SLOW_MS, 0, ALL, false},
    {"429", fault_throttled, 240 * SECOND, 0, THROTTLED_MS, 0, ALL, false},
    {"429 upgrade", fault_throttled_upgrade, 240 * SECOND, 0, THROTTLED_MS, 0,
     ALL, false},
    {"5xx", fault_server_error, 240 * SECOND, 0, THROTTLED_MS, 0, ALL, false},
    {"client refused", fault_client_refused, 240 * SECOND, 0, SLOW_MS, 0, ALL,
     false},
    {"token garbage", fault_token_garbage, 240 * SECOND, 0, BACKOFF_MS, 0, ALL,
     false},
    {"token life", fault_token_life, 240 * SECOND, 0, BACKOFF_MS,
     MST_ERR_UNAUTHORIZED, ALL, false},
    {"restart", fault_restart, 240 * SECOND, 0, BACKOFF_MS, 0, ALL, false},
    {"clock", fault_clock, 240 * SECOND, 0, BACKOFF_MS, 0, ALL, false},
    {"no beats", fault_no_beats, 900 * SECOND, 0, BACKOFF_MS, MST_ERR_HEARTBEAT,
     ALL, false},
    {"garbage", fault_garbage, 0, UNANSWERED_MS, BACKOFF_MS, 0, ALL, false},
    {"unanswered", fault_unanswered, 240 * SECOND, UNANSWERED_MS, BACKOFF_MS, 0,
     ALL, false},
    {"refused request", fault_refused_request, 240 * SECOND, REFUSED_MS,
     BACKOFF_MS, 0, ALL, false},
    {"drift", fault_drift, 0, AUDIT_MS, BACKOFF_MS, 0, ALL, false},
    {"send stall", fault_send_stall, 240 * SECOND, UNANSWERED_MS, BACKOFF_MS, 0,
     ALL, false},
    {"no entropy", fault_no_entropy, 240 * SECOND, 0, BACKOFF_MS, 0, ALL,
     false},
    {"port", fault_port, 240 * SECOND, UNANSWERED_MS, BACKOFF_MS, 0, ALL,
     false},
    {"slow line", fault_slow_line, 240 * SECOND, UNANSWERED_MS, BACKOFF_MS, 0,
     ALL, false},
    {"slices", fault_slices, 60 * SECOND, 0, BACKOFF_MS, 0, ALL, false},
    {"slow caller", fault_caller, 0, 0, BACKOFF_MS, 0, ALL, false},
    {"credentials", fault_credentials, 0, 0, BACKOFF_MS, 0, ALL, false},
    {"wishes", fault_wishes, 0, 0, BACKOFF_MS, 0, ALL, false},
    {"address", fault_address, 60 * SECOND, PUT_MS, BACKOFF_MS, 0, PAIR, false},
    {"rotation", fault_rotate, 0, 0, BACKOFF_MS, 0, ROTATES, false},
    {"successor", fault_successor, 900 * SECOND, 0, SLOW_MS, 0, ROTATES, true},
    {"short lives", fault_short_lives, 900 * SECOND, 0, BACKOFF_MS,
     MST_ERR_UNAUTHORIZED, ROTATES, false},
    {"one lost", fault_one_lost, 0, SILENCE_MS, BACKOFF_MS, 0, PAIR, false},
};

/* What the outages of a kind came to. */
static struct {
    unsigned count;
    uint64_t failures;
    uint64_t longest_ms; /* from an end to all being well */
} outages[COUNT(faults)];

/* ---- a year ---- */

static void year_begin(enum shape shape, uint64_t seed) {
    struct session *s = &session;

    memset(&year, 0, sizeof year);
    memset(outages, 0, sizeof outages);
    year.shape = shape;
    year.random = seed;
    year.put_due_ms = UINT64_MAX;
    year.quiet_ms = UINT64_MAX; /* until the first fault is over */
    session_begin();
    s->mock.random = year.random + 1 + shape;
    s->config.ping_ms = PING_MS;
    s->config.silence_ms = SILENCE_MS;
    s->config.audit_ms = AUDIT_MS;
    s->config.answer_ms = ANSWER_MS;
    s->config.backoff_max_ms = BACKOFF_MS;
    s->config.backoff_slow_ms = SLOW_MS;
    s->config.put_ms = PUT_MS;
    s->config.trace = year_trace;
    year.connect = s->port.connect;
    s->port.connect = year_connect;
    faults_end();
    if (shape == SHAPE_CLIENT) {
        session_start();
    } else {
        s->config.flags |= shape == SHAPE_STANDBY ? MST_HOT_STANDBY : 0u;
        session_start_pair(shape == SHAPE_STANDBY ? 0 : ROTATE_MS);
        session_start_transfer();
    }
    session_subscribe();
    assert_true(session_until_subscribed(10 * SECOND));
}

/* From the end of a fault until all is well, at most. */
static uint32_t fault_bound_ms(const struct fault *fault) {
    return fault->detect_ms + fault->wait_ms + STAGE_MS + ATTEMPT_MS;
}

/* For how long the service still wants no upgrade: what it says beside a
 * stream outlasts its fault, and the stream may end in the next. */
static uint32_t held_ms(void) {
    uint64_t until_ms = session.service.hold_ms[true] + SECOND;

    return until_ms > now_ms() ? (uint32_t)(until_ms - now_ms()) : 0;
}

/* For how long the stream may be away though nothing is wrong. */
static uint32_t away_ms(void) {
    return held_ms() + ATTEMPT_MS +
           (now_ms() <= year.short_ms + BACKOFF_MS ? BACKOFF_MS : 0);
}

/* Runs until what is wished for is subscribed, and arrives: in hot standby by
 * both connections. */
static bool year_recover(uint32_t bound_ms) {
    uint64_t end_ms = now_ms() + bound_ms;
    unsigned needed = year.shape == SHAPE_STANDBY ? 3 : 0;

    for (;;) {
        while (!is_well() && now_ms() < end_ms) {
            year_run(now_ms() + SECOND, true);
        }
        year.arrived = 0;
        service_push(&session.service, "execution_data", "BTCUSD");
        year_run(now_ms() + SECOND, false);
        if (year.arrived != 0 && (year.arrived & needed) == needed &&
            is_well()) {
            return true;
        }
        if (now_ms() >= end_ms) {
            return false;
        }
    }
}

/* Keeps what an outage came to. */
static void outage_note(const struct fault *fault, uint64_t recover_ms,
                        uint32_t before) {
    size_t i = (size_t)(fault - faults);

    outages[i].count++;
    outages[i].failures += failures() - before;
    if (recover_ms > outages[i].longest_ms) {
        outages[i].longest_ms = recover_ms;
    }
}

/* One outage: it begins, lasts, ends, and is over within its bound. */
static void year_outage(const struct fault *fault) {
    static const uint32_t most[] = {5 * SECOND, 60 * SECOND, UINT32_MAX};
    uint32_t last = PICK(most), before;
    uint32_t bound_ms = fault_bound_ms(fault);

    if (!year_recover(away_ms())) {
        year_fail("not subscribed any more", 0);
        return;
    }
    year.quiet_ms = UINT64_MAX;
    year.fault = fault;
    before = failures();
    if (year.shape == SHAPE_ROTATES && pick(8) == 0) {
        assert_int_equal(mst_pair_rotate(&session.pair), 0);
    }
    fault->begin();
    last = last < fault->most_ms ? last : fault->most_ms;
    if (last > 0) {
        year_run(now_ms() + pick(last), false);
        faults_end();
    }
    bound_ms += held_ms();
    year.quiet_ms = now_ms() + bound_ms;
    if (!year_recover(bound_ms)) {
        year_fail("not subscribed in time", 0);
    }
    outage_note(fault, now_ms() - (year.quiet_ms - bound_ms), before);
    faults_end();
    year_check();
}

/* All kinds, each so many times, in random order. */
static void year_day(uint64_t begin_ms) {
    const struct fault *deck[COUNT(faults) * YEAR_TIMES];
    uint32_t len = 0;

    for (size_t i = 0; i < COUNT(deck); i++) {
        const struct fault *fault = &faults[i % COUNT(faults)];
        if ((fault->shapes & 1u << year.shape) != 0) {
            uint32_t at = pick(len + 1);
            deck[len] = fault;
            deck[len++] = deck[at];
            deck[at] = fault;
        }
    }
    for (uint32_t i = 0; i < len && !year.failed; i++) {
        uint32_t slot_ms = SESSION_DAY / len;
        year_run(begin_ms + i * slot_ms + pick(slot_ms / 4), false);
        year_outage(deck[i]);
    }
}

#define MARKS (sizeof(struct mst_high_water) / sizeof(uint32_t))

/* The high-water marks of all clients: which of a pair meets what is chance. */
static void marks_get(uint32_t marks[MARKS]) {
    uint32_t own[MARKS];

    memset(marks, 0, sizeof own);
    for (unsigned i = 0; i < clients(); i++) {
        memcpy(own, &mst_link_stats(link_of(i))->high, sizeof own);
        for (size_t k = 0; k < MARKS; k++) {
            marks[k] = own[k] > marks[k] ? own[k] : marks[k];
        }
    }
}

/* They have come to stay. */
static void marks_check(const uint32_t month[MARKS]) {
    static const char *const names[MARKS] = {
        "subscriptions", "market", "token",    "line",   "headers", "body",
        "message",       "depth",  "received", "staged", "unsent"};
    uint32_t marks[MARKS];

    marks_get(marks);
    for (size_t k = 0; k < MARKS; k++) {
        expect_int(names[k], month[k], marks[k]);
    }
}

/* What the clients' statistics come to. */
static void stats_show(void) {
    for (unsigned i = 0; i < clients(); i++) {
        const struct mst_stats *stats = mst_link_stats(link_of(i));
        print_message("  link %u: %u tokens, %u streams, %u failures, %u "
                      "drifts, %u unanswered\n",
                      i, stats->tokens, stats->opens, stats->failures,
                      stats->drifts, stats->unanswered);
    }
    print_message("  %" PRIu64 " connections, %u rotations\n",
                  session.service.connects.count, session_rotations());
}

/* Every kind was there, and none was without effect. */
static void outages_show(void) {
    for (size_t i = 0; i < COUNT(faults); i++) {
        const struct fault *fault = &faults[i];
        print_message("  %-16s %5u times, %7" PRIu64
                      " failures, over after %3" PRIu64 " of %3u s\n",
                      fault->name, outages[i].count, outages[i].failures,
                      outages[i].longest_ms / 1000,
                      fault_bound_ms(fault) / 1000);
        if (outages[i].count > YEAR_MONTH * YEAR_TIMES / 2 &&
            outages[i].failures == 0) {
            expect_failed("%s: without effect", fault->name);
        }
    }
}

static void year_end(void) {
    stats_show();
    outages_show();
    states_call(STATES_CLOSE);
    if (session.has_pair) {
        mst_pair_close(&session.pair);
        mst_transfer_close(&session.transfer);
    } else {
        mst_close(&session.client);
    }
    states_call(STATES_STEP);
}

static void year_test(enum shape shape) {
    uint64_t seed = setting("YEAR_SEED", 1);
    unsigned usual = shape == SHAPE_STANDBY ? STANDBY_DAYS : YEAR_DAYS;
    unsigned days = (unsigned)setting("YEAR_DAYS", usual);
    uint32_t month[MARKS] = {0};

    print_message("YEAR_SEED=%" PRIu64 " YEAR_DAYS=%u\n", seed, days);
    year_begin(shape, seed);
    for (unsigned day = 0; day < days && !year.failed; day++) {
        if (day == YEAR_MONTH) {
            marks_get(month);
        }
        year_day(day * (uint64_t)SESSION_DAY);
        session_check();
    }
    if (!year.failed && days > YEAR_MONTH) {
        marks_check(month);
    }
    year_end();
}

TEST_CASE(test_client) {
    year_test(SHAPE_CLIENT);
}

TEST_CASE(test_rotation) {
    year_test(SHAPE_ROTATES);
}

TEST_CASE(test_hot_standby) {
    year_test(SHAPE_STANDBY);
}

/* No link went anywhere where the tables in the source do not say. */
TEST_CASE(test_states) {
    static const char *const sections[] = {"link", "client: the stream", "pair",
                                           NULL};

    states_check("mini_stream.c", sections, false);
}

RUN_SESSIONS(NULL, NULL)
