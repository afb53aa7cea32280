#!/usr/bin/env python3
"""Looks for undefined behaviour in mini_stream.c up to http, and in books and
messages, by Frama-C Eva, which computes each value that a variable can have.

test/proof/eva_NAME.c is a harness for a section: it calls it with any input in
any order. It is analysed in a generic form, for inputs of up to 4,096 bytes,
and in an exact form for each length up to 24, where the input ends at the
array's end; for each kind of machine; if it matters, also as built for speed,
with the code that reads eight bytes at once (WORDS), after
test/proof/eva_speed.h. A harness, and a header of test/proof that it includes,
has a .txt with:

    # ...                a comment
    options [FORM] ...   options of Eva, for one form (generic, exact) or both
    short ...            forms of the short run: lengths, or "generic"
    forms ...            forms of the full run; without this line, all
    function NAME        function of the next lines, in mini_stream.c or jsmn.h
    at LINE              a line of the function; the annotations below it, or
                         below further such lines, tell states apart; an
                         assertion that Eva cannot show is an alarm
    promise FUNCTION     its contract is below
    promised [FORM] FUNCTION...  not analysed here (or in this form): replaced
                         by its promise, of eva_promises.txt or another .txt
    words                what is below is only for x86_64_words, x86_64 built
                         for speed; without this line there is no such analysis

Section "Eva" of README.md explains what counts and what is not shown. A listed
alarm or stop that is gone is an error, too. Single unreached statements are
only printed. Results are kept in BUILD/evidence/eva while their inputs stay the
same.

Usage: test/evidence/eva.py [NAME[:MACHINE[:LENGTH]]...]    (default: all)
SHORT: not empty: one machine, also as built for speed, and every third of the
harnesses' short forms, by SEED (0)
JOBS: analyses at a time (2)
"""
# SPDX-License-Identifier: 0BSD
import concurrent.futures
import csv
import glob
import hashlib
import itertools
import json
import os
import re
import subprocess
import sys
import time

sys.path.insert(0, "test/e2e")
from e2e import write_file
from image import read, sections

SOURCE, JSMN = "mini_stream.c", "jsmn.h"
MACHINES = ["x86_64", "x86_32", "ppc_32"]
WORDS = "x86_64_words"
SPEED = "test/proof/eva_speed.h"
LENGTHS = range(25)
# Sections whose alarms may be listed; elsewhere an alarm misses the bar.
LISTED = ["object", "message: contents", "message: fast lane",
          "message: reading", "book: sides", "book: messages"]
# Functions that no analysis reaches: only a section above http calls it.
UNREACHED = {"message_may_have_levels"}
# The version of the kept results.
KEPT = "2"
JSMN_DIRS = [folder for folder in (os.environ.get("JSMN_DIR"), "/usr/include")
             if folder and os.path.exists(os.path.join(folder, JSMN))]
COMMON = ["-eva-no-print", "-warn-invalid-pointer", "-eva-precision", "2",
          "-kernel-warn-key", "CERT=inactive"]

SECTIONS = sections(read(SOURCE))

short = bool(os.environ.get("SHORT"))
root = os.getcwd()
work = os.path.join(os.environ.get("BUILD", "build"), "evidence", "eva")


def lower_sections():
    """The analysed part of mini_stream.c."""
    return read(SOURCE).split(" * 13 transport\n")[0]


def analysed():
    """The lines of the analysed files by name."""
    if not JSMN_DIRS:
        sys.exit("no jsmn.h: see JSMN_DIR")
    return {SOURCE: lower_sections().split("\n")[:-2],
            JSMN: read(os.path.join(JSMN_DIRS[0], JSMN)).split("\n")}


