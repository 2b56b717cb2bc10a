"""Scores of every type through pipeline and tasks, by every method, against sorting the contents of every window."""

from __future__ import annotations

from dataclasses import replace
from unittest import mock

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kit.draws.streams import cuts, disordered
from kit.oracles.oracle import stream
from kit.oracles.rankings import SCORES, contents, ranked, rankings_of, streamed, uses_of, with_scores
from kit.runs.harness import run, windows_of
from kit.suite.examples import drawn
from tailrace.sources.carried_columns import score_type
from tailrace.topk import best
from tailrace.topk.kind import TopK

CASE = disordered(functions=["median"], placed=True)  # the oracle says which tuples a window has, not its answers


@pytest.fixture(autouse=True, scope="module")
def small_bounds():
    with mock.patch.multiple(best, FEW=4, WORTH=1, HEAD=3):
        yield


def kind_of(query, name: str, k: int, method: str, descending: bool) -> TopK:
    own = {"k": k, "descending": descending, "method": method, "score_type": score_type(str(SCORES[name][0]))}
    return TopK(windows_of(query), uses_of(), pa.string(), **own)


@pytest.mark.parametrize("method", ["adaptive", "list", "gstopk"])
@pytest.mark.parametrize("name", SCORES)
@drawn(30)
@given(case=CASE, k=st.integers(1, 4), descending=st.booleans(), tasks=st.integers(1, 2), data=st.data())
def test_scores_are_ranked_and_answered_in_their_own_type(name, method, case, k, descending, tasks, data):
    tuples, query = case
    outcome, scored = stream(tuples, query), with_scores(tuples, name)
    kind, cut = kind_of(query, name, k, method, descending), data.draw(cuts(len(tuples)), label="cuts")
    rows = run(scored, query, cut, tasks, kind=kind, values=SCORES[name][0]).get("results", [])
    assert rankings_of(rows) == streamed(outcome, scored, query, k, descending)


@pytest.mark.parametrize("method", ["sma", "mintopk"])
@pytest.mark.parametrize("name", SCORES)
@drawn(30)
@given(case=CASE, k=st.integers(1, 4), descending=st.booleans(), data=st.data())
def test_so_are_those_of_the_baselines_on_ordered_streams(name, method, case, k, descending, data):
    tuples, query = case
    ordered = [item._replace(arrival_time=item.event_time) for item in sorted(tuples, key=lambda one: one.event_time)]
    query, scored = replace(query, policy="none"), with_scores(ordered, name)
    kind, cut = kind_of(query, name, k, method, descending), data.draw(cuts(len(ordered)), label="cuts")
    rows = run(scored, query, cut, kind=kind, values=SCORES[name][0]).get("results", [])
    assert rankings_of(rows) == ranked(contents(scored, query), k, descending)
