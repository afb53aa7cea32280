"""The port conformance test against its peer: on the POSIX port with c-ares and
with a thread for each name, through a real HTTP proxy (tinyproxy), with TLS of
OpenSSL and mbedTLS, directly and through the proxy; on the port for RTOS sockets;
and on the skeleton in port/README.md.

SPDX-License-Identifier: 0BSD
"""
import contextlib
import os
import re
import subprocess
import sys
import tempfile

from e2e import (BUILD, CC, RUN, check, dependency_options, run_program,
                 write_file)
from tinyproxy import Tinyproxy
from tls_certificates import OWN, Certificates
from tree import blocks_of

AT_ONCE = 3


# A program with the skeleton's port, whose clocks and entropy are Linux's.
PROGRAM = """
#include "mst_conform_print.h"
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

extern const struct mst_port board_port;

static void rest(void *context) {
    (void)context;
    usleep(1000);
}
static int unix_ns(void *context, int64_t *ns) {
    struct timespec now;
    (void)context;
    clock_gettime(CLOCK_REALTIME, &now);
    *ns = now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
    return 0;
}
static uint32_t now_ms(void *context) {
    int64_t ns;
    unix_ns(context, &ns);
    return (uint32_t)(ns / 1000000);
}
static int entropy(void *context, void *data, size_t len) {
    (void)context;
    return getrandom(data, len, 0) == (ssize_t)len ? 0 : MST_ERR_ENTROPY;
}
int main(int argc, char **argv) {
    struct mst_conform conform = {.port = board_port, .links = 1, .wait = rest,
                                  .nowhere = "nobody.invalid", .much = 8000000};
    conform.port.now_ms = now_ms;
    conform.port.unix_ns = unix_ns;
    conform.port.entropy = entropy;
    return argc == 3 ? mst_conform_main(&conform, "localhost", argv[1], argv[2])
                     : 2;
}
"""


def run_cases(command, *arguments, tls=()):
    """Runs a program with the peer's ports. tls: the peer's certificate, key."""
    for stall in ("3", "20"):  # more only if this machine is slow
        with subprocess.Popen(
                [sys.executable, "port/conform/peer.py", "127.0.0.1", "0",
                 *tls], env={**os.environ, "STALL_S": stall},
                stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                text=True) as peer:
            ports = peer.stdout.readline().split()
            run = subprocess.run([*command, *ports, *arguments], text=True,
                                 stdout=subprocess.PIPE, check=False)
            peer.stdin.close()
        failed = re.findall("^FAIL .*", run.stdout, re.M)
        if len(failed) != 1 or "though nobody read" not in failed[0]:
            break
    print(run.stdout, end="")
    check(run.returncode == 0, f"exit status {run.returncode}")


def test_skeleton(folder):
    skeleton, = (block.text for block in blocks_of("port/README.md")
                 if (block.kind, block.how) == ("c", ""))
    write_file(f"{folder}/skeleton.c", skeleton)
    write_file(f"{folder}/program.c", PROGRAM)
    built = run_program(
        CC, "-std=gnu99", "-fsanitize=address,undefined", "-I.", "-Itest/lib",
        "-Iport/conform", *dependency_options(), "-o", f"{folder}/program",
        f"{folder}/skeleton.c", f"{folder}/program.c", "test/lib/net.c",
        "port/conform/mst_conform.c")
    check(built.returncode == 0, built.stderr)
    run_cases([f"{folder}/program"])


def certificate(path):
    """A self-signed certificate for localhost: its file and its key's."""
    certificates = Certificates(path)
    certificates.issue("peer", "peer", OWN)
    return certificates.path("peer.pem"), certificates.path("peer.key")


def conform(port="cares", library="openssl", secured=False, proxied=False):
    """Runs all cases, if asked for with TLS and through a proxy."""
    with contextlib.ExitStack() as stack:
        path = stack.enter_context(tempfile.TemporaryDirectory())
        proxy = stack.enter_context(Tinyproxy(path)).url if proxied else ""
        tls = certificate(path) if secured else ("",)
        run_cases([*RUN, os.path.join(BUILD, "test/real/run_conform"), port],
                  proxy, tls[0], library, tls=tls if secured else ())


TESTS = [("posix", conform), ("posix with threads", conform, "threads"),
         ("sockets", conform, "sockets"),
         ("proxy", conform, {"proxied": True}),
         *((f"{name}, {library}", conform, "cares", library, True, proxied)
           for library in ("openssl", "mbedtls")
           for name, proxied in (("secured", False),
                                 ("secured_over_proxy", True)))]
