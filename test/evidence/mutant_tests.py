"""Builds and runs the test programs with a mutated mini_stream.c.

    tests()             those of unit, session and fuzz
    Builder(folder)     a mini_stream.c at a time, and the tests with it
    Builders()          one for each processor
    baseline(builders, tests)
                        runs tests with the original: their cost and lines

MUTANT_QUICK, MUTANT_LONG, MUTANT_FLAGS, MUTANT_LIBS: see mutants.mk.
SPDX-License-Identifier: 0BSD
"""
import concurrent.futures
import functools
import glob
import hashlib
import json
import os
import queue
import re
import shutil
import subprocess

from e2e import write_file

SOURCE = "mini_stream.c"
WORK = os.path.join(os.environ.get("BUILD", "build"), "evidence/mutants")
PROGRAMS = os.path.join(WORK, "programs")
FLAGS = os.environ.get("MUTANT_FLAGS", "").split()
LIBS = os.environ.get("MUTANT_LIBS", "").split()
COVER = ["-fprofile-instr-generate", "-fcoverage-mapping"]
OWN_FLAGS = dict.fromkeys(("unit/linear", "unit/linear_bytes"),
                          ["-fsanitize-coverage=trace-pc"])
# Shortens long tests, and skips the cost of reports.
ENVIRONMENT = dict({
    "YEAR_DAYS": "6", "PLANS": "100", "REPLAYS": "5", "HOSTILE": "50",
    "JSON_CASES": "500", "ORACLE_EVENTS": "3000"}, **os.environ)
SANITIZERS = "symbolize=0:detect_leaks=0:malloc_context_size=0"
ENVIRONMENT.update({"ASAN_OPTIONS": SANITIZERS + ":hard_rss_limit_mb=1500",
                    "UBSAN_OPTIONS": SANITIZERS})
# These take most of the time, and kill few mutants that others do not. They
# run, without sanitizers, on mutants that survive the others; the longest never
# runs.
LONG = ["session/address_beside", "session/mock_conform", "session/openssl",
        "session/oversize", "session/pair", "session/recording",
        "session/resume", "session/rotate", "session/snapshot",
        "session/stream", "session/tls", "session/torture", "session/year",
        "unit/book_bytes", "unit/book_search", "unit/decoder_json",
        "unit/decoder_parts", "unit/fast_lane", "unit/fast_lane_bytes",
        "unit/linear", "unit/linear_bytes"]
# Enough for the first mutants of each section, and quick to build.
SHORT_TESTS = ["fuzz/book", "fuzz/ws", "session/address", "session/close",
               "session/errors", "session/messages", "session/pair",
               "session/store", "session/tls", "session/watch",
               "session/websocket", "unit/address", "unit/book",
               "unit/book_build", "unit/decoder_errors", "unit/time",
               "unit/upgrade"]
NOT_ASKED = ["session/replay"]
SHOWN_BY = "session/errors"  # has all of it in the default build


def digest_of(*texts):
    return hashlib.sha256("\0".join(texts).encode(
        errors="surrogateescape")).hexdigest()[:16]


def read(path):
    with open(path, encoding="utf-8", errors="surrogateescape") as file:
        return file.read()


class Way:
    """A way to compile tests and library."""

    def __init__(self, name):
        self.compile = os.environ.get(f"MUTANT_{name.upper()}", "").split()
        self.objects = os.path.join(WORK, name, "san")
        self.helpers = os.path.join(self.objects, "libhelpers.a")


QUICKLY, PLAINLY = Way("quick"), Way("long")


class Test:
    def __init__(self, name):
        self.name = name
        self.way = PLAINLY if name in LONG else QUICKLY
        self.object = os.path.join(self.way.objects, f"test/{name}.o")
        parts = read(self.object[:-1] + "d").split()
        self.includes = SOURCE in parts
        self.digest = digest_of(*(
            read(path) for path in [*parts, f"test/{name}.seeds"]
            if re.match(r"test/.*\.(c|seeds)$", path) and
            os.path.exists(path)))
        self.cost, self.lines = 0, frozenset()


def tests():
    names = [path[len("test/"):-len(".c")]
             for folder in ("unit", "session", "fuzz")
             for path in sorted(glob.glob(f"test/{folder}/*.c"))]
    return [Test(name) for name in names if name not in NOT_ASKED]


def succeeds(*words, **more):
    return subprocess.run(words, stdout=subprocess.DEVNULL,
                          stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL,
                          check=False, **more).returncode == 0


