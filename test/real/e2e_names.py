"""Names and addresses in a network namespace: the POSIX port with c-ares and
with the C library's resolver, against a name server controlled by the test, and
with addresses whose packets vanish.

It restarts itself in new namespaces (unshare), in which resolv.conf, hosts and
nsswitch.conf are files of the test.

SPDX-License-Identifier: 0BSD
"""
import contextlib
import ipaddress
import os
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time

from e2e import BUILD, HANG_S, check, write_file

AT_ONCE = 1
RUN_NAMES = os.path.join(BUILD, "test/real/run_names")
RESOLVERS = ("cares", "threads")
ERR_RESOLVE = "error -102 "
A, CNAME, AAAA = 1, 5, 28
NXDOMAIN, SERVFAIL = 3, 2
TRUNCATED = 0x0200

# Our addresses, and unused ones: packets to the unused ones vanish.
OWN4, OWN6 = "192.0.2.5", "2001:db8::5"
LOST4, LOST6 = "192.0.2.66", "2001:db8::66"
NETWORK = f"""
ip link set lo up
ip link add one type veth peer name other
ip link set one up
ip link set other up
ip address add {OWN4}/24 dev one
ip -6 address add {OWN6}/32 dev one nodad
ip neighbour add {LOST4} lladdr 02:00:00:00:00:66 nud permanent dev one
ip -6 neighbour add {LOST6} lladdr 02:00:00:00:00:66 nud permanent dev one
"""
FOLDER = None  # of the files of /etc


def name_of(text):
    return b"".join(bytes([len(label)]) + label.encode()
                    for label in text.split(".")) + b"\0"


def record(name, kind, data):
    return name + struct.pack(">HHIH", kind, 1, 60, len(data)) + data


def address_records(name, kind, addresses):
    return [record(name, kind, ipaddress.ip_address(text).packed)
            for text in addresses
            if (":" in text) == (kind == AAAA) and kind in (A, AAAA)]


class Query:
    """A query, and the responses to it."""

    def __init__(self, data):
        self.id = data[:2]
        end = data.index(b"\0", 12)
        self.question = data[12:end + 5]
        self.kind = struct.unpack(">H", data[end + 1:end + 3])[0]
        labels, at = [], 12
        while data[at]:
            labels.append(data[at + 1:at + 1 + data[at]].decode().lower())
            at += 1 + data[at]
        self.name = ".".join(labels)

    def answer(self, records=(), flags=0, number=None, question=None):
        return ((number or self.id) +
                struct.pack(">HHHHH", 0x8180 | flags, 1, len(records), 0, 0) +
                (question or self.question) + b"".join(records))

    def addresses(self, *addresses, name=b"\xc0\x0c"):
        return self.answer(address_records(name, self.kind, addresses))


def chain(length, last):
    """A chain of aliases of this length."""
    def answer(query):
        names = [b"\xc0\x0c"] + [name_of(f"n{i}.chain.test")
                                 for i in range(length)]
        records = [record(name, CNAME, names[i + 1])
                   for i, name in enumerate(names[:-1])]
        return query.answer(
            records + address_records(names[-1], query.kind, last))
    return answer


def by_tcp(answer):
    """Truncated by UDP, whole by TCP."""
    return (lambda query: query.answer(flags=TRUNCATED), answer)


def tampered(*before):
    """These responses, followed by the right one."""
    def answers(query):
        return [make(query) for make in before] + [query.addresses(OWN4, OWN6)]
    return answers


def loop(query):
    return query.answer([
        record(b"\xc0\x0c", CNAME, name_of("loop2.test")),
        record(name_of("loop2.test"), CNAME, name_of("loop.test"))])


FORGED = "203.0.113.66"
MANY = [f"192.0.2.{n}" for n in range(100, 140)]

