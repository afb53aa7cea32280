"""port/lwip on a TAP device in a separate network, with the peer of the port
conformance test: in one loop, and with lwIP on its own threads, under
ThreadSanitizer and with lwIP's checks that its lock is held. Also port/sockets
over lwIP's sockets.

BUILD: where the programs are. SPDX-License-Identifier: 0BSD
"""
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../firmware"))
from e2e import check, run_program
from lab import FOLDER, Lab, enter_namespace


class Wire(Lab):
    """The network with only DHCP, names and the peer."""

    def __enter__(self):
        enter_namespace()
        self.begin_dhcp()
        self.begin_peer()
        return self


def conform(kind):
    with Wire() as wire:
        run = run_program(
            os.path.join(FOLDER, "tap-" + kind),
            *(wire.settings[name] for name in (
                "peer", "peer_port", "closed_port", "nowhere")),
            env={**os.environ, "PRECONFIGURED_TAPIF": "tap0"},
            stderr=subprocess.STDOUT)
        print(run.stdout, end="", flush=True)
        check(run.returncode == 0, f"exit status {run.returncode}")


TESTS = [(kind, conform, kind) for kind in ("loop", "threads", "sockets")]


def test_no_core_lock():
    run = run_program("make", "--no-print-directory",
                      os.path.join(FOLDER, "tap-unlocked"))
    check(run.returncode != 0 and
          "set LWIP_TCPIP_CORE_LOCKING to 1 in lwipopts.h" in run.stderr, run)
