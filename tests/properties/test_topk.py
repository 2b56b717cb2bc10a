"""Top-k through pipeline and tasks, in process, against sorting the contents of every window."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from unittest import mock

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kit.draws.streams import cuts, disordered
from kit.oracles.oracle import stream
from kit.oracles.oracle_assertions import assert_late
from kit.oracles.rankings import assert_selected, contents, ranked, rankings_of, streamed, uses_of
from kit.runs.harness import NOTES, run, windows_of
from kit.suite.examples import drawn
from tailrace.topk import best, methods
from tailrace.topk.candidate_lists import CandidateLists
from tailrace.topk.candidates import CandidateList
from tailrace.topk.kind import TopK

ANSWER = ("k_ms", "as_of", "facts_version", "tuples")
EXACT = ["adaptive", "list", "gstopk"]
SOME = drawn(60)
CASE = disordered(functions=["median"], placed=True)  # of the oracle's answers only `ANSWER` is used


@pytest.fixture(autouse=True, scope="module")
def small_bounds():
    with mock.patch.multiple(best, FEW=4, WORTH=1, HEAD=3):
        yield


def kind_of(query, k: int, method: str, descending: bool = True, selects: bool = True) -> TopK:
    """The kind over the oracle's windows, with further columns or without."""
    selected = NOTES if selects else {}
    own = {"k": k, "descending": descending, "method": method, "selected": selected}
    return TopK(windows_of(query), uses_of(*selected), pa.string(), **own)


@pytest.mark.parametrize("method", EXACT)
@SOME
@given(case=CASE, k=st.integers(1, 4), descending=st.booleans(), tasks=st.integers(1, 3), data=st.data())
def test_a_ranking_is_that_of_the_tuples_that_arrived_before_its_window_closed(
    method, case, k, descending, tasks, data
):
    tuples, query = case
    cut = data.draw(cuts(len(tuples)), label="cuts")
    selects = data.draw(st.booleans(), label="selects")
    rows = run(tuples, query, cut, tasks, kind=kind_of(query, k, method, descending, selects))
    outcome = stream(tuples, query)
    assert_selected(rows.get("results", []) if selects else [], tuples)
    assert rankings_of(rows.get("results", [])) == streamed(outcome, tuples, query, k, descending)
    for row in rows.get("results", []):
        answer = outcome.answers[row["key"], row["window_start"], row["window_end"]]
        assert {name: row[name] for name in ANSWER} == {name: getattr(answer, name) for name in ANSWER}
    assert_late(rows.get("late", []), outcome)


@pytest.mark.parametrize("method", [*EXACT, "sma", "mintopk"])
@SOME
@given(case=CASE, k=st.integers(1, 4), data=st.data())
def test_all_methods_agree_with_brute_force_on_ordered_streams(method, case, k, data):
    tuples, query = case
    ordered = sorted(tuples, key=lambda item: item.event_time)
    ordered = [item._replace(arrival_time=item.event_time) for item in ordered]
    query = replace(query, policy="none", tick=data.draw(st.sampled_from([0, 1, 30, 100]), label="tick"))
    outcome = stream(ordered, query)
    expected = streamed(outcome, ordered, query, k)
    assert expected == ranked(contents(ordered, query), k)
    cut = data.draw(cuts(len(ordered)), label="cuts")
    rows = run(ordered, query, cut, kind=kind_of(query, k, method))
    assert_selected(rows.get("results", []), ordered)
    assert rankings_of(rows.get("results", [])) == expected
    assert not rows.get("late")


@SOME
@given(case=CASE, k=st.integers(1, 4))
def test_with_k_slack_beyond_all_delays_the_rankings_are_exact(case, k):
    tuples, query = case
    with_slack = replace(query, policy=("k_slack", 10**12))
    rows = run(tuples, with_slack, kind=kind_of(query, k, "adaptive"))
    assert rankings_of(rows.get("results", [])) == ranked(contents(tuples, query), k)


@SOME
@given(case=CASE, k=st.integers(1, 4), data=st.data())
def test_baselines_drop_late_tuples_or_move_them_to_a_later_pane(case, k, data):
    """`mintopk` drops late tuples; `sma` counts them in the pane of F, as MinTopk would if it put them off."""
    tuples, query = case
    outcome = stream(tuples, query)
    late = {item.position: item for item in outcome.late_tuples}
    on_time = [item for position, item in enumerate(tuples) if position not in late]
    moved = [
        item._replace(event_time=max(item.event_time, late[position].frontier)) if position in late else item
        for position, item in enumerate(tuples)
    ]
    put_off = partial(CandidateLists, ranking=CandidateList, late=methods.METHODS["sma"].keywords["late"], moves=True)
    for method, contributing in (("mintopk", on_time), ("sma", moved), ("put off", moved)):
        cut = data.draw(cuts(len(tuples)), label="cuts")
        with mock.patch.dict(methods.METHODS, {"put off": put_off}):
            results = run(tuples, query, cut, kind=kind_of(query, k, method)).get("results", [])
        assert_selected(results, tuples)
        rankings = rankings_of(results)
        expected = ranked(contents(contributing, query), k)
        assert rankings == expected


@pytest.mark.needs("long")
@pytest.mark.parametrize("method", [*EXACT, "sma", "mintopk"])
@SOME
@given(case=disordered(functions=["median"], duplicates=True, min_tuples=2), k=st.integers(1, 4), data=st.data())
def test_repeats_of_an_id_have_their_columns_on_any_cut(method, case, k, data):
    """Also where scores are equal, and the columns alone differ."""
    tuples, query = case
    tuples = [item._replace(value=float(int(item.value) % 2)) for item in tuples]
    first, second = (data.draw(cuts(len(tuples)), label="cuts") for _ in range(2))
    whole = run(tuples, query, first, 1, kind=kind_of(query, k, method)).get("results", [])
    parts = run(tuples, query, second, 2, kind=kind_of(query, k, method)).get("results", [])
    assert sorted(parts, key=in_order) == sorted(whole, key=in_order)
    assert len({in_order(row) for row in whole}) == len(whole)


def in_order(row: dict) -> tuple:
    return row["key"] or "", row["window_end"], row["rank"]
