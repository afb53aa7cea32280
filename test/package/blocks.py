"""Checks every block of code in every document. The words after its ``` say
how. A block without them, or with other words, fails.

  c               a file: it compiles
  c declarations  a part of a file: it compiles after mini_stream.h
  c statements    a part of a function: it compiles after lib/blocks.h
  c file=PATH     equals that file
  sh              its programs, targets and options exist.
  sh run          It runs to its end in a fresh copy of this folder.
  sh more         The same, in the shell in which the block before it ran.
  sh until=TEXT   As run; Ctrl-C ends it once it has printed this.
  sh more until=TEXT
  sh planned      Only its syntax: a command, option or target is still missing.
  console         "$ " and a command, which prints the lines after it.
  ini             a profile of mini-stream: the tool accepts it.
  json script     a script that the sandbox accepts.
  text            no code: output, a figure

An indented block fails, since it looks like a paragraph. So do links to files
and headings that do not exist.

CC: the compiler; BEARSSL_DIR, JSMN_DIR: the folders of BearSSL and jsmn.h, if
they are not the system's.
SPDX-License-Identifier: 0BSD
"""
import os
import re
import shlex
import shutil
import subprocess
import tempfile
import threading

from e2e import (BUILD, CC, TOOL, check, dependency_options, environment_with,
                 in_time, read_file, sandbox_of, write_file)
from tree import Copy, Shell, blocks_of, tracked

CFLAGS = ["-std=c99", "-fsyntax-only", "-Wall", "-Wextra", "-Wpedantic",
          "-Wconversion", "-Werror", "-x", "c", "-I.", "-Itest/lib",
          *(f"-Iport/{port}" for port in ("posix", "primitives", "proxy",
                                          "openssl", "mbedtls", "mock")),
          *dependency_options()]
PIECE = "-Wno-unused"  # its results are used outside the block
WORDS = {"cd", "export", "until", "do", "done", "[", "exec", "wait"}


def place(block):
    return f"{block.document}:{block.line}"


def run(command, **options):
    return subprocess.run(command, stdout=subprocess.PIPE, text=True,
                          stderr=subprocess.STDOUT, check=False, **options)


def expect(block, done):
    check(done.returncode == 0, f"{place(block)}: {done.stdout}")


# ---- C ----

def check_c(block):
    text = block.text
    if block.how.startswith("file="):
        check(read_file(block.how[5:]) == block.text,
              f"{place(block)} is not {block.how[5:]}")
        return
    if block.how == "declarations":
        text = '#include "mini_stream.h"\n' + text
    elif block.how == "statements":
        text = ('#include "blocks.h"\nvoid block(void);\nvoid block(void) {\n'
                f'{text}}}\n')
    else:
        check(block.how == "", f"{place(block)}: c {block.how}")
    expect(block, run([CC, *CFLAGS, *([PIECE] if block.how else []), "-"],
                      input=text))


# ---- Commands that are not run ----

def targets():
    """All targets of make."""
    database = run(["make", "-pRrq", ":"]).stdout
    return set(re.findall(r"^([\w./-]+):", database, re.M))


def program_help(words):
    """The output of a program in build/ with --help, or of its command."""
    said = run([os.path.join(BUILD, words[0][6:]), *words[1:], "--help"],
               env=environment_with())
    return said.stdout if said.returncode == 0 else ""


def missing_of_program(words):
    """The first word that the program in build/ does not know, or None."""
    path = os.path.join(BUILD, words[0][6:])
    if not os.access(path, os.X_OK):
        return words[0]
    commands = re.findall(r"^  ([a-z]+(?: [a-z]+)*)  ", program_help(words[:1]),
                          re.M)
    command = max((name.split() for name in commands
                   if words[1:1 + len(name.split())] == name.split()),
                  key=len, default=[])
    if words[0].endswith("mini-stream") and not command \
            and not words[1].startswith("-"):
        return " ".join(words[:2])
    text = program_help(words[:1] + command)
    for word in words[1 + len(command):]:
        option = re.match(r"--?[a-z-]+", word)
        if option and not re.search(rf"(?<![\w-]){option[0]}(?![\w-])", text):
            return f"{words[0]} {option[0]}"
    return None


def missing_of(words, known):
    """The first program, target or option that a command lacks, or None."""
    while words and (re.match(r"\w+=", words[0]) or words[0] in ("do", "!")):
        words = words[1:]
    if not words or words[0] in WORDS:
        return None
    if words[0] == "make":
        return next((word for word in words[1:] if "=" not in word
                     and not word.startswith("-") and word not in known), None)
    if words[0].startswith("build/") and words[0] not in known:
        return words[0]
    if re.match(r"build/[\w-]+$", words[0]):
        return missing_of_program(words)
    if "/" in words[0] and not words[0].startswith("build/"):
        return None if os.access(words[0], os.X_OK) else words[0]
    return None if "/" in words[0] or shutil.which(words[0]) else words[0]


