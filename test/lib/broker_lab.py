"""A broker with examples/gateway/nats-server.conf, and a gateway beside it.

SPDX-License-Identifier: 0BSD
"""
import contextlib
import glob
import json
import os
import re
import shutil
import signal
import ssl
import subprocess
import tempfile
import time

from e2e import BUILD, HANG_S, Sandbox, check, environment_with
from nats_client import Nats
from tls_certificates import ISSUER, SERVER, Certificates

CONFIG = os.path.join(os.path.dirname(__file__),
                      "../../examples/gateway/nats-server.conf")
CLIENT = SERVER.replace("serverAuth", "clientAuth").replace(
    "subjectAltName = {}\n", "")
USERS = ("GATEWAY_A", "GATEWAY_B", "CONSUMER", "ADMIN")


def wait_for(condition, what):
    end = time.monotonic() + HANG_S
    while not condition():
        check(time.monotonic() < end, f"never: {what}")
        time.sleep(0.05)


def bcrypt(password):
    """With little work: the test is none of the hash."""
    return subprocess.run(
        ["perl", "-e", 'print crypt($ARGV[0], "\\$2a\\$05\\$" . "a" x 22)',
         password], check=True, capture_output=True, text=True).stdout


class Broker:
    """A broker with the configuration of examples/gateway/, whose folders are
    the test's, or with another one."""

    def __init__(self, change=lambda text: text, config=None):
        self.folder = tempfile.mkdtemp()
        certificates = Certificates(self.folder)
        for issuer in ("ca", "other"):
            certificates.issue(issuer, issuer, ISSUER)
        certificates.issue("server", "ca", SERVER.format("DNS:localhost"))
        certificates.issue("client", "ca", CLIENT)
        with open(CONFIG, encoding="ascii") as file:
            text = config or file.read()
        text = text.replace("/etc/nats/", self.folder + "/").replace(
            "/var/lib/nats", self.folder + "/store")
        self.write("nats-server.conf", change(text))
        self.write("nats-passwords.conf", "".join(
            f'{user}: "{bcrypt(user.lower())}"\n' for user in USERS))
        with open(self.path("log"), "wb") as log:
            self.process = subprocess.Popen(
                ["nats-server", "-c", self.path("nats-server.conf"), "-p", "-1",
                 "--ports_file_dir", self.folder], stdin=subprocess.DEVNULL,
                stdout=log, stderr=log)
        try:
            wait_for(self.find_port, "the broker's port")
        except BaseException:
            self.kill()
            raise

    def find_port(self):
        check(self.process.poll() is None, self.read("log"))
        for name in glob.glob(self.path("*.ports")):
            with contextlib.suppress(ValueError):
                url = json.loads(self.read(os.path.basename(name)))["nats"][0]
                self.port = int(url.rsplit(":", 1)[1])
                return True
        return False

    def path(self, name):
        return os.path.join(self.folder, name)

    def read(self, name):
        with open(self.path(name), encoding="utf-8") as file:
            return file.read()

    def write(self, name, text, mode=0o600):
        with open(self.path(name), "w", encoding="ascii") as file:
            file.write(text)
        os.chmod(self.path(name), mode)
        return self.path(name)

    def client(self, user):
        context = ssl.create_default_context(cafile=self.path("ca.pem"))
        return Nats(self.port, context, user=user.lower().replace(
            "gateway_", ""), **{"pass": user.lower()})

    def pause(self):
        self.process.send_signal(signal.SIGSTOP)

    def go_on(self):
        self.process.send_signal(signal.SIGCONT)

    def kill(self):
        self.process.kill()
        self.process.wait()
        shutil.rmtree(self.folder)


class Gateway:
    """A gateway of a sandbox; settings of [broker] beside the usual ones, lines
    of other sections."""

    def __init__(self, broker, sandbox, name="a", stream="", gateway="",
                 **settings):
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
            f"[gateway]\nname = {name}\nlease_ms = 1000\n"
            f"last_book_ms = 1000\n{gateway}\n[broker]\n",
            *(f"{key} = {value}\n" for key, value in values.items())]))
        self.log = ini + ".log"
        with open(self.log, "wb") as log:
            self.process = subprocess.Popen(
                [os.path.join(BUILD, "mini-stream-gateway"), ini],
                env=environment_with(HOME=broker.folder, TZ="UTC"),
                stdin=subprocess.DEVNULL, stdout=log, stderr=log)

    def said(self):
        with open(self.log, encoding="utf-8") as file:
            return file.read()

    def until(self, pattern):
        wait_for(lambda: re.search(pattern, self.said())
                 or self.process.poll() is not None, pattern)
        check(re.search(pattern, self.said()), self.said())

    def wait(self, status):
        check(self.process.wait(HANG_S) == status, self.said())
        return self.said()

    def end(self):
        self.process.send_signal(signal.SIGTERM)
        return self.wait(0)


@contextlib.contextmanager
def started(*arguments, **options):
    """A broker and a sandbox."""
    broker = Broker(*arguments, **options)
    try:
        sandbox = Sandbox(tempfile.mkdtemp(), "--rate", "20")
        try:
            sandbox.wait_ready()
            yield broker, sandbox
        finally:
            sandbox.kill()
            shutil.rmtree(sandbox.state)
    finally:
        broker.kill()


@contextlib.contextmanager
def running(broker, sandbox, wanted="holds the lease", **settings):
    """A gateway that has said this."""
    gateway = Gateway(broker, sandbox, **settings)
    try:
        gateway.until(f"broker: {wanted}")
        yield gateway
    except BaseException:
        gateway.process.kill()
        gateway.process.wait()
        print(gateway.said())
        raise
    if gateway.process.poll() is None:
        gateway.end()
