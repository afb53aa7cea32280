#!/bin/bash
# mini-stream against the sandbox, over TLS, as a user runs it: its output, its
# exit status, and how it recovers when the service goes away.
# Usage: test/real/e2e_stream.sh       BUILD: the folder of the programs.
# SPDX-License-Identifier: 0BSD
set -uo pipefail
cd "$(dirname "$0")/../.." || exit 1

. test/e2e/e2e.sh
tool=$BUILD/mini-stream

for name in $(compgen -e MINI_STREAM_); do
    [[ $name =~ _(TLS|PROXY)$ ]] || unset "$name"
done
unset XDG_CONFIG_HOME
export HOME=$work
state=$work/sandbox
status=
sandbox=

has() { grep -aEq -- "$2" "$work/$1"; }
lacks() { ! grep -aEq -- "$2" "$work/$1"; }
ended_with() { [ "$status" -eq "$1" ]; }

start_sandbox() {
    : >"$work/log"
    "$BUILD/sandbox" --state "$state" --rate 50 "$@" >"$work/log" 2>&1 &
    sandbox=$!
    if ! await grep -q '^ready' "$work/log"; then
        echo "FAIL  the sandbox did not start"
        cat "$work/log"
        exit 1
    fi
}

stop_sandbox() {
    kill "-$1" "$sandbox"
    wait "$sandbox" 2>/dev/null
    sandbox=
}

port_of() {
    sed -n "s/.*\"$1\": *\"[a-z]*:\/\/localhost:\([0-9]*\).*/\1/p" \
        "$state/endpoints.json"
}

# Collects all output of mini-stream, to search it for secrets at the end.
keep_output() {
    cat "$work/out" "$work/err" >>"$work/all"
}

# stream ARGUMENT...: runs it to its end.
stream() {
    timeout -k 5 "$limit_s" "$tool" stream "$@" \
        >"$work/out" 2>"$work/err" </dev/null
    status=$?
    keep_output
}

# begin ARGUMENT...: runs it in the background; end SIGNAL ends it.
begin() {
    : >"$work/out"
    : >"$work/err"
    # A script's shell starts it with SIGINT ignored, which it would respect.
    env --default-signal=INT "$tool" stream "$@" >"$work/out" 2>"$work/err" \
        </dev/null &
    running=$!
}

finish() {
    await gone "$running" || kill -KILL "$running"
    wait "$running"
    status=$?
    running=
    keep_output
}

end() {
    kill "-$1" "$running"
    finish
}

# fails STATUS NAME WHAT PATTERN ARGUMENT...: it ends with this status, and its
# message has the pattern. The second check's name ends with WHAT.
fails() {
    local wanted=$1 name=$2 what=$3 pattern=$4
    shift 4
    stream "$@"
    check "$name ends with $wanted" ended_with "$wanted"
    check "$name$what" has err "$pattern"
}

# opens NAME ARGUMENT...: it connects, and ends well.
opens() {
    local name=$1
    shift
    begin "$@"
    check "$name" await has err 'open - generation'
    end INT
    check "$name, and it ends with 0" ended_with 0
}

start_sandbox
ws_url=wss://localhost:$(port_of ws_url)
auth_url=https://localhost:$(port_of auth_url)
ports=(--ws-port "$(port_of ws_url)" --auth-port "$(port_of auth_url)")
service=(--endpoints "$state/endpoints.json" --ca "$state/ca.pem")
export MINI_STREAM_CLIENT_SECRET=sandbox-secret
client=("${service[@]}" --client-id sandbox-client)
time='^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:]{8}\.[0-9]{3}Z'
number='[0-9]+(\.[0-9]+)?'

# --- all channels of two markets -------------------------------------------

begin "${client[@]}" --expect-all --verbose BTCUSD ETHUSD
for market in BTCUSD ETHUSD; do
    check "snapshot of $market" await has out \
        "$time market_data $market snapshot bids=[1-9][0-9]{2} asks=[1-9][0-9]{2} best=$number/$number live\$"
    check "update of $market" await has out \
        "$time market_data $market update bids=[0-9]+ asks=[0-9]+ best=$number/$number live\$"
    check "top of book of $market" await has out \
        "$time market_data\.top_of_book $market bid=$number bid_amount=$number ask=$number ask_amount=$number\$"
    check "execution of $market" await has out \
        "$time execution_data $market price=$number amount=$number\$"
