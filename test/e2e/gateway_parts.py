"""The processes of the gateway's tests: a broker, gateways and consumers; and
the connections between them, which can be disturbed.

SPDX-License-Identifier: 0BSD
"""
import asyncio
import contextlib
import decimal
import json
import os
import re
import signal
import subprocess
import threading
import time

from e2e import (BUILD, HANG_S, Reader, check, environment_with, figure,
                 free_port, milliseconds, wait_for, write_file)

MARKETS = ("BTCUSD", "ETHUSD")
LEASE_MS = 1500
# The commands of the examples of consumers, in C and in Node.
CONSUMERS = ((os.path.join(BUILD, "gateway-consumer"),),
             ("node", os.path.join(BUILD, "node/consumer.mjs")))


def token(market):
    """A market's name as a token of a subject."""
    return "".join(c if c.isascii() and (c.isalnum() or c in "-_") else
                   "".join(f"={byte:02X}" for byte in c.encode())
                   for c in market)


class Logged:
    """A program whose output is added to a log."""

    def launch(self, log, command, **variables):
        self.log = log
        with open(log, "ab") as file:
            self.begin = file.tell()
            self.process = subprocess.Popen(
                command, env=environment_with(**variables),
                stdin=subprocess.DEVNULL, stdout=file, stderr=file)

    def said(self):
        """Its output since it was launched."""
        with open(self.log, encoding="utf-8") as file:
            file.seek(self.begin)
            return file.read()

    def until(self, pattern):
        wait_for(lambda: re.search(pattern, self.said()),
                 lambda: f"{pattern} in {self.said()}", process=self.process)

    def signal(self, number):
        self.process.send_signal(number)

    def kill(self):
        self.process.kill()
        self.process.wait()


class Broker(Logged):
    """A NATS server with a store. room: the limit of its store. lines:
    configuration in place of the store's."""

    def __init__(self, folder, prefix=(), store=None, room="20GB", lines=None):
        self.folder = folder
        self.prefix = prefix
        self.port = free_port()
        self.config = os.path.join(folder, "nats.conf")
        if lines is None:
            lines = (f"jetstream {{\nstore_dir: {store or folder}/store\n"
                     f"max_file_store: {room}\n}}\n")
        write_file(self.config, "host: 127.0.0.1\n" + lines)
        self.start()

    def start(self):
        self.launch(f"{self.folder}/nats.log", [
            *self.prefix, "nats-server", "-c", self.config, "-p",
            str(self.port)])
        wait_for(lambda: "Server is ready" in self.said(), self.said,
                 process=self.process)

    def pause(self):
        self.signal(signal.SIGSTOP)

    def go_on(self):
        self.signal(signal.SIGCONT)

    def restart(self):
        self.kill()
        self.start()


class Way:
    """A port that forwards to the broker, also after the broker's restart. It
    can be cut, delayed, and limited to a rate in each direction."""
    loop = asyncio.new_event_loop()  # of all ways, in a separate thread
    threading.Thread(target=loop.run_forever, daemon=True).start()

    def __init__(self, broker):
        self.broker = broker
        self.delay = 0.0
        self.bytes_per_s = None  # no limit
        self.is_cut = False
        self.writers = set()
        self.server = self.call(asyncio.start_server(
            self.serve, "127.0.0.1", 0))
        self.port = self.server.sockets[0].getsockname()[1]
        self.url = f"nats://127.0.0.1:{self.port}"

    @staticmethod
    def call(work):
        return asyncio.run_coroutine_threadsafe(work, Way.loop).result(HANG_S)

    async def serve(self, reader, writer):
        pair = [writer]
        try:
            if not self.is_cut:
                there = await asyncio.open_connection("127.0.0.1",
                                                      self.broker.port)
                pair.append(there[1])
                self.writers.update(pair)
                await asyncio.wait(
                    [Way.loop.create_task(self.pump(reader, there[1])),
                     Way.loop.create_task(self.pump(there[0], writer))],
                    return_when=asyncio.FIRST_COMPLETED)
        except OSError:
            pass
        for each in pair:
            self.writers.discard(each)
            each.close()

    async def pump(self, reader, writer):
        """Delays each byte by the delay at the time it was read. With a rate,
        bytes that were not carried yet stay with their sender."""
        under_way = asyncio.Queue(1000)
        carry = Way.loop.create_task(self.carry(under_way, writer))
        due = 0
        with contextlib.suppress(OSError):
            while data := await reader.read(self.at_once()):
                await under_way.put((Way.loop.time() + self.delay, data))
                if self.bytes_per_s:  # holds even if sleeps last longer
                    due = max(due, Way.loop.time() - 0.2) + \
                        len(data) / self.bytes_per_s
                    await asyncio.sleep(due - Way.loop.time())
        await under_way.put((0, b""))
        await carry

    def at_once(self):
        """The most bytes to read: with a rate, those of 50 ms."""
        return self.bytes_per_s // 20 if self.bytes_per_s else 65536

    @staticmethod
    async def carry(under_way, writer):
        with contextlib.suppress(OSError):
            while (each := await under_way.get())[1]:
                await asyncio.sleep(each[0] - Way.loop.time())
                writer.write(each[1])
                await writer.drain()

    async def close_all(self):
        for writer in self.writers:
            writer.close()

    def cut(self):
        self.is_cut = True
        self.call(self.close_all())

    def mend(self):
        self.is_cut = False


