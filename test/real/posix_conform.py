"""The port conformance test against its peer: on the POSIX port with c-ares and
with a thread for each name, through a real HTTP proxy (tinyproxy), with TLS of
OpenSSL and mbedTLS, directly and through the proxy; and on the port for RTOS
sockets.

SPDX-License-Identifier: 0BSD
"""
import os
import subprocess
import sys
import tempfile

from e2e import BUILD, RUN, check
from tinyproxy import Tinyproxy
from tls_certificates import OWN, Certificates

AT_ONCE = 1


def conform(port="cares", proxy="", tls=(), library="openssl"):
    """Runs all cases, with a proxy and a certificate and key, if given."""
    with subprocess.Popen(
            [sys.executable, "port/conform/peer.py", "127.0.0.1", "0", *tls],
            env={"STALL_S": "5", **os.environ},  # the machine may be busy
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as peer:
        ports = peer.stdout.readline().split()
        run = subprocess.run(
            [*RUN, os.path.join(BUILD, "test/real/run_conform"), port,
             *ports, proxy, *(tls or [""])[:1], library],
            stdout=subprocess.PIPE, text=True, check=False)
        peer.stdin.close()
    print(run.stdout, end="")
    check(run.returncode == 0, f"exit status {run.returncode}")


def certificate(path):
    """A self-signed certificate for localhost: its file and its key's."""
    certificates = Certificates(path)
    certificates.issue("peer", "peer", OWN)
    return certificates.path("peer.pem"), certificates.path("peer.key")


def test_proxy(folder):
    with Tinyproxy(folder) as proxy:
        conform(proxy=proxy.url)


def secured(library):
    with tempfile.TemporaryDirectory() as path:
        conform(tls=certificate(path), library=library)


def secured_over_proxy(library):
    with tempfile.TemporaryDirectory() as path, Tinyproxy(path) as proxy:
        conform(proxy=proxy.url, tls=certificate(path), library=library)


TESTS = [("posix", conform), ("posix with threads", conform, "threads"),
         ("sockets", conform, "sockets"),
         *((f"{case.__name__}, {library}", case, library)
           for library in ("openssl", "mbedtls")
           for case in (secured, secured_over_proxy))]
