#!/bin/bash
# The checks of `make lint`: clang and clang-tidy, format, layering,
# symbols, C++, scripts, the README. Prints a line for each and what was found;
# the last line is the verdict.
# Usage: test/lint.sh C FILE...     (make lint names all)
# MAKE: how to call make; V=1: prints all output of the checks. SEED: selects
# one level of optimisation for the symbols. GREEN: a commit that has passed: if
# no header has changed since, clang-tidy skips unchanged files.
# SPDX-License-Identifier: 0BSD
set -uo pipefail
cd "$(dirname "$0")/.." || exit 1

dir=${BUILD:-build}/lint
python=${PYTHON:-python3}
mkdir -p "$dir"
include=(-I. ${JSMN_DIR:+-isystem "$JSMN_DIR"})
if [ -n "${BEARSSL_DIR:-}" ]; then
    include+=(-isystem "$BEARSSL_DIR/inc" -isystem "$BEARSSL_DIR/include")
fi
warnings=(-Wall -Wextra -Wpedantic -Wconversion -Wshadow -Werror)
read -ra make <<<"${MAKE:-make}"
findings=0

# Prints a check's output; without V not its progress and counts of hidden
# findings.
said() {
    if [ -n "${V:-}" ]; then
        cat "$dir/output"
    else
        grep -vE '^(compile|clang-tidy) [^ ]*$|^[0-9]+ [a-z0-9 ]+ generated\.$' \
            "$dir/output"
    fi
}

# Counts the places that it names, each once; at least 1.
count() {
    local places
    places=$(said | grep -v ' note: ' |
        grep -E '^[^ :]+:[0-9]+:|SC[0-9]+ \(' | sort -u | wc -l)
    echo $((places > 0 ? places : 1))
}

# check TITLE COMMAND...: runs it, counts and shows what it finds.
check() {
    local title=$1 status=0
    shift
    "$@" >"$dir/output" 2>&1 || status=$?
    if [ "$status" -eq 0 ]; then
        echo "ok    $title"
        [ -z "${V:-}" ] || said
    else
        findings=$((findings + $(count)))
        echo "FAIL  $title"
        said
    fi
}

# Undefined symbols that the library may have: memory and text functions of the
# C library, BearSSL, and the compiler's functions (division, shifts and bit
# counts on 32-bit machines, stack protector, position independence).
allowed='^(mem[a-z]+|str[a-z]+|br_[a-z0-9_]+|__aeabi_[a-z0-9]+'
allowed+='|__gnu_thumb1_case_[a-z]+|__u?(div|mod|divmod)[sd]i[34]'
allowed+='|__(mul|ashl|ashr|lshr|bswap|clz|ctz|popcount)[sd]i[23]'
allowed+='|__stack_chk_(fail|guard)|_GLOBAL_OFFSET_TABLE_)$'

# symbols NM PATTERN COMPILER_AND_OPTIONS...: compiles the library and checks
# its defined and undefined symbols; those of BearSSL must match PATTERN.
symbols() {
    local nm=$1 pattern=$2 object=$dir/symbols.o bad=0
    shift 2
    "$@" -std=c99 "${include[@]}" -Wmissing-prototypes "${warnings[@]}" \
        -c -o "$object" mini_stream.c || return
    if ! "$nm" -g --defined-only "$object" | grep -q ' T mst_client_init'; then
        echo "The object has no functions of the library."
        bad=1
    fi
    echo "Exported without mst_, data that can change, not allowed:"
    "$nm" -g --defined-only "$object" | awk '$3 !~ /^mst_/' | grep . && bad=1
    "$nm" "$object" | grep -E ' [dDbBcCsSgGuv] ' && bad=1
    "$nm" -u "$object" | awk '{ print $2 }' |
        grep -vE "$allowed" && bad=1
    "$nm" -u "$object" | awk '{ print $2 }' | grep '^br_' |
        grep -vE "$pattern" && bad=1
    return "$bad"
}

header_alone() {
    echo '#include "mini_stream.h"' |
        "$@" "${include[@]}" "${warnings[@]}" -fsyntax-only -
}

# The C API must be usable from C++ as it is.
header_cpp() {
    header_alone clang -x c++ -std=c++11 "$@" &&
        header_alone clang -x c++ -std=c++20 "$@"
}

