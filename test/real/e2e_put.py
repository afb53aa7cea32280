"""`mini-stream address put` and put-address as a user runs them: against the
sandbox, and against Python's HTTPS server, whose responses a test can corrupt.

SPDX-License-Identifier: 0BSD
"""
import contextlib
import functools
import json
import os
import re
import signal
import subprocess
import tempfile
import uuid

import e2e
import e2e_address
from e2e import ADDRESS_SCOPE as SCOPE
from e2e import (ACCESS, BUILD, CONFIG, CONTROL, HANG_S, LOCAL, NETWORK, OK,
                 SERVICE, TOOL, USAGE, check, equal, free_port, killed,
                 run_program, user_environment, wait_for, write_file)
from e2e_address import NETWORKS, PATH
from tls_certificates import OWN, Certificates
from tls_lab import Peer, Server

# What else run_puts reports if nothing disturbs its requests.
UNDISTURBED = {"failed": 0, "broken": 0, "errors": 0, "changes": 0,
               "not_live": 0, "astray": 0}
PAIR = ("--network", "BITCOIN", "--address", "bc1qexample")
# Quotes, an escape sequence, C1, bidirectional overrides, line ends, a
# character outside the basic plane.
HOSTILE = "\"\\' \x1b[2J\x07\x9b1m\u202e\u2066 \r\n\x7f \U0001f600 e\u0301"


# ---- The programs ----

class User:
    """A user with these settings and no others in the environment."""

    def __init__(self, urls, ca, client="sandbox-client"):
        self.env = user_environment(
            MINI_STREAM_CLIENT_ID=client,
            MINI_STREAM_AUTH_URL=urls["auth_url"],
            MINI_STREAM_BASE_URL=urls["base_url"], MINI_STREAM_CA=ca)

    def beside(self, *arguments):
        """Runs run_puts with this number of requests. Returns its report."""
        status, out, err = self.run(*map(str, arguments),
                                    program="test/real/run_puts")
        equal((OK, ""), (status, err), out)
        return json.loads(out)

    def start(self, *arguments, program="mini-stream", **options):
        command = ["address", "put"] if program == "mini-stream" else []
        options = {"stdout": subprocess.PIPE, **options}
        return subprocess.Popen(
            [os.path.join(BUILD, program), *command, *arguments], env=self.env,
            stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, **options)

    def run(self, *arguments, **options):
        """Returns (exit status, standard output, standard error)."""
        with killed(self.start(*arguments, **options)) as process:
            out, err = process.communicate(timeout=HANG_S)
        out, err = (out or b"").decode(), err.decode()
        check(not CONTROL.search(out + err), f"not harmless: {out!r} {err!r}")
        check("sandbox-secret" not in out + err, "the secret is told")
        return process.returncode, out, err

    def put(self, *arguments, status=OK):
        """Puts an address. Returns the record, or the report of its error."""
        got, out, err = self.run("--json", *arguments)
        equal((status, ""), (got, "" if status else err), arguments)
        return json.loads(out)

    def fails(self, status, pattern, *arguments, **options):
        got, out, err = self.run(*arguments, **options)
        equal((status, ""), (got, out), f"{arguments}: {err}")
        check(re.search(pattern, err), f"{pattern}: {err!r}")
        return err


class Service(e2e_address.Service):
    """A running sandbox: put() sends a request with curl."""

    def user(self, client="sandbox-client"):
        return User(self.urls, self.ca, client)


sandbox_of = functools.partial(e2e.sandbox_of, kind=Service)


