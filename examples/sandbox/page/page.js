/* Shows the sandbox's state, requested several times a second.
 *
 * SPDX-License-Identifier: 0BSD */
import {DepthChart} from "/chart.js";
import {$, bytesText, clock, duration, grouped, keyed, make,
    setText} from "/dom.js";
import {createFaults, showFaults} from "/faults.js";

const PERIOD_MS = 250;
const AWAY_PERIOD_MS = 1000;
const TIMEOUT_MS = 5000;
const LEVELS_SHOWN = 10;
const LEVELS_MAX = 200;
const ENTRIES_MAX = 100;

/* ----------------------------------------------------------------- market */

const chart = new DepthChart($("depth"));
let chosen = ""; // market, or "" for the first
let about = null; // the data that stays the same during a run

function choose(market) {
    chosen = market;
    $("market-select").value = market;
    ask();
}

function showTops(tops) {
    keyed($("tops"), tops, (top) => top.market, (top) => {
        const button = make("button", "top", make("b", ""), make("span", ""));

        button.type = "button";
        button.addEventListener("click", () => choose(top.market));
        return button;
    }, (button, top) => {
        const [name, price] = button.children;

        setText(name, top.market);
        setText(price, top.book && top.book.bids.length > 0
            ? `bid ${grouped(top.book.bids[0].price)}` : "no bid");
        button.setAttribute("aria-pressed",
            String(top.market === $("depth").dataset.market));
    });
}

function showSide(body, levels, backwards) {
    const [, fraction = ""] = levels.length ? levels[0].amount.split(".") : [];
    let total = 0;

    keyed(body, levels.slice(0, LEVELS_SHOWN).map((level, i) => ({i, level})),
        (row) => row.i,
        () => make("tr", "", make("td"), make("td"), make("td")),
        (row, {level}) => {
            total += Number(level.amount);
            const texts = [grouped(level.price), grouped(level.amount),
                grouped(total.toFixed(Math.min(fraction.length, 4)))];

            if (backwards) {
                texts.reverse();
            }
            texts.forEach((text, i) => setText(row.children[i], text));
        });
}

/* Returns the number of levels, and of those shown if it is less. */
function countText({bids, asks, bid_levels: allBids, ask_levels: allAsks}) {
    const most = Math.max(bids.length, asks.length);

    if (allBids === undefined && most === LEVELS_MAX) {
        return `the best ${most} levels`;
    }
    if (Math.max(allBids, allAsks) > most) {
        return `the best ${most} of ${grouped(allBids)} bids and ` +
            `${grouped(allAsks)} asks`;
    }
    return `${bids.length} bids, ${asks.length} asks`;
}

/* A recording has no book before its first snapshot, and may have an empty side
 * later. */
function showBook(market, book) {
    const {bids, asks} = book || {bids: [], asks: []};
    const whole = bids.length > 0 && asks.length > 0;

    $("depth").dataset.market = market;
    $("depth").dataset.time = book ? book.time : "";
    setText($("market-title"), market);
    setText($("levels-count"), book ? countText(book) : "no book yet");
    $("depth").setAttribute("aria-label", `Depth of ${market}: ` + (whole
        ? `best bid ${grouped(bids[0].price)}, ` +
            `best ask ${grouped(asks[0].price)}` : "no data"));
    showSide($("bids").tBodies[0], bids, true);
    showSide($("asks").tBodies[0], asks, false);
    chart.show(market, whole ? book : null);
}

/* ------------------------------------- connections, requests, addresses */

function fact(name) {
    return make("div", "", make("dt", "", name), make("dd"));
}

function createConnection() {
    return make("li", "",
        make("h3"),
        make("dl", "facts", fact("Open for"), fact("Messages"), fact("Sent"),
            fact("Waiting")),
        make("ul", "chips"));
}

function updateConnection(element, connection, now) {
    const [title, facts, chips] = element.children;
    const rest = connection.held - connection.subscriptions.length;
    const names = connection.subscriptions.map((each) =>
        each.market ? `${each.channel} ${each.market}` : each.channel);
    const values = [duration(now - Date.parse(connection.since)),
        grouped(connection.messages), bytesText(connection.bytes),
        bytesText(connection.waiting)];

    if (rest > 0) {
        names.push(`and ${grouped(rest)} more`);
    } else if (names.length === 0) {
        names.push("no subscriptions");
    }
    setText(title, `Stream ${connection.number}: ${connection.client} from ` +
        connection.address);
    values.forEach((value, i) => setText(facts.children[i].lastChild, value));
    keyed(chips, names, (name) => name, (name) => make("li", "", name),
        () => {});
}

