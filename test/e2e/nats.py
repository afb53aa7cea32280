"""A client of a NATS server with what the gateway's tests need. It shares no
code with the gateway's client.

SPDX-License-Identifier: 0BSD
"""
import base64
import collections
import contextlib
import json
import socket
import time

from e2e import HANG_S, check

Message = collections.namedtuple("Message", "subject reply data headers")
# A stored message of a stream.
Stored = collections.namedtuple("Stored", "number subject headers data")


def headers_of(text):
    return {name: value.strip() for name, _, value in
            (line.partition(":") for line in text.splitlines()[1:] if line)}


class Nats(contextlib.AbstractContextManager):
    """A connection. context: TLS, or None. who: credentials for CONNECT."""

    def __init__(self, port, context=None, **who):
        self.socket = socket.create_connection(("127.0.0.1", port), HANG_S)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.lines = self.socket.makefile("rb")
        check(self.lines.readline().startswith(b"INFO "), "no INFO")
        if context:
            self.socket = context.wrap_socket(self.socket,
                                              server_hostname="localhost")
            self.lines = self.socket.makefile("rb")
        hello = {"verbose": False, "headers": True, "no_responders": True,
                 **who}
        self.send(f"CONNECT {json.dumps(hello)}\r\nPING\r\n".encode())
        check(self.lines.readline() == b"PONG\r\n", "no PONG")
        self.inboxes = 0

    def __exit__(self, *_):
        self.lines.close()
        self.socket.close()

    def send(self, data):
        self.socket.sendall(data)

    def publish(self, subject, data=b"", reply=""):
        self.send(f"PUB {subject} {reply} {len(data)}\r\n".encode()
                  + data + b"\r\n")

    def subscribe(self, subject):
        self.inboxes += 1
        self.send(f"SUB {subject} {self.inboxes}\r\n".encode())

    def refused(self, line):
        """Sends a line of the protocol. Returns the broker's errors."""
        self.send(line.encode() + b"\r\nPING\r\n")
        errors = []
        while (said := self.lines.readline()) != b"PONG\r\n":
            check(said.startswith(b"-ERR "), said)
            errors.append(said[5:].decode().strip("' \r\n"))
        return errors

    def next(self, seconds=HANG_S):
        """The next message, or None."""
        end = time.monotonic() + seconds
        while True:
            self.socket.settimeout(max(0.001, end - time.monotonic()))
            try:
                line = self.lines.readline()
            except TimeoutError:
                # A file whose read timed out cannot be read again.
                self.lines = self.socket.makefile("rb")
                return None
            check(line, "the broker has ended the connection")
            self.socket.settimeout(HANG_S)
            words = line.decode().split()
            if words[0] == "PING":
                self.send(b"PONG\r\n")
            elif words[0] in ("MSG", "HMSG"):
                data = self.lines.read(int(words[-1]) + 2)[:-2]
                headers = {}
                if words[0] == "HMSG":
                    size = int(words[-2])
                    headers = headers_of(data[:size].decode())
                    data = data[size:]
                sizes = 2 if words[0] == "HMSG" else 1
                return Message(words[1], words[3] if len(words) == 4 + sizes
                               else "", data, headers)

    def request(self, subject, data=b""):
        inbox = f"_INBOX.test{id(self)}.{self.inboxes}"
        self.subscribe(inbox)
        self.publish(subject, data, inbox)
        message = self.next()
        check(message and message.subject == inbox, f"{subject}: {message}")
        self.send(f"UNSUB {self.inboxes}\r\n".encode())
        return message.data

    def api(self, word, **fields):
        """A response of JetStream, which may be an error."""
        return json.loads(self.request(f"$JS.API.{word}",
                                       json.dumps(fields).encode()))

    def create(self, word, **more):
        """Creates the stream mst_WORD as a gateway does, except for more."""
        self.api(f"STREAM.CREATE.mst_{word}", name=f"mst_{word}",
                 **{"subjects": [f"mst.{word}.*"], "storage": "file",
                    "retention": "limits", "discard": "old",
                    "allow_direct": True, "duplicate_window": 120 * 10**9,
                    **more})

    def last_of(self, stream, subject):
        """The last message of a subject as text, or None."""
        message = self.api(f"STREAM.MSG.GET.{stream}",
                           last_by_subj=subject).get("message")
        return message and base64.b64decode(message["data"]).decode()

    def stored(self, stream):
        """All messages of a stream in order."""
        state = self.api(f"STREAM.INFO.{stream}", deleted_details=True)["state"]
        deleted = set(state.get("deleted") or ())
        numbers = [each for each in
                   range(state["first_seq"], state["last_seq"] + 1)
                   if each not in deleted]
        found = {}
        end = time.monotonic() + HANG_S
        # A message read while another is written may not be found (seen with
        # nats-server 2.9.10), so it is requested again.
        while missing := [each for each in numbers if each not in found]:
            check(time.monotonic() < end, f"{stream} does not show {missing}")
            for i in range(0, len(missing), 500):
                found.update(self.some_stored(stream, missing[i:i + 500]))
        return [found[number] for number in sorted(found)]

    def some_stored(self, stream, numbers):
        inbox = f"_INBOX.test{id(self)}.{self.inboxes}"
        self.subscribe(inbox)
        for number in numbers:
            self.publish(f"$JS.API.STREAM.MSG.GET.{stream}",
                         b'{"seq":%d}' % number, inbox)
        answers = [json.loads(self.next().data) for _ in numbers]
        self.send(f"UNSUB {self.inboxes}\r\n".encode())
        for answer in answers:
            if "error" in answer:
                check(answer["error"]["code"] == 404, answer["error"])
                continue
            message = answer["message"]
            headers = base64.b64decode(message.get("hdrs", "")).decode()
            data = base64.b64decode(message.get("data", "")).decode()
            yield message["seq"], Stored(message["seq"], message["subject"],
                                         headers_of(headers), data)
