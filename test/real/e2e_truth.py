"""The books that mini-stream shows, compared level by level with the sandbox's
own books of the same time: with quirks, with small arrays, with a service that
is killed, and with one that loses updates.

SPDX-License-Identifier: 0BSD
"""
import bisect
import collections
import contextlib
import decimal
import re
import time

from e2e import FOUR_MARKETS as MARKETS
from e2e import HANG_S, Reader, check, fixed_ports, milliseconds, sandbox_of

AT_ONCE = 8

MOMENTS = 40  # the least number of books to compare, for each market

# The library's rule: a book is in doubt if it disagrees with this number of
# tops of book in a row, over this time.
DISAGREEMENTS = 3
DISAGREEMENT_MS = 2000

BOOK_LINE = re.compile(
    r"(?P<line_time>\S+) market_data (?P<market>\S+) "
    r"(?P<kind>snapshot|update|aborted) bids=\d+ asks=\d+ best=\S+ "
    r"(?P<state>empty|building|live|stale)(?: \([a-z ]+\))?"
    r"(?P<flags>(?: crossed| thin| disagrees| backward| time step)*)"
    r"(?: depth_time=(?P<time>\S+) depth_bids=(?P<bids>\S+) "
    r"depth_asks=(?P<asks>\S+))?\n")
TOP_LINE = re.compile(
    r"(?P<time>\S+) market_data\.top_of_book (?P<market>\S+) bid=(?P<bid>\S+) "
    r"bid_amount=(?P<bid_amount>\S+) ask=(?P<ask>\S+) "
    r"ask_amount=(?P<ask_amount>\S+)\n")
OPEN_LINE = re.compile(r"\S+ open - generation (?P<generation>\d+)\n")
CLOSED_LINE = re.compile(r"\S+ closed - .*\n")

Level = collections.namedtuple("Level", "price amount")
# The whole book of a market at a time.
Truth = collections.namedtuple("Truth", "market time sides")


def level(price, amount):
    return Level(decimal.Decimal(price), decimal.Decimal(amount))


def truth_of(service, market):
    book = service.book(market)
    return Truth(market, milliseconds(book["time"]), [
        [level(each["price"], each["amount"]) for each in book[side]]
        for side in ("bids", "asks")])


# ---- The client ----

class Book:
    """A line of market_data: the client's book after that message."""

    def __init__(self, match):
        self.market = match["market"]
        self.kind = match["kind"]
        self.live = match["state"] == "live"
        self.flags = frozenset(match["flags"].split())
        check(self.live == (match["time"] is not None),
              "depth is shown of a live book, and of no other")
        if self.live:
            self.time = milliseconds(match["time"])
            self.texts = match["bids"], match["asks"]

    def sides(self):
        return [[level(*each.split("x")) for each in text.split(",")]
                if text != "-" else [] for text in self.texts]

    def best(self):
        """Price and amount of both best levels, or None."""
        return [level(*text.split(",", 1)[0].split("x"))
                if text != "-" else None for text in self.texts]

    def is_crossed(self):
        bid, ask = self.best()
        return bool(bid and ask) and bid[0] >= ask[0]


class Top:
    """A line of market_data.top_of_book."""

    def __init__(self, match):
        self.market = match["market"]
        self.time = milliseconds(match["time"])
        self.best = [level(match[side], match[side + "_amount"])
                     if match[side] != "-" else None
                     for side in ("bid", "ask")]


