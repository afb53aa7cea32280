#!/usr/bin/env python3
"""Proves the contracts of functions of mini_stream.c with Frama-C WP.

Contracts are in test/proof/*.acsl, in ACSL. A line without indentation says
where the indented lines below it belong:

    # ...              a comment
    logic              predicates, functions and lemmas that contracts use
    function NAME      the contract of a function, to be proved
    trusted NAME       a contract that is not proved, with the reason;
                       NAME(TYPE NAME): with a parameter of this type
    at LINE            annotation before this line of the function, or before
                       each of several lines; they are searched in this order

They are added to a copy of the code in BUILD/evidence/wp, where every line must
be found. A function counts as proved if all its goals are proved, including
run-time errors (RTE) and termination, and no smoke test finds a contradiction
in its assumptions. A smoke test may find that a NEVER() is not passed. If WP
assumes that memory is separated, the contract must require it. WP caches the
provers' results, so that an interrupted run continues.

Usage: test/evidence/wp.py [FUNCTION...]    (default: all)
"""
# SPDX-License-Identifier: 0BSD
import os
import re
import shutil
import subprocess
import sys

sys.path.insert(0, "test/e2e")
from e2e import read_file, write_file

SOURCE = "mini_stream.c"
FILES = ("bits", "utf8", "decimal", "time", "json", "ws", "http")
# A prover's limit is a number of its steps, so that the result does not depend
# on how busy the machine is. First all try for a second or two, enough for most
# goals, then with at least five times what any goal takes. A step of cvc4 may
# take minutes: then the limit of processor time, in seconds, ends it.
COMMANDS = {
    "Z3": ("z3", "-smt2 sat.random_seed=42 nlsat.randomize=false "
           "smt.random_seed=42 rlimit={} -st %f", "z3_471",
           (2000000, 40000000)),
    "CVC4": ("cvc4", "--stats --rlimit={} --lang=smt2 %f", "cvc4_17",
             (100000, 1000000))}
QUICK, LONG = "z3quick,cvc4quick", "z3long,cvc4long"
GOAL_S = 300
# Here memcpy() is replaced by one for the current type: WP knows nothing about
# bytes of any type.
COPIES = "ws_read_control"
# All goals except smoke tests.
CATEGORIES = ("requires assigns ensures exits assert invariant variant breaks "
              "continues returns complete_behaviors disjoint_behaviors "
              "terminates decreases check lemma").split()

work = os.path.join(os.environ.get("BUILD", "build"), "evidence", "wp")


class Function:
    """A function's contract and the annotations in its body."""

    def __init__(self, name, proved, logic):
        self.name, self.parameter = re.fullmatch(
            r"(\w+)(\(.*\))?", name).groups()
        self.proved, self.logic = proved, logic
        self.contract, self.places = [], []  # places: (line, annotation)


def read_contracts():
    """All functions, in order, each with the logic before it."""
    functions, logic, block = [], [], None
    for path in [f"test/proof/{name}.acsl" for name in FILES]:
        for number, line in enumerate(read_file(path).splitlines(), 1):
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
                places = functions[-1].places
                block = [] if not places or places[-1][1] else places[-1][1]
                places.append((rest, block))
            elif line and word != "#":
                sys.exit(f"{path}:{number}: not understood: {line}")
    return functions


def comment(lines, indent=""):
    """Lines as annotations: each assertion is separate, before a loop's."""
    out, one = [], False
    for line in lines:
        assertion = line.startswith("    assert")
        if not out or assertion or (one and line.startswith("    loop")):
            out += [indent + "*/"] if out else []
            out.append(indent + "/*@")
            one = assertion
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
        if f.parameter:
            body[0] = re.sub(r"\(.*\)", f.parameter, body[0])
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


def frama_c(path, name, selected, provers):
    """Runs WP on the goals that its options select."""
    bearssl = os.environ.get("BEARSSL_DIR", "")
    folders = [bearssl + sub for sub in ("/inc", "/include", "") if bearssl]
    folders += [os.environ.get("JSMN_DIR"), "/usr/include"]
    include = ["-I."] + ["-idirafter " + folder for folder in folders if folder]
    run = subprocess.run(
        ["frama-c", "-machdep", "gcc_x86_64",
         "-cpp-extra-args=" + " ".join(include), path,
         "-instantiate", "-instantiate-fct", COPIES,
         "-wp", *selected, "-wp-prover", provers, "-wp-par", "2",
         "-wp-timeout", str(GOAL_S), "-wp-smoke-timeout", str(GOAL_S),
         "-wp-cache", "update", "-wp-cache-dir", os.path.join(work, "cache")],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        env={**os.environ, "WHY3CONFIG": os.path.join(work, "why3.conf")})
    write_file(os.path.join(work, name + ".log"), run.stdout)
    return run


def is_asked(warning, contract):
    """True if the contract requires the separation that WP assumes."""
    asked = re.findall(r"\\separated\(\w+, &(\w+)\[0\] \+ \(", contract)
    return set(re.findall(r"\(char const \*\)(\w+) \+", warning)) <= set(asked)


