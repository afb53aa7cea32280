#!/usr/bin/env python3
"""Runs the benchmarks of `make bench`, prints their tables and says which
bars hold.

BENCH_MESSAGES (300000): messages of a stream whose processor time is measured
BENCH_PACED (10000): messages of a stream at 10,000 a second
BENCH_ROUNDS (5): how often the clients take turns

With the argument "many" it runs only the benchmark of many clients, with
"lines" only that of mini-stream.

SPDX-License-Identifier: 0BSD
"""
import contextlib
import datetime
import os
import resource
import ssl
import statistics
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../e2e"))
from tls_certificates import ISSUER, SERVER, Certificates
from token_endpoint import token_endpoint

TOOL = os.environ.get("BUILD", "build") + "/mini-stream"
BUILD = os.environ.get("BUILD", "build") + "/bench/"
MESSAGES = int(os.environ.get("BENCH_MESSAGES", "300000"))
PACED = int(os.environ.get("BENCH_PACED", "10000"))
ROUNDS = int(os.environ.get("BENCH_ROUNDS", "5"))
CONNECTIONS = 20  # per round
RATE = 10000  # messages a second
MARKETS = 8
LINES = 100000  # messages converted to lines
MANY = 200  # clients in one thread

AES = "ECDHE-ECDSA-AES128-GCM-SHA256"
CHACHA = "ECDHE-ECDSA-CHACHA20-POLY1305"

# Name, server's cipher, 1 for a record per message.
TRANSPORTS = [
    ("plain", "PLAIN", 0),
    ("AES-GCM, 16 KB records", AES, 0),
    ("AES-GCM, a record a message", AES, 1),
    ("ChaCha20, a record a message", CHACHA, 1),
]
# Name, program and additional arguments.
CLIENTS = [
    ("mini_stream", ("client_mini_stream",)),
    ("mini_stream, as it comes", ("client_mini_stream", "usual")),
    ("mini_stream, BearSSL alone", ("client_alone",)),
    ("mini_stream over OpenSSL", ("client_openssl",)),
    ("Boost.Beast + OpenSSL + simdjson", ("client_beast",)),
    ("wslay + OpenSSL + jsmn", ("client_wslay",)),
    ("libwebsockets + OpenSSL + cJSON", ("client_lws",)),
]
OURS, USUAL, ALONE, _, BEAST, _, LWS = [name for name, _ in CLIENTS]

bars = []


def stop(why):
    sys.exit(f"bench: {why}")


def bar(what, value, limit, aim=None, form="{:.2f}"):
    """Records if a bar holds."""
    said = "aim" if aim is not None and value <= aim else "holds"
    bars.append((what, form.format(value), form.format(limit),
                 "" if aim is None else form.format(aim),
                 said if value <= limit else "BEYOND"))


def table(title, head, rows):
    """Prints a table whose first column is text."""
    rows = [head] + rows
    widths = [max(len(row[i]) for row in rows) for i in range(len(head))]
    print(f"\n{title}\n")
    for n, row in enumerate(rows):
        cells = [row[0].ljust(widths[0])]
        cells += [cell.rjust(width) for cell, width in zip(row[1:], widths[1:])]
        print("| " + " | ".join(cells) + " |")
        if n == 0:
            print("|" + "|".join("-" * (width + 2) for width in widths) + "|")
    sys.stdout.flush()


def output(program):
    """The output of one of these programs, in rows of fields."""
    try:
        text = subprocess.run([BUILD + program], check=True, timeout=540,
                              stdout=subprocess.PIPE, text=True).stdout
    except subprocess.SubprocessError as error:
        stop(error)
    return [line.split("\t") for line in text.splitlines()]


# ---- Decoding ----

def bench_decoders():
    measured = {}
    for corpus, name, value in output("peers"):
        measured.setdefault(name, {})[corpus] = float(value)
    sizes = measured.pop("bytes")
    ours = measured["mini_stream"]
    table("Decoding (times as much as mini_stream)",
          ["", f"plain, {sizes['mixed']:.0f} bytes: ns", "x",
           f"varied, {sizes['varied']:.0f} bytes: ns", "x",
           "snapshot of 2 x 5,000 levels: us", "x"],
          [[name, f"{m['mixed']:.0f}", f"{m['mixed'] / ours['mixed']:.2f}",
            f"{m['varied']:.0f}", f"{m['varied'] / ours['varied']:.2f}",
            f"{m['snapshot'] / 1000:.0f}",
            f"{m['snapshot'] / ours['snapshot']:.2f}"]
           for name, m in measured.items()])
    raw = measured["simdjson, raw tokens"]
    bar("decode, varied, to simdjson's raw tokens",
        ours["varied"] / raw["varied"], 0.6)
    bar("decode, varied, to plain", ours["varied"] / ours["mixed"], 1.3)
    bar("decode, plain, ns", ours["mixed"], 120, 90, "{:.0f}")
    bar("decode, plain, to simdjson's raw tokens",
        ours["mixed"] / raw["mixed"], 120 / 233, 90 / 233)
    bar("decode, spaced, to simdjson's strings",
        ours["spaced"] / measured["simdjson, strings"]["spaced"], 1)
    bar("decode, snapshot, us", ours["snapshot"] / 1000, 150, 115, "{:.0f}")
    bar("decode, snapshot, to simdjson's raw tokens",
        ours["snapshot"] / raw["snapshot"], 150 / 226, 115 / 226)


