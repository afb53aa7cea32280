"""The rate limit of the sandbox's token endpoint, with the quirk token-limit,
and the responses to a client that exceeds it.

SPDX-License-Identifier: 0BSD
"""
import http.client
import time
import urllib.parse

from e2e import HANG_S, check, equal, refusal, sandbox_of

WINDOW_S = 4
LIMITED = ("--quirk", "token-limit")


def ask(sandbox, address="127.0.0.1"):
    """Sends a bad request, which counts like a good one, from this address.
    Returns (status, headers)."""
    url = urllib.parse.urlsplit(sandbox.urls["auth_url"])
    connection = http.client.HTTPSConnection(
        url.hostname, url.port, timeout=HANG_S, context=sandbox.tls,
        source_address=(address, 0))
    connection.request("POST", "/oauth2/token", headers={"Content-Length": 0})
    reply = connection.getresponse()
    connection.close()
    return reply.status, reply.headers


def test_five_minutes():
    """A hasty client gets 300 responses, and no more."""
    with sandbox_of(*LIMITED) as sandbox:
        for count in range(300):
            equal(400, ask(sandbox)[0], f"after {count}")
        equal(429, ask(sandbox)[0], "one more")


def test_throttled():
    """For a window after the last request, and only that address."""
    with sandbox_of(*LIMITED, "--token-window", str(WINDOW_S)) as sandbox:
        status, count = 400, 0
        while status == 400:  # some more if this takes long
            count += 1
            status, headers = ask(sandbox)
        check(count > WINDOW_S, f"{count} requests")
        equal((429, None, "application/problem+json"),
              (status, headers["Retry-After"], headers.get_content_type()))
        equal(400, ask(sandbox, "127.0.0.2")[0], "another address")
        began = asked = time.monotonic()
        while asked - began < 2 * WINDOW_S:
            time.sleep(0.2)
            before, asked = asked, time.monotonic()
            status = ask(sandbox)[0]
            if time.monotonic() - before >= WINDOW_S:
                break  # this machine stood still
            equal(429, status, f"asked after {asked - before:.1f} s")
        time.sleep(WINDOW_S)
        equal(400, ask(sandbox)[0], "a window later")


def test_without_the_quirk():
    with sandbox_of("--token-window", "1") as sandbox:
        for _ in range(20):
            equal(400, ask(sandbox)[0])


def test_options():
    for value in ("0", "3601"):
        check("--token-window" in refusal("--token-window", value), value)
