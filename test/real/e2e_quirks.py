"""The quirks of the sandbox, seen by a client that shares no code with it. Each
shows only when it is on. With any of them, a simple order book built from the
stream equals the truth endpoint's book of the same time.

SPDX-License-Identifier: 0BSD
"""
import asyncio
import re
import time

from e2e import SANDBOX, check, refusal, run_program
from stream_client import (BOOK, CHANNELS, EXECUTION, MARKETS, TOP, Decimal,
                           book_seen, client_of, compare, entries, follow,
                           milliseconds, parse_time)

FIELDS = {  # of the specification
    BOOK: {"market", "type", "time", "bids", "asks"},
    TOP: {"market", "type", "timestamp", "bids", "asks"},
    EXECUTION: {"market", "price", "amount", "executed_at"},
    "heartbeat": {"timestamp"},
}


# ---- True if the messages of a client show the quirk ----

def removals(updates):
    return [level for update in updates for side in ("bids", "asks")
            for level in update.get(side, ()) if Decimal(level["amount"]) == 0]


def shows_early_updates(client):
    """Each market's snapshot comes late; in one, older updates come too."""
    whole = False
    for market in MARKETS:
        books = client.payloads(BOOK, market)
        types = [book["type"] != "UPDATE" for book in books]
        if True not in types:
            return False
        first = types.index(True)
        limit = parse_time(books[first]["time"])[0]
        before = books[:first]
        old = [book for book in before if parse_time(book["time"])[0] <= limit]
        new = [book for book in before if parse_time(book["time"])[0] > limit]
        late = [book for book in books[first + 1:]
                if parse_time(book["time"])[0] < limit]
        if len(new) < 2 or not (removals(new) or len(new) >= 20):
            return False
        whole = whole or bool(removals(old) and removals(new) and late)
    return whole


def digits(client, channel=BOOK, field="time"):
    return {parse_time(payload[field])[1]
            for payload in client.payloads(channel)}


def shows_mixed_precision(client):
    return all({3, 9} <= digits(client, *where) for where in (
        (BOOK, "time"), (TOP, "timestamp"), (EXECUTION, "executed_at")))


def shows_trimmed_zeros(client):
    numbers = [level[key] for level in client.levels()
               for key in ("price", "amount") if Decimal(level["amount"])]
    return (any("." not in number for number in numbers) and
            len({len(payload["amount"].partition(".")[2])
                 for payload in client.payloads(EXECUTION, "BTCUSD")}) > 1 and
            {0, 2, 3} <= digits(client))


def shows_zero_spellings(client):
    return {level["amount"] for level in removals(client.updates())} == {
        "0", "0.00", "0.000", "0E-8"}


def shows_absent_sides(client):
    return {("bids" in update, "asks" in update)
            for update in client.updates()} == {
                (True, True), (True, False), (False, True), (False, False)}


