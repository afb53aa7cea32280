"""The output of mini-stream stream: JSON lines against their schema and through
jq, CSV through Python's reader, raw messages, samples of books. Trouble is in
the data. How the program ends, and its metrics for Prometheus.

SPDX-License-Identifier: 0BSD
"""
import collections
import contextlib
import csv
import fcntl
import functools
import json
import os
import re
import signal
import socket
import struct
import subprocess
import termios
import time
import urllib.error
import urllib.request

from e2e import (HANG_S, SANDBOX, USAGE, Sandbox, check, free_port, killed,
                 milliseconds, sandbox_of, small_disk, symbols, wait_for)
from e2e_messages import says
from schema import validate

CLOSE = {"close": {"code": 1001, "reason": "=cmd|'for',the \"fault\""}}


class Service(Sandbox):
    command = (SANDBOX, "--rate", "20")
    outputs = 0

    def tool(self, *arguments, output=None, **options):
        """Starts mini-stream stream with a separate output."""
        self.outputs += 1
        path = output or os.path.join(self.state, f"output-{self.outputs}")
        return Tool(path, self.start("stream", "--output", path, *arguments,
                                     **options))

    def json(self, *arguments, **options):
        return self.tool("--format", "json", *arguments, **options)


class Tool:
    def __init__(self, path, process):
        self.path = path
        self.process = process
        self.last = ""  # the output, once it has ended

    def text(self):
        if self.last or not os.path.isfile(self.path):
            return self.last
        with open(self.path, encoding="utf-8", newline="") as file:
            return file.read()

    def until(self, text, count=1):
        wait_for(lambda: self.text().count(text) >= count,
                 lambda: f"{text}: {self.text()[-2000:]}",
                 process=self.process)
        return self

    def end(self, status=0, number=signal.SIGINT):
        """Ends it by a signal. Returns its standard error."""
        self.process.send_signal(number)
        return self.wait(status)

    def wait(self, status, text=""):
        _, said = self.process.communicate(timeout=HANG_S)
        self.last = self.text()
        check(self.process.returncode == status and text in said,
              f"{self.process.returncode}: {said}")
        return said

    def things(self):
        """The objects of the JSON lines. Each is checked."""
        found = []
        for number, line in enumerate(self.text().splitlines(), 1):
            thing = json.loads(line)
            validate(thing)
            check(thing["sequence"] == number, f"line {number}: {line}")
            found.append(thing)
        check(found[0]["type"] == "start", found[0])
        return found


service_of = functools.partial(sandbox_of, kind=Service)


def types_of(things):
    return collections.Counter(thing["type"] for thing in things)


def test_json():
    """All types, in a stream that is disturbed in every way."""
    with service_of("--quirk", "unknown-channels") as service:
        tool = service.json("--depth", "3", "BTCUSD", "ETHUSD", "NOSUCH")
        tool.until('"type":"execution"')
        tool.until('"type":"unknown"')
        tool.until('"type":"heartbeat"')
        service.set(garbage={})
        tool.until('"type":"error"')
        tool.until('"state":"live"', 4)
        service.set(**CLOSE)
        tool.until('"channel":"market_data.top_of_book","ms":')
        tool.until('"state":"live"', 6)
        tool.end(6)  # a subscription was refused
    things = tool.things()
    types = types_of(things)
    for each in ("start", "open", "snapshot", "update", "top", "execution",
                 "heartbeat", "unknown", "error", "closed", "refused", "book",
                 "gap", "end"):
        check(types[each] > 0, f"no {each}: {types}")
    check(things[-1] == {**things[-1], "type": "end", "status": 6}, things[-1])
    closed = next(each for each in things if each["type"] == "closed")
    check((closed["close_code"], closed["text"], closed["server"]) ==
          (1001, CLOSE["close"]["reason"],
           service.urls["ws_url"].split("/")[2]), closed)
    check([each["generation"] for each in things if each["type"] == "open"] ==
          [1, 2], "generations")
    refused = {each["channel"] for each in things if each["type"] == "refused"}
    check(refused == {"market_data", "market_data.top_of_book",
                      "execution_data"}, refused)
    follow_books(things)
    gaps = [each for each in things if each["type"] == "gap"]
    check({(each["market"], each["channel"]) for each in gaps} >=
          {(market, channel) for market in ("BTCUSD", "ETHUSD")
           for channel in ("market_data", "market_data.top_of_book",
                           "execution_data")}, gaps)


