"""The clients of the sandbox's README, in Python and for Node: the best levels
of their books equal the top of book of the same time.

SPDX-License-Identifier: 0BSD
"""
import asyncio
import contextlib
import sys

from e2e import HANG_S, check, environment_with
from stream_client import TOP, Decimal, client_of, milliseconds

MARKET = "SOLUSD"
WANTED = 100  # moments that are compared


@contextlib.asynccontextmanager
async def program(client, *command):
    running = await asyncio.create_subprocess_exec(
        *command, client.service.state, MARKET, stdout=asyncio.subprocess.PIPE,
        env=environment_with(NODE_EXTRA_CA_CERTS=client.service.ca,
                             NODE_PATH="/usr/share/nodejs"))
    try:
        yield running.stdout
    finally:
        with contextlib.suppress(ProcessLookupError):
            running.kill()
        await running.wait()


def best(payload):
    return [Decimal(payload[side][0]["price"]) for side in ("bids", "asks")]


async def lines_of(output, lines):
    """Adds its lines to lines, by their time in ms."""
    async for line in output:
        time, *prices = line.decode().split()
        lines[milliseconds(time + "Z")] = [Decimal(each) for each in prices]


def common(client, lines):
    """(the program's best levels, the top) of each time that both have."""
    tops = {milliseconds(top["timestamp"]): best(top)
            for top in client.payloads(TOP)[1:]}
    return [(lines[time], tops[time]) for time in lines.keys() & tops.keys()]


async def follow(command, *options):
    lines = {}
    async with client_of(*options, rate=50) as client:
        await client.subscribe((TOP,), (MARKET,))
        async with program(client, *command) as output:
            reader = asyncio.ensure_future(lines_of(output, lines))
            await asyncio.wait_for(client.until(
                lambda c: reader.done() or len(common(c, lines)) >= WANTED,
                "moments", 10), HANG_S)
            check(not reader.done(), "it goes on")
            reader.cancel()
        for shown, true in common(client, lines):
            check(shown == true, f"{shown} is not {true}")


TESTS = [(name + also, follow, command, *options)
         for name, command in (
             ("python", (sys.executable, "examples/sandbox/follow.py")),
             ("node", ("node", "examples/sandbox/follow.js")))
         for also, options in (("", ()),
                               (" with every quirk", ("--quirk", "all")))]
