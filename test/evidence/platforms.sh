#!/bin/bash
# Builds and runs the suites of unit and session for each processor, compiler
# and level, in an emulator if it is another processor, then those without TLS
# under clang's MemorySanitizer. Each combination is a cell. A cell that has
# passed with the same sources and settings does not run again. SHORT=1: a
# shorter year, and a sixth of the suites, selected by SEED, without those that
# count steps.
# Usage: test/evidence/platforms.sh [CELL...]      (make evidence-platforms)
# CELL: PROCESSOR-COMPILER-LEVEL, such as s390x-gcc-O2; amd64-msan-O1.
# BUILD; MAKE: how to call make.
# SPDX-License-Identifier: 0BSD
set -uo pipefail
cd "$(dirname "$0")/../.." || exit 1

build=$(realpath "${BUILD:-build}")
work=$build/evidence/platforms
read -ra make <<<"${MAKE:-make}"
make+=("-j$(nproc)")
mkdir -p "$work/lib"

# Suites with OpenSSL as a peer or with libcrypto's primitives: they do not run
# if OpenSSL has no package.
openssl=(unit/certificates session/certificates session/openssl
    session/mbedtls session/resume session/tls)
# Suites that use TLS or examine its objects: they do not run without TLS.
tls=("${openssl[@]}" session/access session/address session/clock
    session/close session/init session/mock session/proxy session/replay
    session/replay_plans session/stages session/states session/tls_no_aes
    session/torture session/security unit/link unit/whole)

# Shortens long tests for an emulator.
[ -z "${SHORT:-}" ] || export YEAR_DAYS=7
export YEAR_DAYS=${YEAR_DAYS:-15} PLANS=${PLANS:-250} REPLAYS=${REPLAYS:-50} \
    HOSTILE=${HOSTILE:-500} JSON_CASES=${JSON_CASES:-2000} \
    ORACLE_EVENTS=${ORACLE_EVENTS:-10000} \
    FAST_LANE_CASES=${FAST_LANE_CASES:-20000}
part=$((${SEED:-0} / 4 % 6)) # CI's SEED % 4 selects the processor
export LIMIT_S=7200 # emulated, beside whatever else runs

digest=$({
    echo "$YEAR_DAYS $PLANS $REPLAYS $HOSTILE $JSON_CASES $ORACLE_EVENTS" \
        "$FAST_LANE_CASES" "${SHORT:+part $part}"
    find Makefile mini_stream.[ch] port examples/mini-stream test/run.sh \
        test/{unit,session,lib,model,plans,torture} \
        test/evidence/{platforms,libraries}.sh \
        -type f ! -name '*.pyc' | sort | xargs cat
} | sha256sum | cut -d ' ' -f 1)

# of PROCESSOR NAME: Debian's value of this name for the processor.
of() {
    CC=true dpkg-architecture "-a$1" "-qDEB_HOST_$2"
}

# Sets for a cell: cc and run, the commands to compile and to run; without,
# suites that cannot run; arguments, additional ones for make.
prepare() {
    local processor=$1 compiler=$2 type sysroot=
    type=$(of "$processor" GNU_TYPE)
    unset PKG_CONFIG_SYSROOT_DIR PKG_CONFIG_LIBDIR
    cc=("$type-gcc") run=() without=() arguments=()
    [ -z "${SHORT:-}" ] || without=(unit/linear unit/linear_bytes)
    case $compiler in
    clang) cc=(clang-19 "--target=$type" "--gcc-install-dir=$(dirname \
        "$("$type-gcc" -print-libgcc-file-name)")") ;;
    msan) cc=(clang-19 -fsanitize=memory -fno-omit-frame-pointer) ;;
    esac
    case $processor in
    amd64) [ "$compiler" != gcc ] || cc=(gcc) ;;
    powerpc)
        run=(qemu-ppc -L "/usr/$type")
        [ "$compiler" = gcc ] ||
            cc+=(-isystem "/usr/$type/include" "-L/usr/$type/lib")
        ;;
    *)
        sysroot=$build/cross/$processor/sysroot
        run=("qemu-$processor" -L "$sysroot")
        cc+=("--sysroot=$sysroot")
        export PKG_CONFIG_SYSROOT_DIR=$sysroot PKG_CONFIG_LIBDIR
        PKG_CONFIG_LIBDIR=$sysroot/usr/lib/$(of "$processor" \
            MULTIARCH)/pkgconfig
        # This processor may run i386 without an emulator.
        if [ "$processor" = i386 ] &&
            "$sysroot/lib/ld-linux.so.2" --version >/dev/null 2>&1; then
            run=("$sysroot/lib/ld-linux.so.2" --library-path
                "$sysroot/lib/i386-linux-gnu:$sysroot/usr/lib/i386-linux-gnu")
        fi
        ;;
    esac
    case $processor-$compiler in
    powerpc-*) without+=("${openssl[@]}") ;;
    *-msan) without+=("${tls[@]}") ;;
    *) return 0 ;;
    esac
    own_libraries "$processor-${compiler/clang/gcc}" "$type"
}

