#!/usr/bin/env python3
"""Proves the contracts of functions of mini_stream.c with Frama-C WP.

Contracts stand in test/proof/*.acsl, in ACSL. A line that begins in its first
column says where the indented lines below it belong:

    # ...              a comment
    logic              what contracts speak of: predicates, functions, lemmas
    function NAME      the contract of a function, which is proved
    trusted NAME       the same of one whose proof is not tried, with a reason
    at LINE            annotation before this line of the function; lines are
                       looked for in the order in which they are written here

They are put into a copy of the code, in BUILD/evidence/wp, where every line
must be found. A function counts as proved if all its goals are, with guards
against run-time errors (RTE) and termination, and no smoke test finds a
contradiction in what it assumes. WP keeps what the provers said in a cache, so
that an interrupted run goes on where it stopped.

Usage: test/evidence/wp.py [FUNCTION...]    (default: all)
"""
# SPDX-License-Identifier: 0BSD
import glob
import os
import re
import subprocess
import sys

SOURCE = "mini_stream.c"
PROVERS = "z3,cvc4"
GOAL_S = int(os.environ.get("GOAL_S", 60))  # many times what any goal takes
# A prover that finds a contradiction does so soon.
SMOKE = [] if os.environ.get("SHORT") else [
    "-wp-smoke-tests", "-wp-smoke-timeout", "2"]

work = os.path.join(os.environ.get("BUILD", "build"), "evidence", "wp")


class Function:
    """A function's contract and the annotations in its body."""

    def __init__(self, name, proved, logic):
        self.name, self.proved, self.logic = name, proved, logic
        self.contract, self.places = [], []  # places: (line, annotation)


def read_contracts():
    """All functions of test/proof/*.acsl, in order, each with the logic
    before it."""
    functions, logic, block = [], [], None
    for path in sorted(glob.glob("test/proof/*.acsl")):
        for number, line in enumerate(open(path, encoding="ascii"), 1):
            line = line.rstrip("\n")
            word, _, rest = line.partition(" ")
            if line.startswith(" "):
                block.append(line)
            elif word == "logic":
                block = []
                logic.append(block)
            elif word in ("function", "trusted"):
                functions.append(Function(rest, word == "function", logic))
                block, logic = functions[-1].contract, []
            elif word == "at":
                block = []
                functions[-1].places.append((rest, block))
            elif line and word != "#":
                sys.exit(f"{path}:{number}: not understood: {line}")
    return functions


def comment(lines, indent=""):
    """As an annotation; each assertion is one of its own."""
    out = []
    for line in lines:
        if not out or line.startswith("    assert"):
            out += [indent + "*/"] if out else []
            out.append(indent + "/*@")
        out.append(indent + line)
    return out + [indent + "*/"]


def annotate(source, functions):
    """The lines of the source with all annotations."""
    lines = source[:]
    for f in functions:
        starts = [i for i, line in enumerate(lines)
                  if re.match(rf"\w.*\b{f.name}\(", line)]
        starts = [i for i in starts if "{" in "".join(lines[i:i + 4])
                  and ";" not in "".join(lines[i:i + 4]).split("{")[0]]
        if len(starts) != 1:
            sys.exit(f"{SOURCE} has {len(starts)} functions {f.name}")
        at = starts[0]
        new = [line for block in f.logic for line in comment(block)]
        new += comment(f.contract)
        end = at + lines[at:].index("}")
        body = lines[at:end + 1]
        from_line = 0
        for text, block in f.places:
            here = [i for i in range(from_line, len(body))
                    if body[i].strip() == text]
            if not here:
                sys.exit(f"{f.name} has no line: {text}")
            note = comment(block, re.match(" *", body[here[0]]).group())
            body[here[0]:here[0]] = note
            from_line = here[0] + len(note) + 1
        lines[at:end + 1] = new + body
    return lines


def frama_c(path, name):
    """What WP says of one function."""
    bearssl = os.environ.get("BEARSSL_DIR", "")
    include = ["-I."] + [f"-idirafter {bearssl}{sub}" for sub in (
        "/inc", "/include", "") if bearssl] + ["-idirafter /usr/include"]
    run = subprocess.run(
        ["frama-c", "-machdep", "gcc_x86_64",
         "-cpp-extra-args=" + " ".join(include), path,
         "-wp", "-wp-rte", "-wp-fct", name, "-wp-prover", PROVERS,
         "-wp-timeout", str(GOAL_S), "-wp-par", "2",
         "-wp-definitions-terminate", *SMOKE,
         "-wp-cache", "update", "-wp-cache-dir", os.path.join(work, "cache")],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        env={**os.environ, "WHY3CONFIG": os.path.join(work, "why3.conf")})
    with open(os.path.join(work, name + ".log"), "w") as log:
        log.write(run.stdout)
    return run


def prove(path, f):
    """Goals and proved ones of a function, smoke tests, and complaints."""
    run = frama_c(path, f.name)
    said = re.sub(r"\n  +", " ", run.stdout)
    total = re.search(r"Proved goals: +(\d+) / (\d+)", said)
    if run.returncode != 0 or not total:
        return 0, 0, 0, [f"frama-c failed, see {work}/{f.name}.log"]
    smoke = len(re.findall(r"\[Passed\] Smoke-test", said))
    doomed = re.findall(r"\[Failed\] (Smoke-test \S+)", said)
    failed = re.findall(r"\[(?:Failed|\w+)\] (Goal \S+) *(?=\n| Z3| CVC4)", said)
    warned = re.findall(r"\[wp[^\]]*\] (\S+: Warning: (?!.*populates).*)",
                        said)
    goals = int(total[2]) - smoke - len(doomed)
    proved = int(total[1]) - smoke
    return goals, proved, smoke, doomed + failed + warned


def main():
    os.makedirs(work, exist_ok=True)
    os.makedirs(os.path.join(work, "cache"), exist_ok=True)
    if not os.path.exists(os.path.join(work, "why3.conf")):
        subprocess.run(["why3", "config", "detect"], check=True,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                       env={**os.environ,
                            "WHY3CONFIG": os.path.join(work, "why3.conf")})
    functions = read_contracts()
    path = os.path.join(work, SOURCE)
    with open(SOURCE, encoding="utf-8") as source:
        lines = annotate(source.read().split("\n"), functions)
    with open(path, "w", encoding="utf-8") as copy:
        copy.write("\n".join(lines))
    names = sys.argv[1:] or [f.name for f in functions if f.proved]
    all_goals = all_proved = all_smoke = 0
    for f in functions:
        if f.name not in names:
            continue
        goals, proved, smoke, complaints = prove(path, f)
        all_goals += goals
        all_proved += proved if not complaints else min(proved, goals - 1)
        all_smoke += smoke
        print(f"{f.name:24} goals {goals:4}  proved {proved:4}  "
              f"smoke tests {smoke:3}", flush=True)
        for complaint in complaints:
            print("    " + complaint, flush=True)
    print(f"functions {len(names)}, goals {all_goals}, proved {all_proved} "
          f"({100.0 * all_proved / max(all_goals, 1):.1f} %, bar 100)")
    return 0 if all_goals == all_proved > 0 else 1


if __name__ == "__main__":
    sys.exit(main())
