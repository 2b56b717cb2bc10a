"""Corrected = batch: for every function, over any intervals of arrival in any order, with repeats in the stream."""

from __future__ import annotations

from copy import copy
from dataclasses import replace

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from kit.draws.aggregates import fields_of
from kit.draws.streams import cuts, disordered
from kit.oracles.oracle import batch, latest, stream
from kit.oracles.oracle_assertions import assert_close
from kit.runs.memory_tables import WINDOW, MemoryTables
from kit.suite.examples import drawn
from tailrace.aggregate.kind import Aggregate
from tailrace.correction.correction_range import CorrectionRange

SOME = drawn(100)
SUMS = ["sum", "count", "avg"]


@st.composite
def case(draw: st.DrawFn, functions: list[str] | None = None):
    """A stream with repeats, a query, where its log is cut, and the points of arrival that intervals may begin at."""
    tuples, query = draw(disordered(min_tuples=1, duplicates=True, functions=functions, placed=True))
    at = draw(cuts(len(tuples), max_cuts=20))
    outcome = stream(tuples, query)
    ends = [tick.end for tick in outcome.trace]
    return tuples, query, at, outcome, [min(ends) - max(query.tick, 1), *ends]


def intervals(points: list[int]) -> st.SearchStrategy[list[tuple[int, int]]]:
    pair = st.tuples(st.sampled_from(points), st.sampled_from(points)).map(sorted).map(tuple)
    return st.lists(pair.filter(lambda ends: ends[0] < ends[1]), min_size=1, max_size=6)


@SOME
@given(st.data(), case())
def test_intervals_in_any_order_and_again_give_what_the_oracle_says(data, case):
    tuples, query, at, outcome, points = case
    chosen = data.draw(intervals(points), label="intervals")
    desk = MemoryTables(tuples, query, at)
    for a, b in chosen:
        desk.correct(a, b)
    expected = latest(outcome, tuples, query, chosen)
    found = desk.latest()
    assert found.keys() == expected.keys()
    for window, version in expected.items():
        assert (found[window]["tuples"], found[window]["as_of"]) == (version.tuples, version.as_of), window
        assert_close(found[window]["value"], version.value, version.sum_abs)


@SOME
@given(case())
def test_a_range_of_event_time_gives_the_batch_answer_of_what_has_closed(case):
    tuples, query, at, outcome, points = case
    desk = MemoryTables(tuples, query, at)
    desk.revise(desk.model.closed(CorrectionRange().bounds, outcome.frontier), points[-1], "all")
    truth, found = batch(tuples, query, points[-1]), desk.latest()
    assert found.keys() == truth.keys()
    for window, true in truth.items():
        assert (found[window]["tuples"], found[window]["as_of"]) == (true.tuples, points[-1]), window
        assert_close(found[window]["value"], true.value, true.sum_abs)


class Anew(Aggregate):
    """A kind that can amend nothing."""

    def amend(self, answers: pa.Table, late: pa.Table) -> pa.RecordBatch:
        return super().amend(answers, late).slice(0, 0)


@SOME
@given(st.data(), case(SUMS))
def test_what_is_amended_is_what_would_be_evaluated_anew(data, case):
    tuples, query, at, _, points = case
    (a, b), *_ = data.draw(intervals(points), label="interval")
    amended = MemoryTables(tuples, query, at)
    anew = copy(amended)
    anew.pipeline = replace(anew.pipeline, kind=Anew(**fields_of(anew.pipeline.kind)))
    both = [by_window(desk.correct(a, b)) for desk in (amended, anew)]
    assert both[0].keys() == both[1].keys()
    truth = batch(tuples, query, b)
    for window, row in both[0].items():
        other = both[1][window]
        assert all(row[name] == other[name] for name in ("tuples", "retracted", "as_of"))
        if not row["retracted"]:
            assert_close(row["value"], other["value"], 2 * truth[window].sum_abs)


def by_window(rows: pa.Table) -> dict[tuple, dict]:
    return {tuple(row[name] for name in WINDOW): row for row in rows.to_pylist()}
