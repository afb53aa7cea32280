"""Finds the mutants of mini_stream.c, by section, in an order given by a seed.
Editing a function does not change the other functions' mutants or their order.

    mutants(text)     by section, the first ones first

SPDX-License-Identifier: 0BSD
"""
import bisect
import collections
import hashlib
import re

from image import sections

SEED = 20

# The text from start to end is replaced by put. where: the function, table or
# macro that has it; of: its digest; old, new: the lines, on one line each;
# number distinguishes mutants with the same lines.
Mutant = collections.namedtuple(
    "Mutant", "section where of in_function kind start end put old new number "
    "key")
Token = collections.namedtuple("Token", "kind text start end")

TOKEN = re.compile(r"""
    (?P<space>\s+|\\\n|//[^\n]*|/\*.*?\*/)
  | (?P<line>^[ ]*\#(?:\\\n|[^\n])*)
  | (?P<string>"(?:\\.|[^"\\])*")
  | (?P<char>'(?:\\.|[^'\\])*')
  | (?P<number>(?:0[xX][0-9a-fA-F]+|\d+)[uUlL]*)
  | (?P<word>\w+)
  | (?P<sign><<=|>>=|->|\+\+|--|<<|>>|<=|>=|==|!=|&&|\|\||[-+*/%&|^]=|.)
""", re.X | re.S | re.M)
DEFINE = re.compile(r" *#define (\w+)(?:\([^)]*\))?")

SWAPS = {"==": ["!="], "!=": ["=="], "&&": ["||"], "||": ["&&"],
         "<": [">="], "<=": [">"], ">": ["<="], ">=": ["<"],
         "+": ["-"], "-": ["+"], "*": ["+"], "/": ["*"], "%": ["/"],
         "&": ["|"], "|": ["&"], "^": ["|"], "<<": [">>"], ">>": ["<<"],
         "+=": ["-=", "="], "-=": ["+=", "="], "|=": ["&=", "="],
         "&=": ["|=", "="], "++": ["--"], "--": ["++"], "!": [""], "~": [""]}
BOUNDS = {"<": "<=", "<=": "<", ">": ">=", ">=": ">"}
BINARY_TOO = {"+", "-", "*", "&"}  # also unary operators
OPEN, CLOSED = {"(", "[", "{"}, {")", "]", "}"}


def tokens_of(text):
    return [Token(match.lastgroup, match.group(), *match.span())
            for match in TOKEN.finditer(text) if match.lastgroup != "space"]


def partners(tokens):
    """The index of each bracket's partner."""
    partner, open_ones = {}, []
    for i, token in enumerate(tokens):
        if token.kind == "sign" and token.text in OPEN:
            open_ones.append(i)
        elif token.kind == "sign" and token.text in CLOSED and open_ones:
            partner[i] = open_ones.pop()
            partner[partner[i]] = i
    return partner


def definitions(tokens, partner):
    """Yields (name, first, last token) of each function, table and enum."""
    i, begin = 0, 0
    while i < len(tokens):
        if tokens[i].kind == "line":
            begin = i + 1
        elif tokens[i].text in ("(", "["):
            i = partner[i]
        elif tokens[i].text == ";":
            begin = i + 1
        elif tokens[i].text == "{":
            head = tokens[begin:i]
            names = [token.text for token, after in zip(head, head[1:] + [None])
                     if token.kind == "word" and
                     (after is None or after.text in ("(", "[", "="))]
            if head and head[0].text == "enum" or names and (
                    head[-1].text in (")", "=")):
                yield names[-1] if names else "enum", i, partner[i]
            i = partner[i]
            begin = i + 1
        i += 1


