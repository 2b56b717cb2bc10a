"""Assertions on the answers of queries: that they equal others, and that they are right after a correction."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from tailrace.api.in_memory import as_table
from tailrace.api.query import Query
from tailrace.api.rows import Rows
from tailrace.api.run import Run
from tailrace.api.scratch import Scratch
from tailrace.testing.oracle import Answer, scaled_answers

_TOLERANCE = 1e-9
_SHOWN = 5
"""The most answers of each sort in a failure's message."""


def assert_answers_equal(answers: Any, expected: Any, columns: Sequence[str] | None = None) -> None:
    """Assert that answers are the same in any order, each as often, and floats within 1e-9.

    Parameters
    ----------
    found, expected : answers or table
        `Answers`, or rows as for `tailrace.Stream`.
    columns : sequence of str, optional
        The columns to compare; by default all of `expected`.

    >>> assert_answers_equal([{"key": "a", "value": 0.1 + 0.2}], [{"key": "a", "value": 0.3}])
    >>> assert_answers_equal([{"key": "a", "value": 1.0}], [])
    Traceback (most recent call last):
    AssertionError: 1 answer is not expected:
      {'key': 'a', 'value': 1.0}
    """
    _assert_equal(_dicts(answers), [Answer(row, 0.0) for row in _dicts(expected)], columns)


def assert_right(query: Query, *, expected: Any = None, engine: str | None = None, **streams: Any) -> Run:
    """Assert that a query's answers, after a run and a correction, equal the batch answers over all its rows.

    The query runs in a temporary warehouse. Joins, and queries with lookups, need `expected`.

    Parameters
    ----------
    expected : table, optional
        Your own answers, whose columns are compared; by default the result of `batch_answers`.
    engine : str, optional
        As for `Query.run`.
    streams : rows
        The rows of streams, as for `Query.over`.

    Returns
    -------
    Run
        The run, to read the streamed answers, late tuples and rejected records.
    """
    asked = query.over(**streams) if streams else query
    temporary = replace(asked, scratch=Scratch())
    right = scaled_answers(asked) if expected is None else [Answer(row, 0.0) for row in _dicts(expected)]
    run = temporary.run(temporary.scratch.path / "warehouse", engine=engine, strict=False)
    if run.has_begun and run.declared.has_late_tuples:
        run.correct(engine=engine)
    answers = run.results().dicts() if run.has_begun else []
    _assert_equal(answers, right, None)
    return run


def _dicts(rows: Any) -> list[dict[str, Any]]:
    return rows.dicts() if isinstance(rows, Rows) else list(as_table(rows).to_pylist())


def _assert_equal(answers: list[dict[str, Any]], expected: list[Answer], columns: Sequence[str] | None) -> None:
    """Raise an AssertionError with the answers that differ."""
    missing = list[dict[str, Any]]()
    named = columns or list(dict.fromkeys(name for answer in expected for name in answer.row))
    groups: dict[Any, list[dict[str, Any]]] = {}
    for row in answers:
        shown = {name: row[name] for name in named} if named else row
        groups.setdefault(_exact(shown), []).append(shown)
    for answer in expected:
        wanted = {name: answer.row.get(name) for name in named}
        alike = groups.get(_exact(wanted), [])
        index = next((index for index, row in enumerate(alike) if _is_close(row, wanted, answer.scale)), None)
        if index is None:
            missing.append(wanted)
        else:
            alike.pop(index)
    surplus = [row for rows in groups.values() for row in rows]
    parts = [*_said(missing, "is missing", "are missing"), *_said(surplus, "is not expected", "are not expected")]
    if parts:
        raise AssertionError("\n".join(parts))


def _said(rows: Sequence[dict[str, Any]], one: str, several: str) -> Iterable[str]:
    if rows:
        yield f"{len(rows):,} answer{'' if len(rows) == 1 else 's'} {one if len(rows) == 1 else several}:"
        yield from (f"  {row}" for row in rows[:_SHOWN])
        if len(rows) > _SHOWN:
            yield "  …"


def _exact(row: dict[str, Any]) -> Any:
    """Return the values of a row that must match exactly; for a float, only a mark."""
    return tuple((name, "a float" if isinstance(value, float) else _plain(value)) for name, value in row.items())


def _plain(value: Any) -> Any:
    """Return a value that can be compared and hashed; times without a zone are UTC."""
    if isinstance(value, datetime):
        return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)
    return repr(value) if isinstance(value, dict | list) else value


def _is_close(row: dict[str, Any], wanted: dict[str, Any], scale: float) -> bool:
    pairs = [(row[name], value) for name, value in wanted.items() if isinstance(value, float)]
    return all(math.isclose(a, b, rel_tol=_TOLERANCE, abs_tol=_TOLERANCE * scale) for a, b in pairs)
