"""Reports tried on the tool, with a service without TLS (README.md, 11 to 17,
23, 24 and 41 to 43).

SPDX-License-Identifier: 0BSD
"""
import base64
import contextlib
import csv
import io
import json
import os
import socket
import urllib.parse

from e2e import (HANG_S, TOOL, check, environment_with, equal, run_program,
                 write_file)
from tls_lab import (CLOSE, TEXT, Server, frame, read_frame, read_request,
                     upgrade)


def taker(connection):
    """Returns take(length), which reads exactly length bytes or raises OSError
    because the client left."""
    def take(length):
        data = connection.recv(length, socket.MSG_WAITALL) if length else b""
        check(len(data) == length, "the client left", OSError)
        return data
    return take


class Service:
    """A service on one port: tokens, and a stream that sends these messages
    after a request, and then closes."""

    def __init__(self, *messages):
        self.messages = messages
        self.forms, self.hosts = [], []
        self.server = Server(self.serve)
        self.port = self.server.port

    def serve(self, connection):
        def read():
            data = connection.recv(4096)
            check(data, "the client left", OSError)
            return data.decode()

        take = taker(connection)
        head, _, body = read_request(read).partition("\r\n\r\n")
        self.hosts.append(head.partition("Host: ")[2].split("\r\n")[0])
        if head.startswith("POST"):
            self.forms.append(dict(urllib.parse.parse_qsl(body)))
            token = b'{"access_token":"token","token_type":"bearer"}'
            connection.sendall(
                f"HTTP/1.1 200 OK\r\nContent-Length: {len(token)}\r\n\r\n"
                .encode() + token)
            return
        connection.sendall(upgrade(head + "\r\n"))
        asked = json.loads(read_frame(take)[2])
        for channel in asked["channels"]:
            channel["success"] = True
        for message in (json.dumps(asked), *self.messages):
            connection.sendall(frame(TEXT, message.encode()))
        connection.sendall(frame(CLOSE, b"\x03\xe8"))
        while read_frame(take)[0] != CLOSE:
            pass

    def run(self, *arguments, host="127.0.0.1", secret="secret", **variables):
        """Runs the tool until the stream is closed."""
        return run_program(
            TOOL, "stream", "--allow-plain", "--client-id", "client",
            "--auth-url", f"http://{host}:{self.port}", "--ws-url",
            f"ws://{host}:{self.port}", "--fail-on-disconnect", "--channels",
            "market_data,execution_data", *arguments, "BTCUSD",
            env=environment_with(**({"MINI_STREAM_CLIENT_SECRET": secret}
                                    if secret else {}), **variables))


@contextlib.contextmanager
def service_of(*messages):
    service = Service(*messages)
    with service.server:
        yield service


TIME = "2026-01-02T03:04:05.678901234Z"


def book(bids, kind="SNAPSHOT", time=json.dumps(TIME)):
    """A message with these bids, [price, amount], as JSON."""
    levels = ",".join(f'{{"price":{price},"amount":{amount}}}'
                      for price, amount in bids)
    return (f'{{"channel":"market_data","payload":{{"market":"BTCUSD","type":'
            f'"{kind}","time":{time},"bids":[{levels}],"asks":[]}}}}')


def lines_of(text, kind):
    """The objects of this type."""
    return [line for line in map(json.loads, text.splitlines())
            if line["type"] == kind]


def test_numbers():
    """13, 16, 17 and 20: spellings of a number, and the output; 15: jq, which
    uses doubles, does not change the output."""
    spellings = [('"0E+1"', "0"), ('"5E-7"', "0.0000005"),
                 ("5E-7", "0.0000005"), ('"0.00000001"', "0.00000001"),
                 ('"58479.20"', "58479.20000000"),
                 ("58479.20", "58479.20000000"),
                 ('"900719925474099.267"', "900719925474099.26700000"),
                 ("0.30000000000000004", "0.30000000000000004")]
    with service_of(*[book([(f'"{number}"', amount)])
                      for number, (amount, _) in enumerate(spellings)]
                    ) as service:
        text = service.run("--format", "json").stdout
        table = service.run("--format", "csv").stdout
    rows = [row for row in csv.DictReader(io.StringIO(table))
            if row["type"] == "snapshot"]
    for row, line, (spelling, wanted) in zip(
            rows, lines_of(text, "snapshot"), spellings, strict=True):
        equal(line["bids"][0][1], wanted, spelling)
        equal(row["amount"], wanted, spelling)
        equal(line["time"], TIME, "time")
    equal(run_program("jq", "-c", ".", input=text).stdout, text, "through jq")


