"""Runs mini-stream against the TLS of OpenSSL: against s_server if a handshake
and one exchange are enough, against Python's ssl module if the server must
misbehave.

interop_openssl.py uses the functions of this file, too.
SPDX-License-Identifier: 0BSD
"""
import contextlib
import functools
import re
import socket
import ssl
import sys
import tempfile
import time

from e2e import ACCESS, CONFIG, NETWORK, equal, milliseconds
from e2e import SERVICE as SERVICE_FAULT
from tls_certificates import make_certificates
from tls_lab import (Peer, Process, SERVICE, Server, Tool, hang_up, matches,
                     server_of, upgrade)

FOLDER = tempfile.TemporaryDirectory()
CERTIFICATES = make_certificates(FOLDER.name)
SUITES = {auth + "-" + suite for auth in ("ECDHE-ECDSA", "ECDHE-RSA")
          for suite in ("AES128-GCM-SHA256", "AES256-GCM-SHA384",
                        "CHACHA20-POLY1305")}

# mini-stream's TLS, the stage of its TLS errors, and the beginning of the
# detail for a certificate that is not valid at this time.
TLS, STAGE, TIME = "fast", "tls", "54"


# ---- What the user sees ----

def start(auth_port, ws_port=1, *more, host="localhost", ca="anchors"):
    return Tool(FOLDER.name, CERTIFICATES.path(ca + ".pem"),
                ["--auth-url", f"https://{host}:{auth_port}",
                 "--ws-url", f"wss://localhost:{ws_port}", "--tls", TLS,
                 *(more or ["-c", "heartbeat"])])


def permanent(port, status, line, meanwhile=None, **options):
    """Expects this error once, then the end at once with this status."""
    with start(port, **options) as tool:
        if meanwhile:
            meanwhile(tool)
        tool.finish(status)
        said = tool.failures()
        equal(len(said), 1, f"errors in {said}")
        matches(f"^{line}, .*permanent", said[0], "error")
        matches("^last error: " + line, tool.out(), "summary")
        equal("open -" in tool.err(), False, "opened")
    return said[0]


def passing(port, line, status=NETWORK):
    """Expects this error, and further attempts until the time is up."""
    for seconds in ("1", "10", "100"):  # more only if this machine is slow
        with start(port, 1, "-c", "heartbeat", "--seconds", seconds) as tool:
            tool.wait()
            said = tool.failures()
        if said:
            break
    tool.finish(status)
    for each in said or [""]:
        matches(f"^{line}, .*next attempt in", each, "error")
    matches("^last error: " + line, tool.out(), "summary")


# ---- Handshakes with openssl s_server ----

REFUSAL = '{"error":"invalid_client"}'
REFUSED = (r'token was refused: "invalid_client" '
           r'\(stage token, HTTP status 401\)')


# s_server's second certificate.
SECOND = ("-cert2", CERTIFICATES.path("rsa.pem"), "-key2",
          CERTIFICATES.path("rsa.key"))


serve = functools.partial(server_of, CERTIFICATES)


def exchange(server, **options):
    """A request arrives and its response returns, both decrypted."""
    def answer(tool):
        server.until("grant_type=client_credentials", tool.process)
        server.write("HTTP/1.1 401 Unauthorized\r\nContent-Type: "
                     "application/json\r\nContent-Length: "
                     f"{len(REFUSAL)}\r\n\r\n{REFUSAL}")

    permanent(server.port, ACCESS, REFUSED, answer, **options)
    matches(r"^POST /oauth2/token HTTP/1.1\r$", server.text(), "request")


def good(certificate, *arguments, cipher="ECDHE-", chain=None, **options):
    with serve(certificate, *arguments,
               chain=chain or "between-" + certificate) as server:
        exchange(server, **options)
        server.until(f"^CIPHER is {cipher}")
        matches("Secure Renegotiation IS supported", server.text(), "session")


def offered():
    """nothing is offered but ECDHE with AEAD"""
    with serve("ec", "-cipher", "ALL:COMPLEMENTOFALL:@SECLEVEL=0",
               chain="between-ec") as server:
        exchange(server)
        shared = server.until(r"^Shared ciphers:(\S+)").group(1)
        equal(set(re.findall(r"ECDHE-[A-Z]+-[A-Z0-9-]+|[^:]+", shared)),
              SUITES, "suites")


def bad_certificate(certificate, line, chain="between-ec", **options):
    """The certificate is refused before a request is sent."""
    with serve(certificate, chain=chain) as server:
        said = permanent(server.port, NETWORK, line, **options)
        equal("POST" in server.text(), False, "a request was sent")
    return said


