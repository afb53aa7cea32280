#!/bin/bash
# Runs programs that replay their vectors in pieces (see replay_everywhere() in
# test/lib/support.h) and adds up their figures. A program that has passed does
# not run again until it changes.
# SPLITS: longest stream, in bytes, that is split at every offset.
# Usage: test/evidence/splits.sh FOLDER PROGRAM...
# SPDX-License-Identifier: 0BSD
set -uo pipefail

keep=$1
shift
mkdir -p "$keep"

# name KEEP PROGRAM: the file with its kept output
name() {
    echo "$1/$(basename "$2")-$SPLITS-$(sha256sum "$2" | cut -c 1-16)"
}

# run KEEP PROGRAM
# shellcheck disable=SC2317 # it is called by the inner shell
run() {
    local kept
    kept=$(name "$@")
    [ -e "$kept" ] && return 0
    if "$2" >"$kept.log" 2>&1 &&
        grep -a "^SPLITS" "$kept.log" >"$kept.new"; then
        mv "$kept.new" "$kept"
    else
        grep -av "^\[" "$kept.log"
        return 1
    fi
}
export -f name run

# shellcheck disable=SC2016 # the inner shell expands it
printf '%s\n' "$@" | xargs -P "$(nproc)" -n 1 bash -c 'run "$0" "$1"' "$keep" ||
    failed=1
for program; do
    kept=$(name "$keep" "$program")
    [ ! -e "$kept" ] || sed "s|^SPLITS|${program##*/}|" "$kept"
done | tee "$keep/parts"
awk -v failed="${failed:-0}" -v longest="$SPLITS" '
    { gsub(/,/, ""); vectors += $2; splits += $4; partly += $6 }
    END { printf "%d vectors, %d splits, %s", vectors, splits,
                 failed ? "NOT all equal" : "all equal"
          if (partly) printf " (%d longer than %d bytes: not at every offset)",
                             partly, longest
          print "" }' "$keep/parts"
exit "${failed:-0}"
