"""Gateways that are killed, ended or stopped for longer than the lease, and a
service that is killed: books equal the sandbox's afterwards, a former holder
writes nothing, and each execution is stored or reported missing.

BUILD: where the programs are (default: build). SEED: of the moments (default:
the time). KILLS: their number (default: 12).
SPDX-License-Identifier: 0BSD
"""
import json
import os
import random
import signal
import time

from e2e import HANG_S, check, wait_for
from gateway import Lab
from normal import scripted

AT_ONCE = 3
SEED = int(os.environ.get("SEED", time.time()))
print(f"SEED={SEED}")
KILLS = int(os.environ.get("KILLS", "12"))
LATENCY_MS = 4000
SLACK_MS = 2000  # how late an execution may be reported


def begin(lab, **settings):
    """Starts two gateways and consumers; returns since when they work."""
    lab.begin("a", "b", **settings)
    for gateway in lab.gateways.values():
        gateway.until("open - ")
        gateway.until("broker: connected")
    time.sleep(0.5)  # until it has subscribed
    return time.time()


def holder_of(lab):
    """[the holder of the lease, the other gateway]"""
    wait_for(lambda: sum(each.holds() for each in lab.gateways.values()) == 1,
             "a holder")
    return sorted(lab.gateways.values(), key=lambda each: not each.holds())


def test_nobody_publishes():
    """Consumers notice it, also those that start then, and notice the gateway's
    return. A gateway also publishes for a market without changes."""
    with scripted([{"symbol": "BTCUSD", "price": "95000.00"},
                   {"symbol": "QUIET", "price": "1.0000", "rate": 0}]) as lab:
        def all_live():
            return all(each.is_live() for each in lab.consumers)

        lab.gateway("a")
        lab.consume()
        wait_for(all_live, "books")
        time.sleep(17)
        check(all_live(),
              "a quiet market is taken for one that nobody publishes")
        lab.gateways["a"].kill()
        lab.consume()
        wait_for(lambda: all(each.shown and not each.is_live()
                             for each in lab.consumers), "books not live")
        lab.gateways["a"].start_again()
        wait_for(all_live, "books again")


def test_killed_in_turn():
    """One is always running: nothing is missing."""
    moments = random.Random(SEED)
    with Lab() as lab:
        since = begin(lab)
        for i in range(KILLS):
            gateway = lab.gateways["ab"[i % 2]]
            time.sleep(moments.uniform(0, 1))
            gateway.kill()
            time.sleep(moments.uniform(0, 2))
            gateway.start_again()
        lab.ends_equal(since, told=True)


def test_killed_at_random():
    """Perhaps none is running: missing executions are reported."""
    moments = random.Random(SEED)
    with Lab() as lab:
        since = begin(lab)
        for _ in range(KILLS):
            gateway = moments.choice(list(lab.gateways.values()))
            gateway.kill()
            time.sleep(moments.uniform(0, 1))
            gateway.start()
            time.sleep(moments.uniform(0, 1.5))
        for gateway in lab.gateways.values():  # both away for a while
            gateway.kill()
        time.sleep(moments.uniform(1, 3))
        for gateway in lab.gateways.values():
            gateway.start()
        lab.ends_equal(since, lost=True)


def test_ended(lab):
    """It hands over at once, long before its lease expires."""
    since = begin(lab, lease_ms=60000)
    for _ in range(3):
        holder, other = holder_of(lab)
        holder.signal(signal.SIGTERM)
        ended = time.monotonic()
        check(holder.process.wait(HANG_S) == 0, "exit status")
        wait_for(other.holds, "the other one holds")
        took = time.monotonic() - ended
        check(took < 45, f"handed over after {took:.1f} s")
        print(f"handed over after {took:.2f} s")
        lab.wait_equal(5)
        holder.start_again()
    lab.ends_equal(since, told=True)


def test_ended_without_a_broker(lab):
    """It does not wait for a broker that does not respond; after the next start
    it reports what may be missing."""
    since = begin(lab)
    lab.broker.pause()
    time.sleep(3)
    for gateway in lab.gateways.values():
        gateway.signal(signal.SIGTERM)
    begun = time.monotonic()
    for gateway in lab.gateways.values():
        check(gateway.process.wait(HANG_S) == 0, "exit status")
    print(f"ended after {time.monotonic() - begun:.1f} s")
    lab.broker.go_on()
    for gateway in lab.gateways.values():
        gateway.start_again()
    lab.ends_equal(since, lost=True)


