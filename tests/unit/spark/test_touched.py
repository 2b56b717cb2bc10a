"""Windows of a range of event time, and of the late tuples of an interval."""

from __future__ import annotations

import pandas as pd
import pytest

from tailrace.spark.touched import Closed, Missed, Span
from tailrace.windows.sliding import Sliding

WINDOWS = Sliding(10, 5)
ANSWERS = pd.DataFrame({"key": "k", "window_start": [0, 5, 10, 15], "window_end": [10, 15, 20, 25]})


@pytest.mark.parametrize(
    ("span", "frontier", "ends"),
    [
        (Span(), 25, [10, 15, 20, 25]),  # F moved on to the last end, by the end of the stream or silence
        (Span(), 20, [10, 15, 20]),
        (Span(), 24, [10, 15, 20]),
        (Span(10, 15), 25, [15, 20]),  # [0, 10) ends where the range begins, [15, 25) begins where it ends
        (Span(None, 1), 25, [10]),
        (Span(24, None), 25, [25]),
        (Span(10, 15), 15, [15]),
    ],
)
def test_closed_windows_that_overlap_a_range(span, frontier, ends):
    touched = Closed(span, WINDOWS, frontier)
    mask = touched.among(ANSWERS)
    assert ANSWERS["window_end"][mask].tolist() == ends
    low, high = touched.events()
    assert low <= ANSWERS["window_start"][mask].min()
    assert high >= ANSWERS["window_end"][mask].max()
    assert high <= frontier


def test_missed_windows_are_those_over_the_pane_that_had_closed():
    #  windows over the pane [10, 15): [5, 15) and [10, 20); F was at 15
    late = pd.DataFrame({"key": ["k", "k", None], "pane_start": [10, 10, 0], "frontier": [15, 15, 10]})
    touched = Missed.by(late, WINDOWS)
    assert touched.pairs.to_dict("list") == {"key": ["k", None, None], "window_end": [15, 5, 10]}
    assert touched.events() == (-5, 15)
    assert touched.among(ANSWERS).tolist() == [False, True, False, False]
    assert touched.among(ANSWERS.assign(key=None)).tolist() == [True, False, False, False]


def test_no_late_tuples_touch_nothing():
    touched = Missed.by(pd.DataFrame({"key": [], "pane_start": [], "frontier": []}).astype(int), WINDOWS)
    assert touched.events() is None
    assert not touched.among(ANSWERS).any()


def test_a_span_is_told_by_its_clock_and_its_ends():
    assert str(Span(0, 1000, arrival=True)) == "arrival [1970-01-01T00:00:00.000Z, 1970-01-01T00:00:01.000Z)"
    assert str(Span()) == "event time […, …)"