class Harness:
    """A harness, its options and its notes (function, line, text), with or
    without the WORDS of a build for speed."""

    def __init__(self, path, words):
        self.path, self.options = path, {"generic": [], "exact": []}
        self.words, self.machines = words, []
        self.short, self.forms = [], [None, *LENGTHS]
        self.promised = {"generic": [], "exact": []}
        self.name = re.sub(r".*/eva_|\.c$", "", path)
        self.notes = []
        self.files = [path] + [SPEED] * words
        for file in self.files:
            self.include(file)
            if os.path.exists(file[:-1] + "txt"):
                self.read(file[:-1] + "txt")
        self.read("test/proof/eva_promises.txt")
        for form, names in self.promised.items():
            self.options[form] += ["-eva-use-spec=" + ",".join(names)]
        if not words:
            self.machines = MACHINES[:1] if short else MACHINES

    def include(self, path):
        """Adds the included headers of test/proof to the harness."""
        for name in re.findall(r'#include "(eva\w*\.h)"', read(path)):
            header = "test/proof/" + name
            self.files += [header] if header not in self.files else []

    def read(self, path):
        """Reads a .txt that belongs to this harness, or to all."""
        function, own = None, path == self.path[:-1] + "txt"
        for line in read(path).splitlines():
            word, _, rest = line.partition(" ")
            if line == "words":
                if not self.words:
                    break
                self.machines += [WORDS] if own else []
            elif word in ("options", "promised"):
                what = getattr(self, word)
                form = rest.split()[0]
                both = form not in what
                for name in what if both else [form]:
                    what[name] += rest.split()[0 if both else 1:]
            elif word in ("short", "forms"):
                setattr(self, word, [None if form == "generic" else int(form)
                                     for form in rest.split()])
            elif word == "promise":
                self.notes.append((rest, None, []))
            elif word == "function":
                function = rest
            elif word == "at":
                first = not self.notes or self.notes[-1][2]
                self.notes.append(
                    (function, rest, [] if first else self.notes[-1][2]))
            elif line.startswith(" "):
                self.notes[-1][2].append(line.strip())
            elif line and word != "#":
                sys.exit(f"{path}: not understood: {line}")

    def folder(self):
        """The folder of its annotated sources."""
        return os.path.join(work, self.name + ("-words" if self.words else ""))

    def annotated(self):
        """The analysed sources by name, with the notes; lines keep their
        numbers."""
        files = analysed()
        for function, text, note in self.notes:
            here = []
            for lines in files.values():
                first = [i for i, line in enumerate(lines)
                         if re.match(rf"\w.*\b{function}\(", line)][-1:]
                here += [(lines, i) for i in (
                    first if text is None or not first else
                    range(*first, lines.index("}", *first)))
                    if text is None or lines[i].strip() == text]
            if len(here) != 1:
                sys.exit(f"{function} has {len(here)} lines: {text}")
            # A contract is one annotation; each note ends with a semicolon.
            kept = [" ".join(note)] if text is None else re.findall(
                r"[^;]+;", " ".join(note))
            lines, i = here[0]
            lines[i] = "".join(f"/*@ {n} */ " for n in kept) + lines[i]
        return {name: f'#line 1 "{name}"\n' + "\n".join(lines) + "\n"
                for name, lines in files.items()}


