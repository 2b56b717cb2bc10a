"""Live streams with heartbeats and quiet periods, recorded between batches: the answers are the oracle's."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kit.draws.streams import cuts, disordered
from kit.oracles.oracle import Passed, Settings, Tuple, stream
from kit.oracles.oracle_assertions import assert_streamed
from kit.runs.harness import run
from kit.suite.examples import drawn
from tailrace.engine.tick_buffer import TickBuffer

MANY = drawn(150)


@st.composite
def silent_stream(draw: st.DrawFn):
    """A stream, its cuts, and silences after some of the pieces: in the form of the harness, and in the oracle's."""
    tuples, query = draw(disordered(min_tuples=1, skews=True, placed=True))
    at = draw(cuts(len(tuples)))
    ends = [*at, len(tuples)]
    silences, passed = [], []
    for piece in sorted(draw(st.lists(st.integers(-1, len(at)), max_size=5))):
        arrivals = [item.arrival_time for item in tuples[: ends[piece]]] if piece >= 0 else []
        last_arrival = max(arrivals, default=tuples[0].arrival_time)
        gap = st.one_of(st.integers(-3 * query.tick - 10, 3 * query.tick + 10), st.sampled_from([0, 60_000, 10**7]))
        time, quiet = last_arrival + draw(gap), draw(st.booleans())
        silences.append((piece, time, quiet))
        passed.append(Passed(ends[piece] if piece >= 0 else 0, time, quiet))
    return tuples, query, at, silences, passed


@MANY
@given(silent_stream(), st.integers(1, 3), st.booleans())
def test_silence_moves_the_frontier_as_in_the_oracle(case, tasks, flush):
    tuples, query, at, silences, passed = case
    rows = run(tuples, query, cuts=at, tasks=tasks, flush=flush, silences=silences)
    outcome = stream(tuples, query, flush=flush, passed=passed)
    assert_streamed(rows, outcome)
    if not flush:
        assert {row["committed"] for row in rows["metrics"][-tasks:]} == {outcome.committed}
    assert {row["frontier"] for row in rows["metrics"][-tasks:]} == {outcome.frontier}


@MANY
@given(disordered(min_tuples=1, skews=True, placed=True))
def test_a_quiet_stream_has_the_answers_of_a_bounded_run(case):
    tuples, query = case
    quiet = run(tuples, query, flush=False, silences=[(0, None, True)])
    bounded = run(tuples, query)
    by_window = lambda row: (str(row["key"]), row["window_start"])  # noqa: E731
    assert sorted(quiet["results"], key=by_window) == sorted(bounded["results"], key=by_window)  # 0.0 is -0.0


@pytest.mark.parametrize("guard", ["silent", "complete_all"])
def test_without_a_guard_a_tuple_after_silence_is_not_late(monkeypatch, guard):
    #  arrival   10 │ silence │ 50       the second tuple belongs to tick 0 by its arrival, but tick 0 is complete,
    #  event    250               20      so it is late for [0, 100)
    tuples = [Tuple(250, 10, "a", "k", 1.0), Tuple(20, 50, "b", "k", 2.0), Tuple(500, 700, "c", "k", 4.0)]
    query = Settings(100, 100, 100, "sum", "none")
    silences = [(0, 320, False) if guard == "silent" else (0, 20, True)]
    passed = [Passed(1, silences[0][1], silences[0][2])]
    assert_streamed(run(tuples, query, cuts=[1, 2], silences=silences), stream(tuples, query, passed=passed))
    monkeypatch.setattr(TickBuffer, guard, lambda self, *_: self)
    with pytest.raises(AssertionError):
        assert_streamed(run(tuples, query, cuts=[1, 2], silences=silences), stream(tuples, query, passed=passed))
