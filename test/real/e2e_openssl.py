"""The tool with --tls openssl: the places from which this setting can come.
../ports.py runs other tests with OpenSSL.

SPDX-License-Identifier: 0BSD
"""
import os
import re

from e2e import check, write_file


def refused(sandbox, *arguments, **variables):
    run = sandbox.run("stream", *arguments, "BTCUSD", variables=variables)
    check(run.returncode == 3 and run.stdout == "", run)
    return run.stderr


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
        text = refused(sandbox, MINI_STREAM_TLS=name)
        check(f"tls '{name}': must be fast, bearssl or openssl" in text,
              text)
    for path, why in (("/nowhere", "No such file or directory"),
                      ("", "No such file or directory"),
                      (sandbox.endpoints, "no certificate")):
        text = refused(sandbox, "--tls", "openssl", "--ca", path)
        check(f"trust anchors {path}: {why}" in text, text)
        check(text.count("\n") == 1, text)


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
