"""Brokers with real certificates, and gateways whose log is kept: NATS with
examples/gateway/nats-server.conf.

SPDX-License-Identifier: 0BSD
"""
import contextlib
import os
import shutil
import signal
import ssl
import subprocess
import tempfile
import time

import gateway_parts
from e2e import (BUILD, HANG_S, check, free_port, read_file, sandbox_of,
                 write_file)
from nats import Nats
from tls_certificates import ISSUER, SERVER, Certificates

CONFIG = os.path.join(os.path.dirname(__file__),
                      "../../examples/gateway/nats-server.conf")
CLIENT = SERVER.replace("serverAuth", "clientAuth").replace(
    "subjectAltName = {}\n", "")
USERS = ("GATEWAY_A", "GATEWAY_B", "CONSUMER", "ADMIN")


def bcrypt(password):
    """Hashes with the least work: the hash itself is not tested."""
    return subprocess.run(
        ["perl", "-e", 'print crypt($ARGV[0], "\\$2a\\$05\\$" . "a" x 22)',
         password], check=True, capture_output=True, text=True).stdout


class Folder:
    """A broker's folder with certificates of a server and of a client, both
    issued by "ca", and of another issuer."""

    def __init__(self):
        self.folder = tempfile.mkdtemp()
        certificates = Certificates(self.folder)
        for issuer in ("ca", "other"):
            certificates.issue(issuer, issuer, ISSUER)
        certificates.issue("server", "ca", SERVER.format("DNS:localhost"))
        certificates.issue("client", "ca", CLIENT)

    def path(self, name):
        return os.path.join(self.folder, name)

    def read(self, name):
        return read_file(self.path(name))

    def write(self, name, text, mode=0o600):
        return write_file(self.path(name), text, mode)


class Logged(gateway_parts.Logged):
    """A program whose output is checked."""

    def __init__(self, *arguments, **variables):
        self.launch(*arguments, **variables)

    def wait(self, status):
        check(self.process.wait(HANG_S) == status, self.said())
        return self.said()

    def end(self, number=signal.SIGTERM, status=0):
        self.signal(number)
        return self.wait(status)


class Broker(gateway_parts.Broker, Folder):
    """A broker with the configuration of examples/gateway/, or with this one.
    Folders and port are the test's."""

    def __init__(self, change=lambda text: text, config=None):
        Folder.__init__(self)
        self.port = free_port()
        text = config or read_file(CONFIG)
        for there, here in (("/etc/nats/", self.folder + "/"),
                            ("/var/lib/nats", self.path("store"))):
            text = text.replace(there, here)
        self.config = self.write("nats-server.conf", change(text))
        self.write("nats-passwords.conf", "".join(
            f'{user}: "{bcrypt(user.lower())}"\n' for user in USERS))
        self.prefix = ()
        try:
            self.start()
        except BaseException:
            self.remove()
            raise

    def client(self, user):
        context = ssl.create_default_context(cafile=self.path("ca.pem"))
        return Nats(self.port, context, user=user.lower().replace(
            "gateway_", ""), **{"pass": user.lower()})

    def remove(self):
        self.kill()
        shutil.rmtree(self.folder)


class Gateway(Logged):
    """A gateway of a sandbox. settings: more of [broker]; stream and lines:
    further lines of [stream] and [gateway]."""

    def __init__(self, broker, sandbox, name="a", stream="", lines="",
                 prefix=(), lease_ms=1000, **settings):
        values = {"url": f"tls://localhost:{broker.port}", "user": name,
                  "password_file": broker.write(
                      f"password-{name}", f"gateway_{name}\n"),
                  "ca": broker.path("ca.pem"), **settings}
        values = {key: value for key, value in values.items() if value}
        broker.write("secret", "sandbox-secret\n")
        ini = broker.write(f"{name}-{time.monotonic_ns()}.ini", "".join([
            f"[service]\nendpoints = {sandbox.endpoints}\n"
            f"client_id = sandbox-client\nsecret_file = secret\n"
            f"ca = {sandbox.ca}\n"
            f"[stream]\nmarkets = BTCUSD ETHUSD\n{stream}\n"
            f"[gateway]\nname = {name}\nlease_ms = {lease_ms}\n"
            f"last_book_ms = 1000\n{lines}\n[broker]\n",
            *(f"{key} = {value}\n" for key, value in values.items())]))
        super().__init__(ini + ".log", [
            *prefix, os.path.join(BUILD, "mini-stream-gateway"), ini],
            HOME=broker.folder)


@contextlib.contextmanager
def started(*arguments, kind=Broker, options=("--rate", "20"), **more):
    """A broker and a sandbox."""
    broker = kind(*arguments, **more)
    try:
        with sandbox_of(*options) as sandbox:
            yield broker, sandbox
    finally:
        broker.remove()


@contextlib.contextmanager
def running(broker, sandbox, *arguments, wanted="holds the lease",
            kind=Gateway, **settings):
    """A gateway, or a program of this kind, that has logged this."""
    program = kind(broker, sandbox, *arguments, **settings)
    try:
        program.until(f"broker: {wanted}")
        yield program
    except BaseException:
        program.kill()
        print(program.said())
        raise
    if program.process.poll() is None:
        program.end()
