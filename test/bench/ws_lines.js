// Messages of a stream as lines: what `mini-stream stream --format json` is
// measured beside. Its output goes through `jq -c .`, as people do.
//
//   ws_lines.js URL CA-FILE MARKET...
//
// SPDX-License-Identifier: 0BSD
const fs = require("fs");
const WebSocket = require("ws");

const [url, ca, ...markets] = process.argv.slice(2);
const socket = new WebSocket(url, {
  ca: fs.readFileSync(ca),
  perMessageDeflate: false,
});
const channels = markets.flatMap((market) =>
  ["market_data", "market_data.top_of_book", "execution_data"].map((type) =>
    ({ type, params: { market } })));

socket.on("open", () =>
  socket.send(JSON.stringify({ type: "subscribe", channels })));
socket.on("message", (data) => process.stdout.write(data + "\n"));
socket.on("error", (error) => {
  console.error(error.message);
  process.exitCode = 1;
});
