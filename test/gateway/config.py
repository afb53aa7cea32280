"""Wrong configurations: one clear line and an exit code.

SPDX-License-Identifier: 0BSD
"""
import os
import subprocess
import tempfile

from e2e import BUILD, check, environment_with, run_program, write_file

AT_ONCE = 8

# Right settings by section.
RIGHT = {
    "service": {"endpoints": "endpoints.json", "client_id": "sandbox-client",
                "secret_file": "secret"},
    "stream": {"markets": "BTCUSD"},
    "broker": {"url": "nats://127.0.0.1:1"},
    "gateway": {"name": "a"},
}

# Wrong settings: section, key, value (None: without the key), exit code, part
# of the message. Status 2 comes from the options of `mini-stream stream`.
WRONG = (
    ("gateway", "name", None, 3, "[gateway] name is missing"),
    ("gateway", "name", "a.b", 3, "name has 1 to 32 letters, digits"),
    ("gateway", "name", "n" * 33, 3, "name has 1 to 32 letters, digits"),
    ("gateway", "nme", "a", 3, "unknown: nme in section [gateway]"),
    ("broker", "prefix", "a.*", 3, "prefix has 1 to 32 letters, digits"),
    ("broker", "urls", "nats://x", 3, "unknown: urls in section [broker]"),
    ("brokers", "url", "nats://x", 3, "'brokers': did you mean 'broker'?"),
    *(("gateway", "queue", value, 3, "queue must be a whole number from 16 to")
      for value in ("15", "1e9", "-16")),
    ("gateway", "lease_ms", "", 3, "no value for lease_ms"),
    ("gateway", "duplicates_s", "59", 3, "duplicates_s must be a whole"),
    ("gateway", "last_book_ms", "999", 3, "last_book_ms must be a whole"),
    ("gateway", "store_mb", "99999999999999999999", 3, "store_mb must be a"),
    ("broker", "user", "u", 3, "user and password_file need each other"),
    ("broker", "key", "secret", 3, "certificate and key need each other"),
    *((section, key, value, 3, what)
      for section, key in (("broker", "password_file"),
                           ("broker", "credentials"), ("broker", "key"),
                           ("service", "secret_file"))
      for value, what in (("open", "open: "), ("absent", "absent: No such"))),
    *(("broker", "url", value, 3, "url must be nats://HOST") for value in (
        "http://127.0.0.1:1", "nats://", "127.0.0.1", "nats://127.0.0.1:99999",
        "nats://a,mqtt://b", "tls://.example:1", "tls://a..example:1",
        "localhost:4222")),
    ("broker", "url", "nats://me:secret@b", 3, "url cannot contain a user"),
    ("broker", "ca", "absent", 3, "absent"),
    ("service", "client", "x", 3, "'client': not one of"),
    ("stream", "levels", "none", 2, "levels"),
    ("stream", "level", "1000", 3, "unknown: level in section [stream]"),
    ("stream", "help", "yes", 3, "unknown: help in section [stream]"),
    ("stream", "markets", None, 2, "market"),
    ("stream", "profile", "x", 3, "unknown: profile in section"),
)


def run(changes, *arguments):
    """(exit code, standard error) with these values in the file."""
    with tempfile.TemporaryDirectory() as folder:
        for name, mode in (("secret", 0o600), ("open", 0o644)):
            os.chmod(write_file(os.path.join(folder, name),
                                "a secret that is told to nobody\n"), mode)
        write_file(f"{folder}/endpoints.json",
                   '{"ws_url":"wss://localhost:1/","auth_url":'
                   '"https://localhost:1","base_url":"https://localhost:1"}')
        with open(f"{folder}/gateway.ini", "w", encoding="ascii") as file:
            for section in {**RIGHT, **changes}:
                values = {**RIGHT.get(section, {}), **changes.get(section, {})}
                file.write(f"[{section}]\n")
                file.writelines(f"{key} = {value}\n" for key, value
                                in values.items() if value is not None)
        process = run_program(os.path.join(BUILD, "mini-stream-gateway"),
                              *(arguments or [file.name]),
                              env=environment_with(HOME=folder))
        check("a secret" not in process.stdout + process.stderr, "a secret")
        return process.returncode, process.stderr


def check_wrong(section, key, value, code, what):
    where = f"[{section}] {key} = {value}"
    status, said = run({section: {key: value}})
    check(status == code, f"{where}: status {status}, {said}")
    check(what in said, f"{where}: {said}")
    check(code != 3 or said.count("\n") == 1, f"{where}: {said}")


def test_values():
    failed = []
    for each in WRONG:
        try:
            check_wrong(*each)
        except AssertionError as error:
            failed.append(str(error))
        except subprocess.TimeoutExpired:
            failed.append(f"{each}: it runs")
    check(not failed, "\n".join(failed))


def test_files():
    status, said = run({}, "/absent.ini")
    check(status == 3 and "/absent.ini: No such file" in said, said)
    for arguments in (("--absent",), ("a", "b")):
        status, said = run({}, *arguments)
        check(status == 2 and "Usage: " in said, said)
    with tempfile.NamedTemporaryFile() as file:
        file.write(b"[gateway]\nname = a\nname = b\n")
        file.flush()
        status, said = run({}, file.name)
        check(status == 3 and ":3" in said and "set twice: name" in said, said)
