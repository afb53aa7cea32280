// Follows one market's book as a gateway publishes it, and prints a JSON object
// a line with its best levels at every change: consumer.c in Node. It joins at
// any time: the last book of the bucket, then the stream from there on.
//
// Records of an epoch are numbered without a gap. Where a number is missing, so
// is a change: the book is not to be used, and a snapshot is asked for.
//
//     npm install nats
//     node consumer.mjs [--url URL] [--prefix NAME] [--depth N] MARKET
//
// SPDX-License-Identifier: 0BSD
import { readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";
import { connect, credsAuthenticator } from "nats";

const ASK_MS = 1000; // between two requests, and for an answer
const DEAD_MS = 15000; // after so long nobody publishes
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

// A market's name in subjects: letters, digits, '-' and '_' stand for
// themselves, any other byte is '=' and two hexadecimal digits.
const token = Array.from(Buffer.from(market), (byte) => {
  const c = String.fromCharCode(byte);
  const hex = byte.toString(16).toUpperCase().padStart(2, "0");
  return /[A-Za-z0-9_-]/.test(c) ? c : `=${hex}`;
}).join("");

// ---- the book ----

const book = {
  state: "missed", // "missed": a snapshot is needed; "stale": a whole book
  epoch: 0, //        will come, says the gateway; "live"
  number: 0, // of the last record that is in it
  time: "", // the service's
  bids: new Map(), // price: amount
  asks: new Map(),
};

// Prices are exact texts, written with more or fewer zeros at the end; a book
// has one spelling of each.
const canonical = (price) =>
  price.includes(".") ? price.replace(/\.?0*$/, "") : price;

// Smaller, equal or greater, of canonical numbers.
function compare(a, b) {
  if (a[0] === "-" || b[0] === "-") {
    if (a[0] !== b[0]) return a[0] === "-" ? -1 : 1;
    return compare(b.slice(1), a.slice(1));
  }
  const wholes = a.split(".")[0].length - b.split(".")[0].length;
  return wholes || (a < b ? -1 : a > b ? 1 : 0);
}

// Lets go of a side's levels that the gateway does not see any more: it has
// those with better prices than the horizon.
function cut(side, horizon) {
  if (!horizon) return;
  for (const price of book[side].keys()) {
    const order = compare(price, canonical(horizon));
    if (side === "bids" ? order <= 0 : order >= 0) book[side].delete(price);
  }
}

// Takes a record: of the stream, of the bucket, or a snapshot.
function take({ type, epoch, number, state, time, ...levels }) {
  if (epoch < book.epoch || (epoch === book.epoch && number <= book.number)) {
    return; // of a gateway that was replaced, or in the book already
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

let said; // when a gateway had its last word about this book

// Whether the book is to be used: a gateway has a word about each book every
// five seconds.
const isLive = () => book.state === "live" && Date.now() - said < DEAD_MS;

let printed = "";

// Prints the book, if it is another one.
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
} catch {} // the error has the URL, which may have a password in it
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
let next; // the stream's number of the next message; none: a new one
let messages;

// Reads the market's messages from the next one on. What comes of an earlier
// call ends with its messages.
async function follow() {
  messages?.stop();
  messages = undefined;
  const past = (await manager.streams.info(`${options.prefix}_book`)).state
    .last_seq; // what is newer comes from a gateway that is there
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
      if (message.seq > past) said = Date.now();
      take(message.json());
      print();
    }
  })();
}

// Takes a snapshot, which says behind which message the stream goes on.
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
    if (!messages) await follow();
    if (book.state === "missed") {
      const answer = await connection.request(
        `${options.prefix}.snapshot.${token}`, "", { timeout: ASK_MS });
      said = Date.now();
      if (takeSnapshot(answer.json())) await follow();
    }
  } catch {
    // Nobody answers, or the broker is away: again a little later.
  }
  await sleep(ASK_MS);
  print(); // it may be live no longer
}
