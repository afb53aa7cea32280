#!/usr/bin/env python3
"""Prints what the library costs in code, memory, stack and lines, beside the
bars that it is to come under; fails only if it has static data, or if a
program links what it does not use.

Usage: test/size/size.py [INCLUDE OPTION...]
CC: this machine's compiler; CROSS: prefix of the target's tools; BUILD: where
the objects go, and the headers of BearSSL alone (size/include).

Nothing is run on the target: its compiler sizes the objects. A program's
code is what stays of the library when the program is linked with
--gc-sections, without the program's own: BearSSL and libc come on top.

SPDX-License-Identifier: 0BSD
"""
import collections
import os
import re
import shutil
import subprocess
import sys

DIR = os.environ.get("BUILD", "build") + "/size"
CC = os.environ.get("CC", "cc")
CROSS = os.environ.get("CROSS", "arm-none-eabi-")
HERE = "test/size/"

OPTIONS = ["-Os", "-fno-common", "-ffunction-sections", "-fdata-sections",
           "-I.", "-isystem", DIR + "/include"]

Build = collections.namedtuple("Build", "name tools compiler options")
TARGET = [CROSS + "gcc", "-mcpu=cortex-m4", "-mthumb"]
# Without unwind tables, which the target has not.
HOST = [CC, "-fno-pie", "-fno-asynchronous-unwind-tables"]
NO_TLS = ["-DMST_NO_TLS"]
BUILDS = [Build("Cortex-M4", CROSS, TARGET, []),
          Build("MST_NO_TLS", CROSS, TARGET, NO_TLS),
          Build("this machine", "", HOST, []),
          Build("MST_NO_TLS", "", HOST, NO_TLS)]

# A row's label, what is measured, and the bar and aim of the first column.
Row = collections.namedtuple("Row", "label what bar aim",
                             defaults=(None, None))
SECTIONS = [
    ("Code of the library, and what a program links of it, bytes", [
        Row("whole library", "library", 48000, 42000),
        Row("stream and a book", "stream_book", 38000, 34000),
        Row("stream without a book", "stream", 32000, 28000),
        Row("address PUT", "put_address", 22000, 19000),
        Row("README's example, with texts", "first")]),
    ("RAM: client and memory, bytes", [
        Row("least: small records", "memory_least"),
        Row("small: nothing ahead", "memory_small"),
        Row("usual, but nothing ahead", "memory_plain", 35500, 34000),
        Row("usual: 4 KB ahead", "memory_usual", 39500, 38000),
        Row("fast: 512 KB ahead", "memory_fast")]),
    ("Static data, stack and objects, bytes", [
        Row("data and bss", "data", 0, 0),
        Row("largest stack frame", "stack", 512, 400),
        Row("struct mst_client", "client"),
        Row("struct mst_event", "event"),
        Row("struct mst_decoder, by itself", "decoder"),
        Row("struct mst_ws, by itself", "ws"),
        Row("book of 100 levels a side", "book")]),
]
SOURCE_ROWS = [
    Row("lines of mini_stream.c", "source", 9000, 8000),
    Row("lines of mini_stream.h", "header", 1400, 1200),
    Row("lines of the largest section", "section", 800, 600),
    Row("lines of the fast lane", "fast lane"),
    Row("most members of a struct", "members", 40, 30),
]
# What must not be left in a program that does not use it.
UNUSED = {"stream": {"mst_book_apply"}, "put_address": {"mst_book_apply"}}
FRAMES = 5


def output(*command):
    try:
        return subprocess.run(command, check=True, text=True,
                              stdout=subprocess.PIPE).stdout
    except (OSError, subprocess.SubprocessError) as error:
        sys.exit(f"size: {error}")


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


# ---- What compilers and linkers say ----

def copy_headers(include):
    """Copies the headers of BearSSL, apart from this machine's C
    headers. Where Debian has bearssl.h twice, the real one comes last."""
    shutil.rmtree(DIR, ignore_errors=True)
    os.makedirs(DIR + "/include")
    with open(DIR + "/headers.c", "w", encoding="utf-8") as file:
        file.write("#include <bearssl.h>\n")
    needed = output(CC, *include, "-M", DIR + "/headers.c")
    for path in re.findall(r"\S+/bearssl\w*\.h\b", needed):
        shutil.copy(path, DIR + "/include")


def compile_object(build, index, source, *options):
    """Compiles a source for this build; returns the object's path."""
    name = os.path.basename(source)[:-len(".c")]
    path = f"{DIR}/{index}.{name}.o"
    output(*build.compiler, "-std=c99", *OPTIONS, *build.options, *options,
           "-c", "-o", path, source)
    return path


def sizes(build, path):
    """Bytes of code with constants, and of data with bss."""
    text, data, bss = output(build.tools + "size",
                             path).splitlines()[1].split()[:3]
    return int(text), int(data) + int(bss)


