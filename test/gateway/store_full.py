"""A broker without room. If its disk is full, the gateways keep their messages,
and nothing is missing once it has room and runs again. (This version of the
server stops responding and must be restarted.) The disk is a small one in
memory, in the test's mount namespace, which needs root or user namespaces. Or
the broker has stored as much as it may and refuses the rest.

SPDX-License-Identifier: 0BSD
"""
import contextlib
import os
import signal
import subprocess
import tempfile
import time

from e2e import HANG_S, check, wait_for
from gateway import Lab


@contextlib.contextmanager
def small_disk(folder):
    """(a command prefix whose programs see a small disk in this folder, that
    folder's path from outside)"""
    with subprocess.Popen(
            ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c",
             'mount -t tmpfs -o size=16m tmpfs "$1" && echo ready && '
             "exec cat", "small", folder],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
        check(holder.stdout.readline() == b"ready\n", "no small disk")
        yield (["nsenter", "--user", "--mount", "--preserve-credentials",
                "--target", str(holder.pid)],
               f"/proc/{holder.pid}/root{folder}")


def test_disk_full():
    with tempfile.TemporaryDirectory() as folder, small_disk(folder) as (
            prefix, disk), Lab(prefix=prefix, store=folder) as lab:
        since = lab.begin("a", "b")
        filler = os.path.join(disk, "filler")
        with open(filler, "wb", buffering=0) as file:
            with contextlib.suppress(OSError):
                while True:  # up to the last byte
                    file.write(bytes(65536))
        time.sleep(8)
        shown = [len(each.shown) for each in lab.consumers]
        time.sleep(2)
        check(not any(book.live for each, count in zip(lab.consumers, shown)
                      for book in each.shown[count:]), "the broker had room")
        os.unlink(filler)
        lab.broker.restart()
        lab.ends_equal(since)


def make_streams(nats):
    """The gateway's streams, which together may use all of the broker's
    storage, and one that does."""
    for word in ("book", "top", "execution", "note"):
        nats.create(word)
    nats.api("STREAM.CREATE.filler", name="filler", subjects=["filler"],
             storage="file")


def use_up(nats):
    """Fills the broker's storage."""
    while b'"error"' not in (said := nats.request("filler", bytes(65536))):
        pass
    check(b"insufficient resources" in said, said)


def test_all_that_it_may_store():
    """Messages that find no room in the queue are reported; all works again
    once the broker, which is not restarted, has room."""
    with Lab("--rate", "100", room="16MB") as lab, lab.nats() as nats:
        make_streams(nats)
        since = lab.begin("a", queue=16, metrics=True)
        gateway = lab.gateways["a"]
        use_up(nats)
        wait_for(lambda: gateway.figure("executions_lost_total") > 50,
                 "executions that find no room")
        wait_for(lambda: not gateway.holds(), "no lease")
        check(nats.api("STREAM.PURGE.filler")["success"], "not purged")
        said = gateway.said().count("broker: refused: insufficient resources")
        check(1 <= said <= 1 + (time.time() - since) / 60,
              f"the reason is said {said} times")
        lab.wait_equal()
        lab.check_lost(since)
        lab.check_books()
        lab.check_sessions()
        check(gateway.figure("broker_connections_total") == 1, "connected anew")


def test_end_without_room():
    """A gateway that must end keeps sending: there is room again soon."""
    with Lab("--rate", "100", room="16MB") as lab, lab.nats() as nats:
        make_streams(nats)
        lab.begin("a", metrics=True)
        gateway = lab.gateways["a"]
        use_up(nats)
        wait_for(lambda: gateway.figure("queue_messages") > 50, "a queue")
        gateway.signal(signal.SIGTERM)
        time.sleep(0.5)
        check(nats.api("STREAM.PURGE.filler")["success"], "not purged")
        check(gateway.process.wait(HANG_S) == 0, "the gateway's status")
        check("were not stored" not in gateway.said(), gateway.said())
