#!/usr/bin/env python3
"""Runs the full stack for an hour: a sandbox with 100 markets, two gateways, a
broker and consumers, at 10,000 messages a second per gateway, with a fault
every half minute. Consumers' books must equal the sandbox's, each execution
must be stored or reported missing, and no process may grow, except those in
Node, whose heap has a limit.

Usage: soak.py
SOAK_SECONDS: duration (default: 3600; with SHORT=1 90); growth counts from 1200
on. SOAK_RATE: changes a second of each book (default: 75). SEED: of the faults
(default: the time).
SPDX-License-Identifier: 0BSD
"""
import collections
import os
import random
import statistics
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../e2e"))
from e2e import check, figure, free_port, memory_kb, symbols
from gateway import Lab, Published
from gateway_parts import token

SECONDS = int(os.environ.get("SOAK_SECONDS",
                             90 if os.environ.get("SHORT") else 3600))
RATE = os.environ.get("SOAK_RATE", "75")
SEED = int(os.environ.get("SEED", time.time()))
ROUND_S = 30
FILLED_S = 1200  # until then, memory may grow
MARKETS = symbols(100)
WATCHED = MARKETS[:2]
LATE_MS = 15000  # younger executions may not have arrived yet
# Consumers in Node end if their heap is full. The resident size of such a
# process says little: it can grow while the heap does not.
os.environ["NODE_OPTIONS"] = "--max-old-space-size=24 --max-semi-space-size=1"

# Faults of the service, each for a while or once.
FAULTS = (
    {"close": {"code": 1001, "reason": "restart"}},
    {"reset": {"at": "stream"}},
    {"reset": {"at": "stream", "after_bytes": 100000, "count": 3}},
    {"half_open": {"at": "stream"}},
    {"restart": {"for_ms": 2000}},
    {"freeze": {"for_ms": 3000}},
    {"latency": {"ms": 200, "for_ms": 5000}},
    {"slice": {"bytes": 50, "for_ms": 500}},
    {"revoke": {}, "close": {"code": 1008, "reason": "token revoked"},
     "token": {"status": 503, "count": 2}},
    {"upgrade": {"status": 503, "retry_after": 2}, "close": {"code": 1011}},
    {"garbage": {}},
    {"no_answer": {"count": 5}, "close": {"code": 1001, "reason": ""}},
    {"internal_error": {"count": 5}, "close": {"code": 1001, "reason": ""}},
    {"no_heartbeat": {"for_ms": 15000}},
)


class Executions:
    """The executions of the broker's stream as they arrive, compared with the
    sandbox's up to compared_ms."""

    def __init__(self, lab):
        self.lab = lab
        self.lock = threading.Lock()
        self.markets = {token(market): Published() for market in lab.markets}
        self.compared_ms = time.time() * 1000
        self.stored = self.told = self.gaps = self.repeats = 0
        self.ending = False
        self.nats = lab.nats()
        self.nats.subscribe("_INBOX.soak")
        made = self.nats.api("CONSUMER.CREATE.mst_execution",
                             stream_name="mst_execution", config={
                                 "deliver_subject": "_INBOX.soak",
                                 "ack_policy": "none",
                                 "deliver_policy": "all"})
        check("error" not in made, made)
        self.thread = threading.Thread(target=self.read)
        self.thread.start()

    def read(self):
        while not self.ending:
            message = self.nats.next(1)
            if message:
                with self.lock:
                    self.markets[message.subject.split(".")[2]].add(message)

    def compare(self):
        """Compares what was executed up to LATE_MS ago and to the times up to
        which the gateways have reported what they missed; then forgets it."""
        until_ms = max(self.compared_ms, min(
            time.time() * 1000 - LATE_MS,
            *(each.seen() for each in self.lab.gateways.values())))
        time.sleep(1)  # until their reports are read
        since = time.strftime("%Y-%m-%dT%H:%M:%SZ",
                              time.gmtime(self.compared_ms / 1000))
        for market in self.lab.markets:
            there = [each for each in self.lab.true_executions(
                market, f"&since={since}")
                     if self.compared_ms <= each[0] < until_ms]
            with self.lock:
                self.compare_market(market, there, until_ms)
        self.compared_ms = until_ms

    def compare_market(self, market, there, until_ms):
        mine = self.markets[token(market)]
        missing = mine.missing(there, list(self.lab.gateways))
        check(not missing, f"{market}: {len(missing)} of {len(there)} missing, "
              f"{missing[:5]}; {mine.told}")
        past = collections.Counter({
            each: count for each, count in mine.counts.items()
            if each[0] < until_ms})
        truth = collections.Counter(there)
        stored = sum((past & truth).values())
        self.stored += stored
        self.told += len(there) - stored
        invented = past - truth
        check(not any(each[0] >= self.compared_ms for each in invented),
              f"{market}: never executed: {list(invented)[:5]}")
        mine.counts -= past
        self.gaps += sum(each.last < until_ms for each in mine.told)
        mine.told = [each for each in mine.told if each.last >= until_ms]
        self.repeats += mine.repeats
        mine.repeats = 0
        mine.delays.clear()

    def end(self):
        self.ending = True
        self.thread.join()


