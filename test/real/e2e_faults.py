"""mini-stream against a sandbox with faults: it notices each fault, names it if
it is an error, and afterwards has all its subscriptions again.

SPDX-License-Identifier: 0BSD
"""
import contextlib
import email.utils
import errno
import functools
import json
import os
import re
import socket
import time
import urllib.parse

import e2e
from e2e import (REFUSED, RESET, SANDBOX, Reader, Sandbox, check, refusal,
                 wait_for, write_file)

AT_ONCE = 8  # these tests wait more than they compute
MARKETS = ("BTCUSD", "ETHUSD")
# Lines that show that all is subscribed: of each market, of the connection.
WANTED = [rf" {line} {market} " for market in MARKETS
          for line in ("market_data", r"market_data\.top_of_book",
                       "execution_data")]
WANTED += [rf" market_data {market} .* live$" for market in MARKETS]
WANTED += [" heartbeat -$"]
OPEN = r" open - generation \d+$"
CLOSE = {"close": {"code": 1001, "reason": "for the fault"}}
NEW_TOKEN = {"revoke": {}, **CLOSE}
# So that silence ends a connection before missing heartbeats do.
NO_BEATS = ("--set", "heartbeat_ms=600000")
NOT_ACCEPTED = "closed - token is not accepted .*HTTP status 401"


class Service(Sandbox):
    """A running sandbox, and its control endpoint."""
    command = (SANDBOX, "--rate", "20")

    def faults_raw(self, data=None, method=None):
        status, headers, body = self.faults(data, method)
        return status, headers.get_content_type(), json.loads(body)


class Tool(Reader):
    """A running mini-stream and its output, line by line."""

    def __init__(self, sandbox, *options):
        self.lines = []
        self.begin = 0  # the first line that counts
        self.sandbox = sandbox
        super().__init__(sandbox.stream(*options, *MARKETS))

    def __exit__(self, error, *_):
        status = self.stop()
        check(error or status == 0, f"mini-stream ended with {status}")

    def take(self, line):
        self.lines.append(line.rstrip("\n"))

    def set(self, **faults):
        """Sets faults. From now on only later lines count."""
        self.begin = len(self.lines)
        self.sandbox.set(**faults)

    def find(self, pattern, begin=None):
        """The first line that matches, from line begin or self.begin on."""
        begin = self.begin if begin is None else begin
        return next((line for line in self.lines[begin:]
                     if re.search(pattern, line)), None)

    def count(self, pattern):
        return sum(bool(re.search(pattern, line))
                   for line in self.lines[self.begin:])

    def until(self, condition, what):
        return wait_for(condition, lambda: "\n".join(
            [what, *[line for line in self.lines if " - " in line][-20:]]),
                        process=self.process)

    def sees(self, pattern):
        return self.until(lambda: self.find(pattern), pattern)

    def opened(self):
        """The number of the line at which the connection opened last."""
        return max((number for number, line in enumerate(self.lines)
                    if re.search(OPEN, line)), default=None)

    def streams(self, begin=None):
        """Waits until a connection that opened from line begin on, or from
        self.begin on, delivers all."""
        begin = self.begin if begin is None else begin

        def all_there():
            opened = self.opened()
            return (opened is not None and opened >= begin and
                    all(self.find(line, opened) for line in WANTED))
        self.until(all_there, "all that is wanted is subscribed")
        check(not self.find(" refused - ", 0), "a subscription was refused")

    def used_up(self):
        active = self.sandbox.active()
        check(active == {}, f"left of it: {active}")

    def goes_on(self, **faults):
        """Sets faults. Expects the connection to stay and deliver all."""
        self.set(**faults)
        self.until(lambda: all(self.find(line) for line in WANTED),
                   "it goes on")
        check(not self.find(OPEN), "another connection")


sandbox_of = functools.partial(e2e.sandbox_of, kind=Service)


@contextlib.contextmanager
def tool_of(*options):
    """A mini-stream that has all it wants, with its own sandbox."""
    with sandbox_of() as sandbox, Tool(sandbox, *options) as tool:
        tool.streams()
        yield tool


def wait_of(line):
    """The seconds to the next attempt, as the line says."""
    match = re.search(r"next attempt in ([0-9.]+) s$", line)
    return float(match[1]) if match else 0


