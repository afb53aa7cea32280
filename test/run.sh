#!/bin/bash
# Runs every test program and script that `make test` has built, several at a
# time, and ends with "N passed, N failed"; fails unless all passed.
# Usage: test/run.sh [NAME...]    (default: all)
# NAME: a test, such as session/token or real/e2e_put.py, a folder, such as
# unit, or a path to either of them.
# BUILD: where the programs are; JOBS: how many tests that compute run at a
# time, besides three that mostly wait; RUN: the command that runs the programs,
# such as an emulator.
# SPDX-License-Identifier: 0BSD
set -uo pipefail
cd "$(dirname "$0")/.." || exit 1

export BUILD=${BUILD:-build}
[ -x "${PYTHON:=/usr/bin/python3}" ] || PYTHON=python3
export PYTHON
export LIMIT_S=${LIMIT_S:-600} # for one program: a hang, not a slow machine
LOGS=$BUILD/test/log
export LOGS

# These start first, so that the run does not end with one of them alone: those
# that took longest, by the seconds in the results.
longest=(real/e2e_faults.py real/posix_conform.py
    real/e2e_{replay,play,rules,put,names}.py real/posix_wait
    real/e2e_{proxy,record,rotate}.py
    session/{replay,rotate,mbedtls,replay_plans,year,address_beside,plans})

run_one() {
    local name=$1 command=() begin=$SECONDS status
    case $name in
    *.py) command=("$PYTHON" test/e2e/e2e.py "test/$name") ;;
    *.sh) command=("test/$name") ;;
    *)
        # shellcheck disable=SC2206 # words
        command=(${RUN:-} "$BUILD/test/$name")
        ;;
    esac
    # The library does not print. Checking what tests and mock print takes a
    # fifth of their time.
    case $name in
    session/re[cp]* | real/* | field/*) ;; # ports and the tool print as well
    *) export ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}check_printf=0 ;;
    esac
    timeout -k 10 "$LIMIT_S" "${command[@]}" >"$LOGS/$name" 2>&1 </dev/null
    status=$?
    report "$name" "$status" $((SECONDS - begin))
}

# Counts results in the log, writes "passed failed" to NAME.count and a line to
# the terminal. All that is not OK in a cmocka group has failed: an error in a
# teardown, a skipped test, a test that did not run after a crash. Scripts end
# with "N passed, N failed".
report() {
    local name=$1 status=$2 seconds=$3 passed=0 failed=0 counts note=
    counts=$(awk '
        /^\[  PASSED  \] [0-9]+ test/ { passed += $4 }
        /^\[  FAILED  \] [0-9]+ test/ { failed += $4 }
        /^\[  SKIPPED \] [0-9]+ test/ { failed += $4 }
        /^[0-9]+ passed, [0-9]+ failed$/ { p = $1; f = $3 }
        END { print passed + p, failed + f }' "$LOGS/$name") &&
        passed=${counts% *} failed=${counts#* }
    if [ "$status" -eq 124 ] || [ "$status" -eq 137 ]; then
        note=" (stopped after $LIMIT_S s)"
    elif [ "$status" -ne 0 ] && [ "$failed" -eq 0 ]; then
        note=" (exit status $status)"
    elif [ $((passed + failed)) -eq 0 ]; then
        note=" (ran nothing)"
    fi
    if [ -n "$note" ]; then
        failed=$((failed + 1))
    fi
    echo "$passed $failed" >"$LOGS/$name.count"
    if [ "$failed" -eq 0 ]; then
        printf 'ok    %-28s %4d passed  %3d s\n' "$name" "$passed" "$seconds"
    else
        printf 'FAIL  %-28s %4d passed, %d failed%s\n' \
            "$name" "$passed" "$failed" "$note"
    fi
}
export -f run_one report

[ $# -gt 0 ] || rm -rf "$LOGS" # else only those of the tests that are named
mkdir -p "$LOGS"/{unit,session,real,fuzz,field,tools,gateway,page,package}

# tests_in FOLDER...: the tests' names. A program run_... is no test: a script
# runs it.
tests_in() {
    find "${@/#/test/}" -maxdepth 1 -type f \
        \( -name '*.c' -o -name '*.py' -o -name '*.sh' \) ! -name 'run_*' |
        sed -e 's,^test/,,' -e 's,\.c$,,' | sort
}

[ $# -gt 0 ] || set -- unit session real fuzz field
names=()
for name in "$@"; do
    name=${name#./} name=${name#test/} name=${name%/} name=${name%.c}
    case $name in
    unit | session | real | fuzz | field | tools | gateway | page | package)
        mapfile -t -O "${#names[@]}" names < <(tests_in "$name")
        ;;
    *)
        if [[ $name == *..* || ! -e test/$name && ! -e test/$name.c ]]; then
            echo "test/run.sh: there is no test '$name'" >&2
            exit 2
        fi
        names+=("$name")
        ;;
    esac
done
asked=$(printf '%s\n' "${names[@]}")
mapfile -t names < <(printf '%s\n' "${longest[@]}" | grep -xF "$asked"
    grep -vxF "$(printf '%s\n' "${longest[@]}")" <<<"$asked")
counts=("${names[@]/%/.count}")
rm -f "${names[@]/#/$LOGS/}" "${counts[@]/#/$LOGS/}"

# run_some AT_ONCE NAME...
run_some() {
    local at_once=$1
    shift
    if [ $# -gt 0 ]; then
        # shellcheck disable=SC2016 # the inner shell expands it
        printf '%s\n' "$@" |
            xargs -P "$at_once" -I{} bash -c 'run_one "$1"' run_one {}
    fi
}

computing=()
waiting=()
for name in "${names[@]}"; do
    case $name in
    real/e2e_truth.py) computing+=("$name") ;;
    *.py | *.sh | real/posix_race | real/posix_wait) waiting+=("$name") ;;
    *) computing+=("$name") ;;
    esac
done
jobs=${JOBS:-$(nproc)}
run_some 3 "${waiting[@]}" &
run_some "$jobs" "${computing[@]}"
wait

passed=0
failed=0
for name in "${names[@]}"; do
    if read -r p f 2>/dev/null <"$LOGS/$name.count" &&
        [[ $p =~ ^[0-9]+$ && $f =~ ^[0-9]+$ ]]; then
        passed=$((passed + p))
        failed=$((failed + f))
    else
        f=1
        failed=$((failed + 1))
    fi
    if [ "$f" -ne 0 ]; then
        printf '\n---- %s, the end of %s/%s\n' "$name" "$LOGS" "$name"
        grep -E '^\[  (FAILED|ERROR )  \] [a-z_]|^FAIL' "$LOGS/$name" | sort -u
        tail -n 60 "$LOGS/$name"
    fi
done

echo
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
