#!/bin/bash
# Runs the command of one row of the evidence. The last line of its output is
# the row's figure, kept in BUILD/evidence/NAME.txt; its status is 0 if the bar
# is reached. It keeps findings, and state to continue after an interruption, in
# the folder BUILD/evidence/NAME.
# Usage: test/evidence/row.sh NAME COMMAND...
# ROW_MINUTES (118): after these it is stopped with all its processes; the next
# call continues.
# SPDX-License-Identifier: 0BSD
set -uo pipefail

name=$1
shift
minutes=${ROW_MINUTES:-118}
dir=${BUILD:-build}/evidence
mkdir -p "$dir/$name"
rm -f "$dir/$name.txt"

# end_session PROCESS: ends the remaining processes of the session that it
# began.
end_session() {
    local stat line fields
    for stat in /proc/[0-9]*/stat; do
        { read -r line <"$stat"; } 2>/dev/null || continue
        read -ra fields <<<"${line##*) }" # state, parent, group, session
        [ "${fields[3]:-}" != "$1" ] || kill -KILL "${line%% *}"
    done 2>/dev/null
}

# All processes of the row are in one session, even in other process groups, so
# that they can be ended together. Ctrl-C is passed on.
exec 3>&1 4>&2
exec > >(exec tee -i "$dir/$name.log") 2>&1
tee=$!
setsid env --default-signal=INT,QUIT timeout -k 20 "${minutes}m" "$@" \
    </dev/null 3>&- 4>&- &
row=$!
trap 'kill "$row"' INT TERM HUP
wait "$row" 2>/dev/null
status=$?
while [ "$status" -gt 128 ] && kill -0 "$row" 2>/dev/null; do
    wait "$row" 2>/dev/null # a signal has come in between
    status=$?
done
end_session "$row"
if [ "$status" -ne 0 ] && [ "$SECONDS" -ge $((60 * minutes)) ]; then
    echo "stopped after $minutes min: the next call goes on"
fi
exec >&3 2>&4
wait "$tee"

tail -n 1 "$dir/$name.log" >"$dir/$name.txt"
[ "$status" -eq 0 ] || echo "evidence-$name: failed with status $status"
exit "$status"
