#!/usr/bin/env python3
"""A stream that goes from one connection to the next, against the sandbox:
run_handovers follows a market while its connections take over from one another.

Usage: e2e_rotate.py
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
import time

BUILD = os.environ.get("BUILD", "build")
HANG_S = 100  # for one thing to happen: a hang, not a slow machine
HANDOVERS = 4


def hand_over(*options):
    """What the program has seen of so many handovers."""
    state = tempfile.mkdtemp()
    endpoints = os.path.join(state, "endpoints.json")
    service = subprocess.Popen(
        [os.path.join(BUILD, "sandbox"), "--state", state, *options],
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    try:
        end = time.monotonic() + HANG_S
        while not os.path.exists(endpoints):
            assert service.poll() is None, "the sandbox has ended"
            assert time.monotonic() < end, "never: endpoints"
            time.sleep(0.05)
        with open(endpoints, encoding="utf-8") as file:
            urls = json.load(file)
        environment = {name: value for name, value in os.environ.items()
                       if not name.startswith("MINI_STREAM_")}
        environment.update(MINI_STREAM_WS_URL=urls["ws_url"],
                           MINI_STREAM_AUTH_URL=urls["auth_url"],
                           MINI_STREAM_CLIENT_ID="sandbox-client",
                           MINI_STREAM_CLIENT_SECRET="sandbox-secret",
                           MINI_STREAM_CA=os.path.join(state, "ca.pem"))
        out = subprocess.run(
            [os.path.join(BUILD, "test/run_handovers"), str(HANDOVERS)],
            env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            check=True, timeout=HANG_S).stdout
        return json.loads(out)
    finally:
        service.kill()
        service.wait()
        shutil.rmtree(state)


def test(options):
    seen = hand_over(*options)
    print(seen)
    assert seen["failed"] == 0, "nothing breaks"
    assert seen["not_live"] == 0, "the book is live all the time"
    assert seen["opens"] == seen["generation"] == HANDOVERS + 1, \
        "each connection takes over from the last"
    assert seen["tokens"] == 1, "one token serves for all"
    assert seen["executions"] > 0, "trades come"
    assert seen["unmarked"] == 0, "what comes twice says that it may"


def main():
    failed = 0
    tests = ((), ("--quirk", "all"))
    for options in tests:
        name = " ".join(options) or "plain"
        try:
            test(options)
            print(f"ok    {name}")
        except (AssertionError, subprocess.SubprocessError) as error:
            failed += 1
            print(f"FAIL  {name}: {error}")
    print(f"{len(tests) - failed} passed, {failed} failed")
    return failed != 0


sys.exit(main())