class Independent(Server):
    """Token and address endpoint that shares no code with client or sandbox.
    Each PUT gets the next of the answers; the last one serves all further
    requests. None: no answer."""

    def __init__(self, path, *answers):
        certificates = Certificates(path)
        certificates.issue("own", "own", OWN)
        self.ca = certificates.bundle("own-chain", "own")
        self.context = certificates.context("own")
        self.answers = list(answers)
        self.refusal = None  # body of the token endpoint's error, or None
        self.keeps = False  # connections stay open after a PUT
        self.connections = 0
        self.tokens, self.requests = [], []
        super().__init__(self.talk)

    def talk(self, connection):
        self.connections += 1
        peer = Peer(connection, self.context)
        peer.handshake()
        while True:  # until the client leaves
            head, _, body = peer.request().partition("\r\n\r\n")
            asked, *headers = head.split("\r\n")
            method, path, version = asked.split(" ")
            equal("HTTP/1.1", version)
            body = body.encode("latin-1")
            if method == "POST":
                self.tokens.append(body)
                peer.send(self.token())
                continue
            equal("PUT", method)
            self.requests.append((path, dict(
                each.split(": ", 1) for each in headers), json.loads(body)))
            answer = (self.answers.pop(0) if len(self.answers) > 1 else
                      self.answers[0])
            peer.send(answer or b"")
            if answer is not None and not self.keeps:
                peer.end(notify=True)
                return

    def token(self):
        reply = json.dumps({"access_token": f"t{len(self.tokens)}",
                            "token_type": "Bearer"}).encode()
        # The wait is longer than the client's time.
        return (response(400, self.refusal, "Retry-After: 120")
                if self.refusal else response(200, reply))

    def user(self, port=None):
        url = f"https://localhost:{port or self.port}"
        return User({"auth_url": url, "base_url": url + "/base/"}, self.ca)


@contextlib.contextmanager
def server_of(*answers):
    """A server with these answers, GOOD if there are none."""
    with tempfile.TemporaryDirectory() as path, \
            Independent(path, *(answers or (GOOD,))) as server:
        yield server


def response(status, body, *headers, length=None):
    lines = [f"HTTP/1.1 {status} Some Reason", "Content-Type: application/json",
             f"Content-Length: {len(body) if length is None else length}",
             *headers, "", ""]
    return "\r\n".join(lines).encode() + body


RECORD = {"id": "0c1e6d1e-9d0e-4f44-8f6b-3f1f3a6e2a11",
          "crypto_network": "BITCOIN", "address": "bc1qexample",
          "nickname": "a label", "status": "APPROVED",
          "created_at": "2026-01-02T03:04:05.678901234Z", "bookmarked": False}
GOOD = response(200, json.dumps({"address": RECORD}).encode())


# ---- Against the sandbox ----

def test_created_then_updated(sandbox):
    user = sandbox.user()
    made = user.put(*PAIR)
    equal(("BITCOIN", "bc1qexample", "APPROVED", False),
          (made["crypto_network"], made["address"], made["status"],
           made["bookmarked"]))
    check(str(uuid.UUID(made["id"])) == made["id"], made)
    check(made["nickname"], "a nickname is generated")
    changed = user.put("--id", made["id"], "--nickname", "cold",
                       "--bookmarked", "yes")
    equal({**made, "nickname": "cold", "bookmarked": True}, changed)
    equal(changed, user.put(*PAIR), "what is absent stays")
    equal({**changed, "nickname": ""}, user.put(*PAIR, "--nickname", ""))
    equal({**changed, "nickname": "", "bookmarked": False},
          user.put("--id", made["id"], "--bookmarked", "no"))


def test_each_network(sandbox):
    for network in NETWORKS:
        record = sandbox.user().put("--network", network, "--address", "a")
        equal(network, record["crypto_network"])
    arguments = "--network", "NEWER", "--address", "a"
    sandbox.user().fails(SERVICE, "HTTP status 400.*XLAYER", *arguments)
    told = sandbox.user().put(*arguments, status=SERVICE)
    check("XLAYER" in told["detail"], told)


