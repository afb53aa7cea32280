#!/usr/bin/env python3
"""Runs all of test/session/torture.c: all scenarios, in parts, on all
processors. Results are kept in $BUILD/evidence/torture while the program is the
same, so that an interrupted run continues. Prints the figure last; fails if
anything failed.

Usage: torture.py [SCENARIO...]     (default: all, and the random pairs)
SHORT=1: all single calls, and each byte (under TLS some bytes) with one or two
actions; SEED, if set, selects a third of that. Otherwise everything, all pairs
of calls, and random pairs of bytes
TORTURE_RANDOM (100000): their number; TORTURE_SEED (1): their seed
JOBS: parts at a time (a processor each)

SPDX-License-Identifier: 0BSD
"""
import collections
import concurrent.futures
import hashlib
import os
import re
import subprocess
import sys

BUILD = os.environ.get("BUILD", "build")
PROGRAM = os.path.join(BUILD, "test/session/torture")
FOLDER = os.path.join(BUILD, "evidence/torture")
SHORT = os.environ.get("SHORT", "") not in ("", "0")
JOBS = int(os.environ.get("JOBS", os.cpu_count()))
RANDOM = int(os.environ.get("TORTURE_RANDOM", "100000"))
SEED = int(os.environ.get("TORTURE_SEED", "1"))

# With SHORT, one of this many points, which have five actions per byte: with 4
# no byte is left out.
SHORT_STEP, SHORT_STEP_TLS = 4, 149
# Points of a part, which takes some seconds.
CALLS, CALLS_TLS = 1000, 20
BYTES, BYTES_TLS = 1000, 40
FIRST, FIRST_TLS = 4, 1
RANDOM_PART = 2000

Scenario = collections.namedtuple(
    "Scenario", "name calls bytes_in bytes_out tls")
Part = collections.namedtuple("Part", "kind text")
Result = collections.namedtuple("Result", "runs failed recovery_ms")


def run(text):
    """(the program's output for a part, result)"""
    done = subprocess.run([PROGRAM], env={**os.environ, "TORTURE_PART": text},
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True, errors="replace")
    match = re.search(
        r"^part .*: (\d+) runs, (\d+) failed, well after (\d+) ms",
        done.stdout, re.M)
    if match is None:
        return done.stdout, Result(0, 1, 0)
    result = Result(*map(int, match.groups()))
    if done.returncode != 0 and result.failed == 0:
        result = result._replace(failed=1)
    return done.stdout, result


def scenarios(names):
    output, _ = run("list")
    lines = re.findall(
        r"^scenario (\S+) calls (\d+) in (\d+) out (\d+) tls (\d)", output,
        re.M)
    found = [Scenario(name, *map(int, numbers)) for name, *numbers in lines]
    missing = set(names) - {s.name for s in found}
    if not found or missing:
        sys.exit(f"{output}torture.py: no scenario {' '.join(missing)}")
    return [s for s in found if not names or s.name in names]


def ranges(count, size):
    return [(at, min(at + size, count)) for at in range(0, count, size)]


def parts(of, with_random):
    found = []
    for s in of:
        step = (SHORT_STEP_TLS if s.tls else SHORT_STEP) if SHORT else 1
        for at, end in ranges(s.calls, CALLS_TLS if s.tls else CALLS):
            found.append(Part("single", f"{s.name} calls {at} {end}"))
        size = BYTES_TLS if s.tls else BYTES
        size *= step if s.tls else 1
        for where, count in ("in", s.bytes_in), ("out", s.bytes_out):
            for at, end in ranges(count, size):
                found.append(
                    Part("single", f"{s.name} {where} {at} {end} {step}"))
        if not SHORT:
            for at, end in ranges(s.calls, FIRST_TLS if s.tls else FIRST):
                found.append(Part("pair", f"{s.name} pairs {at} {end}"))
    if with_random and not SHORT:
        for at, end in ranges(RANDOM, RANDOM_PART):
            found.append(Part(
                "random", f"any random {SEED * 1000000 + at} {end - at}"))
    return found


def done_before(path):
    results = {}
    if os.path.exists(path):
        with open(path, encoding="ascii") as lines:
            for line in lines:
                text, *numbers = line.rstrip("\n").split("\t")
                if len(numbers) == 3:
                    results[text] = Result(*map(int, numbers))
    return results


def main():
    os.makedirs(FOLDER, exist_ok=True)
    with open(PROGRAM, "rb") as program:
        name = hashlib.sha256(program.read()).hexdigest()[:16] + ".done"
    for other in set(os.listdir(FOLDER)) - {name}:
        os.remove(os.path.join(FOLDER, other))
    path = os.path.join(FOLDER, name)
    of = scenarios(sys.argv[1:])
    todo = parts(of, not sys.argv[1:])
    if SHORT and "SEED" in os.environ:
        todo = todo[int(os.environ["SEED"]) % 3::3]
    results = done_before(path)
    before = sum(part.text in results for part in todo)
    if before:
        print(f"{before} of {len(todo)} parts were done before", flush=True)
    with concurrent.futures.ThreadPoolExecutor(JOBS) as pool, \
            open(path, "a", encoding="ascii") as kept:
        running = {pool.submit(run, part.text): part for part in todo
                   if part.text not in results}
        for future in concurrent.futures.as_completed(running):
            part = running[future]
            output, result = future.result()
            results[part.text] = result
            if result.failed:
                print(f"failed: {part.text}\n{output}", flush=True)
            else:
                print(part.text, *result, sep="\t", file=kept, flush=True)
    runs, failed = collections.Counter(), 0
    for part in todo:
        runs[part.kind] += results[part.text].runs
        failed += results[part.text].failed
    slowest = max(results[part.text].recovery_ms for part in todo)
    print(f"{len(of)} scenarios, {sum(s.calls for s in of)} calls, "
          f"{sum(s.bytes_in + s.bytes_out for s in of)} offsets: "
          f"{runs['single']} singles, {runs['pair']} pairs, "
          f"{runs['random']} random pairs, {failed} failed (bar 0); "
          f"well after {slowest / 1000:.0f} s at most")
    sys.exit(failed != 0)


if __name__ == "__main__":
    main()
