"""Shared by interop_*.py: servers whose behaviour a test controls, most of them
with TLS, and mini-stream as a user runs it.

SPDX-License-Identifier: 0BSD
"""
import base64
import contextlib
import functools
import hashlib
import itertools
import os
import re
import select
import signal
import socket
import ssl
import struct
import subprocess
import threading

from e2e import (HANG_S, RUN, TOOL, Reader, environment_with, equal, free_port,
                 read_file, wait_for)

SERVICE = os.path.join(os.path.dirname(os.path.abspath(__file__)),
                       "tls_stream.py")


def matches(pattern, text, what):
    found = re.search(pattern, text, re.MULTILINE)
    if not found:
        raise AssertionError(f"{what}: no {pattern!r} in\n{text}")
    return found


def wait_until(read, pattern, what, process):
    """Waits until the text of read() has the pattern. Returns the match."""
    return wait_for(lambda: re.search(pattern, read(), re.MULTILINE),
                    lambda: f"{what}: {pattern!r} in\n{read()}",
                    process=process)


# ---- openssl s_server ----

class Process(Reader):
    """A program whose output is kept as one text."""

    def __init__(self, command):
        self.output = b""
        super().__init__(subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT))

    def read(self):
        while data := os.read(self.process.stdout.fileno(), 65536):
            self.output += data

    def text(self):
        return self.output.decode("latin-1")

    def until(self, pattern, process=None):
        """Waits for this output while this or the given process runs."""
        return wait_until(self.text, pattern, self.process.args[0],
                          process or self.process)

    def write(self, text):
        self.process.stdin.write(text.encode())
        self.process.stdin.flush()

    def kill(self):
        super().kill()
        self.process.stdin.close()


class OpensslServer(Process):
    """openssl s_server: prints what it receives, sends its standard input, and
    serves one connection after the other."""

    def __init__(self, *arguments):
        self.port = free_port()
        super().__init__(["openssl", "s_server", "-accept",
                          f"127.0.0.1:{self.port}", "-no-CAfile",
                          "-no-CApath", *arguments])
        self.until("^ACCEPT")


def server_of(certificates, name, *arguments, chain=None):
    """Runs openssl s_server with a certificate and, if named, its chain."""
    path = certificates.path
    more = ("-cert_chain", path(chain + ".pem")) if chain else ()
    return OpensslServer("-cert", path(name + ".pem"), "-key",
                         path(name + ".key"), *more, *arguments)


# ---- Servers in Python ----

def read_request(read):
    """Reads an HTTP request with read(), which returns text."""
    text = ""
    while "\r\n\r\n" not in text:
        text += read()
    length = re.search(r"Content-Length: (\d+)", text)
    end = text.index("\r\n\r\n") + 4 + int(length[1] if length else 0)
    while len(text) < end:
        text += read()
    return text


def hang_up(connection):
    """Ends its sending side, and reads until the client's end."""
    connection.shutdown(socket.SHUT_WR)
    while connection.recv(65536):
        pass


class Peer:
    """The server's end of a TLS connection, down to its records."""

    def __init__(self, connection, context, segment=None):
        self.socket = connection
        self.segment = segment  # bytes of ciphertext in one send(), or None
        self.incoming, self.outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        self.tls = context.wrap_bio(self.incoming, self.outgoing,
                                    server_side=True)

    def flush(self, damage=False):
        data = bytearray(self.outgoing.read())
        if damage:
            data[-1] ^= 1
        step = self.segment or len(data) or 1
        for at in range(0, len(data), step):
            self.socket.sendall(data[at:at + step])

    def take(self):
        """Reads ciphertext. An end without close_notify counts as an end."""
        data = self.socket.recv(65536)
        if data:
            self.incoming.write(data)
        else:
            self.incoming.write_eof()

    def wait(self, call, *arguments):
        while True:
            try:
                result = call(*arguments)
                self.flush()
                return result
            except ssl.SSLWantReadError:
                self.flush()
                self.take()

    def handshake(self):
        self.wait(self.tls.do_handshake)

    def read(self):
        data = self.wait(self.tls.read, 65536)
        if not data:
            raise ConnectionError("the client left")
        return data.decode("latin-1")

    def request(self):
        """Reads an HTTP request, header and body, as text."""
        return read_request(self.read)

    def send(self, data, record=16384, damage=False):
        """Sends data in records of this size; damage makes their MAC wrong."""
        for at in range(0, len(data), record):
            self.tls.write(data[at:at + record])
            self.flush(damage)

    def close_notify(self):
        """Sends a close_notify and does not wait for the client's."""
        try:
            self.tls.unwrap()
        except ssl.SSLWantReadError:
            pass
        self.flush()

    def closed(self):
        """Waits for the client's end. True if it was a close_notify."""
        try:
            while self.wait(self.tls.read, 65536):
                pass
            return True
        except ssl.SSLEOFError:
            return False

    def end(self, notify=False):
        """Sends a close_notify if asked for, then hangs up."""
        if notify:
            self.close_notify()
        hang_up(self.socket)

    def relay(self, port, record):
        """Passes plaintext to a server and back, in records of this size."""
        with socket.create_connection(("127.0.0.1", port)) as backend:
            while True:
                try:  # data may have come with the end of the handshake
                    while data := self.tls.read(65536):
                        backend.sendall(data)
                    break
                except ssl.SSLWantReadError:
                    pass
                ready = select.select([self.socket, backend], [], [])[0]
                if backend in ready:
                    data = backend.recv(65536)
                    if not data:
                        break
                    self.send(data, record)
                if self.socket in ready:
                    self.take()
        self.close_notify()


