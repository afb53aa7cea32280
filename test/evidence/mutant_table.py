"""The tests' results for mutants, and the list of survivors.

    Results(folder, tests)    kept in a file of the folder, a line per result
    read_table(path)          reasons by mutant

The list has for each survivor: the function, table or macro that has it; a
number if it is not the first with the same lines; the lines before and after;
and the reason why no test kills it:

    ws_header #2
        - if (len < 2) {
        + if (len <= 2) {
        The reason, in some lines; it is for all mutants above that have no
        reason yet.

SPDX-License-Identifier: 0BSD
"""
import json
import os

from e2e import read_file


class Results:
    def __init__(self, folder, tests):
        self.tests = {test.name: test.digest for test in tests}
        self.known = {}
        os.makedirs(folder, exist_ok=True)
        self.path = os.path.join(folder, "results")
        if os.path.exists(self.path):
            # The last line is not whole if the run was interrupted.
            for line in read_file(self.path).split("\n")[:-1]:
                record = json.loads(line)
                self.known[record["key"], record["of"]] = record
        self.file = open(self.path, "a", encoding="utf-8")

    def of(self, mutant):
        """A mutant's record, so that unchanged tests do not run again; without
        "is" if there is no verdict."""
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
    for line in read_file(path).splitlines():
        text = line.strip()
        if not text or line.startswith("#"):
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
