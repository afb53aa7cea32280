/*
 * mqtt-top: publishes the best prices of markets as retained messages of an
 * MQTT broker, by libmosquitto. PREFIX/top/MARKET is the top of book as a line
 * of `mini-stream stream`, or empty while it is unknown. PREFIX/state is "here"
 * or "gone"; "gone" is also the will, which the broker sends if this program
 * dies.
 *
 * SPDX-License-Identifier: 0BSD
 */
#include <mosquitto.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "examples/start.h"
#include "exits.h"
#include "out.h"
#include "run.h"
#include "subject.h"

/* Messages not acknowledged yet, at most. When full, only the newest top of
 * each market waits. */
#define UNDER_WAY_MAX 100

#define KEEPALIVE_S 10
#define RETRY_S 1
#define RETRY_MAX_S 10
#define WAIT_MS 50
#define TEXT_LEN 256
#define TOPIC_LEN (SUBJECT_PREFIX_MAX + 8 + SUBJECT_TOKEN_LEN)

struct topic {
    char name[TOPIC_LEN];
    bool known; /* the market's top is known */
    bool due;   /* the broker must get it */
};

struct mqtt {
    struct options options;
    const char *host, *ca, *user, *prefix;
    int port;
    struct secret password;
    struct run run;
    struct out json; /* makes the lines */
    struct topic *topics;
    char state[SUBJECT_PREFIX_MAX + 8];
    bool greeted; /* all tops and "here" were sent */
    struct mosquitto *broker;
    /* Used by this thread and the library's. */
    atomic_bool connected, anew;
    atomic_int under_way;
    /* Used by the library's thread only: the last lines printed, about the
     * connection and from the library's log. */
    char said[TEXT_LEN], logged[TEXT_LEN];
};

enum { KEY_BROKER = 0x400, KEY_CA, KEY_USER, KEY_PASSWORD, KEY_PREFIX };

static const struct argp_option mqtt_options[] = {
    {0, 0, 0, 0, "Destination:", 5},
    {"broker", KEY_BROKER, "HOST[:PORT]", 0,
     "The MQTT broker (default localhost:1883; 8883 with TLS)", 0},
    {"broker-ca", KEY_CA, "FILE", 0,
     "Use TLS; FILE has the trusted issuers of the broker's certificate, PEM",
     0},
    {"broker-user", KEY_USER, "NAME", 0, "User name at the broker", 0},
    {"broker-password-file", KEY_PASSWORD, "FILE", 0,
     "File with the password in one line, accessible to its owner only", 0},
    {"prefix", KEY_PREFIX, "WORD", 0, "First part of all topics (default mst)",
     0},
    {0}};

static _Noreturn void mqtt_fail(int status, const char *what) {
    fprintf(stderr, "mqtt-top: %s\n", what);
    exit(status);
}

/* Takes HOST[:PORT]. */
static void mqtt_address(const struct argp_state *state, struct mqtt *mqtt,
                         char *text) {
    char *colon = strrchr(text, ':');

    if (colon && colon == strchr(text, ':')) { /* several are an IPv6 address */
        mqtt->port =
            (int)options_number(state, "broker: port", colon + 1, 1, 65535);
        *colon = '\0';
    }
    mqtt->host = text;
}

/* Checks options that depend on each other. */
static void mqtt_check(const struct mqtt *mqtt) {
    bool here = strcmp(mqtt->host, "localhost") == 0 ||
                strcmp(mqtt->host, "127.0.0.1") == 0 ||
                strcmp(mqtt->host, "::1") == 0;

    if (!mqtt->user != (mqtt->password.text[0] == '\0')) {
        mqtt_fail(EXITS_USAGE,
                  "--broker-user and --broker-password-file need each other");
    }
    if (mqtt->user && !mqtt->ca && !here) {
        mqtt_fail(EXITS_USAGE, "a password needs TLS: give --broker-ca");
    }
}