def book_of_lines(things):
    """Builds books from the lines only, as the tool's README.md says. Yields
    (line of market_data, its market's sides, True if its book is live)."""
    sides, since, waiting, live = {}, {}, {}, set()

    def apply(line):
        for side in ("bids", "asks"):
            book = sides[line["market"]][side]
            for price, amount in line[side]:
                book.pop(float(price), None)
                if float(amount) > 0:
                    book[float(price)] = float(amount)

    for each in things:
        market = each.get("market")
        if each["type"] == "book":
            (live.add if each["state"] == "live" else live.discard)(market)
            if each["state"] != "live":
                since.pop(market, None)
        if each["type"] == "snapshot":
            if each.get("first", True):
                sides[market] = {"bids": {}, "asks": {}}
            apply(each)
            if each.get("last", True):
                since[market] = each["time"]
                for update in waiting.pop(market, []):
                    if update["time"] > since[market]:
                        apply(update)
        elif each["type"] == "update" and market not in since:
            waiting.setdefault(market, []).append(each)
        elif each["type"] == "update" and each["time"] > since[market]:
            apply(each)
        if each["type"] in ("snapshot", "update") and market in sides:
            yield each, sides[market], market in live


def follow_books(things):
    """A reader that builds books from the lines has the books that the lines
    show, and knows when not to trust them."""
    compared = 0
    for each, sides, live in book_of_lines(things):
        if "book" not in each or not live:
            continue
        for side, sign in (("bids", -1), ("asks", 1)):
            best = sorted(sides[side].items(),
                          key=lambda level, sign=sign: sign * level[0])
            shown = [(float(price), float(amount))
                     for price, amount in each["book"][side]]
            check(best[:len(shown)] == shown, f"{each}: {best[:len(shown)]}")
            compared += 1
    check(compared > 20, f"{compared} compared")


def test_early_updates():
    """Updates that come before their snapshot count, unless they are older."""
    with service_of("--quirk", "early-updates") as service:
        tool = service.json("--levels", "1000", "--depth", "80", "BTCUSD",
                            "ETHUSD").until('"type":"update"', 50)
        tool.end()
    things = tool.things()
    first = [each["type"] for each in things
             if each.get("channel") == "market_data"][0]
    check(first == "update", "no early update")
    follow_books(things)


def test_decimals():
    """A market's numbers are shown with the most decimals seen so far."""
    with service_of("--quirk", "trimmed-zeros") as service:
        tool = service.json("BTCUSD").until('"type":"update"', 60)
        tool.end()
    places = [len(price.partition(".")[2])
              for each in tool.things() if each["type"] == "update"
              for price, _ in each["bids"] + each["asks"]]
    check(set(places) == {2}, set(places))


def test_jq(service):
    """jq reads each line; a filter gives the best bids."""
    tool = service.json("--top", "BTCUSD", "ETHUSD").until('"type":"top"', 20)
    tool.end()
    asked = subprocess.run(
        ["jq", "-r", 'select(.type == "top") | [.market, .bid[0]] | @tsv',
         tool.path], text=True, check=True, stdout=subprocess.PIPE).stdout
    check(len(asked.splitlines()) == types_of(tool.things())["top"], asked)
    check(re.fullmatch(r"((BTC|ETH)USD\t\d+\.\d\d\n)+", asked), asked)