function showConnections(connections, now) {
    const {count, list} = connections;

    list.sort((a, b) => b.number - a.number);
    setText($("connections-count"), count === 0
        ? "no clients connected yet"
        : count > list.length ? `${list.length} of ${grouped(count)}`
            : `${count} open`);
    keyed($("connection-list"), list, (each) => each.number, createConnection,
        (element, each) => updateConnection(element, each, now));
}

let held = false; // the list of requests is on hold
let last = 0; // number of the newest entry
let entries = []; // newest first

function createEntry(entry) {
    const summary = make("summary", "",
        make("time", "", entry.time.slice(11, 23)),
        make("span", "place", entry.place),
        make("span", "asked", entry.asked),
        make("span", "outcome", entry.outcome));
    const details = make("details", "", summary);

    if (/^[45]\d\d|^error|refused|no answer/.test(entry.outcome)) {
        summary.lastChild.classList.add("bad");
    }
    for (const [name, text] of [["Request", entry.request],
        ["Answer", entry.answer]]) {
        if (text !== null) {
            details.append(make("h3", "", name), make("pre", "", text));
        }
    }
    if (details.children.length === 1) {
        details.append(make("p", "aside", "No details."));
    }
    return make("li", "", details);
}

function showEntries() {
    setText($("requests-count"), held ? "on hold"
        : entries.length === 0 ? "none yet"
            : entries.length === ENTRIES_MAX ? `the last ${ENTRIES_MAX}`
                : String(entries.length));
    if (!held) {
        keyed($("request-list"), entries, (entry) => entry.number, createEntry,
            () => {});
    }
}

function addEntries(more) {
    if (more.length > 0) {
        last = more[more.length - 1].number;
        entries = [...more.reverse(), ...entries].slice(0, ENTRIES_MAX);
    }
    showEntries();
}

function createAddress() {
    return make("li", "address", make("h3"), make("code"),
        make("p", "aside"));
}

function showAddresses(list) {
    setText($("addresses-count"), list === null ? "cannot be read now"
        : list.length === 0 ? "none yet"
            : list.length === 30 ? "the newest 30" : String(list.length));
    keyed($("address-list"), list || [], (each) => each.id, createAddress,
        (element, each) => {
            const texts = [each.nickname, each.address,
                [each.crypto_network, each.status,
                    each.bookmarked ? "bookmarked" : "not bookmarked",
                    each.client, each.created_at.slice(0, 19)
                        .replace("T", " ")].join(" · ")];

            texts.forEach((text, i) => setText(element.children[i], text));
        });
}

/* ---------------------------------------------------------------- updates */

let timer = 0;
let asking = false;

async function fetchJson(path) {
    const reply = await fetch(path,
        {signal: AbortSignal.timeout(TIMEOUT_MS)});

    if (!reply.ok) {
        throw new Error(`status ${reply.status}`);
    }
    return reply.json();
}

function setAway(away) {
    if (away && !document.body.classList.contains("away")) {
        setText($("condition"), "Not reachable since " + clock(new Date()) +
            ": waiting for the sandbox");
    } else if (!away) {
        setText($("condition"), `Running · seed ${about.seed}`);
    }
    document.body.classList.toggle("away", away);
}

/* Starts with a new sandbox, or after a restart. */
async function begin() {
    about = await fetchJson("/about");
    last = 0;
    entries = [];
    $("market-label").hidden = about.markets.length <= 6;
    $("market-select").replaceChildren(
        ...(about.markets.length <= 6 ? [] : about.markets)
            .map((market) => new Option(market)));
    createFaults(about.faults);
}

async function update() {
    const state = await fetchJson(`/state?after=${last}&market=` +
        encodeURIComponent(chosen));
    const now = Date.parse(state.time);

    if (!about || state.run !== about.run) {
        await begin();
        return;
    }
    $("market-select").value = state.market;
    showBook(state.market, state.book);
    showTops(state.tops);
    showConnections(state.connections, now);
    addEntries(state.journal);
    showFaults(state.faults);
    showAddresses(state.addresses);
    setAway(false);
}

/* Requests the state now and periodically, unless the page is hidden. */
async function ask() {
    clearTimeout(timer);
    if (asking) {
        timer = setTimeout(ask, 10);
        return;
    }
    let period = PERIOD_MS;

    asking = true;
    try {
        if (!document.hidden) {
            await update();
        }
    } catch {
        period = AWAY_PERIOD_MS;
        setAway(true);
    }
    asking = false;
    clearTimeout(timer);
    timer = setTimeout(ask, period);
}

$("market-select").addEventListener("change",
    (event) => choose(event.target.value));
$("hold").addEventListener("click", () => {
    held = !held;
    $("hold").setAttribute("aria-pressed", String(held));
    showEntries();
});
document.addEventListener("visibilitychange", ask);
ask();
