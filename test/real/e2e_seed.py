"""The same seed gives byte for byte the same messages, except for their times:
with every quirk, with other clients, and wherever a client joins.

SPDX-License-Identifier: 0BSD
"""
import contextlib
import json
import re

from e2e import check
from stream_client import BOOK, CHANNELS, MARKETS, TOP, client_of, connected

RATE = 50
WANTED = 1000  # messages to compare
TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z")


def content(client):
    """The messages of markets, as text without times."""
    return [TIME.sub("", raw) for raw, message
            in zip(client.raw, client.messages)
            if message.get("channel") in CHANNELS]


async def collect(*options, seed=7, beside=None):
    """The content for a client that subscribes all as soon as it connects."""
    async with client_of("--seed", str(seed), *options, rate=RATE) as client:
        async with contextlib.AsyncExitStack() as stack:
            if beside:
                other = await stack.enter_async_context(
                    connected(client.service))
                await beside(other)
            await client.subscribe()
            await client.until(lambda c: len(content(c)) >= WANTED,
                               "messages", 50)
        return content(client)[:WANTED]


def check_same(first, second):
    for at, (one, other) in enumerate(zip(first, second)):
        check(one == other, f"message {at}: {one[:300]}\n{other[:300]}")
    check(len(first) == len(second) == WANTED, "as many")


async def test_twice_the_same():
    first, second = await collect("--wait"), await collect("--wait")
    check_same(first, second)
    check(len(set(first)) > WANTED / 2, "different messages")


async def test_twice_the_same_with_every_quirk():
    """Except those that delay by the clock, and those of responses only."""
    names = ("early-updates", "mixed-precision", "trimmed-zeros",
             "zero-spellings", "absent-sides", "late-executions",
             "snapshot-type", "level-order", "key-order", "white-space",
             "unknown-fields", "unknown-channels", "crossed")
    options = ["--wait", "--lose", "9", *(word for name in names
                                          for word in ("--quirk", name))]
    first, second = await collect(*options), await collect(*options)
    check_same(first, second)


async def test_another_seed_is_another_market():
    first, second = await collect("--wait"), await collect("--wait", seed=8)
    check(first[0] != second[0] and first != second, "the same")


async def test_other_clients_change_nothing():
    async def beside(other):
        for _ in range(5):
            await other.request("nonsense")
            await other.request("subscription_list")

    options = ("--wait", "--quirk", "key-order", "--quirk", "white-space",
               "--quirk", "unknown-fields", "--quirk", "trimmed-zeros")
    first, second = await collect(*options), await collect(*options,
                                                           beside=beside)
    check_same(first, second)


def updates(client, market):
    """The changes of a market: the sides as they were sent."""
    return [json.dumps([book["bids"], book["asks"]])
            for book in client.payloads(BOOK, market)
            if book["type"] == "UPDATE"]


def common(first, second, market):
    """The parts of both that are of the same time, if there are any."""
    early, late = updates(first, market), updates(second, market)
    if late[0] not in early:
        early, late = late, early
    early = early[early.index(late[0]):] if late[0] in early else []
    return early[:len(late)], late[:len(early)]


async def test_from_wherever_a_client_joins():
    async with client_of("--seed", "9", rate=RATE) as first, \
            client_of("--seed", "9", rate=RATE) as second:
        await first.subscribe((BOOK, TOP))
        await first.until(lambda c: len(c.updates()) > 40, "updates")
        await second.subscribe((BOOK, TOP))
        # The second one may have started long after the first.
        for more in range(1, 20):
            for client in (first, second):
                await client.until(
                    lambda c, least=1200 * more: len(c.updates()) > least,
                    "updates", 20)
            both = [common(first, second, market) for market in MARKETS]
            if all(len(early) > 100 for early, _ in both):
                break
        for market, (early, late) in zip(MARKETS, both):
            check(len(early) > 100, f"{market}: {len(early)} in common")
            check(early == late, market)