class Builder:
    """Builds one mini_stream.c at a time. Programs that do not include it load
    it as a shared library, so that they are linked once."""

    def __init__(self, folder):
        self.folder = folder
        self.source = os.path.join(folder, SOURCE)
        self.temporary = os.path.join(folder, "tmp")
        self.text, self.made = "", None  # text, way, flags of the library
        shutil.rmtree(folder, ignore_errors=True)
        os.makedirs(self.temporary)

    def put(self, text):
        self.text = text
        write_file(self.source, text)

    def library(self, way, *more):
        """Builds the shared library; True if it compiles."""
        if self.made != (self.text, way, more):
            self.made = (self.text, way, more) if succeeds(
                *way.compile, *FLAGS, *more, "-fPIC", "-shared",
                "-Wl,-soname,library.so", "-o", os.path.join(
                    self.folder, "library.so"), self.source) else None
        return self.made is not None

    @functools.cached_property
    def original(self):
        mutant = self.text
        self.put(read(SOURCE))
        code = self.optimized()
        self.put(mutant)
        return code

    def optimized(self):
        path = os.path.join(self.folder, "optimized.o")
        if not succeeds("gcc", "-O2", "-w", *FLAGS, "-c", "-o", path,
                        self.source):
            raise RuntimeError(f"{self.source} does not compile")
        with open(path, "rb") as file:
            return file.read()

    def is_original(self):
        """True if the compiler generates the original code."""
        return self.original == self.optimized()

    def program(self, test, *more):
        """The test's program with this mini_stream.c, or None if it does not
        build. It has the test's name, by which a fuzz target finds its
        seeds."""
        if test.includes:
            part = os.path.join(self.folder, "test.o")
            if not succeeds(*test.way.compile, "-I" + self.folder, *FLAGS,
                            *more, *OWN_FLAGS.get(test.name, []), "-c", "-o",
                            part, f"test/{test.name}.c"):
                return None
            return self.linked(test, part, *more)
        if not self.library(test.way, *more):
            return None
        path = os.path.join(PROGRAMS, test.name)
        if not os.path.exists(path):
            program = self.linked(test, test.object,
                                  os.path.join(self.folder, "library.so"))
            if program is None:
                return None
            os.makedirs(os.path.dirname(path), exist_ok=True)
            os.replace(program, path)
        return path

    def linked(self, test, *parts):
        path = os.path.join(self.folder, os.path.basename(test.name))
        return path if succeeds(*test.way.compile, "-o", path, *parts,
                                test.way.helpers, *LIBS) else None

    def run(self, test, program, **environment):
        """(status, processor seconds); stopped after five times the seconds
        that it takes with the original."""
        seconds = 5 * int(test.cost + 1) if test.cost else 600
        with subprocess.Popen(
                ["prlimit", f"--cpu={seconds}", "--core=0",
                 "--fsize=100000000", program],
                env=dict(ENVIRONMENT, TMPDIR=self.temporary,
                         LD_LIBRARY_PATH=self.folder, **environment),
                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL) as process:
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
        if status != 0:
            shutil.rmtree(self.temporary)
            os.makedirs(self.temporary)
        return process.returncode, usage.ru_utime + usage.ru_stime

    def passes(self, test):
        """True if the test passes; one that does not build fails."""
        program = self.program(test)
        return program is not None and self.run(test, program)[0] == 0

    def measure(self, test):
        """A test's seconds, the lines that it reaches, and all lines of
        code."""
        self.put(read(SOURCE))
        linked = os.path.join(PROGRAMS, test.name)
        if os.path.exists(linked):
            os.remove(linked)  # its parts may have changed
        raw, profile = (os.path.join(self.folder, name)
                        for name in ("profile.raw", "profile"))
        program = self.program(test, *COVER)
        if not program:
            raise RuntimeError(f"{test.name} does not build")
        status, seconds = self.run(test, program, LLVM_PROFILE_FILE=raw)
        if status != 0:
            raise RuntimeError(f"{test.name} fails, status {status}")
        if not test.includes:
            program = os.path.join(self.folder, "library.so")
        subprocess.run(["llvm-profdata-19", "merge", "-o", profile, raw],
                       check=True)
        shown = subprocess.run(
            ["llvm-cov-19", "export", "-format=lcov", program,
             "-instr-profile=" + profile, self.source],
            check=True, text=True, stdout=subprocess.PIPE).stdout
        counts = [tuple(map(int, line[3:].split(",")[:2]))
                  for line in shown.split("\n") if line.startswith("DA:")]
        return {"seconds": seconds + (1.2 if test.includes else 0),
                "reached": [line for line, count in counts if count > 0],
                "code": [line for line, _ in counts]}


class Builders:
    """A builder for each processor."""

    def __init__(self):
        self.free = queue.Queue()
        for i in range(os.cpu_count()):
            self.free.put(Builder(os.path.join(WORK, str(i))))

    def map(self, function, items):
        """Yields function(builder, item) for each item, in order."""
        def with_one(item):
            builder = self.free.get()
            try:
                return function(builder, item)
            finally:
                self.free.put(builder)

        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            yield from pool.map(with_one, items)


def measured(builder, test, digest):
    """The result of measure(), from now or an earlier run."""
    path = os.path.join(WORK, "baseline", test.name + ".json")
    if os.path.exists(path):
        known = json.loads(read(path))
        if known["digest"] == digest:
            return known
    known = dict(builder.measure(test), digest=digest)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    write_file(path, json.dumps(known))
    return known


def baseline(builders, asked):
    """Runs each test once with the original; returns the lines of code."""
    source, code = read(SOURCE), set()
    shared = {way: read(way.helpers) for way in (QUICKLY, PLAINLY)}
    for test, known in zip(asked, builders.map(
            lambda builder, test: measured(builder, test, digest_of(
                source, shared[test.way], test.digest, read(test.object))),
            asked)):
        test.cost, test.lines = known["seconds"], set(known["reached"])
        if test.name == SHOWN_BY:
            code = set(known["code"])
    return code
