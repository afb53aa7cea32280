"""What consumers show for single records, which the test publishes instead of a
gateway.

SPDX-License-Identifier: 0BSD
"""
import contextlib
import json
import shutil
import tempfile
import time

from e2e import check, run_program, wait_for
from gateway_parts import CONSUMERS, Broker, Consumer, Way
from nats import Nats

AT_ONCE = 8

TIME = "2026-01-01T00:00:00.5Z"


def record(epoch, number, **fields):
    return {"epoch": epoch, "number": number, "v": 1, "time": TIME, **fields}


def sample(epoch, number, bids, asks, **fields):
    return record(epoch, number, type="sample", bids=bids, asks=asks, **fields)


def update(epoch, number, bids=(), asks=(), **fields):
    return record(epoch, number, type="update", bids=bids, asks=asks, **fields)


def book(epoch, number, state):
    return record(epoch, number, type="book", state=state)


@contextlib.contextmanager
def following(first=None):
    """A client of a broker, and consumers of a market whose last book is
    `first`, or who have none and request it."""
    folder = tempfile.mkdtemp()
    broker, consumers = Broker(folder), []
    try:
        way = Way(broker)
        with Nats(broker.port) as nats:
            for stream, subject in (("mst_book", "mst.book.*"),
                                    ("KV_mst_last", "$KV.mst_last.>")):
                answer = nats.api(
                    f"STREAM.CREATE.{stream}", name=stream, subjects=[subject],
                    allow_direct=True, allow_rollup_hdrs=True,
                    max_msgs_per_subject=-1 if stream == "mst_book" else 1)
                check("error" not in answer, answer)
            nats.request("mst.book.other", b"{}")
            if first:
                nats.request("$KV.mst_last.X", json.dumps(first).encode())
            consumers = [Consumer(way.url, "X", *each) for each in CONSUMERS]
            yield nats, consumers
    finally:
        for consumer in consumers:
            consumer.kill()
        broker.kill()
        shutil.rmtree(folder)


def answer_all(nats, consumers, document):
    """Answers consumers' requests until they have the book."""
    nats.subscribe("mst.snapshot.X")

    def have_it():
        message = nats.next(0.1)
        if message and message.subject == "mst.snapshot.X":
            nats.publish(message.reply, json.dumps(document).encode())
        return all(each.is_live() for each in consumers)

    wait_for(have_it, "books of those that asked")
    nats.send(f"UNSUB {nats.inboxes}\r\n".encode())


def show(nats, consumers, document, live, bids, asks):
    """Publishes a record; then the consumers must show this book. The record is
    repeated, as a consumer may have subscribed after it."""
    def publish():
        answer = json.loads(nats.request("mst.book.X",
                                         json.dumps(document).encode()))
        check("error" not in answer, answer)

    publish()
    for consumer in consumers:
        def is_shown(consumer=consumer):
            if not consumer.shown or consumer.shown[-1].live != live:
                time.sleep(0.5)
                publish()
                return False
            return not live or [
                [f"{price}x{amount}" for price, amount in side]
                for side in consumer.shown[-1].texts] == [bids, asks]
        try:
            wait_for(is_shown, "the book")
        except AssertionError as error:
            last = consumer.shown[-1] if consumer.shown else None
            raise AssertionError(
                f"{consumer.name} after {document}: "
                f"{last and (last.live, last.texts)}") from error


