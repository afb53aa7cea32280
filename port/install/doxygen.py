#!/usr/bin/env python3
"""Turns mini_stream.h into what Doxygen understands: doxygen.py HEADER

- A comment above a declaration documents it and those that follow it up to the
  next blank line or comment. A comment after it on its line has precedence.
- A member or an enumerator without either is documented by its type's comment.
- The banner of a section becomes the description of a group.
- Private things are left out: the section of layouts, and each declaration with
  the comment "private" after it.

What has no comment is left without one, for Doxygen to find.
SPDX-License-Identifier: 0BSD
"""
import re
import sys

SPECIAL = re.compile(r"[\\@<>#%&]")  # Doxygen's
LAYOUTS = re.compile(r"^/\* ---- Layouts: private.*?(?=^#ifdef __cplusplus)",
                     re.M | re.S)
OF_TYPE = "See above."  # where Doxygen puts the comment of the type


def text_of(comment):
    """What a comment says, in Doxygen's spelling."""
    body = re.sub(r"^ *\* ?", "", comment.strip()[2:-2], flags=re.M)
    return SPECIAL.sub(r"\\\g<0>", body.strip())


class Filter:
    def __init__(self, text):
        self.lines = LAYOUTS.sub("", text).splitlines()
        self.at = 0
        self.out = []
        self.above = ""    # comment for what follows
        self.types = []    # of each open brace: comment, and the comment for
                           # what follows it

    def take_comment(self):
        begin = self.at
        while "*/" not in self.lines[self.at]:
            self.at += 1
        self.at += 1
        return "\n".join(self.lines[begin:self.at])

    def take_code(self):
        """A declaration, or a line of one, and the comment after it."""
        code, depth = "", 0
        while True:
            line, mark, comment = self.lines[self.at].partition("/*")
            self.at += 1
            while mark and "*/" not in comment:
                comment += "\n" + self.lines[self.at]
                self.at += 1
            code += line.rstrip() + "\n"
            depth += line.count("(") - line.count(")")
            if not line.endswith("\\") and (code.startswith("#") or (
                    depth == 0 and (self.types or
                                    re.search(r"[;{}]$", line.rstrip())))):
                return code, text_of(mark + comment) if mark else ""

    def skip_body(self):
        """Skips a function's body, which ends with a brace alone on its line."""
        while self.lines[self.at] != "}":
            self.at += 1
        self.at += 1

    def banner(self, comment):
        first, _, rest = comment.partition("\n")
        title = first.strip("/*- ")
        section = text_of("/*" + rest) if rest else ""
        self.end_section()
        name = re.match(r"\w+", title.lower())[0]
        self.out += [f"/** @defgroup {name} {title}", section, "@{ */"]

    def end_section(self):
        if any("@{ */" in line for line in self.out):
            self.out.append("/** @} */")

    def begin_type(self, text):
        self.types.append((text, self.above))
        self.above = ""

    def end_type(self):
        _, self.above = self.types.pop()

    def declaration(self):
        code, behind = self.take_code()
        covered = self.types and self.types[-1][0]
        text = behind or self.above or (covered and OF_TYPE) or ""
        if re.match(r"#(?!define)|extern \"C\"|\}$|(struct|union) \w+;", code):
            self.out.append(code)
        elif re.match(r"\s*\}", code):
            self.end_type()
            self.out.append(code)
        elif not behind.startswith("private"):
            self.emit(code, text)

    def emit(self, code, text):
        doc = [f"/** {text} */"] if text else []
        kind = re.match(r"\s*(struct|union|enum)\b[^(]*\{(.*)", code)
        if kind and kind[2]:  # all on one line: enum name { A, B };
            head, _, names = code.partition("{")
            self.out += doc + [head + "{"]
            for name in re.findall(r"\w+", names):
                self.out += [f"/** {OF_TYPE} */", name + ","]
            self.out.append("};")
            return
        several = self.types and re.match(
            r"( *(?:(?:const|struct|enum|unsigned) )*\w+ )([^({]*, [^({]*);",
            code)
        for name in several[2].split(", ") if several else []:
            self.out += doc + [f"{several[1]}{name};"]
        if several:
            return
        self.out += doc
        if kind:
            self.out.append(code)
            self.begin_type(text)
        elif code.endswith("{\n"):
            self.skip_body()
            self.out.append(code[:-2] + ";")
        else:
            self.out.append(code)

    def run(self):
        title = text_of(self.take_comment())
        self.out += [f"/** @file\n{title} */",
                     f"/** @mainpage {title} */"]
        while self.at < len(self.lines):
            line = self.lines[self.at].lstrip()
            if line.startswith("/*"):
                comment = self.take_comment()
                self.above = "" if line[2:].startswith(" ---") else (
                    text_of(comment))
                if not self.above:
                    self.banner(comment)
            elif line:
                self.declaration()
            else:
                self.above = ""
                self.at += 1
        self.end_section()
        return "\n".join(self.out)


with open(sys.argv[1], encoding="ascii") as header:
    print(Filter(header.read()).run())
