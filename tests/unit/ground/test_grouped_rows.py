"""Rows by group: both forms fold as a loop does."""

from __future__ import annotations

import math
from contextlib import AbstractContextManager

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kit.draws.kernel_forms import compiled_form, numpy_form
from tailrace.ground.arrow.grouped_rows import GroupedRows

codes = st.one_of(st.integers(-5, 5), st.integers(-(2**61), 2**61), st.sampled_from([-(2**61), 2**61]))
forms = pytest.mark.parametrize("form", [compiled_form, numpy_form])


@forms
@given(rows=st.lists(st.tuples(codes, st.integers(-(2**40), 2**40), st.floats(-1e9, 1e9)), max_size=30))
def test_each_fold_is_that_of_a_loop(form: type[AbstractContextManager], rows: list[tuple[int, int, float]]) -> None:
    code, whole, real = (np.array([row[part] for row in rows], kind) for part, kind in enumerate((int, int, float)))
    with form():
        distinct, grouped = GroupedRows.from_codes(code)
        found = {
            how: (grouped.fold(whole, how).tolist(), grouped.fold(real, how).tolist()) for how in ("sum", "min", "max")
        }
    assert distinct.tolist() == sorted({row[0] for row in rows})
    assert [distinct[group] for group in grouped.group] == code.tolist()
    assert len(grouped) == len(distinct)
    groups = [[row for row in rows if row[0] == each] for each in distinct]
    for how, fold in (("sum", sum), ("min", min), ("max", max)):
        assert found[how][0] == [fold(row[1] for row in group) for group in groups]
        assert found[how][1] == pytest.approx([fold(row[2] for row in group) for group in groups], rel=1e-12, abs=1e-6)


@forms
def test_no_row_has_no_group(form: type[AbstractContextManager]) -> None:
    with form():
        distinct, grouped = GroupedRows.from_codes(np.zeros(0, np.int64))
        assert (len(distinct), len(grouped), len(grouped.group)) == (0, 0, 0)
        assert len(grouped.fold(np.zeros(0), "min")) == 0


@forms
@pytest.mark.parametrize("values", [[-0.0, 0.0], [0.0, -0.0], [-0.0]])
def test_zero_has_one_sign(form: type[AbstractContextManager], values: list[float]) -> None:
    with form():
        _, grouped = GroupedRows.from_codes(np.zeros(len(values), np.int64))
        for how in ("sum", "min", "max"):
            assert math.copysign(1, grouped.fold(np.array(values), how)[0]) == 1


@forms
def test_the_ends_of_64_bits_are_values_like_others(form: type[AbstractContextManager]) -> None:
    ends = np.array([2**63 - 1, -(2**63)])
    with form():
        _, grouped = GroupedRows.from_codes(np.array([0, 1]))
        assert all(grouped.fold(ends, how).tolist() == ends.tolist() for how in ("sum", "min", "max"))
