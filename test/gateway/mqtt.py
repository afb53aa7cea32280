"""mqtt-top with a real broker, mosquitto: a late subscriber has the sandbox's
best prices, and notices when nobody publishes them.

SPDX-License-Identifier: 0BSD
"""
import decimal
import functools
import json
import os
import re
import shutil
import signal
import subprocess
import tempfile
import time

import broker_lab
from broker_lab import Folder, Logged, started
from e2e import (BUILD, HANG_S, Truths, check, free_port, milliseconds,
                 run_program, wait_for)

MARKETS = ("BTCUSD", "ETHUSD")
MOSQUITTO = shutil.which("mosquitto", path=os.environ["PATH"] + ":/usr/sbin")
LATE_S = 1  # within which a broker sends what it retains


class Broker(Logged, Folder):
    """mosquitto, in a folder; it cannot select a free port itself."""

    def __init__(self, *lines, listen=()):
        Folder.__init__(self)
        self.port = free_port()
        self.write("conf", "\n".join([
            "user root", *(line.format(self.folder) for line in lines),
            f"listener {self.port} localhost",
            *(line.format(self.folder) for line in listen), ""]))
        self.start()

    def start(self):
        self.launch(self.path("log"),
                    [MOSQUITTO, "-v", "-c", self.path("conf")])
        self.until(" running")

    def retained(self, *arguments):
        """What a new subscriber gets: payloads by topic."""
        done = run_program(
            "mosquitto_sub", "-h", "localhost", "-p", str(self.port), "-t",
            "mst/#", "-v", "--retained-only", "-W", str(LATE_S), *arguments)
        return dict(line.split(" ", 1) for line in done.stdout.splitlines())

    def remove(self):
        self.kill()
        shutil.rmtree(self.folder)


class Program(Logged):
    """A running mqtt-top."""

    def __init__(self, broker, sandbox, *arguments):
        super().__init__(
            broker.path(f"mqtt-top-{time.monotonic_ns()}"),
            [os.path.join(BUILD, "mqtt-top"), "--endpoints", sandbox.endpoints,
             "--ca", sandbox.ca, "--client-id", "sandbox-client", "--set",
             "backoff_ms=100", "--broker", f"localhost:{broker.port}",
             *arguments, *MARKETS],
            MINI_STREAM_CLIENT_SECRET="sandbox-secret", HOME=broker.folder)


running = functools.partial(broker_lab.running, wanted="connected",
                            kind=Program)


def begun(*lines, rate="1", listen=()):
    """A broker and a sandbox."""
    return started(*(lines or ("allow_anonymous true",)), kind=Broker,
                   options=("--rate", rate), listen=listen)


def is_here(broker):
    retained = broker.retained()
    return retained.get("mst/state") == "here" and len(retained) == 3


def level(of):
    return [decimal.Decimal(number) for number in of]


def compare(broker, truths):
    """Compares each retained top with the truth of its time. Returns how many
    of them are the latest."""
    latest = 0
    retained = broker.retained("-C", "3")  # all there are
    for market in MARKETS:
        if f"mst/top/{market}" not in retained:
            continue
        top = json.loads(retained[f"mst/top/{market}"])
        check(top["market"] == market and top["v"] == 1, top)
        books = truths.books[market].copy()
        true = books.get(milliseconds(top["time"]))
        if true:
            check([tuple(level(top[side])) for side in ("bid", "ask")]
                  == [side[0] for side in true],
                  f"{top} {[side[0] for side in true]}")
            latest += true is books[max(books)]
    return latest


def compare_some(broker, sandbox, count):
    with Truths(sandbox.book, MARKETS) as truths:
        for _ in range(count):
            wait_for(lambda: compare(broker, truths), "the latest top")


