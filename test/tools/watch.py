"""`mini-stream watch` as a person uses it: on a terminal of tmux, with keys and
resizes. The screen is compared with the expected one. The sandbox's faults
cause the states.

SPDX-License-Identifier: 0BSD
"""
import contextlib
import decimal
import json
import os
import random
import re
import signal
import time

from e2e import FOUR_MARKETS as MARKETS
from e2e import (HANG_S, TOOL, check, environment_with, figure, fixed_ports,
                 free_port, run_program, sandbox_of, symbols, wait_for)
from terminal import Line, Terminal

NUMBER = r"[0-9]+(?:\.[0-9]+)?"
LEVEL = re.compile(rf" *({NUMBER}) +({NUMBER}) +({NUMBER})(?: +(\S*))?")
COLOUR = re.compile("\033\\[(?:[0-9;]*;)?3[1-7]m")
BYTES_VT100 = 960  # a second


class Desk(contextlib.ExitStack):
    """A sandbox and terminals that watch it."""

    def __init__(self, *options):
        super().__init__()
        self.count = 0
        self.service = self.enter_context(sandbox_of(
            "--seed", "1", *fixed_ports(), *options))
        self.folder = self.service.state

    def command(self, *arguments):
        return [os.path.abspath(TOOL), "watch", *self.service.arguments,
                "--client-id", "sandbox-client", *arguments]

    def environment(self, **variables):
        return environment_with(MINI_STREAM_CLIENT_SECRET="sandbox-secret",
                                HOME=self.folder, **variables)

    def watch(self, columns, rows, *arguments, **variables):
        self.count += 1
        folder = os.path.join(self.folder, str(self.count))
        os.mkdir(folder)
        terminal = Terminal(folder, self.command(*arguments), columns, rows,
                            self.environment(**variables))
        self.callback(terminal.close)
        return terminal

    def live(self, columns, rows, *markets):
        """A terminal that shows the first of these markets as live."""
        terminal = self.watch(columns, rows, *markets)
        terminal.until_has(f"{markets[0]} live")
        return terminal

    def line(self, columns, rows, *arguments, **variables):
        return Line(self.command(*arguments), columns, rows,
                    self.environment(**variables))

    def signal(self, number):
        self.service.process.send_signal(number)
        if number == signal.SIGSTOP:
            self.callback(self.service.process.send_signal, signal.SIGCONT)

    def truth(self, market):
        """The service's levels, best first: [bids, asks]."""
        book = self.service.book(market)
        return [[(level["price"], level["amount"]) for level in book[side]]
                for side in ("bids", "asks")]


def ladder_of(lines):
    """Rows (price, amount, total, bar) of asks and bids, each with the best first,
    and the line between them."""
    middle = next(i for i, line in enumerate(lines) if "spread" in line)

    def rows(numbers):
        found = []
        for i in numbers:
            match = LEVEL.fullmatch(lines[i])
            if not match:
                break
            found.append(match.groups(""))
        return found
    return (rows(range(middle - 1, -1, -1)),
            rows(range(middle + 1, len(lines))), lines[middle])


def expected(levels, count):
    """The expected rows (price, amount, total) of the best levels."""
    total = decimal.Decimal(0)
    rows = []
    for price, amount in levels[:count]:
        total += decimal.Decimal(amount)
        rows.append((price, amount, f"{total:f}"))
    return rows


def test_ladder_is_the_book():
    """Prices, amounts and sums with the decimals of the market."""
    with Desk("--rate", "1") as desk:
        terminal = desk.watch(100, 40, "SOLUSD")
        terminal.until_has("SOLUSD live", "spread")

        def equal(_):
            bids, asks = desk.truth("SOLUSD")
            lines = [line[:59] for line in terminal.screen()]
            shown_asks, shown_bids, middle = ladder_of(lines)
            if not shown_asks or (
                    expected(asks, len(shown_asks))
                    != [row[:3] for row in shown_asks]
                    or expected(bids, len(shown_bids))
                    != [row[:3] for row in shown_bids]):
                return None
            spread = decimal.Decimal(asks[0][0]) - decimal.Decimal(bids[0][0])
            check(f"spread {spread:f} " in middle, middle)
            return shown_asks + shown_bids
        rows = terminal.until("the service's book", equal)
        check(len(rows) >= 30, rows)
        check(any("price" in line and "amount" in line and "total" in line
                  for line in terminal.screen()), "no headings")
        # Bars are to scale, and the longest one fills the panel.
        most = max(decimal.Decimal(row[1]) for row in rows)
        width = max(len(row[3]) for row in rows)
        for _, amount, _, bar in rows:
            check(abs(len(bar) - decimal.Decimal(amount) / most * width) <= 1,
                  rows)
        check(any(line[:59].endswith("\u2588") and len(line) >= 59
                  for line in terminal.screen()), rows)