# The responses to each name: a function, or one for UDP and one for TCP. It
# returns one response or several.
ZONE = {
    "both.test": lambda q: q.addresses(OWN4, OWN6),
    "four.test": lambda q: q.addresses("192.0.2.1", "192.0.2.2"),
    "six.test": lambda q: q.addresses("2001:db8::1"),
    "alias.test": lambda q: q.answer(
        [record(b"\xc0\x0c", CNAME, name_of("both.test"))] +
        address_records(name_of("both.test"), q.kind, (OWN4, OWN6))),
    "mixed.test": lambda q: q.addresses(
        "192.0.2.1", "192.0.2.2", "2001:db8::1", "2001:db8::2"),
    "far.test": lambda q: q.addresses("198.51.100.1", OWN6, OWN4),
    "lost6.test": lambda q: q.addresses(OWN4, LOST6),
    "lost4.test": lambda q: q.addresses(LOST4, OWN6),
    "lost.test": lambda q: q.addresses(LOST4, LOST6),
    "failing.test": lambda q: q.answer(flags=SERVFAIL),
    "silent.test": lambda q: None,
    "tcp.test": by_tcp(lambda q: q.addresses(OWN4)),
    "big.test": by_tcp(lambda q: q.addresses(*MANY)),
    "cut.test": by_tcp(lambda q: None),
    "loop.test": loop,
    "chain.test": chain(3, (OWN4, OWN6)),
    "long.test": by_tcp(chain(1500, (OWN4, OWN6))),
    "forged-id.test": tampered(lambda q: q.answer(
        address_records(b"\xc0\x0c", q.kind, [FORGED]),
        number=bytes([q.id[0] ^ 1, q.id[1]]))),
    "forged-name.test": tampered(lambda q: q.answer(
        address_records(b"\xc0\x0c", q.kind, [FORGED]),
        question=name_of("other.test") + q.question[-4:])),
    "empty.test": tampered(lambda q: b""),
    # The name in the response points to itself.
    "pointer.test": lambda q: q.answer(
        [record(struct.pack(">H", 0xC000 | 12 + len(q.question)), A,
                bytes(4))]),
    "beyond.test": lambda q: q.answer(
        [b"\xc0\x0c" + struct.pack(">HHIH", q.kind, 1, 60, 65535) + b"\1"]),
    "short.test": lambda q: q.answer([record(b"\xc0\x0c", q.kind, b"\1\2")]),
    "garbage.test": lambda q: q.id + bytes(range(128, 200)),
}


def replies_to(data, tcp):
    query = Query(data)
    found = ZONE.get(query.name)
    if found is None:
        return [query.answer(flags=NXDOMAIN)]
    if isinstance(found, tuple):
        found = found[tcp]
    replies = found(query)
    return replies if isinstance(replies, list) else [replies]


def serve_udp(server):
    while True:
        data, peer = server.recvfrom(4096)
        for reply in replies_to(data, False):
            if reply is not None:
                server.sendto(reply, peer)


def serve_tcp(listener):
    while True:
        peer, _ = listener.accept()
        with peer, contextlib.suppress(OSError, struct.error, ValueError):
            while True:
                head = peer.recv(2, socket.MSG_WAITALL)
                data = peer.recv(struct.unpack(">H", head)[0],
                                 socket.MSG_WAITALL)
                reply = replies_to(data, True)[0]
                if reply is None:
                    break
                peer.sendall(struct.pack(">H", len(reply)) + reply)


def serve():
    udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    udp.bind(("127.0.0.1", 53))
    tcp = socket.create_server(("127.0.0.1", 53))
    for run, of in ((serve_udp, udp), (serve_tcp, tcp)):
        threading.Thread(target=run, args=(of,), daemon=True).start()


def etc(hosts="", order="files dns", more="", server="127.0.0.1", wait_s=10):
    """Writes the files of /etc. Resolvers wait so long for an answer."""
    for name, text in (
            ("hosts", hosts), ("nsswitch.conf", f"hosts: {order}\n"),
            ("resolv.conf", f"nameserver {server}\n"
             f"options timeout:{wait_s} attempts:1 retrans:{wait_s}000 "
             "retry:1\n" + more)):
        write_file(os.path.join(FOLDER, name), text)


def begin(*words, leaks=True):
    # A thread that was given up keeps its memory for a while.
    leaks = leaks and words[0] != "threads"
    return subprocess.Popen(
        [RUN_NAMES, *map(str, words)], text=True, stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, "ASAN_OPTIONS": f"detect_leaks={leaks:d}"})


def end(process):
    said, _ = process.communicate(timeout=HANG_S)
    check(process.returncode == 0, f"{process.args}: {process.returncode}")
    return said.strip()


def run(*words, leaks=True):
    return end(begin(*words, leaks=leaks))


def expect(host, *addresses, resolvers=RESOLVERS):
    """Expects these addresses in this order, or an error that begins so."""
    for resolver in resolvers:
        got = run(resolver, "resolve", host, 80)
        want = " ".join(addresses)
        check(got.startswith(want) if want.startswith("error") else
              got == want, f"{resolver}, {host}: {got!r} and not {want!r}")