def test_retained():
    """Late subscribers get the truth, also after a restart of the broker, which
    keeps nothing."""
    with begun() as (broker, sandbox), running(broker, sandbox) as program:
        wait_for(lambda: is_here(broker), "tops")
        compare_some(broker, sandbox, 3)
        program.signal(signal.SIGSTOP)
        broker.kill()
        broker.start()
        check(not broker.retained(), "the broker has kept it")
        program.signal(signal.SIGCONT)
        wait_for(lambda: is_here(broker), "tops of another connection")
        compare_some(broker, sandbox, 1)


def test_gone():
    """Ended or killed, it is reported gone; then it is here again."""
    with begun() as (broker, sandbox):
        for number, status in ((signal.SIGTERM, 0), (signal.SIGKILL, -9)):
            with running(broker, sandbox) as program:
                wait_for(lambda: is_here(broker), "tops")
                program.end(number, status)
                wait_for(lambda: broker.retained().get("mst/state") == "gone",
                         "its end")


def test_another_is_here():
    """The will of a killed one does not stay while another one runs."""
    with begun() as (broker, sandbox), running(broker, sandbox):
        wait_for(lambda: is_here(broker), "tops")
        with running(broker, sandbox) as program, subprocess.Popen(
                ["mosquitto_sub", "-h", "localhost", "-p", str(broker.port),
                 "-t", "mst/state", "-W", str(HANG_S)], text=True,
                stdout=subprocess.PIPE) as reader:
            check(reader.stdout.readline() == "here\n", "it is not here")
            program.end(signal.SIGKILL, -9)
            while (said := reader.stdout.readline()) == "here\n":
                pass
            check((said, reader.stdout.readline()) == ("gone\n", "here\n"),
                  "nobody is here")
            reader.kill()


def test_stream_lost():
    """Unknown tops are no longer retained."""
    with begun(rate="20") as (broker, sandbox), \
            running(broker, sandbox):
        wait_for(lambda: is_here(broker), "tops")
        sandbox.process.send_signal(signal.SIGTERM)
        wait_for(lambda: broker.retained() == {"mst/state": "here"}, "no tops")


def test_tls():
    """Broker and program authenticate, or the program says why not."""
    folder = tempfile.mkdtemp()
    users = os.path.join(folder, "users")
    subprocess.run(["mosquitto_passwd", "-c", "-b", users, "top", "secret"],
                   check=True)
    with begun("allow_anonymous false", "password_file " + users,
                 listen=("certfile {0}/server.pem", "keyfile {0}/server.key")) \
            as (broker, sandbox):
        password = broker.write("password", "secret\n")
        good = ("--broker-ca", broker.path("ca.pem"), "--broker-user", "top",
                "--broker-password-file", password)
        with running(broker, sandbox, *good) as program:
            here = ("--cafile", broker.path("ca.pem"), "-u", "top", "-P",
                    "secret")
            wait_for(lambda: broker.retained(*here).get("mst/state") == "here",
                     "tops over TLS")
            check("secret" not in program.said(), program.said())
        wrong = broker.write("wrong", "another\n")
        for arguments, pattern in (
                ((*good[:-1], wrong), ".*not authori[sz]ed"), ((), ""),
                (("--broker-ca", broker.path("other.pem"), *good[2:]),
                 ".*certificate verify failed")):
            with running(broker, sandbox, *arguments,
                         wanted=pattern) as program:
                check("connected" not in program.said(), program.said())
        for arguments, status, pattern in (
                ((*good[:-1], broker.write("open", "secret\n", 0o640)), 3,
                 "others have access"),
                ((*good[2:], "--broker", "broker.example"), 2, "needs TLS"),
                (good[:4], 2, "need each other"),
                (("--broker-ca", broker.path("none.pem"), *good[2:]), 3,
                 "none.pem"),
                (("--broker", "localhost:0"), 2, "port"),
                (("--prefix", "a/b"), 2, "--prefix")):
            program = Program(broker, sandbox, *arguments)
            said = program.wait(status)
            check(re.search(pattern, said), said)
    shutil.rmtree(folder)
