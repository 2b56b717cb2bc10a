"""Derives an id for records without a column of ids: from as few columns as distinguish them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa

from tailrace.advice.column_profile import ColumnProfile
from tailrace.advice.quoting import quoted, shown
from tailrace.advice.roles import Roles

_MOST_COLUMNS = 40
_SEPARATOR = "|"


@dataclass(frozen=True)
class RecordId:
    """A derived column that identifies records: its name, its expression, and the reason for it."""

    name: str
    expression: str
    reason: str


def record_id(name: str, table: pa.Table, roles: Roles, columns: Mapping[str, ColumnProfile]) -> RecordId:
    """Return an id from the event time, or key and event time, if that is unique; else from all columns.

    Records that are equal in all columns share an id: corrections count the later ones as repeats of the first.
    """
    event, key = (roles.column(part) for part in ("event_time", "key"))
    assert event is not None
    for names in ([event.name], [key.name, event.name] if key is not None else []):
        if names and _are_unique(table, names):
            of = " and ".join(shown(each, 40) for each in names)
            return RecordId(name, _joined(names, columns), f"no column is an id; {of} is different in each record")
    names = list(columns)[:_MOST_COLUMNS]
    fault = "no column is an id: records that are the same in all columns count once after a correction"
    return RecordId(name, f"md5({_joined(names, columns)})", fault)


def _are_unique(table: pa.Table, names: list[str]) -> bool:
    whole = table.select(names).drop_null()
    return len(whole) == len(table) and len(whole.group_by(names).aggregate([])) == len(whole)


def _joined(names: Sequence[str], columns: Mapping[str, ColumnProfile]) -> str:
    texts = [f"coalesce({_as_text(name, columns[name].dtype)}, '')" for name in names]
    return texts[0] if len(texts) == 1 else f"concat_ws('{_SEPARATOR}', {', '.join(texts)})"


def _as_text(name: str, dtype: pa.DataType) -> str:
    """Return the expression that casts a column to text; a double through decimal(38, 10)."""
    if pa.types.is_floating(dtype):
        return f"cast(try_cast({quoted(name)} as decimal(38, 10)) as string)"
    return f"cast({quoted(name)} as string)"