class Tool(Reader):
    """A running mini-stream, and all its lines in order."""

    def __init__(self, service, levels, markets):
        self.generation = 0
        self.closed = 0
        self.closings = ""
        self.lines = []  # Book and Top, in order
        # By (market, generation): live books, their times, tops by time.
        self.books = collections.defaultdict(list)
        self.times = collections.defaultdict(list)
        self.tops = collections.defaultdict(dict)
        self.error = None
        super().__init__(service.stream(
            f"--depth={levels}", f"--levels={levels}", *markets))

    def read(self):
        try:
            super().read()
        except Exception as error:  # pylint: disable=broad-except
            self.error = error
            self.process.kill()

    def take(self, line):
        # The books show a gap as well. The signal may cut the last line.
        if " gap - " in line or not line.endswith("\n"):
            return
        if " market_data " in line:
            match = BOOK_LINE.fullmatch(line)
            check(match, f"line {line[:200]!r}")
            self.take_book(Book(match))
        elif " market_data.top_of_book " in line:
            match = TOP_LINE.fullmatch(line)
            check(match, f"line {line!r}")
            top = Top(match)
            self.tops[top.market, self.generation][top.time] = top
            self.lines.append(top)
        elif OPEN_LINE.fullmatch(line):
            self.generation = int(OPEN_LINE.fullmatch(line)["generation"])
        elif CLOSED_LINE.fullmatch(line):
            self.closed += 1
            self.closings += line

    def take_book(self, book):
        if book.live:
            key = book.market, self.generation
            check(self.books[key] or book.kind == "snapshot",
                  "a connection's first live book is its snapshot")
            check(not self.times[key] or self.times[key][-1] <= book.time,
                  "a book's time never goes back")
            self.books[key].append(book)
            self.times[key].append(book.time)
        self.lines.append(book)


# ---- Comparisons ----

