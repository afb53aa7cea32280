#!/bin/bash
# Runs plans (see test/session/plans.c) on all processors, and reports which
# have failed. Each process takes a part of the seeds. The last line adds up.
# Usage: test/plans/plans.sh PROGRAM [CHECKED]
# CHECKED, the program with sanitizers, takes every twentieth part.
# PLANS: their number (100000); PLANS_SEED: the first seed (from the clock).
# PLANS_KEEP: a folder that records finished parts of these exact programs, so
# that an interrupted run can continue.
# SPDX-License-Identifier: 0BSD
set -uo pipefail

plans=${PLANS:-100000}
seed=${PLANS_SEED:-$(($(date +%s) * 1000000))}
part=500
[ "$plans" -gt 1 ] || exec env PLANS=1 PLANS_SEED="$seed" "$1"

keep=${PLANS_KEEP:-$(mktemp -d)}
[ -n "${PLANS_KEEP:-}" ] || trap 'rm -rf "$keep"' EXIT
keep=$keep/$(cat "$@" | sha256sum | cut -c 1-16)
mkdir -p "$keep"

# run KEEP PROGRAM FIRST LAST: runs the plans of these seeds in one process.
# Keeps its line if none fails, and prints its output otherwise.
# shellcheck disable=SC2317 # it is called by the inner shell
run() {
    local output done=$1/$3-$4
    [ -e "$done" ] && return 0
    if output=$(PLANS=$(($4 - $3 + 1)) PLANS_SEED=$3 "$2" 2>&1); then
        grep -a '^PLANS_SEED' <<<"$output" >"$done.new" &&
            mv "$done.new" "$done"
    else
        grep -av '^\[' <<<"$output"
        return 1
    fi
}
export -f run

last=$((seed + plans - 1))
# Prints lines of KEEP PROGRAM FIRST LAST
parts() {
    local first end n=0 program
    for ((first = seed; first <= last; first += part)); do
        end=$((first + part - 1))
        program=$1
        [ $((n++ % 20)) -ne 0 ] || program=${2:-$1}
        printf '%s %s %s %s\n' "$keep" "$program" "$first" \
            "$((end < last ? end : last))"
    done
}

# shellcheck disable=SC2016 # the inner shell expands it
parts "$@" | xargs -P "$(nproc)" -n 4 bash -c 'run "$0" "$@"' || failed=1
[ -z "${failed:-}" ] || echo "Some have failed: see above."

# Adds up the numbers before each word, in the lines of all finished parts.
parts "$@" | while read -r folder _ first end; do
    cat "$folder/$first-$end" 2>/dev/null
done | awk -v plans="$plans" -v seed="$seed" -v last="$last" '
    { gsub(/[(),;]/, ""); done += $3
      for (i = 4; i <= NF; i++) {
          if ($i == "executions") told += $(i - 1)
          if ($i == "counted") lost += $(i - 1)
          if ($i == "live") looks += $(i - 4)
          if ($i == "addresses") asked += $(i - 1)
          if ($i == "most" && $(i - 3) > most) most = $(i - 3)
      } }
    END { printf "%d plans, %s, seeds %s..%s; %d looks at live books, %d " \
                 "executions told and %d counted as lost, %d addresses " \
                 "asked for, well after %d s at most\n",
          done, done == plans ? "0 failed" : plans - done " failed or not run",
          seed, last, looks, told, lost, asked, most }'
exit "${failed:-0}"
