#!/bin/bash
# Limits out of their range are refused where the library is compiled, in
# words; those at the end of it are not.
# SPDX-License-Identifier: 0BSD
set -uo pipefail
cd "$(dirname "$0")/../.." || exit 1

passed=0
failed=0

# check refused|taken LIMIT=VALUE
check() {
    local out
    out=$("${CC:-cc}" -std=c99 -fsyntax-only -I. "-D$2" mini_stream.c 2>&1)
    case $1:$out in
    refused:*"a limit is out of its range"* | taken:)
        passed=$((passed + 1))
        ;;
    *)
        echo "FAIL: $2 is not $1"
        echo "$out" | head -n 5
        failed=$((failed + 1))
        ;;
    esac
}

for limit in MST_JSON_DEPTH=3 MST_JSON_DEPTH=33 MST_TEXT_MAX=46 \
    MST_LINE_MAX=63 MST_LINE_MAX=32769 MST_PART_LEVELS=1 MST_RESYNCS_MAX=0 \
    MST_DISAGREEMENTS=0 MST_DISAGREEMENTS=256; do
    check refused "$limit"
done
for limit in MST_JSON_DEPTH=4 MST_JSON_DEPTH=32 MST_TEXT_MAX=47 \
    MST_LINE_MAX=64 MST_LINE_MAX=32768 MST_PART_LEVELS=2 MST_RESYNCS_MAX=1 \
    MST_DISAGREEMENTS=1 MST_DISAGREEMENTS=255; do
    check taken "$limit"
done

echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
