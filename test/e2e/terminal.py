"""A program on a terminal: in tmux, which gives the screen as a person sees it,
and on a bare pseudo-terminal, which gives the bytes written.

SPDX-License-Identifier: 0BSD
"""
import fcntl
import os
import pty
import select
import shlex
import struct
import subprocess
import termios
import time

from e2e import HANG_S, check, read_file, wait_for


class Terminal:
    """A command in a window of tmux. A shell runs it and prints its exit status
    at the end. No other program uses folder."""

    def __init__(self, folder, command, columns, rows, environment):
        self.folder = folder
        self.socket = os.path.join(folder, "tmux")
        words = " ".join(map(shlex.quote, command))
        tool = shlex.quote(f"echo $$ >{folder}/pid; exec {words}")
        script = (f"stty -g >{folder}/before; sh -c {tool}; "
                  f"echo ended with $?; stty -g >{folder}/after; "
                  "exec sleep 1000")
        subprocess.run(
            ["tmux", "-S", self.socket, "-f", "/dev/null", "new-session", "-d",
             "-x", str(columns), "-y", str(rows), script],
            env={"LC_ALL": "C.UTF-8", **environment}, check=True)

    def tmux(self, *arguments):
        return subprocess.run(["tmux", "-S", self.socket, *arguments],
                              check=True, capture_output=True,
                              text=True).stdout

    def screen(self, *options):
        """The lines of the screen."""
        return self.tmux("capture-pane", "-p", *options).split("\n")[:-1]

    def text(self):
        return "\n".join(self.screen())

    def keys(self, *names):
        self.tmux("send-keys", *names)

    def resize(self, columns, rows):
        self.tmux("resize-window", "-x", str(columns), "-y", str(rows))

    def show(self, name):
        return self.tmux("display-message", "-p", f"#{{{name}}}").strip()

    def until(self, what, condition):
        """Waits until condition(screen) is true. Returns its result."""
        return wait_for(lambda: condition(self.text()),
                        lambda: f"{what}:\n{self.text()}")

    def until_has(self, *parts):
        self.until(f"there: {parts}",
                   lambda text: all(part in text for part in parts))
        return self.text()

    def press(self, keys, *parts):
        """Sends keys, the words of a text. Waits for these parts."""
        self.keys(*keys.split())
        return self.until_has(*parts)

    def file(self, name):
        return read_file(os.path.join(self.folder, name))

    def pid(self):
        return int(self.file("pid"))

    def ended(self):
        """Checks that it restored the terminal. Returns the exit status."""
        self.until("ended", lambda text: "ended with" in text)
        text = self.text()
        check(self.show("alternate_on") == "0", "the other screen is left on")
        wait_for(lambda: os.path.exists(f"{self.folder}/after") and
                 self.file("after"), "stty")
        check(self.file("before") == self.file("after"),
              f"the terminal was {self.file('before')}"
              f"and is {self.file('after')}")
        return int(text.split("ended with ")[1].split()[0])

    def quit(self, status=0):
        """Ends it by its key, and expects this exit status."""
        self.keys("q")
        check(self.ended() == status, self.text())

    def close(self):
        subprocess.run(["tmux", "-S", self.socket, "kill-server"], check=False,
                       capture_output=True)


class Line:
    """A command on a pseudo-terminal: the bytes it writes, with their times."""

    def __init__(self, command, columns, rows, environment):
        self.chunks = [(time.monotonic(), b"")]
        self.master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ,
                    struct.pack("HHHH", rows, columns, 0, 0))
        self.process = subprocess.Popen(
            command, stdin=slave, stdout=slave, stderr=slave,
            env={"LC_ALL": "C.UTF-8", "PATH": os.environ["PATH"],
                 **environment}, start_new_session=True)
        os.close(slave)

    def read(self, seconds=HANG_S):
        """Reads for this time, or to its end. Returns all bytes so far."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            if not select.select([self.master], [], [], 0.05)[0]:
                continue
            now = time.monotonic()  # of all there is: a read gives up to 4 KB
            try:
                while select.select([self.master], [], [], 0)[0]:
                    self.chunks.append((now, os.read(self.master, 65536)))
            except OSError:  # the other end is closed
                break
        return b"".join(data for _, data in self.chunks)

    def most_in_a_second(self):
        """The most bytes read in the second after any read. Bytes written since
        that read count, however late they were read."""
        return max(sum(len(data) for other, data in self.chunks
                       if at < other <= at + 1) for at, _ in self.chunks)

    def close(self):
        self.process.terminate()
        self.read()
        self.process.wait(HANG_S)
        os.close(self.master)
        return self.process.returncode
