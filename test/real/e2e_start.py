"""Unusual starts of programs: inherited descriptors, signals and limits, paths
of existing files, text settings; and a service that sends garbage without end.

SPDX-License-Identifier: 0BSD
"""
import contextlib
import fcntl
import functools
import io
import json
import os
import signal
import ssl
import stat
import subprocess
import time

from e2e import (BUILD, HANG_S, SANDBOX, TOOL, Sandbox, check, equal, killed,
                 read_file, run_program, sandbox_of, sockets_of, wait_for,
                 write_file)
from tls_lab import TEXT, Peer, Server, frame, read_frame, upgrade

PEM2C = os.path.join(BUILD, "pem2c")
MARK = "\ufeff"  # a byte order mark


class IgnoresInterrupts(Sandbox):
    command = ("env", "--ignore-signal=INT", SANDBOX)


put = functools.partial(write_file, mode=0o600)


# ---- Files of others ----

def test_token_file_of_another_kind_is_left_alone(sandbox):
    notes = put(f"{sandbox.state}/notes", "my notes\n")
    paths = [notes, f"{sandbox.state}/pipe", f"{sandbox.state}/link",
             write_file(f"{sandbox.state}/shared",
                        "mini_stream-tokens 3\nend\n", 0o640)]
    os.mkfifo(paths[1])
    os.symlink("notes", paths[2])
    if os.geteuid() == 0:
        paths.append(f"{sandbox.state}/null")
        os.mknod(paths[-1], stat.S_IFCHR | 0o600, os.makedev(1, 3))
    for path in paths:
        before = os.lstat(path)
        _, said = sandbox.stream_until("--token-file", "--token-file", path,
                                       "BTCUSD")
        check("left as it is" in said, said)
        after = os.lstat(path)
        equal((after.st_ino, after.st_mode, after.st_mtime_ns),
              (before.st_ino, before.st_mode, before.st_mtime_ns), path)
        check(not os.path.exists(path + ".lock"), "a lock")
    equal(read_file(notes), "my notes\n")
    empty = put(f"{sandbox.state}/empty", "")  # as after a power failure
    _, said = sandbox.stream_until("open - ", "--token-file", empty, "BTCUSD")
    check(read_file(empty).startswith("mini_stream-tokens "), said)


def test_output_of_another_kind_is_left_alone(sandbox):
    """A file of the same format is replaced; a device is written to."""
    for form in "text", "json", "csv":
        options = ("--format", form, "-s", "0.01", "BTCUSD", "-o")
        for text in "my notes\n", '{"v":1}\n', "v,w\n":
            path = put(f"{sandbox.state}/notes", text)
            done = sandbox.run("stream", *options, path)
            equal(read_file(path), text)
            check(done.returncode == 7 and "left as it is" in done.stderr, done)
        for path in put(f"{sandbox.state}/empty", ""), f"{sandbox.state}/new":
            for _ in range(1 if form == "text" else 2):
                done = sandbox.run("stream", *options, path)
                check("--output" not in done.stderr, done)
                check(os.path.getsize(path) > 0 or form == "text", path)
            os.unlink(path)
        done = sandbox.run("stream", *options, "/dev/null")
        check("--output" not in done.stderr, done)


# ---- Descriptors, signals, limits ----

@contextlib.contextmanager
def full_pipe():
    """A full pipe with a non-blocking writer."""
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    os.write(writer, bytes(fcntl.fcntl(writer, fcntl.F_SETPIPE_SZ, 4096)))
    with open(reader, "rb") as out:
        yield out, writer


def begin_to_read(out, writer):
    os.close(writer)
    time.sleep(1)  # the program most likely waits for room by then
    out.read(4096)


def test_stream_into_a_pipe_that_does_not_wait(sandbox):
    """No line is lost, however late the pipe is read."""
    with full_pipe() as (out, writer):
        process = sandbox.start("stream", "--format", "json", "-q", "BTCUSD",
                                "ETHUSD", stdout=writer, stderr=None)
        begin_to_read(out, writer)
        lines = [out.readline() for _ in range(200)]
        process.send_signal(signal.SIGINT)
        lines += out
        equal(process.wait(HANG_S), 0)
    things = [json.loads(line) for line in lines]
    equal([each["sequence"] for each in things],
          list(range(1, len(things) + 1)))
    equal(things[-1]["type"], "end")


