"""The sandbox's crypto destination addresses, with curl over TLS: every rule of
a request, defaults, records after a restart, and the records of two clients.

SPDX-License-Identifier: 0BSD
"""
import concurrent.futures
import datetime
import functools
import json
import os
import re
import uuid

import e2e
from e2e import ADDRESS_SCOPE as ADDRESS, STREAM_SCOPE as STREAM
from e2e import (HANG_S, SANDBOX, Sandbox, check, refusal, run_program,
                 write_file)

PATH = "/v2/transfer/crypto-destination-address"
NETWORKS = ("BITCOIN", "ETHEREUM", "BITCOIN_CASH", "LITECOIN", "SOLANA",
            "POLYGON_POS", "BASE", "ARBITRUM_ONE", "STELLAR", "INK", "XLAYER")
FIELDS = {"id", "crypto_network", "address", "nickname", "status",
          "created_at", "bookmarked"}
PAIR = {"crypto_network": "BITCOIN", "address": "bc1qexample"}
LONGEST = 127  # the most bytes of a text


class Service(Sandbox):
    """A running sandbox, and curl as its client."""
    command = (SANDBOX, "--rate", "1")

    def wait_ready(self):
        super().wait_ready()
        self.bearer = self.token()

    def curl(self, url, *options, data=None):
        """Returns (status, content type, headers, parsed body)."""
        body = ["--data-binary", "@-"] if data is not None else []
        run = run_program(
            "curl", "-sS", "-i", "--max-time", str(HANG_S), "--cacert",
            self.ca, *options, *body, url, input=data or b"", text=False)
        check(run.returncode == 0, f"curl: {run.returncode} {run.stderr}")
        head, _, body = run.stdout.partition(b"\r\n\r\n")
        while head.startswith(b"HTTP/1.1 100"):
            head, _, body = body.partition(b"\r\n\r\n")
        lines = head.decode().split("\r\n")
        headers = {name.lower(): value.strip() for name, _, value in
                   (line.partition(":") for line in lines[1:])}
        return (int(lines[0].split()[1]), headers.get("content-type"), headers,
                json.loads(body))

    def ask_token(self, scope, client="sandbox-client"):
        return self.curl(
            self.urls["auth_url"] + "/oauth2/token", "-d",
            "grant_type=client_credentials", "-d", f"client_id={client}",
            "-d", "client_secret=sandbox-secret",
            *(["--data-urlencode", f"scope={scope}"] if scope else []))

    def token(self, scope=ADDRESS, client="sandbox-client"):
        status, _, _, reply = self.ask_token(scope, client)
        check(status == 200 and reply["scope"] == scope, f"{status} {reply}")
        return reply["access_token"]

    def put_raw(self, data, *options, bearer=None, kind="application/json"):
        return self.curl(
            self.urls["base_url"] + PATH, "-X", "PUT", "-H",
            f"Authorization: Bearer {bearer or self.bearer}", "-H",
            f"Content-Type: {kind}", *options, data=data)

    def put(self, bearer=None, **request):
        """Sends a request with curl. Returns the record."""
        status, kind, _, reply = self.put_raw(json.dumps(request).encode(),
                                              bearer=bearer)
        check((status, kind) == (200, "application/json"),
              f"{status} {kind} {reply}")
        check(set(reply) == {"address"}, reply)
        record = reply["address"]
        check(set(record) == FIELDS, record)
        return record

    def refused(self, data, status, field=None, **options):
        """Expects a problem of this status. Returns (headers, problem)."""
        got, kind, headers, problem = self.put_raw(data, **options)
        what = f"{data[:99]}: {got} {kind} {problem}"
        check((got, kind) == (status, "application/problem+json"), what)
        check(set(problem) == {"type", "title", "status", "detail", "meta"} and
              problem["status"] == status and problem["title"] and
              problem["detail"], what)
        if field is not None:
            check(problem["meta"] == {"field": field} and
                  problem["detail"].startswith(field), what)
        return headers, problem


sandbox_of = functools.partial(e2e.sandbox_of, kind=Service)


# ---- Records ----

