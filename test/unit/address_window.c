/*
 * The body of an address request in windows: pieces of every size, and a window
 * of every size at every offset.
 * SPDX-License-Identifier: 0BSD
 */
#include "mini_stream.c" /* NOLINT(bugprone-suspicious-include) */

#include "support.h"

static const struct mst_travelrule person = {.first_name = "\"A\\\x01",
                                             .last_name = "\xc3\x96\n",
                                             .vasp_id = "v",
                                             .custodian_type = "VASP"};
static const struct mst_travelrule institution = {.institution = "B\r\n"};

static const struct mst_address_request requests[] = {
    {.id = "i"},
    {.network = "BITCOIN_CASH",
     .address = "q\"\xf0\x9f\x98\x80",
     .nickname = "\t",
     .bookmarked = MST_BOOKMARK_TRUE,
     .travelrule = &person},
    {.id = "i",
     .nickname = "",
     .bookmarked = MST_BOOKMARK_FALSE,
     .travelrule = &institution},
};

/* Writes a piece: as many bytes of the body as fit, from skip on. */
static size_t piece(const struct mst_address_request *request, uint8_t *to,
                    size_t cap, size_t skip, size_t whole) {
    struct out o = {to, cap, skip, 0};

    address_body_write(&o, request);
    assert_int_equal(whole, o.len);
    return out_stored(&o);
}

static size_t write_whole(char *out, size_t cap,
                          const struct mst_address_request *request) {
    struct out o = {(uint8_t *)out, cap, 0, 0};

    address_body_write(&o, request);
    assert_in_range(o.len, 1, cap);
    return o.len;
}

TEST_CASE(the_body_is_the_same_in_pieces_of_any_size) {
    char whole[1024];
    struct guard *guard = guard_new(sizeof whole);

    for (size_t i = 0; i < COUNT(requests); i++) {
        size_t len = write_whole(whole, sizeof whole, &requests[i]);
        for (size_t step = 1; step <= len + 1; step++) {
            size_t at = 0;
            while (at < len) {
                uint8_t *to = guard_room(guard, step);
                size_t n = piece(&requests[i], to, step, at, len);
                assert_int_equal(step < len - at ? step : len - at, n);
                assert_memory_equal(whole + at, to, n);
                at += n;
            }
            assert_int_equal(len, at);
        }
    }
}

TEST_CASE(a_window_shows_its_part_of_the_body_alone) {
    char whole[1024];
    struct guard *guard = guard_new(sizeof whole);

    for (size_t i = 0; i < COUNT(requests); i++) {
        size_t len = write_whole(whole, sizeof whole, &requests[i]);
        for (size_t skip = 0; skip <= len + 1; skip++) {
            size_t left = skip < len ? len - skip : 0;
            for (size_t cap = 0; cap <= left + 1; cap++) {
                uint8_t *to = guard_room(guard, cap);
                size_t n = piece(&requests[i], to, cap, skip, len);
                assert_int_equal(cap < left ? cap : left, n);
                assert_memory_equal(whole + len - left, to, n);
            }
        }
    }
}

RUN_CASES(NULL, NULL)
