"""The executions that the sandbox reports as the truth, compared with those
that it sent.

SPDX-License-Identifier: 0BSD
"""
import asyncio
import contextlib

from e2e import check
from stream_client import (EXECUTION, MARKETS, check_refused, client_of,
                           milliseconds, numbers, parse_time, while_reading)

RATE = 100
WANTED = 100  # executions of each market


async def truth(client, *query):
    """Returns (the response, its executions)."""
    return await while_reading(client, client.service.executions, *query)


async def compare(client, market):
    answer, true = await truth(client, market)
    check(answer["market"] == market, "the market")
    check(answer["truncated"] is False, "nothing is missing")
    first = true.index(numbers(client.payloads(EXECUTION, market)[0]))
    check(first > 0, "some were before it subscribed")
    true = true[first:]
    await client.until(
        lambda c: len(c.payloads(EXECUTION, market)) >= len(true), "the last")
    came = [numbers(each) for each in client.payloads(EXECUTION, market)]
    check(came[:len(true)] == true, f"{market}: what came is not the truth")


@contextlib.asynccontextmanager
async def with_enough(*options, before_s=0):
    """A client that has received WANTED executions of each market."""
    async with client_of(*options, rate=RATE) as client:
        await asyncio.sleep(before_s)
        await client.subscribe((EXECUTION,))
        await client.until(lambda _: all(
            len(client.payloads(EXECUTION, market)) >= WANTED
            for market in MARKETS), "executions", 20)
        yield client


async def follow(*options):
    async with with_enough(*options, before_s=1) as client:
        for market in MARKETS:
            await compare(client, market)


async def test_the_text_is_that_of_the_message():
    async with client_of(rate=RATE) as client:
        await client.subscribe((EXECUTION,), ("SOLUSD",))
        await client.until(lambda c: c.payloads(EXECUTION), "one")
        sent = client.payloads(EXECUTION)[0]
        answer, _ = await truth(client, "SOLUSD", sent["executed_at"])
        true = answer["executions"][0]
        check(true["price"] == sent["price"] and
              true["amount"] == sent["amount"], f"{true} is not {sent}")
        check(true["executed_at"].startswith(sent["executed_at"][:-1]) and
              parse_time(true["executed_at"])[1] == 9, true["executed_at"])


async def test_since():
    """Late executions are out of order. Their time counts, not their place."""
    async with with_enough("--quirk", "late-executions") as client:
        whole = (await truth(client, "BTCUSD"))[0]["executions"]
        since = whole[len(whole) // 2]["executed_at"]
        wanted = [each for each in whole
                  if parse_time(each["executed_at"]) >= parse_time(since)]
        check(wanted != whole[-len(wanted):], "some are out of order")
        answer = (await truth(client, "BTCUSD", since))[0]
        check(answer["executions"][:len(wanted)] == wanted, "since then")
        check(answer["truncated"] is False, "nothing is missing")
        check(milliseconds(answer["time"]) >= milliseconds(
            answer["executions"][-1]["executed_at"]), "the book's time")
        answer = (await truth(client, "BTCUSD", "2200-01-01T00:00:00Z"))[0]
        check(answer["executions"] == [], "the future")


async def test_truncated():
    async with with_enough("--executions", "50") as client:
        answer, true = await truth(client, "ETHUSD")
        check(answer["truncated"] is True, "older ones are gone")
        check(0 < len(true) <= 50, f"{len(true)} are kept")
        answer = (await truth(client, "ETHUSD", "2001-01-01T00:00:00Z"))[0]
        check(answer["truncated"] is True, "older ones are asked for")
        for _ in range(20):  # others may have come meanwhile
            since = answer["executions"][-1]["executed_at"]
            answer, true = await truth(client, "ETHUSD", since)
            if not answer["truncated"]:
                break
        check(answer["truncated"] is False and true, "the last is there")


async def test_errors(client):
    await check_refused(
        client, ("/executions?market=NOSUCH", "GET", 404),
        ("/executions", "GET", 400),
        ("/executions/x?market=BTCUSD", "GET", 404),
        ("/executions?market=BTCUSD", "POST", 405),
        *((f"/executions?market=BTCUSD&since={since}", "GET", 400)
          for since in ("yesterday", "2024-01-01T00:00:00",
                        "2024-01-01T00:00:00.Z", "2024-13-01T00:00:00Z",
                        "2024-01-01T00:00:00.1234567890Z",
                        "9999-01-01T00:00:00Z", "")))


TESTS = [("what was sent is the truth", follow),
         ("what was sent with every quirk is the truth", follow, "--quirk",
          "all")]
