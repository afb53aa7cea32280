#!/usr/bin/env python3
"""Checks the structure of mini_stream.c against its design.

Usage: test/lint/layering.py mini_stream.c mini_stream.h

The sections stand in their order, each calls only what stands above it
(there is no prototype that would let it do otherwise, and no public function
is called before its definition), a file-local function carries its section's
name, what a section must not know it does not call, only the pump calls
the port, only the section object knows jsmn, and nothing allocates, prints
or computes in floating point.

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

errors = 0


def error(path, text, at, message):
    global errors
    errors += 1
    print(f"{path}:{text.count(chr(10), 0, at) + 1}: {message}")


def blank(match):
    return re.sub(r"[^\n]", " ", match.group())


def check(path, header_path):
    with open(path, encoding="utf-8") as file:
        text = file.read()
    with open(header_path, encoding="utf-8") as file:
        header = COMMENT.sub(blank, file.read())

    banners = [(m.group(1), m.start()) for m in BANNER.finditer(text)]
    names = [name for name, _ in banners]
    if names != [name for name, _, _ in SECTIONS]:
        error(path, text, 0, f"sections are {', '.join(names) or 'missing'}")
        return
    starts = [at for _, at in banners]

    for match in re.finditer(r"^#include [<\"](.*)[>\"]", text, re.M):
        if match.group(1) not in HEADERS:
            error(path, text, match.start(), f"includes {match.group(1)}")

    code = COMMENT.sub(blank, text)

    def section(at):
        return max(sum(start <= at for start in starts) - 1, 0)

    for match in re.finditer(FORBIDDEN, code):
        error(path, text, match.start(), f"{match.group()} has no place here")
    for match in PROTOTYPE.finditer(code):
        error(path, text, match.start(),
              f"prototype of {match.group(1)}: define it before its use")
    for match in re.finditer(r"\bport\s*->\s*(\w+)\s*\(", code):
        if SECTIONS[section(match.start())][0] != "link: pump":
            error(path, text, match.start(),
                  f"the port's {match.group(1)} is called outside of the pump")

    for match in re.finditer(r"\b(jsmn|JSMN)\w+", code[starts[0]:]):
        at = starts[0] + match.start()
        if SECTIONS[section(at)][0] != "object":
            error(path, text, at, f"{match.group()} is for the section object")

    functions = list(FUNCTION.finditer(code))
    if not functions:
        error(path, text, 0, "no functions found")
    defined = {}
    for index, match in enumerate(functions):
        static, name = match.group(1), match.group(2)
        where, prefixes, never = SECTIONS[section(match.start())]
        if static and name.split("_")[0] not in prefixes.split():
            error(path, text, match.start(),
                  f"{name} does not carry the name of its section, {where}")
        defined[name] = match.start()
        end = functions[index + 1].start() if index + 1 < len(functions) \
            else len(code)
        for call in CALL.finditer(code, match.end(), end):
            callee = call.group(1)
            if callee.startswith("mst_") and callee not in defined:
                error(path, text, call.start(),
                      f"{name} calls {callee}, which stands below it")
            if callee.split("_")[0] in never.split():
                error(path, text, call.start(),
                      f"{name} calls {callee}, which {where} must not know")

    for match in PUBLIC.finditer(header):
        if match.group(1) not in defined:
            error(header_path, header, match.start(),
                  f"{match.group(1)} is declared but not defined")


check(*sys.argv[1:3])
print(f"layering: {errors} errors")
sys.exit(errors != 0)
