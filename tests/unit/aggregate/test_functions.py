"""Functions over how many tuples a window holds, and the sum of their values."""

from __future__ import annotations

import numpy as np
import pytest

from tailrace.aggregate.functions import FUNCTIONS

TUPLES, TOTAL = np.array([1.0, 4.0, 2.0]), np.array([7.0, -10.0, 0.0])


@pytest.mark.parametrize(("function", "expected"), [("sum", [7, -10, 0]), ("count", [1, 4, 2]), ("avg", [7, -2.5, 0])])
def test_by_hand(function: str, expected: list[float]) -> None:
    assert FUNCTIONS[function](TUPLES, TOTAL).tolist() == expected


@pytest.mark.parametrize("function", FUNCTIONS)
def test_each_gives_a_double_for_each_window(function: str) -> None:
    assert FUNCTIONS[function](TUPLES, TOTAL).dtype == np.float64
    assert FUNCTIONS[function](TUPLES[:0], TOTAL[:0]).shape == (0,)
