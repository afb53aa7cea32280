/*
 * Support for the tests: memory that ends at a protected page, events as
 * comparable text, and the replay of a stream in pieces.
 *
 * SPDX-License-Identifier: 0BSD
 */
#ifndef SUPPORT_H
#define SUPPORT_H

#include "cases.h"
#include "mini_stream.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* A literal, which may contain NUL, and its number of bytes. */
#define BYTES(literal) (literal), sizeof(literal) - 1

/* ---- Expectations: a test continues after one that fails ---- */

/* The main() of a program whose tests fail if one of their expectations failed.
 * begin() and end() run before and after all tests and may be NULL. */
#define RUN_CASES(begin, end) RUN_WITH(expect_begin, expect_end, begin, end)

int expect_begin(void **state);
int expect_end(void **state);

/* Reports that an expectation failed, printf-like. */
void expect_failed(const char *format, ...)
    __attribute__((format(printf, 1, 2)));

/* The number of expectations of the current test that failed. */
unsigned expect_failures(void);

/* Expects two texts to be equal; name is the case's. */
void expect_text(const char *name, const char *expected, const char *got);

/* Expects two numbers to be equal. */
#define expect_int(name, expected, got) \
    expect_number(name, (long long)(expected), (long long)(got))
void expect_number(const char *name, long long expected, long long got);

/* A number from the environment, or the default. */
uint64_t setting(const char *name, uint64_t usual);
/* The folder for temporary files: TMPDIR, or /tmp. */
const char *temporary(void);

/* ---- Text that grows ---- */

struct text {
    char *data; /* NUL-terminated, or NULL while empty */
    size_t len, size;
};

