"""The systemd unit: systemd accepts it, it starts an existing program and
allows all that a gateway calls, and a gateway accepts the secrets that systemd
passes.

systemd itself does not run here; the test makes a credential as systemd would,
which needs root.

SPDX-License-Identifier: 0BSD
"""
import os
import pathlib
import re
import shutil
import socket
import struct
import subprocess
import tempfile

from broker_lab import running, started
from e2e import (BUILD, HANG_S, check, environment_with, equal, run_program,
                 write_file)

AT_ONCE = 1

UNIT = os.path.join(os.path.dirname(__file__), "../../examples/gateway/"
                    "mini-stream-gateway@.service")
NOBODY = 65534
GATEWAY = """[service]
secret_file = secret
[broker]
user = a
password_file = password
url = what comes after the password
[gateway]
name = a
"""
# An access list: version 2; then tag, rights, id of owner, of a user, of the
# group, of the list as a whole, of others.
ACL = struct.pack("<I", 2) + b"".join(
    struct.pack("<HHI", *entry) for entry in (
        (1, 4, 2**32 - 1), (2, 4, NOBODY), (4, 0, 2**32 - 1),
        (16, 4, 2**32 - 1), (32, 0, 2**32 - 1)))


def changed_unit(folder, pattern, text):
    """The path of a copy of the unit with this text in place of the pattern."""
    unit = pathlib.Path(UNIT).read_text(encoding="ascii")
    return write_file(os.path.join(folder, os.path.basename(UNIT)),
                      re.sub(pattern, text, unit))


def analyze(*arguments):
    return run_program("systemd-analyze", *arguments,
                       stderr=subprocess.STDOUT)


def test_security(folder):
    """At most 20 of 100 points; more if system calls are not filtered."""
    done = analyze("security", "--offline=yes", "--threshold=20", UNIT)
    check(done.returncode == 0, done.stdout)
    path = changed_unit(folder, r"SystemCallFilter=.*\n", "")
    done = analyze("security", "--offline=yes", "--threshold=20", path)
    check(done.returncode != 0, done.stdout)


def test_verify(folder):
    """Every line is known, and the program exists."""
    program = os.path.abspath(os.path.join(BUILD, "mini-stream-gateway"))
    done = analyze("verify", changed_unit(
        folder, "/usr/local/bin/mini-stream-gateway", program))
    check(done.returncode == 0 and not done.stdout, done.stdout)


def calls(group):
    """The system calls of one of systemd's groups."""
    found = set()
    for line in analyze("syscall-filter", group).stdout.splitlines()[1:]:
        word = line.strip()
        if word.startswith("@"):
            found |= calls(word)
        elif word and not word.startswith("#"):
            found.add(word)
    return found


def test_system_calls():
    """A running gateway calls nothing that the unit's filter refuses."""
    filters = re.findall(r"^SystemCallFilter=(~?)(.*)",
                         pathlib.Path(UNIT).read_text(encoding="ascii"), re.M)
    allowed = set()
    for refused, groups in filters:
        for group in groups.split():
            allowed = allowed - calls(group) if refused else \
                allowed | calls(group)
    check(len(allowed) > 200, allowed)
    with started() as (broker, sandbox):
        trace = broker.path("trace")
        with running(broker, sandbox,
                     prefix=("strace", "-D", "-f", "-o", trace)):
            with broker.client("CONSUMER") as consumer:
                consumer.request("mst.snapshot.BTCUSD")
        called = set(re.findall(r"^\d+ +(\w+)\(", broker.read("trace"), re.M))
    check({"socket", "sendto"} & called, called)
    check(called <= allowed, called - allowed)


def test_notifications():
    """systemd learns when a gateway begins to run, and when it ends."""
    with started() as (broker, sandbox), \
            socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as notified:
        notified.bind(broker.path("notify"))
        notified.settimeout(HANG_S)
        with running(broker, sandbox, prefix=(
                "env", f"NOTIFY_SOCKET={broker.path('notify')}")):
            equal(b"READY=1", notified.recv(100))
        equal(b"STOPPING=1", notified.recv(100))


def objection(folder, name, text, mode, owner, acl=None):
    """What a gateway of the user nobody reports about a file with its secret,
    or about the URL, which is read next."""
    path = write_file(os.path.join(folder, name), text)
    os.chown(path, *owner)
    os.chmod(path, mode)
    if acl:
        os.setxattr(path, "system.posix_acl_access", acl)
    done = run_program(
        os.path.join(folder, "gateway"), os.path.join(folder, "gateway.ini"),
        user=NOBODY, group=NOBODY, extra_groups=[], env=environment_with(),
        stderr=subprocess.STDOUT)
    check(done.returncode == 3, done.stdout)
    os.unlink(path)
    return done.stdout


def test_credentials():
    check(os.geteuid() == 0, "needs to be root")
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        shutil.copy(os.path.join(BUILD, "mini-stream-gateway"),
                    os.path.join(folder, "gateway"))
        write_file(os.path.join(folder, "gateway.ini"), GATEWAY)
        for mode, owner, acl, pattern in (
                (0o400, (NOBODY, NOBODY), None, "url must be nats"),
                (0o440, (0, 0), ACL, "url must be nats"),
                (0o440, (NOBODY, NOBODY), None, "others have access"),
                (0o444, (0, 0), None, "others have access"),
                (0o440, (0, NOBODY), None, "belongs to another user"),
                (0o464, (0, 0), None, "belongs to another user"),
                (0o440, (1, NOBODY), None, "belongs to another user")):
            said = objection(folder, "password", "gateway_a\n", mode, owner,
                             acl)
            check(pattern in said, f"{mode:o} of {owner}: {said}")
