#!/usr/bin/env python3
"""The port conformance test on the POSIX port, against its peer.

SPDX-License-Identifier: 0BSD
"""
import os
import subprocess
import sys

BUILD = os.environ.get("BUILD", "build")


def main():
    with subprocess.Popen([sys.executable, "port/conform/peer.py"],
                          stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          text=True) as peer:
        ports = peer.stdout.readline().split()
        run = subprocess.run(
            [os.path.join(BUILD, "test/real/run_conform"), *ports],
            check=False)
        peer.stdin.close()
    return run.returncode


if __name__ == "__main__":
    sys.exit(main())
