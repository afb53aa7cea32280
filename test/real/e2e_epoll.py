"""`epoll`, the library in another program's event loop, against the sandbox:
two streams with one token. They reconnect, use no processor time while they
wait, and end by signal.

SPDX-License-Identifier: 0BSD
"""
import contextlib
import json
import os
import re
import signal
import subprocess
import tempfile
import time

from e2e import (BUILD, HANG_S, check, environment_with, processor_s,
                 run_program, sandbox_of, sockets_of, wait_for, write_file)

EPOLL = os.path.join(BUILD, "epoll")
MARKETS = ("BTCUSD", "ETHUSD")
TOKENS = 100


@contextlib.contextmanager
def running(**faults):
    """A sandbox that starts with these faults and counts tokens."""
    faults["expires_in"] = {"value": 3600, "count": TOKENS}
    with tempfile.TemporaryDirectory() as folder:
        path = write_file(folder + "/faults.json", json.dumps(faults))
        with sandbox_of("--faults", path) as sandbox:
            yield sandbox


class Program(contextlib.AbstractContextManager):
    """A running `epoll`, with both outputs in one pipe."""

    def __init__(self, sandbox):
        self.process = subprocess.Popen(
            [EPOLL, *MARKETS], env=sandbox.environment(), text=True,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT)

    def read_until(self, pattern):
        """Reads up to the first line that matches. Returns it."""
        end = time.monotonic() + HANG_S
        for line in self.process.stdout:
            if re.fullmatch(pattern, line.rstrip("\n")):
                return line
            check(time.monotonic() < end, f"no {pattern} in time")
        raise AssertionError(f"no {pattern} before the end")

    def follow(self):
        """Reads until both markets have appeared."""
        for market in MARKETS:
            self.read_until(market + r" [0-9]+(\.[0-9]+)?")

    def end(self, number):
        """Ends it by a signal; both streams must close without an error."""
        self.process.send_signal(number)
        rest = self.process.communicate(timeout=HANG_S)[0]
        check(self.process.returncode == 0, self.process.returncode)
        for market in MARKETS:
            check(f"{market}: closed: no error\n" in rest, rest)

    def __exit__(self, *_):
        self.process.kill()
        self.process.communicate()


def ends_well(number):
    with running() as sandbox, Program(sandbox) as program:
        program.follow()
        program.end(number)
        left = sandbox.active()["expires_in"]["count"]
        check(left == TOKENS - 1, f"{TOKENS - left} tokens")


def test_while_it_connects():
    """A signal ends it before any timeout, although nothing answers."""
    with running(freeze={"at": "all"}) as sandbox, \
            Program(sandbox) as program:
        wait_for(lambda: sockets_of(program.process), "a connection")
        program.end(signal.SIGTERM)


def test_comes_back():
    """Descriptors are closed, and new ones have the same numbers."""
    with running() as sandbox, Program(sandbox) as program:
        program.follow()
        for _ in range(3):
            sandbox.set(restart={"for_ms": 300})
            program.read_until(r".*: closed: .*")
            program.follow()
            program.follow()
        program.end(signal.SIGTERM)


def test_sleeps():
    """It waits without processor time: for updates, then for nothing."""
    with running() as sandbox, Program(sandbox) as program:
        program.follow()
        begin, spent = time.monotonic(), processor_s(program.process.pid)
        time.sleep(1)
        sandbox.set(freeze={})
        time.sleep(1)
        spent = processor_s(program.process.pid) - spent
        passed = time.monotonic() - begin
        check(spent < passed / 4, f"{spent} s of processor time in {passed} s")
        sandbox.set()
        program.end(signal.SIGTERM)


def test_without_variables():
    result = run_program(EPOLL, *MARKETS, env=environment_with())
    check(result.returncode == 1 and result.stdout == "", result)
    check("MINI_STREAM_WS_URL" in result.stderr, result.stderr)


TESTS = [("sigint", ends_well, signal.SIGINT),
         ("sigterm", ends_well, signal.SIGTERM)]
