"""Recordings of mini-stream and their replays: a replay has byte for byte the
output of its stream. Recordings that were cut, split or damaged. No recording
contains a secret.

REPLAY_MESSAGES: the number of lines of the long recording (default: 20000).
SPDX-License-Identifier: 0BSD
"""
import base64
import contextlib
import functools
import json
import os
import pathlib
import random
import re
import signal
import stat
import subprocess
import time
import urllib.request

from e2e import FOUR_MARKETS as MARKETS
from e2e import (HANG_S, SANDBOX, TOOL, USAGE, Sandbox, check,
                 environment_with, fixed_ports, free_port, in_time,
                 milliseconds, run_program, sandbox_of, small_disk, symbols,
                 wait_for)
from e2e_messages import says

MESSAGES = int(os.environ.get("REPLAY_MESSAGES", "20000"))
CLOSE = {"close": {"code": 1001, "reason": "for the test"}}
SECRET = "sandbox-secret"
REFUSED = "s3cr3t-of-nobody"  # no known client's


class Lab(Sandbox):
    """A sandbox and the recordings of its streams."""
    command = (SANDBOX, "--rate", "20")

    def path(self, name):
        return os.path.join(self.state, name)

    def read(self, name):
        return pathlib.Path(self.path(name)).read_bytes()

    def write(self, name, data):
        pathlib.Path(self.path(name)).write_bytes(data)

    def stream(self, *arguments, **options):
        """Streams into "live" and records in "r"."""
        return self.start("stream", "-q", "--record", self.path("r"), "-o",
                          self.path("live"), *arguments, **options)

    def record(self, *arguments, name="r", **options):
        return self.start("record", "-o", self.path(name), *arguments,
                          **options)

    def replays(self, *arguments):
        """Expects byte for byte the stream's output from a replay."""
        self.replay(*arguments)
        live, again = self.read("live"), self.read("again")
        check(live and live == again, "the replay differs: " + next(
            (f"{a[:300]} / {b[:300]}" for a, b in zip(live.split(b"\n"),
                                                      again.split(b"\n"))
             if a != b), f"{len(live)}, {len(again)} bytes"))

    def until(self, process, text, count=1, name="live"):
        wait_for(lambda: os.path.exists(self.path(name)) and
                 self.read(name).count(text.encode()) >= count, text,
                 process=process)

    def streamed(self, *arguments, count=40):
        """Runs a stream of BTCUSD that ends well after count updates."""
        process = self.stream("-f", "json", *arguments, "BTCUSD")
        self.until(process, '"type":"update"', count)
        ended(process, 0, signal.SIGINT)

    def finish(self, process):
        """Ends a stream of JSON lines, and expects an equal replay."""
        ended(process, 0, signal.SIGINT)
        self.replays("-f", "json")

    def split(self):
        """Streams into a recording of three files."""
        process = self.stream("--split", "1", "-f", "json", *MARKETS)
        wait_for(lambda: os.path.exists(self.path("r.2")), "a third file")
        return process

    def replay(self, *arguments, status=0, text="", recording="r",
               name="again"):
        """Replays into a file. Returns its standard error."""
        # The tool would not replace a file of another format.
        if name == "again":
            pathlib.Path(self.path(name)).unlink(missing_ok=True)
        done = run_program(TOOL, "replay", self.path(recording), "-o",
                           self.path(name), *arguments, env=environment_with())
        check(done.returncode == status and text in done.stderr,
              f"{done.returncode}: {done.stderr}")
        return done.stderr


lab_of = functools.partial(sandbox_of, kind=Lab)


def ended(process, status=0, number=None, text=""):
    if number:
        process.send_signal(number)
    _, said = process.communicate(timeout=HANG_S)
    check(process.returncode == status and text in (said or ""),
          f"{process.returncode}: {said}")
    return said


# ---- Equal to the byte ----

def follow(lab, process, count):
    """Waits for count lines. It hangs if no line comes for HANG_S."""
    lines, last = 0, time.monotonic()
    wait_for(lambda: os.path.exists(lab.path("live")), "an output")
    with open(lab.path("live"), "rb") as file:
        while lines < count:
            came = file.read(1 << 20).count(b"\n")
            now = time.monotonic()
            last = now if came else last
            check(process.poll() is None and now < last + HANG_S,
                  f"{lines} lines")
            lines += came
            if not came:
                time.sleep(0.05)


