"""`mini-stream doctor` before the session: names, connections, TLS and proxies,
each with one fault.

SPDX-License-Identifier: 0BSD
"""
import contextlib
import os
import socket
import tempfile

from doctor import (CERTIFICATES, SESSION_STEPS, Report, matches, run, serve,
                    to, waiting)
from e2e import (CONTROL, NETWORK, OK, check, equal, free_port, sandbox_of,
                 write_file)
from tinyproxy import LOGIN, Tinyproxy
from tls_certificates import ISSUER, SERVER, Certificates
from tls_lab import Server, server_of

# ---- The way to the servers ----

def test_name(sandbox):
    report = Report(NETWORK, *sandbox.arguments, "--auth-url",
                    "https://nobody.invalid")
    report.fails("dns", ".", "spelling|name server", "token")
    equal("DNS of nobody.invalid", report.failed()[0]["title"])
    equal(["not tried"] * 2, [report.status(name, "token")
                              for name in ("tcp", "tls")])
    equal("ok", report.status("tls", "stream"))
    equal({"not tried"}, {report.status(name) for name in SESSION_STEPS})


def test_silent_name_server(folder):
    """In a network namespace in which packets vanish."""
    report = waiting(
        "dns", NETWORK, *to(1), "--auth-url", "https://host.test",
        before=("unshare", "--map-root-user", "--mount", "--net", "sh", "-ec",
                r"""
                ip link add one type veth peer name other
                ip link set one up
                ip link set other up
                ip address add 192.0.2.5/24 dev one
                ip neighbour add 192.0.2.66 lladdr 02:00:00:00:00:66 \
                    nud permanent dev one
                mount --bind "$0" /etc/resolv.conf
                exec "$@" """,
                write_file(folder + "/resolv.conf", "nameserver 192.0.2.66\n")))
    failed = report.fails("dns", "(?i)timeout", "no name server", "token")
    check(900 <= failed["ms"], failed)


def test_first_failure(sandbox):
    """The first of several failures counts."""
    bad = ("--auth-url", "https://nobody.invalid", "--ws-url",
           f"wss://localhost:{free_port()}")
    report = Report(NETWORK, *sandbox.arguments, *bad)
    equal(["dns", "tcp"], [step["step"] for step in report.failed()])
    report.fails("dns", ".", "spelling|name server", "token")
    _, out, _ = run(*sandbox.arguments, *bad)
    matches(r"\nfirst failure: DNS of nobody.invalid\n", out)


def test_port(sandbox):
    """Nobody listens; steps that do not need the port are tried."""
    port = free_port()
    report = Report(NETWORK, *sandbox.arguments, "--ws-url",
                    f"wss://localhost:{port}")
    failed = report.fails("tcp", "connection refused", "listens", "stream")
    equal(f"TCP to localhost:{port}", failed["title"])
    equal(["ok", "ok", *["not tried"] * 3],
          [report.status(name) for name in SESSION_STEPS])


def test_some_addresses():
    """All addresses of a host are tried, and one is enough."""
    with sandbox_of("--host-name", "several.test") as sandbox:
        hosts = write_file(os.path.join(sandbox.state, "hosts"),
                           "127.0.0.7 several.test\n127.0.0.1 several.test\n")
        report = Report(
            OK, *sandbox.arguments, "--auth-url",
            sandbox.urls["auth_url"].replace("localhost", "several.test"),
            before=("unshare", "--map-root-user", "--mount", "sh", "-c",
                    'mount --bind "$0" /etc/hosts && exec "$@"', hosts))
        equal(["127.0.0.7", "127.0.0.1"],
              report.step("dns", "token")["addresses"])
        tcp = report.step("tcp", "token")
        equal("connected to 127.0.0.1 (1 of 2 addresses answer)", tcp["text"])
        equal([("127.0.0.7", "Connection refused"), ("127.0.0.1", None)],
              [(one["address"], one["error"]) for one in tcp["addresses"]])
        matches("^127.0.0.7: Connection refused, ", tcp["notes"][0])


