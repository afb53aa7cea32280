#!/usr/bin/env python3
"""Counts the instructions of a message on the emulated board, by part: the
image "any" with its TCP/IP and TLS, and the benchmarks' messages about a live
book, each in a separate TLS record. Prints a Markdown table.

Usage: cost.py                                      (make firmware-cost)
BUILD: where the programs are; COST_MESSAGES (200): how many are counted.

The image is not changed for it: while messages arrive, the emulator executes
one instruction at a time and logs its address. The sandbox gives the token; a
small service replaces its stream and sends the messages.
SPDX-License-Identifier: 0BSD
"""
import asyncio
import collections
import datetime
import json
import os
import re
import ssl
import subprocess
import sys
import threading
import time

import websockets

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../e2e"))
from e2e import HANG_S, check
from firmware import MARKETS, check_well, wait_live
from image import Parts
from lab import AES_GCM, CERTIFICATES, CHACHA20, FOLDER, IMAGES, SERVICES, Lab

MESSAGES = int(os.environ.get("COST_MESSAGES", "200"))
MESSAGES_BEFORE = 20  # to warm up
LEVELS = 60  # a side; the board keeps 50
QUIET_S = 0.06  # the board sleeps if it executes nothing for this long
IDLE_S = 10
TICK_S = 0.25  # period of the board's clock

CIPHERS = {"ChaCha20-Poly1305": CHACHA20, "AES-128-GCM": AES_GCM}
# One of these opens a record.
DECRYPT = ("chapol_decrypt", "gcm_decrypt")
END = "End\n"  # the last line of a trace

# The parts that a message passes. A function belongs to one by its name, else
# by its section of the library, else by its part of the image.
TCP, TLS, FRAMING, DECODING, BOOK, REST, LOOP = WAY = (
    "TCP/IP", "TLS", "framing", "decoding", "book", "link and client",
    "the program's loop")
ETHERNET = re.compile(r"network_|(board|device)_(receive|sen[dt])"
                      r"|(receive|send)_(byte|frame)")
BY_SECTION = {"json": DECODING, "object": DECODING,
              "message: contents": DECODING, "message: fast lane": DECODING,
              "message: reading": DECODING, "book: sides": BOOK,
              "book: messages": BOOK, "ws": FRAMING, "transport": TLS,
              # They count for the part that calls them.
              "base": None, "decimal and time": None}
BY_PART = {"libc": None, "lwIP": TCP, "port": TCP, "BearSSL": TLS,
           "library": REST, "application": LOOP, "board": LOOP, "flash": LOOP}


def part_of(piece):
    if ETHERNET.match(piece.name):
        return TCP
    if piece.section in BY_SECTION:
        return BY_SECTION[piece.section]
    return BY_PART[piece.part]


class Trace(threading.Thread):
    """Counts what the emulator executes meanwhile, from its log."""

    def __init__(self, lab, image):
        super().__init__(daemon=True)
        self.board = lab.board
        self.path = lab.path("trace")
        self.piece_at = {address: piece for piece in image.pieces
                         for address in range(piece.address, piece.address +
                                              piece.size, 2) if piece.flash}
        self.start_of = {piece.name: piece.address for piece in image.pieces}
        self.executed = collections.Counter()  # by part
        self.entered = collections.Counter()  # by address of a function

    def __enter__(self):
        os.mkfifo(self.path)
        self.start()
        self.board.command("singlestep on")
        self.board.command("logfile " + self.path)
        self.board.command("log exec,nochain")
        return self

    def __exit__(self, *_):
        self.board.command("log none")
        self.board.command("singlestep off")
        # The emulator closes it later. Opening it like this does not wait for
        # a reader.
        file = os.open(self.path, os.O_RDWR)
        os.write(file, END.encode())
        self.join()
        os.close(file)
        os.unlink(self.path)

    def addresses(self):
        """The addresses of the instructions, in order."""
        address = None
        with open(self.path, encoding="ascii") as file:
            for line in file:
                if line.startswith("Trace "):
                    if address is not None:
                        yield address
                    address = int(line.split("/", 2)[1], 16)
                elif line.startswith(("Stopped ", "cpu_io_recompile")):
                    address = None  # not executed: it is logged again
                elif line == END:
                    break
        if address is not None:
            yield address

    def run(self):
        # The board's periodic report belongs to no message.
        report, main = (self.start_of[name] for name in ("report",
                                                         "startup.main"))
        reports, part = False, LOOP
        for address in self.addresses():
            piece = self.piece_at[address]
            if address == report:
                reports = True
            elif piece.address == main:
                reports = False
            if not reports:
                part = part_of(piece) or part
                self.executed[part] += 1
                self.entered[address] += address == piece.address

    def times(self, *names):
        """How often these functions were entered."""
        return sum(self.entered[self.start_of[name]] for name in names)

    def seconds(self):
        return self.times("board_tick") * TICK_S

    def wait_quiet(self, records):
        """Waits until this many records were opened and processed."""
        end, before = time.monotonic() + HANG_S, None
        while (self.times(*DECRYPT) < records or
               before != self.executed.total()):
            check(self.is_alive(), "the trace has ended")
            check(time.monotonic() < end, f"never came: record {records}")
            before = self.executed.total()
            time.sleep(QUIET_S)


