#!/bin/sh
# Manual pages of the tools, from what each says to --help: one for mini-stream
# and for each of its commands, one for pem2c.
# Usage: port/install/man.sh VERSION FOLDER
# FOLDER: where the tools are; the pages go to its man/
# HELP2MAN: the program that makes them.
# SPDX-License-Identifier: 0BSD
set -eu

version=$1
tool=$2/mini-stream
pages=$2/man

# page NAME PURPOSE COMMAND...: of what COMMAND --help says. help2man takes a
# program of the page's name, and headings that are not indented.
page() {
    name=$1 purpose=$2
    shift 2
    # shellcheck disable=SC2016 # the program is to expand $@
    printf '#!/bin/sh\n%s "$@" | sed "s/^ \\([A-Z].*:\\)$/\\1/"\n' "$*" \
        >"$pages/$name"
    chmod +x "$pages/$name"
    ${HELP2MAN:-help2man} --no-info --name "$purpose" \
        --version-string "$version" --source "mini_stream $version" \
        --include "$pages/see-also" --output "$pages/$name.1" "$pages/$name"
    rm "$pages/$name"
}

mkdir -p "$pages"
rm -f "$pages"/*
"$tool" --help | awk '/^Commands/ { on = 1; next } on && !NF { exit }
    on { sub(/^ +/, ""); print }' | while read -r line; do
    command=$(printf '%s\n' "$line" | sed 's/  .*//; s/ [A-Z[].*//')
    purpose=$(printf '%s\n' "$line" | sed 's/^.*   *//')
    # shellcheck disable=SC2086 # a command may have two words
    if "$tool" $command --help | grep -q "^Usage: mini-stream $command"; then
        echo "mini-stream-$(echo "$command" | tr ' ' -)|$purpose|$tool $command"
    fi
done >"$pages/list"
cat >>"$pages/list" <<END
mini-stream|client of an order-routing exchange|$tool
pem2c|trust anchors of a PEM file as C source|$2/pem2c
END
{
    echo '[see also]'
    sort "$pages/list" | sed 's/|.*//; s/-/\\-/g; s/.*/.BR & (1),/; $s/,$//'
} >"$pages/see-also"
while IFS='|' read -r name purpose command; do
    page "$name" "$purpose" "$command" </dev/null
done <"$pages/list"
rm "$pages/list" "$pages/see-also"
