"""The sandbox's page in headless Chromium: it shows the sandbox's data, its
chart in pixels, its buttons by keyboard, secrets and foreign texts, and an hour
of it.

With SCREENSHOTS=FOLDER, the test "screenshots" takes pictures.
SPDX-License-Identifier: 0BSD
"""
import contextlib
import decimal
import os
import re
import tempfile
import time

from browser import Browser
from e2e import FOUR_MARKETS, check, free_port, sandbox_of, wait_for
from secrets_planted import Planter

os.environ["G_DEBUG"] = "fatal-criticals"  # of the sandbox's GLib

AT_ONCE = 1
NICKNAME = "<img src=x onerror=\"document.title='hacked'\">"
HOUR_UPDATES = 4 * 3600
SEEN_UPDATES = 100
WIDE = ".asked, select, #fault-list, .group"  # these may be wide
BROWSER = None  # shared by all tests


class Desk(contextlib.ExitStack):
    """A sandbox whose page is open."""

    def __init__(self, *options, before=""):
        super().__init__()
        self.port = free_port()
        self.state = self.enter_context(
            tempfile.TemporaryDirectory(ignore_cleanup_errors=True))
        try:
            self.service = self.start(*options)
            self.url = self.service.urls["page_url"]
            BROWSER.open(self.url, before)
            BROWSER.wait_text("#condition", "Running")
        except BaseException:
            self.close()
            raise

    def start(self, *options):
        return self.enter_context(
            sandbox_of("--seed", "1", f"--page-port={self.port}", *options,
                       state=self.state))

    def stream(self, *markets):
        """A client of the stream, whose output is text."""
        client = self.service.stream("--format=text", *markets)
        self.callback(client.stdout.close)
        self.callback(client.wait)
        self.callback(client.kill)
        return client

    def shown(self, market, script):
        """(truth, result of the script) when the page shows that truth."""
        def equal():
            truth = self.service.book(market)
            shown = BROWSER.wait("""
                const {market, time} = document.querySelector("#depth").dataset;
                return {market, time, value: (() => {%s})()};""" % script)
            return (shown["market"], shown["time"]) == (
                market, truth["time"]) and (truth, shown["value"])
        return wait_for(equal, "the truth in the page")


def values(selector, name):
    """A property of each matching element."""
    return BROWSER.run("""
        return [...document.querySelectorAll(arguments[0])].map(
            (each) => each[arguments[1]]);""", selector, name)


def grouped(text):
    whole, _, fraction = text.partition(".")
    return f"{int(whole):,}.{fraction}"


# ---------------------------------------------------------------------------
# What is shown
# ---------------------------------------------------------------------------

ROWS = """
    return Object.fromEntries(["bids", "asks"].map((id) => [id,
        [...document.querySelectorAll(`#${id} tbody tr`)].map((row) =>
            [...row.cells].map((cell) => cell.textContent))]));
"""


def check_rows(truth, rows):
    for side, backwards in (("bids", True), ("asks", False)):
        total = decimal.Decimal(0)
        check(len(rows[side]) == 10, rows[side])
        for level, row in zip(truth[side], rows[side]):
            total += decimal.Decimal(level["amount"])
            price, amount, shown = row[::-1] if backwards else row
            check(price == grouped(level["price"]), (price, level))
            check(amount == grouped(level["amount"]), (amount, level))
            check(abs(decimal.Decimal(shown.replace(",", "")) - total)
                  <= decimal.Decimal("0.00011"), (shown, total))


def test_levels():
    with Desk("--rate", "2") as desk:
        check_rows(*desk.shown("BTCUSD", ROWS))
        names = values("#tops b", "textContent")
        check(names == list(FOUR_MARKETS), names)
        first = desk.service.book("BTCUSD")["time"]
        while desk.service.book("BTCUSD")["time"] == first:
            time.sleep(0.1)
        check_rows(*desk.shown("BTCUSD", ROWS))
        BROWSER.run("document.querySelectorAll('#tops button')[2].click();")
        check_rows(*desk.shown("SOLUSD", ROWS))
        pressed = values("#tops button", "ariaPressed")
        check(pressed == ["false", "false", "true", "false"], pressed)
        check(BROWSER.style("#bids td", "fontVariantNumeric") ==
              "tabular-nums", "digits")


