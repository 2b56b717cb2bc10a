"""Windows of a range of event time, and of the late tuples of an interval."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from tailrace.answers.affected_windows import MissedWindows
from tailrace.answers.by_window import ByWindow
from tailrace.correction.correction_range import CorrectionRange
from tailrace.ground.arrow.ranges import coarsen_ranges, in_ranges
from tailrace.windows.sliding import Sliding

WINDOWS = Sliding(10, 5)
MODEL = ByWindow(WINDOWS)
ANSWERS = pa.table({"key": ["k"] * 4, "window_start": [0, 5, 10, 15], "window_end": [10, 15, 20, 25]})
LATE = pa.schema([("key", pa.string()), ("pane_start", pa.int64()), ("frontier", pa.int64())])


@pytest.mark.parametrize(
    ("span", "frontier", "ends"),
    [
        (CorrectionRange(), 25, [10, 15, 20, 25]),  # F moved on to the last end, by the end of the stream or silence
        (CorrectionRange(), 20, [10, 15, 20]),
        (CorrectionRange(), 24, [10, 15, 20]),
        (CorrectionRange(10, 15), 25, [15, 20]),  # [0, 10) ends where the range begins, [15, 25) begins where it ends
        (CorrectionRange(None, 1), 25, [10]),
        (CorrectionRange(24, None), 25, [25]),
        (CorrectionRange(10, 15), 15, [15]),
    ],
)
def test_closed_windows_that_overlap_a_range(span, frontier, ends):
    touched = MODEL.closed(span.bounds, frontier)
    found = ANSWERS.filter(pa.array(touched.contains(ANSWERS)))
    assert found["window_end"].to_pylist() == ends
    (low,), (high,) = touched.ranges()
    assert low <= min(found["window_start"].to_pylist())
    assert high >= max(found["window_end"].to_pylist())
    assert high <= frontier


def test_missed_windows_are_those_over_the_pane_that_had_closed():
    #  windows over the pane [10, 15): [5, 15) and [10, 20); F was at 15
    late = pa.table({"key": ["k", "k", None], "pane_start": [10, 10, 0], "frontier": [15, 15, 10]}, LATE)
    touched = MODEL.missed_by(late)
    assert touched.windows.to_pydict() == {"key": ["k", None, None], "window_end": [15, 5, 10]}
    assert [ends.tolist() for ends in touched.ranges()] == [[-5], [15]]
    assert touched.contains(ANSWERS).tolist() == [False, True, False, False]
    assert touched.contains(ANSWERS.set_column(0, "key", pa.nulls(4, pa.string()))).tolist() == [
        True,
        False,
        False,
        False,
    ]


def test_no_late_tuples_touch_nothing():
    touched = MODEL.missed_by(LATE.empty_table())
    assert [ends.tolist() for ends in touched.ranges()] == [[], []]
    assert not touched.contains(ANSWERS).any()


def test_nothing_has_closed_before_a_range_begins():
    assert [ends.tolist() for ends in MODEL.closed(CorrectionRange(30, 40).bounds, 20).ranges()] == [[], []]


def test_windows_that_are_far_apart_are_separate_ranges():
    touched = MissedWindows(pa.table({"key": ["a", "b", "a", "a"], "window_end": [20, 15, 40, 35]}), WINDOWS)
    assert [ends.tolist() for ends in touched.ranges()] == [[5, 25], [20, 40]]
    assert in_ranges(touched.ranges(), np.array([4, 5, 19, 20, 24, 25, 39, 40])).tolist() == [
        *(False, True, True, False, False, True, True, False)
    ]
    assert not in_ranges((np.zeros(0, int), np.zeros(0, int)), np.array([5])).any()


def test_a_late_row_is_told_for_each_window_it_missed():
    late = pa.table({"key": ["k"], "pane_start": [10], "frontier": [20], "tuples": [3]})
    rows = MODEL.explode_late(late, "tuples")
    assert rows.column_names == ["key", "window_start", "window_end", "tuples"]
    assert [list(row.values()) for row in rows.to_pylist()] == [["k", 5, 15, 3], ["k", 10, 20, 3]]


@pytest.mark.parametrize(
    ("most", "low", "high"), [(1, [0], [61]), (2, [0, 60], [31, 61]), (3, [0, 30, 60], [21, 31, 61])]
)
def test_many_ranges_become_a_few_over_the_least_gaps(most, low, high):
    ranges = np.array([0, 10, 20, 30, 60]), np.array([9, 19, 21, 31, 61])
    found = coarsen_ranges(ranges, most)
    assert [ends.tolist() for ends in found] == [low, high]


def test_few_ranges_stay_as_they_are():
    for ranges in ((np.array([0, 10]), np.array([9, 19])), (np.zeros(0, int), np.zeros(0, int))):
        assert [ends.tolist() for ends in coarsen_ranges(ranges, 2)] == [ends.tolist() for ends in ranges]


def test_a_span_is_told_by_its_clock_and_its_ends():
    assert str(CorrectionRange(0, 1000, arrival=True)) == "arrival [1970-01-01T00:00:00.000Z, 1970-01-01T00:00:01.000Z)"
    assert str(CorrectionRange()) == "event time […, …)"