class Sites:
    """A definition's mutants: (kind, first token, last token, new text)."""

    def __init__(self, text, tokens, partner, first, last):
        self.text, self.tokens, self.partner = text, tokens, partner
        self.first, self.last = first, last
        self.heads = set()  # tokens in the head of a for, not statements
        for i in range(first, last):
            if tokens[i].text == "for":
                self.heads.update(range(i, partner[i + 1]))

    def source(self, first, last):
        return self.text[self.tokens[first].start:self.tokens[last].end]

    def all(self):
        for i in range(self.first + 1, self.last):
            token = self.tokens[i]
            if token.kind == "sign":
                yield from self.signs(i, token.text)
            elif token.kind in ("number", "char"):
                yield from self.numbers(i, token)
            elif token.kind == "word":
                yield from self.words(i, token.text)
            if self.begins_statement(i):
                yield from self.statement(i)

    def signs(self, i, text):
        before = self.tokens[i - 1]
        if text in BINARY_TOO and not (before.kind in ("number", "word", "char")
                                       and before.text != "return" or
                                       before.text in (")", "]")):
            if text == "-":
                yield "operator", i, i, ""
            return
        for put in SWAPS.get(text, []):
            yield "operator", i, i, put
        if text in BOUNDS:
            yield "bound", i, i, BOUNDS[text]
        if text in ("&&", "||"):
            yield "check", i, self.operand_end(i), ""

    def operand_end(self, i):
        """The last token of the operand after this && or ||."""
        ends = {")", ";", ",", "?", ":", "||", "}", "]"}
        if self.tokens[i].text == "&&":
            ends.add("&&")
        i += 1
        while self.tokens[i].text not in ends:
            i = self.partner[i] if self.tokens[i].text in OPEN else i
            i += 1
        return i - 1

    def numbers(self, i, token):
        value = token.text.rstrip("uUlL")
        yield "constant", i, i, f"({token.text} + 1)"
        if value not in ("0", "1"):
            yield "constant", i, i, f"({token.text} - 1)"
        elif value == "1":
            yield "constant", i, i, "0"

    def words(self, i, text):
        after = self.tokens[i + 1].text
        if text == "sizeof":
            last = self.partner[i + 1] if after == "(" else i + 1
            while last == i + 1 and after == "*":
                last = i + 2
            while self.tokens[last + 1].text in ("->", ".", "["):
                last = self.partner[last + 1] if (
                    self.tokens[last + 1].text == "[") else last + 2
            yield "bound", i, last, f"({self.source(i, last)} - 1)"
            yield "bound", i, last, f"({self.source(i, last)} + 1)"
        elif text in ("true", "false"):
            yield "constant", i, i, "false" if text == "true" else "true"
        elif text.isupper() and len(text) > 3 and after != "(" and (
                text != "NULL" and not text.startswith("PRI")):
            kind = "bound" if text.endswith(("_MAX", "_MIN", "_LEN")) else \
                "constant"
            yield kind, i, i, f"({text} + 1)"
            yield kind, i, i, f"({text} - 1)"
        elif text in ("if", "while") and after == "(":
            last = self.partner[i + 1]
            condition = self.source(i + 1, last)
            yield "check", i + 1, last, f"(0 && {condition})"
            if text == "if":
                yield "check", i + 1, last, f"(1 || {condition})"

    def begins_statement(self, i):
        return i not in self.heads and (
            self.tokens[i - 1].text in (";", "{", "}")) or (
            self.tokens[i - 1].text == ":" and
            self.tokens[i].text in ("break", "return"))

    def statement(self, i):
        """Removes an expression, break or continue, up to its semicolon."""
        token = self.tokens[i]
        if token.text not in ("break", "continue") and (
                token.kind not in ("word", "sign") or token.text in (
                    "if", "while", "for", "do", "switch", "case", "default",
                    "return", "goto", "else", "const", "static", "struct",
                    "enum", "union", "}", "{", "(", ".")):
            return
        if token.kind == self.tokens[i + 1].kind == "word":
            return  # a declaration
        last = i
        while self.tokens[last].text != ";":
            if self.tokens[last].text in CLOSED:
                return
            last = self.partner[last] if self.tokens[last].text in OPEN else \
                last
            last += 1
        yield "statement", i, last, ";"


def digest(text):
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def one_line(text):
    return " ".join(text.replace("\\\n", " ").split())


def rank(key, of=""):
    return hashlib.sha256(f"{SEED} {of} {key}".encode()).digest()


class Source:
    def __init__(self, text):
        self.text = text
        self.lines = [0] + [m.end() for m in re.finditer("\n", text)]
        self.sections = sections(text)
        self.first_lines = [line for line, _ in self.sections]
        self.tokens = tokens_of(text)

    def line(self, at):
        return bisect.bisect_right(self.lines, at)

    def section(self, at):
        i = bisect.bisect_right(self.first_lines, self.line(at))
        return self.sections[i - 1][1] if i > 0 else None

    def sites(self):
        """Yields all mutants: ((definition's name, digest, is a function),
        kind, start, end, new text)."""
        partner = partners(self.tokens)
        for name, first, last in definitions(self.tokens, partner):
            sites = Sites(self.text, self.tokens, partner, first, last)
            where = (name, digest(sites.source(first, last)),
                     self.tokens[first - 1].text == ")")
            for kind, begin, end, put in sites.all():
                yield (where, kind, self.tokens[begin].start,
                       self.tokens[end].end, put)
        for token in self.tokens:
            match = DEFINE.match(token.text) if token.kind == "line" else None
            for part in tokens_of(token.text[match.end():]) if match else ():
                at = token.start + match.end()
                if part.kind == "number":
                    where = match.group(1), digest(token.text), False
                    yield (where, "constant", at + part.start, at + part.end,
                           f"({part.text} + 1)")

    def mutants(self):
        """Yields all, with keys made of lines, which stay when lines move."""
        seen = collections.Counter()
        for (where, of, in_function), kind, start, end, put in self.sites():
            section = self.section(start)
            if section is None:
                continue
            begin = self.lines[self.line(start) - 1]
            stop = self.text.index("\n", end)
            old = one_line(self.text[begin:stop])
            new = one_line(self.text[begin:start] + put + self.text[end:stop])
            seen[where, old, new] += 1
            number = seen[where, old, new]
            yield Mutant(section, where, of, in_function, kind, start, end, put,
                         old, new, number, f"{where}: {old} => {new} #{number}")


def mutants(text):
    """All mutants by section; kinds take turns, in an order by the seed."""
    kinds = collections.defaultdict(lambda: collections.defaultdict(list))
    for mutant in Source(text).mutants():
        kinds[mutant.section][mutant.kind].append(mutant)
    ordered = {}
    for section, by_kind in kinds.items():
        turns = [(i, rank(kind, section), mutant)
                 for kind, of_kind in by_kind.items()
                 for i, mutant in enumerate(
                     sorted(of_kind, key=lambda m: rank(m.key)))]
        ordered[section] = [m for _, _, m in
                            sorted(turns, key=lambda turn: turn[:2])]
    return ordered