def wrong_gateway(lab, moments):
    """Kills one gateway; the other one keeps running."""
    lab.gateways["a"].kill()
    time.sleep(moments.uniform(0, 3))
    lab.gateways["a"].start()


def wrong_way(lab, moments):
    way = moments.choice([each.way for each in lab.gateways.values()])
    way.cut()
    time.sleep(moments.uniform(0, 4))
    way.mend()


def wrong_broker(lab, moments):
    lab.broker.pause()
    time.sleep(moments.uniform(0, 3))
    lab.broker.go_on()


def wrong_service(lab, moments):
    lab.sandbox.set(**moments.choice(FAULTS))
    time.sleep(6)
    lab.sandbox.set()


WRONG = (wrong_gateway, wrong_way, wrong_broker) + 5 * (wrong_service,)


def forget(lab):
    """Drops the compared books."""
    for consumer in lab.consumers:
        del consumer.shown[:max(0, consumer.next - 1)]
        consumer.next = min(1, len(consumer.shown))
    for books in lab.truths.books.values():
        for each in [each for each in list(books)
                     if each < time.time() * 1000 - 60000]:
            del books[each]


def growth(sizes):
    """(growth from the second quarter to the last, size in the second)"""
    quarter = max(1, len(sizes) // 4)
    before = statistics.median(sizes[quarter:2 * quarter] or sizes[:1])
    return statistics.median(sizes[-quarter:]) - before, before


def run(lab, port):
    moments = random.Random(SEED)
    executions = Executions(lab)
    sizes = collections.defaultdict(list)
    processes = {"sandbox": lab.sandbox.process, "gateway":
                 lab.gateways["b"].process,
                 **{each.name: each.process for each in lab.consumers
                    if ".mjs" not in each.name}}
    rounds = 0
    begin, first = time.monotonic(), figure(port, "messages_total")
    try:
        while time.monotonic() - begin < SECONDS:
            end = time.monotonic() + ROUND_S
            what = moments.choice(WRONG)
            print(f"{time.monotonic() - begin:6.0f} s  "
                  f"{what.__name__.replace('_', ' ')}", flush=True)
            what(lab, moments)
            lab.wait_equal(5, 120)
            executions.compare()
            forget(lab)
            rounds += 1
            for name, process in processes.items():
                sizes[name].append(memory_kb(process.pid))
            time.sleep(max(0, end - time.monotonic()))
        last_ms = time.time() * 1000
        while executions.compared_ms < last_ms:
            check(time.time() * 1000 < last_ms + 120000,
                  "the gateways do not say what they have seen")
            executions.compare()
    finally:
        executions.end()
    took = time.monotonic() - begin
    rate = (figure(port, "messages_total") - first) / took
    worst, leaks = 0, []
    for name, each in sizes.items():
        grown, before = growth(each)
        worst = max(worst, 100 * grown / before)
        print(f"{name}: {each[0]} kB at first, {each[-1]} kB at last, "
              f"{before:.0f} in the second quarter, {grown:+.0f} in the last")
        if grown > 0.02 * before + 1024:
            leaks.append(name)
    books = sum(each.compared for each in lab.consumers)
    print(f"{took:.0f} s at {rate:,.0f} messages a second, SEED={SEED}: "
          f"{rounds} faults, {books:,} books equal, {executions.stored:,} "
          f"executions stored, {executions.told:,} told to be missing by both "
          f"gateways ({executions.gaps:,} gaps, {executions.repeats:,} "
          f"repeats), memory {worst:+.1f} % at most from the second quarter "
          "to the last")
    # At first, executions and queues fill up to their limits.
    check(not leaks or SECONDS < FILLED_S, f"grown: {leaks}")
    return rate


def main():
    port = free_port()
    with Lab("--rate", RATE, "--markets", str(len(MARKETS)),
             "--executions", "400000", markets=MARKETS, watched=WATCHED,
             every_s=0.2) as lab:
        lab.gateway("b", stream=f"metrics = {port}\n")
        lab.gateway("a")
        for each in lab.gateways.values():
            each.until("open - ")
        lab.consume()
        lab.wait_equal(5, 60)
        time.sleep(5)
        return run(lab, port) < 10000


if __name__ == "__main__":
    sys.exit(main())
