"""The specification's rules of the streaming interface and of tokens, shown by
the sandbox to a client that shares no code with it. The table in
examples/sandbox/README.md says which test shows which rule: all tests that it
names must exist, and it must name every test of this file.

SPDX-License-Identifier: 0BSD
"""
import asyncio
import base64
import collections
import importlib
import json
import os
import re

import websockets

from e2e import STREAM_SCOPE as SCOPE
from e2e import ADDRESS_SCOPE, check, read_file, tests_of
from stream_client import (BOOK, CHANNELS, EXECUTION, MARKETS, TOP, client_of,
                           connected, entries, parse_time)

README = "examples/sandbox/README.md"
UNKNOWN_PARAMS = "UNKNOWN_CHANNEL_PARAMS_CONFIGURATION"


async def answer(client, text):
    """The response to any text. Data that comes before it is ignored."""
    await client.socket.send(text)
    while True:
        reply = await client.receive()
        if "channel" not in reply:
            return reply


async def code(client, channel):
    """Subscribes one channel. Returns the error code, or None."""
    reply = await client.request("subscribe", [channel])
    check([entry["type"] for entry in reply["channels"]] == [channel["type"]],
          reply)
    return reply["channels"][0].get("error")


# ---- Operations ----

async def test_subscribe(client):
    """The response repeats each entry of a request with its result."""
    asked = [{"type": "heartbeat"}, *entries((BOOK, TOP), MARKETS[:2]),
             {"type": BOOK, "params": {"market": "NOSUCH"}}]
    reply = await client.request("subscribe", asked)
    check(set(reply) == {"type", "channels"}, reply)
    check([{**each, "success": True} for each in asked[:-1]] ==
          reply["channels"][:-1], reply)
    check(reply["channels"][-1] == {**asked[-1], "success": False,
                                    "error": UNKNOWN_PARAMS}, reply)
    await client.until(lambda c: c.payloads(BOOK, MARKETS[1]) and
                       c.payloads(TOP, MARKETS[0]), "data")
    check(client.messages[0] == reply, "the answer comes first")


async def test_unsubscribe(client):
    await client.subscribe((BOOK,), MARKETS[:2])
    reply = await client.request("unsubscribe", entries((BOOK,), MARKETS[:1]))
    check(reply == {"type": "unsubscribe", "channels": [
        {**entries((BOOK,), MARKETS[:1])[0], "success": True}]}, reply)
    seen = len(client.payloads(BOOK, MARKETS[0]))
    more = len(client.payloads(BOOK, MARKETS[1])) + 20
    await client.until(lambda c: len(c.payloads(BOOK, MARKETS[1])) > more,
                       "the other's data")
    check(len(client.payloads(BOOK, MARKETS[0])) == seen, "data stops")


async def test_subscription_list(client):
    """Only of this connection, without the field success."""
    asked = [*entries((EXECUTION, BOOK), MARKETS[:1]), {"type": "heartbeat"}]
    await client.request("subscribe", asked)
    reply = await client.request("subscription_list")
    check(reply == {"type": "subscription_list", "channels": asked}, reply)
    async with connected(client.service) as other:
        reply = await other.request("subscription_list")
        check(reply["channels"] == [], "another connection's")


async def test_no_effect(client):
    one = entries((BOOK,), MARKETS[:1])
    reply = await client.request("unsubscribe", one)
    check(reply["channels"][0] == {**one[0], "success": False,
                                   "error": "NO_EFFECT_ACTION"}, reply)
    await client.request("subscribe", one)
    check(await code(client, one[0]) == "NO_EFFECT_ACTION", "twice")
    reply = await client.request("subscribe", [])
    check(reply == {"type": "error", "error": "NO_EFFECT_ACTION"}, reply)


async def test_unknown_channels_and_parameters(client):
    check(await code(client, {"type": "trades"}) == "UNKNOWN_CHANNEL", "")
    for channel in CHANNELS:
        for params in (None, {}, {"market": 1}, {"market": "NOSUCH"},
                       {"market": "BTCUSD", "depth": 5}, "BTCUSD"):
            entry = {"type": channel}
            if params is not None:
                entry["params"] = params
            check(await code(client, entry) == UNKNOWN_PARAMS, entry)
    check(await code(client, {"type": "heartbeat", "params": {
        "market": "BTCUSD"}}) == UNKNOWN_PARAMS, "of the heartbeat")


async def test_requests_that_are_none(client):
    unknown = '{"type":"resubscribe","channels":[]}'
    for text in ("", "{", "[]", "{}", '{"type":1}', '{"type":"subscribe"}',
                 '{"type":"subscribe","channels":[1]}',
                 '{"type":"subscribe","channels":[{}]}',
                 '{"type":"subscription_list","type":"subscription_list"}',
                 unknown):
        error = "UNKNOWN_ACTION" if text == unknown else "MALFORMED_REQUEST"
        reply = await answer(client, text)
        check(reply == {"type": "error", "error": error}, f"{text}: {reply}")