def test_curl_makes_the_same_record(sandbox):
    user = sandbox.user()
    ours = user.put(*PAIR, "--nickname", HOSTILE, "--first-name", "A\"",
                    "--last-name", "\u00d6", "--custodian-type", "VASP",
                    "--vasp-id", "v")
    equal(HOSTILE, ours["nickname"])
    theirs = sandbox.put(
        crypto_network="BITCOIN", address="bc1qexample", nickname=HOSTILE,
        travelrule_metadata={
            "beneficiary": {"person_details": {"first_name": "A\"",
                                               "last_name": "\u00d6"}},
            "vasp": {"id": "v"}, "custodian_type": "VASP"})
    check(theirs.pop("created_at")[:19] == ours.pop("created_at")[:19],
          "created at")
    equal(theirs, ours)
    theirs = sandbox.put(id=ours["id"], bookmarked_status=True)
    check(theirs["bookmarked"], theirs)
    equal(True, user.put(*PAIR)["bookmarked"])


def test_record_outlives_a_kill(sandbox):
    made = sandbox.user().put(*PAIR, "--nickname", "kept")
    sandbox.kill()
    sandbox.restart()
    equal(made, sandbox.user().put("--id", made["id"]))
    equal(made, sandbox.user().put(*PAIR))


def test_two_clients(sandbox):
    made = sandbox.user().put(*PAIR)
    other = sandbox.user("sandbox-noscope")
    other.fails(SERVICE, "HTTP status 404", "--id", made["id"],
                "--nickname", "theirs")
    check(other.put(*PAIR)["id"] != made["id"], "one record for two")
    equal(made, sandbox.user().put(*PAIR))
    sandbox.user("nobody").fails(ACCESS, "token was refused: invalid_client",
                                 *PAIR)


def test_states_of_an_address():
    for word in ("PENDING", "REJECTED", "SOMETHING_NEW"):
        with sandbox_of("--address-status", word) as sandbox:
            equal(word, sandbox.user().put(*PAIR)["status"])


def test_lost_answer_of_the_sandbox(sandbox):
    sandbox.set(address_lost={"count": 2})
    status, out, err = sandbox.user().run("--json", *PAIR)
    equal(OK, status, err)
    equal(2, err.count("trying again"), err)
    equal(json.loads(out), sandbox.user().put(*PAIR))


def beside(*mode):
    """Runs requests next to a stream. Returns (requests, new leaders)."""
    with sandbox_of("--rate", "50") as sandbox:
        user = sandbox.user()
        user.env["MINI_STREAM_WS_URL"] = sandbox.urls["ws_url"]
        seen = user.beside(20, *mode)
        puts, changes = seen.pop("puts"), seen["changes"]
        check(20 <= puts <= seen.pop("parts"), "a part before each request")
        equal({"nickname": str(puts), "tokens": 2, **UNDISTURBED,
               "changes": changes}, seen)
        record = user.put("--network", "BASE", "--address", "beside")
        equal(str(puts), record["nickname"])
        return puts, changes


def test_beside_a_stream():
    equal((20, 0), beside())


def test_beside_a_pair():
    """Three links on one port. Two of them take turns as leader."""
    check(beside("pair")[1] >= 2, "the other one leads")


def test_configuration(sandbox):
    user = sandbox.user()
    made = user.put(*PAIR)
    for name in ("AUTH_URL", "BASE_URL", "CLIENT_ID", "CA"):
        del user.env["MINI_STREAM_" + name]
    user.fails(CONFIG, "no base_url: give --base-url URL", *PAIR)
    profile = os.path.join(sandbox.state, "own.ini")
    write_file(profile, f"[service]\nendpoints = {sandbox.endpoints}\n"
               f"ca = {sandbox.ca}\nclient_id = sandbox-client\n")
    equal(made, user.put(*PAIR, "--profile", profile))
    write_file(profile, f"[service]\nbase_url = {sandbox.urls['base_url']}\n"
               f"auth_url = {sandbox.urls['auth_url']}\n"
               f"ca = {sandbox.ca}\nclient_id = sandbox-client\n")
    equal(made, user.put(*PAIR, "--profile", profile))
    user.fails(CONFIG, "not a usable URL", *PAIR, "--profile", profile,
               "--base-url", "ftp://localhost")
    user.fails(NETWORK, "issuer is not trusted", *PAIR, "--profile",
               profile, "--ca", "/etc/ssl/certs/ca-certificates.crt")


