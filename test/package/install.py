"""What others get of the project: the pages of the header, what make install
adds besides the library (which vendor.py tests), and the archive with its
SPDX list, which builds without a network.

SPDX: this checks the fields that version 2.3 requires, and their contents,
since Debian 12 has no validator.

Needs to be root, or to have user namespaces.
SPDX-License-Identifier: 0BSD
"""
import filecmp
import hashlib
import json
import os
import pathlib
import pty
import re
import select
import subprocess
import tarfile
import tempfile
import time

import e2e
from e2e import BUILD, HANG_S, check, read_file, run_program, write_file
from tree import Copy, tracked

AT_ONCE = 1

TOOL = os.path.abspath(e2e.TOOL)
NO_NETWORK = ["unshare", "-n"] if os.geteuid() == 0 else ["unshare", "-rn"]


def run(*command, fails=False, **options):
    done = run_program(*command, stderr=subprocess.STDOUT, timeout=None,
                       **options)
    check((done.returncode != 0) == fails,
          f"{' '.join(command)}: {done.stdout}")
    return done.stdout


# ---- Pages of the header ----

def change(path, old, new):
    text = read_file(path)
    check(text.count(old) == 1, f"{path} has {old!r} {text.count(old)} times")
    write_file(path, text.replace(old, new))


def docs(copy, fails=False):
    return run("make", "docs", f"BUILD={copy.path}/docs", cwd=copy.tree,
               fails=fails)


def test_docs(copy):
    docs(copy)
    html = os.path.join(copy.path, "docs/docs/html")
    page = read_file(os.path.join(html, "group__book.html"))
    # Two functions share one comment; a third has its own at its line's end.
    for name in ("mst_book_spread", "mst_book_mid", "mst_book_flags"):
        check(name in page, name)
    check(page.count("the price halfway between them") >= 2, "one comment")
    for name in ("transport", "book"):
        check(not os.path.exists(
            os.path.join(html, f"structmst__{name}.html")), "private")


def test_docs_of_a_name_without_a_comment():
    for old, new, name in (
            ("/* Status of the response read so far, or 0. */\n", "\n",
             "mst_http_status"),
            ("#define MST_BANDS 8 /* of errors: -1 to -99, -100 to -199, ... "
             "*/", "#define MST_BANDS 8", "MST_BANDS"),
            ("/* Counts of a link. */\n", "\n", "mst_stats"),
            ("const char *mst_strerror(int error); /* one line of English */\n",
             "\nint mst_new(void);\n\n", "mst_new")):
        with Copy() as copy:
            change(os.path.join(copy.tree, "mini_stream.h"), old, new)
            said = docs(copy, fails=True)
            check(re.search(rf"\b{name}\b.* is not documented", said), said)


# ---- make install ----

def install(prefix, *options):
    return run("make", "install", f"PREFIX={prefix}", f"BUILD={BUILD}",
               *options)


def commands():
    """The tool's commands, as --help lists them."""
    listed = re.search(r"^Commands.*?\n\n", run(TOOL, "--help"), re.M | re.S)
    names = re.findall(r"^  ([a-z]+(?: [a-z]+)*)", listed[0], re.M)
    check({"stream", "address put"} <= set(names), names)
    return [name for name in names
            if run_program(TOOL, *name.split(), "--help").stdout.startswith(
                f"Usage: mini-stream {name}")]


MAN = {**os.environ, "MANWIDTH": "200", "LC_ALL": "C.UTF-8"}


def test_manual_pages(folder):
    install(folder)
    check(run(f"{folder}/bin/mini-stream", "--version").startswith(
        "mini-stream "), "version")
    names = {"mini-stream", "pem2c", *(
               "mini-stream-" + name.replace(" ", "-")
               for name in commands())}
    pages = os.path.join(folder, "share/man/man1")
    check(set(os.listdir(pages)) == {name + ".1" for name in names},
          os.listdir(pages))
    for name in names:
        page = run_program(
            "man", "--warnings", "-l", os.path.join(pages, name + ".1"),
            env=MAN)
        check(page.returncode == 0 and not page.stderr, page.stderr)
        for title in ("NAME", "SYNOPSIS", "DESCRIPTION", "SEE ALSO"):
            check(re.search(rf"^{title}$", page.stdout, re.M),
                  f"{name}: {title}")
    check("--endpoints=FILE" in page_text(pages, "mini-stream-stream"),
          "options")
    check("Exit status:" in page_text(pages, "mini-stream"), "status")


