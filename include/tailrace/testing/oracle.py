"""Computes the batch answers of a query over rows in memory, one window after the other.

It shares no code with the engine, except that DuckDB computes the expressions of `columns`, `where` and answers in
both. It is slow and simple, for small streams.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, date, datetime, timedelta
from typing import Any, NamedTuple
from zoneinfo import ZoneInfo

import pyarrow as pa

from tailrace.aggregate.named_section import NamedAggregatesSection
from tailrace.api.warehouse_query import WarehouseQuery
from tailrace.expressions.projection import Projection
from tailrace.ground.errors import refuse
from tailrace.query.window_section import KeyedWindow
from tailrace.query.windowed import AggregateQuery, TopKQuery, WindowedQuery
from tailrace.sources.column_rules import is_text
from tailrace.testing.accepted import Tuple, first_tuples
from tailrace.testing.values import scale_of, value_of

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

Held = dict[tuple[Any, int, int], list[Tuple]]
"""The tuples of each key and window, given by its start and end in ms."""


class Answer(NamedTuple):
    """A row of the batch answer, and the magnitude of its summands, which determines the tolerance."""

    row: dict[str, Any]
    scale: float


def batch_answers(query: WarehouseQuery) -> list[dict[str, Any]]:
    """Return the answers of a query over all its in-memory rows, as after a correction of everything.

    Raises
    ------
    Refused
        When the query is neither an aggregate nor a top-k, reads tables or another source, or has lookups.

    >>> import tailrace
    >>> rows = tailrace.Stream({"at": [10**12, 10**12 + 1], "id": [1, 1]}, event_time="at", id="id")
    >>> n = {"n": {"function": "count"}}
    >>> count = tailrace.query("aggregate", streams={"rows": rows}, window="5 s", aggregate=n)
    >>> [answer["n"] for answer in batch_answers(count)]
    [1]
    """
    return [answer.row for answer in scaled_answers(query)]


def scaled_answers(query: WarehouseQuery) -> list[Answer]:
    """Return the answers of `batch_answers` with their scales."""
    declared = query.declared
    where, remedy = f"query {query.name}", "expected=, with answers of your own"
    if not isinstance(declared, AggregateQuery | TopKQuery):
        raise refuse(where, f"the oracle computes no answers of kind {query.kind}", remedy)
    name, stream = declared.stream
    if name not in query.rows or stream.lookup:
        fault = "has lookups, which the oracle does not read" if stream.lookup else "is not in memory"
        raise refuse(where, f"stream {name} {fault}", f"query.over({name}=rows); or {remedy}")
    conditions = _conditions(declared)
    rows = _with_numbers(declared, query.rows[name])
    tuples = first_tuples(declared, stream, rows, conditions, lambda row: _is_sound(declared, row))
    held = _windows(declared, tuples)
    return _rankings(declared, held) if isinstance(declared, TopKQuery) else _aggregates(declared, held)


def _windows(query: WindowedQuery, tuples: Iterable[Tuple]) -> Held:
    """Return the tuples of each key and window, in order of event time, arrival and id."""
    held: Held = {}
    ordered = sorted(tuples, key=lambda one: (one.event_time, one.arrival_time, one.id))
    if query.window.session is not None:
        return _sessions(ordered, query.window.session // timedelta(milliseconds=1))
    for each in ordered:
        for start, end in windows_of(each.event_time // 1000, query.window):
            held.setdefault((each.key, start, end), []).append(each)
    return held


def _sessions(ordered: Iterable[Tuple], gap_ms: int) -> Held:
    """Return the tuples of each key and session, given all in order of event time."""
    sessions: dict[Any, list[list[Tuple]]] = {}
    for each in ordered:
        mine = sessions.setdefault(each.key, [])
        if mine and each.event_time // 1000 - mine[-1][-1].event_time // 1000 <= gap_ms:
            mine[-1].append(each)
        else:
            mine.append([each])
    return {
        (key, one[0].event_time // 1000, one[-1].event_time // 1000 + gap_ms): one
        for key, mine in sessions.items()
        for one in mine
    }


def _identity(query: WindowedQuery, key: tuple[Any, ...], start: int, end: int) -> dict[str, Any]:
    named = dict(zip(query.key_names, key, strict=True)) if query.key_names else {"key": key[0] if key else None}
    return named | {"window_start": _time(start), "window_end": _time(end)}


def _time(ms: int) -> datetime:
    return _EPOCH + timedelta(milliseconds=ms)


def _conditions(query: WindowedQuery) -> dict[str, str]:
    """Return the conditions of functions, by the names of the columns in which they are computed."""
    if not isinstance(query, AggregateQuery):
        return {}
    functions = query.aggregate.aggregates.items()
    return {f"where of {name}": each.where for name, each in functions if each.where is not None}


def _numbers(query: WindowedQuery) -> list[str]:
    """Return the columns in which each value must be a finite number; other records are no tuples."""
    if isinstance(query, TopKQuery):
        return [query.topk.score]
    assert isinstance(query, AggregateQuery)
    return [column for each in query.aggregate.aggregates.values() for column in each.columns]


def _with_numbers(query: WindowedQuery, rows: pa.Table) -> pa.Table:
    """Parse texts in columns of numbers; a text that is no number becomes NaN. Scores without any number stay texts."""
    for name in {*_numbers(query)} & {*rows.column_names}:
        if is_text(rows.schema.field(name).type):
            numbers = [None if not text else _number(text) for text in rows[name].to_pylist()]
            if isinstance(query, TopKQuery) and all(number is None or math.isnan(number) for number in numbers):
                continue
            rows = rows.set_column(rows.column_names.index(name), name, pa.array(numbers, pa.float64()))
    return rows


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return math.nan


def _is_sound(query: WindowedQuery, values: Mapping[str, Any]) -> bool:
    numbers = [values[name] for name in _numbers(query)]
    if isinstance(query, TopKQuery) and None in numbers:
        return False
    return all(math.isfinite(each) for each in numbers if isinstance(each, float))


def _aggregates(query: AggregateQuery, held: Held) -> list[Answer]:
    """Return the aggregates of each window."""
    rows, scales, is_short = [], [], not isinstance(query.aggregate, NamedAggregatesSection)
    for (key, start, end), tuples in held.items():
        row, scale = _identity(query, key, start, end), 0.0
        for name, each in query.aggregate.aggregates.items():
            counted = [one for one in tuples if each.where is None or one.values[f"where of {name}"]]
            rows_of = [[one.values[column] for column in each.columns] or [1] for one in counted]
            values = [row[0] if len(row) == 1 else tuple(row) for row in rows_of if row[0] is not None]
            value = value_of(str(each.function), values, each.q if each.limit is None else each.limit)
            row[name] = float(value) if is_short and value is not None else value
            if each.estimate and name in query.value_names:
                row |= {f"{name}_low": None, f"{name}_high": None, f"{name}_raw": row[name]}
            scale += scale_of(str(each.function), values)
        rows.append(row | {"tuples": len(tuples)})
        scales.append(scale)
    computed, kept = _with_expressions(query, rows)
    return [Answer(row, scale) for row, scale, is_kept in zip(computed, scales, kept, strict=True) if is_kept]


def _with_expressions(query: AggregateQuery, rows: list[dict[str, Any]]) -> tuple[list[dict[str, Any]], list[bool]]:
    """Add the expressions over other columns (null if one fails); also return which rows meet `having`."""
    expressions = query.aggregate.over_names
    if not (expressions.texts or expressions.having) or not rows:
        return rows, [True] * len(rows)
    table = pa.Table.from_pylist(rows)
    projection = Projection.parse(expressions.texts, None if expressions.having is None else expressions.having.text)
    types = {name: table.schema.field(name).type for name in projection.inputs}
    computed = projection.over(types).run(table)
    return list(computed.table.drop_columns([*expressions.hidden]).to_pylist()), computed.kept.tolist()


def _rankings(query: TopKQuery, held: Held) -> list[Answer]:
    """Return the k best tuples of each window; among equal scores the smaller id comes first."""
    section, answers = query.topk, list[Answer]()
    for (key, start, end), tuples in held.items():
        ordered = sorted(tuples, key=lambda one: one.id)
        ordered.sort(key=lambda one: one.values[section.score], reverse=section.order == "descending")
        for rank, each in enumerate(ordered[: section.k], 1):
            ranked = {"rank": rank, "id": each.id, "score": each.values[section.score]}
            selected = {name: each.values[name] for name in section.select}
            row = _identity(query, key, start, end) | ranked | selected | {"tuples": len(tuples)}
            answers.append(Answer(row, 0.0))
    return answers


_BEGINS: dict[int, Callable[[date], bool]] = {
    1: lambda day: True,
    7: lambda day: day.weekday() == 0,
    30: lambda day: day.day == 1,
    91: lambda day: day.day == 1 and day.month % 3 == 1,
    365: lambda day: day.day == 1 and day.month == 1,
}
"""Tests whether a date is the first of a window, by the days of the window's mean length."""


