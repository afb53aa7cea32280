/*
 * The sizes of the objects that a program gives to the library: an array of
 * each, named after its row in `make size`.
 *
 * SPDX-License-Identifier: 0BSD
 */
#include "mini_stream.h"

/* The least that works with a server that honours max_fragment_length, and the
 * usual lengths without reading ahead. */
#define LEAST MST_MEMORY_LEN(MST_RECORD_IN_MIN, MST_RECORD_OUT_MIN, 256, 0)
#define PLAIN MST_MEMORY_LEN(MST_RECORD_IN_ANY, MST_RECORD_OUT_MIN, 2048, 0)

extern const char memory_least[], memory_small[], memory_plain[],
    memory_usual[], memory_fast[];
extern const char client[], decoder[], ws[], event[], book[];

const char memory_least[sizeof(struct mst_client) + LEAST] = {0};
const char memory_small[sizeof(struct mst_client) +
                        MST_MEMORY_LEN(MST_LENGTHS_SMALL)] = {0};
const char memory_plain[sizeof(struct mst_client) + PLAIN] = {0};
const char memory_usual[sizeof(struct mst_client) +
                        MST_MEMORY_LEN(MST_LENGTHS_USUAL)] = {0};
const char memory_fast[sizeof(struct mst_client) +
                       MST_MEMORY_LEN(MST_LENGTHS_FAST)] = {0};

const char client[sizeof(struct mst_client)] = {0};
const char decoder[sizeof(struct mst_decoder)] = {0};
const char ws[sizeof(struct mst_ws)] = {0};
const char event[sizeof(struct mst_event)] = {0};
const char book[sizeof(struct mst_book) + 2 * 100 * sizeof(struct mst_level)] =
    {0};