def shows_late_executions(client):
    """Out of order, but always after the book has changed."""
    book_at, times = 0, []
    for message in client.messages:
        payload = message.get("payload", {})
        if payload.get("market") != "BTCUSD":
            continue
        if message["channel"] == BOOK:
            book_at = max(book_at, milliseconds(payload["time"]))
        elif message["channel"] == EXECUTION:
            times.append(parse_time(payload["executed_at"])[0])
            check(times[-1] // 10**6 <= book_at, "executed in the future")
    return any(later < earlier for earlier, later in zip(times, times[1:]))


def shows_snapshot_type(client):
    kinds = {book["type"] for book in client.payloads(BOOK)}
    return len(kinds) > 1 and "SNAPSHOT" not in kinds


def shows_level_order(client):
    for book in client.payloads(BOOK):
        if book["type"] != "UPDATE":
            prices = [Decimal(level["price"]) for level in book["bids"]]
            if prices == sorted(prices, reverse=True):
                return False
    return any(book["type"] != "UPDATE" for book in client.payloads(BOOK))


def shows_key_order(client):
    books = [message for message in client.messages
             if message.get("channel") == BOOK]
    return (any(list(message)[0] == "payload" for message in books) and
            any(list(level)[0] == "amount" for level in client.levels()) and
            any(list(book)[0] in ("bids", "asks")
                for book in client.updates()))


def shows_white_space(client):
    text = "".join(client.raw)
    return all(re.search(f'[{{}}[\\]:,]{space}["{{}}[\\]]', text)
               for space in " \t\n\r")


def shows_unknown_fields(client):
    pushed = [message for message in client.messages
              if message.get("channel") in CHANNELS]
    return (any(set(message) - {"channel", "payload"} for message in pushed)
            and any(set(message["payload"]) - FIELDS[message["channel"]]
                    for message in pushed)
            and any(set(level) - {"price", "amount"}
                    for level in client.levels()))


def shows_unknown_channels(client):
    actions = {"subscribe", "unsubscribe", "subscription_list"}
    return (any(message.get("channel", BOOK) not in FIELDS
                for message in client.messages) and
            any("channel" not in message and "error" not in message and
                message.get("type") not in actions
                for message in client.messages))


def is_crossed(top):
    bid, ask = (Decimal(top[side][0]["price"]) for side in ("bids", "asks"))
    return bid >= ask


def shows_crossed(client):
    """The book becomes crossed, and later is not."""
    crossed = [is_crossed(top) for top in client.payloads(TOP, "BTCUSD")]
    return any(before and not after
               for before, after in zip(crossed, crossed[1:]))


# By the quirk's name.
SHOWS = {name[6:].replace("_", "-"): shows
         for name, shows in list(globals().items())
         if name.startswith("shows_")}
# Requests show these quirks: they have separate tests.
ASKED = {"delayed-data", "error-shapes", "token-limit"}


# ---- Tests ----

async def test_help_lists_every_quirk():
    run = run_program(SANDBOX, "--quirk", "help")
    check(run.returncode == 0, run)
    names = {line.split()[0] for line in run.stdout.splitlines()}
    check(names == {*SHOWS, *ASKED, "all"}, f"quirks {names}")


async def test_unknown_quirk_is_refused():
    said = refusal("--state", "/nonexistent", "--quirk", "x")
    check("x is not a quirk" in said, said)


async def test_plain(client):
    await client.subscribe()
    await follow(client)
    await client.until(lambda c: len(c.updates()) >= 800, "updates", 100)
    await follow(client, 1)
    for name, shows in SHOWS.items():
        check(not shows(client), f"{name} without the quirk")
    for payload in client.payloads(BOOK):
        check(set(payload) == FIELDS[BOOK], "fields of a book")
        check(payload["type"] in ("SNAPSHOT", "UPDATE"), payload["type"])
    check(digits(client) == {3}, "times of books")
    check(digits(client, TOP, "timestamp") == {9}, "times of tops")
    check({level["amount"] for level in removals(client.updates())} ==
          {"0"}, "amounts of removals")
    times = [parse_time(payload["executed_at"])[0]
             for payload in client.payloads(EXECUTION, "BTCUSD")]
    check(times == sorted(times), "executions in order")
    check(not re.search(r"\s", "".join(client.raw)), "white space")


async def quirk(name):
    async with client_of("--quirk", name) as client:
        # Early updates need earlier changes.
        await asyncio.sleep(0.5)
        await client.subscribe()
        await follow(client, 1)
        await client.until(SHOWS[name], name, 20)


async def test_all_together():
    async with client_of("--quirk", "all") as client:
        await asyncio.sleep(0.5)
        await client.subscribe()
        await follow(client)
        for name, shows in SHOWS.items():
            await client.until(shows, name, 20)
        # A message of many levels can be streamed with any order of keys.
        for message in client.messages:
            book = message.get("payload")
            if message.get("channel") == BOOK and book["type"] != "UPDATE":
                keys = list(book)
                last = max(keys.index(key)
                           for key in ("market", "type", "time"))
                check(last < min(keys.index("bids"), keys.index("asks")),
                      f"keys {keys}")
                check(list(message).index("channel") <
                      list(message).index("payload"), "envelope")


async def test_all_together_resubscribed():
    async with client_of("--quirk", "all") as client:
        for _ in range(3):
            await client.subscribe((BOOK,))
            await follow(client, 1)
            await client.request("unsubscribe", entries((BOOK,), MARKETS))
            client.books.clear()


async def test_fast_subscribe_delays_data():
    async with client_of("--quirk", "delayed-data") as client:
        begin = time.monotonic()
        await client.subscribe((BOOK,), ("BTCUSD",))
        await client.until(book_seen("BTCUSD"), "the first's data")
        await client.subscribe((BOOK,), ("ETHUSD",))
        soon = time.monotonic() < begin + 0.9
        seen = len(client.payloads(BOOK))
        reply = await client.request("subscription_list")
        check(len(reply["channels"]) == 2, "both are subscribed")
        check(len(client.payloads(BOOK)) == seen or
              time.monotonic() > begin + 0.9, "data before the answer")
        await client.until(book_seen("ETHUSD"), "delayed data")
        made = parse_time(client.payloads(BOOK, "ETHUSD")[0]["time"])[0]
        check(time.time() - made / 1e9 > 0.9 or not soon, "the data is late")
        for market in ("BTCUSD", "ETHUSD"):
            check(await compare(client, market), "late data is whole")


async def test_unsubscribe_drops_delayed_data():
    async with client_of("--quirk", "delayed-data") as client:
        await client.subscribe((BOOK,), ("BTCUSD",))
        begin = time.monotonic()
        await client.subscribe((BOOK,), ("ETHUSD",))
        await client.subscribe((BOOK,), ("SOLUSD",))
        await client.request("unsubscribe", entries((BOOK,), ("ETHUSD",)))
        soon = time.monotonic() < begin + 0.9
        await client.until(book_seen("SOLUSD"), "delayed data")
        check(not client.payloads(BOOK, "ETHUSD") or not soon,
              "data that was unsubscribed")


async def test_fast_subscribe_without_the_quirk(client):
    await client.subscribe((BOOK,), ("BTCUSD",))
    await client.subscribe((BOOK,), ("ETHUSD",))
    await client.request("subscription_list")
    check(client.payloads(BOOK, "ETHUSD"), "data before the next answer")


PLAIN = {"type": "error", "error": "UNKNOWN_ACTION"}
OBJECT = {"type": "error", "code": "UNKNOWN_ACTION", "message": "text"}
NESTED = {"error": {"code": "UNKNOWN_ACTION", "message": "text"}}


async def test_error_shapes():
    for options, wanted in (((), [PLAIN]),
                            (("--error-shape", "object"), [OBJECT]),
                            (("--error-shape", "nested"), [NESTED]),
                            (("--quirk", "error-shapes"),
                             [PLAIN, OBJECT, NESTED])):
        async with client_of(*options) as client:
            shapes = []
            for _ in range(60):
                await client.socket.send('{"type":"nonsense"}')
                reply = await client.receive()
                error = reply["error"] if "code" not in reply else reply
                if "message" in error:
                    check(error["message"], "a message")
                    error["message"] = "text"
                check(reply in wanted, reply)
                shapes.append(reply)
            check(all(shape in shapes for shape in wanted), "each of them")


TESTS = [(f"quirk {name}", quirk, name) for name in SHOWS]