def complaints_of(said, contract, lines):
    """(WP's complaints, number of failed goals that are expected: smoke tests
    of the line after a NEVER(), in a file with these lines)"""
    dead = {name for name, at in re.findall(
        r"\[Failed\] Smoke-test (\S+).*\n\[wp\] \S+:(\d+): Warning: Failed",
        said) if "if (NEVER(" in lines[int(at) - 2]}
    failed = set(re.findall(r"\[Failed\] (?:\S+ )?(typed_\S+)", said))
    warnings = re.findall(r"\[wp[^\]]*\] (\S+: Warning: .*)", said)
    return [w for w in warnings
            if "populates 'terminates" not in w and "Failed smoke" not in w and
            not ("Memory model hypotheses" in w and is_asked(w, contract))
            ] + sorted(failed - dead), len(dead)


def prove(path, name, contract, selected, provers=f"{QUICK},{LONG}"):
    """Prints and returns the numbers of goals and of proved ones; prints
    complaints."""
    run = frama_c(path, name, selected, provers)
    said = re.sub(r"\n  +", " ", run.stdout)
    total = re.search(r"Proved goals: +(\d+) / (\d+)", said)
    complaints, dead = complaints_of(said, contract,
                                     read_file(path).split("\n"))
    if run.returncode != 0 or not total:
        complaints.append(f"frama-c failed, see {work}/{name}.log")
    goals = int(total[2]) if total else 1
    proved = int(total[1]) + dead if total else 0
    if complaints:  # after a warning, the goals may not mean what they seem to
        proved = min(proved, goals - 1)
    print(f"{name:24} goals {goals:4}  proved {proved:4}", flush=True)
    for complaint in complaints:
        print("    " + complaint, flush=True)
    return goals, proved


def axioms():
    """(number of axioms on bits, those that z3 does not prove)"""
    names = re.findall(r"axiom (\w+)", read_file("test/proof/bits.acsl"))
    text = read_file("test/proof/bits.smt2") + "".join(
        f'(echo "{name}")(push)(assert (not {name}))(check-sat)(pop)\n'
        for name in names)
    said = subprocess.run(["z3", "-in"], input=text, text=True,
                          stdout=subprocess.PIPE).stdout.split()
    proved = {name for name, word in zip(said, said[1:]) if word == "unsat"}
    return len(names), [name for name in names if name not in proved]


def in_scope(lines):
    """The functions of the sections that have proved functions."""
    return sorted({found[1] for line in lines if (found := re.match(
        r"(?!.*;)\w.*?\b((?:mst_)?(?:decimal|time|utf8|ws|http|json)_\w+)\(",
        line))})


def write_config():
    """Writes Why3's configuration of the provers."""
    os.makedirs(os.path.join(work, "cache"), exist_ok=True)
    with open(os.path.join(work, "why3.conf"), "w", encoding="ascii") as conf:
        conf.write("[main]\nmagic = 14\nmemlimit = 1000\n")
        for name, (program, arguments, driver, limits) in COMMANDS.items():
            said = subprocess.run([program, "--version"], text=True,
                                  check=True, stdout=subprocess.PIPE).stdout
            version = re.search(r"version (\d+(\.\d+)+)", said)[1]
            command = f"{shutil.which(program)} {arguments}"
            for kind, limit in zip(("quick", "long"), limits):
                conf.write(f'[prover]\nname = "{name}{kind}"\n'
                           f'version = "{version}"\n'
                           f'command = "{command.format(limit)}"\n'
                           f'driver = "{driver}"\neditor = ""\n'
                           f'shortcut = "{name.lower()}{kind}"\n'
                           f'in_place = false\ninteractive = false\n')


def main():
    write_config()
    functions = read_contracts()
    path = os.path.join(work, SOURCE)
    source_lines = read_file(SOURCE).split("\n")
    write_file(path, "\n".join(annotate(source_lines, functions)))
    proved_names = [f.name for f in functions if f.proved]
    names = sys.argv[1:] or proved_names
    goals, failed = axioms()
    proved = goals - len(failed)
    print(f"{'(axioms on bits)':24} goals {goals:4}  proved {proved:4}",
          *failed, flush=True)
    contracts = {f.name: " ".join(f.contract) for f in functions}
    runs = [("lemmas", "", ["-wp-prop", "@lemma"])] + [
        (name, contracts[name],
         ["-wp-rte", "-wp-fct", name, "-wp-definitions-terminate"])
        for name in names]
    if not os.environ.get("SHORT"):
        runs.append(("(smoke tests)", "", [
            "-wp-rte", "-wp-fct", ",".join(names), "-wp-smoke-tests",
            "-wp-prop=" + ",".join(f"-@{word}" for word in CATEGORIES)],
                     QUICK))
    for run in runs:
        more, more_proved = prove(path, *run)
        goals += more
        proved += more_proved
    trusted = [f.name for f in functions if not f.proved]
    scope = in_scope(source_lines)
    print("taken for granted:", *trusted)
    print("without a proof:", *(n for n in scope if n not in proved_names))
    print(f"functions with contracts {len(names)} (of {len(scope)} of their "
          f"sections), goals proved {proved} of {goals} "
          f"({100.0 * proved / goals:.1f} %, bar 100), "
          f"taken for granted {len(trusted)}")
    return 0 if goals == proved else 1


if __name__ == "__main__":
    sys.exit(main())
