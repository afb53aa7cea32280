#!/bin/sh
# Installs missing Debian packages of these groups, and npm packages below the
# folder BUILD (default: build).
# Usage: test/packages.sh [-n] GROUP...     (groups: third column of the table)
#   -n   only prints in a line what a build lacks, however it was installed
# SPDX-License-Identifier: 0BSD
set -eu

# Package, how to find it without dpkg, groups, purpose. Not needed: a package
# whose directory is given (BEARSSL_DIR, JSMN_DIR) or that is for another
# processor; a resolver for localhost if the system already resolves it; npm if
# nodejs includes it.
table() {
    cat <<'END'
libc6-dev             header:stdio.h      build           C library
libbearssl-dev        header:bearssl.h    build,eva       TLS engine
libjsmn-dev           header:jsmn.h       build,bench,wp,eva,cross JSON tokens
libc-ares-dev         header:ares.h       build           resolves names
pkg-config            command:pkg-config  build,test,cross finds libraries
libssl-dev            module:openssl      tool,test,bench TLS, primitives, peers
libipsec-mb-dev       header:intel-ipsec-mb.h tool,bench      faster primitives
libinih-dev           header:ini.h        tool            reads the tool's profile
libjansson-dev        header:jansson.h    tool,sandbox,test reads JSON
libyajl-dev           header:yajl/yajl_gen.h tool            writes JSON lines
libmicrohttpd-dev     header:microhttpd.h tool            serves figures
libncurses-dev        header:ncurses.h    tool            live view on a terminal
libzstd-dev           module:libzstd      tool,sandbox,test recordings
ca-certificates       none                tool            the system's trust store
libsoup-3.0-dev       module:libsoup-3.0  sandbox         HTTP and WebSocket server
libgnutls28-dev       module:gnutls       sandbox         makes the sandbox's CA
libsqlite3-dev        header:sqlite3.h    sandbox         keeps the addresses
glib-networking       none                sandbox         TLS for libsoup
libnss-myhostname     host:localhost      sandbox         resolves localhost
libnats-dev           module:libnats      gateway,bench   speaks to the broker
libglib2.0-dev        module:glib-2.0     gateway         queues and tables
libmosquitto-dev      header:mosquitto.h  gateway         speaks MQTT
libsystemd-dev        module:libsystemd   gateway         tells systemd that it runs
nats-server           none                broker          the broker
python3               command:python3     broker,docs,test,page,tools runs them
python3               command:python3     lint,fuzz,bench,wp,size runs them
python3               command:python3     firmware,eva,coverage,mutants,cross runs them
python3-fastjsonschema python:fastjsonschema broker,test,cross checks JSON lines
nodejs                command:node        broker,test     runs clients
npm                   command:npm         broker          installs npm:nats
npm:nats              npm:nats            broker          speaks to the broker
mosquitto             none                broker          one of MQTT
mosquitto-clients     command:mosquitto_sub broker          and its consumer
systemd               command:systemd-analyze broker          judges the unit
strace                command:strace      broker          what a gateway calls
openssl               command:openssl     broker,test,bench,firmware,cross TLS, keys
help2man              command:help2man    install,package makes the manual pages
doxygen               command:doxygen     docs,package    header pages
libcmocka-dev         header:cmocka.h     test            test framework
iproute2              command:ip          test,firmware   networks of the tests
libmbedtls-dev        header:mbedtls/ssl.h test            TLS of another port
curl                  command:curl        test            another client of HTTP
jq                    command:jq          test,bench      JSON lines
man-db                command:man         package         shows them
bash-completion       none                package         the tool's completion
zsh                   command:zsh         package         completes words, too
fish                  command:fish        package         completes words, too
locales               none                test            a Turkish one
cmake                 command:cmake       package         builds somebody's project
g++                   command:g++         package,bench   C++ compiler
python3-websockets    python:websockets   test,page,firmware WebSocket peer
node-ws               none                test,bench      WebSocket client
tinyproxy-bin         command:tinyproxy   test,cross      HTTP proxy
meson                 command:meson       package         builds somebody's project
ninja-build           command:ninja       package         for it
python3-kconfiglib    python:kconfiglib   package         reads Kconfig
python3-yaml          python:yaml         package         reads the manifests
chromium              command:chromium    page            opens the sandbox's page
chromium-driver       command:chromedriver page            drives it
python3-selenium      python:selenium     page            the same for Python
tmux                  command:tmux        tools           a terminal to look at
gcc                   command:gcc         lint,mutants,cross-amd64 compiler
clang                 command:clang       lint,fuzz       compiler, libFuzzer
clang-format          command:clang-format lint            checks the format
clang-tidy            command:clang-tidy  lint            static analysis
shellcheck            command:shellcheck  lint            checks the scripts
pyflakes3             command:pyflakes3   lint            checks names in Python
libboost-dev          header:boost/version.hpp bench           Beast, a peer
libcjson-dev          header:cjson/cJSON.h bench           a peer
libsimdjson-dev       module:simdjson     bench           a peer
libwebsockets-dev     header:libwebsockets.h bench           a peer
libwslay-dev          header:wslay/wslay.h bench           a peer
rapidjson-dev         module:RapidJSON    bench           a peer
frama-c-base          command:frama-c     wp,eva          analyses the library
why3                  command:why3        wp              hands it to provers
z3                    command:z3          wp              a prover
cvc4                  command:cvc4        wp              another prover
gcc-arm-none-eabi     command:arm-none-eabi-gcc size,firmware   cross compiler
libnewlib-arm-none-eabi none                size,firmware   its C library
gcc-riscv64-unknown-elf command:riscv64-unknown-elf-gcc size            for RISC-V
picolibc-riscv64-unknown-elf none                size            its C library
pmccabe               command:pmccabe     complexity      counts decisions
qemu-system-arm       command:qemu-system-arm count,firmware  emulates boards
qemu-system-misc      command:qemu-system-riscv32 count           and RISC-V
chrony                command:chronyd     firmware        the time for the board
stunnel4              command:stunnel     firmware        TLS of all kinds
dpkg-dev              command:dpkg-source lwip,windows    unpacks sources
dnsmasq-base          command:dnsmasq     lwip            DHCP and DNS for boards
gcc-mingw-w64-x86-64  command:x86_64-w64-mingw32-gcc windows         cross compiler
clang-19              command:clang-19    coverage,mutants,platforms compiler
libclang-rt-19-dev    none                coverage,mutants,platforms for it
llvm-19               command:llvm-cov-19 coverage,mutants reads profiles
util-linux            command:prlimit     mutants         ends those without end
qemu-user             command:qemu-aarch64 cross           emulates the processor
dpkg-dev              command:dpkg-architecture cross           its names
gcc-aarch64-linux-gnu command:aarch64-linux-gnu-gcc cross-arm64     compiler
gcc-s390x-linux-gnu   command:s390x-linux-gnu-gcc cross-s390x     compiler
gcc-i686-linux-gnu    command:i686-linux-gnu-gcc cross-i386      compiler
gcc-powerpc-linux-gnu command:powerpc-linux-gnu-gcc cross-powerpc   compiler
libc6-dev-powerpc-cross none                cross-powerpc   its C library
END
}

# True if it exists, however it was installed.
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

# The rows of the table for the groups.
wanted() {
    table | while read -r package probe of reason; do
        for group in $groups; do
            case ,$of, in *",$group,"*) break ;; esac
            group=
        done
        [ -n "$group" ] || continue
        case $package in
        libbearssl-dev) [ -z "${BEARSSL_DIR:-}" ] || continue ;;
        libjsmn-dev) [ -z "${JSMN_DIR:-}" ] || continue ;;
        libipsec-mb-dev) [ "$(uname -m)" = x86_64 ] || continue ;;
        libnss-myhostname | npm | npm:*) ! found "$probe" || continue ;;
        esac
        echo "$package $probe $reason"
    done | sort -u -k 1,1
}

# Installs npm packages for tests only: the system is not changed.
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
    table | grep -Eq "^[^ ]+ +[^ ]+ +([^ ]*,)?${group}[, ]" || {
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
