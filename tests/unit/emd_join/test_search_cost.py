"""The measured cost of a search, and the counters of exact distances beside the solver's calls."""

from __future__ import annotations

from collections import Counter
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pytest

from bench.emd.films import CASES
from bench.emd.simulation import simulate
from tailrace.emd_join import chain, exact, head_search, results, search_cost
from tailrace.emd_join.search import HistogramColumns
from tailrace.emd_join.search_cost import SearchCost
from tailrace.kind.inputs import ColumnTypes
from tailrace.kinds import build

pytestmark = pytest.mark.slow

_OF_QUERIES = 3  # the case in which distances of two queries are solved


@pytest.fixture
def calls(monkeypatch):
    """The number of the solver's calls."""
    counts = Counter()

    def counted(*arguments):
        counts["solve"] += 1
        return exact.solve(*arguments)

    for module in (chain, head_search):
        monkeypatch.setattr(module, "solve", counted)
    return counts


@pytest.mark.parametrize("method", ["emd_ddsj", "shuffle", "head"])
@pytest.mark.parametrize(("case", "threshold"), [(2, 0.5), (3, 0.9), (5, 0.1)])
def test_every_call_of_the_solver_is_in_the_counts_and_in_the_loads(calls, method, case, threshold):
    """Also the distances of two tuples of S, a stored one and a new one, that help to decide tuples of R."""
    streams = CASES[case].streams(60, 30)
    run = simulate(CASES[case].query(method, threshold, "1 s"), streams, 3, 500)
    counts = run.total_counts
    assert calls["solve"] > 0
    assert counts["exact"] + counts["queries"] == calls["solve"]
    assert run.exact.sum() == calls["solve"]
    assert bool(counts["queries"]) == (method != "head" and case == _OF_QUERIES)


@pytest.fixture
def clock(monkeypatch):
    """A clock of CPU time that the test sets, in ms."""
    now = [0]
    monkeypatch.setattr(search_cost, "time", SimpleNamespace(thread_time_ns=lambda: now[0] * 1_000_000))
    return now


def test_a_lap_is_divided_between_filtering_and_solving_and_among_the_candidates(clock):
    cost = SearchCost(2, 4)
    clock[0] = 12
    cost.add(1, np.array([0, 2, 3]), np.array([0, 1, 2]), 9.0)
    assert cost.by_query.tolist() == [[0, 0], [3, 9]]
    assert cost.by_target.tolist() == [[1, 0], [0, 0], [1, 3], [1, 6]]
    clock[0] = 13
    cost.add(0, np.zeros(0, np.int64), np.zeros(0, np.int64), 0.0)
    assert cost.by_query.tolist() == [[1, 0], [3, 9]]
    assert cost.by_target.sum() == 12  # no target had a part in the last one


def test_a_block_is_divided_evenly_and_its_sums_by_open_pairs(clock):
    cost = SearchCost(2, 3)
    clock[0] = 6
    cost.add_block(slice(0, 2), slice(0, 3), cost.lap_ms())
    clock[0] = 10
    cost.add_sums(slice(0, 2), slice(0, 3), np.array([2, 1]), np.array([1, 0, 2]), 3.0)
    assert cost.by_query.tolist() == [[3, 2], [3, 1]]
    assert cost.by_target.tolist() == [[2, 1], [2, 0], [2, 2]]


@pytest.mark.parametrize(("reach_ms", "loads"), [(10, 1), (0, 0)])
def test_the_solver_is_imported_before_the_clock_of_a_search_starts_where_pairs_are_in_reach(
    monkeypatch, reach_ms, loads
):
    """Its import takes seconds, which would else be the cost of one query."""
    loaded = []
    monkeypatch.setattr(results, "solver", lambda: loaded.append(True))
    one, other = (HistogramColumns(np.array([at]), {"keys": np.zeros((1, 1))}) for at in (0, 10))
    results.FoundBuilder.empty(one, other, reach_ms, frozenset())
    assert len(loaded) == loads


def test_what_is_prepared_for_all_queries_is_the_cost_of_none(monkeypatch):
    clock = iter([0, 5_000_000, 7_000_000])
    monkeypatch.setattr(search_cost, "time", SimpleNamespace(thread_time_ns=lambda: next(clock)))
    cost = SearchCost(1, 1)
    cost.begin()
    assert cost.lap_ms() == 2


@pytest.mark.parametrize(("method", "stored"), [("emd_ddsj", True), ("shuffle", False), ("head", False)])
def test_only_a_method_that_balances_cost_reports_the_spans_of_stored_tuples(method, stored):
    """Else each batch would report as many squares of Head-SJ as the window holds tuples."""
    kind = build(CASES[0].query(method, 0.5, "1 s"), [ColumnTypes(None, pa.string())] * 2)
    left = HistogramColumns(np.array([0]), {"keys": np.zeros((1, 1)), "point": np.zeros((1, 2))})
    loads = kind._loads([left], np.array([0]), np.ones((1, 2)), False)
    assert loads["span"].tolist() == ([0.0] if stored else [])
