"""A script of the sandbox: its markets exist, its faults come when it says, and
errors in a script are named.

SPDX-License-Identifier: 0BSD
"""
import asyncio
import contextlib
import json
import re
import tempfile
import time

from e2e import HANG_S, check, read_file, refusal, wait_for
from stream_client import BOOK, Decimal, client_of, connected, entries
from tree import blocks_of

README = "examples/sandbox/README.md"


@contextlib.contextmanager
def file_of(script):
    text = script if isinstance(script, str) else json.dumps(script)
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        file.write(text)
        file.flush()
        yield file.name


@contextlib.asynccontextmanager
async def scripted(script, *options, rate=20):
    with file_of(script) as path:
        async with client_of("--script", path, *options,
                             rate=rate) as client:
            yield client


async def faults(client):
    """The active faults, as the sandbox reports them."""
    return await asyncio.to_thread(client.service.active)


async def active(client, condition, what):
    await asyncio.to_thread(
        wait_for, lambda: condition(client.service.active()), what)


def example():
    """The script of the sandbox's README."""
    return next(block.text for block in blocks_of(README)
                if (block.kind, block.how) == ("json", "script"))


# ---- Markets ----

THREE = {"markets": [
    {"symbol": "BTC/USD", "price": "95000.00", "rate": 100},
    {"symbol": "doge.x", "price": "0.350000", "amount": "5000.0",
     "levels": 20, "rate": 10},
    {"symbol": "IDLE", "price": "1.0000", "rate": 0}]}
NAMES = [market["symbol"] for market in THREE["markets"]]


async def test_markets():
    async with scripted(THREE) as client:
        await client.subscribe((BOOK,), NAMES)
        await client.until(lambda c: len(c.payloads(BOOK, "doge.x")) > 30,
                           "updates")
        books = {name: client.payloads(BOOK, name)[0] for name in NAMES}
        check(all(book["type"] == "SNAPSHOT" for book in books.values()),
              "snapshots")
        for name, price, decimals, amounts in (
                ("BTC/USD", 95000, 2, 8), ("doge.x", "0.35", 6, 1),
                ("IDLE", 1, 4, 8)):
            best = books[name]["bids"][0]
            check(abs(Decimal(best["price"]) / Decimal(price) - 1) < 0.01,
                  f"{name}: {best}")
            check([len(best[key].partition(".")[2])
                   for key in ("price", "amount")] == [decimals, amounts],
                  f"{name}: {best}")
            check(all(Decimal(level["price"]) > 0
                      for level in books[name]["bids"]), f"{name}: prices")
        check(len(books["doge.x"]["bids"]) == 20, "levels")
        check(len(books["BTC/USD"]["bids"]) >= 100, "the usual levels")
        check(len(client.payloads(BOOK, "IDLE")) == 1, "it does not move")
        reply = await client.request("subscribe", entries((BOOK,), ("ETHUSD",)))
        check(reply["channels"][0]["success"] is False, "no other market")


async def test_rates():
    """Ten changes of the one for each of the other, in this order."""
    async with scripted(THREE, "--wait", "--seed", "5") as client:
        await client.subscribe((BOOK,), NAMES)
        await client.until(lambda c: len(c.payloads(BOOK, "doge.x")) > 10,
                           "updates")
        order = [book["market"] for book in client.updates()]
        check(order[:110] == (["BTC/USD"] * 10 + ["doge.x"]) * 10, order)


async def test_other_options_hold():
    script = {"markets": [{"symbol": "A", "price": "100.000"},
                          {"symbol": "B", "price": "100.000", "levels": 30}]}
    async with scripted(script, "--levels", "10") as client:
        await client.subscribe((BOOK,), ("A", "B"))
        await client.until(lambda c: len(c.payloads(BOOK)) > 1, "books")
        check([len(book["asks"]) for book in client.payloads(BOOK)[:2]] ==
              [10, 30], "levels")


# ---- Steps ----