def recovers(faults, *errors, options=(), least_s=0):
    """Sets the faults, and expects the errors and then all subscriptions again,
    at least least_s after the last error."""
    with tool_of(*options) as tool:
        tool.set(**faults)
        lines = [tool.sees(error) for error in errors]
        tool.streams()
        tool.used_up()
        check(wait_of(lines[-1]) >= least_s, lines[-1])


def stays_away(faults, error):
    """Sets the faults, and expects an error after which the client waits for
    minutes, although a new one succeeds at once. Returns the error's line."""
    with tool_of() as tool:
        tool.set(**faults)
        line = tool.sees(error)
        check(wait_of(line) > 200, line)
        tool.used_up()
        with Tool(tool.sandbox) as another:
            another.streams()
        check(tool.opened() < tool.begin, "the first one did not wait")
        return line


# ---- The network. The slow ones first. ----

def test_half_open():
    recovers({"half_open": {}}, "closed - nothing came for too long",
             options=NO_BEATS)


def test_half_open_while_it_subscribes():
    recovers({"reset": {}, "half_open": {"after_bytes": 4000}}, RESET,
             "closed - (nothing came for too long|took too long|"
             "request was not answered in time)", options=NO_BEATS)


def test_freeze(tool):
    """Nothing moves, nothing is lost, no error is reported."""
    tool.set(freeze={"at": "all"})
    seen = [-1]

    def quiet():
        time.sleep(1)
        was, seen[0] = seen[0], len(tool.lines)
        return was == seen[0]
    tool.until(quiet, "lines stop")
    tool.goes_on()
    check(not tool.find(" (closed|error) - ", 0), "an error is told")


def test_reset_twice_in_the_midst(tool):
    tool.set(reset={"after_bytes": 20000, "count": 2})
    tool.until(lambda: tool.sandbox.active() == {}, "both")
    tool.until(lambda: tool.count(RESET + r" \(stage open") == 2, "both")
    tool.streams(tool.begin + 1)


def test_reset_that_others_use_up(tool):
    """A fault that the other connection would meet later is not used up."""
    with Tool(tool.sandbox) as other:
        other.streams()
        later = {"after_bytes": 10**9, "at": "stream", "count": 1}
        other.begin = len(other.lines)
        tool.set(reset={"after_bytes": 20000}, half_open=later)
        kept = tool.until(lambda: [
            each for each, another in ((tool, other), (other, tool))
            if another.find(RESET)], "one is reset")[0]
        seen = len(kept.lines)
        kept.until(lambda: len(kept.lines) > seen + 200, "the other goes on")
        check(not kept.find("closed - "), "it does not")
        active = tool.sandbox.active()
        check(active == {"half_open": later}, active)


def test_restart(tool):
    """No other program can get the port meanwhile."""
    port = urllib.parse.urlsplit(tool.sandbox.urls["ws_url"]).port
    tool.set(restart={"for_ms": 8000})
    tool.sees(RESET)
    with socket.socket() as other:
        error = other.connect_ex(("127.0.0.1", port))
        check(error == errno.ECONNREFUSED, os.strerror(error))
    with socket.socket() as other:
        try:
            other.bind(("127.0.0.1", port))
        except OSError as taken:
            check(taken.errno == errno.EADDRINUSE, taken)
        else:
            raise AssertionError("the port can be taken")
    tool.sees(REFUSED)
    tool.streams()
    tool.used_up()


def probe(sandbox, **faults):
    """Expects a token in spite of these faults. Returns the time it takes."""
    sandbox.set(**faults)
    begin = time.monotonic()
    status, _, body = sandbox.fetch_token()
    passed = time.monotonic() - begin
    check(status == 200 and json.loads(body)["access_token"], "a token")
    return passed


def closes_and_goes_on(tool, **faults):
    """The faults hold for the next connection, too."""
    tool.set(**faults, **CLOSE)
    tool.sees("closed - closed by the service")
    tool.streams()
    tool.goes_on()


def test_latency(tool):
    latency = {"ms": 300, "at": "all"}
    # Four ways: hello and its answer, then request and token.
    check(probe(tool.sandbox, latency=latency) >= 4 * 0.3, "no latency")
    closes_and_goes_on(tool, latency=latency)


