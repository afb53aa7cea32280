"""The firmware on an emulated board with 64 KB of RAM, with a sandbox: it gets
time and a token, streams, resumes TLS, puts an address, reports faults at its
boot and recovers if it can.

BUILD: where the programs are; FIRMWARE_BOARD: the board by its name in QEMU;
FIRMWARE_SECONDS: how long the stream is watched.
SPDX-License-Identifier: 0BSD
"""
import decimal
import os
import re
import sqlite3
import struct
import subprocess
import time
import zlib

from e2e import HANG_S, Truths, check, equal, milliseconds
from lab import AES_GCM, CHACHA20, IMAGES, INSTRUCTIONS_PER_US, Lab, page

SECONDS = float(os.environ.get("FIRMWARE_SECONDS", "20"))
AT_ONCE = 2  # boards
MARKETS = ("BTCUSD", "ETHUSD")
RATE = ("--rate", "5")  # slow enough to see the truth of each change
KEPT = ("--token-lifetime", "86400")
BOOTS = 100
CROSS = os.environ.get("CROSS", "arm-none-eabi-")
KB = 1024
# Limits of an image: flash, and RAM with its stack.
BARS = {"any": (136 * KB, 62 * KB),
        "small": ((114 if "FIRMWARE_CPU" in os.environ else 108) * KB, 36 * KB)}


def shown_levels(text):
    return [tuple(decimal.Decimal(part) for part in level.split(":"))
            for level in text.split()]


def check_truth(lab, markets=MARKETS):
    """The board's printed books must equal the sandbox's of the same
    millisecond."""
    missing = set(markets)
    with Truths(lab.exchange.book, markets) as truths:
        time.sleep(0.5)
        end = time.monotonic() + 60
        while missing:
            check(time.monotonic() < end, f"no book of {missing} was compared")
            lab.board.press("b")
            lines = [lab.board.wait(rf" levels {market} (\w+) (\S+) bids(.*) "
                                    r"asks(.*)") for market in markets]
            time.sleep(0.3)  # until the sandbox's book of that time is known
            check(truths.error is None, truths.error)
            for market, line in zip(markets, lines):
                true = truths.books[market].get(milliseconds(line[2]))
                if line[1] != "live" or true is None:
                    continue
                for shown, side in zip((line[3], line[4]), true):
                    shown = shown_levels(shown)
                    check(shown, f"{market} has no levels")
                    check(shown == side[:len(shown)],
                          f"{market}: {set(shown) ^ set(side[:len(shown)])}")
                missing.discard(market)


def wait_live(board, markets=MARKETS):
    """Waits for an open stream and live books; returns its generation and
    number of resumed handshakes."""
    opened = board.wait(r" open generation=(\d+) resumed=(\d+)")
    begin = board.at
    for market in markets:
        board.at = begin
        board.wait(rf" book {market} live")
    return int(opened[1]), int(opened[2])


def check_well(first, last):
    """The connection must be the same, and every message good. (Attempts at
    the boot failed without a clock.)"""
    for name in ("opens", "failures", "bad"):
        check(last[name] == first[name], f"{name}: {last}")


def check_flat(first, last):
    """Nothing may grow. lwIP's usage varies with the traffic, so its peak is
    compared."""
    for name, slack in (("heap", 1024), ("segments", 2), ("pbufs", 4)):
        check(last[name][0] <= first[name][1] + slack,
              f"{name}: {first[name]}, then {last[name]}")
    for name in ("heap", "segments"):
        check(last[name][2] == 0, f"lwIP had no {name}: {last[name]}")
    check(last["stack"][0] <= last["stack"][1] - 256,
          f"the stack is nearly used up: {last['stack']}")


def publish(name, report, seconds=None):
    stack, size = report["stack"]
    print(f"      {name}: stack {stack} of {size}, longest turn "
          f"{report['longest_turn'] * INSTRUCTIONS_PER_US:,} instructions, "
          f"poll of an open stream "
          f"{report['longest_open_poll'] * INSTRUCTIONS_PER_US:,}, "
          f"lwIP's heap {report['heap'][1]}, pbufs {report['pbufs'][1]}"
          + (f", {seconds:.1f} wake-ups a second" if seconds else ""),
          flush=True)


