"""Runs mini-stream against WebSockets over TLS that break RFC 6455 or follow it
in unusual ways, and against a service with unusual messages. ../ports.py runs
it over each port.

SPDX-License-Identifier: 0BSD
"""
import contextlib
import csv
import json
import os
import re
import socket
import struct


import interop_tls as tls
from interop_tls import CERTIFICATES, FOLDER, give_token, serving
from interop_ws import (BAD_CLOSE, BAD_FRAMES, BAD_TEXT, CLOSE, CONTINUATION,
                        PING, PONG, TEXT, close_frame, frame, read_frame)
from e2e import RUN, TOOL, equal, run_program
from schema import validate
from tls_lab import Tool, matches, upgrade

HEARTBEAT = json.dumps({"channel": "heartbeat", "payload": {
    "timestamp": "2026-01-02T03:04:05.010011012Z"}}).encode()
SEEN = r"^2026-01-02T03:04:05\.010Z heartbeat -$"


class Frames:
    """The frames that the client sends."""

    def __init__(self, peer):
        self.peer, self.data = peer, b""

    def take(self, length):
        while len(self.data) < length:
            self.data += self.peer.read().encode("latin-1")
        taken, self.data = self.data[:length], self.data[length:]
        return taken

    def until(self, wanted):
        """Reads up to the next frame with this opcode. Returns its payload."""
        opcode, payload = None, b""
        while opcode != wanted:
            opcode, _, payload = read_frame(self.take)
        return payload

    def close(self):
        """Answers the client's close, and ends the connection."""
        self.until(CLOSE)
        self.peer.send(close_frame(1000))
        self.peer.end(notify=True)


class Stream(contextlib.ExitStack):
    """A token endpoint, a WebSocket with handler(peer, frames) for its only
    connection, and mini-stream, which by default subscribes heartbeats."""

    def __init__(self, handler, *arguments):
        super().__init__()
        self.handler, self.connections = handler, 0
        server, auth = map(self.enter_context, (
            serving(self.serve), serving(give_token)))
        self.tool = self.enter_context(Tool(
            FOLDER.name, CERTIFICATES.path("anchors.pem"),
            ["--auth-url", f"https://localhost:{auth.port}",
             "--ws-url", f"wss://localhost:{server.port}",
             *(arguments or ("-c", "heartbeat"))]))

    def serve(self, peer):
        request = peer.request()
        self.connections += 1
        if self.connections == 1:
            peer.send(upgrade(request))
            self.handler(peer, Frames(peer))

    def ends(self, line):
        """Expects the connection to end with this error, and a next attempt."""
        self.tool.until(self.tool.err, "^\\S+ closed - ")
        self.tool.end()
        matches(rf"^[^(]*{line}.*\(stage open.*next attempt in",
                self.tool.failures()[0], "error")

    def ends_well(self):
        self.tool.end()
        equal(self.tool.failures(), [], "errors")


def bad(data, code, line):
    """A server sends this data: the client closes with this code, or without
    one, and no data after it counts."""
    closes = []

    def handler(peer, frames):
        peer.send(data)
        closes.append(frames.until(CLOSE))
        peer.end(notify=True)

    with Stream(handler) as stream:
        stream.ends(line)
        equal(SEEN[1:-1] in stream.tool.out(), False, "late message")
    equal(closes, [struct.pack("!H", code) if code else b""], "close codes")


def bytewise():
    """Fragments, one of them empty, and a ping, in records of a byte."""
    pongs = []

    def handler(peer, frames):
        peer.send(frame(TEXT, HEARTBEAT[:10], fin=False) + frame(PING, b"ping")
                  + frame(CONTINUATION, fin=False)
                  + frame(CONTINUATION, HEARTBEAT[10:]), 1)
        pongs.append(frames.until(PONG))
        frames.close()

    with Stream(handler) as stream:
        stream.tool.until(stream.tool.out, SEEN)
        stream.ends_well()
    equal(pongs, [b"ping"], "pongs")


