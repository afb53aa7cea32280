#!/usr/bin/env python3
"""Measures the complexity of the functions of library and ports, the library's
stack, and which symbols allocate. Fails if a bar is missed, if a function can
call itself, or if it is unknown what a function pointer can call.

Usage: test/evidence/complexity.py [INCLUDE OPTION...]
CC, CROSS, CROSS_RISCV, BUILD: as for test/size/size.py.

Complexity is pmccabe's modified one: a switch counts as one decision. The stack
of a public function is the sum of the frames on the longest path through the
compiled code (-fcallgraph-info), at -Os and at -O2. It ends at calls of other
code, whose stack comes on top: BearSSL, libc and libgcc, the port, and the
program's trace function.

SPDX-License-Identifier: 0BSD
"""
import collections
import glob
import os
import re
import sys

HERE = os.path.dirname(__file__)
sys.path[:0] = [os.path.join(HERE, "../e2e"), os.path.join(HERE, "../size")]
from e2e import write_file
from headers import copy_headers
from image import read, sections
from size import cortex, host, output, riscv

DIR = os.environ.get("BUILD", "build") + "/evidence/complexity"
LIBRARY = "mini_stream.c"
BAR, BAR_FAST_LANE = 15, 25
LEVELS = "-Os", "-O2"
# A quarter of firmware's 6 KB; BearSSL, called from less deep in the library,
# takes the rest. 64-bit frames are twice as large.
BAR_STACK, BAR_STACK_64 = 1536, 3072
ALLOCATES = re.compile(r"alloc|^_?free|strn?dup|^_?sbrk|mmap|^_Z(n|d)")

Function = collections.namedtuple("Function", "complexity first last name")


# ---- Complexity ----

def variants(text):
    """Yields a source once per branch of its #if and #else: with this branch,
    and with the first branch of others. Lines keep their numbers."""
    text = re.sub(r"\bclass\b", "class_", text)  # or it is taken for C++
    text = re.sub(r"\b__attribute__\(\(([^()]|\([^()]*\))*\)\)", "", text)
    lines, branches, groups, count = [], set(), [], 0
    for line in text.split("\n"):
        word = re.match(r"\s*#\s*(if|ifdef|ifndef|elif|else|endif)\b", line)
        word = word and word.group(1)
        if word in ("elif", "else"):
            groups[-1] = groups[-1][0], groups[-1][1] + 1
        elif word == "endif":
            groups.pop()
        elif word:
            groups.append((count, 0))
            count += 1
        lines.append((line if not word else "", tuple(groups)))
        branches.add(tuple(groups))
    for branch in sorted(branches):
        if branch == () or branch[-1][1] > 0:
            kept = dict(branch)
            yield "\n".join(
                line if all(kept.get(group, 0) == number
                            for group, number in where) else ""
                for line, where in lines)


def functions(path):
    """The functions of a source, by pmccabe, which reads only first
    branches."""
    copy, found = f"{DIR}/{os.path.basename(path)}", {}
    for text in variants(read(path)):
        write_file(copy, text)
        for line in output("pmccabe", copy).splitlines():
            complexity, _, _, first, count, _, name = line.split()
            function = Function(int(complexity), int(first),
                                int(first) + int(count) - 1, name)
            place = function.first, name
            found[place] = max(function, found.get(place, function))
    if not found:
        sys.exit(f"complexity: no functions in {path}")
    return list(found.values())


def over(path, found, bar):
    """Prints the functions above a bar; returns the highest complexity."""
    for function in found:
        if function.complexity > bar:
            print(f"{path}:{function.first}: {function.name} has a complexity"
                  f" of {function.complexity}, {bar} is the bar")
    return max(function.complexity for function in found)


def check_complexity():
    """(True if the bars hold, a text with the highest complexities)"""
    library = functions(LIBRARY)
    starts = sections(read(LIBRARY))
    begin, end = next((start, starts[i + 1][0])
                      for i, (start, name) in enumerate(starts)
                      if "fast lane" in name)
    fast = [f for f in library if begin <= f.first < end]
    rest = [f for f in library if f not in fast]
    ports = {path: functions(path) for path in sorted(glob.glob("port/*/*.c"))}
    highest = over(LIBRARY, rest, BAR)
    highest_fast = over(LIBRARY, fast, BAR_FAST_LANE)
    highest_port = max(over(path, found, BAR) for path, found in ports.items())
    holds = max(highest, highest_port) <= BAR and highest_fast <= BAR_FAST_LANE
    in_ports = sum(len(found) for found in ports.values())
    return holds, (
        f"complexity at most {highest} in {len(rest)} functions and "
        f"{highest_port} in {in_ports} of ports (bar {BAR}), {highest_fast} in "
        f"{len(fast)} of the fast lane (bar {BAR_FAST_LANE})")


# ---- What a function pointer can call ----