def test_tape():
    """Trades, newest first, each with the direction of its price."""
    with Desk("--rate", "50") as desk:
        terminal = desk.watch(100, 40, "BTCUSD")
        row = re.compile(r" (\d\d:\d\d:\d\d\.\d{3}) +([0-9.]+) "
                         r"([\u25b2\u25bc ]) +([0-9.]+) *$")

        def trades(_):
            found = [match.groups() for line in terminal.screen()
                     if (match := row.search(line))]
            return found if len(found) >= 20 else None
        rows = terminal.until("full of trades", trades)
        times = [row[0] for row in rows]
        check(times == sorted(times, reverse=True), times)
        for new, old in zip(rows, rows[1:]):
            way = (float(new[1]) > float(old[1])) - (
                float(new[1]) < float(old[1]))
            check(new[2] == " \u25b2\u25bc"[way], (new, old))
            check(len(new[3].split(".")[1]) == 8, new)


def panel_rows(lines):
    """The lines without the rows that change all the time."""
    return [line.rstrip() for line in lines[2:-2]]


def masked(lines):
    """The lines with all numbers, and the space next to them, replaced."""
    return [re.sub(r"[ \u2500]+", " ", re.sub(r"[0-9]+", "0", line))
            for line in lines]


def seconds(what, text):
    """The number of seconds that the screen shows behind this, or -1."""
    found = re.search(re.escape(what) + r" (\d+) s", text)
    return int(found[1]) if found else -1


def read_until(line, *parts):
    """Reads a line until all parts have come. Returns all bytes so far."""
    wait_for(lambda: all(part in line.read(0.1) for part in parts), parts)
    return line.read(0)


def test_sizes():
    """Each size shows what fits, and leaves nothing of the size before."""
    sizes = [(60, 15), (80, 24), (200, 60), (20, 5), (1, 1), (120, 40),
             (37, 3), (60, 60), (200, 15), (80, 24)]
    with Desk() as desk:
        terminal = desk.watch(80, 24, "--set", "heartbeat_ms=600000", "--set",
                              "silence_ms=600000", *MARKETS)
        terminal.until_has("BTCUSD live")
        time.sleep(2)
        desk.signal(signal.SIGSTOP)  # the screen stays as it is
        terminal.until_has("FROZEN")
        for columns, rows in sizes:
            terminal.resize(columns, rows)
            time.sleep(0.6)
            if columns < 60 or rows < 15:
                continue
            before = terminal.until("the whole screen", lambda text: re.search(
                r"(?s)^ open, SILENT.*\n q quit  \? keys[^\n]*$", text) and
                text.split("\n"))
            check(len(before) == rows, before)
            check("nothing is received" in before[-2], before[-2])
            check("FROZEN" in before[2], before[2])
            text = "\n".join(before)
            for part in [f"\u2500 {market} " for market in MARKETS] + [
                    "? keys", "nothing is received", "connection 1"]:
                check(text.count(part) <= 1, f"{part} twice:\n{text}")
            check(text.count("executions") == text.count("FROZEN:"), text)
            terminal.keys("r")
            time.sleep(0.4)
            terminal.until("\n".join(["the same as", *before, "--"]),
                           lambda text: masked(text.split("\n")) ==
                           masked(before))
        # One after another without waiting, like a window that is dragged.
        for i in range(60):
            columns, rows = sizes[i % len(sizes)]
            terminal.resize(columns + i % 7, rows + i % 5)
        terminal.resize(100, 30)
        desk.signal(signal.SIGCONT)
        terminal.until_has("BTCUSD live", "no errors")
        check(len(terminal.screen()) == 30, terminal.text())
        terminal.quit()


