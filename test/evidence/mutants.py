#!/usr/bin/env python3
"""Makes mutants of mini_stream.c and finds which of them the tests kill.

Each of the 23 sections has its share of 1,000, by its number of possible
mutants. The first test program that fails kills a mutant, also by a sanitizer
or by its processor time. A mutant that does not compile, or gives the same
object code at -O2, does not count; the next one replaces it. mutants.txt lists
the survivors, each with the reason. The bar is for all but those that behave
like the original, as no test can kill these.

Results are kept: a test runs again on a mutant once the function or the test
has changed. An interrupted run continues.

Usage: mutants.py [TEXT]    TEXT: only mutants whose key contains it
BUILD: the project's; SHORT=1: one mutant per section, without a bar; MUTANTS:
their number; WITHOUT_LONG=1: without long tests, which another run can add;
MUTANT_QUICK, MUTANT_LONG, MUTANT_FLAGS, MUTANT_LIBS: see mutants.mk.
SPDX-License-Identifier: 0BSD
"""
import collections
import os
import sys
import threading

sys.path.insert(0, "test/e2e")
from e2e import read_file
from mutant_sites import mutants
from mutant_tests import (LONG, QUICKLY, SHORT_TESTS, SOURCE, WORK, Builders,
                          baseline, tests)
from mutant_table import Results, read_table

SHORT = bool(os.environ.get("SHORT"))
COUNT = int(os.environ.get("MUTANTS", "1000"))
WITHOUT_LONG = bool(os.environ.get("WITHOUT_LONG"))
BAR = 95
TABLE = "test/evidence/mutants.txt"


class Judge:
    """Runs tests on mutants."""

    def __init__(self, text, results, builders):
        self.text, self.results, self.builders = text, results, builders
        self.tests = []
        self.lock = threading.Lock()
        self.killed = collections.Counter()
        self.lived = collections.Counter()

    def order(self, mutant, record):
        """The remaining tests that reach it, first the one most likely to kill
        it for its time."""
        line = self.text.count("\n", 0, mutant.start) + 1

        def worth(test):
            at = mutant.section, test.name
            return (test.name == record.get("by"), test.way is QUICKLY,
                    (self.killed[at] + 0.5) / (self.killed[at] + self.lived[at]
                                               + 1) / (test.cost + 0.1))
        return sorted((test for test in self.tests
                       if record["passed"].get(test.name) != test.digest and
                       (line in test.lines or not mutant.in_function)),
                      key=worth, reverse=True)

    def judge(self, builder, mutant):
        record = self.results.of(mutant)
        if record.get("is") in ("invalid", "equivalent", "killed"):
            return
        left = self.order(mutant, record)
        if record.get("is") == "lives" and not left:
            return
        builder.put(self.text[:mutant.start] + mutant.put +
                    self.text[mutant.end:])
        if not builder.library(left[0].way if left else QUICKLY):
            self.results.put(mutant, {"is": "invalid"})
            return
        for test in left:
            passes = builder.passes(test)
            with self.lock:
                counts = self.lived if passes else self.killed
                counts[mutant.section, test.name] += 1
            if not passes:
                self.results.put(mutant, {"is": "killed", "by": test.name,
                                          "digest": test.digest})
                return
            record["passed"][test.name] = test.digest
        if "is" not in record and builder.is_original():
            self.results.put(mutant, {"is": "equivalent"})
        else:
            self.results.put(mutant, {"is": "lives"})

    def judge_all(self, mutants_asked):
        for done, _ in enumerate(self.builders.map(self.judge, mutants_asked)):
            if done % 50 == 49:
                print(f"{done + 1} of {len(mutants_asked)}", flush=True)


def shares(ordered):
    """The number of mutants of each section, by its possible mutants."""
    if SHORT:
        return {section: 1 for section in ordered}
    total = sum(map(len, ordered.values()))
    exact = {section: COUNT * len(of) / total
             for section, of in ordered.items()}
    share = {section: int(value) for section, value in exact.items()}
    rest = sorted(exact, key=lambda s: share[s] - exact[s])
    for section in rest[:COUNT - sum(share.values())]:
        share[section] += 1
    return share


