#!/bin/sh
# What README.md says of the code: its C block is examples/first.c, which make
# builds; it names every error and every limit of the header.
# SPDX-License-Identifier: 0BSD
set -eu
cd "$(dirname "$0")/../.."

block=$(awk '/^```c$/ { inside = 1; next } /^```$/ && inside { exit } inside' \
    README.md)
if [ -z "$block" ]; then
    echo "README.md has no C block" >&2
    exit 1
fi
printf '%s\n' "$block" | diff -u --label README.md - examples/first.c

errors=$(sed -n 's/^ *MST_ERR\(_[A-Z0-9_]*\) = -.*/\1`/p' mini_stream.h)
limits=$(sed -n 's/^#ifndef \(MST_[A-Z_]*[A-Z]\)$/\1`/p' mini_stream.h)
missing=0
for name in $errors $limits; do
    if ! grep -qF -- "$name" README.md; then
        echo "README.md does not name $name" >&2
        missing=1
    fi
done
[ "$missing" -eq 0 ] && [ -n "$errors" ] && [ -n "$limits" ]