def many_fragments():
    """A message with a fragment for each byte, a thousand times."""
    pieces = (frame(TEXT, HEARTBEAT[:1], fin=False) +
              b"".join(frame(CONTINUATION, HEARTBEAT[i:i + 1], fin=False)
                       for i in range(1, len(HEARTBEAT) - 1)) +
              frame(CONTINUATION, HEARTBEAT[-1:]))

    def handler(peer, frames):
        peer.send(pieces * 1000)
        frames.close()

    with Stream(handler) as stream:
        stream.tool.until(stream.tool.out, rf"(?s)({SEEN}\n){{1000}}")
        stream.ends_well()


def ends(data, how, line):
    """The connection ends without a close frame."""
    def handler(peer, frames):
        frames.until(TEXT)  # the subscribe request
        peer.send(data)
        if how == "reset":
            peer.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER,
                                   struct.pack("ii", 1, 0))
            return
        peer.end(how == "notify")

    with Stream(handler) as stream:
        stream.ends(line)


GARBAGE = frame(TEXT, b"{]")
ANOTHER = frame(TEXT, b'{"channel":1}')
FLOOD = ((GARBAGE * 99 + frame(TEXT, HEARTBEAT)) * 200 +
         ((GARBAGE + ANOTHER) * 49 + frame(TEXT, HEARTBEAT)) * 100)
BAD_MESSAGES = 200 * 99 + 100 * 98 + 100  # up to the end of the connection


def garbage(*arguments):
    """Thousands of unreadable messages, equal or alternating, among readable
    ones: few lines report them. Once no readable ones come, the connection
    ends. Returns standard output."""
    def handler(peer, frames):
        frames.until(TEXT)  # the subscribe request
        peer.send(FLOOD + GARBAGE * 10000)
        frames.until(CLOSE)

    with Stream(handler, "-c", "heartbeat", *arguments) as stream:
        stream.ends("too many unreadable messages")
        said, out = stream.tool.err(), stream.tool.out()
    equal(sum(map(int, re.findall(
        r"^\S+ repeated - (\d+) times: error - not JSON", said,
        re.MULTILINE))) > 19000, True, f"repeats in {said:.2000}")
    matches(r"^\S+ left_out - \d+ more lines about messages$", said, "the rest")
    equal(len(said) < len(FLOOD) / 4, True, f"{len(said)} bytes of errors")
    return out


def garbage_as_text():
    out = garbage("--verbose")
    equal(len(re.findall(SEEN, out, re.MULTILINE)), 300, "heartbeats")
    equal(len(out) < len(FLOOD) / 2, True, f"{len(out)} bytes of output")


def garbage_in(form):
    """A line for each error, up to a hundred in ten seconds."""
    out, count = garbage("--format", form), "count"
    if form == "json":
        lines = list(map(json.loads, out.splitlines()))
        for line in lines:
            validate(line)
    else:
        lines, count = list(csv.DictReader(out.splitlines())), "amount"
    errors = sum(line["type"] == "error" for line in lines)
    left_out = [int(line[count]) for line in lines
                if line["type"] == "left_out"]
    equal(errors + sum(left_out), BAD_MESSAGES, "errors and what is left out")
    equal(100 <= errors <= 100 * (len(left_out) + 1), True, f"{errors} errors")
    equal([int(line["sequence"]) for line in lines],
          list(range(1, len(lines) + 1)), "sequence")


def text(**message):
    return frame(TEXT, json.dumps(message).encode())


def data(channel, time, **payload):
    field = {"market_data": "time", "execution_data": "executed_at"}
    return text(channel=channel, payload={
        "market": "BTCUSD", field.get(channel, "timestamp"):
        f"2026-01-02T03:04:05.{time}Z", **payload})


