"""Group-by over integer codes: the same aggregates of dense codes, codes far apart, and large integers."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kit.suite.examples import drawn
from tailrace.ground.arrow.columns import How, group, group_sums, unify

FAR = 10**15  # a code so large that a dense table of all codes would not fit into memory


def sums_by_loop(code: list[int], weight: list[int]) -> dict[int, int]:
    sums: dict[int, int] = {}
    for each, amount in zip(code, weight, strict=True):
        sums[each] = sums.get(each, 0) + amount
    return dict(sorted(sums.items()))


@drawn(60)
@given(st.lists(st.tuples(st.integers(-50, 50), st.integers(-1000, 1000)), min_size=1), st.booleans())
def test_sums_by_code_ascending_on_either_path(rows: list[tuple[int, int]], far: bool) -> None:
    code, weight = map(list, zip(*([*rows, (FAR, 7)] if far else rows), strict=True))
    codes, (ints, floats) = group_sums(np.array(code), np.array(weight), np.array(weight, float))
    assert dict(zip(codes.tolist(), ints.tolist(), strict=True)) == sums_by_loop(code, weight)
    assert codes.tolist() == sorted(set(code))
    assert floats.tolist() == ints.tolist()


@pytest.mark.parametrize(("how", "of"), [("min", min), ("max", max)])
@drawn(60)
@given(rows=st.lists(st.tuples(st.integers(-50, 50), st.floats(allow_nan=False)), min_size=1), far=st.booleans())
def test_minima_and_maxima_by_code_on_either_path(how: How, of, rows: list[tuple[int, float]], far: bool) -> None:
    code, value = map(list, zip(*([*rows, (FAR, 7.0)] if far else rows), strict=True))
    codes, (extremes, tuples) = group(np.array(code), (np.array(value), how), (np.ones(len(code), np.int64), "sum"))
    values_by_code = {each: [v for c, v in zip(code, value, strict=True) if c == each] for each in sorted(set(code))}
    assert dict(zip(codes.tolist(), extremes.tolist(), strict=True)) == {
        each: of(group_values) for each, group_values in values_by_code.items()
    }
    assert tuples.tolist() == [len(group_values) for group_values in values_by_code.values()]
    assert (extremes.dtype, tuples.dtype) == (np.float64, np.int64)


@pytest.mark.parametrize("far", [[], [FAR]], ids=["dense", "far apart"])
def test_ints_stay_ints_and_doubles_doubles(far: list[int]) -> None:
    code = np.array([3, 3, 5, *far])
    _, (ints, floats) = group_sums(code, np.ones(len(code), np.int64), np.ones(len(code)))
    assert (ints.dtype, floats.dtype) == (np.int64, np.float64)


@pytest.mark.parametrize("far", [[], [FAR]], ids=["dense", "far apart"])
def test_a_group_whose_sum_is_zero_stays(far: list[int]) -> None:
    codes, (sums,) = group_sums(np.array([1, 1, 2, *far]), np.array([5, -5, 0, *[1 for _ in far]]))
    assert codes.tolist() == [1, 2, *far]
    assert sums.tolist()[:2] == [0, 0]


@pytest.mark.parametrize("far", [[], [FAR]], ids=["dense", "far apart"])
def test_huge_values_in_one_group_do_not_change_the_sum_of_another(far: list[int]) -> None:
    code = np.array([0, 1, 0, 1, 0, *far])
    _, (sums,) = group_sums(code, np.array([1e300, 1e-9, -1e300, 1e-9, 1e300, *[1.0 for _ in far]]))
    assert sums.tolist()[:2] == [1e300, 2e-9]


def test_codes_may_be_any_int64() -> None:
    code = np.array([-(2**63), 2**63 - 1, -(2**63)])
    codes, (sums,) = group_sums(code, np.array([1, 2, 3]))
    assert (codes.tolist(), sums.tolist()) == ([-(2**63), 2**63 - 1], [4, 2])


def test_no_rows_give_empty_columns_of_the_same_types() -> None:
    codes, sums = group_sums(np.zeros(0, np.int64), np.zeros(0), np.zeros(0, np.int64))
    assert (len(codes), [column.dtype for column in sums]) == (0, [np.float64, np.int64])


def test_large_ints_are_summed_exactly_whose_codes_are_far_apart() -> None:
    _, (sums,) = group_sums(np.array([0, 0, FAR]), np.array([2**53, 1, 1]))
    assert sums.tolist() == [2**53 + 1, 1]


def test_large_ints_are_summed_exactly_on_the_dense_path() -> None:
    _, (sums,) = group_sums(np.array([0, 0]), np.array([2**53, 1]))
    assert sums.tolist() == [2**53 + 1]


def unify_and_decode(arrays: list[pa.Array]) -> tuple[list, list[list]]:
    keys, codes = unify(arrays)
    assert len(set(keys.to_pylist())) == len(keys)
    return keys.to_pylist(), [keys.take(pa.array(code)).to_pylist() for code in codes]


def test_unify_in_order_of_first_occurrence() -> None:
    keys, columns = unify_and_decode([pa.array(["b", "a", "b"]), pa.array(["c", "a"])])
    assert (keys, columns) == (["b", "a", "c"], [["b", "a", "b"], ["c", "a"]])


def test_unify_keeps_the_codes_of_a_first_array_without_repeats() -> None:
    _, (first, _) = unify([pa.array(["z", None, "a"]), pa.array(["a", "b", "z"])])
    assert first.tolist() == [0, 1, 2]


def test_unify_takes_null_as_a_value_of_its_own() -> None:
    keys, columns = unify_and_decode([pa.array([None, ""]), pa.array(["", None, None])])
    assert (keys, columns) == ([None, ""], [[None, ""], ["", None, None]])


def test_unify_with_empty_arrays_anywhere() -> None:
    none = pa.array([], pa.int64())
    keys, columns = unify_and_decode([none, pa.array([1, 2]), none, pa.array([2]), none])
    assert (keys, columns) == ([1, 2], [[], [1, 2], [], [2], []])


def test_unify_of_nothing_keeps_the_type() -> None:
    keys, (codes,) = unify([pa.array([], pa.int64())])
    assert (keys.type, len(keys), codes.dtype) == (pa.int64(), 0, np.int64)


def test_unify_of_no_encoded_values_gives_a_dictionary_of_their_type() -> None:
    keys, (codes,) = unify([pa.array([], pa.string()).dictionary_encode()])
    assert (keys.type, len(keys), len(codes)) == (pa.string(), 0, 0)
