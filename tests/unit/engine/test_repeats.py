"""Whether the ids of a segment are distinct."""

from __future__ import annotations

import pyarrow as pa
import pytest

from tailrace.engine.repeats import are_distinct


@pytest.mark.parametrize(
    ("ids", "distinct"),
    [
        ([], True),
        ([7], True),
        ([3, 1, 2], True),
        ([2, 1, 2], False),
        ([-(1 << 63), (1 << 63) - 1], True),
        ([-5, 5, 5], False),
        (["a"], True),
        (["a", "b", "c"], True),
        (["a", "b", "b"], False),
        (["", "a", ""], False),
    ],
)
def test_distinct_ids_are_known_as_such(ids, distinct):
    kind = pa.string() if ids and isinstance(ids[0], str) else pa.int64()
    assert are_distinct(pa.array(ids, kind)) == distinct


def test_of_ids_out_of_order_it_is_known_where_they_are_close_integers():
    assert are_distinct(pa.array([2, 1]))
    assert not are_distinct(pa.array([1 << 40, 1]))
    assert not are_distinct(pa.array(["b", "a"]))
    assert are_distinct(pa.array([], pa.string()))