# ---------------------------------------------------------------------------
# Tests
# ---------------------------------------------------------------------------

def test_stream():
    with Lab(*RATE, "--ping", "4", "--token-lifetime", "86400") as lab:
        board = lab.board
        board.wait(r"^0\.\d+ mini_stream .*, image any")
        board.wait(r" network: address 10\.77\.0\.\d+, name server 10\.77\.0\.1"
                   r", time server 10\.77\.0\.1")
        told = milliseconds(board.wait(r" time (\S+)")[1])
        check(abs(told / 1000 - time.time()) < 30, f"time {told}")
        board.wait(r" token obtained")
        check(wait_live(board) == (1, 0), "the first connection")
        first = board.report()
        begin, sleeps = time.monotonic(), first["sleeps"]
        while time.monotonic() < begin + max(SECONDS, 12):
            time.sleep(5)
            last = board.report()
            check_well(first, last)
        check_flat(first, last)
        rate = (last["sleeps"] - sleeps) / (time.monotonic() - begin)
        # Pings were answered, or it would have been closed after 12 s.
        check(last["tokens"] == 1, last)
        check(last["parts"] > first["parts"] + SECONDS, last)
        check(last["executions"] > first["executions"], last)
        check_truth(lab)

        lab.exchange.set(reset={})
        board.wait(r" closed in open: .* error=-\d+")
        generation, resumed = wait_live(board)
        check(generation == 2, f"generation {generation}")
        check(resumed == 1, f"{resumed} handshakes were short")
        check_truth(lab)
        check_flat(first, board.report())

        board.press("p")
        put = board.wait(r" address: .* error=0 http=200 id=(\S+) status="
                         r"APPROVED network=ETHEREUM address=0xF1f2F3 "
                         r"nickname=From a board")
        check(wait_live(board)[0] == 1, "a stream in the same memory")
        with sqlite3.connect(lab.path("addresses.db")) as database:
            rows = database.execute("SELECT id, crypto_network, address, "
                                    "nickname FROM address").fetchall()
        database.close()
        check(rows == [(put[1], "ETHEREUM", "0xF1f2F3", "From a board")], rows)
        check_truth(lab)
        last = board.report()
        check_flat(first, last)
        check(last["failures"] == last["bad"] == 0, last)
        publish("any", last, rate)


def test_burst():
    """Much more than the TCP window at once: snapshots of long books, then all
    that gathered while the connection was frozen."""
    with Lab("--rate", "200", "--levels", "1500") as lab:
        check(wait_live(lab.board)[0] == 1, "open")
        before = lab.board.report()
        for _ in range(3):
            lab.exchange.set(freeze={})
            time.sleep(3)
            lab.exchange.set(clear=True)
            time.sleep(2)
        lab.board.wait(r" report ")
        time.sleep(3)
        check_truth(lab)
        last = lab.board.report()
        check_well(before, last)
        check(last["bytes"] > before["bytes"] + 100000, last)
        publish("any, bursts", last)


def test_small_image():
    with Lab(*RATE, "--ping", "4", image="small.bin") as lab:
        lab.board.wait(r" image small")
        lab.board.wait(r" limits lowered: MST_\w+=\d+ .*MST_TOKEN_MAX=\d+")
        check(wait_live(lab.board, MARKETS[:1])[0] == 1, "open")
        first = lab.board.report()
        time.sleep(13)
        check_truth(lab, MARKETS[:1])
        lab.exchange.set(reset={})
        check(wait_live(lab.board, MARKETS[:1]) == (2, 1), "resumed")
        check_truth(lab, MARKETS[:1])
        last = lab.board.report()
        check(last["bad"] == 0 and last["executions"] > 0, last)
        check_flat(first, last)
        publish("small", last)