def test_bandwidth(tool):
    # The handshake with its certificate has more than 600 bytes.
    passed = probe(tool.sandbox,
                   bandwidth={"bytes_per_s": 1000, "at": "token"})
    check(passed >= 0.6, f"1000 bytes/s: {passed} s")
    closes_and_goes_on(tool, bandwidth={"bytes_per_s": 50000})


def test_slice(tool):
    # A byte at a time, a millisecond apart.
    passed = probe(tool.sandbox, slice={"bytes": 1, "at": "token"})
    check(passed >= 0.6, f"a byte each millisecond: {passed} s")
    closes_and_goes_on(tool, slice={"bytes": 90})


# ---- Tokens ----

def test_token_429_with_retry_after_as_a_date():
    """A date is not read: it counts as 300 seconds."""
    line = stays_away(
        {**NEW_TOKEN, "token": {"status": 429, "retry_after_date": 60}},
        "closed - too many requests .*stage token, HTTP status 429")
    check(wait_of(line) == 300, line)


def test_token_503_twice(tool):
    tool.set(**NEW_TOKEN, token={"status": 503, "count": 2})
    tool.until(lambda: tool.count("HTTP status 503") == 2, "503")
    tool.streams()
    tool.used_up()


LIFETIMES = {"absent": {}, "0": {"value": 0}, "1": {"value": 1},
             "3599": {"value": 3599}, "a year": {"value": 31536000},
             "absurd": {"value": 10**18}, "not a number": {"value": "soon"},
             "negative": {"value": -1}, "null": {"value": None},
             "huge": {"value": 1e300}}


def test_reported_lifetimes(sandbox):
    for fault in LIFETIMES.values():
        sandbox.set(expires_in=fault)
        reply = json.loads(sandbox.fetch_token()[2])
        check(("expires_in" in reply) == ("value" in fault) and
              reply.get("expires_in") == fault.get("value"), reply)
    sandbox.set()
    check(json.loads(sandbox.fetch_token()[2])["expires_in"] == 3600, "3600")


def test_revoked_and_open(tool):
    tool.goes_on(revoke={})
    tool.set(**CLOSE)
    tool.sees(NOT_ACCEPTED)
    tool.streams()


# ---- The stream ----


def unanswered(carried_out):
    """Neither the subscribe nor the list is answered."""
    with tool_of() as tool:
        tool.set(**CLOSE, no_answer={"count": 2, "carried_out": carried_out})
        tool.sees("closed - closed by the service")
        tool.sees(OPEN)
        opened = tool.opened()
        line = tool.sees("closed - request was not answered in time")
        data = [line for line in tool.lines[opened:tool.lines.index(line)]
                if " - " not in line]
        check(bool(data) == carried_out, f"{len(data)} lines of data")
        tool.streams(opened + 1)
        tool.used_up()


def test_no_heartbeat(tool):
    tool.sandbox.set(no_heartbeat={})
    tool.begin = len(tool.lines)
    tool.until(lambda: len(tool.lines) > tool.begin + 150, "other lines")
    beats = tool.count(" heartbeat ")
    check(beats <= 1, f"{beats} heartbeats")  # one was on its way
    tool.set()
    tool.sees(" heartbeat -")
    tool.goes_on()


def test_no_heartbeat_is_named(tool):
    # Their interval is known only after two.
    tool.until(lambda: tool.count(" heartbeat -") >= 2, "two of them")
    tool.set(no_heartbeat={})
    tool.sees("closed - no heartbeats come")
    tool.sandbox.set()
    tool.streams()


def test_garbage(tool):
    tool.set(garbage={})
    tool.sees("error - ")
    tool.goes_on()
    tool.set(garbage={"text": "\u2603 {\"channel\""})
    tool.sees("error - not JSON")
    tool.goes_on()


# ---- The control endpoint ----

def test_set_read_and_clear(sandbox):
    check(sandbox.faults_raw() == (200, "application/json", {}), "none")
    for end in ({}, {"clear": True}):
        faults = {"latency": {"ms": 5, "at": "token"},
                  "token": {"status": 500, "count": 3}}
        sandbox.set(**faults)
        check(sandbox.active() == faults, sandbox.active())
        check(sandbox.fetch_token()[0] == 500, "500")
        check(sandbox.active()["token"]["count"] == 2, "what is left")
        sandbox.set(**end)
        check(sandbox.active() == {}, "ended")
        check(sandbox.fetch_token()[0] == 200, "200")