def test_little_room():
    """The best bid and ask disappear last, and never lose a digit. The screen
    shows that there are more markets."""
    with Desk("--rate", "1") as desk:
        terminal = desk.live(80, 24, *MARKETS)
        terminal.until_has("enter one", "markets 1-2 of 4")

        def best(_):
            bids, asks = desk.truth("BTCUSD")
            return any(line.startswith(f" {bids[0][0]} / {asks[0][0]}")
                       for line in terminal.screen())
        for columns, rows, parts in (
                (20, 5, ("open", "messages/s", "BTCUSD live", "1 of 4")),
                (20, 4, ("open", "BTCUSD live", "1 of 4")),
                (20, 2, ("BTCUSD live",)), (20, 1, ()),
                (60, 7, ("no errors", "p pause", "spread", "1 of 4"))):
            terminal.resize(columns, rows)
            terminal.until_has(*parts)
            terminal.until(f"the best prices in {columns} x {rows}", best)
        terminal.resize(14, 5)
        terminal.until_has("\n95", "~ ")
        terminal.resize(80, 24)
        terminal.until_has("markets 1-2 of 4")


def test_any_keys():
    """Random keys and sizes."""
    chance = random.Random(18)
    keys = ["Left", "Right", "Up", "Down", "Tab", "BTab", "NPage", "PPage",
            "Home", "End", "Enter", "Escape", "?", "p", "r", "+", "-", "0", "1",
            "4", "9", "x", "F1", "C-l", "Space"]
    with Desk("--rate", "100") as desk:
        terminal = desk.live(80, 24, *MARKETS)
        for _ in range(80):
            terminal.keys(*chance.choices(keys, k=5))
            if chance.random() < 0.3:
                terminal.resize(chance.randint(1, 220), chance.randint(1, 70))
                time.sleep(0.1)  # long enough to be seen
        terminal.resize(80, 24)
        terminal.until_has("connection 1")
        terminal.quit()


def test_terminal_is_given_back(desk):
    """However it ends; the summary is on the normal screen."""
    for name, end in {
            "q": lambda terminal: terminal.keys("q"),
            "Ctrl-C": lambda terminal: terminal.keys("C-c"),
            "SIGTERM": lambda terminal: os.kill(terminal.pid(), signal.SIGTERM),
            "SIGHUP": lambda terminal: os.kill(terminal.pid(),
                                               signal.SIGHUP)}.items():
        terminal = desk.live(80, 24, "BTCUSD", "ETHUSD")
        check(terminal.show("alternate_on") == "1", "no other screen")
        check(terminal.show("cursor_flag") == "0", "a cursor")
        end(terminal)
        check(terminal.ended() == 0, f"{name}: {terminal.text()}")
        check(terminal.show("cursor_flag") == "1", f"{name}: no cursor")
        check(re.search(r"^market_data +[1-9]", terminal.text(), re.M),
              f"{name}: {terminal.text()}")


def test_window_that_is_closed(desk):
    """It ends when its terminal is closed."""
    terminal = desk.live(80, 24, "BTCUSD")
    pid = terminal.pid()
    terminal.close()
    wait_for(lambda: not os.path.exists(f"/proc/{pid}"), "its end")


def test_stop_and_go_on(desk):
    """Ctrl-Z gives the terminal back, fg takes it again."""
    os.mkdir(os.path.join(desk.folder, "shell"))
    terminal = Terminal(os.path.join(desk.folder, "shell"),
                        ["sh", "-i"], 80, 24, desk.environment())
    desk.callback(terminal.close)
    command = " ".join(desk.command("BTCUSD"))
    terminal.until("a prompt", str.strip)
    terminal.keys(command, "Enter")
    terminal.until_has("BTCUSD live", "? keys")
    terminal.press("C-z", "Stopped")
    check(terminal.show("alternate_on") == "0", terminal.text())
    terminal.keys("stty -a", "Enter")
    terminal.until_has(" icanon", " echo ")
    terminal.keys("clear; fg", "Enter")
    terminal.until_has("BTCUSD live", "? keys")
    check(terminal.show("alternate_on") == "1", terminal.text())
    check("Stopped" not in terminal.text(), terminal.text())
    terminal.press("q", "heartbeat", "errors: 0")


def test_keys_are_shown(desk):
    for columns, rows in ((80, 24), (60, 15)):
        terminal = desk.live(columns, rows, "BTCUSD", "ETHUSD")
        terminal.press("?", " keys \u2500", "q, Ctrl-C", "hold the picture",
                       "other markets", "coarser and finer")
        terminal.keys("x")
        terminal.until("left", lambda text: "q, Ctrl-C" not in text)
        check("no errors" in terminal.text(), terminal.text())


