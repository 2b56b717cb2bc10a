"""Total coverage λ of the closed windows, against a count of every tuple in every window."""

from __future__ import annotations

import json
import tracemalloc

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kit.draws.streams import cuts, disordered, pieces
from kit.oracles.oracle import stream, windows_of
from kit.runs.harness import policy_json, stamp_settings
from kit.suite.examples import drawn
from tailrace.disorder.clock import Frontier, StreamClock
from tailrace.disorder.ticks import number, summarise
from tailrace.disorder.total_coverage import TotalCoverage
from tailrace.ground.time_limits import BEFORE_ALL
from tailrace.windows.sliding import Sliding


def frontier(start: int, *after: int) -> Frontier:
    """A frontier over ticks 0, 1, … from the F after each of them."""
    tick = np.arange(len(after))
    zero = np.zeros(len(after), np.int64)
    return Frontier(start, tick, tick, zero, zero, np.array(after, np.int64), zero)


def counts(pane: np.ndarray, tick: np.ndarray, count: np.ndarray) -> pa.Table:
    return pa.table({"tick": tick, "pane": pane, "count": count})


def open_windows(coverage: TotalCoverage) -> dict[int, int]:
    """The number of tuples received so far in each open window, by window end."""
    return dict(zip(coverage.ends.tolist(), coverage.counts.tolist(), strict=True))


def observe_rows(coverage: TotalCoverage, rows: list[tuple[int, int, int]], at: Frontier) -> TotalCoverage:
    """Let `coverage` observe rows of (pane, tick, count), in windows of 10 every 5."""
    coverage.observe(Sliding(10, 5), counts(*np.array(rows, np.int64).reshape(-1, 3).T), at)
    return coverage


# pane 0 is in [-5, 5) and [0, 10)
# tick   0     1
# count  3     2       of pane 0
# F      5     5       [-5, 5) closed with 3 and missed 2; [0, 10) is open with 5
def test_late_tuples_miss_only_closed_windows() -> None:
    coverage = observe_rows(TotalCoverage(), [(0, 0, 3), (0, 1, 2)], frontier(BEFORE_ALL, 5, 5))
    assert (coverage.received, coverage.missed, open_windows(coverage)) == (3, 2, {10: 5})
    assert coverage.share == 3 / 5


def test_open_windows_count_only_when_they_close() -> None:
    coverage = observe_rows(TotalCoverage(), [(0, 0, 3)], frontier(BEFORE_ALL, 0))
    assert (coverage.share, open_windows(coverage)) == (None, {5: 3, 10: 3})
    assert observe_rows(coverage, [], frontier(0, 10)).received == 6


# tick   0 | close        the tuples of tick 0 arrived with F before the close, later ones with F = 10
# F      0 |  10
def test_the_close_of_the_stream_closes_open_windows() -> None:
    coverage = observe_rows(TotalCoverage(), [(0, 0, 3)], StreamClock().close(frontier(BEFORE_ALL, 0), 10))
    assert (coverage.share, coverage.received, open_windows(coverage)) == (1.0, 6, {})
    assert observe_rows(coverage, [(0, 0, 2)], frontier(10, 10)).share == 6 / 10


def test_a_close_in_a_batch_without_ticks_closes_open_windows() -> None:
    coverage = observe_rows(TotalCoverage(), [(0, 0, 3)], frontier(BEFORE_ALL, 0))
    assert observe_rows(coverage, [], StreamClock().close(frontier(0), 10)).received == 6


def test_coverage_survives_json() -> None:
    coverage = observe_rows(TotalCoverage(), [(0, 0, 3), (0, 1, 2)], frontier(BEFORE_ALL, 5, 5))
    assert TotalCoverage.from_json(json.loads(json.dumps(coverage.to_json()))).to_json() == coverage.to_json()
    assert coverage.to_json()["ends"] == [10]


def expected_counts(tuples, query, outcome) -> tuple[int, int]:
    """(received, missed) over all closed windows: a tuple counts once for each of its windows."""
    closed = {(start, end) for _, start, end in outcome.answers}
    missed = sum(len(late.windows) for late in outcome.late_tuples)
    complete_tuples = tuples[: len(tuples) - len(outcome.pending)]
    window_tuples = [
        w for item in complete_tuples for w in windows_of(item.event_time, query.size, query.slide) if w in closed
    ]
    late_without_answer = sum(window not in closed for late in outcome.late_tuples for window in late.windows)
    return len(window_tuples) - (missed - late_without_answer), missed


def clock_of(query) -> StreamClock:
    clock = StreamClock()
    stamp_settings(clock, policy_json(query.policy), BEFORE_ALL)
    return clock


@drawn(30)
@given(st.data(), disordered(min_tuples=1, ticks=[0, 30, 100]), st.booleans())
def test_coverage_is_that_of_the_oracle_however_the_stream_is_cut(data, case, ends) -> None:
    tuples, query = case
    windows = Sliding(query.size, query.slide)
    event, arrival = (np.array([getattr(t, name) for t in tuples]) for name in ("event_time", "arrival_time"))
    tick, end = number(arrival, np.arange(len(tuples)), query.tick)
    parts = pieces(sorted(set(tick.tolist())), data.draw(cuts(len(set(tick.tolist()))), label="cuts"))
    if not ends:  # the newest tick is incomplete
        parts[-1] = parts[-1][:-1]
    clock, coverage = clock_of(query), TotalCoverage()
    for part in parts:
        mask = np.isin(tick, part)
        frontier_part = clock.advance(summarise(tick[mask], end[mask], event[mask]))
        if ends and part is parts[-1]:
            frontier_part = clock.close(frontier_part, int(windows.last_end(np.array([clock.t_max]))[0]))
        ones = np.ones(int(mask.sum()), np.int64)
        table = counts(windows.pane(event[mask]), tick[mask], ones)
        coverage.observe(windows, table, frontier_part)
    assert (coverage.received, coverage.missed) == expected_counts(tuples, query, stream(tuples, query, flush=ends))


@pytest.mark.needs("quiet")
def test_rows_are_not_written_out_for_each_of_their_windows() -> None:
    """2,000 panes in 20,000 windows each, half of them after the first windows have closed."""
    windows, n = Sliding(20_000, 1), 2_000
    rows = counts(np.arange(n), np.repeat([0, 1], n // 2), np.ones(n, np.int64))
    coverage = TotalCoverage()
    tracemalloc.start()
    coverage.observe(windows, rows, frontier(BEFORE_ALL, 1_500, 1_500))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 20e6, "of 16 bytes each they would take 640 MB"
    assert coverage.missed == sum(1_500 - pane for pane in range(n // 2, 1_500))
    assert coverage.received == sum(1_500 - pane for pane in range(n // 2))
    assert int(coverage.counts.sum()) == n * 20_000 - coverage.missed - coverage.received