def bad_time(certificate, chain="between-ec"):
    before = int(time.time())
    said = bad_certificate(
        certificate, r"certificate is not valid at this time "
        rf"\(stage {STAGE}, detail {TIME}, this machine's clock says \S+\)", chain)
    clock = milliseconds(re.search(r"says (\S+)\)", said).group(1)) // 1000
    equal(before <= clock <= time.time(), True, f"clock of {said}")


def refused(line, *arguments, certificate="ec", always=False, chain=None):
    """The server refuses what mini-stream offers, or the reverse."""
    with serve(certificate, *arguments,
               chain=chain or "between-" + certificate) as server:
        if always:
            permanent(server.port, NETWORK, line)
        else:
            passing(server.port, line)
        equal("POST" in server.text(), False, "a request was sent")


def renegotiate(command, *arguments):
    """s_server renegotiates once it has the request. Returns its messages up to
    the end of the connection, and mini-stream's error."""
    with serve("ec", "-msg", *arguments, chain="between-ec") as server, \
            start(server.port) as tool:
        server.until("grant_type=client_credentials", tool.process)
        server.write(command)
        tool.until(tool.err, "closed - ")
        first = server.until(r"(?s)^.*?grant_type.*?ERROR").group()
        tool.end()
        said = tool.failures()[0]
    matches(r"<<< .*Alert.*warning no_renegotiation", first, "client")
    equal(len(re.findall("<<< .*ClientHello", first)), 1, "ClientHellos")
    return first, said


def renegotiation(command):
    first, said = renegotiate(command)
    matches(r"^TLS handshake failed \(stage token, detail 296\), .*, next",
            said, "error")
    matches(r">>> .*HelloRequest", first, "server")


# ---- A server in Python ----

def serving(handler, segment=None, certificate="ec", new=False):
    """A server of handler(peer) after the handshake. new: only TLS 1.3."""
    context = CERTIFICATES.context(certificate)
    if new:
        context.minimum_version = ssl.TLSVersion.TLSv1_3

    def handle(connection):
        peer = Peer(connection, context, segment)
        peer.handshake()
        handler(peer)

    return Server(handle)


def reply(body, status="200 OK", length=True):
    return (f"HTTP/1.1 {status}\r\nContent-Type: application/json\r\n"
            + (f"Content-Length: {len(body)}\r\n" if length else "")
            + f"\r\n{body}").encode()


def token(padding=0):
    return ('{"access_token":"TOKEN","expires_in":3600,"token_type":"bearer",'
            f'"padding":"{"x" * padding}"}}')


def answering(data, notify=False, **how):
    """A handler that reads a request, sends this and ends."""
    def handler(peer):
        peer.request()
        peer.send(data, **how)
        peer.end(notify)

    return handler


def records(size, segment=None, padding=0):
    """A response in records of this size."""
    data = reply('{"padding":"' + "x" * padding + '","error":'
                 '"invalid_client"}', "401 Unauthorized")
    with serving(answering(data, True, record=size), segment) as server:
        permanent(server.port, ACCESS, REFUSED)


def ends(line, data, notify, status=NETWORK):
    """The connection ends in stage token, after this data."""
    with serving(answering(data, notify)) as server:
        passing(server.port, line + r" \(stage token.*\)", status)


def ends_complete():
    """a response that its end delimits needs a close_notify"""
    body = reply(REFUSAL, "401 Unauthorized", length=False)
    with serving(answering(body, True)) as server:
        permanent(server.port, ACCESS, REFUSED)
    ends("TLS ended without close_notify", body, False)


def ends_in_handshake():
    """an end in the handshake"""
    def handler(connection):
        connection.recv(5)
        hang_up(connection)

    with Server(handler) as server:
        passing(server.port, r"TLS ended without close_notify "
                rf"\(stage {STAGE}\)")


def give_token(peer):
    peer.request()
    peer.send(reply(token()))


@contextlib.contextmanager
def streaming(stream, auth=give_token):
    """mini-stream with a stream and a token endpoint of these handlers."""
    with serving(stream) as server, serving(auth) as auth_server, \
            start(auth_server.port, server.port) as tool:
        yield tool


def ends_in_stream(line, notify):
    """The connection ends after the upgrade; a new one follows."""
    def stream(peer):
        peer.send(upgrade(peer.request()))
        peer.read()
        peer.end(notify)

    with streaming(stream) as tool:
        tool.until(tool.err, r"open - generation 2$")
        tool.end()
        matches(f"^{line} " + r"\(stage open\), .*, next attempt in",
                tool.failures()[0], "error")


