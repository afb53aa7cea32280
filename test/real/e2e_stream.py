"""mini-stream stream against the sandbox, over TLS, as a user runs it: its
output, its exit status, and how it recovers when the service goes away. No
output contains the secret.

SPDX-License-Identifier: 0BSD
"""
import contextlib
import functools
import os
import re
import signal
import subprocess

import e2e
from e2e import (ACCESS, CONFIG, HANG_S, NETWORK, OK, SERVICE, TOOL, USAGE,
                 check, environment_with, equal, fixed_ports, killed, read_file,
                 run_program, user_environment, wait_for, write_file)
from e2e_messages import says
from terminal import Line
from tls_lab import Program, matches

MARKETS = ("BTCUSD", "ETHUSD")
TIME = r"^\d{4}-\d\d-\d\dT[\d:]{8}\.\d{3}Z"
NUMBER = r"\d+(\.\d+)?"
SECRET = "sandbox-secret"
NOWHERE = ("--ws-url", "wss://localhost:1", "--auth-url", "https://localhost:1")
OPEN = "open - generation"

sandbox_of = functools.partial(e2e.sandbox_of, "--rate", "50")


class Stream(Program):
    """A stream of the sandbox."""

    def __init__(self, sandbox, *arguments):
        super().__init__(sandbox.state, functools.partial(
            sandbox.start, "stream", *arguments))

    def finish(self, status):
        super().finish(status)
        check(SECRET not in self.out() + self.err(), "the secret")


def fails(sandbox, status, pattern, *arguments, **options):
    """Runs a stream to its end, with this status and message."""
    done = sandbox.run("stream", *arguments, **options)
    equal(status, done.returncode, done)
    matches(pattern, done.stderr, arguments)
    check(SECRET not in done.stdout + done.stderr, "the secret")


@contextlib.contextmanager
def silent(sandbox):
    """The sandbox is stopped meanwhile."""
    sandbox.process.send_signal(signal.SIGSTOP)
    try:
        yield
    finally:
        sandbox.process.send_signal(signal.SIGCONT)


# ---- All channels ----

def test_all_channels(sandbox):
    """Of two markets. A message of many levels is one line."""
    with Stream(sandbox, "--expect-all", "--verbose", *MARKETS) as tool:
        best = f"best={NUMBER}/{NUMBER} live$"
        for market in MARKETS:
            for line in (
                    f"market_data {market} snapshot bids=[1-9]\\d\\d "
                    f"asks=[1-9]\\d\\d {best}",
                    rf"market_data {market} update bids=\d+ asks=\d+ {best}",
                    rf"market_data\.top_of_book {market} bid={NUMBER} "
                    f"bid_amount={NUMBER} ask={NUMBER} ask_amount={NUMBER}$",
                    f"execution_data {market} price={NUMBER} amount={NUMBER}$"):
                tool.until(tool.out, f"{TIME} {line}")
        tool.until(tool.out, f"{TIME} heartbeat -$")
        equal(1, tool.out().count("BTCUSD snapshot"))
        environment = read_file(f"/proc/{tool.process.pid}/environ")
        check(f"HOME={sandbox.state}" in environment and
              SECRET not in environment, environment)
        tool.end()
        for channel in ("market_data", r"market_data\.top_of_book",
                        "execution_data"):
            matches(f"^{channel}( +[1-9][0-9]*){{3}}$", tool.out(), "table")
        for pattern in ("^heartbeat +[1-9][0-9]* +- +-$",
                        "^errors: 0 messages not decoded, 0 requests"):
            matches(pattern, tool.out(), "table")
        for pattern in (r"state - open \(link 0\)", "open - generation 1",
                        "closed - on request"):
            matches(f"{TIME} {pattern}$", tool.err(), "what is said")
        check(not re.search(" (error|refused) - ", tool.err()), tool.err())


def test_heartbeat_alone(sandbox):
    """And its end by SIGTERM."""
    with Stream(sandbox, "--channels", "heartbeat") as tool:
        tool.until(tool.out, f"{TIME} heartbeat -$")
        tool.end(number=signal.SIGTERM)
        check(not re.search(f"{TIME} (market|execution)_data", tool.out(),
                            re.M), tool.out())


