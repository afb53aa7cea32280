"""A recording served by the sandbox: clients receive what was recorded, at the
same pace, also if they connect later. And damaged or hostile files.

SPDX-License-Identifier: 0BSD
"""
import asyncio
import collections
import contextlib
import os
import pathlib
import random
import struct
import subprocess
import tempfile
import time

from e2e import (HANG_S, SANDBOX, TOOL, check, refusal, run_program,
                 sandbox_of, wait_for)
from stream_client import (BOOK, CHANNELS, EXECUTION, TOP, Book, client_of,
                           connected, entries, milliseconds, while_reading)

MARKETS = ("BTCUSD", "LTCUSD")  # that are recorded
SECONDS = 4


async def record(client, path, seconds, *options):
    """Runs the tool's record for some seconds while the client reads."""
    ended = await while_reading(
        client, client.service.run, "record", "--quiet", "--seconds",
        str(seconds), *options, "-o", path, *MARKETS)
    check(ended.returncode == 0, "recorded")
    seen = len(client.messages)
    await client.until(lambda c: len(c.messages) > seen + 20, "the rest")


@contextlib.asynccontextmanager
async def recording(*options, quirks=(), seconds=SECONDS):
    """Yields a recording and a client that received the same stream."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "recording")
        async with client_of(*quirks) as client:
            await client.subscribe(markets=MARKETS)
            await record(client, path, seconds, *options)
        yield path, client


def texts(client, channel, market):
    """The texts of these messages as they came, without snapshots."""
    return [raw for raw, message in zip(client.raw, client.messages)
            if message.get("channel") == channel and
            message["payload"]["market"] == market and
            message["payload"].get("type") != "SNAPSHOT"]


def check_the_same(live, client, least):
    """The played messages are a part of the sent ones, without a gap."""
    for market in MARKETS:
        for channel in CHANNELS:
            sent, came = (texts(each, channel, market)
                          for each in (live, client))
            # The first top may differ: it shows the time of the subscription.
            came = came[channel == TOP:]
            check(len(came) > least[channel], f"{len(came)} of {channel}")
            first = sent.index(came[0])
            check(sent[first:first + len(came)] == came,
                  f"{channel} of {market}")


async def until_the_end(client):
    """Reads until the sandbox reports the end of the recording."""
    end = asyncio.ensure_future(asyncio.to_thread(
        client.service.process.stdout.readline))
    while not end.done():
        raw = asyncio.ensure_future(client.receive())
        await asyncio.wait({raw, end}, return_when=asyncio.FIRST_COMPLETED)
        if not raw.done():
            raw.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await raw
    check(await end == b"the recording has ended\n", "its end")
    await client.request("subscription_list")  # its response follows all data


@contextlib.asynccontextmanager
async def played(path, *options):
    async with client_of("--play", path, *options) as client:
        yield client


@contextlib.asynccontextmanager
async def played_to_the_end(path, *options):
    """A client that has seen all of a recording, and how long that took."""
    async with played(path, *options) as client:
        begin = time.monotonic()
        await client.subscribe(markets=MARKETS)
        await until_the_end(client)
        yield client, time.monotonic() - begin


def check_last_books(live, client):
    """The last book that both have is equal, for each market."""
    for market in MARKETS:
        one, other = (each.books[market].history for each in (live, client))
        last = max(one.keys() & other.keys())
        check(one[last] == other[last], f"book of {market}")


def lasts_s(client):
    """The duration of the received messages when they were recorded."""
    times = [milliseconds(book["time"])
             for book in client.payloads(BOOK, "BTCUSD")]
    return (times[-1] - times[0]) / 1000


LEAST = {BOOK: 10, TOP: 1, EXECUTION: 0}  # even on a busy machine


async def test_what_was_recorded_comes():
    async with recording() as (path, live), \
            played_to_the_end(path) as (client, took):
        check_the_same(live, client, LEAST)
        for market in MARKETS:
            books = client.payloads(BOOK, market)
            check([book["type"] == "SNAPSHOT" for book in books] ==
                  [True] + [False] * (len(books) - 1), "one snapshot, first")
        # Not faster than it was recorded.
        check(took > lasts_s(client) - 0.1, f"took {took} s")


async def test_every_quirk():
    async with recording(quirks=("--quirk", "all")) as (path, live), \
            played_to_the_end(path, "--speed", "4") as (client, _):
        check_last_books(live, client)
        for market in MARKETS:
            true = (await asyncio.to_thread(
                client.service.truth, f"?market={market}"))[2]
            book = Book()
            book.take({**true, "type": "SNAPSHOT"})
            check(book.sides == client.books[market].sides,
                  f"truth of {market}")


async def test_speed():
    async with recording() as (path, live):
        took = {}
        # The fast speed is tried again until the machine has time for it.
        for speed in ("2", *["50"] * 10):
            async with played_to_the_end(path, "--speed", speed) as (
                    client, took[speed]):
                check_the_same(live, client, LEAST)
                check(took[speed] > lasts_s(client) / float(speed) - 0.1, took)
            if took["2"] > 2 * took.get("50", took["2"]):
                break
        check(took["50"] < took["2"] / 2, took)


async def test_who_comes_later():
    """They get a snapshot of the current book and all updates after it. Quirks
    do not change what is played."""
    async with recording() as (path, _), \
            played(path, "--speed", "0.3", "--quirk", "early-updates") as first:
        await first.subscribe((BOOK, TOP), MARKETS)
        await first.until(lambda c: len(c.updates()) > 40, "updates")
        async with connected(first.service) as second:
            await second.subscribe((BOOK, TOP), MARKETS)
            await second.until(lambda c: len(c.updates()) > 40 and
                               c.payloads(TOP), "updates")
            await first.until(
                lambda c: c.updates()[-1]["time"] >=
                second.updates()[-1]["time"], "the same")
            for market in MARKETS:
                books = second.payloads(BOOK, market)
                check(books[0]["type"] == "SNAPSHOT", "snapshot")
                histories = [client.books[market].history
                             for client in (first, second)]
                common = histories[0].keys() & histories[1].keys()
                check(len(common) > 10 and min(histories[1]) in common,
                      "moments")
                check(all(histories[0][at] == histories[1][at]
                          for at in common), f"books of {market}")
        # And once more, like a client that resynchronises.
        for action in ("unsubscribe", "subscribe"):
            reply = await first.request(action, [
                {"type": BOOK, "params": {"market": "BTCUSD"}}])
            check(reply["channels"][0]["success"], action)
        seen = len(first.messages)
        await first.until(
            lambda c: any(book["type"] == "SNAPSHOT" for book in [
                message["payload"] for message in c.messages[seen - 1:]
                if message.get("channel") == BOOK]), "another snapshot")


async def test_other_channels_and_markets():
    async with recording("-c", "market_data,heartbeat") as (path, _), played(
            path, "--speed", "4") as client:
        recorded = run_program(TOOL, "replay", "-f", "json", path).stdout.count(
            '"type":"heartbeat"')
        reply = await client.request("subscribe", [
            {"type": BOOK, "params": {"market": "ETHUSD"}},
            {"type": TOP, "params": {"market": "BTCUSD"}},
            {"type": "heartbeat"}])
        check([entry["success"] for entry in reply["channels"]] ==
              [False, True, True], reply)
        check(reply["channels"][0]["error"] ==
              "UNKNOWN_CHANNEL_PARAMS_CONFIGURATION", reply)
        await until_the_end(client)
        beats = [message["payload"]["timestamp"] for message in
                 client.messages if message.get("channel") == "heartbeat"]
        check(len(beats) == recorded, f"{beats}, {recorded} recorded")
        check(not client.payloads(BOOK) and not client.payloads(TOP), "others")
        status, _, problem = await asyncio.to_thread(
            client.service.truth, "/executions?market=BTCUSD")
        check(status == 404 and "recording" in problem["detail"], problem)


async def test_a_pair_is_one_stream():
    """While it was recorded, another connection became the leader."""
    async with recording("--rotate=10", seconds=16) as (path, live), \
            played_to_the_end(path, "--speed", "8") as (client, _):
        check_last_books(live, client)
        for market in MARKETS:
            sent, came = (texts(each, EXECUTION, market)
                          for each in (live, client))
            first = sent.index(came[0])
            missing = sent[first:first + len(came)] != came
            check(len(came) > 5 and not missing, f"executions of {market}: "
                  f"{len(came)} of {len(sent)}, from {first}, "
                  f"{[each for each in sent[first:] if each not in came][:3]}")
            snapshots = [book for book in client.payloads(BOOK, market)
                         if book["type"] == "SNAPSHOT"]
            check(len(snapshots) > 1, "another connection led")


async def test_the_tool_sees_it():
    async with recording() as (path, _), played(path, "--speed",
                                                "2") as client:
        status, said = await asyncio.to_thread(
            client.service.stream_until, " market_data .* live", *MARKETS,
            count=50)
        check(status == 0 and "crossed" not in said, said)


# ---- Files that are no recordings, or are made to do harm ----

async def test_what_is_refused(folder):
    path = os.path.join(folder, "no")
    for data in (b"", b"no recording", random.Random(1).randbytes(5000),
                 frame(b"mini-stream recording 9\n")):
        pathlib.Path(path).write_bytes(data)
        error = await asyncio.to_thread(refusal, "--play", path)
        check(path in error and len(error.splitlines()) == 1, error)
    error = await asyncio.to_thread(refusal, "--play", path + "t")
    check("No such file" in error, error)
    for options, said in ((("--speed", "0"), "--speed must be"),
                          (("--speed", "nan"), "--speed must be"),
                          (("--markets", "5"), "--markets cannot be")):
        error = await asyncio.to_thread(refusal, "--play", path, *options)
        check(said in error, error)


def begins(path):
    """True if a sandbox serves this recording; else it must report an error."""
    with tempfile.TemporaryDirectory() as state, subprocess.Popen(
            [SANDBOX, "--state", state, "--play", path], text=True,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE) as sandbox:
        ready = sandbox.stdout.readline() == "ready\n"
        sandbox.terminate()
        error = sandbox.communicate(timeout=HANG_S)[1]
        check(ready or (sandbox.returncode == 1 and path in error), error)
        return ready


async def test_what_is_damaged():
    """Flipped bits are found before anything is served. One exception: a length
    that then reaches beyond the end looks like a missing end."""
    async with recording() as (path, _):
        good = pathlib.Path(path).read_bytes()
        chance = random.Random(2)
        served = 0
        for _ in range(20):
            at = chance.randrange(len(good))
            pathlib.Path(path).write_bytes(
                good[:at] + bytes([good[at] ^ 1 << chance.randrange(8)]) +
                good[at + 1:])
            served += await asyncio.to_thread(begins, path)
        check(served <= 3, f"{served} of 20 are served")


async def test_what_was_cut_off():
    """The end is missing, as after a crash: the rest is served."""
    async with recording() as (path, live):
        os.truncate(path, os.path.getsize(path) * 2 // 3)
        async with played_to_the_end(path, "--speed", "8") as (client, _):
            check_the_same(live, client, {BOOK: 5, TOP: 1, EXECUTION: 0})


MAGIC_ZSTD = b"\x28\xb5\x2f\xfd"  # the first bytes of each frame


def frame(content):
    """An uncompressed frame of zstd with this content."""
    return (MAGIC_ZSTD + struct.pack("<BI", 0xA0, len(content)) +
            struct.pack("<I", len(content) << 3 | 1)[:3] + content)


def contents(packed):
    """The content of each frame."""
    return [subprocess.run(["zstd", "-dc"], input=MAGIC_ZSTD + each,
                           stdout=subprocess.PIPE, check=True).stdout
            for each in packed.split(MAGIC_ZSTD)[1:]]


async def play_hostile(path):
    """The file is refused or played, and the sandbox stays alive."""
    if not await asyncio.to_thread(begins, path):
        return "refused"
    async with played(path, "--speed", "1000") as client:
        # The markets may be missing now.
        await client.request("subscribe", entries(CHANNELS, MARKETS))
        await asyncio.sleep(0.5)
        await asyncio.to_thread(client.service.truth, "?market=BTCUSD")
        check(client.service.process.poll() is None, "it is alive")
    return "played"


async def test_what_is_made_to_do_harm():
    """Any bytes of the content are changed, with valid checksums."""
    async with recording() as (path, _):
        frames = contents(pathlib.Path(path).read_bytes())
        pathlib.Path(path).write_bytes(b"".join(map(frame, frames)))
        check(await play_hostile(path) == "played", "as it is")
        chance = random.Random(3)
        ends = collections.Counter()
        for _ in range(20):
            bad = [bytearray(each) for each in frames]
            for _ in range(chance.choice((1, 5, 50))):
                which = chance.choice(bad)
                which[chance.randrange(len(which))] = chance.randrange(256)
            pathlib.Path(path).write_bytes(b"".join(map(frame, bad)))
            ends[await play_hostile(path)] += 1
        check(len(ends) == 2, f"some of each: {ends}")


# The number of values of each kind of item in recording.c; the kinds with data.
VALUES = (2, 0, 3, 1, 1, 1, 6, 2, 2, 1, 1, 1, 1, 2, 2, 3, 3, 6, 4, 2, 2, 2, 1,
          1, 1, 4, 2, 2, 2, 1, 2)
DATA = {2, 4, 5, 6, 7, 8, 17, 19, 20, 21, 23, 24, 29}
MAGIC = b"mini-stream recording 1\n"
CLIENT, SUBSCRIBE, IN = 4, 6, 23


def number_end(content, at):
    while content[at] & 0x80:
        at += 1
    return at + 1


def items(content, at):
    """Yields (kind, bytes) of each item."""
    while at < len(content):
        begin, kind = at, content[at]
        at += 1
        for _ in range(VALUES[kind]):
            at = number_end(content, at)
        if kind in DATA:
            end = number_end(content, at)
            at = end + sum((byte & 0x7F) << 7 * i
                           for i, byte in enumerate(content[at:end]))
        yield kind, content[begin:at]


def in_item(link, data):
    length = bytes([len(data) & 0x7F | 0x80, len(data) >> 7 & 0x7F | 0x80,
                    len(data) >> 14])
    return bytes([IN]) + link + length + data


def too_much(good):
    """A recording whose updates never have a snapshot."""
    everything = list(items(b"".join(contents(good)), len(MAGIC)))
    first = {kind: item for kind, item in reversed(everything)
             if kind != SUBSCRIBE or b"BTCUSD" in item}
    link = first[IN][1:number_end(first[IN], 1)]
    text = b'{"channel":"market_data","payload":{"market":"BTCUSD",' + \
        b'"type":"UPDATE","time":"2026-01-01T00:00:00Z","x":"' + \
        b"x" * 30000 + b'"}}'
    update = in_item(link, b"\x81\x7e" + struct.pack("!H", len(text)) + text)
    yield MAGIC + everything[0][1] + first[CLIENT] + first[SUBSCRIBE] + \
        in_item(link, b"HTTP/1.1 101 Good\r\n\r\n")
    for _ in range(600):
        yield update


def stream_from(path):
    """The messages of a sandbox that serves this to the tool."""
    with tempfile.TemporaryFile("w+") as said:
        with sandbox_of("--play", path, "--speed", "1000",
                        stderr=said) as sandbox:
            with sandbox.stream("--quiet", "BTCUSD") as tool:
                wait_for(lambda: os.path.getsize(said.fileno()) > 0,
                         "the sandbox says something")
                tool.terminate()
        said.seek(0)
        return said.read()


async def test_a_market_that_was_subscribed_in_another_case():
    async with recording() as (path, _):
        content = b"".join(contents(pathlib.Path(path).read_bytes()))
        with open(path, "wb") as file:
            for kind, item in items(content, len(MAGIC)):
                magic = b"" if file.tell() > 0 else MAGIC
                file.write(frame(magic + (
                    item.replace(b"BTCUSD", b"btcusd") if kind == SUBSCRIBE
                    else item)))
        with sandbox_of("--play", path) as sandbox:
            status, out = await asyncio.to_thread(
                sandbox.stream_until, "market_data btcusd update .* live",
                "btcusd")
    check(status == 0, out)


async def test_what_needs_too_much_memory():
    async with recording() as (path, _):
        good = pathlib.Path(path).read_bytes()
        with open(path, "wb") as file:
            for content in too_much(good):
                file.write(frame(content))
        said = await asyncio.to_thread(stream_from, path)
        check("not enough memory for its books" in said, said)
