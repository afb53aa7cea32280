#!/usr/bin/env python3
"""Shows the rules of a table by tests that exist, run and pass.

Usage: rules.py TABLE            runs the tests and prints the figure last
       rules.py --check TABLE... only checks that the tests exist
       rules.py --programs TABLE prints the programs to build

In a table, a line is a rule. The indented lines below it are the tests that
show it: a program below test/, a test and, if that has a table of cases, names
of cases:

    5.1  A masked frame from a server ends the connection.
        unit/ws malformed_frames_are_named: masked ping | masked and empty
        real/interop_tls.py expired

test/run.sh runs the programs. BUILD: where they are. SHORT=1: does not run
again what has run since it was built, for example by `make test`.
SPDX-License-Identifier: 0BSD
"""
import collections
import glob
import os
import re
import subprocess
import sys

BUILD = os.environ.get("BUILD", "build")
Rule = collections.namedtuple("Rule", "text shown")
Shown = collections.namedtuple("Shown", "program test case")


def read_table(path):
    rules = []
    with open(path, encoding="utf-8") as table:
        for line in table:
            if not line.strip() or line.startswith("#"):
                continue
            if not line[0].isspace():
                rules.append(Rule(line.strip(), []))
                continue
            program, name = line.split(maxsplit=1)
            test, case = name.strip(), ""
            if not program.endswith(".py"):
                test, _, case = test.partition(": ")
            rules[-1].shown.extend(Shown(program, test, each)
                                   for each in case.split(" | "))
    return rules


def programs_of(rules):
    return sorted({each.program for rule in rules for each in rule.shown})


def source_of(program):
    name = program if program.endswith(".py") else program + ".c"
    path = os.path.join("test", name)
    if not os.path.exists(path):
        return ""
    with open(path, encoding="utf-8") as source:
        return source.read()


def reached(source, name):
    """The text of a function and of all functions and tables that it uses."""
    parts = {re.search(r"(?!TEST_CASE)\b(\w+)[\[()]", part)[1]: part
             for part in re.findall(r"^(?:static |TEST_CASE\().*?^\}(?:;|$)",
                                    source, re.MULTILINE | re.DOTALL)}
    seen, rest = [], [name]
    while rest:
        part = parts.pop(rest.pop(), "")
        seen.append(part)
        rest += set(re.findall(r"\w+", part)) & parts.keys()
    return "".join(seen)


def is_there(shown, source):
    """True if the program's source has such a test, with such a case."""
    if shown.program.endswith(".py"):
        function = "def test_" + shown.test.replace(" ", "_") + "("
        return f'"{shown.test}"' in source or function in source or (
            f'"""{shown.test}"""' in source)
    registered = rf"\bTEST_CASE\({shown.test}\)"
    return (re.search(registered, source) is not None and
            (not shown.case or
             f'"{shown.case}"' in reached(source, shown.test)))


def stale(path, rules):
    """The table's errors, such as tests that do not exist."""
    sources = {program: source_of(program) for program in programs_of(rules)}
    said = [f"{path}: no test for: {rule.text}"
            for rule in rules if not rule.shown]
    said += [f"{path}: not there: {each.program} {each.test} {each.case}"
             for rule in rules for each in rule.shown
             if not is_there(each, sources[each.program])]
    texts = [rule.text for rule in rules]
    return said + [f"{path}: twice: {text}" for text in sorted(set(texts))
                   if texts.count(text) > 1]


def log_of(program):
    return os.path.join(BUILD, "test", "log", program)


def built_for(program):
    """A program's files; for a script all programs, as it may run any."""
    if not program.endswith(".py"):
        return [os.path.join(BUILD, "test", program)]
    paths = (glob.glob(os.path.join(BUILD, "*")) +
             glob.glob(os.path.join(BUILD, "test/real/run_*")))
    return [os.path.join("test", program)] + [
        path for path in paths
        if os.path.isfile(path) and os.access(path, os.X_OK)]


def has_run(program):
    """True if it ran since it was built."""
    count = log_of(program) + ".count"
    return (os.path.exists(count) and os.path.getmtime(count) >
            max(map(os.path.getmtime, built_for(program))))


def passed_in(program):
    """The tests of a program that passed each time they ran."""
    log = log_of(program)
    with open(log, encoding="utf-8", errors="replace") as file:
        text = file.read()
    with open(log + ".count", encoding="ascii") as file:
        failed = int(file.read().split()[1])
    if program.endswith(".py"):
        good = re.findall(r"^ok    (.*?)(?: \([0-9.]+ s\))?$", text,
                          re.MULTILINE)
        bad = re.findall(r"^FAIL  (.*?)(?::.*)?$", text, re.MULTILINE)
    else:
        good = re.findall(r"^\[       OK \] (\w+)", text, re.MULTILINE)
        bad = re.findall(r"^\[  (?:FAILED|ERROR  |SKIPPED)\s*\] (\w+)", text,
                         re.MULTILINE)
    # A program that fails without a failed test did not end well.
    return set() if failed and not bad else set(good) - set(bad)


def show(path):
    rules = read_table(path)
    programs = programs_of(rules)
    missing = stale(path, rules)
    for line in missing:
        print(line, flush=True)
    if not os.environ.get("SHORT") or not all(map(has_run, programs)):
        subprocess.run(["test/run.sh", *programs], check=False)
    passed = {program: passed_in(program) for program in programs}
    shown = 0
    for rule in rules:
        lacks = [each for each in rule.shown
                 if each.test not in passed[each.program]]
        for each in lacks:
            print(f"not shown: {rule.text}\n    {each.program} {each.test}")
        shown += bool(rule.shown) and not lacks
    print(f"{len(rules)} rules, {shown} shown by tests that pass")
    return shown == len(rules) and not missing


def main(arguments):
    if arguments[:1] == ["--check"]:
        said = [line for path in arguments[1:]
                for line in stale(path, read_table(path))]
        for line in said:
            print(line)
        return not said
    if arguments[:1] == ["--programs"]:
        built = [program for program in programs_of(read_table(arguments[1]))
                 if not program.endswith(".py")]
        print(*(os.path.join(BUILD, "test", program) for program in built))
        return True
    return show(arguments[0])


if __name__ == "__main__":
    sys.exit(0 if main(sys.argv[1:]) else 1)
