"""Rows by key and pane, and the windows over them. Windows of 20 ms every 10 ms."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kit.draws.aggregates import NUMBERS, accumulated, answered, summary_of
from kit.suite.examples import drawn
from tailrace.aggregate.aggregates import Aggregates
from tailrace.windows import panes as panes_module
from tailrace.windows.panes import Arrays, KeyedRows, evaluate_windows
from tailrace.windows.sliding import Sliding

TENS = Sliding(20, 10)
Row = tuple[int, int, int, float]
each_function = pytest.mark.parametrize("name", NUMBERS)


def rows(*row_list: Row) -> KeyedRows:
    """Rows from (key, time, tuples, total) each."""
    key, time, tuples, total = zip(*row_list, strict=True) if row_list else ((),) * 4
    columns = {"tuples": np.array(tuples, np.int64), "total": np.array(total, float)}
    return KeyedRows(*(np.array(column, np.int64) for column in (key, time)), columns)


def sorted_rows(table: KeyedRows) -> list[Row]:
    return sorted(zip(*(column.tolist() for column in (table.key, table.time, *table.columns.values())), strict=True))


def merged(name: str, parts: list[KeyedRows], step: int) -> list[Row]:
    """The rows that are left, with the accumulator's last column as `total`."""
    summary = summary_of(name)
    table = KeyedRows.merge([accumulated(summary, part) for part in parts], summary, step)
    last = [*summary.types][-1]
    return sorted_rows(replace(table, columns={name: table.columns[name] for name in ("tuples", last)}))


def evaluate(name: str, panes: KeyedRows, strays: KeyedRows, after: int | None, until: int | None) -> list[Row]:
    summary = summary_of(name)
    both = (accumulated(summary, part) for part in (panes, strays))
    return answered(summary, evaluate_windows(TENS, summary, *both, after, until))


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("sum", [(0, -30, 1, 0.5), (0, 20, 1, 8.0), (1, 20, 3, 4.0)]),
        ("min", [(0, -30, 1, 0.5), (0, 20, 1, 8.0), (1, 20, 3, 1.0)]),
        ("max", [(0, -30, 1, 0.5), (0, 20, 1, 8.0), (1, 20, 3, 3.0)]),
        ("median", [(0, -30, 1, 0.5), (0, 20, 1, 8.0), (1, 20, 1, 1.0), (1, 20, 2, 3.0)]),
    ],
)
def test_rows_of_equal_key_and_time_merge(name: str, expected: list[Row]) -> None:
    one, two = rows((0, -30, 1, 0.5), (1, 20, 1, 1.0)), rows((1, 20, 2, 3.0), (0, 20, 1, 8.0))
    assert merged(name, [one, two], 10) == expected


def test_times_need_not_be_multiples_of_the_step() -> None:
    parts = [rows((0, 13, 1, 1.0)), rows((0, 3, 1, 1.0), (0, 13, 1, 1.0))]
    assert merged("sum", parts, 10) == [(0, 3, 1, 1.0), (0, 13, 2, 2.0)]


def test_rows_are_converted_to_arrow_with_their_keys() -> None:
    batch = rows((1, 10, 2, 3.0), (0, 20, 1, 1.0)).with_keys(pa.array(["a", None]))
    assert batch.to_pylist() == [
        {"key": None, "time": 10, "tuples": 2, "total": 3.0},
        {"key": "a", "time": 20, "tuples": 1, "total": 1.0},
    ]


# pane    0  10  20        windows by their ends
# value   2   4   9        10: 2   20: 2 4   30: 4 9   40: 9
PANES = rows((0, 0, 1, 2.0), (0, 10, 1, 4.0), (0, 20, 1, 9.0))
AT_20 = {"sum": 6, "count": 2, "avg": 3, "min": 2, "max": 4, "median": 3, "quantile": 3.8}


@each_function
def test_a_window_is_answered_from_its_panes(name: str) -> None:
    assert evaluate(name, PANES, rows(), 10, 20) == [(0, 20, 2, pytest.approx(AT_20[name]))]


