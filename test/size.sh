#!/bin/bash
# Prints code, static data, memory and stack of the library for a Cortex-M4,
# beside this machine's; fails if there is static data. Nothing is run on the
# target: its compiler sizes the objects.
# Usage: test/size.sh [INCLUDE OPTION...]
# CC: this machine's compiler; CROSS: prefix of the target's tools.
# SPDX-License-Identifier: 0BSD
set -euo pipefail
cd "$(dirname "$0")/.."

dir=${BUILD:-build}/size
cross=${CROSS:-arm-none-eabi-}
host_cc=${CC:-cc}
rm -rf "$dir"
mkdir -p "$dir/include"

# The headers of BearSSL and jsmn, apart from this machine's C headers. Where
# Debian has bearssl.h twice, the real one comes last.
printf '#include <bearssl.h>\n#include <jsmn.h>\n' |
    "$host_cc" "$@" -M -x c - | sed 's/[ \\][ \\]*/\n/g' |
    grep -E '/(bearssl[a-z0-9_]*|jsmn)\.h$' | while read -r header; do
    cp "$header" "$dir/include/"
done

cat >"$dir/sizes.c" <<'END'
#include "mini_stream.h"
char mst_client[sizeof(struct mst_client)];
char mst_decoder[sizeof(struct mst_decoder)];
char mst_ws[sizeof(struct mst_ws)];
char mst_book[sizeof(struct mst_book)];
char mst_level[sizeof(struct mst_level)];
char mst_event[sizeof(struct mst_event)];
char book_of_100[sizeof(struct mst_book) + 2 * 100 * sizeof(struct mst_level)];
char memory_default[MST_MEMORY_LEN_DEFAULT];
char memory_small[MST_MEMORY_LEN(MST_RECORD_IN_MIN, MST_RECORD_OUT_MIN,
                                 256, 0, 1)];
char memory_fast[MST_MEMORY_LEN(MST_RECORD_IN_ANY, MST_RECORD_OUT_FULL,
                                4096, 65536, 1)];
END

# measure NAME TOOL_PREFIX COMPILER_AND_OPTIONS...: writes "row value" lines
# to NAME.rows and the stack frames to NAME.su.
measure() {
    local name=$dir/$1 prefix=$2
    shift 2
    local options=(-std=c99 -Os -fno-common -I. -isystem "$dir/include")

    "$@" "${options[@]}" -fstack-usage -c -o "$name.o" mini_stream.c
    "$@" "${options[@]}" -c -o "$name.sizes.o" "$dir/sizes.c"
    {
        "${prefix}size" "$name.o" |
            awk 'NR == 2 { print "text " $1 "\ndata " $2 "\nbss " $3 }'
        "${prefix}nm" -S --size-sort "$name.sizes.o" |
            while read -r _ bytes _ symbol; do
                echo "$symbol $((16#$bytes))"
            done | sort
    } >"$name.rows"
}

frames() {
    echo
    echo "Largest stack frames, $1, bytes:"
    sort -t "$(printf '\t')" -k 2,2nr "$dir/$2.su" |
        awk -F '\t' 'NR <= 8 {
            sub(/.*:/, "", $1)
            printf "%10d  %s%s\n", $2, $1, $3 == "static" ? "" : ", " $3 }'
}

m4=("${cross}gcc" -mcpu=cortex-m4 -mthumb)
measure m4 "$cross" "${m4[@]}"
measure m4_plain "$cross" "${m4[@]}" -DMST_NO_TLS
measure host '' "$host_cc" -fno-pie
measure host_plain '' "$host_cc" -fno-pie -DMST_NO_TLS

echo "Bytes, at -Os          Cortex-M4  MST_NO_TLS   this machine  MST_NO_TLS"
cat "$dir"/{m4,m4_plain,host,host_plain}.rows | awk '
    { if (!($1 in row)) { row[$1] = ""; order[++n] = $1 }
      row[$1] = row[$1] sprintf("%12d", $2) }
    END { for (i = 1; i <= n; i++)
        printf "%-20s%s\n", order[i], row[order[i]] }'
cat <<'END'

text is the library alone: what it uses of BearSSL comes on top. A client
takes one mst_client and one memory: default (all lengths 0), small (a server
that honours max_fragment_length), fast (full records, 64 KB read ahead).
book_of_100 is a book of 100 levels a side, with its levels.
END
frames "Cortex-M4" m4
frames "this machine" host

if grep -hE '^(data|bss) [^0]' "$dir"/*.rows; then
    echo "The library has static data: there must be none." >&2
    exit 1
fi