def test_small_program(sandbox):
    user = sandbox.user()
    status, out, err = user.run("BITCOIN", "bc1qexample", "small",
                                program="put-address")
    equal((OK, ""), (status, err))
    record = user.put(*PAIR)
    equal("small", record["nickname"])
    equal(f"{record['id']} APPROVED\n", out)
    user.fails(1, "crypto_network must be", "NEWER", "a", program="put-address")
    user.fails(1, "network is empty", "", "a", program="put-address")
    for arguments in ((), ("BITCOIN",)):
        user.fails(1, "^Usage: ", *arguments, program="put-address")
    del user.env["MINI_STREAM_BASE_URL"]
    user.fails(1, "^Usage: ", "BITCOIN", "a", program="put-address")


# ---- Against an independent server ----

def test_request_as_another_server_reads_it(server):
    equal(RECORD, server.user().put(
        *PAIR, "--nickname", HOSTILE, "--bookmarked", "no",
        "--institution", "I", "--custodian-type", "PRIVATE"))
    (path, headers, body), = server.requests
    equal("/base" + PATH, path)
    equal({"Host": f"localhost:{server.port}",
           "Authorization": "Bearer t1",
           "Content-Type": "application/json",
           "Accept": "application/json, application/problem+json"},
          {name: value for name, value in headers.items()
           if name not in ("Content-Length", "User-Agent")})
    equal({"crypto_network": "BITCOIN", "address": "bc1qexample",
           "nickname": HOSTILE, "bookmarked_status": False,
           "travelrule_metadata": {
               "beneficiary": {"institution_details": {"name": "I"}},
               "custodian_type": "PRIVATE"}}, body)
    check(b"scope=transfer" in server.tokens[0], server.tokens)


def test_table(server):
    status, out, err = server.user().run(*PAIR)
    equal((OK, ""), (status, err))
    equal(["id          0c1e6d1e-9d0e-4f44-8f6b-3f1f3a6e2a11",
           "network     BITCOIN", "address     bc1qexample",
           "nickname    a label", "status      APPROVED",
           "created at  2026-01-02T03:04:05.678Z", "bookmarked  no"],
          out.splitlines())


def test_hostile_record():
    record = {**RECORD, "nickname": HOSTILE, "status": "X\u202eY\n",
              "crypto_network": "\x1b]0;x\x07", "address": "a\0b"}
    raw = json.dumps({"address": record}).encode()
    with server_of(response(200, raw)) as server:
        got = server.user().put(*PAIR)
        equal({**record, "address": "a\ufffdb"}, got)
        status, out, err = server.user().run(*PAIR)
        equal((OK, "", 7), (status, err, len(out.splitlines())))


def test_text_that_is_not_utf_8():
    for status, raw in ((400, b'{"title": "a\x9b1mb", "detail": "\xe2\x82"}'),
                        (200, b'{"address": {"nickname": "a\xed\xa0\x80"}}')):
        with server_of(response(status, raw)) as server:
            for options in ((), ("--json",)):
                code, out, err = server.user().run(*options, *PAIR)
                equal(SERVICE, code, out + err)
    with server_of() as server:
        server.refusal = b'{"error": "a\x9b1mb\xc3"}'  # is no JSON
        server.user().fails(SERVICE, "HTTP status 400", *PAIR)
        equal(-306, server.user().put(*PAIR, status=SERVICE)["error_code"])


def test_long_text_is_cut_between_characters():
    for first in range(3):
        detail = "x" * first + "\u20ac" * 900
        body = json.dumps({"detail": detail}).encode()
        with server_of(response(400, body)) as server:
            err = server.user().fails(SERVICE, "HTTP status 400: ", *PAIR)
            said = err.rstrip("\n").partition("400: ")[2]
            check(detail.startswith(said) and len(said.encode()) > 1000, said)


