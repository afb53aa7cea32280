"""A client of the sandbox that shares no code with it, and a simple order book
built from its messages: the reference.

SPDX-License-Identifier: 0BSD
"""
import asyncio
import collections
import contextlib
import decimal
import json
import time

import websockets

from e2e import FOUR_MARKETS as MARKETS
from e2e import (HANG_S, Sandbox, check, milliseconds, numbers, parse_time,
                 sandbox_of)

# Changes a second of each market: a client slower than this never catches up.
RATE = 30
CHANNELS = ("market_data", "market_data.top_of_book", "execution_data")
BOOK, TOP, EXECUTION = CHANNELS
Decimal = decimal.Decimal


# ---- The reference ----

class Book:
    """Bids and asks by price, merged as the field notes say."""

    def __init__(self):
        self.sides = None  # until the snapshot
        self.snapshot_ns = None
        self.waiting = []
        self.history = collections.OrderedDict()  # milliseconds: sides

    def change(self, update):
        if parse_time(update["time"])[0] <= self.snapshot_ns:
            return
        for side in ("bids", "asks"):
            for level in update.get(side, ()):
                price, amount = Decimal(level["price"]), Decimal(
                    level["amount"])
                if amount == 0:
                    self.sides[side].pop(price, None)
                else:
                    self.sides[side][price] = amount
        self.remember(update)

    def remember(self, message):
        self.history[milliseconds(message["time"])] = {
            side: dict(levels) for side, levels in self.sides.items()}
        while len(self.history) > 2000:
            self.history.popitem(last=False)

    def take(self, message):
        if message["type"] == "UPDATE" and self.sides is None:
            self.waiting.append(message)
        elif message["type"] == "UPDATE":
            self.change(message)
        else:
            self.snapshot_ns = parse_time(message["time"])[0]
            self.sides = {side: {Decimal(level["price"]):
                                 Decimal(level["amount"])
                                 for level in message[side]}
                          for side in ("bids", "asks")}
            self.remember(message)
            waiting, self.waiting = self.waiting, []
            for update in waiting:
                self.change(update)


# ---- Service and client ----

class Service(Sandbox):
    """One running sandbox."""

    def http(self, url, method="GET", data=None):
        """Returns (status, content type, parsed body)."""
        status, headers, body = self.fetch(url, data, method)
        return status, headers.get_content_type(), json.loads(body)

    def token(self):
        return json.loads(self.fetch_token()[2])["access_token"]

    def truth(self, query, method="GET"):
        return self.http(self.urls["base_url"] + "/sandbox/truth" + query,
                         method)

    def executions(self, market, since=None):
        """Returns (the response, its executions as numbers)."""
        query = f"/executions?market={market}"
        status, kind, answer = self.truth(
            query + (f"&since={since}" if since else ""))
        check((status, kind) == (200, "application/json"), answer)
        return answer, [numbers(each) for each in answer["executions"]]


class Client:
    """One connection, and all messages received on it."""

    def __init__(self, service, socket):
        self.service = service
        self.socket = socket
        self.raw = []
        self.messages = []
        self.books = collections.defaultdict(Book)

    async def receive(self):
        raw = await asyncio.wait_for(self.socket.recv(), HANG_S)
        message = json.loads(raw)
        self.raw.append(raw)
        self.messages.append(message)
        if message.get("channel") == BOOK:
            self.books[message["payload"]["market"]].take(message["payload"])
        return message

    async def closed(self):
        """Receives until the connection is closed. Returns the close code."""
        with contextlib.suppress(websockets.ConnectionClosed):
            while True:
                await self.receive()
        return self.socket.close_code

    async def until(self, condition, what, step=1):
        """Receives until condition(self), tested every step messages."""
        end = time.monotonic() + HANG_S
        while not condition(self):
            check(time.monotonic() < end, f"never: {what}")
            for _ in range(step):
                await self.receive()

    async def request(self, action, channels=None):
        """Sends a request. Returns the response; keeps what comes before it."""
        message = {"type": action}
        if channels is not None:
            message["channels"] = channels
        await self.socket.send(json.dumps(message))
        while True:
            reply = await self.receive()
            if reply.get("type") == action or "error" in reply:
                return reply

    async def subscribe(self, channels=CHANNELS, markets=MARKETS):
        reply = await self.request("subscribe", entries(channels, markets))
        check(all(entry["success"] for entry in reply["channels"]),
              "subscribed")

    def payloads(self, channel, market=None):
        return [message["payload"] for message in self.messages
                if message.get("channel") == channel and
                market in (None, message["payload"]["market"])]

    def updates(self):
        return [book for book in self.payloads(BOOK)
                if book["type"] == "UPDATE"]

    def levels(self):
        return [level for book in self.payloads(BOOK)
                for side in ("bids", "asks") for level in book.get(side, ())]


