#!/bin/bash
# Runs what shows one row of the evidence. The last line that the command
# prints is the row's figure, kept in BUILD/evidence/NAME.txt; its status says
# whether the bar is reached. What it needs to go on after an interruption, and
# what it finds, it keeps in the folder BUILD/evidence/NAME.
# Usage: test/evidence/row.sh NAME COMMAND...
# SPDX-License-Identifier: 0BSD
set -uo pipefail

name=$1
shift
dir=${BUILD:-build}/evidence
mkdir -p "$dir/$name"
rm -f "$dir/$name.txt"
"$@" 2>&1 | tee "$dir/$name.log"
status=$?
tail -n 1 "$dir/$name.log" >"$dir/$name.txt"
[ "$status" -eq 0 ] || echo "evidence-$name: failed with status $status"
exit "$status"
