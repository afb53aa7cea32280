#!/usr/bin/env python3
"""Runs the tests of a Python file, and provides what such files share: checks
and a running sandbox.

Usage: e2e.py FILE [PART_OF_A_TEST'S_NAME...]     (default: all)
BUILD: the folder of the programs (default: build). RUN: an emulator for the
programs of tls_lab.py and posix_conform.py. CASES: a part, if none is given.
Ends with "N passed, N failed"; fails unless all passed.

The tests of a file are its functions test_..., async or not, and its list
TESTS: functions named by their docstrings, and tuples of a name, a function,
its arguments and, last, a dict of keyword arguments. For a parameter NAME of a
test_..., the context NAME_of() or Name() is entered, of the file or of this
one. AT_ONCE is the number of tests that run at a time, 4 by default. around()
is a context for the whole run.
SPDX-License-Identifier: 0BSD
"""
import asyncio
import calendar
import collections
import concurrent.futures
import contextlib
import decimal
import errno
import functools
import importlib
import inspect
import json
import os
import random
import re
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import tempfile
import threading
import time
import traceback
import urllib.error
import urllib.parse
import urllib.request

BUILD = os.environ.get("BUILD", "build")
RUN = os.environ.get("RUN", "").split()
SANDBOX = os.path.join(BUILD, "sandbox")
TOOL = os.path.join(BUILD, "mini-stream")
CC = os.environ.get("CC", "cc")
HANG_S = 300  # the longest wait for one thing: longer is a hang
# The exit statuses of mini-stream.
OK, USAGE, CONFIG, ACCESS, NETWORK, SERVICE, LOCAL = 0, 2, 3, 4, 5, 6, 7
STREAM_SCOPE = "exchange:read_aggregated_marketdata_stream"
ADDRESS_SCOPE = "transfer:write_crypto_destination_address"
FOUR_MARKETS = ("BTCUSD", "ETHUSD", "SOLUSD", "LTCUSD")

# Characters that control a terminal, except line ends.
CONTROL = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e"
                     "\u2066-\u2069]")

# What the tool says when a connection is reset or refused. A proxy may pass on
# only the end of it (../ports.py).
PROXIED = "MINI_STREAM_PROXY" in os.environ
RESET = ("closed - (TLS ended without close_notify|connection reset)"
         if PROXIED else "closed - connection reset")
REFUSED = ("closed - proxy cannot reach the host" if PROXIED else
           "closed - connection refused")


def check(condition, what, error=AssertionError):
    if not condition:
        raise error(what)


def equal(one, other, what=""):
    check(one == other, f"{what}: {one!r:.2000} is not {other!r:.2000}")


def wait_for(condition, what, seconds=HANG_S, process=None):
    """Returns the condition's result once it is true. Fails if the process ends
    first, or after these seconds."""
    end, pause_s = time.monotonic() + seconds, 0.01
    while True:
        over = time.monotonic() > end or process and process.poll() is not None
        if result := condition():
            return result
        check(not over, f"never: {what() if callable(what) else what}")
        time.sleep(pause_s)
        pause_s = min(1.2 * pause_s, 0.1)


def write_file(path, text, mode=None):
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    if mode is not None:
        os.chmod(path, mode)
    return path


def read_file(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def run_program(*command, **options):
    """Runs a program to its end and keeps its output as text."""
    if "input" not in options:
        options.setdefault("stdin", subprocess.DEVNULL)
    return subprocess.run(command, check=False, **{
        "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True,
        "timeout": HANG_S, **options})


@contextlib.contextmanager
def killed(process):
    """The process, which is killed at the end if it still runs."""
    with process:
        try:
            yield process
        finally:
            process.kill()


def kept(name, make):
    """The path of a file or folder that takes seconds to make, and is kept in
    the build folder. make(path) makes it."""
    path = os.path.abspath(f"{BUILD}/test/{name}")
    if not os.path.exists(path):
        os.makedirs(os.path.dirname(path), exist_ok=True)
        new = f"{path}-{os.getpid()}-{threading.get_ident()}"
        make(new)
        try:
            os.rename(new, path)
        except OSError:  # another test has made the folder
            shutil.rmtree(new)
    return path


@contextlib.contextmanager
def small_disk(path):
    """A file system of 64 KiB at this path."""
    os.mkdir(path)
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "none", path],
                   check=True)
    try:
        yield path
    finally:
        subprocess.run(["umount", path], check=True)


MARKS = []  # sockets that mark ports as this program's, as long as it runs


def free_port():
    """A port that no other program gets as "any port", and no other test."""
    while True:
        port = random.randrange(20000, 32768)  # below ip_local_port_range
        mark = socket.socket(socket.AF_UNIX)
        try:
            mark.bind(f"\0port-{port}")
            with socket.socket() as taken:
                taken.bind(("127.0.0.1", port))
        except OSError as error:
            check(error.errno == errno.EADDRINUSE, error)
        else:
            MARKS.append(mark)
            return port