def test_csv(service):
    """CSV has a header, a row for each level, and only whole rows."""
    tool = service.tool("--format", "csv", "BTCUSD", "NOSUCH")
    tool.until(",execution,")
    tool.until(",heartbeat,")
    service.set(**CLOSE)
    tool.until(",gap,")
    tool.until(",live,", 2)
    tool.end(6)
    text = tool.text()
    check(text.count("\n") == text.count("\r\n"), "RFC 4180, section 2.1")
    rows = list(csv.DictReader(text.splitlines(keepends=True), strict=True))
    check(all(len(row) == 23 and None not in row.values() for row in rows),
          "columns")
    check({row["v"] for row in rows} == {"1"}, "version")
    found = collections.Counter(row["type"] for row in rows)
    for each in ("start", "open", "snapshot", "update", "top", "execution",
                 "heartbeat", "closed", "refused", "book", "gap", "end"):
        check(found[each] > 0, f"no {each}: {found}")
    levels = [row for row in rows if row["side"]]
    check(all(re.fullmatch(r"\d+\.\d\d", row["price"]) and
              re.fullmatch(r"\d+\.\d{8}", row["amount"]) for row in levels),
          "numbers")
    closed = next(row for row in rows if row["type"] == "closed")
    check("=cmd|'for',the \"fault\"" in closed["text"], closed["text"])


def test_formula(service):
    """A field that begins like a formula is none in a spreadsheet."""
    tool = service.tool("--format", "csv", "=1+1")
    tool.wait(6)
    fields = {field for row in csv.reader(tool.text().splitlines())
              for field in row}
    check("'=1+1" in fields and "=1+1" not in fields, fields)


def test_samples(service):
    """Books instead of updates, not more often than requested."""
    begin = time.monotonic()
    tool = service.json("--book-every", "500", "--depth", "4", "-c",
                        "market_data", "BTCUSD", "ETHUSD")
    tool.until('"type":"sample"', 10)
    tool.end()
    most = (time.monotonic() - begin) / 0.5 + 2
    things = tool.things()
    samples = [each for each in things if each["type"] == "sample"]
    types = types_of(things)
    check(types["update"] == types["snapshot"] == 0, types)
    for market in ("BTCUSD", "ETHUSD"):
        of_it = [each for each in samples if each["market"] == market]
        check(2 <= len(of_it) <= most, f"{market}: {len(of_it)}")
        check(all(len(each["bids"]) == len(each["asks"]) == 4
                  for each in of_it), of_it)


def test_raw(service):
    """Only the messages, as they came."""
    tool = service.tool("--raw", "BTCUSD").until('"channel":"execution_data"')
    tool.until('"channel":"heartbeat"')
    tool.end()
    lines = [json.loads(line) for line in tool.text().splitlines()]
    check(lines[0]["type"] == "subscribe", lines[0])
    check({line["channel"] for line in lines[1:]} ==
          {"market_data", "market_data.top_of_book", "execution_data",
           "heartbeat"}, "channels")


def test_pair(service):
    """A pair's lines name the link that leads, and what may be a repeat."""
    tool = service.json("--hot-standby", "BTCUSD").until('"type":"open"', 2)
    tool.until('"type":"update"', 10)
    service.set(**CLOSE)
    tool.until('"repeat":true')
    tool.until('"type":"open"', 4)
    tool.end()
    things = tool.things()
    check({each["link"] for each in things if each["type"] == "open"} ==
          {0, 1}, "links")


def test_pair_whose_leader_is_silent():
    """No line has what the other link received meanwhile. So its book is shown
    whole, and the gap is reported."""
    with service_of("--rate", "50") as service:
        tool = service.json("--hot-standby", "--levels", "1000", "--depth",
                            "80", "--set", "silence_ms=2000", "--set",
                            "ping_ms=1000", "BTCUSD").until('"type":"open"', 2)
        # There is one already if the second link was the first one open.
        leaders = tool.text().count('"type":"leader"')
        for closed in range(1, 20):
            service.set(half_open={})
            tool.until('"type":"closed"', closed)
            if tool.text().count('"type":"leader"') > leaders:
                break
            tool.until('"type":"open"', closed + 2)
        updates = tool.text().count('"type":"update"')
        tool.until('"type":"update"', updates + 50)
        tool.end()
    things = tool.things()
    follow_books(things)
    gaps = {each["channel"]: each["ms"] for each in things
            if each["type"] == "gap"}
    # It may stop leading before it is closed, when the other one is ahead.
    check(all(gaps.get(channel, 0) >= 1000 for channel in (
        "market_data", "market_data.top_of_book")), gaps)
    check("execution_data" not in gaps, gaps)


