"""Each search finds the pairs of brute force, whatever its filters, times, reach and threshold, and counts its work."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kit.oracles.emd_oracle import (
    TIMES,
    agree,
    case,
    distances,
    drifting,
    edge,
    generated,
    grid_costs,
    joined,
    metric_costs,
    pairs,
)
from kit.suite.examples import drawn
from tailrace.emd_join import chain, head_search
from tailrace.emd_join.chain import ChainSearch
from tailrace.emd_join.forest import Forest
from tailrace.emd_join.head_search import HeadSearch
from tailrace.emd_join.line_search import LineSearch
from tailrace.emd_join.search import HistogramColumns

pytestmark = pytest.mark.slow


def search_of(name, costs, threshold, exact, filters, trees=2):
    forest = Forest.of_bins(costs, trees)
    if name == "chain":
        return ChainSearch(costs, threshold, forest, exact, frozenset(filters & chain.FILTERS))
    return HeadSearch(costs, threshold, forest, exact=exact, filters=frozenset(filters & head_search.FILTERS))


ALL = sorted(chain.FILTERS | head_search.FILTERS)


@pytest.mark.parametrize("name", ["chain", "head"])
@drawn(150)
@given(case(count=11), st.sets(st.sampled_from(ALL)) | st.just(set(ALL)), st.booleans(), st.integers(1, 3), st.data())
def test_the_pairs_are_those_of_brute_force(name, drawn, filters, exact, trees, data):
    costs, rows = drawn
    queries, targets = rows[:5], rows[5:]
    times = tuple(
        np.array(data.draw(st.lists(TIMES, min_size=len(side), max_size=len(side)))) for side in (queries, targets)
    )
    reach_ms = data.draw(st.sampled_from([0, 3, 10, 100]))
    true = distances(queries, targets, costs)
    threshold = data.draw(st.sampled_from([0.0, float(costs.max()) / 3, *true.ravel().tolist()]))
    search = search_of(name, costs, threshold, exact, filters, trees)
    answers, _ = joined(search, queries, targets, times, reach_ms)
    agree(answers, pairs(true, times, reach_ms, threshold), exact, edge(true, threshold))


@pytest.fixture(scope="module", params=["line", "grid", "metric"])
def streams(request):
    """Two streams that drift, with outliers, and their true distances."""
    costs = {"line": grid_costs(10), "grid": grid_costs(3, 3), "metric": metric_costs(2, 8)}[request.param]
    random = np.random.default_rng(4)
    frames = drifting(random, len(costs), 32)
    queries = np.concatenate([frames[:20:2], generated(random, len(costs), 6)])
    targets = np.concatenate([frames[1::2], generated(random, len(costs), 8)])
    times = random.integers(0, 1000, 16), random.integers(0, 1000, 24)
    return costs, queries, targets, times, distances(queries, targets, costs)


@pytest.mark.needs("long")
@pytest.mark.parametrize("exact", [True, False])
@pytest.mark.parametrize("name", ["chain", "head"])
def test_each_filter_alone_and_each_left_out_give_the_same_pairs(streams, name, exact):
    costs, queries, targets, times, true = streams
    names = {"chain": chain.FILTERS, "head": head_search.FILTERS}[name]
    for threshold, reach_ms in ((0.05, 2000), (1.0, 500)):
        wanted = pairs(true, times, reach_ms, threshold)
        assert len(wanted) > 30
        for filters in [names, *({one} for one in names), *(names - {one} for one in names)]:
            search = search_of(name, costs, threshold, exact, filters, trees=3)
            agree(joined(search, queries, targets, times, reach_ms)[0], wanted, exact)


@pytest.mark.parametrize("exact", [True, False])
def test_every_filter_of_head_decides_some_pairs_and_uses_the_coordinates(exact):
    costs, random = grid_costs(3, 3), np.random.default_rng(8)
    queries, targets = (np.concatenate([drifting(random, 9, 40), np.eye(9)]) for _ in range(2))
    times = np.zeros(49, int), np.zeros(49, int)
    places = np.array(list(np.ndindex(3, 3)), float)
    search = HeadSearch(costs, 0.9, Forest.of_bins(costs, 1), places, exact)
    answers, found = joined(search, queries, targets, times, 0)
    agree(answers, pairs(distances(queries, targets, costs), times, 0, 0.9), exact)
    assert all(found.counts[name] for name in head_search.FILTERS - ({"reference"} if exact else set()))


@pytest.mark.parametrize("with_flow", [True, False])
def test_references_from_the_data_and_ub_p_accept_pairs_and_lose_none(streams, with_flow):
    costs, queries, targets, times, true = streams
    forest = Forest.of_bins(costs, 2)
    filters = head_search.FILTERS | ({head_search.FLOW} if with_flow else set())
    counts = {}
    for name, references in (("bins", None), ("data", targets[::6])):
        accepted, solved = 0, 0
        for threshold in (0.05, 0.3, 1.0):
            search = HeadSearch(costs, threshold, forest, exact=False, filters=filters, references=references)
            answers, found = joined(search, queries, targets, times, 2000)
            agree(answers, pairs(true, times, 2000, threshold), False, edge(true, threshold))
            accepted, solved = accepted + found.counts["reference"], solved + found.counts["exact"]
            assert with_flow or not found.counts[head_search.FLOW]
        counts[name] = accepted, solved
    assert counts["data"][0] > counts["bins"][0]
    assert with_flow or counts["data"][1] < counts["bins"][1]


def test_each_filter_of_the_chain_spares_solves_where_neighbours_are_alike():
    random = np.random.default_rng(3)
    frames = drifting(random, 12, 40, shot=40)
    targets = np.concatenate([frames[::2], random.dirichlet(np.ones(12) * 0.3, 20)])
    times = np.zeros(20, int), np.zeros(40, int)
    costs = grid_costs(3, 4)
    solved = {}
    for filters in [(), *((name,) for name in sorted(chain.FILTERS)), tuple(sorted(chain.FILTERS))]:
        search = search_of("chain", costs, 0.25, False, set(filters))
        counts = joined(search, frames[1::2], targets, times, 0)[1].counts
        solved[filters] = counts["exact"] + counts["queries"]
    assert solved[()] == 20 * 40
    for name in chain.FILTERS:
        assert solved[(name,)] < 0.9 * solved[()], name
    assert solved[tuple(sorted(chain.FILTERS))] < 0.1 * solved[()]


@pytest.mark.parametrize("queries", [0, 3])
@pytest.mark.parametrize("targets", [0, 4])
def test_a_side_may_be_empty(queries, targets):
    costs = grid_costs(5)
    forest = Forest.of_bins(costs, 2)
    for search in (ChainSearch(costs, 0.0, forest), HeadSearch(costs, 0.0, forest), LineSearch(np.ones(4), 0.0)):
        rows = np.full((queries, 5), 0.2), np.full((targets, 5), 0.2)
        answers, _ = joined(search, *rows, tuple(np.zeros(len(side), int) for side in rows), 0)
        assert len(answers) == queries * targets


@pytest.mark.parametrize("longest", [1.0, 1e3, 86_400_000.0])
@pytest.mark.parametrize("name", ["chain", "head"])
def test_a_histogram_finds_itself_however_long_distances_are(name, longest):
    """Its keys differ in their last digits by the batch that they are computed in."""
    random = np.random.default_rng(5)
    places = np.sort(random.uniform(0, longest, 40))
    costs = np.abs(places[:, None] - places)
    shares = random.dirichlet(np.ones(40), 300)
    search, times = search_of(name, costs, 0.0, True, set(ALL)), np.zeros(300, np.int64)
    targets, order = HistogramColumns.ordered(times, search.derived(shares))
    for row in range(0, 300, 10):
        found = search.find(HistogramColumns(times[:1], search.derived(shares[row : row + 1])), targets, 0)
        assert row in order[found.target].tolist()


def test_columns_out_of_order_are_refused():
    values = {"keys": np.array([[1.0], [0.5]]), "rows": np.zeros((2, 3))}
    with pytest.raises(ValueError, match="not in ascending order of their first key"):
        HistogramColumns(np.zeros(2, int), values)
    columns, order = HistogramColumns.ordered(np.array([7, 8]), values)
    assert columns.times.tolist() == [8, 7]
    assert order.tolist() == [1, 0]


def test_what_is_derived_is_columns_of_doubles():
    costs, shares = grid_costs(6), np.full((3, 6), 1 / 6)
    forest = Forest.of_bins(costs, 2)
    for search in (ChainSearch(costs, 1.0, forest), HeadSearch(costs, 1.0, forest), LineSearch(np.ones(5), 1.0)):
        for column in search.derived(shares).values():
            assert column.dtype == np.float64
            assert column.shape[0] == 3
            assert column.ndim <= 2