def test_silence():
    """A server that accepts and sends nothing: the step times out."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        report = waiting("tls", NETWORK, *to(silent.getsockname()[1]))
        failed = report.fails("tls", "no answer", "says nothing", "token")
        check(900 <= failed["ms"], failed)


def test_not_answering():
    """A host that drops connections, because its queue is full."""
    with socket.socket() as full, contextlib.ExitStack() as stack:
        full.bind(("127.0.0.1", 0))
        full.listen(0)
        for _ in range(4):
            client = stack.enter_context(socket.socket())
            client.setblocking(False)
            client.connect_ex(full.getsockname())
        report = waiting("tcp", NETWORK, *to(full.getsockname()[1]))
        failed = report.fails("tcp", "no answer", "firewall", "token")
        equal(["no answer"], [one["error"] for one in failed["addresses"]])
        check(900 <= failed["ms"], failed)


# ---- TLS ----

def test_certificates():
    """The fault in plain words, and each certificate."""
    clock = r"the clock here says 20\d\d-"
    for name, chain, text, advice, count in (
            ("expired", "between-ec",
             "certificate of CN=expired expired 20.*; " + clock, "renew", 2),
            ("early", "between-ec",
             "certificate of CN=early is not valid before 20.*; " + clock,
             "clock", 2),
            ("old-chain", "old-between",
             "certificate of CN=old-between expired", "renew", 2),
            ("other", "between-ec",
             "is for other.example, not for localhost", "one of the names", 2),
            ("wildcard", "between-ec",
             r"is for \*, \*.localhost, not for localhost", "URL", 2),
            ("address", "between-ec", "is for 127.0.0.1, not for", "URL", 2),
            ("ec", None, "issuer CN=between-ec is unknown",
             "does not send all of its chain", 1),
            ("unknown", "unknown-root", "leads to CN=unknown-root, which is "
             "not trusted", "intercepts TLS", 2),
            ("forged", None, "issuer CN=root-ec is unknown", "--ca", 1),
            ("self-signed", None, "self-signed .CN=self-signed",
             "something answers", 1)):
        with serve(name, chain=chain) as server:
            report = Report(NETWORK, *to(server.port, free_port()))
        failed = report.fails("tls", text, advice, "token")
        equal(count, len(failed["certificates"]), name)
        ended = [one["days_left"] < 0 for one in failed["certificates"]]
        equal([name == "expired", name == "old-chain"][:count], ended, name)
        equal("expired" in text, "(ended)" in "".join(failed["notes"]), name)
        equal("unknown" in text or "trusted" in text or "self-" in text,
              failed["anchor"] is None, name)


def test_key_usage():
    """A key that may not sign. OpenSSL itself refuses it before TLS 1.3."""
    with serve("agrees", chain="between-ec") as server:
        report = Report(NETWORK, *to(server.port, free_port()), "--tls",
                        "openssl")
    report.fails("tls", "key ?usage does not include digital signature", "",
                 "token")


def test_ends_soon():
    """A warning is not a failure, and names the certificate."""
    with serve("ec", chain="between-ec") as server:
        report = waiting("tcp", NETWORK, *to(server.port, free_port()))
    tls = report.step("tls", "token")
    equal("warning", tls["status"])
    matches("ends soon", tls["text"])
    equal([0, 0], [one["days_left"] for one in tls["certificates"]])
    equal("CN=root-ec", tls["anchor"]["subject"])


def test_order():
    """BearSSL requires the certificates in the order of the chain."""
    CERTIFICATES.bundle("between-both", "between-384", "between-ec")
    with serve("ec", chain="between-both") as server:
        arguments = to(server.port, free_port())
        report = Report(NETWORK, *arguments)
        failed = report.fails("tls", "not sent in the order", "--tls openssl",
                              "token")
        equal(3, len(failed["certificates"]))
        report = waiting("tcp", NETWORK, *arguments, "--tls", "openssl")
        equal("warning", report.status("tls", "token"))
    CERTIFICATES.bundle("ec-anchor", "ec")
    with serve("ec", chain="between-both") as server:
        report = waiting("tcp", NETWORK,
                         *to(server.port, free_port(), "ec-anchor"))
        equal("warning", report.status("tls", "token"))


def test_new_alone():
    """A server with only TLS 1.3 works with OpenSSL, not with BearSSL."""
    with serve("ec", "-tls1_3", chain="between-ec") as server:
        report = Report(NETWORK, *to(server.port, free_port()))
        report.fails("tls", "^the server speaks TLS 1.3 only$",
                     "--tls openssl", "token")
        report = waiting("tcp", NETWORK, *to(server.port, free_port()),
                         "--tls", "openssl")
        equal("TLSv1.3", report.step("tls", "token")["tls_version"])
        equal("warning", report.status("tls", "token"))


def test_either_library():
    """The stream's library counts; the report also has the other's result."""
    make, localhost = CERTIFICATES.issue, SERVER.format("DNS:localhost")
    make("root-ended", "root-ended", ISSUER, valid=(-30, -1))
    make("root-v1", "root-v1", "")
    make("root-other", "root-other",
         ISSUER + "nameConstraints = permitted;DNS:other.example\n")
    for name in ("ended", "v1", "other"):
        make("of-" + name, "root-" + name,
             localhost.replace("authorityKeyIdentifier = keyid\n", ""))
    make("large", "root-ec", localhost, key="5120")
    make("edwards", "root-ec", localhost, key="ed25519")
    for name, anchors, options, bearssl, openssl in (
            ("of-ended", "root-ended", (), "", "expired"),
            ("of-v1", "root-v1", (), "issuer is not trusted", "invalid CA"),
            ("of-other", "root-other", (), "", "subtree"),
            ("large", "anchors", (), "certificate", ""),
            ("edwards", "anchors", (), "TLS handshake failed", ""),
            ("ec", "root-ec", ("-tls1_3",), "TLS 1.3 only|version", "")):
        with serve(name, *options, chain="between-ec" if options else None
                   ) as server:
            arguments = to(free_port(), server.port, anchors)
            for library, error, other in (("bearssl", bearssl, openssl),
                                          ("openssl", openssl, bearssl)):
                report = Report(NETWORK, *arguments, "--tls", library)
                step = report.step("tls", "stream")
                equal("failed" if error else "warning", step["status"], name)
                matches(error, step["text"])
                equal(not other, step["other_tls"]["works"], name)
                matches(f"fails.*: .*({other})" if other else
                        "works with --tls", "\n".join(step["notes"]))


def test_address_as_host():
    """Only OpenSSL supports certificates for addresses."""
    with serve("address", chain="between-ec") as server:
        report = waiting("tcp", NETWORK, *to(free_port()), "--tls", "openssl",
                         "--auth-url", f"https://127.0.0.1:{server.port}")
        equal("warning", report.status("tls", "token"))
        equal("DNS of 127.0.0.1", report.step("dns", "token")["title"])
    with serve("ec", chain="between-ec") as server:
        report = Report(NETWORK, *to(free_port()), "--tls", "openssl",
                        "--auth-url", f"https://127.0.0.1:{server.port}")
        report.fails("tls", "is for localhost, not for 127.0.0.1", "", "token")


def test_no_common_suite():
    with serve("rsa", "-tls1_2", "-cipher", "AES128-GCM-SHA256",
               chain="between-rsa") as server:
        report = Report(NETWORK, *to(server.port, free_port()))
    report.fails("tls", "TLS handshake failed", "suite", "token")


def saying(data):
    """A server's handler that reads something, sends this and ends."""
    def handler(connection):
        connection.recv(4096)
        connection.sendall(data)

    return handler


