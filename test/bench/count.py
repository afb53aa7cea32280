#!/usr/bin/env python3
"""Counts the instructions of units of work on emulated boards: a Cortex-M4 for
builds of the library that may be chosen, other processors for one; prints
Markdown tables.

Usage: test/bench/count.py [INCLUDE OPTION...]
CROSS, CROSS_RISCV: prefixes of the tools for Cortex-M and for RISC-V.

The emulator gives each instruction 1 ns of its time (-icount shift=0), so
that a clock of the board counts them: the same in each run.

SPDX-License-Identifier: 0BSD
"""
import collections
import datetime
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../e2e"))
from headers import copy_headers

DIR = os.environ.get("BUILD", "build") + "/count"
CROSS = os.environ.get("CROSS", "arm-none-eabi-")
CROSS_RISCV = os.environ.get("CROSS_RISCV", "riscv64-unknown-elf-")
QEMU = ["-icount", "shift=0", "-display", "none", "-chardev", "stdio,id=out",
        "-semihosting-config", "enable=on,target=native,chardev=out",
        "-kernel"]

# Prefix of the tools, options for compiling and for linking, and the emulator.
Target = collections.namedtuple("Target", "tools options link emulator")


def cortex(cpu, board):
    return Target(CROSS, ["-mcpu=" + cpu, "-mthumb"],
                  ["--specs=rdimon.specs",
                   "-Wl,--section-start=.vectors=0"],
                  ["qemu-system-arm", "-M", board])


# No board has a Cortex-M0+, whose code a Cortex-M3 runs as well.
TARGETS = {
    "Cortex-M0+": cortex("cortex-m0plus", "mps2-an385"),
    "Cortex-M3": cortex("cortex-m3", "mps2-an385"),
    "Cortex-M4": cortex("cortex-m4", "mps2-an386"),
    "RV32IMAC": Target(
        CROSS_RISCV,
        ["-march=rv32imac", "-mabi=ilp32", "--specs=picolibc.specs"],
        ["--crt0=semihost", "--oslib=semihost",
         "-Wl,--defsym=__flash=0x80000000,--defsym=__flash_size=16M,"
         "--defsym=__ram=0x81000000,--defsym=__ram_size=64M"],
        ["qemu-system-riscv32", "-M", "virt", "-bios", "none"])}
PROGRAM = [f"test/bench/{name}.c"
           for name in ("count", "count_client", "follow", "corpus",
                        "target")]
# newlib has the clocks of POSIX only where a system has: target.c does.
HAS_CLOCK = ["-D_POSIX_TIMERS=1", "-D_POSIX_CPUTIME=1"]

# Of the table: processor and build.
COLUMNS = [("Cortex-M0+", "-Os"), ("Cortex-M3", "-Os"), ("Cortex-M3", "-O2"),
           ("Cortex-M4", "-Os"), ("Cortex-M4", "-Os -DMST_NO_FAST_LANE"),
           ("Cortex-M4", "-O2"), ("Cortex-M4", "-O2 -DMST_NO_FAST_LANE"),
           ("RV32IMAC", "-Os")]
MANY = " -DMST_SUBSCRIPTIONS_MAX=1000"
BARRED = "an update of 1,024 bytes"
BARS = {"Cortex-M3, -Os": 33000, "Cortex-M3, -O2": 30000}


def output(*command):
    try:
        return subprocess.run(command, check=True, timeout=300, text=True,
                              stdout=subprocess.PIPE).stdout
    except (OSError, subprocess.SubprocessError) as error:
        sys.exit(f"count: {error}\n{getattr(error, 'output', '')}")


def count(name, build):
    """Rows of what and its cost for a build with these options."""
    target, build = TARGETS[name], build.split()
    compiler = [target.tools + "gcc", *target.options]
    library, program = DIR + "/library.o", DIR + "/program"
    include = ["-I.", "-isystem", DIR + "/include"]
    # As test/size/size.py does it.
    output(*compiler, "-std=c99", "-fno-common", "-ffunction-sections",
           "-fdata-sections", *build, *include, "-c", "-o", library,
           "mini_stream.c")
    size = output(target.tools + "size", library).splitlines()[1].split()[0]
    # What is counted does not get to BearSSL, which needs not be there; where
    # it does, to SHA-1 and SHA-256, target.c stands in.
    absent = [f"-Wl,--defsym={line.split()[1]}=0"
              for line in output(target.tools + "nm", "-u",
                                 library).splitlines()
              if re.match("br_(?!sha1_|sha(224|256)_[iou])", line.split()[1])]
    limits = [option for option in build if option.startswith("-D")]
    output(*compiler, "-std=gnu11", "-O2", *limits, *HAS_CLOCK, *include,
           *absent, *target.link, "-o", program, *PROGRAM, library)
    rows = [line.split("\t")
            for line in output(*target.emulator, *QEMU, program).splitlines()]
    return rows + [["code of the library, bytes", size]]


def number(text):
    value = float(text)
    return f"{value:,.0f}" if value >= 100 else text


def table(columns, wanted=""):
    """Prints the rows with this in their names; returns them."""
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
