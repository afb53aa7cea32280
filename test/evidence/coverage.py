#!/usr/bin/python3
"""Measures what the tests cover of mini_stream.c and the POSIX port: lines,
branches, and conditions by MC/DC (each must decide alone).

make evidence-coverage builds the tests. A test that has passed since it was
built is not run again. Prints what is not covered as FILE:LINE:COLUMN, by
section. Some programs include mini_stream.c with their own limits; what any
program covers is covered.

Usage: coverage.py [TEST...]    such as session/token, to run only these
BUILD: the project's; COVERAGE_SRC: the tests' files (default: all).
SPDX-License-Identifier: 0BSD
"""
import concurrent.futures
import glob
import os
import re
import shutil
import subprocess
import sys
import time

sys.path.insert(0, "test/e2e")
from image import read, sections

COVERAGE = os.path.join(os.environ.get("BUILD", "build"), "evidence/coverage")
SOURCES = ["mini_stream.c", *sorted(glob.glob("port/posix/*.c"))]
# These link all of the library and port; others include mini_stream.c.
BASES = ["session/stream", "real/posix", "real/posix_token"]
SCRIPTS = {"real/posix_conform.py": "real/run_conform"}
NEVER_MAX = 20

LINE = re.compile(r" *(\d+)\| *([\d.]+[kMGTPEZY]?)\|")
BRANCH = re.compile(r" *\|  Branch \((\d+):(\d+)\): "
                    r"\[(Folded|True: ([^,]+), False: ([^\]]+))")
DECISION = re.compile(r" *\|---> MC/DC Decision Region \((\d+):(\d+)\)")
CONDITION = re.compile(r" *\|     Condition C\d+ --> \((\d+):(\d+)\)")
VECTOR = re.compile(r" *\|  \d+ \{ ([TFC\-, ]+?) +=+ ([TF]) +\}")  # C: constant
END = re.compile(r" *\|  MC/DC Coverage for Decision: ")
FOLDED = re.compile(r" *\|  C(\d+)-Pair: constant folded")
NEVER = re.compile(r"\bNEVER\(")
NEVER_BLOCK = re.compile(r"( *)if \(NEVER\(")
OPERATOR = re.compile(r"&&|\|\|")


def program(name):
    return os.path.join(COVERAGE, "test", name)


def profiles(name):
    return os.path.join(COVERAGE, "profiles", name)


def tests():
    """The test programs, and scripts that run one over the POSIX port."""
    names = [path[len("test/"):-len(".c")]
             for path in sorted(os.environ.get("COVERAGE_SRC", "").split() or
                                glob.glob("test/unit/*.c") +
                                glob.glob("test/session/*.c") +
                                glob.glob("test/real/*.c"))]
    scripts = [name for name, of in SCRIPTS.items() if of in names]
    return scripts + [name for name in names if "/run_" not in name]


def fresh(name):
    """True if the test has passed since its program was built."""
    stamp = os.path.join(profiles(name), "passed")
    of = program(SCRIPTS.get(name, name))
    return os.path.exists(stamp) and \
        os.path.getmtime(stamp) > os.path.getmtime(of)


def run(name):
    """Runs a test with a folder for its profile: (name, status, seconds)."""
    begin = time.monotonic()
    shutil.rmtree(profiles(name), ignore_errors=True)
    os.makedirs(profiles(name))
    command = [sys.executable, "test/e2e/e2e.py", f"test/{name}"] \
        if name in SCRIPTS else [program(name)]
    environment = dict(os.environ, BUILD=COVERAGE, PYTHON=sys.executable,
                       LLVM_PROFILE_FILE=os.path.abspath(
                           os.path.join(profiles(name), "%m.profraw")))
    with open(os.path.join(profiles(name), "log"), "wb") as log:
        status = subprocess.run(command, env=environment, stdout=log,
                                stderr=log, stdin=subprocess.DEVNULL,
                                check=False).returncode
    if status == 0:
        with open(os.path.join(profiles(name), "passed"), "wb"):
            pass
    return name, status, time.monotonic() - begin


