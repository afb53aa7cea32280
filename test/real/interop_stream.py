#!/usr/bin/env python3
"""Runs mini-stream against a WebSocket over TLS that breaks RFC 6455, and one
that keeps it in unusual ways. ../ports.py runs it over each port.

Usage: interop_stream.py [MINI_STREAM]     (default: $BUILD/mini-stream)
Ends with "N passed, N failed"; fails unless all passed.
SPDX-License-Identifier: 0BSD
"""
import json
import socket
import struct
import sys

import interop_tls as tls
from interop_tls import CERTIFICATES, FOLDER, OK, reply, serving, token, upgrade
from interop_ws import (BAD_CLOSE, BAD_FRAMES, BAD_TEXT, CLOSE, CONTINUATION,
                        PING, PONG, TEXT, close_frame, frame, read_frame)
from tls_lab import Tool, equal, matches

HEARTBEAT = json.dumps({"channel": "heartbeat", "payload": {
    "timestamp": "2026-01-02T03:04:05.010011012Z"}}).encode()
SEEN = r"^2026-01-02T03:04:05\.010Z heartbeat -$"


class Frames:
    """What the client sends, frame by frame."""

    def __init__(self, peer):
        self.peer, self.data = peer, b""

    def take(self, length):
        while len(self.data) < length:
            self.data += self.peer.read().encode("latin-1")
        taken, self.data = self.data[:length], self.data[length:]
        return taken

    def until(self, wanted):
        """The payload of the next frame with this opcode."""
        opcode, payload = None, b""
        while opcode != wanted:
            opcode, _, payload = read_frame(self.take)
        return payload


class Stream:
    """A token, a WebSocket that handler(peer, frames) has once it is open, for
    one connection, and mini-stream."""

    def __init__(self, handler):
        self.handler, self.connections = handler, 0
        self.server, self.auth = serving(self.serve), serving(self.give)
        self.tool = Tool(FOLDER.name, CERTIFICATES.path("anchors.pem"),
                         ["--auth-url", f"https://localhost:{self.auth.port}",
                          "--ws-url", f"wss://localhost:{self.server.port}",
                          "-c", "heartbeat"])

    @staticmethod
    def give(peer):
        peer.request()
        peer.send(reply(token()))

    def serve(self, peer):
        request = peer.request()
        self.connections += 1
        if self.connections == 1:
            peer.send(upgrade(request))
            self.handler(peer, Frames(peer))

    def ends(self, line):
        """The connection ends with this, and the next attempt is announced."""
        self.tool.until(self.tool.err, "^\\S+ closed - ")
        self.tool.interrupt()
        self.tool.finish(OK)
        matches(rf"^[^(]*{line}.*\(stage open.*next attempt in",
                self.tool.failures()[0], "error")

    def ends_well(self):
        self.tool.interrupt()
        self.tool.finish(OK)
        equal(self.tool.failures(), [], "errors")

    def __enter__(self):
        return self

    def __exit__(self, *failure):
        self.tool.__exit__(*failure)
        for server in (self.server, self.auth):
            server.__exit__(*failure)


def bad(data, code, line):
    """This from a server: a close frame with the code, then the end."""
    closes = []

    def handler(peer, frames):
        peer.send(data)
        closes.append(frames.until(CLOSE))
        peer.close_notify()
        peer.end()

    with Stream(handler) as stream:
        stream.ends(line)
    equal(closes, [struct.pack("!H", code)], "close codes")


def bytewise():
    """Fragments, one of them empty, a ping between, a byte a record."""
    pongs = []

    def handler(peer, frames):
        peer.send(frame(TEXT, HEARTBEAT[:10], fin=False) + frame(PING, b"ping")
                  + frame(CONTINUATION, fin=False)
                  + frame(CONTINUATION, HEARTBEAT[10:]), 1)
        pongs.append(frames.until(PONG))
        frames.until(CLOSE)
        peer.send(close_frame(1000))
        peer.close_notify()
        peer.end()

    with Stream(handler) as stream:
        stream.tool.until(stream.tool.out, SEEN)
        stream.ends_well()
    equal(pongs, [b"ping"], "pongs")


def many_fragments():
    """A message in as many fragments as it has bytes, thousands of times."""
    pieces = (frame(TEXT, HEARTBEAT[:1], fin=False) +
              b"".join(frame(CONTINUATION, HEARTBEAT[i:i + 1], fin=False)
                       for i in range(1, len(HEARTBEAT) - 1)) +
              frame(CONTINUATION, HEARTBEAT[-1:]))

    def handler(peer, frames):
        peer.send(pieces * 1000)
        frames.until(CLOSE)
        peer.send(close_frame(1000))
        peer.close_notify()
        peer.end()

    with Stream(handler) as stream:
        stream.tool.until(stream.tool.out, rf"(?s)({SEEN}\n){{1000}}")
        stream.ends_well()


def closed(code, line):
    """A close is answered in kind, and nothing behind it counts."""
    payload = b"" if code is None else struct.pack("!H", code) + b"why"
    answers = []

    def handler(peer, frames):
        peer.send(frame(CLOSE, payload) + frame(TEXT, HEARTBEAT))
        answers.append(frames.until(CLOSE))
        peer.close_notify()
        peer.end()

    with Stream(handler) as stream:
        stream.ends(line)
        equal(SEEN[1:-1] in stream.tool.out(), False, "late message")
    equal(answers, [payload[:2]], "answers")


def ends(data, how, line):
    """The end of the connection, without a close frame."""
    def handler(peer, frames):
        frames.until(TEXT)  # what it subscribes to
        peer.send(data)
        if how == "reset":
            peer.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER,
                                   struct.pack("ii", 1, 0))
            return
        if how == "notify":
            peer.close_notify()
        peer.end()

    with Stream(handler) as stream:
        stream.ends(line)


LOST = "(connection reset|connection closed|TLS ended without close_notify)"
CHECKS = [(f"{line}: {data[:20].hex()}", bad, data, code, line)
          for data, code, line in BAD_FRAMES + BAD_TEXT + BAD_CLOSE] + [
    ("fragments and a ping, a byte a record", bytewise),
    ("a fragment for each byte", many_fragments),
    ("a close with 1001", closed, 1001, "closed"),
    ("a close without a code", closed, None, "closed"),
    ("the end", ends, b"", "notify", "connection closed by the peer"),
    ("the end within a header", ends, frame(TEXT, b"xyz")[:1], "notify",
     "connection closed by the peer"),
    ("the end within a frame", ends, frame(TEXT, b"xyz")[:4], "notify",
     "connection closed by the peer"),
    ("the end of TCP alone", ends, b"", "truncate",
     "TLS ended without close_notify"),
    ("a reset", ends, b"", "reset", LOST),
]

if __name__ == "__main__":
    sys.exit(tls.main(CHECKS))
