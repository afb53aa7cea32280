"""What a newcomer does first: make demo, and the README's lines by hand.

SPDX-License-Identifier: 0BSD
"""
import os
import re
import signal
import subprocess

from e2e import (BUILD, HANG_S, OK, SANDBOX, USAGE, check, environment_with,
                 equal, killed, run_program, run_tool, wait_for)

AT_ONCE = 1


def make(*arguments, **variables):
    """Runs make without the options of an outer one."""
    outer = ("MAKEFLAGS", "MFLAGS", "MAKELEVEL")
    return run_program("make", "--no-print-directory", *arguments, env={
        **{name: value for name, value in os.environ.items()
           if name not in outer}, **variables})


def demo(seconds):
    return run_program("examples/demo.sh", env={
        **os.environ, "BUILD": BUILD, "DEMO_SECONDS": seconds})


def test_make_demo_builds_in_one_line(folder):
    """Or shows all with V=1. The compilers do nothing."""
    for options in ((), ("V=1",)):
        done = make("demo", "CC=true", "AR=true", "LD=true",
                    f"BUILD={folder}/{len(options)}", *options)
        check(done.returncode != 0 and "sandbox did not start" in done.stderr,
              done)
        check(re.search("true .*main.c", done.stdout) if options else
              done.stdout == "building, about a minute\n", done)


def test_demo():
    """Only mini-stream's lines. One of them may say that a channel has
    delivered nothing in that short time."""
    done = demo("1.5")
    equal(OK, done.returncode, done)
    check(re.search("^connections: ", done.stdout, re.M), done)
    check(all(re.match("20[0-9-]*T|mini-stream: ", line)
              for line in done.stderr.splitlines()), done)


def test_wrong_seconds():
    """Refused in words, before anything is started."""
    for text in ("abc", "0", "0.0", "1.2.3", "-1", "1e3", "1,5", "08"):
        done = demo(text)
        equal((USAGE, ""), (done.returncode, done.stdout), done)
        check(f"DEMO_SECONDS={text}: not a number of seconds" in done.stderr,
              done)


def test_make_says_nothing_when_all_is_there():
    done = make("all", BUILD=BUILD)
    equal((OK, "", ""), (done.returncode, done.stdout, done.stderr))


def test_make_asks_for_what_is_not_there(folder):
    """One line, and none of a compiler."""
    done = make(f"BUILD={folder}/bare", "-kj4", PKG_CONFIG_PATH="",
                PKG_CONFIG_LIBDIR="/none")
    said, = (line for line in done.stderr.splitlines()
             if not line.startswith("make: "))
    check(done.returncode != 0 and done.stdout == "", done)
    check(re.search("make packages.*: .*libsoup-3.0-dev", said), said)


def test_first_without_variables():
    for variables in ({}, {"MINI_STREAM_WS_URL": "wss://localhost"}):
        done = run_program(os.path.join(BUILD, "first"),
                           env=environment_with(**variables))
        equal((1, "", "not a usable URL\n"),
              (done.returncode, done.stdout, done.stderr))


def test_the_readme_by_hand(state):
    """The sandbox's file leads to it, and is gone after each signal."""
    file = f"{state}/endpoints.json"
    for number in (signal.SIGTERM, signal.SIGTERM, signal.SIGINT,
                   signal.SIGHUP):
        # A background job of a script ignores SIGINT and, under nohup, SIGHUP.
        with killed(subprocess.Popen(
                ["env", "--default-signal=INT,HUP", SANDBOX, "--state", state],
                stdout=subprocess.DEVNULL)) as process:
            wait_for(lambda: os.path.exists(file), file, process=process)
            status, _, err = run_tool("stream", "--ca", f"{state}/ca.pem",
                                      "--endpoints", file, "--count", "1",
                                      "BTCUSD")
            equal(OK, status, err)
            process.send_signal(number)
            equal(OK, process.wait(HANG_S))
        check(not os.path.exists(file), file)
