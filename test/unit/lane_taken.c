/*
 * The fast lane reads messages as the service writes them, from the first byte
 * to the last, and their numbers in words. A lane that is correct but rarely
 * used would only be slow, which no other test detects.
 *
 * SPDX-License-Identifier: 0BSD
 */
#include "mini_stream.c" /* NOLINT(bugprone-suspicious-include) */

#include "support.h"

#define LEVELS                                                             \
    LEVEL("43567.5", "0.25")                                               \
    "," LEVEL("43567", "12.00000001") "," LEVEL("0.00012", "0") "," LEVEL( \
        "1234567.89", "123456789.123") "," LEVEL("43566.25", "1000")

static struct mst_decoder decoder;
static uint8_t buffer[1024];

/* Begins to decode a message in the lane. */
static void take(const char *message, size_t len) {
    assert_int_equal(mst_decoder_init(&decoder, buffer, sizeof buffer, 0), 0);
    mst_decoder_feed(&decoder, message, len, true);
    message_fast(&decoder);
}

TEST_CASE(usual_messages_are_taken_to_their_end) {
    static const char *const messages[] = {
        BOOK_MESSAGE("UPDATE", LEVELS, LEVELS),
        BOOK_MESSAGE("SNAPSHOT", LEVELS, LEVELS),
        BOOK_MESSAGE("UPDATE", "", ""),
        TOP(LEVEL("43567.5", "0.25"), LEVEL("43568", "1")),
        TOP("", ""),
        EXECUTION("43567.5", "0.25"),
        HEARTBEAT,
        "{ \"channel\": \"market_data\",\n\"payload\" : { \"market\": \"B\", "
        "\"type\": \"UPDATE\", \"time\": \"" TIME "\", \"bids\": [{\"price\":"
        " \"1\", \"amount\": \"2\"}"
#if WORDS
        ", { \"amount\": \"4\", \"price\": \"3\" }"
#endif
        "], \"asks\": []}\n}",
    };

    for (size_t i = 0; i < COUNT(messages); i++) {
        take(messages[i], strlen(messages[i]));
        expect_int(messages[i], strlen(messages[i]), decoder.at);
        expect_int(messages[i], JSON_AT_END, decoder.json.state);
    }
}

/* A piece is read in the lane up to the level that it ends in. */
TEST_CASE(a_piece_is_taken_up_to_its_last_level) {
    static const char message[] = BOOK_MESSAGE("UPDATE", LEVELS, LEVELS);
    const size_t begin = (size_t)(strstr(message, "[{") - message) + 1;

    for (size_t len = begin + 1; len < strlen(message) - 1; len++) {
        size_t level = len;

        take(message, len);
        while (message[level - 1] != '{' && message[level - 1] != '}' &&
               message[level - 1] != ']') {
            level--;
        }
        if (message[level - 1] == '{') {
            level--;
        }
        if (decoder.at < level) {
            expect_failed("of %zu bytes %zu were taken", len, decoder.at);
        }
    }
}

/* Only the piece is read, nothing before or after it, at any offset. */
TEST_CASE(a_piece_is_all_that_is_read) {
    static const char message[] =
        BOOK_MESSAGE("UPDATE", LEVEL("1", "2"), LEVEL("3", "4"));
    struct mst_event event;

    for (size_t cut = 1; cut < sizeof message - 2; cut++) {
        for (size_t len = 1; len < 5 && cut + len < sizeof message - 1; len++) {
            const size_t cuts[] = {0, cut, cut + len, sizeof message - 1};
            int events = 0;

            assert_int_equal(
                mst_decoder_init(&decoder, buffer, sizeof buffer, 0), 0);
            for (unsigned i = 0; i < 3; i++) {
                size_t n = cuts[i + 1] - cuts[i];
                char *piece = malloc(n);

                assert_non_null(piece);
                memcpy(piece, message + cuts[i], n);
                mst_decoder_feed(&decoder, piece, n, i == 2);
                while (mst_decoder_next(&decoder, &event) == 1) {
                    events++;
                }
                free(piece);
            }
            expect_int("events", 1, events);
        }
    }
}

/* A minute is marked: a time in the same minute keeps the mark. */
TEST_CASE(a_known_minute_is_not_read_again) {
    static const char first[] = "2026-01-02T03:04:05Z";
    static const char second[] = "2026-01-02T03:04:16Z";
    const char *end = first + sizeof first - 1;
    int64_t ns = 0, marked_ns = 0;

    assert_int_equal(mst_decoder_init(&decoder, buffer, sizeof buffer, 0), 0);
    assert_ptr_equal(message_time(&decoder, first, end, &ns), end);
    decoder.time.minute_s += 60;
    end = second + sizeof second - 1;
    assert_ptr_equal(message_time(&decoder, second, end, &marked_ns), end);
    assert_true(marked_ns == ns + (60 + 11) * INT64_C(1000000000));
}

/* Complete texts are read in place, also those with escapes: nothing is copied
 * to the buffer. */
TEST_CASE(a_text_at_hand_is_not_gathered) {
    static const char message[] = "{ \"channel\" : \"heart\\u0062eat\", "
                                  "\"payload\" : " HEARTBEAT_PAYLOAD "}";
    struct mst_event event = {.type = MST_EVENT_NONE};

    memset(buffer, 'x', sizeof buffer);
    take(message, sizeof message - 1);
    assert_int_equal(mst_decoder_next(&decoder, &event), 1);
    assert_int_equal(event.type, MST_EVENT_HEARTBEAT);
    for (size_t i = 0; i < sizeof buffer; i++) {
        assert_int_equal(buffer[i], 'x');
    }
}

