"""Sketches of distinct values: their bytes follow from the set alone, and their counts are near it."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kit.suite.examples import drawn
from tailrace.functions.distinct_sketch import DistinctSketch
from tailrace.ground.arrow.grouped_rows import GroupedRows
from tailrace.ground.arrow.value_column import ValueColumn

SKETCH = DistinctSketch("x")
NO_TUPLES = pa.RecordBatch.from_pydict({})


def merged(parts: list[dict[str, np.ndarray]]) -> dict[str, np.ndarray]:
    """All rows of some parts, as one group."""
    columns = {name: np.concatenate([part[name] for part in parts]) for name in SKETCH.types}
    _, rows = GroupedRows.from_codes(np.zeros(len(columns[SKETCH.name]), np.int64))
    return SKETCH.merge(rows, columns)


@drawn(30)
@given(
    sizes=st.lists(st.sampled_from([0, 1, 3, 3000, 9000]), min_size=1, max_size=4),
    repeats=st.integers(1, 2),
    order=st.randoms(use_true_random=False),
)
def test_the_bytes_follow_from_the_set_however_it_is_merged(sizes: list[int], repeats: int, order) -> None:
    parts = [np.arange(place * 2500, place * 2500 + size) for place, size in enumerate(sizes)] * repeats
    values = np.concatenate(parts)
    at_once = merged([SKETCH.lift(ValueColumn(pa.array(values)), NO_TUPLES)])
    order.shuffle(parts)
    by_part = [merged([SKETCH.lift(ValueColumn(pa.array(part)), NO_TUPLES)]) for part in parts if len(part)]
    if not len(values):
        return
    again = merged(by_part)
    assert again[SKETCH.name].tolist() == at_once[SKETCH.name].tolist()
    exact = len(set(values.tolist()))
    (count,) = SKETCH.counts(again)
    assert count == exact if exact <= 4096 else abs(count - exact) < 0.08 * exact


@pytest.mark.parametrize(
    ("values", "count"),
    [
        (pa.array([None, None], pa.string()), 0),
        (pa.array([0.0, -0.0, None]), 1),
        (pa.array(["", "a", "", "ä"]), 3),
        (pa.array([2**63 - 1, -(2**63), 0]), 3),
        (pa.array([True, False, True]), 2),
    ],
)
def test_equal_values_count_once_and_null_never(values: pa.Array, count: int) -> None:
    assert SKETCH.counts(merged([SKETCH.lift(ValueColumn(values), NO_TUPLES)])).tolist() == [count]