def test_zeros():
    """18: prices have the digits of their market."""
    with service_of(book([('"58479.20"', '"1.50"'), ('"58479.15"', '"1.25"')]),
                    book([('"58479.20"', '"1.50"')], "UPDATE")) as service:
        text = service.run("--format", "json").stdout
    equal(lines_of(text, "snapshot")[0]["bids"],
          [["58479.20", "1.50"], ["58479.15", "1.25"]])
    equal(lines_of(text, "update")[0]["bids"], [["58479.20", "1.50"]])


def test_times():
    """11, 12, 16 and 19: texts that are times, and texts that are not."""
    times = {'"2026-01-02t03:04:05.5z"': "05.500000000Z",
             '"2026-01-02T03:04:05.678901234567+00:00"': "05.678901234Z",
             '"2026-01-02T04:04:05.000001+01:00"': "05.000001000Z",
             '"2026-01-02T03:04:05.Z"': -609,
             '"2026-01-02T03:04:05+ab:cd"': -609,
             '"2026-01-02T03:04:05.1+99:99"': -609,
             '"2026-01-02T03:04:60Z"': -609, '"1767323045678"': -609,
             "1767323045678": -602, "null": -602}
    with service_of(*[book([("1", "1")], time=time) for time in times]
                    ) as service:
        text = service.run("--format", "json").stdout
    got = [line.get("error") or line["time"][-13:].lstrip(":")
           for line in map(json.loads, text.splitlines())
           if line["type"] in ("snapshot", "error")]
    equal([each if isinstance(each, int) else each[-13:] for each in got],
          list(times.values()))


def test_secrets(folder):
    """23: a secret in a file; 24: one with characters that a form escapes."""
    secret = "z/tZ9+Vw:X2 {}[]%2B&=\u00e9\u20ac$"
    path = os.path.join(folder, "secret")
    with service_of() as service:
        service.run(secret=secret)
        for end in ("", "\n", "\r\n"):
            write_file(path, secret + end)
            os.chmod(path, 0o600)
            service.run("--secret-file", path, secret=None)
    equal([form["client_secret"] for form in service.forms], [secret] * 4)


def test_direct():
    """42: the environment's proxy is not used for this machine's addresses or
    those in NO_PROXY."""
    with service_of() as service, \
            socket.create_server(("127.0.0.1", 0)) as proxy:
        url = f"http://127.0.0.1:{proxy.getsockname()[1]}"
        proxy.settimeout(0)
        for host, names in (("127.0.0.1", ""), ("[::1]", ""), ("127.1.2.3", ""),
                            ("[2001:db8::1]", "example.com,2001:DB8::1"),
                            ("[2001:db8::1]", "[2001:db8::1]"),
                            ("[2001:db8::1]", "*"), ("192.0.2.1", "192.0.2.1")):
            service.run("--set", "connect_ms=100", host=host,
                        HTTPS_PROXY=url, NO_PROXY=names)
            try:
                check(not proxy.accept(), f"{host}, {names}")
            except BlockingIOError:
                pass
        for host, names in (("[2001:db8::1]", "::1,2001:db8::10,[:,[]"),
                            ("[2001:db8::1]", "*:443"),
                            ("127.example", "")):
            service.run("--set", "connect_ms=100", host=host,
                        HTTPS_PROXY=url, NO_PROXY=names)
            proxy.settimeout(HANG_S)
            proxy.accept()[0].close()


def test_login():
    """41 and 43: the login in a proxy's URL is percent-encoded. An empty
    password needs its colon."""
    wanted = base64.b64encode(b"op s:p@ss%40w+rd\xe9")

    def proxy(connection):
        good = b"Basic " + wanted + b"\r\n" in connection.recv(4096)
        connection.sendall(b"HTTP/1.1 502 No\r\n\r\n" if good else
                           b"HTTP/1.1 407 No\r\n\r\n")

    with service_of() as service, Server(proxy) as server:
        for login, said in (("op%20s:p%40ss%2540w+rd%E9", "cannot reach"),
                            ("op%20s:p@ss%2540w+rd%e9", "cannot reach"),
                            ("op%20s:p%40ss%40w+rd%E9", "other credentials"),
                            ("op%20s:p%40ss%2540w%20rd%E9", "other credential"),
                            ("ops:", "other credentials"),
                            ("ops", "[user:password@]host:port")):
            run = service.run("--proxy", f"{login}@127.0.0.1:{server.port}")
            check(said in run.stderr, f"{login}: {run.stderr}")
            check("ss" not in run.stderr.replace("password", ""), run.stderr)