def test_defaults(sandbox):
    before = datetime.datetime.now(datetime.timezone.utc)
    record = sandbox.put(**PAIR)
    check(str(uuid.UUID(record["id"])) == record["id"], record["id"])
    check({key: record[key] for key in PAIR} == PAIR, record)
    check(record["nickname"] and record["status"] == "APPROVED" and
          record["bookmarked"] is False, record)
    check(re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z",
                       record["created_at"]), record["created_at"])
    created = datetime.datetime.fromisoformat(
        record["created_at"].replace("Z", "+00:00"))
    check(created >= before - datetime.timedelta(milliseconds=1), created)
    other = sandbox.put(crypto_network="BITCOIN", address="another")
    check(other["nickname"] != record["nickname"] and
          other["id"] != record["id"], "names and ids are one's own")


def test_every_network(sandbox):
    records = [sandbox.put(crypto_network=network, address="the same")
               for network in NETWORKS]
    check([record["crypto_network"] for record in records] ==
          list(NETWORKS), records)
    check(len({record["id"] for record in records}) == len(NETWORKS),
          "each network has its own")


def test_created_with_everything(sandbox):
    record = sandbox.put(**PAIR, nickname="mine", bookmarked_status=True,
                         travelrule_metadata=VASP)
    check((record["nickname"], record["bookmarked"]) == ("mine", True), record)


def update(sandbox, record, **form):
    """Absent, empty and false mean three different things."""
    changes = [({}, {}), ({"nickname": "first"}, {"nickname": "first"}),
               ({"bookmarked_status": True}, {"bookmarked": True}), ({}, {}),
               ({"nickname": "second"}, {"nickname": "second"}),
               ({"travelrule_metadata": {}}, {}),
               ({"nickname": "", "bookmarked_status": False},
                {"nickname": "", "bookmarked": False}), ({}, {})]
    for request, change in changes:
        record = {**record, **change}
        got = sandbox.put(**form, **request)
        check(got == record, f"{request}: {got}, not {record}")
    return record


def test_update_by_pair(sandbox):
    update(sandbox, sandbox.put(**PAIR), **PAIR)


def test_update_by_id(sandbox):
    record = update(sandbox, sandbox.put(**PAIR), id=sandbox.put(**PAIR)["id"])
    check(sandbox.put(id=record["id"].upper()) == record, "capitals")


TEXTS = ("quote \" backslash \\ slash /", "\b\f\n\r\t\x01\x1f\x7f",
         "CR\r\nLF: header", "\u00e9\u20ac\u2028\ufffd", "\U0001f511 surrogates",
         "'; DROP TABLE address; --", " ", "x" * LONGEST, "\u00e9" * 63)


def test_hostile_texts(sandbox):
    for text in TEXTS:
        record = sandbox.put(crypto_network="BASE", address=text, nickname=text)
        check(record["address"] == record["nickname"] == text, record)
        check(sandbox.put(id=record["id"]) == record, "read again")


def test_many_at_once_make_one():
    with sandbox_of() as sandbox, concurrent.futures.ThreadPoolExecutor(
            8) as pool:
        records = list(pool.map(lambda _: sandbox.put(**PAIR), range(24)))
        check(all(record == records[0] for record in records), records)


def test_status():
    for status in ("PENDING", "REJECTED", "ON_HOLD"):
        with sandbox_of("--address-status", status) as sandbox:
            check(sandbox.put(**PAIR)["status"] == status, status)


def test_wrong_status():
    for status in ("", "approved", "A" * 32):
        said = refusal("--address-status", status)
        check("--address-status" in said, said)


# ---- Rules ----

PERSON = {"beneficiary": {"person_details": {"first_name": "Ada",
                                             "last_name": "L"}}}
INSTITUTION = {"beneficiary": {"institution_details": {"name": "Bank"}}}
VASP = {**PERSON, "vasp": {"id": "vasp-1"}, "custodian_type": "VASP"}


def test_travel_rule(sandbox):
    for metadata in ({}, PERSON, INSTITUTION, VASP,
                     {**INSTITUTION, "custodian_type": "PRIVATE"},
                     {"vasp": {"id": "x"}}, {"custodian_type": "PRIVATE"},
                     {"beneficiary": {"person_details": {}}}):
        sandbox.put(**PAIR, travelrule_metadata=metadata)