def test_many_markets():
    with Desk("--rate", "1", "--markets", "300"):
        check(BROWSER.count("#market-select option") == 300, "markets")
        BROWSER.run("""document.querySelector("#market-select").focus();""")
        for key in "m250":
            BROWSER.key(key, ord(key.upper()), key)
        BROWSER.wait_text("#market-title", "M250")


# For each column of pixels: the height of the topmost pixel in the colour of a
# bid's line or of an ask's; 0 without one.
COLUMNS = """
    const canvas = document.querySelector("#depth");
    const {width, height} = canvas;
    const {data} = canvas.getContext("2d").getImageData(0, 0, width, height);
    const scale = width / canvas.clientWidth;
    const bottom = Math.round((canvas.clientHeight - 26) * scale);
    const top = Math.round(44 * scale);
    const hue = getComputedStyle(canvas);
    const rgb = (name) => {
        const hex = hue.getPropertyValue(name).trim();
        return [1, 3, 5].map((i) => parseInt(hex.slice(i, i + 2), 16));
    };
    const heights = (name) => {
        const wanted = rgb(name);
        return Array.from({length: width}, (_, x) => {
            for (let y = top; y < bottom; y++) {
                const i = 4 * (y * width + x);
                if (data[i + 3] > 200 && wanted.every(
                    (value, n) => Math.abs(value - data[i + n]) < 24)) {
                    return (bottom - y) / scale;
                }
            }
            return 0;
        });
    };
    return {bids: heights("--bid"), asks: heights("--ask"), scale,
        left: Math.round(46 * scale), height: (bottom - top) / scale,
        width, range: canvas.dataset.scale.split(" ").map(Number)};
"""


def total_at(levels, price, side):
    """The total amount up to this price."""
    return sum(float(level["amount"]) for level in levels
               if (float(level["price"]) >= price if side == "bids"
                   else float(level["price"]) <= price))


def check_stairs(truth, drawn):
    low, high, most = drawn["range"]
    left, width = drawn["left"], drawn["width"]
    middle = (left + width) / 2
    compared = 0
    for side in ("bids", "asks"):
        heights = drawn[side]
        near = round(4 * drawn["scale"])
        wrong = (range(round(middle) + near, width) if side == "bids"
                 else range(left, round(middle) - near))
        check(not any(heights[x] for x in wrong), f"{side} on the wrong side")
        check(not any(heights[:left - near]), "left of the axis")
        for x in range(left + near, width - near, 7):
            price = low + (high - low) * (x - left) / (width - left)
            per_pixel = (high - low) / (width - left)
            if (x > middle - near if side == "bids" else x < middle + near):
                continue
            bounds = [total_at(truth[side], price + move * per_pixel, side)
                      / most * drawn["height"] for move in (-2.5, 2.5)]
            check(min(bounds) - 2.5 <= heights[x] <= max(bounds) + 2.5,
                  (side, x, heights[x], bounds))
            compared += 1
    check(compared > 100, compared)
    check(max(max(drawn["bids"]), max(drawn["asks"]))
          > 0.5 * drawn["height"], "the stairs are low")


def test_chart():
    with Desk("--rate", "1") as desk:
        for width, ratio, dark in ((1280, 1, False), (500, 2, False),
                                   (900, 1.5, True)):
            BROWSER.size(width, 900, ratio, dark)
            truth, drawn = desk.shown("BTCUSD", COLUMNS)
            check(abs(drawn["scale"] - ratio) < 0.02, drawn["scale"])
            check_stairs(truth, drawn)
        BROWSER.size(1280, 900)
        truth, btc = desk.shown("BTCUSD", COLUMNS)
        BROWSER.run("document.querySelectorAll('#tops button')[1].click();")
        truth, eth = desk.shown("ETHUSD", COLUMNS)
        check_stairs(truth, eth)
        check(btc["bids"] != eth["bids"] and btc["range"] != eth["range"],
              "another market looks the same")
        label, = values("#depth", "ariaLabel")
        check(label.startswith("Depth of ETHUSD: best bid 3,"), label)


def test_chart_moves():
    with Desk("--rate", "20"):
        pixels = """return document.querySelector("#depth").toDataURL();"""
        first = BROWSER.run(pixels)
        BROWSER.wait("""
            return document.querySelector("#depth").toDataURL() !==
                arguments[0];""", first)