# ---- A live book ----

def bench_live():
    measured = [[int(levels), moves == "1", *map(float, costs)]
                for levels, moves, *costs in output("live")]
    table("What a live book that follows the messages adds to decoding, ns a "
          "message",
          ["levels a side", "levels come and go", "decoding", "mini_stream",
           "std::map", "std::vector", "to the better one"],
          [[f"{levels:,}", "yes" if moves else "no", f"{without:.0f}"] +
           [f"{cost - without:.0f}" for cost in (ours, *others)] +
           [f"{(ours - without) / (min(others) - without):.2f}"]
           for levels, moves, without, ours, *others in measured])
    for levels, moves, without, ours, *others in measured:
        if moves:
            bar(f"a live book of {levels:,} levels a side, to the better one",
                (ours - without) / (min(others) - without), 0.5)


# ---- Records ----

def bench_records():
    """A record by BearSSL alone and by port/primitives."""
    rows = [[what, length, *map(float, costs)]
            for what, length, *costs in output("records")]
    table("A record by its length, ns",
          ["", "bytes", "BearSSL", "libcrypto", "x", "as built", "x"],
          [[what, length, f"{alone:.0f}", f"{libcrypto:.0f}",
            f"{libcrypto / alone:.2f}", f"{built:.0f}", f"{built / alone:.2f}"]
           for what, length, alone, libcrypto, built in rows])
    bar("a record with primitives, to BearSSL alone, at most",
        max(max(costs) / alone for _, _, alone, *costs in rows), 1.05)


# ---- Clients ----

class Server(contextlib.AbstractContextManager):
    def __init__(self, cipher, directory):
        self.directory = directory
        self.scheme = "ws" if cipher == "PLAIN" else "wss"
        self.process = subprocess.Popen(
            [BUILD + "server", cipher, directory], stdout=subprocess.PIPE,
            text=True)
        self.port = self.process.stdout.readline().strip()

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait()

    def run(self, program, mode="stream", repeats=1, messages=MESSAGES,
            record=1, rate=0):
        """Runs a client and checks its sum; returns what it measured."""
        name, *told = program
        command = [BUILD + name, mode, self.scheme, self.port, self.directory,
                   repeats, messages, record, rate, MARKETS, *told]
        try:
            text = subprocess.run([str(word) for word in command], check=True,
                                  timeout=300, stdout=subprocess.PIPE,
                                  text=True).stdout
        except subprocess.SubprocessError as error:
            stop(error)
        found = dict(field.split("=") for field in text.split())
        right = 0
        for _ in range(int(found["connections"])):
            right += int(self.process.stdout.readline().split()[1], 16)
        if right % 2 ** 64 != int(found.pop("sum"), 16):
            stop(f"{name}: wrong sum")
        return {key: int(value) for key, value in found.items()}


def prepare(directory):
    """Makes a certificate for localhost and the file of time stamps."""
    certificates = Certificates(directory)
    for name, extensions in (("ca", ISSUER),
                             ("cert", SERVER.format("DNS:localhost"))):
        certificates.issue(name, "ca", extensions, valid=(-60, 2 * 24 * 60))
    os.rename(directory + "/cert.key", directory + "/key.pem")
    with open(directory + "/stamps", "wb") as stamps:
        stamps.truncate(8 * PACED)


def turns(rounds):
    """All clients; another one comes first in each round."""
    for n in range(rounds):
        first = n % len(CLIENTS)
        yield CLIENTS[first:] + CLIENTS[:first]