def entries(channels, markets):
    return [{"type": channel, "params": {"market": market}}
            for channel in channels for market in markets]


@contextlib.asynccontextmanager
async def connected(service):
    """A client connected to a service that is ready."""
    token = await asyncio.to_thread(service.token)
    async with websockets.connect(
            service.urls["ws_url"], ssl=service.tls, max_size=None,
            max_queue=None, ping_interval=None, compression=None,
            extra_headers={"Authorization": f"Bearer {token}"}) as socket:
        yield Client(service, socket)


@contextlib.asynccontextmanager
async def client_of(*options, rate=RATE, kind=Service):
    with contextlib.ExitStack() as stack:
        service = await asyncio.to_thread(stack.enter_context, sandbox_of(
            "--rate", str(rate), *options, kind=kind))
        async with connected(service) as client:
            yield client
        status = service.process.poll()  # if it has ended by itself
        check(status in (None, 0), f"the sandbox ended with {status}")
        await asyncio.to_thread(stack.pop_all().close)


# ---- Truth ----

class Different(AssertionError):
    """The reference differs from the truth."""


class Missing(AssertionError):
    """No message had the truth's time."""


async def while_reading(client, call, *arguments):
    """Runs a call in a thread while the client reads: one that does not read is
    closed. Returns the call's result."""
    running = asyncio.ensure_future(asyncio.to_thread(call, *arguments))
    while not running.done():
        await client.receive()
    return await running


async def compare(client, market):
    """Compares the current truth with the reference once that has reached its
    time. Returns False if the reference begins later."""
    status, kind, truth = await while_reading(
        client, client.service.truth, f"?market={market}")
    check((status, kind) == (200, "application/json"), "truth")
    check(set(truth) == {"market", "time", "bids", "asks"} and
          truth["market"] == market, "fields of the truth")
    at = milliseconds(truth["time"])
    history = client.books[market].history
    await client.until(lambda _: history and max(history) >= at,
                       "the time of the truth")
    if min(history) > at:
        return False
    check(at in history, "no message of the truth's time", Missing)
    for side, reverse in (("bids", True), ("asks", False)):
        prices = [Decimal(level["price"]) for level in truth[side]]
        check(prices == sorted(set(prices), reverse=reverse),
              f"order of the truth's {side}")
        check({Decimal(level["price"]): Decimal(level["amount"])
               for level in truth[side]} == history[at][side],
              f"{side} of {market} at {truth['time']} are not the truth",
              Different)
    return True


async def check_refused(client, *cases):
    """Checks that each (query, method) is refused with this status."""
    for query, method, status in cases:
        got, kind, problem = await asyncio.to_thread(
            client.service.truth, query, method)
        check((got, kind) == (status, "application/problem+json"),
              f"{query}: {got} {kind}")
        check(problem["status"] == status and problem["detail"], problem)


async def follow(client, rounds=4):
    """Compares each market several times, with changes in between."""
    for market in MARKETS:
        compared = 0
        while compared < rounds:
            seen = len(client.updates())
            compared += await compare(client, market)
            await client.until(lambda c: len(c.updates()) >= seen + 5,
                               "5 updates")


def book_seen(market):
    return lambda client: bool(client.payloads(BOOK, market))