ID = "00000000-0000-4000-8000-000000000000"
RULE = "travelrule_metadata"
PARTY = f"{RULE}.beneficiary"
LONG = "x" * (LONGEST + 1)
# Wrong requests, and the field that the problem names.
WRONG = [
    # Either an id, or network and address.
    ({}, "id"), ({"nickname": "x"}, "id"),
    ({"id": ID, **PAIR}, "id"), ({"id": ID, "address": "x"}, "id"),
    ({"id": ID, "crypto_network": "BITCOIN"}, "id"),
    ({"crypto_network": "BITCOIN"}, "address"),
    ({"address": "x"}, "crypto_network"),
    # Values.
    *(({"id": value}, "id") for value in ("", "not-a-uuid", 1, None, LONG)),
    *(({**PAIR, field: value}, field) for field, values in (
        ("crypto_network", ("DOGECOIN", "bitcoin", "", 1)),
        ("address", ("", 1, LONG, "\u00e9" * 65, None)),
        ("nickname", (1, None, LONG)),
        ("bookmarked_status", ("true", 0, None)),
        ("bookmarked", (True,)), ("status", ("APPROVED",)), (RULE, (None, [])))
      for value in values),
    # The travel rule.
    *(({**PAIR, RULE: {"beneficiary": value}}, PARTY + where)
      for value, where in (
          ("Ada", ""), ({}, ""),
          ({**PERSON["beneficiary"], **INSTITUTION["beneficiary"]}, ""),
          ({"name": "x"}, ".name"),
          ({"person_details": "Ada"}, ".person_details"),
          ({"person_details": {"first_name": 1}},
           ".person_details.first_name"),
          ({"person_details": {"last_name": LONG}},
           ".person_details.last_name"),
          ({"institution_details": {"name": 1}},
           ".institution_details.name"))),
    *(({**PAIR, RULE: value}, f"{RULE}.{where}") for value, where in (
        ({"x": 1}, "x"), ({"vasp": "x"}, "vasp"), ({"vasp": {}}, "vasp.id"),
        ({"vasp": {"id": ""}}, "vasp.id"), ({"vasp": {"id": 1}}, "vasp.id"),
        ({"custodian_type": "OTHER"}, "custodian_type"),
        ({"custodian_type": 1}, "custodian_type"),
        ({"custodian_type": "VASP"}, "vasp"),
        ({"custodian_type": "PRIVATE", "vasp": {"id": "x"}}, "vasp"))),
]


def test_wrong_requests(sandbox):
    record = sandbox.put(**PAIR, nickname="as it was")
    for request, field in WRONG:
        sandbox.refused(json.dumps({"nickname": "changed", **request}
                                   if field != "nickname" else
                                   request).encode(), 400, field)
    check(sandbox.put(**PAIR) == record, "changed")


def test_no_request_at_all(sandbox):
    body = json.dumps(PAIR).encode()
    for data in (b"", b"{", b"[]", b'"x"', b"null", body + b"x",
                 b'{"id":"a","id":"b"}', b'{"id":"\xff"}',
                 b'{"address":"\\u0000","crypto_network":"BASE"}',
                 b'{"address":"\\ud800","crypto_network":"BASE"}'):
        sandbox.refused(data, 400, "")
    for kind in ("text/plain", "application/x-www-form-urlencoded", ""):
        sandbox.refused(body, 415, kind=kind)
    sandbox.refused(b" " * 65537 + body, 413)
    sandbox.put_raw(body, kind="application/json; charset=utf-8")


def test_other_methods_and_paths(sandbox):
    url = sandbox.urls["base_url"]
    for method in ("GET", "POST", "DELETE"):
        status, kind, headers, _ = sandbox.curl(url + PATH, "-X", method)
        check((status, kind, headers["allow"]) ==
              (405, "application/problem+json", "PUT"), method)
    for path in (PATH + "/x", PATH + "x", PATH[:-1], "/"):
        status, kind, _, _ = sandbox.curl(url + path, "-X", "PUT")
        check((status, kind) == (404, "application/problem+json"), path)


# ---- Tokens and clients ----

