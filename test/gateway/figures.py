"""The metrics that a gateway serves for Prometheus, besides those of its
stream.

SPDX-License-Identifier: 0BSD
"""
import re
import urllib.request

from broker_lab import running, started
from e2e import HANG_S, check, free_port, wait_for

AT_ONCE = 1

AHEAD = "mini_stream_gateway_"


def figures(port):
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics",
                                timeout=HANG_S) as reply:
        text = reply.read().decode()
    for line in text.splitlines():
        check(re.fullmatch(
            r"# (HELP|TYPE) mini_stream_\w+ .+|"
            r'mini_stream_\w+(\{(market|layer)="\w+"\})? [0-9.e+-]+', line), line)
    return {name: float(value) for name, value in re.findall(
        rf"^{AHEAD}(\w+) (\S+)$", text, re.M)}


def stored(client, stream):
    return client.api(f"STREAM.INFO.{stream}")["state"]["last_seq"]


def test_figures():
    """They equal what the broker has; too frequent requests are turned away;
    waiting and lost messages are counted while the broker is stopped."""
    port, other = free_port(), free_port()
    with started() as (broker, sandbox), \
            broker.client("CONSUMER") as consumer, \
            running(broker, sandbox, stream=f"metrics = {port}",
                    lines="answers = 2\nqueue = 16", lease_ms=10000):
        wait_for(lambda: figures(port).get("holds_lease") == 1, "the lease")
        wait_for(lambda: figures(port)["books_total"] > 20, "books")
        wait_for(lambda: figures(port)["kept_total"] > 5, "executions")
        seen = figures(port)
        check(seen["broker_up"] == 1 and seen["epoch"] >= 1, seen)
        check(seen["queue_size"] == 16, seen)
        check(0 < seen["tops_total"] <= stored(consumer, "mst_top"), seen)
        check(seen["books_total"] <= stored(consumer, "mst_book"), seen)
        check(seen["kept_total"] <= stored(consumer, "mst_execution")
              + stored(consumer, "mst_note"), seen)
        check(seen["broker_connections_total"] == 1, seen)
        for name in ("repeats_total", "executions_lost_total",
                     "snapshots_total", "snapshots_turned_away_total",
                     "broker_failures_total", "broker_conflicts_total"):
            check(seen[name] == 0, f"{name}: {seen}")
        for _ in range(20):
            consumer.publish("mst.snapshot.BTCUSD", b"", "_INBOX.x")
        wait_for(lambda: figures(port)["snapshots_turned_away_total"] >= 14,
                 "requests turned away")
        check(2 <= figures(port)["snapshots_total"] <= 6, "answers")
        with running(broker, sandbox, name="b", wanted="connected",
                     stream=f"metrics = {other}", lease_ms=10000):
            wait_for(lambda: figures(other)["repeats_total"] > 3, "repeats")
            check(figures(other)["holds_lease"] == 0, "two of them hold it")
            check(figures(other)["books_total"] == 0, "two publish books")
        broker.pause()
        wait_for(lambda: figures(port)["queue_messages"] == 16, "a full queue")
        wait_for(lambda: figures(port)["executions_lost_total"] > 0, "losses")
        wait_for(lambda: figures(port)["holds_lease"] == 0, "its end")
        wait_for(lambda: figures(port)["broker_up"] == 0, "a broker down")
        broker.go_on()
        wait_for(lambda: figures(port)["broker_connections_total"] == 2,
                 "another connection")
        wait_for(lambda: figures(port)["holds_lease"] == 1, "the lease")
        check(figures(port)["epoch"] > seen["epoch"], "the same epoch")
