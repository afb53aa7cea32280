"""Streams of the sandbox on real sockets with real TLS, recorded by run_record.
Their replays have byte for byte the same events.

SPDX-License-Identifier: 0BSD
"""
import functools
import os
import pathlib
import signal
import subprocess
import time

from e2e import (BUILD, HANG_S, Sandbox, check, fixed_ports, run_program,
                 sandbox_of, wait_for)

PROGRAM = os.path.join(BUILD, "test/real/run_record")
EVENTS = 2000


class Recorded(Sandbox):
    """A sandbox, and the program that records what it sends."""

    def __init__(self, state, *options):
        super().__init__(state, *fixed_ports(), *options)
        self.file = os.path.join(state, "stream.rec")
        self.out = os.path.join(state, "events")

    def start(self, mode, secret="sandbox-secret", events=EVENTS):
        with open(self.out, "wb") as out:
            return subprocess.Popen(
                [PROGRAM, "record", self.file, str(events), mode],
                env=self.environment(secret), stdin=subprocess.DEVNULL,
                stdout=out)

    def restart(self):
        """Kills the service and starts it again a second later."""
        self.kill()
        time.sleep(1)
        super().restart()

    def events(self):
        return pathlib.Path(self.out).read_bytes()

    def wait_for(self, word, times):
        wait_for(lambda: self.events().count(word) >= times, word)

    def play(self):
        run = run_program(PROGRAM, "play", self.file, text=False)
        return run.returncode, run.stdout, run.stderr.decode()

    def expect_same(self):
        """Expects two replays with the same events. Returns them."""
        events = self.events()
        for _ in range(2):
            status, replayed, text = self.play()
            check(status == 0, text)
            check(text == "", text)
            check(replayed == events, "the same events")
        return events.decode()


recorded_of = functools.partial(sandbox_of, kind=Recorded)


def record(mode, *options, **more):
    with recorded_of(*options) as recorded:
        check(recorded.start(mode, **more).wait(HANG_S) == 0, "recorded")
        return recorded.expect_same()


def test_clean():
    check(record("client", "--rate", "200").count("part ") > 100, "parts")


def test_pair():
    events = record("pair", "--rate", "100", events=2 * EVENTS)
    check("leads" in events, "it rotates")


def test_restarts():
    with recorded_of("--rate", "50") as recorded:
        program = recorded.start("client")
        for times in (1, 2):
            recorded.wait_for(b"part ", 50 * times)
            recorded.restart()
            recorded.wait_for(b": open", times + 1)
        check(program.wait(HANG_S) == 0, "recorded")
        events = recorded.expect_same()
        check("again in" in events, "it retries")


def test_wrong_secret():
    check("TOKEN_REFUSED" in record("client", secret="nonsense-secret",
                                    events=1), "refused")


def test_killed():
    """All events up to about a second before are there."""
    with recorded_of("--rate", "100") as recorded:
        program = recorded.start("client", events=0)
        recorded.wait_for(b"part ", 500)
        program.send_signal(signal.SIGKILL)
        program.wait(HANG_S)
        events = recorded.events()
        status, replayed, text = recorded.play()
        check(status == 0 and text == "cut\n", text)
        check(replayed.count(b"part ") > 200, "most of it is there")
        least = min(len(events), len(replayed))
        check(events[:least] == replayed[:least], "the same events")


TESTS = [("much at a time", record, "fast", "--rate", "1000"),
         ("every quirk", record, "client", "--rate", "100", "--quirk", "all"),
         ("standby", record, "standby", "--rate", "100")]
