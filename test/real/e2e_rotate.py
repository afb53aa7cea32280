"""A stream by a pair whose leader changes, against the sandbox: run_handovers
follows a market while its connections take turns, also with a slow caller, and
while they are killed. Its books are compared with the sandbox's of the same
time, its executions with those of a separate client.

SPDX-License-Identifier: 0BSD
"""
import decimal
import json
import os

from e2e import BUILD, Truths, check, milliseconds, run_program, sandbox_of

AT_ONCE = 8

HANDOVERS = 3
MOMENTS = 10  # the least number of books to compare


def sides_of(texts):
    return [[tuple(map(decimal.Decimal, level.split("x")))
             for level in text.split(",")] for text in texts]


def compare(lines, truths):
    """Expects books equal to the service's. Returns how many were compared."""
    compared = set()
    for line in lines:
        word, time, *sides = line.split()
        check(word == "book" and len(sides) == 2, line[:80])
        moment = milliseconds(time)
        if moment in truths:
            check(sides_of(sides) == truths[moment], f"wrong book at {time}")
            compared.add(moment)
    return len(compared)


def expect_no_loss(mode, *options):
    """Runs the program for HANDOVERS changes."""
    with sandbox_of(*options) as service, \
            Truths(service.book, ("BTCUSD",), 0.05) as truths:
        run = run_program(
            os.path.join(BUILD, "test/real/run_handovers"), str(HANDOVERS),
            mode, env=service.environment())
    check(run.returncode == 0, run)
    *lines, last = run.stdout.splitlines()
    seen = json.loads(last)
    seen["compared"] = compare(lines, truths.books["BTCUSD"])
    print(mode, seen)
    check(seen["changes"] >= HANDOVERS, "the leader changes so often")
    check(seen["not_live"] == 0, "the book is live all the time")
    check(seen["compared"] >= MOMENTS, "books are compared with the truth")
    check(seen["tokens"] == 1, "one token serves for all")
    check(seen["executions"] > 0, "trades come")
    check(seen["lost"] == 0, "none is lost")
    check(seen["unmarked"] == 0, "what comes twice says that it may")
    check(seen["failed"] >= HANDOVERS - 1 if mode == "kill" else
          seen["failed"] == 0, "connections break only if they are killed")


TESTS = [("killed", expect_no_loss, "kill", "--rate", "40"),
         ("plain", expect_no_loss, "rotate"),
         ("every quirk", expect_no_loss, "rotate", "--quirk", "all"),
         ("slow caller", expect_no_loss, "slow", "--rate", "60")]
