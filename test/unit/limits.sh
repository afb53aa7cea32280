#!/bin/bash
# Limits out of range, and an int of 16 bits, are refused with a message when
# the library is compiled; limits at the end of their range are accepted.
# SPDX-License-Identifier: 0BSD
set -uo pipefail
cd "$(dirname "$0")/../.." || exit 1

passed=0
failed=0

# check WORDS OPTION...: expects WORDS from the compiler; "": no message
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

# NAME, values at the ends of its range, values out of it
while read -r name good bad; do
    for value in ${good//,/ }; do
        check "" "-DMST_$name=$value"
    done
    for value in ${bad//,/ }; do
        check "a limit is out of its range" "-DMST_$name=$value"
    done
done <<'END'
JSON_DEPTH 4,32 3,33
TEXT_MAX 47,16383 46,65535
LINE_MAX 64,32768 63,32769
PART_LEVELS 2,65535 1,65536
RESYNCS_MAX 1,3456 0,3457,2147483647
DISAGREEMENTS 1,255 0,256
RESYNC_EVERY_MS 1,691200000 0,691200001
DISAGREEMENT_MS 0,2073600000 -1,2073600001
SUBSCRIPTIONS_MAX 1,65535 0,65536
MARKET_MAX 1,16383 0,65535
TOKEN_MAX 1,1048576 0,1048577
HOST_MAX 1,65534 0,65535
PATH_MAX 0,65534 -1,65535
HEADERS_MAX 1,1073741824 0,1073741825
BODY_MAX 1,1073741824 0,1073741825
ADDRESS_WORD_MAX 1,8191 0,8192
ADDRESS_TEXT_MAX 1,16383 0,65535
END
check "" -DMST_TEXT_MAX=16383 -DMST_MARKET_MAX=16383 \
    -DMST_ADDRESS_WORD_MAX=8191 -DMST_ADDRESS_TEXT_MAX=16383
check "needs an int of 32 bits" -U__INT_MAX__ -D__INT_MAX__=32767

echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
