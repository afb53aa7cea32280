#!/usr/bin/env python3
"""Two gateways, a broker and consumers, and nothing goes wrong: books equal the
sandbox's, executions are those of the sandbox, who joins late has the same.

Usage: normal.py [PART_OF_A_TEST'S_NAME...]
BUILD: where the programs are (default: build).
Ends with "N passed, N failed"; fails unless all passed.
SPDX-License-Identifier: 0BSD
"""
import json
import os
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../lib"))
from e2e import check, run_all, tests_of
from gateway import Lab


def test_books_and_executions():
    with Lab("--quirk", "all") as lab:
        lab.gateway("a")
        lab.gateway("b")
        lab.consume()
        lab.wait_equal(30)
        begin = time.time()
        lab.consume()  # who joins late
        lab.wait_equal(30)
        published = lab.check_executions(begin)
        check(not any(each.repeats for each in published.values()), "repeats")
        lab.check_books()


def test_who_missed_something():
    """Consumers come back, and what they did not see is gone."""
    with Lab() as lab:
        lab.gateway("a")
        lab.consume()
        lab.wait_equal()
        lab.way.cut()
        time.sleep(2)
        with lab.nats() as nats:
            for market in lab.markets:
                answer = nats.api("STREAM.PURGE.mst_book", keep=1,
                                  filter=f"mst.book.{market}")
                check(answer["success"], answer)
        before = [len(consumer.shown) for consumer in lab.consumers]
        lab.way.mend()
        lab.wait_equal()
        for consumer, count in zip(lab.consumers, before):
            check(not consumer.shown[count].live,
                  f"{consumer.name} uses a book that has missed something")


def test_names_of_markets():
    """What has a meaning in subjects, keys and topics, and what is as long as
    a name can be; none is taken for another."""
    names = ("A", "=41", "a.b", "a/b", "*", ">", "a+#b", "$JS", "x" * 31,
             "^~" * 15)
    with tempfile.NamedTemporaryFile("w") as script:
        json.dump({"markets": [{"symbol": name, "price": f"{100 + i}.00"}
                               for i, name in enumerate(names)]}, script)
        script.flush()
        with Lab("--script", script.name, markets=names) as lab:
            lab.gateway("a")
            lab.consume(*names[:4], names[-1])
            lab.wait_equal()
            since = time.time()
            lab.consume(*names[4:-1])  # late
            lab.wait_equal()
            lab.check_executions(since)
            lab.check_books()


if __name__ == "__main__":
    sys.exit(run_all(tests_of(globals()), len(tests_of(globals()))))
