"""A service that loses subscriptions while the connection stays. They are
subscribed again, and the output says how long each may have been missing.

SPDX-License-Identifier: 0BSD
"""
import asyncio
import json
import subprocess
import time

import websockets

from e2e import HANG_S, TOOL, check, killed, user_environment
from token_endpoint import token_endpoint

AUDIT_MS = 2000
BOOK, EXECUTION = "market_data", "execution_data"
SNAPSHOT = json.dumps({"channel": BOOK, "payload": {
    "market": "BTCUSD", "type": "SNAPSHOT",
    "time": "2026-01-02T03:04:05.006Z",
    "bids": [{"price": "100", "amount": "1"}],
    "asks": [{"price": "101", "amount": "1"}]}})


class Stream:
    """Serves one connection, and has lost a channel in its second list."""

    def __init__(self, lost):
        self.lost, self.lists, self.has = lost, 0, []
        self.kept_at = None  # when the first list was sent
        self.asked = []  # types of the requests

    async def serve(self, socket, *_):
        async for text in socket:
            request = json.loads(text)
            self.asked.append(request["type"])
            if request["type"] == "subscription_list":
                self.lists += 1
                if self.lists == 2:
                    self.has = [each for each in self.has
                                if each["type"] != self.lost]
                answer = {"type": "subscription_list", "channels": self.has}
            else:
                self.has += request["channels"]
                answer = {**request, "channels": [
                    {**each, "success": True} for each in request["channels"]]}
            if self.lists == 1 and self.kept_at is None:
                self.kept_at = time.monotonic()
            await socket.send(json.dumps(answer))
            if any(each["type"] == BOOK for each in request.get("channels",
                                                                [])):
                await socket.send(SNAPSHOT)


def follow(stream, port, auth_port):
    """The tool's first gap line, and the longest that the gap can be, in ms."""
    with killed(subprocess.Popen(
            [TOOL, "stream", "--format", "json", "--allow-plain", "--set",
             f"audit_ms={AUDIT_MS}", "--ws-url", f"ws://127.0.0.1:{port}",
             "--auth-url", f"http://127.0.0.1:{auth_port}", "-c",
             f"{BOOK},{EXECUTION}", "--seconds", str(HANG_S), "BTCUSD"],
            env=user_environment(), text=True, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE)) as tool:
        for line in tool.stdout:
            thing = json.loads(line)
            if thing["type"] == "gap":
                return thing, (time.monotonic() - stream.kept_at) * 1000
        raise AssertionError(f"no gap; asked: {stream.asked}")


async def expect_gap(lost):
    """It begins when the service last listed the channel, one audit earlier,
    and not when it was subscribed, two audits earlier."""
    stream = Stream(lost)
    with token_endpoint() as auth_port:
        async with websockets.serve(stream.serve, "127.0.0.1", 0,
                                    compression=None) as server:
            port = server.sockets[0].getsockname()[1]
            gap, longest = await asyncio.to_thread(follow, stream, port,
                                                   auth_port)
    check(stream.asked == ["subscribe", "subscription_list",
                           "subscription_list", "subscribe"], stream.asked)
    check((gap["market"], gap["channel"]) == ("BTCUSD", lost), gap)
    # The tool cuts its times to milliseconds, at both ends.
    check(AUDIT_MS * 3 / 4 < gap["ms"] <= longest + 2,
          f"{gap}, at most {longest}")


TESTS = [("executions", expect_gap, EXECUTION), ("book", expect_gap, BOOK)]
