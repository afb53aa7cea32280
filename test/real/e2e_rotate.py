"""A stream by a pair whose leader changes, against the sandbox: run_handovers
follows a market while its connections take over from one another, behind a
slow caller, and while they are killed. Its books are compared with the
sandbox's at like times, its executions with those of a client of their own.

SPDX-License-Identifier: 0BSD
"""
import decimal
import json
import os
import threading

from e2e import BUILD, check, milliseconds, run_program, sandbox_of

AT_ONCE = 8

HANDOVERS = 4
MOMENTS = 10  # at which the book is compared, at least


class Truths(threading.Thread):
    """The service's book of BTCUSD, at many times."""

    def __init__(self, service):
        super().__init__()
        self.api = service.connection()
        self.books = {}
        self.over = threading.Event()

    def run(self):
        while not self.over.wait(0.02):
            self.api.request("GET", "/sandbox/truth?market=BTCUSD")
            book = json.loads(self.api.getresponse().read())
            self.books[milliseconds(book["time"])] = [
                [(decimal.Decimal(level["price"]),
                  decimal.Decimal(level["amount"])) for level in book[side]]
                for side in ("bids", "asks")]

    def end(self):
        self.over.set()
        self.join()


def sides_of(texts):
    return [[tuple(map(decimal.Decimal, level.split("x")))
             for level in text.split(",")] for text in texts]


def compare(lines, truths):
    """How many of the books were compared: each is as the service's was."""
    compared = set()
    for line in lines:
        word, time, *sides = line.split()
        check(word == "book" and len(sides) == 2, line[:80])
        moment = milliseconds(time)
        if moment in truths:
            check(sides_of(sides) == truths[moment], f"wrong book at {time}")
            compared.add(moment)
    return len(compared)


def hand_over(mode, *options):
    """What the program has seen of so many handovers."""
    with sandbox_of(*options) as service:
        truths = Truths(service)
        truths.start()
        try:
            run = run_program(
                os.path.join(BUILD, "test/real/run_handovers"), str(HANDOVERS),
                mode, env=service.environment())
        finally:
            truths.end()
    check(run.returncode == 0, run)
    *lines, last = run.stdout.splitlines()
    seen = json.loads(last)
    seen["compared"] = compare(lines, truths.books)
    return seen


def expect_no_loss(mode, *options):
    seen = hand_over(mode, *options)
    print(mode, seen)
    check(seen["changes"] >= HANDOVERS, "the leader changes so often")
    check(seen["not_live"] == 0, "the book is live all the time")
    check(seen["compared"] >= MOMENTS, "books are compared with the truth")
    check(seen["tokens"] == 1, "one token serves for all")
    check(seen["executions"] > 0, "trades come")
    check(seen["lost"] == 0, "none is lost")
    check(seen["unmarked"] == 0, "what comes twice says that it may")
    return seen


def rotations(mode, *options):
    seen = expect_no_loss(mode, *options)
    check(seen["failed"] == 0, "nothing breaks")


def test_plain():
    rotations("rotate")


def test_every_quirk():
    rotations("rotate", "--quirk", "all")


def test_slow_caller():
    rotations("slow", "--rate", "60")


def test_killed():
    seen = expect_no_loss("kill", "--rate", "40")
    check(seen["failed"] >= HANDOVERS - 1, "connections break")