def expect_all(*steps):
    """Each step is a host and its addresses, or settings of the files."""
    etc()
    for step in steps:
        if isinstance(step, dict):
            etc(**step)
        else:
            expect(*step)


def test_families_take_turns():
    etc()
    for resolver in RESOLVERS:
        got = run(resolver, "resolve", "mixed.test", 80).split()
        check([":" in text for text in got] == [True, False, True, False],
              f"{resolver}: {got}")


def test_hosts_in_the_order_of_nsswitch():
    hosts = ("# both.test\n192.0.2.77\tboth.test  other.test # four.test\n"
             "2001:db8::77 OTHER.test\nnonsense third.test\n")
    etc(hosts)
    expect("both.test", "192.0.2.77")
    expect("other.test", "2001:db8::77", "192.0.2.77")
    expect("four.test", "192.0.2.1", "192.0.2.2")
    expect("third.test", ERR_RESOLVE)
    etc(hosts, order="dns files")
    expect("both.test", OWN6, OWN4)
    expect("other.test", "2001:db8::77", "192.0.2.77")
    etc(hosts, order="dns")
    expect("other.test", ERR_RESOLVE)
    # c-ares ignores words that it does not know.
    etc(hosts, order="mdns4_minimal [NOTFOUND=return] files ldap dns",)
    expect("both.test", "192.0.2.77", resolvers=("cares",))
    expect("four.test", "192.0.2.1", "192.0.2.2", resolvers=("cares",))


def test_localhost_and_numbers():
    etc("127.0.0.1 localhost\n")
    expect("localhost", "127.0.0.1")
    etc("127.0.0.1 localhost\n::1 localhost\n")
    expect("localhost", "::1", "127.0.0.1")
    etc()
    # RFC 6761. c-ares 1.18 leaks the ten bytes of the name.
    got = run("cares", "resolve", "localhost", 80, leaks=False)
    check(got == "::1 127.0.0.1", got)
    expect("192.0.2.9", "192.0.2.9")
    expect("2001:db8::9", "2001:db8::9")


def test_configuration_is_read_anew():
    """While the program runs."""
    hosts = "192.0.2.7 both.test\n"
    steps = (({"hosts": hosts}, "192.0.2.7"),
             ({"hosts": hosts.replace("7", "8")}, "192.0.2.8"),
             ({"hosts": hosts, "order": "dns"}, f"{OWN6} {OWN4}"),
             ({"server": "127.0.0.9", "wait_s": 1}, ERR_RESOLVE),
             ({}, f"{OWN6} {OWN4}"))
    etc()
    processes = [begin(resolver, "resolve", "both.test", 80)
                 for resolver in RESOLVERS]
    for process in processes:
        process.stdout.readline()
    for settings, want in steps:
        etc(**settings)
        for process in processes:
            process.stdin.write("\n")
            process.stdin.flush()
            got = process.stdout.readline()
            check(got.startswith(want),
                  f"{process.args[1]}, {settings}: {got!r}")
    for process in processes:
        end(process)


def test_truncated_answer_comes_by_tcp():
    etc()
    for resolver in RESOLVERS:
        got = run(resolver, "resolve", "big.test", 80).split()
        check(len(got) == 16 and set(got) < set(MANY), f"{resolver}: {got}")
    etc(wait_s=1)
    expect("cut.test", ERR_RESOLVE)


def test_forged_answers_are_passed_over():
    etc()
    expect("forged-id.test", OWN6, OWN4)
    expect("forged-name.test", OWN6, OWN4)
    expect("empty.test", OWN6, OWN4, resolvers=("cares",))


def test_damaged_answers_are_errors():
    etc(wait_s=1)
    for host in ("pointer.test", "beyond.test", "short.test", "garbage.test"):
        expect(host, ERR_RESOLVE)
    expect("loop.test", "error")
    for resolver in RESOLVERS:
        got = run(resolver, "resolve", "long.test", 80)
        check(got.startswith("error") or got == f"{OWN6} {OWN4}",
              f"{resolver}: {got!r}")


