"""Runs ws-echo against WebSocket servers: those of the websockets package, and
raw sockets that do what such a server never does.

SPDX-License-Identifier: 0BSD
"""
import asyncio
import base64
import functools
import os
import socket
import struct
import subprocess

import websockets

from e2e import BUILD, HANG_S, check, equal, killed, memory_kb, run_program
from tls_lab import (BINARY, CLOSE, CONTINUATION, PING, PONG, TEXT, Server,
                     frame, hang_up, read_frame, upgrade)

WS_ECHO = os.path.join(BUILD, "ws-echo")
MIB = 1 << 20


def start(port, path="/", host="127.0.0.1"):
    return subprocess.Popen([WS_ECHO, host, str(port), path],
                            stdin=subprocess.DEVNULL, stderr=subprocess.PIPE)


def finish(process, status, line):
    """Expects ws-echo to end with this status, and this text in its line."""
    stderr = process.communicate(timeout=HANG_S)[1].decode()
    equal(process.returncode, status, f"exit status ({stderr.strip()})")
    equal(stderr.count("\n"), 1 if status else 0, f"lines of {stderr!r}")
    check(line in stderr, f"{line!r} is not in {stderr!r}")


# ---- Against the websockets package ----

def library(path="/"):
    """Makes a test of a handler(websocket, process)."""
    def test_of(handler):
        @functools.wraps(handler)
        async def test():
            done = asyncio.get_running_loop().create_future()

            async def serve(websocket, *_):
                try:
                    done.set_result(await handler(websocket, process))
                except Exception as error:  # any error is reported
                    done.set_exception(error)

            async with websockets.serve(serve, "127.0.0.1", 0, max_size=None,
                                        ping_interval=None) as server:
                port = server.sockets[0].getsockname()[1]
                with killed(start(port, path)) as process:
                    await asyncio.wait_for(done, HANG_S)
                    await asyncio.to_thread(finish, process, 0, "")
        return test
    return test_of


@library()
async def library_messages(websocket, _):
    """text, binary and empty messages come back, with their type"""
    messages = ["hello", "", "Grüße, 世界 \U0001f600", b"", b"\x00\xff" * 99,
                "x" * 125, "x" * 126, "x" * 65535, b"y" * 65536]
    for message in messages:
        await websocket.send(message)
        equal(await websocket.recv(), message, "echo")


@library()
async def library_many(websocket, _):
    """10,000 messages sent without waiting come back in order"""
    async def send():
        for i in range(10000):
            await websocket.send(str(i))

    sender = asyncio.create_task(send())
    for i in range(10000):
        equal(await websocket.recv(), str(i), "echo")
    await sender


@library()
async def library_large(websocket, process):
    """16 MiB pass through, in less than 8 MiB of memory"""
    binary = os.urandom(16 * MIB)
    for message in (binary, "é" * (8 * MIB)):
        await websocket.send(message)
        check(await websocket.recv() == message, "the echo differs")
    peak_kb = memory_kb(process.pid, most=True)
    check(peak_kb < 8 * 1024, f"peak memory is {peak_kb} KiB")


@library()
async def library_fragments(websocket, _):
    """a fragmented message comes back whole, pings inside are answered"""
    pongs = []

    async def fragments():
        for i in range(50):
            yield f"part {i} "
            pongs.append(await websocket.ping(f"ping {i}".encode()))

    await websocket.send(fragments())
    equal(await websocket.recv(),
          "".join(f"part {i} " for i in range(50)), "echo")
    await asyncio.wait_for(asyncio.gather(*pongs), HANG_S)


async def library_close_codes():
    """a close is answered with the same code"""
    for code, reason in (*((code, "") for code in (
            1000, 1001, 1003, 1007, 1008, 1009, 1011, 3000, 4999)),
                         (1000, "the reason" * 12)):
        @library()
        async def closes(websocket, _, code=code, reason=reason):
            await websocket.close(code, reason)
            equal(websocket.close_code, code, "code of the answer")

        await closes()


@library(path="/a/b?c=d")
async def library_request(websocket, _):
    """path and Host header arrive as given"""
    port = websocket.local_address[1]
    # Version 14 and later keep the request as an object.
    request = getattr(websocket, "request", None)
    path = request.path if request else websocket.path
    headers = request.headers if request else websocket.request_headers
    equal(path, "/a/b?c=d", "path")
    equal(headers["Host"], f"127.0.0.1:{port}", "Host")
    equal(headers.get_all("Authorization"), [], "Authorization")