def test_connections(desk):
    BROWSER.wait_text("#connections-count", "no clients")
    client = desk.stream("BTCUSD", "ETHUSD")
    BROWSER.wait_text("#connections-count", "1 open")
    BROWSER.wait_text(".chips", "execution_data ETHUSD")
    check(values("#connection-list h3", "textContent") ==
          ["Stream 1: sandbox-client from 127.0.0.1"], "title")
    BROWSER.wait("""
            const facts = document.querySelectorAll(".facts dd");
            return Number(facts[1].textContent) > 20 &&
                facts[2].textContent.endsWith(" kB");""")
    for wanted in ("POST /oauth2/token200 OK", "GET /101 Switching",
                   "stream 1subscribeanswered"):
        BROWSER.wait_text("#request-list", wanted)
    client.terminate()
    BROWSER.wait_text("#connections-count", "no clients")
    check(BROWSER.count("#connection-list li") == 0, "it is still there")
    BROWSER.wait_text("#request-list", "stream 1connectionclosed")


def test_hold(desk):
    planter = Planter(desk.service)
    planter.ask_token()
    BROWSER.wait_text("#requests-count", "1")
    BROWSER.run("""document.querySelector("#hold").click();""")
    planter.ask_token()
    time.sleep(0.7)
    check(BROWSER.count("#request-list li") == 1, "held")
    check(BROWSER.count("#hold[aria-pressed=true]") == 1, "pressed")
    BROWSER.run("""document.querySelector("#hold").click();""")
    wait_for(lambda: BROWSER.count("#request-list li") == 2, "the second")


def test_recording():
    with Desk("--rate", "20") as desk:
        recording = os.path.join(desk.state, "recording")
        run = desk.service.run("record", "--count", "20", "-o", recording,
                               "BTCUSD", "ETHUSD")
        check(run.returncode == 0, run)
        with Desk("--play", recording) as again:
            BROWSER.wait_text("#levels-count", "no book yet")
            check(values("#tops", "innerText")[0].split()
                  == ["BTCUSD", "no", "bid", "ETHUSD", "no", "bid"], "tops")
            check(BROWSER.run("return seen;") == [], "something went wrong")
            again.stream("BTCUSD", "ETHUSD")
            BROWSER.wait_text("#levels-count", " bids, ")
            time.sleep(1.5)  # until the recording has ended
            check_rows(*again.shown("BTCUSD", ROWS))
            check_stairs(*again.shown("BTCUSD", COLUMNS))


# ---------------------------------------------------------------------------
# Foreign texts
# ---------------------------------------------------------------------------

EVERYTHING = """
    document.querySelectorAll("details").forEach((each) => each.open = true);
    return document.documentElement.outerHTML + document.body.innerText +
        [...document.querySelectorAll("input, select")].map(
            (each) => each.value).join(" ") + JSON.stringify(localStorage) +
        JSON.stringify(sessionStorage) + document.cookie;
"""


def test_secrets(desk):
    planter = Planter(desk.service)
    planter.plant_all()
    BROWSER.wait_text("#request-list", "stream 1connection")
    BROWSER.wait_text("#request-list", "client_secret=***")
    BROWSER.wait_text("#address-list", "my ******")
    found = planter.found_in(BROWSER.run(EVERYTHING))
    check(found == [], found)


def test_nickname(desk):
    planter = Planter(desk.service)
    token = planter.ask_token()
    for nickname in (NICKNAME, "</li><script>document.title='hacked'"
                     "</script>"):
        planter.put_address(token, nickname=nickname)
        wait_for(lambda n=nickname: values("#address-list h3", "textContent")
                 [:1] == [n], nickname)
    BROWSER.wait_text("#request-list pre", "hacked")
    check(BROWSER.count("img, main script") == 0, "it is an element")
    check(BROWSER.run("return document.title;") == "Sandbox", "it has run")
    check(BROWSER.run("return seen;") == [], BROWSER.run("return seen;"))


