"""Panes and windows against their definitions, window by window."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kit.suite.examples import drawn
from tailrace.windows.sliding import Sliding

SOME = drawn(50)

lengths = st.tuples(st.integers(1, 40), st.integers(1, 40)).map(lambda size_slide: (max(size_slide), min(size_slide)))
panes = st.lists(st.integers(-30, 30), max_size=6)


def ends_of_windows(size: int, slide: int, pane: int, length: int) -> list[int]:
    """The ends of all windows [j·slide, j·slide + size) that contain [pane, pane + length)."""
    starts = range((pane - 2 * size) // slide * slide, pane + 2 * size, slide)
    return [start + size for start in starts if start <= pane and pane + length <= start + size]


def draw_bound(bound: str, draw, n: int) -> tuple[object, list[int | None]]:
    """Draw a bound; return it in the form that `ends` takes, and for each row."""
    if bound == "none":
        return None, [None] * n
    if bound == "int":
        number = draw(st.integers(-150, 150))
        return number, [number] * n
    each = draw(st.lists(st.integers(-150, 150), min_size=n, max_size=n))
    return np.array(each, np.int64), each


# size 5, slide 2, panes of 1; the windows that contain the pane [2, 3):
#   0   1   2   3   4   5   6   7   8
#   [0 .. . . . . . . 5)                 end 5
#           [2 . . . . . . . . 7)        end 7
#  -2 . . . 3)                           end 3
def test_ends_by_hand() -> None:
    windows = Sliding(5, 2)
    pane = np.array([2])
    assert (windows.pane_ms, windows.first_end(pane)[0], windows.last_end(pane)[0]) == (1, 3, 7)
    assert windows.ends(pane, None, None)[1].tolist() == [3, 5, 7]


def test_a_pane_is_in_size_over_slide_windows() -> None:
    windows = Sliding(500, 100)
    assert windows.ends(np.array([0]), None, None)[1].tolist() == [100, 200, 300, 400, 500]


@SOME
@given(lengths, st.lists(st.integers(-(10**13), 10**13), max_size=5))
def test_every_time_is_in_its_pane(size_slide: tuple[int, int], times: list[int]) -> None:
    windows = Sliding(*size_slide)
    pane = windows.pane(np.array(times, np.int64))
    assert not (pane % windows.pane_ms).any()
    assert all(start <= time < start + windows.pane_ms for start, time in zip(pane.tolist(), times, strict=True))


@SOME
@given(lengths, panes)
def test_first_and_last_end(size_slide: tuple[int, int], numbers: list[int]) -> None:
    windows = Sliding(*size_slide)
    pane = np.array(numbers, np.int64) * windows.pane_ms
    expected = [ends_of_windows(*size_slide, start, windows.pane_ms) for start in pane.tolist()]
    assert windows.first_end(pane).tolist() == [ends[0] for ends in expected]
    assert windows.last_end(pane).tolist() == [ends[-1] for ends in expected]


@pytest.mark.parametrize("until", ["none", "int", "array"])
@pytest.mark.parametrize("after", ["none", "int", "array"])
@drawn(20)
@given(data=st.data(), size_slide=lengths, numbers=panes)
def test_ends_between_bounds(after: str, until: str, data, size_slide: tuple[int, int], numbers: list[int]) -> None:
    windows = Sliding(*size_slide)
    pane = np.array(numbers, np.int64) * windows.pane_ms
    above, low = draw_bound(after, data.draw, len(pane))
    upto, high = draw_bound(until, data.draw, len(pane))
    row, end = windows.ends(pane, above, upto)
    expected = [
        (i, end)
        for i, start in enumerate(pane.tolist())
        for end in ends_of_windows(*size_slide, start, windows.pane_ms)
        if (low[i] is None or end > low[i]) and (high[i] is None or end <= high[i])
    ]
    assert list(zip(row.tolist(), end.tolist(), strict=True)) == expected


@pytest.mark.parametrize(("after", "until"), [(-(1 << 62), 1 << 62), (-(2**63), 2**63 - 1)], ids=["2**62", "2**63"])
def test_bounds_beyond_all_times_do_not_overflow(after: int, until: int) -> None:
    windows = Sliding(1000, 300)
    pane = np.array([-100, 1_577_836_800_000])
    unbounded = windows.ends(pane, None, None)
    assert [column.tolist() for column in windows.ends(pane, after, until)] == [column.tolist() for column in unbounded]


@SOME
@given(lengths, st.lists(st.tuples(st.integers(-90, 90), st.integers(-90, 90)), min_size=1))
def test_two_times_share_a_window_if_one_holds_both(size_slide: tuple[int, int], times: list[tuple[int, int]]) -> None:
    one, other = np.array(times, np.int64).T
    held = [[set(ends_of_windows(*size_slide, time, 1)) for time in both] for both in times]
    assert Sliding(*size_slide).share(one, other).tolist() == [bool(a & b) for a, b in held]


def test_bounds_that_exclude_all_windows() -> None:
    windows, pane = Sliding(1000, 300), np.array([-100, 1_577_836_800_000])
    assert not len(windows.ends(pane, 1 << 62, None)[0])
    assert not len(windows.ends(pane, None, -(1 << 62))[0])


@SOME
@given(lengths, st.integers(-90, 90), st.integers(0, 200))
def test_within_gives_the_times_whose_windows_all_lie_within_bounds(
    length: tuple[int, int], low: int, span: int
) -> None:
    windows, high = Sliding(*length), low + span
    first, last = windows.within(low, high)
    for time in range(low - 50, high + 50):
        ends = ends_of_windows(*length, time, 1)
        whole = all(low <= end - windows.size_ms and end <= high for end in ends)
        assert whole == (first <= time <= last)


@SOME
@given(lengths, st.integers(-60, 60), panes, st.integers(-90, 90), st.integers(0, 90))
def test_an_offset_moves_every_boundary(
    size_slide: tuple[int, int], offset: int, numbers: list[int], low: int, span: int
) -> None:
    still, moved = Sliding(*size_slide), Sliding(*size_slide, offset)
    time = np.array(numbers, np.int64)
    for method in ("pane", "end_until", "end_after", "last_end"):
        assert (getattr(moved, method)(time + offset) == getattr(still, method)(time) + offset).all()
    pane = still.pane(time)
    assert (moved.first_end(pane + offset) == still.first_end(pane) + offset).all()
    assert (moved.pane_end(pane + offset) == still.pane_end(pane) + offset).all()
    assert (moved.number(time + offset) == still.number(time)).all()
    assert (moved.end_of(time) == still.end_of(time) + offset).all()
    assert (moved.block(time + offset) == still.block(time)).all()
    scaled = moved.to_scale(time + offset) // moved.scale_step * moved.scale_step
    assert (moved.from_scale(scaled) == pane + offset).all()
    row, end = moved.ends(pane + offset, low + offset, low + span + offset)
    still_row, still_end = still.ends(pane, low, low + span)
    assert (row.tolist(), end.tolist()) == (still_row.tolist(), (still_end + offset).tolist())
    assert moved.within(low + offset, low + span + offset) == tuple(
        bound + offset for bound in still.within(low, low + span)
    )
