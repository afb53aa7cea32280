#!/usr/bin/env python3
"""A stream that goes from one connection to the next, against the sandbox:
run_handovers follows a market while its connections take over from one another.

Usage: e2e_rotate.py [PART_OF_A_TEST'S_NAME...]
BUILD: where the programs are (default: build).
Ends with "N passed, N failed"; fails unless all passed.
SPDX-License-Identifier: 0BSD
"""
import json
import os
import shutil
import subprocess
import sys
import tempfile

from e2e import BUILD, HANG_S, Sandbox, check, run_all

HANDOVERS = 4


def hand_over(*options):
    """What the program has seen of so many handovers."""
    state = tempfile.mkdtemp()
    service = Sandbox(state, *options)
    try:
        service.wait_ready()
        environment = {name: value for name, value in os.environ.items()
                       if not name.startswith("MINI_STREAM_")}
        environment.update(MINI_STREAM_WS_URL=service.urls["ws_url"],
                           MINI_STREAM_AUTH_URL=service.urls["auth_url"],
                           MINI_STREAM_CLIENT_ID="sandbox-client",
                           MINI_STREAM_CLIENT_SECRET="sandbox-secret",
                           MINI_STREAM_CA=service.ca)
        out = subprocess.run(
            [os.path.join(BUILD, "test/run_handovers"), str(HANDOVERS)],
            env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            check=True, timeout=HANG_S).stdout
        return json.loads(out)
    finally:
        service.kill()
        shutil.rmtree(state)


def expect_handovers(*options):
    seen = hand_over(*options)
    print(seen)
    check(seen["failed"] == 0, "nothing breaks")
    check(seen["not_live"] == 0, "the book is live all the time")
    check(seen["opens"] == seen["generation"] == HANDOVERS + 1,
          "each connection takes over from the last")
    check(seen["tokens"] == 1, "one token serves for all")
    check(seen["executions"] > 0, "trades come")
    check(seen["unmarked"] == 0, "what comes twice says that it may")


TESTS = {
    "plain": expect_handovers,
    "every quirk": lambda: expect_handovers("--quirk", "all"),
}

if __name__ == "__main__":
    sys.exit(run_all(TESTS, len(TESTS)))
