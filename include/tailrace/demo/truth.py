"""The truth about the demonstration's query, computed in the plainest way from the source's files alone.

It shares no code with the platform.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable

import pandas as pd
import pyarrow.parquet as pq

from tailrace.query import Query

Window = tuple[str | int | None, int, int]


def truth(query: Query) -> dict[Window, tuple[float, int]]:
    """Value and number of tuples of every window, tuple by tuple."""
    stream, size, slide = query.stream[1], query.window.size_ms, query.window.slide_ms
    declared = query.aggregate
    assert declared is not None
    sums: defaultdict[Window, float] = defaultdict(float)
    counts: defaultdict[Window, int] = defaultdict(int)
    table = pq.read_table(stream.source.path).to_pylist()
    for row in table:
        time = round(row[stream.event_time].timestamp() * 1000)
        key = row[stream.key] if stream.key else None
        number = row[declared.column] if declared.column else 0.0
        start = time // slide * slide
        while start > time - size:
            sums[key, start, start + size] += number
            counts[key, start, start + size] += 1
            start -= slide
    value: Callable[[Window], float] = {
        "sum": lambda window: sums[window],
        "count": lambda window: float(counts[window]),
        "avg": lambda window: sums[window] / counts[window],
    }[declared.function]
    return {window: (value(window), counts[window]) for window in sums}


def share_off(answers: pd.DataFrame, true: dict[Window, tuple[float, int]], error: float) -> float:
    """The share of the true windows whose answer is missing, or has a relative error of at least `error`."""
    near = 0
    for row in answers.itertuples():
        key = None if pd.isna(row.key) else row.key
        value, _ = true.get((key, row.window_start, row.window_end), (float("nan"), 0))
        near += row.value == value or abs(row.value - value) < error * abs(value)
    return 1 - near / len(true) if true else 0.0


def share_right(answers: pd.DataFrame, true: dict[Window, tuple[float, int]]) -> float:
    """The share of the true windows whose answer holds all their tuples and has their value."""
    right = 0
    for row in answers.itertuples():
        key = None if pd.isna(row.key) else row.key
        value, tuples = true.get((key, row.window_start, row.window_end), (float("nan"), 0))
        right += row.tuples == tuples and abs(row.value - value) <= 1e-9 * max(abs(value), 1.0)
    return right / len(true) if true else 1.0
