#!/bin/sh
# The first C block of README.md is examples/first.c, which make builds.
# SPDX-License-Identifier: 0BSD
set -eu
cd "$(dirname "$0")/.."

block=$(awk '/^```c$/ { inside = 1; next } /^```$/ && inside { exit } inside' \
    README.md)
if [ -z "$block" ]; then
    echo "README.md has no C block" >&2
    exit 1
fi
printf '%s\n' "$block" | diff -u --label README.md - examples/first.c
