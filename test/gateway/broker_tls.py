"""examples/gateway/nats-server.conf with real certificates: a gateway
publishes, consumers read, and only gateways publish. Also how gateway and
broker authenticate, and who may read secret files.

SPDX-License-Identifier: 0BSD
"""
import json
import os
import re
import tempfile
import time

from broker_lab import Gateway, running, started
from e2e import check, wait_for
from gateway_parts import CONSUMERS, Consumer
from nkeys import Key, make_operator

TLS = """tls {{
cert_file: "{0}/server.pem"
key_file: "{0}/server.key"
}}
jetstream {{ store_dir: "{0}/store" }}
"""


def last_book(client):
    """Waits for BTCUSD's last book."""
    return json.loads(wait_for(lambda: client.last_of(
        "KV_mst_last", "$KV.mst_last.BTCUSD"), "a last book"))


def subjects_of(client, stream):
    return set(client.api(f"STREAM.INFO.{stream}",
                          subjects_filter=">")["state"]["subjects"])


def test_read():
    """A consumer gets the last book, a snapshot and what follows it; the
    gateway does nothing forbidden."""
    with started() as (broker, sandbox), running(broker, sandbox) as gateway, \
            broker.client("CONSUMER") as consumer:
        book = last_book(consumer)
        check(len(book["bids"]) > 50 and book["market"] == "BTCUSD", book)
        snapshot = json.loads(consumer.request("mst.snapshot.BTCUSD"))
        check(snapshot["number"] >= book["number"], snapshot["number"])
        consumer.subscribe("_INBOX.ordered")
        consumer.publish(
            "$JS.API.CONSUMER.CREATE.mst_book", json.dumps(
                {"stream_name": "mst_book", "config": {
                    "deliver_subject": "_INBOX.ordered", "ack_policy": "none",
                    "deliver_policy": "by_start_sequence",
                    "opt_start_seq": snapshot["after"] + 1,
                    "filter_subject": "mst.book.BTCUSD", "flow_control": True,
                    "idle_heartbeat": 1000000000,
                    "mem_storage": True}}).encode())
        # The broker may not have acknowledged the snapshot's last ones yet.
        numbers = iter(lambda: json.loads(consumer.next().data)["number"], None)
        first = next(each for each in numbers if each > snapshot["number"])
        check(first == snapshot["number"] + 1, first)
        for said in (gateway.said(), broker.read("nats.log")):
            check("refused" not in said and "Violation" not in said, said)


def test_consumers():
    """The examples, in C and in Node, need only a consumer's permissions."""
    with started() as (broker, sandbox), running(broker, sandbox):
        url = f"tls://consumer:consumer@localhost:{broker.port}"
        for command in CONSUMERS:
            with Consumer(url, "BTCUSD", *command, options=(
                    "--ca", broker.path("ca.pem"))) as consumer:
                wait_for(lambda shown=consumer.shown: len({
                    each.number for each in shown
                    if each.live and len(each.texts[0]) == 10}) >= 20,
                    "books", process=consumer.process)
        said = broker.read("nats.log")
        check("Violation" not in said, said)


REFUSED = ("mst.book.BTCUSD", "mst.execution.BTCUSD", "mst.note.a",
           "$KV.mst_lease.holder", "$KV.mst_last.BTCUSD",
           "$KV.mst_gateways.a", "_INBOX.someone",
           "$JS.API.STREAM.CREATE.more", "$JS.API.STREAM.UPDATE.mst_book",
           "$JS.API.STREAM.PURGE.mst_book", "$JS.API.STREAM.DELETE.mst_book",
           "$JS.API.STREAM.MSG.DELETE.mst_book")


def test_only_gateways_publish():
    """Neither directly nor through the broker, whose responses go where a
    request says."""
    with started() as (broker, sandbox), running(broker, sandbox), \
            broker.client("CONSUMER") as consumer:
        last_book(consumer)
        for subject in REFUSED:
            check(consumer.refused(f"PUB {subject} 0\r\n") == [
                f'Permissions Violation for Publish to "{subject}"'], subject)
        for subject in ("mst.execution.EVIL", "mst.book.EVIL"):
            check(consumer.refused(f"SUB {subject} 1000"), subject)
            for ask, body in (("$JS.API.STREAM.INFO.mst_book", b""),
                              ("$JS.API.INFO", b""),
                              ("$JS.API.DIRECT.GET.mst_execution",
                               b'{"seq":1}'),
                              ("$JS.API.CONSUMER.CREATE.mst_book", b"{}"),
                              ("mst.snapshot.BTCUSD", b"")):
                consumer.publish(ask, body, subject)
            for stream in ("mst_book", "mst_execution"):
                consumer.api(f"CONSUMER.CREATE.{stream}", stream_name=stream,
                             config={"deliver_subject": subject,
                                     "ack_policy": "none",
                                     "deliver_policy": "all"})
        time.sleep(1)
        for stream in ("mst_book", "mst_execution"):
            check(subjects_of(consumer, stream) == {
                f"{stream.replace('_', '.')}.{market}"
                for market in ("BTCUSD", "ETHUSD")},
                subjects_of(consumer, stream))