def test_at_length():
    """Many messages, replayed twice."""
    with lab_of("--rate", "1000") as lab:
        process = lab.stream("-f", "json", *MARKETS)
        follow(lab, process, MESSAGES)
        lab.finish(process)
        lab.replay("-f", "json", name="third")
        check(lab.read("third") == lab.read("again"), "two replays")


def test_formats():
    """Every format of stream, for a run with trouble."""
    for arguments in (("-f", "json", "-d", "3"), ("-f", "csv"),
                      ("-f", "text", "-d", "2"), ("--raw",),
                      ("-f", "json", "--book-every", "100")):
        with lab_of("--quirk", "unknown-channels") as lab:
            process = lab.stream(*arguments, "BTCUSD", "NOSUCH")
            lab.until(process, "BTCUSD", 10)
            lab.set(**CLOSE)
            lab.until(process, "BTCUSD", lab.read("live").count(b"BTCUSD") + 30)
            ended(process, 6, signal.SIGINT)
            lab.replays(*arguments)


def test_pairs():
    for arguments, opened in ((("--hot-standby",), 4), (("--rotate", "10"), 3)):
        with lab_of() as lab:
            process = lab.stream("-f", "json", *arguments, "BTCUSD", "ETHUSD")
            lab.until(process, '"type":"update"', 10)
            lab.set(**CLOSE)
            lab.until(process, '"type":"open"', opened)
            lab.finish(process)


def test_killed():
    """The service is killed and starts again."""
    with lab_of(*fixed_ports()) as lab:
        process = lab.stream("-f", "json", "--set", "backoff_max_ms=1000",
                             "BTCUSD")
        lab.until(process, '"type":"update"', 10)
        lab.kill()
        lab.until(process, '"type":"closed"', 2)
        lab.restart()
        lab.until(process, '"state":"live"', 2)
        lab.finish(process)


def test_refused(lab):
    """Streams that end by themselves."""
    for status, arguments, options in (
            (6, ("NOSUCH",), {}), (4, ("BTCUSD",), {"secret": "wrong"}),
            (5, ("--auth-url", "https://localhost:1", "-s", "2", "BTCUSD"),
             {})):
        ended(lab.stream("-f", "json", *arguments, **options), status)
        lab.replays("-f", "json")
        os.unlink(lab.path("r"))


def test_many_clients():
    with lab_of("--rate", "1", "--levels", "10", "--markets", "700") as lab:
        # More than a GiB of books.
        process = lab.stream("-f", "json", "-l", "30000", *symbols(700))
        lab.until(process, '"state":"live"', 700)
        lab.finish(process)


def test_most_levels(lab):
    lab.streamed("-l", "100000", "--hot-standby")
    lab.replays("-f", "json")


def test_real_time(lab):
    """At the pace of the recording."""
    lab.streamed()
    lines = lab.read("live").splitlines()
    first, last = (milliseconds(json.loads(lines[number])["received"])
                   for number in (0, -1))
    begin = time.monotonic()
    lab.replays("-f", "json", "--real-time")
    check(time.monotonic() - begin > (last - first) / 1000 - 0.5,
          "too fast")


# ---- Files ----

def test_part_of_it(lab):
    """From standard input, between two times, at another speed."""
    lab.streamed("--depth", "2", count=20)
    lab.replay("-f", "json", "--depth", "2")
    whole = [json.loads(line) for line in lab.read("again").splitlines()]

    def part(*arguments, **options):
        done = run_program(TOOL, "replay", "-f", "json", *arguments, **options)
        check(done.returncode == 0 and not done.stderr, done)
        return [json.loads(line) for line in done.stdout.splitlines()]
    for name in ("-", "/dev/stdin"):
        with open(lab.path("r"), "rb") as file:
            check(part("--depth", "2", name, stdin=file) == whole, name)
        with subprocess.Popen(["cat", lab.path("r")],
                              stdout=subprocess.PIPE) as cat:
            check(part("--depth", "2", name, stdin=cat.stdout) == whole, name)
    lab.replay("--depth", "101", status=2,
               text="--depth 101: a book has at most 100 levels")
    os.mkfifo(lab.path("fifo"))
    with subprocess.Popen(["cp", lab.path("r"), lab.path("fifo")]):
        check(part("--depth", "2", lab.path("fifo")) == whole, "a FIFO")
    with subprocess.Popen(["cp", TOOL, lab.path("fifo")]):
        said = lab.replay(status=7, recording="fifo")
    check(said == f"mini-stream: {lab.path('fifo')}: not a recording\n", said)
    data = [line for line in whole if line["type"] == "update"]
    begin, end = data[5]["received"], data[9]["received"]
    begun = time.monotonic()
    shown = [line for line in part("--from", begin, "--to", end, "--depth", "2",
                                   "--speed", "0.5", lab.path("r"))
             if line["type"] == "update"]
    check([line["book"] for line in shown] == [
        line["book"] for line in data
        if begin <= line["received"] <= end], shown)
    taken = milliseconds(end) - milliseconds(begin)
    check(time.monotonic() - begun >= 2 * taken / 1000, taken)
    check([line["type"] for line in part("--from", "86400", lab.path("r"))] ==
          ["start", "end"], "after the end")
    check(not [line for line in part("--to", "0", lab.path("r"))
               if line["type"] == "update"], "before the begin")