async def test_internal_error(client):
    """As often as the fault says. The request has no effect."""
    await asyncio.to_thread(client.service.set, internal_error={"count": 2})
    subscribe = json.dumps({"type": "subscribe",
                            "channels": entries((BOOK,), MARKETS[:1])})
    for _ in range(2):
        reply = await answer(client, subscribe)
        check(reply == {"type": "error",
                        "error": "INTERNAL_SERVER_ERROR"}, reply)
    reply = await client.request("subscription_list")
    check(reply["channels"] == [], "no effect")
    await client.subscribe((BOOK,), MARKETS[:1])


# ---- Data ----

async def test_top_of_book_when_a_best_level_changes(client):
    """After the subscription, then only when a best level changes."""
    await client.subscribe((BOOK, TOP), MARKETS[:1])
    await client.until(lambda c: len(c.payloads(TOP)) > 60, "tops")
    history = client.books[MARKETS[0]].history
    tops = {parse_time(top["timestamp"])[0] // 10**6:
            [top[side][0]["price"] for side in ("bids", "asks")]
            for top in client.payloads(TOP)}
    best = None
    for moment, sides in list(history.items())[:-1]:
        now = [max(sides["bids"].items()), min(sides["asks"].items())]
        check(best is None or (now != best) == (moment in tops),
              f"top at {moment}")
        best = now


async def test_executions_change_the_book():
    """An execution reduces a level: the book changes at the same time."""
    async with client_of(rate=100) as client:
        await client.subscribe((BOOK, EXECUTION), MARKETS[:1])
        await client.until(lambda c: len(c.payloads(EXECUTION)) > 30, "some")
        history = client.books[MARKETS[0]].history
        check(all(parse_time(each["executed_at"])[0] // 10**6 in history
                  for each in client.payloads(EXECUTION)), "moments")


async def test_heartbeats(client):
    """Every second."""
    def times():
        return [parse_time(each["payload"]["timestamp"])
                for each in client.messages[1:]]

    def pauses():
        return [(late[0] - early[0]) / 1e9
                for early, late in zip(times(), times()[1:])]

    await client.request("subscribe", [{"type": "heartbeat"}])
    # Others may be late if this machine is slow.
    await client.until(lambda c: sum(0.9 < pause < 2 for pause in pauses()) > 2,
                       "heartbeats")
    check(all(each[1] == 9 for each in times()), "nanoseconds")
    check(sum(pauses()) > 0.9 * len(pauses()), pauses())
    check(all(set(each) == {"channel", "payload"} and
              each["channel"] == "heartbeat" and
              set(each["payload"]) == {"timestamp"}
              for each in client.messages[1:]), "the form")


async def test_envelopes(client):
    """Data has a channel and a payload, a response has a type."""
    await client.subscribe()
    await client.until(lambda c: len(c.payloads(EXECUTION)) > 5, "data")
    for message in client.messages[1:]:
        check(set(message) == {"channel", "payload"}, message)
    for channel, field, digits in ((BOOK, "time", 3),
                                   (TOP, "timestamp", 9),
                                   (EXECUTION, "executed_at", 3)):
        check(all(parse_time(each[field])[1] == digits
                  for each in client.payloads(channel)), channel)
    check({top["type"] for top in client.payloads(TOP)} ==
          {"TOP_OF_BOOK"}, "type of a top")


# ---- Tokens and handshakes ----

def ask_token(service, **form):
    """Returns (status, parsed response)."""
    status, _, body = service.fetch_token(**form)
    return status, json.loads(body)


async def test_token():
    async with client_of("--token-lifetime", "1234") as client:
        status, reply = await asyncio.to_thread(ask_token, client.service)
        check(status == 200 and set(reply) == {
            "access_token", "expires_in", "token_type", "scope"}, reply)
        check(reply["expires_in"] == 1234 and reply["scope"] == SCOPE and
              reply["token_type"] == "bearer", reply)


async def test_token_refused(client):
    for form, error in (
            ({"client_secret": "wrong"}, "invalid_client"),
            ({"client_id": "nobody"}, "invalid_client"),
            ({"client_id": None}, "invalid_request"),
            ({"grant_type": "password"}, "unsupported_grant_type"),
            ({"scope": "everything"}, "invalid_scope"),
            ({"client_id": "sandbox-noscope"}, "invalid_scope")):
        status, reply = await asyncio.to_thread(ask_token, client.service,
                                                **form)
        check(status == (401 if error == "invalid_client" else 400) and
              reply["error"] == error, f"{form}: {status} {reply}")


