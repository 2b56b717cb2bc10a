"""The number of repeats within a segment."""

from __future__ import annotations

import pyarrow as pa
import pytest

from tailrace.engine.repeats import count_repeats


@pytest.mark.parametrize(
    ("ids", "repeats"),
    [
        ([], 0),
        ([7], 0),
        ([1, 2, 3], 0),
        ([3, 1, 2], 0),
        ([1, 1], 1),
        ([2, 1, 2, 1, 2], 3),
        (["a", "b", "c"], 0),
        (["b", "a", "b"], 1),
        (["", "a", ""], 1),
    ],
)
def test_repeats_are_the_ids_that_stand_further_up(ids, repeats):
    kind = pa.string() if ids and isinstance(ids[0], str) else pa.int64()
    assert count_repeats(pa.array(ids, kind)) == repeats