def run_all(names):
    """Runs tests, one per processor at a time; returns how many fail."""
    failed = 0
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for name, status, seconds in pool.map(run, names):
            failed += status != 0
            print(f"{'ok  ' if status == 0 else 'FAIL'}  {name:28} "
                  f"{seconds:4.0f} s", flush=True)
            if status != 0:
                print(f"      status {status}, see {profiles(name)}/log")
    return failed


def tool(*words):
    return subprocess.run(words, check=True, text=True,
                          stdout=subprocess.PIPE).stdout


class Decision:
    """A decision with several conditions, as one program ran it."""

    def __init__(self):
        self.places = []  # of its conditions
        self.folded = set()  # conditions that are constant there
        self.runs = set()  # (values of the conditions, result)


def merged(decisions, index):
    """The runs of a decision in all programs where this condition is not
    constant, grouped by which others are."""
    runs = {}
    for decision in decisions:
        if index not in decision.folded:
            runs.setdefault(frozenset(decision.folded), set()).update(
                decision.runs)
    return runs.values()


def decides(runs, index):
    """True if two runs differ in this condition and in the result, and in no
    other condition that both evaluated."""
    def alone(one, other):
        return all((a == b or "-" in (a, b)) != (i == index)
                   for i, (a, b) in enumerate(zip(one, other)))

    return any(result != other_result and alone(one, other)
               for one, result in runs for other, other_result in runs)


class File:
    """A source file and what all programs together cover of it."""

    def __init__(self, path):
        self.path = path
        self.text = read(path).split("\n")
        self.lines = {}
        self.branches = {}  # by place: (was true, was false)
        self.folded = set()  # places of constant branches
        self.decisions = {}  # by place: one for each program
        self.place = self.decision = None  # the current ones
        self.nevers = [number for number, line in enumerate(self.text, 1)
                       if NEVER.search(line) and "#define" not in line]
        self.excluded = self.never_lines()

    def never_lines(self):
        """Lines of blocks after if (NEVER(...)), which nothing can reach."""
        lines = set()
        for number in self.nevers:
            block = NEVER_BLOCK.match(self.text[number - 1])
            while block and self.text[number - 1] != block.group(1) + "}":
                number += 1
                lines.add(number)
        return lines

    def add_line(self, line):
        """Takes a line of llvm-cov's output for a program."""
        if match := LINE.match(line):
            number = int(match.group(1))
            self.lines[number] = self.lines.get(number, False) or \
                match.group(2) != "0"
        elif match := BRANCH.match(line):
            place = int(match.group(1)), int(match.group(2))
            if match.group(3) == "Folded":
                self.folded.add(place)
            else:
                true, false = self.branches.get(place, (False, False))
                self.branches[place] = (true or match.group(4) != "0",
                                        false or match.group(5) != "0")
        elif match := DECISION.match(line):
            self.decision = Decision()
            self.place = int(match.group(1)), int(match.group(2))
        elif match := CONDITION.match(line):
            self.decision.places.append(
                (int(match.group(1)), int(match.group(2))))
        elif match := VECTOR.match(line):
            self.decision.runs.add(
                (tuple(match.group(1).replace(" ", "").split(",")),
                 match.group(2)))
        elif match := FOLDED.match(line):
            self.decision.folded.add(int(match.group(1)) - 1)
        elif END.match(line):
            self.decisions.setdefault(self.place, []).append(self.decision)

    def uncounted(self):
        """Places of conditions in decisions whose runs clang does not keep."""
        counted = {place for decisions in self.decisions.values()
                   for decision in decisions for place in decision.places}
        for row, column in self.branches:
            line = self.text[row - 1]
            before = line[:column - 1].rstrip(" (!") or \
                self.text[row - 2].rstrip(" (!")
            if (row, column) not in counted and \
                    OPERATOR.search(before[-2:]):
                yield row, column

    def items(self):
        """Yields all that counts: (kind, place, covered, what is missing)."""
        for number, covered in self.lines.items():
            # What a macro does counts where it is used.
            if number not in self.excluded and \
                    not self.text[number - 1].startswith("#"):
                yield "lines", (number, 1), covered, "never run"
        for place, (true, false) in self.branches.items():
            if place[0] not in self.excluded and place not in self.folded:
                yield "branches", place, true, "never true"
                yield "branches", place, false, "never false"
        for decisions in self.decisions.values():
            for index, place in enumerate(decisions[0].places):
                decided = [decides(runs, index)
                           for runs in merged(decisions, index)]
                if decided:
                    yield "MC/DC", place, any(decided), "never decides"
        for place in self.uncounted():
            yield "MC/DC", place, False, "is in a decision that is not counted"


