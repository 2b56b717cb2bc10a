"""The incremental window operator, tick by tick, against answers computed by hand. Windows of 20 ms every 10 ms."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from kit.draws.aggregates import NUMBERS, summary_of
from tailrace.aggregate.partials import combine
from tailrace.disorder.clock import Frontier
from tailrace.ground.time_limits import BEFORE_ALL
from tailrace.operators.window import PaneState, step
from tailrace.windows.sliding import Sliding

TENS = Sliding(20, 10)
Row = tuple[str | None, int, int, float]


def frontier(start: int, **after: int) -> Frontier:
    """The frontier F (the watermark): `start`, and F after each tick, as in frontier(0, t1=10, t2=20)."""
    tick = np.array([int(name[1:]) for name in after], np.int64)
    zero = np.zeros(len(after), np.int64)
    return Frontier(start, tick, tick, zero, zero, np.array(list(after.values()), np.int64), zero)


def flushed(frontiers: Frontier, until: int) -> Frontier:
    """Append the flush of a quiet stream or of the end of a run: the last tick again, with F at `until`."""
    columns = (frontiers.tick, frontiers.end, frontiers.t_max, frontiers.k_ms, frontiers.after, frontiers.version)
    final = [column[-1] if len(frontiers) else BEFORE_ALL for column in columns]
    final[4] = until
    return Frontier(frontiers.start, *(np.append(column, value) for column, value in zip(columns, final, strict=True)))


def step_rows(
    state: PaneState, frontiers: Frontier, *rows: Row, name: str = "sum"
) -> tuple[PaneState, list[dict], list[dict]]:
    """Step the operator over rows (key, event time, tick, value); return the state, the answers and the late rows."""
    key, event, tick, value = (list(column) for column in zip(*rows, strict=True)) if rows else ([], [], [], [])
    batch = pa.RecordBatch.from_pydict(
        {
            "key": pa.array(key, pa.string()),
            "event_time": pa.array(event, pa.int64()),
            "tick": pa.array(tick, pa.int64()),
            "value": pa.array(value, pa.float64()),
        }
    )
    summary = summary_of(name)
    state = PaneState.empty(pa.string(), summary.types) if state is EMPTY else state
    partials = pa.Table.from_batches([combine(TENS, summary, batch)])
    state, closed, late = step(TENS, summary, state, partials, frontiers)
    answers = closed.append_column("value", summary.finish(closed)["value"])
    return state, answers.to_pylist(), late.to_pylist()


def step_indexed(state: PaneState, frontiers: Frontier, *rows: Row, name: str = "sum") -> tuple[PaneState, dict, dict]:
    """As `step_rows`, with answers {(key, end): (tuples, value)} and late rows {(key, pane, tick): (tuples, F)}."""
    state, answer_rows, late_rows = step_rows(state, frontiers, *rows, name=name)
    answers = {(row["key"], row["time"]): (row["tuples"], row["value"]) for row in answer_rows}
    late_counts = {(row["key"], row["pane_start"], row["tick"]): (row["tuples"], row["frontier"]) for row in late_rows}
    assert (len(answers), len(late_counts)) == (len(answer_rows), len(late_rows))
    return state, answers, late_counts


TYPES = summary_of("sum").types
EMPTY = PaneState.empty(pa.string(), TYPES)


# event     5                     windows [-10, 10) and [0, 20)
# tick      1    2
# F         9   10                closes [-10, 10)
def test_a_window_closes_when_f_reaches_its_end() -> None:
    state, answers, _ = step_indexed(EMPTY, frontier(BEFORE_ALL, t1=9), ("a", 5, 1, 1.0))
    assert answers == {}
    _, answers, _ = step_indexed(state, frontier(9, t2=10))
    assert answers == {("a", 10): (1, 1.0)}


def test_a_window_closes_once() -> None:
    state, first, _ = step_indexed(EMPTY, frontier(BEFORE_ALL, t1=10), ("a", 5, 1, 1.0))
    _, second, _ = step_indexed(state, frontier(10, t2=20))
    assert (list(first), list(second)) == ([("a", 10)], [("a", 20)])


# tick      1    1     2
# event     5    25    6          6 arrives after [-10, 10) has closed: it counts in [0, 20) alone
# F         10         10
def test_a_late_tuple_counts_in_the_windows_that_are_still_open() -> None:
    frontiers = frontier(BEFORE_ALL, t1=10, t2=10)
    state, answers, late = step_indexed(EMPTY, frontiers, ("a", 5, 1, 1.0), ("a", 6, 2, 2.0))
    assert answers == {("a", 10): (1, 1.0)}
    assert late == {("a", 0, 2): (1, 10)}
    assert step_indexed(state, frontier(10, t3=20))[1] == {("a", 20): (2, 3.0)}


def test_a_tuple_on_time_in_the_tick_that_closes_its_window_counts() -> None:
    assert step_indexed(EMPTY, frontier(BEFORE_ALL, t1=20), ("a", 5, 1, 1.0))[1:] == (
        {("a", 10): (1, 1.0), ("a", 20): (1, 1.0)},
        {},
    )


def test_a_tuple_that_missed_all_its_windows_gives_no_answer() -> None:
    state, answers, late = step_indexed(EMPTY, frontier(20, t1=20), ("a", 5, 1, 1.0))
    assert (answers, late) == ({}, {("a", 0, 1): (1, 20)})
    assert len(state.keys) == 0


def test_late_tuples_of_two_ticks_are_registered_separately() -> None:
    late = step_indexed(EMPTY, frontier(20, t1=20, t4=30), ("a", 5, 1, 1.0), ("a", 6, 4, 1.0), ("a", 7, 4, 1.0))[2]
    assert late == {("a", 0, 1): (1, 20), ("a", 0, 4): (2, 20)}


# event     5    95             windows up to [90, 110)
# F         0  | 110            at the end of a run, or when the stream is quiet, F moves to the last end
def test_a_flush_closes_all_windows_and_empties_the_state() -> None:
    state, answers, late = step_indexed(
        EMPTY, flushed(frontier(BEFORE_ALL, t1=0), 110), ("a", 5, 1, 1.0), (None, 95, 1, 2.0)
    )
    assert answers == {("a", 10): (1, 1.0), ("a", 20): (1, 1.0), (None, 100): (1, 2.0), (None, 110): (1, 2.0)}
    assert [len(state.keys), len(state.panes.key), len(state.partial_rows.key)] == [0, 0, 0]
    assert late == {}


def test_a_flush_in_a_batch_without_ticks_closes_the_windows_of_the_state() -> None:
    state, answers, _ = step_indexed(EMPTY, frontier(BEFORE_ALL, t1=0), ("a", 5, 1, 1.0))
    assert answers == {}
    state, answers, _ = step_indexed(state, flushed(frontier(0), 20))
    assert answers == {("a", 10): (1, 1.0), ("a", 20): (1, 1.0)}
    assert len(state.keys) == 0


def test_a_flush_answers_windows_that_hold_only_strays() -> None:
    state, _, late = step_indexed(EMPTY, frontier(10, t1=10), ("a", 5, 1, 1.0))
    assert late == {("a", 0, 1): (1, 10)}
    assert step_indexed(state, flushed(frontier(10, t2=10), 20))[1] == {("a", 20): (1, 1.0)}


def test_tuples_of_the_last_tick_are_not_late_because_of_the_flush_after_it() -> None:
    _, answers, late = step_indexed(
        EMPTY, flushed(frontier(BEFORE_ALL, t1=0, t2=0), 110), ("a", 5, 1, 1.0), ("a", 95, 2, 1.0)
    )
    assert late == {}
    assert answers["a", 10] == (1, 1.0)


def test_tuples_that_arrive_after_a_flush_of_their_windows_are_late() -> None:
    state, _, _ = step_indexed(EMPTY, flushed(frontier(BEFORE_ALL, t1=0), 20), ("a", 5, 1, 1.0))
    _, answers, late = step_indexed(state, frontier(20, t2=20), ("a", 6, 2, 1.0), ("a", 15, 2, 4.0))
    assert late == {("a", 0, 2): (1, 20), ("a", 10, 2): (1, 20)}
    assert answers == {}


def test_a_key_is_dropped_with_its_last_window() -> None:
    state, _, _ = step_indexed(EMPTY, frontier(BEFORE_ALL, t1=20), ("a", 5, 1, 1.0), ("b", 15, 1, 2.0))
    assert state.keys.to_pylist() == ["b"]
    _, answers, _ = step_indexed(state, frontier(20, t2=30), ("a", 21, 2, 4.0))
    assert answers == {("b", 30): (1, 2.0), ("a", 30): (1, 4.0)}


def test_a_pane_is_dropped_with_its_last_window() -> None:
    state, _, _ = step_indexed(EMPTY, frontier(BEFORE_ALL, t1=19), ("a", 5, 1, 1.0))
    assert state.panes.time.tolist() == [0]
    assert step_indexed(state, frontier(19, t2=20))[0].panes.time.tolist() == []


def test_a_huge_value_does_not_change_the_answers_of_other_windows_and_keys() -> None:
    rows = [("a", 5, 1, 1e300), ("a", 45, 1, 1e-9), ("b", 45, 1, 1e300), ("a", 46, 1, 1e-9), ("a", 95, 1, -1e300)]
    _, answers, _ = step_indexed(EMPTY, flushed(frontier(BEFORE_ALL, t1=0), 110), *rows)
    assert answers["a", 50] == answers["a", 60] == (2, 2e-9)


# tick      1                2        3        4        5
# event     5   12   25      6 late   7 late            8 late
# F         10               10       10       20       30      closes [-10, 10), then [0, 20) and [10, 30)
ANSWERS = {  # event → value: 5 → 1, 12 → 8, 25 → 4, 6 → 2, 7 → 64, and 8 → 9, which arrives after [0, 20) has closed
    "sum": (75, 12),
    "count": (4, 2),
    "avg": (18.75, 6),
    "min": (1, 4),
    "max": (64, 8),
    "median": (5, 6),
    "quantile": (47.2, 7.6),
}


@pytest.mark.parametrize("name", NUMBERS)
def test_every_function_over_panes_and_strays(name: str) -> None:
    on_time = [("a", 5, 1, 1.0), ("a", 12, 1, 8.0), ("a", 25, 1, 4.0)]
    state, answers, _ = step_indexed(EMPTY, frontier(BEFORE_ALL, t1=10), *on_time, name=name)
    assert answers == {("a", 10): (1, 1.0)}
    for tick, event, value in ((2, 6, 2.0), (3, 7, 64.0)):
        state, answers, late = step_indexed(
            state, frontier(10, **{f"t{tick}": 10}), ("a", event, tick, value), name=name
        )
        assert (answers, late) == ({}, {("a", 0, tick): (1, 10)})
        state = PaneState.from_arrow(state.to_arrow(), summary_of(name).types)
    first, second = ANSWERS[name]
    state, answers, _ = step_indexed(state, frontier(10, t4=20), name=name)
    assert answers == {("a", 20): (4, pytest.approx(first))}
    _, answers, late = step_indexed(state, frontier(20, t5=30), ("a", 8, 5, 9.0), name=name)
    assert (answers, late) == ({("a", 30): (2, pytest.approx(second))}, {("a", 0, 5): (1, 20)})


@pytest.mark.parametrize("name", NUMBERS)
def test_late_tuples_are_registered_once_per_key_pane_and_tick_with_a_total_of_what_is_amended(name: str) -> None:
    rows = [("a", 5, 1, 2.0), ("a", 6, 1, -0.5), ("b", 5, 1, 4.0), ("a", 15, 1, 8.0), ("a", 6, 2, 16.0)]
    late = step_rows(EMPTY, frontier(20, t1=20, t2=30), *rows, name=name)[2]
    assert sorted(late, key=lambda row: (row["tick"], row["pane_start"], row["key"])) == [
        {
            "key": key,
            "pane_start": pane,
            "tick": tick,
            "tuples": n,
            "total": total if name == "sum" else n if name == "count" else None,
            "frontier": 20 + wait,
        }
        for key, pane, tick, n, total, wait in [
            ("a", 0, 1, 2, 1.5, 0),
            ("b", 0, 1, 1, 4.0, 0),
            ("a", 10, 1, 1, 8.0, 0),
            ("a", 0, 2, 1, 16.0, 0),
        ]
    ]


@pytest.mark.parametrize("name", NUMBERS)
def test_late_rows_have_the_same_columns_when_no_tuple_is_late(name: str) -> None:
    summary = summary_of(name)
    no_tuples = pa.RecordBatch.from_pydict(
        {"key": pa.array([], pa.string())}
        | {part: pa.array([], pa.int64()) for part in ("event_time", "tick")}
        | {"value": pa.array([], pa.float64())}
    )
    partials = pa.Table.from_batches([combine(TENS, summary, no_tuples)])
    late = step(TENS, summary, PaneState.empty(pa.string(), summary.types), partials, frontier(0))[2]
    assert late.num_rows == 0
    assert late.schema.types == [pa.string(), *[pa.int64()] * 3, pa.float64(), pa.int64()]


@pytest.mark.parametrize("name", NUMBERS)
def test_the_state_stays_bounded_however_long_the_stream_runs(name: str) -> None:
    """Each 10 ms nine tuples of two keys, with F 40 ms behind, and then a late one that has one open window."""
    state, sizes = EMPTY, []
    for now in range(0, 1000, 10):
        on_time = [("ab"[i % 2], now + i, now, float(i)) for i in range(9)]
        state = step_indexed(state, frontier(now - 50, **{f"t{now}": now - 40}), *on_time, name=name)[0]
        frontiers = frontier(now - 40, **{f"t{now + 1}": now - 40})
        state = step_indexed(state, frontiers, ("a", now - 45, now + 1, 1.0), name=name)[0]
        sizes.append((len(state.keys), len(state.panes), len(state.partial_rows)))
    assert set(sizes[10:]) == {(2, 6 * 9 if summary_of(name).keeps else 6 * 2, 1)}


def test_the_state_is_restored_from_arrow() -> None:
    state, _, _ = step_indexed(EMPTY, frontier(10, t1=10), ("a", 5, 1, 1.0), (None, 25, 1, 2.0))
    restored_state = PaneState.from_arrow(state.to_arrow(), TYPES)
    assert restored_state.keys.equals(state.keys)
    for original, restored in ((state.panes, restored_state.panes), (state.partial_rows, restored_state.partial_rows)):
        for column, restored_column in zip(
            (original.key, original.time, *original.columns.values()),
            (restored.key, restored.time, *restored.columns.values()),
            strict=True,
        ):
            assert restored_column.tolist() == column.tolist()
            assert restored_column.dtype == column.dtype
