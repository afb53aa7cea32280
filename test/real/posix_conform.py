"""The port conformance test against its peer: on the POSIX port, with c-ares
and with a thread for each name, through a real HTTP proxy (tinyproxy) over it,
and with TLS of OpenSSL over it and over the proxy; on the port for RTOS sockets.

SPDX-License-Identifier: 0BSD
"""
import os
import subprocess
import sys
import tempfile

from e2e import BUILD, RUN, check
from tinyproxy import Tinyproxy

AT_ONCE = 1


def conform(port="cares", proxy="", tls=()):
    """All its cases, through this proxy and with this certificate and key, or
    without."""
    with subprocess.Popen(
            [sys.executable, "port/conform/peer.py", "127.0.0.1", "0", *tls],
            env={"STALL_S": "5", **os.environ},  # the machine may be busy
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as peer:
        ports = peer.stdout.readline().split()
        run = subprocess.run(
            [*RUN, os.path.join(BUILD, "test/real/run_conform"), port,
             *ports, proxy, *(tls or [""])[:1]],
            stdout=subprocess.PIPE, text=True, check=False)
        peer.stdin.close()
    print(run.stdout, end="")
    check(run.returncode == 0, f"exit status {run.returncode}")


def certificate(path):
    """For localhost, its own issuer: the files of it and of its key."""
    files = [os.path.join(path, name) for name in ("cert", "key")]
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt",
         "ec_paramgen_curve:P-256", "-nodes", "-subj", "/CN=peer", "-addext",
         "subjectAltName=DNS:localhost", "-days", "2", "-out", files[0],
         "-keyout", files[1]], check=True, stderr=subprocess.DEVNULL)
    return files


def proxied(path, tls=()):
    proxy = Tinyproxy(path)
    proxy.start()
    try:
        proxy.wait_listening()
        conform(proxy=proxy.url, tls=tls)
    finally:
        proxy.stop()


def test_posix():
    conform()


def test_posix_with_threads():
    conform("threads")


def test_sockets():
    conform("sockets")


def test_proxy():
    with tempfile.TemporaryDirectory() as path:
        proxied(path)


def test_openssl():
    with tempfile.TemporaryDirectory() as path:
        conform(tls=certificate(path))


def test_openssl_over_proxy():
    with tempfile.TemporaryDirectory() as path:
        proxied(path, certificate(path))