def test_stopped_holder():
    """It continues after its lease without knowing: the broker refuses its
    messages."""
    lease_ms = 5000  # longer than a busy machine lets a gateway wait
    with Lab() as lab:
        since = begin(lab, metrics=True, lease_ms=lease_ms)
        rounds = refused = 0
        # It may notice in time: then the broker need not refuse.
        while rounds < 3 or refused == 0:
            check(rounds < 10, "the broker refuses nothing")
            rounds += 1
            holder, other = holder_of(lab)
            before = holder.figure("broker_conflicts_total")
            holder.signal(signal.SIGSTOP)
            wait_for(other.holds, "the other one holds")
            lab.wait_equal(3)
            holder.signal(signal.SIGCONT)
            time.sleep(lease_ms / 1000)
            lab.wait_equal(3)
            check(holder_of(lab) == [other, holder], "took the lease back")
            refused += holder.figure("broker_conflicts_total") - before
        print(f"refused {refused:.0f} messages in {rounds} rounds")
        lab.check_executions(since, told=True)
        epochs = {json.loads(each.data)["epoch"] for each in lab.check_books()}
        check(len(epochs) == rounds + 1, f"epochs {epochs}")


def test_service_killed(lab):
    since = begin(lab)
    for _ in range(2):
        lab.restart_sandbox()
        lab.wait_equal()
    lab.ends_equal(since, lost=True)


def test_late_service(lab):
    """Messages arrive seconds late. Those under way when the connection or the
    gateway is lost are reported missing."""
    since = lab.begin("a")
    gateway = lab.gateways["a"]
    for loss in ("connection", "gateway"):
        gateway.add_floor()
        lab.sandbox.set(latency={"ms": LATENCY_MS, "at": "stream"})
        time.sleep(2 * LATENCY_MS / 1000)
        if loss == "connection":
            lab.sandbox.set(reset={"at": "stream", "count": 1})
        else:
            gateway.kill()
            lab.sandbox.set()
            gateway.start()
        lab.wait_equal()
    told = lab.check_executions(since, lost=True)
    lab.check_books()
    lengths = [each.last - each.first for market in lab.markets
               for each in told[market].told]
    check(min(lengths) >= LATENCY_MS + SLACK_MS, f"gaps {lengths}")


def test_started_in_vain():
    """Started and killed without a service, it does not take back up to when
    it has missed nothing."""
    def told():
        with lab.nats() as nats:
            return nats.api("STREAM.INFO.KV_mst_gateways")["state"]["last_seq"]

    with Lab() as lab:
        lab.begin("a")
        gateway = lab.gateways["a"]
        wait_for(lambda: gateway.seen() > gateway.floors[0][0],
                 "its own time")
        lab.sandbox.kill()
        for _ in range(2):
            gateway.kill()
            before, count = gateway.seen(), told()
            gateway.start()
            wait_for(lambda n=count: told() > n, "it says something")
            check(gateway.seen() >= before,
                  f"{before - gateway.seen():.0f} ms were taken back")
        gateway.kill()
        lab.start_sandbox()
        gateway.start_again()


def test_hot_standby(lab):
    """A gateway with two connections loses one: nothing is missing, and no gap
    is reported."""
    lab.begin("a", stream="hot-standby = yes\n")
    wait_for(lambda: lab.gateways["a"].said().count("open - ") == 2,
             "two connections")
    time.sleep(1)
    since = time.time()
    for count in (2, 3):
        lab.sandbox.set(reset={"at": "stream", "count": 1})
        wait_for(lambda n=count: lab.gateways["a"].said().count(
            "open - ") > n, "another connection")
        lab.wait_equal()
    lab.ends_equal(since)


def test_lease_before_books(lab):
    """A gateway that holds the lease before its service starts does not publish
    repeatedly."""
    lab.sandbox.kill()
    lab.gateway("a")
    wait_for(lab.gateways["a"].holds, "the lease")
    lab.start_sandbox()
    lab.consume()
    lab.wait_equal()
    with lab.nats() as nats:
        state = nats.api("STREAM.INFO.mst_top")["state"]
    check(state["last_seq"] < 2000, state)