class Run(contextlib.ExitStack):
    """A service, a client, and the comparisons between them."""

    def __init__(self, options, levels=1000, markets=MARKETS, loses=False):
        super().__init__()
        self.levels = levels
        self.markets = markets
        self.loses = loses
        self.pending = []
        self.compared = collections.Counter()
        self.end = time.monotonic() + HANG_S
        self.service = self.enter_context(sandbox_of(*fixed_ports(), *options))
        try:
            self.tool = self.enter_context(Tool(self.service, levels, markets))
        except BaseException:
            self.close()
            raise

    def alive(self, what):
        if self.tool.error:
            raise self.tool.error
        check(self.tool.process.poll() is None, "mini-stream has ended")
        check(time.monotonic() < self.end, f"never: {what}")

    def follow(self, condition, what):
        """Compares until the condition holds."""
        while not condition():
            self.alive(what)
            for market in self.markets:
                self.pending.append((self.tool.generation,
                                     truth_of(self.service, market)))
            time.sleep(0.01)
            self.pending = [each for each in self.pending
                            if not self.compare(*each)]

    def follow_all(self):
        self.compared.clear()
        self.follow(lambda: all(self.compared[market] >= MOMENTS
                                for market in self.markets), "moments")

    def check_closings(self):
        """On a busy machine the service may find its reader too slow. It then
        cuts the connection if its close frame is not read in time either."""
        for line in self.tool.closings.splitlines():
            check("reads too slowly" in line or "on request" in line or
                  "without close_notify" in line, line)

    def compare(self, generation, truth):
        """Compares a truth. Returns False if the client is not as far yet."""
        key = truth.market, generation
        books, times = self.tool.books[key], self.tool.times[key]
        if generation < self.tool.generation:
            return True
        first = bisect.bisect_left(times, truth.time)
        if first == len(times):
            return False
        same = bisect.bisect_right(times, truth.time)
        for book in books[first:same]:
            self.compare_book(book, truth)
        top = self.tool.tops[key].get(truth.time)
        check(not top or top.best == [side[0] for side in truth.sides],
              f"top of {truth.market} at {truth.time}")
        if first == same and first > 0 and not self.loses:
            check(books[first].kind == "snapshot",
                  f"{truth.market} has no book of {truth.time}, and goes on")
        return True

    def compare_book(self, book, truth):
        if self.loses and book.kind != "snapshot":
            return
        for name, shown, true in zip(("bids", "asks"), book.sides(),
                                     truth.sides):
            where = f"{name} of {truth.market} at {truth.time}"
            check(shown == true[:len(shown)],
                  f"{where}: wrong levels "
                  f"{[str(e) for e in set(shown) ^ set(true[:len(shown)])]}")
            if self.levels >= len(true):
                check(len(shown) == len(true), f"{where}: {len(shown)} levels")
            elif "thin" not in book.flags:
                check(len(shown) >= min(self.levels // 4, len(true)),
                      f"{where}: {len(shown)} levels, and not thin")
        self.compared[truth.market] += 1

    def finish(self):
        """Checks the rules that hold for every run."""
        check(self.tool.stop() == 0, "exit status of mini-stream")
        if self.tool.error:
            raise self.tool.error
        for book in self.live_books():
            check(("crossed" in book.flags) == book.is_crossed(),
                  f"{book.market}: {set(book.flags)}, {book.best()}")
        for book in self.tool.lines:
            if isinstance(book, Book) and not self.loses:
                check("disagrees" not in book.flags,
                      f"{book.market}: disagrees without a reason")
                check(book.kind != "aborted", f"{book.market}: aborted")

    def live_books(self):
        return [line for line in self.tool.lines
                if isinstance(line, Book) and line.live]

    def crossed(self):
        """The number of crossed books."""
        return sum(book.is_crossed() for book in self.live_books())

    def resynced(self, flag):
        """The number of books with this flag that a snapshot followed."""
        count, flagged = 0, set()
        for book in self.live_books():
            if book.kind == "snapshot" and book.market in flagged:
                count += 1
                flagged.remove(book.market)
            elif flag in book.flags:
                flagged.add(book.market)
        return count


class Doubt:
    """Checks the flag "disagrees" by the rule above, for one market's lines.

    The service loses updates, never tops. So if an update near the top is lost,
    the book disagrees with the next top, and the count begins."""

    def __init__(self):
        self.best = None
        self.tops = 0  # tops in a row that disagreed
        self.since = self.last = None  # times of the first and the last

    def take(self, line):
        if isinstance(line, Top):
            self.take_top(line)
        elif line.live:
            self.take_book(line)

    def take_top(self, top):
        if self.best is None or self.best == top.best:
            self.tops = 0
            return
        if self.tops == 0:
            self.since = top.time
        self.tops += 1
        self.last = top.time

    def take_book(self, book):
        if book.kind == "snapshot":
            self.tops = 0
            check("disagrees" not in book.flags, "a fresh book is not in doubt")
        lasting = self.last - self.since if self.tops else 0
        # Lines have times in whole milliseconds: one more may have passed.
        if self.tops >= DISAGREEMENTS and lasting > DISAGREEMENT_MS:
            check("disagrees" in book.flags,
                  f"{book.market} is wrong for {lasting} ms, and shows it not")
        if "disagrees" in book.flags:
            check(self.tops >= DISAGREEMENTS and lasting >= DISAGREEMENT_MS,
                  f"{book.market} is in doubt after {lasting} ms")
        self.best = book.best()


# ---- Tests ----

def test_plain():
    with Run(("--rate", "50")) as run:
        run.follow_all()
        run.finish()
        run.check_closings()


def test_every_quirk():
    with Run(("--rate", "50", "--quirk", "all")) as run:
        run.follow(lambda: run.crossed() > 20, "crossed books")
        run.follow_all()
        run.finish()


def test_small_books():
    """Full sides, dropped levels, and a new snapshot when few are left."""
    with Run(("--rate", "400"), levels=20) as run:
        run.follow_all()
        run.follow(lambda: run.resynced("thin") >= 2, "thin")
        run.follow_all()
        run.finish()
        run.check_closings()


def test_small_books_with_every_quirk():
    with Run(("--rate", "200", "--quirk", "all"), levels=20) as run:
        run.follow_all()
        run.finish()


def test_service_killed():
    """Updates before the next snapshot do not change the old book."""
    with Run(("--rate", "50", "--quirk", "all")) as run:
        run.follow_all()
        run.service.kill()
        while run.tool.closed == 0:
            run.alive("the connection's end")
            time.sleep(0.01)
        run.service.restart()
        run.follow(lambda: run.tool.generation > 1, "another connection")
        run.follow_all()
        run.finish()


def test_lost_updates():
    """A wrong level cannot be noticed until it is the best. Then the client
    must notice it by the rule, and get a new snapshot."""
    with Run(("--rate", "50", "--lose", "3"), loses=True) as run:
        run.follow(lambda: run.resynced("disagrees") >= 2, "resynchronised")
        run.finish()
        doubts = collections.defaultdict(Doubt)
        for line in run.tool.lines:
            doubts[line.market].take(line)