def frames(path):
    """The stack frames, largest first: bytes and function."""
    lines = [line.split("\t") for line in read(path).splitlines()]
    return sorted(((int(size), where.split(":")[-1].split(".")[0])
                   for where, size, _ in lines), reverse=True)


def measure(build, index):
    """What each row of SECTIONS is for this build, by name; stack frames."""
    library = compile_object(build, index, "mini_stream.c", "-fstack-usage")
    found = {}
    found["library"], found["data"] = sizes(build, library)
    programs = [HERE + name for name in ("stream_book.c", "stream.c",
                                         "put_address.c")]
    if NO_TLS != build.options:
        programs.append("examples/first.c")
    for source in programs:
        program = compile_object(build, index, source,
                                 "-I" + HERE + "posix")
        linked = program[:-len("o")] + "linked"
        output(*build.compiler, "-r", "-nostdlib", "-Wl,--gc-sections",
               "-Wl,-e,main", "-o", linked, program, library)
        name = os.path.basename(source)[:-len(".c")]
        linked_names = output(build.tools + "nm", linked).split()
        for unused in sorted(UNUSED.get(name, set()) & set(linked_names)):
            sys.exit(f"size: {source} does not use {unused}, but has it")
        own, own_data = sizes(build, program)
        text, data = sizes(build, linked)
        found[name] = text - own
        found["data"] = max(found["data"], data - own_data)
    arrays = compile_object(build, index, HERE + "memory.c")
    for line in output(build.tools + "nm", "-S", arrays).splitlines():
        _, size, _, name = line.split()
        found[name] = int(size, 16)
    stack = frames(library[:-len("o")] + "su")
    found["stack"] = stack[0][0]
    return found, stack


# ---- What the source says ----

BANNER = re.compile(r"^/\* -{60,}\n \* \d+ (.+)\n", re.M)
COMMENT = re.compile(r"/\*.*?\*/", re.S)
STRUCT = re.compile(r"^struct (\w+) \{(.*?)^\};", re.M | re.S)


def members(body):
    """How many members the body of a struct declares; a struct or union
    inside of it is one."""
    body = re.sub(r"^\s*#.*", "", body, flags=re.M)
    while True:
        body, found = re.subn(r"\{[^{}]*\}|\((?!\*)[^()]*\)", "", body)
        if found == 0:
            break
    body = re.sub(r"\([^()]*\)", "", body)
    return sum(text.count(",") + 1 for text in body.split(";")
               if text.strip())


def measure_source():
    """What each row of SOURCE_ROWS is, and which part of the source it is."""
    text, header = read("mini_stream.c"), read("mini_stream.h")
    starts = [(match.group(1), text.count("\n", 0, match.start()))
              for match in BANNER.finditer(text)]
    ends = [at for _, at in starts[1:]] + [text.count("\n")]
    sections = {name: end - at for (name, at), end in zip(starts, ends)}
    fast_lane = next((name for name in sections if "fast lane" in name), None)
    found = {"source": (text.count("\n"), ""),
             "header": (header.count("\n"), "")}
    if fast_lane:
        found["fast lane"] = sections.pop(fast_lane), ""
    found["section"] = max((lines, name) for name, lines in sections.items())
    found["members"] = max(
        (members(match.group(2)), match.group(1))
        for match in STRUCT.finditer(COMMENT.sub("", header)))
    return found


# ---- The table ----

missed = 0


def line(label, value, row, rest):
    """A row with the bar, the aim, and by how much the bar is missed."""
    global missed
    bars = ""
    if row.bar is not None:
        over = value - row.bar
        missed += over > 0
        stands = f"{over:,}" if over > 0 else "-"
        bars = f"{row.bar:,}".rjust(9) + f"{row.aim:,}".rjust(9) + \
            stands.rjust(9)
    print(f"  {label:28}{value:11,}{bars:27}{rest}".rstrip())


def main():
    copy_headers(sys.argv[1:])
    builds = [measure(build, index) for index, build in enumerate(BUILDS)]
    target, stack = builds[0]
    print(f"{'':30}{BUILDS[0].name:>11}      bar      aim     over" +
          "".join(f"{build.name:>13}" for build in BUILDS[1:]))
    for title, rows in SECTIONS:
        print(title)
        for row in rows:
            line(row.label, target[row.what], row,
                 "".join((f"{found[row.what]:,}" if row.what in found
                          else "-").rjust(13) for found, _ in builds[1:]))
    print("Source")
    source = measure_source()
    for row in SOURCE_ROWS:
        if row.what in source:
            value, name = source[row.what]
            line(row.label, value, row, f"  {name}")
    print(f"\n{missed} bars are missed."
          f" Largest stack frames on the {BUILDS[0].name}:\n ",
          ", ".join(f"{name} {size}" for size, name in stack[:FRAMES]))
    if any(found["data"] for found, _ in builds):
        sys.exit("size: the library has static data: there must be none")


if __name__ == "__main__":
    main()