static error_t mqtt_key(int key, char *arg, struct argp_state *state) {
    struct mqtt *mqtt = state->input;
    char error[SETTINGS_ERROR_LEN];

    switch (key) {
    case ARGP_KEY_INIT: state->child_inputs[0] = &mqtt->options; return 0;
    case KEY_BROKER: mqtt_address(state, mqtt, arg); return 0;
    case KEY_CA: mqtt->ca = arg; return 0;
    case KEY_USER: mqtt->user = arg; return 0;
    case KEY_PASSWORD:
        if (!secret_from_file(&mqtt->password, arg, error, sizeof error)) {
            mqtt_fail(EXITS_CONFIG, error);
        }
        return 0;
    case KEY_PREFIX:
        if (!subject_is_plain(arg)) {
            argp_failure(state, EXITS_USAGE, 0,
                         "--prefix %s: not 1 to %d letters, digits, '-' and "
                         "'_'",
                         arg, SUBJECT_PREFIX_MAX);
        }
        mqtt->prefix = arg;
        return 0;
    case ARGP_KEY_END: mqtt_check(mqtt); return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

static void mqtt_parse(struct mqtt *mqtt, int argc, char **argv) {
    static const struct argp argp = {
        .options = mqtt_options,
        .parser = mqtt_key,
        .args_doc = "MARKET...",
        .doc = "Publishes the best prices of markets to an MQTT broker, as "
               "retained messages.\v" EXITS_HELP,
        .children = options_children};

    mqtt->host = "localhost";
    mqtt->prefix = "mst";
    mqtt->options.channels = 1u << MST_TOP_OF_BOOK | 1u << MST_HEARTBEAT;
    argp_err_exit_status = EXITS_USAGE;
    options_parse(&argp, argc, argv, mqtt);
}

/* ---- The library's thread ---- */

/* Prints a line about the broker, unless it equals the last one. */
static void mqtt_say(char last[TEXT_LEN], const char *what) {
    char text[TEXT_LEN];

    text_clean(what, text, sizeof text);
    if (strcmp(text, last) != 0) {
        memcpy(last, text, sizeof text);
        fprintf(stderr, "mqtt-top: broker: %s\n", text);
    }
}

static void on_connect(struct mosquitto *broker, void *context, int code) {
    struct mqtt *mqtt = context;

    mqtt_say(mqtt->said,
             code == 0 ? "connected" : mosquitto_connack_string(code));
    if (code == 0) {
        mqtt->under_way = 0;
        mqtt->anew = true;
        mqtt->connected = true;
        (void)mosquitto_subscribe(broker, NULL, mqtt->state, 1);
    }
}

/* "gone" is the will of a lost connection. The broker may publish it after a
 * new connection has sent "here", so send that again. */
static void on_message(struct mosquitto *broker, void *context,
                       const struct mosquitto_message *message) {
    struct mqtt *mqtt = context;

    (void)broker;
    if (message->payloadlen == 4 && memcmp(message->payload, "gone", 4) == 0) {
        mqtt->anew = true;
    }
}

static void on_disconnect(struct mosquitto *broker, void *context, int code) {
    struct mqtt *mqtt = context;

    (void)broker;
    if (code != 0) {
        mqtt_say(mqtt->said, mosquitto_strerror(code));
    }
    mqtt->connected = false;
}

static void on_publish(struct mosquitto *broker, void *context, int id) {
    struct mqtt *mqtt = context;

    (void)broker;
    (void)id;
    atomic_fetch_sub(&mqtt->under_way, 1);
}

static void on_log(struct mosquitto *broker, void *context, int level,
                   const char *text) {
    struct mqtt *mqtt = context;

    (void)broker;
    if (level == MOSQ_LOG_ERR) {
        mqtt_say(mqtt->logged, text);
    }
}

/* ---- The main thread ---- */

static int mqtt_try(int code, const char *what) {
    if (code != MOSQ_ERR_SUCCESS) {
        fprintf(stderr, "mqtt-top: %s: %s\n", what, mosquitto_strerror(code));
    }
    return code == MOSQ_ERR_SUCCESS ? EXITS_OK : EXITS_CONFIG;
}

static int mqtt_connect(struct mqtt *mqtt) {
    struct mosquitto *broker = mosquitto_new(NULL, true, mqtt);
    int port = mqtt->port ? mqtt->port : mqtt->ca ? 8883 : 1883;
    int result;

    if (!broker) {
        return EXITS_LOCAL;
    }
    mqtt->broker = broker;
    mosquitto_connect_callback_set(broker, on_connect);
    mosquitto_disconnect_callback_set(broker, on_disconnect);
    mosquitto_message_callback_set(broker, on_message);
    mosquitto_publish_callback_set(broker, on_publish);
    mosquitto_log_callback_set(broker, on_log);
    mosquitto_reconnect_delay_set(broker, RETRY_S, RETRY_MAX_S, true);
    result =
        mqtt_try(mosquitto_will_set(broker, mqtt->state, 4, "gone", 1, true),
                 "the will");
    if (mqtt->user && result == EXITS_OK) {
        result = mqtt_try(
            mosquitto_username_pw_set(broker, mqtt->user, mqtt->password.text),
            mqtt->user);
        secret_wipe(&mqtt->password);
    }
    if (mqtt->ca && result == EXITS_OK) {
        result = mqtt_try(
            mosquitto_tls_set(broker, mqtt->ca, NULL, NULL, NULL, NULL),
            mqtt->ca);
    }
    if (result == EXITS_OK) { /* the library retries by itself */
        (void)mosquitto_connect_async(broker, mqtt->host, port, KEEPALIVE_S);
        result = mqtt_try(mosquitto_loop_start(broker), "its thread");
    }
    return result;
}

static int mqtt_begin(struct mqtt *mqtt) {
    struct run *run = &mqtt->run;
    char error[SETTINGS_ERROR_LEN] = "", token[SUBJECT_TOKEN_LEN];
    int result = run_begin(run, &mqtt->options, error);

    if (result != EXITS_OK) {
        fprintf(stderr, "mqtt-top: %s\n", error);
        return result;
    }
    mqtt->topics = calloc(run->board.market_count, sizeof *mqtt->topics);
    mqtt->json.board = &run->board;
    mqtt->json.wall_ns = run->wall_ns;
    if (!mqtt->topics || !out_json.open(&mqtt->json)) {
        fputs("mqtt-top: out of memory\n", stderr);
        return EXITS_LOCAL;
    }
    for (size_t i = 0; i < run->board.market_count; ++i) {
        subject_encode(run->board.markets[i].name, token);
        snprintf(mqtt->topics[i].name, TOPIC_LEN, "%s/top/%s", mqtt->prefix,
                 token);
    }
    snprintf(mqtt->state, sizeof mqtt->state, "%s/state", mqtt->prefix);
    return mqtt_connect(mqtt);
}

/* Gives a message to the library. Returns true if it accepts it. */
static bool mqtt_send(struct mqtt *mqtt, const char *topic, const char *text,
                      size_t len) {
    bool sent;

    atomic_fetch_add(&mqtt->under_way, 1);
    sent = mosquitto_publish(mqtt->broker, NULL, topic, (int)len, text, 0,
                             true) == MOSQ_ERR_SUCCESS;
    if (!sent) {
        atomic_fetch_sub(&mqtt->under_way, 1);
    }
    return sent;
}

/* Publishes a market's top, or an empty message if it is unknown. */
static bool mqtt_publish(struct mqtt *mqtt, size_t i) {
    const struct board_market *market = &mqtt->run.board.markets[i];
    struct mst_event event = {.type = MST_EVENT_TOP,
                              .link = (int)market->object,
                              .generation = mqtt->run.board.generation,
                              .received_ns = mqtt->json.now_ns,
                              .market = market->name};
    const char *line = "";
    size_t len = 0;

    if (mqtt->topics[i].known) {
        event.as.top = market->top;
        ++mqtt->json.sequence;
        out_json.data(&mqtt->json, &event, market);
        line = out_json_line(&mqtt->json, &len);
        --len; /* without the line feed */
    }
    return mqtt_send(mqtt, mqtt->topics[i].name, line, len);
}

/* Publishes all due tops, as far as the limit allows, then "here". */
static void mqtt_go_on(struct mqtt *mqtt) {
    bool left = false;

    if (!mqtt->connected) {
        return;
    }
    if (atomic_exchange(&mqtt->anew, false)) {
        mqtt->greeted = false;
        for (size_t i = 0; i < mqtt->run.board.market_count; ++i) {
            mqtt->topics[i].due = true;
        }
    }
    for (size_t i = 0; i < mqtt->run.board.market_count; ++i) {
        struct topic *topic = &mqtt->topics[i];

        if (topic->due) {
            topic->due =
                mqtt->under_way >= UNDER_WAY_MAX || !mqtt_publish(mqtt, i);
            left |= topic->due;
        }
    }
    if (!left && !mqtt->greeted) {
        mqtt->greeted = mqtt_send(mqtt, mqtt->state, "here", 4);
    }
}

/* Takes an event: a new top, or the end of a connection and so of its tops. */
static void mqtt_take(struct mqtt *mqtt, const struct mst_event *event) {
    const struct board *board = &mqtt->run.board;

    if (event->type == MST_EVENT_TOP && mqtt->run.market) {
        struct topic *topic = &mqtt->topics[mqtt->run.market - board->markets];

        topic->known = topic->due = true;
    } else if (event->type == MST_EVENT_CLOSED) {
        for (size_t i = 0; i < board->market_count; ++i) {
            struct topic *topic = &mqtt->topics[i];

            if (topic->known &&
                board->objects[board->markets[i].object].open == 0) {
                topic->known = false;
                topic->due = true;
            }
        }
    }
}

static void mqtt_run(struct mqtt *mqtt) {
    struct mst_event event;
    uint64_t sent_ns = 0, now_ns;
    int rc;

    do {
        rc = run_poll(&mqtt->run, &event, &now_ns);
        mqtt->json.now_ns = now_ns;
        if (rc > 0) {
            mqtt_take(mqtt, &event);
        }
        if (rc == 0 || now_ns - sent_ns > WAIT_MS * UINT64_C(1000000)) {
            mqtt_go_on(mqtt);
            sent_ns = now_ns;
        }
        if (rc == 0) {
            run_wait(&mqtt->run, WAIT_MS);
        }
    } while (rc >= 0);
}

/* Sends "gone": after a proper disconnect, the broker sends no will. */
static void mqtt_end(struct mqtt *mqtt) {
    if (mqtt->broker) {
        (void)mqtt_send(mqtt, mqtt->state, "gone", 4);
        (void)mosquitto_disconnect(mqtt->broker);
        (void)mosquitto_loop_stop(mqtt->broker, false);
        mosquitto_destroy(mqtt->broker);
    }
    mosquitto_lib_cleanup();
    if (mqtt->json.state) {
        out_json.free(&mqtt->json);
    }
    free(mqtt->topics);
}

int main(int argc, char **argv) {
    static struct mqtt mqtt;
    int result;

    start("mqtt-top");
    mqtt_parse(&mqtt, argc, argv);
    mosquitto_lib_init();
    result = mqtt_begin(&mqtt);
    if (result == EXITS_OK) {
        mqtt_run(&mqtt);
        result = run_end(&mqtt.run);
    }
    mqtt_end(&mqtt);
    run_free(&mqtt.run);
    options_free(&mqtt.options);
    return result;
}
