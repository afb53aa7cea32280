"""A broker that is away, restarted, stopped, slow or full: the session with the
service continues, books equal the sandbox's afterwards, and each execution is
stored or reported missing.

SPDX-License-Identifier: 0BSD
"""
import contextlib
import json
import re
import signal
import time

from e2e import HANG_S, check, memory_kb, milliseconds, wait_for
from gateway import Lab


def test_broker_away(lab):
    since = lab.begin("a", "b")
    ways = [lab.way, *(each.way for each in lab.gateways.values())]
    for way in ways:
        way.cut()
    time.sleep(5)
    for way in ways:
        way.mend()
    lab.ends_equal(since, sessions=True)


def test_broker_restarted(lab):
    """Restarted in order, and not: what it had stored is there."""
    since = lab.begin("a", "b")
    lab.broker.restart()
    lab.wait_equal()
    lab.broker.process.terminate()
    lab.broker.process.wait()
    time.sleep(1)
    lab.broker.start()
    lab.ends_equal(since, sessions=True)


def test_broker_gone(lab):
    """Away for longer than a lease, a response or the pause between attempts:
    nobody holds the lease, then one does."""
    since = lab.begin("a", "b")
    lab.broker.kill()
    wait_for(lambda: not any(each.holds()
                             for each in lab.gateways.values()), "no lease")
    time.sleep(5)
    lab.broker.start()
    lab.ends_equal(since, sessions=True)
    wait_for(lambda: sum(each.holds() for each in lab.gateways.values()) == 1,
             "a holder")


def test_broker_stopped(lab):
    """It does not respond while connections stay open, for less and for more
    time than anybody waits."""
    since = lab.begin("a", "b")
    for seconds in (1, 2, 20):
        lab.broker.pause()
        time.sleep(seconds)
        lab.broker.go_on()
        lab.wait_equal()
    for each in lab.check_executions(since).values():
        check(max(each.delays) < 15000, "the service waited for the broker")
    lab.check_books()
    lab.check_sessions()


def test_broker_slow():
    """Books are conflated: fewer messages, none of them outdated."""
    with Lab("--rate", "50") as lab, lab.nats() as nats:
        def number():
            return json.loads(nats.last_of("mst_book", "mst.book.BTCUSD"))[
                "number"]

        since = lab.begin("a")
        way = lab.gateways["a"].way
        way.delay = 0.1
        time.sleep(1)
        before, first = time.time(), number()
        wait_for(lambda: number() > first + 20, "messages")
        count = number() - first
        most = (time.time() - before) / 0.2 + 2
        check(count <= most, f"{count} messages of {most}")
        lab.wait_equal(3)
        way.delay = 0
        lab.ends_equal(since, sessions=True)


def test_narrow_line():
    """It is too narrow for all messages: books are conflated and right;
    executions wait, and none is lost."""
    with Lab("--rate", "100") as lab:
        since = lab.begin("a", metrics=True)
        gateway = lab.gateways["a"]
        gateway.way.bytes_per_s = 40000
        wait_for(lambda: gateway.figure("queue_messages") > 10, "a full line")
        first = time.time() * 1000
        lab.wait_equal(2)
        last = time.time() * 1000
        gateway.way.bytes_per_s = None
        lab.wait_equal()
        lab.check_executions(since)
        check(gateway.figure("executions_lost_total") == 0, "some are lost")
        lines = [json.loads(each.data) for each in lab.check_books()
                 if '"type":"book"' not in each.data]
        for market in lab.markets:
            times = list(lab.truths.books[market])  # more are being added
            seen = sum(first <= ms <= last for ms in times)
            count = sum(first <= milliseconds(line["time"]) <= last
                        for line in lines if line["market"] == market)
            print(f"{count} messages, {seen} and more changes")
            check(0 < count < seen, "not conflated")
        lab.check_sessions()


def test_queue_overflows():
    """Messages that find no room are counted, and their times reported."""
    with Lab("--rate", "100") as lab:
        since = lab.begin("a", queue=16)
        lab.broker.pause()
        time.sleep(6)
        lab.broker.go_on()
        lab.wait_equal()
        lab.check_lost(since)
        lab.check_sessions()


def test_repeats(lab):
    """One gateway is away for longer than the broker remembers identifiers, and
    one is stopped: they store again, with a mark, what the other one stored
    meanwhile."""
    since = lab.begin("a", "b", "c", duplicates_s=60)
    way = lab.gateways["a"].way
    way.cut()
    lab.gateways["c"].signal(signal.SIGSTOP)
    time.sleep(66)
    way.mend()
    lab.gateways["c"].signal(signal.SIGCONT)
    lab.wait_equal()
    published = lab.check_executions(since)
    for market, each in published.items():
        check(each.repeats > 0, f"{market}: no repeats")
    lab.check_sessions()


def test_what_is_there_already(lab):
    """A stream made by others with unsuitable settings."""
    with lab.nats() as nats:
        nats.create("book", allow_direct=False)
        gateway = lab.gateway("a")
        gateway.until("mst_book does not allow direct access")
        nats.api("STREAM.DELETE.mst_book")
        wait_for(gateway.holds, "the lease")
        lab.gateway("b", duplicates_s=3600).until(
            "remembers messages for only 120 s, the configuration says 3600 s")


