"""Reports about machines that stop, terminals, shells and files (README.md, 55
and 61 to 80), with the sandbox.

SPDX-License-Identifier: 0BSD
"""
import contextlib
import fcntl
import json
import os
import pty
import resource
import signal
import struct
import subprocess
import termios
import threading
import time
import types
import urllib.parse

from e2e import (HANG_S, TOOL, Sandbox, check, equal, fixed_ports, processor_s,
                 read_file, run_program, sandbox_of, wait_for)
from gateway_parts import Way

COMPLETION = "port/install/mini-stream.bash"


class Said:
    """A stream and its output so far, line by line."""

    def __init__(self, sandbox, *arguments, **options):
        self.lines = []
        self.process = sandbox.start("stream", "BTCUSD", *arguments,
                                     stderr=subprocess.STDOUT, **options)
        threading.Thread(target=self.read, daemon=True).start()

    def read(self):
        for line in self.process.stdout:
            self.lines.append(line)

    def has(self, text, since=0):
        return any(text in line for line in self.lines[since:])

    def until(self, text, since=0):
        wait_for(lambda: self.has(text, since), lambda: f"{text}: {self.lines}",
                 process=self.process)

    def end(self):
        self.process.send_signal(signal.SIGINT)
        equal(0, self.process.wait(HANG_S))


def test_stopped_for_longer_than_its_limits():
    """Data that arrived meanwhile counts: a good connection stays."""
    with sandbox_of("--rate", "20") as sandbox:
        said = Said(sandbox, "--set", "heartbeat_ms=1000", "--set",
                    "silence_ms=6000")
        said.until("heartbeat")
        time.sleep(2.5)  # heartbeats come each second
        said.process.send_signal(signal.SIGSTOP)
        time.sleep(8)
        since = len(said.lines)
        said.process.send_signal(signal.SIGCONT)
        wait_for(lambda: len(said.lines) > since + 100, "more data")
        check(not said.has("closed"), said.lines)
        said.end()


def test_looks_alive():
    """A stopped service is noticed and its books become stale. Once it
    continues, they are live again."""
    with sandbox_of("--rate", "20") as sandbox:
        said = Said(sandbox, "--set", "heartbeat_ms=1000")
        said.until("heartbeat")
        time.sleep(2.5)
        sandbox.process.send_signal(signal.SIGSTOP)
        said.until("closed - no heartbeats come")
        said.until("book - BTCUSD stale")
        used, since = processor_s(said.process.pid), len(said.lines)
        time.sleep(2)
        check(processor_s(said.process.pid) - used < 1, "it does not sleep")
        sandbox.process.send_signal(signal.SIGCONT)
        said.until("book - BTCUSD live", since)
        said.end()


def test_closed_at_once():
    """For a while each connection is closed at once: the client waits between
    attempts, and a later one succeeds."""
    with sandbox_of() as sandbox:
        way = Way(types.SimpleNamespace(
            port=urllib.parse.urlsplit(sandbox.urls["ws_url"]).port))
        way.cut()
        said = Said(sandbox, "--ws-url", f"wss://localhost:{way.port}", "--set",
                    "backoff_max_ms=2000")
        wait_for(lambda: sum("next attempt in" in line
                             for line in said.lines) >= 6, "attempts")
        check(processor_s(said.process.pid) < 2, "it does not wait")
        way.mend()
        said.until("book - BTCUSD live")
        said.end()


@contextlib.contextmanager
def watching(sandbox, size=(24, 80), ignored=(), **variables):
    """Runs mini-stream watch on a new terminal. Yields (process, terminal,
    what the process has of it)."""
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", *size, 0, 0))

    def begin():
        os.setsid()
        fcntl.ioctl(0, termios.TIOCSCTTY, 0)
        for number in ignored:
            signal.signal(number, signal.SIG_IGN)

    process = sandbox.start(
        "watch", "BTCUSD", stdin=slave, stdout=slave, stderr=slave,
        preexec_fn=begin, text=False,
        variables={"TERM": "xterm", "LC_ALL": "C.UTF-8", **variables})
    try:
        yield process, master, slave
    finally:
        process.kill()
        process.wait()
        os.close(slave)


def shown(master, text):
    seen = b""
    while text not in seen:
        seen += os.read(master, 65536)
    return seen