def test_split():
    """Several files are one recording. A missing file is named."""
    with lab_of("--rate", "1000") as lab:
        lab.finish(lab.split())
        for name, to in (("r.1", "kept"), ("r.2", "r.1")):
            os.rename(lab.path(name), lab.path(to))
            lab.replay("-f", "json", status=7, text="r.1")


def test_file(lab):
    """Only its owner can read it. An existing file is not overwritten."""
    process = lab.record("BTCUSD")
    check(any(" open - " in line for line in process.stderr), "no stream")
    ended(process, 0, signal.SIGINT)
    mode = stat.S_IMODE(os.stat(lab.path("r")).st_mode)
    check(mode == 0o600, oct(mode))
    before = lab.read("r")
    ended(lab.record("BTCUSD"), 7, text="File exists")
    check(lab.read("r") == before, "overwritten")
    os.symlink(lab.path("r"), lab.path("link"))
    ended(lab.record("BTCUSD", name="link"), 7)
    check(lab.read("r") == before, "through a link")


def test_record_formats(lab):
    """`record --format` prints the stream, which equals the replay. Without a
    format it prints nothing."""
    for form in ("json", "csv", "text"):
        with open(lab.path("live"), "wb") as live:
            process = lab.start("record", "-q", "-o", lab.path("r"), "-f", form,
                                "BTCUSD", "ETHUSD", stdout=live)
        lab.until(process, "snapshot")
        ended(process, 0, signal.SIGINT)
        lab.replays("-f", form)
        os.unlink(lab.path("r"))
    done = in_time("1", lambda seconds: lab.run(
        "record", "-q", "-o", lab.path("r" + seconds), "-s", seconds, "BTCUSD"))
    check(done.returncode == 0 and done.stdout == "", done)


def test_onto_itself():
    """A recording is not overwritten by its own replay."""
    with lab_of("--rate", "1000") as lab:
        ended(lab.split(), 0, signal.SIGINT)
        os.symlink(lab.path("r"), lab.path("link"))
        for name in ("r", "r.2", "link"):
            for arguments in ((), ("--raw",)):
                before = lab.read(name)
                lab.replay(*arguments, status=2, text="--output", name=name)
                check(lab.read(name) == before, f"{name} is overwritten")


def test_output_onto_recording(lab):
    """The output of a run cannot be its recording."""
    process = lab.stream("--output", lab.path("r"), "-s", "1", "BTCUSD")
    ended(process, 2, text="it is the recording")


