#!/usr/bin/env python3
"""The suites of RFC 6455 and of sessions, once for each port that the tool can
be given: three kinds of TLS, each with and without an HTTP proxy (tinyproxy)
between; mbedTLS, and the port for RTOS sockets; and more tests of the tool with
OpenSSL.

Usage: ports.py [PART_OF_A_NAME...]     (a port's or a suite's; default: all)
BUILD: where the programs are (default: build).
Ends with "N passed, N failed"; fails unless all passed.
SPDX-License-Identifier: 0BSD
"""
import concurrent.futures
import os
import re
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "e2e"))
from tinyproxy import Tinyproxy

AT_ONCE = 3  # they wait more than they compute
SUITES = ("e2e_faults.py", "e2e_stream.py", "interop_stream.py")
TLS = {"BearSSL": "bearssl", "BearSSL with primitives": "fast",
       "OpenSSL": "openssl"}
# Other names, their suites and environment.
OTHERS = [("OpenSSL over posix", ("e2e_put.py", "e2e_proxy.py", "e2e_demo.py"),
           {"MINI_STREAM_TLS": "openssl"}),
          ("BearSSL over sockets", SUITES,
           {"MINI_STREAM_TLS": "bearssl", "BUILD": os.path.join(
               os.environ.get("BUILD", "build"), "sockets")}),
          ("mbedTLS over posix", (*SUITES, "interop_openssl.py"),
           {"MINI_STREAM_TLS": "openssl", "BUILD": os.path.join(
               os.environ.get("BUILD", "build"), "mbedtls")})]


def run(name, script, environment):
    """Runs a suite; returns how many passed and failed."""
    done = subprocess.run([sys.executable, os.path.join(HERE, "e2e/e2e.py"),
                           os.path.join(HERE, "real", script)],
                          env=environment, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True, check=False)
    count = re.search(r"^(\d+) passed, (\d+) failed\n\Z", done.stdout,
                      re.MULTILINE)
    passed, failed = map(int, count.groups()) if count else (0, 0)
    if done.returncode != 0 or passed == 0:
        failed = max(failed, 1)
        print(done.stdout, end="")
    print(f"{'FAIL' if failed else 'ok':4}  {name}, {script}: "
          f"{passed} passed, {failed} failed", flush=True)
    return passed, failed


def suites(proxy):
    """Name, suite and environment of all."""
    for proxied in (False, True):
        for kind, tls in TLS.items():
            name = f"{kind} over {'proxy over ' if proxied else ''}posix"
            variables = {"MINI_STREAM_TLS": tls}
            if proxied:
                variables["MINI_STREAM_PROXY"] = proxy.url
            yield from ((name, suite, variables) for suite in SUITES)
    for name, of, variables in OTHERS:
        yield from ((name, suite, variables) for suite in of)


def main():
    asked = sys.argv[1:] or [""]
    with tempfile.TemporaryDirectory() as path, \
            Tinyproxy(path, "MaxClients 1000") as proxy, \
            concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        results = [pool.submit(run, name, suite, {**os.environ, **variables})
                   for name, suite, variables in suites(proxy)
                   if any(part in f"{name}, {suite}" for part in asked)]
        counts = [result.result() for result in results]
    if not counts:
        sys.exit("ports: no port and no suite has this in its name")
    passed, failed = map(sum, zip(*counts))
    print(f"\n{passed} passed, {failed} failed")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
