#!/usr/bin/env python3
"""The other end of the port conformance test:

    peer.py [ADDRESS [PORT [CERTIFICATE KEY]]]

Listens (127.0.0.1, a free port) and prints "PORT CLOSED", CLOSED being a port
where nobody listens. The first byte of a connection says what to do; see
mst_conform.c. With the files of a certificate and its key it has TLS. It ends
with its standard input.

STALL_S: seconds in which it does not read (1): longer than the other end takes
to fill all buffers between them.
SPDX-License-Identifier: 0BSD
"""

import os
import socket
import ssl
import struct
import sys
import threading
import time
import zlib

STALL_S = float(os.environ.get("STALL_S", "1"))
PATIENCE_S = 140.0  # of the other end

SUMS = {}  # of connections that have ended
ENDED = threading.Condition()

# The pattern up to where the third byte of the place changes.
BLOCK = bytes((at ^ at >> 8) & 255 for at in range(65536))


def pattern(begin, end):
    """At most a block of the pattern, from a multiple of its length to end."""
    high = begin >> 16 & 255
    block = BLOCK.translate(bytes(high ^ low for low in range(256)))
    return block[:end - begin]


def read(connection, size):
    """Reads size bytes, or fewer at the end of the connection."""
    data = b""
    while len(data) < size:
        piece = connection.recv(size - len(data))
        if not piece:
            break
        data += piece
    return data


def echo(connection):
    """Sends back all that comes."""
    while data := connection.recv(65536):
        connection.sendall(data)


def talk(connection, size):
    """Sends so much, and ends."""
    for at in range(0, size, len(BLOCK)):
        connection.sendall(pattern(at, size))


def take(connection, size):
    """Reads nothing for a while, then so much, or to the end: its Adler-32."""
    time.sleep(STALL_S)
    total = 1
    while size > 0 and (data := connection.recv(min(size, 65536))):
        total = zlib.adler32(data, total)
        size -= len(data)
    return total


def keep(connection, name):
    """Takes all to the end, and keeps the sum for another connection."""
    total = take(connection, 1 << 63)
    with ENDED:
        SUMS[name] = total
        ENDED.notify_all()


def tell(connection, name):
    """Sends a sum, once it is known, and forgets it."""
    with ENDED:
        if ENDED.wait_for(lambda: name in SUMS, PATIENCE_S):
            connection.sendall(struct.pack("<I", SUMS.pop(name)))


def finish(connection):
    """Sends a close_notify if the connection has TLS."""
    if isinstance(connection, ssl.SSLSocket):
        connection.unwrap()


def serve(connection, context):
    """One connection, to its end."""
    with connection:
        try:
            if context:
                connection = context.wrap_socket(connection, server_side=True)
            what = read(connection, 1)
            if what == b"E":
                echo(connection)
                finish(connection)
                return
            size = struct.unpack("<I", read(connection, 4))[0]
            if what == b"T":
                talk(connection, size)
            elif what == b"S":
                connection.sendall(struct.pack("<I", take(connection, size)))
            elif what in b"KU":
                connection.sendall(pattern(0, 2500 if what == b"U" else 0))
                keep(connection, size)
            elif what == b"A":
                tell(connection, size)
            elif what == b"R":
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER,
                                      struct.pack("ii", 1, 0))
                connection.close()
            elif what == b"Q":
                time.sleep(STALL_S)
            finish(connection)
        except (OSError, ValueError, struct.error):
            pass  # the other end has gone
        finally:
            connection.close()


def main():
    """Serves until standard input ends."""
    address = sys.argv[1] if len(sys.argv) > 1 else "127.0.0.1"
    port = int(sys.argv[2]) if len(sys.argv) > 2 else 0
    context = None
    if len(sys.argv) > 4:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(sys.argv[3], sys.argv[4])
    with socket.socket() as listener, socket.socket() as closed:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        # A small window: who is not read from notices soon.
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 16384)
        listener.bind((address, port))
        listener.listen()
        closed.bind((address, 0))
        print(listener.getsockname()[1], closed.getsockname()[1], flush=True)

        def accept():
            while True:
                connection, _ = listener.accept()
                threading.Thread(target=serve, args=(connection, context),
                                 daemon=True).start()

        threading.Thread(target=accept, daemon=True).start()
        sys.stdin.read()


if __name__ == "__main__":
    main()
