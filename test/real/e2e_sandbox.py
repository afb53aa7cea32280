"""The sandbox itself, seen by a client that shares no code with it: lost
updates, pings, large and small books, many connections, the truth.

SPDX-License-Identifier: 0BSD
"""
import asyncio
import collections
import contextlib
import json

from e2e import HANG_S, SANDBOX, check
from stream_client import (BOOK, TOP, Decimal, Different, Missing, Service,
                           book_seen, check_refused, client_of, compare,
                           connected, follow, milliseconds)


async def test_a_millisecond_for_each_change():
    async with client_of(rate=1000) as client:
        await client.subscribe((BOOK,), ("BTCUSD",))
        await client.until(lambda c: len(c.updates()) >= 500, "updates", 20)
        times = [milliseconds(book["time"])
                 for book in client.payloads(BOOK)]
        check(times == sorted(set(times)), "changes share a millisecond")


def losses(client):
    """{best levels before and after: True if the book's update was lost}, for
    BTCUSD. A top without a pair would recur when a change is undone."""
    seen = {milliseconds(book["time"])
            for book in client.payloads(BOOK, "BTCUSD")}
    tops = client.payloads(TOP, "BTCUSD")
    # The first is not a change. The book may still get updates for later ones.
    return {json.dumps([[top["bids"], top["asks"]] for top in pair]):
            milliseconds(pair[1]["timestamp"]) not in seen
            for pair in zip(tops, tops[1:])
            if milliseconds(pair[1]["timestamp"]) <= max(seen)}


async def test_lost_updates():
    # They begin with the first subscription: both have the same changes.
    options = ("--lose", "4", "--seed", "7", "--wait")
    # Only one market, so that many changes are few messages.
    async with client_of(*options, rate=150) as first, client_of(
            *options, rate=150) as second:
        for client in (first, second):
            await client.subscribe((BOOK, TOP), ("BTCUSD",))
        await first.until(lambda c: len(c.payloads(TOP)) > 300, "tops", 20)
        await second.until(lambda c: len(c.payloads(TOP)) > 300, "tops", 20)
        a, b = losses(first), losses(second)
        share = sum(a.values()) / len(a)
        check(0.15 < share < 0.35, f"lost {share}")
        both = a.keys() & b.keys()
        check(len(both) > 100, "both runs saw the same changes")
        check(all(a[key] == b[key] for key in both), "the seed decides")


async def test_without_loss():
    async with client_of(rate=100) as client:
        await client.subscribe((BOOK, TOP), ("BTCUSD",))
        await client.until(lambda c: len(c.payloads(TOP)) > 100, "tops", 20)
        check(not any(losses(client).values()), "lost without --lose")


async def test_loss_shows_in_the_book():
    async with client_of("--lose", "2") as client:
        await client.subscribe((BOOK,))
        with contextlib.suppress(Different):
            for _ in range(100):
                with contextlib.suppress(Missing):
                    await compare(client, "BTCUSD")
            raise AssertionError("the book is the truth in spite of losses")


async def test_pings():
    """A client that answers them stays; one that does not is closed."""
    async with client_of("--ping", "3") as answers, \
            client_of("--ping", "1") as silent:
        pings = collections.Counter()

        async def answer(data, pong=answers.socket.pong):
            pings[answers] += 1
            await pong(data)

        async def keep_silent(_):
            pings[silent] += 1

        answers.socket.pong, silent.socket.pong = answer, keep_silent
        await asyncio.wait_for(silent.socket.wait_closed(), HANG_S)
        check(silent.socket.close_code == 1008, silent.socket.close_code)
        check(silent.socket.close_reason == "pings not answered",
              silent.socket.close_reason)
        check(pings[silent] in (2, 3), f"{pings[silent]} pings")
        while pings[answers] < 4:
            check(answers.socket.open, "closed though it answers")
            await asyncio.sleep(0.1)


async def test_without_pings(client):
    async def fail(_):
        raise AssertionError("pinged without --ping")

    client.socket.pong = fail
    await asyncio.sleep(2.5)
    check(client.socket.open, "closed")


async def test_large_book():
    async with client_of("--levels", "80000", rate=2) as client:
        await client.subscribe((BOOK,), ("LTCUSD",))
        await client.until(book_seen("LTCUSD"), "the snapshot")
        snapshot = client.payloads(BOOK, "LTCUSD")[0]
        check(len(snapshot["bids"]) == len(snapshot["asks"]) == 80000,
              "levels")
        check(min(Decimal(level["price"]) for level in snapshot["bids"]) > 0,
              "prices")
        check(await compare(client, "LTCUSD"), "compared")


async def test_small_book():
    async with client_of("--levels", "8", "--quirk", "all") as client:
        await client.subscribe((BOOK,))
        await follow(client)
        for book in client.books.values():
            for sides in list(book.history.values())[-20:]:
                check(all(len(side) == 8 for side in sides.values()), "8")


class Narrow(Service):
    """Starts with a low soft limit of descriptors, which it may raise."""
    command = ("bash", "-c", 'ulimit -Sn 100; exec "$@"', "bash", SANDBOX)


async def test_many_connections():
    async with client_of(kind=Narrow, rate=1) as first:
        async with contextlib.AsyncExitStack() as stack:
            for _ in range(100):
                client = await stack.enter_async_context(
                    connected(first.service))
                await client.subscribe((BOOK,), ("BTCUSD",))
            await client.until(book_seen("BTCUSD"), "the last's data")


async def test_truth_errors(client):
    await check_refused(
        client, ("?market=NOSUCH", "GET", 404), ("", "GET", 400),
        ("?x=1", "GET", 400), ("/x?market=BTCUSD", "GET", 404),
        ("?market=BTCUSD", "POST", 405))
