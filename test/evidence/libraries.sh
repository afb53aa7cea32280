#!/bin/bash
# Builds the libraries of unit and session tests from Debian's source packages,
# if there are no binary ones: BearSSL, cmocka, jansson, zstd, but not OpenSSL.
# Usage: test/evidence/libraries.sh SOURCES DIR CC OPTION...
# SOURCES: the packages' sources; DIR: gets include/ and lib/; AR.
# SPDX-License-Identifier: 0BSD
set -euo pipefail

sources=$1 dir=$2
shift 2
cc=("$@")
rm -rf "$dir"
mkdir -p "$dir"/{include,lib,objects}

# archive NAME OPTIONS FILE...: compiles these, and makes lib/libNAME.a of them.
archive() {
    local name=$1 options=$2
    shift 2
    mkdir "$dir/objects/$name"
    # shellcheck disable=SC2016,SC2086 # the inner shell expands it; words
    printf '%s\n' "$@" | xargs -P "$(nproc)" -I{} bash -c \
        'f=$1 to=$2 && shift 2 && "$@" -c -o "$to/${f//\//_}.o" "$f"' \
        compile {} "$dir/objects/$name" "${cc[@]}" -O2 -g -w $options
    "${AR:-ar}" rcs "$dir/lib/lib$name.a" "$dir/objects/$name"/*.o
}

bearssl=$sources/bearssl
cp "$bearssl"/inc/*.h "$dir/include"
archive bearssl "-I$bearssl/inc -I$bearssl/src" "$bearssl"/src/*.c \
    "$bearssl"/src/*/*.c

cmocka=$sources/cmocka
cp "$cmocka"/include/*.h "$dir/include"
have=$(printf ' -DHAVE_%s=1' ASSERT_H INTTYPES_H SETJMP_H SIGNAL_H STDARG_H \
    STDDEF_H STDINT_H STDIO_H STDLIB_H STRINGS_H STRING_H SYS_STAT_H \
    SYS_TYPES_H TIME_H UNISTD_H MALLOC FREE SIGNAL SNPRINTF VSNPRINTF \
    LONGJMP SETJMP EXIT STRUCT_TIMESPEC CLOCK_REALTIME)
archive cmocka "-D_GNU_SOURCE -I$cmocka/include $have" "$cmocka/src/cmocka.c"

jansson=$sources/jansson
# The results of its configuration with gcc and clang on any Linux.
sed -e 's/@json_inline@/inline/' -e 's/@json_have_long_long@/1/' \
    -e 's/@json_have_localeconv@/1/' -e 's/@json_have_atomic_builtins@/1/' \
    -e 's/@json_have_sync_builtins@/1/' \
    "$jansson/src/jansson_config.h.in" >"$dir/include/jansson_config.h"
cp "$jansson/src/jansson.h" "$dir/include"
: >"$dir/include/jansson_private_config.h"
have=$(printf ' -DHAVE_%s=1' STDINT_H INTTYPES_H LOCALE_H LOCALECONV STRTOLL \
    UNISTD_H FCNTL_H SYS_TIME_H GETTIMEOFDAY GETPID OPEN READ CLOSE)
archive jansson "-I$dir/include -I$jansson/src $have" "$jansson"/src/*.c

zstd=$sources/libzstd/lib
cp "$zstd"/zstd*.h "$dir/include"
archive zstd "-DZSTD_DISABLE_ASM -I$zstd -I$zstd/common" \
    "$zstd"/{common,compress,decompress}/*.c
