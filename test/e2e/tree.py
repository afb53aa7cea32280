"""The files of the project, the blocks of code in its documents, and a copy of
the files to work in.

SPDX-License-Identifier: 0BSD
"""
import collections
import contextlib
import glob
import os
import pty
import re
import shutil
import signal
import subprocess
import tempfile
import termios

from e2e import BUILD, Reader, check, environment_with, read_file, wait_for


def tracked():
    """The files of the project, also outside a repository."""
    if os.path.exists(".git"):
        listed = subprocess.run(["git", "ls-files", "-z"], check=True,
                                capture_output=True, text=True).stdout
        return [path for path in listed.split("\0") if os.path.isfile(path)]
    return [os.path.relpath(os.path.join(folder, name), ".")
            for folder, _, names in os.walk(".")
            if not re.search(r"^\./build(/|$)|/__pycache__$", folder)
            for name in names]


Block = collections.namedtuple("Block", "document line kind how text")


def blocks_of(document):
    """The blocks of a document. Indented ones have the kind "indented"."""
    found = []
    lines, indent, kind, begin = None, 0, [], 0  # of the current block
    before = ""
    with open(document, encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            fence = re.match(r"( *)```(.*)", line)
            if lines is not None:
                if fence:
                    text = "".join(lines)
                    found.append(Block(document, begin, *kind, text))
                    lines = None
                else:
                    lines.append(line[indent:] if line.strip() else "\n")
            elif fence:
                indent = len(fence[1])
                kind = (fence[2].split(" ", 1) + [""])[:2]
                begin, lines = number, []
            elif line.startswith("    ") and not before.strip():
                found.append(Block(document, number, "indented", "", line))
            before = line
    check(lines is None, f"{document}: a block has no end")
    return found


class Copy(tempfile.TemporaryDirectory):
    """A fresh copy of the project, with the programs already built."""

    def __enter__(self):
        self.path = super().__enter__()
        self.tree = os.path.join(self.path, "tree")
        for name in tracked():
            copy = os.path.join(self.tree, name)
            os.makedirs(os.path.dirname(copy), exist_ok=True)
            shutil.copy2(name, copy)
        os.symlink(os.path.abspath(BUILD), os.path.join(self.tree, "build"))
        os.mkdir(os.path.join(self.path, "home"))
        return self

    def environment(self):
        kept = environment_with(HOME=os.path.join(self.path, "home"),
                                TMPDIR=self.path)
        kept.pop("BUILD", None)
        folder, jsmn = map(os.environ.get, ("BEARSSL_DIR", "JSMN_DIR"))
        headers = [jsmn] if jsmn else []
        if folder:
            headers += [folder + "/inc", folder + "/include"]
            kept["LIBRARY_PATH"] = f"{folder}/build:{folder}/lib"
        if headers:
            kept["CPATH"] = ":".join(headers)
        return kept


class Shell(Reader):
    """An interactive shell on a terminal, in a copy of the project, as used by
    somebody who follows a document."""
    READY, FAILED = "ready to go on:", "this command failed:"

    def __init__(self, copy):
        master, slave = pty.openpty()
        attributes = termios.tcgetattr(slave)
        attributes[3] &= ~termios.ECHO
        termios.tcsetattr(slave, termios.TCSANOW, attributes)
        self.keys = os.fdopen(os.dup(master), "wb", buffering=0)
        self.said = ""
        process = subprocess.Popen(
            ["setsid", "--ctty", "bash", "--norc", "--noprofile", "--noediting",
             "-i"], cwd=copy.tree, env={**copy.environment(), "PS1": "",
                                        "PS2": "", "TERM": "dumb"},
            stdin=slave, stdout=slave, stderr=slave)
        os.close(slave)
        process.stdout = os.fdopen(master, encoding="utf-8", newline="\n")
        super().__init__(process)
        self.type(f"trap 'echo {self.FAILED} $BASH_COMMAND' ERR\n")

    def read(self):
        with contextlib.suppress(OSError):  # the terminal is gone
            super().read()

    def take(self, line):
        self.said += line.replace("\r", "")

    def type(self, text):
        self.keys.write(text.encode())

    def follow(self, text, until=None):
        """Types a block, ends it by Ctrl-C after until. Returns its output."""
        begin = len(self.said)
        self.type(text)
        if until is not None:
            wait_for(lambda: until in self.said[begin:],
                     lambda: f"{until}: {self.said[begin:]}")
            self.type("\x03")
        self.type(f"echo {self.READY} $(jobs -p)\n")
        wait_for(lambda: self.READY in self.said[begin:],
                 lambda: f"the end: {self.said[begin:]}")
        said = self.said[begin:]
        check(until is not None or self.FAILED not in said, said)
        return said

    def kill(self):
        """Kills it, and all processes that it left."""
        for path in glob.glob("/proc/[0-9]*/stat"):
            with contextlib.suppress(OSError):
                words = read_file(path).rpartition(")")[2].split()
                if int(words[3]) == self.process.pid:
                    os.kill(int(path.split("/")[2]), signal.SIGKILL)
        super().kill()
        self.keys.close()
