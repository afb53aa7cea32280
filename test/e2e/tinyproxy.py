"""A real HTTP proxy (tinyproxy) on the loopback interface, for tests.

SPDX-License-Identifier: 0BSD
"""
import os
import re
import socket
import subprocess

from e2e import HANG_S, free_port, read_file, wait_for, write_file

LOGIN = "trader:s%33cret"
PASSWORD = "s3cret"


class Tinyproxy:
    """A proxy with its files in a folder. lines: more of its configuration. It
    runs from start() to stop(), any number of times, or as a context."""

    def __init__(self, path, *lines):
        self.port = free_port()
        self.url = f"http://{LOGIN}@127.0.0.1:{self.port}"
        self.log = os.path.join(path, "log")
        self.configuration = write_file(
            os.path.join(path, "tinyproxy.conf"), "\n".join((
                f"Port {self.port}", "Listen 127.0.0.1", "Timeout 60",
                f'LogFile "{self.log}"', "LogLevel Connect",
                f"BasicAuth trader {PASSWORD}", *lines, "")))

    def start(self):
        self.process = subprocess.Popen(
            ["tinyproxy", "-d", "-c", self.configuration],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL)

    def wait_listening(self):
        def listens():
            with socket.socket() as probe:
                return probe.connect_ex(("127.0.0.1", self.port)) == 0
        wait_for(listens, "the proxy listens", process=self.process)

    def stop(self):
        self.process.terminate()
        self.process.wait(HANG_S)

    def __enter__(self):
        self.start()
        try:
            self.wait_listening()
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(self, *_):
        self.stop()

    def tunnels(self):
        """The servers to which a client asked for a tunnel."""
        return re.findall(r"CONNECT (\S+) HTTP", read_file(self.log))
