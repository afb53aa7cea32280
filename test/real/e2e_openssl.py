#!/usr/bin/env python3
"""The tool with --tls openssl: the end-to-end tests that are its own, once more
with that TLS, and where it is asked for.

Usage: e2e_openssl.py [PART_OF_A_TEST'S_NAME...]
BUILD: where the programs are (default: build).
Ends with "N passed, N failed"; fails unless all passed.
SPDX-License-Identifier: 0BSD
"""
import contextlib
import os
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../lib"))
from e2e import HANG_S, Sandbox, check, run_all, tests_of

HERE = os.path.dirname(os.path.abspath(__file__))


def again(name):
    """A script of this folder, with OpenSSL."""
    command = [sys.executable] if name.endswith(".py") else []
    run = subprocess.run([*command, os.path.join(HERE, name)],
                         env={**os.environ, "MINI_STREAM_TLS": "openssl"},
                         stdin=subprocess.DEVNULL, capture_output=True,
                         text=True, check=False)
    check(run.returncode == 0, run.stdout + run.stderr)


def test_address():
    again("e2e_address.py")


def test_proxy():
    again("e2e_proxy.py")


def test_demo():
    again("e2e_demo.sh")


@contextlib.contextmanager
def sandbox():
    path = tempfile.mkdtemp()
    running = Sandbox(path)
    try:
        running.wait_ready()
        yield running
    finally:
        running.kill()
        shutil.rmtree(path)


def said(running, *arguments, status=0, **variables):
    process = running.stream(*arguments, "BTCUSD", **variables)
    text, _ = process.communicate(timeout=HANG_S)
    check(process.returncode == status, f"{process.returncode}: {text}")
    return text


def test_where_asked():
    """By option, environment and profile, in this order; with BearSSL there is
    a stage for TLS, with OpenSSL there is none."""
    with sandbox() as running:
        profile = os.path.join(running.state, "profile.ini")
        with open(profile, "w", encoding="ascii") as file:
            file.write("[service]\ntls = openssl\n")
        seconds = ("--seconds", "1", "--verbose")
        for arguments, variable, openssl in (
                ((), "", False), (("--tls", "openssl"), "bearssl", True),
                (("--tls", "bearssl"), "openssl", False), ((), "openssl", True),
                (("--profile", profile), "", True),
                (("--profile", profile), "bearssl", False)):
            text = said(running, *seconds, *arguments, MINI_STREAM_TLS=variable)
            check("open - generation 1" in text, text)
            check(("state - tls" in text) != openssl, text)


def test_mistakes():
    with sandbox() as running:
        for name in ("gnutls", "OpenSSL", "openssl "):
            text = said(running, "--tls", name, status=3)
            check(f"tls '{name}': none of fast, bearssl and openssl" in text,
                  text)
        for path, why in (("/nowhere", "No such file or directory"),
                          ("", "No such file or directory"),
                          (running.endpoints, "no certificate")):
            text = said(running, "--tls", "openssl", "--ca", path, status=3)
            check(f"trust anchors {path}: {why}" in text, text)
            check(text.count("\n") == 1, text)


def test_system_store():
    """Without --ca: the file of SSL_CERT_FILE, or the system's store, which
    does not know the sandbox."""
    with sandbox() as running:
        command = [os.path.join(os.environ.get("BUILD", "build"),
                                "mini-stream"),
                   "stream", "--tls", "openssl", "--endpoints",
                   running.endpoints, "--client-id", "sandbox-client",
                   "--seconds", "1", "BTCUSD"]
        for file, status, words in (
                (running.ca, 0, "open - generation 1"),
                ("", 5, "issuer is not trusted (stage connect, detail "),
                ("/nowhere", 3, "trust anchors /nowhere: No such file")):
            run = subprocess.run(
                command, env={"MINI_STREAM_CLIENT_SECRET": "sandbox-secret",
                              "HOME": running.state, "SSL_CERT_FILE": file},
                capture_output=True, text=True, check=False)
            check(run.returncode == status, run.stderr)
            check(words in run.stderr, run.stderr)


if __name__ == "__main__":
    sys.exit(run_all(tests_of(globals()), 3))
