#!/bin/sh
# Unpacks Debian's libraries that tool and tests link to, for another processor
# or from another suite, to DIR: headers, libraries and their dependencies.
# Usage: test/sysroot.sh ARCH DIR [SUITE]
# ARCH: Debian's name, such as arm64; SUITE: such as trixie.
#
# apt gets that architecture, an empty system and separate folders. It uses the
# system's sources and checks signatures as always; the system is not changed.
# SPDX-License-Identifier: 0BSD
set -eu

[ $# -eq 2 ] || [ $# -eq 3 ] || {
    echo "usage: $0 ARCH DIR [SUITE]" >&2
    exit 2
}
arch=$1
rm -rf "$2"
mkdir -p "$2"
cd "$2"
mkdir -p apt/lists/partial apt/cache/archives/partial apt/sources
: >apt/status
here=$(sed -n 's/^VERSION_CODENAME=//p' /etc/os-release)
for file in /etc/apt/sources.list /etc/apt/sources.list.d/*; do
    [ ! -f "$file" ] ||
        sed "s/$here/${3:-$here}/g" "$file" >"apt/sources/${file##*/}"
done

# apt-get for that system.
get() {
    apt-get -q -y -o APT::Architecture="$arch" -o APT::Architectures="$arch" \
        -o Dir::State="$PWD/apt" -o Dir::State::status="$PWD/apt/status" \
        -o Dir::Cache="$PWD/apt/cache" -o APT::Sandbox::User=root \
        -o Dir::Etc::sourceparts="$PWD/apt/sources" -o Dir::Etc::sourcelist=- \
        "$@" >>apt/log 2>&1
}

get update || true # what is missing shows in the next step
get install --download-only --no-install-recommends \
    libc6-dev libubsan1 libbearssl-dev libcmocka-dev libjansson-dev \
    libyajl-dev libssl-dev libmbedtls-dev libc-ares-dev libinih-dev \
    libncurses-dev libzstd-dev libmicrohttpd-dev || {
    cat apt/log >&2
    echo "$0: apt-get has not got the libraries for $arch" >&2
    exit 1
}
for package in apt/cache/archives/*.deb; do
    dpkg-deb -x "$package" .
done
for name in lib lib64; do # which a newer Debian has in usr alone
    [ -e $name ] || [ ! -e usr/$name ] || ln -s usr/$name $name
done
rm -rf apt
