#!/bin/bash
# Runs the rows of the evidence one after another and prints a line for each: ok
# or FAIL, its name and its figure.
# Usage: test/evidence/all.sh NAME...     (make evidence names all)
# MAKE: how to call make.
# SPDX-License-Identifier: 0BSD
set -uo pipefail

dir=${BUILD:-build}/evidence
read -ra make <<<"${MAKE:-make}"
mkdir -p "$dir"
failed=0
for name; do
    verdict=ok
    rm -f "$dir/$name.txt" # an earlier figure, should it fail before row.sh
    if ! "${make[@]}" "evidence-$name" >"$dir/$name.out" 2>&1; then
        verdict=FAIL
        failed=$((failed + 1))
    fi
    printf '%-5s %-11s %s\n' "$verdict" "$name" \
        "$(cat "$dir/$name.txt" 2>/dev/null || tail -n 1 "$dir/$name.out")"
done
echo "$(($# - failed)) of $# rows reach their bars"
[ "$failed" -eq 0 ]
