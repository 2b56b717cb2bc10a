"""Top-k in process, through stage and tasks, against sorting what every window holds."""

from __future__ import annotations

from dataclasses import replace
from unittest import mock

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from expect import assert_late
from harness import run
from oracle import stream
from rankings import contents, listed, ranked, streamed
from streams import cuts, disordered
from tailrace.topk import best, methods
from tailrace.topk.kind import TopK
from tailrace.windows.sliding import Sliding

ANSWER = ("k_ms", "as_of", "facts_version", "tuples")
EXACT = ["adaptive", "list", "gstopk"]
SOME = settings(max_examples=60, deadline=None)
CASE = disordered(functions=["median"])  # the oracle's answers are not looked at, but for their stamps


@pytest.fixture(autouse=True, scope="module")
def with_the_list_of_the_paper_and_bounds_for_few_rows():
    with mock.patch.dict(methods.METHODS, {"list": methods.LIST}), mock.patch.multiple(best, _FEW=4, _WORTH=1, _HEAD=3):
        yield


def kind_of(query, k: int, method: str, descending: bool = True) -> TopK:
    windows = Sliding(query.size, query.slide)
    return TopK(windows, k, descending, {"score": "value"}, pa.string(), pa.string(), method)


@pytest.mark.parametrize("method", EXACT)
@SOME
@given(case=CASE, k=st.integers(1, 4), descending=st.booleans(), tasks=st.integers(1, 3), data=st.data())
def test_the_rankings_are_of_what_came_before_the_windows_closed(method, case, k, descending, tasks, data):
    tuples, query = case
    cut = data.draw(cuts(len(tuples)), label="cuts")
    rows = run(tuples, query, cut, tasks, kind=kind_of(query, k, method, descending))
    outcome = stream(tuples, query)
    assert listed(rows.get("results", [])) == streamed(outcome, tuples, query, k, descending)
    for row in rows.get("results", []):
        answer = outcome.answers[row["key"], row["window_start"], row["window_end"]]
        assert {name: row[name] for name in ANSWER} == {name: getattr(answer, name) for name in ANSWER}
    assert_late(rows.get("late", []), outcome)


@pytest.mark.parametrize("method", [*EXACT, "sma", "mintopk"])
@SOME
@given(case=CASE, k=st.integers(1, 4), data=st.data())
def test_all_methods_agree_with_brute_force_on_ordered_streams(method, case, k, data):
    tuples, query = case
    ordered = sorted(tuples, key=lambda one: one.event_time)
    ordered = [one._replace(arrival_time=one.event_time) for one in ordered]
    query = replace(query, policy="none", tick=data.draw(st.sampled_from([0, 1, 30, 100]), label="tick"))
    outcome = stream(ordered, query)
    expected = streamed(outcome, ordered, query, k)
    assert expected == ranked(contents(ordered, query), k)
    cut = data.draw(cuts(len(ordered)), label="cuts")
    rows = run(ordered, query, cut, kind=kind_of(query, k, method))
    assert listed(rows.get("results", [])) == expected
    assert not rows.get("late")


@SOME
@given(case=CASE, k=st.integers(1, 4))
def test_with_k_slack_beyond_all_delays_the_rankings_are_exact(case, k):
    tuples, query = case
    waits = replace(query, policy=("k_slack", 10**12))
    rows = run(tuples, waits, kind=kind_of(query, k, "adaptive"))
    assert listed(rows.get("results", [])) == ranked(contents(tuples, query), k)


@SOME
@given(case=CASE, k=st.integers(1, 4), data=st.data())
def test_what_baselines_do_to_late_tuples(case, k, data):
    """mintopk drops them; sma takes them for tuples of the pane that F stands in."""
    tuples, query = case
    outcome = stream(tuples, query)
    late = {one.position: one for one in outcome.late_tuples}
    on_time = [one for position, one in enumerate(tuples) if position not in late]
    put_off = [
        one._replace(event_time=max(one.event_time, late[position].frontier)) if position in late else one
        for position, one in enumerate(tuples)
    ]
    for method, counted in (("mintopk", on_time), ("sma", put_off)):
        cut = data.draw(cuts(len(tuples)), label="cuts")
        found = listed(run(tuples, query, cut, kind=kind_of(query, k, method)).get("results", []))
        held = ranked(contents(counted, query), k)
        assert found == held