class Pointers:
    """Finds in the source which functions a call by pointer can reach."""

    def __init__(self):
        self.text = read(LIBRARY)
        self.lines = self.text.splitlines()
        self.functions = functions(LIBRARY)
        self.names = {function.name for function in self.functions}

    def arguments(self, name):
        """The library's functions that are arguments in calls of `name`."""
        found = set()
        for match in re.finditer(rf"\b{name}\(", self.text):
            at, depth = match.end(), 1
            while depth > 0:
                depth += {"(": 1, ")": -1}.get(self.text[at], 0)
                at += 1
            words = re.findall(r"\w+\b(?!\()", self.text[match.end():at])
            found |= set(words) & self.names
        return found

    def targets(self, place):
        """The names that a call at FILE:LINE:COLUMN can reach; those in
        brackets are not the library's."""
        line, column = (int(number) for number in place.split(":")[1:])
        match = re.match(r"((?:\w+(?:->|\.))*)(\w+)\(",
                         self.lines[line - 1][column - 1:])
        if not match:
            sys.exit(f"complexity: {place}: what is called there?")
        owner, name = match.groups()
        if owner.endswith("port->"):
            return {"[the port]"}
        if owner.endswith("config.") and name == "trace":
            return {"[trace]"}
        if owner.startswith("br_"):
            return {"[BearSSL]"}
        if owner:  # a table: all values of this member
            found = set(re.findall(rf"\.{name} = (\w+)", self.text))
        else:  # a parameter, or a variable
            around = next(function.name for function in self.functions
                          if function.first <= line <= function.last)
            found = self.arguments(around) | {
                "[libc]" for _ in re.findall(rf"\b{name}\)\([^=;]*= mem\w+;",
                                             self.text)}
        if not found or not found <= self.names | {"[libc]"}:
            sys.exit(f"complexity: {place}: what can {owner}{name} be?")
        return found


# ---- Stack ----

NODE = re.compile(r'node: \{ title: "([^"]+)" label: "[^"]*?'
                  r'\\n(\d+) bytes \(([a-z,]+)\)')
EDGE = re.compile(r'edge: \{ sourcename: "([^"]+)" targetname: "([^"]+)"'
                  r' label: "([^"]*)"')


def outside(name):
    """Whose function it is, outside of the library."""
    return "[BearSSL]" if name.startswith("br_") else "[libc]"


class Graph:
    """The compiled functions, their frames and calls."""

    def __init__(self, text, pointers):
        self.frames, self.calls = {}, collections.defaultdict(set)
        for title, size, kind in NODE.findall(text):
            if kind == "dynamic":  # not even bounded
                sys.exit(f"complexity: the frame of {title} is {kind}")
            self.frames[title.split(":")[-1]] = int(size)
        for source, target, place in EDGE.findall(text):
            source, target = source.split(":")[-1], target.split(":")[-1]
            if target == "__indirect_call":
                targets = pointers.targets(place)
            elif target in self.frames:
                targets = {target}
            else:
                targets = {outside(target)}
            self.calls[source] |= targets
        self.paths = {}

    def path(self, name, above=()):
        """The most stack of a function with its calls, and their path."""
        if name in above:
            sys.exit("complexity: recursion: " + " calls ".join(
                (*above[above.index(name):], name)))
        if name not in self.paths:
            below = [self.path(called, (*above, name))
                     for called in self.calls[name] if called[0] != "["]
            size, way = max(below, default=(0, ()))
            self.paths[name] = self.frames[name] + size, (name, *way)
        return self.paths[name]

    def depths(self):
        """The most stack in use when a function is called."""
        order, depths = [], collections.defaultdict(int)

        def visit(name):
            if name not in order and name[0] != "[":
                for called in self.calls[name]:
                    visit(called)
                order.append(name)

        for name in self.frames:
            visit(name)
        for name in reversed(order):
            for called in self.calls[name]:
                depths[called] = max(depths[called],
                                     depths[name] + self.frames[name])
        return depths


def check_stack(build, pointers):
    """(True if the bound holds for a target at both levels, a text, number of
    allocating symbols)"""
    worst, allocating = 0, set()
    bar = BAR_STACK_64 if build.tools == "" else BAR_STACK
    for level in LEVELS:
        base = f"{DIR}/{build.name}{level}"
        output(*build.compiler, "-std=c99", level, "-I.", "-isystem",
               DIR + "/include", *build.options, "-fcallgraph-info=su",
               "-c", "-o", base + ".o", LIBRARY)
        graph = Graph(read(base + ".ci"), pointers)
        size, way = max(graph.path(name) for name in graph.frames)
        depths = graph.depths()
        print(f"\n{build.name} {level}: {size:,} bytes of stack at most\n  "
              + " > ".join(f"{name} {graph.frames[name]}" for name in way))
        print("  in use where something else is called: " + ", ".join(
            f"{name[1:-1]} {depths[name]:,}" for name in sorted(depths)
            if name[0] == "["))
        worst = max(worst, size)
        undefined = output(build.tools + "nm", "-u", base + ".o").split()
        allocating |= {name for name in undefined if ALLOCATES.search(name)}
    if allocating:
        print(f"{build.name}: {', '.join(sorted(allocating))} allocates")
    return worst <= bar and not allocating, f"{build.name} {worst:,} " \
        f"(bar {bar:,})", len(allocating)


def main():
    copy_headers(DIR + "/include", sys.argv[1:])
    holds, figure = check_complexity()
    pointers = Pointers()
    stacks = [check_stack(build, pointers)
              for build in (cortex("Cortex-M4"), riscv("rv32imac"), host())]
    holds = holds and all(good for good, _, _ in stacks)
    print(f"\n{figure}; stack "
          + ", ".join(text for _, text, _ in stacks)
          + "; no recursion; allocation symbols "
          f"{sum(count for _, _, count in stacks)} (bar 0)")
    sys.exit(not holds)


if __name__ == "__main__":
    main()
