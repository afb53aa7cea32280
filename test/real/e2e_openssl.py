"""The tool with --tls openssl: the places from which this setting can come.
../ports.py runs other tests with OpenSSL.

SPDX-License-Identifier: 0BSD
"""
import os
import re

from e2e import CONFIG, check, write_file
from e2e_messages import says


def test_where_asked(sandbox):
    """Option, environment, profile, in this order. BearSSL has a stage tls."""
    profile = write_file(os.path.join(sandbox.state, "profile.ini"),
                         "[service]\ntls = openssl\n")
    for arguments, variable, openssl in (
            ((), "", False), (("--tls", "openssl"), "bearssl", True),
            (("--tls", "bearssl"), "openssl", False), ((), "openssl", True),
            (("--profile", profile), "", True),
            (("--profile", profile), "bearssl", False)):
        status, text = sandbox.stream_until(
            "open - generation 1", "--verbose", *arguments, "BTCUSD",
            MINI_STREAM_TLS=variable)
        check(status == 0, f"{status}: {text}")
        check(("state - tls" in text) != openssl, text)


def test_mistakes(sandbox):
    for name in ("gnutls", "OpenSSL", "openssl "):
        says(CONFIG, f"tls '{name}': must be fast, bearssl or openssl",
             "stream", *sandbox.arguments, "BTCUSD", MINI_STREAM_TLS=name)
    for path, why in (("/nowhere", "No such file or directory"),
                      ("", "No such file or directory"),
                      (sandbox.endpoints, "no certificate")):
        says(CONFIG, f"trust anchors {path}: {why}", "stream",
             *sandbox.arguments, "--tls", "openssl", "--ca", path, "BTCUSD")


def test_system_store(sandbox):
    """Without --ca: the file in SSL_CERT_FILE, or the system's store, which
    does not have the sandbox's CA."""
    sandbox.arguments = sandbox.arguments[:2]
    for file, status, words in (
            (sandbox.ca, 0, "open - generation 1"),
            ("", 5, r"issuer is not trusted \(stage connect, detail "),
            ("/nowhere", 3, "trust anchors /nowhere: No such file")):
        got, text = sandbox.stream_until(
            "open - |closed - ", "--tls", "openssl", "BTCUSD",
            SSL_CERT_FILE=file)
        check(got == status, f"{got}: {text}")
        check(re.search(words, text), text)
