#!/bin/bash
# What the end-to-end tests that are shell scripts share; they source it. A
# folder of their own, checks that are counted, and nothing left behind.
# BUILD: where the programs are (default: build).
# SPDX-License-Identifier: 0BSD

export BUILD=${BUILD:-build}
limit_s=300 # for one thing to happen: a hang, not a slow machine
work=$(mktemp -d)
passed=0
failed=0
running= # the program at hand, if it may end by itself

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

# check NAME COMMAND...: counts whether the command succeeds. What it says, and
# the last lines of a program's output, are shown where it does not.
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

# await COMMAND...: until it succeeds, or the program at hand has ended.
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

# The last line, and the exit status.
conclude() {
    echo
    echo "$passed passed, $failed failed"
    [ "$failed" -eq 0 ]
}
