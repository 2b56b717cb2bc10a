"""Parses JSON records, one a line, into columns; a faulty record does not affect others."""

from __future__ import annotations

import io
import json
import re
from collections import Counter
from collections.abc import Collection, Iterator
from decimal import Decimal
from math import isinf
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.json

from tailrace.ground.arrow.number_types import EXACT
from tailrace.sources.formats.csv_records import BOM
from tailrace.sources.formats.json_types import wrong_value
from tailrace.sources.formats.type_names import data_type
from tailrace.sources.segments import MalformedRecord, RawSegment, Types

_OBJECT = re.compile(rb"^[ \t\r]*\{.*\}[ \t\r]*$", re.MULTILINE)
"""A line that may be a record; others do not reach the parser, which crashes on a line `null`."""

_UNREADABLE = "no record that could be read"


def parse(lines: list[bytes], types: Types, exact: Collection[str] = ()) -> RawSegment:
    """Parse the columns of `types` of every line.

    In the columns `exact`, an integer that the column's double would round is malformed.
    """
    schema = pa.schema([(name, data_type(dtype)) for name, dtype in types.items()])
    tables, rows, malformed = [schema.empty_table()], [np.zeros(0, np.int64)], list[MalformedRecord]()
    doubles = [name for name, dtype in types.items() if dtype == "double" and name in exact]
    for start, stop, table in _parse(lines, 0, len(lines), schema):
        if table is None:
            text = lines[start].decode(errors="replace")
            malformed.append(MalformedRecord(start, _reason(text.removeprefix("\ufeff"), types), text))
            continue
        rounded = _rounded(lines[start:stop], table, doubles)
        malformed += [
            MalformedRecord(start + row, reason, lines[start + row].decode()) for row, reason in rounded.items()
        ]
        stays = np.delete(np.arange(stop - start), list(rounded))
        tables.append((table.take(pa.array(stays)) if rounded else table).select(schema.names))
        rows.append(start + stays)
    return RawSegment(pa.concat_tables(tables), np.concatenate(rows), malformed)


def _rounded(lines: list[bytes], table: pa.Table, doubles: Collection[str]) -> dict[int, str]:
    """Return the reasons to reject lines with an integer that its double rounds, by line."""
    reasons: dict[int, str] = {}
    for name in doubles:
        numbers = table.column(name).to_numpy()
        for row in np.flatnonzero(np.abs(numbers) >= EXACT).tolist():
            try:
                value = json.loads(lines[row], parse_int=Decimal)[name]
            except (ValueError, RecursionError):  # it is nested deeper than Python can read
                reasons[row] = _UNREADABLE
                continue
            if isinstance(value, Decimal) and value != Decimal(numbers[row]):
                reasons[row] = f"{name} is an integer that a double does not hold: {value}"
    return reasons


def _parse(lines: list[bytes], start: int, stop: int, schema: pa.Schema) -> Iterator[tuple[int, int, pa.Table | None]]:
    """Parse ranges of lines into tables; a range with a fault is halved down to the faulty line, which gives None."""
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
    elif stop - start == 1 and lines[start].startswith(BOM):  # as at the beginning of a file
        (parsed,) = _parse([lines[start].removeprefix(BOM)], 0, 1, schema)
        yield start, stop, parsed[2]
    elif stop - start == 1:
        yield start, stop, None
    else:
        middle = (start + stop) // 2
        yield from _parse(lines, start, middle, schema)
        yield from _parse(lines, middle, stop, schema)


def _reason(text: str, types: Types) -> str:
    """Return the reason why a line is not a record of these types."""
    try:
        return _reason_of_record(text, json.loads(text), types)
    except RecursionError:
        return "broken JSON: nested too deep"
    except ValueError as error:
        return f"broken JSON: {error}"


def _reason_of_record(text: str, record: Any, types: Types) -> str:
    if "\ufffd" in text:
        return "no UTF-8"
    if not isinstance(record, dict):
        return "no JSON object"
    if not _is_utf_8(record):
        return "no UTF-8: half of a surrogate pair"
    return wrong_value(record, types) or _repeated_name(text, types) or _too_large(record) or _UNREADABLE


def _too_large(record: dict[str, Any]) -> str | None:
    """Return the reason to reject a record with a number beyond doubles, which Python reads as infinity."""
    for name, value in record.items():
        if any(isinstance(each, float) and isinf(each) for each in (value if isinstance(value, list) else [value])):
            return f"{name} is a number beyond 1.8e308, which no double holds"
    return None


def _is_utf_8(record: dict[str, Any]) -> bool:
    try:
        json.dumps(record, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return False
    return True


def _repeated_name(text: str, types: Types) -> str | None:
    """Return the reason to reject a record with a repeated name; None without one."""
    repeated: list[str] = []

    def note(members: list[tuple[str, Any]]) -> None:
        counts = Counter(name for name, _ in members)
        repeated[:] = [name for name in types if counts[name] > 1]

    json.loads(text, object_pairs_hook=note)  # the outermost object comes last
    return f"it has the name {repeated[0]} more than once" if repeated else None