def test_stream_into_a_pipe_that_is_not_read(sandbox):
    """It ends soon after --seconds, even if errors go there, too."""
    for blocking, both in (False, False), (True, False), (True, True):
        with full_pipe() as (_, writer):
            os.set_blocking(writer, blocking)
            process = sandbox.start(
                "stream", "-s", "1", "-f", "json", "BTCUSD", stdout=writer,
                stderr=writer if both else subprocess.PIPE)
            _, said = process.communicate(timeout=HANG_S)
            check(both or said.endswith(
                "mini-stream: standard output: not read until the end of "
                "--seconds\n"), said)
            equal(process.returncode, 7)


def test_other_pipes_that_do_not_wait():
    for program in [PEM2C, "/etc/ssl/certs/ca-certificates.crt"], [TOOL]:
        done = run_program(*program, text=False)
        name = "stdout" if done.stdout else "stderr"
        with full_pipe() as (out, writer):
            process = subprocess.Popen(program, **{name: writer})
            begin_to_read(out, writer)
            check(out.read() == getattr(done, name), f"{program}: {name}")
            equal(process.wait(HANG_S), done.returncode)


def test_signals_that_are_ignored_stay_ignored():
    """As nohup ignores them, and a shell without job control."""
    with sandbox_of("--rate", "50", kind=IgnoresInterrupts) as sandbox:
        sandbox.process.send_signal(signal.SIGINT)
        process = sandbox.start("stream", "BTCUSD",
                                before=("env", "--ignore-signal=HUP"))
        process.stdout.readline()
        process.send_signal(signal.SIGHUP)
        for _ in range(100):
            check(process.stdout.readline(), "it has ended")
        process.terminate()
        process.communicate(timeout=HANG_S)
        equal((process.returncode, sandbox.process.poll()), (0, None))


def test_descriptors_that_are_closed(sandbox):
    """No socket keeps the number of a standard stream."""
    closed = ["sh", "-c", 'exec "$@" <&- >&- 2>&-', "sh"]
    secret = put(f"{sandbox.state}/secret", "sandbox-secret")
    gateway = put(f"{sandbox.state}/gateway.ini",
                  "[service]\nendpoints = endpoints.json\nca = ca.pem\n"
                  f"client_id = sandbox-client\nsecret_file = {secret}\n"
                  "[stream]\nmarkets = BTCUSD\n[gateway]\nname = a\n"
                  "[broker]\nurl = nats://127.0.0.1:1\n")
    programs = [[TOOL, "stream", *sandbox.arguments, "-o/dev/null", "BTCUSD"],
                [os.path.join(BUILD, "first")],
                [SANDBOX, "--state", f"{sandbox.state}/another"],
                [os.path.join(BUILD, "mini-stream-gateway"), gateway]]
    for program in programs:
        if not os.path.exists(program[0]):
            continue  # the gateway's tests build it
        with killed(subprocess.Popen([*closed, *program],
                                     env=sandbox.environment())) as process:
            # The port moves a new socket; the C library's are soon gone.
            wait_for(lambda p=process: min(sockets_of(p), default=0) > 2,
                     program, process=process)


def test_limit_of_file_size(sandbox):
    """A named error and status 7, as with a full disk."""
    limit = ("prlimit", "--fsize=1024")
    path = f"{sandbox.state}/out"
    for arguments, where in ((("stream", "--format", "json", "BTCUSD"),
                              "standard output"),
                             (("stream", "--format", "csv", "-o", path,
                               "BTCUSD"), path),
                             (("stream", "-q", "--record", path + "r",
                               "--format", "json", "--count", "50",
                               "BTCUSD"),
                              "recording: " + path + "r")):
        with open(path + "o", "wb") as out:
            done = sandbox.run(*arguments, before=limit, stdout=(
                out if where == "standard output" else subprocess.DEVNULL))
        equal(done.returncode, 7, done)
        check(f"mini-stream: {where}: File too large" in done.stderr, done)
    with open(path + "o", "wb") as out:
        done = run_program(*limit, PEM2C, sandbox.ca, stdout=out)
    equal((done.returncode, done.stderr),
          (7, "pem2c: standard output: File too large\n"))
    for size, name in ((0, "lock"), (10, "lock"), (100, "ca-key.pem"),
                       (4096, "addresses.db")):
        state = f"{sandbox.state}/{size}"
        done = run_program("prlimit", f"--fsize={size}", SANDBOX, "--state",
                           state)
        equal(done.returncode, 7, done)
        check(f"{name}: File too large\n" in done.stderr, done)
        with sandbox_of(state=state):  # the next start continues
            pass