def says_goodbye():
    """mini-stream ends with a close_notify, after a reply and in a stream"""
    ends = []

    def auth(peer):
        give_token(peer)
        ends.append(peer.closed())

    def stream(peer):
        peer.send(upgrade(peer.request()))
        ends.append(peer.closed())

    with streaming(stream, auth) as tool:
        tool.until(tool.err, "open - ")
        tool.end()
    equal(ends, [True, True], "close_notify")


def forged():
    """a record with one bit changed"""
    with serving(answering(reply(REFUSAL), damage=True)) as server:
        passing(server.port, r"TLS protocol error \(stage token, detail -?\d+\)")


def name_indication():
    """the name is sent, as server name indication"""
    names = []
    context = CERTIFICATES.context("ec")
    context.sni_callback = lambda _, name, __: names.append(name)

    answer = answering(reply(REFUSAL, "401 Unauthorized"))
    with Server(lambda each: answer(Peer(each, context))) as server:
        permanent(server.port, ACCESS, REFUSED)
    equal(names, ["localhost"], "names")


def plaintext(greeting, first):
    """A server of another protocol than TLS."""
    def handler(connection):
        if not first:
            connection.recv(1)
        connection.sendall(greeting)
        hang_up(connection)

    with Server(handler) as server:
        passing(server.port,
                rf"TLS protocol error \(stage {STAGE}, detail -?\d+\)")


def old_hello():
    """a ServerHello of TLS 1.1"""
    hello = b"\x03\x02" + bytes(32) + b"\0\xc0\x09\0"
    record = (b"\x16\x03\x02" + (len(hello) + 4).to_bytes(2, "big") + b"\x02" +
              len(hello).to_bytes(3, "big") + hello)

    def handler(connection):
        connection.recv(4096)
        connection.sendall(record)
        while connection.recv(4096):
            pass

    with Server(handler) as server:
        permanent(server.port, NETWORK,
                  r"server refuses TLS 1\.2 "
                  rf"\(stage {STAGE}, detail -?\d+\)")


def address_host(auth_host, ws_host):
    """The address is refused before any traffic."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        urls = f"wss://{ws_host}:{port}", f"https://{auth_host}:{port}"
        with Tool(FOLDER.name, CERTIFICATES.path("anchors.pem"),
                  ["--ws-url", urls[0], "--auth-url", urls[1],
                   "-c", "heartbeat"]) as tool:
            tool.finish(CONFIG)
            wrong = (f"ws_url {urls[0]}" if auth_host == "localhost" else
                     f"auth_url {urls[1]}")
            equal(tool.err(), f"mini-stream: {wrong}: an IP address as host "
                  "under TLS: give --tls openssl, or name the host\n", "stderr")
        listener.setblocking(False)
        try:
            listener.accept()
        except BlockingIOError:
            return
        raise AssertionError("it connected")


# ---- Short handshakes ----

UNAVAILABLE = "HTTP/1.1 503 Later\r\nContent-Length: 0\r\n\r\n"


def resumed_by_openssl(reused, *arguments):
    """Several attempts at one s_server: this number of short handshakes."""
    with serve("ec", *arguments, chain="between-ec") as server, \
            start(server.port) as tool:
        for attempt in range(1, 4):
            server.until("(?s)(grant_type=client_credentials.*){%d}" % attempt,
                         tool.process)
            short = server.text().count("\nReused session-id")
            server.write(UNAVAILABLE)
        tool.until(tool.err, "(?s)(closed - .*){3}")
        tool.end()
        equal(short, reused, "reused")
        for said in tool.failures():
            matches("HTTP status 503", said, "error")


def session_context():
    """A context with its own sessions, for both servers."""
    context = CERTIFICATES.context("ec")
    context.maximum_version = ssl.TLSVersion.TLSv1_2
    context.options |= ssl.OP_NO_TICKET
    return context


def streams_end(expected, shared=True, damaged=None):
    """Three streams end, one of them with a damaged record. If shared is false,
    a server forgets its sessions. expected: True for each short handshake of
    the stream's server."""
    short = {"auth": [], "stream": []}
    context = session_context()

    def serving_sessions(host, handler):
        def handle(connection):
            peer = Peer(connection, context if shared else session_context())
            peer.handshake()
            short[host].append(peer.tls.session_reused)
            handler(peer)

        return Server(handle)

    def auth(peer):
        give_token(peer)
        peer.close_notify()  # otherwise the session is dropped

    def stream_end(peer):
        peer.send(upgrade(peer.request()))
        peer.read()
        bad = len(short["stream"]) == damaged
        if bad:
            peer.send(b"\x81\x02{}", damage=True)
        peer.end(notify=not bad)

    with serving_sessions("stream", stream_end) as server, \
            serving_sessions("auth", auth) as auth_server, \
            start(auth_server.port, server.port) as tool:
        tool.until(tool.err, r"open - generation 4$")
        tool.end()
    equal(short["auth"], [False], "token host")
    equal(short["stream"][:4], expected, "short")