def test_scopes_are_granted(sandbox):
    for scope in (ADDRESS, f"{STREAM} {ADDRESS}", f"{ADDRESS} {STREAM}"):
        sandbox.put(sandbox.token(scope), **PAIR)


def test_scopes_are_refused(sandbox):
    for client, scope in (("sandbox-client", f"{ADDRESS}x"),
                          ("sandbox-client", f"{ADDRESS} other"),
                          ("sandbox-client", "transfer:read"),
                          ("sandbox-client", None),
                          ("sandbox-noscope", f"{ADDRESS} {STREAM}")):
        status, _, _, reply = sandbox.ask_token(scope, client)
        check((status, reply["error"]) == (400, "invalid_scope"),
              f"{scope}: {status} {reply}")


def test_without_the_scope(sandbox):
    headers, _ = sandbox.refused(json.dumps(PAIR).encode(), 403,
                                 bearer=sandbox.token(STREAM))
    check(f'scope="{ADDRESS}"' in headers["www-authenticate"], headers)


def test_without_a_token(sandbox):
    body = json.dumps(PAIR).encode()
    sandbox.refused(body, 401, bearer="nonsense")
    status, kind, headers, _ = sandbox.curl(
        sandbox.urls["base_url"] + PATH, "-X", "PUT", "-H",
        "Content-Type: application/json", data=body)
    check((status, kind) == (401, "application/problem+json") and
          headers["www-authenticate"].startswith("Bearer"), headers)
    sandbox.set(revoke={})
    sandbox.refused(body, 401)
    # A client that may not write does not learn what is wrong.
    sandbox.refused(b"{", 401)


def test_two_clients(sandbox):
    other = sandbox.token(client="sandbox-noscope")
    mine = sandbox.put(**PAIR, nickname="mine")
    theirs = sandbox.put(other, **PAIR, nickname="theirs")
    check(mine["id"] != theirs["id"], "one record for two")
    for bearer, record in ((other, mine), (sandbox.bearer, theirs)):
        sandbox.refused(json.dumps({"id": record["id"],
                                    "nickname": "stolen"}).encode(),
                        404, bearer=bearer)
    check(sandbox.put(id=mine["id"]) == mine, "mine")
    check(sandbox.put(other, id=theirs["id"]) == theirs, "theirs")


def test_unknown_id(sandbox):
    sandbox.put(**PAIR)
    sandbox.refused(json.dumps({"id": ID}).encode(), 404)


# ---- What lasts ----

def test_restart(state):
    with sandbox_of(state=state) as sandbox:
        record = sandbox.put(**PAIR, nickname="kept", bookmarked_status=True)
    with sandbox_of("--address-status", "PENDING", state=state) as sandbox:
        check(sandbox.put(**PAIR) == record, "by network and address")
        check(sandbox.put(id=record["id"]) == record, "by id")


def test_killed_after_the_answer(sandbox):
    record = sandbox.put(**PAIR)
    for number in range(5):
        sandbox.kill()
        sandbox.restart()
        check(sandbox.put(id=record["id"]) == record, "lost")
        record = sandbox.put(**PAIR, nickname=f"{number}")


def test_a_database_that_is_none(state):
    with sandbox_of(state=state):
        pass
    write_file(os.path.join(state, "addresses.db"),
               "not a database, but a text" * 99)
    said = refusal("--state", state)
    check("addresses.db: file is not a database" in said, said)


# ---- Faults ----

def test_fault_answers(sandbox):
    body = json.dumps(PAIR).encode()
    for status in (401, 403, 409, 429, 500, 503):
        sandbox.set(address={"status": status, "count": 2})
        sandbox.refused(body, status)
        sandbox.refused(body, status)
        sandbox.put(**PAIR)
    sandbox.set(address={"status": 429, "retry_after": 7})
    check(sandbox.refused(body, 429)[0]["retry-after"] == "7", "header")


def test_fault_loses_the_answer(sandbox):
    sandbox.set(address_lost={})
    try:
        sandbox.put(**PAIR, nickname="nobody was told")
    except AssertionError as error:
        check("curl: 52 " in str(error), error)  # no reply
    else:
        raise AssertionError("an answer")
    check(sandbox.put(**PAIR)["nickname"] == "nobody was told", "lost")
