#!/usr/bin/env python3
"""A broker whose disk is full: the gateways keep what they have for it, and
nothing is missing once it has room and runs again. (This version of the server
stops answering, and has to be restarted.) The disk is a small one in memory, in
a mount namespace of the test's own; needs to be root, or user namespaces.

Usage: store_full.py [PART_OF_A_TEST'S_NAME...]
BUILD: where the programs are (default: build).
Ends with "N passed, N failed"; fails unless all passed.
SPDX-License-Identifier: 0BSD
"""
import contextlib
import os
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../lib"))
from e2e import check, run_all, tests_of
from gateway import Lab


@contextlib.contextmanager
def small_disk(folder):
    """What runs a program that finds a small disk in this folder, and the
    folder as seen from outside."""
    with subprocess.Popen(
            ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c",
             'mount -t tmpfs -o size=16m tmpfs "$1" && echo ready && '
             "exec cat", "small", folder],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
        check(holder.stdout.readline() == b"ready\n", "no small disk")
        yield (["nsenter", "--user", "--mount", "--preserve-credentials",
                "--target", str(holder.pid)],
               f"/proc/{holder.pid}/root{folder}")


def fill(path):
    """Up to the last byte."""
    with open(path, "wb", buffering=0) as file:
        with contextlib.suppress(OSError):
            while True:
                file.write(bytes(65536))


def test_disk_full():
    with tempfile.TemporaryDirectory() as folder, small_disk(folder) as (
            prefix, disk), Lab(broker_prefix=prefix, store=folder) as lab:
        for name in "ab":
            lab.gateway(name)
        lab.consume()
        lab.wait_equal()
        since = time.time()
        filler = os.path.join(disk, "filler")
        fill(filler)
        time.sleep(8)
        shown = [len(each.shown) for each in lab.consumers]
        time.sleep(2)
        check(shown == [len(each.shown) for each in lab.consumers],
              "the broker had room")
        os.unlink(filler)
        lab.broker.restart()
        lab.wait_equal()
        lab.check_executions(since)
        lab.check_books()


if __name__ == "__main__":
    sys.exit(run_all(tests_of(globals()), 1))