def commands_of(text):
    """The simple commands of a script, each a list of words."""
    for line in text.replace("\\\n", " ").splitlines():
        words = shlex.shlex(line, posix=True, punctuation_chars=True)
        words.whitespace_split = True
        command = []
        for word in words:
            if re.fullmatch(r"[;&|()]+", word):
                yield command
                command = []
            else:
                command.append(word)
        yield command


def check_sh(block):
    expect(block, run(["bash", "-n"], input=block.text))
    known = targets()
    missing = [what for words in commands_of(block.text)
               for what in [missing_of(words, known)] if what]
    if block.how == "planned":
        check(missing, f"{place(block)}: it is there: no longer planned")
    else:
        check(not missing, f"{place(block)}: there is no {missing}")


# ---- Commands that are run ----

ALONE = threading.Lock()  # the broker has one port


def sessions_of(blocks):
    return [block for block in blocks if block.kind == "sh"
            and re.fullmatch("run|more|(more )?until=.+", block.how)]


def check_sessions(blocks):
    """Runs the blocks of a document. Each session has its own copy and shell,
    and must leave nothing running."""
    sessions = []
    for block in blocks:
        if not block.how.startswith("more"):
            sessions.append([])
        check(sessions, f"{place(block)}: sh more, after nothing")
        sessions[-1].append(block)
    for session in sessions:
        with ALONE, Copy() as copy, Shell(copy) as shell:
            follow(copy, shell, session)


def follow(copy, shell, blocks):
    for block in blocks:
        until = re.search("until=(.+)", block.how)
        try:
            said = shell.follow(block.text, until and until[1])
        except AssertionError as error:
            raise AssertionError(f"{place(block)}: {error}") from error
    left = set(os.listdir(copy.path)) - {"tree", "home"}
    check(said.endswith(Shell.READY + "\n") and not left,
          f"{place(block)}: {left} is left, or a program: {said}")


def test_quick_starts():
    """Runs the blocks of all documents one after another in one shell."""
    blocks = [block for document in DOCUMENTS
              for block in sessions_of(blocks_of(document))]
    with ALONE, Copy() as copy, Shell(copy) as shell:
        follow(copy, shell, blocks)


# ---- Others ----

def check_ini(block):
    """The tool accepts it and its secret file, for another service."""
    with tempfile.TemporaryDirectory() as folder:
        profile = write_file(os.path.join(folder, "profile.ini"), block.text)
        secret = re.search(r"^secret_file *= *(\S+)$", block.text, re.M)
        write_file(os.path.join(folder, secret[1]), "sandbox-secret\n", 0o600)
        with sandbox_of() as sandbox:
            expect(block, in_time("3", lambda seconds: run(
                [TOOL, "stream", "--profile", profile, "--ca", sandbox.ca,
                 "--client-id", "sandbox-client", "--ws-url",
                 sandbox.urls["ws_url"], "--auth-url",
                 sandbox.urls["auth_url"], "--seconds", seconds, "BTCUSD"],
                env=environment_with())))


def check_json(block):
    check(block.how == "script", f"{place(block)}: json {block.how}")
    with tempfile.TemporaryDirectory() as folder:
        script = write_file(os.path.join(folder, "script.json"), block.text)
        with sandbox_of("--script", script):
            pass


def check_console(block):
    with Copy() as copy:
        command, _, expected = block.text.partition("\n")
        check(command.startswith("$ "), f"{place(block)}: no command")
        done = run(["bash", "-euc", command[2:]], cwd=copy.tree,
                   env=copy.environment())
        check(done.returncode == 0 and done.stdout == expected,
              f"{place(block)}: it prints\n{done.stdout}")


def check_text(block):
    check(block.how == "", f"{place(block)}: text {block.how}")


CHECKS = {"c": check_c, "sh": check_sh, "console": check_console,
          "ini": check_ini, "json": check_json,
          "text": check_text}


def check_document(document):
    blocks = blocks_of(document)
    sessions = sessions_of(blocks)
    for block in blocks:
        check(block.kind in CHECKS,
              f"{place(block)}: {block.kind or 'a block that says nothing'}")
        if block not in sessions:
            CHECKS[block.kind](block)
    check_sessions(sessions)


# ---- Links ----

def headings(document):
    """The headings of a document, as links name them."""
    text = re.sub(r"^ *```.*?^ *```", "", read_file(document),
                  flags=re.M | re.S)
    return {re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-")
            for title in re.findall(r"^#+ (.+)$", text, re.M)}


def check_links():
    for document in DOCUMENTS:
        for path, heading in re.findall(
                r"\]\((?!https?:)([^)#]*)(?:#([^)]+))?\)",
                read_file(document)):
            to = os.path.normpath(os.path.join(os.path.dirname(document),
                                               path)) if path else document
            check(os.path.exists(to), f"{document}: there is no {to}")
            check(not heading or heading in headings(to),
                  f"{document}: {to} has no {heading}")


DOCUMENTS = sorted(path for path in tracked() if path.endswith(".md"))
TESTS = [("links", check_links),
         *((document, check_document, document) for document in DOCUMENTS)]
