"""The truth about the demonstration's queries, computed in the plainest way from the sources' files alone.

It shares no code with the platform.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from typing import Any

import pandas as pd
import pyarrow.parquet as pq

from tailrace.query.query import Query

Window = tuple[str | int | None, int, int]
Held = list[tuple[float, Any]]

Answer = tuple[Any, int]
"""What is answered, and how many tuples the window holds; a ranking is a list of scores and ids, the best first."""


def truth(query: Query) -> dict[Window, Answer]:
    """The answer of every window, tuple by tuple."""
    stream, size, slide = query.stream[1], query.window.size_ms, query.window.slide_ms
    column = query.aggregate.column if query.aggregate else query.topk.score if query.topk else None
    held: defaultdict[Window, Held] = defaultdict(list)
    for row in pq.read_table(stream.source.path).to_pylist():
        time = round(row[stream.event_time].timestamp() * 1000)
        key = row[stream.key] if stream.key else None
        number = row[column] if column else 0.0
        start = time // slide * slide
        while start > time - size:
            held[key, start, start + size].append((number, row[stream.id]))
            start -= slide
    answer = _answer(query)
    return {window: (answer(tuples), len(tuples)) for window, tuples in held.items()}


def _answer(query: Query) -> Callable[[Held], Any]:
    if query.topk is not None:
        k, sign = query.topk.k, -1 if query.topk.order == "descending" else 1
        return lambda held: sorted(held, key=lambda one: (sign * one[0], one[1]))[:k]
    assert query.aggregate is not None
    functions: dict[str, Callable[[Held], float]] = {
        "sum": lambda held: sum(number for number, _ in held),
        "count": lambda held: float(len(held)),
        "avg": lambda held: sum(number for number, _ in held) / len(held),
    }
    return functions[query.aggregate.function]


def given(answers: pd.DataFrame) -> dict[Window, Answer]:
    """Answers as readers are given them, by their windows."""
    found: dict[Window, Answer] = {}
    for row in answers.itertuples():
        window = (None if pd.isna(row.key) else row.key, row.window_start, row.window_end)
        if "rank" in answers:
            ranking, _ = found.setdefault(window, ([], row.tuples))
            ranking.append((row.score, row.id))
        else:
            found[window] = (row.value, row.tuples)
    return found


def share_off(answers: pd.DataFrame, true: dict[Window, Answer], error: float) -> float:
    """The share of the true windows whose answer is missing, or has a relative error of at least `error`."""
    near = 0
    for window, (value, _) in given(answers).items():
        exact, _ = true.get(window, (float("nan"), 0))
        near += value == exact or abs(value - exact) < error * abs(exact)
    return 1 - near / len(true) if true else 0.0


def share_found(answers: pd.DataFrame, true: dict[Window, Answer]) -> float:
    """The share of the correct top-k that the rankings hold, at the mean of the true windows."""
    there, shares = given(answers), 0.0
    for window, (exact, _) in true.items():
        ranking, _ = there.get(window, ([], 0))
        shares += len({name for _, name in ranking} & {name for _, name in exact}) / len(exact)
    return shares / len(true) if true else 1.0


def share_right(answers: pd.DataFrame, true: dict[Window, Answer]) -> float:
    """The share of the true windows whose answer holds all their tuples, and is what they come to."""
    right = 0
    for window, (value, tuples) in given(answers).items():
        exact, many = true.get(window, (None, 0))
        right += tuples == many and _same(value, exact)
    return right / len(true) if true else 1.0


def _same(value: Any, exact: Any) -> bool:
    if isinstance(value, list):
        return bool(value == exact)
    return bool(abs(value - exact) <= 1e-9 * max(abs(value), 1.0))
