"""What firmware.py needs: a separate network, its services, and the emulated
board.

Each test runs in a thread with its own network namespace. Nothing in it reaches
the machine's network. It disappears once the thread has left it and its
processes have ended.

SPDX-License-Identifier: 0BSD
"""
import ctypes
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time

sys.path.insert(0, "port/flash")
from settings import page
from e2e import (BUILD, HANG_S, SANDBOX, Sandbox, check, run_program,
                 write_file)

FOLDER = os.path.join(BUILD, "firmware")
BOARD = os.environ.get("FIRMWARE_BOARD", "lm3s6965evb")  # of QEMU
IMAGES = os.path.join(FOLDER, BOARD, os.environ.get("FIRMWARE_CPU", ""))
CERTIFICATES = os.path.join(FOLDER, "ca")
CLONE_NEWNET = 0x40000000

HERE = "10.77.0.1"  # this side of the wire: all services
HOST = "exchange.test"
# Name, and ports: for the board, where TLS ends, and of the sandbox.
SERVICES = (("ws", 8443, 7443, 6443), ("auth", 8444, 7444, 6444),
            ("api", 8445, 7445, 6445))

SETTINGS_AT = 0x3E800  # a page of flash: board.ld
INSTRUCTIONS_PER_US = 1000  # with -icount shift=0

# Ends a process if this program is killed.
ENDS_WITH_US = ("setpriv", "--pdeathsig", "KILL")

FRAMES = """import socket, time
udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
udp.setsockopt(socket.SOL_SOCKET, socket.SO_BROADCAST, 1)
while True:
    udp.sendto(bytes(1400), ("10.77.0.255", 9))
    time.sleep(0.001)
"""

CHACHA20 = "ECDHE-ECDSA-CHACHA20-POLY1305:ECDHE-RSA-CHACHA20-POLY1305"
AES_GCM = "ECDHE-ECDSA-AES128-GCM-SHA256:ECDHE-RSA-AES128-GCM-SHA256"


def command(*words):
    run = run_program(*words)
    check(run.returncode == 0, f"{' '.join(words)}: {run.stderr}")


def enter_namespace():
    libc = ctypes.CDLL(None, use_errno=True)
    check(libc.unshare(CLONE_NEWNET) == 0,
          f"no network namespace: {os.strerror(ctypes.get_errno())} "
          "(run it as root)")
    command("ip", "link", "set", "lo", "up")
    command("ip", "tuntap", "add", "dev", "tap0", "mode", "tap")
    command("ip", "address", "add", HERE + "/24", "dev", "tap0")
    command("ip", "link", "set", "tap0", "up")


class Exchange(Sandbox):
    """The sandbox, behind a TLS server with selectable ciphers."""

    command = (*ENDS_WITH_US, SANDBOX)

    def __init__(self, state, *options):
        ports = [word for name, _, _, port in SERVICES
                 for word in (f"--{name}-port", str(port))]
        super().__init__(state, "--levels", "60", *ports, *options)
        self.wait_ready()


