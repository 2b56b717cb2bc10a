"""Pairs of rows, and the interval of their event times."""

from __future__ import annotations

import numpy as np

from tailrace.spatial_join.search.pairs import JoinInterval, Pairs


def test_the_interval_holds_at_both_ends_and_from_either_side():
    times = JoinInterval(np.array([100, 200]), np.array([85, 99, 130, 131]), -15, 30)
    left, right = (grid.ravel() for grid in np.indices((2, 4)))
    wanted = [True, True, True, False, False, False, False, False]
    assert times.hold(left, right).tolist() == wanted
    assert times.swapped.hold(right, left).tolist() == wanted


def test_pairs_of_no_parts_are_none():
    none = Pairs.joined([])
    assert (len(none.left), none.left.dtype, len(none.right)) == (0, np.int64, 0)
    joined = Pairs.joined([(np.array([1]), np.array([2])), (np.array([3]), np.array([4]))])
    assert (joined.left.tolist(), joined.right.tolist()) == ([1, 3], [2, 4])
    assert joined.swapped.left.tolist() == [2, 4]
