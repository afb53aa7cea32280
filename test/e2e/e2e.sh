#!/bin/bash
# Sourced by the end-to-end tests that are shell scripts: a temporary folder,
# checks that are counted, and an end that leaves no file and no process.
# BUILD: the folder of the programs (default: build).
# SPDX-License-Identifier: 0BSD

export BUILD=${BUILD:-build}
limit_s=300 # the longest wait for one thing: longer is a hang
work=$(mktemp -d)
passed=0
failed=0
running= # the current program, if it may end by itself

cleanup() {
    local pid
    for pid in $(jobs -p); do
        kill -KILL "$pid" 2>/dev/null
        wait "$pid" 2>/dev/null
    done
    rm -rf "$work"
}
trap cleanup EXIT
trap 'exit 130' INT TERM

# check NAME COMMAND...: counts whether the command succeeds. If it fails, shows
# its output and the last lines of the program's.
check() {
    local name=$1
    shift
    if "$@" >"$work/said" 2>&1; then
        passed=$((passed + 1))
        echo "ok    $name"
    else
        failed=$((failed + 1))
        echo "FAIL  $name"
        tail -qn 12 "$work/said" "$work/out" "$work/err" 2>/dev/null |
            sed 's/^/      | /'
    fi
}

gone() { ! kill -0 "$1" 2>/dev/null; }

# await COMMAND...: waits until it succeeds or the current program has ended.
await() {
    local tries=$((limit_s * 20))
    until "$@" >/dev/null 2>&1; do
        tries=$((tries - 1))
        [ "$tries" -gt 0 ] || return 1
        if [ -n "$running" ] && gone "$running"; then
            "$@" >/dev/null 2>&1
            return
        fi
        sleep 0.05
    done
}

# Prints the last line. Its status is the script's exit status.
conclude() {
    echo
    echo "$passed passed, $failed failed"
    [ "$failed" -eq 0 ]
}
