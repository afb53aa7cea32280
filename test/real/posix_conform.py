#!/usr/bin/env python3
"""The port conformance test against its peer: on the POSIX port, with c-ares
and with a thread for each name, and through a real HTTP proxy (tinyproxy) over
it.

Usage: posix_conform.py [PART_OF_A_TEST'S_NAME...]
BUILD: where the programs are (default: build).
Ends with "N passed, N failed"; fails unless all passed.
SPDX-License-Identifier: 0BSD
"""
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../lib"))
from e2e import BUILD, check, run_all, tests_of
from tinyproxy import Tinyproxy


def conform(resolver, *proxy):
    """All its cases, through this proxy or without one."""
    with subprocess.Popen([sys.executable, "port/conform/peer.py"],
                          stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          text=True) as peer:
        ports = peer.stdout.readline().split()
        run = subprocess.run(
            [os.path.join(BUILD, "test/real/run_conform"), resolver, *ports,
             *proxy],
            stdout=subprocess.PIPE, text=True, check=False)
        peer.stdin.close()
    print(run.stdout, end="")
    check(run.returncode == 0, f"exit status {run.returncode}")


def test_posix():
    conform("cares")


def test_posix_with_threads():
    conform("threads")


def test_proxy():
    with tempfile.TemporaryDirectory() as path:
        proxy = Tinyproxy(path)
        proxy.start()
        try:
            proxy.wait_listening()
            conform("cares", proxy.url)
        finally:
            proxy.stop()


if __name__ == "__main__":
    sys.exit(run_all(tests_of(globals()), 1))