def test_terminal():
    """It is closed while SIGHUP is ignored; its mode was changed while the
    program was stopped; it has no size; it has no UTF-8."""
    with sandbox_of() as sandbox:
        with watching(sandbox, ignored=(signal.SIGHUP,)) as (
                process, master, _):
            shown(master, b"live")
            os.close(master)
            process.wait(HANG_S)
        with watching(sandbox, size=(0, 0)) as (process, master, slave):
            shown(master, b"live")
            check(not fcntl.fcntl(slave, fcntl.F_GETFL) & os.O_NONBLOCK,
                  "the terminal does not block any more")
            mode = termios.tcgetattr(master)
            process.send_signal(signal.SIGSTOP)
            mode[3] |= termios.ICANON | termios.ECHO
            termios.tcsetattr(master, termios.TCSANOW, mode)
            process.send_signal(signal.SIGCONT)
            wait_for(lambda: not termios.tcgetattr(master)[3] & termios.ICANON,
                     "keys one by one")
        for locale in ("POSIX", "xx_YY.UTF-8"):
            with watching(sandbox, LC_ALL=locale) as (_, master, _):
                seen = shown(master, b"#")  # a bar
                check(seen.isascii(), seen)


def test_many_descriptors():
    """Sockets with numbers too large for select()."""
    with sandbox_of() as sandbox, contextlib.ExitStack() as stack:
        resource.setrlimit(resource.RLIMIT_NOFILE, (4096, resource.getrlimit(
            resource.RLIMIT_NOFILE)[1]))
        for _ in range(1100):
            os.set_inheritable(stack.enter_context(open("/dev/null")).fileno(),
                               True)
        for tls in ("fast", "openssl"):
            said = Said(sandbox, "--tls", tls, close_fds=False)
            said.until("book - BTCUSD live")
            said.end()


def test_rotated_output():
    """The output is copied and truncated, as by logrotate's copytruncate: it
    continues at the new beginning. SIGHUP ends the stream properly."""
    with sandbox_of("--rate", "50") as sandbox:
        path = os.path.join(sandbox.state, "data")
        for arguments, out in ((("--output", path), "/dev/null"), ((), path)):
            with open(path, "w"), open(out, "a") as file:
                process = sandbox.start("stream", "--format", "json", "BTCUSD",
                                        *arguments, stdout=file)
            for _ in range(3):
                wait_for(lambda: os.path.getsize(path) > 20000, "data")
                os.truncate(path, 0)
            process.send_signal(signal.SIGHUP)
            equal(0, process.wait(HANG_S), process.stderr.read())
            text = read_file(path)
            check("\0" not in text, "it continues where the old file ended")
            lines = text.splitlines()
            for line in lines[1:]:  # the first may have begun before
                json.loads(line)
            equal("end", json.loads(lines[-1])["type"], arguments)


def test_replaced_ca():
    """Service and CA file get another certificate: a running program names the
    reason and waits between attempts; one that is started then works."""
    ports = fixed_ports()
    with sandbox_of(*ports) as sandbox:
        old = Said(sandbox)
        old.until("book - BTCUSD live")
        sandbox.kill()
        for name in ("ca-key", "ca", "server-key", "server"):
            os.unlink(os.path.join(sandbox.state, name + ".pem"))
        other = Sandbox(sandbox.state, *ports)
        try:
            other.wait_ready()
            old.until("issuer")
            new = Said(other)
            new.until("book - BTCUSD live")
            new.end()
            said = [each for each in old.lines if "issuer" in each]
            check("permanent" in said[0] and len(said) < 3, said)
            old.end()
        finally:
            other.kill()


def completed(options, source, word="--fo"):
    return run_program(
        "bash", "--norc", "-c", f"{options}\n{source}\n. {COMPLETION}\n"
        f"COMP_WORDS=({TOOL} stream {word}) COMP_CWORD=2 COMP_POINT=99\n"
        f"COMP_LINE='{TOOL} stream {word}' COMPREPLY=()\n"
        "compopt() { :; }\n"
        f"_mini_stream {TOOL} {word} stream\necho ${{COMPREPLY[*]-}}")


def test_completion():
    """With common options of shells. Without the package that it needs, it is
    silent."""
    package = ". /usr/share/bash-completion/bash_completion"
    for options in ("set -u", "set -f", "shopt -s nullglob", "set -C"):
        done = completed(options, package)
        equal(("--format=\n", ""), (done.stdout, done.stderr), options)
        done = completed(options, package, "--none")
        equal(("\n", ""), (done.stdout, done.stderr), options)
    done = completed("", "")
    equal(("\n", ""), (done.stdout, done.stderr))


def test_scripts_can_be_run():
    """Shell scripts can be executed, in any locale."""
    for name in run_program("git", "ls-files", "*.sh").stdout.split():
        check(os.access(name, os.X_OK), name)
    done = run_program("sh", "test/packages.sh", "nonsense", env={
        "PATH": os.environ["PATH"], "LC_ALL": "xx_YY.UTF-8"})
    check("locale" not in done.stderr, done.stderr)
