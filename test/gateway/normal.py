"""Two gateways, a broker and consumers without faults: books and executions
equal the sandbox's, also for late consumers.

SPDX-License-Identifier: 0BSD
"""
import concurrent.futures
import contextlib
import json
import signal
import tempfile
import time
from decimal import Decimal

from e2e import HANG_S, check, figure, milliseconds, wait_for
from gateway import Lab
from schema import validate

AT_ONCE = 8

OWN = ("epoch", "number", "after", "bids_horizon", "asks_horizon", "gateway")


def test_books_and_executions():
    with Lab("--quirk", "all") as lab:
        started = time.time()
        lab.gateway("a")
        lab.gateway("b")
        lab.consume()
        lab.wait_equal(30)
        begin = time.time()
        lab.consume()  # late consumers
        lab.wait_equal(30)
        published = lab.check_executions(begin)
        check(not any(each.repeats for each in published.values()), "repeats")
        lab.check_books()
        # Last books: for each market one at once, then at most one a second.
        with lab.nats() as nats:
            puts = nats.api("STREAM.INFO.KV_mst_last")["state"]["last_seq"]
        most = len(lab.markets) * (time.time() - started + 1)
        check(len(lab.markets) < puts <= most,
              f"{puts} last books, at most {most:.0f}")


def test_form():
    """The stored messages are the tool's objects with the gateway's fields."""
    with Lab("--quirk", "all") as lab:
        lab.gateway("a")
        lab.consume()
        lab.wait_equal(30)
        lab.gateways["a"].signal(signal.SIGTERM)
        lab.gateways["a"].process.wait(HANG_S)
        with lab.nats() as nats:
            for stream in ("mst_book", "mst_top", "mst_execution", "mst_note"):
                lines = [json.loads(each.data) for each in nats.stored(stream)]
                check(lines, f"nothing in {stream}")
                for line in lines[:200] + lines[-200:]:
                    validate({name: value for name, value in line.items()
                              if name not in OWN})


def test_who_missed_something(lab):
    """Consumers return, and what they missed is no longer stored."""
    lab.begin("a")
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


@contextlib.contextmanager
def scripted(markets):
    """A lab of these markets."""
    markets = list(markets)
    with tempfile.NamedTemporaryFile("w") as script:
        json.dump({"markets": markets}, script)
        script.flush()
        with Lab("--script", script.name,
                 markets=[each["symbol"] for each in markets]) as lab:
            yield lab


def horizons_of(messages):
    """By market, epoch, number and time: the best unseen bid and ask. (A last
    book has a message's number, but may be newer.)"""
    found = {}
    for message in messages:
        line = json.loads(message.data)
        if line["type"] == "book":
            continue  # reports only that there is none
        found[line["market"], line["epoch"], line["number"],
              milliseconds(line["time"])] = tuple(
                  Decimal(line[side + "_horizon"])
                  if side + "_horizon" in line else None
                  for side in ("bids", "asks"))
    return found


def compare_to_horizon(consumer, truths, horizons):
    """(number of its books that had a horizon on both sides and equal the truth
    up to there, fewest levels shown)"""
    count, least = 0, 1000
    for shown in consumer.shown:
        true = truths[consumer.market].get(shown.time)
        horizon = horizons.get((consumer.market, shown.epoch, shown.number,
                                shown.time))
        if not shown.live or not true or not horizon:
            continue
        bid, ask = horizon
        seen = ([each for each in true[0] if bid is None or each[0] > bid],
                [each for each in true[1] if ask is None or each[0] < ask])
        for side in (0, 1):
            check(shown.side(side) == seen[side],
                  f"{consumer.name}, number {shown.number}, side {side}")
        if bid is not None and ask is not None:
            count += 1
            least = min(least, len(seen[0]), len(seen[1]))
    return count, least


def test_fewer_levels_than_there_are():
    """Consumers' books equal the truth up to the gateway's horizon."""
    with Lab("--rate", "60") as lab:
        gateway = lab.gateway("a", levels=60)
        for _ in range(2):  # the second time some join late
            lab.consume()
            wait_for(lambda: all(len(each.shown) > 300
                                 for each in lab.consumers), "books")
        gateway.kill()  # so that nothing is shown that is not stored
        horizons = horizons_of(lab.check_books())
        for consumer in lab.consumers:
            count, least = compare_to_horizon(consumer, lab.truths.books,
                                              horizons)
            print(f"{consumer.name}: {count} books, {least} levels at least")
            check(count > 20 and least > 10, "few")


def test_names_of_markets():
    """Names with special characters of subjects, keys and topics, and the
    longest ones; none is taken for another."""
    names = ("A", "=41", "a.b", "a/b", "*", ">", "a+#b", "$JS", "x" * 31,
             "^~" * 15)
    with scripted({"symbol": name, "price": f"{100 + i}.00"}
                  for i, name in enumerate(names)) as lab:
        lab.gateway("a")
        lab.consume(*names[:4], names[-1])
        lab.wait_equal()
        since = time.time()
        lab.consume(*names[4:-1])  # late
        lab.ends_equal(since)


def test_unusual_messages():
    """An execution under a name in another case is this market's. Unreadable
    messages fill no queue."""
    odd = {"market": "btcusd", "price": "12345.67", "amount": "1.5",
           "executed_at": "2026-01-02T03:04:05.006Z"}
    with Lab() as lab, lab.nats() as nats:
        gateway = lab.gateway("a", metrics=True)
        wait_for(lambda: nats.api("STREAM.INFO.mst_execution").get(
            "state", {}).get("messages"), "executions")
        lab.sandbox.set(garbage={"text": json.dumps({
            "channel": "execution_data", "payload": odd})})
        begin = time.monotonic()
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            list(pool.map(lambda _: lab.sandbox.set(garbage={"text": "{]"}),
                          range(400)))
        wait_for(lambda: figure(gateway.metrics, "bad_messages_total") == 400,
                 "all of them")
        periods = (time.monotonic() - begin) / 10 + 1
        gateway.signal(signal.SIGTERM)
        gateway.process.wait(HANG_S)
        said, stored = gateway.said(), nats.stored("mst_execution")
        notes = [json.loads(each.data) for each in nats.stored("mst_note")]
    check([(each.subject, json.loads(each.data)["market"],
            each.headers["Nats-Msg-Id"]) for each in stored
           if json.loads(each.data).get("price") == odd["price"]] ==
          [("mst.execution.BTCUSD", "BTCUSD",
            "BTCUSD|1767323045006|12345.67|1.5|0")], "the execution")
    errors = sum(note["type"] == "error" for note in notes)
    left_out = [note["count"] for note in notes if note["type"] == "left_out"]
    check(errors + sum(left_out) == 400 and left_out, f"{errors}, {left_out}")
    check(said.count("not JSON") <= 2 * periods + 2, said)


def test_equal_executions():
    """Some have the same time, price and amount: each is stored, only once
    although two gateways send it."""
    with scripted([{"symbol": "BTCUSD", "price": "100.00", "amount": "3",
                    "rate": 100}]) as lab:
        since = lab.begin("a", "b")
        time.sleep(2)
        wait_for(lambda: max(lab.published()["BTCUSD"].counts.values(),
                             default=0) > 1, "two that are equal")
        published = lab.check_executions(since)["BTCUSD"]
        check(published.repeats == 0, "repeats")
