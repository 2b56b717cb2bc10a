"""The rows that a route gives to a task."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from tailrace.partition.routes import Routes

ROWS = pa.RecordBatch.from_pydict({"x": [10, 20, 30], "tuples": [1, 1, 1]})


@pytest.mark.parametrize(
    ("row", "expected"),
    [([0, 1, 2], [10, 20, 30]), ([2, 1, 0], [30, 20, 10]), ([0, 0, 2], [10, 10, 30]), ([0, 1], [10, 20]), ([], [])],
    ids=["all in order", "all in another order", "as many, one twice", "some", "none"],
)
def test_a_task_gets_its_rows_in_the_routes_order(row: list[int], expected: list[int]) -> None:
    routes = Routes(np.array(row, np.int64), np.zeros(len(row), np.int64), np.ones(len(row), bool))
    assert routes.rows_of(ROWS, 0).column("x").to_pylist() == expected


def test_a_replica_of_all_rows_counts_none() -> None:
    routes = Routes(np.arange(3), np.zeros(3, np.int64), np.array([True, False, True]))
    assert routes.rows_of(ROWS, 0).column("tuples").to_pylist() == [1, 0, 1]