def windows_of(event_time: int, window: KeyedWindow) -> list[tuple[int, int]]:
    """Return the windows [start, end) that hold an event time, in ms."""
    offset = window.offset or timedelta(0)
    if window.timezone is not None:
        return [_of_calendar(event_time, window, ZoneInfo(window.timezone), offset)]
    windows, offset_ms = [], offset // timedelta(milliseconds=1)
    start = (event_time - offset_ms) // window.slide_ms * window.slide_ms + offset_ms
    while start + window.size_ms > event_time:
        windows.append((start, start + window.size_ms))
        start -= window.slide_ms
    return windows


def _of_calendar(event_time: int, window: KeyedWindow, zone: ZoneInfo, offset: timedelta) -> tuple[int, int]:
    """Return the day, the week from Monday, the month, quarter or year of a zone's clocks that holds an event time."""
    shown = datetime.fromtimestamp(event_time // 1000, zone).date()
    reach = 2 * window.size.days + 10
    dates = [shown + timedelta(days=days) for days in range(-reach, reach + 1)]
    starts = [_instant(each, zone, offset) for each in dates if _BEGINS[window.size.days](each)]
    start = max(each for each in starts if each <= event_time)
    return start, min(each for each in starts if each > start)


def _instant(day: date, zone: ZoneInfo, offset: timedelta) -> int:
    """Return the first instant at which clocks show the start of a date, moved by an offset, or a later time."""
    wall = datetime(day.year, day.month, day.day) + offset
    return int(wall.replace(tzinfo=zone).timestamp()) * 1000
