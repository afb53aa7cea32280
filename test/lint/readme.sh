#!/bin/sh
# Checks the length of the README and the guides, that the reference names every
# error, and that each folder's page names what is in the folder.
# package/blocks.py tests their blocks of code.
# SPDX-License-Identifier: 0BSD
set -eu
cd "$(dirname "$0")/../.."

guides=examples/guides
reference=$guides/reference.md
status=0

# prose FILE: the file without its blocks of code.
prose() {
    awk '/^ *```/ { code = !code; next } !code' "$1"
}

# words FILE MAX: limits words with a letter or a digit, also in tables.
words() {
    count=$(prose "$1" | tr -s ' |' '\n' | grep -c '[[:alnum:]]')
    if [ "$count" -gt "$2" ]; then
        echo "$1 has $count words: more than $2" >&2
        status=1
    fi
}

words README.md 1800
tables=$(prose README.md | grep -Ec '^ *\|[-| ]+\|$')
if [ "$tables" -gt 3 ]; then
    echo "README.md has $tables tables: more than 3" >&2
    status=1
fi
for guide in "$guides"/*.md; do
    [ "$guide" = "$reference" ] || words "$guide" 700
done

errors=$(sed -n 's/^ *MST_ERR\(_[A-Z0-9_]*\) = -.*/\1`/p' mini_stream.h)
for name in $errors; do
    if ! grep -qF -- "$name" "$reference"; then
        echo "$reference does not name $name" >&2
        status=1
    fi
done
for folder in examples port test; do
    for name in $(git ls-files "$folder" | cut -d/ -f2 | grep -vx README.md | sort -u); do
        if ! grep -qF -- "${name%.h}" "$folder/README.md"; then
            echo "$folder/README.md does not name $name" >&2
            status=1
        fi
    done
done
[ "$status" -eq 0 ] && [ -n "$errors" ]
