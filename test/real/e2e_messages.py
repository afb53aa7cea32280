"""The messages of mini-stream about wrong arguments and refused markets: each
says once what is wrong, which value, and what would be right. Also --count and
`profiles`.

SPDX-License-Identifier: 0BSD
"""
import json
import os
import tempfile

from e2e import CONFIG, SERVICE, USAGE, check, equal, write_file
from e2e import run_tool as run

CODE = "UNKNOWN_CHANNEL_PARAMS_CONFIGURATION"


def says(status, text, *arguments, **variables):
    """Expects it to end at once with only this line, without its help."""
    got, out, err = run(*arguments, **variables)
    equal((status, "", 1), (got, out, err.count("\n")), (arguments, out, err))
    check(text in err, f"{arguments}: no {text!r} in {err!r}")
    return err


def test_commands():
    for words, text in (
            ("address", "'address': did you mean 'address put'?"),
            ("adress put --help", "'adress put': did you mean 'address put'?"),
            ("address pt", "'address pt': did you mean 'address put'?"),
            ("help adress", "'adress': did you mean 'address put'?"),
            ("strem BTCUSD", "'strem': did you mean 'stream'?"),
            ("Watch", "'Watch': did you mean 'watch'?"),
            ("help doctr", "'doctr': did you mean 'doctor'?"),
            ("profiles chek", "chek: did you mean 'check'?"),
            ("version x", "'version' takes no argument 'x'"),
            ("--version x", "'--version' takes no argument 'x'"),
            ("-h x", "'-h' takes no argument 'x'"),
            ("xyz abc", "'xyz': see --help")):
        says(USAGE, text, *words.split())
    for words in ("address --help", "help address", "profiles -h",
                  "stream --help --nosuch", "stream -qh"):
        equal(0, run(*words.split())[0], words)


def test_options():
    for words, text in (
            ("stream --secnds 5 BTCUSD", "'--secnds': did you mean '--seconds'"),
            ("record --se=5 BTCUSD", "'--se': did you mean '--seconds'?"),
            ("stream -o --xyz --quite", "'--quite': did you mean '--quiet'?"),
            ("doctor --hlep", "'--hlep': did you mean '--help'?"),
            ("address put -vx", "no option is called '-v': see --help"),
            ("stream --top -xq", "no option is called '-x': see --help"),
            ("stream --seconds", "--seconds needs a value"),
            ("stream BTCUSD -s", "--seconds needs a value"),
            ("replay --raw=1 x", "--raw takes no value"),
            ("token x", "too many arguments: 'x'")):
        says(USAGE, text, *words.split())


def test_values():
    for words, text in (
            ("-c executoins", "'executoins': did you mean 'executions'?"),
            ("-c market_data,xyz", "'xyz': not one of market_data, market_data"
             ".top_of_book, execution_data, heartbeat, executions"),
            ("-f jsn", "'jsn': did you mean 'json'?"),
            ("--set conect_ms=1", "'conect_ms': did you mean 'connect_ms'?"),
            ("--tls opensl", "--tls 'opensl': did you mean 'openssl'?"),
            ("--tls x", "--tls 'x': not one of fast, bearssl, openssl"),
            ("-d 99999", "--depth 99999: a book has at most 100 levels"),
            ("-d 6 -l 5", "--depth 6: a book has at most 5 levels of a side; "
             "--levels 6"),
            ("-d 100001", "--depth 100001: not a whole number from 0 to 100000"),
            ("--count 0", "--count 0: not a whole number from 1 to")):
        says(USAGE, text, "stream", *words.split(), "BTCUSD")
    for words, text in (("--from yesterday", "neither seconds nor a time"),
                        ("--speed .5 --from x", "neither seconds nor a time"),
                        ("--speed .", "not a number from 0.001 to 1000"),
                        ("--speed 0", "not a number from 0.001 to 1000"),
                        ("--raw --to 1", "--raw has no --real-time, --speed")):
        says(USAGE, text, "replay", *words.split(), "/dev/null")
    for words, text in (("--replay x BTCUSD", "--replay has its markets"),
                        ("--replay -", "standard input is for keys"),
                        ("--speed 2 BTCUSD", "--speed needs --replay")):
        says(USAGE, text, "watch", *words.split())


def test_urls():
    """A wrong URL is named, with the reason."""
    good = {"ws": "wss://localhost:1234", "auth": "https://localhost:1234"}
    for name, url, text in (
            ("ws", "http://localhost", "it must begin with wss://"),
            ("auth", "htp://x", "it must begin with https://"),
            ("auth", "localhost", "it must begin with https://"),
            ("auth", "https://", "it has no host"),
            ("ws", "wss://x:99999", "the port is not a number from 1 to"),
            ("auth", "https://x:9a/p", "the port is not a number from 1 to"),
            ("ws", "ws://x", "not encrypted: it must begin with wss://, "
             "unless stream, watch or record has --allow-plain"),
            ("auth", "http://x", "not encrypted: it must begin with https://"),
            ("ws", "wss://x y", "its host has a character other than"),
            ("auth", "https://x.:1", "its host has a dot too many"),
            ("ws", "wss://x?q", "'/' is missing before '?'"),
            ("auth", "https://x/#f", "'#' or a space is not supported"),
            ("auth", "https://x/" + 127 * "p", "its path is too long"),
            ("ws", "wss://[::1", "'[' must be followed by an IPv6 address"),
            ("ws", "WSS://localhost:1", "before :// must be small ones"),
            ("auth", "https://127.0.0.1:9/p", "--tls openssl")):
        urls = {**good, name: url}
        err = says(CONFIG, f"{name}_url {url}: ", "stream", "BTCUSD",
                   "--ws-url", urls["ws"], "--auth-url", urls["auth"])
        check(text in err, (url, text))
        if name == "auth":
            equal(err, says(CONFIG, text, "token", "--auth-url", url))