def test_pause():
    """The screen is held, the stream continues, and a message says so."""
    with Desk("--rate", "50") as desk:
        terminal = desk.live(80, 24, "BTCUSD", "ETHUSD")
        time.sleep(1)
        terminal.press("p", "PAUSED for ", "PAUSED: the stream continues")
        held = panel_rows(terminal.screen())
        terminal.until("paused", lambda text: seconds("PAUSED for", text) >= 2)
        check(panel_rows(terminal.screen()) == held, terminal.text())
        terminal.until("the rate", lambda text: re.search(
            r"[1-9][0-9]+ messages/s", text))
        terminal.keys("p")
        terminal.until("going on", lambda text: "PAUSED" not in text and
                       panel_rows(text.split("\n")) != held)


def test_recording(desk):
    """A replay, with a pause and other speeds. Its last screen stays."""
    path = os.path.join(desk.folder, "recording")
    done = desk.service.run("record", "--seconds", "20", "--count", "60", "-o",
                            path, "BTCUSD", "ETHUSD")
    check(done.returncode == 0, done)
    terminal = desk.watch(80, 24, "--replay", path, "--speed", "0.1")
    terminal.until_has("BTCUSD live", "ETHUSD live", "recording  20", "x0.1 ")
    terminal.press("p", "PAUSED: p continues")
    held = terminal.text()
    for key, speed in (("<", "0.1"), (">", "0.2"), (">", "0.4")):
        terminal.keys(key)
        terminal.until_has(f"x{speed} ")
    check(terminal.text().replace("x0.4", "x0.1") == held, held)
    text = terminal.press("p" + 6 * " >", " end ", "x25.6 ", "BTCUSD live")
    check("STALE" not in text and text != held, text)
    terminal.quit()


def test_frozen():
    """An open stream without data does not look live."""
    with Desk("--rate", "50") as desk:
        terminal = desk.watch(80, 24, "BTCUSD", "ETHUSD")
        terminal.until("up", lambda text: re.search(
            r"up 00:0[0-9]:(0[3-9]|[1-5])", text))
        check("\u2588" in terminal.text(), "no bars")
        desk.signal(signal.SIGSTOP)
        parts = ("BTCUSD  FROZEN", "ETHUSD  FROZEN", "open, SILENT for",
                 "FROZEN: nothing received for")
        text = terminal.until_has(*parts, "live 0/2")
        check(min(seconds(part, text) for part in parts) >= 3, text)
        text = terminal.until(
            "frozen", lambda text: text if "live 0/2" in text and
            seconds(parts[0], text) >= 5 else "")
        check("\u2588" not in text and "no errors" not in text, text)
        colours = terminal.screen("-e")
        level = next(line for line in colours if "0." in line and
                     "95" in line and "top" not in line)
        check("\033[2m" in level and not COLOUR.search(level), repr(level))
        desk.signal(signal.SIGCONT)
        text = terminal.until_has("BTCUSD live", "\u2588")
        check("FROZEN" not in text and "SILENT" not in text, text)


def test_countdown(desk):
    """After a loss: stale books, why, since when, and the next attempt."""
    terminal = desk.live(100, 30, "BTCUSD", "ETHUSD")
    desk.service.process.kill()
    terminal.until_has("BTCUSD  STALE", "ETHUSD  STALE",
                       "connection lost", "live 0/2", "s ago")
    check("no errors" not in terminal.text(), terminal.text())
    seen = [terminal.until("counting from 3 or more", lambda text: (
        left := seconds(" next attempt in", text)) >= 3 and left)]

    def counted(text):
        left = seconds(" next attempt in", text)
        if 0 <= left < seen[-1]:
            seen.append(left)
            # Both show whole seconds, one rounded down, the other up.
            check(seconds("STALE for", text) >= seen[0] - left - 1, text)
            check("connection refused" in text, text)
        return len(seen) > 1 and left != seen[-1] or left == 1

    terminal.until("counting down to the next attempt", counted)
    terminal.keys("q")
    terminal.ended()


def test_loss_without_books(desk):
    """Old best prices and trades do not look current."""
    terminal = desk.watch(80, 24, "BTCUSD", "ETHUSD", "--top")
    terminal.until_has("BTCUSD live", "ETHUSD live", "top 9")
    desk.service.process.kill()
    terminal.until("stale", lambda text: "top 9" in text and all(
        seconds(f"{market}  STALE", text) >= 1
        for market in ("BTCUSD", "ETHUSD")))


