"""Checks JSON lines against the schema of `mini-stream stream`.

SPDX-License-Identifier: 0BSD
"""
import json
import os

import fastjsonschema

from e2e import check, read_file

ACCEPT = fastjsonschema.compile(json.loads(read_file(os.path.join(
    os.path.dirname(__file__),
    "../../examples/mini-stream/stream.schema.json"))))


def validate(thing):
    try:
        ACCEPT(thing)
    except fastjsonschema.JsonSchemaValueException as error:
        check(False, f"{thing}: {error}")