def bench_cpu(servers):
    """Processor seconds for a million messages, and memory."""
    cpu = {name: {} for name, _ in CLIENTS}
    memory = {name: 0 for name, _ in CLIENTS}
    for clients in turns(ROUNDS):
        for transport, cipher, record in TRANSPORTS:
            for name, program in clients:
                found = servers[cipher].run(program, record=record)
                seconds = found["cpu_us"] / MESSAGES
                cpu[name].setdefault(transport, []).append(seconds)
                memory[name] = max(memory[name], found["rss_kb"])
    best = {name: {t: min(all_) for t, all_ in of.items()}
            for name, of in cpu.items()}
    head = ["s"]
    for transport, _, _ in TRANSPORTS:
        head += [transport, "x"]
    rows = []
    for name, _ in CLIENTS:
        row = [name]
        for transport, _, _ in TRANSPORTS:
            row += [f"{best[name][transport]:.3f}",
                    f"{best[name][transport] / best[OURS][transport]:.1f}"]
        rows.append(row + [f"{memory[name] / 1024:.1f}"])
    table("Processor time of a client for a million messages, and its memory "
          "(times as much as mini_stream)", head + ["RSS, MB"], rows)
    for n, (transport, _, _) in enumerate(TRANSPORTS):
        ours = best[OURS][transport]
        bar(f"CPU to Beast's, {transport}", ours / best[BEAST][transport],
            0.45 if n == 2 else 0.5, 1 / 3)
        bar(f"CPU to libwebsockets', {transport}",
            ours / best[LWS][transport], 1 / 10, 1 / 15)
    for n, (transport, _, _) in enumerate(TRANSPORTS):
        usual = best[USUAL][transport]
        bar(f"CPU as it comes to tuned, {transport}",
            usual / best[OURS][transport], 1.6 if n == 0 else 1.3)
        bar(f"CPU as it comes to Beast's, {transport}",
            usual / best[BEAST][transport], 0.75)
    bar("resident memory, BearSSL alone, MB", memory[ALONE] / 1024, 3, 2,
        "{:.1f}")


def against_peers(what, measured, limit=1):
    """Bars relative to the best of the others."""
    least = min(value for name, value in measured.items()
                if not name.startswith(OURS))
    bar(what + ", to the best peer's", measured[OURS] / least, limit)


def bench_latency(server):
    found = {name: [] for name, _ in CLIENTS}
    for clients in turns(5 * ROUNDS):  # see README.md
        for name, program in clients:
            found[name].append(server.run(program, messages=PACED, rate=RATE))
    median = {name: {key: statistics.median(run[key] for run in runs) / 1000
                     for key in ("p50_ns", "p999_ns")}
              for name, runs in found.items()}
    table(f"From sending to the event in hand, {RATE:,} a second, us; the "
          "median of the rounds",
          ["", "p50", "p99.9"],
          [[name, f"{m['p50_ns']:.1f}", f"{m['p999_ns']:.1f}"]
           for name, m in median.items()])
    for key, what in (("p50_ns", "p50"), ("p999_ns", "p99.9")):
        against_peers(f"latency {what}",
                      {name: m[key] for name, m in median.items()})


def bench_connect(server):
    median = {name: {} for name, _ in CLIENTS}
    for mode in ("full", "resumed"):
        found = {}
        for clients in turns(5 * ROUNDS):
            for name, program in clients:
                if (name, mode) != (LWS, "resumed"):  # it cannot
                    run = server.run(program, mode, CONNECTIONS, 1)
                    found.setdefault(name, []).append(run["p50_ns"] / 1e6)
        for name, all_ in found.items():
            median[name][mode] = statistics.median(all_)
    table("From the name's resolution to the first event, ms",
          ["", "full handshake", "resumed"],
          [[name] + [f"{m[mode]:.2f}" if mode in m else "-"
                     for mode in ("full", "resumed")]
           for name, m in median.items()])
    against_peers("connect, resumed", {name: m["resumed"]
                                       for name, m in median.items()
                                       if "resumed" in m}, 1.1)
    bar("connect, full handshake, to Beast's",
        median[OURS]["full"] / median[BEAST]["full"], 1.25)


# ---- Cost against size ----

def bench_scale():
    rows = {}
    for what, unit, size, value in output("scale"):
        rows.setdefault((what, unit), []).append((int(size), float(value)))
    lines = []
    for (what, unit), points in rows.items():
        least = min(value for _, value in points)
        growth = points[-1][1] / least
        lines.append([what, unit] +
                     [f"{size:,}: {value:.3g}" for size, value in points] +
                     [f"{growth:.1f}", "grows" if growth > 2 else ""])
    table("Cost of a unit of work at sizes from small to large, ns; beyond "
          "twice the least it grows faster than the work",
          ["", "unit", "", "", "", "", "", "x", ""], lines)


# ---- Many clients in one thread ----

