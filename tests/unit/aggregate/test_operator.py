"""The incremental operator, tick by tick, against answers by hand. Windows of 20 ms every 10 ms."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from tailrace.aggregate.operator import State, Sums, step
from tailrace.aggregate.partials import combine
from tailrace.disorder.clock import NEVER, Frontier
from tailrace.windows.sliding import Sliding

TENS = Sliding(20, 10)
Row = tuple[str | None, int, int, float]


def frontier(start: int, **after: int) -> Frontier:
    """F after each tick: frontier(0, t1=10, t2=20)."""
    tick = np.array([int(name[1:]) for name in after], np.int64)
    zero = np.zeros(len(after), np.int64)
    return Frontier(start, tick, tick, zero, zero, np.array(list(after.values()), np.int64), zero)


def closed(at: Frontier, until: int) -> Frontier:
    """With one row more, as a quiet stream and the end of a run have it: the last tick again, F moved on."""
    columns = (at.tick, at.end, at.t_max, at.k_ms, at.after, at.version)
    last = [column[-1] if len(at) else NEVER for column in columns]
    last[4] = until
    return Frontier(at.start, *(np.append(column, value) for column, value in zip(columns, last, strict=True)))


def taken(state: State, at: Frontier, *rows: Row) -> tuple[State, dict, dict]:
    """The state, the answers (key, end) → (tuples, total), and the late rows (key, pane, tick) → (tuples, F)."""
    key, event, tick, value = (list(column) for column in zip(*rows, strict=True)) if rows else ([], [], [], [])
    batch = pa.RecordBatch.from_pydict(
        {
            "key": pa.array(key, pa.string()),
            "event_time": pa.array(event, pa.int64()),
            "tick": pa.array(tick, pa.int64()),
            "value": pa.array(value, pa.float64()),
        }
    )
    state, given, late = step(TENS, state, pa.Table.from_batches([combine(TENS, batch)]), at)
    answers = {(row["key"], row["window_end"]): (row["tuples"], row["total"]) for row in given.to_pylist()}
    missed = {(row["key"], row["pane"], row["tick"]): (row["tuples"], row["frontier"]) for row in late.to_pylist()}
    assert (len(answers), len(missed)) == (given.num_rows, late.num_rows)
    return state, answers, missed


EMPTY = State.empty(pa.string())


# event     5                     windows [-10, 10) and [0, 20)
# tick      1    2
# F         9   10                closes [-10, 10)
def test_a_window_closes_when_f_reaches_its_end() -> None:
    state, answers, _ = taken(EMPTY, frontier(NEVER, t1=9), ("a", 5, 1, 1.0))
    assert answers == {}
    _, answers, _ = taken(state, frontier(9, t2=10))
    assert answers == {("a", 10): (1, 1.0)}


def test_a_window_closes_once() -> None:
    state, first, _ = taken(EMPTY, frontier(NEVER, t1=10), ("a", 5, 1, 1.0))
    _, second, _ = taken(state, frontier(10, t2=20))
    assert (list(first), list(second)) == ([("a", 10)], [("a", 20)])


# tick      1    1     2
# event     5    25    6          6 comes after [-10, 10) has closed: it counts in [0, 20) alone
# F         10         10
def test_a_late_tuple_counts_in_the_windows_that_are_still_open() -> None:
    at = frontier(NEVER, t1=10, t2=10)
    state, answers, late = taken(EMPTY, at, ("a", 5, 1, 1.0), ("a", 6, 2, 2.0))
    assert answers == {("a", 10): (1, 1.0)}
    assert late == {("a", 0, 2): (1, 10)}
    assert taken(state, frontier(10, t3=20))[1] == {("a", 20): (2, 3.0)}


def test_a_tuple_on_time_in_the_tick_that_closes_its_window_counts() -> None:
    assert taken(EMPTY, frontier(NEVER, t1=20), ("a", 5, 1, 1.0))[1:] == (
        {("a", 10): (1, 1.0), ("a", 20): (1, 1.0)},
        {},
    )


def test_a_tuple_that_missed_all_its_windows_gives_no_answer() -> None:
    state, answers, late = taken(EMPTY, frontier(20, t1=20), ("a", 5, 1, 1.0))
    assert (answers, late) == ({}, {("a", 0, 1): (1, 20)})
    assert len(state.keys) == 0


def test_late_tuples_of_two_ticks_are_registered_apart() -> None:
    late = taken(EMPTY, frontier(20, t1=20, t4=30), ("a", 5, 1, 1.0), ("a", 6, 4, 1.0), ("a", 7, 4, 1.0))[2]
    assert late == {("a", 0, 1): (1, 20), ("a", 0, 4): (2, 20)}


# event     5    95             windows up to [90, 110)
# F         0  | 110            the end, or quiet: F moves on to the last of them
def test_a_closing_closes_all_and_keeps_nothing() -> None:
    state, answers, late = taken(EMPTY, closed(frontier(NEVER, t1=0), 110), ("a", 5, 1, 1.0), (None, 95, 1, 2.0))
    assert answers == {("a", 10): (1, 1.0), ("a", 20): (1, 1.0), (None, 100): (1, 2.0), (None, 110): (1, 2.0)}
    assert [len(state.keys), len(state.panes.key), len(state.strays.key)] == [0, 0, 0]
    assert late == {}


def test_a_closing_in_a_batch_without_ticks_closes_what_was_kept() -> None:
    state, answers, _ = taken(EMPTY, frontier(NEVER, t1=0), ("a", 5, 1, 1.0))
    assert answers == {}
    state, answers, _ = taken(state, closed(frontier(0), 20))
    assert answers == {("a", 10): (1, 1.0), ("a", 20): (1, 1.0)}
    assert len(state.keys) == 0


def test_a_closing_closes_strays_too() -> None:
    state, _, late = taken(EMPTY, frontier(10, t1=10), ("a", 5, 1, 1.0))
    assert late == {("a", 0, 1): (1, 10)}
    assert taken(state, closed(frontier(10, t2=10), 20))[1] == {("a", 20): (1, 1.0)}


def test_tuples_of_the_last_tick_are_not_late_by_the_closing_that_follows_it() -> None:
    _, answers, late = taken(EMPTY, closed(frontier(NEVER, t1=0, t2=0), 110), ("a", 5, 1, 1.0), ("a", 95, 2, 1.0))
    assert late == {}
    assert answers["a", 10] == (1, 1.0)


def test_what_comes_after_a_closing_for_its_windows_is_late() -> None:
    state, _, _ = taken(EMPTY, closed(frontier(NEVER, t1=0), 20), ("a", 5, 1, 1.0))
    _, answers, late = taken(state, frontier(20, t2=20), ("a", 6, 2, 1.0), ("a", 15, 2, 4.0))
    assert late == {("a", 0, 2): (1, 20), ("a", 10, 2): (1, 20)}
    assert answers == {}


def test_a_key_is_forgotten_with_its_last_window() -> None:
    state, _, _ = taken(EMPTY, frontier(NEVER, t1=20), ("a", 5, 1, 1.0), ("b", 15, 1, 2.0))
    assert state.keys.to_pylist() == ["b"]
    _, answers, _ = taken(state, frontier(20, t2=30), ("a", 21, 2, 4.0))
    assert answers == {("b", 30): (1, 2.0), ("a", 30): (1, 4.0)}


def test_a_pane_is_forgotten_with_its_last_window() -> None:
    state, _, _ = taken(EMPTY, frontier(NEVER, t1=19), ("a", 5, 1, 1.0))
    assert state.panes.time.tolist() == [0]
    assert taken(state, frontier(19, t2=20))[0].panes.time.tolist() == []


def test_a_tiny_value_does_not_feel_a_huge_one_in_another_window_or_key() -> None:
    rows = [("a", 5, 1, 1e300), ("a", 45, 1, 1e-9), ("b", 45, 1, 1e300), ("a", 46, 1, 1e-9), ("a", 95, 1, -1e300)]
    _, answers, _ = taken(EMPTY, closed(frontier(NEVER, t1=0), 110), *rows)
    assert answers["a", 50] == answers["a", 60] == (2, 2e-9)


def test_the_state_through_arrow() -> None:
    state, _, _ = taken(EMPTY, frontier(10, t1=10), ("a", 5, 1, 1.0), (None, 25, 1, 2.0))
    again = State.from_arrow(state.to_arrow())
    assert again.keys.equals(state.keys)
    for kept, restored in ((state.panes, again.panes), (state.strays, again.strays)):
        for name in ("key", "time", "tuples", "total"):
            assert getattr(restored, name).tolist() == getattr(kept, name).tolist()
            assert getattr(restored, name).dtype == getattr(kept, name).dtype


def test_sums_add_by_key_and_time() -> None:
    one = Sums(np.array([0, 1]), np.array([-30, 20]), np.array([1, 1]), np.array([0.5, 1.0]))
    two = Sums(np.array([1, 0]), np.array([20, 20]), np.array([2, 1]), np.array([3.0, 8.0]))
    found = Sums.add([one, two], 10)
    rows = zip(*(getattr(found, name).tolist() for name in ("key", "time", "tuples", "total")), strict=True)
    assert set(rows) == {(0, -30, 1, 0.5), (1, 20, 3, 4.0), (0, 20, 1, 8.0)}