async def test_after_the_start():
    """Faults are added to the active ones; a clear ends all."""
    latency = {"ms": 1, "for_ms": 60000}
    async with scripted({"steps": [
            {"faults": {"latency": latency}},
            {"delay_ms": 500, "faults": {"no_answer": {"count": 7}}},
            {"delay_ms": 8000, "faults": {"clear": True}}]}) as client:
        await active(client, lambda set: "no_answer" in set, "the second")
        both = await faults(client)
        check(set(both) == {"latency", "no_answer"}, both)
        check(both["no_answer"]["count"] == 7 and
              both["latency"]["for_ms"] < 60000, both)
        await active(client, lambda set: set == {}, "the end")


async def test_after_each_event():
    """Each connection is closed 200 ms after it subscribed, three times."""
    async with scripted({"steps": [
            {"after": "subscribe", "delay_ms": 200, "times": 3,
             "faults": {"close": {"code": 4001}}}]}) as first:
        for number in range(4):
            async with connected(first.service) as client:
                begin = time.monotonic()
                await client.subscribe((BOOK,))
                if number == 3:
                    await client.until(lambda c: len(c.updates()) > 100,
                                       "it stays")
                    break
                check(await client.closed() == 4001, "the code")
                check(time.monotonic() - begin > 0.19, "not before")


async def test_again_and_again():
    async with scripted({"steps": [
            {"after": "subscribe", "every_ms": 2000, "times": 3,
             "faults": {"garbage": {"text": "[1]"}}}]}) as client:
        begin = time.monotonic()
        await client.socket.send(json.dumps({
            "type": "subscribe", "channels": entries((BOOK,), ("BTCUSD",))}))
        times, end = [], begin + HANG_S
        while len(times) < 3 or time.monotonic() < times[-1] + 3:
            check(time.monotonic() < end, "never: the third")
            if await client.socket.recv() == "[1]":
                times.append(time.monotonic())
        check(len(times) == 3, "three times")
        check(times[2] - begin > 3.9, "every two seconds")


async def test_every_event():
    """Each event starts its own fault."""
    names = {"start": "freeze", "token": "upgrade", "connect": "no_answer",
             "subscribe": "address", "unsubscribe": "address_lost",
             "disconnect": "no_heartbeat"}
    given = {"freeze": {"at": "token"}, "upgrade": {"status": 500},
             "address": {"status": 500}}
    steps = [{"after": event, "faults": {
        name: given.get(name, {"carried_out": True, "count": 9}
                        if name == "no_answer" else {})}}
             for event, name in names.items() if event != "start"]
    # The first connection has its token already: that must start nothing.
    steps[0]["delay_ms"] = 5000
    async with scripted({"steps": steps}) as client:
        await active(client, lambda set: set.keys() == {"no_answer"},
                     "connected")
        channels = entries((BOOK,), ("BTCUSD",))
        for action, name in (("subscribe", "address"),
                             ("unsubscribe", "address_lost")):
            await client.socket.send(json.dumps({"type": action,
                                                 "channels": channels}))
            await active(client, lambda set, name=name: name in set, action)
        await client.socket.close()
        await active(client, lambda set: set.keys() >= {
            "no_heartbeat", "upgrade"}, "the rest")


def known_faults():
    """The faults listed in the README, with their required parameters."""
    needed = {"latency": {"ms": 1}, "bandwidth": {"bytes_per_s": 1000},
              "slice": {"bytes": 1}, "restart": {"for_ms": 1},
              "token": {"status": 503}, "upgrade": {"status": 503},
              "close": {"code": 1001}, "address": {"status": 503}}
    table = read_file(README).partition("| Fault |")[2].partition("\n\n")[0]
    return {name: needed.get(name, {})
            for name in re.findall(r"^\| `(\w+)` ", table, re.M)}


async def test_every_fault():
    every = known_faults()
    check(len(every) > 15, f"{len(every)} faults")
    async with scripted({"steps": [
            {"delay_ms": 86400000, "faults": {name: parameters}}
            for name, parameters in every.items()]}) as client:
        check(await faults(client) == {}, "none as yet")


async def test_the_example_of_the_readme():
    text = example()
    script = json.loads(text)
    async with scripted(text) as client:
        names = [market["symbol"] for market in script["markets"]]
        await client.subscribe((BOOK,), names)
        await client.until(lambda c: all(c.payloads(BOOK, name)
                                         for name in names), "snapshots")
        check((await faults(client)).get("token", {}).get("status") == 503,
              "the next token is refused")
        check(await client.closed() == 1001, "it is closed")
        await active(client, lambda set: "latency" in set, "latency")


