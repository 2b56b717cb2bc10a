"""The tuples that a query accepts from rows: the first with each id, in order of arrival."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

import pyarrow as pa

from tailrace.expressions.projection import Projection
from tailrace.expressions.types import column_type
from tailrace.query.query import Query
from tailrace.query.sections import StreamSection


@dataclass(frozen=True)
class Tuple:
    """A tuple, its times in microseconds.

    Attributes
    ----------
    key : tuple
        The values of its key; none if all tuples are one group.
    values : dict
        Its columns, including derived ones.
    """

    event_time: int
    arrival_time: int
    id: Any
    key: tuple[Any, ...]
    values: dict[str, Any]


def first_tuples(
    query: Query,
    stream: StreamSection,
    rows: pa.Table,
    conditions: dict[str, str],
    is_sound: Callable[[dict[str, Any]], bool],
) -> list[Tuple]:
    """Return the tuples that the batch answer counts: the first accepted tuple of each id.

    Parameters
    ----------
    conditions : dict
        Further columns to compute, by expressions.
    is_sound : callable
        Whether a row has the values that the query needs.
    """
    arrived = []
    tick, largest = query.tick_ms, None
    for position, each in enumerate(_tuples(query, stream, rows, conditions)):
        if each is None or not is_sound(each.values):
            continue
        largest = each.arrival_time if largest is None else max(largest, each.arrival_time)
        arrived.append((largest // 1000 // tick if tick else position, each.arrival_time, position, each))
    first: dict[Any, Tuple] = {}
    for *_, each in sorted(arrived, key=lambda one: one[:3]):
        first.setdefault(each.id, each)
    return list(first.values())


def _tuples(query: Query, stream: StreamSection, rows: pa.Table, conditions: dict[str, str]) -> Iterator[Tuple | None]:
    """Yield each row as a tuple; None if it is not a tuple."""
    table, kept = _computed(stream, rows, conditions)
    keys = [stream.key] if isinstance(stream.key, str) else [*(stream.key or ())]
    ahead_ms, zone = query.ahead_ms(stream), ZoneInfo(stream.timezone or "UTC")
    for row, is_kept in zip(table.to_pylist(), kept, strict=True):
        event_time = _us(row[stream.event_time], zone)
        arrival_time = 0 if stream.arrival_time is None else _us(row[stream.arrival_time], zone)
        identity, key = row[str(stream.id)], tuple(row[name] for name in keys)
        is_keyed = stream.groups_nulls or None not in key
        if not is_kept or event_time is None or arrival_time is None or identity is None or not is_keyed:
            yield None
            continue
        is_ahead = stream.arrival_time is not None and event_time // 1000 > arrival_time // 1000 + ahead_ms
        is_in_bounds = not is_ahead and event_time // 1000 >= stream.bounds.earliest_ms
        yield Tuple(event_time, arrival_time, identity, key, row) if is_in_bounds else None


def _computed(stream: StreamSection, rows: pa.Table, conditions: dict[str, str]) -> tuple[pa.Table, list[bool]]:
    """Return rows with derived columns and `conditions`; and which rows `where` keeps, and no expression fails for."""
    columns = stream.columns | conditions
    if not columns and stream.where is None:
        return rows, [True] * rows.num_rows
    projection = Projection.parse(columns, stream.where)
    types = {name: column_type(rows.schema.field(name).type) for name in projection.inputs}
    projected = projection.over({name: dtype for name, dtype in types.items() if dtype is not None}).run(rows)
    kept = projected.kept.tolist()
    for failure in projected.failures:
        kept = [each and not failed for each, failed in zip(kept, failure.mask.tolist(), strict=True)]
    return projected.table, kept


def _us(value: Any, zone: ZoneInfo) -> int | None:
    """Return a time in microseconds, None for a text that is no time; without a zone, it has the stream's."""
    if isinstance(value, str):
        try:
            value = datetime.fromisoformat(value)
        except ValueError:
            return None
    if not isinstance(value, datetime):
        return None if value is None else int(value) * 1000
    moment = value.replace(tzinfo=zone) if value.tzinfo is None else value
    return int(moment.timestamp() // 1) * 1_000_000 + moment.microsecond