def test_policy(desk):
    desk.stream("BTCUSD")
    BROWSER.wait_text("#connections-count", "1 open")
    time.sleep(1)
    check(BROWSER.run("return seen;") == [], BROWSER.run("return seen;"))
    asked = BROWSER.requests()
    check(len(asked) > 8, asked)
    check(all(url.startswith(desk.url) for url in asked), asked)
    entries = BROWSER.run("""
            return performance.getEntriesByType("resource").map(
                (entry) => entry.name);""")
    check(entries and all(url.startswith(desk.url) for url in entries), entries)
    # The policy is in force: no inline script or style works.
    BROWSER.run("""
            const script = document.createElement("script");
            script.textContent = "document.title = 'hacked'";
            document.body.append(script);
            document.body.setAttribute("style", "display: none");
            const image = new Image();
            image.src = "http://localhost:1/x.png";""")
    BROWSER.wait("return seen.length >= 3;")
    check(BROWSER.run("return document.title;") == "Sandbox", "script")
    check(BROWSER.style("body", "display") == "block", "style")


# ---------------------------------------------------------------------------
# Keyboard and faults
# ---------------------------------------------------------------------------

FOCUSED = """
    const element = document.activeElement;
    if (!window.ids) {
        window.ids = new Map();
    }
    if (!ids.has(element)) {
        ids.set(element, ids.size);
    }
    const style = getComputedStyle(element);
    return [ids.get(element), element.tagName, style.outlineStyle,
        parseFloat(style.outlineWidth),
        (element.getAttribute("aria-label") || element.innerText || "")];
"""
REACHABLE = """
    return [...document.querySelectorAll("a, button, select, summary, input")]
        .filter((each) => each.checkVisibility() && !each.disabled).length;
"""


def test_keyboard():
    with Desk("--rate", "1") as desk:
        Planter(desk.service).ask_token()
        BROWSER.wait_text("#request-list", "token")
        wanted = BROWSER.run(REACHABLE)
        check(wanted > 40, wanted)
        seen = {}
        for _ in range(wanted):
            BROWSER.key("Tab", 9)
            number, tag, outline, width, name = BROWSER.run(FOCUSED)
            check(tag in ("A", "BUTTON", "SELECT", "SUMMARY"), tag)
            check(outline == "solid" and width >= 2, (name, outline, width))
            check(name.strip(), f"{tag} has no name")
            seen[number] = name
        check(len(seen) == wanted, (len(seen), wanted))
        check({"End latency", "Begin latency"} & set(seen.values()), seen)

        BROWSER.run("document.querySelectorAll('#tops button')[3].focus();")
        BROWSER.key("Enter", 13, "\r")
        BROWSER.wait_text("#market-title", "LTCUSD")
        BROWSER.run("document.querySelector('#request-list summary').focus();")
        BROWSER.key(" ", 32, " ")
        BROWSER.wait("return document.querySelector('#request-list [open]');")
        BROWSER.run("""
            document.querySelector("[data-key=no_heartbeat] button").focus();
            """)
        BROWSER.key("Enter", 13, "\r")
        BROWSER.wait("""
            return /active, (30|2\\d) s left/.test(
                document.querySelector("[data-key=no_heartbeat]").textContent);
            """)
        check("no_heartbeat" in desk.service.active(), desk.service.active())


def press(name, shown="", selector="#fault-result"):
    """Begins or ends a fault. Waits until this text is shown."""
    BROWSER.run("""
        document.querySelector(`[data-key=${arguments[0]}] button`).click();
        """, name)
    BROWSER.wait_text(selector, shown)


def fill(name, **values):
    BROWSER.run("""
        const form = document.querySelector(`[data-key=${arguments[0]}]`);
        form.querySelector("details").open = true;
        for (const [name, value] of Object.entries(arguments[1])) {
            form.elements[name].value = value;
        }""", name, values)


def fault_names():
    with open("examples/sandbox/README.md", encoding="utf-8") as file:
        table = file.read().split("| Fault | Fields |")[1].split("\n\n")[0]
    return re.findall(r"^\| `(\w+)`", table, re.MULTILINE)