def test_gateway_may_no_more():
    with started() as (broker, _), broker.client("GATEWAY_B") as gateway:
        for subject in ("$JS.API.STREAM.DELETE.mst_book", "mst.snapshot.BTCUSD",
                        "_INBOX.someone", "mst.other.BTCUSD"):
            check(gateway.refused(f"PUB {subject} 0\r\n"), subject)


def test_wrong_broker():
    """A wrong broker gets no secret."""
    with started() as (broker, sandbox):
        for settings, pattern in (
                ({"ca": broker.path("other.pem")},
                 "no connection: SSL Error: .*unable to get local issuer"),
                ({"url": f"tls://127.0.0.1:{broker.port}"},
                 "no connection: SSL Error: .*[mM]ismatch"),
                ({"ca": None, "url": f"nats://localhost:{broker.port}"},
                 "no connection: SSL Error: .*unable to get local issuer"),
                ({"url": "tls://localhost:1"},
                 "no connection: .*([Nn]o server|refused)"),
                ({"password_file": broker.write("wrong", "gateway_b\n")},
                 "no connection: .*Authorization Violation")):
            gateway = Gateway(broker, sandbox, **settings)
            gateway.until(pattern)
            time.sleep(1.2)  # reports it once, however often it tries
            said = gateway.end()
            check(said.count("no connection") == 1, said)
            check("gateway_" not in said, said)


def test_broker_without_tls():
    """It gets neither name nor password."""
    with started(lambda text: re.sub(r"tls \{.*?\n\}\n", "", text,
                                     flags=re.S)) as (broker, sandbox):
        gateway = Gateway(broker, sandbox)
        gateway.until("no connection: .*[Ss]ecure")
        gateway.end()
        said = broker.read("nats.log")
        check("authentication error" not in said, said)


def test_files():
    """Wrong settings end it with status 3 before it sends anything."""
    with started() as (broker, sandbox):
        for settings, pattern in (
                ({"password_file": broker.write("p1", "gateway_a\n", 0o640)},
                 "secret file .*p1: others have access to it: chmod 600"),
                ({"password_file": broker.path("p0")},
                 "secret file .*p0: No such file"),
                ({"certificate": broker.path("client.pem"),
                  "key": broker.write("k", "key", 0o644)},
                 "secret file .*k: others have access"),
                ({"user": None, "password_file": None,
                  "credentials": broker.write("c", "c", 0o604)},
                 "secret file .*c: others have access"),
                ({"user": None, "password_file": None, "nkey": "U",
                  "seed": broker.write("s", "s", 0o660)},
                 "secret file .*s: others have access"),
                ({"ca": broker.path("none.pem")}, "none.pem"),
                ({"ca": broker.write("bad.pem", "bad\n")}, "bad.pem"),
                ({"certificate": broker.path("client.pem")},
                 "certificate and key need each other"),
                ({"user": None}, "user and password_file need each other"),
                ({"nkey": "U"}, "nkey and seed need each other"),
                ({"credentials": broker.write("d", "d")},
                 "one of user, nkey and credentials"),
                ({"user": 'a"'}, "neither user nor password has"),
                *(({"ca": None, "url": "nats://" + host},
                   "credentials need TLS") for host in (
                       "broker.example", "b.example,nats://127.0.0.1",
                       "127.0.0.1.example")),
                ({"url": "tls://a:b@localhost"}, "cannot contain a user")):
            said = Gateway(broker, sandbox, **settings).wait(3)
            check(re.search(pattern, said), said)
            check("gateway_a" not in said, said)


def test_certificates():
    """The broker requires client certificates."""
    with started(lambda text: text.replace("# ca_file", "ca_file").replace(
            "# verify", "verify").replace("clients.pem", "ca.pem")) as \
            (broker, sandbox):
        gateway = Gateway(broker, sandbox)
        gateway.until("no connection: .")
        gateway.end()
        with running(broker, sandbox, certificate=broker.path("client.pem"),
                     key=broker.path("client.key")):
            pass


def test_nkey(folder):
    """The broker has only the public key."""
    key = Key(folder, "user")
    with started(lambda text: text.replace(
            '{user: "a"', f"{{nkey: {key.name}, permissions: "
            '$GATEWAY_MAY}\n{user: "a"')) \
            as (broker, sandbox), \
            running(broker, sandbox, user=None, password_file=None,
                    nkey=key.name, seed=broker.write("seed", key.seed)):
        pass


def test_credentials():
    with tempfile.TemporaryDirectory() as folder:
        config, credentials = make_operator(folder)
    with started(lambda text: text + TLS.format(os.path.dirname(re.search(
            r"# (\S+)", text)[1])), config=config + "# /etc/nats/x\n") as \
            (broker, sandbox), \
            running(broker, sandbox, user=None, password_file=None,
                    credentials=broker.write("creds", credentials)):
        pass
