"""Answers are read in parts by their horizon; of some answers, the parts that have one of them."""

from __future__ import annotations

from itertools import pairwise
from types import SimpleNamespace

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tailrace.delivery.answer_parts import answer_parts
from tailrace.ground.time_limits import AFTER_ALL, BEFORE_ALL

WINDOWS = SimpleNamespace(horizon_is_fixed=True)
ENDS = st.lists(st.integers(0, 50), min_size=1, max_size=60)


def parts_of(ends, part_rows, horizons=None):
    """The parts (low, high] of answers with these horizons."""
    tables = SimpleNamespace(
        ends=lambda part: np.array([end for end in ends if part[0][0] < end <= part[1][0]], np.int64)
    )
    wanted = None if horizons is None else np.array(horizons)
    return [(int(low[0]), int(high[0])) for low, high in answer_parts(tables, WINDOWS, part_rows, wanted)]


@given(ENDS, st.integers(1, 20), st.data())
def test_each_answer_that_is_wanted_lies_in_one_part_and_each_part_has_one(ends, part_rows, data):
    wanted = data.draw(st.lists(st.sampled_from([*ends, 77]), min_size=1))  # at 77 an answer has vanished
    parts = parts_of(ends, part_rows, wanted)
    assert all(sum(low < horizon <= high for low, high in parts) == 1 for horizon in wanted)
    assert all(any(low < horizon <= high for horizon in wanted) for low, high in parts)
    assert all(high <= low for (_, high), (low, _) in pairwise(parts))


def test_parts_before_between_and_after_those_that_are_wanted_are_left_out():
    ends = range(100)
    assert parts_of(ends, 10, [55, 57, 90]) == [(54, 65), (85, 90)]
    assert parts_of(ends, 50) == [(BEFORE_ALL, 50), (50, AFTER_ALL)]
