"""Start and end of the sandbox: its endpoints.json is always complete, and
exists only while the sandbox listens; --keep-ports.

SPDX-License-Identifier: 0BSD
"""
import contextlib
import ctypes
import os
import pathlib
import shutil
import signal
import socket
import struct
import tempfile
import urllib.parse

from e2e import (HANG_S, Sandbox, check, fixed_ports, free_port, refusal,
                 write_file)

# inotify(7)
MODIFIED, RENAMED, CREATED, REMOVED = 0x2, 0x80, 0x100, 0x200


@contextlib.contextmanager
def running(state, *options):
    sandbox = Sandbox(state, *options)
    try:
        sandbox.wait_ready()
        yield sandbox
    finally:
        sandbox.kill()


def ports(sandbox):
    return [urllib.parse.urlsplit(url).port for url in sandbox.urls.values()]


def test_signals_remove_the_file():
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        with tempfile.TemporaryDirectory() as state:
            with running(state) as sandbox:
                sandbox.process.send_signal(number)
                check(sandbox.process.wait(HANG_S) == 0, number)
                check(not os.path.exists(sandbox.endpoints), number)


def test_the_file_of_one_that_was_killed_is_removed_first(state):
    with running(state) as sandbox:
        before = ports(sandbox)
    check(os.path.exists(sandbox.endpoints), "kill -9 leaves it")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        refusal("--state", state, "--ws-port", str(taken.getsockname()[1]))
    check(not os.path.exists(sandbox.endpoints), "that start removes it")
    with running(state) as sandbox:
        check(ports(sandbox) != before, "free ports")


def files_of(state):
    return {name: pathlib.Path(state, name).read_bytes()
            for name in os.listdir(state)}


def test_the_file_of_another_stays(state):
    with running(state) as first:
        before = files_of(state)
        said = refusal("--state", state)
        check(f"{state}: in use by process {first.process.pid}\n" in said, said)
        check(files_of(state) == before, "the first's files")
    with running(state) as second:
        write_file(second.endpoints, "another's")
        check(second.terminate() == 0, "it ends")
        check(os.path.exists(second.endpoints), "the other's file")


def test_a_state_for_others(folder):
    """A folder that others can read or change is refused, unchanged."""
    state, elsewhere = (os.path.join(folder, name) for name in "se")
    pathlib.Path(elsewhere).write_bytes(b"precious")

    def refused(why, path=state):
        before = files_of(state)
        said = refusal("--state", path)
        check(why in said, said)
        check(files_of(state) == before, os.listdir(state))

    os.mkdir(state)
    for mode in (0o777, 0o750, 0o701):
        os.chmod(state, mode)
        refused("open to other users")
    os.chmod(state, 0o700)
    os.symlink(state, os.path.join(folder, "link"))
    refused("a symbolic link", os.path.join(folder, "link"))
    for name in ("ca.pem", "ports.json", "addresses.db", "lock"):
        path = os.path.join(state, name)
        os.symlink(elsewhere, path)
        refused(f"{name}: not a regular file")
        os.unlink(path)
    if os.geteuid() == 0:
        os.chown(state, 1, 1)
        refused("belongs to another user")
        os.chown(state, 0, 0)
    check(pathlib.Path(elsewhere).read_bytes() == b"precious", "overwritten")
    for lock in "", "mine\n":
        for name in ("endpoints.json", "ca.pem", "addresses.db", "ports.json",
                     "server-key.pem", "addresses.db-journal", "lock"):
            write_file(os.path.join(state, "lock"), lock)
            write_file(os.path.join(state, name), "mine\n")
            refused(": not written by a sandbox, left as it is")
            os.unlink(os.path.join(state, name))
    write_file(os.path.join(state, "notes"), "mine\n")
    with running(state):
        mode = os.stat(os.path.join(state, "addresses.db")).st_mode
        check(mode & 0o777 == 0o600, "addresses.db")


def changes_of(watch, name):
    """The masks of all events that inotify saw for the file of this name."""
    data, found = os.read(watch, 1 << 20), []
    while data:
        _, mask, _, length = struct.unpack_from("iIII", data)
        if data[16:16 + length].rstrip(b"\0") == name:
            found.append(mask)
        data = data[16 + length:]
    return found


def test_the_file_is_whole_whenever_it_is_there():
    """It gets its name when it is complete, and is never written to."""
    libc = ctypes.CDLL(None, use_errno=True)
    with tempfile.TemporaryDirectory() as state:
        watch = libc.inotify_init1(os.O_NONBLOCK)
        check(libc.inotify_add_watch(watch, state.encode(), MODIFIED | RENAMED
                                     | CREATED | REMOVED) > 0, "inotify")
        try:
            with running(state) as sandbox:
                check(set(sandbox.urls) >= {"ws_url", "auth_url", "base_url"},
                      sandbox.urls)
                sandbox.process.terminate()
                sandbox.process.wait(HANG_S)
            changes = changes_of(watch, b"endpoints.json")
        finally:
            os.close(watch)
        check(changes == [RENAMED, REMOVED], f"changes {changes}")
        left = set(os.listdir(state))
        check(not any(name.startswith("endpoints") for name in left), left)


def test_keep_ports(state):
    with running(state, "--keep-ports", *fixed_ports()) as sandbox:
        kept = ports(sandbox)
    with running(state, "--keep-ports") as sandbox:  # after kill -9, too
        check(ports(sandbox) == kept, "the same ports")
        with tempfile.TemporaryDirectory() as other:
            shutil.copytree(state, other, dirs_exist_ok=True)
            error = refusal("--state", other, "--keep-ports")
        check(f"--keep-ports: cannot listen on port {kept[0]}" in error
              and "in use" in error, error)
    with running(state) as sandbox:
        check(ports(sandbox) != kept, "not asked, not kept")
    with running(state, *fixed_ports()) as sandbox:
        last = ports(sandbox)
    with running(state, "--keep-ports") as sandbox:
        check(ports(sandbox) == last, "those of the last start")
    other = free_port()
    with running(state, "--keep-ports", "--ws-port", str(other)) as sandbox:
        check(ports(sandbox) == [other, *last[1:]], "an option is first")


def test_ports_that_are_damaged(state):
    with running(state):
        path = os.path.join(state, "ports.json")
    for text, said in (
            ("", f"{path}:1: "), ('{"ws":1,\n"auth"', f"{path}:2: "),
            ("[]", f"{path}: must be an object"),
            ('{"ws":1,"auth":1}', f"{path}: api is missing"),
            ('{"ws":1,"auth":1,"api":"1"}', f"{path}: api must be"),
            ('{"ws":1,"auth":0,"api":1}', f"{path}: auth must be a whole "
             "number from 1 to 65535")):
        write_file(path, text)
        error = refusal("--state", state, "--keep-ports")
        check(said in error, f"{text!r}: {error}")