def test_no_tls():
    """HTTP instead of TLS."""
    with Server(saying(b"HTTP/1.1 400 Bad Request\r\n\r\n")) as server:
        report = Report(NETWORK, *to(server.port, free_port()))
    report.fails("tls", "TLS protocol error", "does not speak TLS", "token")


def test_hostile_certificate():
    """Control characters of a terminal in the names of a certificate."""
    with tempfile.TemporaryDirectory() as folder:
        certificates = Certificates(folder)
        certificates.issue("bad", "bad", SERVER.format("DNS:localhost"),
                           "\x1b[2J\u202e\x9b1m\x07")
        with server_of(certificates, "bad") as server:
            report = Report(NETWORK, *to(server.port, free_port()))
            status, out, _ = run(*to(server.port, free_port()))
    failed = report.fails("tls", "self-signed", "", "token")
    equal(1, len(failed["certificates"]))
    check(not CONTROL.search(failed["text"] + "".join(failed["notes"])), failed)
    equal(NETWORK, status, out)


# ---- A proxy ----

@contextlib.contextmanager
def proxy_of(*lines):
    with tempfile.TemporaryDirectory() as path, \
            Tinyproxy(path, *lines) as proxy:
        yield proxy


def test_proxy(sandbox, proxy):
    """Its steps come once, and a tunnel for each server."""
    report = Report(OK, *sandbox.arguments, "--proxy", proxy.url)
    equal(["configuration", "clock", "dns", "tcp", "proxy", "tls", "proxy",
           "tls", *SESSION_STEPS], report.names())
    for endpoint, url in (("token", "auth_url"), ("stream", "ws_url")):
        step = report.step("proxy", endpoint)
        server = sandbox.urls[url].split("//")[1].rstrip("/")
        equal((f"CONNECT to {server} by the proxy 127.0.0.1:{proxy.port}",
               200), (step["title"], step["http_status"]))
    equal(f"TCP to the proxy 127.0.0.1:{proxy.port}",
          report.step("tcp", "token")["title"])
    check(f"proxy for {server}: 127.0.0.1:{proxy.port} (option)" in
          report.step("configuration")["notes"], report.steps[0])
    check(len(proxy.tunnels()) >= 4, proxy.tunnels())


