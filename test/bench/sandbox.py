#!/usr/bin/env python3
"""Measures the sandbox on one core: processor time, memory and messages per
second, with many connections and with many markets.

Usage: sandbox.py [CONNECTIONS MARKETS RATE]   (default: the table's rows)
CONNECTIONS: each subscribes to the book of one market, in turn; a single
    connection to all books.
RATE: changes a second of each market.
BUILD: where the programs are (default: build); SECONDS: of each measurement
(default: 10).
SPDX-License-Identifier: 0BSD
"""
import json
import os
import resource
import selectors
import socket
import ssl
import struct
import sys
import tempfile
import time
import urllib.parse

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../e2e"))
from e2e import HANG_S, Sandbox, check, memory_kb, processor_s, symbols

SECONDS = float(os.environ.get("SECONDS", "10"))
ROWS = ((1, 4, 10), (100, 4, 10), (1000, 4, 1), (1000, 4, 10), (1000, 1000, 1),
        (1, 1000, 1), (1, 1000, 10))


def masked(text):
    """A client's text frame, masked with zeros."""
    data = text.encode()
    if len(data) < 126:
        head = struct.pack("!BB", 0x81, 0x80 | len(data))
    else:
        head = struct.pack("!BBH", 0x81, 0x80 | 126, len(data))
    return head + bytes(4) + data


class Connection:
    """One WebSocket over TLS that counts its messages."""

    def __init__(self, address, tls, token):
        plain = socket.create_connection(address)
        plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.socket = tls.wrap_socket(plain, server_hostname="localhost")
        self.socket.settimeout(HANG_S)
        self.socket.sendall((
            f"GET / HTTP/1.1\r\nHost: localhost:{address[1]}\r\n"
            "Upgrade: websocket\r\nConnection: Upgrade\r\n"
            "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
            "Sec-WebSocket-Version: 13\r\n"
            f"Authorization: Bearer {token}\r\n\r\n").encode())
        self.data = b""
        self.messages = 0
        while b"\r\n\r\n" not in self.data:
            self.data += self.socket.recv(65536)
        head, _, self.data = self.data.partition(b"\r\n\r\n")
        check(head.startswith(b"HTTP/1.1 101"), head)

    def subscribe(self, markets):
        for first in range(0, len(markets), 500):  # at most 64 KiB
            self.socket.sendall(masked(json.dumps({
                "type": "subscribe",
                "channels": [{"type": "market_data",
                              "params": {"market": market}}
                             for market in markets[first:first + 500]]})))
        self.socket.setblocking(False)

    def receive(self):
        """Reads all available data."""
        try:
            while True:
                data = self.socket.recv(1 << 20)
                check(data, "the sandbox closed a connection")
                self.data += data
                self.count()
        except (ssl.SSLWantReadError, BlockingIOError):
            pass

    def count(self):
        at, data = 0, self.data
        while len(data) - at >= 2:
            length, head = data[at + 1], 2
            if length > 125:
                head = 4 if length == 126 else 10
                if len(data) - at < head:
                    break
                length = int.from_bytes(data[at + 2:at + head], "big")
            if len(data) - at < head + length:
                break
            check(data[at] == 0x81, f"frame {data[at]:#x}")
            self.messages += 1
            at += head + length
        self.data = data[at:]


def pump(selector, until):
    while time.monotonic() < until:
        for key, _ in selector.select(max(until - time.monotonic(), 0)):
            key.data.receive()


def measure(sandbox, count, markets):
    sandbox.wait_ready()
    token = json.loads(sandbox.fetch_token()[2])["access_token"]
    url = urllib.parse.urlsplit(sandbox.urls["ws_url"])
    pid = sandbox.process.pid
    empty = memory_kb(pid) * 1024
    begin = time.monotonic()
    connections = [Connection(("127.0.0.1", url.port), sandbox.tls, token)
                   for _ in range(count)]
    opened = time.monotonic() - begin
    names = symbols(markets)
    with selectors.DefaultSelector() as selector:
        for i, connection in enumerate(connections):
            connection.subscribe(
                names if count == 1 else [names[i % len(names)]])
            selector.register(connection.socket, selectors.EVENT_READ,
                              connection)
            pump(selector, time.monotonic())
        pump(selector, time.monotonic() + 2)  # snapshots
        before = processor_s(pid)
        seen = sum(connection.messages for connection in connections)
        begin = time.monotonic()
        pump(selector, begin + SECONDS)
        passed = time.monotonic() - begin
        after, resident = processor_s(pid), memory_kb(pid) * 1024
        messages = sum(each.messages for each in connections) - seen
    for connection in connections:
        connection.socket.close()
    return {"opened": count / opened, "rate": messages / passed,
            "cpu": (after - before) / passed,
            "us": (after - before) / max(messages, 1) * 1e6,
            "resident": resident, "each": (resident - empty) / count}


def run(count, markets, rate):
    """Prints a row; returns True if the messages came at the full rate."""
    with tempfile.TemporaryDirectory() as state:
        sandbox = Sandbox(state, "--markets", str(markets), "--rate",
                          str(rate), "--seed", "1")
        try:
            os.sched_setaffinity(sandbox.process.pid, {0})
            found = measure(sandbox, count, markets)
        finally:
            sandbox.kill()
    wanted = rate * (markets if count == 1 else count)
    print(f"{count:6} {markets:7} {rate:4} {found['opened']:9.0f} "
          f"{wanted:9} {found['rate']:9.0f} {found['cpu']:6.1%} "
          f"{found['us']:7.1f} {found['resident'] / 1e6:7.1f} "
          f"{found['each'] / 1e3:8.1f}", flush=True)
    return found["rate"] > 0.97 * wanted


def main():
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, range(1, os.cpu_count()))
    print("connec-         rate of   opened  messages/s         cpu  us a "
          " resident   KB a\n tions markets each   a second   due      "
          "came          message     MB connection")
    rows = [tuple(map(int, sys.argv[1:]))] if sys.argv[1:] else ROWS
    if not all([run(*row) for row in rows]):
        sys.exit("Messages came later than due: the machine is too busy, or "
                 "the sandbox too slow.")


if __name__ == "__main__":
    main()
