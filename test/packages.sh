#!/bin/sh
# Installs the Debian packages that the groups named need and that are missing,
# and those of npm, below the folder BUILD (default: build).
# Usage: test/packages.sh [-n] GROUP...     (groups: first column of the table)
#   -n   only says in a line what a build would miss, whoever installed it
# SPDX-License-Identifier: 0BSD
set -eu

# group, package, how to find it without dpkg, what it is for. Not needed is a
# package whose directory is given (BEARSSL_DIR, JSMN_DIR) or that is for
# another processor, nor a resolver for localhost where /etc/hosts or another
# has it: a minimal system may not; nor npm where nodejs, of whoever made it,
# brings it.
table() {
    cat <<'END'
build    libc6-dev              header:stdio.h      C library
build    libbearssl-dev         header:bearssl.h    TLS engine
build    libjsmn-dev            header:jsmn.h       tokens of small JSON
build    libc-ares-dev          header:ares.h       resolves names
build    pkg-config             command:pkg-config  finds the libraries below
tool     libssl-dev             module:openssl      TLS 1.3, primitives for TLS
tool     libipsec-mb-dev        header:intel-ipsec-mb.h  some faster ones
tool     libinih-dev            header:ini.h        reads the tool's profile
tool     libjansson-dev         header:jansson.h    reads endpoints.json
tool     libyajl-dev            header:yajl/yajl_gen.h  writes JSON lines
tool     libmicrohttpd-dev      header:microhttpd.h  serves figures
tool     libncurses-dev         header:ncurses.h    live view on a terminal
tool     libzstd-dev            module:libzstd      recordings
tool     ca-certificates        none                the system's trust store
sandbox  libsoup-3.0-dev        module:libsoup-3.0  HTTP and WebSocket server
sandbox  libjansson-dev         header:jansson.h    the server's JSON
sandbox  libgnutls28-dev        module:gnutls       makes the sandbox's CA
sandbox  libsqlite3-dev         header:sqlite3.h    keeps the addresses
sandbox  libzstd-dev            module:libzstd      recordings
sandbox  glib-networking        none                TLS for libsoup
sandbox  libnss-myhostname      host:localhost      resolves localhost
gateway  libnats-dev            module:libnats      speaks to the broker
gateway  libglib2.0-dev         module:glib-2.0     queues and tables
gateway  libmosquitto-dev       header:mosquitto.h  speaks MQTT
broker   nats-server            none                the broker
broker   python3                command:python3     runs its tests
broker   python3-jsonschema     python:jsonschema   checks what is stored
broker   nodejs                 command:node        a consumer
broker   npm                    command:npm         installs the next
broker   npm:nats               npm:nats            speaks to the broker
broker   mosquitto              none                one of MQTT
broker   mosquitto-clients      command:mosquitto_sub  and its consumer
broker   systemd                command:systemd-analyze  judges the unit
broker   strace                 command:strace      what a gateway calls
broker   openssl                command:openssl     certificates, keys
install  help2man               command:help2man    makes the manual pages
docs     doxygen                command:doxygen     makes the pages of the header
docs     python3                command:python3     reads its comments
test     libcmocka-dev          header:cmocka.h     test framework
test     libjansson-dev         header:jansson.h    another reader of JSON
test     iproute2               command:ip          network for names
test     libssl-dev             module:openssl      TLS of a port, and its peer
test     libmbedtls-dev         header:mbedtls/ssl.h  TLS of another port
test     libzstd-dev            module:libzstd      recordings
test     curl                   command:curl        another client of HTTP
test     jq                     command:jq          the documents' commands
test     doxygen                command:doxygen     are all names documented
test     help2man               command:help2man    the manual pages
test     man-db                 command:man         shows them
test     bash-completion        none                the tool's completion
test     locales                none                a Turkish one
test     cmake                  command:cmake       builds somebody's project
test     g++                    command:g++         and one in C++
test     pkg-config             command:pkg-config  finds what was installed
test     jq                     command:jq          reads JSON lines
test     python3-jsonschema     python:jsonschema   checks them
test     openssl                command:openssl     TLS peer and certificates
test     python3                command:python3     runs the interop tests
test     python3-websockets     python:websockets   WebSocket peer
test     nodejs                 command:node        runs the next
test     node-ws                none                a client of the sandbox
test     tinyproxy-bin          command:tinyproxy   HTTP proxy
ports    meson                  command:meson       builds somebody's project
ports    ninja-build            command:ninja       for it
ports    python3-kconfiglib     python:kconfiglib   reads Kconfig
ports    python3-yaml           python:yaml         reads the manifests
page     chromium               command:chromium    opens the sandbox's page
page     chromium-driver        command:chromedriver  for the next one
page     python3                command:python3     runs these tests
page     python3-selenium       python:selenium     drives it
page     python3-websockets     python:websockets   a client of the stream
tools    python3                command:python3     runs these tests
tools    tmux                   command:tmux        a terminal to look at
lint     gcc                    command:gcc         first compiler
lint     clang                  command:clang       second compiler
lint     clang-format           command:clang-format  checks the format
lint     clang-tidy             command:clang-tidy  static analysis
lint     shellcheck             command:shellcheck  checks the scripts
lint     pyflakes3              command:pyflakes3   checks names in Python
lint     python3                command:python3     runs the layering check
fuzz     clang                  command:clang       compiler with libFuzzer
fuzz     python3                command:python3     runs the targets
bench    g++                    command:g++         C++ compiler
bench    libboost-dev           header:boost/version.hpp  Beast, a peer
bench    libcjson-dev           header:cjson/cJSON.h  a peer
bench    libjsmn-dev            header:jsmn.h       a peer
bench    libsimdjson-dev        module:simdjson     a peer
bench    libipsec-mb-dev        header:intel-ipsec-mb.h  primitives for TLS
bench    libssl-dev             module:openssl      and of server and peers
bench    libwebsockets-dev      header:libwebsockets.h  a peer
bench    libnats-dev            module:libnats      speaks to the broker
bench    libwslay-dev           header:wslay/wslay.h  a peer
bench    node-ws                none                a peer
bench    jq                     command:jq          writes its lines
bench    openssl                command:openssl     makes a certificate
bench    python3                command:python3     runs the contenders
bench    rapidjson-dev          module:RapidJSON    a peer
wp       frama-c-base           command:frama-c     generates what is to be proved
wp       why3                   command:why3        hands it to provers
wp       z3                     command:z3          a prover
wp       cvc4                   command:cvc4        another prover
wp       libjsmn-dev            header:jsmn.h       tokens of small JSON
wp       python3                command:python3     runs them
size     gcc-arm-none-eabi      command:arm-none-eabi-gcc  cross compiler
size     libnewlib-arm-none-eabi  none              its C library
size     gcc-riscv64-unknown-elf  command:riscv64-unknown-elf-gcc  for RISC-V
size     picolibc-riscv64-unknown-elf  none         its C library
size     python3                command:python3     runs the measures
complexity  pmccabe             command:pmccabe     counts decisions
count    qemu-system-arm        command:qemu-system-arm  emulates a Cortex-M4
count    qemu-system-misc       command:qemu-system-riscv32  and RISC-V
firmware gcc-arm-none-eabi      command:arm-none-eabi-gcc  cross compiler
firmware libnewlib-arm-none-eabi  none              its C library
firmware qemu-system-arm        command:qemu-system-arm  emulates the board
firmware iproute2               command:ip          the board's network
firmware chrony                 command:chronyd     the time for the board
firmware stunnel4               command:stunnel     TLS of all kinds
firmware openssl                command:openssl     its certificates
firmware python3                command:python3     runs the test
firmware python3-websockets     python:websockets   a stream of messages
lwip     dpkg-dev               command:dpkg-source  unpacks lwIP and BearSSL
lwip     dnsmasq-base           command:dnsmasq     DHCP and DNS for boards
eva      frama-c-base           command:frama-c     analyses the library
eva      libbearssl-dev         header:bearssl.h    TLS engine
eva      libjsmn-dev            header:jsmn.h       tokens of small JSON
eva      python3                command:python3     runs it
windows  gcc-mingw-w64-x86-64   command:x86_64-w64-mingw32-gcc  cross compiler
windows  dpkg-dev               command:dpkg-source  unpacks BearSSL
coverage clang-19               command:clang-19    counts conditions
coverage libclang-rt-19-dev     none                its library of profiles
coverage llvm-19                command:llvm-cov-19  reads what it counted
coverage python3                command:python3     adds it up
mutants  clang-19               command:clang-19    compiles them quickly
mutants  libclang-rt-19-dev     none                its sanitizers
mutants  llvm-19                command:llvm-cov-19  reads what tests reach
mutants  gcc                    command:gcc         sees those that are none
mutants  util-linux             command:prlimit     ends those without end
mutants  python3                command:python3     makes and counts them
cross    qemu-user              command:qemu-aarch64  emulates the processor
cross    dpkg-dev               command:dpkg-architecture  its names
cross    libjsmn-dev            header:jsmn.h       tokens of small JSON
cross    pkg-config             command:pkg-config  finds its libraries
cross    openssl                command:openssl     TLS peer and certificates
cross    python3                command:python3     runs the interop tests
cross    tinyproxy-bin          command:tinyproxy   HTTP proxy
cross-amd64  gcc                    command:gcc         compiler
cross-arm64  gcc-aarch64-linux-gnu  command:aarch64-linux-gnu-gcc  compiler
cross-s390x  gcc-s390x-linux-gnu    command:s390x-linux-gnu-gcc    compiler
cross-i386   gcc-i686-linux-gnu     command:i686-linux-gnu-gcc     compiler
cross-powerpc  gcc-powerpc-linux-gnu  command:powerpc-linux-gnu-gcc  compiler
cross-powerpc  libc6-dev-powerpc-cross  none        its C library
platforms  clang-19               command:clang-19    second compiler
platforms  libclang-rt-19-dev     none                MemorySanitizer
END
}