def test_records():
    first = sample(5, 3, [["99.5", "1.0"], ["100", "2.0"]], [["101", "1"]],
                   after=1)
    with following(first) as (nats, consumers):
        show(nats, consumers, update(5, 4, [["100.00", "7"]]), True,
             ["100x7", "99.5x1.0"], ["101x1"])
        # With any number of zeros, and in numeric order.
        show(nats, consumers,
             update(5, 5, [["99.50", "0.00"], ["9", "1"], ["-1.5", "1"],
                           ["-1", "1"]], [["101.0", "0"], ["1000", "1"],
                                          ["200", "1"], ["200.25", "1"]]),
             True, ["100x7", "9x1", "-1x1", "-1.5x1"],
             ["200x1", "200.25x1", "1000x1"])
        # Already known, and from a replaced gateway.
        for old in (update(5, 5, [["1", "1"]]), update(4, 6, [["1", "1"]]),
                    sample(4, 9, [["1", "1"]], [])):
            nats.request("mst.book.X", json.dumps(old).encode())
        show(nats, consumers, update(5, 6, [["9", "2"], ["-1", "0"]]), True,
             ["100x7", "9x2", "-1.5x1"], ["200x1", "200.25x1", "1000x1"])
        # A doubt changes nothing; a stale book waits for a complete one.
        show(nats, consumers, book(5, 7, "live"), True,
             ["100x7", "9x2", "-1.5x1"], ["200x1", "200.25x1", "1000x1"])
        show(nats, consumers, book(5, 8, "stale"), False, [], [])
        show(nats, consumers, sample(5, 10, [["8", "1"]], []), True,
             ["8x1"], [])
        # Another gateway starts with a complete book, or with none.
        show(nats, consumers, sample(7, 1, [["7", "1"]], [["8", "1"]]), True,
             ["7x1"], ["8x1"])
        show(nats, consumers, book(9, 1, "stale"), False, [], [])
        show(nats, consumers, sample(9, 2, [["6", "1"]], []), True,
             ["6x1"], [])
        # An update is missing, then a gateway's first one.
        show(nats, consumers, update(9, 4, [["5", "1"]]), False, [], [])
        answer_all(nats, consumers,
                   sample(9, 4, [["6", "1"], ["5", "1"]], [], after=14))
        show(nats, consumers, update(9, 5, [["6", "0"]]), True, ["5x1"], [])
        show(nats, consumers, update(11, 2, [["4", "1"]]), False, [], [])


def test_horizon():
    """Levels beyond the gateway's horizon go, with any spelling of the price,
    and whichever record has it."""
    first = sample(5, 1, [["3", "1"], ["2", "1"], ["1", "1"]],
                   [["4", "1"], ["10", "1"]], after=1, asks_horizon="10.0")
    with following(first) as (nats, consumers):
        show(nats, consumers,
             update(5, 2, [["3.5", "1"]], bids_horizon="1.00",
                    asks_horizon="10"), True,
             ["3.5x1", "3x1", "2x1"], ["4x1"])
        show(nats, consumers,
             update(5, 3, [["3.6", "1"]], [["9", "1"]], bids_horizon="2.5"),
             True, ["3.6x1", "3.5x1", "3x1"], ["4x1", "9x1"])
        # A complete book without a horizon has all levels.
        show(nats, consumers, sample(5, 4, [["1", "1"]], [["12", "1"]]), True,
             ["1x1"], ["12x1"])


def test_nothing_to_begin_with():
    """They request the book and continue after the message that the response
    names; after a response that it is stale they ask again."""
    with following() as (nats, consumers):
        for document in (sample(5, 1, [["1", "1"]], []),
                         update(5, 2, [["2", "1"]]),
                         update(5, 3, [["3", "1"]])):
            nats.request("mst.book.X", json.dumps(document).encode())
        nats.subscribe("mst.snapshot.X")
        nats.publish(nats.next().reply, b'{"type":"stale"}')
        nats.send(f"UNSUB {nats.inboxes}\r\n".encode())
        check(not any(each.is_live() for each in consumers), "a book of none")
        answer_all(nats, consumers,
                   sample(5, 2, [["2", "1"], ["1", "1"]], [], after=2))
        show(nats, consumers, update(5, 4, [["4", "1"]]), True,
             ["4x1", "3x1", "2x1", "1x1"], [])


def test_no_broker():
    """They end with a message, without the password of the URL, even if the
    URL is malformed."""
    for command in CONSUMERS:
        for url in ("nats://user:a-password@127.0.0.1:1",
                    "nats://user:a-password@127.0.0.1:port",
                    "nats:a-password@", "a-password"):
            done = run_program(*command, "--url", url, "X")
            check(done.returncode != 0 and done.stderr, f"{command}: {done}")
            check("a-password" not in done.stdout + done.stderr, command)
