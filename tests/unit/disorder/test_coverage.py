"""λ against a count by hand, tuple by tuple and window by window."""

from __future__ import annotations

import json

import numpy as np
import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from harness import policy_json, stamp_settings
from oracle import stream, windows_of
from streams import cuts, disordered, pieces
from tailrace.disorder.clock import Clock, Frontier
from tailrace.disorder.coverage import Coverage
from tailrace.disorder.ticks import number, summarise
from tailrace.ground.time_limits import BEFORE_ALL
from tailrace.windows.sliding import Sliding


def frontier(start: int, *after: int) -> Frontier:
    """Ticks 0, 1, … with the given F after each."""
    tick = np.arange(len(after))
    zero = np.zeros(len(after), np.int64)
    return Frontier(start, tick, tick, zero, zero, np.array(after, np.int64), zero)


def counts(pane: np.ndarray, tick: np.ndarray, count: np.ndarray) -> pa.Table:
    return pa.table({"tick": tick, "pane": pane, "count": count})


def still_open(coverage: Coverage) -> dict[int, int]:
    """Tuples received so far by the end of each open window."""
    return dict(zip(coverage.ends.tolist(), coverage.counts.tolist(), strict=True))


def observed(coverage: Coverage, rows: list[tuple[int, int, int]], at: Frontier) -> Coverage:
    """Rows of (pane, tick, count), windows of 10 every 5."""
    coverage.observe(Sliding(10, 5), counts(*np.array(rows, np.int64).reshape(-1, 3).T), at)
    return coverage


# pane 0 is in [-5, 5) and [0, 10)
# tick   0     1
# rows   3     2       of pane 0
# F      5     5       [-5, 5) has closed with 3 and missed 2; [0, 10) is open with 5
def test_late_tuples_miss_only_what_had_closed() -> None:
    found = observed(Coverage(), [(0, 0, 3), (0, 1, 2)], frontier(BEFORE_ALL, 5, 5))
    assert (found.received, found.missed, still_open(found)) == (3, 2, {10: 5})
    assert found.share == 3 / 5


def test_open_windows_count_only_when_they_close() -> None:
    found = observed(Coverage(), [(0, 0, 3)], frontier(BEFORE_ALL, 0))
    assert (found.share, still_open(found)) == (None, {5: 3, 10: 3})
    assert observed(found, [], frontier(0, 10)).received == 6


# tick   0 | closed       the tuples of tick 0 found F before it, and what comes after finds it at 10
# F      0 |  10
def test_a_closing_closes_what_is_open() -> None:
    found = observed(Coverage(), [(0, 0, 3)], Clock().close(frontier(BEFORE_ALL, 0), 10))
    assert (found.share, found.received, still_open(found)) == (1.0, 6, {})
    assert observed(found, [(0, 0, 2)], frontier(10, 10)).share == 6 / 10


def test_a_closing_in_a_batch_without_ticks_closes_what_was_open() -> None:
    found = observed(Coverage(), [(0, 0, 3)], frontier(BEFORE_ALL, 0))
    assert observed(found, [], Clock().close(frontier(0), 10)).received == 6


def test_json_and_back() -> None:
    found = observed(Coverage(), [(0, 0, 3), (0, 1, 2)], frontier(BEFORE_ALL, 5, 5))
    assert Coverage.from_json(json.loads(json.dumps(found.to_json()))).to_json() == found.to_json()
    assert found.to_json()["ends"] == [10]


def counted(tuples, query, outcome) -> tuple[int, int]:
    """(received, missed) of the windows that closed: a tuple counts once for each of its windows."""
    closed = {(start, end) for _, start, end in outcome.answers}
    missed = sum(len(late.windows) for late in outcome.late_tuples)
    completed = tuples[: len(tuples) - len(outcome.pending)]
    within = [w for item in completed for w in windows_of(item.event_time, query.size, query.slide) if w in closed]
    late_only = sum(window not in closed for late in outcome.late_tuples for window in late.windows)
    return len(within) - (missed - late_only), missed


def clock_of(query) -> Clock:
    clock = Clock()
    stamp_settings(clock, policy_json(query.policy), BEFORE_ALL)
    return clock


@settings(max_examples=30, deadline=None)
@given(st.data(), disordered(min_tuples=1, ticks=[0, 30, 100]), st.booleans())
def test_cut_anywhere_it_is_the_count_of_the_oracle(data, case, ends) -> None:
    tuples, query = case
    windows = Sliding(query.size, query.slide)
    event, arrival = (np.array([getattr(t, name) for t in tuples]) for name in ("event_time", "arrival_time"))
    tick, end = number(arrival, np.arange(len(tuples)), query.tick)
    parts = pieces(sorted(set(tick.tolist())), data.draw(cuts(len(set(tick.tolist()))), label="cuts"))
    if not ends:  # the newest tick stays incomplete
        parts[-1] = parts[-1][:-1]
    clock, found = clock_of(query), Coverage()
    for part in parts:
        mine = np.isin(tick, part)
        at = clock.advance(summarise(tick[mine], end[mine], event[mine]))
        if ends and part is parts[-1]:
            at = clock.close(at, int(windows.last_end(np.array([clock.t_max]))[0]))
        ones = np.ones(int(mine.sum()), np.int64)
        table = counts(windows.pane(event[mine]), tick[mine], ones)
        found.observe(windows, table, at)
    assert (found.received, found.missed) == counted(tuples, query, stream(tuples, query, flush=ends))
