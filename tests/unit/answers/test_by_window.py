"""The answer model of windows: which windows late tuples missed, which hold a tuple, and each answer once."""

from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kit.oracles.oracle import windows_of
from kit.suite.examples import drawn
from tailrace.answers.by_window import ByWindow
from tailrace.windows.sliding import Sliding

SOME = drawn(100)
KEYS = st.sampled_from([None, "a", "a\0", "a\0b"])
SLIDING = st.sampled_from([Sliding(10, 10), Sliding(10, 5), Sliding(9, 6), Sliding(12, 1)])
TEXT_KEY = ("key", pa.string())


def rows_of(names: list[str], rows: list[tuple], types: list[tuple]) -> pa.Table:
    return pa.Table.from_pylist([dict(zip(names, row, strict=True)) for row in rows], pa.schema(types))


@SOME
@given(SLIDING, st.lists(st.tuples(KEYS, st.integers(-5, 5), st.integers(-30, 30)), max_size=10))
def test_late_rows_missed_the_windows_over_their_pane_that_had_closed(sliding, rows) -> None:
    model = ByWindow(sliding)
    rows = [(key, pane * sliding.pane_ms, frontier, place) for place, (key, pane, frontier) in enumerate(rows)]
    names = ["key", "pane_start", "frontier", "tuples"]
    late = rows_of(names, rows, [TEXT_KEY, *((name, pa.int64()) for name in names[1:])])
    expected = [
        {"key": key, "window_start": start, "window_end": end, "tuples": place}
        for key, pane, frontier, place in rows
        for start, end in windows_of(pane, sliding.size_ms, sliding.slide_ms)
        if end <= frontier
    ]
    missed = model.explode_late(late, "tuples")
    assert missed.to_pylist() == expected
    affected = model.missed_by(late)
    assert affected.windows.num_rows == len({(row["key"], row["window_end"]) for row in expected})
    assert affected.contains(missed).all()
    assert not affected.contains(missed.set_column(0, "key", pa.array(["c"] * len(expected), pa.string()))).any()


@SOME
@given(SLIDING, st.lists(st.tuples(KEYS, st.integers(-40, 40)), max_size=10))
def test_windows_that_hold_a_tuple_each_once(sliding, tuples) -> None:
    given = rows_of(["key", "event_time"], tuples, [TEXT_KEY, ("event_time", pa.int64())]).combine_chunks()
    batch = pa.RecordBatch.from_arrays([column.combine_chunks() for column in given.columns], given.column_names)
    found = ByWindow(sliding).holding(batch).to_pylist()
    windows = [(key, end) for key, at in tuples for _, end in windows_of(at, sliding.size_ms, sliding.slide_ms)]
    assert len(found) == len(set(windows))
    assert {(row["key"], row["window_end"]) for row in found} == set(windows)


def test_windows_of_tuples_are_told_once() -> None:
    held = pa.RecordBatch.from_pydict({"key": ["a", "a", None], "event_time": [12, 13, 4]})
    windows = ByWindow(Sliding(10, 5)).holding(held)
    found = {(row["key"], row["window_end"]) for row in windows.to_pylist()}
    assert found == {("a", 15), ("a", 20), (None, 5), (None, 10)}
    assert windows.num_rows == 4


@SOME
@given(SLIDING, st.integers(-30, 30), st.integers(1, 30), st.integers(-30, 40))
def test_closed_windows_are_those_that_hold_a_time_of_the_range_and_end_by_the_frontier(
    sliding, low, length, frontier
) -> None:
    ends = [number * sliding.slide_ms + sliding.size_ms for number in range(-60, 60)]
    answers = pa.table({"key": ["a"] * 120, "window_end": ends})
    affected = ByWindow(sliding).closed((low, low + length), frontier)
    holding = {end for at in range(low, low + length) for _, end in windows_of(at, sliding.size_ms, sliding.slide_ms)}
    found = answers.filter(pa.array(affected.contains(answers)))["window_end"].to_pylist()
    assert found == [end for end in ends if end in holding and end <= frontier]
    if found:
        (least,), (most,) = affected.ranges()
        assert least <= min(found) - sliding.size_ms
        assert most >= max(found)


def test_a_ranking_counts_once_by_its_first_row() -> None:
    rows = pa.table({"key": ["a", "a", None], "window_end": [10, 10, 10], "rank": [1, 2, 1]})
    assert ByWindow(Sliding(10, 5), ("rank",)).first_rows(rows)["rank"].to_pylist() == [1, 1]
    assert ByWindow(Sliding(10, 5)).first_rows(rows) is rows


@pytest.mark.parametrize(("row_key", "more"), [((), ()), (("rank",), ("rank",))])
def test_readers_get_rows_by_time_then_key_then_the_row_key(row_key, more) -> None:
    assert ByWindow(Sliding(10, 5), row_key).order == ("window_end", "key", *more)
