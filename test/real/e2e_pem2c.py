"""Trust anchors written as C source by pem2c: they compile, equal those of the
POSIX port's loader, and have comments with their names and ends of validity.

CC: the compiler; BEARSSL_DIR: BearSSL's folder, if it is not the system's.
SPDX-License-Identifier: 0BSD
"""
import os
import re
import tempfile
import time

from e2e import (BUILD, check, dependency_options, equal, run_program,
                 write_file)
from tls_certificates import DAMAGED, ISSUER, SERVER, Certificates

PEM2C = os.path.join(BUILD, "pem2c")
# Compares the compiled anchors with those that the loader reads from a file.
PROGRAM = r"""
#include "mst_posix.h"
#include <stdio.h>
#include <string.h>

extern const br_x509_trust_anchor NAME[];
extern const size_t NAME_len;

static int same(const void *a, size_t a_len, const void *b, size_t b_len) {
    return a_len == b_len && memcmp(a, b, a_len) == 0;
}

static int same_key(const br_x509_pkey *a, const br_x509_pkey *b) {
    if (a->key_type != b->key_type) {
        return 0;
    }
    return a->key_type == BR_KEYTYPE_EC
               ? a->key.ec.curve == b->key.ec.curve &&
                     same(a->key.ec.q, a->key.ec.qlen, b->key.ec.q,
                          b->key.ec.qlen)
               : same(a->key.rsa.n, a->key.rsa.nlen, b->key.rsa.n,
                      b->key.rsa.nlen) &&
                     same(a->key.rsa.e, a->key.rsa.elen, b->key.rsa.e,
                          b->key.rsa.elen);
}

int main(int argc, char **argv) {
    struct mst_posix_anchors loaded;

    if (argc != 2 || mst_posix_anchors_load(&loaded, argv[1]) != 0 ||
        loaded.len != NAME_len) {
        return 1;
    }
    for (size_t i = 0; i < loaded.len; i++) {
        const br_x509_trust_anchor *a = &NAME[i], *b = &loaded.anchors[i];

        if (!same(a->dn.data, a->dn.len, b->dn.data, b->dn.len) ||
            a->flags != b->flags || !same_key(&a->pkey, &b->pkey)) {
            return 2;
        }
    }
    printf("%zu\n", loaded.len);
    mst_posix_anchors_free(&loaded);
    return 0;
}
"""


class Folder(tempfile.TemporaryDirectory):
    """A temporary folder with certificates."""

    def __enter__(self):
        self.path = super().__enter__()
        self.certificates = Certificates(self.path)
        return self

    def make(self, name, key, common_name=None, days=30):
        self.certificates.issue(name, name, ISSUER, common_name, key=key,
                                valid=(-60, days * 24 * 60))

    def write(self, name, text):
        return write_file(os.path.join(self.path, name), text)

    def compare(self, pem, name="anchors"):
        """Expects equal anchors. Returns their number and the C source."""
        source = pem2c(pem, name).stdout
        program = os.path.join(self.path, "compare")
        run = run_program(
            os.environ.get("CC", "cc"), "-std=c99", "-Wall", "-Wextra",
            "-Werror", "-I.", "-Iport/posix", *dependency_options(),
            "-o", program,
            self.write("compare.c", PROGRAM.replace("NAME", name)),
            self.write("anchors.c", source),
            os.path.join(BUILD, "libmst_posix.a"),
            os.path.join(BUILD, "libmini_stream.a"), "-lbearssl", "-pthread")
        check(run.returncode == 0, run.stderr)
        run = run_program(program, pem)
        check(run.returncode == 0, f"they differ: {run.returncode}")
        return int(run.stdout), source


def pem2c(*arguments, status=0):
    run = run_program(PEM2C, *arguments)
    check(run.returncode == status, f"{run.returncode}: {run.stderr}")
    return run


def test_kinds_of_keys(folder):
    kinds = ("P-256", "P-384", "P-521", "2048", "4096")
    for kind in kinds:
        folder.make(kind, kind)
    pem = folder.certificates.bundle("all", *kinds)
    count, source = folder.compare(pem, "my_anchors")
    check(count == len(kinds), f"{count} anchors")
    end = time.strftime("%Y-%m-%d", time.gmtime(time.time() + 30 * 86400))
    for kind in kinds:
        check(re.search(rf"/\* CN={kind}, until {end} \*/", source),
              f"{kind}: no name")


def test_renewed_root(folder):
    """Two anchors with one name, each with its own end."""
    folder.make("old", "P-256", "Same", days=300)
    folder.make("new", "P-256", "Same", days=600)
    pem = folder.certificates.bundle("all", "old", "new")
    count, source = folder.compare(pem)
    check(count == 2, f"{count} anchors")
    ends = [time.strftime("%Y-%m-%d", time.gmtime(time.time() + days * 86400))
            for days in (300, 600)]
    check(re.findall(r"until (\S+)", source) == ends, source[:200])


def test_names_of_all_sorts(folder):
    """No name can end its comment."""
    folder.make("odd", "P-256", "a *\\/ int x; \\/* \\\\")
    check(folder.compare(folder.certificates.path("odd.pem"))[0] == 1,
          "one anchor")


def test_what_is_of_no_use():
    """Certificates that cannot issue, and damaged ones, are reported."""
    told = ("pem2c: left out 1 certificates that cannot issue others, and {} "
            "more\n")
    with Folder() as folder:
        folder.make("root", "P-256")
        folder.certificates.issue("leaf", "root", SERVER.format("DNS:x"))
        text = folder.certificates.read("root", "leaf")
        equal("", pem2c(folder.certificates.path("root.pem")).stderr)
        equal(told.format(0), pem2c(folder.write("two.pem", text)).stderr)
        said = pem2c(folder.write("three.pem", text + DAMAGED)).stderr
        check(said.endswith(told.format(1)), said)


def test_what_is_no_certificate(folder):
    for text in ("", DAMAGED):
        run = pem2c(folder.write("bad.pem", text), status=1)
        check(run.stderr.startswith("pem2c: ") and not run.stdout,
              run.stderr + run.stdout)
    pem2c(folder.path + "/none", status=1)


def test_usage():
    for arguments in ((), ("a", "b", "c"), ("a", "1b"), ("a", "b;"), ("-x",)):
        check("Usage: pem2c" in pem2c(*arguments, status=2).stderr, arguments)
