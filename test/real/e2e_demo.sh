#!/bin/bash
# What a newcomer does first: make demo, and the README's lines by hand.
# Usage: test/real/e2e_demo.sh         BUILD: the folder of the programs.
# SPDX-License-Identifier: 0BSD
set -uo pipefail
cd "$(dirname "$0")/../.." || exit 1

. test/e2e/e2e.sh
state=$work/state

# ---- make demo ----

demo() {
    DEMO_SECONDS=$1 examples/demo.sh >"$work/out" 2>"$work/err"
}

# Runs to its end, and prints only mini-stream's lines. One of them may say that
# a channel has delivered nothing in that short time.
streams() {
    demo "$1"
    grep -q '^connections: ' "$work/out" &&
        ! grep -vE '^20[0-9-]*T|^mini-stream: ' "$work/err"
}

# Refuses the value in words, before anything is started.
refuses() {
    local status=0
    demo "$1" || status=$?
    [ "$status" -eq 2 ] && [ ! -s "$work/out" ] &&
        grep -qF "DEMO_SECONDS=$1: not a number of seconds" "$work/err"
}

# The inner make must not use the outer one's jobs.
makes_nothing() {
    env -u MAKEFLAGS -u MFLAGS make --no-print-directory all \
        >"$work/out" 2>"$work/err" && [ ! -s "$work/out" ] &&
        [ ! -s "$work/err" ]
}

# If the libraries are missing: one line, and none of a compiler.
asks_for_packages() {
    env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL -u PKG_CONFIG_PATH \
        PKG_CONFIG_LIBDIR=/none \
        make --no-print-directory "BUILD=$work/bare" "$@" \
        >"$work/out" 2>"$work/err" && return 1
    [ ! -s "$work/out" ] && [ "$(grep -vc '^make: ' "$work/err")" -eq 1 ] &&
        grep -q "make packages.*: .*libsoup-3.0-dev" "$work/err"
}

# One line while it builds, or all with V=1. The compilers do nothing.
builds_in_one_line() {
    env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL make demo CC=true AR=true LD=true \
        "BUILD=$work/empty$#" "$@" >"$work/out" 2>"$work/err" && return 1
    grep -q "sandbox did not start" "$work/err" || return 1
    if [ $# -eq 0 ]; then
        [ "$(<"$work/out")" = "building, about a minute" ]
    else
        grep -q "true .*main.c" "$work/out"
    fi
}

check "make demo builds in one line" builds_in_one_line
check "make demo V=1 shows all" builds_in_one_line V=1
check "a demo of 1.5 s, and not a line beside it" streams 1.5
for text in abc 0 0.0 1.2.3 -1 1e3 1,5 08; do
    check "DEMO_SECONDS=$text is refused" refuses "$text"
done
check "make says nothing when all is there" makes_nothing
check "make asks for what is not there" asks_for_packages -kj4

# ---- The README's example ----

refuses_missing_urls() {
    local status=0
    env -u MINI_STREAM_WS_URL -u MINI_STREAM_AUTH_URL "$@" \
        "$BUILD/first" >"$work/out" 2>"$work/err" || status=$?
    [ "$status" -eq 1 ] && [ ! -s "$work/out" ] &&
        [ "$(<"$work/err")" = "not a usable URL" ]
}

check "first without variables" refuses_missing_urls
check "first with one of them" refuses_missing_urls \
    MINI_STREAM_WS_URL=wss://localhost

# ---- The README's lines by hand ----

# start [COMMAND...]: starts a sandbox as the README does, run by a command if
# given, and waits for its file.
start() {
    "$@" "$BUILD/sandbox" --state "$state" >"$work/out" 2>"$work/err" &
    sandbox=$!
    await test -s "$state/endpoints.json"
}

# The file leads to a running service.
leads_there() {
    local tool opened=0
    env --default-signal=INT MINI_STREAM_CLIENT_SECRET=sandbox-secret \
        "$BUILD/mini-stream" stream \
        --client-id sandbox-client --ca "$state/ca.pem" \
        --endpoints "$state/endpoints.json" BTCUSD \
        >"$work/out" 2>"$work/err" &
    tool=$!
    await grep -q 'open - generation' "$work/err" || opened=1
    end INT "$tool" && [ "$opened" -eq 0 ]
}

# end SIGNAL PID: ends a program, whose exit status must be 0.
end() {
    kill "-$1" "$2" && wait "$2"
}

lacks_file() { [ ! -e "$state/endpoints.json" ]; }

for number in 1 2; do
    check "start $number" start
    check "the file of start $number leads to it" leads_there
    check "end $number" end TERM "$sandbox"
    check "its file is gone" lacks_file
done
# A background job of a script ignores SIGINT and, under nohup, SIGHUP.
for signal in INT HUP; do
    check "start before SIG$signal" start env --default-signal=INT,HUP
    check "end by SIG$signal" end "$signal" "$sandbox"
    check "its file is gone after SIG$signal" lacks_file
done

check "start" start
kept=$(<"$state/endpoints.json")
second() {
    ! "$BUILD/sandbox" --state "$state" >"$work/ready" 2>"$work/err" &&
        grep -q ": in use by process $sandbox\$" "$work/err"
}
check "a second one is refused" second
check "the first one's file stays" test "$kept" = "$(<"$state/endpoints.json")"
check "the first of two ends" end TERM "$sandbox"
check "and its file is gone" lacks_file

conclude