# ---- Refused; network and TLS ----

def test_refused(sandbox):
    for status, pattern, market, options in (
            (ACCESS, "closed - .*invalid_client", "BTCUSD",
             {"secret": "wrong"}),
            (ACCESS, "closed - .*invalid_scope", "BTCUSD",
             {"client": "sandbox-noscope"}),
            (ACCESS, "closed - .*HTTP status 403", "BTCUSD",
             {"client": "sandbox-denied"}),
            (SERVICE, "refused - subscribe market_data NOSUCH: "
             "UNKNOWN_CHANNEL_PARAMS_CONFIGURATION", "NOSUCH", {})):
        fails(sandbox, status, pattern, "--channels", "market_data", market,
              **options)


def test_network(sandbox):
    # A label of 64 bytes: no name server is asked.
    host = 64 * "a" + ".invalid"
    for pattern, *arguments in (
            (r"closed - .*issuer.*\(stage (tls|connect)", "--ca",
             "/etc/ssl/certs/ca-certificates.crt"),
            ("closed - .*(refused|cannot reach).*next attempt", *NOWHERE,
             "--seconds", "2"),
            (r"closed - .*\(stage (resolve|connect through)", "--ws-url",
             f"wss://{host}", "--auth-url", f"https://{host}", "--seconds",
             "2")):
        fails(sandbox, NETWORK, pattern, *arguments, "BTCUSD")


def test_expect_all(sandbox):
    """Nothing comes: the end says what is missing."""
    with Stream(sandbox, *NOWHERE, "--expect-all", "BTCUSD") as tool:
        tool.until(tool.err, "closed - ")
        tool.end(1, signal.SIGTERM)
        matches("execution_data BTCUSD delivered nothing", tool.err(), "end")


# ---- Arguments and configuration ----

def test_arguments(sandbox):
    for text, *arguments in (
            ("no market given",),
            ("'trades'", "-c", "market_data,trades", "BTCUSD"),
            ("1 to 31 bytes", 32 * "M"),
            ("given twice", "BTCUSD", "BTCUSD"),
            ("--levels 1x", "--levels", "1x", "BTCUSD"),
            ("--bogus", "--bogus", "BTCUSD")):
        says(USAGE, text, "stream", *sandbox.arguments, *arguments)


def test_configuration(sandbox):
    folder = sandbox.state
    endpoints, ca = sandbox.arguments[:2], sandbox.arguments[2:]
    ini = write_file(f"{folder}/bad.ini", "[service]\nca = x\ncolour = red\n")
    for text, *arguments in (
            ("no ws_url", *ca), (f"{folder}/none", *endpoints, "--ca",
                                 f"{folder}/none"),
            ("127.0.0.1", *sandbox.arguments, "--tls", "bearssl", "--ws-url",
             "wss://127.0.0.1:1"),
            ("ws://localhost", *sandbox.arguments, "--ws-url",
             "ws://localhost:1"),
            ("bad.json:2:", "--endpoints",
             write_file(f"{folder}/bad.json",
                        '{"ws_url": "wss://localhost",\n "auth_url": }\n')),
            ("bad.ini:3: unknown key 'colour'", "--profile", ini)):
        says(CONFIG, text, "stream", *arguments, "BTCUSD")
    for line, text in (("nonsense", "bad.ini:2: "),
                       ("client_secret = x", "bad.ini:2: a profile cannot "
                        "contain a secret")):
        write_file(ini, f"[service]\n{line}\n")
        says(CONFIG, text, "stream", "--profile", ini, "BTCUSD")
    for client in ("", None):
        says(CONFIG, "no client_id", "stream", *sandbox.arguments, "BTCUSD",
             MINI_STREAM_CLIENT_ID=client)