def upgrade(request, accept=None, more=""):
    """The response to an opening handshake of a WebSocket."""
    if not accept:
        key = re.search("Sec-WebSocket-Key: (.*)\r", request)[1]
        accept = base64.b64encode(hashlib.sha1(
            (key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11").encode()).digest()
            ).decode()
    return ("HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n"
            "Connection: Upgrade\r\nSec-WebSocket-Accept: "
            f"{accept}\r\n{more}\r\n").encode()


CONTINUATION, TEXT, BINARY, CLOSE, PING, PONG = 0, 1, 2, 8, 9, 10


def read_frame(take, masks=None):
    """Reads a frame with take(length). Returns opcode, fin, payload. The frame
    must be masked; its masking key is added to the set masks."""
    first, second = take(2)
    equal(first & 0x70, 0, "reserved bits")
    equal(second & 0x80, 0x80, "mask bit")
    length = second & 0x7f
    if length == 126:
        length, = struct.unpack("!H", take(2))
    elif length == 127:
        length, = struct.unpack("!Q", take(8))
    mask = take(4)
    if masks is not None:
        masks.add(mask)
    data = int.from_bytes(take(length), "big")
    key = int.from_bytes((mask * (length // 4 + 1))[:length], "big")
    return first & 15, bool(first & 0x80), (data ^ key).to_bytes(length, "big")


def frame(opcode, data=b"", fin=True, first=0, length=None):
    """A server's frame. first and length replace these fields of the header."""
    header = bytes([first or (0x80 if fin else 0) | opcode])
    if length is None:
        length = (bytes([len(data)]) if len(data) < 126 else
                  struct.pack("!BH", 126, len(data)) if len(data) < 65536 else
                  struct.pack("!BQ", 127, len(data)))
    return header + length + data


class Server(contextlib.AbstractContextManager):
    """Serves one connection after the other with handler(connection). Errors in
    forgives are ignored: the client left, which the test itself checks."""

    def __init__(self, handler, family=socket.AF_INET, forgives=OSError):
        self.handler, self.forgives = handler, forgives
        self.failures = []
        self.stopping = False
        self.host = "::1" if family == socket.AF_INET6 else "127.0.0.1"
        self.listener = socket.create_server((self.host, 0), family=family)
        self.port = self.listener.getsockname()[1]
        self.thread = threading.Thread(target=self.serve)
        self.thread.start()

    def serve(self):
        while True:
            connection = self.listener.accept()[0]
            with connection:
                if self.stopping:
                    return
                connection.settimeout(HANG_S)
                connection.setsockopt(socket.IPPROTO_TCP,
                                      socket.TCP_NODELAY, 1)
                try:
                    self.handler(connection)
                except self.forgives:
                    pass
                except Exception as error:  # any error is reported
                    self.failures.append(error)

    def __exit__(self, *_):
        self.stopping = True
        with socket.create_connection((self.host, self.port)):
            self.thread.join()
        self.listener.close()
        if self.failures:
            raise self.failures[0]


# ---- mini-stream ----

class Program(contextlib.AbstractContextManager):
    """A program with its outputs in files of a folder. start() starts it, as
    subprocess.Popen() does."""
    numbers = itertools.count()

    def __init__(self, folder, start):
        base = os.path.join(folder, f"tool-{next(self.numbers)}")
        self.paths = [base + ".out", base + ".err"]
        with open(self.paths[0], "wb") as out, \
                open(self.paths[1], "wb") as err:
            self.process = start(stdout=out, stderr=err)

    def out(self):
        return read_file(self.paths[0])

    def err(self):
        return read_file(self.paths[1])

    def wait(self):
        try:
            self.process.wait(HANG_S)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"does not end:\n{self.err()}") from None

    def finish(self, status):
        """Waits for its end, and expects this exit status."""
        self.wait()
        equal(self.process.returncode, status, f"exit status\n{self.err()}")

    def end(self, status=0, number=signal.SIGINT):
        """Ends it by a signal, as a user does."""
        self.process.send_signal(number)
        self.finish(status)

    def until(self, read, pattern):
        """Waits for this output of read, which is self.out or self.err."""
        wait_until(read, pattern, "output", self.process)

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()


class Tool(Program):
    """mini-stream stream."""

    def __init__(self, folder, ca, arguments):
        super().__init__(folder, functools.partial(
            subprocess.Popen, [*RUN, TOOL, "stream", "--ca", ca, "--client-id",
                               "client", *arguments],
            env=environment_with(HOME=folder,
                                 MINI_STREAM_CLIENT_SECRET="secret"),
            stdin=subprocess.DEVNULL))

    def failures(self):
        """The errors with which its connections ended. Only the last one may
        have been closed on request."""
        said = re.findall(r"^\S+ closed - (.*)$", self.err(), re.MULTILINE)
        equal("on request" in said[:-1], False, "before the end")
        return [each for each in said if each != "on request"]
