"""examples/gateway/README.md lists exactly the existing keys of the INI file
with their defaults, metrics and streams.

SPDX-License-Identifier: 0BSD
"""
import os
import re
import subprocess

from e2e import check, read_file

AT_ONCE = 1

FOLDER = os.path.join(os.path.dirname(__file__), "../../examples/gateway")


def read(name):
    return read_file(os.path.join(FOLDER, name))


def section(title):
    """The text below a heading of the page."""
    return re.search(rf"^## {title}\n(.*?)(?=^## |\Z)", read("README.md"),
                     re.M | re.S)[1]


def test_keys():
    text = section("Configuration")
    config = read("config.c")
    keys = re.findall(r'^    \{(?:"(?:gateway|broker)", )?"(\w+)",', config,
                      re.M)
    check(len(keys) > 10, keys)
    for key in [*keys, "password_file"]:
        check(re.search(rf"^\| .*`{key}`.* \|", text, re.M), key)
    defaults = dict(re.findall(r"\.(\w+) = (\d+)[,}]", config))
    numbers = re.search(r"numbers\[\] = \{(.*?)^\};", config, re.M | re.S)[1]
    for key, least, most in re.findall(
            r'"(\w+)",\s+offsetof\([^)]*\),\s+(\d+),\s+(\d+)\}', numbers):
        row = re.search(rf"^\| \| `{key}` \|.*|^\| `\[gateway\]` \| `{key}`.*",
                        text, re.M)
        check(row, key)
        if key in defaults:
            check(row[0].endswith(f"| {defaults[key]} |"), row[0])
        check(f"{int(least):,} to {int(most):,}" in row[0], row[0])


def test_figures():
    names = re.findall(r'\{"(\w+)", (?:COUNTER|GAUGE)', read("gateway.c"))
    check(len(names) > 10, names)
    listed = re.findall(r"`(\w+)`", " ".join(re.findall(
        r"^\| (`[^|]*) \|", section("Metrics"), re.M)))
    check(sorted(name for name in listed if name in names) == sorted(names),
          set(names) ^ set(listed))


def test_streams():
    text = section("What is published")
    setup = read("broker_setup.c")
    for word in re.findall(r'\] = \{"(\w+)"', setup):
        check(f"| `mst.{word}." in text and f"| `mst_{word}` |" in text, word)
    for word in re.findall(r'setup_bucket\(broker, "(\w+)"', setup):
        check(f"| `mst_{word}` |" in text, word)


def test_exposure():
    """The page states systemd's points."""
    said = subprocess.run(
        ["systemd-analyze", "security", "--offline=yes",
         os.path.join(FOLDER, "mini-stream-gateway@.service")],
        stdout=subprocess.PIPE, text=True, check=True).stdout
    points = re.search(r"exposure level.*: ([0-9.]+) ", said)[1]
    check(f"of 10 points of exposure it has {points}" in section(
        "As a service"), points)