done
one_snapshot() { [ "$(grep -c 'BTCUSD snapshot' "$work/out")" -eq 1 ]; }
check "a message of many levels is one line" one_snapshot
check "heartbeat" await has out "$time heartbeat -\$"
cat "/proc/$running/environ" >"$work/environ"
check "the process's environment is there" has environ "HOME=$work"
check "the process's environment has no secret" lacks environ sandbox-secret
end INT
check "Ctrl-C ends with 0, all expected came" ended_with 0
for channel in market_data market_data.top_of_book execution_data; do
    check "table: $channel" has out \
        "^$channel +[1-9][0-9]* +[1-9][0-9]* +[1-9][0-9]*\$"
done
check "table: heartbeat" has out '^heartbeat +[1-9][0-9]* +- +-$'
check "table: no errors" has out '^errors: 0 messages not decoded, 0 requests'
check "states are said" has err "$time state - open \\(link 0\\)\$"
check "the connection is said" has err "$time open - generation 1\$"
check "the close is said" has err "$time closed - on request\$"
check "no error is said" lacks err ' (error|refused) - '

begin "${client[@]}" --channels heartbeat
check "heartbeat alone" await has out "$time heartbeat -\$"
end TERM
check "SIGTERM ends with 0" ended_with 0
check "nothing but heartbeats" lacks out "$time (market|execution)_data"

# --- refused ---------------------------------------------------------------

MINI_STREAM_CLIENT_SECRET=wrong fails 4 "wrong secret" ": the service's code" \
    'closed - .*invalid_client' "${client[@]}" BTCUSD
fails 4 "client without the scope" ": the code" 'closed - .*invalid_scope' \
    "${service[@]}" --client-id sandbox-noscope BTCUSD
fails 4 "client not on the allow list" ": 403" 'closed - .*HTTP status 403' \
    "${service[@]}" --client-id sandbox-denied BTCUSD
fails 6 "a market that there is not" ": the code" \
    'refused - subscribe market_data NOSUCH: UNKNOWN_CHANNEL_PARAMS_CONFIGURATION' \
    "${client[@]}" --channels market_data NOSUCH

# --- network and TLS -------------------------------------------------------

openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes \
    -subj /CN=other -days 2 -keyout "$work/key" -out "$work/other.pem" \
    2>"$work/err"
fails 5 "another CA" " is named" 'closed - .*issuer.*\(stage (tls|connect)' \
    "${client[@]}" --ca "$work/other.pem" BTCUSD
stream --ws-url wss://localhost:1 --auth-url https://localhost:1 \
    --ca "$state/ca.pem" --client-id sandbox-client --seconds 2 BTCUSD
check "connection refused, to the end of --seconds, ends with 5" ended_with 5
check "connection refused is said" has err 'closed - .*(refused|cannot reach).*next attempt'
# A label of 64 bytes: no name server is asked.
host=$(printf 'a%.0s' {1..64}).invalid
fails 5 "unresolvable host" " is said" \
    'closed - .*\(stage (resolve|connect through)' --ws-url "wss://$host" \
    --auth-url "https://$host" "${client[@]:2}" --seconds 2 BTCUSD
begin --ws-url wss://localhost:1 --auth-url https://localhost:1 \
    --ca "$state/ca.pem" --client-id sandbox-client --expect-all BTCUSD
await has err 'closed - '
end TERM
check "--expect-all with nothing ends with 1" ended_with 1
check "--expect-all says what is missing" has err \
    'execution_data BTCUSD delivered nothing'

# --- arguments and configuration -------------------------------------------

usage() { fails 2 "$1" " is named" "${@:2}"; }
config() {
    fails 3 "$1" " is named" "${@:2}"
    check "$1 takes one line" [ "$(wc -l <"$work/err")" -eq 1 ]
}

usage "no market" 'no market given' "${client[@]}"
usage "unknown channel" "'trades'" "${client[@]}" -c market_data,trades BTCUSD
usage "market too long" '1 to 31 bytes' "${client[@]}" \
    ABCDEFGHIJKLMNOPQRSTUVWXYZABCDEF
usage "market twice" 'given twice' "${client[@]}" BTCUSD BTCUSD
usage "no number of levels" '--levels 1x' "${client[@]}" --levels 1x BTCUSD
usage "unknown option" '--bogus' "${client[@]}" --bogus BTCUSD

config "no ws_url" 'no ws_url' --ca "$state/ca.pem" BTCUSD
config "no client_id" 'no client_id' "${service[@]}" BTCUSD
config "no CA file" "$work/none" "${client[@]}" --ca "$work/none" BTCUSD
config "an IP address as host" '127\.0\.0\.1' "${client[@]}" --tls bearssl \
    --ws-url wss://127.0.0.1:1 BTCUSD
config "a URL without TLS" 'ws://localhost' "${client[@]}" \
    --ws-url ws://localhost:1 BTCUSD
