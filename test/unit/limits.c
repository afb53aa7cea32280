/*
 * Every limit of mini_stream.h that has an error: the greatest size is
 * accepted, and one more gives the error that the header names, never one for
 * malformed input.
 *
 * SPDX-License-Identifier: 0BSD
 */
#include "mini_stream.c" /* NOLINT(bugprone-suspicious-include) */

#include "replies.h"
#include "support.h"

/* ---- Readers of a text: 0 or the first error ---- */

static int subscribes_once(const char *market) {
    static struct mst_client client;

    memset(&client, 0, sizeof client);
    client.link.access = &client.link.own;
    return mst_subscribe(&client, MST_TOP_OF_BOOK, market, NULL);
}

static int subscribes_often(const char *text) {
    static struct mst_client client;
    int rc = 0;

    memset(&client, 0, sizeof client);
    client.link.access = &client.link.own;
    for (size_t i = 0; i < strlen(text) && rc == 0; i++) {
        rc = mst_subscribe(&client, MST_TOP_OF_BOOK, printed("M%zu", i), NULL);
    }
    return rc;
}

static int has_url(const char *text) {
    struct mst_endpoint endpoint;

    return http_url(text, "http", &endpoint);
}

static int has_nickname(const char *text) {
    const struct mst_address_request request = {.id = "i", .nickname = text};

    return mst_address_check(&request, NULL);
}

static int has_id(const char *text) {
    const struct mst_address_request request = {.id = text};

    return mst_address_check(&request, NULL);
}

static int is_response(const char *text) {
    static struct mst_http http;
    size_t used = 0, piece;
    int rc;

    memset(&http, 0, sizeof http);
    do {
        rc = http_read(&http, (const uint8_t *)text, strlen(text), &used,
                       &piece);
    } while (rc == HTTP_HEAD || rc == HTTP_BODY);
    return rc < 0 ? rc : 0;
}

static int is_token(const char *text) {
    struct link_reply reply;
    uint32_t life_ms;
    size_t len = strlen(text);
    int rc = reply_read(200, (const uint8_t *)text, len, len, &reply);

    return rc == 0 ? link_reply_take(&reply_link, &reply, &life_ms) : rc;
}

static int is_record(const char *text) {
    static struct mst_tokens tokens;
    struct mst_address address;

    return address_read(text, strlen(text), &tokens, &address);
}

#define BUFFER 256

static int is_message(const char *text) {
    static struct mst_decoder decoder;
    static uint8_t buffer[BUFFER];
    struct mst_event event = {.type = MST_EVENT_NONE};
    int rc = 0;

    assert_int_equal(mst_decoder_init(&decoder, buffer, sizeof buffer, 0), 0);
    mst_decoder_feed(&decoder, text, strlen(text), true);
    while (rc == 0 && mst_decoder_next(&decoder, &event) == 1) {
        rc = event.type == MST_EVENT_ERROR ? event.as.failure.error : 0;
    }
    return rc;
}

/* ---- The limits ---- */

#define RESPONSE "HTTP/1.1 200 OK\r\n"
#define CHUNKED RESPONSE "Transfer-Encoding: chunked\r\n\r\n"
#define ENTRY "{\"type\":\"heartbeat\",\"params\":{"
#define ENTRIES "{\"type\":\"subscribe\",\"channels\":[" ENTRY
#define KEPT(value) "__" value /* in a response: a mark and the value */
#define TOKEN "{\"token_type\":\"bearer\",\"access_token\":\""

/* Levels before their market, type and time. */
#define EARLY "{\"payload\":{\"bids\":[],\"x\":\""
#define LATE                                                   \
    "\",\"market\":\"M\",\"type\":\"UPDATE\",\"time\":\"" TIME \
    "\"},\"channel\":\"market_data\"}"

/* The rest of a limit after this text. */
#define LEFT(limit, literal) ((limit) + 1 - sizeof(literal))