def test_another_set_replaces_the_first(sandbox):
    sandbox.set(token={"status": 500}, slice={"bytes": 3})
    sandbox.set(slice={"bytes": 4})
    check(sandbox.active() == {"slice": {"bytes": 4, "at": "stream"}},
          sandbox.active())


def test_a_duration_ends_by_itself(sandbox):
    sandbox.set(no_heartbeat={"for_ms": 300}, slice={"bytes": 7},
                freeze={"for_ms": 600000})
    left = sandbox.active()
    check(0 <= left["freeze"]["for_ms"] <= 600000, left)
    wait_for(lambda: "no_heartbeat" not in sandbox.active(), "its end")
    check(set(sandbox.active()) == {"slice", "freeze"}, sandbox.active())


WRONG = {
    "no JSON": (b"{", "line 1"),
    "nothing": (b"", "line 1"),
    "no object": (b"[]", "must be an object"),
    "key twice": (b'{"slice":{"bytes":1},"slice":{"bytes":1}}', "slice"),
    "no such fault": (b'{"lag":{}}', "lag is not a fault"),
    "no object in it": (b'{"slice":1}', "slice must be an object"),
    "no such field": (b'{"slice":{"bytes":1,"b":1}}', "slice.b is not known"),
    "a field is missing": (b'{"slice":{}}', "slice.bytes is missing"),
    "no number": (b'{"slice":{"bytes":"1"}}', "slice.bytes must be a whole"),
    "no whole number": (b'{"slice":{"bytes":1.5}}', "slice.bytes must be"),
    "too small": (b'{"slice":{"bytes":0}}', "slice.bytes must be"),
    "too large": (b'{"close":{"code":5000}}', "close.code must be"),
    "code not for the wire": (b'{"close":{"code":1006}}', "close.code must"),
    "reason too long": (json.dumps({"close": {"code": 1000, "reason":
                                              124 * "x"}}).encode(),
                        "close.reason must be"),
    "status of success": (b'{"token":{"status":200}}', "token.status must"),
    "no place": (b'{"freeze":{"at":"api"}}', "freeze.at must be one"),
    "no flag": (b'{"no_answer":{"carried_out":1}}', "carried_out must be"),
    "no count": (b'{"no_answer":{"count":0}}', "no_answer.count must be"),
    "no duration": (b'{"restart":{}}', "restart.for_ms is missing"),
    "two dates": (b'{"token":{"status":429,"retry_after":1,'
                  b'"retry_after_date":1}}', "token.retry_after_date excludes"),
    "clear is not true": (b'{"clear":false}', "clear must be true"),
    "clear is not alone": (b'{"clear":true,"revoke":{}}', "clear must be"),
    "the second is wrong": (b'{"freeze":{},"slice":{"bytes":0}}', "slice."),
}


def test_wrong_input_changes_nothing(sandbox):
    active = {"token": {"status": 500, "count": 7}}
    sandbox.set(**active)
    for name, (data, message) in WRONG.items():
        status, kind, body = sandbox.faults_raw(data)
        check((status, kind) == (400, "application/problem+json"),
              f"{name}: {status} {kind}")
        check(message in body["detail"] and body["status"] == 400 and
              body["detail"].startswith(body["meta"]["field"]),
              f"{name}: {body}")
        check(sandbox.active() == active, f"{name}: {sandbox.active()}")


def test_other_methods_and_paths(sandbox):
    status, _, _ = sandbox.faults_raw(b"{}", "PUT")
    check(status == 405, f"PUT: {status}")
    status, _, _ = sandbox.fetch(
        sandbox.urls["base_url"] + "/sandbox/faults/x", b"{}")
    check(status == 404, f"another path: {status}")


