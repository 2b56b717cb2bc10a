"""Rows by key and time, and the windows over them. Windows of 20 ms every 10 ms."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tailrace.aggregate import folds
from tailrace.aggregate.folds import Fold
from tailrace.aggregate.functions import FUNCTIONS, function_of
from tailrace.panes import rows as panes_rows
from tailrace.panes.rows import Rows, evaluate_windows
from tailrace.windows.sliding import Sliding

TENS = Sliding(20, 10)
Row = tuple[int, int, int, float]
many = pytest.mark.parametrize("name", FUNCTIONS)


def rows(*given_rows: Row) -> Rows:
    """(key, time, tuples, total) of each."""
    key, time, tuples, total = zip(*given_rows, strict=True) if given_rows else ((),) * 4
    columns = {"tuples": np.array(tuples, np.int64), "total": np.array(total, float)}
    return Rows(*(np.array(column, np.int64) for column in (key, time)), columns)


def listed(of: Rows) -> list[Row]:
    return sorted(zip(*(column.tolist() for column in (of.key, of.time, *of.columns.values())), strict=True))


def closed(name: str, panes: Rows, strays: Rows, after: int | None, until: int | None) -> list[Row]:
    function = function_of(name, 0.9 if name == "quantile" else None)
    return listed(evaluate_windows(TENS, function, panes, strays, after, until))


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("sum", [(0, -30, 1, 0.5), (0, 20, 1, 8.0), (1, 20, 3, 4.0)]),
        ("min", [(0, -30, 1, 0.5), (0, 20, 1, 8.0), (1, 20, 3, 1.0)]),
        ("max", [(0, -30, 1, 0.5), (0, 20, 1, 8.0), (1, 20, 3, 3.0)]),
        ("median", [(0, -30, 1, 0.5), (0, 20, 1, 8.0), (1, 20, 1, 1.0), (1, 20, 2, 3.0)]),
    ],
)
def test_rows_add_by_key_and_time(name: str, expected: list[Row]) -> None:
    one, two = rows((0, -30, 1, 0.5), (1, 20, 1, 1.0)), rows((1, 20, 2, 3.0), (0, 20, 1, 8.0))
    assert listed(Rows.merge([one, two], FUNCTIONS[name], 10)) == expected


def test_times_that_are_no_multiple_of_the_step_stay() -> None:
    assert listed(Rows.merge([rows((0, 13, 1, 1.0)), rows((0, 3, 1, 1.0), (0, 13, 1, 1.0))], FUNCTIONS["sum"], 10)) == [
        (0, 3, 1, 1.0),
        (0, 13, 2, 2.0),
    ]


def test_the_rows_with_their_keys() -> None:
    found = rows((1, 10, 2, 3.0), (0, 20, 1, 1.0)).with_keys(pa.array(["a", None]))
    assert found.to_pylist() == [
        {"key": None, "time": 10, "tuples": 2, "total": 3.0},
        {"key": "a", "time": 20, "tuples": 1, "total": 1.0},
    ]


# pane    0  10  20        windows by their ends
# value   2   4   9        10: 2   20: 2 4   30: 4 9   40: 9
PANES = rows((0, 0, 1, 2.0), (0, 10, 1, 4.0), (0, 20, 1, 9.0))
AT_20 = {"sum": 6, "count": 2, "avg": 3, "min": 2, "max": 4, "median": 3, "quantile": 3.8}


@many
def test_a_window_is_answered_from_its_panes(name: str) -> None:
    assert closed(name, PANES, rows(), 10, 20) == [(0, 20, 2, pytest.approx(AT_20[name]))]


@many
def test_after_is_excluded_and_until_included(name: str) -> None:
    assert [end for _, end, _, _ in closed(name, PANES, rows(), 10, 30)] == [20, 30]
    assert [end for _, end, _, _ in closed(name, PANES, rows(), 11, 29)] == [20]
    assert [end for _, end, _, _ in closed(name, PANES, rows(), None, None)] == [10, 20, 30, 40]
    assert closed(name, PANES, rows(), 20, 20) == []
    assert closed(name, PANES, rows(), 40, 90) == []


@many
def test_strays_count_in_their_window_alone(name: str) -> None:
    both = {"sum": 12, "count": 3, "avg": 4, "min": 2, "max": 6, "median": 4, "quantile": 5.6}[name]
    strays = rows((0, 20, 1, 6.0), (1, 30, 1, 1.0), (1, 50, 1, 1.0))
    found = closed(name, PANES, strays, 10, 30)
    assert found[0] == (0, 20, 3, pytest.approx(both))
    assert [(key, end, tuples) for key, end, tuples, _ in found] == [(0, 20, 3), (0, 30, 2), (1, 30, 1)]


@many
def test_strays_without_panes_and_nothing_at_all(name: str) -> None:
    assert closed(name, rows(), rows((0, 20, 1, 1.0)), 10, 30) == [(0, 20, 1, 1.0)]
    assert closed(name, rows(), rows(), 10, 30) == []
    assert closed(name, rows(), rows(), None, None) == []


pane = st.tuples(st.integers(0, 2), st.sampled_from([-50, 0, 10, 20, 30, 70, 10**9]), st.just(1), st.integers(-9, 9))
stray = st.tuples(st.integers(0, 2), st.sampled_from([0, 20, 30, 90]), st.just(1), st.integers(-9, 9))
bounds = st.tuples(st.none() | st.integers(-60, 100), st.none() | st.integers(-60, 10**9 + 50))


@many
@settings(max_examples=60, deadline=None)
@given(held=st.lists(pane, max_size=20), strays=st.lists(stray, max_size=5), ends=bounds, at_once=st.integers(0, 12))
def test_closed_in_ranges_the_answers_are_the_same(name: str, held, strays, ends, at_once: int) -> None:
    panes, apart = Rows.merge([rows(*held)], FUNCTIONS[name], 10), rows(*strays)
    whole = closed(name, panes, apart, *ends)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(panes_rows, "AT_ONCE", at_once)
        assert closed(name, panes, apart, *ends) == whole


@pytest.mark.parametrize("ends", [(None, None), (-(1 << 62), 1 << 62)], ids=["unbounded", "all of time"])
def test_no_more_than_so_many_rows_are_closed_at_once(monkeypatch: pytest.MonkeyPatch, ends) -> None:
    monkeypatch.setattr(panes_rows, "AT_ONCE", 100)
    held, rows_taken, gather = [], [], folds.gather

    def counted(fold: Fold, code: np.ndarray, row: np.ndarray, *columns: np.ndarray) -> tuple:
        held.append(len(row))
        rows_taken.append(len(columns[0]))
        return gather(fold, code, row, *columns)

    monkeypatch.setattr(folds, "gather", counted)
    found = closed("median", rows(*((0, 10 * i, 1, float(i)) for i in range(1000))), rows(), *ends)
    assert len(found) == 1001
    assert sum(held) == 2000
    assert max(held) <= 100
    assert max(rows_taken) <= 100
    assert len(held) <= 64


def test_one_window_is_closed_whole_however_large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(panes_rows, "AT_ONCE", 10)
    assert closed("median", rows(*((0, 0, 1, float(i)) for i in range(101))), rows(), None, None) == [
        (0, 10, 101, 50.0),
        (0, 20, 101, 50.0),
    ]


def test_sums_do_not_feel_the_values_of_other_windows() -> None:
    panes = rows((0, 0, 1, 1e300), (0, 40, 2, 2e-9), (1, 40, 1, 1e300), (0, 90, 1, -1e300))
    assert (0, 50, 2, 2e-9) in closed("sum", panes, rows(), None, None)
