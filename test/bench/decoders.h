/*
 * The compared decoders. Each reads one message, followed by BENCH_PADDING
 * bytes that begin with 0, and returns its sum, or a wrong sum if it cannot
 * read it.
 *
 * SPDX-License-Identifier: 0BSD
 */
#ifndef DECODERS_H
#define DECODERS_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

uint64_t decode_mini_stream(const char *text, size_t len);
uint64_t decode_mini_stream_no_fast_lane(const char *text, size_t len);
uint64_t decode_simdjson(const char *text, size_t len);         /* raw tokens */
uint64_t decode_simdjson_strings(const char *text, size_t len); /* unescaped */
uint64_t decode_rapidjson(const char *text, size_t len);
uint64_t decode_jsmn(const char *text, size_t len);
uint64_t decode_cjson(const char *text, size_t len);

#ifdef __cplusplus
}
#endif

#endif
