#!/usr/bin/env python3
"""Measures the gateway between a sandbox, a broker and a subscriber, with 10,
100 and 1,000 markets: processor time per message, memory, messages a second,
the time from a message's receipt to its arrival at a subscriber, and memory
with a full queue after the broker was stopped.

Usage: test/bench/gateway.py [MARKETS[xRATE]...]
RATE: changes a second of each book; with it, the full queue is not measured.
If fewer books arrive than change, they are conflated.
SPDX-License-Identifier: 0BSD
"""
import contextlib
import os
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "e2e"))
from e2e import (BUILD, environment_with, figure, free_port,
                 memory_kb, processor_s, sandbox_of, symbols, wait_for,
                 write_file)
from broker import table
from gateway_parts import Broker

SECONDS = float(os.environ.get("GATEWAY_SECONDS", "15"))
RATES = {10: 500, 100: 50, 1000: 5}  # changes a second of each book
READER = os.path.join(BUILD, "bench", "gateway_reader")
CPU_US, MEMORY_MB = 20, 128  # the bars

failed = []


def configuration(sandbox, directory, url, markets, port):
    lines = "".join(f"markets = {' '.join(markets[i:i + 10])}\n"
                    for i in range(0, len(markets), 10))
    return write_file(os.path.join(directory, "gateway.ini"), f"""[service]
endpoints = {sandbox.state}/endpoints.json
ca = {sandbox.state}/ca.pem
client_id = sandbox-client
[stream]
{lines}levels = 300
metrics = {port}
quiet = yes
[broker]
url = {url}
[gateway]
name = bench
""")


def holds(port):
    """True if the gateway holds the lease, so that it publishes books."""
    with contextlib.suppress(OSError):  # it may not listen yet
        return figure(port, "gateway_holds_lease") == 1


def check_bar(count, what, value, limit):
    if value > limit:
        failed.append(f"{count} markets: {value:.1f} {what}, more than {limit}")


def most_mb(gateway):
    return memory_kb(gateway.pid, most=True) / 1000


def full_mb(port, server, gateway):
    """The peak memory with a full queue: the broker is stopped."""
    server.pause()
    size = figure(port, "gateway_queue_size")
    while figure(port, "gateway_queue_messages") < size:
        time.sleep(1)
    return most_mb(gateway)


def figures(count, rate, url, port, gateway):
    """One row, for a running gateway."""
    reader = subprocess.Popen([READER, url, "mst"], stdout=subprocess.PIPE,
                              text=True)
    reader.stdout.readline()
    messages, cpu = figure(port, "messages_total"), processor_s(gateway.pid)
    begin = time.monotonic()
    time.sleep(SECONDS)
    took = time.monotonic() - begin
    time.sleep(1)  # the metrics are updated once a second
    messages = figure(port, "messages_total") - messages
    cpu = processor_s(gateway.pid) - cpu
    reader.terminate()
    streams = {line.split()[0]: [int(word) for word in line.split()[1:]]
               for line in reader.communicate()[0].splitlines()}
    each_us = cpu / messages * 1e6
    check_bar(count, "us a message", each_us, CPU_US)
    row = [str(count), str(rate), f"{messages / (took + 1):.0f}",
           f"{each_us:.1f}", f"{most_mb(gateway):.1f}"]
    for word in "book", "execution":
        number, p50, p999 = streams[word]
        row += [f"{number / (took + 1):.0f}", f"{p50 / 1000:.2f}",
                f"{p999 / 1000:.2f}"]
    return row


def measure(directory, what):
    count, _, rate = what.partition("x")
    count, fills = int(count), not rate
    rate = int(rate) if rate else RATES.get(count, 10)
    with sandbox_of("--markets", str(max(4, count)),
                    "--rate", str(rate)) as sandbox:
        server = Broker(directory)
        url = f"nats://127.0.0.1:{server.port}"
        port = free_port()
        gateway = subprocess.Popen(
            [os.path.join(BUILD, "mini-stream-gateway"),
             configuration(sandbox, directory, url, symbols(count),
                           port)],
            env=environment_with(HOME=directory,
                                 MINI_STREAM_CLIENT_SECRET="sandbox-secret"))
        try:
            wait_for(lambda: holds(port), "the lease", process=gateway)
            time.sleep(5)  # the first wave has passed
            row = figures(count, rate, url, port, gateway)
            if not fills:
                return [*row, "-"]
            full = full_mb(port, server, gateway)
            check_bar(count, "MB", full, MEMORY_MB)
            return [*row, f"{full:.1f}"]
        finally:
            gateway.terminate()
            gateway.wait()
            server.kill()


def main():
    table(["markets", "rate", "messages/s", "us CPU each", "MB", "books/s",
           "p50 ms", "p99.9 ms", "executions/s", "p50 ms", "p99.9 ms",
           "MB, queue full"],
          [lambda folder, what=what: measure(folder, what)
           for what in sys.argv[1:] or map(str, RATES)])
    for line in failed:
        print("MISSED:", line)
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main())
