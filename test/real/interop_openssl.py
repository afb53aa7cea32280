"""Runs mini-stream with --tls openssl against TLS servers: those with only TLS
1.3, which BearSSL cannot reach, and the tests of interop_tls.py whose errors
OpenSSL words differently. Also for the tool with mbedTLS (BUILD ends with
mbedtls), with only TLS 1.2 if that is mbedTLS 2.28.

SPDX-License-Identifier: 0BSD
"""
import os

import interop_tls as tls
from e2e import BUILD, TOOL
from interop_tls import (exchange, good, refused, renegotiate,
                         resumed_by_openssl, serve, start, stream)
from tls_lab import matches

MBEDTLS = os.path.basename(BUILD) == "mbedtls"
tls.TLS, tls.STAGE, tls.TIME = "openssl", ("tls" if MBEDTLS else
                                           "connect"), r"\d+"

NEW = ("-tls1_3",)
OLD = ("-tls1_2",)
VERSIONS = ((OLD, "ECDHE-"), (NEW, "TLS_"))
if MBEDTLS:
    with open(TOOL, "rb") as tool_file:
        if b"libmbedtls.so.14" in tool_file.read():
            VERSIONS = VERSIONS[:1]
SUITE = VERSIONS[-1][1]


def new_alone():
    """a server of TLS 1.3 alone: reached by OpenSSL, and not by BearSSL"""
    with serve("ec", *NEW, chain="between-ec") as server:
        exchange(server)
        server.until("^CIPHER is TLS_")
    with serve("ec", *NEW, chain="between-ec") as server, \
            start(server.port, 1, "-c", "heartbeat", "--tls",
                  "bearssl") as tool:
        tool.finish(tls.NETWORK)
        matches(r"^server refuses TLS 1\.2 \(stage tls, detail 326\), .*"
                "permanent", tool.failures()[0], "error")


def address():
    """an address as host, of a certificate for it"""
    with serve("address", chain="between-ec") as server:
        exchange(server, host="127.0.0.1")


def renegotiation():
    """renegotiation is not accepted"""
    renegotiate("r\n", *OLD)


def client_certificate():
    """a client certificate is required"""
    # TLS 1.3 reports it after the end of the handshake.
    with serve("ec", *NEW, "-Verify", "1", chain="between-ec") as server:
        tls.passing(server.port, r"fatal TLS alert \(stage token, "
                    r"detail 1116\)")


NOT_TRUSTED = (r"certificate's issuer is not trusted "
               rf"\(stage {tls.STAGE}, detail (%d|8)\)")  # or mbedTLS's flag
OTHER_NAME = ("certificate is for another name "
              rf"\(stage {tls.STAGE}, detail (62|4)\)")
UNFIT = (r"certificate is malformed or not acceptable \(stage connect, "
         r"detail \d+\)")
VERSION = rf"server refuses TLS 1\.2 \(stage {tls.STAGE}, detail \d+\)"
HANDSHAKE = rf"TLS handshake failed \(stage {tls.STAGE}, detail 1040\)"

TESTS = [
    *tls.common(OTHER_NAME, *(NOT_TRUSTED % number for number in (19, 18, 20)),
                NOT_TRUSTED % 8 if MBEDTLS else UNFIT),
    *([new_alone, client_certificate,
       ("a stream where there is TLS 1.3 alone", stream, 2000, 16384,
        {"new": True})] if SUITE == "TLS_" else []),
    *((f"{kind}, {version[0][1:]}", good, kind, *version, {"cipher": cipher})
      for kind in ("ec", "384", "rsa")
      for version, cipher in VERSIONS),
    *((f"{suite} alone", good, "ec" if "ECDSA" in suite else "rsa", *OLD,
       "-cipher", suite, {"cipher": suite + "\n"})
      for suite in sorted(tls.SUITES)),
    ("a chain with its root", good, "384", {"chain": "to-root",
                                            "cipher": SUITE}),
    ("an intermediate as trust anchor", good, "ec",
     {"ca": "between-ec", "chain": "between-ec", "cipher": SUITE}),
    ("the server's own certificate as trust anchor", good, "ec",
     {"ca": "ec", "chain": "between-ec", "cipher": SUITE}),
    ("a host in capitals", good, "ec", {"host": "LOCALHOST",
                                        "cipher": SUITE}),
    address,
    *((f"resumed, {' '.join(arguments)}", resumed_by_openssl, 2, *arguments)
      for arguments in (NEW, OLD, (*OLD, "-no_ticket"))
      if arguments != NEW or SUITE == "TLS_"),
    ("a server without sessions", resumed_by_openssl, 0, *OLD, "-no_ticket",
     "-no_cache"),
    *((f"{option} only", refused, VERSION, option, "-cipher",
       "ALL:@SECLEVEL=0", {"always": True})
      for option in ("-tls1_1", "-tls1") if SUITE == "TLS_"),
    *((f"{what} only", refused, HANDSHAKE, *OLD, "-cipher", suites,
       {"certificate": "rsa"})
      for what, suites in (
          ("CBC", "ECDHE-RSA-AES128-SHA256:ECDHE-RSA-AES256-SHA"),
          ("static RSA", "AES128-GCM-SHA256:AES256-GCM-SHA384"),
          ("DHE", "DHE-RSA-AES128-GCM-SHA256"))),
    renegotiation,
]
