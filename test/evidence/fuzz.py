#!/usr/bin/env python3
"""Runs fuzz targets (test/fuzz/) by libFuzzer, one per processor at a time.

Usage: test/evidence/fuzz.py TARGET...

SHORT=1: each target as often as CI has time for; the same SEED (1) and program
give the same inputs. Otherwise as often as before a release: the number of runs
and the corpus are kept, nothing starts after MINUTES (110), and the next call
continues there. A program with other code starts from 0, with the old corpus.

Prints each target's runs and findings, and a line with all of them. Fails if
something was found or a target has not run often enough.

SPDX-License-Identifier: 0BSD
"""

import collections
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import threading
import time

# The longest input in bytes; runs before a release; runs of a slice, which
# takes half a minute of a processor. CI has time for a sixth of a slice.
Target = collections.namedtuple("Target", "most runs short")
TARGETS = {
    "book": Target(1000, 10**7, 400000),
    "certificate": Target(500, 10**7, 350000),
    "http": Target(600, 10**8, 2500000),
    "json": Target(160, 10**8, 1700000),
    "message": Target(2048, 10**7, 400000),
    "pem": Target(2000, 10**6, 120000),
    "recording": Target(65536, 10**6, 90000),
    "session": Target(300, 10**6, 80000),
    "url": Target(400, 10**8, 10000000),
    "ws": Target(512, 10**8, 2800000),
}

BUILD = os.environ.get("BUILD") or "build"
SHORT = bool(os.environ.get("SHORT"))
SEED = int(os.environ.get("SEED") or 1)
MINUTES = float(os.environ.get("MINUTES") or 110)
ESCAPES = {b"n": b"\n", b"r": b"\r", b"t": b"\t", b"\\": b"\\"}
BEGIN = time.monotonic()


def unescape(match):
    """An escape's byte."""
    return ESCAPES.get(match[1]) or bytes([int(match[1][1:], 16)])


def seeds_of(name):
    """The inputs of NAME.seeds, as test/lib/fuzz_main.c reads them."""
    with open(f"test/fuzz/{name}.seeds", "rb") as file:
        text = re.sub(rb"^(#.*)?\n", b"", file.read(), flags=re.M)
    lines = re.sub(rb"(?<!\\)((?:\\\\)*)\\\n", rb"\1", text).splitlines()
    return [re.sub(rb"\\(x..|.)", unescape, line) for line in lines]


class Runner:
    """A target and its progress."""

    def __init__(self, name):
        self.name = name
        self.target = TARGETS[name]
        self.program = f"{BUILD}/fuzz/{name}"
        self.folder = f"{BUILD}/evidence/fuzz/{name}"
        self.corpus = f"{self.folder}/{'short' if SHORT else 'corpus'}"
        self.seeds = f"{self.folder}/seeds"
        self.bar = self.target.short // 6 if SHORT else self.target.runs
        self.runs = self.begun = 0
        self.seconds = 0.0
        self.found = []
        self.prepare()

    def prepare(self):
        """Makes folders and seeds, and reads the number of earlier runs."""
        shutil.rmtree(self.seeds, ignore_errors=True)
        if SHORT:
            shutil.rmtree(self.corpus, ignore_errors=True)
        os.makedirs(self.seeds)
        os.makedirs(self.corpus, exist_ok=True)
        for number, data in enumerate(seeds_of(self.name)):
            with open(f"{self.seeds}/{number:03}", "wb") as file:
                file.write(data)
        if self.name == "recording":
            subprocess.run([f"{BUILD}/test/session/recording"], check=True,
                           env=dict(os.environ, FUZZ_SEEDS=self.seeds),
                           stdout=subprocess.DEVNULL,
                           stderr=subprocess.DEVNULL)
        with open(self.program, "rb") as file:
            self.code = hashlib.sha256(file.read()).hexdigest()
        try:
            with open(f"{self.folder}/runs.json", encoding="ascii") as file:
                before = json.load(file)
        except (OSError, ValueError):
            before = {}
        if not SHORT and before.get("code") == self.code:
            self.runs = self.begun = before["runs"]
            self.seconds = before["seconds"]

    def slice(self):
        """The runs of the next slice, which counts as begun."""
        runs = min(self.target.short, self.bar - self.begun)
        self.begun += runs
        return runs

    def command(self, first, runs):
        return [self.program, self.corpus, self.seeds, f"-runs={runs}",
                f"-seed={(first + SEED) % 2**31}", f"-max_len={self.target.most}",
                f"-dict=test/fuzz/{self.name}.dict",
                f"-artifact_prefix={self.folder}/found-",
                "-print_final_stats=1", "-verbosity=0"]

    def run(self, first, runs):
        """Runs a slice: (its output if it found something, seconds)."""
        with subprocess.Popen(self.command(first, runs), text=True,
                              stdout=subprocess.PIPE, errors="replace",
                              stderr=subprocess.STDOUT) as process:
            said = process.stdout.read()
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
        done = re.search(r"number_of_executed_units: (\d+)", said)
        if process.returncode == 0 and done is not None:
            said = ""
        else:
            said += f"{self.program}: exit status {process.returncode}"
        return said, usage.ru_utime + usage.ru_stime

    def ended(self, runs, said, seconds):
        """Takes the result of a slice; its runs count if all were good."""
        self.seconds += seconds
        if said:
            self.found.append(said)
            self.begun = self.bar
            return
        self.runs += runs
        if not SHORT:
            temporary = f"{self.folder}/runs.new"
            with open(temporary, "w", encoding="ascii") as file:
                json.dump({"code": self.code, "runs": self.runs,
                           "seconds": self.seconds}, file)
            os.replace(temporary, f"{self.folder}/runs.json")

    def done(self):
        return self.runs >= self.bar and not self.found


def work(runners, lock):
    """Runs slices, each of the unfinished target with the least progress."""
    while SHORT or time.monotonic() - BEGIN < MINUTES * 60:
        with lock:
            left = [r for r in runners if r.begun < r.bar]
            if not left:
                break
            runner = min(left, key=lambda r: r.begun / r.bar)
            first = runner.begun
            runs = runner.slice()
        said, seconds = runner.run(first, runs)
        with lock:
            runner.ended(runs, said, seconds)
            if runner.begun >= runner.bar or said:
                print(f"{runner.name}: {runner.runs:,} runs,"
                      f" {runner.seconds:.0f} s of a processor"
                      + (f"\n{said[-8000:]}" if said else ""), flush=True)


def figure(runners):
    done = ", ".join(f"{r.name} {r.runs:,} of {r.bar:,}" for r in runners)
    reached = sum(r.done() for r in runners)
    found = sum(len(r.found) for r in runners)
    return (f"runs: {done}; {reached} of {len(runners)} targets at their bars,"
            f" {found} findings")


def main():
    runners = [Runner(name) for name in sys.argv[1:]]
    lock = threading.Lock()
    workers = [threading.Thread(target=work, args=(runners, lock))
               for _ in range(os.cpu_count() or 1)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    print(figure(runners))
    sys.exit(0 if all(r.done() for r in runners) else 1)


if __name__ == "__main__":
    main()
