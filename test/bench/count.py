#!/usr/bin/env python3
"""Counts the instructions of units of work on emulated boards, by processor and
build of the library; prints Markdown tables.

Usage: test/bench/count.py [INCLUDE OPTION...]
CROSS, CROSS_RISCV: prefixes of the tools for Cortex-M and for RISC-V.

In the emulator each instruction takes 1 ns (-icount shift=0), so that a clock
of the board counts them; the result is the same in each run.

SPDX-License-Identifier: 0BSD
"""
import datetime
import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../size"))
from size import CROSS, DIR, compile_object, cortex, output, riscv
from headers import copy_headers

QEMU = ["-icount", "shift=0", "-display", "none", "-chardev", "stdio,id=out",
        "-semihosting-config", "enable=on,target=native,chardev=out",
        "-kernel"]

CORTEX_LINK = ["--specs=rdimon.specs", "-Wl,--section-start=.vectors=0"]
RISCV_LINK = ["--crt0=semihost", "--oslib=semihost",
              "-Wl,--defsym=__flash=0x80000000,--defsym=__flash_size=16M,"
              "--defsym=__ram=0x81000000,--defsym=__ram_size=64M"]
# How to compile for a processor, link for a board and emulate it. There is no
# board with a Cortex-M0+, but a Cortex-M3 runs its code.
TARGETS = {
    **{name: (cortex(name), CORTEX_LINK, ["qemu-system-arm", "-M", board])
       for name, board in (("Cortex-M0+", "mps2-an385"),
                           ("Cortex-M3", "mps2-an385"),
                           ("Cortex-M4", "mps2-an386"))},
    "RV32IMAC": (riscv("rv32imac"), RISCV_LINK,
                 ["qemu-system-riscv32", "-M", "virt", "-bios", "none"])}
PROGRAM = [f"test/bench/{name}.c"
           for name in ("count", "count_client", "follow", "corpus",
                        "target")]
# newlib declares POSIX clocks only for systems that have them; target.c does.
HAS_CLOCK = ["-D_POSIX_TIMERS=1", "-D_POSIX_CPUTIME=1"]

# The table's columns: processor and build.
COLUMNS = [("Cortex-M0+", "-Os"), ("Cortex-M3", "-Os"), ("Cortex-M3", "-O2"),
           ("Cortex-M4", "-Os"), ("Cortex-M4", "-Os -DMST_NO_FAST_LANE"),
           ("Cortex-M4", "-O2"), ("Cortex-M4", "-O2 -DMST_NO_FAST_LANE"),
           ("RV32IMAC", "-Os")]
MANY = " -DMST_SUBSCRIPTIONS_MAX=1000"
BARRED = "an update of 1,024 bytes"
BARS = {"Cortex-M3, -Os": 33000, "Cortex-M3, -O2": 30000}


def count(name, options):
    """Rows (what, cost) for a build with these options."""
    build, link, emulator = TARGETS[name]
    options, program = options.split(), DIR + "/count"
    library = compile_object(build, "count", "mini_stream.c", *options)
    size = output(build.tools + "size", library).splitlines()[1].split()[0]
    # The counted code calls no BearSSL, which is therefore not linked, except
    # SHA-1 and SHA-256, which target.c replaces.
    absent = [f"-Wl,--defsym={line.split()[1]}=0" for line in
              output(build.tools + "nm", "-u", library).splitlines()
              if re.match("br_(?!sha1_|sha(224|256)_[iou])", line.split()[1])]
    limits = [option for option in options if option.startswith("-D")]
    output(*build.compiler, *build.options, "-std=gnu11", "-O2", *limits,
           *HAS_CLOCK, "-I.", "-isystem", DIR + "/include", *absent, *link,
           "-o", program, *PROGRAM, library)
    rows = [line.split("\t")
            for line in output(*emulator, *QEMU, program).splitlines()]
    return rows + [["code of the library, bytes", size]]


def number(text):
    value = float(text)
    return f"{value:,.0f}" if value >= 100 else text


def table(columns, wanted=""):
    """Prints and returns the rows whose names contain `wanted`."""
    heads = [f"{name}, {build.replace('-D', '')}" for name, build in columns]
    print("\n| instructions |", " | ".join(heads), "|")
    print("|---|" + "---|" * len(heads))
    rows = [row for row in zip(*(count(*column) for column in columns),
                               strict=True) if wanted in row[0][0]]
    for row in rows:
        print("|", row[0][0], "|",
              " | ".join(number(value) for _, value in row), "|")
    return {row[0][0]: dict(zip(heads, (float(value) for _, value in row)))
            for row in rows}


def main():
    copy_headers(DIR + "/include", sys.argv[1:])
    print(f"{datetime.date.today().isoformat()}, make count,",
          output(CROSS + "gcc", "--version").splitlines()[0])
    rows = table(COLUMNS)
    table([("Cortex-M4", build + MANY) for build in ("-Os", "-O2")], " 1000 ")
    print()
    what, cost = next(row for row in rows.items() if row[0].startswith(BARRED))
    for head, bar in BARS.items():
        print(f"{head}, {what}: {cost[head]:,.0f},",
              f"bar {bar:,}:", "holds" if cost[head] <= bar else "missed")


if __name__ == "__main__":
    main()