/* The lane reads the smallest exponent that a number can have. */
TEST_CASE(as_many_places_as_there_can_be) {
    char text[80] = "0.";
    const size_t len = 2 + 64;
    struct mst_decimal number = {0};

    memset(text + 2, '0', 63);
    text[len - 1] = '1';
    assert_ptr_equal(message_number_pass(text, text + len, &number),
                     text + len);
    assert_int_equal(number.coefficient, 1);
    assert_int_equal(number.exponent, -64);
    text[len - 1] = '0';
    text[len] = '1';
    assert_null(message_number_pass(text, text + len + 1, &number));
}

#if WORDS
/* After 64 amounts of a new form the next ones are expected to vary as well. A
 * side without any subtracts one. */
TEST_CASE(many_odd_amounts_are_taken_to_vary) {
    struct decimal_shape amounts = {0};

    memset(&decoder, 0, sizeof decoder);
    message_variety(&decoder, &amounts);
    assert_int_equal(decoder.variety, 0);
    amounts.odd = 63;
    message_variety(&decoder, &amounts);
    assert_int_equal(decoder.variety, 62);
    message_variety(&decoder, &amounts);
    assert_int_equal(decoder.variety, 61);
    amounts.odd = 3;
    message_variety(&decoder, &amounts);
    assert_int_equal(decoder.variety, UINT8_MAX);
    assert_int_equal(amounts.odd, 0);
}

/* The bytes read for a number may be all that are there. */
TEST_CASE(as_much_room_as_is_asked_for) {
    char text[32] = "12345678"
                    "1.5\"}     ";
    int64_t coefficient;
    int8_t exponent;
    struct message_figure figure = {"8", 1, NULL, &coefficient, &exponent};

    assert_ptr_equal(message_figure_pass(text + 7, text + 17, figure),
                     text + 11);
    assert_int_equal(coefficient, 15);
    assert_null(message_figure_pass(text + 7, text + 16, figure));

    struct message_figure next = {"a", 1, NULL, &coefficient, &exponent};
    const char *end = text + snprintf(text, sizeof text, "81.5a1234.567\"}");

    assert_ptr_equal(message_level_words(text, end, figure, next), end);
}

/* A number of usual length is read in words if enough bytes follow. The careful
 * reader must give the same value. */
TEST_CASE(usual_numbers_are_read_in_words) {
    static const char *const numbers[] = {"0.1",       "1",
                                          "10",        "1.5",
                                          "43567.25",  "1234567",
                                          "1234560",   "0.00000001",
                                          "1.123",     "1.1234",
                                          "1.12345",   "1.123456",
                                          "1.1234567", "1234567.12345678",
                                          "100.5"};

    for (size_t i = 0; i < COUNT(numbers); i++) {
        char text[64] = "12345678";
        size_t len = strlen(numbers[i]);

        memcpy(text + 8, numbers[i], len + 1);
        for (size_t more = 1; more < 24; more++) {
            int64_t coefficient = -1;
            int8_t exponent = -1;
            struct mst_decimal value;

            memset(text + 8 + len, '"', more);
            assert_int_equal(mst_decimal_parse(numbers[i], len, &value), 0);
            assert_ptr_equal(decimal_pass(text + 8, text + 8 + len + more,
                                          &coefficient, &exponent),
                             text + 8 + len);
            assert_int_equal(coefficient, value.coefficient);
            assert_int_equal(exponent, value.exponent);
            if (len + more >= DECIMAL_PARTS) {
                assert_ptr_equal(
                    decimal_parts(text + 8, &coefficient, &exponent),
                    text + 8 + len);
            }
        }
    }
}

/* Numbers of the previous form are read in one step. Others count as odd. */
TEST_CASE(a_number_of_another_form_is_noticed) {
    static const char *const numbers[] = {"43567.5", "43568.5", "1.25",
                                          "43567.25"};
    struct decimal_shape shape = {0};

    for (size_t i = 0; i < COUNT(numbers); i++) {
        char text[64];
        int64_t coefficient;
        int8_t exponent;
        const char *behind;

        memset(text, '"', sizeof text);
        memcpy(text, numbers[i], strlen(numbers[i]));
        behind = decimal_word(text, text + sizeof text, &shape, &coefficient,
                              &exponent);
        assert_ptr_equal(behind, text + strlen(numbers[i]));
        assert_int_equal(shape.odd, i < 2 ? 0 : i - 1);
    }
}

/* The byte in the place of the point is checked. */
TEST_CASE(another_byte_is_no_point) {
    struct decimal_shape shape = {0};
    char text[64] = "43567.5\"";
    int64_t coefficient;
    int8_t exponent;

    memset(text + 8, ' ', sizeof text - 8);
    assert_ptr_equal(
        decimal_word(text, text + sizeof text, &shape, &coefficient, &exponent),
        text + 7);
    text[5] = 'e';
    assert_ptr_not_equal(
        decimal_word(text, text + sizeof text, &shape, &coefficient, &exponent),
        text + 7);
}
#endif

RUN_CASES(NULL, NULL)