def test_refused(sandbox):
    """The service's code comes once, with a suggestion."""
    status, out, err = run("stream", *sandbox.arguments, "btcusd")
    equal((SERVICE, 1, 1), (status, out.count(CODE), err.count(CODE)), out)
    equal(2, out.count("btcusd: for the same reason"), out)
    check(err.endswith("refused market_data of btcusd; did you mean "
                       "BTCUSD?\n"), err)
    status, _, err = run("stream", *sandbox.arguments, "-q", "-f", "json",
                         "NOSUCH")
    equal((SERVICE, "mini-stream: the service refused market_data of NOSUCH: "
           f"{CODE}\n"), (status, err))


def test_count(sandbox):
    """Both spellings of a channel; exactly this number of messages."""
    for channel in ("executions", "execution_data", "top", "heartbeat"):
        markets = () if channel == "heartbeat" else ("BTCUSD", "ETHUSD")
        status, out, err = run("stream", *sandbox.arguments, "-f", "json", "-c",
                               channel, "--count", "3", *markets)
        equal(0, status, err)
        types = [json.loads(line)["type"] for line in out.splitlines()]
        equal(["start", "open", *[{"e": "execution", "t": "top",
                                   "h": "heartbeat"}[channel[0]]] * 3,
               "closed", "end"], types)
    status, out, err = run("stream", *sandbox.arguments, "-f", "json", "-c",
                           "market_data", "--count", "4", "BTCUSD")
    lines = [json.loads(line) for line in out.splitlines()]
    equal((0, 4), (status, sum(line["type"] in ("snapshot", "update") and
                               line.get("last", True) for line in lines)), err)


def test_profiles(sandbox):
    folder = os.path.join(sandbox.state, "mini-stream")
    os.mkdir(folder)
    equal("", run("profiles", XDG_CONFIG_HOME=sandbox.state)[1])
    for name, text in (
            ("work", f"endpoints = ../endpoints.json\nca = {sandbox.ca}\n"),
            ("bad", "ws_url = wss://x:y@z\nproxy = http://u:secret@h:1\n"),
            ("worse", "ws_ur = x\n"), ("gone", "secret_file = nosuch\n")):
        write_file(f"{folder}/{name}.ini", "[service]\n" + text)

    def profiles(*arguments):
        # The environment's settings do not count for a profile.
        return run("profiles", *arguments, XDG_CONFIG_HOME=sandbox.state,
                   MINI_STREAM_ENDPOINTS=sandbox.endpoints)
    equal((0, "".join(f"{name:<15} {folder}/{name}.ini\n" for name in
                      ("bad", "gone", "work", "worse")), ""), profiles())
    equal((0, f"# {folder}/work.ini\n[service]\nendpoints = {folder}/../"
           f"endpoints.json\nca = {sandbox.ca}\n", ""),
          profiles("show", "work"))
    status, out, _ = profiles("show", "bad")
    equal((0, ["ws_url = wss://***@z", "proxy = http://********@h:1"]),
          (status, out.splitlines()[2:]))
    status, out, err = profiles("check")
    equal((CONFIG, ""), (status, err))
    for line, text in zip(out.splitlines(), (
            "bad: ws_url wss://***@z: not a usable URL: a name and",
            f"gone: secret file {folder}/nosuch: No such",
            "work: ok; without client_id",
            f"worse: {folder}/worse.ini:2: unknown key 'ws_ur': did you mean "
            "'ws_url'?"), strict=True):
        check(line.startswith(text), (line, text))
    equal(0, profiles("check", "work")[0])
    for words, text in (
            (("check", "wrok"), f"profile 'wrok', {folder}/wrok.ini: did you "
             "mean 'work'?"), (("check", "./no"), "profile './no'"),
            (("show",), "default profile")):
        equal((CONFIG, "", f"mini-stream: there is no {text}\n"),
              profiles(*words))


def test_profile_lines():
    """An error names the line that is wrong."""
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/x.ini"
        for text, line, what in (
                ("#\n[sevice]\n\nca = x", 2, "'sevice': did you mean 'service'?"),
                ("[SERVICE]\nca = x", 1, "'SERVICE': did you mean 'service'?"),
                ("[other]\n[service]", 1, "'other': not one of service"),
                ("[service]\n[]", 2, "a section is a line like [service]"),
                ("[service] ca = x", 1, "a section is a line like [service]"),
                ("[service", 1, "a section is a line like [service]"),
                ("ca = x", 1, "no [section] comes before it"),
                (f"[service]\n#{'x' * 999}\nca = x", 2, "line is too long"),
                ("[service]\n#\nCA = x", 3, "did you mean 'ca'?"),
                ("[service]\nproxy: x;y ; z\nca=\n", 3, "no value for ca"),
                ("[service]\nca = x\nca = y", 3, "set twice: ca"),
                ("[service]\nca = x\ny", 3, "nor key = value")):
            write_file(path, text)
            status, out, _ = run("profiles", "check", path)
            check(status == CONFIG and f": {path}:{line}: " in out and
                  what in out, (text, out))
