"""The share of the correct top-k that was found."""

from __future__ import annotations

import pyarrow as pa

from tailrace.answers.identity import WINDOW
from tailrace.topk.accuracy import errors

SCHEMA = pa.schema(
    [("key", pa.string()), ("window_start", pa.int64()), ("window_end", pa.int64()), ("id", pa.string())]
)


def ranking(*rows: tuple[str | None, int, str]) -> pa.Table:
    """(key, the window's end, ids from the best on)."""
    found = [(key, end - 10, end, name) for key, end, names in rows for name in names]
    return pa.Table.from_pylist([dict(zip(SCHEMA.names, row, strict=True)) for row in found], SCHEMA)


def found(near: pa.Table, exact: pa.Table) -> dict[tuple, float]:
    batch = errors(WINDOW, near, exact)
    assert batch.schema.types == [*SCHEMA.types[:3], pa.float64()]
    return {(row["key"], row["window_end"]): row["error"] for row in batch.to_pylist()}


def test_it_is_the_share_of_the_ids_that_is_missing_whatever_their_ranks():
    exact = ranking(("a", 10, "pqrs"), ("a", 20, "pq"), (None, 10, "xy"))
    near = ranking(("a", 10, "sqpz"), ("a", 20, "zw"), (None, 10, "yx"), ("b", 10, "p"))
    assert found(near, exact) == {("a", 10): 0.25, ("a", 20): 1.0, (None, 10): 0.0}


def test_a_window_that_was_not_answered_is_all_wrong():
    assert found(ranking(), ranking(("a", 10, "pq"))) == {("a", 10): 1.0}


def test_a_repeat_in_a_ranking_counts_once():
    assert found(ranking(("a", 10, "ppq")), ranking(("a", 10, "pqr"))) == {("a", 10): 1 - 2 / 3}


def test_over_nothing_there_is_nothing():
    assert found(ranking(("a", 10, "p")), ranking()) == {}
