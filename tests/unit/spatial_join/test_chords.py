"""Chords decide a limit, or leave it to be measured."""

from __future__ import annotations

import numpy as np

from tailrace.spatial_join.geometry.chords import Chords, squares


def test_chords_in_between_are_measured():
    near, unsure = Chords(2.0, 3.0).decide(np.array([3.9, 4.1, 9.0, 9.1, np.inf]))
    assert near.tolist() == [True, True, True, False, False]
    assert unsure.tolist() == [1, 2]
    near, unsure = Chords(-1.0, 3.0).decide(np.array([0.0, 9.1]))
    assert (near.tolist(), unsure.tolist()) == ([True, False], [0])


def test_squares_of_chords_by_rows():
    left, right = np.array([[0.0, 1e200], [0.0, 0.0]]), np.array([[3.0, 0.0, 1.0], [4.0, 0.0, 1.0]])
    rows = np.array([0, 0, 1, 0]), np.array([0, 2, 1, 1])
    assert squares(left, right, *rows).tolist() == [25, 2, np.inf, 0]