def check_chain(chain, ciphers, suite):
    with Lab(*RATE, chain=chain, ciphers=ciphers) as lab:
        check(wait_live(lab.board)[0] == 1, "open")
        check(suite in lab.ciphers_seen(), lab.ciphers_seen())
        check_truth(lab)
        publish(f"{chain}, {suite}", lab.board.report())


TESTS = [
    ("p 384 chain", check_chain, "384", CHACHA20,
     "ECDHE-ECDSA-CHACHA20-POLY1305"),
    ("rsa chain", check_chain, "rsa", CHACHA20, "ECDHE-RSA-CHACHA20-POLY1305"),
    ("aes gcm", check_chain, "ec", AES_GCM, "ECDHE-ECDSA-AES128-GCM-SHA256")]


def test_no_entropy():
    with Lab(*RATE, seeded=False) as lab:
        lab.board.wait(r" entropy: no seed error=-101")
        lab.board.wait(r" closed in wait: no entropy.* error=-101")
        time.sleep(3)
        lab.board.never_said(r" state (connect|tls) | open ")


def test_no_clock():
    with Lab(*RATE, clock=False) as lab:
        lab.board.wait(r" closed in wait: .*clock is not set.* error=-100")
        lab.board.wait(r" network: address ")
        lab.board.never_said(r" state connect")
        lab.begin_clock()
        lab.board.wait(r" time ")
        wait_live(lab.board)


def test_no_network():
    with Lab(*RATE, dhcp=False) as lab:
        lab.board.wait(r" network: no address from DHCP yet")
        lab.begin_dhcp()
        lab.board.wait(r" network: address ")
        wait_live(lab.board)


def test_boot_loop():
    """One token is requested for all boots, and each has other random numbers.
    The emulated Ethernet controller keeps received frames at a reset, and how
    far one was read; so that this happens, frames come all the time.
    The watchdog restarts a program that hangs. With only a second for it, a
    pause of this machine would also restart the board."""
    def expect_kept(tokens):
        lab.board.never_said(r" (store|entropy|settings): ")
        equal(tokens, lab.board.count(" token obtained"), "tokens asked for")

    with Lab(*RATE, *KEPT) as lab:
        lab.board.wait(r" open ")
        lab.begin_frames()
        for _ in range(BOOTS):
            lab.board.command("system_reset")
            lab.board.wait(r" boot id=")  # skips what came before the reset
            lab.board.wait(r" token loaded")
        wait_live(lab.board)
        equal(BOOTS + 1, lab.board.count(" boot id="))
        expect_kept(1)
        lab.end("frames")
        lab.boot(watchdog_ms=1000)
        wait_live(lab.board)
        lab.board.press("h")
        lab.board.wait(r" mini_stream ")
        wait_live(lab.board)
        expect_kept(0)
        lab.check_ids()


