"""The error of a ranking: the share of the exact top-k that it lacks."""

from __future__ import annotations

import pyarrow as pa

from tailrace.answers.identity import WINDOW
from tailrace.topk.kind import errors

SCHEMA = pa.schema(
    [("key", pa.string()), ("window_start", pa.int64()), ("window_end", pa.int64()), ("id", pa.string())]
)


def ranking(*rows: tuple[str | None, int, str]) -> pa.Table:
    """A table of rankings from (key, window end, ids, the best first) each."""
    records = [(key, end - 10, end, name) for key, end, names in rows for name in names]
    return pa.Table.from_pylist([dict(zip(SCHEMA.names, row, strict=True)) for row in records], SCHEMA)


def errors_by_window(streamed: pa.Table, exact: pa.Table) -> dict[tuple, float]:
    batch = errors(WINDOW, streamed, exact)
    assert batch.schema.types == [*SCHEMA.types[:3], pa.float64()]
    return {(row["key"], row["window_end"]): row["error"] for row in batch.to_pylist()}


def test_the_error_is_the_share_of_missing_ids_whatever_their_ranks():
    exact = ranking(("a", 10, "pqrs"), ("a", 20, "pq"), (None, 10, "xy"))
    streamed = ranking(("a", 10, "sqpz"), ("a", 20, "zw"), (None, 10, "yx"), ("b", 10, "p"))
    assert errors_by_window(streamed, exact) == {("a", 10): 0.25, ("a", 20): 1.0, (None, 10): 0.0}


def test_a_window_without_an_answer_has_error_1():
    assert errors_by_window(ranking(), ranking(("a", 10, "pq"))) == {("a", 10): 1.0}


def test_a_repeat_in_a_ranking_counts_once():
    assert errors_by_window(ranking(("a", 10, "ppq")), ranking(("a", 10, "pqr"))) == {("a", 10): 1 - 2 / 3}


def test_no_exact_rankings_give_no_errors():
    assert errors_by_window(ranking(("a", 10, "p")), ranking()) == {}