def test_faults(desk):
    names = fault_names()
    check(len(names) >= 17, names)
    shown = [data["key"] for data in values(".fault", "dataset")]
    check(sorted(shown) == sorted(names), shown)
    for name in names:
        text, = values(f".fault[data-key='{name}'] .aside", "textContent")
        check(text, name)
    check("Others" not in values("body", "innerText")[0],
          "a fault without a group")
    once = {"revoke", "close", "garbage"}
    fill("restart", for_ms="60000")
    fill("freeze", for_ms="60000")
    for name in names:
        press(name, name + (
            " was triggered" if name in once else " is active"))
        check((name in desk.service.active()) == (name not in once), name)
    BROWSER.wait_text("#faults-count", f"{len(names) - len(once)} active")
    BROWSER.wait_text("[data-key=freeze] .state", " s left")
    press("freeze", "off", "[data-key=freeze] .state")
    active = desk.service.active()
    check(len(active) == len(names) - len(once) - 1, active)
    BROWSER.run("document.querySelector('#end-all').click();")
    BROWSER.wait_text("#faults-count", "none active")
    check(desk.service.active() == {}, desk.service.active())
    check(BROWSER.count("#end-all:disabled") == 1, "nothing to end")


def test_values(desk):
    fill("latency", ms="7", at="all", for_ms="")
    press("latency", "active until ended", "[data-key=latency] .state")
    active = desk.service.active()
    check(active == {"latency": {"ms": 7, "at": "all"}}, active)
    fill("expires_in", value='"soon"', count="3")
    press("expires_in", "3 times left", "[data-key=expires_in] .state")
    check(desk.service.active()["expires_in"] == {"value": "soon", "count": 3},
          desk.service.active())
    fill("close", code="1005")
    press("close", "Refused: close.code must be")
    # The browser itself refuses values out of range.
    fill("reset", count="0")
    press("reset")
    time.sleep(0.3)
    check("reset" not in desk.service.active(), desk.service.active())
    # Faults that others set are shown, too.
    desk.service.set(token={"status": 429, "count": 2})
    BROWSER.wait_text("[data-key=token] .state", "active, 2 times left")
    BROWSER.wait_text("[data-key=latency] .state", "off")
    Planter(desk.service).send(
        desk.service.urls["auth_url"] + "/oauth2/token", b"")
    BROWSER.wait_text("[data-key=token] .state", "active, 1 time left")


def test_client_feels_it(desk):
    client = desk.stream("BTCUSD")
    BROWSER.wait_text("#connections-count", "1 open")
    fill("close", code="4001", reason="by the page")
    press("close")
    for line in client.stdout:
        if "4001" in line:
            break
    else:
        check(False, "the client has ended")
    BROWSER.wait_text("#connection-list", "Stream 2")


# ---------------------------------------------------------------------------
# Life
# ---------------------------------------------------------------------------

def test_away():
    with Desk("--rate", "2") as desk:
        for _ in range(3):
            Planter(desk.service).ask_token()
        BROWSER.wait_text("#requests-count", "3")
        press("freeze", "freeze is active")
        desk.service.terminate()
        BROWSER.wait_text("#condition", "Not reachable since")
        press("slice", "does not answer")
        desk.service = desk.start("--rate", "2")
        BROWSER.wait_text("#condition", "Running")
        BROWSER.wait_text("#requests-count", "none yet")
        BROWSER.wait_text("#faults-count", "none active")
        check_rows(*desk.shown("BTCUSD", ROWS))
        Planter(desk.service).ask_token()
        BROWSER.wait_text("#requests-count", "1")


# Made-up responses without waiting: each changes all that can change.
HOUR = """
    window.updates = 0;
    const real = window.fetch;
    const wait = window.setTimeout;
    let template = null;
    const {port1, port2} = new MessageChannel(); // sooner than any timer
    let next = null;
    port1.onmessage = () => next();
    window.setTimeout = (callback, ms) => {
        if (!template) {
            return wait(callback, ms);
        }
        next = callback;
        port2.postMessage(null);
        return 0;
    };
    window.fetch = async (path, options) => {
        if (!template || !path.startsWith("/state")) {
            const reply = await real(path, options);
            if (path.startsWith("/state")) {
                const json = await reply.json();
                if (window.about) {
                    template = json;
                }
                window.about = true;
                return {ok: true, json: async () => json};
            }
            return reply;
        }
        const n = ++window.updates;
        return {ok: true, json: async () => ({...structuredClone(template),
            time: new Date(Date.parse(template.time) + n * 250).toISOString(),
            connections: {count: 3, list: [0, 1, 2].map((i) => ({
                number: Math.floor(n / 3) + i, client: "sandbox-client",
                address: "127.0.0.1", since: template.time, messages: n,
                bytes: n, waiting: 0, held: 1,
                subscriptions: [{channel: "c" + n}]}))},
            journal: [{number: n, time: template.time, place: "token",
                asked: "POST " + n, request: "x".repeat(300) + n,
                outcome: "200 OK", answer: "y".repeat(300) + n}],
            faults: n % 2 ? {latency: {ms: n, at: "stream", for_ms: n}} : {},
            addresses: [0, 1].map((i) => ({id: "id" + (n + i),
                nickname: "n" + n, address: "a" + n, crypto_network: "BITCOIN",
                status: "APPROVED", bookmarked: false, client: "c",
                created_at: template.time}))})};
    };
"""