class Job:
    """A harness on a machine, with a length or None."""

    def __init__(self, harness, machine, length):
        self.harness = harness
        form = self.form = "generic" if length is None else "exact"
        self.name = f"{harness.name}-{machine}-" + (
            form if length is None else str(length))
        self.source = harness.folder()
        define = "" if length is None else f"-DEXACT={length} "
        if harness.words:  # for which mini_stream.c looks
            machine = "gcc_x86_64"
            define += f"-D__OPTIMIZE__ -include {os.path.join(root, SPEED)} "
        self.command = [
            "frama-c", "-eva", "-machdep", machine,
            # Frama-C's -I. comes first: it finds the annotated sources.
            f"-cpp-extra-args={define}-I{root} -idirafter /usr/include",
            *COMMON, *harness.options[form],
            os.path.join(root, harness.path), "-then", "-metrics",
            "-metrics-eva-cover", "-then", "-nonterm", "-then", "-report-csv",
            os.path.join(root, work, self.name + ".csv")]

    def key(self):
        """A digest of all that the result depends on."""
        digest = hashlib.sha256((KEPT + repr(self.command)).encode())
        for path in [*(os.path.join(self.source, name)
                       for name in (SOURCE, JSMN)), "mini_stream.h",
                     *self.harness.files]:
            with open(path, "rb") as file:
                digest.update(file.read())
        return digest.hexdigest()

    def run(self):
        """The result: kept from an earlier run, or found now."""
        path, key = os.path.join(work, self.name + ".json"), self.key()
        if os.path.exists(path):
            result = json.loads(read(path))
            if result["key"] == key:
                return result
        began = time.time()
        log = os.path.join(work, self.name + ".log")
        with open(log, "w", encoding="utf-8") as file:
            code = subprocess.run(self.command, cwd=self.source, stdout=file,
                                  stderr=subprocess.STDOUT).returncode
        said = read(log)
        if code != 0:
            return {"failed": log, "alarms": [], "statements": {},
                    "stops": [], "reached": False,
                    "seconds": time.time() - began}
        result = {"key": key, "reached": "show_each_reached" in said,
                  "alarms": self.alarms(), "statements": {
                      name: [int(done), int(of)] for name, done, of in
                      re.findall(r"^  (\w+): (\d+) stmts out of (\d+)",
                                 said, re.M)},
                  "stops": self.stops(said)}
        result["seconds"] = round(time.time() - began, 1)
        write_file(path, json.dumps(result))
        return result

    def stops(self, said):
        """Where it stops early: (calls that lead there and line, place)."""
        found = []
        for path, line, rest in re.findall(
                r"^\[nonterm:?\w*\] (\S+):(\d+): Warning:((?:.*\n  )*.*)",
                said, re.M):
            what, *stacks = re.split(r"stack(?: \d+)?:", rest)
            where = os.path.join(root if path.startswith("test/") else
                                 self.source, path)
            text = "" if path.startswith("FRAMAC") else \
                read(where).split("\n")[int(line) - 1]
            # The notes before it do not count.
            text = text.rpartition("*/ ")[2].strip()
            for stack in stacks or ["?"]:
                calls = re.sub(r" :: \S+|\s", "", stack).replace("<-", " < ")
                found.append([f"{calls} | {' '.join(what.split())} | {text}",
                              f"{path}:{line}"])
        return sorted(found)

    def alarms(self):
        """What Eva could not show: (function, kind and property, place)."""
        fine = ("Valid", "Dead", "Considered valid")
        promised = self.harness.promised[self.form]
        with open(os.path.join(work, self.name + ".csv"),
                  encoding="utf-8") as file:
            rows = list(csv.reader(file, delimiter="\t"))[1:]
        return sorted(
            [f"{function} | {kind} | {text}", f"{name}:{line}"]
            for folder, name, line, function, kind, status, text in rows
            if not folder.startswith("FRAMAC") and status not in fine
            and not function.startswith("Frama_C_")
            and (function not in promised or kind != "postcondition")
            # Preconditions are checked at each call.
            and kind != "precondition")


def listed(path):
    """A list's entries: texts by what is before the colon."""
    found = {}
    for line in read(path).splitlines():
        if line and not line.startswith((" ", "#")):
            name, _, text = line.partition(": ")
            found.setdefault(name, set()).add(text)
    return found


def section_of(where):
    """The section of a place in mini_stream.c, or "harness"; for jsmn.h, the
    section that calls it."""
    path, _, line = where.rpartition(":")
    if path == JSMN:
        return "object"
    found = [name for first, name in SECTIONS if first <= int(line)]
    return found[-1] if path == SOURCE and found else "harness"


def jobs_of(harness, wanted):
    """Writes a harness's annotated sources; yields the wanted jobs."""
    os.makedirs(harness.folder(), exist_ok=True)
    for name, text in harness.annotated().items():
        write_file(os.path.join(harness.folder(), name), text)
    forms = harness.short if short else harness.forms
    for machine in harness.machines:
        for length in forms:
            parts = [harness.name, machine,
                     "generic" if length is None else str(length)]
            if any(word == parts[:len(word)] for word in wanted):
                yield Job(harness, machine, length)