def full(flash):
    """The same store, filled with seed records to the end of the sector."""
    end = len(flash[:len(flash) // 2].rstrip(b"\xff")) + 7 & -8
    head = bytes(16) + struct.pack("<HH", 32, 0x5A01)
    while end + 56 <= 8192:
        data = os.urandom(32)
        flash[end:end + 56] = (head + struct.pack(
            "<I", zlib.crc32(head + data)) + data)
        end += 56
    return flash


def test_power_cuts():
    """At each erasure and write of an empty and of a full store: the board must
    boot again, with other random numbers and the token that it had."""
    with Lab(*RATE, *KEPT) as lab:
        begin = bytearray()
        for token in ("(obtained|loaded)", "loaded"):
            for step in range(1, 99):
                lab.write_flash(begin)
                lab.boot(flash_cut=step, seed=os.urandom(32).hex())
                if not lab.board.cut(" open "):
                    break
                lab.boot(flash_cut=0)
                lab.board.wait(" token " + token)
            check(step > 6, f"{step} steps")
            begin = full(lab.read_flash())
        lab.check_ids()


def test_damage():
    """It is reported, and the board boots. The seed differs from earlier ones
    even if the stored one is damaged."""
    with Lab(*RATE, *KEPT) as lab:
        wait_live(lab.board)
        flash = lab.read_flash()
        for at, token in ((0x28, "loaded"), (0x80, "obtained"), (2, "obtained")):
            damaged = bytearray(flash)
            damaged[at] ^= 0x10
            lab.write_flash(damaged)
            lab.boot()
            lab.board.wait(r" store: damaged error=-1101")
            lab.board.wait(" token " + token)
            wait_live(lab.board)
        for at in (1, 100):
            lab.page = bytearray(page(lab.settings))
            lab.page[at] ^= 1
            lab.boot()
            lab.board.wait(r" settings: damaged error=-1101")
            lab.board.wait(r" settings: .* error=-\d+")
            lab.board.wait(r" network: address ")
            for key in "bpr":
                lab.board.press(key)
            lab.board.wait(r" report messages=0 ")
        lab.page = None
        lab.off()
        os.remove(lab.path("flash.bin"))
        os.mkdir(lab.path("flash.bin"))
        lab.boot()
        lab.board.wait(r" entropy: no seed error=-1100")
        lab.board.wait(r" closed in wait: no entropy.* error=-101")
        lab.check_ids()


def test_wrong_certificate():
    with Lab(*RATE, chain="wrong",
             settings={"backoff_slow_ms": 3000}) as lab:
        lab.board.wait(r" closed in tls: certificate's issuer is not trusted "
                       r"error=-200 \(permanent\) detail=62 ")
        lab.board.never_said(r" token obtained")
        lab.end("tls")
        lab.begin_tls("ec")
        wait_live(lab.board)


def test_port_conform():
    with Lab(image="conform.elf", peer=True) as lab:
        # The board computes all the time, which is slow on a busy machine.
        first = lab.board.wait(r"^(\S+) \w+ +has clocks", 6 * HANG_S)
        last = lab.board.wait(r"^(\S+) (\d+) passed, (\d+) failed",
                              6 * HANG_S)
        report = lab.board.wait(
            r" report .* pbufs=(\d+)/\S+ segments=(\d+)/.*")
        lab.board.never_said(" FAIL ")
        check(last[3] == "0" and int(last[2]) > 0, last[0])
        check(float(last[1]) < float(first[1]), "the clock did not wrap")
        check(report[1] == report[2] == "0", f"not given back: {report[0]}")
        print(f"      conform: {last[2]} passed,{report[0]}", flush=True)


def tool(name, *arguments):
    return subprocess.run([CROSS + name, *arguments], check=True,
                          stdout=subprocess.PIPE).stdout


def test_unknown_board():
    said = subprocess.run(["make", "-n", "FIRMWARE_BOARD=nosuch", "help"],
                          capture_output=True, text=True, check=False)
    check(said.returncode and "nosuch is not one of: " in said.stderr, said)


def test_sizes():
    for image, bars in BARS.items():
        elf = os.path.join(IMAGES, image + ".elf")
        sizes = {name: int(size) for name, size in re.findall(
            r"^(\.\w\S*) +(\d+)", tool("size", "-A", elf).decode(), re.M)}
        flash = sum(sizes.get(name, 0) for name in
                    (".text", ".ARM.exidx", ".data"))
        ram = sum(sizes[name] for name in (".stack", ".data", ".bss"))
        with open(elf.replace(".elf", ".bin"), "rb") as file:
            binary = file.read()
        check(len(binary) == flash, f"{image}.bin has {len(binary)} bytes")
        check(b"sandbox-secret" not in binary, f"a secret is in {image}.bin")
        check(tool("objcopy", "-I", "ihex", "-O", "binary",
                   elf.replace(".elf", ".hex"), "/dev/stdout") == binary,
              f"{image}.hex has other bytes")
        print(f"      {image}: flash {flash:,} of {bars[0]:,}, RAM {ram:,} of "
              f"{bars[1]:,}", flush=True)
        check(not re.search(r" (_?malloc\w*|_sbrk\w*|v?s?n?i?printf)$",
                            tool("nm", elf).decode(), re.M),
              f"{image} has a heap or stdio")
        check(flash <= bars[0] and ram <= bars[1], f"{image} is too large")
