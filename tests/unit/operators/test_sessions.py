"""The operator of sessions against the obvious one, whatever the batches; and what its state holds."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

import numpy as np
import pyarrow as pa
from hypothesis import example, given
from hypothesis import strategies as st

from kit.oracles.session_oracle import Came, stream
from kit.suite.examples import drawn
from tailrace.aggregate.aggregates import NamedAggregate
from tailrace.aggregate.amend import AmendedAggregates
from tailrace.aggregate.partials import combine
from tailrace.disorder.clock import Frontier
from tailrace.functions.function import Values
from tailrace.operators.sessions import SessionState, step
from tailrace.windows.sessions import START, Sessions
from tailrace.windows.sliding import Sliding

GAP = 10
SUM = AmendedAggregates((NamedAggregate("value", "sum", Values("value", pa.float64(), pa.string()), {}, True),))
MEDIAN = AmendedAggregates((NamedAggregate("value", "median", Values("value", pa.float64(), pa.string()), {}, True),))


def frontier(start: int, ticks: list[tuple[int, int]]) -> Frontier:
    tick, after = (np.array(column, np.int64) for column in zip(*ticks, strict=True)) if ticks else ([], [])
    zero = np.zeros(len(ticks), np.int64)
    return Frontier(start, np.asarray(tick, np.int64), zero, zero, zero, np.asarray(after, np.int64), zero)


def again(state: SessionState) -> SessionState:
    """The state, spread over two tasks and put together again."""
    is_a = [lambda keys: np.array([key == "a" for key in keys.to_pylist()], bool)]
    is_a.append(lambda keys: ~is_a[0](keys))
    return SessionState.of_keys(
        [SessionState.of_keys([state], each) for each in is_a], lambda keys: np.ones(len(keys), bool)
    )


def run(tuples: list[Came], ticks: list[tuple[int, int]], start: int, cuts: set[int], summary=SUM):
    """Return the answers {(key, start, end): (tuples, value)} and the number of late tuples by (key, event, tick)."""
    state, answers, late = SessionState.empty(pa.string(), summary.types), {}, Counter()
    for low, high in pairwise([0, *sorted(cuts), len(ticks)]):
        part, before = ticks[low:high], ticks[low - 1][1] if low else start
        names = {tick for tick, _ in part}
        rows = [each for each in tuples if each.tick in names]
        batch = pa.RecordBatch.from_pydict(
            {
                "key": pa.array([each.key for each in rows], pa.string()),
                "event_time": pa.array([each.event for each in rows], pa.int64()),
                "tick": pa.array([each.tick for each in rows], pa.int64()),
                "value": pa.array([each.value for each in rows], pa.float64()),
            }
        )
        partials = pa.Table.from_batches([combine(Sliding(1, 1), summary, batch)])
        state = again(SessionState.from_arrow(state.to_arrow(), summary.types))
        state, closed, missed = step(Sessions(GAP), summary, state, partials, frontier(before, part))
        values = summary.finish(closed)["value"].to_pylist()
        for row, value in zip(closed.to_pylist(), values, strict=True):
            session = row["key"], row[START], row["time"]
            assert session not in answers
            answers[session] = row["tuples"], value
        for row in missed.to_pylist():
            late[row["key"], row["pane_start"], row["tick"]] += row["tuples"]
    return answers, late


@st.composite
def streams(draw):
    """Tuples by tick, F after each tick, F before the first, and the ticks at which batches end."""
    count = draw(st.integers(1, 8))
    start = draw(st.integers(-20, 20))
    steps = draw(st.lists(st.sampled_from([0, 1, 3, 9, 10, 11, 25]), min_size=count, max_size=count))
    ticks = [(tick, start + sum(steps[: tick + 1])) for tick in range(count)]
    keys = draw(st.sampled_from([["a"], ["a", None], ["a", "b", None]]))
    rows = st.builds(
        Came,
        st.sampled_from(keys),
        st.one_of(st.integers(-40, 120), st.sampled_from([0, 10, 20, 21, 30, 31])),
        st.integers(0, count - 1),
        st.integers(-9, 9).map(float),
    )
    tuples = draw(st.lists(rows, max_size=25))
    cuts = draw(st.sets(st.integers(1, count - 1), max_size=3)) if count > 1 else set()
    return tuples, ticks, start, cuts


AT_THE_FRONTIER = [Came("a", 0, 0), Came("a", 10, 1)], [(0, 10), (1, 10)], 0, set[int]()
"""The second tuple comes when F, and the end of the first one's session, are at its own time."""
WITHIN = [Came("a", 0, 0), Came("a", 8, 0), Came("a", 3, 1)], [(0, 15), (1, 16)], 0, set[int]()
"""The session of the last tuple alone would have closed; it is within an open one."""
TOUCHES_A_LATE_ONE = [Came("a", 12, 1), Came("a", 21, 2)], [(0, 30), (1, 30), (2, 30)], 30, {1, 2}
"""The first tuple is late, and in no session; the second one, in another batch, touches it."""

