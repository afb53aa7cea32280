"""Shared by the tests of the gateway: a sandbox, a broker, the gateways and
consumers between them, and the comparisons at the end.

SPDX-License-Identifier: 0BSD
"""
import collections
import contextlib
import decimal
import http.client
import json
import os
import shutil
import tempfile
import time
from urllib.parse import quote

from e2e import (HANG_S, Sandbox, Truths, check, fixed_ports, milliseconds,
                 numbers, wait_for, write_file)
from gateway_parts import (CONSUMERS, MARKETS, Broker, Consumer, Gateway, Way,
                           token)
from nats import Nats


class Lab:
    """A sandbox, a broker, and the gateways and consumers between them."""

    def __init__(self, *options, markets=MARKETS, watched=None, every_s=0.03,
                 **broker):
        self.folder = tempfile.mkdtemp()
        self.markets = markets
        self.watched = watched or markets  # whose books are requested
        self.every_s = every_s  # between two requests
        self.gateways, self.consumers = {}, []
        self.options = (*fixed_ports(), "--rate", "20", *options)
        self.executed = collections.defaultdict(list)  # of earlier sandboxes
        self.unknown = []  # (from, to) in ms, not covered by executed
        write_file(f"{self.folder}/secret", "sandbox-secret\n", 0o600)
        os.mkdir(f"{self.folder}/broker")
        self.broker_options = broker  # of Broker

    def __enter__(self):
        with contextlib.ExitStack() as stack:
            if not os.environ.get("KEEP"):
                stack.callback(shutil.rmtree, self.folder)
            self.broker = Broker(f"{self.folder}/broker", **self.broker_options)
            stack.callback(self.broker.kill)
            self.way = Way(self.broker)
            self.start_sandbox()
            stack.callback(lambda: self.sandbox.kill())
            stack.push(self.end)
            self.truths = stack.enter_context(Truths(
                lambda market: self.sandbox.book(market), self.watched,
                self.every_s, (OSError, http.client.HTTPException)))
            self.stack = stack.pop_all()
        return self

    def __exit__(self, *error):
        self.stack.__exit__(*error)

    def end(self, error, *_):
        """Ends consumers and gateways. After an error, shows what the gateways
        said."""
        for consumer in self.consumers:
            consumer.kill()
        for gateway in self.gateways.values():
            with contextlib.suppress(OSError):
                gateway.kill()
            if error:
                print(f"---- {gateway.name}\n{gateway.said()}")

    def start_sandbox(self):
        sandbox = Sandbox(f"{self.folder}/sandbox", *self.options)
        sandbox.wait_ready()
        self.sandbox = sandbox

    def restart_sandbox(self):
        begin = time.time() * 1000
        for gateway in self.gateways.values():
            gateway.add_floor()
        self.executed = self.executions()
        self.sandbox.kill()
        self.unknown.append((begin, time.time() * 1000))
        self.start_sandbox()

    def nats(self):
        return Nats(self.broker.port)

    def gateway(self, name, **settings):
        self.gateways[name] = Gateway(self, name, **settings)
        return self.gateways[name]

    def consume(self, *markets):
        """Starts one more consumer of either kind for each market."""
        # A request for a stream that is being created can make nats-server
        # 2.9.10 crash (a nil pointer in jsMsgGetRequest).
        if self.gateways and not self.consumers:
            wait_for(lambda: any("broker: connected" in each.said()
                                 for each in self.gateways.values()),
                     "what a gateway makes at the broker")
        new = [Consumer(self.way.url, market, *command)
               for market in markets or self.watched
               for command in CONSUMERS]
        self.consumers += new
        return new

    def begin(self, *names, **settings):
        """Starts gateways of these names, and consumers, and waits until their
        books are right. Returns the time."""
        for name in names:
            self.gateway(name, **settings)
        self.consume()
        self.wait_equal()
        return time.time()

    # ---- books ----

    def compare(self):
        """Compares each book shown with the truth of its time, if known."""
        for consumer in self.consumers:
            check(consumer.process.poll() is None, f"{consumer.name} ended")
            while consumer.next < len(consumer.shown):
                shown = consumer.shown[consumer.next]
                consumer.next += 1
                true = self.truths.books[consumer.market].get(shown.time)
                if shown.live and true:
                    for side in (0, 1):
                        self.compare_side(consumer, shown, true, side)
                    consumer.compared += 1

    @staticmethod
    def compare_side(consumer, shown, true, side):
        levels = shown.side(side)
        if levels != true[side]:
            wrong = set(levels) ^ set(true[side])
            raise AssertionError(
                f"{consumer.name}: {('bids', 'asks')[side]} of epoch "
                f"{shown.epoch}, number {shown.number}: "
                f"{sorted(map(str, wrong))[:6]}")

    def wait_equal(self, moments=10, seconds=HANG_S):
        """Waits until each consumer had this number of further right books."""
        self.compare()
        before = {id(each): each.compared for each in self.consumers}

        def all_are():
            self.compare()
            return all(each.compared >= before[id(each)] + moments
                       for each in self.consumers)

        wait_for(all_are, "books that equal the truth", seconds)

    # ---- what the streams have ----

    def check_executions(self, begin, told=False, lost=False):
        """Checks that all executions since this time (s) are stored, and no
        others, and that repeats are marked. told: gateways may report gaps.
        lost: executions may be missing if all gateways report so."""
        gateways = list(self.gateways) if lost else []
        end = time.time() - 0.5
        executed = self.executions()
        there = {market: [each for each in executed[market]
                          if begin * 1000 <= each[0] <= end * 1000]
                 for market in self.markets}
        hang = time.monotonic() + HANG_S
        while True:  # some may be on their way
            published = self.published()
            if (time.monotonic() > hang or
                    not any(published[market].missing(there[market], gateways)
                            for market in self.markets)):
                break
            time.sleep(0.2)
        executed = self.executions()
        check(any(there.values()), "nothing was executed")
        for market in self.markets:
            mine = published[market]
            missing = mine.missing(there[market], gateways)
            check(not missing, f"{market}: {len(missing)} of "
                  f"{len(there[market])} since {begin * 1000:.0f} missing, "
                  f"{missing[:5]} to {missing[-1:]}; {mine.told}")
            invented = [each for each in mine.invented(executed[market])
                        if not any(first <= each[0][0] <= last
                                   for first, last in self.unknown)]
            check(not invented, f"{market}: {invented}")
            check(told or lost or not mine.told, f"{market}: {mine.told}")
            self.check_gaps(market, mine.told)
        return published

    def check_lost(self, begin):
        """The same if the only gateway lost some: it reports exactly those."""
        published = self.check_executions(begin, lost=True)
        executed = self.executions()
        lost = 0
        for market in self.markets:
            for kind, _, first, last, count in published[market].told:
                check(kind == "lost", kind)
                gone = [each for each in executed[market]
                        if first <= each[0] <= last
                        and not published[market].counts[each]]
                check(len(gone) == count, f"{count} told, {len(gone)} gone")
                check(first == min(each[0] for each in gone), "the first one")
                check(last == max(each[0] for each in gone), "the last one")
                lost += count
        check(lost > 0, "nothing was lost")

    def ends_equal(self, begin, sessions=False, **told):
        """Checks that books are right again, and all that was published."""
        self.wait_equal()
        self.check_executions(begin, **told)
        self.check_books()
        if sessions:
            self.check_sessions()

    def check_sessions(self):
        """Checks that no gateway ever lost its connection to the service."""
        for gateway in self.gateways.values():
            said = gateway.said()
            check(said.count("open - generation") == 1, "another session")
            check("closed" not in said, "a session was closed")

    def check_gaps(self, market, told):
        """Checks that no gap begins long before its cause, or after its end."""
        for each in told:
            if each.kind == "gap":
                # Each time is cut to milliseconds.
                floor = self.gateways[each.gateway].floor_at(each.last) - 2
                check(floor <= each.first <= each.last,
                      f"{market}: {each} begins {floor - each.first:.0f} ms "
                      "too early")

    def check_books(self):
        """Checks all that any gateway has published of a book: epochs never
        decrease; numbers rise by one, or by more with a whole book."""
        at = {}
        with self.nats() as nats:
            messages = nats.stored("mst_book")
        for message in messages:
            line = json.loads(message.data)
            epoch, number = line["epoch"], line["number"]
            before = at.get(message.subject, (0, 0))
            check((epoch, number) > before,
                  f"{message}: after {before}")
            check((epoch, number) == (before[0], before[1] + 1)
                  or line["type"] in ("sample", "book"),
                  f"{message}: after {before}")
            at[message.subject] = epoch, number
        return messages

    def executions(self):
        """All executions: by market, a list of (ms, price, amount)."""
        executed = collections.defaultdict(list, {
            market: list(known) for market, known in self.executed.items()})
        for market in self.markets:
            executed[market] += self.true_executions(market)
        return executed

    def true_executions(self, market, more=""):
        """A market's executions according to the running sandbox."""
        truth = self.sandbox.get("/sandbox/truth/executions?market="
                                 + quote(market, safe="") + more)
        check(not truth["truncated"], "the reference is too short")
        return [numbers(each) for each in truth["executions"]]

    def published(self):
        """The stored executions: a Published for each market."""
        with self.nats() as nats:
            found = {token(market): Published() for market in self.markets}
            for message in nats.stored("mst_execution"):
                found[message.subject.split(".")[2]].add(message)
        return {market: found[token(market)] for market in self.markets}


