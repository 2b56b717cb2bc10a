"""Columns of fixes: their tuples, and the numbers of a taxi's fixes."""

from __future__ import annotations

from collections import Counter

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from generators.delays import epoch_ms
from generators.fixes import SCHEMA, Fixes, concat, no_fixes, numbers


def fixes(n: int) -> Fixes:
    rows = np.arange(n)
    return Fixes(1000 * rows, 1000 * rows + 7, rows % 3, rows // 3, 116 + rows / 100, 39 + rows / 100)


def test_tuples_of_the_stream() -> None:
    batch = fixes(5).as_batch()
    assert batch.schema == SCHEMA
    assert batch["id"].to_pylist() == ["0-000000", "1-000000", "2-000000", "0-000001", "1-000001"]
    assert batch["taxi"].to_pylist() == [0, 1, 2, 0, 1]
    assert epoch_ms(batch["arrival_time"]).tolist() == [7, 1007, 2007, 3007, 4007]
    assert epoch_ms(batch["event_time"]).tolist() == [0, 1000, 2000, 3000, 4000]
    assert batch["lat"].to_pylist() == [39.0, 39.01, 39.02, 39.03, 39.04]


def test_a_long_number_keeps_all_its_digits() -> None:
    one = fixes(1)._replace(number=np.array([12_345_678]))
    assert one.as_batch()["id"].to_pylist() == ["0-12345678"]


def test_parts_are_put_together_and_taken_apart() -> None:
    whole = fixes(9)
    parts = [no_fixes(), whole.take(slice(4)), whole.take(np.arange(4, 9))]
    assert concat(parts).rows == 9
    assert all(np.array_equal(a, b) for a, b in zip(concat(parts), whole, strict=True))
    assert no_fixes().as_batch().num_rows == 0


@given(st.lists(st.integers(-3, 3)))
def test_numbers_count_the_rows_before_of_the_same_taxi(taxis: list[int]) -> None:
    seen: Counter[int] = Counter()
    expected = []
    for taxi in taxis:
        expected.append(seen[taxi])
        seen[taxi] += 1
    assert numbers(np.array(taxis, np.int64)).tolist() == expected
