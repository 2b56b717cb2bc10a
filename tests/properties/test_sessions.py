"""Sessions: streamed, corrected in any order, and evaluated again, against the obvious sessions of all tuples."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from itertools import pairwise, permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kit.draws.aggregates import kind_of
from kit.draws.streams import EPOCH, cuts, disordered
from kit.oracles.oracle import Settings, Truth, Tuple, aggregate, distinct, stream, ticks_of
from kit.oracles.oracle_assertions import assert_close
from kit.oracles.session_oracle import Came, Session, sessions_of
from kit.oracles.session_oracle import stream as stream_sessions
from kit.runs.harness import run
from kit.runs.memory_tables import MemoryTables
from kit.suite.examples import drawn
from tailrace.correction.correction_range import CorrectionRange
from tailrace.windows.sessions import Sessions

SOME = drawn(100)
TWENTY_YEARS = 20 * 365 * 86_400_000


@st.composite
def close_by(draw: st.DrawFn, duplicates: bool) -> tuple[list[Tuple], Settings]:
    """Few tuples, each a tick of its own; those of key a are behind those of key b by up to some gaps of 10 ms."""
    policy = draw(st.sampled_from(["none", "none", ("k_slack", 4)]))
    steps = st.tuples(st.sampled_from([0, 3, 8, 10, 12]), st.sampled_from([0, 1, 5, 9, 12, 20, 25, 40]))
    rows, tuples, newest = draw(st.lists(steps, min_size=4, max_size=14)), [], EPOCH
    for n, (step, delay) in enumerate(rows):
        newest += step
        tuples.append(Tuple(newest - delay, EPOCH + 1000 + 2 * n, f"t{n}", "a" if delay else "b", 1.0 + n))
    if duplicates:
        ids = draw(st.lists(st.sampled_from(["t0", "t1", "t2", None]), min_size=len(rows), max_size=len(rows)))
        tuples = [
            each._replace(id=each.id if again is None else again) for each, again in zip(tuples, ids, strict=True)
        ]
    return tuples, Settings(10, 10, 1, policy=policy)


@st.composite
def case(draw: st.DrawFn, duplicates: bool = False):
    """A stream, a query whose size is the gap, where its log is cut, and the points of arrival of intervals.

    Some tuples are moved to where sessions may join: to the gap before or after another one, 1 ms beside it, and to
    the time of another one. One may be twenty years old.
    """
    if draw(st.integers(0, 3)):
        tuples, query = draw(close_by(duplicates))
        points = sorted({end for _, end in ticks_of(tuples, query.tick)})
        return tuples, query, draw(cuts(len(tuples), max_cuts=3)), [points[0] - 1, *points]
    tuples, query = draw(disordered(min_tuples=1, duplicates=duplicates))
    places = st.integers(0, len(tuples) - 1)
    moves = st.tuples(places, places, st.sampled_from([0, 1, -1, 2]), st.sampled_from([-1, 0, 1]))
    for one, other, gaps, ms in draw(st.lists(moves, max_size=6)):
        event = tuples[other].event_time + gaps * query.size + ms
        tuples[one] = tuples[one]._replace(event_time=event, key=tuples[other].key)
    if draw(st.sampled_from([False, False, True])):
        old = draw(places)
        tuples[old] = tuples[old]._replace(event_time=EPOCH - TWENTY_YEARS)
    points = sorted({end for _, end in ticks_of(tuples, query.tick)})
    return tuples, query, draw(cuts(len(tuples), max_cuts=20)), [points[0] - max(query.tick, 1), *points]


def tables(case) -> MemoryTables:
    tuples, query, at, _ = case
    return MemoryTables(tuples, query, at, kind=kind_of(Sessions(query.size), query.function, query.q))


def batch(tuples: list[Tuple], query: Settings, before: int | None = None) -> dict[Session, Truth]:
    first = [Came(each.key, each.event_time, 0, each.value) for each in distinct(tuples, query.tick, before)]
    found = sessions_of(first, query.size)
    values = {session: [each.value for each in content] for session, content in found.items()}
    return {session: aggregate(query.function, mine, query.q) for session, mine in values.items()}


def assert_same(found: dict, truth: dict[Session, Truth]) -> None:
    assert found.keys() == truth.keys()
    for session, true in truth.items():
        assert found[session]["tuples"] == true.tuples, session
        assert_close(found[session]["value"], true.value, true.sum_abs)


@SOME
@given(case(), st.sampled_from([1, 3]))
def test_the_stream_answers_what_had_come_and_registers_what_is_late(case, tasks):
    tuples, query, at, _ = case
    ticks = ticks_of(tuples, query.tick)
    trace = stream(tuples, query).trace
    flushed = max(each.event_time for each in tuples) + query.size
    frontiers = [(each.tick, each.frontier) for each in trace]
    came = [Came(each.key, each.event_time, tick, each.value) for each, (tick, _) in zip(tuples, ticks, strict=True)]
    expected = stream_sessions(came, query.size, [*frontiers, (-1, flushed)], -(10**18))
    rows = run(tuples, query, cuts=at, tasks=tasks, kind=kind_of(Sessions(query.size), query.function, query.q))
    found = {(row["key"], row["window_start"], row["window_end"]): row for row in rows.get("results", [])}
    assert len(found) == len(rows.get("results", []))
    values = {session: [each.value for each in content] for session, content, _ in expected.answers}
    assert_same(found, {session: aggregate(query.function, mine, query.q) for session, mine in values.items()})
    ends = {each.tick: each.end for each in trace} | {-1: trace[-1].end}
    assert {session: ends[tick] for session, _, tick in expected.answers} == {
        session: row["as_of"] for session, row in found.items()
    }
    late = Counter()
    for row in rows.get("late", []):
        late[row["key"], row["pane_start"], row["tick"]] += row["tuples"]
    assert late == Counter((each.key, each.event, each.tick) for each in expected.late)


@SOME
@given(st.data(), case(duplicates=True))
def test_corrections_of_all_intervals_in_any_order_give_the_batch_answer(data, case):
    tuples, query, _, points = case
    chosen = sorted({points[0], points[-1], *data.draw(st.lists(st.sampled_from(points), max_size=5), label="points")})
    intervals = data.draw(st.permutations([*pairwise(chosen)]), label="intervals")
    pairs = (
        st.tuples(st.sampled_from(points), st.sampled_from(points)).map(sorted).filter(lambda ends: ends[0] < ends[1])
    )
    others = data.draw(st.lists(pairs, max_size=3), label="before")
    desk = tables(case)
    for a, b in [*others, *intervals, *intervals[:1]]:
        desk.correct(a, b)
    assert_same(desk.latest(), batch(tuples, query))


HAVING = {
    "tuples >= 2": lambda true: true.tuples >= 2,
    "tuples = 2": lambda true: true.tuples == 2,
    "tuples = 1 or tuples > 2": lambda true: true.tuples != 2,
    "value > 2": lambda true: true.value > 2,
}
"""Conditions of answers, and the same in Python; some are met by a session for a while, and not before or after."""


@SOME
@given(st.data(), case(duplicates=True), st.sampled_from([*HAVING]))
def test_corrections_in_any_order_give_the_sessions_that_meet_the_condition(data, case, having):
    tuples, query, at, points = case
    tuples = [each._replace(value=float(n * 5 % 7 - 3)) for n, each in enumerate(tuples)]
    query = replace(query, function="sum", q=None)
    some = st.lists(st.sampled_from(points), max_size=5).map(lambda drawn: sorted({points[0], points[-1], *drawn}))
    chosen = [*pairwise(data.draw(some | st.just(points), label="points"))]
    intervals = data.draw(st.just(chosen[::-1]) | st.permutations(chosen), label="intervals")
    again = data.draw(st.lists(st.sampled_from(intervals), max_size=2), label="again")
    desk = MemoryTables(tuples, query, at, kind=kind_of(Sessions(query.size), "sum", having=having))
    for a, b in [*intervals, *again]:
        desk.correct(a, b)
    truth = batch(tuples, query)
    assert_same(desk.latest(), {session: true for session, true in truth.items() if HAVING[having](true)})


@pytest.mark.parametrize("order", [*permutations(range(3))])
def test_a_session_that_meets_the_condition_for_a_while_is_given_in_no_order(order):
    """It has a tuple, then two, then three, and corrections of the two late ones may run in any order."""
    rows = [("a", 0), ("b", 100), ("a", 3), ("a", 5)]
    tuples = [Tuple(EPOCH + event, EPOCH + 1000 + 2 * n, f"t{n}", key, 1.0) for n, (key, event) in enumerate(rows)]
    query = Settings(10, 10, 1, function="count")
    desk = MemoryTables(tuples, query, [], kind=kind_of(Sessions(10), "count", having="tuples = 2"))
    intervals = [*pairwise([EPOCH, *(end for _, end in ticks_of(tuples, 1)[1:])])]
    for n in order:
        desk.correct(*intervals[n])
    assert desk.latest() == {}


@SOME
@given(case(duplicates=True))
def test_a_range_of_all_event_times_gives_the_batch_answer(case):
    tuples, query, _, points = case
    desk = tables(case)
    desk.revise(desk.model.closed(CorrectionRange().bounds, 10**15), points[-1], "all")
    assert_same(desk.latest(), batch(tuples, query))


@SOME
@given(st.data(), case(duplicates=True))
def test_a_range_of_event_time_gives_the_sessions_that_overlap_it(data, case):
    tuples, query, _, points = case
    times = sorted({each.event_time + ms for each in tuples for ms in (0, 1, query.size)})
    ends = st.lists(st.sampled_from(times), min_size=2, max_size=2, unique=True)
    low, high = sorted(data.draw(ends, label="range"))
    desk = tables(case)
    rows = desk.revise(desk.model.closed((low, high), 10**15), points[-1], "range").to_pylist()
    given = {(row["key"], row["window_start"], row["window_end"]): row for row in rows if not row["retracted"]}
    truth = batch(tuples, query)
    overlapping = {session for session in truth if session[1] < high and session[2] > low}
    assert overlapping <= given.keys() <= truth.keys()
    assert_same(given, {session: truth[session] for session in given})
    for session in desk.latest().keys() - truth.keys():  # wrong answers are left outside of the range alone
        assert session[2] <= low or session[1] >= high