def choose(ordered, share, results):
    """Each section's first mutants that count or may count."""
    chosen = []
    for section, of in ordered.items():
        good = [m for m in of
                if results.of(m).get("is") not in ("invalid", "equivalent")]
        chosen += [(i / share[section], m)
                   for i, m in enumerate(good[:share[section]])]
    return [m for _, m in sorted(chosen, key=lambda each: each[0])]


def decide(judge, ordered, share, others):
    """Runs quick tests until enough mutants count, then the others on the
    survivors; in the short form not on those that are listed."""
    while True:
        chosen = choose(ordered, share, judge.results)
        new = [m for m in chosen if not judge.results.of(m).get("is")]
        if not new:
            break
        judge.judge_all(new)
    known = read_table(TABLE) if SHORT else ()
    living = [m for m in chosen if judge.results.of(m)["is"] == "lives" and
              m.key not in known]
    if living and others:
        print(f"{len(living)} live: now with all tests", flush=True)
        baseline(judge.builders, others)
        judge.tests += others
    judge.judge_all(living)
    return chosen


def report(text, chosen, results):
    """Prints sections, survivors without a reason, and the figure."""
    sums = collections.defaultdict(collections.Counter)
    for mutant in chosen:
        sums[mutant.section][results.of(mutant)["is"]] += 1
    for section, states in sums.items():
        print(f"{section:28} {sum(states.values()):4} mutants "
              f"{states['killed']:4} killed {states['lives']:4} live")
    living = {m.key: m for m in chosen if results.of(m)["is"] == "lives"}
    table = read_table(TABLE)
    argued = [key for key in living if table.get(key)]
    same = [key for key in argued if not table[key].startswith("Differs")]
    for key, mutant in living.items():
        if key not in argued:
            line = text.count("\n", 0, mutant.start) + 1
            print(f"\n{SOURCE}:{line}: lives ({mutant.kind})\n"
                  f"{mutant.where} #{mutant.number}\n"
                  f"    - {mutant.old}\n    + {mutant.new}")
    stale = [] if SHORT or sys.argv[1:] else \
        [key for key in table if key not in living]
    for key in stale:
        print(f"\n{TABLE}: it does not live: {key}")
    killed = len(chosen) - len(living)
    percent = 100 * killed / max(1, len(chosen) - len(same))
    bar = "no bar for so few" if SHORT else f"bar {BAR}"
    print(f"\nmutants {len(chosen):,} of {len(sums)} sections, killed "
          f"{killed:,}, like the original {len(same)} ({percent:.1f} % of the "
          f"others killed, {bar}), survivors listed {len(argued)} of "
          f"{len(living)}, stale {len(stale)}")
    return ((SHORT or percent >= BAR) and not stale and
            len(argued) == len(living))


def main():
    text = read_file(SOURCE)
    results = Results(os.path.join(WORK, "results"), tests())
    judge = Judge(text, results, Builders())
    first, others = [], []
    for test in tests():
        quick = test.name in SHORT_TESTS if SHORT else test.name not in LONG
        (first if quick else others).append(test)
    judge.tests = first
    code = baseline(judge.builders, judge.tests)
    ordered = {section: [m for m in of if not m.in_function or
                         text.count("\n", 0, m.start) + 1 in code]
               for section, of in mutants(text).items()}
    share = shares(ordered)
    if sys.argv[1:]:
        named = [m for m in choose(ordered, share, results)
                 if sys.argv[1] in m.key]
        ordered = collections.defaultdict(list)
        for mutant in named:
            ordered[mutant.section].append(mutant)
        share = {section: len(of) for section, of in ordered.items()}
    chosen = decide(judge, ordered, share, [] if WITHOUT_LONG else others)
    return report(text, chosen, results)


if __name__ == "__main__":
    sys.exit(0 if main() else 1)