# ---- Text settings ----

def test_text_settings(sandbox):
    """Byte order marks and line ends around it are removed and reported."""
    state = sandbox.state
    ca = put(f"{state}/marked.pem",
             MARK + read_file(sandbox.ca).replace("\n", "\r\n"))
    endpoints = put(f"{state}/marked.json",
                    MARK + read_file(sandbox.endpoints) + "\r\n")
    secret = put(f"{state}/marked", MARK + "sandbox-secret\r\n")
    profile = put(f"{state}/marked.ini",
                  f"{MARK}[service]\r\nendpoints = {endpoints}\r\n"
                  f"secret_file = {secret}\r\n")
    options = ("-v", "--client-id", f"{MARK}sandbox-client\r\n", "--ca",
               ca + "\r", "BTCUSD")
    client = "client_id from option: removed a byte order mark and line ends\n"
    anchors = f"{ca}: removed a byte order mark\n"
    code, said = sandbox.stream_until(
        "open - ", *options, MINI_STREAM_TLS="bearssl\n",
        MINI_STREAM_CLIENT_SECRET=f"\n{MARK}sandbox-secret\r\n",
        HTTPS_PROXY=f"\n{MARK}http://localhost:1", no_proxy="a\r\n")
    both = "removed a byte order mark and line ends\n"
    for what in (client, anchors, "tls from environment: removed line ends\n",
                 "secret from MINI_STREAM_CLIENT_SECRET: " + both,
                 "HTTPS_PROXY: " + both, "no_proxy: removed line ends\n"):
        check(what in said and code == 0, said)
    sandbox.arguments = ("--profile", profile)
    code, said = sandbox.stream_until(
        "open - ", "--tls", "openssl", *options, MINI_STREAM_CLIENT_SECRET="")
    for what in (client, anchors, f"the secret from {secret}: removed a byte",
                 f"{endpoints}: removed a byte", f"{profile}: removed a byte"):
        check(what in said and code == 0, said)
    for options, what in (
            ({"client": "a\nb"}, "client_id from option"),
            ({"secret": "a\nb"}, "MINI_STREAM_CLIENT_SECRET")):
        done = sandbox.run("stream", "BTCUSD", **options)
        equal((done.returncode, done.stderr),
              (3, f"mini-stream: {what}: not one line of text\n"))


# ---- Garbage ----

def test_garbage_without_end(sandbox):
    """Repeated messages are counted instead of printed."""
    def message(kind, amount):
        return frame(TEXT, json.dumps({"channel": "market_data", "payload": {
            "market": "BTCUSD", "type": kind, "time": "2026-01-02T03:04:05Z",
            "bids": [{"price": "1.5", "amount": amount}],
            "asks": []}}).encode())

    def serve(connection):
        peer = Peer(connection, context)
        peer.handshake()
        peer.send(upgrade(peer.request()))
        asked = io.BytesIO(peer.read().encode("latin-1"))
        asked = json.loads(read_frame(asked.read)[2])
        for channel in asked["channels"]:
            channel["success"] = True
        peer.send(frame(TEXT, json.dumps(asked).encode()))
        peer.send(message("SNAPSHOT", "1"))
        peer.send((message("UPDATE", "x") + message("SNAPSHOT", "1")) * 5000)
        peer.end(notify=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(f"{sandbox.state}/server.pem",
                            f"{sandbox.state}/server-key.pem")
    with Server(serve) as server:
        begin_s = time.monotonic()
        done = sandbox.run("stream", "--ws-url",
                           f"wss://localhost:{server.port}", "--format", "json",
                           "--fail-on-disconnect", "BTCUSD")
        passed_s = time.monotonic() - begin_s
    things = [json.loads(line) for line in done.stdout.splitlines()]
    told = [each for each in things if each["type"] in ("book", "error")]
    rest = [each["count"] for each in things if each["type"] == "left_out"]
    check(len(rest) <= 2 + passed_s / 10, f"{len(rest)} in {passed_s} s")
    check(len(told) < 150 * len(rest), f"{len(told)} lines, {done.stderr}")
    check(sum(rest) > 4000, f"{rest} of {len(things)}")
