#!/bin/bash
# Runs plans (see test/session/plans.c) on all processors, each of which takes
# a part of the seeds, and says which have failed.
# Usage: test/lib/plans.sh PROGRAM
# PLANS: how many (100000); PLANS_SEED: the first one's seed (from the clock).
# SPDX-License-Identifier: 0BSD
set -uo pipefail

plans=${PLANS:-100000}
seed=${PLANS_SEED:-$(($(date +%s) * 1000000))}
part=5000
[ "$plans" -gt 1 ] || exec env PLANS=1 PLANS_SEED="$seed" "$1"

# run PROGRAM FIRST LAST: the plans of these seeds, in one process; of those
# that do not fail, a line.
# shellcheck disable=SC2317 # it is called by the inner shell
run() {
    local output
    if output=$(PLANS=$(($3 - $2 + 1)) PLANS_SEED=$2 "$1" 2>&1); then
        grep -a '^PLANS_SEED' <<<"$output"
    else
        grep -av '^\[' <<<"$output"
        return 1
    fi
}
export -f run

last=$((seed + plans - 1))
begin=$(date +%s)
failed=0
# shellcheck disable=SC2016 # the inner shell expands it
for ((first = seed; first <= last; first += part)); do
    end=$((first + part - 1))
    printf '%s %s\n' "$first" "$((end < last ? end : last))"
done | xargs -P "$(nproc)" -n 2 bash -c 'run "$0" "$1" "$2"' "$1" || failed=1
echo "$plans plans from PLANS_SEED=$seed in $(($(date +%s) - begin)) s"
[ "$failed" -eq 0 ] || echo "Some have failed: see above."
exit "$failed"
