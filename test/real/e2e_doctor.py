"""`mini-stream doctor` as a user runs it, against the sandbox: its report, and
problems with this machine, the session and the terminal.

SPDX-License-Identifier: 0BSD
"""
import json
import os
import re
import subprocess
import sys
import tempfile

from doctor import (CERTIFICATES, SERVER_STEPS, SESSION_STEPS, TOKEN, Report,
                    matches, run, serve, to, waiting)
from e2e import STREAM_SCOPE as SCOPE
from e2e import (ACCESS, CONFIG, HANG_S, LOCAL, NETWORK, OK, SERVICE, TOOL,
                 USAGE, check, equal, free_port, read_file, sandbox_of,
                 user_environment, write_file)
from terminal import Line
from tls_lab import SERVICE as TLS_STREAM
from tls_lab import Process
from token_endpoint import token_endpoint

LINE = re.compile(r"(ok|warn|FAIL|-) {2,}(?:(\d+) ms  )?(\S.*?): (.*)")


# ---- All is well ----

def test_all_is_well(sandbox):
    report = Report(OK, *sandbox.arguments)
    equal(["configuration", "clock", *SERVER_STEPS * 2, *SESSION_STEPS],
          report.names())
    equal({"ok"}, {step["status"] for step in report.steps})
    documented = set(re.findall(r"\w+", run("--help")[1]))
    for step in report.steps:
        equal(set(), {*step, step["step"]} - documented)
    for endpoint in ("token", "stream"):
        port = int(sandbox.urls[{"token": "auth_url", "stream": "ws_url"}
                                [endpoint]].split(":")[2].rstrip("/"))
        equal(["127.0.0.1"], report.step("dns", endpoint)["addresses"])
        tcp = report.step("tcp", endpoint)["addresses"]
        equal([("127.0.0.1", port, None)],
              [(one["address"], one["port"], one["error"]) for one in tcp])
        tls = report.step("tls", endpoint)
        equal("TLSv1.2", tls["tls_version"])
        matches("^ECDHE-", tls["suite"])
        leaf = tls["certificates"][0]
        equal(("CN=localhost", "CN=mini_stream sandbox CA"),
              (leaf["subject"], leaf["issuer"]))
        check(leaf["days_left"] in (89, 90), leaf)
        matches(r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$", leaf["ends"])
        equal("CN=mini_stream sandbox CA", tls["anchor"]["subject"])
        check(tls["anchor"]["days_left"] in (3649, 3650), tls)
    equal(3600, report.step("token")["lifetime_s"])
    equal(SCOPE, report.step("scope")["scope"])
    equal(101, report.step("handshake")["http_status"])
    matches("received a heartbeat", report.step("message")["text"])


def test_a_market(sandbox):
    for library in ("fast", "bearssl", "openssl"):
        report = Report(OK, *sandbox.arguments, "--tls", library, "BTCUSD")
        matches(r"a snapshot of \d{3} levels", report.step("message")["text"])
        equal("TLSv1.3" if library == "openssl" else "TLSv1.2",
              report.step("tls", "stream")["tls_version"])


def test_lines(sandbox):
    """The text has the same steps as the JSON."""
    report = Report(OK, *sandbox.arguments)
    status, out, err = run(*sandbox.arguments)
    equal((OK, ""), (status, err))
    told, _, end = out.rpartition("\n\n")
    equal("all is well\n", end)
    lines = told.split("\n")
    for line in lines:
        check(LINE.fullmatch(line) or line.startswith(" " * 15), line)
    equal([("ok", step["title"]) for step in report.steps],
          [LINE.fullmatch(line).group(1, 3) for line in lines
           if not line.startswith(" ")])
    for words in ("secret: in MINI_STREAM_CLIENT_SECRET",
                  "client_id: sandbox-client (environment)",
                  f"ca: {sandbox.ca} (option)",
                  f"auth_url: {sandbox.urls['auth_url']} "
                  f"({sandbox.endpoints})",
                  "server: CN=localhost, by CN=mini_stream sandbox CA, "
                  "until 20"):
        check(words in out, f"{words!r} is not in {out}")
    status, out, _ = run(*sandbox.arguments, "--client-id", "nobody")
    equal(ACCESS, status)
    matches(r"\nFAIL +\d+ ms  token: .*invalid_client.*\n"
            r"-              scope: not tried\n", out)
    matches(r"\n\nfirst failure: token\nwhat to do: .*client_id.*\n$", out)


# ---- This machine ----

def test_configuration():
    urls = to(1)
    for arguments, variables, text in (
            (urls[2:], {}, "^no auth_url: give --auth-url"),
            (urls[:2], {}, "^no ws_url: give --ws-url"),
            (urls, {"MINI_STREAM_CLIENT_SECRET": ""}, "^no client secret: set"),
            (urls, {"MINI_STREAM_CLIENT_ID": ""}, "^no client_id: give"),
            ((*urls, "--secret-file", "/nonexistent/secret"), {},
             "/nonexistent/secret.*No such file"),
            ((*urls, "--ca", "/dev/null"), {}, "trust anchors /dev/null"),
            ((*urls, "--profile", "/nonexistent.ini"), {}, "nonexistent.ini"),
            ((*urls, "--proxy", "nothing@@"), {}, "setting proxy"),
            (urls, {"MINI_STREAM_TLS": "none"}, "tls 'none'"),
            ((*urls, "--auth-url", "http://localhost"), {}, "http"),
            ((*urls, "--auth-url", "https://127.0.0.1"), {},
             "IP address as host")):
        report = Report(CONFIG, *arguments, **variables)
        report.fails("configuration", text)
        equal(["failed", "ok"], [step["status"] for step in report.steps][:2])
        equal({"not tried"}, {step["status"] for step in report.steps[2:]})
        equal(["configuration", "clock", *SERVER_STEPS, *SESSION_STEPS],
              report.names())


def test_a_password_in_a_url_is_not_shown():
    for url in ("wss://user:hidden@localhost", "wss://user:hid/den@localhost",
                "user:hidden@localhost", "user:hid://den@localhost",
                "wss://user:hid%40den@localhost"):
        report = Report(CONFIG, *to(1), "--ws-url", url)
        report.fails("configuration", "not a usable URL")
        shown = json.dumps(report.steps)
        check("hid" not in shown and "@localhost (option)" in shown, shown)
    report = Report(CONFIG, *to(1), "--ws-url", "wss://user:hidden%40localhost")
    check("hid" not in json.dumps(report.steps), report.steps)


def test_an_at_sign_in_a_url_is_sent(sandbox):
    """If it does not end a name and password."""
    url = sandbox.urls["ws_url"] + "?u=a@b"
    report = Report(OK, *sandbox.arguments, "--ws-url", url)
    check("ws_url: wss://" + "*" * len(url[6:-2]) + "@b (option)" in
          report.step("configuration")["notes"], report.steps[0])


def test_anchors_of_no_use(sandbox):
    """They are reported when they are loaded, with every TLS library."""
    ca = write_file(os.path.join(sandbox.state, "mixed.pem"),
                    CERTIFICATES.read("mixed") + read_file(sandbox.ca))
    told = (f"trust anchors: 3 in {ca}, 1 that can issue nothing, 1 left "
            "out")
    for library in ("fast", "bearssl", "openssl"):
        arguments = ("--tls", library, "--ca", ca)
        report = Report(OK, *sandbox.arguments, *arguments)
        check(told in report.step("configuration")["notes"], report.steps[0])
        equal("ok", report.status("tls", "token"))
        status, said = sandbox.stream_until("open - ", *arguments, "BTCUSD")
        equal(0, status)
        matches(f"^mini-stream: {re.escape(told)}\n", said)


def test_profile():
    with sandbox_of() as sandbox, \
            tempfile.NamedTemporaryFile("w", suffix=".ini") as file:
        file.write(f"[service]\nca = {sandbox.ca}\nauth_url = "
                   f"{sandbox.urls['auth_url']}\nws_url = wss://else.invalid\n")
        file.flush()
        report = Report(OK, "--profile", file.name, "--ws-url",
                        sandbox.urls["ws_url"])
        notes = report.step("configuration")["notes"]
        for note in (f"ca: {sandbox.ca} ({file.name})",
                     f"ws_url: {sandbox.urls['ws_url']} (option)",
                     "client_id: sandbox-client (environment)"):
            check(note in notes, f"{note} is not in {notes}")


CLOCK = """
#define _GNU_SOURCE
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
int clock_gettime(clockid_t id, struct timespec *now) {
    long rc = syscall(SYS_clock_gettime, id, now);
    if (id == CLOCK_REALTIME) now->tv_sec = WRONG(now->tv_sec);
    return (int)rc;
}
time_t time(time_t *out) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (out) *out = now.tv_sec;
    return now.tv_sec;
}
"""


def wrong_clock(folder, wrong):
    """An environment with this clock."""
    path = os.path.join(folder, "clock.so")
    subprocess.run(["cc", "-shared", "-fPIC", f"-DWRONG(now)={wrong}", "-o",
                    path, "-x", "c", "-"], input=CLOCK.encode(), check=True)
    return {"LD_PRELOAD": path}


def test_clock_not_set(sandbox):
    """A machine just switched on: names and connections are still tried."""
    report = Report(LOCAL, *sandbox.arguments,
                    **wrong_clock(sandbox.state, "1000"))
    report.fails("clock", "not set: it says 1970-01-01T00:16:40", "set-ntp")
    equal(["ok", "ok", "not tried"] * 2,
          [step["status"] for step in report.steps[2:8]])


def test_clock_ahead(sandbox):
    """By 80 days: a warning, not yet a failure."""
    variables = wrong_clock(sandbox.state, "now + 80 * 86400")
    report = Report(OK, *sandbox.arguments, **variables)
    equal(["tls", "tls"], [
           step["step"] for step in report.steps
           if step["status"] == "warning"])
    _, out, _ = run(*sandbox.arguments, **variables)
    matches("\nwarn +\\d+ ms  TLS of .*, but a certificate ends soon\n", out)
    check(out.endswith("\n\nno failures; see the warnings above\n"), out)


# ---- The session ----

def test_access(sandbox):
    report = Report(ACCESS, *sandbox.arguments,
                    MINI_STREAM_CLIENT_SECRET="wrong")
    report.fails("token", '"invalid_client"', "client_id with this secret")
    equal(["failed", *["not tried"] * 4],
          [report.status(name) for name in SESSION_STEPS])
    report = Report(ACCESS, *sandbox.arguments, "--client-id",
                    "sandbox-noscope")
    report.fails("token", '"invalid_scope"', "scope of the stream")
    report = Report(ACCESS, *sandbox.arguments, "--client-id", "sandbox-denied")
    failed = report.fails("handshake", "allow list", "allow list")
    equal(403, failed["http_status"])
    for status, text, advice in (
            (401, "not accepted", "same environment"),
            (403, "allow list", "allow list"),
            (429, "too many requests", "wait")):
        sandbox.set(upgrade={"status": status, "count": 1})
        report = Report(ACCESS, *sandbox.arguments)
        failed = report.fails("handshake", text, advice)
        equal(status, failed["http_status"])


def test_service(sandbox):
    report = Report(SERVICE, *sandbox.arguments, "NOSUCH")
    report.fails("message", "refused: market_data NOSUCH: UNKNOWN_CHANNEL",
                 "symbol")
    equal("ok", report.status("close"))
    sandbox.set(token={"status": 503, "count": 1})
    report = Report(SERVICE, *sandbox.arguments)
    report.fails("token", "503", "out of order")
    sandbox.set(upgrade={"status": 502, "count": 1})
    report = Report(SERVICE, *sandbox.arguments)
    report.fails("handshake", "HTTP status 502", "ws_url")
    sandbox.set(no_heartbeat={})
    report = waiting("message", NETWORK, *sandbox.arguments)
    report.fails("message", r"nothing within \d+ s", "ask the service")
    equal("ok", report.status("close"))
    sandbox.set(freeze={"at": "token"})
    report = waiting("tls", NETWORK, *sandbox.arguments)
    report.fails("tls", "no answer", "", "token")


def tokens_of(scope, **options):
    return token_endpoint(CERTIFICATES.context("ec"), scope=scope,
                          access_token=TOKEN, expires_in=60, **options)


def test_scope():
    """A token without the stream's scope."""
    with tokens_of("another:scope") as port:
        report = Report(ACCESS, *to(port))
        equal("ok", report.status("token"))
        report.fails("scope", SCOPE, "grant this client the scope")
        equal({"not tried"}, {report.status(name) for name in
                              ("handshake", "message", "close")})


def test_gone_meanwhile():
    """A streaming endpoint that goes away while the token is requested."""
    with serve("ec", chain="between-ec") as stream:
        def end():
            stream.process.kill()
            stream.process.wait()

        with tokens_of(SCOPE, meanwhile=end) as port:
            report = Report(NETWORK, *to(port, stream.port))
    equal(["ok", "ok"], [report.status(name) for name in ("token", "scope")])
    report.fails("handshake", "connection refused")


def test_no_stream():
    upgrades = []
    with tokens_of(SCOPE, upgrades=upgrades) as port:
        report = Report(SERVICE, *to(port))
    equal(1, len(upgrades), "the first refusal is what is told")
    report.fails("handshake", "HTTP status 501")


def test_another_spelling():
    """Only data of the requested market, in upper or lower case, are success.
    This service accepts any name, and sends heartbeats and BTCUSD."""
    certificate = [CERTIFICATES.path("ec" + end)
                   for end in ("-chain.pem", ".key")]
    with tokens_of(SCOPE) as port, Process(
            [sys.executable, TLS_STREAM, "2", *certificate]) as stream:
        arguments = to(port, int(stream.until(r"^port (\d+)").group(1)))
        report = Report(OK, *arguments, "btcusd")
        message = report.step("message")
        equal("subscribed, received a snapshot of 4 levels", message["text"])
        equal(["the service writes it BTCUSD"], message["notes"])
        report = waiting("message", NETWORK, *arguments, "BTC-USD")
        report.fails("message", "no data of BTC-USD within .*, but of BTCUSD",
                     "symbol as the service writes it")


# ---- The terminal ----

def on_terminal(*arguments, **variables):
    """The output of doctor on a terminal."""
    line = Line([TOOL, "doctor", *arguments], 80, 24,
                user_environment(**{"TERM": "xterm", **variables}))
    said = line.read().decode()
    line.process.wait(HANG_S)
    line.close()
    return said


def test_colour():
    """Only on a terminal, by the rule of https://no-color.org."""
    arguments = to(free_port())
    for variables, coloured in (({}, True), ({"NO_COLOR": ""}, True),
                                ({"NO_COLOR": "1"}, False)):
        said = on_terminal(*arguments, **variables)
        equal(coloured, "\x1b[31mFAIL\x1b[0m" in said, said)
        equal(coloured, "\x1b[32mok" in said, said)
        matches("TCP to localhost:\\d+: connection refused", said)
    said = on_terminal(*arguments, TERM="dumb")
    check("\x1b" not in said, said)


def test_usage():
    for arguments in (("--timeout", "0"), ("--timeout", "x"),
                      ("--timeout", "601"), ("A", "B"), ("a b",), ("",),
                      ("M" * 32,), ("--no-such-option",)):
        status, out, err = run(*arguments)
        equal((USAGE, ""), (status, out), arguments)
        check(err, arguments)
    for option in ("-h", "--help"):
        status, out, err = run(option)
        equal((OK, ""), (status, err))
        for words in ("[MARKET]", "--timeout", "error_code", "Exit status"):
            check(words in out, words)
    with open("/dev/full", "w", encoding="ascii") as full:
        status, _, err = run("--json", stdout=full)
    equal((LOCAL, "mini-stream: standard output: No space left on "
           "device\n"), (status, err))