# Words that stop a reader of English.
STOPS = re.compile(
    r"\b(beside|behind|in front of|but for|anew|likewise|mend(?:ed|s)?|so many"
    r"|as asked|stands?|stood|goes on|goes round|told|tells|at hand|where"
    r"|(?:of|for|by) (?:which|ours)|of (?:its|their) own|is said|any more"
    r"|is none|nor do)\b", re.I)
SQL = r"WHERE (?:client|id) "


def test_words():
    """Help fits 80 columns. No text of a program has a word of STOPS."""
    programs = [[TOOL], *([TOOL, *name.split()] for name in commands()),
                *([os.path.join(BUILD, name)] for name in ("sandbox", "pem2c"))]
    helps = [run(*program, "--help") for program in programs]
    helps.append(run(os.path.join(BUILD, "sandbox"), "--quirk", "help"))
    for text in helps:
        wide = [line for line in text.splitlines() if len(line) > 80]
        check(not wide, f"{wide} in {text}")
        check(not STOPS.search(text), f"{STOPS.search(text)} in {text}")
    for path in tracked():
        if re.match(r"examples/(?!firmware|windows).*\.(c|h|js|mjs)$", path):
            code = re.sub(r"/\*.*?\*/|^ *//.*?$", "", read_file(path),
                          flags=re.S | re.M)
            code = re.sub(r'"\s*\\?\n\s*"', "", code)  # a text of several lines
            for text in re.findall(r'"(?:[^"\\\n]|\\.)*"|`[^`]*`', code):
                found = STOPS.search(re.sub(SQL, "", text))
                check(not found, f"{path}: {found}: {text}")


def page_text(pages, name):
    return run("man", "-l", os.path.join(pages, name + ".1"), env=MAN)


def test_without_help2man(folder):
    said = install(folder, "HELP2MAN=no-help2man")
    check("No manual pages: no-help2man is missing: `make packages'" in
          said, said)
    check(os.listdir(os.path.join(folder, "share/man/man1")) == [], "pages")


def test_licence_of_jsmn(folder):
    install(folder)
    place = os.path.join(folder, "share/doc/mini_stream")
    check(os.listdir(place) == ["LICENSE.jsmn"], os.listdir(place))
    text = read_file(os.path.join(place, "LICENSE.jsmn"))
    for words in ("MIT License", "Copyright (c) 2010 Serge Zaitsev",
                  "The above copyright notice", "IN THE\n * SOFTWARE."):
        check(words in text, text)
    check(text.endswith("*/\n") and "#" not in text, text)


SHELLS = {
    "bash": ("--norc --noprofile -i",
             "bind 'set bell-style none'\n"
             ". /usr/share/bash-completion/bash_completion\n"
             ". {}/mini-stream.bash\n"),
    "zsh": ("-f -i", "unset zle_bracketed_paste; setopt no_beep\n"
            "mkdir f; cp {}/mini-stream.zsh f/_mini-stream; fpath=(f $fpath)\n"
            "autoload -U compinit; compinit -u -D\n")}


