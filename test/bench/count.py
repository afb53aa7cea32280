#!/usr/bin/env python3
"""Counts the instructions of units of work on an emulated Cortex-M4, for
builds of the library that may be chosen, and of one on a Cortex-M3, beside its
bar; prints Markdown tables.

Usage: test/bench/count.py [INCLUDE OPTION...]
CROSS: prefix of the target's tools.

The emulator gives each instruction 1 ns of its time (-icount shift=0), so
that a clock of the board counts them: the same in each run.

SPDX-License-Identifier: 0BSD
"""
import datetime
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../e2e"))
from headers import copy_headers

DIR = os.environ.get("BUILD", "build") + "/count"
CROSS = os.environ.get("CROSS", "arm-none-eabi-")
BOARDS = {"cortex-m4": "mps2-an386", "cortex-m3": "mps2-an385"}
QEMU = ["qemu-system-arm", "-icount", "shift=0",
        "-nographic", "-monitor", "none", "-serial", "none",
        "-semihosting-config", "enable=on,target=native"]
PROGRAM = [f"test/bench/{name}.c"
           for name in ("count", "count_client", "follow", "corpus",
                        "target")]
# newlib has the clocks of POSIX only where a system has: target.c does.
HAS_CLOCK = ["-D_POSIX_TIMERS=1", "-D_POSIX_CPUTIME=1"]

BUILDS = [["-Os"], ["-Os", "-DMST_NO_FAST_LANE"],
          ["-O2"], ["-O2", "-DMST_NO_FAST_LANE"]]
MANY = "-DMST_SUBSCRIPTIONS_MAX=1000"
# Of the row on a Cortex-M3: builds, and their bars.
BARRED = "an update of 1,024 bytes"
BARS = (("-Os", 33000), ("-O2", 30000))


def output(*command):
    try:
        return subprocess.run(command, check=True, timeout=300, text=True,
                              stdout=subprocess.PIPE).stdout
    except (OSError, subprocess.SubprocessError) as error:
        sys.exit(f"count: {error}")


def count(cpu, build):
    """Rows of what and its cost for a build with these options."""
    compiler = [CROSS + "gcc", "-mcpu=" + cpu, "-mthumb"]
    library, program = DIR + "/library.o", DIR + "/program"
    include = ["-I.", "-isystem", DIR + "/include"]
    # As test/size/size.py does it.
    output(*compiler, "-std=c99", "-fno-common", "-ffunction-sections",
           "-fdata-sections", *build, *include, "-c", "-o", library,
           "mini_stream.c")
    size = output(CROSS + "size", library).splitlines()[1].split()[0]
    # What is counted does not get to BearSSL, which needs not be there; where
    # it does, to SHA-1 and SHA-256, target.c stands in.
    absent = [f"-Wl,--defsym={line.split()[1]}=0"
              for line in output(CROSS + "nm", "-u", library).splitlines()
              if re.match("br_(?!sha1_|sha(224|256)_[iou])", line.split()[1])]
    limits = [option for option in build if option.startswith("-D")]
    output(*compiler, "-std=gnu11", "-O2", *limits, *HAS_CLOCK, *include,
           *absent,
           "--specs=rdimon.specs", "-Wl,--section-start=.vectors=0",
           "-o", program, *PROGRAM, library)
    rows = [line.split("\t")
            for line in output(*QEMU, "-M", BOARDS[cpu], "-kernel",
                               program).splitlines()]
    return rows + [["code of the library, bytes", size]]


def number(text):
    value = float(text)
    return f"{value:,.0f}" if value >= 100 else text


def main():
    copy_headers(DIR + "/include", sys.argv[1:])
    tables = [count("cortex-m4", build) for build in BUILDS]
    print(f"{datetime.date.today().isoformat()}, make count,",
          output(CROSS + "gcc", "--version").splitlines()[0])
    print()
    heads = [" ".join(build).replace("-D", "") for build in BUILDS]
    print("| instructions |", " | ".join(heads), "|")
    print("|---|" + "---|" * len(BUILDS))
    for row in zip(*tables):
        print("|", row[0][0], "|",
              " | ".join(number(value) for _, value in row), "|")
    print("\n| with 1,000 subscriptions | -Os | -O2 |\n|---|---|---|")
    for row in zip(count("cortex-m4", ["-Os", MANY]),
                   count("cortex-m4", ["-O2", MANY])):
        if " 1000 " in row[0][0]:
            print("|", row[0][0], "|",
                  " | ".join(number(value) for _, value in row), "|")
    print("\n| on a Cortex-M3 | instructions | bar | |\n|---|---|---|---|")
    for option, bar in BARS:
        what, cost = next(row for row in count("cortex-m3", [option])
                          if row[0].startswith(BARRED))
        print(f"| {what}, {option} | {number(cost)} | {bar:,} |",
              "holds" if float(cost) <= bar else
              f"missed by {float(cost) - bar:,.0f}", "|")


if __name__ == "__main__":
    main()
