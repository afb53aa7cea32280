"""The tool through a real HTTP proxy (tinyproxy): a stream, and an address
request. The proxy comes from an option, a profile or the environment. Each
refusal has its message, always without the password.

SPDX-License-Identifier: 0BSD
"""
import contextlib
import os
import re
import signal
import socket
import subprocess

from e2e import (HANG_S, TOOL, check, free_port, kept, run_program, sandbox_of,
                 write_file)
from tinyproxy import LOGIN, PASSWORD, Tinyproxy

# The environment's proxy is not used for this machine. This name does not
# exist, but the message shows who was asked for it: the proxy or the resolver.
ELSEWHERE = "exchange.elsewhere.invalid"


class Proxy(Tinyproxy):
    """A sandbox and a proxy that leads to it."""

    def __init__(self, sandbox, *lines):
        self.sandbox, self.path = sandbox, sandbox.state
        super().__init__(self.path, *lines)

    def stream_until_closed(self, *arguments, **variables):
        """Runs a stream that cannot open. Returns its output."""
        status, said = self.sandbox.stream_until(
            "closed - ", *arguments, "BTCUSD", **variables)
        check(status == (5 if "permanent" in said else 0), f"{status}: {said}")
        check(PASSWORD not in said and LOGIN not in said, said)
        return said

    def stream(self, *arguments, status=0, **variables):
        """Runs a stream to its end, with this status. Returns its output."""
        for seconds in ("6", "100"):  # more only if this machine is slow
            process = self.sandbox.stream(
                "--seconds", seconds, "--expect-all", *arguments, "BTCUSD",
                **variables)
            said, _ = process.communicate(timeout=HANG_S)
            if process.returncode == status:
                break
        check(process.returncode == status, f"{process.returncode}: {said}")
        check(PASSWORD not in said and LOGIN not in said, said)
        return said

    def servers(self):
        return {url.split("//")[1].rstrip("/")
                for name, url in self.sandbox.urls.items()
                if name in ("ws_url", "auth_url")}


@contextlib.contextmanager
def proxy_of(*lines):
    with sandbox_of() as sandbox, Proxy(sandbox, *lines) as proxy:
        yield proxy


def test_option(proxy):
    said = proxy.stream("--proxy", proxy.url)
    check("live" in said, said)
    check(set(proxy.tunnels()) == proxy.servers(), proxy.tunnels())


def test_profile(proxy):
    profile = write_file(os.path.join(proxy.path, "profile.ini"),
                         f"[service]\nproxy = {proxy.url}\n")
    proxy.stream("--profile", profile)
    check(proxy.tunnels(), "not through the proxy")


def test_environment(proxy):
    """HTTPS_PROXY is not used for this machine or the names in NO_PROXY. An
    empty option means no proxy."""
    there = ("--auth-url", f"https://{ELSEWHERE}:444")
    everywhere = {"https_proxy": "", "HTTPS_PROXY": proxy.url}
    proxy.stream(**everywhere)
    proxy.stream_until_closed("--proxy", "", *there, **everywhere)
    for names in ("*", "elsewhere.invalid", "example.com, .invalid",
                  "*.invalid", ELSEWHERE.upper(), "invalid:444"):
        said = proxy.stream_until_closed(*there, no_proxy="",
                                         NO_PROXY=names, **everywhere)
        check("cannot be resolved (stage resolve," in said, said)
    proxy.stream_until_closed(*there, no_proxy="*",
                              NO_PROXY="example.com", **everywhere)
    check(not proxy.tunnels(), proxy.tunnels())
    there = ("--auth-url", f"https://127.{ELSEWHERE}:444")
    for count, names in enumerate((
            "", "example.com", "valid", "invalid:1", "invalid:444x",
            "invalid: 444", "10.0.0.0/8", "elsewhere.invalid.example"), 1):
        said = proxy.stream_until_closed(*there, no_proxy="",
                                         NO_PROXY=names, **everywhere)
        check("proxy cannot reach the host" in said, said)
        check(len(proxy.tunnels()) >= count, f"NO_PROXY={names}")


