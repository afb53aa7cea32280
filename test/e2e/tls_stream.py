"""A small streaming endpoint for interop_tls.py, by the websockets package. It
sends one snapshot, update, best price, trade and heartbeat.

Usage: tls_stream.py LEVELS [CERTIFICATE KEY]
LEVELS: the number of levels of each side. Without a certificate: plain TCP.
Prints its port, then what it receives. Ends when its standard input ends.
SPDX-License-Identifier: 0BSD
"""
import asyncio
import json
import ssl
import sys

import websockets

LEVELS = int(sys.argv[1])
MARKET = "BTCUSD"
TIME = "2026-01-02T03:04:05."


def say(*words):
    print(*words, flush=True)


def side(first, step, count):
    return [{"price": f"{first + step * i}.5", "amount": "0.25"}
            for i in range(count)]


def message(channel, **payload):
    return json.dumps({"channel": channel, "payload": payload})


def pushed():
    """Yields the data messages, one of each kind."""
    yield message("market_data", market=MARKET, type="SNAPSHOT",
                  time=TIME + "006Z", bids=side(50000, -1, LEVELS),
                  asks=side(50001, 1, LEVELS))
    yield message("market_data", market=MARKET, type="UPDATE",
                  time=TIME + "007Z",
                  bids=[{"price": "50000.5", "amount": "0.00"}], asks=[])
    yield message("market_data.top_of_book", market=MARKET,
                  type="TOP_OF_BOOK", timestamp=TIME + "008009010Z",
                  bids=side(49999, -1, 1), asks=side(50001, 1, 1))
    yield message("execution_data", market=MARKET, price="50001.5",
                  amount="0.125", executed_at=TIME + "009Z")
    yield message("heartbeat", timestamp=TIME + "010011012Z")


async def serve(websocket, *_):
    # Version 14 and later keep the request as an object.
    request = getattr(websocket, "request", None)
    headers = request.headers if request else websocket.request_headers
    say("authorization", headers.get("Authorization"))
    asked = json.loads(await websocket.recv())
    say("asked", asked["type"], *(c["type"] for c in asked["channels"]))
    for channel in asked["channels"]:
        channel["success"] = True
    await websocket.send(json.dumps(asked))
    for text in pushed():
        await websocket.send(text)
    await websocket.wait_closed()
    say("close", websocket.close_code)


async def main():
    context = None
    if len(sys.argv) > 2:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(*sys.argv[2:])
    async with websockets.serve(serve, "127.0.0.1", 0, ssl=context,
                                compression=None) as server:
        say("port", server.sockets[0].getsockname()[1])
        await asyncio.to_thread(sys.stdin.read)


asyncio.run(main())
