"""A small client of NATS, for tests: it says what a test tells it to, good or
not, and shows what the broker answers.

SPDX-License-Identifier: 0BSD
"""
import collections
import json
import socket
import time

HANG_S = 30  # for one answer: a hang, not a slow machine


Message = collections.namedtuple("Message", "subject sid head body")


class Refused(Exception):
    """The broker has said -ERR."""


class Nats:
    """A connection. context: TLS, or None."""

    def __init__(self, port, context=None, host="localhost", **connect):
        self.socket = socket.create_connection((host, port), HANG_S)
        self.input = b""
        self.subscriptions = 0
        self.messages = []
        self.errors = []
        self.info = json.loads(self.line().partition(b" ")[2])
        if context:
            self.socket = context.wrap_socket(self.socket,
                                              server_hostname=host)
        self.send(b"CONNECT " + json.dumps(
            {"verbose": False, "pedantic": False, "headers": True,
             "no_responders": True, **connect}).encode() + b"\r\n")
        self.flush()
        if self.errors:
            raise Refused(self.errors[0])

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()

    def send(self, data):
        self.socket.sendall(data)

    def take(self, count):
        while len(self.input) < count:
            more = self.socket.recv(65536)
            if not more:
                raise Refused(*self.errors[-1:] or ["closed"])
            self.input += more
        data, self.input = self.input[:count], self.input[count:]
        return data

    def line(self):
        while b"\r\n" not in self.input:
            more = self.socket.recv(65536)
            if not more:
                raise Refused(*self.errors[-1:] or ["closed"])
            self.input += more
        line, _, self.input = self.input.partition(b"\r\n")
        return line

    def step(self):
        """Takes one thing that the broker says; returns its first word."""
        words = self.line().split()
        kind = words[0].upper()
        if kind == b"PING":
            self.send(b"PONG\r\n")
        elif kind == b"-ERR":
            self.errors.append(b" ".join(words[1:]).decode().strip("'"))
        elif kind in (b"MSG", b"HMSG"):
            body = self.take(int(words[-1]) + 2)[:-2]
            head = body[:int(words[-2])] if kind == b"HMSG" else b""
            self.messages.append(Message(words[1].decode(), int(words[2]),
                                         head.decode(), body[len(head):]))
        return kind

    def flush(self):
        """Until the broker has taken all that was sent."""
        self.send(b"PING\r\n")
        while self.step() != b"PONG":
            pass

    def subscribe(self, subject):
        """Returns the number of the subscription."""
        self.subscriptions += 1
        self.send(f"SUB {subject} {self.subscriptions}\r\n".encode())
        return self.subscriptions

    def publish(self, subject, body=b"", reply="", headers=None):
        """Publishes; returns what the broker has against it."""
        before = len(self.errors)
        if headers:
            head = "NATS/1.0\r\n" + "".join(
                f"{name}: {value}\r\n" for name, value in headers.items())
            head = head.encode() + b"\r\n"
            text = f"HPUB {subject} {reply} {len(head)} {len(head) + len(body)}"
            self.send(text.encode() + b"\r\n" + head + body + b"\r\n")
        else:
            self.send(f"PUB {subject} {reply} {len(body)}\r\n".encode()
                      + body + b"\r\n")
        self.flush()
        return self.errors[before:]

    def wait(self, sid):
        """The next message of a subscription."""
        end = time.monotonic() + HANG_S
        while time.monotonic() < end:
            for at, message in enumerate(self.messages):
                if message.sid == sid:
                    return self.messages.pop(at)
            self.step()
        raise AssertionError("no such message")

    def request(self, subject, body=b"", headers=None):
        """The answer: its head and its body."""
        inbox = f"_INBOX.{id(self)}.{self.subscriptions}"
        sid = self.subscribe(inbox)
        errors = self.publish(subject, body, inbox, headers)
        if errors:
            raise Refused(errors[0])
        message = self.wait(sid)
        return message.head, message.body

    def api(self, subject, **body):
        """An answer of JetStream."""
        data = json.dumps(body).encode() if body else b""
        return json.loads(self.request("$JS.API." + subject, data)[1])