/* Repeats a letter, or a bracket that is closed again, between two texts. */
static const struct {
    const char *name;
    int (*reads)(const char *text);
    const char *before, *unit;
    size_t most;
    const char *after;
    int error;
} limits[] = {
    {"subscriptions", subscribes_often, "", "a", MST_SUBSCRIPTIONS_MAX, "",
     MST_ERR_FULL},
    {"market asked for", subscribes_once, "", "a", MST_MARKET_MAX, "",
     MST_ERR_ARGUMENT},
    {"market of an update", is_message,
     "{\"channel\":\"market_data\",\"payload\":{\"type\":\"UPDATE\",\"time\":"
     "\"" TIME "\",\"market\":\"",
     "a", MST_MARKET_MAX, "\"}}", MST_ERR_MESSAGE_SIZE},
    {"market of an entry", is_message, ENTRIES "\"market\":\"", "a",
     MST_MARKET_MAX, "\"}}]}", MST_ERR_MESSAGE_SIZE},
    {"entry", is_message, ENTRIES "\"x\":\"", "a",
     LEFT(BUFFER, ENTRY "\"x\":\"\"}}"), "\"}}]}", MST_ERR_MESSAGE_SIZE},
    {"error message", is_message, "{\"error\":\"", "a",
     LEFT(BUFFER, "{\"error\":\"\"}"), "\"}", MST_ERR_MESSAGE_SIZE},
    {"message to be read again", is_message, EARLY, "a",
     LEFT(BUFFER, EARLY LATE), LATE, MST_ERR_MESSAGE_ORDER},
    {"host", has_url, "https://", "a", MST_HOST_MAX, "/", MST_ERR_URL},
    {"path", has_url, "https://h", "/", MST_PATH_MAX, "", MST_ERR_URL},
    {"value of a header", is_response, RESPONSE "Upgrade: ", "a",
     LEFT(MST_LINE_MAX, "Upgrade: "), "\r\n\r\n", MST_ERR_HTTP_HEADER},
    {"name of a header", is_response, RESPONSE, "a", MST_LINE_MAX - 1,
     ":\r\n\r\n", MST_ERR_HTTP_HEADER},
    {"headers", is_response, RESPONSE "X: ", "a",
     LEFT(MST_HEADERS_MAX, RESPONSE "X: \r\n\r\n"), "\r\n\r\n",
     MST_ERR_HTTP_HEADER},
    {"trailers", is_response, CHUNKED "0\r\nX: ", "a",
     LEFT(MST_HEADERS_MAX, CHUNKED "X: \r\n\r\n"), "\r\n\r\n",
     MST_ERR_HTTP_HEADER},
    {"digits of a chunk's size", is_response, CHUNKED, "0",
     LEFT(MST_HEADERS_MAX, CHUNKED "\r") + 8, "\r", MST_ERR_HTTP_HEADER},
    {"body", is_response, RESPONSE "\r\n", "a", MST_BODY_MAX, "",
     MST_ERR_HTTP_BODY},
    {"chunk", is_response, CHUNKED "1", "0", 4, "\r\n", MST_ERR_HTTP_BODY},
    {"token", is_token, TOKEN, "a", MST_TOKEN_MAX, "\"}",
     MST_ERR_TOKEN_TOO_LARGE},
    {"scope of a token", is_token, TOKEN "t\",\"scope\":\"", "a",
     LEFT(MST_TOKEN_ROOM - 1, KEPT("\"bearer\"") KEPT("\"t\"") KEPT("\"\"")),
     "\"}", MST_ERR_TOKEN_TOO_LARGE},
    {"word of a record", is_record, "{\"address\":{\"id\":\"", "a",
     MST_ADDRESS_WORD_MAX, "\"}}", MST_ERR_MESSAGE_SIZE},
    {"text of a record", is_record,
     "{\"address\":{\"id\":\"i\",\"nickname\":\"", "a", MST_ADDRESS_TEXT_MAX,
     "\"}}", MST_ERR_MESSAGE_SIZE},
    {"word of a request", has_id, "", "a", MST_ADDRESS_WORD_MAX, "",
     MST_ERR_ADDRESS},
    {"text of a request", has_nickname, "", "a", MST_ADDRESS_TEXT_MAX, "",
     MST_ERR_ADDRESS},
    {"depth of a message", is_message, "{\"x\":", "[", MST_JSON_DEPTH - 1, "}",
     MST_ERR_JSON_DEPTH},
    {"depth of an entry", is_message, ENTRIES "\"x\":", "[", MST_JSON_DEPTH - 4,
     "}}]}", MST_ERR_JSON_DEPTH},
    {"depth of a record", is_record, "{\"address\":{\"id\":\"i\",\"x\":", "[",
     MST_JSON_DEPTH - 2, "}}", MST_ERR_JSON_DEPTH},
    {"depth of a token response", is_token, TOKEN "t\",\"x\":", "[",
     MST_JSON_DEPTH - 1, "}", MST_ERR_JSON_DEPTH},
};

TEST_CASE(every_limit_has_its_error) {
    for (size_t i = 0; i < COUNT(limits); i++) {
        for (size_t over = 0; over < 3; over++) {
            const size_t count = limits[i].most + over;
            const char *text = printed(
                "%s%s%s%s", limits[i].before, repeated(limits[i].unit, count),
                *limits[i].unit == '[' ? repeated("]", count) : "",
                limits[i].after);

            expect_int(limits[i].name, over > 0 ? limits[i].error : 0,
                       limits[i].reads(text));
        }
    }
}

RUN_CASES(NULL, NULL)