# ---- A whole stream ----

STREAM = (
    r"^2026-01-02T03:04:05\.006Z market_data BTCUSD snapshot "
    r"bids={0} asks={0} best=50000\.5/50001\.5 live$",
    r"^2026-01-02T03:04:05\.007Z market_data BTCUSD update bids=1 asks=0 "
    r"best=49999\.5/50001\.5 live$",
    r"^2026-01-02T03:04:05\.008Z market_data\.top_of_book BTCUSD bid=49999\.5 "
    r"bid_amount=0\.25 ask=50001\.5 ask_amount=0\.25$",
    r"^2026-01-02T03:04:05\.009Z execution_data BTCUSD price=50001\.5 "
    r"amount=0\.125$",
    r"^2026-01-02T03:04:05\.010Z heartbeat -$",
)


def stream(levels, record=None, certificate="ec", new=False):
    """Token, upgrade, subscribe, one message of each kind, close. With a record
    size, the test itself encrypts the service's plaintext."""
    def auth(peer):
        matches("^client_secret=secret$", peer.request().replace("&", "\n"),
                "request")
        peer.send(reply(token(40000)), record or 16384)

    files = [CERTIFICATES.path(certificate + "-chain.pem"),
             CERTIFICATES.path(certificate + ".key")]
    with Process([sys.executable, SERVICE, str(levels),
                  *([] if record else files)]) as service:
        port = int(service.until(r"^port (\d+)\n").group(1))
        with serving(lambda peer: peer.relay(port, record),
                     certificate=certificate, new=new) as relay, \
                serving(auth, certificate=certificate,
                        new=new) as auth_server, \
                start(auth_server.port, relay.port if record else port,
                      "--expect-all", "BTCUSD") as tool:
            for line in STREAM:
                tool.until(tool.out, line.format(levels))
            tool.end()
            equal(tool.failures(), [], "errors")
            matches(r"^errors: 0 messages not decoded, 0 requests unanswered, "
                    r"0 subscriptions", tool.out(), "summary")
        service.until(r"^authorization Bearer TOKEN\nasked subscribe "
                      r"heartbeat market_data market_data\.top_of_book "
                      r"execution_data\nclose 1000\n")


# ---- All tests ----

NOT_TRUSTED = r"certificate's issuer is not trusted \(stage tls, detail 62\)"
OTHER_NAME = r"certificate is for another name \(stage tls, detail 56\)"
HANDSHAKE = r"TLS handshake failed \(stage tls, detail 296\)"
VERSION = r"server refuses TLS 1\.2 \(stage tls, detail 326\)"
TRUNCATED = "TLS ended without close_notify"
CLOSED = "connection closed by the peer"


