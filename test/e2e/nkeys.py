"""Keys of NATS (Ed25519, by the openssl command) and JWTs signed with them, as
the tool `nsc` of NATS makes them.

SPDX-License-Identifier: 0BSD
"""
import base64
import binascii
import json
import os
import pathlib
import subprocess
import time

from e2e import write_file

KINDS = {"operator": 14 << 3, "account": 0, "user": 20 << 3}
SEED = 18 << 3
PKCS8 = bytes.fromhex("302e020100300506032b657004220420")
NO_LIMITS = {name: -1 for name in (
    "subs", "data", "payload", "imports", "exports", "conn", "leaf",
    "mem_storage", "disk_storage", "streams", "consumer")}
CREDENTIALS = """-----BEGIN NATS USER JWT-----
{}
------END NATS USER JWT------

-----BEGIN USER NKEY SEED-----
{}
------END USER NKEY SEED------
"""


def openssl(*arguments):
    return subprocess.run(["openssl", *arguments], check=True,
                          capture_output=True).stdout


def text_of(data):
    checksum = binascii.crc_hqx(data, 0).to_bytes(2, "little")
    return base64.b32encode(data + checksum).decode().rstrip("=")


def url_text(data):
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


class Key:
    """A key of a kind, stored in a folder. name is its public half."""

    def __init__(self, folder, kind):
        self.folder = folder
        self.kind = kind
        secret = os.urandom(32)
        self.path = os.path.join(folder, f"{kind}-{secret[:4].hex()}.der")
        pathlib.Path(self.path).write_bytes(PKCS8 + secret)
        public = openssl("pkey", "-inform", "DER", "-in", self.path, "-pubout",
                         "-outform", "DER")[-32:]
        prefix = KINDS[kind]
        self.name = text_of(bytes([prefix]) + public)
        self.seed = text_of(bytes([SEED | prefix >> 5, (prefix & 31) << 3])
                            + secret)

    def jwt(self, subject, **claims):
        """A JWT about another key, signed by this one."""
        body = {"jti": subject.name, "iat": int(time.time()),
                "iss": self.name, "name": subject.kind, "sub": subject.name,
                "nats": {"type": subject.kind, "version": 2, **claims}}
        text = ".".join(url_text(json.dumps(part).encode()) for part in (
            {"typ": "JWT", "alg": "ed25519-nkey"}, body))
        path = write_file(os.path.join(self.folder, "to-sign"), text)
        return text + "." + url_text(openssl(
            "pkeyutl", "-sign", "-rawin", "-keyform", "DER", "-inkey",
            self.path, "-in", path))


def make_operator(folder):
    """Returns a broker's configuration with an operator, and the credentials of
    a user with all rights in an account."""
    operator, system, account = (Key(folder, kind) for kind in (
        "operator", "account", "account"))
    user = Key(folder, "user")
    accounts = "".join(
        f"{each.name}: {operator.jwt(each, limits={**NO_LIMITS, **more})}\n"
        for each, more in ((system, {"disk_storage": 0, "mem_storage": 0}),
                           (account, {})))
    config = (f"operator: {operator.jwt(operator)}\n"
              f"system_account: {system.name}\nresolver: MEMORY\n"
              f"resolver_preload: {{\n{accounts}}}\n")
    return config, CREDENTIALS.format(
        account.jwt(user, subs=-1, data=-1, payload=-1), user.seed)