printf '{"ws_url": "wss://localhost",\n "auth_url": }\n' >"$work/bad.json"
config "malformed endpoints" 'bad\.json:2:' --endpoints "$work/bad.json" BTCUSD
printf '[service]\nca = x\ncolour = red\n' >"$work/bad.ini"
config "unknown key in the profile" 'bad\.ini:3: .*colour' \
    --profile "$work/bad.ini" BTCUSD
printf '[service]\nnonsense\n' >"$work/bad.ini"
config "malformed profile" 'bad\.ini:2: ' --profile "$work/bad.ini" BTCUSD
printf '[service]\nclient_secret = x\n' >"$work/bad.ini"
config "secret in the profile" 'bad\.ini:2: .*secret' \
    --profile "$work/bad.ini" BTCUSD

# --- the secret's file, profiles, precedence -------------------------------

unset MINI_STREAM_CLIENT_SECRET
config "no secret" 'no client secret' "${client[@]}" BTCUSD
echo sandbox-secret >"$work/secret"
chmod 640 "$work/secret"
config "secret file that others may read" 'secret: others have access' \
    "${client[@]}" --secret-file "$work/secret" BTCUSD
chmod 600 "$work/secret"
opens "secret file of its owner is taken" "${client[@]}" \
    --secret-file "$work/secret" BTCUSD

mkdir -p "$work/.config/mini-stream"
cp "$state/ca.pem" "$work/.config/"
cat >"$work/.config/mini-stream.ini" <<INI
; a profile in its usual place
[service]
ws_url = $ws_url
auth_url = $auth_url
ca = ca.pem
client_id = sandbox-client
secret_file = ../secret
INI
opens "the profile in its usual place is read" BTCUSD
MINI_STREAM_CLIENT_ID=sandbox-denied stream BTCUSD
check "the environment goes before the profile" has err 'HTTP status 403'
MINI_STREAM_CLIENT_ID=sandbox-denied opens \
    "an option goes before the environment" --client-id sandbox-client BTCUSD
sed 's/sandbox-client/sandbox-denied/; s/= \(ca\|\.\.\)/= ..\/\1/' \
    "$work/.config/mini-stream.ini" >"$work/.config/mini-stream/denied.ini"
stream --profile denied BTCUSD
check "a profile by its name is read" has err 'HTTP status 403'
rm "$work/.config/mini-stream.ini"
export MINI_STREAM_CLIENT_SECRET=sandbox-secret

# --- standard output: closed, or a terminal --------------------------------

timeout -k 5 "$limit_s" "$tool" stream "${client[@]}" BTCUSD 2>"$work/err" |
    head -n 3 >"$work/out"
status=${PIPESTATUS[0]}
check "a reader that leaves ends it with 0" ended_with 0

# Presses q once the book is shown.
press_q() {
    await grep -q spread "$work/out"
    printf q
}
terminal() {
    : >"$work/out"
    : >"$work/err"
    press_q | LC_ALL=C.UTF-8 TERM=xterm-256color timeout -k 5 "$limit_s" \
        script -qefc "stty rows 24 cols 80; $tool watch \
        ${client[*]} BTCUSD ETHUSD" /dev/null >"$work/out"
}
terminal
status=$?
keep_output
check "the live view ends with 0 on q" ended_with 0
check "the live view shows both markets" has out 'BTCUSD.*ETHUSD'
# xterm's rmcup gives the first screen back; the table comes after it.
check "the terminal is given back" has out $'\e\\[\\?1049l'
check "the table comes last" \
    grep -q '^market_data  *[1-9]' <(sed $'0,/\e\\[?1049l/d' "$work/out")

# --- the service goes away -------------------------------------------------

begin "${client[@]}" BTCUSD
await has out "market_data BTCUSD update"
stop_sandbox KILL
check "the loss is said" await has err 'closed - .*next attempt'
start_sandbox "${ports[@]}"
check "it connects again" await has err 'open - generation [2-9]'
lines=$(wc -l <"$work/out")
back() { tail -n "+$lines" "$work/out" | grep -q 'BTCUSD update .* live$'; }
check "the book is live again" await back

kill -STOP "$sandbox"
end INT
check "Ctrl-C ends with 0 though the service is silent" ended_with 0
kill -CONT "$sandbox"

begin "${client[@]}" --verbose --set closing_ms=600000 BTCUSD
await has out "market_data BTCUSD update"
kill -STOP "$sandbox"
kill -INT "$running"
await has err 'state - closing'
end INT
check "a second Ctrl-C ends with 130" ended_with 130
kill -CONT "$sandbox"

stop_sandbox TERM
check "the secret was never printed" lacks all sandbox-secret

conclude