class Gateway(Logged):
    """A gateway with its own way to the broker. metrics: serve metrics."""

    def __init__(self, lab, name, stream="", metrics=False, levels=400,
                 **settings):
        self.lab = lab
        self.name = name
        self.way = Way(lab.broker)
        self.ini = os.path.join(lab.folder, name + ".ini")
        if metrics:
            self.metrics = free_port()
            stream += f"metrics = {self.metrics}\n"
        values = {"name": name, "lease_ms": LEASE_MS, "last_book_ms": 1000,
                  **settings}
        write_file(self.ini, "".join((
            "[service]\nendpoints = sandbox/endpoints.json\n"
            "client_id = sandbox-client\nsecret_file = secret\n"
            "ca = sandbox/ca.pem\n[stream]\n",
            *(f"markets = {' '.join(lab.markets[i:i + 10])}\n"
              for i in range(0, len(lab.markets), 10)),
            f"levels = {levels}\n{stream}[broker]\n"
            f"url = {self.way.url}\n[gateway]\n",
            *(f"{key} = {value}\n" for key, value in values.items()))))
        self.process = None
        self.floors = []  # (since, no gap begins before), ms
        self.start()

    def add_floor(self):
        """Called before a disturbance: executions that it makes missing are not
        older than the time up to which the gateway reported none missing."""
        now = time.time() * 1000
        self.floors.append((now, self.seen() if self.floors else now))

    def seen(self):
        """The time (ms) up to which it reported that it missed nothing."""
        with self.lab.nats() as nats:
            return int(nats.last_of("KV_mst_gateways", "$KV.mst_gateways."
                                    + self.name) or 0) / 10 ** 6

    def floor_at(self, ms):
        return [floor for since, floor in self.floors if since <= ms][-1]

    def start(self):
        check(not self.process or self.process.poll() is not None,
              f"{self.name} runs already")
        self.add_floor()
        self.launch(os.path.join(self.lab.folder, self.name + ".log"),
                    [os.path.join(BUILD, "mini-stream-gateway"), self.ini],
                    HOME=self.lab.folder)

    def figure(self, name):
        """One of its metrics, which are there once it runs."""
        return figure(self.metrics, f"gateway_{name}")

    def start_again(self):
        """Starts it, and waits until it reports for each market the gap that
        ends with the executions it receives."""
        waiting = set(self.lab.markets)
        with self.lab.nats() as nats:
            nats.subscribe("mst.execution.*")
            self.start()
            while waiting:
                message = nats.next()
                check(message, f"{self.name} tells no gap")
                line = json.loads(message.data)
                if line["type"] == "gap" and line["gateway"] == self.name:
                    waiting.discard(line["market"])

    def holds(self):
        """True if it has the lease according to its log."""
        said = self.said()
        return (self.process.poll() is None and
                said.rfind("holds the lease\n") > said.rfind("lost the lease"))


class Shown:
    """A line of a consumer, which is a book."""

    def __init__(self, line):
        document = json.loads(line)
        self.epoch, self.number = document["epoch"], document["number"]
        self.live = document["live"]
        self.time = milliseconds(document["time"]) if document["time"] else 0
        self.texts = document["bids"], document["asks"]

    def side(self, side):
        return [(decimal.Decimal(price), decimal.Decimal(amount))
                for price, amount in self.texts[side]]


class Consumer(Reader):
    """A consumer of a market's book, and all that it has printed."""

    def __init__(self, url, market, *command, options=("--depth", "1000")):
        self.market = market
        self.name = f"{os.path.basename(command[-1])} of {market}"
        self.shown = []
        self.compared = 0  # books equal to the truth of the same time
        self.next = 0  # the first line that is not compared yet
        super().__init__(subprocess.Popen(
            [*command, "--url", url, *options, market],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True))

    def take(self, line):
        if line.endswith("\n"):  # else it was killed while it wrote
            self.shown.append(Shown(line))

    def is_live(self):
        return bool(self.shown) and self.shown[-1].live