def common(other_name, unknown, self_signed, missing, no_issuer):
    """The tests for any TLS library, given its errors of certificates."""
    return [
        ("a stream over Python's TLS, RSA, 4,000 levels", stream, 2000, None,
         "rsa"),
        ("a stream in records of 1 byte", stream, 20, 1),
        name_indication,
        ("a stream is resumed, with the session of no other server",
         streams_end, [False, True, True, True]),
        ("a server that has forgotten its sessions", streams_end, [False] * 4,
         False),
        ("no session is resumed after a TLS error", streams_end,
         [False, True, False, True], {"damaged": 2}),
        ("another name", bad_certificate, "other", other_name),
        ("names with wildcards", bad_certificate, "wildcard", other_name),
        ("an address only", bad_certificate, "address", other_name),
        ("expired", bad_time, "expired"),
        ("not yet valid", bad_time, "early"),
        ("an intermediate that has expired", bad_time, "old-chain",
         "old-between"),
        ("unknown CA", bad_certificate, "unknown", unknown, "unknown-root"),
        ("a CA that calls itself a trusted one", bad_certificate, "forged",
         unknown, "forged-root"),
        ("self-signed", bad_certificate, "self-signed", self_signed, None),
        ("missing intermediate", bad_certificate, "ec", missing, None),
        ("a server's certificate as issuer", bad_certificate, "no-issuer",
         no_issuer, "no-issuer-chain"),
        old_hello,
        ("a response in records of 1 byte", records, 1),
        ("a response in records of 16 KB", records, 16384, None, 40000),
        ("ciphertext byte by byte", records, 16384, 1),
        ("an end without close_notify, in a response", ends, TRUNCATED,
         reply(REFUSAL)[:-1], False),
        ("an end with close_notify, before a response", ends, CLOSED, b"",
         True),
        ends_complete,
        ends_in_handshake,
        ("an end without close_notify, in a stream", ends_in_stream, TRUNCATED,
         False),
        ("an end with close_notify, in a stream", ends_in_stream, CLOSED, True),
        says_goodbye,
        forged,
        ("HTTP in place of TLS", plaintext,
         b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n", False),
        ("SSH in place of TLS", plaintext, b"SSH-2.0-OpenSSH_9.2\r\n", True),
    ]


TESTS = [
    *common(OTHER_NAME, NOT_TRUSTED, NOT_TRUSTED, NOT_TRUSTED,
            r"certificate is malformed or not acceptable \(stage tls, "
            r"detail \d+\)"),
    ("a stream over Python's TLS", stream, 20),
    ("a stream in records of 16 KB", stream, 2000, 16384),
    ("ECDSA P-256", good, "ec"),
    ("ECDSA P-384", good, "384"),
    ("RSA 2048", good, "rsa"),
    *((f"{suite} alone", good, "ec" if "ECDSA" in suite else "rsa",
       "-cipher", suite, {"cipher": suite + "\n"})
      for suite in sorted(SUITES)),
    *((f"{group} alone", good, "ec", "-groups", group)
      for group in ("X25519", "P-256", "P-384", "P-521")),
    offered,
    ("a handshake in records of 512 bytes", good, "rsa", "-max_send_frag",
     "512"),
    ("a chain with its root", good, "384", {"chain": "to-root"}),
    ("an intermediate as trust anchor", good, "ec",
     {"ca": "between-ec", "chain": "between-ec"}),
    ("a host in capitals", good, "ec", {"host": "LOCALHOST"}),
    ("a server that warns of an unknown name", good, "ec", "-servername",
     "other.example", *SECOND),
    ("a client certificate is optional", good, "ec", "-verify", "1"),
    ("a client certificate is required", refused, r"TLS handshake failed "
     r"\(stage tls, detail 296\)", "-Verify", "1"),
    ("resumed by session id, of a server without tickets", resumed_by_openssl,
     2, "-no_ticket"),
    ("resumed by session id, of a server with tickets", resumed_by_openssl, 2),
    ("a server without sessions", resumed_by_openssl, 0, "-no_ticket",
     "-no_cache"),
    ("TLS 1.3 only", refused, VERSION, "-tls1_3", {"always": True}),
    *((f"{option} only", refused, HANDSHAKE, option, "-cipher",
       "ALL:@SECLEVEL=0") for option in ("-tls1_1", "-tls1")),
    ("CBC only, ECDSA", refused, HANDSHAKE, "-tls1_2", "-cipher",
     "ECDHE-ECDSA-AES128-SHA256:ECDHE-ECDSA-AES256-SHA"),
    ("CBC only, RSA", refused, HANDSHAKE, "-tls1_2", "-cipher",
     "ECDHE-RSA-AES128-SHA256:ECDHE-RSA-AES256-SHA", {"certificate": "rsa"}),
    ("static RSA only", refused, HANDSHAKE, "-tls1_2", "-cipher",
     "AES128-GCM-SHA256:AES256-GCM-SHA384", {"certificate": "rsa"}),
    ("DHE only", refused, HANDSHAKE, "-tls1_2", "-cipher",
     "DHE-RSA-AES128-GCM-SHA256", {"certificate": "rsa"}),
    ("a fatal alert for the name", refused,
     r"fatal TLS alert \(stage tls, detail 368\)", "-servername",
     "other.example", *SECOND, "-servername_fatal"),
    ("renegotiation is not accepted", renegotiation, "r\n"),
    ("renegotiation for a client certificate is not accepted", renegotiation,
     "R\n"),
    ("an end without close_notify, before a response", ends, TRUNCATED, b"",
     False),
    ("an end with close_notify, in a response", ends,
     "HTTP response ended early", reply(REFUSAL)[:-1], True, SERVICE_FAULT),
    ("an IPv4 address as token endpoint", address_host, "127.0.0.1",
     "localhost"),
    ("an IPv4 address as stream endpoint", address_host, "localhost",
     "127.0.0.1"),
    ("an IPv6 address", address_host, "[::1]", "localhost"),
]
