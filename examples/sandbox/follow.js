// Follows a book: NODE_EXTRA_CA_CERTS=STATE_DIRECTORY/ca.pem node follow.js \
//     STATE_DIRECTORY MARKET
// SPDX-License-Identifier: 0BSD
const fs = require("fs");
const WebSocket = require("ws");

const [state, market] = process.argv.slice(2);
const urls = JSON.parse(fs.readFileSync(`${state}/endpoints.json`, "utf8"));

async function fetchToken() {
    const reply = await fetch(`${urls.auth_url}/oauth2/token`, {
        method: "POST",
        body: new URLSearchParams({
            grant_type: "client_credentials", client_id: "sandbox-client",
            client_secret: "sandbox-secret",
            scope: "exchange:read_aggregated_marketdata_stream",
        }),
    });
    return (await reply.json()).access_token;
}

// Writes all 9 decimals, so that times compare as text.
function timeOf(payload) {
    const [seconds, fraction = ""] = payload.time.replace("Z", "").split(".");
    return `${seconds}.${fraction.padEnd(9, "0")}`;
}

let book, since, early = [];

function apply(payload) {
    for (const side of ["bids", "asks"]) {
        for (const { price, amount } of payload[side] || []) {
            if (Number(amount) === 0) {
                book[side].delete(Number(price));
            } else {
                book[side].set(Number(price), amount);
            }
        }
    }
}

function take(payload) {
    let updates = [payload];
    if (payload.type === "UPDATE" && !since) {
        early.push(payload); // the snapshot has not come yet
        return;
    }
    if (payload.type !== "UPDATE") {
        book = { bids: new Map(), asks: new Map() };
        since = timeOf(payload);
        apply(payload);
        [updates, early] = [early, []];
    }
    for (const update of updates.filter((each) => timeOf(each) > since)) {
        apply(update);
        since = timeOf(update);
    }
    console.log(since, Math.max(...book.bids.keys()),
        Math.min(...book.asks.keys()));
}

async function follow() {
    const stream = new WebSocket(urls.ws_url, {
        headers: { Authorization: `Bearer ${await fetchToken()}` },
    });
    stream.on("open", () => stream.send(JSON.stringify({
        type: "subscribe",
        channels: [{ type: "market_data", params: { market } }],
    })));
    stream.on("message", (text) => {
        const message = JSON.parse(text);
        if (message.channel === "market_data") {
            take(message.payload);
        }
    });
}

follow();
