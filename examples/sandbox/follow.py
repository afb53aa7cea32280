"""Follows a book: python3 follow.py STATE_DIRECTORY MARKET

SPDX-License-Identifier: 0BSD
"""
import asyncio
import decimal
import json
import ssl
import sys
import urllib.parse
import urllib.request

import websockets

STATE, MARKET = sys.argv[1:]
with open(f"{STATE}/endpoints.json", encoding="ascii") as file:
    urls = json.load(file)
tls = ssl.create_default_context(cafile=f"{STATE}/ca.pem")


def fetch_token():
    form = {"grant_type": "client_credentials", "client_id": "sandbox-client",
            "client_secret": "sandbox-secret",
            "scope": "exchange:read_aggregated_marketdata_stream"}
    with urllib.request.urlopen(
            urls["auth_url"] + "/oauth2/token",
            urllib.parse.urlencode(form).encode(), context=tls) as reply:
        return json.load(reply)["access_token"]


def time_of(payload):
    """Writes all 9 decimals, so that times compare as text."""
    seconds, _, fraction = payload["time"].rstrip("Z").partition(".")
    return f"{seconds}.{fraction.ljust(9, '0')}"


def apply(book, payload):
    for side in book:
        for level in payload.get(side, []):
            price = decimal.Decimal(level["price"])
            if decimal.Decimal(level["amount"]) == 0:
                book[side].pop(price, None)
            else:
                book[side][price] = level["amount"]


async def follow():
    book, since, early = {"bids": {}, "asks": {}}, None, []
    async with websockets.connect(
            urls["ws_url"], ssl=tls, max_size=None, extra_headers={
                "Authorization": f"Bearer {fetch_token()}"}) as stream:
        await stream.send(json.dumps({
            "type": "subscribe",
            "channels": [{"type": "market_data",
                          "params": {"market": MARKET}}]}))
        async for text in stream:
            message = json.loads(text)
            if message.get("channel") != "market_data":
                continue
            payload = message["payload"]
            if payload["type"] == "UPDATE" and since is None:
                early.append(payload)  # the snapshot has not come yet
                continue
            if payload["type"] != "UPDATE":
                book, since = {"bids": {}, "asks": {}}, time_of(payload)
                apply(book, payload)
                updates, early = early, []
            else:
                updates = [payload]
            for update in updates:
                if time_of(update) > since:
                    apply(book, update)
                    since = time_of(update)
            print(since, max(book["bids"]), min(book["asks"]), flush=True)


asyncio.run(follow())