# ---- Against raw sockets ----

class Raw:
    """The server's end of a connection, read byte by byte."""

    def __init__(self, connection):
        self.socket = connection
        self.masks = set()
        request = b""
        while not request.endswith(b"\r\n\r\n"):
            request += self.take(1)
        self.request = request.decode("ascii")
        self.headers = dict(
            line.split(": ", 1) for line in self.request.split("\r\n")[1:-2])
        key = self.headers["Sec-WebSocket-Key"]
        equal(len(base64.b64decode(key, validate=True)), 16, "length of key")

    def take(self, length):
        data = b""
        while len(data) < length:
            piece = self.socket.recv(length - len(data))
            check(piece, "the client hung up")
            data += piece
        return data

    def send(self, data):
        self.socket.sendall(data)

    def response(self, **changes):
        return upgrade(self.request, **changes)

    def frame(self):
        """Reads a frame. Returns opcode, fin, payload."""
        return read_frame(self.take, self.masks)

    def message(self):
        """Reads the fragments of a message. Returns opcode, payload."""
        opcode, fin, data = self.frame()
        while not fin:
            following, fin, more = self.frame()
            equal(following, CONTINUATION, "opcode of a fragment")
            data += more
        return opcode, data

    def ended(self):
        """True once the client has hung up and sent nothing before."""
        try:
            return self.socket.recv(1) == b""
        except ConnectionResetError:
            return True


def close_frame(code, reason=b""):
    return frame(CLOSE, struct.pack("!H", code) + reason)


def raw(status=0, line="", family=socket.AF_INET):
    """Makes a test of a handler(Raw), called for the only connection. ws-echo
    must end with this status and line."""
    def test_of(handler):
        @functools.wraps(handler)
        def test():
            with Server(lambda connection: handler(Raw(connection)), family,
                        forgives=()) as server, killed(
                            start(server.port, host=server.host)) as process:
                finish(process, status, line)
        return test
    return test_of


def clean_end(peer):
    """Closes as a server does."""
    peer.send(close_frame(1000))
    equal(peer.frame(), (CLOSE, True, struct.pack("!H", 1000)), "close")


@raw()
def raw_together(peer):
    """bytes that come together with the 101 are not lost"""
    peer.send(peer.response() + frame(TEXT, b"one") + frame(PING, b"p") +
              frame(BINARY, b"two") + close_frame(1000))
    equal(peer.message(), (TEXT, b"one"), "first")
    equal(peer.frame(), (PONG, True, b"p"), "pong")
    equal(peer.message(), (BINARY, b"two"), "second")
    equal(peer.frame(), (CLOSE, True, b"\x03\xe8"), "close")


@raw()
def raw_bytewise(peer):
    """a stream that comes byte by byte is the same stream"""
    for byte in (peer.response() + frame(TEXT, "aé€".encode(), fin=False) +
                 frame(PING, b"ping") + frame(CONTINUATION, b"b") +
                 frame(BINARY, b"z" * 300)):
        peer.send(bytes([byte]))
    opcode, data = TEXT, b""
    pongs = []
    fin = False
    while not fin:
        following, last, more = peer.frame()
        if following == PONG:
            pongs.append(more)
            continue
        equal(following, opcode, "opcode")
        data, opcode, fin = data + more, CONTINUATION, last
    equal(data, "aé€b".encode(), "text")
    equal(pongs, [b"ping"], "pongs")
    equal(peer.message(), (BINARY, b"z" * 300), "binary")
    check(len(peer.masks) >= 4, "masking keys repeat")
    clean_end(peer)


@raw()
def raw_streams(peer):
    """the first pieces come back before the message has ended"""
    block = bytes(range(256)) * 256
    peer.send(peer.response() + struct.pack("!BBQ", 0x82, 127, 16 * MIB))
    opcode = BINARY
    for number in range(256):
        peer.send(block)
        got = b""
        fin = False
        while len(got) < len(block):
            following, fin, data = peer.frame()
            equal(following, opcode, "opcode")
            check(1 <= len(data) <= 16384, f"{len(data)} in a fragment")
            got += data
            opcode = CONTINUATION
        equal(got, block, "echo")
        equal(fin, number == 255, "the end")
    clean_end(peer)