def test_many_markets():
    """More markets than one client holds: the clients share a token."""
    with service_of("--rate", "1", "--levels", "20", "--markets",
                    "1000") as service:
        markets = symbols(1000)
        tool = service.json("--verbose", *markets)
        tool.until('"state":"live"', 1000)
        said = tool.end()
    things = tool.things()
    check({each["market"] for each in things if each["type"] == "book" and
           each["state"] == "live"} == set(markets), "markets")
    lost = said.count("closed - ") - said.count("closed - on request")
    check(types_of(things)["open"] == 3 + lost, "three clients")
    check(said.count("token - obtained") == 1, said)


# ---- How it ends ----

def test_killed(service):
    """If the service is gone at the end, the run has failed."""
    for seconds in ("10", "100"):  # more only if this machine is slow
        tool = service.json("--seconds", seconds, "BTCUSD")
        with contextlib.suppress(AssertionError):
            tool.until('"state":"live"')
            break
    service.kill()
    tool.wait(5)
    things = tool.things()
    states = [(each["state"], each["reason"]) for each in things
              if each["type"] == "book"]
    check(states[-1][0] == "stale", states)
    check(things[-1]["status"] == 5, things[-1])


def test_fail_on_disconnect(service):
    tool = service.json("--fail-on-disconnect", "BTCUSD")
    tool.until('"state":"live"')
    service.set(**CLOSE)
    said = tool.wait(6)
    check("next attempt" not in said, said)
    check(types_of(tool.things())["open"] == 1, "no other attempt")


def test_unknown_markets(service):
    """With only unknown markets it ends, with the service's code."""
    said = service.tool("NOSUCH", "NEITHER").wait(6)
    check(said.count("NOSUCH: UNKNOWN_CHANNEL_PARAMS_CONFIGURATION") == 1 and
          said.endswith("the service refused market_data of NOSUCH\n"), said)


def test_wrong_secret(service):
    tool = service.json("BTCUSD", secret="planted-one")
    said = tool.wait(4)
    text = tool.text()
    check("invalid_client" in said and "next attempt" not in said and
          "on request" not in said, said)
    check("planted-one" not in said + text, "the secret")


def no_output(path, text, *arguments):
    with service_of() as service:
        tool = service.tool(*arguments, "BTCUSD", output=path)
        tool.wait(7, f"{path}: {text}")


def test_cut(service):
    """A file cut by a full disk can be read up to the cut."""
    with small_disk(os.path.join(service.state, "room")) as room:
        tool = service.json("BTCUSD", output=room + "/out")
        tool.wait(7)
        lines = tool.text().splitlines()
    check(len(lines) > 10, lines)
    for line in lines[:-1]:
        validate(json.loads(line))


def test_signals():
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        with service_of() as service:
            tool = service.json("BTCUSD").until('"type":"update"')
            tool.end(0, number)
        check(tool.things()[-1]["type"] == "end", "the last line")


def test_arguments():
    """A wrong argument is named in one line, with exit status 2."""
    for arguments, word in (
            (("--format", "xml"), "--format 'xml'"),
            (("--book-every", "0"), "--book-every 0"),
            (("--raw", "--format", "csv"), "--raw"),
            (("--raw", "--depth", "3"), "--raw"),
            (("--depth", "3", "--format", "csv"), "--depth"),
            (("--split", "3"), "--split"),
            (("--rotate", "60", "--hot-standby"), "--hot-standby"),
            (("--set", "connect_ms"), "--set connect_ms"),
            (("--set", "nosuch=1"), "--set 'nosuch': not one of"),
            (("--set", "connect_ms=x"), "--set connect_ms x"),
            (("--metrics", "70000"), "--metrics 70000"),
            (("--lag", "-1"), "--lag -1"),
            (("--stats", "0"), "--stats 0")):
        says(USAGE, word, "stream", *arguments, "BTCUSD")