def test_proxy_refuses():
    with sandbox_of() as sandbox, proxy_of("ConnectPort 1") as proxy:
        bare = proxy.url.replace(LOGIN + "@", "")
        for url, text, advice, status in (
                (proxy.url, "proxy refuses", "allow CONNECT", 403),
                (bare, "other credentials", "user name", 407),
                (proxy.url.replace("s%33", "S%33"), "other credentials",
                 "user name", 401)):
            report = Report(NETWORK, *sandbox.arguments, "--proxy", url)
            failed = report.fails("proxy", text, advice, "token")
            equal(status, failed["http_status"])
            equal("not tried", report.status("tls", "token"))


def test_proxy_not_there(sandbox):
    report = Report(NETWORK, *sandbox.arguments, "--proxy",
                    f"127.0.0.1:{free_port()}")
    report.fails("tcp", "connection refused", "", "token")
    equal(["not tried"] * 4, [report.status(name, endpoint)
                              for endpoint in ("token", "stream")
                              for name in ("proxy", "tls")])
    report = Report(NETWORK, *sandbox.arguments, "--proxy",
                    "nobody.invalid:3128")
    report.fails("dns", ".", "", "token")
    equal("DNS of the proxy nobody.invalid", report.failed()[0]["title"])


def test_proxy_and_no_server(sandbox, proxy):
    report = Report(NETWORK, *sandbox.arguments, "--proxy", proxy.url,
                    "--auth-url", f"https://localhost:{free_port()}")
    report.fails("proxy", "cannot reach the host", "proxy itself", "token")
    equal("ok", report.status("tls", "stream"))


def test_proxy_that_is_none():
    def silent(connection):
        while connection.recv(4096):
            pass

    for handler, text, advice in (
            (silent, "does not answer", "does not answer"),
            (saying(b"HTTP/1.1 403 \x1b[2J\xc2\x9b\r\n\r\n"),
             "proxy refuses: HTTP/1.1 403", "CONNECT"),
            (saying(b"SSH-2.0-something\r\n\r\n"), "SSH-2.0",
             "no HTTP proxy")):
        with Server(handler) as server:
            report = waiting("proxy", NETWORK, *to(free_port()), "--proxy",
                             f"http://{LOGIN}@127.0.0.1:{server.port}")
        report.fails("proxy", text, advice, "token")


def test_no_proxy(sandbox, proxy):
    """The environment's proxy and its exceptions, as for the stream."""
    report = Report(OK, *sandbox.arguments, HTTPS_PROXY=proxy.url)
    check("proxy" not in report.names(), report.names())
    matches("proxy for localhost:.*: none",
            report.step("configuration")["notes"][-1])
    other = ("--auth-url", "https://else.invalid")
    for names, proxied in (("", True), ("example.com", True),
                           ("*", False), (".invalid", False),
                           ("else.invalid:443", False),
                           ("else.invalid:444", True)):
        report = Report(NETWORK, *sandbox.arguments, *other,
                        HTTPS_PROXY=proxy.url, NO_PROXY=names)
        report.fails("proxy" if proxied else "dns", ".", "", "token")
        check(("proxy" in report.names()) == proxied, names)
