#!/usr/bin/env python3
"""Makes the roots that the tested firmware trusts (anchors.pem, and each by
itself), and the chains of its servers, all for exchange.test.

Usage: certificates.py DIR
SPDX-License-Identifier: 0BSD
"""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../e2e"))
from tls_certificates import ISSUER, SERVER, Certificates

HOST = "exchange.test"
DAY = 24 * 60
# From an hour ago, as clocks differ, for ten years, as images are built once.
VALID = (-60, 3650 * DAY)
CHAINS = (("ec", "P-256", "sha256"), ("384", "P-384", "sha384"),
          ("rsa", "2048", "sha256"), ("wrong", "P-256", "sha256"))
TRUSTED = ("root-ec", "root-384", "root-rsa")


def main(folder):
    os.makedirs(folder, exist_ok=True)
    certificates = Certificates(folder)
    for kind, key, digest in CHAINS:
        root, between = "root-" + kind, "between-" + kind
        for name, issuer, extensions in (
                (root, root, ISSUER), (between, root, ISSUER),
                (kind, between, SERVER.format("DNS:" + HOST))):
            certificates.issue(name, issuer, extensions, key=key,
                               digest=digest, valid=VALID)
        certificates.bundle(kind + "-chain", kind, between)
    certificates.bundle("anchors", *TRUSTED)


if __name__ == "__main__":
    main(sys.argv[1])