def bench_many(servers):
    """Processor time per message of one client and of many."""
    lines = []
    for rate, said in ((0, "as fast as they are taken"),
                       (RATE, f"{RATE:,} a second")):
        for transport, cipher, record in TRANSPORTS:
            if cipher == CHACHA or (rate and cipher == AES and not record):
                continue  # with a rate each message has its own record
            messages = PACED if rate else MESSAGES
            cost = {1: [], MANY: []}
            for n in range(ROUNDS):
                for count in (1, MANY) if n % 2 else (MANY, 1):
                    run = servers[cipher].run(
                        ("many", count), messages=messages, record=record,
                        rate=rate)
                    cost[count].append(run["cpu_us"] / messages)
            one, many = min(cost[1]), min(cost[MANY])
            lines.append([f"{transport}, {said}", f"{one:.2f}", f"{many:.2f}",
                          f"{many / one:.2f}"])
            bar(f"CPU of {MANY} clients to one's, {lines[-1][0]}", many / one,
                1.2)
    table("Processor time a message, of clients in one thread, us; the best "
          "of the rounds",
          ["", "1 client", f"{MANY} clients", "x"], lines)


# ---- mini-stream: a stream as JSON lines ----

def seconds_of(command, lines):
    """Processor time of a pipe of commands, which must print these lines."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    with tempfile.TemporaryFile() as out:
        subprocess.run(["sh", "-c", command], stdout=out, check=False,
                       stderr=subprocess.DEVNULL, timeout=300)
        out.seek(0)
        found = sum(1 for _ in out)
    if found < lines:
        stop(f"{command}: {found} lines")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (after.ru_utime - before.ru_utime +
            after.ru_stime - before.ru_stime)


def bench_lines(server):
    """Cost of converting messages to lines of JSON."""
    markets = ("BTCUSD ETHUSD SOLUSD LTCUSD DOGEUSD USDCUSD LINKUSD "
               "SHIBUSD")  # MARKETS of corpus.c
    path = f"/{LINES}/1/0/{MARKETS}/1"
    ca = server.directory + "/ca.pem"
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(server.directory + "/cert.pem",
                        server.directory + "/key.pem")
    with token_endpoint(tls) as port:
        url = f"wss://localhost:{server.port}{path}"
        commands = {
            "mini-stream --format json":
                f"MINI_STREAM_CLIENT_SECRET=s {TOOL} stream -q "
                f"-f json --fail-on-disconnect --ws-url {url} --auth-url "
                f"https://localhost:{port} --ca {ca} --client-id c "
                f"{markets}",
            "Node's ws, then jq -c":
                f"NODE_PATH=/usr/share/nodejs node test/bench/ws_lines.js "
                f"{url} {ca} {markets} | jq -c .",
        }
        best = {name: min(seconds_of(command, LINES)
                          for _ in range(ROUNDS))
                for name, command in commands.items()}
    for _ in range(len(commands) * ROUNDS):
        server.process.stdout.readline()
    rates = {name: LINES / seconds for name, seconds in best.items()}
    table("A stream as JSON lines, messages a second of processor time",
          ["", "messages/s", "x"],
          [[name, f"{rate:,.0f}",
            f"{rates['mini-stream --format json'] / rate:.1f}"]
           for name, rate in rates.items()])
    bar("JSON lines, 100,000 messages a second on one processor",
        100000 / rates["mini-stream --format json"], 1)


def machine():
    with open("/proc/cpuinfo", encoding="ascii") as info:
        models = [line.split(":")[1].strip() for line in info
                  if line.startswith("model name")]
    return f"{len(models)} x {models[0]}" if models else os.uname().machine


def main():
    today = datetime.date.today().isoformat()
    command = (f"make bench BENCH_MESSAGES={MESSAGES} BENCH_PACED={PACED} "
               f"BENCH_ROUNDS={ROUNDS}")
    print(f"{today}, {machine()}, {command}")
    only = sys.argv[1:]
    if not only:
        bench_decoders()
        bench_live()
        bench_records()
        bench_scale()
    with tempfile.TemporaryDirectory() as directory, \
            contextlib.ExitStack() as stack:
        prepare(directory)
        servers = {cipher: stack.enter_context(Server(cipher, directory))
                   for cipher in ("PLAIN", AES, CHACHA)}
        if not only:
            bench_cpu(servers)
            bench_latency(servers[AES])
            bench_connect(servers[AES])
        if only != ["lines"]:
            bench_many(servers)
        if only != ["many"]:
            bench_lines(servers[AES])
    table("Bars", ["", "is", "bar", "aim", ""], [list(row) for row in bars])


if __name__ == "__main__":
    main()
