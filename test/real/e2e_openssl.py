"""The tool with --tls openssl: the end-to-end tests that are its own, once more
with that TLS, and where it is asked for.

SPDX-License-Identifier: 0BSD
"""
import contextlib
import os
import re
import shutil
import subprocess
import sys
import tempfile

from e2e import HANG_S, Sandbox, check

HERE = os.path.dirname(os.path.abspath(__file__))


def again(name):
    """A script of this folder, with OpenSSL."""
    command = [sys.executable, sys.argv[0]] if name.endswith(".py") else []
    run = subprocess.run([*command, os.path.join(HERE, name)],
                         env={**os.environ, "MINI_STREAM_TLS": "openssl"},
                         stdin=subprocess.DEVNULL, capture_output=True,
                         text=True, check=False)
    check(run.returncode == 0, run.stdout + run.stderr)


def test_put():
    again("e2e_put.py")


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


def refused(running, *arguments):
    process = running.stream(*arguments, "BTCUSD")
    text, _ = process.communicate(timeout=HANG_S)
    check(process.returncode == 3, f"{process.returncode}: {text}")
    return text


def test_where_asked():
    """By option, environment and profile, in this order; with BearSSL there is
    a stage for TLS, with OpenSSL there is none."""
    with sandbox() as running:
        profile = os.path.join(running.state, "profile.ini")
        with open(profile, "w", encoding="ascii") as file:
            file.write("[service]\ntls = openssl\n")
        for arguments, variable, openssl in (
                ((), "", False), (("--tls", "openssl"), "bearssl", True),
                (("--tls", "bearssl"), "openssl", False), ((), "openssl", True),
                (("--profile", profile), "", True),
                (("--profile", profile), "bearssl", False)):
            status, text = running.stream_until(
                "open - generation 1", "--verbose", *arguments, "BTCUSD",
                MINI_STREAM_TLS=variable)
            check(status == 0, f"{status}: {text}")
            check(("state - tls" in text) != openssl, text)


def test_mistakes():
    with sandbox() as running:
        for name in ("gnutls", "OpenSSL", "openssl "):
            text = refused(running, "--tls", name)
            check(f"tls '{name}': none of fast, bearssl and openssl" in text,
                  text)
        for path, why in (("/nowhere", "No such file or directory"),
                          ("", "No such file or directory"),
                          (running.endpoints, "no certificate")):
            text = refused(running, "--tls", "openssl", "--ca", path)
            check(f"trust anchors {path}: {why}" in text, text)
            check(text.count("\n") == 1, text)


def test_system_store():
    """Without --ca: the file of SSL_CERT_FILE, or the system's store, which
    does not know the sandbox."""
    with sandbox() as running:
        running.arguments = running.arguments[:2]
        for file, status, words in (
                (running.ca, 0, "open - generation 1"),
                ("", 5, r"issuer is not trusted \(stage connect, detail "),
                ("/nowhere", 3, "trust anchors /nowhere: No such file")):
            got, text = running.stream_until(
                "open - |closed - ", "--tls", "openssl", "BTCUSD",
                SSL_CERT_FILE=file)
            check(got == status, f"{got}: {text}")
            check(re.search(words, text), text)