def test_secret_file(sandbox):
    says(CONFIG, "no client secret", "stream", *sandbox.arguments, "BTCUSD",
         MINI_STREAM_CLIENT_SECRET="")
    path = write_file(f"{sandbox.state}/secret", SECRET + "\n", 0o640)
    options = ("--secret-file", path, "BTCUSD")
    says(CONFIG, "secret: others have access", "stream", *sandbox.arguments,
         *options, MINI_STREAM_CLIENT_SECRET="")
    os.chmod(path, 0o600)
    status, said = sandbox.stream_until(OPEN, *options,
                                        MINI_STREAM_CLIENT_SECRET="")
    check(status == OK and SECRET not in said, said)


def test_precedence(sandbox):
    """An option goes before the environment, and that before the profile in its
    usual place. Another profile is read by its name."""
    folder = f"{sandbox.state}/.config"
    os.makedirs(f"{folder}/mini-stream")
    write_file(f"{folder}/secret", SECRET, 0o600)
    text = (f"; a profile\n[service]\nws_url = {sandbox.urls['ws_url']}\n"
            f"auth_url = {sandbox.urls['auth_url']}\nca = ../ca.pem\n"
            "client_id = sandbox-client\nsecret_file = secret\n")
    usual = write_file(f"{folder}/mini-stream.ini", text)

    def expect(status, *arguments, **variables):
        done = run_program(
            TOOL, "stream", *arguments, "--count", "1", "BTCUSD",
            env=environment_with(HOME=sandbox.state, **variables))
        equal(status, done.returncode, done)
        check((OPEN if status == OK else "HTTP status 403") in done.stderr,
              done)
        check(SECRET not in done.stdout + done.stderr, "the secret")
    expect(OK)
    denied = {"MINI_STREAM_CLIENT_ID": "sandbox-denied"}
    expect(ACCESS, **denied)
    expect(OK, "--client-id", "sandbox-client", **denied)
    os.unlink(usual)
    write_file(f"{folder}/mini-stream/denied.ini",
               text.replace("= ../", "= ../../").replace("= secret",
                                                         "= ../secret")
               .replace("sandbox-client", "sandbox-denied"))
    expect(ACCESS, "--profile", "denied")


# ---- Standard output: closed, or a terminal ----

def test_reader_that_leaves(sandbox):
    with killed(sandbox.start("stream", "BTCUSD",
                              stderr=subprocess.DEVNULL)) as process:
        for _ in range(3):
            check(process.stdout.readline(), "a line")
        process.stdout.close()
        equal(OK, process.wait(HANG_S))


def test_live_view(sandbox):
    """q ends it; the table comes last, on the first screen."""
    line = Line([TOOL, "watch", *sandbox.arguments, *MARKETS], 80, 24,
                user_environment(TERM="xterm-256color"))
    wait_for(lambda: b"spread" in line.read(0.1), "the book")
    os.write(line.master, b"q")
    shown, _, table = line.read().decode().partition("\x1b[?1049l")
    line.close()
    equal(OK, line.process.returncode)
    check(all(market in shown for market in MARKETS), shown)
    matches("^market_data +[1-9]", table, "the table")
    check(SECRET not in shown + table, "the secret")


# ---- The service goes away ----

def test_loss():
    """It connects again, and ends though the service is silent."""
    with sandbox_of(*fixed_ports()) as sandbox, \
            Stream(sandbox, "BTCUSD") as tool:
        tool.until(tool.out, "market_data BTCUSD update")
        sandbox.kill()
        tool.until(tool.err, "closed - .*next attempt")
        sandbox.restart()
        tool.until(tool.err, "open - generation [2-9]")
        seen = len(tool.out())
        tool.until(lambda: tool.out()[seen:], "BTCUSD update .* live$")
        with silent(sandbox):
            tool.end()


def test_second_signal(sandbox):
    """A second Ctrl-C does not wait for the service."""
    with Stream(sandbox, "--verbose", "--set", "closing_ms=600000",
                "BTCUSD") as tool:
        tool.until(tool.out, "market_data BTCUSD update")
        with silent(sandbox):
            tool.process.send_signal(signal.SIGINT)
            tool.until(tool.err, "state - closing")
            tool.end(130)
