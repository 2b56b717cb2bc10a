"""A tour visits all once, goes to the nearest, and brings near queries together."""

from __future__ import annotations

import numpy as np
from hypothesis import given

from kit.oracles.emd_oracle import case, grid_costs, joined
from kit.suite.examples import drawn
from tailrace.emd_join import chain, tour
from tailrace.emd_join.chain import ChainSearch
from tailrace.emd_join.forest import Forest


@drawn(100)
@given(case(count=7))
def test_a_tour_visits_all_once(drawn):
    costs, rows = drawn
    assert sorted(tour.tour_of_bins(costs).tolist()) == list(range(len(costs)))
    assert sorted(tour.tour_of_keys(rows).tolist()) == list(range(7))


def test_a_tour_goes_to_the_nearest_and_block_by_block(monkeypatch):
    assert tour.tour_of_bins(grid_costs(6)).tolist() in ([0, 1, 2, 3, 4, 5], [5, 4, 3, 2, 1, 0])
    keys = np.array([[0.0, 0.0], [1.0, 9.0], [2.0, 0.0], [3.0, 8.5], [4.0, 0.0]])
    assert tour.tour_of_keys(keys).tolist() == [0, 2, 4, 3, 1]
    monkeypatch.setattr(tour, "BLOCK", 2)
    assert tour.tour_of_keys(keys).tolist() == [0, 1, 2, 3, 4]


def test_on_a_tour_of_the_queries_the_triangle_filter_decides_more(monkeypatch):
    random = np.random.default_rng(5)
    cells, frames = np.array(list(np.ndindex(3, 3, 3))), np.arange(120)[:, None]
    centres = 1 + np.sin(frames / np.array([9, 14, 23]))
    rows = np.exp(-((cells - centres[:, None]) ** 2).sum(axis=2))
    rows /= rows.sum(axis=1, keepdims=True)
    queries, times = rows[random.permutation(120)[:40]], (np.zeros(40, int), np.zeros(120, int))
    costs = grid_costs(3, 3, 3)
    search = ChainSearch(costs, 0.9, Forest.of_bins(costs, 4), exact=False)
    on_tour = joined(search, queries, rows, times, 0)[1].counts["triangle"]
    monkeypatch.setattr(chain, "tour_of_keys", lambda keys: random.permutation(len(keys)))
    assert on_tour > 1.3 * joined(search, queries, rows, times, 0)[1].counts["triangle"] > 0
