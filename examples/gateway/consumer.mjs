// Follows a market's book that a gateway publishes: consumer.c in Node. At
// every change, it prints the best levels as a line of JSON. It can start at
// any time: it takes the last book of the bucket, then the stream.
//
// Messages of an epoch are numbered without a gap. If a number is missing, so
// is a change: the book must not be used, and a snapshot is requested.
//
//     npm install nats
//     node consumer.mjs [--url URL] [--prefix NAME] [--depth N] MARKET
//
// SPDX-License-Identifier: 0BSD
import { readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";
import { connect, credsAuthenticator } from "nats";

const ASK_MS = 1000; // between requests; also the timeout of each
const SILENCE_MS = 8000; // without messages: subscribe again
const DEAD_MS = 15000; // without messages: the book is not live
const CONNECT_MS = 20000; // for the first connection to the broker

const { values: options, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    url: { type: "string", default: "nats://127.0.0.1:4222" },
    prefix: { type: "string", default: "mst" },
    depth: { type: "string", default: "10" },
    ca: { type: "string" },
    credentials: { type: "string" },
  },
});
const [market] = positionals;
if (positionals.length !== 1) {
  console.error("usage: node consumer.mjs [OPTION...] MARKET");
  process.exit(2);
}

// A market's name in subjects: any byte except letters, digits, '-' and '_' is
// '=' and two hexadecimal digits.
const token = Array.from(Buffer.from(market), (byte) => {
  const c = String.fromCharCode(byte);
  const hex = byte.toString(16).toUpperCase().padStart(2, "0");
  return /[A-Za-z0-9_-]/.test(c) ? c : `=${hex}`;
}).join("");

// ---- the book ----

const book = {
  state: "missed", // "live", "missed" (request a snapshot) or "stale" (by the
  epoch: 0, // gateway's word: a sample will come)
  number: 0, // of the last message in the book
  time: "", // the service's
  bids: new Map(), // price: amount
  asks: new Map(),
};

// Removes trailing zeros: the same price may come with more or fewer of them.
const canonical = (price) =>
  price.includes(".") ? price.replace(/\.?0*$/, "") : price;

// Compares canonical numbers.
function compare(a, b) {
  if (a[0] === "-" || b[0] === "-") {
    if (a[0] !== b[0]) return a[0] === "-" ? -1 : 1;
    return compare(b.slice(1), a.slice(1));
  }
  const wholes = a.split(".")[0].length - b.split(".")[0].length;
  return wholes || (a < b ? -1 : a > b ? 1 : 0);
}

// Removes a side's levels at the horizon and beyond it: the gateway does not
// report their changes.
function cut(side, horizon) {
  if (!horizon) return;
  for (const price of book[side].keys()) {
    const order = compare(price, canonical(horizon));
    if (side === "bids" ? order <= 0 : order >= 0) book[side].delete(price);
  }
}

// Takes a message of the stream, the last book or a snapshot.
function take({ type, epoch, number, state, time, ...levels }) {
  if (epoch < book.epoch || (epoch === book.epoch && number <= book.number)) {
    return; // from a former holder, or in the book already
  }
  if (type === "sample") {
    book.state = "live";
    book.bids.clear();
    book.asks.clear();
  } else if (state && state !== "live") {
    book.state = "stale";
  } else if (epoch !== book.epoch || number !== book.number + 1) {
    book.state = "missed";
    return;
  }
  Object.assign(book, { epoch, number, time: time ?? book.time });
  for (const side of ["bids", "asks"]) {
    for (const [price, amount] of levels[side] ?? []) {
      if (/^[0.]*$/.test(amount)) {
        book[side].delete(canonical(price));
      } else {
        book[side].set(canonical(price), amount);
      }
    }
    cut(side, levels[`${side}_horizon`]);
  }
}

let said; // when the last message of a running gateway came

// True if the book may be used: gateways send a message about each book every
// five seconds.
const isLive = () => book.state === "live" && Date.now() - said < DEAD_MS;

let printed = "";

// Prints the book if it has changed.
function print() {
  const { epoch, number, time } = book;
  const live = isLive();
  const now = `${live} ${epoch} ${number}`;
  if (now === printed) return;
  printed = now;
  const best = (side, sign) =>
    [...book[side]]
      .sort(([a], [b]) => sign * compare(a, b))
      .slice(0, Number(options.depth));
  console.log(JSON.stringify({
    market, epoch, number, time, live,
    bids: best("bids", -1), asks: best("asks", 1),
  }));
}

// ---- the broker ----

let url;
try {
  url = new URL(options.url);
} catch {} // not the error: it has the URL, which may contain a password
if (!url?.host) {
  console.error("--url must be nats://HOST:PORT");
  process.exit(2);
}
const { host, username, password } = url;
const connection = await connect({
  servers: host,
  user: username || undefined,
  pass: password || undefined,
  maxReconnectAttempts: -1,
  timeout: CONNECT_MS,
  reconnectTimeWait: 500,
  tls: options.ca ? { caFile: options.ca } : undefined,
  authenticator: options.credentials
    ? credsAuthenticator(readFileSync(options.credentials))
    : undefined,
});
const jetstream = connection.jetstream();
const manager = await connection.jetstreamManager();
let next; // sequence of the next message; undefined: the next new one
let messages;
let heard; // when the last message came, or follow() was called

// Reads the market's messages from the next one on. Ends the loop of an earlier
// call.
async function follow() {
  heard = Date.now();
  messages?.stop();
  messages = undefined;
  const past = (await manager.streams.info(`${options.prefix}_book`)).state
    .last_seq; // newer messages come from a running gateway
  const consumer = await jetstream.consumers.get(`${options.prefix}_book`, {
    filterSubjects: `${options.prefix}.book.${token}`,
    ...(next ? { opt_start_seq: next } : { deliver_policy: "new" }),
  });
  const mine = await consumer.consume();
  messages = mine;
  (async () => {
    for await (const message of mine) {
      if (mine !== messages) break;
      next = message.seq + 1;
      heard = Date.now();
      if (message.seq > past) said = Date.now();
      take(message.json());
      print();
    }
  })();
}

// Takes a snapshot, if there is one; it names the message to continue after.
function takeSnapshot(line) {
  if (!line.after) return false;
  take(line);
  print();
  next = line.after + 1;
  return true;
}

const bucket = await jetstream.views
  .kv(`${options.prefix}_last`, { bindOnly: true })
  .catch(() => undefined);
const last = await bucket?.get(token);
if (last?.length) takeSnapshot(last.json());

for (;;) {
  try {
    if (!messages || Date.now() - heard > SILENCE_MS) await follow();
    if (book.state === "missed") {
      const answer = await connection.request(
        `${options.prefix}.snapshot.${token}`, "", { timeout: ASK_MS });
      said = Date.now();
      if (takeSnapshot(answer.json())) await follow();
    }
  } catch {
    // No answer, or no broker: try again later.
  }
  await sleep(ASK_MS);
  print(); // it may no longer be live
}