def test_output_that_is_standard_output(service):
    _, said = service.stream_until("heartbeat", "-o", "-", "-c",
                                   "heartbeat", "-q")
    check("heartbeat" in said and not os.path.exists("-"), said)


# ---- Figures ----

def figures(port, host=None, path="/metrics"):
    request = urllib.request.Request(f"http://127.0.0.1:{port}{path}")
    if host:
        request.add_header("Host", host)
    try:
        with urllib.request.urlopen(request, timeout=HANG_S) as reply:
            return reply.status, reply.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


def test_metrics():
    """Each line has the text format. Only this machine's names are accepted.
    Idle connections do not stop the stream."""
    port = free_port()
    with service_of() as service:
        tool = service.json("--metrics", str(port),
                            "BTCUSD", "ETHUSD")
        tool.until('"type":"update"', 60)
        status, text = figures(port)
        check(status == 200, text)
        for line in text.splitlines():
            check(re.fullmatch(
                r"# (HELP|TYPE) mini_stream_\w+ .+|"
                r'mini_stream_\w+(\{(market|layer)="\w+"\})? [0-9.e+-]+', line),
                  line)
        check('mini_stream_book_live{market="ETHUSD"} 1' in text, text)
        check("mini_stream_open_connections 1" in text, text)
        service.set(**CLOSE)
        wait_for(lambda: 'errors_total{layer="websocket"} 1' in
                 figures(port)[1], "an error")
        text = figures(port)[1]
        for name in ("unknown_total", "drifts_total", "lag_max_seconds"):
            check(f"mini_stream_{name} " in text, f"{name}: {text}")
        check(figures(port, "evil.example")[0] == 403, "another host")
        check(figures(port, f"LocalHost:{port}")[0] == 200, "in capitals")
        check(figures(port, path="/")[0] == 404, "another path")
        idle = [socket.create_connection(("127.0.0.1", port))
                for _ in range(20)]
        count = tool.text().count('"type":"update"')
        tool.until('"type":"update"', count + 40)
        for each in idle:
            each.close()
        service.tool("--metrics", str(port), "BTCUSD").wait(
            7, f"--metrics {port}: ")
        tool.end()


def test_stats(service):
    tool = service.json("--stats", "0.5", "BTCUSD")
    tool.until('"type":"update"', 40)
    said = tool.end()
    check(re.search(r" stats - \d+ messages \([0-9.]+/s\), \d+ bytes, 1 open, "
                    r"0 failed, 1 of 1 books live", said), said)


def test_times():
    """Events without received bytes have the time at which they were seen."""
    port = free_port()
    with service_of() as service:
        tool = service.json("--seconds", "1", "--ws-url",
                            f"wss://localhost:{port}", "--auth-url",
                            f"https://localhost:{port}", "BTCUSD")
        begin = time.time()
        tool.wait(5)
    for each in tool.things():
        seen = milliseconds(each["received"]) / 1000
        check(begin - 2 < seen < time.time() + 2, each)


def unread(pipe):
    """The number of bytes in a pipe."""
    return struct.unpack("i", fcntl.ioctl(pipe, termios.FIONREAD, bytes(4)))[0]


def test_blocked_pipe():
    """One signal ends it although nobody reads its pipe."""
    with service_of("--rate", "1000") as service, killed(
            service.start("stream", "-q", "--format", "json", *symbols(4),
                          stderr=None)) as process:
        wait_for(lambda: unread(process.stdout) > 0, "output")
        end = os.open(f"/proc/{process.pid}/fd/1", os.O_WRONLY | os.O_NONBLOCK)
        with contextlib.suppress(BlockingIOError):
            while os.write(end, b" "):  # no room is left for the last lines
                pass
        os.close(end)
        time.sleep(1)  # it most likely waits for room by then
        process.send_signal(signal.SIGTERM)
        process.wait(HANG_S)


def test_quiet(service):
    tool = service.tool("--quiet", "BTCUSD").until(" update ", 5)
    check(tool.end() == "", "standard error")


TESTS = [("full disk", no_output, "/dev/full", "No space left on device",
          "--format", "json"),
         ("output that cannot be", no_output, "/nowhere/at/all",
          "No such file")]
