#!/bin/sh
# Starts the sandbox, streams all channels of two markets from it, stops it.
# Usage: examples/demo.sh         (make demo builds what it runs first)
# DEMO_SECONDS: how long, such as 10 or 1.5; BUILD: where the programs are.
# SPDX-License-Identifier: 0BSD
set -eu
cd "$(dirname "$0")/.."
build=${BUILD:-build}
seconds=${DEMO_SECONDS:-10}
start_limit_s=30
end_limit_s=60 # beyond its seconds: a tool that hangs

if ! echo "$seconds" | grep -Eqx '(0|[1-9][0-9]{0,6})(\.[0-9]{1,3})?' ||
    ! echo "$seconds" | grep -q '[1-9]'; then
    echo "DEMO_SECONDS=$seconds: not a number of seconds above 0, such as 10" \
        "or 1.5, with up to three decimals" >&2
    exit 2
fi

state=$(mktemp -d)
sandbox=

cleanup() {
    status=$?
    trap - EXIT INT TERM HUP
    if [ -n "$sandbox" ]; then
        kill "$sandbox" 2>/dev/null || true
        wait "$sandbox" 2>/dev/null || true
    fi
    rm -rf "$state"
    exit "$status"
}
trap cleanup EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

: >"$state/log"
# In another session, so that Ctrl-C ends only the tool, which can then close
# its connection.
setsid "$build/sandbox" --state "$state" >"$state/log" 2>&1 &
sandbox=$!

tries=$((start_limit_s * 10))
until grep -q '^ready' "$state/log"; do
    tries=$((tries - 1))
    if [ "$tries" -eq 0 ] || ! kill -0 "$sandbox" 2>/dev/null; then
        echo "The sandbox did not start:" >&2
        cat "$state/log" >&2
        exit 1
    fi
    sleep 0.1
done

command=stream
if [ -t 1 ] && [ "${TERM:-dumb}" != dumb ]; then
    command=watch
fi
MINI_STREAM_CLIENT_SECRET=sandbox-secret \
    timeout --foreground -k 5 $((${seconds%.*} + end_limit_s)) \
    "$build/mini-stream" "$command" \
    --endpoints "$state/endpoints.json" --ca "$state/ca.pem" \
    --client-id sandbox-client --seconds "$seconds" --expect-all \
    BTCUSD ETHUSD