def test_record_with_little_in_it():
    raw = b'{"new": [1, {}], "address": {"id": "i", "newer": null}}'
    with server_of(response(200, raw)) as server:
        got = server.user().put(*PAIR)
        equal({"id": "i", "crypto_network": None, "address": None,
               "nickname": "", "status": None, "created_at": None,
               "bookmarked": False}, got)
        _, out, _ = server.user().run(*PAIR)
        equal(["id          i", "network     -"], out.splitlines()[:2])


def test_statuses():
    problem = json.dumps({"type": "about:blank", "title": "No", "status": 499,
                          "detail": "because \x1b[31m\u202e", "meta": {}})
    for status, code, requests, line in (
            (400, SERVICE, 1, "HTTP status 400: No: because "),
            (401, ACCESS, 2, "not accepted.*: No"),
            (403, ACCESS, 1, f"{SCOPE}: No: because"),
            (404, SERVICE, 1, "HTTP status 404: No"),
            (409, SERVICE, 1, "HTTP status 409: No"),
            (429, ACCESS, 1, "No: because .*try again in 7 s"),
            (500, SERVICE, 1, "HTTP status 500: .*try again in 7 s"),
            (503, SERVICE, 1, "HTTP status 503: .*try again in 7 s")):
        with server_of(response(status, problem.encode(),
                                "Retry-After: 7")) as server:
            err = server.user().fails(code, line, *PAIR)
            equal(requests, len(server.requests), status)
            equal(status >= 500, "may have taken effect" in err, err)
            said = server.user().put(*PAIR, status=code)
            equal(status >= 500, said["maybe_done"])
            equal({401: -405, 403: -406, 429: -407}.get(status, -306),
                  said["error_code"], status)
            equal((status, "No", 7000 if status >= 429 else 0),
                  (said["http_status"], said["title"], said["retry_ms"]))


def test_new_token_once():
    with server_of(response(401, b""), GOOD) as server:
        status, _, err = server.user().run(*PAIR)
        equal(OK, status, err)
        equal(["Bearer t1", "Bearer t2"],
              [headers["Authorization"] for _, headers, _ in server.requests])