def fixed_ports():
    """Options for a sandbox that is started again."""
    return [f"--{name}-port={free_port()}" for name in ("ws", "auth", "api")]


def parse_time(text):
    """Converts RFC 3339 to (ns since 1970, digits of the fraction)."""
    match = re.fullmatch(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(\.(\d{1,9}))?Z",
                         text)
    check(match, f"time {text!r}")
    fraction = match[3] or ""
    seconds = calendar.timegm(time.strptime(match[1], "%Y-%m-%dT%H:%M:%S"))
    return seconds * 10**9 + int(fraction.ljust(9, "0")), len(fraction)


def milliseconds(text):
    """Converts a time of the sandbox to ms since 1970. No two changes of a
    market have the same ms."""
    return parse_time(text)[0] // 10**6


def numbers(execution):
    """(time in ms, price, amount)"""
    return (milliseconds(execution["executed_at"]),
            decimal.Decimal(execution["price"]),
            decimal.Decimal(execution["amount"]))


def symbols(count):
    """The first markets of a sandbox."""
    return [*FOUR_MARKETS, *(f"M{i}" for i in range(5, count + 1))][:count]


def processor_s(pid):
    """The processor time that a process has used, in seconds."""
    fields = read_file(f"/proc/{pid}/stat").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def memory_kb(pid, most=False):
    """The resident memory of a process, or its peak, in KiB."""
    name = "VmHWM" if most else "VmRSS"
    return int(re.search(rf"^{name}:\s+(\d+) kB$",
                         read_file(f"/proc/{pid}/status"), re.M)[1])


def sockets_of(process):
    """The numbers of the descriptors of a process that are sockets."""
    folder, found = f"/proc/{process.pid}/fd", set()
    with contextlib.suppress(FileNotFoundError):
        for number in os.listdir(folder):
            if "socket:" in os.readlink(f"{folder}/{number}"):
                found.add(int(number))
    return found


def figure(port, name, timeout=HANG_S):
    """One of the metrics that a program serves for Prometheus."""
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics",
                                timeout=timeout) as reply:
        return float(re.search(rf"^mini_stream_{name} (\S+)$",
                               reply.read().decode(), re.M)[1])


def dependency_options():
    """Compiler options for BEARSSL_DIR and JSMN_DIR."""
    path, jsmn = map(os.environ.get, ("BEARSSL_DIR", "JSMN_DIR"))
    return [option for folder in ("", "/inc", "/include", "/build", "/lib")
            if path for option in ("-isystem", path + folder,
                                   "-L" + path + folder)
            ] + (["-isystem", jsmn] if jsmn else [])


def environment_with(**variables):
    """The environment with these variables (None: not set) and without other
    settings of mini-stream, except TLS and proxy, which a suite may set."""
    kept = {name: value for name, value in os.environ.items()
            if name in ("MINI_STREAM_TLS", "MINI_STREAM_PROXY") or not (
                name.startswith(("MINI_STREAM_", "XDG_"))
                or name.lower().endswith("_proxy"))}
    return {name: value for name, value in {**kept, **variables}.items()
            if value is not None}


def user_environment(**variables):
    """The environment of a user of the sandbox."""
    return environment_with(**{
        "HOME": "/nonexistent", "LC_ALL": "C.UTF-8",
        "MINI_STREAM_CLIENT_ID": "sandbox-client",
        "MINI_STREAM_CLIENT_SECRET": "sandbox-secret", **variables})


def run_tool(*arguments, before=(), stdout=subprocess.PIPE, **variables):
    """Runs mini-stream as this user. Returns (exit status, standard output,
    standard error). Fails if they control a terminal or have the secret."""
    done = run_program(*before, TOOL, *arguments, stdout=stdout,
                       env=user_environment(**variables))
    out = done.stdout or ""
    check(not CONTROL.search(out + done.stderr), f"not harmless: {done}")
    check("sandbox-secret" not in out + done.stderr, "the secret is told")
    return done.returncode, out, done.stderr


def in_time(seconds, run):
    """Returns run(seconds), or run("100") if the program did not reach the
    service in time (exit status 5) because this machine is slow."""
    done = run(seconds)
    return run("100") if done.returncode == 5 else done


class Reader(contextlib.AbstractContextManager):
    """A process whose output a thread reads. Leaving the context kills it."""

    def __init__(self, process):
        self.process = process
        self.reader = threading.Thread(target=self.read)
        self.reader.start()

    def read(self):
        for line in self.process.stdout:
            self.take(line)

    def stop(self):
        """Ends it by SIGINT, as a user does. Returns the exit status."""
        self.process.send_signal(signal.SIGINT)
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(HANG_S)
        self.kill()
        return self.process.returncode

    def kill(self):
        self.process.kill()
        self.process.wait()
        self.reader.join()
        self.process.stdout.close()

    def __exit__(self, *_):
        self.kill()


