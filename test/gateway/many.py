"""Many markets through two gateways: each book at the broker equals the
sandbox's, level by level, and no execution is missing. MARKETS: their number
(default: 400).

SPDX-License-Identifier: 0BSD
"""
import collections
import decimal
import json
import os
import time

from e2e import check, milliseconds, symbols, wait_for
from gateway import Lab
from gateway_parts import token

AT_ONCE = 1

COUNT = int(os.environ.get("MARKETS", "400"))
MARKETS = symbols(COUNT)
SECONDS = 6  # in which a market has some six executions


class Book:
    """A market's book, built from its messages by the rules for consumers; Lab
    checks their numbers."""

    def __init__(self):
        self.sides = {"bids": {}, "asks": {}}
        self.live = False

    def take(self, line):
        if line["type"] == "sample":
            self.live = True
            self.sides = {"bids": {}, "asks": {}}
        elif line["type"] == "book":
            self.live = line["state"] == "live"
        for side, levels in self.sides.items():
            for price, amount in map(lambda level: map(decimal.Decimal, level),
                                     line.get(side, ())):
                if amount:
                    levels[price] = amount
                else:
                    levels.pop(price, None)

    def levels(self):
        return [sorted(self.sides["bids"].items(), reverse=True),
                sorted(self.sides["asks"].items())]


def compare(messages, truths):
    """The number of books of each market that equal the truth."""
    names = {token(market): market for market in MARKETS}
    books = collections.defaultdict(Book)
    compared = collections.Counter()
    for message in messages:
        market = names[message.subject.split(".")[2]]
        line = json.loads(message.data)
        books[market].take(line)
        true = truths[market].get(milliseconds(line["time"])
                                  if line.get("time") else None)
        if true and books[market].live:
            check(books[market].levels() == true,
                  f"{market}, number {line['number']}")
            compared[market] += 1
    return compared


def check_all_books(lab):
    """If two changes became one, no message may have the truth's time: then the
    truth is requested again."""
    for _ in range(5):
        compared = compare(lab.check_books(), lab.truths.books)
        missing = set(MARKETS) - set(compared)
        print(f"{sum(compared.values())} books, of {len(compared)} markets")
        if not missing:
            break
        for market in missing:
            lab.truths.ask(market)
        time.sleep(1)
    check(not missing, f"not compared: {missing}")


def test_all_of_them():
    with Lab("--markets", str(COUNT), "--rate", "4", markets=MARKETS,
             watched=(MARKETS[0], MARKETS[-1])) as lab:
        lab.begin("a", "b")
        with lab.nats() as nats:
            wait_for(lambda: nats.api("STREAM.INFO.mst_execution")["state"][
                "num_subjects"] == COUNT, "executions of each")
        since = time.time()
        for market in 3 * MARKETS:
            lab.truths.ask(market)
        time.sleep(max(0.0, since + SECONDS - time.time()))
        lab.wait_equal(3)
        # On a busy machine the sandbox may end connections that lag.
        executed = lab.check_executions(since, lost=True).values()
        print(f"{sum(sum(each.counts.values()) for each in executed)} "
              "executions")
        check_all_books(lab)
