"""The server of the sandbox's page: whom it answers, with what and how much,
and that it reveals no secret.

SPDX-License-Identifier: 0BSD
"""
import contextlib
import http.client
import json
import os
import socket
import time

from e2e import HANG_S, check, fixed_ports, free_port, refusal, sandbox_of
from secrets_planted import Planter

os.environ["G_DEBUG"] = "fatal-criticals"  # of the sandbox's GLib

JSON = {"Content-Type": "application/json"}
STATE_MAX = 300_000  # bytes
POLICY = "default-src 'self'"


class Site(contextlib.ExitStack):
    """A sandbox with a page."""

    def __init__(self, *options):
        super().__init__()
        self.service = self.enter_context(
            sandbox_of("--page-port", "0", *options))
        self.said = self.service.process.stdout.readline().decode()
        self.url = self.service.urls["page_url"]
        self.port = int(self.url.rstrip("/").rsplit(":", 1)[1])

    def ask(self, path="/state", method="GET", body=None, **headers):
        """(status, headers, body); a header that is None is not sent."""
        headers = {name.replace("_", "-"): value
                   for name, value in headers.items()}
        headers.setdefault("Host", f"127.0.0.1:{self.port}")
        connection = http.client.HTTPConnection("127.0.0.1", self.port,
                                                timeout=HANG_S)
        connection.putrequest(method, path, skip_host=True,
                              skip_accept_encoding=True)
        if body is not None:
            headers.setdefault("Content-Length", str(len(body)))
        for name, value in headers.items():
            if value is not None:
                connection.putheader(name, value)
        connection.endheaders(body)
        reply = connection.getresponse()
        answer = reply.read()
        connection.close()
        return reply.status, reply.headers, answer

    def state(self, **query):
        path = "/state?" + "&".join(f"{name}={value}"
                                    for name, value in query.items())
        status, _, body = self.ask(path)
        check(status == 200, status)
        return json.loads(body)

    def change(self, **faults):
        return self.ask("/faults", "POST", json.dumps(faults).encode(),
                        **JSON)


def test_where_it_is(site):
    check(site.said == f"page at {site.url}\n", site.said)
    check(site.url == f"http://127.0.0.1:{site.port}/", site.url)
    with contextlib.suppress(OSError):
        socket.create_connection(("::1", site.port)).close()
        check(False, "it listens on ::1")
    with contextlib.closing(socket.socket()) as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        said = refusal("--page-port", str(port))
        check(str(port) in said, said)


def test_its_port_is_kept():
    with Site("--keep-ports", *fixed_ports(),
              f"--page-port={free_port()}") as site:
        site.service.terminate()
        state = site.service.state
        with sandbox_of("--keep-ports", "--page-port", "0",
                        state=state) as service:
            check(service.urls == site.service.urls, service.urls)
        with sandbox_of("--keep-ports", state=state) as service:
            check("page_url" not in service.urls, service.urls)


def test_without_it(sandbox):
    check("page_url" not in sandbox.urls, sandbox.urls)
    for port in ("-1", "65536", "x"):
        said = refusal("--page-port", port)
        check("page-port" in said, said)


def test_host(site):
    for host in (f"127.0.0.1:{site.port}", f"localhost:{site.port}",
                 f"LocalHost:{site.port}"):
        check(site.ask(Host=host)[0] == 200, host)
    for host in (f"attacker.example:{site.port}", "127.0.0.1",
                 f"127.0.0.1:{site.port + 1}", f"127.0.0.2:{site.port}",
                 f"127.0.0.1:{site.port}.attacker.example", "localhost",
                 f"localhost.attacker.example:{site.port}",
                 f"[::1]:{site.port}"):
        for path in ("/", "/state", "/page.js", "/about", "/none"):
            status, _, body = site.ask(path, Host=host)
            # libsoup itself refuses a port that is no number.
            check(status in (400, 421), (host, path, status))
            check(b"seed" not in body and b"<" not in body, body)
        status = site.ask("/faults", "POST", b'{"freeze":{}}', Host=host,
                          **JSON)[0]
        check(status in (400, 421), (host, status))
    check(site.ask(Host=None)[0] == 400, "no host")
    check(site.service.active() == {}, "a foreign host changed the faults")


