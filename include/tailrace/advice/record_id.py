"""Derives an id for records without a column of ids: from as few columns as distinguish them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from tailrace.advice.column_profile import ColumnProfile
from tailrace.advice.quoting import quoted, shown
from tailrace.advice.roles import Roles, likely_ids

_MOST_COLUMNS = 40
_SEPARATOR = "|"


@dataclass(frozen=True)
class RecordId:
    """A derived column that identifies records: its name, its expression, and the reason for it.

    Attributes
    ----------
    others : tuple of ColumnProfile
        The columns of the sample that could be the id, the likeliest first.
    """

    name: str
    expression: str
    reason: str
    others: tuple[ColumnProfile, ...] = ()


def record_id(name: str, table: pa.Table, roles: Roles, columns: Mapping[str, ColumnProfile]) -> RecordId:
    """Return an id from the event time, or key and event time, if that is unique; else from all columns.

    The arrival time is left out: a record that is sent again arrives later. Records that are equal in all other columns
    share an id: corrections count the later ones as repeats of the first.
    """
    event, key, arrival = (roles.column(part) for part in ("event_time", "key", "arrival_time"))
    assert event is not None
    likely = likely_ids(columns.values(), roles)
    for names in ([event.name], [key.name, event.name] if key is not None else []):
        if names and _are_unique(table, names):
            of = " and ".join(shown(each, 40) for each in names)
            reason = f"no column is an id; {of} is different in each record"
            return RecordId(name, _joined(names, columns), reason, likely if len(names) > 1 else ())
    names = [each for each in columns if arrival is None or each != arrival.name][:_MOST_COLUMNS]
    same = "all columns" if arrival is None else "all columns but the arrival time"
    fault = f"no column is an id: records that are the same in {same} count once after a correction"
    return RecordId(name, f"md5({_joined(names, columns)})", fault, likely)


def are_resent(table: pa.Table, column: str, arrival: str | None) -> bool:
    """Return whether records with the same value in a column are equal in all columns but that of the arrival time."""
    present = table.filter(pc.is_valid(table.column(column)))
    names = [name for name in table.column_names if name != arrival]
    return _count_distinct(present, names) == _count_distinct(present, [column])


def _are_unique(table: pa.Table, names: list[str]) -> bool:
    whole = table.select(names).drop_null()
    return len(whole) == len(table) and _count_distinct(whole, names) == len(whole)


def _count_distinct(table: pa.Table, names: list[str]) -> int:
    return len(table.group_by(names).aggregate([]))


def _joined(names: Sequence[str], columns: Mapping[str, ColumnProfile]) -> str:
    texts = [f"coalesce({_as_text(name, columns[name].dtype)}, '')" for name in names]
    return texts[0] if len(texts) == 1 else f"concat_ws('{_SEPARATOR}', {', '.join(texts)})"


def _as_text(name: str, dtype: pa.DataType) -> str:
    """Return the expression that casts a column to text; a double through decimal(38, 10)."""
    if pa.types.is_floating(dtype):
        return f"cast(try_cast({quoted(name)} as decimal(38, 10)) as string)"
    return f"cast({quoted(name)} as string)"
