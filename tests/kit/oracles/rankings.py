"""The slow, obvious rankings of windows: by sorting what each of them holds."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

import pyarrow as pa

from kit.oracles.oracle import Outcome, Passed, Settings, Tuple, Window, distinct, newest, recomputed
from tailrace.kind.column_use import ColumnUse, of_side
from tailrace.topk.section import TopKSection

Ranking = list[tuple[str, Any]]

_NINES = 10**18 - 3, 10**18 - 2, 10**18 - 1
_LONG = -1, 0, 10**37, 10**37 + 1, 10**38 - 1
_DAY, _TIME = date(2024, 2, 28), datetime(2024, 2, 28, 23, 59, 59, 999_999, UTC)

SCORES: dict[str, tuple[pa.DataType, Sequence[Any]]] = {
    "double": (pa.float64(), [-1e300, -1.5, 0.0, 0.1, 0.1 + 2**-56, 5e-324, 1e300]),
    "float": (pa.float32(), [-1.5, -0.25, 0.0, 0.5, 0.75, 2.0**-100, 2.0**100]),
    "int64": (pa.int64(), [2**53 - 1, 2**53, 2**53 + 1, 2**53 + 2, 2**53 + 3, -(2**53) - 1, -(2**53) - 2]),
    "least and greatest int64": (pa.int64(), [-(2**63), -(2**63) + 1, -1, 0, 1, 2**63 - 2, 2**63 - 1]),
    "int8": (pa.int8(), [-128, -127, -1, 0, 1, 126, 127]),
    "uint64": (pa.uint64(), [0, 1, 2**63 - 1, 2**63, 2**63 + 1, 2**64 - 2, 2**64 - 1]),
    "decimal of 18 digits": (pa.decimal128(18, 2), [Decimal(f"{n}E-2") for n in (-(10**18) + 1, -1, 0, 1, *_NINES)]),
    "decimal of 38 digits": (pa.decimal128(38, 4), [Decimal(f"{n}E-4") for n in (-(10**37), -(10**37) + 1, *_LONG)]),
    "boolean": (pa.bool_(), [False, True] * 4),
    "date": (pa.date32(), [_DAY + timedelta(days) for days in (-9999, -1, 0, 1, 2, 366, 9999)]),
    "timestamp": (pa.timestamp("us", "UTC"), [_TIME + timedelta(microseconds=n) for n in (-(10**16), *range(6))]),
    "text": (pa.string(), ["", "9", "10", "Z", "a", "é", "\uffff", "𝄞"]),
}
"""Types of scores, and values of each, among them neighbours that are one double."""


def uses_of(*selected: str) -> tuple[ColumnUse, ...]:
    """The uses of columns by a ranking of the column `value`, with further columns."""
    return of_side(TopKSection(k=1, score="value", select=selected).uses(), 0)


def with_scores(tuples: Sequence[Tuple], name: str) -> list[Tuple]:
    """Tuples with scores of a type; equal values have equal scores."""
    _, scores = SCORES[name]
    return [item._replace(value=scores[int(item.value) % len(scores)]) for item in tuples]


def notes_of(item: Tuple) -> dict[str, object]:
    """Further columns of a tuple, of which a third are null."""
    code = item.event_time * 7 + item.arrival_time
    notes = {
        "note": f"{item.key} at {item.event_time}",
        "number": 2**60 + code,
        "time": date(1970, 1, 1) + timedelta(code % 100_000),
        "tick": Decimal(code) / 10_000,
    }
    return {name: None if (code + place) % 3 == 0 else value for place, (name, value) in enumerate(notes.items())}


def assert_selected(rows: Iterable[dict], tuples: Sequence[Tuple]) -> None:
    """Assert that rows of answers have the further columns of their tuples, whose ids differ."""
    notes = {item.id: notes_of(item) for item in tuples}
    for row in rows:
        assert {name: row[name] for name in notes[row["id"]]} == notes[row["id"]]


def ranked(held: dict[Window, list[Tuple]], k: int, descending: bool = True) -> dict[Window, Ranking]:
    """The k best of each window: by score, and then by id."""
    by_id = {window: sorted(items, key=lambda one: one.id) for window, items in held.items()}
    best = {window: sorted(items, key=lambda one: one.value, reverse=descending)[:k] for window, items in by_id.items()}
    return {window: [(one.id, one.value) for one in items] for window, items in best.items()}


def contents(tuples: Sequence[Tuple], settings: Settings, missed: Iterable[tuple[int, Window]] = ()):
    """What each window holds; without the tuples, by their positions, that missed it."""
    gone, held = set(missed), dict[Window, list[Tuple]]()
    for position, item in enumerate(tuples):
        for start, stop in settings.windows_of(item.event_time):
            if (position, (item.key, start, stop)) not in gone:
                held.setdefault((item.key, start, stop), []).append(item)
    return held


def streamed(outcome: Outcome, tuples: Sequence[Tuple], settings: Settings, k: int, descending: bool = True):
    """The rankings of closed windows, without tuples that came after that, and those of an incomplete newest tick."""
    tuples = tuples[: len(tuples) - len(outcome.pending)]
    late = [(one.position, (one.tuple.key, *window)) for one in outcome.late_tuples for window in one.windows]
    found = ranked(contents(tuples, settings, late), k, descending)
    return {window: found[window] for window in outcome.answers}


def latest(
    outcome: Outcome,
    tuples: Sequence[Tuple],
    settings: Settings,
    intervals: Iterable[tuple[int, int]],
    k: int,
    descending: bool = True,
    passed: Sequence[Passed] = (),
) -> dict[Window, Ranking]:
    """What a reader sees after corrections of these intervals of arrival."""
    corrections = list[tuple[int, dict[Window, Ranking | None]]]()
    for a, b in intervals:
        truth = ranked(contents(distinct(tuples, settings.tick, b, passed), settings), k, descending)
        windows = recomputed(outcome, tuples, settings, a, b, passed)
        corrections.append((b, {window: truth.get(window) for window in windows}))
    return newest(outcome, streamed(outcome, tuples, settings, k, descending), corrections)


def rankings_of(rows: Iterable[dict]) -> dict[Window, Ranking]:
    """Rows of answers as rankings; their ranks must be 1, 2, …"""
    found = dict[Window, Ranking]()
    for row in sorted(rows, key=lambda row: row["rank"]):
        ranking = found.setdefault((row["key"], row["window_start"], row["window_end"]), [])
        ranking.append((row["id"], row["score"]))
        assert row["rank"] == len(ranking), "a rank was given twice, or not at all"
    return found
