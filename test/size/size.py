#!/usr/bin/env python3
"""Prints the library's code size, memory, stack and lines, with their bars, and
the parts of firmware images. Fails only if the library has static data, if a
program links what it does not use, or if the parts of an image do not add up.

Usage: test/size/size.py [INCLUDE OPTION...]
CC: this machine's compiler; CROSS, CROSS_RISCV: prefixes of the tools for
Cortex-M and for RISC-V; BUILD: gets the objects, and the headers of only
BearSSL and jsmn (size/include); IMAGES: firmware images, each next to its map;
SOURCES: folder with bearssl, mbedtls, nghttp2 and aria2, or none.

Nothing runs on a target. A program's code is what --gc-sections keeps of the
library, without the program itself, BearSSL and libc.

SPDX-License-Identifier: 0BSD
"""
import collections
import concurrent.futures
import glob
import os
import re
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../e2e"))
from headers import CC, copy_headers
from image import CROSS, Parts, read, sections

DIR = os.environ.get("BUILD", "build") + "/size"
CROSS_RISCV = os.environ.get("CROSS_RISCV", "riscv64-unknown-elf-")
IMAGES = os.environ.get("IMAGES", "").split()
SOURCES = os.environ.get("SOURCES")
HERE = "test/size/"

OPTIONS = ["-Os", "-fno-common", "-ffunction-sections", "-fdata-sections",
           "-I.", "-isystem", DIR + "/include"]

# Name, prefix of the tools, compiler, options for compiling and for linking.
Build = collections.namedtuple("Build", "name tools compiler options link")
TARGET = "Cortex-M4"  # for which the bars are
NO_TLS = "-DMST_NO_TLS"
# Programs are linked partly: BearSSL, libc and the port are missing. For RISC-V
# they are linked to the end, so that the linker shortens calls, except
# those of missing functions (1 % of the code).
PARTLY = ["-r"]
TO_THE_END = ["-Wl,--unresolved-symbols=ignore-all,--no-warn-rwx-segments"]


def cortex(name, *options):
    cpu = name.lower().replace("+", "plus")
    return Build(name, CROSS, [CROSS + "gcc", "-mcpu=" + cpu, "-mthumb"],
                 options, PARTLY)


def riscv(march):
    return Build(march.upper(), CROSS_RISCV,
                 [CROSS_RISCV + "gcc", "-march=" + march, "-mabi=ilp32"],
                 ["--specs=picolibc.specs"], TO_THE_END)


def host(*options):
    """This machine, without unwind tables, as on the targets."""
    name = output(CC, "-dumpmachine").split("-")[0].replace("_", "-")
    return Build(name, "", [CC, "-fno-pie", "-fno-asynchronous-unwind-tables"],
                 options, PARTLY)


# A row's label, measured value, and its bar and aim on the target.
Row = collections.namedtuple("Row", "label what bar aim",
                             defaults=(None, None))