ENDED_TOGETHER = [Came("a", 0, 1), Came("a", 5, 1)], [(0, 50), (1, 50)], 50, set[int]()
"""Two tuples of a tick make a session that had ended before it: both are late, and no session holds them."""
_TIMES, _FRONTIERS = [22, 24, 26, 28, 15], [20, 20, 20, 20, 20, 60]
LENGTHENED = [Came("a", time, n) for n, time in enumerate(_TIMES)], [*enumerate(_FRONTIERS)], 20, set[int]()
"""Each tick lengthens the session; the last tuple is behind F, so they are replayed."""


@drawn(400)
@example(AT_THE_FRONTIER)
@example(WITHIN)
@example(TOUCHES_A_LATE_ONE)
@example(ENDED_TOGETHER)
@example(LENGTHENED)
@given(streams())
def test_the_operator_answers_and_registers_what_the_oracle_does(drawn_stream):
    tuples, ticks, start, cuts = drawn_stream
    expected = stream(tuples, GAP, ticks, start)
    answers, late = run(tuples, ticks, start, cuts)
    held = {session: (len(content), sum(each.value for each in content)) for session, content, _ in expected.answers}
    assert answers == held
    assert late == Counter((each.key, each.event, each.tick) for each in expected.late)


@drawn(100)
@given(streams())
def test_functions_that_keep_values_have_them_all(drawn_stream):
    tuples, ticks, start, cuts = drawn_stream
    expected = stream(tuples, GAP, ticks, start)
    answers, _ = run(tuples, ticks, start, cuts, MEDIAN)
    medians = {session: float(np.median([each.value for each in content])) for session, content, _ in expected.answers}
    assert {session: value for session, (_, value) in answers.items()} == medians


def test_a_state_holds_no_more_than_what_is_open_and_one_time_of_what_may_be_touched():
    rows = [Came("a", event, 0) for event in (0, 5, 12)] + [Came("b", 40, 0), Came("c", 25, 1)]
    batch = pa.RecordBatch.from_pydict(
        {
            "key": pa.array([each.key for each in rows]),
            "event_time": pa.array([each.event for each in rows]),
            "tick": pa.array([each.tick for each in rows]),
            "value": pa.array([1.0] * len(rows)),
        }
    )
    partials = pa.Table.from_batches([combine(Sliding(1, 1), SUM, batch)])
    empty = SessionState.empty(pa.string(), SUM.types)
    state, _, late = step(Sessions(GAP), SUM, empty, partials, frontier(0, [(0, 31), (1, 35)]))
    assert state.keys.to_pylist() == ["b", "c"]
    assert (state.rows.time.tolist(), state.last.tolist(), state.rows.columns["tuples"].tolist()) == ([40], [40], [1])
    assert state.closed.time.tolist() == [25]  # [0, 22) of a is too old to be touched by what is not late
    assert late.num_rows == 0
