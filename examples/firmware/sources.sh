#!/bin/sh
# Fetches source packages of Debian for this system, unpacked and patched, each
# to DIR/PACKAGE.
# Usage: examples/firmware/sources.sh DIR PACKAGE...
#
# Most systems are configured for binary packages only. So apt gets a copy of
# the configuration that asks for sources, and a separate folder for its lists:
# the system is not changed, and signatures are checked as always.
# SPDX-License-Identifier: 0BSD
set -eu

[ $# -gt 1 ] || {
    echo "usage: $0 DIR PACKAGE..." >&2
    exit 2
}
mkdir -p "$1"
cd "$1"
shift

# Writes copies of the system's lists that ask for sources.
parts() {
    for file in /etc/apt/sources.list.d/*.sources; do
        [ -e "$file" ] || continue
        sed 's/^Types:.*/Types: deb-src/' "$file" >"apt/parts/${file##*/}"
    done
    for file in /etc/apt/sources.list /etc/apt/sources.list.d/*.list; do
        [ -e "$file" ] || continue
        sed -n 's/^deb\(-src\)\{0,1\}[[:space:]]/deb-src /p' "$file" |
            sort -u >"apt/parts/${file##*/}"
    done
}

# apt-get with that configuration.
get() {
    apt-get -q -o Dir::Etc::SourceList=/dev/null \
        -o Dir::Etc::SourceParts="$PWD/apt/parts" \
        -o Dir::State::Lists="$PWD/apt/lists" -o APT::Sandbox::User=root "$@"
}

# fetch PACKAGE: as a folder of that name.
fetch() {
    [ ! -d "$1" ] || return 0
    if [ ! -d apt ]; then
        mkdir -p apt/parts apt/lists/partial apt/unpacked
        parts
        get update >apt/log 2>&1 || true # errors show below
    fi
    (
        cd apt/unpacked
        get -o Dir::Etc::SourceParts="$PWD/../parts" \
            -o Dir::State::Lists="$PWD/../lists" source "$1"
    ) >>apt/log 2>&1 || {
        cat apt/log >&2
        echo "$0: apt-get has no sources of $1" >&2
        exit 1
    }
    mv "apt/unpacked/$1"-*/ "$1"
}

rm -rf apt
for package; do
    fetch "$package"
done
rm -rf apt
