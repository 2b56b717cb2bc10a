"""Quantiles of the values of many windows at once, against numpy."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kit.suite.examples import drawn
from tailrace.functions.quantiles import quantiles

windows = st.lists(st.lists(st.floats(-1e100, 1e100), min_size=1, max_size=9).map(sorted), min_size=1, max_size=4)


def quantiles_of(values_by_window: list[list[float]], q: float) -> list[float]:
    flat = np.array(list(itertools.chain(*values_by_window)))
    return quantiles(np.array([len(values) for values in values_by_window]), flat, q).tolist()


@drawn(300)
@given(windows, st.floats(0, 1))
def test_quantiles_are_numpy_s(values_by_window: list[list[float]], q: float) -> None:
    for values, answer in zip(values_by_window, quantiles_of(values_by_window, q), strict=True):
        assert abs(answer - np.quantile(values, q)) <= 1e-12 * max(map(abs, values))
        assert values[0] <= answer <= values[-1]


@pytest.mark.parametrize("q", [0.001, 0.1, 1 / 3, 0.5, 0.7, 0.999999])
@pytest.mark.parametrize("value", [0.1, 1e-300, 1e308, 5e-324, -0.0])
def test_a_quantile_between_equal_values_is_that_value(q: float, value: float) -> None:
    assert quantiles_of([[value] * many for many in (1, 2, 3, 10)], q) == [value] * 4


def test_quantiles_between_values_whose_difference_overflows() -> None:
    far = 1.7e308
    assert quantiles_of([[-far, far], [-far, -far, far, far], [-far, 0.0, far]], 0.5) == [0.0, 0.0, 0.0]
    (low,) = quantiles_of([[-far, far]], 0.25)
    assert math.isclose(low, -far / 2)


@drawn(200)
@given(windows, st.floats(0, 1), st.floats(0, 1))
def test_quantiles_are_monotone_in_q(values_by_window: list[list[float]], one: float, other: float) -> None:
    low, high = sorted([one, other])
    for small, large, values in zip(
        quantiles_of(values_by_window, low), quantiles_of(values_by_window, high), values_by_window, strict=True
    ):
        assert small <= large + 1e-12 * max(map(abs, values))