# A report that executions from first to last (ms) may be missing.
Told = collections.namedtuple("Told", "kind gateway first last count")


class Published:
    """A market's stream of executions."""

    def __init__(self):
        self.counts = collections.Counter()  # of (ms, price, amount)
        self.ids = set()
        self.delays = []  # ms from execution to reception
        self.repeats = 0
        self.told = []  # Told

    def add(self, message):
        line = json.loads(message.data)
        identifier = message.headers["Nats-Msg-Id"]
        if identifier in self.ids:
            check(line.get("repeat"), f"{identifier} twice, without a mark")
            self.repeats += 1
            return
        self.ids.add(identifier)
        if line["type"] == "execution":
            self.add_execution(line)
        elif line["type"] == "gap":
            received = milliseconds(line["received"])
            self.told.append(Told("gap", line["gateway"],
                                  received - line["ms"], received, None))
        else:
            check(line["type"] == "lost", message)
            self.told.append(Told("lost", line["gateway"],
                                  milliseconds(line["from"]),
                                  milliseconds(line["to"]), line["count"]))

    def add_execution(self, line):
        self.delays.append(milliseconds(line["received"])
                           - milliseconds(line["time"]))
        self.counts[milliseconds(line["time"]), decimal.Decimal(line["price"]),
                    decimal.Decimal(line["amount"])] += 1

    def invented(self, executed):
        """Executions that are stored more often than they happened."""
        return list((self.counts - collections.Counter(executed)).items())

    def missing(self, executed, gateways):
        """Those of these executions that are neither stored nor reported as
        missing by every gateway."""
        return [each for each, count in collections.Counter(executed).items()
                if self.counts[each] < count and not (gateways and all(
                    self.is_told(gateway, each[0]) for gateway in gateways))]

    def is_told(self, gateway, ms):
        return any(each.gateway == gateway and each.first <= ms <= each.last
                   for each in self.told)