def test_locales(proxy):
    """Names of settings and hosts are found in Turkish and Azeri, too, whose
    capital of i is not in ASCII."""
    there = ("--auth-url", "https://exchange.invalid")
    for name in ("tr_TR.ISO-8859-9", "tr_TR.UTF-8", "az_AZ.UTF-8"):
        language, charset = name.split(".")
        command = ["localedef", "-i", language, "-f", charset]
        path = kept(name, lambda new: subprocess.run([*command, new],
                                                     check=True))
        locale = {"LOCPATH": os.path.dirname(path), "LC_ALL": name}
        done = run_program(
            TOOL, "stream", "--seconds", "0.1", "BTCUSD",
            env={**proxy.sandbox.environment(), **locale})
        check("no client_id" not in done.stderr, done.stderr)
        said = proxy.stream_until_closed(
            *there, https_proxy="", no_proxy="", NO_PROXY="EXCHANGE.INVALID",
            HTTPS_PROXY=proxy.url.replace("http", "HTTP"), **locale)
        check("cannot be resolved (stage resolve," in said, said)
        check(not proxy.tunnels(), proxy.tunnels())


def test_address(proxy):
    run = proxy.sandbox.run("address put", "--proxy", proxy.url, "--network",
                            "ETHEREUM", "--address", "0xF1f2F3")
    check(run.returncode == 0, run.stderr)
    check("0xF1f2F3" in run.stdout, run.stdout)
    check(len(proxy.tunnels()) == 2, proxy.tunnels())


def test_refusals():
    with proxy_of("ConnectPort 1") as proxy:
        via = f"through the proxy 127.0.0.1:{proxy.port}"
        bare = proxy.url.replace(LOGIN + "@", "")
        for url, words in (  # tinyproxy says 401 where others say 407
                (proxy.url, "proxy refuses (stage connect " + via +
                 ", detail 403)"),
                (bare, "proxy wants other credentials (stage connect " + via +
                 ", detail 407), "),
                (proxy.url.replace("s%33", "S%33"), "wants other credentials"),
                (f"http://127.0.0.1:{free_port()}", "connection refused "
                 "(stage connect through the proxy 127.0.0.1:")):
            said = proxy.stream_until_closed("--proxy", url)
            check(words in said, said)
        for url in (f"https://{LOGIN}@proxy", f"http://{LOGIN}@",
                    f"http://{LOGIN}", f"http://trader:{PASSWORD}", LOGIN,
                    f"{LOGIN}@proxy:99999"):
            said = proxy.stream("--proxy", url, status=3)
            check("the setting proxy: not a URL like http://" in said, said)
            check(("but begins with https://\n" in said) ==
                  url.startswith("https"), said)
            said = proxy.stream(status=3, HTTPS_PROXY=url)
            check("HTTPS_PROXY: not a URL like http://" in said, said)
        said = proxy.stream_until_closed("--proxy", "[::1]:1")
        check("through the proxy [::1]:1" in said, said)


def test_silence():
    """A proxy that accepts and sends nothing."""
    with proxy_of() as proxy, socket.create_server(("127.0.0.1", 0)) as silent:
        port = silent.getsockname()[1]
        said = proxy.stream_until_closed(
            "--proxy", f"http://{LOGIN}@127.0.0.1:{port}")
        check("proxy does not answer (stage connect through the proxy "
              f"127.0.0.1:{port})" in said, said)


def test_scheme(proxy):
    """The scheme may be in upper case, or missing."""
    for url in (proxy.url.replace("http", "HTTP"),
                proxy.url.replace("http://", "")):
        count = len(proxy.tunnels())
        proxy.stream("--proxy", url)
        check(len(proxy.tunnels()) > count, url)


def test_openssl(proxy):
    """Errors of the server do not name the proxy."""
    arguments = ("--proxy", proxy.url, "--tls", "openssl")
    proxy.stream(*arguments)
    check(set(proxy.tunnels()) == proxy.servers(), proxy.tunnels())
    said = proxy.stream_until_closed(
        *arguments, "--ca", "/etc/ssl/certs/ca-certificates.crt")
    check(re.search(r"not trusted \(stage connect, detail \d+\)", said), said)
    said = proxy.stream_until_closed(
        "--proxy", proxy.url.replace("s%33", "S%33"), "--tls", "openssl")
    check("stage connect through the proxy 127.0.0.1:" in said, said)


def test_server_not_there(proxy):
    said = proxy.stream_until_closed(
        "--proxy", proxy.url, "--auth-url",
        f"https://localhost:{free_port()}")
    check(re.search(r"proxy cannot reach the host \(stage connect through "
                    r"the proxy \S+, detail 5\d\d\)", said), said)


def test_proxy_ends(proxy):
    """A proxy that stops and starts again."""
    process = proxy.sandbox.stream("--proxy", proxy.url, "BTCUSD")
    check(any(" open - " in line for line in process.stdout), "no stream")
    proxy.stop()
    proxy.start()
    check(any(" open - " in line for line in process.stdout), "no other")
    process.send_signal(signal.SIGINT)
    said, _ = process.communicate(timeout=HANG_S)
    check(process.returncode == 0, said)
