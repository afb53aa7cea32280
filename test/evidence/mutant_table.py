"""What is known of mutants: what the tests have said, and the list of those
that live.

    Results(folder, tests)    kept in a file of the folder, a line for each time
    read_table(path)          reasons by mutant

In the list a mutant is the function, table or macro that it is in, which of
those that read alike it is if it is not the first one, the lines as they were
and as they are; and the reason why no test kills it:

    ws_header #2
        - if (len < 2) {
        + if (len <= 2) {
        The reason, in some lines; it goes for all mutants above it that have
        none of their own.

SPDX-License-Identifier: 0BSD
"""
import json
import os


class Results:
    def __init__(self, folder, tests):
        self.tests = {test.name: test.digest for test in tests}
        self.known = {}
        os.makedirs(folder, exist_ok=True)
        self.path = os.path.join(folder, "results")
        if os.path.exists(self.path):
            with open(self.path, encoding="utf-8") as file:
                for line in file:
                    if line.endswith("\n"):
                        record = json.loads(line)
                        self.known[record["key"], record["of"]] = record
        self.file = open(self.path, "a", encoding="utf-8")

    def of(self, mutant):
        """A record, by which the mutant need not be asked again about the
        tests that have not changed; "is" is missing if there is no verdict."""
        record = self.known.setdefault((mutant.key, mutant.of), {})
        record.setdefault("passed", {})
        if record.get("is") == "killed" and \
                self.tests.get(record["by"]) != record["digest"]:
            del record["is"]
        return record

    def put(self, mutant, record):
        record = dict({"passed": self.of(mutant)["passed"]}, **record)
        record.update(key=mutant.key, of=mutant.of)
        self.known[mutant.key, mutant.of] = record
        self.file.write(json.dumps(record) + "\n")
        self.file.flush()


def read_table(path):
    """Reasons by the mutant's key."""
    table, waiting, last = {}, [], ""
    with open(path, encoding="utf-8") as file:
        lines = [line.rstrip() for line in file if not line.startswith("#")]
    for line in lines:
        text = line.strip()
        if not text:
            continue
        if not line.startswith(" "):
            if last == "reason":
                waiting = []
            name, _, number = text.partition(" #")
            waiting.append([name, "", "", number or "1"])
            last = "name"
        elif line.startswith("    - ") or line.startswith("    + "):
            last = "-+".index(text[0]) + 1
            waiting[-1][last] = text[2:]
        elif line.startswith("      ") and last in (1, 2):
            waiting[-1][last] += " " + text
        else:
            last = "reason"
            for where, old, new, number in waiting:
                key = f"{where}: {old} => {new} #{number}"
                table[key] = (table.get(key, "") + " " + text).strip()
    return table