# Is it there, whoever has installed it?
# shellcheck disable=SC2086 # CC and CPPFLAGS are lists of words
found() {
    what=${1#*:}
    case $1 in
    header:*) echo "#include <$what>" | $CC ${CPPFLAGS:-} -E -x c - ;;
    module:*) pkg-config --exists "$what" ;;
    command:*) command -v "$what" ;;
    python:*) python3 -c "import $what" ;;
    host:*) getent hosts "$what" ;;
    npm:*) test -d "$node/node_modules/$what" ;;
    esac >/dev/null 2>&1
}

# The lines of the table for the groups asked for.
wanted() {
    table | while read -r group package probe reason; do
        case " $groups " in *" $group "*) ;; *) continue ;; esac
        case $package in
        libbearssl-dev) [ -z "${BEARSSL_DIR:-}" ] || continue ;;
        libjsmn-dev) [ -z "${JSMN_DIR:-}" ] || continue ;;
        libipsec-mb-dev) [ "$(uname -m)" = x86_64 ] || continue ;;
        libnss-myhostname | npm | npm:*) ! found "$probe" || continue ;;
        esac
        echo "$package $probe $reason"
    done | sort -u -k 1,1
}

# Those of npm, for tests alone: nothing of the system is changed.
install_npm() {
    wanted | while read -r package _; do
        case $package in
        npm:*)
            echo "Installing $package"
            npm install --no-save --no-audit --no-fund --loglevel=error \
                --prefix "$node" "${package#npm:}" >/dev/null
            ;;
        esac
    done
}

