#!/bin/bash
# Limits out of their range, and an int of 16 bits, are refused where the library
# is compiled, in words; limits at the end of their range are not.
# SPDX-License-Identifier: 0BSD
set -uo pipefail
cd "$(dirname "$0")/../.." || exit 1

passed=0
failed=0

# check WORDS OPTION...: the compiler says so; of no words, nothing
check() {
    local words=$1 out
    shift
    out=$("${CC:-cc}" -std=c99 -fsyntax-only -I. "$@" mini_stream.c 2>&1)
    if [[ -z $words && -z $out || -n $words && $out == *"$words"* ]]; then
        passed=$((passed + 1))
    else
        echo "FAIL: $*"
        echo "$out" | head -n 5
        failed=$((failed + 1))
    fi
}

for limit in MST_JSON_DEPTH=3 MST_JSON_DEPTH=33 MST_TEXT_MAX=46 \
    MST_LINE_MAX=63 MST_LINE_MAX=32769 MST_PART_LEVELS=1 MST_RESYNCS_MAX=0 \
    MST_DISAGREEMENTS=0 MST_DISAGREEMENTS=256 MST_TEXT_MAX=65535 \
    MST_PART_LEVELS=65536 MST_RESYNCS_MAX=3457 MST_RESYNCS_MAX=2147483647 \
    MST_RESYNC_EVERY_MS=0 MST_RESYNC_EVERY_MS=691200001 \
    MST_DISAGREEMENT_MS=-1 MST_DISAGREEMENT_MS=2073600001 \
    MST_SUBSCRIPTIONS_MAX=0 MST_SUBSCRIPTIONS_MAX=65536 MST_MARKET_MAX=0 \
    MST_MARKET_MAX=65535 MST_TOKEN_MAX=0 MST_TOKEN_MAX=1048577 \
    MST_HOST_MAX=0 MST_HOST_MAX=65535 MST_PATH_MAX=-1 MST_PATH_MAX=65535 \
    MST_HEADERS_MAX=0 MST_HEADERS_MAX=1073741825 MST_BODY_MAX=0 \
    MST_BODY_MAX=1073741825 MST_ADDRESS_WORD_MAX=0 \
    MST_ADDRESS_WORD_MAX=65535 MST_ADDRESS_TEXT_MAX=0 \
    MST_ADDRESS_TEXT_MAX=65535; do
    check "a limit is out of its range" "-D$limit"
done
for limit in MST_JSON_DEPTH=4 MST_JSON_DEPTH=32 MST_TEXT_MAX=47 \
    MST_LINE_MAX=64 MST_LINE_MAX=32768 MST_PART_LEVELS=2 MST_RESYNCS_MAX=1 \
    MST_DISAGREEMENTS=1 MST_DISAGREEMENTS=255 MST_TEXT_MAX=16383 \
    MST_PART_LEVELS=65535 MST_RESYNCS_MAX=3456 MST_RESYNC_EVERY_MS=1 \
    MST_RESYNC_EVERY_MS=691200000 MST_DISAGREEMENT_MS=0 \
    MST_DISAGREEMENT_MS=2073600000 MST_SUBSCRIPTIONS_MAX=1 \
    MST_SUBSCRIPTIONS_MAX=65535 MST_MARKET_MAX=1 MST_MARKET_MAX=16383 \
    MST_TOKEN_MAX=1 MST_TOKEN_MAX=1048576 MST_HOST_MAX=1 MST_HOST_MAX=65534 \
    MST_PATH_MAX=0 MST_PATH_MAX=65534 MST_HEADERS_MAX=1 \
    MST_HEADERS_MAX=1073741824 MST_BODY_MAX=1 MST_BODY_MAX=1073741824 \
    MST_ADDRESS_WORD_MAX=1 MST_ADDRESS_WORD_MAX=16383 \
    MST_ADDRESS_TEXT_MAX=1 MST_ADDRESS_TEXT_MAX=16383; do
    check "" "-D$limit"
done
check "needs an int of 32 bits" -U__INT_MAX__ -D__INT_MAX__=32767

echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
