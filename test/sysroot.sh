#!/bin/sh
# Unpacks what tool and tests link to, as Debian has it for another processor,
# to DIR: headers, libraries, and what these need in turn.
# Usage: test/sysroot.sh ARCH DIR    (ARCH: Debian's name, such as arm64)
#
# apt is given that architecture, a system where nothing is installed, and
# places of its own: it asks where the system's apt asks and checks signatures
# as always, and nothing of the system is changed.
# SPDX-License-Identifier: 0BSD
set -eu

[ $# -eq 2 ] || {
    echo "usage: $0 ARCH DIR" >&2
    exit 2
}
arch=$1
rm -rf "$2"
mkdir -p "$2"
cd "$2"
mkdir -p apt/lists/partial apt/cache/archives/partial
: >apt/status

# apt-get for that system.
get() {
    apt-get -q -y -o APT::Architecture="$arch" -o APT::Architectures="$arch" \
        -o Dir::State="$PWD/apt" -o Dir::State::status="$PWD/apt/status" \
        -o Dir::Cache="$PWD/apt/cache" -o APT::Sandbox::User=root "$@" \
        >>apt/log 2>&1
}

get update || true # what is missing shows in the next step
get install --download-only --no-install-recommends \
    libc6-dev libubsan1 libbearssl-dev libcmocka-dev libjansson-dev \
    libyajl-dev libssl-dev libc-ares-dev libinih-dev libncurses-dev \
    libzstd-dev libmicrohttpd-dev || {
    cat apt/log >&2
    echo "$0: apt-get has not got the libraries for $arch" >&2
    exit 1
}
for package in apt/cache/archives/*.deb; do
    dpkg-deb -x "$package" .
done
rm -rf apt