class Feed(threading.Thread):
    """Answers the subscribe request, and sends messages when asked to."""

    def __init__(self):
        super().__init__(daemon=True)
        self.snapshot, *self.messages = subprocess.run(
            [os.path.join(FOLDER, "lines"),
             str(MESSAGES_BEFORE + MESSAGES), str(LEVELS)], check=True,
            text=True, stdout=subprocess.PIPE).stdout.splitlines()
        self.loop = asyncio.new_event_loop()
        self.stream = None

    def run(self):
        asyncio.set_event_loop(self.loop)
        tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        tls.load_cert_chain(f"{CERTIFICATES}/ec-chain.pem",
                            f"{CERTIFICATES}/ec.key")
        port = next(real for name, _, _, real in SERVICES if name == "ws")
        self.loop.run_until_complete(websockets.serve(
            self.serve, "127.0.0.1", port, ssl=tls, compression=None,
            ping_interval=None))
        self.loop.run_forever()

    async def serve(self, stream):
        self.stream = stream
        try:
            request = json.loads(await stream.recv())
            channels = request["channels"]
            for channel in channels:
                channel["success"] = True
            await stream.send(json.dumps(request))
            for channel in channels:
                if channel["type"] == "market_data":
                    await stream.send(self.snapshot.replace(
                        MARKETS[0], channel["params"]["market"]))
            await stream.wait_closed()
        except websockets.ConnectionClosed:
            pass

    def send(self):
        """Sends the next message; returns its length."""
        message = self.messages.pop(0)
        asyncio.run_coroutine_threadsafe(self.stream.send(message),
                                         self.loop).result(HANG_S)
        return len(message)


def measure(image, ciphers):
    """(trace of messages, trace without messages, bytes of the messages)"""
    # The sandbox's stream is on another port.
    with Lab("--ws-port", "0", ciphers=ciphers) as lab:
        feed = Feed()
        feed.start()
        wait_live(lab.board)
        for _ in range(MESSAGES_BEFORE):
            feed.send()
            time.sleep(QUIET_S)
        before = lab.board.report()
        sent = 0
        with Trace(lab, image) as trace:
            for records in range(1, MESSAGES + 1):
                sent += feed.send()
                trace.wait_quiet(records)
        with Trace(lab, image) as idle:
            time.sleep(IDLE_S)
        after = lab.board.report()
        check_well(before, after)
        for what, count in (("messages", after["messages"] -
                             before["messages"]),
                            ("records", trace.times(*DECRYPT))):
            check(count == MESSAGES, f"{count} {what} for {MESSAGES} messages")
        check(idle.times(*DECRYPT) == 0, "messages while there are none")
        return trace, idle, sent


def row(what, figures):
    print(f"| {what} |", " | ".join(f"{figure:,.0f}" for figure in figures),
          "|")


def main():
    image = Parts(os.path.join(IMAGES, "any.elf"))
    measured = [measure(image, ciphers) for ciphers in CIPHERS.values()]
    traces = [trace for trace, _, _ in measured]
    print(f"{datetime.date.today().isoformat()}, make firmware-cost: "
          f"{MESSAGES} messages of {measured[0][2] / MESSAGES:.0f} bytes on "
          "average,",
          " and ".join(f"{MESSAGES / trace.seconds():.1f}" for trace in traces),
          "a second\n")
    print("| instructions for a message |", " | ".join(CIPHERS), "|")
    print("|---|" + "---|" * len(CIPHERS))
    for part in WAY:
        row(part, [trace.executed[part] / MESSAGES for trace in traces])
    row("all", [trace.executed.total() / MESSAGES for trace in traces])
    row("in a second without messages",
        [idle.executed.total() / idle.seconds()
         for _, idle, _ in measured])


if __name__ == "__main__":
    main()
