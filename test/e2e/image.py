"""The contents of a firmware image: each byte of its flash and RAM belongs to a
part, and the library's code to a section of mini_stream.c.

    parts = Parts("build/firmware/lm3s6965evb/any.elf")
    parts.pieces            all that the linker has put there, by address, each
                            with its part and section, such as "library", "ws"

Parts are "library" (mini_stream.c), "port" (port/lwip), "flash" (port/flash and
semihosting), "application" and "board" (examples/firmware), "lwIP", "BearSSL",
"libc" (newlib and libgcc); and, without code, "anchors", "vector table",
"stack", "fill" (alignment).

A piece is a function, a table, or the texts of a function. An inlined function
counts for its caller. A text of several functions is stored once, and counts
for the first of them. The section is None for all parts except the library, and
for the texts that the library's tables point to.

The pieces are read from the linker's map, which is next to the image, and their
lines from the debug information of mini_stream.o. Run it in the folder of
mini_stream.c. The result is exact, or a ValueError is raised.

CROSS: prefix of the target's tools.
SPDX-License-Identifier: 0BSD
"""
import collections
import os
import re
import subprocess

from e2e import read_file as read

CROSS = os.environ.get("CROSS", "arm-none-eabi-")

# The first whose pattern is found in the object's path.
PARTS = (("library", r"/mini_stream\.o$"),
         ("port", r"/port/lwip/"),
         ("flash", r"/port/(flash|semihosting)/"),
         ("anchors", r"/anchors\.o$"),
         ("board", r"/examples/firmware/board/"),
         ("application", r"/examples/firmware/"),
         ("lwIP", r"/liblwip\.a\("),
         ("BearSSL", r"/libbearssl\.a\("),
         ("libc", r"/(libc_nano|libgcc)\.a\("))

BANNER = re.compile(r"^/\* -{60,}\n \* \d+ (.+)\n", re.M)
HEADER = re.compile(r"^ +\[ *\d+\] (\.\S+) +(\S+) +([0-9a-f]+) [0-9a-f]+ "
                    r"([0-9a-f]+) [0-9a-f]+ +([A-Zxop]*) ", re.M)
# Of the map, in which a long name has its numbers on the next line.
ENTRY = re.compile(r"^( ?)(\*fill\*|\.\S+|COMMON)\s+0x([0-9a-f]+)"
                   r"\s+0x([0-9a-f]+)(?: *| +(\S.*))$", re.M)
SYMBOL = re.compile(r" (\S+)\t.*/mini_stream\.c:(\d+)$", re.M)

# In flash, in RAM, or in both (data with initial values).
Piece = collections.namedtuple("Piece", "address size part section name "
                                        "flash ram")


def sections(source):
    """The sections of mini_stream.c, given its text: (first line, name)."""
    return [(source.count("\n", 0, match.start()) + 1, match.group(1))
            for match in BANNER.finditer(source)]


def output(tool, *words):
    try:
        return subprocess.run([CROSS + tool, *words], check=True, text=True,
                              stdout=subprocess.PIPE).stdout
    except (OSError, subprocess.SubprocessError) as error:
        raise ValueError(str(error)) from error


class Parts:
    def __init__(self, elf):
        self.elf = elf
        self.sections = sections(read("mini_stream.c"))
        self.lines = {}  # of mini_stream.c: the line that defines each name
        self.pieces = sorted(self.read_map())
        self.compare()

    def total(self, memory):
        """The bytes used of "flash" or "ram"."""
        return sum(piece.size for piece in self.pieces
                   if getattr(piece, memory))

    def read_map(self):
        headers = {name: (int(address, 16), int(size, 16), kind, flags)
                   for name, kind, address, size, flags in
                   HEADER.findall(output("readelf", "-SW", self.elf))}
        entries = collections.defaultdict(list)  # of each section of the image
        text = read(os.path.splitext(self.elf)[0] + ".map")
        text = text[text.index("\nLinker script and memory map"):]
        outer = None
        for inside, name, address, size, origin in ENTRY.findall(text):
            if not inside:
                outer = name
            elif int(size, 16) > 0:
                entries[outer].append((int(address, 16), int(size, 16),
                                       name, origin))
        for outer, (address, size, kind, flags) in headers.items():
            if "A" in flags:
                memory = kind != "NOBITS", "W" in flags
                yield from self.divide(outer, address, address + size,
                                       entries[outer], memory)

    def divide(self, outer, address, end, entries, memory):
        """Yields the pieces of a section of the image in order, without gaps. A
        piece ends where the next begins: the map's sizes repeat merged
        texts."""
        starts = [entry[0] for entry in entries[1:]] + [end]
        for (start, size, name, origin), following in zip(entries, starts):
            if start != address:
                break
            address = min(start + size, following)
            if start < address:
                yield Piece(start, address - start,
                            *self.origin(outer, name, origin), *memory)
        if address != end:
            raise ValueError(f"{self.elf}: the linker's map does not say what "
                             f"is at {address:#x}; it is of another image")

    def origin(self, outer, name, path):
        """Part, section and name of a piece, from its entry in the map."""
        if outer == ".stack":
            return "stack", None, ""
        if name == "*fill*":
            return "fill", None, ""
        if name.startswith(".vectors"):
            return "vector table", None, ""
        part = next((part for part, pattern in PARTS
                     if re.search(pattern, path)), None)
        if part is None:
            raise ValueError(f"{self.elf}: no part is known that "
                             f"{name} of {path} belongs to")
        name = re.sub(r"^\.(text|rodata|data|bss)\b\.?", "", name)
        section = self.section(path, name) if part == "library" else None
        return part, section, name

    def section(self, path, name):
        """A piece's section. Texts are named after their function, which may be
        missing in the image. jsmn counts for the section that calls it."""
        if name.startswith("jsmn_"):
            return "object"
        if not self.lines:
            for symbol, number in SYMBOL.findall(output("nm", "-l", path)):
                self.lines[symbol] = int(number)
            if not self.lines:
                raise ValueError(f"{path}: no debug information (-g)")
        line = self.lines.get(re.sub(r"\.?str\d+\.\d+$", "", name), 0)
        found = [section for first, section in self.sections if first <= line]
        return found[-1] if found else None

    def compare(self):
        """Compares the totals with the image's own headers."""
        text, data, bss = (int(word) for word in
                           output("size", self.elf).splitlines()[1].split()[:3])
        for memory, size in (("flash", text + data), ("ram", data + bss)):
            if self.total(memory) != size:
                raise ValueError(
                    f"{self.elf}: its parts take {self.total(memory)} bytes "
                    f"of {memory}, but the image takes {size}")
