#!/usr/bin/python3
"""Finds phrases that stop a reader, and sentences of more than 35 words, in
comments and pages.

Usage: words.py FILE...
SPDX-License-Identifier: 0BSD
"""
import io
import re
import sys
import tokenize

LONGEST = 35  # words
PHRASES = re.compile(r"""\b(
    beside | but\ for | anew | likewise | mend(s|ed|ing)? | at\ hand |
    in\ front\ of | (goes|go|went)\ (on|round) | so\ many |
    (is|are|was|were|be)\ (told|said)(?!\ (to|apart)) |
    where\ there\ (is|are) | of\ (its|their|our|your|my)\ own |
    of\ (ours|yours|theirs) | stands(?!\ for)
)\b""", re.VERBOSE | re.IGNORECASE)
# Literals of C match so that no comment is found in one.
C = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:[^"\\\n]|\\.)*"|'
               r"'(?:[^'\\\n]|\\.)+'", re.DOTALL)
FENCE = re.compile(r"^ *```.*?^ *```", re.DOTALL | re.MULTILINE)
BEGINS = re.compile(r"[-|#>=]|\d+\. |[a-zA-Z_.]+:? {2}|SPDX|Usage:")


def comments_of_python(text):
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT or (
                token.type == tokenize.STRING and token.string[:3] == '"""'):
            yield token.start[0], token.string


def parts(path, text):
    """(line, text) of what is written for people."""
    if path.endswith(".md"):
        yield 1, FENCE.sub(lambda code: "\n" * code[0].count("\n"), text)
    elif path.endswith(".py"):
        yield from comments_of_python(text)
    elif path.endswith((".c", ".h", ".cc")):
        for match in C.finditer(text):
            if match[0][0] == "/" and match[0][2:3] != "@":
                yield text.count("\n", 0, match.start()) + 1, match[0]
    else:
        for match in re.finditer(r"(?:^ *#.*\n)+", text, re.MULTILINE):
            yield text.count("\n", 0, match.start()) + 1, match[0]


def paragraphs(path, text):
    """(line, text) of each paragraph, item and cell of a table."""
    for first, part in parts(path, text):
        block, at = [], first
        for number, row in enumerate(part.split("\n") + [""], first):
            bare = row.strip().strip('"/*#').strip()
            if not bare or BEGINS.match(bare):
                if block:
                    yield at, " ".join(block)
                block = []
            at = at if block else number
            if bare.startswith("|"):
                for cell in bare.strip("|").split("|"):
                    yield number, cell.strip()
            elif bare:
                block.append(bare)


def findings(text):
    text = re.sub(r"`[^`]*`", "x", text)
    for phrase in PHRASES.finditer(text):
        yield f'"{phrase[0]}"'
    for sentence in re.split(r"(?<=[.:;?!])\s", text):
        count = len(re.findall(r"[^\W_]\S*", sentence))
        if count > LONGEST:
            yield f"a sentence of {count} words: {sentence[:40]}..."


def main():
    found = 0
    for path in sys.argv[1:]:
        with open(path, encoding="utf-8") as file:
            text = file.read()
        for line, paragraph in paragraphs(path, text):
            for finding in findings(paragraph):
                print(f"{path}:{line}: {finding}")
                found += 1
    sys.exit(found > 0)


if __name__ == "__main__":
    main()