class Truths(threading.Thread):
    """Requests the sandbox's books again and again while the context lasts, and
    keeps them by market and time of the last change. An error ends it, except
    the errors in away, which mean that the sandbox is down for a while."""

    def __init__(self, book_of, markets, every_s=0.02, away=()):
        super().__init__()
        self.away = away
        self.book_of, self.markets, self.every_s = book_of, markets, every_s
        self.books = collections.defaultdict(dict)
        self.over = threading.Event()
        self.error = None

    def run(self):
        try:
            while not self.over.wait(self.every_s):
                for market in self.markets:
                    with contextlib.suppress(*self.away):
                        self.ask(market)
        except Exception as error:  # pylint: disable=broad-except
            self.error = error

    def ask(self, market):
        book = self.book_of(market)
        self.books[market][milliseconds(book["time"])] = [
            [(decimal.Decimal(level["price"]), decimal.Decimal(level["amount"]))
             for level in book[side]] for side in ("bids", "asks")]

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self.over.set()
        self.join()
        if self.error:
            raise self.error


class Sandbox:
    """A running sandbox with its state in a folder. It is ready once its URLs
    and its CA are known."""
    command = (SANDBOX,)

    def __init__(self, state, *options, stderr=None):
        self.state, self.options = state, options
        self.endpoints = os.path.join(state, "endpoints.json")
        self.ca = os.path.join(state, "ca.pem")
        self.arguments = ("--endpoints", self.endpoints, "--ca", self.ca)
        self.process = subprocess.Popen(
            [*self.command, "--state", state, *options],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=stderr)

    def restart(self):
        """Starts it again, after it was killed."""
        Sandbox.__init__(self, self.state, *self.options)
        self.wait_ready()

    def wait_ready(self):
        try:
            check(self.process.stdout.readline() == b"ready\n", "not ready")
            self.urls = json.loads(read_file(self.endpoints))
            self.tls = ssl.create_default_context(cafile=self.ca)
        except BaseException:
            self.kill()
            raise

    def fetch(self, url, data=None, method=None, **headers):
        """Sends a request. Returns (status, headers, body)."""
        request = urllib.request.Request(
            url, data=data, method=method,
            headers={name.replace("_", "-"): value
                     for name, value in headers.items()})
        try:
            with urllib.request.urlopen(request, context=self.tls,
                                        timeout=HANG_S) as reply:
                return reply.status, reply.headers, reply.read()
        except urllib.error.HTTPError as error:
            with error:
                return error.code, error.headers, error.read()

    def get(self, path):
        """The JSON at a path of the API."""
        status, _, body = self.fetch(self.urls["base_url"] + path)
        check(status == 200, f"{path}: {status}: {body}")
        return json.loads(body)

    def faults(self, *request):
        """Reads or, with data, sets the faults. Returns what fetch() does."""
        return self.fetch(self.urls["base_url"] + "/sandbox/faults", *request)

    def active(self):
        """The active faults."""
        return self.get("/sandbox/faults")

    def book(self, market):
        """A market's current book."""
        return self.get("/sandbox/truth?market="
                        + urllib.parse.quote(market, safe=""))

    def set(self, **faults):
        """Replaces all faults by these."""
        status, _, body = self.faults(json.dumps(faults).encode())
        check(status == 200, f"{faults}: {body}")

    def fetch_token(self, **changes):
        """Requests a token of the stream, with these fields changed or, if
        None, left out. Returns what fetch() does."""
        form = {"grant_type": "client_credentials",
                "client_id": "sandbox-client",
                "client_secret": "sandbox-secret",
                "scope": STREAM_SCOPE, **changes}
        return self.fetch(self.urls["auth_url"] + "/oauth2/token",
                          urllib.parse.urlencode({
                              name: value for name, value in form.items()
                              if value is not None}).encode())

    def start(self, command, *arguments, client="sandbox-client",
              secret="sandbox-secret", variables=None, before=(), **options):
        """Starts a command of mini-stream, of one word or more, with this
        sandbox's options. before: the words of a program that runs it."""
        return subprocess.Popen(
            [*before, TOOL, *command.split(), *self.arguments, "--client-id",
             client, *arguments],
            env=environment_with(**{"MINI_STREAM_CLIENT_SECRET": secret,
                                    "HOME": self.state, **(variables or {})}),
            **{"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE,
               "stderr": subprocess.PIPE, "text": True, **options})

    def run(self, command, *arguments, **options):
        """Runs a command to its end, like subprocess.run()."""
        process = self.start(command, *arguments, **options)
        out, err = process.communicate(timeout=HANG_S)
        return subprocess.CompletedProcess(process.args, process.returncode,
                                           out, err)

    def stream(self, *arguments, **variables):
        """Starts a stream with both outputs in one pipe."""
        return self.start("stream", *arguments, variables=variables,
                          stderr=subprocess.STDOUT)

    def stream_until(self, pattern, *arguments, count=1, **variables):
        """Runs a stream until the pattern was in count lines, then ends it by
        SIGINT if it has not ended. Returns (exit status, output)."""
        process = self.stream("--seconds", str(HANG_S), *arguments, **variables)
        said = ""
        for line in process.stdout:
            said += line
            count -= bool(re.search(pattern, line) and
                          "permanent" not in line)
            if count == 0:
                process.send_signal(signal.SIGINT)
                break
        said += process.communicate()[0]
        return process.returncode, said

    def environment(self, secret="sandbox-secret"):
        """The environment variables with the settings of the examples."""
        return environment_with(
            MINI_STREAM_WS_URL=self.urls["ws_url"],
            MINI_STREAM_AUTH_URL=self.urls["auth_url"],
            MINI_STREAM_CLIENT_ID="sandbox-client",
            MINI_STREAM_CLIENT_SECRET=secret, MINI_STREAM_CA=self.ca)

    def terminate(self):
        """Ends it by SIGTERM. Returns the exit status."""
        self.process.terminate()
        status = self.process.wait(HANG_S)
        self.process.stdout.close()
        return status

    def kill(self):
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()


