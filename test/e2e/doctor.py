"""Shared by the tests of `mini-stream doctor`: the program as a user runs it,
its report, and servers with good and bad certificates.

SPDX-License-Identifier: 0BSD
"""
import functools
import json
import re
import tempfile

from e2e import OK, check, equal, run_tool
from tinyproxy import LOGIN, PASSWORD
from tls_certificates import make_certificates
from tls_lab import server_of

TOKEN = "token-that-nobody-may-see"
SECRETS = (TOKEN, PASSWORD, LOGIN, "dHJhZGVyOnMzY3JldA")
FOLDER = tempfile.TemporaryDirectory()
CERTIFICATES = make_certificates(FOLDER.name)
# The steps in order, for a server without a proxy.
SERVER_STEPS = ["dns", "tcp", "tls"]
SESSION_STEPS = ["token", "scope", "handshake", "message", "close"]


def matches(pattern, text):
    check(re.search(pattern, text), f"no {pattern!r} in {text!r}")


def run(*arguments, **options):
    """run_tool() that also looks for other secrets."""
    status, out, err = run_tool("doctor", *arguments, **options)
    for secret in SECRETS:
        check(secret not in out + err, f"{secret} is told: {out} {err}")
    return status, out, err


class Report:
    """The report as JSON, whose form was checked."""

    def __init__(self, status, *arguments, **variables):
        got, out, err = run("--json", *arguments, **variables)
        equal((status, ""), (got, err), out)
        self.all = json.loads(out)
        equal((1, status == OK, status),
              (self.all["version"], self.all["ok"], self.all["exit_status"]))
        equal(status == OK, self.all["advice"] is None)
        self.steps = self.all["steps"]
        for step in self.steps:
            check(step["status"] in ("ok", "warning", "failed", "not tried"),
                  step)
            check(isinstance(step["text"], str) and step["text"], step)
            equal(step["status"] == "not tried", step["ms"] is None, step)
            check(all(isinstance(note, str) for note in step["notes"]), step)
        equal(status == OK, not self.failed(), out)

    def failed(self):
        return [step for step in self.steps if step["status"] == "failed"]

    def names(self):
        return [step["step"] for step in self.steps]

    def step(self, name, endpoint=None):
        found = [step for step in self.steps if step["step"] == name
                 and step.get("endpoint") == endpoint]
        equal(1, len(found), (name, endpoint, self.names()))
        return found[0]

    def status(self, name, endpoint=None):
        return self.step(name, endpoint)["status"]

    def fails(self, name, text, advice="", endpoint=None):
        """Expects this to be the first step that failed. Returns it."""
        first = self.failed()[0]
        equal((name, endpoint), (first["step"], first.get("endpoint")), first)
        matches(text, first["text"])
        matches(advice, self.all["advice"])
        return first


def to(auth, ws=None, ca="anchors"):
    """The arguments for servers on these ports."""
    return ("--auth-url", f"https://localhost:{auth}", "--ws-url",
            f"wss://localhost:{ws or auth}", "--ca",
            CERTIFICATES.path(ca + ".pem"), "--timeout", "100")


def waiting(step, *arguments, **options):
    """The report on servers at which this step times out. Tries a timeout of a
    second, then a long one if this machine was too slow to get there."""
    for seconds in ("1", "100"):
        report = Report(*arguments, "--timeout", seconds, **options)
        if report.failed()[0]["step"] == step:
            break
    return report


serve = functools.partial(server_of, CERTIFICATES)