def other_case(*arguments):
    """The service writes the subscribed markets' names in upper case, and
    refuses one without effect on the other. Returns standard output."""
    best = {"bids": [{"price": "9.5", "amount": "1"}],
            "asks": [{"price": "9.7", "amount": "2"}]}

    def handler(peer, frames):
        answer = json.loads(frames.until(TEXT))
        for entry in answer["channels"]:
            params = entry.get("params", {})
            params.update((key, name.upper()) for key, name in params.items())
            if params.get("market") == "NOSUCH":
                entry["error"] = {"code": "NO_SUCH_MARKET", "at": [1]}
            else:
                entry["success"] = True
        peer.send(text(**answer) +
                  data("market_data", "001", type="SNAPSHOT", **best) +
                  data("market_data.top_of_book", "002", type="TOP_OF_BOOK",
                       **best) +
                  data("execution_data", "003", price="9.7", amount="1") +
                  data("market_data", "004", type="UPDATE", asks=[],
                       bids=[{"price": "9.6", "amount": "3"}]))
        frames.close()

    with Stream(handler, "btcusd", "nosuch", *arguments) as stream:
        stream.tool.until(stream.tool.out, r"\D9[.]6\D")  # no time of day
        stream.tool.end(tls.SERVICE_FAULT)
        out, said = stream.tool.out(), stream.tool.err()
    equal(re.findall(r"^\S+ (renamed - .*)$", said, re.MULTILINE),
          ["renamed - btcusd: the service writes BTCUSD",
           "renamed - nosuch: the service writes NOSUCH"], "names")
    matches("^\\S+ refused - subscribe market_data nosuch: NO_SUCH_MARKET$",
            said, "the other one")
    return out


def other_case_as_text():
    out = other_case("--depth", "1")
    for line in ("market_data.top_of_book btcusd bid=9.5 .*",
                 "execution_data btcusd price=9.7 amount=1",
                 "market_data btcusd update bids=1 asks=0 best=9.6/9.7 live "
                 ".*depth_bids=9.6x3 .*", "book - btcusd live.*",
                 "renamed - btcusd: the service writes BTCUSD"):
        equal(len(re.findall(f"^\\S+ {line}$", out, re.MULTILINE)), 1,
              f"{line} in {out}")


def other_case_as_json():
    lines = list(map(json.loads, other_case(
        "--format", "json", "--depth", "1").splitlines()))
    equal({line["market"] for line in lines if "market" in line},
          {"btcusd", "nosuch"}, "markets")
    equal([line["book"]["bids"] for line in lines if "book" in line],
          [[["9.5", "1"]], [["9.6", "3"]]], "books")


def other_case_recorded(path=os.path.join(FOLDER.name, "recording")):
    """A replay shows the names that were subscribed."""
    out = other_case("--record", path)
    shown = run_program(*RUN, TOOL, "replay", path)
    equal((shown.stdout, shown.stderr), (out, ""), "replay")


LOST = "(connection reset|connection closed|TLS ended without close_notify)"
TESTS = [(f"{line}: {data[:20].hex()}", bad, data, code, line)
          for data, code, line in BAD_FRAMES + BAD_TEXT + BAD_CLOSE] + [
    ("fragments and a ping, a byte a record", bytewise),
    ("a fragment for each byte", many_fragments),
    ("a close with 1001", bad,
     close_frame(1001, b"why") + frame(TEXT, HEARTBEAT), 1001, "closed"),
    ("a close without a code", bad, frame(CLOSE) + frame(TEXT, HEARTBEAT),
     None, "closed"),
    ("the end", ends, b"", "notify", "connection closed by the peer"),
    ("the end within a header", ends, frame(TEXT, b"xyz")[:1], "notify",
     "connection closed by the peer"),
    ("the end within a frame", ends, frame(TEXT, b"xyz")[:4], "notify",
     "connection closed by the peer"),
    ("the end of TCP alone", ends, b"", "truncate",
     "TLS ended without close_notify"),
    ("a reset", ends, b"", "reset", LOST),
    ("garbage", garbage_as_text),
    ("garbage as JSON", garbage_in, "json"),
    ("garbage as CSV", garbage_in, "csv"),
    ("a market in another case", other_case_as_text),
    ("a market in another case, as JSON", other_case_as_json),
    ("a market in another case, recorded", other_case_recorded),
]
