"""Ticks by compiled code: the same as numpy's."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from kit.draws.kernel_forms import compiled_form, numpy_form
from tailrace.disorder import ticks


@given(
    arrivals=st.lists(st.one_of(st.integers(-500, 500), st.integers(-(2**60), 2**60)), max_size=50),
    tick_ms=st.sampled_from([0, 1, 100, 86_400_000]),
)
def test_compiled_ticks_are_those_of_numpy(arrivals: list[int], tick_ms: int) -> None:
    arrival, position = np.array(arrivals, np.int64), np.arange(len(arrivals))
    with compiled_form():
        compiled = ticks.number(arrival, position, tick_ms)
    with numpy_form():
        expected = ticks.number(arrival, position, tick_ms)
    for mine, right in zip(compiled, expected, strict=True):
        assert mine.tolist() == right.tolist()


def test_arrival_that_goes_backwards_keeps_the_latest_tick() -> None:
    with compiled_form():
        tick, end = ticks.number(np.array([250, 99, 300, 299, -7]), np.arange(5), 100)
    assert tick.tolist() == [2, 2, 3, 3, 3]
    assert end.tolist() == [300, 300, 400, 400, 400]
