"""Parses JSON records, one a line, into columns; a faulty record stands in the way of no other."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pyarrow.json

from tailrace.sources.json_types import ARROW_TYPES, wrong_value
from tailrace.sources.segments import MalformedRecord, RawSegment, Types

_OBJECT = re.compile(rb"^[ \t\r]*\{.*\}[ \t\r]*$", re.MULTILINE)
"""A line that may be a record; no other reaches the parser, which crashes on a line `null`."""


def parse(lines: list[bytes], types: Types) -> RawSegment:
    """Parse the columns of `types` of every line."""
    schema = pa.schema([(name, ARROW_TYPES[kind]) for name, kind in types.items()])
    tables, rows, malformed = [schema.empty_table()], [np.zeros(0, np.int64)], []
    for start, stop, table in _parse(lines, 0, len(lines), schema):
        if table is None:
            text = lines[start].decode(errors="replace")
            malformed.append(MalformedRecord(start, _reason(text, types), text))
        else:
            tables.append(table.select(schema.names))
            rows.append(np.arange(start, stop))
    return RawSegment(pa.concat_tables(tables), np.concatenate(rows), malformed)


def _parse(lines: list[bytes], start: int, stop: int, schema: pa.Schema) -> Iterator[tuple[int, int, pa.Table | None]]:
    """Parse ranges of lines into tables; a range with a fault is halved down to the faulty line, which gets None."""
    if start == stop:
        return
    options = pa.json.ParseOptions(explicit_schema=schema, unexpected_field_behavior="ignore", newlines_in_values=False)
    text = b"\n".join(lines[start:stop]) + b"\n"
    block = pa.json.ReadOptions(use_threads=False, block_size=len(text) + 2)
    try:
        text.decode()
        faulty = len(_OBJECT.findall(text)) != stop - start
        table = (
            schema.empty_table()
            if faulty
            else pa.json.read_json(io.BytesIO(text), read_options=block, parse_options=options)
        )
    except (ValueError, pa.ArrowNotImplementedError):
        faulty = True
    if not faulty and table.num_rows == stop - start:
        yield start, stop, table
    elif stop - start == 1:
        yield start, stop, None
    else:
        middle = (start + stop) // 2
        yield from _parse(lines, start, middle, schema)
        yield from _parse(lines, middle, stop, schema)


def _reason(text: str, types: Types) -> str:
    """The reason for which a line is no record of these types."""
    try:
        record = json.loads(text)
    except RecursionError:
        return "broken JSON: nested too deep"
    except ValueError as error:
        return f"broken JSON: {error}"
    if "\ufffd" in text:
        return "no UTF-8"
    if not isinstance(record, dict):
        return "no JSON object"
    return wrong_value(record, types) or "no record that could be read"
