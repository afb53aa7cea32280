"""The files of the project, and a copy of them to work in.

SPDX-License-Identifier: 0BSD
"""
import contextlib
import os
import re
import shutil
import signal
import subprocess
import tempfile
import time

from e2e import BUILD, HANG_S, environment_with


def tracked():
    """The files of the project, also where there is no repository."""
    if os.path.exists(".git"):
        listed = subprocess.run(["git", "ls-files", "-z"], check=True,
                                capture_output=True, text=True).stdout
        return [path for path in listed.split("\0") if os.path.isfile(path)]
    return [os.path.relpath(os.path.join(folder, name), ".")
            for folder, _, names in os.walk(".")
            if not re.search(r"^\./build(/|$)|/__pycache__$", folder)
            for name in names]


class Copy:
    """A fresh copy of the project, with what is built already."""

    def __enter__(self):
        self.path = tempfile.mkdtemp()
        self.tree = os.path.join(self.path, "tree")
        for name in tracked():
            copy = os.path.join(self.tree, name)
            os.makedirs(os.path.dirname(copy), exist_ok=True)
            shutil.copy2(name, copy)
        os.symlink(os.path.abspath(BUILD), os.path.join(self.tree, "build"))
        os.mkdir(os.path.join(self.path, "home"))
        return self

    def __exit__(self, *_):
        shutil.rmtree(self.path)

    def environment(self):
        kept = environment_with(HOME=os.path.join(self.path, "home"),
                                TMPDIR=self.path)
        kept.pop("BUILD", None)
        folder, jsmn = map(os.environ.get, ("BEARSSL_DIR", "JSMN_DIR"))
        headers = [jsmn] if jsmn else []
        if folder:
            headers += [folder + "/inc", folder + "/include"]
            kept["LIBRARY_PATH"] = f"{folder}/build:{folder}/lib"
        if headers:
            kept["CPATH"] = ":".join(headers)
        return kept

    def run(self, text, until):
        """Runs a script to its end, or until it has printed this; ends what it
        has left behind. Returns whether that went well, and what it said."""
        output = os.path.join(self.path, "output")
        with open(output, "w+", encoding="utf-8") as file:
            shell = subprocess.Popen(
                ["bash", "-eu", "-c", text.replace("/tmp/", self.path + "/")],
                cwd=self.tree, env=self.environment(), stdout=file,
                stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL,
                start_new_session=True)
            try:
                for _ in range(HANG_S * 10):
                    ended = shell.poll() is not None
                    file.seek(0)
                    said = file.read()
                    if ended or until is not None and until in said:
                        break
                    time.sleep(0.1)
            finally:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(shell.pid, signal.SIGKILL)
                shell.wait()
        if until is not None:
            return until in said, said
        return ended and shell.returncode == 0, said
