"""Reports about TLS and certificates (README.md, 51 to 60), with the openssl
command and Python's ssl as servers.

SPDX-License-Identifier: 0BSD
"""
import os
import ssl
import sys
import time

sys.path.append(os.path.join(os.path.dirname(__file__), "../real"))

from e2e import check, equal  # pylint: disable=wrong-import-position
import interop_tls as lab  # pylint: disable=wrong-import-position
from interop_tls import (CERTIFICATES, CONFIG, HANDSHAKE, NETWORK, matches)
from tls_certificates import ISSUER, SERVER
from tls_lab import Peer, Server

NAMED = SERVER.format("DNS:localhost")
PATH = ISSUER.replace("TRUE", "TRUE, pathlen:{}")
FOREVER = (-10**6, 10**6)  # minutes


def make():
    """Makes a trusted root that an expired one has cross-signed; chains with
    path lengths; a leaf with a long validity; unusual PEM files."""
    for name, issuer, extensions, valid in (
            ("old", "old", ISSUER, (-30, -1)), ("new", "new", ISSUER, (-30, 30)),
            ("newer", "new", ISSUER, (-30, 30)),
            ("leaf", "newer", NAMED, FOREVER),
            ("one", "one", PATH.format(1), (-30, 30)),
            ("zero", "one", PATH.format(0), (-30, 30)),
            ("short", "zero", NAMED, (-30, 30)),
            ("below", "zero", ISSUER, (-30, 30)),
            ("long", "below", NAMED, (-30, 30))):
        CERTIFICATES.issue(name, issuer, extensions, valid=valid)
    CERTIFICATES.openssl("x509", "-in", "new.pem", "-x509toreq", "-signkey",
                         "new.key", "-out", "cross.csr")
    CERTIFICATES.openssl("x509", "-req", "-in", "cross.csr", "-CA", "old.pem",
                         "-CAkey", "old.key", "-CAcreateserial", "-out",
                         "cross.pem", "-extfile", "new.ext", "-days", "1")
    CERTIFICATES.bundle("cross-chain", "newer", "cross")
    CERTIFICATES.bundle("long-chain", "below", "zero")
    root = CERTIFICATES.read("root-ec").encode()
    other = CERTIFICATES.read("old").encode()
    for name, data in (("joined", other.strip() + root.strip()),
                       ("latin", b"# Autorit\xe9 \xff\xfe\0\n" + root),
                       ("mark", b"\xef\xbb\xbf" + root.replace(b"\n", b"\r\n")),
                       ("der", ssl.PEM_cert_to_DER_cert(root.decode()))):
        with open(CERTIFICATES.path(name + ".pem"), "wb") as file:
            file.write(data)


make()


def trusted(certificate, chain, **options):
    with lab.serve(certificate, chain=chain) as server:
        lab.exchange(server, **options)


def refused_before(status, line, host="localhost", ca="anchors"):
    """Expects mini-stream to end at once with a reason."""
    with lab.start(1, host=host, ca=ca) as tool:
        tool.finish(status)
        matches(line, tool.err(), "reason")


def test_no_extended_master_secret():
    """A server that requires it refuses with an alert. The client names the
    error and tries again."""
    asked = []

    def handler(connection):
        time.sleep(0.1)
        hello = connection.recv(65536)
        asked.append(b"\x00\x17\x00\x00" in hello)
        connection.sendall(b"\x15\x03\x03\x00\x02\x02\x28")
        while connection.recv(65536):
            pass

    with Server(handler) as server:
        lab.passing(server.port, HANDSHAKE)
    check(asked and not any(asked), "BearSSL knows it")


def test_nothing_after_a_chain_that_fails():
    """No byte of the request reaches an untrusted server."""
    seen = []

    def handler(connection):
        peer = Peer(connection, CERTIFICATES.context("ec"))
        peer.handshake()
        seen.append(peer.read())

    with Server(handler, forgives=(OSError, ssl.SSLError)) as server:
        lab.permanent(server.port, NETWORK, lab.NOT_TRUSTED, ca="new")
    equal([], seen)


TESTS = [
    ("an expired root has signed the trusted one", trusted, "leaf",
     "cross-chain", {"ca": "new"}),
    ("a path length that is kept", trusted, "short", "zero", {"ca": "one"}),
    ("a path length that is not kept", lab.bad_certificate, "long",
     r"certificate is malformed or not acceptable \(stage tls, detail 58\)",
     "long-chain", {"ca": "one"}),
    *((f"trust anchors, {name}", trusted, "ec", "between-ec", {"ca": name})
      for name in ("joined", "latin", "mark")),
    ("trust anchors that are not PEM", refused_before, CONFIG,
     r"der\.pem: .*no PEM certificate", {"ca": "der"}),
    ("a host with a dot at its end", refused_before, CONFIG, "URL",
     {"host": "localhost."}),
    ("a short list of suites", lab.refused, HANDSHAKE, "-tls1_2", "-cipher",
     "AES128-SHA", {"certificate": "rsa"}),
]
