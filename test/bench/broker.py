#!/usr/bin/env python3
"""Measures a broker, for examples/gateway/README.md. "out": processor time per
message delivered to a consumer, without and with TLS, at 50 messages a second
per consumer and as fast as possible. "in": messages stored per second and the
time until they are acknowledged, by one server and by a cluster of three.

Usage: broker.py [out|in]
SECONDS: of each measurement (default: 10).
SPDX-License-Identifier: 0BSD
"""
import contextlib
import json
import os
import selectors
import ssl
import statistics
import sys
import tempfile
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../e2e"))
from e2e import check, free_port, memory_kb, processor_s, wait_for
from gateway_parts import Broker
from nats import Nats
from tls_certificates import ISSUER, SERVER, Certificates

SECONDS = float(os.environ.get("SECONDS", "10"))
MESSAGE = b"x" * 600
CONSUMERS, MARKETS, EACH = 500, 50, 5  # so 50 consumers have a market
PACE = 500  # messages a second published: 50 a second for each consumer
LANES = 250  # markets of one pair of gateways


def cpu_s(servers):
    return sum(processor_s(server.process.pid) for server in servers)


def cluster(folder, count):
    """This many servers that store together."""
    ports = [free_port() for _ in range(count)]
    routes = ", ".join(f"nats-route://127.0.0.1:{port}" for port in ports)
    servers = []
    for i, port in enumerate(ports):
        own = os.path.join(folder, str(i))
        os.mkdir(own)
        servers.append(Broker(own, lines=(
            f"server_name: s{i}\njetstream {{ store_dir: {own}/store }}\n" +
            (f"cluster {{ name: c, listen: 127.0.0.1:{port}, "
             f"routes: [{routes}] }}\n" if count > 1 else ""))))
    return servers


class Consumers(threading.Thread):
    """Many connections, each of which reads its markets' messages."""

    def __init__(self, port, context):
        super().__init__(daemon=True)
        self.all = []
        self.ready = selectors.DefaultSelector()
        self.bytes = 0
        self.ending = False
        for i in range(CONSUMERS):
            nats = Nats(port, context)
            for k in range(EACH):
                nats.subscribe(f"mst.book.M{(i + k * 7) % MARKETS}")
            nats.socket.setblocking(False)
            self.all.append(nats)
            self.ready.register(nats.socket, selectors.EVENT_READ)

    def run(self):
        while not self.ending:
            for key, _ in self.ready.select(0.1):
                with contextlib.suppress(BlockingIOError, ssl.SSLWantReadError):
                    while data := key.fileobj.recv(65536):
                        self.bytes += len(data)

    def end(self):
        self.ending = True
        self.join()
        for nats in self.all:
            nats.socket.close()


def publish(nats, pace):
    """Publishes for SECONDS, at this pace or as fast as the server reads."""
    begin = now = time.monotonic()
    count = 0
    while now < begin + SECONDS:
        nats.publish(f"mst.book.M{count % MARKETS}", MESSAGE)
        count += 1
        now = time.monotonic()
        if pace and count > (now - begin) * pace:
            time.sleep(count / pace - (now - begin))
    nats.send(b"PING\r\n")
    while (said := nats.lines.readline()) != b"PONG\r\n":
        check(said == b"PING\r\n", said)


def out_row(folder, tls, pace):
    certificates = Certificates(folder)
    certificates.issue("ca", "ca", ISSUER)
    certificates.issue("server", "ca", SERVER.format("DNS:localhost"))
    context = ssl.create_default_context(cafile=f"{folder}/ca.pem")
    server = Broker(folder, lines=f"tls {{ cert_file: {folder}/server.pem, "
                    f"key_file: {folder}/server.key }}\n" if tls else "")
    try:
        context = context if tls else None
        consumers = Consumers(server.port, context)
        consumers.start()
        time.sleep(1)
        before, had, begin = cpu_s([server]), consumers.bytes, time.monotonic()
        with Nats(server.port, context) as nats:
            publish(nats, pace)
        took, cpu = time.monotonic() - begin, cpu_s([server]) - before
        line = len("MSG mst.book.M10 1 600\r\n") + len(MESSAGE) + 2
        messages = (consumers.bytes - had) / line
        consumers.end()
        return ("TLS" if tls else "plain", f"{messages / took:,.0f}",
                f"{cpu / messages * 1e6:.1f}", f"{messages / cpu:,.0f}",
                f"{memory_kb(server.process.pid) / 1000:.0f}")
    finally:
        server.kill()


def in_row(folder, replicas):
    """As in the gateway, each market has one unacknowledged message."""
    servers = cluster(folder, replicas)
    try:
        wait_for(lambda: created(servers[0].port, replicas), "the stream")
        before = cpu_s(servers)
        count, delays = stored(servers[0].port)
        cpu = cpu_s(servers) - before
        quantiles = statistics.quantiles(delays, n=1000)
        return (str(replicas), f"{count / SECONDS:,.0f}",
                f"{cpu / count * 1e6:.0f}", f"{quantiles[499] * 1000:.1f}",
                f"{quantiles[998] * 1000:.1f}")
    finally:
        for server in servers:
            server.kill()


def created(port, replicas):
    """True once the stream exists; a cluster without a leader is silent."""
    with Nats(port) as nats:
        nats.subscribe("_INBOX.bench")
        nats.publish("$JS.API.STREAM.CREATE.mst_book", json.dumps(
            {"name": "mst_book", "subjects": ["mst.book.*"], "storage": "file",
             "num_replicas": replicas}).encode(), "_INBOX.bench")
        answer = nats.next(1)
        return answer and "config" in json.loads(answer.data)


def stored(port):
    """(number of acknowledged messages, seconds that each took)"""
    sent, delays, begin = {}, [], time.monotonic()

    def send(lane):
        sent[lane] = time.monotonic()
        nats.publish(f"mst.book.M{lane}", MESSAGE, f"_INBOX.bench.{lane}")

    with Nats(port) as nats:
        nats.subscribe("_INBOX.bench.*")
        for lane in range(LANES):
            send(lane)
        while time.monotonic() < begin + SECONDS:
            answer = nats.next()
            check(answer and b'"seq":' in answer.data, answer)
            lane = int(answer.subject.rpartition(".")[2])
            delays.append(time.monotonic() - sent[lane])
            send(lane)
    return len(delays), delays


def table(head, rows):
    print("| " + " | ".join(head) + " |\n" + "|" + "---|" * len(head))
    for row in rows:
        with tempfile.TemporaryDirectory() as folder:
            print("| " + " | ".join(row(folder)) + " |", flush=True)
    print()


def main():
    parts = sys.argv[1:] or ["out", "in"]
    if "out" in parts:
        table(["to consumers", "messages/s", "us CPU each", "a core's messages",
               "MB"],
              [lambda folder, tls=tls, pace=pace: out_row(folder, tls, pace)
               for tls in (False, True) for pace in (PACE, 0)])
    if "in" in parts:
        table(["servers", "stored/s", "us CPU each, all", "p50 ms",
               "p99.9 ms"],
              [lambda folder, count=count: in_row(folder, count)
               for count in (1, 3)])


if __name__ == "__main__":
    main()