def test_damaged_end():
    """The good part is shown, then the damage is reported. After a power loss
    the last blocks of a file may be zeros."""
    with lab_of("--rate", "100") as lab:
        lab.streamed(count=250)
        good, lines = lab.read("r"), lab.read("live").splitlines()
        lab.write("bad", good[:len(good) * 2 // 3] + bytes(4096))
        lab.replay("-f", "json", status=7, text="is damaged", recording="bad")
        shown = lab.read("again").splitlines()
        check(len(shown) > 20, f"{len(shown)} of {len(lines)}")
        check(shown[:-1] == lines[:len(shown) - 1], "another stream")
        check(json.loads(shown[-1])["status"] == 7, shown[-1])
        for more in (b"\0", b"text", good):
            lab.write("bad", good + more)
            lab.replay("-f", "json", status=7, text="data follows",
                       recording="bad")
            shown = lab.read("again").splitlines()
            check(shown[:-1] == lines[:-1], "another stream")
            lab.replay("--raw", status=7, recording="bad", name="raw")


def test_closed_pipe():
    """A reader that closes the pipe ends a replay, at once or later."""
    with lab_of("--rate", "1000") as lab:
        process = lab.stream("-f", "json", *MARKETS)
        follow(lab, process, 10000)
        ended(process, 0, signal.SIGINT)
        for arguments in (("-f", "json"), ("--raw",), ("--real-time",)):
            for wanted in (0, 1, 300000):
                done, to = os.pipe()
                if wanted == 0:
                    os.close(done)
                with subprocess.Popen(
                        [TOOL, "replay", lab.path("r"), *arguments],
                        stdout=to, stderr=subprocess.PIPE) as replay:
                    os.close(to)
                    while wanted > 0:
                        wanted -= len(os.read(done, wanted))
                        if wanted == 0:
                            os.close(done)
                    check(ended(replay) == b"", arguments)


def test_crash():
    """The recording of a program that crashed can be replayed."""
    with lab_of("--rate", "50") as lab:
        process = lab.stream("-f", "json", "BTCUSD")
        lab.until(process, '"type":"update"', 200)
        process.kill()
        process.communicate()
        lab.replay("-f", "json", status=7,
                   text="/r: the recording was cut off here")
        lines = lab.read("again").splitlines()[:-1]
        live = lab.read("live").splitlines()
        check(len(lines) > 50 and lines == live[:len(lines)], len(lines))


def test_cut():
    """Wherever a recording is cut, `start` comes first, `end` reports the cut,
    only recorded lines are in between, and as little as possible is lost."""
    with lab_of("--rate", "100") as lab:
        lab.streamed(count=200)
        good, live = lab.read("r"), lab.read("live").splitlines()
        blocks = [match.start() for match in
                  re.finditer(rb"\(\xb5/\xfd", good)][1:]  # zstd's frames
        shown = []
        for size in (*blocks[:3], len(good) // 2, len(good) - 1):
            lab.write("bad", good[:size])
            for arguments in ((), ("-f", "csv"), ("--raw",), ("-f", "json")):
                lab.replay(*arguments, status=7, recording="bad",
                           text="/bad: the recording was cut off here")
                if "csv" in arguments:
                    rows = lab.read("again").decode().splitlines()
                    check(rows[1].startswith("1,1,start,") and ",cut," in
                          rows[-1] and "1970-" not in str(rows), rows)
            lines = lab.read("again").splitlines()
            end = json.loads(lines.pop())
            check((end["type"], end["status"], end["cut"]) ==
                  ("end", 7, True), end)
            check("1970" not in end.get("received", ""), end)
            check(json.loads(lines[0])["type"] == "start", lines)
            if len(lines) > 1:
                check(lines == live[:len(lines)], "another stream")
            shown.append(len(lines))
        check(shown[3] > len(live) // 4, f"half of it: {shown} of {len(live)}")
        # Less than a second is lost, at a hundred updates a second.
        check(len(live) - shown[4] < 100, f"{shown} of {len(live)}")


def test_full_disk():
    """A full disk ends the recording and is reported once. The part on the disk
    can be replayed. A stream continues without its recording."""
    with lab_of("--rate", "200") as lab:
        with small_disk(lab.path("room")) as room:
            said = ended(lab.record("BTCUSD", "ETHUSD", name="room/r"), 7)
            check(said.count("No space left") == 1, said)
            lab.replay("-f", "json", status=7, text="cut off here",
                       recording="room/r")
            check(lab.read("again").count(b"\n") > 20, "lines")
            os.unlink(room + "/r")
            process = lab.start(
                "stream", "-q", "-f", "json", "--record", room + "/r", "-o",
                lab.path("live"), "BTCUSD", "ETHUSD")
            lab.until(process, '"type":"update"', 4000)
            said = ended(process, 7, signal.SIGINT)
            check(said.count("No space left") == 1, said)


def test_full_at_the_end(lab):
    """The last block does not fit: the exit status reports it."""
    process = in_time("0.9", lambda seconds: lab.run(
        "record", "-o", lab.path("r" + seconds), "--seconds", seconds,
        "BTCUSD", "ETHUSD", before=("sh", "-c", "trap '' XFSZ; ulimit -f 8; "
                          "exec \"$@\"", "sh")))
    check(process.returncode == 7 and "File too large" in process.stderr,
          process)


def test_not_begun(lab):
    """A run that cannot start, or `record` that cannot connect, leaves no
    file."""
    for status, arguments, options in (
            (3, ("--ws-url", "ftp://x"), {}), (4, (), {"secret": "wrong"}),
            (5, ("--auth-url", "https://localhost:1", "-s", "1"), {})):
        ended(lab.record(*arguments, "BTCUSD", **options), status)
        check(not os.path.exists(lab.path("r")), "a file")
    for _ in range(5):
        process = lab.record("--auth-url", "https://localhost:1", "BTCUSD")
        while process.poll() is None and not os.path.exists(lab.path("r")):
            pass  # the signal comes as soon as there is a file
        ended(process, 0, signal.SIGINT)
        check(not os.path.exists(lab.path("r")), "a file")


def test_spoilt():
    """A changed byte or another file is a named error, never a crash."""
    chance = random.Random(1)
    with lab_of("--rate", "50") as lab:
        lab.streamed()
        good = lab.read("r")
        for _ in range(60):
            bad = bytearray(good)
            bad[chance.randrange(len(bad))] ^= 1 << chance.randrange(8)
            lab.write("bad", bad)
            done = run_program(TOOL, "replay", lab.path("bad"), text=False)
            check(done.returncode in (0, 1, 7) and
                  (done.returncode == 0 or b"bad" in done.stderr),
                  f"{done.returncode}: {done.stderr}")
        for text in (b"", b"no recording\n", good[:10]):
            lab.write("bad", text)
            lab.replay(status=7, text="bad", recording="bad")
        lab.replay(status=7, text="No such file", recording="none")


def test_secrets(lab):
    """No recording or output has a secret or token, plain or in base64."""
    known = lab.path("tokens")
    port = free_port()
    process = lab.start(
        "stream", "--record", lab.path("r"), "--token-file", known,
        "--metrics", str(port), "--verbose", "-f", "json", "-o",
        lab.path("live"), "BTCUSD")
    lab.until(process, '"type":"update"', 50)
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics",
                                timeout=HANG_S) as reply:
        figures = reply.read()
    check(b"mini_stream_messages_total" in figures, figures)
    said = ended(process, 0, signal.SIGINT)
    token = lab.read("tokens")
    lab.replay("-f", "csv", name="csv")
    lab.replay("-f", "json")
    for name, secret, status in (("alone", SECRET, 0),
                                 ("refused", REFUSED, 4)):
        def attempt(seconds, name=name, secret=secret):
            with contextlib.suppress(FileNotFoundError):
                os.unlink(lab.path(name))
            # `record` leaves no file if it is refused.
            words = (("record", "-o") if secret == SECRET else
                     ("stream", "--record"))
            return lab.run(*words, lab.path(name), "-v", "-s", seconds,
                           "BTCUSD", secret=secret)
        done = in_time("1", attempt)
        check(done.returncode == status, done)
        said += done.stdout + done.stderr
    packed = lab.read("r")
    plain = subprocess.run(
        ["zstd", "-dc", *map(lab.path, ("r", "alone", "refused"))],
        capture_output=True, check=True).stdout
    texts = [packed, plain, lab.read("live"), lab.read("again"),
             lab.read("csv"), figures, said.encode()]
    check(len(plain) > len(packed) and b"BTCUSD" in plain, "zstd")
    values = [word for word in token.split() if len(word) > 20]
    check(values, "no token to look for")
    for value in [SECRET.encode(), REFUSED.encode(), *values]:
        for text in texts:
            for form in (value, base64.b64encode(value)[:-4]):
                check(form not in text, f"{form} is there")


def test_arguments():
    for arguments, word in (
            (("record", "-o", "x"), "no market"),
            (("record", "-o", "-", "BTCUSD"), "cannot go to standard output"),
            (("record", "BTCUSD", "ETHUSD"), "no --output FILE given"),
            (("record", "-o", "x", "-f", "xml", "X"), "--format 'xml'"),
            (("replay",), "no file given"),
            (("replay", "a", "b"), "one recording"),
            (("stream", "--split", "0", "X"), "--split 0"),
            (("replay", "--raw", "-f", "json", "x"), "--raw")):
        says(USAGE, word, *arguments)