def test_refused(desk):
    """A refused subscription is named, and nothing reports success."""
    terminal = desk.watch(100, 30, "BTCUSD", "NOSUCH")
    text = terminal.until_has("BTCUSD live", "NOSUCH  REFUSED",
                              " 3 subscriptions refused ", "NOSUCH: ",
                              "live 1/2", "market_data.top_of_book:")
    check("no errors" not in text, text)
    terminal.quit(6)
    # If there is no other, it ends at once, with a message that stays.
    terminal = desk.watch(100, 30, "NOSUCH")
    check(terminal.ended() == 6, terminal.text())
    check("refused market_data of NOSUCH: UNKNOWN" in terminal.text(), terminal.text())


def test_top_of_book_alone(desk):
    """Amounts next to the prices are shown whole, or not at all."""
    terminal = desk.watch(80, 24, "--top", "BTCUSD", "ETHUSD")
    terminal.until_has(" top 9", " top 3")
    top = terminal.screen()[3]
    check(re.fullmatch(r"( top [\d.]+ / [\d.]+(  [\d.]+ x [\d.]{9,})? *)+",
                       top), top)


def test_scrolling_stops_at_the_ends():
    with Desk("--markets", "30") as desk:
        terminal = desk.watch(60, 15, *symbols(30))
        terminal.until_has("market 1 of 30", "BTCUSD live")
        terminal.press("Left Right Right", "market 3 of 30", "SOLUSD live")
        terminal.press("BTab", "market 2 of 30", "ETHUSD live")
        terminal.press(35 * "Right ", "market 30 of 30", "M30 live")
        terminal.keys("Right")
        time.sleep(0.5)
        terminal.until_has("market 30 of 30", "M30 live")
        terminal.press("Home", "market 1 of 30")
        terminal.resize(120, 40)
        terminal.until_has("markets 1-6 of 30", "M6 live")
        terminal.press("NPage", "markets 7-12 of 30")
        terminal.press("Down", "markets 10-15 of 30")
        terminal.press(9 * "NPage Tab ", "markets 25-30 of 30", "M30 live")
        terminal.press("Enter", "market 25 of 30")
        terminal.press("Enter", "markets 25-30 of 30")
        text = terminal.press("2", "market 2 of 30", "ETHUSD live")
        check("BTCUSD" not in text, text)