def test_streams_deleted(lab):
    """A gateway says so and creates them again, if nobody else does; consumers
    follow the new stream, whose sequences stay far below."""
    lab.begin("a", "b")
    with lab.nats() as nats:
        nats.send(30000 * b"PUB mst.book.other 2\r\n{}\r\n")
        for name in ("mst_book", "KV_mst_lease"):
            config = nats.api("STREAM.INFO." + name)["config"]
            nats.api("STREAM.DELETE." + name)
            nats.api("STREAM.CREATE." + name, **config)
            lab.wait_equal()
        for name in ("mst_book", "mst_execution", "KV_mst_lease"):
            nats.api("STREAM.DELETE." + name)
            wait_for(lambda name=name: re.search(
                "created again: .*" + name.removeprefix("KV_"), "".join(
                    each.said() for each in lab.gateways.values())), name)
    lab.ends_equal(time.time())


def test_long_window(lab):
    """Identifiers are remembered for longer than books are kept."""
    lab.begin("a", duplicates_s=3600)


def test_unanswered(lab):
    """The gateway gives up a message that the broker never acknowledges."""
    with lab.nats() as nats:
        nats.create("note", no_ack=True)
    gateway = lab.gateway("a", metrics=True)
    wait_for(gateway.holds, "the lease")
    wait_for(lambda: gateway.figure("broker_failures_total") > 0,
             "a failure that is counted")


def test_strange_answers(lab):
    """Messages to the gateway's inbox that are no responses."""
    gateway = lab.gateway("a")
    with lab.nats() as nats:
        nats.subscribe("$JS.API.DIRECT.GET.mst_book.>")
        asked = nats.next()
        inbox, number = asked.reply.rsplit(".", 1)
        for other in ("0", "99999999999", "18446744073709551615", "-1", "x",
                      *range(int(number), int(number) + 200)):
            nats.publish(f"{inbox}.{other}", b"x")
            nats.publish(f"{inbox}.{other}", b'{"seq":-1,"error":[]}')
    lab.consume()
    lab.wait_equal()
    check(gateway.process.poll() is None, "the gateway has ended")


def test_too_long(lab):
    """A book that is too long for the broker is reported."""
    with open(lab.broker.config, "a", encoding="ascii") as file:
        file.write("max_payload: 1200\n")
    lab.broker.restart()
    lab.gateway("a").until("refused: a message of more than 1200 bytes")


def test_snapshot_requests(lab):
    """Responses go only to inboxes, at a limited rate."""
    lab.gateway("a", answers=7)
    lab.consume("BTCUSD")
    lab.wait_equal()
    with lab.nats() as nats:
        nats.subscribe("mst.book.*")
        nats.subscribe("elsewhere")
        nats.publish("mst.snapshot.BTCUSD", reply="elsewhere")
        nats.publish("mst.snapshot.BTCUSD", reply="mst.book.BTCUSD")
        nats.publish("mst.snapshot.BTCUSD")
        end = time.time() + 1.5
        while time.time() < end:
            message = nats.next(0.1)
            check(not message or b'"after"' not in message.data, message)
    with lab.nats() as nats:
        nats.subscribe("_INBOX.here")
        begin, count = time.monotonic(), 0
        while count < 5 * 7:
            check(time.monotonic() < begin + HANG_S, count)
            for _ in range(20):
                nats.publish("mst.snapshot.BTCUSD", reply="_INBOX.here")
            while nats.next(0.1):
                count += 1
        # They are counted per second, and parts of two more seconds may be
        # in this time.
        check(count <= 7 * (time.monotonic() - begin + 2), count)


def test_flooded_inbox(lab):
    """Foreign messages to its inbox cost little memory, even while it does not
    read them, and stop nothing."""
    gateway = lab.gateway("a")
    wait_for(gateway.holds, "the lease")
    before = memory_kb(gateway.process.pid, most=True)
    way, said, flooded = gateway.way, b"", []
    pump = way.pump

    async def flooding(reader, writer):
        nonlocal said
        while data := await reader.read(65536):
            if writer.get_extra_info("peername")[1] == lab.broker.port:
                said += data
            elif inbox := re.search(  # it waits for another response now
                    rb"SUB (_INBOX_mst\.\S+)\.\*\s+(\d+)\r\n"
                    rb"SUB mst\.snapshot", said):
                message = b"MSG %s.1 %s 65000\r\n%s\r\n" % (
                    inbox[1], inbox[2], bytes(65000))
                way.pump = pump
                flooded.append(inbox)
                with contextlib.suppress(OSError):
                    for _ in range(4000):
                        writer.write(message)
                        await writer.drain()
                return
            writer.write(data)
            await writer.drain()

    gateway.kill()
    way.pump = flooding
    gateway.start()
    wait_for(lambda: flooded and gateway.holds(), gateway.said)
    grown = memory_kb(gateway.process.pid, most=True) - before
    check(grown < 80 * 1024, f"{grown} KiB")


def test_other_lease(lab):
    """Gateways with different durations of the lease do not share it."""
    wait_for(lab.gateway("a").holds, "the lease")
    lab.gateway("b", lease_ms=60000).until(
        "a lease lasts 1500 ms there, the configuration says 60000 ms")