def run_updates(until):
    """Most of them hidden, since drawing takes most of the time."""
    BROWSER.run("document.querySelector('main').style.display = 'none';")
    BROWSER.wait("return updates >= arguments[0];", until - SEEN_UPDATES)
    BROWSER.run("document.querySelector('main').style.display = '';")
    BROWSER.wait("return updates >= arguments[0];", until)


def test_an_hour():
    """Memory of the page after a quarter of an hour and after an hour."""
    BROWSER.size(400, 300)
    with Desk("--rate", "1", "--levels", "20", before=HOUR):
        found = []
        for updates in (HOUR_UPDATES // 4, HOUR_UPDATES):
            run_updates(updates)
            found.append(BROWSER.memory())
        check(BROWSER.count("#request-list li") == 100, "entries")
        print(f"      heap, nodes, listeners: {found}")
        (heap, nodes, listeners), later = found
        check(later[0] < heap * 1.1 + 100_000, found)
        check(later[1] <= nodes * 1.1 and later[2] <= listeners, found)
    BROWSER.size(1280, 900)


def test_sizes():
    """Nothing is cut off at the side at any width."""
    with Desk("--rate", "5") as desk:
        planter = Planter(desk.service)
        token = planter.ask_token()
        planter.put_address(token, nickname="n" * 120, address="a" * 120)
        desk.stream("BTCUSD", "ETHUSD")
        BROWSER.wait_text("#connections-count", "1 open")
        for width in (320, 360, 600, 800, 1100, 1440, 2560):
            BROWSER.size(width, 900)
            time.sleep(0.1)
            over = BROWSER.run("""
                return [...document.querySelectorAll("body *")].filter((each) =>
                    each.getBoundingClientRect().right > innerWidth + 1 ||
                    each.clientWidth && !each.matches(arguments[0]) &&
                    each.scrollWidth > each.clientWidth + 1)
                    .map((each) => each.outerHTML.slice(0, 80));""", WIDE)
            check(not over, (width, over[:3]))
    BROWSER.size(1280, 900)


def take_screenshots(folder):
    """At several widths, in both colour schemes, and without the sandbox."""
    os.makedirs(folder, exist_ok=True)
    with Desk() as desk:
        planter = Planter(desk.service)
        token = planter.ask_token()
        planter.put_address(token, nickname="Cold wallet")
        planter.put_address(token, address="3FZbgi29cp", nickname=NICKNAME)
        for _ in range(2):
            desk.stream("BTCUSD", "ETHUSD")
        BROWSER.wait_text("#connections-count", "2 open")
        desk.service.set(latency={"ms": 200, "for_ms": 60000},
                         token={"status": 503, "count": 3})
        BROWSER.wait_text("#faults-count", "2 active")
        for width, dark in ((1440, False), (1440, True), (800, False),
                            (360, False), (360, True)):
            BROWSER.size(width, 900, 1, dark)
            time.sleep(0.6)
            BROWSER.screenshot(os.path.join(
                folder, f"{width}{'-dark' if dark else ''}.png"), True)
        BROWSER.size(1440, 900)
        desk.service.terminate()
        BROWSER.wait_text("#condition", "Away")
        time.sleep(0.5)
        BROWSER.screenshot(os.path.join(folder, "away.png"))


@contextlib.contextmanager
def around():
    global BROWSER  # pylint: disable=global-statement
    with Browser() as BROWSER:
        yield


if "SCREENSHOTS" in os.environ:
    TESTS = [("screenshots", take_screenshots, os.environ["SCREENSHOTS"])]
