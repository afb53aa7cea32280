#!/usr/bin/env python3
"""Makes the page of settings of a device: reads lines name=value from standard
input and writes the page to standard output. Adds a seed of 256 random bits,
unless a line names one: run it once for each device.

Usage: settings.py [BYTES] <device.txt >settings.bin
BYTES: what the page may have at most (6144).
SPDX-License-Identifier: 0BSD
"""
import secrets
import sys
import zlib


def page(settings):
    """The page of these names and values."""
    texts = b"".join(f"{name}={value}\0".encode()
                     for name, value in settings.items())
    return texts + b"crc32=%08x\0" % zlib.crc32(texts)


def main():
    room = int(sys.argv[1]) if len(sys.argv) > 1 else 6144
    settings = {"seed": secrets.token_hex(32)}
    for number, line in enumerate(sys.stdin, 1):
        name, equals, value = line.rstrip("\n").partition("=")
        if not line.strip() or line.startswith("#"):
            continue
        if not equals or not name or name == "crc32" or "\0" in line:
            sys.exit(f"settings.py: line {number} is not name=value")
        settings[name] = value
    made = page(settings)
    if len(made) > room:
        sys.exit(f"settings.py: {len(made)} bytes, more than {room}")
    sys.stdout.buffer.write(made)


if __name__ == "__main__":
    main()