def test_silent_server_is_given_up_at_once():
    """c-ares needs no thread."""
    etc(more="options timeout:30 attempts:5 retrans:30000 retry:5\n")
    for resolver in RESOLVERS:
        words = run(resolver, "close", "silent.test", 80).split()
        found = dict(zip(words[::2], map(int, words[1::2])))
        check((found["descriptors"] > 0) == (resolver == "threads"),
              f"{resolver}: {found}")  # the thread still has its own
        check(found["threads"] == 1 + (resolver == "threads"),
              f"{resolver}: {found}")
        check(found["ms"] < 120000, f"{resolver}: {found}")
    etc(wait_s=1)
    expect("silent.test", ERR_RESOLVE)


@contextlib.contextmanager
def listening(address):
    """A server that accepts all connections and sends nothing."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    with socket.create_server((address, 0), family=family,
                              backlog=64) as server:
        yield server.getsockname()[1]


def expect_connected(host, address, least_s, count=1):
    for resolver in RESOLVERS:
        for mode in ("wait", "own"):
            with listening(address) as port:
                begin_s = time.monotonic()
                words = run(resolver, mode, host, port, count).split()
                passed_s = time.monotonic() - begin_s
            what = f"{resolver}, {mode}, {host}: {words} in {passed_s:.3f} s"
            check(words[0] == address, what)
            # TCP itself gives up after about two minutes.
            check(least_s <= passed_s < 110, what)
            # A few waits for each, and none that returns at once.
            check(int(words[2]) < 30 * count, what)


def test_family_whose_packets_vanish_costs_its_head_start():
    etc()
    expect_connected("lost6.test", OWN4, 0.25)
    expect_connected("both.test", OWN6, 0)
    expect_connected("tcp.test", OWN4, 0)
    etc(f"{LOST6} inhosts.test\n{OWN4} inhosts.test\n")
    expect_connected("inhosts.test", OWN4, 0.25)


def test_many_get_past_what_vanishes():
    etc()
    expect_connected("lost6.test", OWN4, 0.25, count=12)
    expect_connected("tcp.test", OWN4, 0, count=12)


def test_waits_end_with_the_resolver():
    """Only the descriptors and timers of c-ares wake them up."""
    etc(wait_s=1)
    with listening(OWN4) as port:
        for mode in ("wait", "own"):
            for count in (1, 12):
                for resolver in RESOLVERS:
                    got = run(resolver, mode, "silent.test", port, count)
                    check(got.startswith(ERR_RESOLVE), f"{resolver}: {got}")
                    got = run(resolver, mode, "cut.test", port, count)
                    check(got.startswith(ERR_RESOLVE), f"{resolver}: {got}")


TESTS = [
    ("addresses of both families", expect_all, ("both.test", OWN6, OWN4),
     ("four.test", "192.0.2.1", "192.0.2.2"), ("six.test", "2001:db8::1"),
     ("alias.test", OWN6, OWN4), ("chain.test", OWN6, OWN4)),
    # Own addresses come first; unreachable ones are left out.
    ("order is that of rfc 6724", expect_all,
     ("far.test", OWN6, OWN4, "198.51.100.1")),
    ("names that have none", expect_all,
     ("nobody.test", ERR_RESOLVE + "detail -2"),
     ("failing.test", ERR_RESOLVE + "detail -3"),
     ("a" * 64 + ".test", ERR_RESOLVE), ("a..test", ERR_RESOLVE)),
    ("short names have a domain", expect_all,
     {"more": "search nowhere.test test\n"}, ("both", OWN6, OWN4),
     ("nobody", ERR_RESOLVE)),
    ("server that is not there", expect_all,
     {"server": "127.0.0.9", "wait_s": 1}, ("both.test", ERR_RESOLVE),
     {"server": "127.0.0.9", "more": "nameserver 127.0.0.1\n", "wait_s": 1},
     ("both.test", OWN6, OWN4))]


@contextlib.contextmanager
def around():
    global FOLDER
    if os.environ.get("MST_NAMESPACE") is None:
        words = ["unshare", "--map-root-user", "--mount", "--net",
                 sys.executable, *sys.argv]
        os.execvpe(words[0], words, {**os.environ, "MST_NAMESPACE": "1"})
    with tempfile.TemporaryDirectory() as FOLDER:
        etc()
        subprocess.run(["sh", "-ec", NETWORK], check=True)
        for name in ("hosts", "nsswitch.conf", "resolv.conf"):
            subprocess.run(["mount", "--bind", os.path.join(FOLDER, name),
                            "/etc/" + name], check=True)
        serve()
        yield