def judge(name, results, known, whole):
    """Prints a harness's results; returns its alarms' sections and the number
    of errors."""
    alarms, stops, wrong = {}, {}, 0
    for job, result in results:
        alarms.update(result["alarms"])
        stops.update(result["stops"])
        new = [f"{where}: new alarm: {text}"
               for text, where in result["alarms"] if text not in known]
        new += [f"{where}: no alarm may be in {section_of(where)}: {text}"
                for text, where in result["alarms"]
                if text in known and section_of(where) not in LISTED]
        new += [f"{where}: goes no further: {text}"
                for text, where in result["stops"] if text not in known]
        if "failed" in result:
            new.append(f"frama-c failed, see {result['failed']}")
        elif not result["reached"]:
            new.append("its end is not reached")
        for text in new:
            print(f"{job.name}: {text}")
        wrong += len(new)
    for text in sorted(known - set(alarms) - set(stops)) if whole else []:
        print(f"{name}: is gone: {text}")
        wrong += 1
    print(f"{name:<10}{len(results):>6}{len(alarms):>8}{len(stops):>7}"
          f"{sum(result['seconds'] for _, result in results):>9.0f}")
    return [section_of(where) for where in alarms.values()], wrong


def functions():
    """The names of all functions in the analysed sections."""
    return set(re.findall(r"^\w[^\n;=]*?\b(\w+)\([^;{}]*\) \{\n",
                          lower_sections(), re.M))


def judge_unreached(best):
    """Prints unreached functions that are not as listed, and the number of
    unreached statements; returns the number of errors."""
    # A function that is only used by its contract has 0 statements.
    found = functions() - {name for name, (done, _) in best.items() if done}
    for name in sorted(found - UNREACHED):
        print(f"{name}: no analysis reaches it")
    for name in sorted(UNREACHED - found):
        print(f"{name}: is listed, but an analysis reaches it")
    for name, (done, of) in sorted(best.items()):
        if done < of:
            print(f"{name}: {of - done} of {of} statements not reached")
    return len(found ^ UNREACHED)


def coverage(results):
    """By function, the most statements that one analysis reached."""
    best = {}
    for _, result in results:
        for name, counts in result["statements"].items():
            best[name] = max(best.get(name, counts), counts,
                             key=lambda c: c[0] / c[1])
    return best


def main():
    wanted = [word.split(":") for word in sys.argv[1:]] or [[]]
    harnesses = [Harness(path, words) for path in sorted(
        glob.glob("test/proof/eva_*.c")) for words in (False, True)]
    known, figures, bad = listed("test/proof/eva_alarms.txt"), {}, 0
    jobs = {}
    for harness in harnesses:
        if harness.machines:
            jobs.setdefault(harness.name, []).extend(jobs_of(harness, wanted))
    if short:
        turn = itertools.count(int(os.environ.get("SEED") or 0))
        jobs = {name: [job for job in of if next(turn) % 3 == 0]
                for name, of in jobs.items()}
    everything = []
    print("harness  analyses  alarms  stops  seconds")
    with concurrent.futures.ThreadPoolExecutor(
            int(os.environ.get("JOBS") or 2)) as pool:
        running = {name: [(job, pool.submit(job.run)) for job in of]
                   for name, of in jobs.items() if of}
        for name, pairs in running.items():
            results = [(job, result.result()) for job, result in pairs]
            alarms, wrong = judge(name, results, known.get(name, set()),
                                  not short and
                                  ([] in wanted or [name] in wanted))
            for section in alarms:
                figures[section] = figures.get(section, 0) + 1
            bad += wrong
            everything += results
    best = coverage(everything)
    if [] in wanted and not short:
        bad += judge_unreached(best)
    done, of = (sum(counts[i] for counts in best.values()) for i in (0, 1))
    print("alarms: " + "".join(f"{number} in {section}, " for section, number
                               in figures.items()) +
          f"0 elsewhere (bar 0, of objects, messages and books those that are "
          f"listed); {len(everything)} analyses, {bad} bad; "
          f"{100 * done / of:.1f} % of {of} statements")
    return bad != 0


if __name__ == "__main__":
    sys.exit(main())