@raw()
def raw_empty_fragments(peer):
    """empty fragments make no message longer, an empty message is one frame"""
    peer.send(peer.response() + frame(TEXT, b"", fin=False) +
              frame(CONTINUATION, b"", fin=False) + frame(CONTINUATION) +
              frame(TEXT, b"ab", fin=False) +
              frame(CONTINUATION, b"", fin=False) + frame(CONTINUATION) +
              frame(BINARY))
    equal(peer.frame(), (TEXT, True, b""), "empty text")
    equal(peer.message(), (TEXT, b"ab"), "text")
    equal(peer.frame(), (BINARY, True, b""), "empty binary")
    clean_end(peer)


@raw()
def raw_ping_between(peer):
    """a ping between fragments and inside a large message is answered"""
    peer.send(peer.response() + frame(BINARY, b"1" * 100, fin=False))
    equal(peer.frame(), (BINARY, False, b"1" * 100), "first fragment")
    peer.send(frame(PING, b"q" * 125))
    equal(peer.frame(), (PONG, True, b"q" * 125), "pong")
    peer.send(frame(PING) + frame(PONG, b"unasked") +
              frame(CONTINUATION, b"2"))
    equal(peer.frame(), (PONG, True, b""), "empty pong")
    equal(peer.frame(), (CONTINUATION, True, b"2"), "last fragment")
    clean_end(peer)


def raw_close_forms():
    """a close is answered in kind, and nothing behind it is"""
    def no_code(peer):
        peer.send(peer.response() + frame(CLOSE) + frame(TEXT, b"late"))
        equal(peer.frame(), (CLOSE, True, b""), "close")

    def inside(peer):
        peer.send(peer.response() + frame(TEXT, b"a", fin=False))
        equal(peer.frame(), (TEXT, False, b"a"), "fragment")
        peer.send(close_frame(1001, b"going away"))
        equal(peer.frame(), (CLOSE, True, b"\x03\xe9"), "close")

    def peer_never_hangs_up(peer):
        peer.send(peer.response() + close_frame(1000))
        equal(peer.frame(), (CLOSE, True, b"\x03\xe8"), "close")
        equal(peer.ended(), True, "the client hangs up")

    for handler in (no_code, inside, peer_never_hangs_up):
        raw()(handler)()


@raw(family=socket.AF_INET6)
def raw_ipv6(peer):
    """IPv6, with the address in brackets in the Host header"""
    port = peer.socket.getsockname()[1]
    equal(peer.headers["Host"], f"[::1]:{port}", "Host")
    peer.send(peer.response())
    clean_end(peer)


def bad(data, code, line):
    """A server sends this data: the client closes with this code."""
    @raw(1, line)
    def test(peer):
        peer.send(peer.response() + data)
        opcode, _, payload = peer.frame()
        while opcode != CLOSE:
            opcode, _, payload = peer.frame()
        equal(payload, struct.pack("!H", code), "close code")
        # The client reads until the server hangs up; otherwise it would reset.
        peer.send(b"\0" * 65536 + close_frame(code))
        peer.socket.shutdown(socket.SHUT_WR)
        equal(peer.socket.recv(1), b"", "the end")

    test()


# Data that breaks RFC 6455, its close code, and a word of the error.
BAD_FRAMES = [(frame(0, b"x", first=first), 1002, "reserved")
              for first in (0xc1, 0xa1, 0x91, 0x83, 0x87, 0x8b, 0x8f)] + [
    (frame(TEXT, b"\0\0\0\0abc", length=b"\x83"), 1002, "mask"),
    (frame(TEXT, b"abc", length=b"\x7e\x00\x03"), 1002, "length"),
    (frame(TEXT, length=b"\x7f" + b"\0" * 6 + b"\xff\xff"), 1002, "length"),
    (frame(TEXT, length=b"\x7f\x80" + b"\0" * 7), 1002, "length"),
    (frame(PING, b"x" * 126), 1002, "control"),
    (frame(PING, b"x", fin=False), 1002, "control"),
    (frame(CLOSE, b"", fin=False), 1002, "control"),
    (frame(CONTINUATION, b"x"), 1002, "fragment"),
    (frame(TEXT, b"x", fin=False) + frame(TEXT, b"y"), 1002, "fragment"),
    (frame(TEXT, b"x") + frame(CONTINUATION, b"y"), 1002, "fragment"),
]
BAD_TEXT = [(data, 1007, "UTF-8") for text in (
    b"\xff", b"ok \xc0\x80", b"\xed\xa0\x80", b"\xf4\x90\x80\x80",
    b"cut \xe2\x82") for data in [frame(TEXT, text)] + [
        frame(TEXT, text[:cut], fin=False) + frame(CONTINUATION, text[cut:])
        for cut in range(len(text))]]