class Shell:
    """bash or zsh on a terminal, with completion as make install sets it up."""

    def __init__(self, name):
        self.name = name

    def __enter__(self):
        options, begin = SHELLS[self.name]
        self.folder = tempfile.TemporaryDirectory()
        self.pid, self.terminal = pty.fork()
        if self.pid == 0:
            os.chdir(self.folder.name)
            os.environ.update(TERM="dumb", PS1="ready> ", INPUTRC="/dev/null",
                              PATH=os.path.dirname(TOOL) + ":/usr/bin:/bin")
            os.execvp(self.name, [self.name, *options.split()])
        self.type(begin.format(os.path.abspath("port/install")) +
                  "stty columns 200\n"
                  ": > anchors.pem; echo beg''un\n", r"begun\r\n(?s:.*)ready> ")
        return self

    def __exit__(self, *_):
        os.close(self.terminal)  # this ends the shell
        os.waitpid(self.pid, 0)
        self.folder.cleanup()

    def type(self, keys, until):
        """Types keys, waits for the pattern, and returns the output."""
        os.write(self.terminal, keys.encode())
        shown = ""
        end = time.monotonic() + HANG_S
        while not re.search(until, shown):
            left = max(0, end - time.monotonic())
            check(select.select([self.terminal], [], [], left)[0], shown)
            shown += os.read(self.terminal, 4096).decode(errors="replace")
        return shown


# The typed words, and what completion adds to them.
TYPED = (("str", "eam "), ("address p", "ut "), ("help addr", "ess "),
         ("stream --secr", "et-file"), ("stream BTCUSD --expect", "-all "),
         ("address put --nick", "name"), ("stream --ca anch", "ors.pem "),
         ("stream -o anch", "ors.pem "), ("stream --format js", "on "),
         ("stream --tls op", "enssl "), ("stream -c executio", "n"),
         ("stream --set conn", "ect_ms "), ("stream -q --secr", "et-file"),
         ("stream --ca=anch", "ors.pem "))


def test_completion():
    for name in SHELLS:
        with Shell(name) as shell:
            for typed, rest in TYPED:
                line = "mini-stream " + typed
                shell.type(line + "\t", re.escape(line + rest) + "[= ]?$")
                shell.type("\x15", "")  # clears the line


def test_completion_of_fish():
    with tempfile.TemporaryDirectory() as folder:
        write_file(folder + "/anchors.pem", "")
        for typed, rest in TYPED:
            done = run_program(
                "fish", "--no-config", "-c",
                f"source {os.path.abspath('port/install/mini-stream.fish')}; "
                f"complete -C 'mini-stream {typed}'", cwd=folder,
                env={**os.environ, "HOME": folder,
                     "PATH": os.path.dirname(TOOL) + ":/usr/bin:/bin"})
            word = typed.split(" ")[-1] + rest.strip()
            check(done.stdout.startswith(word) and not done.stderr,
                  f"{typed}: {done}")


# ---- make dist ----

