#!/usr/bin/env python3
"""The SPDX list (2.3, JSON) of an archive: each file with its digests and the
licence that its own line names, and the packages that the library needs. A file
without such a line is an error, unless its format has no room for one.

Usage: spdx.py ARCHIVE VERSION FILE...   writes the list of these files
       spdx.py FILE...                   only looks for their licences
SOURCE_DATE_EPOCH: when the list was made (default: 1970).
SPDX-License-Identifier: 0BSD
"""
import datetime
import hashlib
import json
import os
import re
import sys
import uuid

# Of what cannot say so: text for readers, git's own file, PlatformIO's.
LICENCE = "0BSD"
SILENT = re.compile(r"(.*\.md|LICENSE|\.gitignore|.*/library\.json)")
LINE = re.compile(rb"SPDX-License-Identifier: ([\w.+-]+)")
COPYRIGHT = re.compile(r"Copyright .*")
# Not in the archive. jsmn is compiled in, BearSSL is linked.
NEEDED = [
    ("jsmn", "1.1.0", "https://github.com/zserge/jsmn",
     "Copyright (c) 2010 Serge Zaitsev", "BUILD_DEPENDENCY_OF"),
    ("BearSSL", "NOASSERTION", "https://bearssl.org",
     "Copyright (c) 2016 Thomas Pornin <pornin@bolet.org>", "DEPENDENCY_OF")]


def read(path):
    with open(path, "rb") as file:
        return file.read()


def licence_of(path):
    """What its line says, or None."""
    found = LINE.search(read(path))
    if found:
        return found[1].decode()
    return LICENCE if SILENT.fullmatch(path) else None


def unlicensed(paths):
    missing = [path for path in paths if licence_of(path) is None]
    for path in missing:
        print(f"{path}: no line SPDX-License-Identifier", file=sys.stderr)
    return missing


def digest(data, name):
    return hashlib.new(name, data).hexdigest()


def checksums(data):
    return [{"algorithm": name.upper(), "checksumValue": digest(data, name)}
            for name in ("sha1", "sha256")]


def file_entry(number, path, copyright_text):
    licence = licence_of(path)
    return {"SPDXID": f"SPDXRef-File-{number}", "fileName": "./" + path,
            "checksums": checksums(read(path)), "licenseConcluded": licence,
            "licenseInfoInFiles": [licence], "copyrightText": copyright_text}


def needed_entry(name, version, location, copyright_text, _):
    return {"SPDXID": "SPDXRef-" + name, "name": name, "versionInfo": version,
            "downloadLocation": location, "filesAnalyzed": False,
            "licenseConcluded": "MIT", "licenseDeclared": "MIT",
            "copyrightText": copyright_text}


def document(archive, version, paths):
    data = read(archive)
    name = os.path.basename(archive)
    with open("LICENSE", encoding="utf-8") as file:
        found = COPYRIGHT.search(file.read())
    copyright_text = found[0] if found else "NONE"
    files = [file_entry(number, path, copyright_text)
             for number, path in enumerate(paths, 1)]
    # Section 7.9: of the files' digests, in order.
    sums = "".join(sorted(entry["checksums"][0]["checksumValue"]
                          for entry in files))
    created = datetime.datetime.fromtimestamp(
        int(os.environ.get("SOURCE_DATE_EPOCH", "0")), datetime.timezone.utc)
    package = {
        "SPDXID": "SPDXRef-Package", "name": "mini_stream",
        "versionInfo": version, "packageFileName": name,
        "downloadLocation": "NOASSERTION", "filesAnalyzed": True,
        "packageVerificationCode": {
            "packageVerificationCodeValue": digest(sums.encode(), "sha1")},
        "checksums": checksums(data), "licenseConcluded": LICENCE,
        "licenseDeclared": LICENCE,
        "licenseInfoFromFiles": sorted({entry["licenseConcluded"]
                                        for entry in files}),
        "copyrightText": copyright_text,
        "hasFiles": [entry["SPDXID"] for entry in files]}
    return {
        "spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0",
        "SPDXID": "SPDXRef-DOCUMENT", "name": name,
        "documentNamespace": "urn:uuid:" + str(
            uuid.uuid5(uuid.NAMESPACE_OID, digest(data, "sha256"))),
        "creationInfo": {
            "created": created.strftime("%Y-%m-%dT%H:%M:%SZ"),
            "creators": ["Tool: mini_stream-spdx.py"]},
        "packages": [package] + [needed_entry(*needed) for needed in NEEDED],
        "files": files,
        "relationships": [
            {"spdxElementId": "SPDXRef-DOCUMENT",
             "relationshipType": "DESCRIBES",
             "relatedSpdxElement": "SPDXRef-Package"}] + [
            {"spdxElementId": "SPDXRef-" + name, "relationshipType": how,
             "relatedSpdxElement": "SPDXRef-Package"}
            for name, *_, how in NEEDED]}


def main(arguments):
    archive = arguments[:2] if arguments[0].endswith(".tar.gz") else []
    paths = arguments[len(archive):]
    if unlicensed(paths):
        return 1
    if archive:
        json.dump(document(*archive, paths), sys.stdout, indent=1)
        print()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
