"""Makes certificates for tests with the openssl command.

SPDX-License-Identifier: 0BSD
"""
import os
import re
import shutil
import ssl
import time

from e2e import check, kept, read_file, run_program, write_file

CA_CONFIG = """[ca]
default_ca = any
[any]
database = index
unique_subject = no
new_certs_dir = .
rand_serial = yes
policy = names
[names]
commonName = supplied
"""
ISSUER = """basicConstraints = critical, CA:TRUE
keyUsage = critical, keyCertSign, cRLSign
subjectKeyIdentifier = hash
"""
SERVER = """basicConstraints = CA:FALSE
keyUsage = digitalSignature
extendedKeyUsage = serverAuth
subjectKeyIdentifier = hash
authorityKeyIdentifier = keyid
subjectAltName = {}
"""
# Of a server that is its own issuer.
OWN = """basicConstraints = critical, CA:TRUE
subjectAltName = DNS:localhost
"""
DAMAGED = """-----BEGIN CERTIFICATE-----
AAAA
-----END CERTIFICATE-----
"""
MINUTE_S = 60


class Certificates:
    """Makes certificates in a folder: NAME.pem and NAME.key."""

    def __init__(self, folder):
        self.folder = folder
        self.write("ca.ini", CA_CONFIG)
        self.write("index", "")

    def path(self, name):
        return os.path.join(self.folder, name)

    def read(self, *names):
        return "".join(read_file(self.path(name + ".pem")) for name in names)

    def write(self, name, text):
        return write_file(self.path(name), text)

    def bundle(self, name, *names):
        """Writes several certificates to one file. Returns its path."""
        return self.write(name + ".pem", self.read(*names))

    def openssl(self, *arguments):
        run = run_program("openssl", *arguments, cwd=self.folder)
        check(run.returncode == 0, f"openssl {arguments[0]}: {run.stderr}")

    def issue(self, name, issuer, extensions, common_name=None, key="P-256",
              valid=(-30, 30), digest="sha256"):
        """Makes a certificate. key: a curve, ed25519 or bits of RSA. valid: few
        minutes from now, so that a clock wrong by a time zone fails."""
        if key.isdigit():
            shutil.copy(kept(
                f"{name}-{key}.key",
                lambda new: self.openssl("genrsa", "-out", new, key)),
                        self.path(name + ".key"))
            kind = ["-key", name + ".key"]
        else:
            kind = ["-keyout", name + ".key", "-newkey",
                    *([key] if key == "ed25519" else
                      ["ec", "-pkeyopt", "ec_paramgen_curve:" + key])]
        self.openssl("req", "-new", *kind, "-nodes", "-out", name + ".csr",
                     "-subj", "/CN=" + (common_name or name))
        signer = (["-selfsign"] if issuer == name else
                  ["-cert", issuer + ".pem"])
        dates = [time.strftime("%Y%m%d%H%M%SZ",
                               time.gmtime(time.time() + at * MINUTE_S))
                 for at in valid]
        if issuer == name:
            extensions = re.sub("authority.*\n", "", extensions)
        self.write(name + ".ext", extensions)
        self.openssl("ca", "-batch", "-notext", "-config", "ca.ini", *signer,
                     "-keyfile", issuer + ".key", "-in", name + ".csr",
                     "-out", name + ".pem", "-extfile", name + ".ext",
                     "-startdate", dates[0], "-enddate", dates[1],
                     "-md", digest)

    def context(self, name):
        """Python's TLS for a server with NAME-chain.pem and NAME.key."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self.path(name + "-chain.pem"),
                                self.path(name + ".key"))
        # Otherwise Python ignores an end without close_notify.
        context.options &= ~getattr(ssl, "OP_IGNORE_UNEXPECTED_EOF", 0)
        return context


def make_certificates(folder):
    """Makes good and bad ones for interop_tls.py. "anchors" are trusted."""
    certificates = Certificates(folder)
    make, localhost = certificates.issue, SERVER.format("DNS:localhost")
    for kind, key, digest in (("ec", "P-256", "sha256"),
                              ("384", "P-384", "sha384"),
                              ("rsa", "2048", "sha256")):
        root, between = "root-" + kind, "between-" + kind
        make(root, root, ISSUER, key=key, digest=digest)
        make(between, root, ISSUER, key=key, digest=digest)
        make(kind, between, localhost, key=key, digest=digest)
        certificates.bundle(kind + "-chain", kind, between)
    for name, names in (("other", "DNS:other.example"),
                        ("wildcard", "DNS:*, DNS:*.localhost"),
                        ("address", "IP:127.0.0.1")):
        make(name, "between-ec", SERVER.format(names), "localhost")
    make("agrees", "between-ec", localhost.replace("digitalSignature",
                                                   "keyAgreement"))
    make("expired", "between-ec", localhost, valid=(-30, -1))
    make("early", "between-ec", localhost, valid=(15, 30))
    make("old-between", "root-ec", ISSUER, valid=(-30, -1))
    make("old-chain", "old-between", localhost)
    make("unknown-root", "unknown-root", ISSUER)
    make("unknown", "unknown-root", localhost)
    # Has a trusted one's name and another key.
    make("forged-root", "forged-root", ISSUER, "root-ec")
    make("forged", "forged-root", localhost)
    make("self-signed", "self-signed", localhost)
    # Issued by a server's certificate, which must not issue.
    make("no-issuer", "ec", localhost)
    certificates.bundle("to-root", "between-384", "root-384")
    certificates.bundle("no-issuer-chain", "ec", "between-ec")
    certificates.write("mixed.pem", DAMAGED + certificates.read("root-ec",
                                                                "ec"))
    certificates.bundle("anchors", "root-ec", "root-384", "root-rsa")
    return certificates