def test_origin(site):
    own = (f"http://127.0.0.1:{site.port}", f"http://localhost:{site.port}")
    for origin in own:
        check(site.ask(Origin=origin)[0] == 200, origin)
    for origin in ("null", "http://attacker.example",
                   f"http://attacker.example:{site.port}",
                   f"https://127.0.0.1:{site.port}", "http://127.0.0.1",
                   f"http://127.0.0.1:{site.port + 1}",
                   own[0] + ".attacker.example", " ".join(own)):
        for method, path in (("GET", "/state"), ("GET", "/"),
                             ("OPTIONS", "/faults"), ("POST", "/faults")):
            status, headers, _ = site.ask(path, method, b'{"freeze":{}}',
                                          Origin=origin, **JSON)
            check(status == 403, (origin, method, path, status))
            check("Access-Control-Allow-Origin" not in headers, headers)
    check(site.service.active() == {}, "a foreign origin changed the faults")
    status, headers, _ = site.ask(
        "/faults", "OPTIONS", Origin=own[0],
        Access_Control_Request_Method="POST")
    check(status == 405, status)
    check("Access-Control-Allow-Origin" not in headers, headers)


def test_content_type(site):
    for kind in (None, "text/plain", "application/x-www-form-urlencoded",
                 "multipart/form-data", "application/json2",
                 "text/plain; application/json"):
        status = site.ask("/faults", "POST", b'{"freeze":{}}',
                          Content_Type=kind)[0]
        check(status == 415, (kind, status))
    check(site.service.active() == {}, "a form changed the faults")
    status = site.ask("/faults", "POST", b'{"freeze":{}}',
                      Content_Type="application/json; charset=utf-8")[0]
    check(status == 200 and site.service.active() == {"freeze": {"at": "stream"}},
          site.service.active())


def test_headers_of_each_answer(site):
    answers = {
        200: site.ask("/"), 404: site.ask("/../etc/passwd"),
        405: site.ask("/", "DELETE"), 421: site.ask(Host="a"),
        403: site.ask(Origin="http://a"),
        415: site.ask("/faults", "POST", b"{}"),
        400: site.ask("/faults", "POST", b"{", **JSON),
        413: site.ask("/faults", "POST", b" " * 70000, **JSON)}
    for path, kind in (("/", "text/html"), ("/page.js", "text/javascript"),
                       ("/page.css", "text/css"), ("/state", "application/"
                                                   "json")):
        answers[path] = site.ask(path)
        check(answers[path][1].get_content_type() == kind, path)
    for status, (real, headers, _) in answers.items():
        check(real == status or isinstance(status, str), (real, status))
        policy = headers["Content-Security-Policy"] or ""
        check(policy.split("; ")[0] == POLICY, (status, policy))
        check("unsafe" not in policy and "frame-ancestors 'none'" in policy,
              policy)
        check(headers["X-Content-Type-Options"] == "nosniff", status)
        check(headers["Cache-Control"] == "no-store", status)
        check(headers["Cross-Origin-Resource-Policy"] == "same-origin", status)