void text_add(struct text *text, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void text_add_bytes(struct text *text, const void *data, size_t len);
void text_clear(struct text *text);
void text_free(struct text *text);
struct text *text_new(void); /* until the test ends */
const char *text_get(const struct text *text);

/* A formatted text; a repeated text; a text with a quotation mark for each '.
 * All are valid until the test ends. */
const char *printed(const char *format, ...)
    __attribute__((format(printf, 1, 2)));
const char *repeated(const char *text, size_t times);
const char *quoted(const char *text);

/* True if data contains the bytes of what. */
bool bytes_contain(const void *data, size_t len, const void *what,
                   size_t what_len);

/* ---- Memory that ends at a protected page ---- */

struct guard {
    uint8_t *base, *end;
    size_t mapped;
};

/* Allocates max bytes before a protected page. */
void guard_open(struct guard *guard, size_t max);
void guard_close(struct guard *guard);

/* The last len bytes before the protected page. */
uint8_t *guard_room(const struct guard *guard, size_t len);

/* len bytes before a protected page, valid until the next call; with data. */
void *guarded_room(size_t len);
void *guarded(const void *data, size_t len);

/* ---- Replay in pieces ---- */

/* A reader of a stream. Each piece ends at a protected page and is overwritten
 * after it was read. */
struct reader {
    void *context;
    void (*begin)(void *context);
    void (*piece)(void *context, const uint8_t *data, size_t len, bool final,
                  struct text *record);
};

/* Replays data in pieces of this size (0: whole), appending to record. */
void replay(const struct reader *reader, const void *data, size_t len,
            size_t piece, struct text *record);

/*
 * Replays data whole, byte by byte, in pieces of some other sizes, and split in
 * two at every offset (from 2,048 bytes on: at fewer offsets). With SPLITS=n in
 * the environment, streams up to n bytes are split at every offset, and those
 * up to 64 bytes also at every two and three offsets. All must give the
 * expected record; NULL means the record of the whole.
 */
void replay_everywhere(const char *name, const struct reader *reader,
                       const void *data, size_t len, const char *expected);

/* Up to this length, in bytes, a stream is split at every three offsets. */
#define SPLITS_SHORT 64

/* True if all splits are required. The program then ends with a line that
 * counts them, and other code may add to the counts. */
bool splits_all(void);
void splits_count(uint64_t vectors, uint64_t made);

/* The next way to choose count offsets within len bytes, in rising order, from
 * 1, 2, 3 on; false after the last. */
bool splits_next(size_t *places, size_t count, size_t len);

/* ---- Events and errors as text ---- */

/* Every error, its name ("URL" for MST_ERR_URL), and words that only its text
 * has. */
extern const struct error_case {
    int error;
    const char *name, *words;
} error_cases[];
extern const size_t error_cases_len;

/* "JSON_SYNTAX" for MST_ERR_JSON_SYNTAX. */
const char *error_name(int error);

/* Appends a decimal: "5e4", "12", "15e-1", with "~" if it is inexact. */
void record_decimal(struct text *record, struct mst_decimal value);

/* Appends a book's state and sides: "live: 100x1 99x2~ | 101x3", "~" for an
 * inexact amount, "+ crossed"; the second expects this text. */
void record_book(struct text *record, const struct mst_book *book);
void expect_book_text(const char *name, const char *expected,
                      const struct mst_book *book);

/* Appends a line for an event of the decoder:
 *
 *   part MARKET NS snapshot|update [first] [last]: bid PRICE AMOUNT, ask ...
 *   part MARKET aborted
 *   top MARKET NS: bid PRICE AMOUNT, ask PRICE AMOUNT
 *   execution MARKET NS: PRICE AMOUNT
 *   heartbeat NS
 *   entry ACTION CHANNEL "NAME" "MARKET" ok|failed CODE "TEXT"
 *   response ACTION: ENTRIES entries, FAILED failed
 *   service_error CODE "CODE TEXT" "MESSAGE"
 *   unknown LEN: RAW TEXT|NULL
 *   error NAME "TEXT" [in MARKET]
 */
void record_event(struct text *record, const struct mst_event *event);

/* ---- Decoder ---- */

/* A reader of one message: a decoder whose buffer ends at a protected page. */
struct decoding {
    struct reader reader;
    size_t buffer_len; /* 0: 2,048 */
    unsigned flags;
    struct guard guard;
    struct mst_decoder decoder;
};

void decoding_open(struct decoding *decoding, size_t buffer_len,
                   unsigned flags);
void decoding_close(struct decoding *decoding);

/* Opens one that is valid until the next call. */
struct decoding *decoding_new(size_t buffer_len, unsigned flags);

/* Feeds a piece and records its events. */
void decoding_feed(struct decoding *decoding, const void *data, size_t len,
                   bool final, struct text *record);

/*
 * Decodes a message in all pieces (replay_everywhere()), each time followed by
 * a good heartbeat, which must be decoded whatever the message was. expected is
 * the record without that heartbeat; NULL means the record of the whole
 * message.
 */
void expect_events(const char *name, struct decoding *decoding,
                   const char *message, size_t len, const char *expected);

/* The same with a decoder of this buffer and these flags. In both texts, '
 * means a quotation mark. */
void expect_decoded(const char *message, size_t buffer_len, unsigned flags,
                    const char *expected);

/* The same for a message whose only event is this error ("DECIMAL \"x\""). The
 * error names the market BTCUSD if the message has it and one of its
 * channels. */
void expect_error(const char *message, size_t buffer_len, unsigned flags,
                  const char *error);

/* A row of a table: a message, and its events with the usual decoder. */
struct message_case {
    const char *message, *expected;
};

void expect_message_cases(const struct message_case *cases, size_t count);
void expect_error_cases(const struct message_case *cases, size_t count);

/* ---- Messages ---- */

/* The time in the tests' messages, also in nanoseconds. */
#define TIME "2026-01-02T03:04:05.678Z"
#define NS "1767323045678000000"

/* A market_data message with these levels, as text. */
#define BOOK_MESSAGE(type, bids, asks) BOOK_AT(type, TIME, bids, asks)
#define BOOK_AT(type, time, bids, asks)                                \
    "{\"channel\":\"market_data\",\"payload\":{\"market\":\"BTCUSD\"," \
    "\"type\":\"" type "\",\"time\":\"" time "\","                     \
    "\"bids\":[" bids "],\"asks\":[" asks "]}}"

#define LEVEL(price, amount) \
    "{\"price\":\"" price "\",\"amount\":\"" amount "\"}"

/* The payload of a heartbeat; an execution; a top of book; an update with
 * further members at its end, each with a comma before it. */
#define HEARTBEAT_PAYLOAD "{\"timestamp\":\"" TIME "\"}"
#define HEARTBEAT_WITH(payload) \
    "{\"channel\":\"heartbeat\",\"payload\":" payload "}"
#define HEARTBEAT HEARTBEAT_WITH(HEARTBEAT_PAYLOAD)
#define HEARTBEAT_AT(time) HEARTBEAT_WITH("{\"timestamp\":\"" time "\"}")
#define EXECUTION(price, amount) EXECUTION_AT("BTCUSD", price, amount, TIME)
#define EXECUTION_AT(market, price, amount, time)                       \
    "{\"channel\":\"execution_data\",\"payload\":{\"market\":\"" market \
    "\",\"price\":\"" price "\",\"amount\":\"" amount                   \
    "\",\"executed_at\":\"" time "\"}}"
#define TOP(bids, asks)                                                    \
    "{\"channel\":\"market_data.top_of_book\",\"payload\":{"               \
    "\"market\":\"BTCUSD\",\"type\":\"TOP_OF_BOOK\",\"timestamp\":\"" TIME \
    "\",\"bids\":[" bids "],\"asks\":[" asks "]}}"
#define UPDATE_WITH(fields)                                            \
    "{\"channel\":\"market_data\",\"payload\":{\"market\":\"BTCUSD\"," \
    "\"type\":\"UPDATE\",\"time\":\"" TIME "\"" fields "}}"

/* ---- Seeded random numbers (SplitMix64) ---- */

uint64_t random_next(uint64_t *seed);

/* A number below n. */
uint32_t random_below(uint64_t *seed, uint32_t n);

#endif