async def test_reported_token(client):
    """A type in upper case, and another scope or none, are as good."""
    for fault, told in (({"token_type": "BEARER", "scope": SCOPE},
                         ("BEARER", SCOPE)),
                        ({"scope": "exchange:other"},
                         ("bearer", "exchange:other")),
                        ({}, ("bearer", None))):
        await asyncio.to_thread(client.service.set, granted=fault)
        _, reply = await asyncio.to_thread(ask_token, client.service)
        check((reply["token_type"], reply.get("scope")) == told, reply)
        check(await handshake(client.service, Authorization=(
            f"Bearer {reply['access_token']}")) == 101, "it is good")
    _, reply = await asyncio.to_thread(ask_token, client.service)
    check(reply["scope"] == SCOPE, "once")


async def handshake(service, path="", **headers):
    """The HTTP status of a WebSocket handshake."""
    try:
        async with websockets.connect(
                service.urls["ws_url"] + path, ssl=service.tls,
                extra_headers=headers):
            return 101
    except websockets.InvalidStatusCode as error:
        return error.status_code


async def test_handshakes():
    async with client_of("--token-lifetime", "20") as client:
        service, tokens = client.service, {}
        for name, form in (
                ("good", {}), ("denied", {"client_id": "sandbox-denied"}),
                ("scope", {"client_id": "sandbox-noscope",
                           "scope": ADDRESS_SCOPE})):
            tokens[name] = (await asyncio.to_thread(
                ask_token, service, **form))[1]["access_token"]
        basic = base64.b64encode(b"sandbox-client:sandbox-secret").decode()
        for value, status in ((f"Bearer {tokens['good']}", 101),
                              (f"Bearer {tokens['scope']}", 403),
                              (f"Bearer {tokens['denied']}", 403),
                              ("Bearer nonsense", 401),
                              (f"Basic {basic}", 401)):
            check(await handshake(service, Authorization=value) == status,
                  f"{value[:12]}: not {status}")
        check(await handshake(service) == 401, "without a token")
        check(await handshake(service, "other", Authorization=(
            f"Bearer {tokens['good']}")) == 404, "another path")
        await asyncio.sleep(20.1)
        check(await handshake(service, Authorization=(
            f"Bearer {tokens['good']}")) == 401, "a token that has expired")
        await client.subscribe((BOOK,), MARKETS[:1])  # its connection stays


# ---- Ends ----

async def test_messages_that_close_the_connection():
    async with client_of() as first:
        for message, wanted in ((b"{}", 1003), (" " * 65537, 1009)):
            async with connected(first.service) as client:
                await client.socket.send(message)
                got = await client.closed()
                check(got == wanted, f"{got} is not {wanted}")


async def test_the_service_ends(client):
    await client.subscribe((BOOK,), MARKETS[:1])
    client.service.process.terminate()
    check(await client.closed() == 1001, client.socket.close_code)
    await asyncio.to_thread(client.service.process.wait)


async def test_who_does_not_read():
    """Only that client is closed. If it reads later, it finds the code."""
    async with client_of("--levels", "8", rate=1000) as first:
        async with connected(first.service) as client:
            client.socket.transport.pause_reading()
            await client.socket.send(json.dumps({
                "type": "subscribe", "channels": entries(CHANNELS, MARKETS)}))
            await asyncio.sleep(10)
            client.socket.transport.resume_reading()
            check(await client.closed() in (1006, 1008),
                  client.socket.close_code)
        await first.request("subscription_list")


# ---- The table ----

def rows():
    """Returns [section, rule, where, test] of each row of the table."""
    section = read_file(README).partition("\n## Rule by rule\n")[2]
    return [[cell.strip() for cell in line.strip("|").split(" | ")]
            for line in section.partition("\n## ")[0].splitlines()
            if line.startswith("| ") and not line.startswith("| Section")]


def names_of(name):
    """The names of a script's tests, as it prints them."""
    script = importlib.import_module(name.removesuffix(".py"))
    return {test for test, _ in tests_of(script)}


def check_place(place):
    name, function = re.fullmatch(r"`(\w+\.c)` `(\w+)`", place).groups()
    text = read_file(os.path.join("examples/sandbox", name))
    check(re.search(rf"^(\S.*\b)?{function}[(\[]|^}} {function}\[", text, re.M),
          f"{name} has no {function}")


async def test_table():
    used = collections.Counter()
    for section, rule, where, shown in rows():
        for place in where.split(", "):
            check_place(place)
        for test in shown.split("; "):
            match = re.fullmatch(r"`(\w+\.py)` (.+)", test)
            check(match, f"{section}, {rule}: {test}")
            check(match[2] in names_of(match[1]),
                  f"{match[1]} has no test {match[2]}")
            used[match[1], match[2]] += 1
    check(len(used) > 30, f"{len(used)} tests")
    missing = {name for name in names_of("e2e_rules.py")
               if ("e2e_rules.py", name) not in used} - {"table"}
    check(not missing, f"not in the table: {missing}")