@each_function
def test_after_is_excluded_and_until_included(name: str) -> None:
    assert [end for _, end, _, _ in evaluate(name, PANES, rows(), 10, 30)] == [20, 30]
    assert [end for _, end, _, _ in evaluate(name, PANES, rows(), 11, 29)] == [20]
    assert [end for _, end, _, _ in evaluate(name, PANES, rows(), None, None)] == [10, 20, 30, 40]
    assert evaluate(name, PANES, rows(), 20, 20) == []
    assert evaluate(name, PANES, rows(), 40, 90) == []


@each_function
def test_strays_count_in_their_window_alone(name: str) -> None:
    with_stray = {"sum": 12, "count": 3, "avg": 4, "min": 2, "max": 6, "median": 4, "quantile": 5.6}[name]
    strays = rows((0, 20, 1, 6.0), (1, 30, 1, 1.0), (1, 50, 1, 1.0))
    answers = evaluate(name, PANES, strays, 10, 30)
    assert answers[0] == (0, 20, 3, pytest.approx(with_stray))
    assert [(key, end, tuples) for key, end, tuples, _ in answers] == [(0, 20, 3), (0, 30, 2), (1, 30, 1)]


@each_function
def test_strays_without_panes_are_answered_and_no_rows_give_no_answers(name: str) -> None:
    assert evaluate(name, rows(), rows((0, 20, 1, 1.0)), 10, 30) == [(0, 20, 1, 1.0)]
    assert evaluate(name, rows(), rows(), 10, 30) == []
    assert evaluate(name, rows(), rows(), None, None) == []


pane = st.tuples(st.integers(0, 2), st.sampled_from([-50, 0, 10, 20, 30, 70, 10**9]), st.just(1), st.integers(-9, 9))
stray = st.tuples(st.integers(0, 2), st.sampled_from([0, 20, 30, 90]), st.just(1), st.integers(-9, 9))
bounds = st.tuples(st.none() | st.integers(-60, 100), st.none() | st.integers(-60, 10**9 + 50))


@each_function
@drawn(60)
@given(
    pane_rows=st.lists(pane, max_size=20), strays=st.lists(stray, max_size=5), ends=bounds, at_once=st.integers(0, 12)
)
def test_evaluation_in_ranges_gives_the_same_answers(name: str, pane_rows, strays, ends, at_once: int) -> None:
    panes, stray_rows = rows(*pane_rows), rows(*strays)
    whole = evaluate(name, panes, stray_rows, *ends)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(panes_module, "AT_ONCE", at_once)
        assert evaluate(name, panes, stray_rows, *ends) == whole


@pytest.mark.parametrize("ends", [(None, None), (-(1 << 62), 1 << 62)], ids=["unbounded", "all of time"])
def test_the_number_of_rows_evaluated_at_once_is_bounded(monkeypatch: pytest.MonkeyPatch, ends) -> None:
    monkeypatch.setattr(panes_module, "AT_ONCE", 100)
    row_counts, column_lengths, answer = [], [], Aggregates.answer

    def counting(summary: Aggregates, code: np.ndarray, row: np.ndarray, columns: Arrays) -> tuple:
        row_counts.append(len(row))
        column_lengths.append(len(columns["tuples"]))
        return answer(summary, code, row, columns)

    monkeypatch.setattr(Aggregates, "answer", counting)
    answers = evaluate("median", rows(*((0, 10 * i, 1, float(i)) for i in range(1000))), rows(), *ends)
    assert len(answers) == 1001
    assert sum(row_counts) == 2000
    assert max(row_counts) <= 100
    assert max(column_lengths) <= 100
    assert len(row_counts) <= 64


def test_one_window_is_evaluated_at_once_however_large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(panes_module, "AT_ONCE", 10)
    assert evaluate("median", rows(*((0, 0, 1, float(i)) for i in range(101))), rows(), None, None) == [
        (0, 10, 101, 50.0),
        (0, 20, 101, 50.0),
    ]


def test_sums_do_not_depend_on_the_values_of_other_windows() -> None:
    panes = rows((0, 0, 1, 1e300), (0, 40, 2, 2e-9), (1, 40, 1, 1e300), (0, 90, 1, -1e300))
    assert (0, 50, 2, 2e-9) in evaluate("sum", panes, rows(), None, None)