SECTIONS = [
    ("Code of the library, and what a program links of it, bytes", [
        Row("whole library", "library", 47000, 44000),
        Row("stream and a book", "stream_book", 37500, 34000),
        Row("stream without a book", "stream", 32000, 31000),
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
    Row("lines of mini_stream.h", "header", 1460, 1300),
    Row("lines of the largest section", "section", 600, 500),
    Row("lines of the fast lane", "fast lane"),
    Row("most members of a struct", "members", 40, 30),
]
# Functions that must not be linked into these programs.
UNUSED = {"stream": {"mst_book_apply"}, "put_address": {"mst_book_apply"}}
FRAMES = 5


def output(*command):
    try:
        return subprocess.run(command, check=True, timeout=300, text=True,
                              stdout=subprocess.PIPE).stdout
    except (OSError, subprocess.SubprocessError) as error:
        sys.exit(f"{sys.argv[0]}: {error}\n{getattr(error, 'output', '')}")


# ---- What compilers and linkers say ----

def compile_object(build, index, source, *options):
    """Compiles a source for this build; returns the object's path."""
    name = os.path.basename(source)[:-len(".c")]
    path = f"{DIR}/{index}.{name}.o"
    output(*build.compiler, "-std=c99", *OPTIONS, *build.options, *options,
           "-c", "-o", path, source)
    return path


def sizes(build, path, *objects, options):
    """Links these objects; returns bytes of code and of data with bss."""
    output(*build.compiler, *build.link, "-nostdlib", *options, "-o", path,
           *objects)
    text, data, bss = output(build.tools + "size",
                             path).splitlines()[1].split()[:3]
    return int(text), int(data) + int(bss)


def frames(path):
    """The stack frames, largest first: bytes and function."""
    lines = [line.split("\t") for line in read(path).splitlines()]
    return sorted(((int(size), where.split(":")[-1].split(".")[0])
                   for where, size, _ in lines), reverse=True)


def measure(build, index):
    """The values of the rows of SECTIONS by name, and the stack frames."""
    library = compile_object(build, index, "mini_stream.c", "-fstack-usage")
    found = {}
    found["library"], found["data"] = sizes(
        build, library + ".linked", library,
        options=["-Wl,--no-gc-sections,-e,0"])
    programs = [HERE + name for name in ("stream_book.c", "stream.c",
                                         "put_address.c")]
    if NO_TLS not in build.options:
        programs.append("examples/first.c")
    for source in programs:
        program = compile_object(build, index, source,
                                 "-I" + HERE + "posix")
        linked, used = program + ".linked", ["-Wl,--gc-sections,-e,main"]
        own, own_data = sizes(build, program + ".own", program, options=used)
        text, data = sizes(build, linked, program, library, options=used)
        name = os.path.basename(source)[:-len(".c")]
        linked_names = output(build.tools + "nm", linked).split()
        for unused in sorted(UNUSED.get(name, set()) & set(linked_names)):
            sys.exit(f"size: {source} does not use {unused}, but has it")
        found[name] = text - own
        found["data"] = max(found["data"], data - own_data)
    arrays = compile_object(build, index, HERE + "memory.c")
    for line in output(build.tools + "nm", "-S", arrays).splitlines():
        _, size, _, name = line.split()
        found[name] = int(size, 16)
    stack = frames(library[:-len("o")] + "su")
    found["stack"] = stack[0][0]
    return found, stack


# mbedTLS with the functions of BearSSL's client: its smallest configuration for
# TLS 1.2, and what that lacks.
MBEDTLS = ["-DMBEDTLS_CONFIG_FILE=<config-suite-b.h>", *(
    "-DMBEDTLS_" + name for name in (
        "X509_CHECK_KEY_USAGE", "X509_CHECK_EXTENDED_KEY_USAGE", "RSA_C",
        "PKCS1_V15", "KEY_EXCHANGE_ECDHE_RSA_ENABLED", "CHACHA20_C",
        "POLY1305_C", "CHACHAPOLY_C", "ECP_DP_CURVE25519_ENABLED",
        "SSL_SESSION_TICKETS", "SSL_SERVER_NAME_INDICATION",
        "NO_PLATFORM_ENTROPY"))]


# The files of BearSSL that the library needs without TLS.
HASHES = ("hash/sha1", "hash/sha2small", "codec/dec32be", "codec/enc32be")


def hashes(build):
    return [compile_object(build, "hashes", f"{SOURCES}/bearssl/src/{name}.c",
                           f"-I{SOURCES}/bearssl/inc",
                           f"-I{SOURCES}/bearssl/src", "-w")
            for name in HASHES]


def objects(build, name, pattern, *options):
    """Compiles the sources of another project that match."""
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        return list(pool.map(
            lambda source: compile_object(build, name, source, "-w", *options),
            [path for path in glob.glob(pattern, recursive=True)
             if os.path.basename(path) not in ("net_sockets.c", "timing.c")]))


def code(build, name, entry, *parts):
    return sizes(build, f"{DIR}/{name}.linked", *parts,
                 options=["-Wl,--gc-sections,-e," + entry])[0]


def measure_tls(build):
    """What TLS adds to a program that streams, with BearSSL and with mbedTLS,
    and the share of port/mbedtls; all as the linker keeps it."""
    bearssl = objects(build, "bearssl", SOURCES + "/bearssl/src/**/*.c",
                      *(f"-I{SOURCES}/bearssl/{name}" for name in
                        ("inc", "src")),
                      *(f"-DBR_USE_{name}=0" for name in
                        ("UNIX_TIME", "URANDOM", "GETENTROPY")))
    with_tls, without = (
        code(build, name, "main", *bearssl, *(
            compile_object(build, name, source, *options) for source in
            ("mini_stream.c", HERE + "stream.c")))
        for name, options in (("tls", []), ("no-tls", [NO_TLS])))
    options = [f"-I{SOURCES}/mbedtls/{name}" for name in
               ("include", "configs")] + MBEDTLS
    port = compile_object(build, "port", "port/mbedtls/mst_mbedtls.c",
                          *options)
    return (with_tls - without,
            code(build, "mbedtls", "mst_mbedtls_init", port,
                 *objects(build, "mbedtls", SOURCES + "/mbedtls/library/*.c",
                          *options)),
            code(build, "port", "mst_mbedtls_init", port))


def measure_peers(build):
    """Code of a program that streams, and of one with others' parts, alone and
    linked with newlib-nano."""
    to_the_end = build._replace(
        link=["--specs=nano.specs", "-Wl,--unresolved-symbols=ignore-all"])
    llhttp, wslay = SOURCES + "/nghttp2/third-party/llhttp/", \
        SOURCES + "/aria2/deps/wslay/lib/"
    options = [f"-I{llhttp}include", f"-I{wslay}includes", "-DNDEBUG",
               "-Dntohl=__builtin_bswap32", "-Dhtons=__builtin_bswap16",
               "-Dntohs=__builtin_bswap16"]
    ours = [*hashes(build), *(compile_object(build, "peers", source) for source
                              in ("mini_stream.c", HERE + "stream.c"))]
    theirs = [compile_object(build, "peers", HERE + "peers/peers.c", *options),
              *objects(build, "llhttp", llhttp + "src/*.c", *options),
              *objects(build, "wslay", wslay + "*.c", *options)]
    return [(code(build, "peers", "main", *parts),
             code(to_the_end, "peers", "main", *parts, "-lc_nano", "-lgcc"))
            for parts in (ours, theirs)]


# ---- What the source says ----

COMMENT = re.compile(r"/\*.*?\*/", re.S)
STRUCT = re.compile(r"^struct (\w+) \{(.*?)^\};", re.M | re.S)


def members(body):
    """The number of members of a struct; an inner struct or union is one."""
    body = re.sub(r"^\s*#.*", "", body, flags=re.M)
    while True:
        body, found = re.subn(r"\{[^{}]*\}|\((?!\*)[^()]*\)", "", body)
        if found == 0:
            break
    body = re.sub(r"\([^()]*\)", "", body)
    return sum(text.count(",") + 1 for text in body.split(";")
               if text.strip())


def measure_source():
    """The values of the rows of SOURCE_ROWS, and what has them."""
    text, header = read("mini_stream.c"), read("mini_stream.h")
    starts = sections(text)
    ends = [line for line, _ in starts[1:]] + [text.count("\n") + 1]
    lines = {name: end - line for (line, name), end in zip(starts, ends)}
    fast_lane = next((name for name in lines if "fast lane" in name), None)
    found = {"source": (text.count("\n"), ""),
             "header": (header.count("\n"), "")}
    if fast_lane:
        found["fast lane"] = lines.pop(fast_lane), ""
    found["section"] = max((count, name) for name, count in lines.items())
    found["members"] = max(
        (members(match.group(2)), match.group(1))
        for match in STRUCT.finditer(COMMENT.sub("", header)))
    return found


# ---- The tables ----

def print_row(label, cells, width, rest=""):
    print(f"{label:30}" + "".join(
        (f"{cell:,}" if isinstance(cell, int) else cell or "-").rjust(width)
        for cell in cells) + rest)


def print_library(names, builds):
    print(f"{'The library alone, -Os, bytes':85}  with MST_NO_TLS")
    print_row("", names, 11)
    for title, rows in SECTIONS:
        print(title)
        for row in rows:
            print_row("  " + row.label,
                      [found.get(row.what) for found, _ in builds], 11)


def print_bars(target):
    """Prints the rows with a bar and what is missing, and those of
    the source."""
    found = {what: (value, "") for what, value in target.items()}
    found.update(measure_source())
    missed = 0
    print()
    print_row(f"Bars, on the {TARGET}", ["is", "bar", "aim", "over"], 11)
    for row in [row for _, rows in SECTIONS for row in rows
                if row.bar is not None] + SOURCE_ROWS:
        if row.what in found:
            value, name = found[row.what]
            cells = [value]
            if row.bar is not None:
                over = max(value - row.bar, 0)
                missed += over > 0
                cells += [row.bar, row.aim, over or "-"]
            print_row("  " + row.label, cells, 11, name and "  " + name)
    print(f"  {missed} bars are missed.")


# Parts of an image in their printed order.
LABELS = {"library": "mini_stream.c, by section", "BearSSL": "BearSSL",
          "lwIP": "lwIP", "libc": "newlib and libgcc", "port": "port/lwip", "flash": "port/flash and its file",
          "application": "application", "board": "board",
          "vector table": "vector table", "anchors": "trust anchors",
          "stack": "stack", "fill": "fill, for alignment"}
TEXTS = "texts of its tables"
LARGE = 1024  # bytes of a variable that gets a row


def image_rows(image):
    """Bytes of flash and RAM by part, and by section or variable in it."""
    found = collections.defaultdict(lambda: [0, 0])
    for piece in image.pieces:
        name = None
        if piece.part == "library":
            name = piece.section or TEXTS
        elif piece.ram and piece.size >= LARGE:
            name = piece.name
        for row in {(piece.part, ""), (piece.part, name or "")}:
            found[row][0] += piece.size * piece.flash
            found[row][1] += piece.size * piece.ram
    return found


def print_images(images):
    columns = [image_rows(image) for image in images]
    order = [name for _, name in sections(read("mini_stream.c"))] + [TEXTS]
    print("\nFirmware images (examples/firmware, Cortex-M3), bytes")
    print_row("", [text for image in images for text in (
        os.path.basename(image.elf)[:-len(".elf")] + ": flash", "RAM")], 14)
    for part, label in LABELS.items():
        names = order if part == "library" else sorted(
            {name for column in columns for owner, name in column
             if owner == part and name})
        for name in ["", *names]:
            print_row("    " + name if name else "  " + label,
                      [size or None for column in columns
                       for size in column[part, name]], 14)
    print_row("  sum, which is the image",
              [image.total(memory) for image in images
               for memory in ("flash", "ram")], 14)


def main():
    shutil.rmtree(DIR, ignore_errors=True)
    copy_headers(DIR + "/include", sys.argv[1:])
    kinds = [cortex("Cortex-M0+"), cortex("Cortex-M3"), cortex(TARGET),
             riscv("rv32imac"), host(), cortex(TARGET, NO_TLS), host(NO_TLS)]
    names = [kind.name for kind in kinds]
    builds = [measure(kind, index) for index, kind in enumerate(kinds)]
    print_library(names, builds)
    target, stack = builds[names.index(TARGET)]
    print_bars(target)
    if SOURCES:
        plain = cortex(TARGET, NO_TLS)
        print(f"\nBearSSL's files that a program with {NO_TLS} needs, on the "
              f"{TARGET}, bytes\n  {{:,}}".format(sizes(
                  plain, DIR + "/hashes.linked", *hashes(plain),
                  options=["-Wl,--no-gc-sections,-e,0"])[0]))
        print(f"\nTLS of a program that streams, on the {TARGET}, bytes\n"
              "  BearSSL {:,}, mbedTLS {:,}, of which port/mbedtls {:,}".format(
                  *measure_tls(cortex(TARGET))))
        print(f"\nPrograms without TLS and TCP/IP, on the {TARGET}, bytes")
        print_row("", ["code", "with newlib-nano"], 18)
        for label, row in zip(("mini_stream", "llhttp, wslay, jsmn"),
                              measure_peers(plain)):
            print_row("  " + label, row, 18)
    print(f"\nLargest stack frames on the {TARGET}:\n ",
          ", ".join(f"{name} {size}" for size, name in stack[:FRAMES]))
    try:
        if IMAGES:
            print_images([Parts(path) for path in IMAGES])
    except (OSError, ValueError) as error:
        sys.exit(f"size: {error}")
    if any(found["data"] for found, _ in builds):
        sys.exit("size: the library has static data: there must be none")


if __name__ == "__main__":
    main()