def test_lost_answer():
    for lost in (b"", b"HTTP/1.1 20", response(200, b"{", length=90),
                 b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n9\r\n{"):
        with server_of(lost, GOOD) as server:
            status, out, err = server.user().run("--json", *PAIR)
            equal((OK, RECORD), (status, json.loads(out)), err)
            equal(1, err.count("trying again"), err)
            first, second = server.requests
            equal(first, second, "the same request")


def test_refused_after_a_lost_answer():
    with server_of(b"", response(409, b"{}"), b"",
                   response(409, b"{}")) as server:
        user = server.user()
        err = user.fails(SERVICE, "HTTP status 409", *PAIR)
        check("may have taken effect" in err, err)
        said = user.put(*PAIR, status=SERVICE)
        equal((409, True), (said["http_status"], said["maybe_done"]))


def test_several_on_one_connection(server):
    server.keeps = True
    seen = server.user().beside(20)
    equal((20, 0), (seen["puts"], seen["failed"]))
    equal([str(i + 1) for i in range(20)],
          [body["nickname"] for _, _, body in server.requests])
    equal(1, len(server.tokens))
    equal(2, server.connections, "the token's and theirs")


def test_other_framings():
    raw = json.dumps({"address": RECORD}).encode()
    head = b"HTTP/1.1 200 OK\r\n"
    chunks = b"".join(b"%x\r\n%c\r\n" % (1, byte) for byte in raw)
    for answer in (head + b"Transfer-Encoding: chunked\r\n\r\n" + chunks +
                   b"0\r\n\r\n",
                   head + b"Connection: close\r\n\r\n" + raw,
                   b"HTTP/1.0 200 OK\r\n\r\n" + raw,
                   b"HTTP/1.1 100 Continue\r\n\r\n" + GOOD):
        with server_of(answer) as server:
            equal(RECORD, server.user().put(*PAIR), answer[:60])


def test_bad_answers():
    for answer, line in ((response(200, b"<html>"), "JSON"),
                         (response(200, b"x" * 20000), "body is too large"),
                         (b"SSH-2.0-x\r\n", "HTTP"),
                         (response(200, b"x", "Content-Encoding: gzip"),
                          "coding")):
        with server_of(answer) as server:
            err = server.user().fails(SERVICE, line, *PAIR)
            equal(1, len(server.requests), answer[:60])
            check("may have taken effect" in err, err)


def test_never_answered():
    with server_of(None) as server:
        user = server.user()
        user.fails(NETWORK, "took too long|timed out|time", "--seconds", "2",
                   *PAIR)
        process = user.start(*PAIR)
        wait_for(lambda: len(server.requests) > 1, "the second request")
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=HANG_S)
        equal((130, b""), (process.returncode, out), err)
        check(b"may have taken effect" in err, err)


def test_nobody_there(server):
    user = server.user(free_port())
    err = user.fails(NETWORK, "connection refused", "--seconds", "1", *PAIR)
    check("may have taken effect" not in err, err)
    said = user.put("--seconds", "1", *PAIR, status=NETWORK)
    equal((None, False), (said["http_status"], said["maybe_done"]))


def test_standard_output_is_full():
    with server_of(GOOD) as server, open("/dev/full", "wb") as full:
        server.user().fails(LOCAL, "standard output: No space", *PAIR,
                            stdout=full)


def test_wrong_arguments(server):
    for line, *arguments in (
            (r"id \(or network and address\) is missing",),
            (r"id \(or network and address\) is missing", "--nickname", "x"),
            ("id contradicts another field", "--id", "x", *PAIR),
            ("address is missing", "--network", "INK"),
            ("network is missing", "--address", "x"),
            ("network is empty", "--network", "", "--address", "x"),
            ("address is empty", "--network", "INK", "--address", ""),
            ("address is too long", "--network", "INK", "--address", "x" * 128),
            ("nickname is too long", *PAIR, "--nickname", "\u00e4" * 64),
            ("id is empty", "--id", ""),
            ("nickname is not valid UTF-8", *PAIR, "--nickname", b"\xff"),
            ("--bookmarked 'maybe': not one of yes, no", *PAIR,
             "--bookmarked", "maybe"),
            ("--bookmarked: given twice", *PAIR, "--bookmarked", "yes",
             "--bookmarked", "no"),
            ("institution contradicts another field", *PAIR, "--last-name",
             "x", "--institution", "y"),
            ("vasp_id is missing", *PAIR, "--custodian-type", "VASP"),
            ("vasp_id contradicts another field", *PAIR, "--custodian-type",
             "PRIVATE", "--vasp-id", "x"),
            ("given twice", *PAIR, "--network", "INK"),
            ("--seconds 0: not a whole number", *PAIR, "--seconds", "0"),
            ("too many arguments: 'surplus'", *PAIR, "surplus"),
            ("no option is called '--surplus'", *PAIR, "--surplus")):
        server.user().fails(USAGE, line, *arguments)
    user = server.user()
    del user.env["MINI_STREAM_BASE_URL"]
    user.fails(USAGE, "address is missing", "--network", "INK")
    equal(([], []), (server.tokens, server.requests), "nothing is sent")


LISTED = "  address put  create or update"


def test_names_of_commands():
    for words in ((), ("address",), ("address", "get"), ("adress", "put"),
                  ("put",), ("addressput",), ("address put",)):
        done = run_program(TOOL, *words)
        equal((USAGE, ""), (done.returncode, done.stdout), words)
        check("--help" in done.stderr or "'address put'?" in done.stderr, done)
    for words, *parts in (
            (("--help",), LISTED), (("address", "--help"), LISTED),
            (("help", "address"), LISTED), (("help",), LISTED),
            (("address", "put", "--help"), "--vasp-id=ID", "Exit status")):
        done = run_program(TOOL, *words)
        check(done.returncode == OK and all(
            part in done.stdout for part in parts), done)
