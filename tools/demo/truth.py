"""The true answers of the demonstration's queries, computed in the plainest way from the sources' files.

It shares no code with the platform.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from tailrace.aggregate.function_section import FunctionSection
from tailrace.query.query import Query
from tailrace.query.windowed import AggregateQuery, TopKQuery, WindowedQuery

Window = tuple[str | int | None, int, int]
Held = list[tuple[float, Any]]

Answer = tuple[Any, int]
"""A window's answer, and the number of its tuples; a ranking is a list of (score, id), the best first."""


def truth(query: Query, sent: Path | None = None) -> dict[Window, Answer]:
    """Compute the true answer of every window, tuple by tuple.

    `sent`: the files with what was sent to the topic that the query reads.
    """
    assert isinstance(query, WindowedQuery)
    stream, size, slide = query.stream[1], query.window.size_ms, query.window.slide_ms
    column = query.topk.score if isinstance(query, TopKQuery) else _aggregate(query).column
    contents: defaultdict[Window, Held] = defaultdict(list)
    for row in pq.read_table(sent or stream.path).to_pylist():
        time = round(row[stream.event_time].timestamp() * 1000)
        key = row[stream.key] if stream.key else None
        number = row[column] if column else 0.0
        start = time // slide * slide
        while start > time - size:
            contents[key, start, start + size].append((number, row[stream.id]))
            start -= slide
    answer = _answer(query)
    return {window: (answer(tuples), len(tuples)) for window, tuples in contents.items()}


def _answer(query: Query) -> Callable[[Held], Any]:
    if isinstance(query, TopKQuery):
        k, sign = query.topk.k, -1 if query.topk.order == "descending" else 1
        return lambda tuples: sorted(tuples, key=lambda pair: (sign * pair[0], pair[1]))[:k]
    functions: dict[str, Callable[[Held], float]] = {
        "sum": lambda tuples: sum(number for number, _ in tuples),
        "count": lambda tuples: float(len(tuples)),
        "avg": lambda tuples: sum(number for number, _ in tuples) / len(tuples),
    }
    return functions[_aggregate(query).function]


def _aggregate(query: Query) -> FunctionSection:
    assert isinstance(query, AggregateQuery)
    assert isinstance(query.aggregate, FunctionSection)
    return query.aggregate


def given(answers: pa.Table) -> dict[Window, Answer]:
    """Return the answers that readers get, by window."""
    by_window: dict[Window, Answer] = {}
    for row in answers.to_pylist():
        window = row["key"], row["window_start"], row["window_end"]
        if "rank" in row:
            ranking, _ = by_window.setdefault(window, ([], row["tuples"]))
            ranking.append((row["score"], row["id"]))
        else:
            by_window[window] = (row["value"], row["tuples"])
    return by_window


def share_off(answers: pa.Table, true: dict[Window, Answer], error: float) -> float:
    """Return the share of the true windows whose answer is missing, or has a relative error of at least `error`."""
    near_count = 0
    for window, (value, _) in given(answers).items():
        exact, _ = true.get(window, (float("nan"), 0))
        near_count += value == exact or abs(value - exact) < error * abs(exact)
    return 1 - near_count / len(true) if true else 0.0


def share_found(answers: pa.Table, true: dict[Window, Answer]) -> float:
    """Return the share of the true top-k in the rankings, as the mean over the true windows."""
    rankings, share_sum = given(answers), 0.0
    for window, (exact, _) in true.items():
        ranking, _ = rankings.get(window, ([], 0))
        share_sum += len({name for _, name in ranking} & {name for _, name in exact}) / len(exact)
    return share_sum / len(true) if true else 1.0


def share_right(answers: pa.Table, true: dict[Window, Answer]) -> float:
    """Return the share of the true windows whose answer counts all their tuples and has the true value."""
    right_count = 0
    for window, (value, tuples) in given(answers).items():
        exact, true_tuples = true.get(window, (None, 0))
        right_count += tuples == true_tuples and _same(value, exact)
    return right_count / len(true) if true else 1.0


def _same(value: Any, exact: Any) -> bool:
    if isinstance(value, list):
        return bool(value == exact)
    return bool(abs(value - exact) <= 1e-9 * max(abs(value), 1.0))
