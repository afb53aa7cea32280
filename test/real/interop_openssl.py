"""Runs mini-stream with --tls openssl against TLS servers: those of TLS 1.3
alone, which BearSSL does not reach, and the checks of interop_tls.py that
OpenSSL answers in its own words. Also for the tool with TLS of mbedTLS (BUILD
ends with mbedtls), of TLS 1.2 alone if that is mbedTLS 2.28.

SPDX-License-Identifier: 0BSD
"""
import os

import interop_tls as tls
from e2e import BUILD, TOOL
from interop_tls import (bad_certificate, bad_time, ends, ends_complete,
                         ends_in_handshake, ends_in_stream, exchange, forged,
                         forgotten, good, name_indication, not_after_error,
                         old_hello, plaintext, records, refused, renegotiate,
                         reply, resumed, resumed_by_openssl, says_goodbye,
                         serve, start, stream)
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
    # TLS 1.3 says so after the end of the handshake.
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
TRUNCATED = "TLS ended without close_notify"
CLOSED = "connection closed by the peer"

TESTS = [
    *([new_alone, client_certificate,
       ("a stream where there is TLS 1.3 alone", stream, 2000, 16384,
        {"new": True})] if SUITE == "TLS_" else []),
    ("a stream over Python's TLS, RSA, 4,000 levels", stream, 2000, None,
     "rsa"),
    ("a stream in records of 1 byte", stream, 20, 1),
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
    name_indication,
    address,
    *((f"resumed, {' '.join(arguments)}", resumed_by_openssl, 2, *arguments)
      for arguments in (NEW, OLD, (*OLD, "-no_ticket"))
      if arguments != NEW or SUITE == "TLS_"),
    ("a server without sessions", resumed_by_openssl, 0, *OLD, "-no_ticket",
     "-no_cache"),
    resumed,
    forgotten,
    not_after_error,
    ("another name", bad_certificate, "other", OTHER_NAME),
    ("names with wildcards", bad_certificate, "wildcard", OTHER_NAME),
    ("an address only", bad_certificate, "address", OTHER_NAME),
    ("expired", bad_time, "expired"),
    ("not yet valid", bad_time, "early"),
    ("an intermediate that has expired", bad_time, "old-chain", "old-between"),
    ("unknown CA", bad_certificate, "unknown", NOT_TRUSTED % 19,
     "unknown-root"),
    ("a CA that calls itself a trusted one", bad_certificate, "forged",
     NOT_TRUSTED % 19, "forged-root"),
    ("self-signed", bad_certificate, "self-signed", NOT_TRUSTED % 18, None),
    ("missing intermediate", bad_certificate, "ec", NOT_TRUSTED % 20, None),
    ("a server's certificate as issuer", bad_certificate, "no-issuer",
     NOT_TRUSTED % 8 if MBEDTLS else UNFIT, "no-issuer-chain"),
    old_hello,
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
    ("a response in records of 1 byte", records, 1),
    ("a response in records of 16 KB", records, 16384, None, 40000),
    ("ciphertext byte by byte", records, 16384, 1),
    ("an end without close_notify, in a response", ends, TRUNCATED,
     reply(tls.REFUSAL)[:-1], False),
    ("an end with close_notify, before a response", ends, CLOSED, b"", True),
    ends_complete,
    ends_in_handshake,
    ("an end without close_notify, in a stream", ends_in_stream, TRUNCATED,
     False),
    ("an end with close_notify, in a stream", ends_in_stream, CLOSED, True),
    says_goodbye,
    forged,
    ("HTTP in place of TLS", plaintext,
     b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n", False),
    ("SSH in place of TLS", plaintext, b"SSH-2.0-OpenSSH_9.2\r\n", True),
]