def validate(spdx, archive, folder):
    """Checks what SPDX 2.3 requires (clauses 6 to 11). Returns the files."""
    def fields(element, **patterns):
        for name, pattern in patterns.items():
            check(re.fullmatch(pattern, str(element.get(name, ""))),
                  f"{name}: {element.get(name)!r}")

    fields(spdx, spdxVersion=r"SPDX-2\.3", dataLicense="CC0-1.0",
           SPDXID="SPDXRef-DOCUMENT", name=".+",
           documentNamespace=r"[a-z]+:[^#]+")
    fields(spdx["creationInfo"],
           created=r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")
    check(all(re.match("(Tool|Person|Organization): .", creator)
              for creator in spdx["creationInfo"]["creators"]), "creators")
    package, *needed = spdx["packages"]
    fields(package, SPDXID="SPDXRef-[A-Za-z0-9.-]+", name="mini_stream",
           versionInfo=r"\d+\.\d+\.\d+", downloadLocation="NOASSERTION|.+:.+",
           licenseConcluded="0BSD", licenseDeclared="0BSD",
           copyrightText="Copyright .+")
    data = pathlib.Path(archive).read_bytes()
    sums = {entry["algorithm"]: entry["checksumValue"]
            for entry in package["checksums"]}
    check(sums["SHA256"] == hashlib.sha256(data).hexdigest(), "archive")
    names = set()
    for entry in spdx["files"]:
        fields(entry, SPDXID="SPDXRef-[A-Za-z0-9.-]+", fileName=r"\./.+",
               licenseConcluded="0BSD", copyrightText=".+")
        check(entry["licenseInfoInFiles"] == ["0BSD"], entry)
        content = pathlib.Path(folder, entry["fileName"]).read_bytes()
        for digest in entry["checksums"]:
            check(digest["checksumValue"] == hashlib.new(
                digest["algorithm"].lower(), content).hexdigest(), entry)
        check("SHA1" in {digest["algorithm"] for digest in
                         entry["checksums"]}, "SHA1 is required")
        names.add(entry["fileName"][2:])
    for entry in needed:
        fields(entry, SPDXID="SPDXRef-[A-Za-z0-9.-]+", versionInfo=".+",
               downloadLocation="https://.+", licenseConcluded="MIT",
               licenseDeclared="MIT", copyrightText="Copyright .+")
        check(entry["filesAnalyzed"] is False, entry)
    check([(entry["name"], entry["versionInfo"]) for entry in needed] ==
          [("jsmn", "1.1.0"), ("BearSSL", "NOASSERTION")], needed)
    ids = [entry["SPDXID"] for entry in [package, *spdx["files"], *needed]]
    check(len(set(ids)) == len(ids) and
          package["hasFiles"] == ids[1:-len(needed)], "ids")
    check(package["packageVerificationCode"]["packageVerificationCodeValue"] ==
          run("sh", "-c", "find . -type f | xargs sha1sum | cut -c -40 | sort |"
              "tr -d '\n' | sha1sum | cut -c -40 | tr -d '\n'", cwd=folder),
          "verification code")
    check([(relation["spdxElementId"], relation["relationshipType"],
            relation["relatedSpdxElement"])
           for relation in spdx["relationships"]] == [
               (of, how, package["SPDXID"]) for of, how in (
                   ("SPDXRef-DOCUMENT", "DESCRIBES"),
                   (needed[0]["SPDXID"], "BUILD_DEPENDENCY_OF"),
                   (needed[1]["SPDXID"], "DEPENDENCY_OF"))], "relationships")
    return names


def dist(build, cwd="."):
    run("make", "-s", "dist", f"BUILD={build}", cwd=cwd)
    version = re.search('MST_VERSION "(.*)"', read_file("mini_stream.h"))[1]
    return os.path.join(build, f"mini_stream-{version}")


def test_archive(folder):
    first = dist(os.path.join(folder, "one"))
    with tarfile.open(first + ".tar.gz") as archive:
        check(len({file.mtime for file in archive}) == 1, "times")
        check(all((file.uid, file.gid) == (0, 0) and
                  file.mode in (0o644, 0o755) for file in archive), "modes")
        archive.extractall(folder)
    tree = os.path.join(folder, os.path.basename(first))
    names = validate(json.loads(read_file(first + ".spdx.json")),
                     first + ".tar.gz", tree)
    check(names == set(tracked()), names ^ set(tracked()))
    # The unpacked files, with other times and modes, make the same archive.
    run("chmod", "-R", "go-rwx", tree)
    for name in ("README.md", "Makefile"):
        os.utime(os.path.join(tree, name))
    second = dist(os.path.join(folder, "two"), tree)
    for end in (".tar.gz", ".spdx.json"):
        check(filecmp.cmp(first + end, second + end, shallow=False), end)
    # They build without a network, which means without apt as well. Only the
    # tool is compiled here; the rest is with compilers that do nothing.
    run(*NO_NETWORK, "make", "-s", "all", "CC=true", "AR=true", "LD=true",
        "BUILD=none", cwd=tree)
    run(*NO_NETWORK, "make", "-s", "-j2", "build/mini-stream", "CFLAGS=-O0",
        "BUILD=build", cwd=tree)
    check(run("build/mini-stream", "--version", cwd=tree).startswith(
        "mini-stream "), "version")


def test_a_file_without_a_licence(copy):
    for name in ("new.c", "new.txt"):
        write_file(os.path.join(copy.tree, name), "no licence\n")
    for target in ("licences", "dist"):
        said = run("make", target, f"BUILD={copy.path}/dist",
                   cwd=copy.tree, fails=True)
        for name in ("new.c", "new.txt"):
            check(f"{name}: no line SPDX-License-Identifier" in said, said)