# ---- What is wrong ----

def one_market(**fields):
    return {"markets": [{"symbol": "A", "price": "1.0000", **fields}]}


def one_step(**fields):
    return {"steps": [{"faults": {}, **fields}]}


WRONG = [
    ("", r":1: "), ('{\n"steps": [}', r":2: "),
    ('{"steps": [], "steps": []}', r":1: duplicate"),
    ("[]", r" must be an object"), ({"market": []}, r" market is not known"),
    ({"markets": {}}, r" markets must be an array"),
    ({"markets": []}, r" markets must be an array of 1 to"),
    ({"steps": 1}, r" steps must be an array"),
    ({"markets": [1]}, r" markets\[0\] must be an object"),
    ({"markets": [{"symbol": "A"}]}, r" markets\[0\]\.price is missing"),
    (one_market(symbol=""), r" markets\[0\]\.symbol must be text"),
    (one_market(symbol="A B"), r" markets\[0\]\.symbol must be printable"),
    (one_market(symbol="A\u00e9"), r" markets\[0\]\.symbol must be printable"),
    (one_market(symbol="A" * 32), r" markets\[0\]\.symbol must be text"),
    ({"markets": 2 * one_market()["markets"]},
     r" markets\[1\]\.symbol is not unique"),
    (one_market(price=1), r" markets\[0\]\.price must be text"),
    (one_market(price="0.00"), r" markets\[0\]\.price must be a decimal"),
    (one_market(price="-1"), r" markets\[0\]\.price must be a decimal"),
    (one_market(price="1."), r" markets\[0\]\.price must be a decimal"),
    (one_market(price=".1"), r" markets\[0\]\.price must be a decimal"),
    (one_market(price="1e5"), r" markets\[0\]\.price must be a decimal"),
    (one_market(price="1.0000000001"), r" markets\[0\]\.price must be a dec"),
    (one_market(price="1.00"), r" markets\[0\]\.price has too few ticks"),
    (one_market(amount="99999999999.0"), r" markets\[0\]\.amount has too many"),
    (one_market(amount="0"), r" markets\[0\]\.amount must be a decimal"),
    (one_market(rate=1001), r" markets\[0\]\.rate must be a whole number"),
    (one_market(levels=7), r" markets\[0\]\.levels must be a whole number"),
    (one_market(colour="red"), r" markets\[0\]\.colour is not known"),
    (one_step(after="yesterday"), r" steps\[0\]\.after must be one of start,"),
    (one_step(delay_ms=-1), r" steps\[0\]\.delay_ms must be a whole number"),
    (one_step(every_ms=0), r" steps\[0\]\.every_ms must be a whole number"),
    (one_step(times=0), r" steps\[0\]\.times must be a whole number"),
    ({"steps": [{}]}, r" steps\[0\]\.faults is missing"),
    (one_step(faults=[]), r" steps\[0\]\.faults the faults must be an object"),
    (one_step(faults={"flood": {}}), r" steps\[0\]\.faults\.flood is not a f"),
    (one_step(faults={"latency": {}}),
     r" steps\[0\]\.faults\.latency\.ms is missing"),
    (one_step(faults={"close": {"code": 1005}}),
     r" steps\[0\]\.faults\.close\.code must be 1000 to"),
]


async def test_what_is_wrong():
    for script, said in WRONG:
        with file_of(script) as path:
            error = await asyncio.to_thread(refusal, "--script", path)
            check(re.match(f"sandbox: {re.escape(path)}:?{said}", error),
                  f"{script!r}: {error}")


async def test_no_such_file():
    error = await asyncio.to_thread(refusal, "--script",
                                    "/nonexistent/script.json")
    check("/nonexistent/script.json: No such file" in error, error)


async def test_markets_twice():
    with file_of(one_market()) as path:
        error = await asyncio.to_thread(refusal, "--script", path,
                                        "--markets", "5")
        check("--markets and the markets of" in error, error)