CC=${CC:-cc}
node=${BUILD:-build}/node
only_look=
if [ "${1:-}" = -n ]; then
    only_look=true
    shift
fi
groups=$*
for group in "$@"; do
    table | grep -q "^$group " || {
        echo "$0: no group of packages is called $group" >&2
        exit 2
    }
done

if [ -n "$only_look" ]; then
    command -v "${CC%% *}" >/dev/null || {
        echo "no compiler: ${CC%% *} is not there" >&2
        exit 1
    }
    missing=$(wanted | while read -r package probe _; do
        case $probe in host:*) continue ;; esac
        found "$probe" || printf ' %s' "$package"
    done)
    [ -z "$missing" ] || {
        echo "run 'make packages' first, which installs what is missing:" \
            "${missing# }" >&2
        exit 1
    }
    exit 0
fi

if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
    missing=$(wanted | while read -r package probe reason; do
        found "$probe" || printf '  %-24s %s\n' "$package" "$reason"
    done)
    [ -n "$missing" ] || exit 0
    echo "Not a Debian system: install your system's equivalents of" >&2
    echo "$missing" >&2
    exit 1
fi

packages=$(wanted | cut -d ' ' -f 1 | grep -v '^npm:') || true
# shellcheck disable=SC2086 # a list of names
installed=$(dpkg-query -W -f '${Package} ${db:Status-Status}\n' $packages \
    2>/dev/null | sed -n 's/ installed$//p') || true
missing=
for package in $packages; do
    case "
$installed
" in *"
$package
"*) ;; *) missing="$missing $package" ;; esac
done
[ -n "$missing" ] || {
    install_npm
    exit 0
}
missing=${missing# }

echo "Packages needed that are not installed:"
wanted | while read -r package _ reason; do
    case " $missing " in
    *" $package "*) printf '  %-24s %s\n' "$package" "$reason" ;;
    esac
done

if [ "$(id -u)" -eq 0 ]; then
    as_root=
elif command -v sudo >/dev/null && { [ -t 0 ] || sudo -n true 2>/dev/null; }
then
    as_root=sudo
else
    echo "This command, run as root, installs them:"
    echo "  apt-get update &&" \
        "apt-get install -y --no-install-recommends $missing"
    exit 1
fi

echo "Installing them with apt-get"
$as_root apt-get update -qq
# shellcheck disable=SC2086 # a list of names
$as_root env DEBIAN_FRONTEND=noninteractive \
    apt-get install -y -qq --no-install-recommends $missing >/dev/null
install_npm
