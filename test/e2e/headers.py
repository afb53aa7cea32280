"""Copies the headers of BearSSL and jsmn to a folder for a cross compiler. It
must not see this machine's C headers, with which Debian installs them.

CC: this machine's compiler. SPDX-License-Identifier: 0BSD
"""
import os
import re
import shutil
import subprocess
import sys

CC = os.environ.get("CC", "cc")


def copy_headers(folder, include):
    """Copies them to a new folder, which replaces an old one. If Debian has two
    bearssl.h, the real one comes last."""
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    try:
        needed = subprocess.run(
            [CC, *include, "-xc", "-M", "-"], check=True, text=True,
            input="#include <bearssl.h>\n#include <jsmn.h>\n",
            stdout=subprocess.PIPE).stdout
    except (OSError, subprocess.SubprocessError) as error:
        sys.exit(f"the headers of BearSSL and jsmn: {error}")
    for path in re.findall(r"\S+/(?:bearssl\w*|jsmn)\.h\b", needed):
        shutil.copy(path, folder)