header_c() {
    header_alone gcc -x c -std=c99 "$@" && header_alone gcc -x c -std=c17 "$@"
}

# Names of settings, hosts and protocols are the same in every locale.
no_locale() {
    ! grep -nE '\b(to(upp|low)er|strn?casecmp|strcasestr|isal(pha|num)|is(digit|space|upper|lower|print|punct)) ?\(' \
        mini_stream.c examples/*.c examples/*/*.c port/*/*.c
}

mapfile -t scripts < <(grep -lE '^#!/bin/(ba)?sh' .ci/run examples/*.sh \
    test/*.sh test/*/*.sh port/install/*.sh)
scripts+=(port/install/mini-stream.bash)

# gcc builds the programs and tests with the same warnings.
check "clang" "${make[@]}" -k CC=clang BUILD="$dir/clang" \
    CFLAGS=-fsyntax-only objects
check "format" clang-format --dry-run -Werror "$@"
check "layering" "$python" test/lint/layering.py mini_stream.c mini_stream.h
check "locale" no_locale
check "scripts" shellcheck "${scripts[@]}"
mapfile -t modules < <(find test examples -name '*.py')
check "Python" pyflakes3 "${modules[@]}"
check "license lines" "${make[@]}" licences
check "README" test/lint/readme.sh
mapfile -t texts < <(git ls-files '*.[ch]' '*.cc' '*.py' '*.sh' '*.mk' '*.md' \
    Makefile .ci/run)
check "words" "$python" test/lint/words.py "${texts[@]}"
check "tables of rules" "$python" test/evidence/rules.py --check \
    test/evidence/{json,websocket,peers,security}.txt
check "header as C" header_c
check "header as C, MST_NO_TLS" header_c -DMST_NO_TLS
check "header as C++" header_cpp
check "header as C++, MST_NO_TLS" header_cpp -DMST_NO_TLS
# Position independence would make tables of pointers writable at the start.
# clang replaces memcmp() by bcmp() if the C library is known to have it.
native=(-fno-pie -fno-builtin-bcmp)
levels=(-O0 -Os -O2)
[ -z "${SEED:-}" ] || levels=("${levels[SEED % 3]}")
for compiler in gcc clang; do
    for level in "${levels[@]}"; do
        check "symbols, $compiler $level" \
            symbols nm . "$compiler" "${native[@]}" "$level"
    done
    check "symbols, $compiler -Os, MST_NO_TLS" \
        symbols nm '^br_sha(1|224|256)_' "$compiler" "${native[@]}" -Os -DMST_NO_TLS
done

# 32-bit compilers call other functions. make size installs these compilers.
if command -v arm-none-eabi-gcc >/dev/null; then
    check "no static data, Cortex-M4" \
        env BUILD="$dir" CC=gcc "$python" test/size/size.py "${include[@]}"
    include=(-I. -isystem "$dir/size/include")
    for cpu in cortex-m0 cortex-m4; do
        for level in "${levels[@]}"; do
            check "symbols, $cpu $level" symbols arm-none-eabi-nm . \
                arm-none-eabi-gcc -mcpu=$cpu -mthumb "$level"
        done
        check "symbols, $cpu -Os, MST_NO_TLS" symbols arm-none-eabi-nm \
            '^br_sha(1|224|256)_' arm-none-eabi-gcc -mcpu=$cpu -mthumb -Os -DMST_NO_TLS
    done
fi
check "Windows" "${make[@]}" -k windows-programs
# Skips files for which clang-tidy would say the same as before.
if [ -n "${GREEN:-}" ] && git diff --quiet "$GREEN" HEAD -- Makefile .clang-tidy \
    '*.h' '*.mk'; then
    mapfile -t unchanged < <(git ls-files '*.c' | grep -vxF \
        "$(git diff --name-only "$GREEN" HEAD)" | xargs grep -LE '#include ".*\.c"')
    for file in "${unchanged[@]}"; do
        mkdir -p "$dir/tidy/${file%/*}"
        touch "$dir/tidy/${file%.c}.ok"
    done
fi
check "clang-tidy" "${make[@]}" -k tidy

echo
case $findings in
0) echo "lint: all is well" ;;
1) echo "lint: 1 finding" ;;
*) echo "lint: $findings findings" ;;
esac
[ "$findings" -eq 0 ]