BAD_CLOSE = [(frame(CLOSE, b"\x03"), 1002, "close")] + [
    (close_frame(code), 1002, "close") for code in
    (0, 999, 1004, 1005, 1006, 1015, 1016, 2999, 5000, 65535)] + [
        (close_frame(1000, b"\xff"), 1007, "UTF-8")]


def all_bad(*cases):
    for case in cases:
        bad(*case)


def raw_end_without_close():
    """an end without a close frame is not a clean close"""
    for data in (b"", frame(TEXT, b"x"), frame(TEXT, b"x", fin=False),
                 frame(TEXT, b"xyz")[:4], b"\x81"):
        @raw(1, "closed")
        def ends(peer, data=data):
            peer.send(peer.response() + data)
            hang_up(peer.socket)

        ends()

    @raw(1, "reset")
    def reset(peer):
        peer.send(peer.response())
        peer.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER,
                               struct.pack("ii", 1, 0))

    reset()


def raw_bad_handshake():
    """a response that does not upgrade ends before any frame"""
    for line, response in (
            ("Accept", lambda peer: peer.response(accept="A" * 27 + "=")),
            ("extension", lambda peer: peer.response(
                more="Sec-WebSocket-Extensions: permessage-deflate\r\n")),
            ("extension", lambda peer: peer.response(
                more="Sec-WebSocket-Protocol: chat\r\n")),
            ("HTTP status 200",
             lambda _: b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"),
            ("HTTP status 404", lambda _: b"HTTP/1.1 404 Not Found\r\n"
             b"Content-Length: 2\r\n\r\nno"),
            ("handshake", lambda _: b"SSH-2.0-OpenSSH_9.2\r\n"),
            ("handshake", lambda _: b""),
            ("handshake", lambda peer: peer.response()[:-3])):
        @raw(1, line)
        def refused(peer, response=response):
            peer.send(response(peer))
            peer.socket.shutdown(socket.SHUT_WR)
            equal(peer.ended(), True, "nothing more is sent")

        refused()


# ---- Without a server ----

def no_server():
    """a refused connection and an unknown port are named"""
    with socket.socket() as holder:
        holder.bind(("127.0.0.1", 0))
        finish(start(holder.getsockname()[1]), 1, "refused")
    finish(start("no-such-port"), 1, "127.0.0.1")


def usage():
    """wrong arguments: exit status 2"""
    for arguments in ([], ["localhost"], ["localhost", "80"],
                      ["localhost", "80", "/", "more"]):
        run = run_program(WS_ECHO, *arguments)
        equal(run.returncode, 2, "exit status")
        equal(run.stderr, "usage: ws-echo HOST PORT PATH\n", "stderr")


def bad_path():
    """a path with a control character is refused before it is sent"""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        finish(start(port, path="/a\r\nX: y"), 1, "handshake")
        with listener.accept()[0] as connection:
            equal(connection.recv(1), b"", "bytes sent")


TESTS = [library_messages, library_many, library_large, library_fragments,
         library_close_codes, library_request, raw_together, raw_bytewise,
         raw_streams, raw_empty_fragments, raw_ping_between, raw_close_forms,
         raw_ipv6,
         ("frames that break RFC 6455 end with 1002", all_bad, *BAD_FRAMES),
         ("text that is not UTF-8 ends with 1007, wherever it is cut",
          all_bad, *BAD_TEXT),
         ("malformed close frames end with 1002, or 1007 for their reason",
          all_bad, *BAD_CLOSE),
         raw_end_without_close, raw_bad_handshake, no_server, usage, bad_path]