@contextlib.contextmanager
def sandbox_of(*options, kind=Sandbox, state=None, **more):
    """A sandbox of this class that is ready, in this folder or in a temporary
    one. It must end with status 0, unless the test has ended it."""
    with contextlib.ExitStack() as stack:
        sandbox = kind(state or stack.enter_context(
            tempfile.TemporaryDirectory(ignore_cleanup_errors=True)), *options,
                       **more)
        try:
            sandbox.wait_ready()
            yield sandbox
        finally:
            if sandbox.process.poll() is None:
                status = sandbox.terminate()
                check(status == 0, f"the sandbox ended with {status}")


def refusal(*options):
    """The error message of a sandbox that does not start."""
    with tempfile.TemporaryDirectory() as state:
        run = run_program(SANDBOX, "--state", state, *options)
    check(run.returncode == 1 and run.stdout == "", run)
    return run.stderr


# Parameters of tests.
folder_of = state_of = tempfile.TemporaryDirectory


def maker_of(module, name):
    """The function or class that makes the context of a test's parameter."""
    return next(there[each] for there in (vars(module), globals())
                for each in (name + "_of", name.capitalize())
                if each in there)


def prepared(test, makers):
    with contextlib.ExitStack() as stack:
        test(*(stack.enter_context(make()) for make in makers))


async def prepared_async(test, makers):
    async with contextlib.AsyncExitStack() as stack:
        await test(*[await stack.enter_async_context(each)
                     if hasattr(each, "__aenter__") else
                     stack.enter_context(each)
                     for each in [make() for make in makers]])


def tests_of(module):
    for name, test in vars(module).items():
        if name.startswith("test_"):
            run = (prepared_async if inspect.iscoroutinefunction(test)
                   else prepared)
            makers = [maker_of(module, parameter)
                      for parameter in inspect.signature(test).parameters]
            yield name[5:].replace("_", " "), functools.partial(run, test,
                                                                makers)
    for entry in getattr(module, "TESTS", ()):
        if callable(entry):
            yield entry.__doc__, entry
        else:
            name, test, *arguments = entry
            options = (arguments.pop() if isinstance(entry[-1], dict) else {})
            yield name, functools.partial(test, *arguments, **options)


def attempt(name, test):
    begin = time.monotonic()
    try:
        result = test()
        if inspect.iscoroutine(result):
            asyncio.run(result)
    except Exception:  # pylint: disable=broad-except
        print(f"FAIL  {name}\n{traceback.format_exc()}", flush=True)
        return False
    print(f"ok    {name} ({time.monotonic() - begin:.1f} s)", flush=True)
    return True


def main():
    sys.dont_write_bytecode = True
    folder, name = os.path.split(sys.argv[1])
    sys.path.insert(1, folder)
    module = importlib.import_module(name.removesuffix(".py"))
    parts = sys.argv[2:] or [os.environ.get("CASES", "")]
    wanted = [each for each in tests_of(module)
              if any(part in each[0] for part in parts)]
    with getattr(module, "around", contextlib.nullcontext)(), \
            concurrent.futures.ThreadPoolExecutor(
                getattr(module, "AT_ONCE", 4)) as pool:
        results = list(pool.map(attempt, *zip(*wanted))) if wanted else []
    print(f"\n{sum(results)} passed, {len(results) - sum(results)} failed")
    return not all(results)


if __name__ == "__main__":
    sys.exit(main())