class Lab:
    """A network with some services, and a board that is off."""

    def __init__(self, *options, chain="ec", ciphers=CHACHA20, image="any.elf",
                 seeded=True, dhcp=True, clock=True, peer=False, settings=()):
        self.folder = tempfile.mkdtemp()
        self.image = image
        self.page = None  # replaces the settings' page
        self.ids = []  # of boots
        self.wanted = [name for name, wish in (
            ("dhcp", dhcp), ("clock", clock), ("peer", peer)) if wish]
        self.chain, self.ciphers = chain, ciphers
        self.options = options
        self.settings = {
            "ws_url": f"wss://{HOST}:8443",
            "auth_url": f"https://{HOST}:8444",
            "base_url": f"https://{HOST}:8445",
            "client_id": "sandbox-client", "client_secret": "sandbox-secret",
            "put_network": "ETHEREUM", "put_address": "0xF1f2F3",
            "put_nickname": "From a board",
            "seed": os.urandom(32).hex() if seeded else "", **dict(settings)}
        self.processes = {}
        self.exchange = self.board = None

    def __enter__(self):
        try:
            enter_namespace()
            self.exchange = Exchange(self.folder, *self.options)
            self.begin_tls(self.chain, self.ciphers)
            for name in self.wanted:
                getattr(self, "begin_" + name)()
            self.boot()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        self.off()
        for process in list(self.processes):
            self.end(process)
        if self.exchange:
            self.exchange.kill()
        shutil.rmtree(self.folder)

    def off(self):
        if self.board:
            self.board.stop()
            self.ids += re.findall(r" boot id=(\d+)",
                                   "\n".join(self.board.lines))
            self.board = None

    def boot(self, **settings):
        """Turns the board (off and) on; its flash stays."""
        self.off()
        self.settings.update(settings)
        self.board = Board(self)

    def check_ids(self):
        """No two boots may have the same random numbers."""
        self.off()
        check(len(set(self.ids)) == len(self.ids), f"the same: {self.ids}")

    def read_flash(self):
        self.off()
        with open(self.path("flash.bin"), "rb") as file:
            return bytearray(file.read())

    def write_flash(self, data):
        self.off()
        with open(self.path("flash.bin"), "wb") as file:
            file.write(data)

    def path(self, name):
        return os.path.join(self.folder, name)

    def write(self, name, text):
        return write_file(self.path(name), text)

    def read(self, name):
        with open(self.path(name), encoding="utf-8", errors="replace") as file:
            return file.read()

    def open_log(self, name):
        return open(self.path(name + ".log"), "wb")

    def begin(self, name, *words):
        """Starts a service with the log NAME.log."""
        with self.open_log(name) as log:
            self.processes[name] = subprocess.Popen(
                ENDS_WITH_US + words, stdin=subprocess.DEVNULL, stdout=log,
                stderr=log)

    def end(self, name):
        process = self.processes.pop(name)
        process.terminate()
        try:
            process.wait(HANG_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()

    def begin_dhcp(self):
        self.begin("dhcp", "dnsmasq", "--no-daemon", "--no-hosts",
                   "--no-resolv", "--conf-file=/dev/null", "--pid-file=",
                   "--user=root", "--interface=tap0", "--bind-interfaces",
                   "--dhcp-range=10.77.0.10,10.77.0.20,1h",
                   f"--dhcp-option=option:ntp-server,{HERE}",
                   f"--address=/{HOST}/{HERE}", "--local=/invalid/",
                   "--dhcp-leasefile=" + self.path("leases"))

    def begin_clock(self):
        self.begin("clock", "chronyd", "-x", "-d", "-f", self.write(
            "chrony.conf", "local stratum 8\nallow all\ncmdport 0\n"
            f"bindcmdaddress /\nbindaddress {HERE}\nuser root\n"
            f"pidfile {self.path('chrony.pid')}\n"))

    def begin_frames(self):
        """Sends the board a long frame each millisecond."""
        self.begin("frames", sys.executable, "-c", FRAMES)

    def begin_peer(self):
        """The peer of the port conformance test; adds it to the settings."""
        process = subprocess.Popen(
            [*ENDS_WITH_US, sys.executable, "port/conform/peer.py", HERE],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.processes["peer"] = process
        words = process.stdout.readline().split()
        check(len(words) == 2, "peer.py names no ports")
        port, closed = words
        self.settings.update(peer=HOST, peer_port=port, closed_port=closed,
                             nowhere="nobody.invalid")

    def begin_tls(self, chain, ciphers=CHACHA20):
        text = ("foreground = yes\npid =\nsyslog = no\ndebug = info\n"
                "socket = l:SO_REUSEADDR=1\n")
        for name, port, inner, real in SERVICES:
            text += (f"[{name}]\naccept = {HERE}:{port}\n"
                     f"connect = 127.0.0.1:{inner}\n"
                     f"cert = {CERTIFICATES}/{chain}-chain.pem\n"
                     f"key = {CERTIFICATES}/{chain}.key\n"
                     f"ciphers = {ciphers}\nsessionCacheTimeout = 86400\n"
                     f"[{name}-inner]\nclient = yes\n"
                     f"accept = 127.0.0.1:{inner}\n"
                     f"connect = 127.0.0.1:{real}\n")
        self.begin("tls", "stunnel", self.write("stunnel.conf", text))

    def ciphers_seen(self):
        """The ciphers negotiated with the board: only that speaks TLS 1.2."""
        return set(re.findall(r"TLSv1\.2 ciphersuite: (\S+)",
                              self.read("tls.log")))


class Board:
    """The emulated board and the lines that it prints."""

    def __init__(self, lab):
        with open(lab.path("settings"), "wb") as file:
            file.write(lab.page or page(lab.settings))
        self.monitor = lab.path("monitor")
        self.lines = []
        self.at = 0  # the next line for wait()
        with lab.open_log("emulator") as log:
            self.process = subprocess.Popen(
                [*ENDS_WITH_US, "qemu-system-arm", "-M", BOARD,
                 "-icount", "shift=0",
                 "-display", "none", "-serial", "stdio", "-monitor",
                 f"unix:{self.monitor},server=on,wait=off",
                 "-semihosting-config", "enable=on,target=native",
                 "-kernel", os.path.abspath(os.path.join(IMAGES, lab.image)),
                 "-device", f"loader,file={lab.path('settings')},"
                 f"addr={SETTINGS_AT:#x},force-raw=on",
                 "-nic", "tap,ifname=tap0,script=no,downscript=no,"
                 "mac=02:00:00:00:00:01"],
                text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                stderr=log, cwd=lab.folder)
        self.reader = threading.Thread(target=self.take)
        self.reader.start()

    def take(self):
        for line in self.process.stdout:
            self.lines.append(line.rstrip("\n"))

    def stop(self):
        self.process.terminate()
        self.process.wait()
        self.reader.join()
        self.process.stdin.close()
        self.process.stdout.close()

    def command(self, text):
        """Gives the emulator's monitor a command; success prints nothing."""
        with socket.socket(socket.AF_UNIX) as monitor:
            monitor.settimeout(HANG_S)
            monitor.connect(self.monitor)
            for line in ("", text + "\n"):  # it sends a greeting
                monitor.sendall(line.encode())
                said = b""
                while not said.endswith(b"(qemu) "):
                    part = monitor.recv(4096)
                    check(part, f"{text}: the emulator has ended")
                    said += part
        answer = said.split(b"\r\n")[1:-1]  # after the echo
        check(not answer, f"{text}: {answer}")

    def press(self, key):
        self.process.stdin.write(key)
        self.process.stdin.flush()

    def wait(self, pattern, seconds=HANG_S):
        """Waits for the next line that matches; returns the match."""
        end = time.monotonic() + seconds
        while True:
            while self.at < len(self.lines):
                match = re.search(pattern, self.lines[self.at])
                self.at += 1
                if match:
                    return match
            check(self.process.poll() is None and time.monotonic() < end,
                  "\n".join([f"never: {pattern}", *self.lines[:30], "...",
                             *self.lines[-30:]]))
            time.sleep(0.05)

    def cut(self, pattern):
        """True if its power is cut before it prints this."""
        while self.process.poll() is None:
            if self.count(pattern):
                return False
            time.sleep(0.05)
        return True

    def count(self, pattern):
        return sum(bool(re.search(pattern, line)) for line in self.lines)

    def never_said(self, pattern):
        for line in self.lines:
            check(not re.search(pattern, line), line)

    def report(self):
        """The numbers of a new report by name; a/b/c becomes a list."""
        self.at = len(self.lines)
        self.press("r")
        words = self.wait(r" report (.*)").group(1).split()
        pairs = (word.split("=") for word in words)
        return {name: ([int(each) for each in value.split("/")]
                       if "/" in value else int(value))
                for name, value in pairs}