# Builds libraries from sources, once per compiler, if there are no packages or
# none for MemorySanitizer: BearSSL, cmocka and others.
own_libraries() {
    local dir=$work/lib/$1 flags
    [ -e "$dir/.built" ] || {
        AR=$2-ar test/evidence/libraries.sh "$work/sources" "$dir" \
            "${cc[@]}" >"$dir.log" 2>&1 && touch "$dir/.built"
    } || {
        tail "$dir.log"
        return 1
    }
    flags="-g -isystem $dir/include"
    [[ $1 != *-msan ]] || flags+=" -DMST_NO_TLS"
    arguments=("CFLAGS=$flags" "LDFLAGS=-L$dir/lib" libs= system= MBEDTLS_LIBS=
        "LDLIBS=-lcmocka -ljansson -lzstd" ipsec_mb=
        "HELPER_SRC=$("${make[@]}" -s platform-helpers)")
}

# Sets used: seconds of processor time so far.
look_at_time() {
    times >"$work/times"
    used=$(awk -F '[ms ]' 'NR == 2 { print int(60 * ($1 + $4) + $2 + $5) }' \
        "$work/times")
}

# Builds and runs a cell and prints its line. Returns 0 if all passed.
cell() {
    local name=$1 processor compiler level dir=$work/$1 suites before
    IFS=- read -r processor compiler level <<<"$name"
    if [ "$(head -n 1 "$dir.passed" 2>/dev/null)" = "$digest" ]; then
        echo "kept  $name: $(tail -n 1 "$dir.passed")"
        return 0
    fi
    rm -f "$dir.passed"
    look_at_time
    before=$used
    prepare "$processor" "$compiler" || return
    mapfile -t suites < <(printf '%s\n' test/{unit,session}/*.c |
        sed 's,^test/\(.*\)\.c$,\1,' |
        grep -vxF "$(printf '%s\n' "${without[@]:-none}")" |
        awk -v part="${SHORT:+$part}" 'part == "" || NR % 6 == part')
    if ! "${make[@]}" CC="${cc[*]}" AR="$(of "$processor" GNU_TYPE)-ar" \
        BUILD="$dir" SANITIZE="-g -$level -DMST_TEST" WERROR= \
        BEARSSL_DIR= JSMN_DIR="$build/jsmn" \
        TEST_SRC="$(printf 'test/%s.c ' "${suites[@]}")" \
        "${arguments[@]}" tests >"$dir.make" 2>&1; then
        tail -n 20 "$dir.make"
        echo "FAIL  $name: it does not build"
        return 1
    fi
    if ! BUILD=$dir RUN="${run[*]}" test/run.sh "${suites[@]}" \
        >"$dir.run" 2>&1; then
        sed -n '/^FAIL/p; /^----/,$p' "$dir.run"
        echo "FAIL  $name: $(tail -n 1 "$dir.run")"
        return 1
    fi
    look_at_time
    printf '%s\n' "$digest" $((used - before)) "$(tail -n 1 "$dir.run")" \
        >"$dir.passed"
    echo "ok    $name: ${#suites[@]} suites, $(tail -n 1 "$dir.run")," \
        "$((used - before)) s${without[*]:+, not here: ${without[*]}}"
    rm -rf "${dir:?}" # the programs: 100 MB and more
}

cells=("$@")
[ $# -gt 0 ] ||
    cells=({amd64,i386,s390x,powerpc}-{gcc,clang}-{O0,O2,Os} amd64-msan-O1)
failed=0
for name in "${cells[@]}"; do
    cell "$name" || failed=$((failed + 1))
done
sums=$(for name in "${cells[@]}"; do
    tail -n 2 "$work/$name.passed" 2>/dev/null
done | awk 'NF > 1 { passed += $1 } NF == 1 { seconds += $1 }
    END { print passed + 0, "tests passed in", seconds + 0 }')
echo "${#cells[@]} cells, $failed failed; $sums s of processor time (bar: all)"
[ "$failed" -eq 0 ]