def test_single_faults(site):
    check(site.change(latency={"ms": 5, "for_ms": 60000})[0] == 200, "set")
    time.sleep(0.3)
    status, _, body = site.change(freeze={"at": "token"}, token=None)
    active = json.loads(body)
    check(status == 200 and set(active) == {"latency", "freeze"}, active)
    check(50000 < active["latency"]["for_ms"] <= 59700, active)
    status, _, body = site.change(latency=None, reset={"count": 0})
    check(status == 400, status)
    check(json.loads(body)["meta"]["field"] == "reset.count", body)
    check(set(site.service.active()) == {"latency", "freeze"}, "half a change")
    check(site.change(latency=None)[0] == 200, "end")
    check(site.service.active() == {"freeze": {"at": "token"}}, site.service.active())
    for body in (b"[]", b'"freeze"', b"null", b"", b'{"freeze":1}',
                 b'{"freeze":null,"freeze":{}}'):
        check(site.ask("/faults", "POST", body, **JSON)[0] == 400, body)
    check(site.service.active() == {"freeze": {"at": "token"}}, site.service.active())


def test_secrets(site):
    planter = Planter(site.service)
    token = planter.plant_all()
    body = site.ask("/state?after=0")[2].decode()
    entries = json.loads(body)["journal"]
    check(planter.found_in(body) == [], planter.found_in(body))
    check(planter.found_in(site.ask("/about")[2].decode()) == [], "about")
    texts = [entry["request"] or "" for entry in entries]
    for wanted in ("Authorization: Bearer ***", "Authorization: Basic ***",
                   "client_id=sandbox-client&client_secret=***",
                   '"nickname":"my ******"', '"token":"***"'):
        check(any(wanted in text for text in texts), wanted)
    # A revoked token stays secret.
    site.change(revoke={})
    planter.send(site.service.urls["base_url"] + "/v2/x",
                 Authorization="Bearer " + token)
    body = site.ask("/state?after=0")[2].decode()
    check(planter.found_in(json.dumps(json.loads(body)["journal"])) == [],
          "revoked")


def test_what_is_kept():
    with Site("--markets", "500", "--rate", "1") as site:
        planter = Planter(site.service)
        for _ in range(160):
            planter.ask_token()
        journal = site.state()["journal"]
        check([entry["number"] for entry in journal] == list(range(61, 161)),
              journal)
        check([entry["number"] for entry in site.state(after=158)["journal"]]
              == [159, 160], "after")
        for _ in range(100):
            planter.ask_token(scope="\u00e4" * 10000)
        check(site.state(market="M7")["market"] == "M7", "market")
        check(site.state(market="M7")["book"]["market"] == "M7", "book")
        check(site.state(market="none")["market"] == "BTCUSD", "none")
        body = site.ask("/state?after=0")[2]
        check(len(body) < STATE_MAX, len(body))
        check(len(json.loads(body)["journal"]) == 100, "entries")


def test_deep_book():
    with Site("--markets", "1", "--levels", "80000", "--rate", "1") as site:
        body = site.ask("/state?after=0")[2]
        check(len(body) < STATE_MAX, len(body))
        book = json.loads(body)["book"]
        check(len(book["bids"]) == len(book["asks"]) == 200, "levels")
        check(book["bid_levels"] == book["ask_levels"] == 80000, "all levels")


def test_what_is_no_http(site):
    """An unreadable request leaves nothing in the journal."""
    host, port = "localhost", site.service.urls["auth_url"].rsplit(":")[-1]
    for text in (b"\x00\x01\x02\r\n\r\n", b"GET\r\n\r\n",
                 b"GET http:// HTTP/1.1\r\nHost: a\r\n\r\n",
                 b"GET /%00%ff HTTP/1.1\r\nHost: a\r\n\r\n",
                 b"GET * HTTP/1.1\r\nHost: a\r\n\r\n", b""):
        with socket.create_connection((host, int(port))) as plain:
            with site.service.tls.wrap_socket(
                    plain, server_hostname=host) as link:
                link.sendall(text)
                link.settimeout(1)
                with contextlib.suppress(OSError):
                    while text and link.recv(4096):
                        pass
        with socket.create_connection(("127.0.0.1", site.port)) as plain:
            plain.sendall(text)
    check(site.ask()[0] == 200, "it has ended")
    check(site.service.process.poll() is None, "it has ended")
