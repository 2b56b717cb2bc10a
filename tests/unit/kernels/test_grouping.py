"""Groups by compiled code: the same as Arrow's and as numpy's to the last bit."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kit.draws.kernel_forms import compiled_form, numpy_form
from tailrace.ground.arrow import columns
from tailrace.ground.arrow.columns import How, group
from tailrace.ground.arrow.grouping import sorted_group

codes = st.one_of(st.integers(-3, 3), st.integers(-(2**62), 2**62 - 1), st.just(2**62 - 1), st.just(-(2**62)))
floats = st.floats(allow_nan=False)
rows = st.lists(st.tuples(codes, floats, st.integers(-(2**63), 2**63 - 1)), max_size=60)
rows_of_small_ints = st.lists(st.tuples(codes, floats, st.integers(-9, 9)), max_size=60)


def as_columns(of: list[tuple[int, float, int]]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    code, floats, ints = (list(column) for column in zip(*of, strict=True)) if of else ([], [], [])
    return np.array(code, np.int64), np.array(floats, np.float64), np.array(ints, np.int64)


def same_bits(one: np.ndarray, other: np.ndarray) -> bool:
    """Whether two columns hold the same; every NaN is the same."""
    if one.dtype == np.float64:
        one, other = (np.where(np.isnan(column), np.nan, column) for column in (one, other))
    return one.dtype == other.dtype and one.tobytes() == other.tobytes()


@pytest.mark.parametrize("how", ["sum", "min", "max"])
@given(rows=st.one_of(rows, rows_of_small_ints))
def test_compiled_groups_are_those_of_arrow_and_numpy_to_the_bit(how: How, rows: list[tuple[int, float, int]]) -> None:
    code, floats, ints = as_columns(rows)
    with compiled_form(), np.errstate(over="ignore"):
        compiled, compiled_columns = group(code, (floats, how), (ints, how))
    with numpy_form(), np.errstate(over="ignore"):
        expected, expected_columns = group(code, (floats, how), (ints, how))
    assert same_bits(compiled, expected)
    assert all(map(same_bits, compiled_columns, expected_columns))


@given(rows=rows.filter(len))
def test_the_values_of_a_group_are_added_in_the_order_of_their_rows(rows: list[tuple[int, float, int]]) -> None:
    code, floats, _ = as_columns(rows)
    with compiled_form():
        result = sorted_group(code, int(code.min()), int(code.max()), [(floats, "sum")])
    assert result is not None
    distinct, (sums,) = result
    for each, total in zip(distinct.tolist(), sums.tolist(), strict=True):
        right = 0.0
        for value in floats[code == each].tolist():
            right += value
        assert total == right or (np.isnan(total) and np.isnan(right))


@pytest.mark.parametrize(
    ("dtype", "high"), [(np.int32, 10**15), (np.int64, 2**63 - 1)], ids=["another type", "codes too far apart"]
)
def test_what_the_loops_do_not_take_is_grouped_nevertheless(dtype: type, high: int) -> None:
    code = np.array([-1, high])
    with compiled_form():
        assert sorted_group(code, -1, high, [(np.ones(2, dtype), "sum")]) is None
        assert group(code, (np.ones(2, dtype), "sum"))[0].tolist() == [-1, high]


@pytest.mark.parametrize("far_apart", [1, 10**15], ids=["a dense table", "a table by Arrow"])
def test_the_least_integer_is_added_to_another_exactly(far_apart: int) -> None:
    with numpy_form():
        codes, (sums,) = group(np.array([0, 0, far_apart]), (np.array([-(2**63), 1025, 7]), "sum"))
    assert (codes.tolist(), sums.tolist()) == ([0, far_apart], [1025 - 2**63, 7])


def test_rows_of_another_layout_are_grouped_too() -> None:
    code, value = np.array([[10**15, 1], [7, 1], [10**15, 1]])[:, 0], np.arange(6.0)[::2]
    with compiled_form():
        distinct, (sums,) = group(code, (value, "sum"))
    assert (distinct.tolist(), sums.tolist()) == ([7, 10**15], [2.0, 4.0])


def test_large_ints_far_apart_are_those_of_the_compiled_loops(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(columns.pa, "table", lambda *_, **__: pytest.fail("Arrow was asked"))
    with compiled_form():
        assert group(np.array([0, 10**15]), (np.array([2**60, 1]), "sum"))[0].tolist() == [0, 10**15]