def test_steps_of_price():
    """Levels are combined: bids rounded down, asks up, nothing lost."""
    with Desk("--rate", "1") as desk:
        terminal = desk.watch(87, 60, "BTCUSD")
        terminal.until_has("BTCUSD live", "spread")
        terminal.keys("+", "+", "+")  # 10.00

        def equal(_):
            sides = desk.truth("BTCUSD")
            sums = [{}, {}]
            for side, levels in enumerate(sides):
                for price, amount in levels[:90]:
                    step = int(decimal.Decimal(price) // 10 * 10)
                    if side == 1 and step != decimal.Decimal(price):
                        step += 10
                    sums[side][str(step)] = decimal.Decimal(amount) + (
                        sums[side].get(str(step), 0))
            asks, bids, _ = ladder_of(terminal.screen())
            shown = [[(row[0], decimal.Decimal(row[1])) for row in rows[:4]]
                     for rows in (bids, asks)]
            return shown == [list(side.items())[:4] for side in sums]
        terminal.until("the book in steps of 10", equal)
        terminal.keys("-", "-", "-")
        terminal.until("exact again", lambda text: re.search(
            r"^ 9\d{4}\.\d\d 0\.\d{8} ", text, re.M))


def test_colours(desk):
    """NO_COLOR switches them off, unless it is empty."""
    for variables, has in (({}, True), ({"NO_COLOR": ""}, True),
                           ({"NO_COLOR": "1"}, False)):
        terminal = desk.watch(80, 24, "BTCUSD", **variables)
        terminal.until_has("BTCUSD live", "spread")
        text = "\n".join(terminal.screen("-e"))
        check(bool(COLOUR.search(text)) == has, (variables, text))


def test_slow_terminal():
    """A vt100 gets at most 960 bytes a second, another terminal the given rate.
    The screen is still whole."""
    with Desk("--rate", "100") as desk:
        for term, options, most in (
                ("vt100", [], BYTES_VT100),
                ("xterm-256color", ["--terminal-rate", "2000"], 2000)):
            line = desk.line(80, 24, "BTCUSD", "ETHUSD", *options, TERM=term)
            line.read(8)
            text = read_until(line, b"BTCUSD", b"ETHUSD", b"executions",
                              b"? keys")
            rate = line.most_in_a_second()
            check(line.close() == 0, line.process.returncode)
            check(most / 2 < rate <= most, f"{term}: {rate} bytes in a second")
            if term == "vt100":
                check(max(text) < 128, "beyond ASCII")
                check(not COLOUR.search(text.decode()), "colours")


def test_terminal_that_takes_nothing():
    """If nobody reads the output, as after Ctrl-S, the stream continues."""
    port = free_port()
    with Desk("--rate", "200") as desk:
        line = desk.line(200, 60, "BTCUSD", "--metrics", str(port),
                         TERM="xterm-256color")
        time.sleep(6)  # the pseudo-terminal is full by then
        before = figure(port, "messages_total")
        wait_for(lambda: figure(port, "messages_total") > before + 200,
                 "more messages")
        line.read(2)
        text = read_until(line, b"BTCUSD")
        check(len(text) > 4000, len(text))
        check(line.close() == 0, line.process.returncode)


def test_refused_terminals(desk):
    """One line names the error; the exit status is that of arguments."""
    for variables, said in (
            ({"TERM": "dumb"}, b"TERM=dumb: such a terminal cannot"),
            ({}, b"TERM=: no terminal of this kind is known"),
            ({"TERM": "no-such"}, b"TERM=no-such: no terminal of this")):
        environment = desk.environment(**variables)
        if "TERM" not in variables:
            environment.pop("TERM", None)
        line = Line(desk.command("BTCUSD"), 80, 24, environment)
        text = line.read()
        line.process.wait(HANG_S)
        check(line.process.returncode == 2, line.process.returncode)
        check(text.startswith(b"mini-stream: " + said), text)
        check(text.count(b"\n") == 1 and b"\033" not in text, text)
    result = run_program(*desk.command("BTCUSD"),
                         env=desk.environment(TERM="xterm"))
    check(result.returncode == 2 and result.stdout == "", result)
    check(result.stderr == "mini-stream: standard output is no terminal: "
          "`mini-stream stream' writes lines\n", result)
    terminal = desk.watch(80, 24, "BTCUSD", "--verbose")
    check(terminal.ended() == 2, terminal.text())
    check("--verbose writes to standard error" in terminal.text(),
          terminal.text())


def test_text_of_the_network(desk):
    """A service's text is shown without its control characters."""
    line = desk.line(100, 30, "BTCUSD", TERM="xterm-256color")
    read_until(line, b"live")
    desk.service.set(close={"code": 3000, "reason": "\033]0;evil\007\u202eX"})
    text = read_until(line, b"closed by the service", b"]0;evil")
    check(line.close() == 0, line.process.returncode)
    check(b"\033]0;" not in text and "\u202e".encode() not in text, "evil")


def test_name_in_another_case(desk):
    """Data with the name in another case belongs to the market."""
    terminal = desk.watch(80, 24, "BTCUSD")
    terminal.until_has(" BTCUSD live")
    desk.service.set(garbage={"text": json.dumps({
        "channel": "execution_data", "payload": {
            "market": "btcusd", "price": "12345.67", "amount": "1.5",
            "executed_at": "2026-01-02T03:04:05.006Z"}})})
    terminal.until_has(" BTCUSD (btcusd) live", "12345.67")


def test_pair(desk):
    """Both connections are shown, and a trade of both only once."""
    terminal = desk.watch(100, 40, "BTCUSD", "--hot-standby")
    terminal.until_has("A: open ", "B: open")
    leader = re.search("leads ([AB]): open", terminal.text())[1]
    other = "AB".replace(leader, "")
    trades = terminal.until("three trades", lambda text: (
        rows := re.findall(r" \d\d:\d\d:\d\d\.\d{3} .*", text))[2:] and rows)
    exact = [re.sub(r"[\u25b2\u25bc ]+", " ", row) for row in trades]
    check(len(set(exact)) == len(exact), trades)
    # The leader's connection is lost: the other one takes over at once.
    def other_leads():
        desk.service.set(reset={"at": "stream", "count": 1})
        time.sleep(0.5)
        return f"leads {other}: open" in terminal.text()
    wait_for(other_leads, "the other connection leads")
    terminal.until_has("A: open ", "B: open", "BTCUSD live")
