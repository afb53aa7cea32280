"""`mini-stream token` as a user runs it, against the sandbox.

SPDX-License-Identifier: 0BSD
"""
import json
import os
import re
import time

from e2e import ADDRESS_SCOPE as ADDRESS, STREAM_SCOPE as STREAM
from e2e import (ACCESS, CONFIG, LOCAL, NETWORK, OK, SERVICE, USAGE, check,
                 equal, free_port, milliseconds, run_tool, sandbox_of,
                 write_file)

LINES = r"""scope     (\S+)
lifetime  (\d+) s
expires   (\S+Z)
"""


def run(sandbox, *arguments, client="sandbox-client", **options):
    """run_tool() with only the settings that a token needs."""
    return run_tool("token", *arguments, **{
        "MINI_STREAM_AUTH_URL": sandbox.urls["auth_url"],
        "MINI_STREAM_CA": sandbox.ca, "MINI_STREAM_CLIENT_ID": client,
        **options})


def fails(sandbox, status, pattern, *arguments, **variables):
    """Expects this message once, and no other output."""
    got, out, err = run(sandbox, *arguments, **variables)
    equal((status, ""), (got, out), f"{arguments}: {err}")
    check(re.fullmatch(f"mini-stream: {pattern}\n", err), f"{pattern}: {err!r}")


def test_lines():
    """Exactly these lines, which leave no room for the token."""
    with sandbox_of("--token-lifetime", "1234") as sandbox:
        before = time.time() * 1000
        status, out, err = run(sandbox)
        equal((OK, ""), (status, err))
        match = re.fullmatch(LINES, out)
        check(match, out)
        equal((STREAM, "1234"), match.groups()[:2])
        ends = milliseconds(match[3]) - 1234000
        check(before - 1 <= ends <= time.time() * 1000 + 1, match[3])


def test_json(sandbox):
    before = time.time() * 1000
    status, out, err = run(sandbox, "--json")
    equal((OK, ""), (status, err))
    told = json.loads(out)
    equal({"scope", "lifetime_s", "expires"}, set(told))
    ends = milliseconds(told["expires"]) - 3600000
    check(before - 1 <= ends <= time.time() * 1000 + 1, told)
    equal((STREAM, 3600), (told["scope"], told["lifetime_s"]))


def test_scope(sandbox):
    _, out, _ = run(sandbox, "--json", "--scope", ADDRESS)
    equal(ADDRESS, json.loads(out)["scope"])
    both = f"{STREAM} {ADDRESS}"
    _, out, _ = run(sandbox, "--json", "--scope", both)
    equal(both, json.loads(out)["scope"])
    _, out, _ = run(sandbox, "--json", "--scope", ADDRESS,
                    client="sandbox-noscope")
    equal(ADDRESS, json.loads(out)["scope"])


def test_no_end(sandbox):
    sandbox.set(expires_in={"count": 2})
    equal(f"scope     {STREAM}\nlifetime  without an end\n", run(sandbox)[1])
    told = json.loads(run(sandbox, "--json")[1])
    equal((None, None), (told["lifetime_s"], told["expires"]))


def test_unusual_responses(sandbox):
    """A lifetime of any number, also as text, up to a day; a long scope."""
    for value, lifetime in (("3600", 3600), (1234.5, 1234), (0, 0), (-5, 0),
                            ("-1.5", 0), (1e300, 86400), (str(2**63), 86400)):
        sandbox.set(expires_in={"value": value})
        status, out, err = run(sandbox, "--json")
        equal((OK, ""), (status, err), value)
        equal(lifetime, json.loads(out)["lifetime_s"], value)
    sandbox.set(granted={"scope": f"{STREAM} {'other ' * 600}more"})
    equal((OK, ""), run(sandbox)[::2], "a long scope")


def test_refused(sandbox):
    """At once, with the service's own error code."""
    for client, secret, word in (
            ("sandbox-client", "wrong", "invalid_client"),
            ("nobody", "sandbox-secret", "invalid_client"),
            ("sandbox-noscope", "sandbox-secret", "invalid_scope")):
        fails(sandbox, ACCESS, f'.*refused: "{word}".*', client=client,
              MINI_STREAM_CLIENT_SECRET=secret)
    status, out, err = run(sandbox, "--json", client="nobody")
    told = json.loads(out)
    equal((ACCESS, "invalid_client", 401),
          (status, told["text"], told["http_status"]), err)
    check("invalid_client" in err, err)


def test_service_out_of_order(sandbox):
    sandbox.set(token={"status": 503, "count": 1})
    fails(sandbox, SERVICE, ".*HTTP status 503.*")
    sandbox.set(token={"status": 429, "retry_after": 60, "count": 1})
    fails(sandbox, ACCESS, ".*429.*")


def test_network(sandbox):
    fails(sandbox, NETWORK, ".*(refused|reach).*", "--auth-url",
          f"https://localhost:{free_port()}")
    fails(sandbox, NETWORK, ".*(resolved|reach).*", "--auth-url",
          "https://nobody.invalid")
    fails(sandbox, NETWORK, ".*not trusted.*", "--ca",
          "/etc/ssl/certs/ca-certificates.crt")


def test_libraries(sandbox):
    for library in ("fast", "bearssl", "openssl"):
        status, out, err = run(sandbox, "--tls", library)
        equal((OK, ""), (status, err))
        check(re.fullmatch(LINES, out), out)


def test_settings(sandbox):
    """It needs only one of the URLs."""
    nothing = {"MINI_STREAM_AUTH_URL": ""}
    fails(sandbox, CONFIG, "no auth_url: give --auth-url URL, --endpoints "
          "FILE, MINI_STREAM_AUTH_URL or a profile", **nothing)
    path = write_file(os.path.join(sandbox.state, "one.json"),
                      json.dumps({"auth_url": sandbox.urls["auth_url"]}))
    equal(OK, run(sandbox, "--endpoints", path, **nothing)[0])
    fails(sandbox, CONFIG, "no client_id: .*", client="")
    fails(sandbox, CONFIG, "no client secret: .*", MINI_STREAM_CLIENT_SECRET="")
    for url in ("http://localhost", "localhost", "https://", "httpsx"):
        fails(sandbox, CONFIG, f"auth_url {url}: .*", "--auth-url", url)


def test_usage(sandbox):
    for arguments in (("--scope",), ("extra",), ("--no-such-option",)):
        equal(USAGE, run(sandbox, *arguments)[0], arguments)
    for option in ("-h", "--help"):
        status, out, err = run(sandbox, option)
        equal((OK, ""), (status, err))
        check("never the token" in out and "--scope" in out, out)
    with open("/dev/full", "w", encoding="ascii") as full:
        status, _, err = run(sandbox, stdout=full)
    equal((LOCAL, "mini-stream: standard output: No space left on "
           "device\n"), (status, err))