def includes(depends):
    """True if a program's object includes one of the sources."""
    return not set(SOURCES).isdisjoint(read(depends).split())


def measure(names):
    """The files, with what these tests cover."""
    raw = [path for name in names
           for path in glob.glob(profiles(name) + "/*.profraw")]
    profile = os.path.join(COVERAGE, "all.profdata")
    tool("llvm-profdata-19", "merge", "-sparse", "-o", profile, *raw)
    files = {os.path.abspath(path): File(path) for path in SOURCES}
    for name in tests():
        depends = os.path.join(COVERAGE, "san/test", name + ".d")
        if name in BASES or name not in SCRIPTS and includes(depends):
            show(name, profile, files)
    return list(files.values())


def show(name, profile, files):
    file = next(iter(files.values()))  # a single file is not named
    for line in tool("llvm-cov-19", "show", program(name),
                     f"-instr-profile={profile}", "-show-branches=count",
                     "-show-mcdc", *files).split("\n"):
        if line.endswith(":") and line[:-1] in files:
            file = files[line[:-1]]
        else:
            file.add_line(line)


class Sum:
    """Numbers of a section, file or all: [covered, existing] by kind."""

    def __init__(self):
        self.kinds = {"lines": [0, 0], "branches": [0, 0], "MC/DC": [0, 0]}

    def add(self, kind, covered):
        self.kinds[kind][0] += covered
        self.kinds[kind][1] += 1

    def row(self):
        return "  ".join(f"{percent(covered, of):>6} {covered:>5} of {of:<5}"
                         for covered, of in self.kinds.values())


def percent(covered, of):
    """Percentage as text, 100 only if all are covered."""
    return f"{1000 * covered // of / 10:.1f}" if 0 < covered < of else \
        "100" if covered == of else "0"


def report(files):
    """Prints sections and what is missing; returns library's and port's
    sums."""
    missing = []
    library, port = Sum(), Sum()
    print(f"{'':32}  {'lines':20}  {'branches':20}  MC/DC")
    for file in files:
        names = sections("\n".join(file.text)) if file is files[0] else []
        sums = {name: Sum() for _, name in names} or {file.path: Sum()}
        for kind, place, covered, what in sorted(file.items(),
                                                 key=lambda item: item[1]):
            name = ([name for line, name in names if line <= place[0]] or
                    [file.path])[-1]
            sums[name].add(kind, covered)
            (library if names else port).add(kind, covered)
            if not covered:
                text = file.text[place[0] - 1][place[1] - 1:].strip()
                missing.append(f"{file.path}:{place[0]}:{place[1]}: "
                               f"{kind}: {what}: {text}")
        for name, total in sums.items():
            print(f"{name:32}  {total.row()}")
    print()
    print("\n".join(missing))
    return library, port


def main():
    names = tests()
    to_run = sys.argv[1:] or [name for name in names if not fresh(name)]
    failed = run_all(to_run)
    files = measure(names)
    library, port = report(files)
    nevers = [(file.path, line) for file in files for line in file.nevers]
    for path, line in nevers:
        print(f"{path}:{line}: NEVER")
    figures = []
    short = failed > 0 or len(nevers) > NEVER_MAX
    for title, total in ("library", library), ("POSIX port", port):
        figures.append(title + " " + ", ".join(
            f"{kind} {percent(*counts)} %"
            for kind, counts in total.kinds.items()))
        short = short or any(covered < of for covered, of in
                             total.kinds.values())
    print(f"\n{'; '.join(figures)} (bar 100); NEVER {len(nevers)} (bar "
          f"{NEVER_MAX}); {len(names)} tests, {failed} failed")
    return short


if __name__ == "__main__":
    sys.exit(main())