def test_retry_after(sandbox):
    sandbox.set(token={"status": 429, "retry_after": 17})
    status, headers, _ = sandbox.fetch_token()
    check((status, headers["Retry-After"]) == (429, "17"), headers)
    sandbox.set(token={"status": 429, "retry_after_date": 86400})
    status, headers, _ = sandbox.fetch_token()
    then = email.utils.parsedate_to_datetime(headers["Retry-After"])
    check(headers["Retry-After"].endswith(" GMT") and
          80000 < then.timestamp() - time.time() < 90000, headers)
    sandbox.set(token={"status": 429})
    status, headers, _ = sandbox.fetch_token()
    check((status, headers["Retry-After"]) == (429, None), headers)


def test_file(folder):
    path = write_file(os.path.join(folder, "faults.json"), json.dumps(
        {"restart": {"for_ms": 6000}, "upgrade": {"status": 503}}))
    with sandbox_of("--faults", path) as sandbox:
        with Tool(sandbox) as tool:
            tool.sees(REFUSED)
            tool.sees("closed - .*stage upgrade, HTTP status 503")
            tool.streams()
        check(sandbox.active() == {}, sandbox.active())


def test_wrong_file(folder):
    path = os.path.join(folder, "faults.json")
    for text, message in ((None, "No such file"), ('{"x"', f"{path}:1: "),
                          ('{"slice":{}}', "slice.bytes is missing")):
        if text is not None:
            write_file(path, text)
        said = refusal("--faults", path)
        check(path in said and message in said, said)


TESTS = [
    ("reset", recovers, {"reset": {}}, RESET),
    ("reset of the token", recovers,
     {**NEW_TOKEN, "reset": {"at": "token", "after_bytes": 1000}},
     NOT_ACCEPTED, RESET + r" \(stage (tls|token|connect)"),
    ("token 429 with retry after in seconds", recovers,
     {**NEW_TOKEN, "token": {"status": 429, "retry_after": 9}},
     "closed - too many requests .*stage token, HTTP status 429",
     {"least_s": 9}),
    ("token 429 without retry after", stays_away,
     {**NEW_TOKEN, "token": {"status": 429}},
     "closed - too many requests .*stage token, HTTP status 429"),
    ("token 401", recovers, {**NEW_TOKEN, "token": {"status": 401}},
     "closed - token was refused .*stage token, HTTP status 401"),
    ("token 401 invalid client", stays_away,
     {**NEW_TOKEN, "token": {"status": 401, "error": "invalid_client"}},
     'closed - token was refused: "invalid_client".*permanent'),
    ("token 403", stays_away, {**NEW_TOKEN, "token": {"status": 403}},
     "closed - .*stage token, HTTP status 403.*permanent"),
    ("revoked and closed", recovers,
     {"revoke": {}, "close": {"code": 1008, "reason": "revoked"}},
     r'closed by the service: "revoked" .*close code 1008', NOT_ACCEPTED),
    *((f"upgrade 401{name}", recovers,
       {**CLOSE, "upgrade": {"status": 401, **count}},
       "closed - token is not accepted .*stage upgrade, HTTP status 401")
      for name, count in (("", {}), (" three times", {"count": 3}))),
    ("upgrade 403", stays_away, {**CLOSE, "upgrade": {"status": 403}},
     "closed - .*stage upgrade, HTTP status 403.*permanent"),
    ("upgrade 429 with retry after", recovers,
     {**CLOSE, "upgrade": {"status": 429, "retry_after": 9}},
     "closed - too many requests .*stage upgrade, HTTP status",
     {"least_s": 9}),
    ("upgrade 429", stays_away, {**CLOSE, "upgrade": {"status": 429}},
     "closed - too many requests .*stage upgrade, HTTP status 429"),
    ("upgrade 502", recovers, {**CLOSE, "upgrade": {"status": 502}},
     "closed - .*stage upgrade, HTTP status 502"),
    # The first subscribe of the next connection is lost, as a list shows.
    ("request not answered", recovers, {**CLOSE, "no_answer": {}},
     "closed - closed by the service"),
    *((f"lifetime {name}", recovers, {**NEW_TOKEN, "expires_in": fault},
       NOT_ACCEPTED) for name, fault in LIFETIMES.items()),
    *((f"close code {code}", recovers,
       {"close": {"code": code, "reason": f"reason {code}"}},
       f'closed by the service: "reason {code}" .*close code {code}')
      for code in (1000, 1011, 4999)),
    *((f"unanswered, carried out: {carried_out}", unanswered, carried_out)
      for carried_out in (False, True))]
