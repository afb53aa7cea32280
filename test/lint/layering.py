#!/usr/bin/env python3
"""Checks the structure of mini_stream.c against its design.

Usage: test/lint/layering.py mini_stream.c mini_stream.h

The sections are in order. Each calls only functions defined above: there are no
prototypes, and no public function is called before its definition. File-local
functions carry their section's name. A section does not call those that it must
not know. Only the pump calls the port, only "object" knows jsmn, and nothing
allocates, prints or computes in floating point.

SPDX-License-Identifier: 0BSD
"""
import re
import sys

# Section, prefixes of its file-local functions, prefixes it must not call.
SECTIONS = [
    ("base", "out mem text utf8 base64", ""),
    ("decimal and time", "decimal time", ""),
    ("json", "json", ""),
    ("object", "object", ""),
    ("message: contents", "message", ""),
    ("message: fast lane", "message", "object"),
    ("message: reading", "message", ""),
    ("addresses", "address", "message"),
    ("book: sides", "book", "json object message address"),
    ("book: messages", "book", "json object message address"),
    ("ws", "ws", "json object message address book"),
    ("http", "http", "object message book"),
    ("transport", "transport", "json object message address book ws http"),
    ("access", "access timer", "json object message address book ws"),
    ("link", "link timer", "book ws"),
    ("link: exchanges", "link", "book ws"),
    ("link: pump", "link", "book ws"),
    ("link: polling", "link", "book ws"),
    ("client: subscriptions", "client", "address"),
    ("client: the stream", "client", "address"),
    ("client: calls", "client", "address"),
    ("transfer", "transfer", "book ws"),
    ("pair", "pair", ""),
]
FORBIDDEN = (
    r"\b(malloc|calloc|realloc|free|alloca|strdup|\w*printf|puts|FILE|"
    r"float|double|time_t|gmtime|assert|setjmp|longjmp)\b"
)
HEADERS = {"stdbool.h", "stddef.h", "stdint.h", "string.h", "bearssl.h",
           "bearssl_hash.h", "jsmn.h", "limits.h", "mini_stream.h"}

BANNER = re.compile(r"^/\* -{60,}\n \* \d+ (.+)\n(?: \*.*\n)*? \* -{60,} \*/$",
                    re.M)
COMMENT = re.compile(r"/\*.*?\*/|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])+'",
                     re.S)
FUNCTION = re.compile(r"^(static )?[a-z][^;{}=()#]*?(\w+)\(([^;{}]*)\)\n?\s*\{",
                      re.M)
PROTOTYPE = re.compile(r"^static [^;{}=()]*?(\w+)\([^;{}=]*\);", re.M)
PUBLIC = re.compile(r"^[a-z][^;{}=()#]*?(mst_\w+)\([^;{}]*\);", re.M)
CALL = re.compile(r"\b([a-z]\w*)\s*\(")

def blank(match):
    return re.sub(r"[^\n]", " ", match.group())


def check(path, header_path):
    """Yields the errors, each with its place."""
    with open(path, encoding="utf-8") as file:
        text = file.read()
    with open(header_path, encoding="utf-8") as file:
        header = COMMENT.sub(blank, file.read())
    code = COMMENT.sub(blank, text)

    def at(place, message):
        return f"{path}:{text.count(chr(10), 0, place) + 1}: {message}"

    banners = list(BANNER.finditer(text))
    names = [match[1] for match in banners]
    if names != [name for name, _, _ in SECTIONS]:
        yield at(0, f"sections are {', '.join(names) or 'missing'}")
        return
    starts = [match.start() for match in banners]

    def section(place):
        return SECTIONS[max(sum(start <= place for start in starts) - 1, 0)]

    for match in re.finditer(r"^#include [<\"](.*)[>\"]", text, re.M):
        if match[1] not in HEADERS:
            yield at(match.start(), f"includes {match[1]}")
    for match in re.finditer(FORBIDDEN, code):
        yield at(match.start(), f"{match[0]} has no place here")
    for match in PROTOTYPE.finditer(code):
        yield at(match.start(),
                 f"prototype of {match[1]}: define it before its use")
    for match in re.finditer(r"\bport\s*->\s*(\w+)\s*\(", code):
        if section(match.start())[0] != "link: pump":
            yield at(match.start(),
                     f"the port's {match[1]} is called outside of the pump")
    for match in re.compile(r"\b(jsmn|JSMN)\w+").finditer(code, starts[0]):
        if section(match.start())[0] != "object":
            yield at(match.start(), f"{match[0]} is for the section object")

    functions = list(FUNCTION.finditer(code))
    if not functions:
        yield at(0, "no functions found")
    ends = [match.start() for match in functions[1:]] + [len(code)]
    defined = set()
    for match, end in zip(functions, ends):
        static, name = match[1], match[2]
        where, prefixes, never = section(match.start())
        if static and name.split("_")[0] not in prefixes.split():
            yield at(match.start(), f"{name} does not carry the name of its "
                     f"section, {where}")
        defined.add(name)
        for call in CALL.finditer(code, match.end(), end):
            callee = call[1]
            if callee.startswith("mst_") and callee not in defined:
                yield at(call.start(),
                         f"{name} calls {callee}, which is defined below it")
            if callee.split("_")[0] in never.split():
                yield at(call.start(), f"{name} calls {callee}, which {where} "
                         "must not know")
    for match in PUBLIC.finditer(header):
        if match[1] not in defined:
            line = header.count("\n", 0, match.start()) + 1
            yield (f"{header_path}:{line}: {match[1]} is declared but not "
                   "defined")


found = list(check(*sys.argv[1:3]))
print(*found, f"layering: {len(found)} errors", sep="\n")
sys.exit(found != [])
